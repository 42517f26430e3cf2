#!/usr/bin/python3
"""The document twin: the same statements on heap's documents and on trees.

    twin_json.py --seed N --seconds S [--bindir DIR | --dsn DSN] [--huge]
                 [--node-size BYTES] [--statements COUNT] [--dump-sql FILE]

Proves that every function that reads a part of a document gives for a tree
what the server's gives for the same document of a heap table, errors and
their messages included; that it reads parts only; that documents come back
byte for byte; that what was taken out of a document outlives it.

The seed decides every statement, so a run is replayed with its seed and the
number of statements that it printed.  Exits 1 at the first difference.
"""

import argparse
import collections
import os
import random
import subprocess
import sys
import time
import traceback

import psycopg
from psycopg.types.string import TextLoader

import twin_json_reads
import twin_json_sql
import twin_json_tables
import twin_json_updates
import twin_json_writes
from twin_cluster import Cluster
from twin_json_docs import Maker, dump, load
from twin_json_reads import Question
from twin_session import (HEAP, TWIN, Difference, Log, Session, describe)
from twin_tables import explain

NODE_SIZES = (128, 144, 200, 256, 500, 1000, 1996, 1996)

# SQLSTATEs by which the server says that a statement makes no sense.
MALFORMED = ("42601", "42703", "42725", "42804", "42883", "42P01",
             "42P18")


class JsonSession(Session):
    """A session whose statements may name our functions as well."""

    def sql(self, template, side):
        """Return template with the side's schemas and access method."""
        schema = "pg_catalog." if side == HEAP or self.am == "heap" \
            else "toaster."
        return super().sql(template, side).replace("{f}", schema)


def message(result):
    """Return a result, of an error all but where it was raised."""
    if result[0] == "rows":
        return result
    text = result[2].split("\nCONTEXT:")[0]
    lines = [line for line in text.split("\n")
             if line.strip(" ^") and not line.startswith("LINE ")]
    return result[:2] + ("\n".join(lines).replace('"h_', '"t_'),)


