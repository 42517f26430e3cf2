"""Row statements of the heap twin.

Each function below runs one statement, or a few, on a pair of tables in a
given session.  While two writers have transactions open at once, each keeps
to the ids of its own parity (twin.scope), so that neither waits.
"""

from twin_values import random_size

STATEMENTS = []


def statement(weight):
    """Enter a function into the list of row statements."""
    def enter(function):
        STATEMENTS.append((weight, function))
        return function
    return enter


def fetch(session, table, name, ident):
    """Return a column's value in the form in which it is sent."""
    cast = "" if table.columns[name] == "b" else "::text"
    rows = session.heap("SELECT %s%s FROM %s WHERE id = %d" % (
        name, cast, table.path(), ident))
    return rows[0][0] if rows else None


def assignment(table, name):
    """Return the parameter of an assignment, cast to the column's type."""
    return "%s = %%s::%s" % (name, table.kind(name).sql)


def picked(twin, session, table, count=1):
    """Return up to count existing ids that this session may write."""
    ids = [row[0] for row in session.heap(
        "SELECT id FROM %s WHERE %s ORDER BY id" % (
            table.path(), twin.scope(session)))]
    return twin.rng.sample(ids, min(count, len(ids)))


def columns(twin, table, most=2):
    """Return some of the table's toastable columns."""
    names = table.names()
    return twin.rng.sample(names, min(len(names), twin.rng.randint(1, most)))


@statement(12)
def insert(twin, session, table):
    """INSERT of one to four rows of random values."""
    rng = twin.rng
    names = table.names()
    rows, values = [], []
    for ident in twin.new_ids(session, rng.randint(1, 4)):
        sent = [table.kind(name).random(rng, twin.largest)
                if rng.random() < 0.8 else None for name in names]
        rows.append("(%d, %d, %s)" % (ident, rng.randrange(100), ", ".join(
            "%%s::%s" % table.kind(name).sql for name in names)))
        values += sent
    tail = rng.choice(("", "", " RETURNING *"))
    session.both("insert", "INSERT INTO %s (id, n, %s) VALUES %s%s" % (
        table.path(), ", ".join(names), ", ".join(rows), tail), values)


@statement(40)
def update_flat(twin, session, table):
    """UPDATE of one row with edited values sent as parameters."""
    for ident in picked(twin, session, table, twin.rng.randint(1, 3)):
        names = columns(twin, table)
        values = []
        for name in names:
            old = fetch(session, table, name, ident)
            kind = table.kind(name)
            values.append(kind.random(twin.rng, twin.largest) if old is None
                          else kind.edited(twin.rng, old))
        tail = twin.rng.choice(
            ("", "", "", " RETURNING id, " + ", ".join(names)))
        session.both("update flat", "UPDATE %s SET %s WHERE id = %d%s" % (
            table.path(), ", ".join(assignment(table, n) for n in names),
            ident, tail), values)


@statement(4)
def update_twice(twin, session, table):
    """Several updates of one value in one function call."""
    for ident in picked(twin, session, table):
        session.both("update twice", """DO $$
            BEGIN
                FOR i IN 1..%d LOOP
                    UPDATE %s SET t = overlay(t placing i::text
                        from 1 + i * %d) WHERE id = %d;
                END LOOP;
            END $$""" % (twin.rng.randint(2, 12), table.path(),
                         twin.rng.randint(0, 900), ident))


@statement(5)
def update_same(twin, session, table):
    """UPDATE that sends the value that is stored already."""
    for ident in picked(twin, session, table):
        name = twin.rng.choice(table.names())
        old = fetch(session, table, name, ident)
        session.both("update same", "UPDATE %s SET %s WHERE id = %d" % (
            table.path(), assignment(table, name), ident), [old])


@statement(8)
def update_small(twin, session, table):
    """UPDATE that leaves the large columns alone."""
    rng = twin.rng
    session.both("update small", "UPDATE %s SET n = n + 1, s = %d"
                 " WHERE id %% %d = %d AND %s" % (
                     table.path(), rng.randrange(100), rng.choice((2, 4, 6)),
                     rng.randrange(2), twin.scope(session)))


