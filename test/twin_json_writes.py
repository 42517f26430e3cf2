"""Statements of the document twin that change documents or keep parts.

Each function runs one statement, or a few, on a pair of tables.
"""

from twin_json_docs import (ODD_KEYS, SERVER_MADE, dump, load, part_of,
                            random_path, resolve)
from twin_json_reads import Question, quote, texts
from twin_values import edit_json

STATEMENTS = []
KEEPING = []

# Texts longer than this are changed on the server only.
LARGEST_EDIT = 2_000_000


def statement(weight, statements=None):
    """Enter a function into a list of statements."""
    def enter(function):
        entries = STATEMENTS if statements is None else statements
        entries.append((weight, function))
        return function
    return enter


def fetch(session, table, column, ident):
    """Return the text of a document, or None."""
    rows = session.heap("SELECT %s::text FROM %s WHERE id = %d" % (
        column, table.path(), ident))
    return rows[0][0] if rows else None


def new_document(twin):
    """Return an expression for a new document."""
    rng = twin.rng
    if rng.random() < 0.04:
        return "NULL::jsonb"
    if rng.random() < 0.15:
        count = int(2 ** rng.uniform(0, twin.largest_count))
        return "(%s)" % rng.choice(SERVER_MADE).replace("{n}", str(count))
    return quote(twin.maker.document()) + "::jsonb"


@statement(14)
def insert(twin, session, table):
    """INSERT of one to three documents."""
    rows = []
    for _ in range(twin.rng.randint(1, 3)):
        rows.append("(%d, %d, %s)" % (
            twin.new_id(), twin.rng.randrange(10),
            ", ".join(new_document(twin) for _ in table.columns)))
    twin.ask(session, "insert", "INSERT INTO %s (id, n, %s) VALUES %s%s" % (
        table.path(), ", ".join(table.columns), ", ".join(rows),
        twin.rng.choice(("", "", " RETURNING id, doc -> 'a', doc -> 0"))))


@statement(10)
def replace(twin, session, table):
    """UPDATE with a new document."""
    for ident in twin.picked(session, table):
        twin.ask(session, "replace", "UPDATE %s SET %s = %s WHERE id = %d%s"
                 % (table.path(), twin.rng.choice(table.columns),
                    new_document(twin), ident, twin.rng.choice(
                        ("", " RETURNING doc -> 'a', doc ->> 0"))))


@statement(14)
def edit(twin, session, table):
    """UPDATE with an edit of the document, sent whole."""
    for ident in twin.picked(session, table):
        column = twin.rng.choice(table.columns)
        text = fetch(session, table, column, ident)
        if text is None or len(text) > LARGEST_EDIT:
            continue
        new = edit_json(twin.rng, load(text))
        twin.ask(session, "edit", "UPDATE %s SET %s = %s::jsonb WHERE id = %d"
                 % (table.path(), column, quote(dump(new)), ident))


SERVER_EDITS = (
    "jsonb_set({c}, {p}, {v})", "jsonb_set({c}, {p}, {v})",
    "jsonb_set({c}, {p}, {v})", "jsonb_insert({c}, {p}, {v})",
    "{c} #- {p}", "{c} - {k}", "{c} || jsonb_build_object({k}, {v})",
    "{c} || {v}", "{v} || {c}", "jsonb_strip_nulls({c})", "{c} #> {p}",
    "jsonb_build_object('a', {c}, 'b', {c} #> {p})",
    "jsonb_build_array({c}, {v}, {c} -> 0)", "to_jsonb(({c} #>> {p}))",
    "jsonb_set({c}, {p}, {c} -> {k})", "coalesce({c} -> {k}, {c})",
    "jsonb_set_lax({c}, {p}, NULL)", "{c}", "({c}::text)::jsonb")


