"""suite_documents.py: parts of documents, and whole ones.

Four tables with the same documents side by side (see variants.py).  Parts,
which --kind chooses:

  keys     the synthetic documents of 130 B to 13 MB: one operator, many times
           in one SELECT on one row; and 20 000 documents that are in the row
  records  the same of documents whose arrays hold objects that differ, which
           lz4 halves, not zeros, which it makes vanish
  touch    one operator on each of several rows, and on one row as the first
           statement of a session: what nobody has read before
  depth    a key ten objects below the root of a document of 10 MB
  curse    10 000 documents just under 2 kB that an UPDATE makes a little
           longer, read before and after
  scan     four keys with casts and aggregates over documents of 8 kB
  paths    paths and functions on 1.3 MB and 13 MB
  whole    INSERT and SELECT of whole documents, and what they occupy
"""

import values
import variants
import whole_documents
from measure import clock, connect, explain
from variants import VARIANTS, explain_turns, per_variant

STEPS = (1, 20, 30, 40, 50, 60, 70, 80, 90, 100)
QUICK_STEPS = (1, 20, 50, 80)

# Operators in one SELECT; fewer where one takes long: each reads the document.
OPERATORS = 100
OPERATORS_MIN = 5
BUDGET_MS = 60

# Documents whose operators also run in a loop over rows
LOOP_STEPS = (1, 60, 80, 100)
LOOP_TURNS = (10, 100000)

RECORD_SIZES = (1000, 2000, 4000, 8000, 16000, 64000, 250000, 1000000,
                4000000, 13000000)
QUICK_RECORD_SIZES = (1000, 8000, 64000, 1000000)

TOUCH_BYTES = 40000000
TOUCH_ROWS = (5, 2000)
TOUCH_STEPS = (20, 30, 40, 50, 60, 80, 100)
SESSION_STEPS = (50, 100)

INLINE_ROWS = 20000

DEPTH = 10
DEPTH_BYTES = 10000000

CURSE_ROWS = 10000
# 163 zeros make a document of just under 2 kB.
CURSE_ZEROS = 163
CURSE_VARIANTS = ("external", "toaster")

SCAN_ROWS = 100000
QUICK_SCAN_ROWS = 5000
SCAN_BYTES = 8000
SCAN_POOL = 500
SCAN_ROUNDS = 3


def zeros(step):
    """Zeros under key2 and key4 of the synthetic document with that number."""
    return (round(10 ** (1 + 5 * step / 100)), round(10 ** (5 * step / 100)))


def document(step):
    """Its text."""
    arrays = ["[" + ",".join("0" * count) + "]" for count in zeros(step)]
    return (f'{{"key1":{step},"key2":{arrays[0]},'
            f'"key3":{step},"key4":{arrays[1]}}}')


def expressions(step):
    """label -> expression on doc"""
    middle = zeros(step)[0] // 2
    return {"key1": "doc->'key1'", "key3": "doc->'key3'",
            "key2 -> 0": "doc->'key2'->0",
            "key2 -> middle": f"doc->'key2'->{middle}",
            "key2 -> -1": "doc->'key2'->-1",
            "key4 -> 0": "doc->'key4'->0"}


def _create(connection, texts):
    """The tables keys_pglz to keys_toaster of documents with these numbers
    and texts; number -> flat size."""
    variants.create(connection, "keys")
    connection.execute("CREATE TABLE source (id int, doc jsonb)")
    connection.execute("ALTER TABLE source ALTER doc SET STORAGE EXTERNAL")
    for number, text in texts:
        connection.execute("INSERT INTO source VALUES (%s, %s)",
                           (number, text))
    variants.fill(connection, "keys", "SELECT * FROM source ORDER BY id")
    flat = dict(connection.execute(
        "SELECT id, pg_column_size(doc) FROM source").fetchall())
    connection.execute("DROP TABLE source")
    return flat


def _statement(expression, variant, step, count):
    return (f"SELECT {', '.join([expression] * count)} "
            f"FROM keys_{variant} WHERE id = {step}")


def _operators(connection, expression, variant, step):
    """How many of the operator there are in a SELECT."""
    sample = explain(connection,
                     _statement(expression, variant, step, OPERATORS_MIN))
    once = sample.milliseconds / OPERATORS_MIN
    return int(min(OPERATORS, max(OPERATORS_MIN, BUDGET_MS / once)))


