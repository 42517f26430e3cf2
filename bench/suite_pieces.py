"""suite_pieces.py: pieces of bytea that are changed, and values that grow.

Random bytes, in three tables: heap with STORAGE EXTERNAL, heap with lz4 and
toaster.  Each operation is an UPDATE of ten bytes at a random place (or at an
end), with EXPLAIN; the growth is a loop in the server that appends a piece and
commits, of which WAL and time are means.  WAL is without full-page images.
"""

import random
import time

import variants
from measure import explain, full_page_writes

VARIANTS = ("external", "lz4", "toaster")
SIZES = (1000000, 100000000)
STEPS = {"external": 3, "lz4": 3, "toaster": 60}

MARK = "decode(md5('{number}'), 'hex')"

OPERATIONS = {
    "append 1 byte": "v || '\\x2a'",
    "prepend 10 bytes": f"substr({MARK}, 1, 10) || v",
    "overwrite 10 bytes": f"overlay(v placing substr({MARK}, 1, 10) "
                          "from {place})",
    "insert 10 bytes": f"overlay(v placing substr({MARK}, 1, 10) "
                       "from {place} for 0)",
    "delete 10 bytes": "overlay(v placing '' from {place} for 10)",
}

# pieces, and how far the value grows, in toaster and in heap
GROWTH = ((10, 1000000, 20000), (100, 1000000, 100000),
          (1000, 1000000, 500000), (1000, 100000000, 0),
          (10000, 1000000, 1000000), (10000, 100000000, 0),
          (100000, 1000000, 1000000), (100000, 100000000, 0))

GROW = """
CREATE PROCEDURE grow(rel regclass, piece int, pieces int)
LANGUAGE plpgsql AS $$
DECLARE
    bytes bytea := (SELECT string_agg(sha256(i::text::bytea), '')
                    FROM generate_series(1, piece / 32 + 1) i);
BEGIN
    FOR i IN 1 .. pieces LOOP
        bytes := substr(sha256(i::text::bytea) || bytes, 1, piece);
        EXECUTE format('UPDATE %s SET v = v || $1', rel) USING bytes;
        COMMIT;
    END LOOP;
END
$$"""


def _random_bytes(size):
    return ("SELECT 1, substr(string_agg(sha256(i::text::bytea), '' "
            f"ORDER BY i), 1, {size}) FROM generate_series(1, {size // 32 + 1}) i")


def _operations(bench, size):
    connection = bench.connection
    rng = random.Random(size)
    variants.create(connection, "pieces", "id int, v bytea", "v", VARIANTS)
    variants.fill(connection, "pieces", _random_bytes(size), VARIANTS)
    connection.execute("CHECKPOINT")
    results = []
    for name, expression in OPERATIONS.items():
        bench.say(f"{size} bytes: {name}")
        samples = {variant: [] for variant in VARIANTS}
        for variant in VARIANTS:
            for number in range(STEPS[variant] + 1):
                text = expression.format(number=number,
                                         place=rng.randrange(1, size - 1000))
                sample = explain(connection, f"UPDATE pieces_{variant} "
                                             f"SET v = {text}")
                if number > 0:          # the first one warms up
                    samples[variant].append(sample.as_dict())
        results.append({"size": size, "operation": name, **samples})
    variants.drop(connection, "pieces", VARIANTS)
    return results


def _wal(connection):
    return connection.execute(
        "SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()[0]


def _grow(connection, variant, piece, total):
    """Grow a value from nothing; what its last tenth took, too."""
    variants.create(connection, "grown", "id int, v bytea", "v", (variant,))
    connection.execute(f"INSERT INTO grown_{variant} VALUES (1, '')")
    pieces = max(10, total // piece)
    found = {}
    for part, count in (("front", pieces - pieces // 10),
                        ("last", pieces // 10)):
        wal, start = _wal(connection), time.perf_counter()
        connection.execute(f"CALL grow('grown_{variant}', {piece}, {count})")
        found[part] = {"seconds": time.perf_counter() - start,
                       "wal": int(_wal(connection) - wal),
                       "bytes": piece * count}
    found["size"] = variants.sizes(connection, "grown", (variant,))[variant]
    variants.drop(connection, "grown", (variant,))
    return found


def run(bench):
    connection = bench.connection
    full_page_writes(connection, "off")
    connection.execute(GROW)
    results = []
    for size in SIZES[:1] if bench.quick else SIZES:
        results += _operations(bench, size)
    for piece, total, heap_total in GROWTH:
        if bench.quick and total > 1000000:
            continue
        bench.say(f"growing to {total} bytes by {piece}")
        grown = {"toaster": _grow(connection, "toaster", piece, total)}
        if heap_total:
            grown["external"] = _grow(connection, "external", piece,
                                      heap_total)
        results.append({"piece": piece, "total": total,
                        "heap_total": heap_total, "grown": grown})
    connection.execute("DROP PROCEDURE grow")
    full_page_writes(connection, "on")
    return results
