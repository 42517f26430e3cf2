"""Statements of the document twin that write edits of documents.

Each function runs one statement, or a few, on a pair of tables.
"""

from twin_json_docs import load
from twin_json_edits import Edit, fill
from twin_json_reads import quote, texts
from twin_json_tables import BEFORE_MODES
from twin_json_writes import fetch, maintain, new_document, statement

UPDATES = []

RETURNING = (
    "", "", "", "", " RETURNING id", " RETURNING {c}",
    " RETURNING {c} -> 'a', {c} ->> 0, n", " RETURNING {c} #> {p}",
    " RETURNING jsonb_typeof({c}), {c} ? 'a', {c} @> '{\"a\": 1}'",
    " RETURNING *", " RETURNING {c}, jsonb_set({c}, {p}, '1')")


def chosen(twin, session, table, column=None):
    """Return the id of a document and an Edit of it, or None twice."""
    rng = twin.rng
    for ident in twin.picked(session, table):
        column = column or rng.choice(table.columns)
        text = fetch(session, table, column.rpartition(".")[2], ident)
        return ident, Edit(rng, twin.maker, None if text is None
                           else load(text), len(text or ""), column)
    return None, None


def returning(edit):
    """Return a clause that looks at the new document, or none."""
    return fill(edit.rng.choice(RETURNING), c=edit.column, p=edit.steps())


def ask_many(twin, session, kind, text):
    """Run an UPDATE of many rows; look at them in the order of their ids."""
    if twin.rng.random() < 0.5:
        text = "WITH u AS (%s RETURNING *) SELECT * FROM u ORDER BY id" % text
    twin.ask(session, kind, text, True)


def target(edit):
    """Return what an UPDATE sets: an expression, or subscripts."""
    rng = edit.rng
    if rng.random() < 0.75:
        return "%s = %s" % (edit.column, edit.expression())
    edit.plain = False
    return ", ".join("%s = %s" % (edit.column + places, edit.new_at(places))
                     for places in (edit.subscripts() for _ in range(
                         rng.choice((1, 1, 1, 2, 2, 3, 6)))))


@statement(60, UPDATES)
def update(twin, session, table):
    """UPDATE of one document."""
    ident, edit = chosen(twin, session, table)
    if edit:
        more = twin.rng.choice(("", "", "", ", n = (n + 3) % 10"))
        sql = "UPDATE %s SET %s%s WHERE id = %d" % (
            table.path(), target(edit), more, ident)
        if more or not edit.plain or table.name in ("d1", "d2") \
                or twin.rng.random() < 0.2:
            twin.ask(session, "edit", sql + returning(edit))
        else:
            twin.ask_edit(session, sql)


@statement(12, UPDATES)
def update_many(twin, session, table):
    """UPDATE of many documents at once."""
    _, edit = chosen(twin, session, table)
    if edit and edit.size < 100_000:
        ask_many(twin, session, "edit many", "UPDATE %s SET %s WHERE %s" % (
            table.path(), target(edit), twin.rng.choice((
                "true", "id % 3 = 0", "doc ? 'a'", "n > 4",
                "jsonb_typeof(doc) = 'object'", "doc -> 0 IS NOT NULL"))))


@statement(10, UPDATES)
def update_from(twin, session, table):
    """UPDATE with edits of documents of another table, or of other rows."""
    rng = twin.rng
    other = rng.choice(twin.tables)
    column = "o." + rng.choice(other.columns)
    ident, edit = chosen(twin, session, other, column)
    own, _ = chosen(twin, session, table)
    if edit is None or own is None or edit.size > 300_000:
        return
    name = rng.choice(table.columns)
    form = rng.choice((
        "{n} = {e}", "{n} = jsonb_set(x.{n}, {p}, {e})",
        "{n} = jsonb_set(x.{n}, {p}, {c} #> {q})",
        "{n} = x.{n} || ({c} #> {q})", "{n} = {c} || (x.{n} -> 'a')",
        "{n}['a'] = {c} #> {q}, {n}['b'] = x.n::text::jsonb",
        "{n} = coalesce({e}, x.{n})",
        "({n}, n) = (SELECT {e}, o.n)")).replace("{n}", name)
    twin.ask(session, "edit from", "UPDATE %s x SET %s FROM %s o WHERE"
             " x.id = %d AND o.id = %d%s" % (
                 table.path(), fill(form, e=edit.expression(), p=edit.steps(),
                                      q=edit.steps(), c=column),
                 other.path(), own, ident,
                 rng.choice(("", " RETURNING x.id, x.%s -> 'a', %s -> 'a'"
                             % (name, column)))))


