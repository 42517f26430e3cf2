"""suite_slices.py: a few bytes of a large value.

substr() of 100 bytes at the start, in the middle and at the end, many times in
one statement, so that what is measured is the function and nothing else.

In a database of UTF8, substr() of text has to count characters, and asks for
everything from the start of the value to four times the position; of bytea,
and of text in a single-byte encoding, it asks for the bytes that it needs.
So all three are measured, the last one in a database of its own.
"""

import values
from measure import AMS, clock, connect, turns

SIZES = (1000000, 100000000)
PLACES = (("start", 0), ("middle", 0.5), ("end", 0.999))
CASES = (("bytea, compressible", "bytea", "postgres"),
         ("bytea, random", "random", "postgres"),
         ("text, LATIN1", "text", "latin1"),
         ("text, UTF8", "text", "postgres"))

BUDGET_MS = 300
MAX_CALLS = 2000


def _create(connection, column, size):
    kind = "bytea" if column == "random" else "text"
    values.fill(connection, "source", kind, size, 1)
    source = "convert_to(v, 'LATIN1')" if column == "bytea" else "v"
    for am in AMS:
        table = f"slices_{am}"
        connection.execute(
            f"CREATE TABLE {table} (v "
            f"{'text' if column == 'text' else 'bytea'}) USING {am}")
        connection.execute(f"INSERT INTO {table} SELECT {source} FROM source")
    connection.execute("DROP TABLE source")


def _clock_calls(connection, table, position, calls):
    statement = (f"SELECT sum(length(substr(v, {position} + i, 100))) "
                 f"FROM {table}, generate_series(1, {calls}) i")
    return clock(connection, statement, calls)


def _measure(connection, size, share, rounds):
    position = int(size * share)
    room = max(1, int(size * (1 - share)) - 200)
    calls = {}
    result = {am: [] for am in AMS}
    for am in AMS:
        once = _clock_calls(connection, f"slices_{am}", position, 3)
        calls[am] = int(min(MAX_CALLS, room,
                            max(3, BUDGET_MS / once.milliseconds)))
    for _, am in turns(rounds):
        result[am].append(_clock_calls(connection, f"slices_{am}", position,
                                       calls[am]).as_dict())
    return result


def run(bench):
    results = []
    bench.connection.execute(
        "CREATE DATABASE latin1 TEMPLATE template0 ENCODING 'LATIN1' "
        "LOCALE 'C'")
    for label, column, database in CASES:
        with connect(database) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS pg_toaster")
            for size in SIZES[:1] if bench.quick else SIZES:
                bench.say(f"{label}, {values.size_name(size)}")
                _create(connection, column, size)
                for place, share in PLACES:
                    results.append({
                        "case": label, "size": size, "place": place,
                        **_measure(connection, size, share, bench.rounds)})
                connection.execute("DROP TABLE slices_heap, slices_toaster")
    bench.connection.execute("DROP DATABASE latin1")
    return results