class JsonTwin:
    """State of a run: one session, two pairs of tables, counters."""

    def __init__(self, arguments, dsn):
        self.rng = random.Random(arguments.seed)
        self.am = arguments.am
        self.node_size = arguments.node_size
        self.dsn = dsn
        self.log = Log(arguments.dump_sql)
        self.tables = twin_json_tables.READ_TABLES
        self.edited = self.tables + twin_json_tables.EDITED_TABLES
        self.comparisons = 0
        self.results = collections.Counter()
        self.next_id = 1
        self.huge = arguments.huge
        self.largest = self.rng.choice((2000, 20_000, 60_000, 300_000))
        self.largest_count = self.rng.choice((6, 10, 13))
        self.maker = None
        with psycopg.connect(dsn, autocommit=True) as connection:
            version = connection.info.server_version
            self.parallel = "debug_parallel_query" if version >= 160000 \
                else "force_parallel_mode"
            if version >= 170000:
                twin_json_sql.enter()
            if self.am == "toaster":
                connection.execute(
                    "CREATE EXTENSION IF NOT EXISTS pg_toaster")
        self.session = JsonSession("A", self.connect, self.log, self.am)
        self.change_settings()
        for text in twin_json_tables.SETUP:
            self.session.control(text, "create")
        for text in twin_json_tables.statements():
            if self.ask(self.session, "create", text)[0] == "error":
                raise Difference("a table was not created: " + text)

    def connect(self):
        """Open a connection whose statements cannot hang for ever."""
        connection = psycopg.connect(self.dsn, autocommit=True)
        for name in ("json", "jsonb", "numeric"):
            connection.adapters.register_loader(name, TextLoader)
        connection.prepare_threshold = None
        for setting in ("statement_timeout = '300s'", "TimeZone = 'UTC'",
                        "client_min_messages = error",
                        # reads a document whole to remember it
                        "enable_memoize = off"):
            connection.execute("SET " + setting)
        return connection

    def change_settings(self):
        """Choose new settings of the extension and of the planner."""
        rng = self.rng
        size = self.node_size or rng.choice(NODE_SIZES)
        settings = {
            "enable_seqscan": rng.choice(("on", "off")),
            self.parallel: rng.choice(("off",) * 9 + ("on",)),
            "enable_hashagg": rng.choice(("on", "off")),
            "enable_hashjoin": rng.choice(("on", "off")),
            "enable_mergejoin": rng.choice(("on", "off")),
            "work_mem": rng.choice(("64kB", "4MB")),
            "plan_cache_mode": rng.choice(("auto", "force_generic_plan"))}
        if self.am == "toaster":
            settings.update({
                "pg_toaster.node_size": size,
                "pg_toaster.min_tree_size": rng.choice(
                    (0, 32, 33, 60, 200, 2000)),
                "pg_toaster.compression": rng.choice(
                    ("lz4", "pglz", "zstd", "none")),
                "pg_toaster.force_indexed": rng.choice(
                    ("off", "off", "off", "on"))})
        for name, value in settings.items():
            self.session.control("SET %s = '%s'" % (name, value), "settings")
        self.maker = Maker(rng, size, self.largest)

    def new_id(self):
        """Return a fresh id."""
        self.next_id += 1
        return self.next_id

    def picked(self, session, table, count=1):
        """Return up to count existing ids."""
        ids = [row[0] for row in session.heap(
            "SELECT id FROM %s ORDER BY id" % table.path())]
        return self.rng.sample(ids, min(count, len(ids)))

    def ask(self, session, kind, template, any_error=False):
        """Run a pair of statements; rows, order and errors must agree.

        When they concern many rows, any_error says that either side may
        meet the errors in an order of its own.
        """
        self.log.add(session.name, kind, template[:20_000], None)
        wanted = message(session.side(template, None, HEAP))
        found = message(session.side(template, None, TWIN))
        self.results["error " + str(wanted[1]) if wanted[0] == "error"
                     else "rows" if wanted[1] and wanted[1][0][0] is not None
                     else "NULL or no rows"] += 1
        if wanted[0] == "error" and wanted[1] in MALFORMED:
            raise Difference("%s\n%s" % (template, wanted[2]))
        if found != wanted and not (
                any_error and wanted[0] == found[0] == "error"):
            raise Difference("%s\nheap: %s\nother: %s\n%s" % (
                template[:20_000], describe(wanted), describe(found),
                difference(wanted, found)))
        return wanted

    def counters(self):
        """Return what this session has read: parts, whole documents."""
        if self.am != "toaster":
            return 0, 0
        rows = dict(self.session.must(
            "SELECT name, session FROM toaster.stats"))
        return (rows["nodes_fetched"] + rows["cache_hits"],
                rows["documents_flattened"])

    def is_tree(self, table, column, ident):
        """Return whether a document of the table under test is a tree."""
        return self.am == "toaster" and bool(self.session.must(
            "SELECT 1 FROM t.%s x, toaster.tree((SELECT c.oid FROM pg_class c"
            " JOIN pg_am a ON a.oid = c.relam WHERE c.oid = x.tableoid AND"
            " a.amname = 'toaster'), x.ctid, '%s') WHERE id = %d LIMIT 1" % (
                table.name, column, ident)))

    def read(self, table):
        """Ask some questions about one document."""
        for ident in self.picked(self.session, table):
            self.examine_row(table, ident)

    def examine_row(self, table, ident):
        """Ask some questions about the document of a row."""
        rng = self.rng
        column = rng.choice(table.columns)
        text = twin_json_writes.fetch(self.session, table, column, ident)
        value = None if text is None else load(text)
        tree = self.is_tree(table, column, ident)
        for _ in range(rng.randint(2, 10)):
            mode = rng.choice(("operator", "operator", "direct",
                               "direct", "mixed"))
            question = Question(rng, value, mode, column)
            make = rng.choice((twin_json_reads.scalar_statement,) * 3
                              + (twin_json_reads.set_statement,))
            template = make(rng, question, table.path(), ident)
            if rng.random() < 0.1:
                self.prepare(template, ident)
            else:
                self.examine(question, template, mode, tree)

    def prepare(self, template, ident):
        """Ask a question by a prepared statement, more than once."""
        template = template.replace("id = %d" % ident, "id = $1")
        for text in ("PREPARE {s}_q (int) AS " + template,
                     "EXECUTE {s}_q (%d)" % ident,
                     "EXECUTE {s}_q (%d)" % (ident - 1),
                     "EXECUTE {s}_q (%d)" % ident, "DEALLOCATE {s}_q"):
            if self.ask(self.session, "prepared", text)[0] == "error" \
                    and text.startswith("PREPARE"):
                return

    def examine(self, question, template, mode, tree):
        """Ask one question; see that trees are read, in parts only."""
        before = self.counters()
        try:
            self.ask(self.session, "read " + mode, template)
        except Difference as error:
            raise Difference("%s\nthe document: %.3000s" % (
                error, dump(question.value))) from error
        after = self.counters()
        if question.partial and after[1] != before[1]:
            raise Difference("%s\nread the whole document" % template)
        if tree and mode == "direct":
            self.results["of trees"] += 1
            self.results["that read nodes"] += after[0] > before[0]

    def compare(self):
        """Compare all pairs by image; verify trees."""
        for table in self.edited:
            same = "record_image_eq(ROW(%s), ROW(%s))" % tuple(
                ", ".join(side + name for name in
                          ["id", "n"] + table.names())
                for side in ("a.", "b."))
            rows = self.session.must(
                "SELECT (SELECT count(*) FROM h.{0}), (SELECT count(*) FROM"
                " t.{0}), (SELECT array_agg(coalesce(a.id, b.id)) FROM h.{0}"
                " a FULL JOIN t.{0} b ON a.id = b.id WHERE a.id IS NULL OR"
                " b.id IS NULL OR ({1}) IS NOT TRUE)".format(
                    table.name, same))
            self.comparisons += 1
            if rows[0][0] != rows[0][1] or rows[0][2]:
                raise Difference(explain(self.session, table, rows[0]))
        if self.am == "toaster" and not self.session.in_transaction:
            self.verify()

    def verify(self):
        """Demand that toaster.verify finds nothing."""
        for name in twin_json_tables.VERIFIED:
            rows = self.session.must(
                "SELECT relation::text, ctid::text, attname, chunk::text,"
                " message FROM toaster.verify('t.%s') LIMIT 20" % name)
            if rows:
                raise Difference("toaster.verify(%s):\n%s" % (
                    name, "\n".join(map(str, rows))))

    def write(self, table):
        """Run one statement that changes documents."""
        weights = [weight for weight, _ in twin_json_writes.STATEMENTS]
        self.rng.choices(twin_json_writes.STATEMENTS, weights)[0][1](
            self, self.session, table)

    def edit(self):
        """Run some statements that edit documents."""
        weights = [weight for weight, _ in twin_json_updates.UPDATES]
        make = self.rng.choices(twin_json_updates.UPDATES, weights)[0][1]
        table = self.rng.choice(self.edited)
        if self.rng.random() < 0.1:
            twin_json_writes.insert(self, self.session, table)
        make(self, self.session, table)

    def edits(self):
        """Return what this session has done with edits, by counter."""
        if self.am != "toaster":
            return {}
        return dict(self.session.must(
            "SELECT name, session FROM toaster.stats"
            " WHERE name LIKE 'edits_%'"))

    def note_edits(self):
        """Add what the session has done with edits to the results."""
        for name, count in self.edits().items():
            self.results[name] = count

    def ask_edit(self, session, template):
        """Run an UPDATE that nobody but the table looks at, on a tree."""
        before = self.edits()
        wanted = self.ask(session, "edit alone", template)
        after = self.edits()
        if wanted[0] == "error" or not before:
            return
        made = {name: after[name] - before[name] for name in after}
        self.results["edits of documents"] += made["edits_applied"] > 0
        self.results["edits written"] += made["edits_written"] > 0
        self.results["edits flattened"] += made["edits_flattened"] > 0

    def step(self):
        """Run one random action."""
        table = self.rng.choice(self.tables)
        roll = self.rng.random()
        if roll < 0.20:
            self.write(table)
        elif roll < 0.45:
            self.edit()
        elif roll < 0.66:
            self.read(table)
        elif roll < 0.74:
            twin_json_writes.query_table(self, self.session, table)
        elif roll < 0.80:
            weights = [w for w, _ in twin_json_writes.KEEPING]
            self.rng.choices(twin_json_writes.KEEPING, weights)[0][1](
                self, self.session, table)
        elif roll < 0.90:
            self.transaction_control()
        elif roll < 0.94:
            self.compare()
        elif roll < 0.97:
            self.change_settings()
        elif roll < 0.985:
            self.thin_out()
        elif roll < 0.987 and self.huge:
            self.add_huge()

    def transaction_control(self):
        """Begin, end, or set and use savepoints."""
        rng, session = self.rng, self.session
        roll = rng.random()
        if not session.in_transaction:
            session.begin(True, rng.choice(
                ("READ COMMITTED", "REPEATABLE READ")))
        elif roll < 0.4:
            session.end(rng.choice(("COMMIT", "COMMIT", "ROLLBACK")))
        elif roll < 0.7:
            name = "s%d" % len(session.savepoints)
            session.control("SAVEPOINT " + name)
            session.savepoints.append(name)
        elif session.savepoints:
            place = rng.randrange(len(session.savepoints))
            session.control("ROLLBACK TO " + session.savepoints[place])
            del session.savepoints[place + 1:]

    def thin_out(self, rows=25, size=8_000_000):
        """Delete rows of tables that have become large."""
        for table in self.edited:
            found = self.session.heap(
                "SELECT count(*), coalesce(sum(octet_length(x::text)), 0)"
                " ::int8 FROM %s x" % table.path())[0]
            if found[0] > rows or found[1] > size:
                self.ask(self.session, "thin out", "DELETE FROM %s WHERE"
                         " id %% 3 <> 0 OR octet_length(doc::text) > 500000"
                         % table.path())

    def add_huge(self):
        """Look at a very large document, once."""
        rng = self.rng
        made = rng.choice((
            "SELECT jsonb_agg(i) FROM generate_series(1, 1000000) i",
            "SELECT jsonb_agg(CASE i % 3 WHEN 0 THEN to_jsonb('e' || i)"
            " WHEN 1 THEN 'null' ELSE to_jsonb(i) END)"
            " FROM generate_series(1, 1000000) i",
            "SELECT jsonb_object_agg('key' || i, i)"
            " FROM generate_series(1, 100000) i",
            "SELECT jsonb_object_agg(md5(i::text), jsonb_build_array(i, 'x'))"
            " FROM generate_series(1, 100000) i",
            "SELECT jsonb_object_agg(repeat(chr(97 + i), 100000), i)"
            " FROM generate_series(1, 25) i"))
        table = self.tables[0]
        ident = self.new_id()
        self.ask(self.session, "huge", "INSERT INTO %s VALUES (%d, 0, (%s))"
                 % (table.path(), ident, made))
        text = twin_json_writes.fetch(self.session, table, "doc", ident)
        value = load(text)
        tree = self.is_tree(table, "doc", ident)
        for _ in range(40):
            mode = rng.choice(("operator", "direct"))
            question = Question(rng, value, mode)
            make = rng.choice((twin_json_reads.scalar_statement,
                               twin_json_reads.set_statement))
            self.examine(question, make(rng, question, table.path(), ident),
                         mode, tree)
        self.ask(self.session, "huge", "UPDATE %s SET doc = jsonb_set(doc,"
                 " '{500}', '\"new\"') WHERE id = %d" % (table.path(), ident))
        self.compare()
        self.ask(self.session, "huge", "DELETE FROM %s WHERE id = %d" % (
            table.path(), ident))