@statement(26)
def server_edit(twin, session, table):
    """UPDATE by an expression on the document."""
    rng = twin.rng
    for ident in twin.picked(session, table):
        column = rng.choice(table.columns)
        text = fetch(session, table, column, ident)
        if text is None:
            continue
        value = load(text)
        steps = resolve(value, random_path(rng, value)[0])
        key = next((s for s in steps if isinstance(s, str)),
                   rng.choice(ODD_KEYS))
        expression = rng.choice(SERVER_EDITS).replace("{v}", quote(
            twin.maker.value(rng.choice((3, 10, 100, 1000, 6000))))
            + "::jsonb").replace("{p}", texts(steps)).replace(
                "{k}", quote(key)).replace("{c}", column)
        twin.ask(session, "server edit", "UPDATE %s SET %s = %s WHERE id = %d"
                 " AND octet_length(%s::text) < 3000000%s" % (
                     table.path(), column, expression, ident, column,
                     rng.choice(("", "", " RETURNING doc -> 'a'"))))


@statement(4)
def assign_subscript(twin, session, table):
    """UPDATE of one member by a subscript."""
    for ident in twin.picked(session, table):
        text = fetch(session, table, "doc", ident)
        value = None if text is None else load(text)
        steps = resolve(value, random_path(twin.rng, value, 20)[0])
        places = "".join("[%s]" % (quote(s) if isinstance(s, str) else s)
                         for s in steps) or "['a']"
        twin.ask(session, "subscript", "UPDATE %s SET doc%s = %s::jsonb"
                 " WHERE id = %d" % (table.path(), places,
                                     quote(twin.maker.value(100)), ident))


@statement(6)
def copy_over(twin, session, table):
    """UPDATE with the document of another row or column, or a part of it."""
    rng = twin.rng
    ids = twin.picked(session, table, 2)
    part = rng.choice(("doc", "doc", "doc -> 'a'", "doc -> 0", "doc #> '{b}'",
                       table.columns[-1]))
    if len(ids) == 2:
        twin.ask(session, "copy over", "UPDATE %s x SET %s = (SELECT %s FROM"
                 " %s WHERE id = %d) WHERE id = %d" % (
                     table.path(), table.columns[-1], part, table.path(),
                     ids[0], ids[1]))


@statement(6)
def delete(twin, session, table):
    """DELETE of some rows, with a look at what goes."""
    for ident in twin.picked(session, table, 2):
        twin.ask(session, "delete", "DELETE FROM %s WHERE id = %d%s" % (
            table.path(), ident, twin.rng.choice(
                ("", " RETURNING doc", " RETURNING doc -> 'a', doc -> 0"))))


@statement(4)
def failing(twin, session, table):
    """An UPDATE that fails after some rows."""
    for ident in twin.picked(session, table):
        twin.ask(session, "failing", "UPDATE %s SET doc = jsonb_build_array("
                 "doc, 1 / (id - %d)) WHERE id >= %d - 3 AND"
                 " octet_length(doc::text) < 100000" % (
                     table.path(), ident, ident))


@statement(3)
def maintain(twin, session, table):
    """VACUUM, a rewrite, or other storage."""
    if session.in_transaction:
        return
    storage = twin.rng.choice(("EXTENDED", "EXTERNAL", "MAIN", "EXTENDED"))
    twin.ask(session, "maintain", twin.rng.choice((
        "VACUUM {t}", "VACUUM FULL {t}", "ANALYZE {t}",
        "CLUSTER {t} USING %s_pkey" % table.name,
        "ALTER TABLE {t} ALTER doc SET STORAGE " + storage,
        "ALTER TABLE {t} ALTER doc SET COMPRESSION "
        + twin.rng.choice(("pglz", "default")),
    )).replace("{t}", table.path()))


def part_expression(twin, session, table):
    """Return an expression for a part of the documents of a table."""
    rng = twin.rng
    ids = twin.picked(session, table)
    text = fetch(session, table, "doc", ids[0]) if ids else None
    question = Question(rng, None if text is None else load(text),
                        rng.choice(("operator", "direct")))
    return question.chain(question.path[:rng.randint(1, 4)] or ["a"])


