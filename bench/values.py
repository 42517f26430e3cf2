"""values.py: what the benchmarks store.

Four kinds of values, each of any size, all made from a fixed seed:

  text    lines of JSON with random content; lz4 halves it or better
  bytea   random bytes, which nothing compresses
  jsonb   the synthetic documents of the json benchmarks: key1 and key3 are
          integers, key2 is an array of zeros that makes up the size, key4 one
          of a tenth of that; key1 differs from row to row
  records the lines of the first kind as a jsonb array of objects

A size is that of the flat value without compression, to about a tenth.
"""

import json
import random

KINDS = ("text", "bytea", "jsonb", "records")

TYPES = {"text": "text", "bytea": "bytea", "jsonb": "jsonb",
         "records": "jsonb"}

# A condition that reads the whole value and then looks at its first byte
READS = {"text": "v COLLATE \"C\" > '!'", "bytea": r"v > '\x'::bytea",
         "jsonb": "v > '1'::jsonb", "records": "v > '1'::jsonb"}

POOL_BYTES = 8 << 20

# Bytes of an element of an array of zeros: 4 of its entry, 8 of its value
ZERO_BYTES = 12
SYNTHETIC_REST = 60

# The flat size of a line as a jsonb object, to the size of its text
RECORD_GROWTH = 1.15

_pool = []


def _line(source):
    return json.dumps({
        "id": source.randrange(1 << 31),
        "name": source.choice(("apple", "pear", "plum", "cherry")),
        "price": source.randrange(100000) / 100,
        "tags": [source.choice(("red", "green", "sweet", "sour", "small"))
                 for _ in range(3)],
        "token": f"{source.getrandbits(48):012x}",
    })


def _lines():
    if not _pool:
        source = random.Random(1)
        size = 0
        while size < POOL_BYTES:
            _pool.append(_line(source))
            size += len(_pool[-1]) + 1
    return _pool


def _run_of_lines(size, source):
    """Lines from a random place of the pool on, of at least size bytes."""
    lines = _lines()
    at = source.randrange(len(lines))
    taken = []
    while size > 0:
        taken.append(lines[at])
        size -= len(lines[at]) + 1
        at = (at + 1) % len(lines)
    return taken


def synthetic(size, number):
    """The text of a synthetic document whose jsonb has about size bytes."""
    zeros = max(1, round((size - SYNTHETIC_REST) / (ZERO_BYTES * 1.1)))
    arrays = ["[" + ",".join("0" * count) + "]"
              for count in (zeros, max(1, zeros // 10))]
    return (f'{{"key1":{number},"key2":{arrays[0]},'
            f'"key3":{number},"key4":{arrays[1]}}}')


def value(kind, size, number):
    """The value as psycopg copies it into a column of TYPES[kind]."""
    source = random.Random(f"{kind} {size} {number}")
    if kind == "bytea":
        return source.randbytes(size)
    if kind == "text":
        return "\n".join(_run_of_lines(size, source))[:size]
    if kind == "jsonb":
        return synthetic(size, number)
    return "[" + ",".join(_run_of_lines(int(size / RECORD_GROWTH),
                                        source)) + "]"


def fill(connection, table, kind, size, rows):
    """A table of values that are stored out of line and not compressed, so
    that reading them costs the same whoever stores them next."""
    connection.execute(
        f"CREATE TABLE {table} (id int, v {TYPES[kind]}) USING heap")
    connection.execute(f"ALTER TABLE {table} ALTER v SET STORAGE EXTERNAL")
    with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
        for number in range(rows):
            copy.write_row((number, value(kind, size, number)))


def size_name(size):
    for unit, name in ((1000000, "MB"), (1000, "kB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"
