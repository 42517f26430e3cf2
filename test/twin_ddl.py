"""Statements of the heap twin that concern whole tables, and restarts.

Each runs in the first session while no transaction of it is open, unless
the name says otherwise.  Its entry says what else it needs:

    quiet    the second writer has no transaction open
    unlocked the reader holds at most a snapshot, no lock on a table
    alone    the reader has no transaction open
"""

from twin_dml import fetch
from twin_session import Difference
from twin_tables import FIXED
from twin_values import KINDS

STATEMENTS = []


def statement(weight, *needs):
    """Enter a function into the list of statements on whole tables."""
    def enter(function):
        STATEMENTS.append((weight, needs, function))
        return function
    return enter


@statement(12)
def vacuum(twin, session, table):
    """VACUUM in one of its forms."""
    form = twin.rng.choice((
        "VACUUM", "VACUUM", "VACUUM", "VACUUM (FREEZE)", "VACUUM (ANALYZE)",
        "VACUUM (DISABLE_PAGE_SKIPPING)", "VACUUM (INDEX_CLEANUP off)",
        "VACUUM (TRUNCATE off)", "ANALYZE"))
    session.both("vacuum", "%s %s" % (form, table.path()))


@statement(4, "quiet", "unlocked")
def vacuum_full(twin, session, table):
    """VACUUM FULL, perhaps with versions that an old snapshot needs."""
    session.both("vacuum full", "VACUUM (FULL%s) %s" % (
        twin.rng.choice(("", ", FREEZE")), table.path()))


@statement(3, "quiet", "unlocked")
def cluster(twin, session, table):
    """CLUSTER by the primary key, by index scan or by sort."""
    session.must("SET enable_indexscan = %s" % twin.rng.choice(
        ("on", "off")))
    session.both("cluster", "CLUSTER %s USING %s_pkey" % (
        table.path(), table.name))
    session.must("RESET enable_indexscan")


@statement(3, "quiet", "alone")
def reindex(twin, session, table):
    """REINDEX of the table with its TOAST index, also CONCURRENTLY."""
    session.both("reindex", "REINDEX TABLE %s%s" % (
        twin.rng.choice(("", "CONCURRENTLY ")), table.path()))


@statement(4, "quiet", "alone")
def index(twin, session, table):
    """CREATE INDEX on expressions of large columns, or DROP INDEX."""
    rng = twin.rng
    if len(table.indexes) > 2:
        name = table.indexes.pop(rng.randrange(len(table.indexes)))
        session.both("drop index", "DROP INDEX {s}.%s" % name)
        return
    name = "%s_x%d" % (table.name, twin.number())
    forms = ["(md5(t))", "(length(t), id)", "USING hash (md5(b::text))",
             "(id) WHERE length(t) > 5000", "USING brin (octet_length(b))",
             "(left(t, 20), octet_length(b))"]
    if session.both("create index", "CREATE INDEX %s%s ON %s %s" % (
            rng.choice(("", "CONCURRENTLY ")), name, table.path(),
            " ".join((rng.choice(forms),)))):
        table.indexes.append(name)


@statement(1, "quiet", "unlocked")
def truncate(twin, session, table):
    """TRUNCATE, perhaps in a transaction that is rolled back."""
    if twin.rng.random() < 0.5:
        session.begin(False)
        session.both("truncate", "TRUNCATE " + table.path())
        session.both("truncate", "INSERT INTO %s (id, t) SELECT i,"
                     " repeat('fresh ' || i, 2000)"
                     " FROM generate_series(1, 5) i" % table.path())
        twin.compare(session, table)
        if session.in_transaction:
            session.rollback()
    elif twin.rng.random() < 0.3:
        session.both("truncate", "TRUNCATE " + table.path())


@statement(3, "quiet", "alone")
def add_or_drop_column(twin, session, table):
    """ALTER TABLE ADD COLUMN, with or without default, or DROP COLUMN."""
    rng = twin.rng
    free = [name for name in table.names() if name not in FIXED]
    if free and rng.random() < 0.4:
        name = rng.choice(free)
        if session.both("drop column", "ALTER TABLE %s DROP COLUMN %s" % (
                table.path(), name)):
            del table.columns[name]
        return
    kind = rng.choice(list(KINDS))
    name = "%s%d" % (kind, twin.number())
    default = ""
    if kind in "td":
        default = rng.choice(("", " DEFAULT repeat('default ', 400)"))
    if session.both("add column", "ALTER TABLE %s ADD COLUMN %s %s%s" % (
            table.path(), name, KINDS[kind].sql, default)):
        table.columns[name] = kind


