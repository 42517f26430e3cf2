"""The tables of the heap twin: schemas, triggers, and their comparison."""

from twin_session import HEAP, TWIN, Difference
from twin_values import KINDS

# Columns that every table has and that are never dropped or retyped, so
# that triggers and functions can rely on them.
FIXED = ("t", "b")

SETUP = """
DROP SCHEMA IF EXISTS h CASCADE;
DROP SCHEMA IF EXISTS t CASCADE;
DROP DOMAIN IF EXISTS twin_domain;
DROP TYPE IF EXISTS twin_pair;
CREATE SCHEMA h;
CREATE SCHEMA t;
CREATE DOMAIN twin_domain AS text CHECK (VALUE <> 'forbidden');
CREATE TYPE twin_pair AS (x int, y text);
CREATE OR REPLACE FUNCTION fail(message text) RETURNS text
LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '%', message; END $$
"""

# Fires before each row: skips some rows, appends to, shortens or takes
# back what the statement wrote to others.
BEFORE = """
CREATE FUNCTION {s}.change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
    IF NEW.id % 13 = 0 THEN RETURN NULL; END IF;
    IF NEW.id % 5 = 0 THEN NEW.t := NEW.t || ' changed'; END IF;
    IF NEW.id % 5 = 1 THEN NEW.b := substr(NEW.b, 2); END IF;
    IF NEW.id % 5 = 2 AND TG_OP = 'UPDATE' THEN NEW.t := OLD.t; END IF;
    IF NEW.id % 5 = 3 AND TG_OP = 'UPDATE' THEN RETURN OLD; END IF;
    RETURN NEW;
END $$
"""

# Fires after each row, and stores whole rows as composite values.
AFTER = """
CREATE FUNCTION {s}.note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        EXECUTE format('INSERT INTO {s}.%I VALUES ($1, $2, NULL)',
                       TG_TABLE_NAME || '_log') USING TG_OP, OLD;
    ELSIF TG_OP = 'INSERT' THEN
        EXECUTE format('INSERT INTO {s}.%I VALUES ($1, NULL, $2)',
                       TG_TABLE_NAME || '_log') USING TG_OP, NEW;
    ELSE
        EXECUTE format('INSERT INTO {s}.%I VALUES ($1, $2, $3)',
                       TG_TABLE_NAME || '_log') USING TG_OP, OLD, NEW;
    END IF;
    RETURN NULL;
END $$
"""

# Fires after a statement, from its transition tables.
STATEMENT = """
CREATE FUNCTION {s}.note_all() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('INSERT INTO {s}.%I SELECT ''all'', o, n FROM olds o'
                   ' JOIN news n USING (id)', TG_TABLE_NAME || '_log');
    RETURN NULL;
END $$
"""


class Table:
    """One pair of tables and what the generator must know of it."""

    def __init__(self, name, kinds, has_log):
        self.name = name
        self.columns = {kind: kind for kind in kinds}
        self.has_log = has_log
        self.triggers = set()
        self.indexes = []
        self.clustered = False
        self.added = 0

    def path(self):
        """Return the name of the table in a statement template."""
        return "{s}." + self.name

    def names(self):
        """Return the names of the toastable columns."""
        return list(self.columns)

    def kind(self, column):
        """Return the Kind of a column."""
        return KINDS[self.columns[column]]

    def drop_triggers(self, session):
        """Drop all triggers of the table."""
        for trigger in sorted(self.triggers):
            session.both("trigger", "DROP TRIGGER %s ON %s" % (
                trigger, self.path()))
        self.triggers = set()


def create(twin, session):
    """Create the pairs of tables with the settings of the seed."""
    rng = twin.rng
    for statement in SETUP.split(";\n"):
        session.control(statement, "create")
    for text in (BEFORE, AFTER, STATEMENT):
        session.both("create", text)
    for number in range(3):
        kinds = FIXED + tuple(k for k in KINDS if k not in FIXED
                              and rng.random() < 0.6)
        table = Table("p%d" % number, kinds, number == 0)
        columns = ["%s %s" % (name, table.kind(name).sql)
                   for name in table.names()]
        rng.shuffle(columns)
        kind = rng.choice(("", "", "", "UNLOGGED"))
        session.both("create", "CREATE %s TABLE %s (id bigint PRIMARY KEY,"
                     " n int, s smallint DEFAULT 3, %s) USING {am}%s" % (
                         kind, table.path(), ", ".join(columns),
                         rng.choice(("", " WITH (fillfactor = 50)"))))
        table.unlogged = kind == "UNLOGGED"
        if table.has_log:
            session.both("create", "CREATE TABLE %s_log (op text,"
                         " o %s, n %s) USING {am}" % (
                             table.path(), table.path(), table.path()))
        twin.tables.append(table)