@statement(6, UPDATES)
def update_two(twin, session, _table):
    """UPDATE of two columns, from the same document or crosswise."""
    table = twin.tables[1]
    ident, edit = chosen(twin, session, table)
    if not edit or edit.size > 300_000:
        return
    other = "other" if edit.column == "doc" else "doc"
    form = twin.rng.choice((
        "doc = {e}, other = {f}", "{o} = {e}", "(doc, other) = (other, {e})",
        "doc = jsonb_set(other, '{a}', doc -> 'a'), other = {e}",
        "(doc, n, other) = (SELECT {e}, n + 1, {f})",
        "{o} = {e}, {c}['a'] = {o} -> 'a'", "{o} = {c}, {c} = {e}"))
    twin.ask(session, "edit two", "UPDATE %s SET %s WHERE id = %d%s" % (
        table.path(), fill(form, e=edit.expression(), f=edit.expression(),
                           o=other, c=edit.column), ident, returning(edit)))


@statement(10, UPDATES)
def upsert(twin, session, table):
    """INSERT .. ON CONFLICT DO UPDATE with an edit of the old document."""
    rng = twin.rng
    ident, edit = chosen(twin, session, table, "x.doc")
    if not edit or edit.size > 300_000:
        return
    number = session.heap("SELECT n FROM %s WHERE id = %d" % (
        table.path(), ident))[0][0]
    if number is None:
        number = "NULL"
    form = rng.choice((
        "doc = {e}", "doc = {e}", "doc = x.doc || excluded.doc",
        "doc = excluded.doc || x.doc", "doc = jsonb_set(excluded.doc, {p},"
        " x.doc -> 'a')", "doc = jsonb_set(x.doc, {p}, excluded.doc)",
        "doc['a'] = excluded.doc, doc['b'] = x.doc -> 'a'"))
    template = "INSERT INTO %s AS x (id, n, doc) VALUES (%d, %s, %s)" \
        " ON CONFLICT (%s) DO UPDATE SET %s%s%s" % (
            table.path(), rng.choice((ident, ident, ident, twin.new_id())),
            number, new_document(twin), table.key,
            fill(form, e=edit.expression(), p=edit.steps()),
            rng.choice(("", "", " WHERE x.doc ? 'a'",
                        " WHERE x.doc -> 'a' = excluded.doc -> 'a'")),
            rng.choice(("", "", " RETURNING x.doc -> 'a', x.doc ->> 0",
                        " RETURNING x.doc")))
    twin.ask(session, "upsert", template)


@statement(10, UPDATES)
def merge(twin, session, table):
    """MERGE with edits, of documents and with those of the source."""
    rng = twin.rng
    ident, edit = chosen(twin, session, table, "x.doc")
    if not edit or edit.size > 300_000:
        return
    source = rng.choice((
        "(VALUES (%d, %s), (%d, %s)) s (id, doc)" % (
            ident, new_document(twin), twin.new_id(), new_document(twin)),
        "%s s" % rng.choice(twin.tables).path()))
    twin.ask(session, "merge", "MERGE INTO %s x USING %s ON x.id = s.id%s"
             " WHEN MATCHED AND %s THEN UPDATE SET %s"
             " WHEN MATCHED AND x.doc ? 'c' THEN DELETE%s" % (
                 table.path(), source,
                 "" if source.startswith("(") else " AND s.id = %d" % ident,
                 rng.choice(("true", "x.doc -> 'a' IS NOT NULL", "s.id > 0")),
                 fill(rng.choice((
                     "doc = {e}", "doc = {e}", "doc = x.doc || s.doc",
                     "doc = jsonb_set(x.doc, {p}, s.doc)",
                     "doc = jsonb_set(s.doc, {p}, x.doc -> 'a')",
                     "doc['a']['b'] = s.doc, n = 4")), e=edit.expression(),
                      p=edit.steps()),
                 " WHEN NOT MATCHED THEN INSERT (id, n, doc) VALUES"
                 " (s.id, 5, jsonb_insert(s.doc, '{0}', '1'))"
                 if source.startswith("(") else ""))


