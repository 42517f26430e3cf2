"""suite_edits.py: UPDATE that changes a part of a document.

Three tables with the same documents (see variants.py), and full_page_writes
off, so that WAL has no images of pages.  Parts, which --kind chooses:

  sizes      one document of each of eight sizes, of zeros and of records: a
             key, an element, insert and delete in an array, and more
  removal    js = js - '1' on documents of 1,000 keys
  orm        a client reads a document, changes a field, writes all of it back
  steady     thousands of edits of one large document, autovacuum on
  indexes    a key is set under indexes, a CHECK and a generated column
  rows       one key of each of many short documents, and the peak memory

How a statement is measured: with EXPLAIN, which gives its execution time and
its WAL without the commit; and in a loop in the server that commits each
statement and looks at the clock and at the position of the WAL before and
after it.  The mean of a loop contains what is done only now and then.
"""

import random
from collections import namedtuple

import edit_workloads
import values
import variants
from edit_workloads import EDITED, document, elements, load
from measure import backend_cpu_ms, explain, full_page_writes

SIZES = (2000, 4000, 8000, 16000, 41000, 100000, 1000000, 13000000)
QUICK_SIZES = (2000, 16000, 100000, 1000000)
KINDS = ("zeros", "records")

# Milliseconds and statements of a loop
LOOP_MS = 40
LOOP_TURNS = (2, 200)
SHORT_MS = 3
SHORT_REPEATS = 5

# What one statement does: {i} is its number, {at} a place in the array
Operation = namedtuple("Operation", "label change")

RECORD = ("'{\"id\": 1, \"name\": \"pear\", \"price\": 1.25, "
          "\"tags\": [\"red\"], \"token\": \"0123456789ab\"}'::jsonb")

# An integer that always takes the same number of bytes
INTEGER = "to_jsonb(10001 + ({i}) % 9000)"


def _set(target, path, value):
    keys = ", ".join(f"'{key}'" if isinstance(key, str) else f"({key[0]})::text"
                     for key in path)
    return f"jsonb_set({target}, ARRAY[{keys}], {value})"


def _ten_keys():
    change = "doc"
    for number in range(10):
        change = _set(change, [f"k{number}"], INTEGER)
    return change


# How many keys there are between the one that is added and the one that is
# removed: an edit and its opposite would leave nothing to write.
LAG = 5


def _cases(kind):
    """Lists of operations that are run by turns on the same document, so that
    what one adds another one takes away."""
    at = "{at}"
    if kind == "zeros":
        path, new = ["key2", (at,)], INTEGER
    else:
        path, new = ["key2", (at,), "price"], RECORD
    place = f"ARRAY['key2', ({at})::text]"
    return [
        [Operation("other column", None)],
        [Operation("key, same length", _set("doc", ["key1"], INTEGER))],
        [Operation("key, other length", _set(
            "doc", ["key3"], "to_jsonb(repeat('x', 1 + ({i}) % 40))"))],
        [Operation("element", _set("doc", path, INTEGER))],
        [Operation("insert into array", f"jsonb_insert(doc, {place}, {new})"),
         Operation("delete from array", f"doc #- {place}")],
        [Operation("append to array",
                   f"jsonb_insert(doc, ARRAY['key2', '-1'], {new}, true)"),
         Operation("delete last", "doc #- ARRAY['key2', '-1']")],
        [Operation("new key", "doc || jsonb_build_object('new' || ({i}), {i})"),
         Operation("removed key", f"doc - ('new' || (({{i}}) - {LAG}))")],
        [Operation("value of 1 kB", _set(
            "doc", ["key3"],
            "to_jsonb(repeat(md5(({i})::text), 31) || 'x')")),
         Operation("short again", _set("doc", ["key3"], INTEGER))],
        [Operation("ten keys", _ten_keys())],
    ]


# The row that is edited; those around it make its pages full.
ROW = 2


def _statement(operation, variant, number, place):
    change = "n = {i}" if operation.change is None else \
        "doc = " + operation.change
    change = change.replace("{i}", str(number)).replace("{at}", str(place))
    return f"UPDATE edits_{variant} SET {change} WHERE id = {ROW}"


LOOP = """
DO $loop$
DECLARE
    started timestamptz;
    lsn pg_lsn;
    at int;
    took float8[] := array_fill(0.0::float8, ARRAY[{count}]);
    wal numeric[] := array_fill(0.0, ARRAY[{count}]);
BEGIN
    FOR i IN {first}..{last} LOOP
{body}
    END LOOP;
    PERFORM set_config('bench.loop', json_build_array(took, wal)::text, false);
END
$loop$"""

LOOP_BODY = """
        at := floor(random() * {places});
        lsn := pg_current_wal_insert_lsn();
        started := clock_timestamp();
        {statement};
        COMMIT;
        took[{index}] := took[{index}]
            + extract(epoch FROM clock_timestamp() - started) * 1000;
        wal[{index}] := wal[{index}] + (pg_current_wal_insert_lsn() - lsn);"""