@statement(10, KEEPING)
def keep_in_table(twin, session, table):
    """Parts are stored in other tables, then their source is emptied."""
    part = part_expression(twin, session, table)
    own = not session.in_transaction
    if own:
        session.begin(True)
    for target in ("kept", "plain"):
        twin.ask(session, "keep", "INSERT INTO {s}.%s SELECT %d + id, %s,"
                 " ROW(%s, doc)::twin_ab, ARRAY[%s, '1'] FROM %s" % (
                     target, twin.new_id() * 1000, part, part, part,
                     table.path()))
    twin.ask(session, "keep", "CREATE TEMP TABLE {s}_temp ON COMMIT DROP AS"
             " SELECT id, %s AS part FROM %s" % (part, table.path()))
    twin.ask(session, "empty", "TRUNCATE %s" % table.path())
    for target in ("{s}.kept", "{s}.plain", "{s}_temp"):
        twin.ask(session, "kept", "SELECT * FROM %s x ORDER BY x.id"
                 % target)
    twin.ask(session, "kept", "DROP TABLE {s}_temp")
    if own:
        session.end(twin.rng.choice(("ROLLBACK", "ROLLBACK", "COMMIT")))
    twin.ask(session, "kept", "SELECT id, part -> 'a', (pair).a -> 0,"
             " list[1] -> 'a' FROM {s}.kept ORDER BY id")
    twin.ask(session, "kept", "DELETE FROM {s}.kept")
    twin.ask(session, "kept", "DELETE FROM {s}.plain")


@statement(8, KEEPING)
def keep_in_variables(twin, session, table):
    """plpgsql keeps parts in variables while their source is emptied."""
    part = part_expression(twin, session, table)
    gone = twin.rng.choice(("TRUNCATE %s", "DELETE FROM %s",
                            "UPDATE %s SET doc = NULL")) % table.path()
    own = not session.in_transaction
    if own:
        session.begin(True)
    twin.ask(session, "variables", """
        CREATE OR REPLACE FUNCTION {s}.hold() RETURNS jsonb[]
        LANGUAGE plpgsql AS $body$
        DECLARE
            one jsonb; pair twin_ab; many jsonb[]; r record; s record;
            line %s; seen jsonb[]; l int := 0;
        BEGIN
            SELECT 0 AS id, NULL::jsonb AS doc, NULL::jsonb AS part INTO s;
            SELECT array_agg(%s ORDER BY id) INTO many FROM %s;
            SELECT %s INTO one FROM %s ORDER BY id LIMIT 1;
            SELECT %s, doc -> 'a' INTO pair FROM %s ORDER BY id LIMIT 1;
            SELECT * INTO line FROM %s ORDER BY id DESC LIMIT 1;
            FOR r IN SELECT id, doc, %s AS part FROM %s ORDER BY id LOOP
                one := coalesce(one, r.doc -> 'a');
                seen := seen || r.part || (r.doc -> 0);
                pair.b := coalesce(r.doc -> 'b', pair.b);
                l := l + length((r.doc -> 'a')::text);
                s := r;
            END LOOP;
            line.doc := line.doc -> 'a';
            %s;
            RETURN many || seen || one || pair.a || pair.b || s.part
                || line.doc || to_jsonb(l) || (one -> 'a') || (pair.a -> 0);
        END $body$""" % (table.path(), part, table.path(), part,
                         table.path(), part, table.path(), table.path(),
                         part, table.path(), gone))
    twin.ask(session, "variables", "SELECT {s}.hold()")
    if own:
        session.end("ROLLBACK")


@statement(8, KEEPING)
def keep_in_cursor(twin, session, table):
    """A cursor returns parts of documents that are changed meanwhile."""
    part = part_expression(twin, session, table)
    own = not session.in_transaction
    if own:
        session.begin(True)
    ask = twin.ask
    hold = own and twin.rng.random() < 0.3
    ask(session, "cursor", "DECLARE {s}_c %s CURSOR %s FOR SELECT id, %s,"
        " doc FROM %s %s" % (
            twin.rng.choice(("SCROLL", "", "")),
            "WITH HOLD" if hold else "", part, table.path(),
            twin.rng.choice(("ORDER BY id", "ORDER BY id", "ORDER BY %s, id"
                             % part))))
    ask(session, "cursor", "FETCH 2 FROM {s}_c")
    ask(session, "cursor", twin.rng.choice((
        "UPDATE %s SET doc = doc || '[1]'", "DELETE FROM %s",
        "UPDATE %s SET doc = jsonb_build_array(doc)")) % table.path()
        + " WHERE octet_length(doc::text) < 100000")
    ask(session, "cursor", "FETCH 1 FROM {s}_c")
    if hold:
        session.end(twin.rng.choice(("COMMIT", "ROLLBACK")))
        own = False
    ask(session, "cursor", "FETCH ALL FROM {s}_c")
    ask(session, "cursor", "FETCH PRIOR FROM {s}_c")
    ask(session, "cursor", "CLOSE {s}_c")
    if own:
        session.end(twin.rng.choice(("COMMIT", "ROLLBACK")))


