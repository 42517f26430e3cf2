"""demo.py: load documents into two tables, use both, print what each took.

Called by ./demo with a running server (PGHOST).  Two pairs of tables:

  docs_heap, docs_toaster   every document
  big_heap, big_toaster     one document: all of them in one object, or the
                            largest one of the user's file

Every statement runs three times on each table, in turns, and the median is
printed.
"""

import argparse
import shutil
import signal
import sys

import psycopg

import documents
from documents import Trouble
from measure import (AMS, Progress, Sample, connect, explain, format_bytes,
                     format_count, format_ms, format_ratio, median, turns)

TIMES = 3

# Room for the documents in four tables, their new versions and the WAL
SPACE_PER_BYTE = 4
SPACE_AT_LEAST = 1 << 30

TABLE = """
CREATE TABLE {table} (id int PRIMARY KEY, name text, doc jsonb, body text,
                      file bytea) USING {am}"""

ERASE_PROGRESS = "\r\033[K"


def documents_of(count):
    return f"{format_count(count)} document{'s' if count != 1 else ''}"


def parse_arguments():
    parser = argparse.ArgumentParser(prog="demo")
    parser.add_argument("--root", required=True)
    parser.add_argument("--data")
    parser.add_argument("--cache")
    parser.add_argument("--iso-codes")
    return parser.parse_args()


def choose_source(arguments):
    """(label, iterators, text of the big document or None)"""
    if arguments.data:
        return (f"of {arguments.data}",
                [documents.ndjson(arguments.data)], None)
    wheel = documents.fetch_wheel(arguments.cache) if arguments.cache else None
    if wheel is None:
        if arguments.cache:
            print("so the documents are made up here", flush=True)
        return ("(GENERATED, not real ones)",
                [documents.generated()], documents.generated_together())
    label = "of botocore 1.35.0"
    sources = [documents.botocore(wheel)]
    if arguments.iso_codes:
        label += " and Debian's iso-codes"
        sources.append(documents.iso_codes(arguments.iso_codes))
    else:
        print("Debian's iso-codes cannot be had: going on without them",
              flush=True)
    return label, sources, documents.botocore_together(wheel)


class Loader:
    """Copies documents into the table incoming, from which both load."""

    def __init__(self, connection, root):
        self.connection = connection
        self.root = root
        self.count = 0
        self.bytes = 0
        connection.execute("CREATE UNLOGGED TABLE incoming "
                           "(id serial, number int, name text, body text)")

    def check_space(self, more):
        free = shutil.disk_usage(self.root).free
        needed = SPACE_AT_LEAST + SPACE_PER_BYTE * more
        if free < needed:
            raise Trouble(
                f"not enough space: about {format_bytes(needed)} are needed "
                f"in {self.root}, {format_bytes(free)} are free "
                "(TMPDIR chooses another place)")

    def load(self, source, what):
        try:
            self._copy(source, Progress(f"loading {what}"))
        except psycopg.Error as error:
            # Trouble in the source makes COPY fail, and so does a signal.
            if isinstance(error.__context__, (Trouble, SystemExit)):
                raise error.__context__ from None
            raise

    def _copy(self, source, progress):
        self.check_space(self.bytes)
        with self.connection.cursor().copy(
                "COPY incoming (number, name, body) FROM STDIN") as copy:
            for document in source:
                copy.write_row((document.number, document.name,
                                document.text))
                self.count += 1
                self.bytes += len(document.text)
                if self.count % 100 == 0:
                    self.check_space(self.bytes)
                done = "" if document.done is None else \
                    f"{document.done * 100:3.0f} %  "
                progress.show(f"{done}{documents_of(self.count)}, "
                              f"{format_bytes(self.bytes)}")
        progress.end(f"{documents_of(self.count)}, "
                     f"{format_bytes(self.bytes)}")


def bad_document(connection, data):
    """Trouble, if there is a line that PostgreSQL does not take."""
    connection.execute("""
        CREATE FUNCTION pg_temp.bad() RETURNS text LANGUAGE plpgsql AS $$
        DECLARE r record; detail text;
        BEGIN
            FOR r IN SELECT number, body FROM incoming ORDER BY id LOOP
                BEGIN
                    PERFORM r.body::jsonb;
                EXCEPTION WHEN OTHERS THEN
                    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
                    RETURN concat(r.number, ': ', sqlerrm,
                                  ' (' || nullif(detail, '') || ')');
                END;
            END LOOP;
            RETURN NULL;
        END $$""")
    found = connection.execute("SELECT pg_temp.bad()").fetchone()[0]
    if found:
        raise Trouble(f"{data}, line {found}") from None


