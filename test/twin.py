#!/usr/bin/python3
"""The heap twin: the same random statements on a heap and on a toaster table.

    twin.py --seed N --seconds S [--bindir DIR | --dsn DSN] [--am NAME]
            [--node-size BYTES] [--statements COUNT] [--dump-sql FILE]

Proves that a table USING toaster is a heap table to everybody who looks: the
same rows, results, errors and snapshots, after any mix of statements,
transactions, rewrites, VACUUMs and crashes; and that toaster.verify agrees.

The seed decides every statement, so a run is replayed with its seed and the
number of statements that it printed; --dump-sql writes them in full.  With
--am heap it compares heap with heap, which tests the twin itself.  Exits 0
if nothing differs and 1 at the first difference.
"""

import argparse
import os
import random
import subprocess
import sys
import time
import traceback

import psycopg
from psycopg.types.string import TextLoader

import twin_ddl
import twin_dml
import twin_tables
from twin_cluster import Cluster
from twin_session import Difference, Log, Session

NODE_SIZES = (128, 160, 256, 500, 1000, 1996)


class Twin:
    """State of a run: sessions, tables, the reader's snapshot, counters."""

    def __init__(self, arguments, cluster, dsn):
        # What to look at is decided apart from what to do, so that a replay
        # can look more often and still do the same.
        self.rng = random.Random(arguments.seed)
        self.look = random.Random(arguments.seed)
        self.check_each = arguments.check_each
        self.am = arguments.am
        self.node_size = arguments.node_size
        self.cluster = cluster
        self.dsn = dsn
        self.log = Log(arguments.dump_sql)
        self.tables = []
        self.comparisons = 0
        self.next_id = 1
        self.numbers = 0
        self.split = False
        self.digests = None
        self.largest = self.rng.choice((3000, 30_000, 300_000, 300_000))
        with psycopg.connect(dsn, autocommit=True) as connection:
            self.prepare(connection)
        self.sessions = [Session(name, self.connect, self.log, self.am)
                         for name in ("A", "C")]
        self.reader = Session("B", self.connect, self.log, self.am)

    def prepare(self, connection):
        """Create the extension; note what the server can do."""
        self.version = connection.info.server_version
        if self.am == "toaster":
            connection.execute("CREATE EXTENSION IF NOT EXISTS pg_toaster")
        self.has_lz4 = "lz4" in connection.execute(
            "SELECT enumvals::text FROM pg_settings"
            " WHERE name = 'default_toast_compression'").fetchone()[0]

    def connect(self):
        """Open a connection whose statements cannot hang for ever."""
        connection = psycopg.connect(self.dsn, autocommit=True)
        for name in ("json", "jsonb", "numeric"):
            connection.adapters.register_loader(name, TextLoader)
        connection.prepare_threshold = self.rng.choice((None, 3))
        connection.execute("SET statement_timeout = '300s'")
        connection.execute("SET lock_timeout = '60s'")
        connection.execute("SET client_min_messages = error")
        self.apply_settings(connection, self.random_settings())
        return connection

    def random_settings(self):
        """Return values for the settings of the extension."""
        rng = self.rng
        return {
            "node_size": self.node_size or rng.choice(NODE_SIZES),
            "min_tree_size": rng.choice((0, 0, 1, 60, 200, 2000)),
            "compression": rng.choice(("lz4", "pglz", "zstd", "none")),
            "force_indexed": rng.choice(("off", "off", "off", "on"))}

    @staticmethod
    def apply_settings(connection, settings):
        """Set the extension's settings in a session."""
        for name, value in settings.items():
            connection.execute("SET pg_toaster.%s = '%s'" % (name, value))

    def change_settings(self, session):
        """Choose new settings for a session, and say so in the log."""
        for name, value in self.random_settings().items():
            session.control("SET pg_toaster.%s = '%s'" % (name, value),
                            "settings")

    def number(self):
        """Return a number for the name of a new object."""
        self.numbers += 1
        return self.numbers

    def new_ids(self, session, count):
        """Return fresh ids of the session's parity, two apart."""
        first = self.next_id + (self.next_id + self.side(session)) % 2
        self.next_id = first + 2 * count
        return [first + 2 * i for i in range(count)]

    def side(self, session):
        """Return the parity of a session's ids."""
        return self.sessions.index(session) if session in self.sessions \
            else 0

    def scope(self, session):
        """Return the condition for the rows that a session may write."""
        if not self.split:
            return "true"
        return "id % 2 = " + str(self.side(session))

    def two_writers(self):
        """Return true while two writers may have open transactions."""
        return self.split

    @staticmethod
    def may_fail(session):
        """Return true if a failing statement does not end a transaction."""
        return session.guarded or not session.in_transaction

    def compare(self, session, table):
        """Compare one pair of tables in every way."""
        twin_tables.compare_rows(self, session, table)
        if self.look.random() < 0.5:
            twin_tables.compare_slices(self, session, table)
        if self.look.random() < 0.3:
            twin_tables.compare_log(self, session, table)

    def compare_all(self):
        """Compare all pairs and verify them, with no transaction open."""
        self.end_transactions()
        for table in self.tables:
            self.compare(self.sessions[0], table)
            twin_tables.compare_log(self, self.sessions[0], table)
            twin_tables.verify(self, self.sessions[0], table)

    def end_transactions(self):
        """Commit or roll back whatever is open."""
        for session in self.sessions + [self.reader]:
            if session.in_transaction:
                session.end(self.rng.choice(("COMMIT", "COMMIT", "ROLLBACK")))
        self.digests = None
        self.split = False

    def restart(self, mode):
        """Stop the server, by a crash if mode is immediate, and start it."""
        self.log.add("-", "restart " + mode, "", None)
        self.cluster.stop(mode)
        self.cluster.start()
        for session in self.sessions + [self.reader]:
            session.open()
        self.digests = None
        self.split = False

    def step(self):
        """Run one random action."""
        roll = self.rng.random()
        if roll < 0.62:
            self.row_statement()
        elif roll < 0.80:
            self.transaction_control(self.rng.choice(self.sessions))
        elif roll < 0.86:
            self.reader_step()
        elif roll < 0.89:
            session = self.sessions[0]
            self.compare(session, self.rng.choice(self.tables))
        elif roll < 0.97:
            self.table_statement()
        elif roll < 0.98:
            self.compare_all()

    def row_statement(self):
        """Run a statement on rows in one of the writers' sessions."""
        session = self.sessions[0]
        if self.split:
            session = self.rng.choice(self.sessions)
        weights = [weight for weight, _ in twin_dml.STATEMENTS]
        choice = self.rng.choices(twin_dml.STATEMENTS, weights)[0][1]
        table = self.rng.choice(self.tables)
        choice(self, session, table)
        if self.check_each or self.look.random() < 0.15:
            twin_tables.compare_rows(self, session, table)
        if self.rng.random() < 0.02:
            self.thin_out(session)

    def thin_out(self, session):
        """Delete rows of a table that has become large."""
        for table in self.tables:
            rows, size = session.heap(
                "SELECT count(*), coalesce(sum(pg_column_size(x.*)), 0)::int8"
                " FROM %s x" % table.path())[0]
            if rows > 60 or size > 8_000_000:
                session.both("thin out", "DELETE FROM %s WHERE id %% %d <> 0"
                             " AND %s" % (table.path(),
                                          self.rng.choice((3, 4, 6)),
                                          self.scope(session)))

    def transaction_control(self, session):
        """Begin, end, or set and use savepoints."""
        rng = self.rng
        if not session.in_transaction:
            self.begin(session)
            return
        roll = rng.random()
        if roll < 0.3:
            session.commit()
        elif roll < 0.4:
            session.rollback()
        elif roll < 0.65 and len(session.savepoints) < 4:
            name = "s%d" % len(session.savepoints)
            session.control("SAVEPOINT " + name)
            session.savepoints.append(name)
        elif session.savepoints:
            name = rng.choice(session.savepoints)
            place = session.savepoints.index(name)
            if rng.random() < 0.6:
                session.control("ROLLBACK TO " + name)
                session.savepoints = session.savepoints[:place + 1]
            else:
                session.control("RELEASE " + name)
                session.savepoints = session.savepoints[:place]
        self.split = any(s.in_transaction for s in self.sessions) \
            and self.split

    def begin(self, session):
        """Begin a transaction; the second writer's only beside no other."""
        busy = any(s.in_transaction for s in self.sessions)
        if busy and not self.split:
            return
        if not busy:
            self.split = session is self.sessions[1] \
                or self.rng.random() < 0.3
        levels = ["READ COMMITTED", "READ COMMITTED", "REPEATABLE READ"]
        if not self.split:
            levels.append("SERIALIZABLE")
        session.begin(self.rng.random() < 0.5, self.rng.choice(levels))

    def reader_step(self):
        """Take an old snapshot, compare under it, or give it up."""
        reader = self.reader
        if not reader.in_transaction:
            reader.begin(False, "REPEATABLE READ")
            reader.must("SELECT 1")
        elif self.digests is None or self.rng.random() < 0.7:
            self.read_snapshot()
        else:
            reader.commit()
            self.digests = None

    def read_snapshot(self):
        """Compare under the reader's snapshot, also with its first look."""
        seen = []
        for table in self.tables:
            self.compare(self.reader, table)
            for side in ("h", "t"):
                seen.append(self.reader.must(
                    "SELECT count(*), md5(string_agg(md5(x::text), ','"
                    " ORDER BY id)) FROM %s.%s x" % (side, table.name))[0])
        self.log.add("B", "old snapshot", "compare", None)
        if self.digests not in (None, seen):
            raise Difference("a snapshot changed: %s, then %s" % (
                self.digests, seen))
        self.digests = seen

    def table_statement(self):
        """Run a statement on a whole table once its needs are met."""
        if self.sessions[0].in_transaction:
            return
        weights = [entry[0] for entry in twin_ddl.STATEMENTS]
        _, needs, function = self.rng.choices(
            twin_ddl.STATEMENTS, weights)[0]
        if "quiet" in needs and self.sessions[1].in_transaction:
            self.sessions[1].commit()
            self.split = False
        give_up = "alone" in needs or ("unlocked" in needs and self.digests)
        if give_up and self.reader.in_transaction:
            self.reader.commit()
            self.digests = None
        function(self, self.sessions[0], self.rng.choice(self.tables))