@statement(10, UPDATES)
def in_ctes(twin, session, table):
    """Old and new documents side by side, by CTEs that write."""
    rng = twin.rng
    ident, edit = chosen(twin, session, table)
    if not edit or edit.size > 300_000:
        return
    look = rng.choice(("u.{c}", "u.{c} -> 'a', o.{c} -> 'a'",
                       "u.{c} #> {p}, o.{c} #> {p}", "u.{c}, o.{c}",
                       "u.{c} = o.{c}, md5(o.{c}::text)",
                       "jsonb_typeof(u.{c}), o.{c} @> (u.{c} -> 'a')"))
    form = rng.choice((
        "WITH o AS MATERIALIZED (SELECT * FROM {t} WHERE id = {i}), u AS"
        " (UPDATE {t} SET {x} WHERE id = {i} RETURNING *)"
        " SELECT {l} FROM o, u",
        "WITH u AS (UPDATE {t} SET {x} WHERE id = {i} RETURNING *)"
        " SELECT {l} FROM {t} o JOIN u ON o.id = u.id",
        "WITH u AS (UPDATE {t} SET {x} WHERE id = {i} RETURNING *), k AS"
        " (INSERT INTO {s}.kept SELECT id, {c}, ROW({c} -> 'a', {c})"
        "::twin_ab, ARRAY[{c}] FROM u RETURNING *)"
        " SELECT part, (pair).a, list[1] -> 'a' FROM k",
        "WITH u AS (UPDATE {t} SET {x} WHERE id = {i} RETURNING *)"
        " UPDATE {t} x SET n = (u.{c} ? 'a')::int FROM u WHERE"
        " x.id = u.id + 1 RETURNING x.id, x.n, u.{c} -> 'a'",
        "WITH g AS (DELETE FROM {t} WHERE id = {i} RETURNING *)"
        " INSERT INTO {t} (id, n, {c}) SELECT id, n, {e} FROM g"
        " RETURNING {c} -> 'a'",
        "INSERT INTO {t} (id, n, {c}) SELECT {j}, n, {e} FROM {t}"
        " WHERE id = {i} RETURNING {c} -> 'a'"))
    template = fill(form, l=fill(look, c=edit.column, p=edit.steps()),
                    x=target(edit), e=edit.expression(), t=table.path(),
                    i=str(ident), j=str(twin.new_id()), c=edit.column)
    twin.ask(session, "edit in CTE", template)
    twin.ask(session, "edit in CTE", "SELECT part -> 'a', (pair).b, list[1]"
             " FROM {s}.kept")
    twin.ask(session, "edit in CTE", "DELETE FROM {s}.kept")