def run_loop(connection, statements, places, first, count):
    """Each of the statements, which may contain i and at, count times, each
    of them committed; means of each, and the CPU time of a turn of all."""
    body = "".join(LOOP_BODY.format(places=places, statement=statement,
                                    index=index)
                   for index, statement in enumerate(statements, 1))
    cpu = backend_cpu_ms(connection)
    connection.execute(LOOP.format(count=len(statements), body=body,
                                   first=first, last=first + count - 1))
    cpu = backend_cpu_ms(connection) - cpu
    took, wal = connection.execute(
        "SELECT current_setting('bench.loop')::json").fetchone()[0]
    return {"milliseconds": [sum_ / count for sum_ in took],
            "wal": [sum_ / count for sum_ in wal],
            "cpu_ms": cpu / count, "count": count}


class _Case:
    """The operations of a case on one document in three tables."""

    def __init__(self, bench, operations, places):
        self.connection = bench.connection
        self.rounds = bench.rounds
        self.random = random.Random(places)
        self.operations = operations
        self.places = places
        self.number = {variant: 0 for variant in EDITED}
        self.count = {}
        self.found = [{variant: [] for variant in EDITED}
                      for _ in operations]
        self.loops = {variant: [] for variant in EDITED}

    def _explain(self, variant):
        """Each operation once; the longest of their times."""
        longest = 0
        self.number[variant] += 1
        for operation, found in zip(self.operations, self.found):
            statement = _statement(operation, variant, self.number[variant],
                                   self.random.randrange(self.places))
            sample = explain(self.connection, statement)
            found[variant].append(sample.as_dict())
            longest = max(longest, sample.milliseconds)
        return longest

    def _warm_up(self, variant):
        """The first edit of a document, which is the first sample, and the
        number of turns that a loop has."""
        self._explain(variant)
        longest = self._explain(variant)
        self.count[variant] = int(min(
            LOOP_TURNS[1], max(LOOP_TURNS[0], LOOP_MS / longest)))

    def _turn(self, variant):
        if self._explain(variant) < SHORT_MS:
            for _ in range(SHORT_REPEATS - 1):
                self._explain(variant)
        count = self.count[variant]
        statements = [_statement(operation, variant, "i", "at")
                      for operation in self.operations]
        self.loops[variant].append(run_loop(
            self.connection, statements, self.places,
            self.number[variant] + 1, count))
        self.number[variant] += count

    def run(self):
        before = variants.counters(self.connection)
        for variant in EDITED:
            self._warm_up(variant)
        for _, variant in variants.turns(self.rounds, EDITED):
            self._turn(variant)
        return {"counters": variants.counted_since(self.connection, before),
                "loops": self.loops}


def _check(connection, kind, size):
    """What is not edited has stayed, and the trees are sound."""
    found = {str(connection.execute(
        "SELECT count(*), sum(jsonb_array_length(doc->'key2')), "
        "md5(string_agg((doc->'key4')::text, ',' ORDER BY id)) "
        f"FROM edits_{variant}").fetchone()) for variant in EDITED}
    if len(found) != 1:
        raise RuntimeError(f"the tables differ: {kind}, {size}")
    problem = connection.execute(
        "SELECT v FROM toaster.verify('edits_toaster') v LIMIT 1").fetchone()
    if problem:
        raise RuntimeError(f"toaster.verify: {problem[0]}")


def _measure_case(bench, kind, size, operations):
    connection = bench.connection
    rows = max(3, 20000 // size)
    variants.create(connection, "edits", "id int, n int, doc jsonb",
                    variants=EDITED)
    for variant in EDITED:
        connection.execute(f"INSERT INTO edits_{variant} "
                           f"SELECT i, 0, doc FROM source, "
                           f"generate_series(1, {rows}) i")
        if operations[0].label == "new key":
            names = (f"'new{number}', {number}"
                     for number in range(1 - LAG, 1))
            connection.execute(
                f"UPDATE edits_{variant} SET doc = doc || "
                f"jsonb_build_object({', '.join(names)}) WHERE id = {ROW}")
    places = elements(connection, "edits_lz4", "id = 1")
    case = _Case(bench, operations, places)
    common = case.run()
    _check(connection, kind, size)
    variants.drop(connection, "edits", EDITED)
    return [{"kind": kind, "size": size, "label": operation.label,
             "index": index, "loop_of": len(operations),
             **common, "samples": samples}
            for index, (operation, samples)
            in enumerate(zip(operations, case.found))]


def sizes(bench):
    connection = bench.connection
    results = []
    for kind in KINDS:
        for size in QUICK_SIZES if bench.quick else SIZES:
            load(connection, document(kind, size, 1))
            flat = connection.execute(
                "SELECT pg_column_size(doc) FROM source").fetchone()[0]
            for operations in _cases(kind):
                bench.say(f"{kind}, {values.size_name(size)}: "
                          f"{operations[0].label}")
                results += [{"flat": flat, **result} for result
                            in _measure_case(bench, kind, size, operations)]
            connection.execute("DROP TABLE source")
    return results


PARTS = {"sizes": sizes, "removal": edit_workloads.removal,
         "orm": edit_workloads.orm, "steady": edit_workloads.steady,
         "indexes": edit_workloads.indexes, "rows": edit_workloads.rows}


def run(bench):
    """part -> results"""
    connection = bench.connection
    full_page_writes(connection, "off")
    connection.execute("SET plan_cache_mode = force_generic_plan")
    try:
        return {part: PARTS[part](bench) for part in bench.choose(PARTS)}
    finally:
        connection.execute("RESET plan_cache_mode")
        full_page_writes(connection, "on")