def _same(connection, expression, step):
    """All tables must have the same answer."""
    found = {str(connection.execute(
        _statement(expression, variant, step, 1)).fetchall())
        for variant in VARIANTS}
    if len(found) != 1:
        raise RuntimeError(f"{expression} differs for document {step}")


def _measure_expression(bench, expression, step):
    connection = bench.connection
    _same(connection, expression, step)
    operators = {variant: _operators(connection, expression, variant, step)
                 for variant in VARIANTS}
    statement = {variant: _statement(expression, variant, step,
                                     operators[variant])
                 for variant in VARIANTS}
    before = variants.flattened(connection)
    samples = explain_turns(connection, statement, bench.rounds)
    return {"operators": operators, **samples,
            "flattened": variants.flattened(connection) - before}


def _loop(connection, expression, variant, step, count):
    """CPU time of a row of a loop that has the expression in it."""
    return clock(connection, f"SELECT count({expression}) FROM keys_{variant}, "
                 f"generate_series(1, {count}) WHERE keys_{variant}.id = {step}",
                 count).cpu_ms


def _measure_loop(bench, expression, step):
    """variant -> milliseconds of CPU of the operator alone: what a loop over
    rows takes, less what it takes with a plain column instead."""
    connection = bench.connection
    counts = {}
    for variant in VARIANTS:
        once = _loop(connection, expression, variant, step, LOOP_TURNS[0])
        counts[variant] = int(min(LOOP_TURNS[1],
                                  max(LOOP_TURNS[0], BUDGET_MS / once)))
    found = {variant: [] for variant in VARIANTS}
    for _, variant in variants.turns(bench.rounds):
        with_it, without = (
            _loop(connection, text, variant, step, counts[variant])
            for text in (expression, f"keys_{variant}.id"))
        found[variant].append(with_it - without)
    return found


def keys(bench):
    steps = QUICK_STEPS if bench.quick else STEPS
    flat = _create(bench.connection,
                   [(step, document(step)) for step in steps])
    results = []
    for step in steps:
        bench.say(f"keys of {values.size_name(flat[step])}")
        for label, expression in expressions(step).items():
            results.append({
                "step": step, "flat": flat[step], "label": label,
                **_measure_expression(bench, expression, step)})
            if step in LOOP_STEPS and label in ("key1", "key2 -> middle"):
                results[-1]["loop"] = _measure_loop(bench, expression, step)
    variants.drop(bench.connection, "keys")
    return results + _inline(bench)