@statement(4, KEEPING)
def keep_in_rows(twin, session, table):
    """Parts in CTEs that write, and in arguments of functions."""
    part = part_expression(twin, session, table)
    ids = twin.picked(session, table)
    if not ids:
        return
    for text in (
            "WITH gone AS (DELETE FROM {t} WHERE id = {i} RETURNING {p} AS"
            " part, doc, id) INSERT INTO {s}.kept SELECT id, part,"
            " ROW(doc, part)::twin_ab, ARRAY[part] FROM gone"
            " RETURNING part -> 'a', (pair).a -> 0",
            "WITH new AS (UPDATE {t} SET doc = {p} WHERE id % 5 = 0"
            " RETURNING id, doc) SELECT id, doc, doc -> 'a' FROM new"
            " ORDER BY id",
            "SELECT id, {s}.part({p}, 'a'), {s}.part(doc, 'b') FROM {t}"
            " ORDER BY id",
            "DELETE FROM {s}.kept"):
        twin.ask(session, "rows", text.replace("{t}", table.path()).replace(
            "{p}", part).replace("{i}", str(ids[0])))


@statement(6, KEEPING)
def same_place(twin, session, table):
    """Documents of the same sizes come to stand at the same places."""
    ask = twin.ask
    part = part_expression(twin, session, table)
    own = not session.in_transaction
    if own:
        session.begin(True)
    look = "SELECT id, %s, doc -> 0 -> 'a', jsonb_typeof(%s), {f}jsonb_array" \
        "_element_text(doc, 1) FROM %s ORDER BY id LIMIT 4" % (
            part, part, table.path())
    ask(session, "same place", "CREATE TEMP TABLE {s}_same AS SELECT *"
        " FROM %s" % table.path())
    # letters that have no part in escapes, true, false and null
    changed = "translate(doc::text, 'ghkmoz', 'mzghko')::jsonb"
    for document in ("doc", changed, "doc"):
        session.control("SAVEPOINT same_place")
        ask(session, "same place", "TRUNCATE %s" % table.path())
        ask(session, "same place", "INSERT INTO %s (id, n, doc) SELECT id, n,"
            " %s FROM {s}_same ORDER BY id" % (table.path(), document))
        ask(session, "same place", look)
        if document != "doc" and twin.rng.random() < 0.5:
            session.control("ROLLBACK TO same_place")
            ask(session, "same place", look)
    ask(session, "same place", "DROP TABLE {s}_same")
    if own:
        session.end(twin.rng.choice(("COMMIT", "ROLLBACK")))


# Containment in itself takes time quadratic in the elements of a document.
FEW = "(SELECT * FROM {t} WHERE octet_length(doc::text) < 20000)"