@statement(14, UPDATES)
def many_small(twin, session, table):
    """Hundreds of small edits of one document, one after the other."""
    rng = twin.rng
    ident, edit = chosen(twin, session, table)
    if not edit or edit.size > 300_000:
        return
    paths = [[step if isinstance(step, str) else step % 3000
              for step in edit.path()]
             for _ in range(rng.choice((1, 2, 5, 30)))]
    count = rng.choice((10, 50, 50, 200, 400))
    if edit.size > 50_000:
        count = min(count, 50)
    one = rng.choice((
        "{c} = jsonb_set({c}, p, {v})", "{c} = jsonb_set({c}, p, {v})",
        "{c} = CASE i % 3 WHEN 0 THEN {c} #- p ELSE jsonb_set({c}, p, {v})"
        " END",
        "{c} = CASE i % 3 WHEN 0 THEN {c} #- p WHEN 1 THEN jsonb_insert({c},"
        " p, {v}) ELSE {c} || jsonb_build_object('k' || i % 20, {v}) END",
        "{c} = {c} || {v}", "{c}[p[1]] = {v}", "{c}['a']['k' || i % 9] = {v}",
        "{c} = {c} || jsonb_build_object('k' || i % 50, {v})",
        "{c} = ({c} - p[1]) || jsonb_build_object(p[1], {v})"))
    value = rng.choice((
        "to_jsonb(i)", "to_jsonb(i % 2)", "to_jsonb(repeat('x', i % 40))",
        "to_jsonb(md5(i::text))", "jsonb_build_array(i, i)",
        "to_jsonb(repeat('y', i * 7 % 600))", "jsonb_build_object('i', i)",
        "CASE i %% 10 WHEN 0 THEN %s ELSE to_jsonb(i) END" % edit.literal()))
    guard = rng.choice(("EXCEPTION WHEN OTHERS THEN failed := failed + 1;",
                        "", ""))
    body = """
        CREATE OR REPLACE FUNCTION {s}.many(OUT failed int) LANGUAGE plpgsql
        AS $body$
        DECLARE p text[]; paths text[];
        BEGIN
            failed := 0;
            paths := ARRAY[%s];
            FOR i IN 1 .. %d LOOP
                p := string_to_array(paths[1 + i * 7 %% %d], E'\\x01', NULL);
                BEGIN
                    UPDATE %s SET %s WHERE id = %d;
                %s
                END;
            END LOOP;
        END $body$""" % (
            ", ".join("array_to_string(%s, E'\\x01')" % texts(p or ["a"])
                      for p in paths),
            count, len(paths), table.path(),
            fill(one, v=value, c=edit.column), ident, guard)
    twin.ask(session, "many edits", body)
    twin.ask(session, "many edits", "SELECT {s}.many()")
    twin.examine_row(table, ident)


@statement(6, UPDATES)
def in_steps(twin, session, table):
    """Small edits in statements of their own, with reads between them."""
    for _ in range(twin.rng.choice((2, 5, 20))):
        ident, edit = chosen(twin, session, table)
        if not edit or edit.size > 1_000_000:
            return
        name = twin.rng.choice(("a", "b", "k1", "0", "1"))
        twin.ask(session, "edit steps", "UPDATE %s SET {c} = jsonb_set({c},"
                 " %s, %s) WHERE id = %d".replace("{c}", edit.column) % (
                     table.path(), texts([name]), edit.literal(), ident))
        if twin.rng.random() < 0.3:
            twin.examine_row(table, ident)


@statement(6, UPDATES)
def by_cursor(twin, session, table):
    """UPDATE .. WHERE CURRENT OF a cursor."""
    rng = twin.rng
    _, edit = chosen(twin, session, table)
    if not edit or edit.size > 300_000:
        return
    own = not session.in_transaction
    if own:
        session.begin(True)
    order = "ORDER BY id FOR UPDATE"
    twin.ask(session, "cursor edit", "DECLARE {s}_e CURSOR FOR SELECT id,"
             " doc -> 'a' FROM %s %s" % (table.path(), order))
    for _ in range(rng.randint(1, 4)):
        twin.ask(session, "cursor edit", "FETCH 1 FROM {s}_e")
        twin.ask(session, "cursor edit", "UPDATE %s SET %s WHERE CURRENT OF"
                 " {s}_e%s" % (table.path(), target(edit), returning(edit)))
    twin.ask(session, "cursor edit", "CLOSE {s}_e")
    if own:
        session.end(rng.choice(("COMMIT", "COMMIT", "ROLLBACK")))