def records_document(number, size):
    """Like a synthetic document; records where that has zeros."""
    arrays = [values.value("records", part, number)
              for part in (size * 10 // 11, size // 11)]
    return (f'{{"key1":{number},"key2":{arrays[0]},'
            f'"key3":{number},"key4":{arrays[1]}}}')


def _record_expressions(middle):
    return {"key1": "doc->'key1'", "key2 -> middle": f"doc->'key2'->{middle}",
            "key2 -> middle ->> 'name'": f"doc->'key2'->{middle}->>'name'",
            "key2 -> -1": "doc->'key2'->-1", "key4 -> 0": "doc->'key4'->0"}


def records(bench):
    connection = bench.connection
    sizes = QUICK_RECORD_SIZES if bench.quick else RECORD_SIZES
    flat = _create(connection, [(number, records_document(number, size))
                                for number, size in enumerate(sizes)])
    results = []
    for number in flat:
        bench.say(f"keys among records, {values.size_name(flat[number])}")
        middle = connection.execute(
            "SELECT jsonb_array_length(doc->'key2') / 2 FROM keys_lz4 "
            "WHERE id = %s", (number,)).fetchone()[0]
        for label, expression in _record_expressions(middle).items():
            results.append({
                "flat": flat[number], "label": label,
                **_measure_expression(bench, expression, number)})
    variants.drop(connection, "keys")
    return results


def _inline(bench):
    """Documents in the row: no value is out of line."""
    connection = bench.connection
    bench.say("documents in the row")
    variants.create(connection, "inline")
    variants.fill(connection, "inline",
                  f"SELECT i, replace('{document(1)}', '\"key1\":1', "
                  "'\"key1\":' || i)::jsonb "
                  f"FROM generate_series(1, {INLINE_ROWS}) i")
    results = []
    for label, expression in expressions(1).items():
        statement = per_variant(
            "SELECT count({expression}) FROM inline_{variant}",
            expression=expression)
        samples = {variant: [] for variant in VARIANTS}
        for _, variant in variants.turns(3 * bench.rounds):
            samples[variant].append(clock(
                connection, statement[variant], INLINE_ROWS).as_dict())
        results.append({"step": 0, "flat": 0, "label": label,
                        "operators": {variant: 1 for variant in VARIANTS},
                        "flattened": 0, **samples})
    variants.drop(connection, "inline")
    return results


def _first_statement(variant, expression, rounds):
    """Sessions that begin with the operator on one row."""
    samples = []
    for _ in range(rounds):
        with connect() as connection:
            samples.append(clock(
                connection, f"SELECT {expression} FROM touch_{variant} "
                "LIMIT 1").as_dict())
    return samples


def touch(bench):
    connection = bench.connection
    results = []
    for step in QUICK_STEPS[1:] if bench.quick else TOUCH_STEPS:
        variants.create(connection, "touch")
        connection.execute(
            "CREATE TABLE source AS SELECT %s::jsonb AS doc",
            (document(step),))
        flat = 12 * sum(zeros(step)) + 60
        rows = max(TOUCH_ROWS[0], min(TOUCH_ROWS[1], TOUCH_BYTES // flat))
        bench.say(f"first touch of {rows} of {values.size_name(flat)}")
        variants.fill(connection, "touch",
                      "SELECT i, doc || jsonb_build_object('key1', i) "
                      f"FROM generate_series(1, {rows}) i, source")
        for label in ("key1", "key2 -> middle"):
            expression = expressions(step)[label]
            samples = explain_turns(
                connection, per_variant(
                    "SELECT {expression} FROM touch_{variant}",
                    expression=expression), bench.rounds)
            result = {"step": step, "flat": flat, "label": label,
                      "rows": rows, "samples": samples}
            if step in SESSION_STEPS:
                result["session"] = {
                    variant: _first_statement(variant, expression,
                                              bench.rounds)
                    for variant in VARIANTS}
            results.append(result)
        variants.drop(connection, "touch")
        connection.execute("DROP TABLE source")
    return results


def _nested(size):
    """A document whose objects each hold the next one between two others."""
    part = size // DEPTH // 2
    inner = '{"key":"value"}'
    for level in range(DEPTH - 1):
        before, after = (values.value("records", part, 2 * level + number)
                         for number in range(2))
        inner = f'{{"a":{before},"b":{inner},"c":{after}}}'
    return inner


def depth(bench):
    connection = bench.connection
    size = DEPTH_BYTES // 10 if bench.quick else DEPTH_BYTES
    bench.say(f"a key at depth {DEPTH} of {values.size_name(size)}")
    flat = _create(connection, [(1, _nested(size))])[1]
    path = ["b"] * (DEPTH - 1) + ["key"]
    results = []
    for label, expression in (
            ("chain of ->", "doc->" + "->".join(f"'{key}'" for key in path)),
            ("#>>", f"doc #>> '{{{','.join(path)}}}'")):
        results.append({"flat": flat, "label": label,
                        **_measure_expression(bench, expression, 1)})
    variants.drop(connection, "keys")
    return results


def curse(bench):
    connection = bench.connection
    variants.create(connection, "curse", variants=CURSE_VARIANTS)
    connection.execute(
        "ALTER TABLE curse_toaster ALTER doc SET STORAGE EXTERNAL")
    variants.fill(
        connection, "curse",
        "SELECT i, jsonb_build_object('id', i, 'foo', (SELECT jsonb_agg(0) "
        f"FROM generate_series(1, {CURSE_ZEROS}))) "
        f"FROM generate_series(1, {CURSE_ROWS}) i", CURSE_VARIANTS)
    results = []
    for stage, command in (
            ("before", None),
            ("after the UPDATE",
             "UPDATE {table} SET doc = doc || '{{\"bar\": \"baz\"}}'"),
            ("after VACUUM", "VACUUM ANALYZE {table}"),
            ("after VACUUM FULL", "VACUUM (FULL, ANALYZE) {table}")):
        bench.say(f"curse of TOAST, {stage}")
        for variant in CURSE_VARIANTS:
            if command:
                connection.execute(command.format(table=f"curse_{variant}"))
        samples = explain_turns(
            connection, per_variant("SELECT doc->'id' FROM curse_{variant}",
                                    CURSE_VARIANTS),
            3 * bench.rounds, CURSE_VARIANTS)
        results.append({"stage": stage, "rows": CURSE_ROWS, **samples,
                        "stored": variants.sizes(connection, "curse",
                                                 CURSE_VARIANTS)})
    variants.drop(connection, "curse", CURSE_VARIANTS)
    return results


SCAN = """
SELECT sum((doc->>'id')::bigint), avg((doc->>'amount')::numeric),
       max((doc->>'created')::date),
       count(*) FILTER (WHERE (doc->>'paid')::boolean)
FROM scan_{variant}"""

SCAN_ROW = """
SELECT i, jsonb_build_object(
    'id', i, 'amount', (i * 7919 % 1000000) / 100.0,
    'created', date '2020-01-01' + i % 2000, 'paid', i % 3 = 0,
    'items', pool.v)
FROM generate_series(1, {rows}) i JOIN pool ON pool.id = i % {pool}"""


def scan(bench):
    connection = bench.connection
    rows = QUICK_SCAN_ROWS if bench.quick else SCAN_ROWS
    bench.say(f"scan of {rows} documents: loading")
    values.fill(connection, "pool", "records", SCAN_BYTES, SCAN_POOL)
    variants.create(connection, "scan")
    flat = connection.execute(
        "SELECT avg(octet_length(jsonb_send(v)))::int FROM pool").fetchone()[0]
    for variant in VARIANTS:
        connection.execute(f"INSERT INTO scan_{variant} "
                           + SCAN_ROW.format(rows=rows, pool=SCAN_POOL))
        connection.execute(f"VACUUM ANALYZE scan_{variant}")
    connection.execute("CHECKPOINT")
    bench.say(f"scan of {rows} documents")
    answers = {str(connection.execute(text).fetchall())
               for text in per_variant(SCAN).values()}
    if len(answers) != 1:
        raise RuntimeError("the tables differ")
    samples = explain_turns(connection, per_variant(SCAN),
                            min(SCAN_ROUNDS, bench.rounds))
    result = {"rows": rows, "text": flat, **samples,
              "stored": variants.sizes(connection, "scan")}
    variants.drop(connection, "scan")
    connection.execute("DROP TABLE pool")
    return [result]


def path_expressions(step):
    middle = zeros(step)[0] // 2
    return {"#>> '{key2,middle}'": f"doc #>> '{{key2,{middle}}}'",
            "? 'key3'": "doc ? 'key3'",
            "@> '{\"key3\": n}'": f"doc @> '{{\"key3\": {step}}}'",
            "jsonb_path_query_first, middle":
                f"jsonb_path_query_first(doc, '$.key2[{middle}]')",
            "jsonb_array_length": "jsonb_array_length(doc->'key2')"}


def paths(bench):
    connection = bench.connection
    results = []
    steps = QUICK_STEPS[-1:] if bench.quick else (80, 100)
    flat = _create(connection, [(step, document(step)) for step in steps])
    for step in steps:
        bench.say(f"paths in {values.size_name(flat[step])}")
        for label, expression in path_expressions(step).items():
            results.append({
                "step": step, "flat": flat[step], "label": label,
                **_measure_expression(bench, expression, step)})
        before = variants.flattened(connection)
        samples = explain_turns(connection, per_variant(
            "SELECT jsonb_array_elements(doc->'key2') FROM keys_{variant} "
            "WHERE id = {step} LIMIT 10", step=step), bench.rounds)
        results.append({"step": step, "flat": flat[step],
                        "label": "jsonb_array_elements, LIMIT 10",
                        "operators": {variant: 1 for variant in VARIANTS},
                        **samples, "flattened":
                        variants.flattened(connection) - before})
    variants.drop(connection, "keys")
    return results


PARTS = {"keys": keys, "records": records, "touch": touch, "depth": depth,
         "curse": curse, "scan": scan, "paths": paths,
         "whole": whole_documents.measure}


def run(bench):
    return {part: PARTS[part](bench) for part in bench.choose(PARTS)}