WHOLE_TABLE = (
    "SELECT count(*), min(id) FROM {t} GROUP BY {p} ORDER BY 2",
    "SELECT count(*), min(id) FROM {t} GROUP BY ({p})::text, n ORDER BY 2",
    "SELECT id FROM {t} ORDER BY {p}, id",
    "SELECT id, {p} FROM {t} ORDER BY {p} DESC NULLS LAST, id LIMIT 5",
    "SELECT id, {p} FROM {t} ORDER BY doc, id",
    "SELECT count(DISTINCT {p}), count(DISTINCT doc) FROM {t}",
    "SELECT array_agg({p} ORDER BY id) FROM {t}",
    "SELECT jsonb_agg({p} ORDER BY id), jsonb_object_agg(id, {p})"
    " FROM {t}",
    "SELECT n, array_agg({p} ORDER BY id) FROM {t} GROUP BY n ORDER BY n",
    "SELECT a.id, b.id FROM {t} a JOIN {t} b ON a.doc -> 'a' = b.doc -> 'a'"
    " WHERE a.id < b.id ORDER BY 1, 2",
    "SELECT a.id, b.id FROM {few} a, {few} b WHERE a.doc @> b.doc"
    " ORDER BY 1, 2",
    "SELECT a.id, b.id, jsonb_cmp(a.doc, b.doc), a.doc -> 'a' < b.doc -> 'a'"
    " FROM {few} a, {few} b ORDER BY 1, 2",
    "SELECT a.id, b.id FROM {few} a, {few} b WHERE {f}jsonb_contained(b.doc,"
    " a.doc) ORDER BY 1, 2",
    "SELECT id, lag({p}) OVER (ORDER BY id), first_value({p}) OVER"
    " (ORDER BY id ROWS 2 PRECEDING) FROM {t} ORDER BY id",
    "SELECT id, doc = lag(doc) OVER (ORDER BY id) FROM {t} ORDER BY id",
    "SELECT id, x FROM {t}, LATERAL (SELECT {p} AS x) y ORDER BY id",
    "SELECT * FROM {s}.view_{n} ORDER BY id",
    "SELECT id FROM {s}.view_{n} WHERE a IS NOT NULL OR kind = 'array'"
    " ORDER BY a, id",
    "SELECT id, {p} FROM (SELECT * FROM {t} ORDER BY n, id OFFSET 0) x",
    "SELECT id, p, p -> 'a' FROM (SELECT id, {p} AS p FROM {t} OFFSET 0) x"
    " ORDER BY id",
    "WITH c AS MATERIALIZED (SELECT id, {p} AS p FROM {t}) SELECT a.id,"
    " a.p -> 'a', b.p FROM c a JOIN c b USING (id) ORDER BY id",
    "WITH RECURSIVE r(id, v, l) AS (SELECT id, doc, 0 FROM {t} UNION ALL"
    " SELECT id, coalesce(v -> 'a', v -> 0), l + 1 FROM r WHERE v IS NOT"
    " NULL AND l < 20) SELECT id, l, v FROM r WHERE l > 0 ORDER BY id, l",
    "SELECT id, k, count(*) OVER (PARTITION BY k) FROM {t}, LATERAL"
    " jsonb_object_keys(CASE jsonb_typeof(doc) WHEN 'object' THEN doc END)"
    " k ORDER BY k, id LIMIT 300",
    "SELECT ({p})::text FROM {t} UNION SELECT doc ->> 0 FROM {t} ORDER BY 1",
    "SELECT id FROM {t} WHERE md5(doc ->> 'a') = md5('x') ORDER BY id",
    "SELECT id FROM {t} WHERE {p} IN ('1', '\"x\"', 'null', '[]')"
    " ORDER BY id",
    "SELECT id FROM {t} WHERE doc @> {v} ORDER BY id",
    "SELECT id FROM {t} WHERE doc @> {v} ORDER BY id",
    "SELECT id FROM {t} WHERE doc @? '$.a' AND NOT doc @@ '$.a == 1'"
    " ORDER BY id",
    "SELECT id FROM {s}.d1 WHERE other -> 'a' @> '[]' OR other -> 'a' ? 'x'"
    " ORDER BY id",
    "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY {p}) FROM {t}",
    "SELECT x, x.doc -> 'a' FROM {t} x ORDER BY id",
    "SELECT row_to_json(x) FROM (SELECT id, {p} AS p FROM {t}) x"
    " ORDER BY id",
)


def query_table(twin, session, table):
    """Run a query on all rows."""
    form = twin.rng.choice(WHOLE_TABLE)
    part = part_expression(twin, session, table)
    if "{v}" in form:
        ids = twin.picked(session, table)
        text = fetch(session, table, "doc", ids[0]) if ids else None
        form = form.replace("{v}", quote(dump(part_of(
            twin.rng, load(text or "[]")))) + "::jsonb")
    twin.ask(session, "table", form.replace("{few}", FEW).replace(
        "{t}", table.path()).replace("{p}", part).replace("{n}", table.name))
