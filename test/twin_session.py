"""Sessions of the heap twin, and the log from which a run is replayed.

Every statement runs twice in the same session and transaction: with {s}
standing for the schema of the heap tables and then for that of the tables
under test.  Both must return the same rows or fail with the same SQLSTATE.
The result of the heap's side is what callers get.

A statement that is expected to fail inside a transaction needs a guard, a
savepoint around each of the two runs.
"""

import collections

import psycopg

HEAP, TWIN = "h", "t"


class Difference(Exception):
    """The two tables, or the two results of a statement, differ."""


class Log:
    """What was sent: all of it shortened, and in full to a file if asked."""

    def __init__(self, dump=None):
        self.lines = []
        self.kinds = collections.Counter()
        self.count = 0
        self.dump = open(dump, "w", encoding="utf-8") if dump else None

    def add(self, session, kind, sql, values):
        """Note one statement; values are its parameters."""
        self.count += 1
        self.kinds[kind] += 1
        short = ", ".join(shorten(value) for value in values or ())
        self.lines.append("%d %s %s: %s%s" % (
            self.count, session, kind, " ".join(sql.split()),
            " [%s]" % short if short else ""))

    def write_sql(self, session, text):
        """Write text, complete SQL, to the file of full statements."""
        if self.dump:
            self.dump.write("-- %d session %s\n%s;\n" % (
                self.count, session, text))
            self.dump.flush()

    def tail(self, count):
        """Return the last lines of the shortened log."""
        return "\n".join(self.lines[-count:])


def shorten(value):
    """Return a parameter for the log, by its size if it is long."""
    if isinstance(value, (str, bytes)) and len(value) > 60:
        return "%r.. %d" % (value[:30], len(value))
    return repr(value)


def outcome(rows):
    """Return rows in an order that does not depend on where they lie."""
    return sorted(rows, key=repr)


def describe(result):
    """Return a result of Session.run for a message."""
    text = repr(result)
    return text if len(text) < 1500 else text[:1500] + ".."


class Session:
    """One connection, its transaction state, and pairs of statements."""

    def __init__(self, name, connect, log, am):
        self.name = name
        self.connect = connect
        self.log = log
        self.am = am
        self.connection = None
        self.in_transaction = False
        self.guarded = False
        self.savepoints = []
        self.open()

    def open(self):
        """Connect, also after the server went away."""
        if self.connection is not None:
            self.connection.close()
        self.connection = self.connect()
        self.in_transaction = False
        self.guarded = False
        self.savepoints = []

    def sql(self, template, side):
        """Return template with the side's schema and access method."""
        am = "heap" if side == HEAP else self.am
        return template.replace("{s}", side).replace("{am}", am)

    def run(self, sql, values=None):
        """Run one statement; return ("rows", rows) or ("error", state)."""
        if self.log.dump:
            text = sql
            if values:
                text = psycopg.ClientCursor(self.connection).mogrify(
                    sql, values)
            self.log.write_sql(self.name, text)
        try:
            cursor = self.connection.execute(sql, values)
        except psycopg.OperationalError as error:
            if self.connection.broken or self.connection.closed:
                raise Difference("connection lost: %s" % error) from error
            return "error", error.sqlstate, str(error)
        except psycopg.Error as error:
            return "error", error.sqlstate, str(error)
        if cursor.description is None:
            return "rows", [(cursor.rowcount,)]
        return "rows", cursor.fetchall()

    def must(self, sql, values=None):
        """Run a statement that may not fail and return its rows."""
        result = self.run(sql, values)
        if result[0] == "error":
            raise Difference("%s failed: %s" % (sql, describe(result[1:])))
        return result[1]

    def control(self, sql, kind="transaction"):
        """Run and log a statement that concerns no table."""
        self.log.add(self.name, kind, sql, None)
        return self.must(sql)

    def heap(self, template, values=None):
        """Read from the heap's side; not logged, for choosing values."""
        return self.must(self.sql(template, HEAP), values)

    def twin(self, template, values=None):
        """Run a statement on the side under test only."""
        self.log.add(self.name, "one side", template, values)
        return self.must(self.sql(template, TWIN), values)

    def both(self, kind, template, values=None):
        """Run a pair of statements and compare; return the heap's rows.

        If both fail alike, return None.  In a transaction without a guard a
        failure ends the transaction.
        """
        self.log.add(self.name, kind, template, values)
        wanted = self.side(template, values, HEAP)
        if wanted[0] == "error" and self.in_transaction and not self.guarded:
            self.rollback()
            return None
        found = self.side(template, values, TWIN)
        if wanted[0] == "error":
            if found[:2] != wanted[:2]:
                raise Difference("heap: %s\nother: %s" % (
                    describe(wanted), describe(found)))
            return None
        if found[0] == "error" or outcome(found[1]) != outcome(wanted[1]):
            raise Difference("heap: %s\nother: %s" % (
                describe(wanted), describe(found)))
        return wanted[1]

    def side(self, template, values, side):
        """Run one half of a pair, inside a savepoint if guarded."""
        if not (self.in_transaction and self.guarded):
            return self.run(self.sql(template, side), values)
        self.must("SAVEPOINT twin_guard")
        result = self.run(self.sql(template, side), values)
        if result[0] == "error":
            self.must("ROLLBACK TO twin_guard")
        self.must("RELEASE twin_guard")
        return result

    def copy_in(self, kind, template, data):
        """Run COPY .. FROM STDIN on both sides with the same data."""
        self.log.add(self.name, kind, template, [data])
        for side in (HEAP, TWIN):
            sql = self.sql(template, side)
            self.log.write_sql(self.name, "%s;\n%s\\." % (sql, data))
            with self.connection.cursor() as cursor:
                with cursor.copy(sql) as copy:
                    copy.write(data)

    def copy_out(self, kind, template):
        """Run COPY .. TO STDOUT on both sides and compare the bytes."""
        self.log.add(self.name, kind, template, None)
        found = []
        for side in (HEAP, TWIN):
            with self.connection.cursor() as cursor:
                with cursor.copy(self.sql(template, side)) as copy:
                    found.append(b"".join(copy))
        if found[0] != found[1]:
            raise Difference("COPY differs: heap %d bytes, other %d" % (
                len(found[0]), len(found[1])))

    def begin(self, guarded, level="READ COMMITTED"):
        """Start a transaction."""
        self.control("BEGIN ISOLATION LEVEL " + level)
        self.in_transaction = True
        self.guarded = guarded

    def end(self, sql):
        """End the transaction by COMMIT or ROLLBACK."""
        self.control(sql)
        self.in_transaction = False
        self.guarded = False
        self.savepoints = []

    def commit(self):
        """Commit the transaction."""
        self.end("COMMIT")

    def rollback(self):
        """Roll the transaction back."""
        self.end("ROLLBACK")