EXPRESSIONS = {
    "t": ("t || t", "substr(t, {k})", "overlay(t placing 'x' from {k})",
          "repeat(t, 2)", "upper(t)", "reverse(t)", "left(t, {k})",
          "replace(t, 'a', 'bb')", "t || repeat('y', {k})", "md5(t)",
          "b::text", "n::text", "right(t, {k})", "left(t, -{k})",
          "overlay(t placing '象' from {k} for 3)",
          "left(t, {k}) || 'ñ' || substr(t, {k})",
          "toaster.splice(t, length(t) / 2, {k}, 'Ω')",
          "toaster.splice(t, {k}, 9, t)", "toaster.append(t, 'é')",
          "toaster.truncate(t, {k} * 9)"),
    "b": ("b || b", "substr(b, {k})", "set_byte(b || '\\x00', 0, 7)",
          "b || convert_to(t, 'UTF8')", "'\\x00'::bytea || b",
          "overlay(b placing '\\xffff'::bytea from {k})",
          "toaster.splice(b, {k}, 9, '\\xff')", "toaster.append(b, b)",
          "toaster.truncate(toaster.append(b, b), {k} * 9)",
          "substr(b, 1, {k}) || '\\x00' || substr(b, {k})"),
    "j": ("jsonb_build_object('a', j, 'n', n)", "j || '[1]'::jsonb",
          "to_jsonb(t)", "jsonb_build_array(j, id, t)", "j -> 0",
          "jsonb_build_object('b', encode(b, 'hex'))", "j - 'a' - 0",
          "jsonb_set(j, '{{0}}', to_jsonb(n))"),
    "a": ("a || a", "array_append(a, n)", "a[{k}:]", "array_remove(a, 0)",
          "string_to_array(n::text, ' ')::int[]"),
    "v": ("v || 'appended words'::tsvector", "strip(v)", "setweight(v, 'A')",
          "ts_delete(v, 'cat')"),
    "m": ("m + 1", "m * m", "-m", "trunc(m / 3)", "m * 10 ^ 50"),
    "d": ("d || d", "t", "left(t, {k})", "'forbidden'", "reverse(d)"),
    "c": ("ROW((c).x + 1, (c).y)", "ROW(n, t)", "ROW(1, left((c).y, {k}))"),
}


@statement(15)
def update_expression(twin, session, table):
    """UPDATE by an expression, on one row or a few; the size is bounded."""
    rng = twin.rng
    name = rng.choice(table.names())
    if name not in EXPRESSIONS:
        return
    expression = rng.choice(EXPRESSIONS[name]).format(
        k=rng.randint(1, 5000))
    ids = picked(twin, session, table, rng.randint(1, 6))
    if not ids or not twin.may_fail(session):
        return
    session.both("update expression", "UPDATE %s SET %s = %s WHERE id IN"
                 " (%s) AND coalesce(octet_length(%s::text), 0) < 100000"
                 " AND coalesce(octet_length(t), 0) < 100000"
                 " AND coalesce(octet_length(b), 0) < 100000" % (
                     table.path(), name, expression,
                     ", ".join(map(str, ids)), name))


@statement(5)
def update_column_to_column(twin, session, table):
    """UPDATE that copies or swaps the values of columns."""
    rng = twin.rng
    scope = "id %% 4 = %d AND %s" % (rng.randrange(4), twin.scope(session))
    choices = ["t = convert_from(convert_to(t, 'UTF8'), 'UTF8')", "t = t",
               "b = b, t = t", "t = NULL", "b = convert_to(t, 'UTF8')"]
    if "d" in table.columns:
        choices += ["t = d, d = t", "d = t", "t = d"]
    if "c" in table.columns:
        choices += ["t = (c).y, c = ROW(n, t)"]
    session.both("column to column", "UPDATE %s SET %s WHERE %s" % (
        table.path(), rng.choice(choices), scope))


@statement(5)
def update_from_other_row(twin, session, table):
    """UPDATE with the value of another row, by subquery or join."""
    ids = picked(twin, session, table, 2)
    if len(ids) < 2:
        return
    name = twin.rng.choice(table.names())
    forms = ("UPDATE {0} SET {1} = (SELECT {1} FROM {0} WHERE id = {3})"
             " WHERE id = {2}",
             "UPDATE {0} x SET {1} = y.{1} FROM {0} y"
             " WHERE x.id = {2} AND y.id = {3}",
             "WITH old AS MATERIALIZED (SELECT * FROM {0} WHERE id = {3})"
             " UPDATE {0} x SET {1} = old.{1} FROM old WHERE x.id = {2}"
             " RETURNING x.*")
    template = twin.rng.choice(forms)
    session.both("other row", template.replace("{0}", table.path()).replace(
        "{1}", name).replace("{2}", str(ids[0])).replace("{3}", str(ids[1])))


