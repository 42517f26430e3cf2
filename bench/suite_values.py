"""suite_values.py: INSERT and SELECT of whole values, and what they occupy.

For each kind and size: the same rows are inserted into a heap table and into a
toaster table from a third table, in turns, each time into an empty table.
Reading is a scan with a condition that fetches every value whole.
"""

import values
from measure import AMS, clock, explain, turns

SIZES = (100, 1000, 2000, 4000, 8000, 16000, 64000, 1000000, 13000000,
         100000000)
QUICK_SIZES = (100, 2000, 8000, 64000, 1000000)

BYTES_PER_TABLE = 32000000
MAX_ROWS = 20000
READS_PER_TURN = 3


def _measure(connection, kind, size, rounds):
    rows = max(1, min(MAX_ROWS, BYTES_PER_TABLE // size))
    result = {am: {"insert": [], "select": []} for am in AMS}
    values.fill(connection, "source", kind, size, rows)
    for am in AMS:
        connection.execute(f"CREATE TABLE values_{am} "
                           f"(id int, v {values.TYPES[kind]}) USING {am}")
    connection.execute("CHECKPOINT")
    for _, am in turns(rounds):
        table = f"values_{am}"
        connection.execute(f"TRUNCATE {table}")
        sample = explain(connection,
                         f"INSERT INTO {table} SELECT * FROM source")
        result[am]["insert"].append(sample.as_dict())
        statement = f"SELECT count(*) FROM {table} WHERE {values.READS[kind]}"
        for _ in range(READS_PER_TURN):
            result[am]["select"].append(
                clock(connection, statement).as_dict())
    for am in AMS:
        result[am]["stored"] = connection.execute(
            f"SELECT pg_total_relation_size('values_{am}')").fetchone()[0]
    connection.execute("DROP TABLE source, values_heap, values_toaster")
    return {"kind": kind, "size": size, "rows": rows, **result}


def run(bench):
    results = []
    for kind in bench.choose(values.KINDS):
        for size in QUICK_SIZES if bench.quick else SIZES:
            bench.say(f"{kind} of {values.size_name(size)}")
            results.append(_measure(bench.connection, kind, size,
                                    bench.rounds))
    return results