@statement(2, "quiet", "alone")
def rewrite(twin, session, table):
    """ALTER TABLE that rewrites every row."""
    forms = ["ALTER COLUMN n TYPE bigint", "ALTER COLUMN n TYPE int",
             "ALTER COLUMN s TYPE int", "ALTER COLUMN s TYPE smallint",
             "ALTER COLUMN t TYPE text USING t || '~'",
             "ALTER COLUMN b TYPE bytea USING substr(b, 2)",
             "ADD COLUMN z text DEFAULT md5(clock_timestamp()::text),"
             " DROP COLUMN z"]
    session.both("rewrite", "ALTER TABLE %s %s" % (
        table.path(), twin.rng.choice(forms)))


@statement(3, "quiet", "alone")
def storage(twin, session, table):
    """ALTER TABLE of the storage, compression and target of a column."""
    rng = twin.rng
    name = rng.choice(table.names())
    methods = ["pglz", "default"] + (["lz4"] if twin.has_lz4 else [])
    forms = ("ALTER COLUMN %s SET STORAGE %s" % (
        name, rng.choice(("MAIN", "EXTERNAL", "EXTENDED", "EXTENDED"))),
        "ALTER COLUMN %s SET COMPRESSION %s" % (name, rng.choice(methods)),
        "SET (toast_tuple_target = %d)" % rng.choice(
            (128, 256, 1000, 2040, 4080, 8160)),
        "RESET (toast_tuple_target)")
    form = rng.choice(forms)
    if table.columns[name] == "m" and "SET COMPRESSION" not in form:
        form = forms[2]
    session.both("storage", "ALTER TABLE %s %s" % (table.path(), form))


@statement(2, "quiet", "alone")
def access_method(twin, session, table):
    """The table becomes a heap for a while, and comes back."""
    if twin.am == "heap" or twin.version < 150000 or table.has_log:
        return
    for am in ("heap", twin.am):
        session.twin("ALTER TABLE %s SET ACCESS METHOD %s" % (
            table.path(), am))
        twin.compare(session, table)


@statement(4, "quiet", "unlocked")
def trigger(twin, session, table):
    """Create or drop a trigger."""
    if table.triggers and twin.rng.random() < 0.5:
        table.drop_triggers(session)
        return
    forms = {"change": "BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW"
                       " EXECUTE FUNCTION {s}.change()"}
    if table.has_log:
        forms["note"] = ("AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH"
                         " ROW EXECUTE FUNCTION {s}.note()")
        forms["note_all"] = (
            "AFTER UPDATE ON %s REFERENCING OLD TABLE AS olds NEW TABLE AS"
            " news FOR EACH STATEMENT EXECUTE FUNCTION {s}.note_all()")
    name = twin.rng.choice(sorted(forms))
    if name not in table.triggers:
        session.both("trigger", "CREATE TRIGGER %s %s" % (
            name, forms[name] % table.path()))
        table.triggers.add(name)


@statement(3, "quiet", "unlocked")
def empty_log(twin, session, table):
    """Compare and empty the log of a table's triggers."""
    if table.has_log:
        twin.compare(session, table)
        session.both("truncate log", "TRUNCATE %s_log" % table.path())


@statement(3, "quiet")
def copy_of_table(twin, session, table):
    """CREATE TABLE AS into either kind of table, which outlives its source.

    The source of the copy is itself a copy, emptied before the comparison.
    """
    names = [name for name in table.names()]
    copy = "{s}.copy%d" % twin.number()
    temporary = twin.rng.random() < 0.3
    session.both("table as", "CREATE TABLE %s_a USING {am} AS SELECT * FROM"
                 " %s" % (copy, table.path()))
    second = copy.replace("{s}.", "{s}_") + "_b" if temporary else copy + "_b"
    session.both("table as", "CREATE %s TABLE %s USING %s AS SELECT * FROM"
                 " %s_a" % ("TEMP" if temporary else "", second,
                            twin.rng.choice(("{am}", "heap")), copy))
    session.both("insert select *", "INSERT INTO %s_a SELECT * FROM %s_a" % (
        copy, copy))
    session.both("table as", "DELETE FROM %s_a WHERE id %% 2 = 0" % copy)
    session.both("query", "SELECT id, %s FROM %s_a" % (
        ", ".join(names), copy))
    session.both("table as", "TRUNCATE %s_a" % copy)
    for query in ("SELECT id, %s FROM %s" % (", ".join(names), second),
                  "UPDATE %s SET t = t || 'c' WHERE id %% 3 = 0 RETURNING *"
                  % second):
        session.both("query", query)
    session.both("table as", "DROP TABLE %s_a, %s" % (copy, second))