def difference(wanted, found):
    """Say where two results begin to differ."""
    left, right = repr(wanted), repr(found)
    place = next((i for i, (x, y) in enumerate(zip(left, right)) if x != y),
                 min(len(left), len(right)))
    return "lengths %d and %d, first difference at %d: %.80s against %.80s" \
        % (len(left), len(right), place, left[max(0, place - 20):place + 60],
           right[max(0, place - 20):place + 60])


def run(twin, arguments, cluster):
    """Run statements until the time or the number of them is used up."""
    started = time.monotonic()
    for table in twin.edited:
        for _ in range(4):
            twin_json_writes.insert(twin, twin.session, table)
    if arguments.huge:
        twin.add_huge()
    count = arguments.statements
    while twin.log.count < count if count else (
            time.monotonic() - started < arguments.seconds):
        twin.step()
        if arguments.check_each:
            twin.compare()
    if twin.session.in_transaction:
        twin.session.commit()
    twin.compare()
    twin.note_edits()
    if cluster and cluster.crashes():
        raise Difference("the server crashed")
    if 4 * twin.results["edits flattened"] > \
            twin.results["edits of documents"] + 20:
        raise Difference("many of the edits read whole documents")
    if 2 * twin.results["that read nodes"] < twin.results["of trees"]:
        raise Difference("few of the questions about trees read nodes")