class Report:
    """The side-by-side table."""

    LINE = "{:<38}{:>9} {:>9} {:>7}  {:>8} {:>8}  {:>8} {:>8}"

    def head(self, title):
        print(f"\n{title}")
        print(self.LINE.format("", "time", "", "", "buffers", "", "WAL", ""))
        print(self.LINE.format("", "heap", "toaster", "ratio", "heap",
                               "toaster", "heap", "toaster"), flush=True)

    def row(self, label, costs):
        """costs: access method -> Samples of the same statement"""
        middle = {am: Sample(*(median([getattr(sample, field) for sample
                                       in costs[am]])
                               for field in ("milliseconds", "cpu_ms",
                                             "buffers", "wal")))
                  for am in AMS}
        heap, toaster = (middle[am] for am in AMS)
        wal = [format_bytes(sample.wal) if sample.wal else "-"
               for sample in (heap, toaster)]
        print(self.LINE.format(
            label, format_ms(heap.milliseconds),
            format_ms(toaster.milliseconds),
            format_ratio(toaster.milliseconds, heap.milliseconds),
            format_count(int(heap.buffers)),
            format_count(int(toaster.buffers)), *wal), flush=True)

    def sizes(self, label, sizes):
        print(self.LINE.format(
            label, format_bytes(sizes["heap"]), format_bytes(sizes["toaster"]),
            format_ratio(sizes["toaster"], sizes["heap"]),
            "", "", "", "").rstrip(), flush=True)


class Pair:
    """One table of each kind, with the same content."""

    def __init__(self, connection, prefix, report):
        self.connection = connection
        self.report = report
        self.tables = {am: f"{prefix}_{am}" for am in AMS}
        for am in AMS:
            connection.execute(TABLE.format(table=self.tables[am], am=am))

    def measure(self, label, statement, parameters=None, before=None):
        """parameters: of the statement, made from the number of the turn;
        before: a statement that runs first and is not measured"""
        progress = Progress(label)
        costs = {am: [] for am in AMS}
        for number, am in turns(TIMES):
            progress.show(f"{am}, {number + 1} of {TIMES}")
            if before:
                self.connection.execute(
                    before.format(table=self.tables[am]))
            costs[am].append(explain(
                self.connection, statement.format(table=self.tables[am]),
                parameters(number) if parameters else None))
        if progress.wrote and progress.terminal:
            sys.stderr.write(ERASE_PROGRESS)
        self.report.row(label, costs)

    def fill(self, condition):
        """The documents of incoming, as they would come from a client."""
        self.measure("INSERT, text to jsonb",
                     "INSERT INTO {table} SELECT id, name, body::jsonb, body, "
                     "convert_to(body, 'UTF8') FROM incoming WHERE "
                     + condition, before="TRUNCATE {table}")
        for am in AMS:
            self.connection.execute(f"ANALYZE {self.tables[am]}")

    def sizes(self, label):
        self.report.sizes(label, {
            am: self.connection.execute(
                "SELECT pg_total_relation_size(%s::regclass)",
                (self.tables[am],)).fetchone()[0] for am in AMS})

    def common_key(self):
        """The key that most documents have at the top, or None."""
        row = self.connection.execute(
            f"""SELECT key FROM {self.tables['heap']},
                LATERAL jsonb_object_keys(CASE jsonb_typeof(doc)
                    WHEN 'object' THEN doc ELSE '{{}}' END) key
                GROUP BY key ORDER BY count(*) DESC, key LIMIT 1""").fetchone()
        return row[0] if row else None

    def read(self, key):
        self.measure("SELECT the whole document, as text",
                     "SELECT sum(octet_length(doc::text)) FROM {table}")
        if key is not None:
            self.measure(f"SELECT doc -> '{key[:20]}'",
                         "SELECT count(doc -> %s::text) FROM {table}",
                         lambda _: (key,))
        for column in ("body", "file"):
            kind = {"body": "text", "file": "bytea"}[column]
            self.measure(f"SELECT 100 of the middle ({kind})",
                         f"SELECT sum(length(substr({column}, "
                         "octet_length(file) / 2, 100))) FROM {table}")

    def update(self, key):
        if key is not None:
            self.measure("UPDATE doc: another value of a key",
                         "UPDATE {table} SET doc = jsonb_set(doc, "
                         "ARRAY[%s], to_jsonb(%s::text)) "
                         "WHERE jsonb_typeof(doc) = 'object'",
                         lambda number: (key, f"changed {number}"))
        for label, size in (("differ", 10), ("more", 0)):
            self.measure(f"UPDATE body: 10 bytes {label}",
                         "UPDATE {table} SET body = overlay(body placing %s "
                         "from greatest(1, length(body) / 2) for %s)",
                         lambda number, size=size: (str(number) * 10, size))

    def differences(self):
        """How many rows differ."""
        heap, toaster = (self.tables[am] for am in AMS)
        return self.connection.execute(
            f"""SELECT count(*) FROM {heap} h FULL JOIN {toaster} t USING (id)
                WHERE (h.name, h.doc, h.body, h.file)
                      IS DISTINCT FROM (t.name, t.doc, t.body, t.file)"""
        ).fetchone()[0]

    def problems(self):
        return self.connection.execute(
            "SELECT count(*) FROM toaster.verify(%s::regclass)",
            (self.tables["toaster"],)).fetchone()[0]


