"""edit_workloads.py: documents to edit, and how applications edit them.

The parts of the suite `edits` (suite_edits.py) beside that of single
statements.  All compare heap with pglz, with lz4, and toaster.
"""

import json
import time

import suite_memory
import values
import variants
from measure import backend_cpu_ms, connect, explain, set_server

EDITED = ("pglz", "lz4", "toaster")

SHORT_KEYS = 10

# Bytes of jsonb that the short keys and the id take
SHORT_BYTES = 200


def document(kind, size, number):
    """The text of a document of about size bytes of jsonb: an id and short
    keys, integers under key1 and key3, arrays under key2 and key4 of zeros or
    of records that differ."""
    size -= SHORT_BYTES
    if kind == "zeros":
        text = values.synthetic(size, number)
    else:
        arrays = [values.value("records", part, number)
                  for part in (size * 10 // 11, size // 11)]
        text = (f'{{"key1":{number},"key2":{arrays[0]},'
                f'"key3":{number},"key4":{arrays[1]}}}')
    short = "".join(f'"k{key}":{key},' for key in range(SHORT_KEYS))
    return f'{{"id":{number},{short}{text[1:]}'


def load(connection, *texts):
    """The table source with these documents, not compressed."""
    connection.execute("CREATE TABLE source (id serial, doc jsonb) USING heap")
    connection.execute("ALTER TABLE source ALTER doc SET STORAGE EXTERNAL")
    for text in texts:
        connection.execute("INSERT INTO source (doc) VALUES (%s)", (text,))


def elements(connection, table, condition="true"):
    return connection.execute(
        f"SELECT jsonb_array_length(doc->'key2') FROM {table} "
        f"WHERE {condition}").fetchone()[0]


def _same(connection, name, expression="doc"):
    """All tables must have the same documents."""
    found = {connection.execute(
        f"SELECT md5(string_agg(md5(({expression})::text), '' ORDER BY id)) "
        f"FROM {name}_{variant}").fetchone()[0] for variant in EDITED}
    if len(found) != 1:
        raise RuntimeError(f"the tables {name} differ")


def _pages(connection, table):
    """Pages of the table, its TOAST relation and that one's index."""
    return dict(zip(("main", "toast", "index"), connection.execute(
        "SELECT pg_relation_size(c.oid) / 8192, "
        "coalesce(pg_relation_size(c.reltoastrelid) / 8192, 0), "
        "coalesce(pg_relation_size(i.indexrelid) / 8192, 0) "
        "FROM pg_class c LEFT JOIN pg_index i ON i.indrelid = c.reltoastrelid "
        "WHERE c.oid = %s::regclass", (table,)).fetchone()))


REMOVAL_ROWS = 10000
REMOVAL_KEYS = 1000
REMOVAL_ROUNDS = 3


def removal(bench):
    connection = bench.connection
    rows = REMOVAL_ROWS // 10 if bench.quick else REMOVAL_ROWS
    found = {variant: [] for variant in EDITED}
    for number in range(min(REMOVAL_ROUNDS, bench.rounds)):
        variants.create(connection, "removal", variants=EDITED)
        for variant in EDITED:
            bench.say(f"js - '1', {rows} documents, {variant}")
            table = f"removal_{variant}"
            connection.execute(
                f"INSERT INTO {table} SELECT i, (SELECT jsonb_object_agg(j, j) "
                f"FROM generate_series(1, {REMOVAL_KEYS}) j) "
                f"FROM generate_series(1, {rows}) i")
            connection.execute(f"VACUUM ANALYZE {table}")
            before = _pages(connection, table)
            counted = variants.counters(connection)
            sample = explain(connection, f"UPDATE {table} SET doc = doc - '1'")
            found[variant].append({
                **sample.as_dict(), "before": before,
                "after": _pages(connection, table),
                "counters": variants.counted_since(connection, counted)})
        if number == 0:
            _same(connection, "removal")
        variants.drop(connection, "removal", EDITED)
    return [{"rows": rows, "keys": REMOVAL_KEYS, **found}]


ORM_SIZE = 100000
ORM_ROWS = 3
ORM_TURNS = 5


def _orm_turn(connection, variant, row, field, number):
    """Read, change, write: the sample of the whole of it."""
    text = connection.execute(
        f"SELECT doc::text FROM orm_{variant} WHERE id = %s",
        (row,)).fetchone()[0]
    found = json.loads(text)
    if field == "key3":
        found["key3"] = 10001 + number % 9000
    else:
        middle = found["key2"][len(found["key2"]) // 2]
        middle["price"] = 1000 + number
    text = json.dumps(found)
    cpu = backend_cpu_ms(connection)
    start = time.perf_counter()
    sample = explain(connection, f"UPDATE orm_{variant} SET doc = %s::jsonb "
                     "WHERE id = %s", (text, row))
    wall = (time.perf_counter() - start) * 1000
    return {**sample.as_dict(), "statement_ms": wall,
            "statement_cpu_ms": backend_cpu_ms(connection) - cpu}


def orm(bench):
    connection = bench.connection
    results = []
    for kind, field in (("zeros", "key3"), ("records", "key3"),
                        ("records", "a field in the middle")):
        bench.say(f"read and write back, {kind}: {field}")
        load(connection, document(kind, ORM_SIZE, 1))
        variants.create(connection, "orm", variants=EDITED)
        variants.fill(connection, "orm", "SELECT i, doc FROM source, "
                      f"generate_series(1, {ORM_ROWS}) i", EDITED)
        found = {variant: [] for variant in EDITED}
        number = {variant: 0 for variant in EDITED}
        for _, variant in variants.turns(1 + bench.rounds, EDITED):
            for _ in range(ORM_TURNS):
                number[variant] += 1
                found[variant].append(_orm_turn(
                    connection, variant, 1 + number[variant] % ORM_ROWS,
                    field, number[variant]))
        _same(connection, "orm")
        variants.drop(connection, "orm", EDITED)
        connection.execute("DROP TABLE source")
        results.append({"kind": kind, "size": ORM_SIZE, "field": field,
                        **found})
    return results


STEADY = (
    # label, size, change, statements in toaster's table
    ("one key", 10000000,
     "jsonb_set(doc, ARRAY['key1'], to_jsonb(10001 + i % 9000))", 10000),
    ("random elements", 13000000,
     "jsonb_set(doc, ARRAY[{path}], to_jsonb(10001 + i % 9000))", 3000))
STEADY_PATH = {
    "zeros": "'key2', floor(random() * {places})::int::text",
    "records": "'key2', floor(random() * {places})::int::text, 'price'"}
STEADY_PARTS = 10
HEAP_SHARE = 100

READS = {"key1": "doc->'key1'", "middle": "doc->'key2'->{middle}",
         "whole": "md5(doc::text)"}


def _read_times(connection, table, places):
    """What reading takes: the median of three, in milliseconds."""
    found = {}
    for label, expression in READS.items():
        statement = (f"SELECT {expression.format(middle=places // 2)} "
                     f"FROM {table} WHERE id = 1")
        found[label] = sorted(explain(connection, statement).milliseconds
                              for _ in range(3))[1]
    return found


def _steady_run(connection, table, change, count):
    """The statements, each committed, in ten parts: means of each part."""
    parts = []
    for part in range(STEADY_PARTS):
        first = 1 + part * count // STEADY_PARTS
        last = (part + 1) * count // STEADY_PARTS
        lsn = connection.execute(
            "SELECT pg_current_wal_insert_lsn()").fetchone()[0]
        cpu = backend_cpu_ms(connection)
        start = time.perf_counter()
        connection.execute(
            f"DO $loop$ BEGIN FOR i IN {first}..{last} LOOP UPDATE {table} "
            f"SET doc = {change} WHERE id = 1; COMMIT; END LOOP; END $loop$")
        wall = (time.perf_counter() - start) * 1000
        cpu = backend_cpu_ms(connection) - cpu
        wal = connection.execute(
            "SELECT pg_current_wal_insert_lsn() - %s::pg_lsn",
            (lsn,)).fetchone()[0]
        turns = last - first + 1
        parts.append({"milliseconds": wall / turns, "cpu_ms": cpu / turns,
                      "wal": float(wal) / turns,
                      "pages": _pages(connection, table)})
    return parts


def _autovacuums(connection, table):
    return connection.execute(
        "SELECT sum(pg_stat_get_autovacuum_count(o)) FROM pg_class c, "
        "unnest(ARRAY[c.oid, c.reltoastrelid]) o "
        "WHERE c.oid = %s::regclass", (table,)).fetchone()[0]


def _measure_steady(bench, kind, label, size, change, count):
    connection = bench.connection
    load(connection, document(kind, size, 1))
    variants.create(connection, "steady", variants=EDITED)
    variants.fill(connection, "steady", "SELECT 1, doc FROM source", EDITED)
    places = elements(connection, "steady_lz4")
    change = change.format(path=STEADY_PATH[kind].format(places=places))
    found = {}
    for variant in EDITED:
        bench.say(f"{label} of {kind}, {values.size_name(size)}, {variant}")
        table = f"steady_{variant}"
        turns = count if variant == "toaster" else \
            max(2 * STEADY_PARTS, count // HEAP_SHARE)
        found[variant] = {
            "count": turns, "before": _pages(connection, table),
            "reads_before": _read_times(connection, table, places)}
        counted = variants.counters(connection)
        found[variant]["parts"] = _steady_run(connection, table, change, turns)
        found[variant]["counters"] = variants.counted_since(connection,
                                                            counted)
        found[variant]["after"] = _pages(connection, table)
        found[variant]["reads_after"] = _read_times(connection, table, places)
        found[variant]["autovacuums"] = int(_autovacuums(connection, table))
    variants.drop(connection, "steady", EDITED)
    connection.execute("DROP TABLE source")
    return {"label": label, "kind": kind, "size": size, **found}


def steady(bench):
    connection = bench.connection
    set_server(connection, "autovacuum_naptime", "1")
    set_server(connection, "autovacuum", "on")
    results = []
    for kind in STEADY_PATH:
        for label, size, change, count in STEADY:
            if bench.quick:
                size, count = size // 10, count // 10
            results.append(_measure_steady(bench, kind, label, size, change,
                                           count))
    set_server(connection, "autovacuum", "off")
    return results


INDEX_SIZES = (1000000, 13000000)
CONSTRUCTS = {
    "none": None,
    "index on doc->>'id'":
        "CREATE INDEX ON indexes_{variant} ((doc->>'id'))",
    "partial index":
        "CREATE INDEX ON indexes_{variant} (id) WHERE doc->>'key3' = '7'",
    "CHECK":
        "ALTER TABLE indexes_{variant} ADD CHECK "
        "((doc->>'id')::int > 0 AND doc ? 'key1')",
    "generated column":
        "ALTER TABLE indexes_{variant} "
        "ADD name text GENERATED ALWAYS AS (doc->>'k3') STORED",
    "all four": None,
    "GIN": "CREATE INDEX ON indexes_{variant} USING gin (doc jsonb_path_ops)",
}
INDEX_ROWS = 3
INDEX_REPEATS = 3


def _construct(connection, variant, name):
    """Create it."""
    if name == "all four":
        for one in list(CONSTRUCTS)[1:5]:
            _construct(connection, variant, one)
    elif CONSTRUCTS[name]:
        connection.execute(CONSTRUCTS[name].format(variant=variant))


def _measure_index(bench, kind, size, name):
    connection = bench.connection
    variants.create(connection, "indexes", variants=EDITED)
    for variant in EDITED:
        connection.execute(
            f"INSERT INTO indexes_{variant} SELECT i, doc FROM source, "
            f"generate_series(1, {INDEX_ROWS}) i")
        _construct(connection, variant, name)
    found = {variant: [] for variant in EDITED}
    number = 0
    for _, variant in variants.turns(1 + bench.rounds, EDITED):
        for _ in range(INDEX_REPEATS):
            number += 1
            counted = variants.counters(connection)
            sample = explain(
                connection, f"UPDATE indexes_{variant} SET doc = jsonb_set("
                f"doc, ARRAY['key1'], to_jsonb({10001 + number % 9000})) "
                "WHERE id = 2")
            found[variant].append({
                **sample.as_dict(),
                "counters": variants.counted_since(connection, counted)})
    _same(connection, "indexes", "doc - 'key1'")
    variants.drop(connection, "indexes", EDITED)
    return {"kind": kind, "size": size, "construct": name, **found}


def indexes(bench):
    connection = bench.connection
    results = []
    for size in INDEX_SIZES[:1] if bench.quick else INDEX_SIZES:
        load(connection, document("records", size, 1))
        for name in CONSTRUCTS:
            # GIN of a large document is a benchmark of GIN.
            if name == "GIN" and size > INDEX_SIZES[0]:
                continue
            bench.say(f"{name}, {values.size_name(size)}")
            results.append(_measure_index(bench, "records", size, name))
        connection.execute("DROP TABLE source")
    return results


ROWS = 100000
ROWS_POOL = 500
ROWS_SIZES = (2000, 4000)
ROWS_ROUNDS = 3
ROWS_CHANGE = ("UPDATE rows_{variant} SET doc = jsonb_set(doc, "
               "ARRAY['key1'], to_jsonb(10001 + id % 9000)) WHERE id > {least}")


def _load_rows(connection, count, table_variants):
    texts = []
    for number in range(ROWS_POOL):
        low, high = ROWS_SIZES
        size = low + (high - low) * number // ROWS_POOL
        texts.append(document("records", size, number))
    load(connection, *texts)
    variants.create(connection, "rows", variants=table_variants)
    for variant in table_variants:
        connection.execute(
            f"INSERT INTO rows_{variant} SELECT i, doc FROM "
            f"generate_series(1, {count}) i JOIN source s "
            f"ON s.id = 1 + i % {ROWS_POOL}")
        connection.execute(f"VACUUM ANALYZE rows_{variant}")
    connection.execute("DROP TABLE source")


def _rows_times(bench, count):
    connection = bench.connection
    found = {variant: [] for variant in EDITED}
    for number in range(min(ROWS_ROUNDS, bench.rounds)):
        _load_rows(connection, count, EDITED)
        for variant in EDITED:
            bench.say(f"{count} rows, {variant}")
            table = f"rows_{variant}"
            before = _pages(connection, table)
            counted = variants.counters(connection)
            sample = explain(connection, ROWS_CHANGE.format(
                variant=variant, least=0))
            found[variant].append({
                **sample.as_dict(), "before": before,
                "after": _pages(connection, table),
                "counters": variants.counted_since(connection, counted)})
        if number == 0:
            _same(connection, "rows")
        variants.drop(connection, "rows", EDITED)
    return found


def _rows_memory(bench, count):
    """The growth of the peak memory with a tenth of the rows and with all."""
    found = {variant: [] for variant in EDITED[1:]}
    with connect("postgres", bench.small_host) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_toaster")
        _load_rows(connection, count, EDITED[1:])
    for variant in EDITED[1:]:
        bench.say(f"peak memory of {count} rows, {variant}")
        for share in (10, 1):
            found[variant].append(suite_memory.peak_growth(
                bench.small_host,
                ROWS_CHANGE.format(variant=variant, least=count - 10),
                ROWS_CHANGE.format(variant=variant,
                                   least=count - count // share)))
    with connect("postgres", bench.small_host) as connection:
        variants.drop(connection, "rows", EDITED[1:])
    return found


def rows(bench):
    count = ROWS // 10 if bench.quick else ROWS
    result = {"rows": count, "sizes": ROWS_SIZES, **_rows_times(bench, count)}
    if bench.small_host:
        result["memory"] = _rows_memory(bench, count)
    return [result]