def run(twin, arguments):
    """Run statements until the time or the number of them is used up."""
    started = time.monotonic()
    twin_tables.create(twin, twin.sessions[0])
    count = arguments.statements
    while twin.log.count < count if count else (
            time.monotonic() - started < arguments.seconds):
        twin.step()
        if arguments.check_each:
            for table in twin.tables:
                twin_tables.verify(twin, twin.sessions[0], table)
    twin.compare_all()
    for table in twin.tables:
        twin.sessions[0].both("vacuum", "VACUUM " + table.path())
    twin.compare_all()
    if twin.cluster and twin.cluster.crashes():
        raise Difference("the server crashed")


def report_failure(twin, arguments, error):
    """Print what is needed to see and to replay a difference."""
    print("DIFFERENCE after statement %d of seed %d: %s" % (
        twin.log.count, arguments.seed, error))
    for table in twin.tables:
        try:
            twin_tables.compare_rows(twin, twin.reader, table)
        except Difference as found:
            print("the reader sees:", found)
        except psycopg.Error:
            break
    print("last statements:")
    print(twin.log.tail(arguments.tail))
    if twin.cluster:
        print("end of the server's log:\n" + twin.cluster.log_tail())
    replay = "%s --seed %d --am %s --statements %d" % (
        os.path.basename(sys.argv[0]), arguments.seed, arguments.am,
        twin.log.count)
    if arguments.node_size:
        replay += " --node-size %d" % arguments.node_size
    print("replay: %s [--check-each] [--dump-sql FILE]" % replay)