def compare(connection, loader, label, has_big):
    """Both pairs: load, read, update; then check that they agree."""
    report = Report()
    big_condition = "name = 'together'" if has_big else \
        "id = (SELECT id FROM incoming ORDER BY octet_length(body) DESC, id " \
        "LIMIT 1)"
    big_size = connection.execute(
        "SELECT octet_length(body) FROM incoming WHERE "
        + big_condition).fetchone()[0]
    several = loader.count - (1 if has_big else 0)
    parts = [("docs", f"{documents_of(several)} {label}",
              "name <> 'together'" if has_big else "true"),
             ("big", "one document of " + format_bytes(big_size) + (
                 ": all of the large ones in one object" if has_big
                 else ", the largest"), big_condition)]
    pairs = []
    for prefix, title, condition in parts:
        pair = Pair(connection, prefix, report)
        report.head(title)
        pair.fill(condition)
        pair.sizes("stored size")
        key = pair.common_key()
        pair.read(key)
        pair.update(key)
        pair.sizes("stored size after the updates")
        pairs.append(pair)
    return pairs


def run(arguments):
    connection = connect()
    connection.execute("CREATE EXTENSION pg_toaster")
    loader = Loader(connection, arguments.root)
    label, sources, big = choose_source(arguments)
    for source in sources:
        loader.load(source, "documents")
    if loader.count == 0:
        raise Trouble(f"{arguments.data}: there is no document in it")
    if big is not None:
        loader.load([documents.Document(0, "together", big, 1)],
                    "one document of " + format_bytes(len(big)))
    try:
        pairs = compare(connection, loader, label, big is not None)
    except psycopg.Error:
        if arguments.data and not connection.closed:
            bad_document(connection, arguments.data)
        raise
    connection.execute("DROP TABLE incoming")
    return judge(pairs)


def judge(pairs):
    different = sum(pair.differences() for pair in pairs)
    problems = sum(pair.problems() for pair in pairs)
    print("\ntime: of one statement, the median of three; buffers: pages touched;\n"
          "WAL: without full-page images; ratio: toaster to heap, below 1 is "
          "less; sizes: with old versions.\nheap compresses with lz4, as "
          "toaster does.")
    print(f"the tables differ in {different} rows; toaster.verify() finds "
          f"{problems} problems")
    return 1 if different or problems else 0


def lost(arguments, error):
    """What to say when the server refuses or is gone."""
    free = shutil.disk_usage(arguments.root).free
    if isinstance(error, psycopg.errors.DiskFull) or free < 1 << 20:
        return (f"no space left in {arguments.root} "
                "(TMPDIR chooses another place)")
    return str(error).strip()


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return run(arguments)
    except Trouble as trouble:
        message = str(trouble)
    except psycopg.Error as error:
        message = lost(arguments, error)
    except OSError as error:
        message = f"{error.filename or arguments.root}: {error.strerror}"
    except MemoryError:
        message = "not enough memory for these documents"
    sys.stdout.flush()
    print(f"\ndemo: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