@statement(6, UPDATES)
def prepared(twin, session, table):
    """Prepared statements, with plans for their values and generic ones."""
    rng = twin.rng
    ident, edit = chosen(twin, session, table)
    if not edit or edit.size > 300_000:
        return
    form = rng.choice((
        "jsonb_set({c}, $2, $3)", "jsonb_insert({c}, $2, $3, true)",
        "{c} || $3", "$3 || {c}", "{c} #- $2", "{c} - $2", "{c} - $2[1]",
        "jsonb_set_lax({c}, $2, $3, true, 'delete_key')",
        "jsonb_set(coalesce({c}, $3), $2, $3) - $2[1]"))
    text = "PREPARE {s}_u (int, text[], jsonb) AS UPDATE %s SET %s = %s" \
        " WHERE id = $1%s" % (table.path(), edit.column,
                              fill(form, c=edit.column),
                              returning(edit))
    if twin.ask(session, "prepared edit", text)[0] == "error":
        return
    for _ in range(rng.choice((2, 8))):
        twin.ask(session, "prepared edit", "EXECUTE {s}_u (%d, %s, %s)" % (
            ident, edit.steps(), rng.choice((edit.literal(), "NULL"))
            .replace("to_jsonb(%s)" % edit.number, "'1'")))
    twin.ask(session, "prepared edit", "DEALLOCATE {s}_u")


@statement(8, UPDATES)
def in_function(twin, session, table):
    """plpgsql edits variables, and writes them back; SQL functions edit."""
    rng = twin.rng
    ident, edit = chosen(twin, session, table)
    if not edit or edit.size > 300_000:
        return
    text = edit.expression().replace(edit.column, "v")
    twin.ask(session, "edit in function", """
        CREATE OR REPLACE FUNCTION {s}.change(d jsonb, n int) RETURNS jsonb
        LANGUAGE plpgsql AS $body$
        DECLARE v jsonb := d; w jsonb;
        BEGIN
            w := %s;
            v := %s;
            %s
            RETURN %s;
        END $body$""" % (
            text, rng.choice(("w", "jsonb_set(w, '{a}', '1')", "v",
                              "w || v", "jsonb_set(v, '{a}', w)")),
            rng.choice(("", "v%s := %s;" % (
                edit.subscripts(), edit.literal().replace(
                    edit.column, "v")))),
            rng.choice(("v", "w", "jsonb_set(v, '{b}', w -> 'a')"))))
    twin.ask(session, "edit in function", fill(rng.choice((
        "UPDATE {t} SET {c} = {s}.change({c}, n) WHERE id = {i} RETURNING"
        " {c} -> 'a'",
        "UPDATE {t} SET {c} = jsonb_set({s}.change({c}, n), '{x}', {c} -> 0)"
        " WHERE id = {i}",
        "UPDATE {t} SET {c} = {s}.change(jsonb_set({c}, '{a}', '[]'), n)"
        " WHERE id = {i}",
        "SELECT {s}.change({c}, n) FROM {t} WHERE id = {i}")),
        t=table.path(), c=edit.column, i=str(ident)))


@statement(3, UPDATES)
def failing_edit(twin, session, table):
    """Edits of some rows, then an error: nothing of them stays."""
    ident, edit = chosen(twin, session, table)
    if edit and edit.size < 100_000:
        twin.ask(session, "failing edit", "UPDATE %s SET %s = jsonb_set("
                 "jsonb_set(%s, %s, %s), '{a}', to_jsonb(1 / (id - %d)))"
                 " WHERE id >= %d - 3" % (
                     table.path(), edit.column, edit.column, edit.steps(),
                     edit.literal(), ident, ident), True)


@statement(3, UPDATES)
def select_edit(twin, session, table):
    """Edits that are never written."""
    _, edit = chosen(twin, session, table)
    if edit and edit.size < 100_000:
        twin.ask(session, "edit read", fill(twin.rng.choice((
            "SELECT id, {e} FROM {t} ORDER BY id",
            "SELECT id FROM {t} ORDER BY {e}, id",
            "SELECT count(DISTINCT {e}) FROM {t}",
            "SELECT id, x -> 'a', x ->> 0, x ? 'a' FROM (SELECT id, {e} AS x"
            " FROM {t} OFFSET 0) y ORDER BY id",
            "SELECT id FROM {t} WHERE {e} @> '{\"a\": 1}' ORDER BY id",
            "SELECT jsonb_agg({e} ORDER BY id) FROM {t}")),
            e=edit.expression(), t=table.path()), True)