def summarize(twin, differences):
    """Print the statements by kind, and the totals."""
    for kind, count in sorted(twin.log.kinds.items()):
        print("%8d  %s" % (count, kind))
    print("%d statements, %d comparisons, %d differences" % (
        twin.log.count, twin.comparisons, differences))


def parse_arguments():
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int,
                        default=random.SystemRandom().randrange(10 ** 9))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--statements", type=int,
                        help="run this many statements, whatever the time")
    parser.add_argument("--dsn", help="use this server, not a private one")
    parser.add_argument("--socket", help="use the server in this directory")
    parser.add_argument("--bindir", help="programs of the private server")
    parser.add_argument("--am", default="toaster",
                        help="table access method to compare with heap")
    parser.add_argument("--node-size", type=int, help="fixed node size")
    parser.add_argument("--check-each", action="store_true",
                        help="compare and verify after every statement")
    parser.add_argument("--dump-sql", help="write all statements to a file")
    parser.add_argument("--tail", type=int, default=40,
                        help="statements to print at a difference")
    parser.add_argument("--keep", action="store_true",
                        help="keep the files of the private server")
    arguments = parser.parse_args()
    if arguments.socket and not arguments.dsn:
        arguments.dsn = "host=%s dbname=postgres" % arguments.socket
    return arguments


def main():
    """Run the twin and return its exit status."""
    arguments = parse_arguments()
    print("seed %d" % arguments.seed, flush=True)
    cluster = None
    if not arguments.dsn:
        bindir = arguments.bindir or subprocess.run(
            ["pg_config", "--bindir"], check=True, text=True,
            stdout=subprocess.PIPE).stdout.strip()
        autovacuum = random.Random(-arguments.seed).random() < 0.25
        cluster = Cluster(bindir, "autovacuum = %s\nautovacuum_naptime = 1\n"
                          % ("on" if autovacuum else "off"))
    twin = None
    try:
        if cluster:
            cluster.start()
        twin = Twin(arguments, cluster, arguments.dsn or cluster.dsn())
        run(twin, arguments)
        summarize(twin, 0)
        return 0
    except (Difference, psycopg.Error) as error:
        if twin is None or not isinstance(error, Difference):
            traceback.print_exc()
        if twin is not None:
            report_failure(twin, arguments, error)
            summarize(twin, 1)
        return 1
    finally:
        if cluster:
            cluster.remove(arguments.keep)


if __name__ == "__main__":
    sys.exit(main())