@statement(6)
def delete(twin, session, table):
    """DELETE of some rows."""
    ids = picked(twin, session, table, twin.rng.randint(1, 3))
    if ids:
        session.both("delete", "DELETE FROM %s WHERE id IN (%s)%s" % (
            table.path(), ", ".join(map(str, ids)),
            twin.rng.choice(("", " RETURNING *"))))


@statement(2)
def delete_many(twin, session, table):
    """DELETE of a share of the rows."""
    session.both("delete many", "DELETE FROM %s WHERE id %% 8 = %d AND %s" % (
        table.path(), twin.rng.randrange(8), twin.scope(session)))


@statement(5)
def insert_select(twin, session, table):
    """INSERT .. SELECT from the same or another table, also of *."""
    rng = twin.rng
    ids = picked(twin, session, table, rng.randint(1, 8))
    source = table
    if rng.random() < 0.3:
        source = rng.choice(twin.tables)
    names = [name for name in table.names()
             if source.columns.get(name) == table.columns[name]]
    if not ids:
        return
    base = twin.new_ids(session, len(ids))[0]
    session.both("insert select", "INSERT INTO %s (id, n, %s)"
                 " SELECT %d + 2 * row_number() OVER (ORDER BY id), n, %s"
                 " FROM %s WHERE id IN (%s)%s" % (
                     table.path(), ", ".join(names), base - 2,
                     ", ".join(names), source.path(),
                     ", ".join(map(str, ids)),
                     rng.choice(("", " RETURNING *"))))


@statement(3)
def move_rows(twin, session, table):
    """Rows deleted in a CTE and inserted again under new ids."""
    ids = picked(twin, session, table, 3)
    if not ids:
        return
    base = twin.new_ids(session, len(ids))[0]
    names = ", ".join(table.names())
    session.both("move rows", "WITH gone AS (DELETE FROM %s WHERE id IN (%s)"
                 " RETURNING *) INSERT INTO %s (id, n, %s) SELECT"
                 " %d + 2 * row_number() OVER (ORDER BY id), n, %s"
                 " FROM gone" % (
                     table.path(), ", ".join(map(str, ids)), table.path(),
                     names, base - 2, names))


@statement(3)
def update_key(twin, session, table):
    """UPDATE of the primary key, with and without a large column."""
    for ident in picked(twin, session, table):
        new = twin.new_ids(session, 1)[0]
        more = twin.rng.choice(("", ", t = t || 'k'", ", b = b"))
        session.both("update key", "UPDATE %s SET id = %d%s WHERE id = %d" % (
            table.path(), new, more, ident))


@statement(8)
def upsert(twin, session, table):
    """INSERT .. ON CONFLICT with losers and winners."""
    rng = twin.rng
    names = columns(twin, table)
    idents = picked(twin, session, table, 2) + twin.new_ids(session, 1)
    rows, values = [], []
    for ident in idents:
        rows.append("(%d, %d, %s)" % (ident, rng.randrange(100), ", ".join(
            "%%s::%s" % table.kind(name).sql for name in names)))
        values += [table.kind(name).random(rng, twin.largest)
                   for name in names]
    name = names[0]
    action = rng.choice((
        "DO NOTHING", "DO UPDATE SET %s = excluded.%s" % (name, name),
        "DO UPDATE SET %s = excluded.%s WHERE x.id %%%% 2 = 0"
        % (name, name),
        "DO UPDATE SET n = x.n + 1",
        "DO UPDATE SET t = x.t || 'again', n = excluded.n RETURNING *"))
    session.both("upsert", "INSERT INTO %s AS x (id, n, %s) VALUES %s"
                 " ON CONFLICT %s %s" % (
                     table.path(), ", ".join(names), ", ".join(rows),
                     "(id)", action), values)