def compare_rows(twin, session, table):
    """Compare the rows of a pair, by image, both ways by id.

    A composite value may hold a field compressed, as its source was, so that
    equal ones have different images: these are compared as text.
    """
    composite = [n for n in table.names() if table.columns[n] == "c"]
    names = ["id", "n", "s"] + [
        n + ("::text" if n in composite else "") for n in table.names()]
    if not composite and twin.look.random() < 0.5:
        same = "a.* *= b.*"
    else:
        same = "record_image_eq(ROW(%s), ROW(%s))" % tuple(
            ", ".join(side + name for name in names)
            for side in ("a.", "b."))
    session.must("SET enable_seqscan = %s" % twin.look.choice(("on", "off")))
    rows = session.must(
        "SELECT (SELECT count(*) FROM h.{0}), (SELECT count(*) FROM t.{0}),"
        " (SELECT array_agg(coalesce(a.id, b.id)) FROM h.{0} a"
        " FULL JOIN t.{0} b ON a.id = b.id"
        " WHERE a.id IS NULL OR b.id IS NULL"
        " OR ({1}) IS NOT TRUE)".format(table.name, same))
    session.must("RESET enable_seqscan")
    twin.comparisons += 1
    if rows[0][0] != rows[0][1] or rows[0][2]:
        raise Difference(explain(session, table, rows[0]))


def explain(session, table, found):
    """Return a message that names the columns and places that differ."""
    text = ["%s: heap has %d rows, the other %d; ids that differ: %s" % (
        table.name, found[0], found[1], (found[2] or [])[:10])]
    for ident in (found[2] or [])[:3]:
        for name in ["n", "s"] + table.names():
            sides = [session.run("SELECT %s::text FROM %s.%s WHERE id = %d"
                                 % (name, side, table.name, ident))
                     for side in (HEAP, TWIN)]
            if sides[0][:2] == sides[1][:2]:
                continue
            text.append("id %d column %s: %s" % (
                ident, name, first_difference(*sides)))
    return "\n".join(text)


def first_difference(left, right):
    """Say where two one-value results begin to differ."""
    if "error" in (left[0], right[0]) or not left[1] or not right[1]:
        return "%.300r against %.300r" % (left, right)
    left, right = left[1][0][0], right[1][0][0]
    if left is None or right is None:
        return "%.60r against %.60r" % (left, right)
    place = next((i for i, (x, y) in enumerate(zip(left, right)) if x != y),
                 min(len(left), len(right)))
    return "sizes %d and %d, first difference at %d: %.60r against %.60r" % (
        len(left), len(right), place, left[place:place + 40],
        right[place:place + 40])


def compare_log(twin, session, table):
    """Compare the logs that triggers wrote, as sets of rows."""
    if not table.has_log:
        return
    rows = "SELECT op, o::text, n::text FROM %s." + table.name + "_log"
    for one, two in ((HEAP, TWIN), (TWIN, HEAP)):
        extra = session.must("SELECT count(*) FROM (%s EXCEPT ALL %s) x" % (
            rows % one, rows % two))
        twin.comparisons += 1
        if extra[0][0]:
            raise Difference("%s_log: %d rows of schema %s only" % (
                table.name, extra[0][0], one))


def compare_slices(twin, session, table):
    """Compare random slices of every text and bytea column."""
    rng = twin.look
    for name in table.names():
        if table.columns[name] not in "tbd":
            continue
        start = rng.choice((1, -5, rng.randint(1, 3000),
                            rng.randint(1, 300_000)))
        count = rng.choice((0, 1, 10, 2000, rng.randint(1, 300_000)))
        calls = ["substr({0}, %d, %d)" % (start, count),
                 "substr({0}, greatest(1, length({0}) - %d))" % count,
                 "substr({0}, length({0}) / 2, %d)" % count,
                 "octet_length({0})", "length({0})"]
        if table.columns[name] != "b":
            calls += ["left({0}, %d)" % count, "right({0}, %d)" % count]
        else:
            calls += ["get_byte({0} || '\\x00', length({0}) / 3)"]
        for call in rng.sample(calls, 3):
            bad = session.must(
                "SELECT a.id FROM h.%s a JOIN t.%s b USING (id)"
                " WHERE %s IS DISTINCT FROM %s" % (
                    table.name, table.name, call.format("a." + name),
                    call.format("b." + name)))
            twin.comparisons += 1
            if bad:
                raise Difference("%s differs in %s for ids %s" % (
                    call.format(name), table.name, bad[:10]))


def verify(twin, session, table):
    """Demand that toaster.verify finds nothing."""
    if twin.am != "toaster":
        return
    names = [table.name] + ([table.name + "_log"] if table.has_log else [])
    for name in names:
        rows = session.must(
            "SELECT relation::text, ctid::text, attname, chunk::text, message"
            " FROM toaster.verify('t.%s') LIMIT 20" % name)
        twin.comparisons += 1
        if rows:
            raise Difference("toaster.verify(%s):\n%s" % (
                name, "\n".join(str(row) for row in rows)))