@statement(5, UPDATES)
def maintain_edited(twin, session, table):
    """VACUUM, rewrites and other storage of tables with edited documents."""
    if not session.in_transaction:
        many_small(twin, session, table)
        maintain(twin, session, table)
        twin.compare()


def with_setting(twin, session, name, value, work):
    """Do some work with another value of a setting."""
    session.control("SET %s = '%s'" % (name, value), "settings")
    work()
    session.control("RESET %s" % name, "settings")


@statement(16, UPDATES)
def with_triggers(twin, session, _table):
    """Statements on a table with triggers that look at them and change."""
    rng = twin.rng
    table = next(t for t in twin.edited if t.name == "d2")
    mode = rng.choice(BEFORE_MODES)
    session.control("SET twin.mode = '%s'" % mode, "settings")
    session.control("SET twin.log = '%s'" % rng.choice(("on", "off")),
                    "settings")
    for _ in range(rng.randint(1, 3)):
        rng.choice((update, update, update_many, upsert, merge, in_ctes,
                    update_from, by_cursor))(twin, session, table)
    ident, edit = chosen(twin, session, table)
    if edit and edit.size < 300_000:
        twin.ask(session, "edit of view", "UPDATE {s}.view_d2 SET %s WHERE"
                 " id = %d%s" % (target(edit), ident, returning(edit)))
    session.control("SET twin.mode = ''", "settings")
    session.control("SET twin.log = 'off'", "settings")
    twin.ask(session, "trigger log", "SELECT op, id, part, doc, digest, same"
             " FROM {s}.log ORDER BY op, id, doc, digest, part, same")
    twin.ask(session, "trigger log", "DELETE FROM {s}.log")


@statement(4, UPDATES)
def with_keys(twin, session, _table):
    """Edits of documents to which other rows refer."""
    rng = twin.rng
    table = next(t for t in twin.edited if t.name == "d2")
    ident, edit = chosen(twin, session, table)
    if not edit or edit.size > 300_000:
        return
    new = twin.new_id()
    for text in (
            "INSERT INTO {s}.child SELECT {j}, {i}, doc -> 'a' FROM {s}.d2"
            " WHERE id = {i}",
            "UPDATE {s}.d2 SET {x} WHERE id = {i}",
            rng.choice((
                "UPDATE {s}.d2 SET {x}, id = {j} WHERE id = {i}",
                "DELETE FROM {s}.d2 WHERE id = {i} RETURNING doc -> 'a'",
                "UPDATE {s}.child SET doc = jsonb_set(coalesce(doc, '{}'),"
                " '{a}', '[1]'), ref = -1 WHERE id = {j}")),
            "SELECT * FROM {s}.child ORDER BY id",
            "DELETE FROM {s}.child"):
        twin.ask(session, "foreign key", fill(
            text, x=target(edit), i=str(ident), j=str(new)))


@statement(8, UPDATES)
def with_partitions(twin, session, _table):
    """Edits of rows that move to another partition."""
    table = next(t for t in twin.edited if t.name == "d3")
    for _ in range(2):
        ident, edit = chosen(twin, session, table)
        if edit and edit.size < 300_000:
            ask_many(twin, session, "row movement", "UPDATE %s SET %s, n ="
                     " %s WHERE %s" % (
                         table.path(), target(edit), twin.rng.choice(
                             ("n + 3", "(n + 5) % 10", "9 - n", "4")),
                         twin.rng.choice(("id = %d" % ident, "n < 5",
                                          "doc ? 'a'"))))


@statement(8, UPDATES)
def with_policies(twin, session, _table):
    """Edits by a role that may not see, or not write, all documents."""
    rng = twin.rng
    table = next(t for t in twin.edited if t.name == "d4")

    def work():
        for _ in range(rng.randint(1, 3)):
            rng.choice((update, update, update_many, upsert, by_cursor,
                        select_edit))(twin, session, table)

    with_setting(twin, session, "role", "twin_user", work)