@statement(2, "quiet", "alone")
def view(twin, session, table):
    """A materialized view, refreshed CONCURRENTLY after changes."""
    if table.triggers:
        return
    name = "{s}.view%d" % twin.number()
    session.both("matview", "CREATE MATERIALIZED VIEW %s USING {am} AS"
                 " SELECT id, t, b FROM %s" % (name, table.path()))
    session.both("matview", "CREATE UNIQUE INDEX ON %s (id)" % name)
    session.both("matview", "UPDATE %s SET t = t || 'v' WHERE id %% 3 = 0"
                 % table.path())
    session.both("matview", "REFRESH MATERIALIZED VIEW %s%s" % (
        twin.rng.choice(("", "CONCURRENTLY ")), name))
    session.both("query", "SELECT * FROM %s" % name)
    session.both("matview", "DROP MATERIALIZED VIEW %s" % name)


@statement(2, "quiet", "alone")
def prepared_transaction(twin, session, table):
    """PREPARE TRANSACTION, perhaps a restart, COMMIT or ROLLBACK PREPARED."""
    rng = twin.rng
    session.begin(False)
    session.both("two-phase", "UPDATE %s SET t = 'prepared ' || t"
                 " WHERE id %% 3 = 0" % table.path())
    session.both("two-phase", "DELETE FROM %s WHERE id %% 7 = 0"
                 % table.path())
    if not session.in_transaction:
        return
    session.end("PREPARE TRANSACTION 'twin'")
    if twin.cluster and rng.random() < 0.4:
        twin.restart("immediate")
    twin.compare(session, table)
    session.control("%s PREPARED 'twin'" % rng.choice(("COMMIT", "ROLLBACK")))


@statement(2, "quiet", "alone")
def restart(twin, session, table):
    """Restart the server, by a clean stop or by a crash."""
    del session, table
    if twin.cluster:
        twin.restart(twin.rng.choice(("fast", "immediate", "immediate")))


@statement(1, "quiet", "unlocked")
def crash_in_transaction(twin, session, table):
    """Crash the server in the middle of a transaction."""
    if not twin.cluster:
        return
    session.begin(False)
    session.both("crash", "UPDATE %s SET t = t || 'lost', b = NULL"
                 " WHERE id %% 2 = 0" % table.path())
    twin.restart("immediate")
    twin.compare(twin.sessions[0], table)


@statement(6)
def settings(twin, session, table):
    """Change the settings of the extension in the session."""
    del table
    twin.change_settings(session)


@statement(2, "quiet", "alone")
def churn(twin, session, table):
    """Update one row many times with VACUUMs between: the relation may not
    grow from one half of the rounds to the next."""
    if twin.am == "heap" or table.triggers:
        return
    ids = [row[0] for row in session.heap(
        "SELECT id FROM %s ORDER BY id LIMIT 4" % table.path())]
    if not ids:
        return
    sizes = []
    for step in range(8):
        for ident in ids:
            for name in FIXED:
                old = fetch(session, table, name, ident) or b""[:0]
                half = len(old) // 2
                item = b"%d" % step if name == "b" else str(step)
                old = old or item[:0]
                session.both("churn", "UPDATE %s SET %s = %%s WHERE id = %d"
                             % (table.path(), name, ident),
                             [old[:half] + item + old[half + 1:]])
        session.both("vacuum", "VACUUM " + table.path())
        sizes.append(session.must("SELECT pg_total_relation_size('t.%s')"
                                  % table.name)[0][0])
    if sizes[-1] > sizes[3] * 1.5 + 64 * 8192:
        raise Difference("t.%s grows under updates and VACUUM: %s" % (
            table.name, sizes))