@statement(2)
def merge(twin, session, table):
    """MERGE that updates, deletes and inserts."""
    ids = picked(twin, session, table, 4)
    if not ids or twin.version < 150000:
        return
    new = twin.new_ids(session, 1)[0]
    session.both("merge", "MERGE INTO %s x USING (SELECT unnest(ARRAY[%s"
                 "]::bigint[]) AS id) y ON x.id = y.id"
                 " WHEN MATCHED AND x.id %% 3 = 0 THEN DELETE"
                 " WHEN MATCHED THEN UPDATE SET t = x.t || 'm', b = x.b"
                 " WHEN NOT MATCHED THEN INSERT (id, t) VALUES"
                 " (y.id, repeat('merged ', 2000))" % (
                     table.path(), ", ".join(map(str, ids + [new]))))


@statement(4)
def copy_in(twin, session, table):
    """COPY FROM of several rows in text format."""
    rng = twin.rng
    names = [name for name in table.names() if table.columns[name] in "tb"]
    lines = []
    for ident in twin.new_ids(session, rng.randint(1, 30)):
        fields = [str(ident)]
        for name in names:
            size = min(twin.largest, random_size(rng) // 4)
            value = table.kind(name).make(rng, size)
            fields.append("\\\\x" + value.hex() if isinstance(value, bytes)
                          else value)
        lines.append("\t".join(fields) + "\n")
    session.copy_in("copy in", "COPY %s (id, %s) FROM STDIN" % (
        table.path(), ", ".join(names)), "".join(lines))


@statement(2)
def copy_out(twin, session, table):
    """COPY TO of all rows, text and binary, compared byte by byte."""
    session.copy_out("copy out", "COPY (SELECT id, n, %s FROM %s ORDER BY"
                     " id) TO STDOUT%s" % (
                         ", ".join(table.names()), table.path(),
                         twin.rng.choice(("", " (FORMAT binary)"))))


@statement(6)
def failing(twin, session, table):
    """A statement that fails after it has written some rows."""
    rng = twin.rng
    ids = picked(twin, session, table, 3)
    if not ids or not twin.may_fail(session):
        return
    bad = max(ids)
    id_list = ", ".join(map(str, ids))
    forms = (
        "UPDATE {0} SET t = t || (CASE WHEN id = {1} THEN 1 / (id - {1})"
        " ELSE 1 END)::text WHERE id IN ({2})",
        "UPDATE {0} SET id = {1}, b = b || '\\x01' WHERE id IN ({2})",
        "INSERT INTO {0} (id, t) SELECT id, repeat(t, 2) FROM {0}"
        " WHERE id IN ({2})",
        "UPDATE {0} SET t = CASE WHEN id = {1} THEN public.fail('stop')"
        " ELSE t || 'f' END WHERE id IN ({2})",
        "DELETE FROM {0} WHERE id IN ({2}) AND 1 / (id - {1}) < 9")
    session.both("failing", rng.choice(forms).replace(
        "{0}", table.path()).replace("{1}", str(bad)).replace(
            "{2}", id_list))


@statement(6)
def exception_block(twin, session, table):
    """plpgsql that writes, fails, catches, and writes the row again."""
    for ident in picked(twin, session, table):
        session.both("exception block", """DO $$
            DECLARE keep text; row {s}.%s;
            BEGIN
                SELECT t INTO keep FROM {s}.%s WHERE id = %d;
                BEGIN
                    UPDATE {s}.%s SET t = repeat(t, 2), b = b || '\\x02'
                        WHERE id = %d RETURNING * INTO row;
                    PERFORM length(row.t);
                    IF %s THEN RAISE EXCEPTION 'undo'; END IF;
                EXCEPTION WHEN raise_exception THEN
                    UPDATE {s}.%s SET t = keep || '!' WHERE id = %d;
                END;
                UPDATE {s}.%s SET t = left(t || '.', 200000)
                    WHERE id = %d;
            END $$""" % (table.name, table.name, ident, table.name, ident,
                         twin.rng.choice(("true", "false")), table.name,
                         ident, table.name, ident))


@statement(4)
def cursor_update(twin, session, table):
    """A cursor that reads old versions while their rows are updated."""
    if not session.in_transaction or session.savepoints:
        return
    if twin.two_writers():
        return
    for template in (
            "DECLARE {s}_cursor CURSOR FOR SELECT id, %s FROM %s" % (
                ", ".join(table.names()), table.path()),
            "UPDATE %s SET t = 'during ' || t, b = NULL"
            " WHERE id %% 3 = 0 AND %s" % (table.path(),
                                           twin.scope(session)),
            "FETCH ALL FROM {s}_cursor", "CLOSE {s}_cursor"):
        if session.both("cursor", template) is None:
            return
    if not session.in_transaction:
        return
    if session.both("cursor", "DECLARE {s}_cursor CURSOR FOR SELECT * FROM"
                    " %s WHERE id = %d FOR UPDATE" % (
                        table.path(),
                        (picked(twin, session, table) or [0])[0])) is None:
        return
    found = session.both("cursor", "FETCH 1 FROM {s}_cursor")
    if found:
        session.both("cursor", "UPDATE %s SET t = t || 'current'"
                     " WHERE CURRENT OF {s}_cursor" % table.path())
    if session.in_transaction:
        session.both("cursor", "CLOSE {s}_cursor")


@statement(3)
def holding_cursor(twin, session, table):
    """A WITH HOLD cursor read after its rows were deleted."""
    if session.in_transaction or twin.two_writers():
        return
    share = twin.rng.randrange(4)
    session.both("hold", "DECLARE {s}_hold CURSOR WITH HOLD FOR SELECT *"
                 " FROM %s WHERE id %% 4 = %d ORDER BY id" % (
                     table.path(), share))
    session.both("hold", "DELETE FROM %s WHERE id %% 4 = %d AND id %% 3 = 0"
                 % (table.path(), share))
    session.both("hold", "FETCH ALL FROM {s}_hold")
    session.both("hold", "CLOSE {s}_hold")


@statement(10)
def query(twin, session, table):
    """Queries that sort, group, join and search the large columns."""
    rng = twin.rng
    forms = [
        "SELECT id, {c} FROM {0} ORDER BY {c}::text, id LIMIT 5",
        "SELECT md5({c}::text), count(*) FROM {0} GROUP BY 1",
        "SELECT x.id, y.id FROM {0} x JOIN {0} y ON x.{c} = y.{c}"
        " WHERE x.id < y.id",
        "SELECT max(t), min(t), count(DISTINCT b), sum(length(t)) FROM {0}",
        "SELECT id, (x).t FROM (SELECT id, x FROM {0} x OFFSET 0) q"
        " ORDER BY id LIMIT 7",
        "SELECT id FROM {0} WHERE t LIKE '%%cat%%' OR t = upper(t)",
        "SELECT array_agg(t ORDER BY id) FROM {0} WHERE id %% 5 = 0",
        "SELECT row_to_json(x) FROM {0} x WHERE id %% 9 = 0 ORDER BY id",
        "SELECT id, {c} FROM {0} WHERE id %% 7 = 0 FOR UPDATE SKIP LOCKED",
        "SELECT id, length(t), substr(t, {k}, 40), substr(t, {k}), left(t, {k}),"
        " left(t, -{k}), right(t, {k}), right(t, -{k}) FROM {0}",
        "SELECT id, strpos(t, '象'), position('cat' in t), t ^@ left(t, {k}),"
        " starts_with(t, 'a'), position('\\x0000'::bytea in b) FROM {0}",
        "SELECT id, strpos(t, substr(t, {k}, 30)), position(substr(b, {k},"
        " 30) in b), get_byte(b || '\\x01', length(b)) FROM {0}",
        "SELECT id, get_byte(b, {k}), get_bit(b, {k}) FROM {0}"
        " WHERE length(b) > {k}"]
    if table.columns.get("j"):
        forms += ["SELECT id, j -> 0, j -> 'a', j #>> '{1}' FROM {0}",
                  "SELECT id FROM {0} WHERE j @> '[0]' OR j ? 'a'"]
    if table.columns.get("a"):
        forms += ["SELECT id, a[2], a[3:5], cardinality(a) FROM {0}"]
    form = rng.choice(forms)
    if twin.two_writers() and "FOR UPDATE" in form:
        return
    with_name = form.replace("{c}", rng.choice(table.names())).replace(
        "{k}", str(rng.randint(0, 30000)))
    session.both("query", with_name.replace("{0}", table.path()).replace(
        "%%", "%"))