def report_failure(twin, arguments, cluster, error):
    """Print what is needed to see and to replay a difference."""
    print("DIFFERENCE after statement %d of seed %d: %s" % (
        twin.log.count, arguments.seed, error))
    print("last statements:")
    print("\n".join(line[:1500] for line in twin.log.lines[-arguments.tail:]))
    if cluster:
        print("end of the server's log:\n" + cluster.log_tail())
    print("replay: %s --seed %d --am %s --statements %d%s%s"
          " [--check-each] [--dump-sql FILE]" % (
              os.path.basename(sys.argv[0]), arguments.seed, arguments.am,
              twin.log.count, " --huge" if arguments.huge else "",
              " --node-size %d" % arguments.node_size
              if arguments.node_size else ""))


def summarize(twin, differences):
    """Print the statements and results by kind, and the totals."""
    for counter in (twin.log.kinds, twin.results):
        for kind, count in sorted(counter.items()):
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
    parser.add_argument("--bindir", help="programs of the private server")
    parser.add_argument("--am", default="toaster",
                        help="table access method to compare with heap")
    parser.add_argument("--node-size", type=int, help="fixed node size")
    parser.add_argument("--huge", action="store_true",
                        help="documents of a million elements as well")
    parser.add_argument("--check-each", action="store_true",
                        help="compare and verify after every action")
    parser.add_argument("--dump-sql", help="write all statements to a file")
    parser.add_argument("--tail", type=int, default=15,
                        help="statements to print at a difference")
    parser.add_argument("--keep", action="store_true",
                        help="keep the files of the private server")
    return parser.parse_args()


def main():
    """Run the twin and return its exit status."""
    arguments = parse_arguments()
    sys.setrecursionlimit(20_000)
    print("seed %d" % arguments.seed, flush=True)
    cluster = twin = None
    try:
        if not arguments.dsn:
            bindir = arguments.bindir or subprocess.run(
                ["pg_config", "--bindir"], check=True, text=True,
                stdout=subprocess.PIPE).stdout.strip()
            cluster = Cluster(bindir, "log_min_messages = log\n"
                              "autovacuum = %s\n" % (
                                  "on" if arguments.seed % 4 == 0
                                  else "off"))
            cluster.start()
        twin = JsonTwin(arguments, arguments.dsn or cluster.dsn())
        run(twin, arguments, cluster)
        summarize(twin, 0)
        return 0
    except (Difference, psycopg.Error) as error:
        if twin is None or not isinstance(error, Difference):
            traceback.print_exc()
        if twin is not None:
            report_failure(twin, arguments, cluster, error)
            summarize(twin, 1)
        return 1
    finally:
        if cluster:
            cluster.remove(arguments.keep)


if __name__ == "__main__":
    sys.exit(main())
