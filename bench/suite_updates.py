"""suite_updates.py: UPDATE with a whole new value that hardly differs.

The new value comes from the client, flat, as every object mapper sends it.
Each of several rows is updated several times; the first update of a row finds
it as it was loaded, the last one in its steady state, and both are shown.
WAL is measured without full-page images, and once with them, each update
after a checkpoint.
"""

import values
from measure import AMS, explain, full_page_writes

SIZES = (10000, 1000000, 13000000)
BYTES_PER_TABLE = 20000000
MIN_ROWS = 3
MAX_ROWS = 20
UPDATES = 5

MARKS = "0123456789abcdef"


def _mark(kind, number):
    mark = MARKS[number % len(MARKS)] * 10
    return mark.encode() if kind == "bytea" else mark


def _change(kind, how, value, number):
    """The value with ten bytes in its middle changed, added or removed."""
    middle = len(value) // 2
    mark = _mark(kind, number)
    if how == "differ":
        return value[:middle] + mark + value[middle + 10:]
    if how == "more":
        return value[:middle] + mark + value[middle:]
    if how == "less":
        return value[:middle] + value[middle + 10:]
    if how == "more at the end":
        return value + mark
    return value


HOW = ("differ", "more", "less", "more at the end", "same value")


def _change_document(value, number):
    """A synthetic document with another integer under key3."""
    at = value.index('"key3":') + len('"key3":')
    return value[:at] + str(1000000 + number) + value[value.index(",", at):]


def _measure(bench, kind, size, how, images):
    connection = bench.connection
    rows = max(MIN_ROWS, min(MAX_ROWS, BYTES_PER_TABLE // size))
    result = {am: {"first": [], "last": []} for am in AMS}
    current = {am: [] for am in AMS}
    values.fill(connection, "source", kind, size, rows)
    for am in AMS:
        connection.execute(f"CREATE TABLE updates_{am} (id int PRIMARY KEY, "
                           f"v {values.TYPES[kind]}) USING {am}")
        connection.execute(f"INSERT INTO updates_{am} SELECT * FROM source")
        current[am] = [values.value(kind, size, number)
                       for number in range(rows)]
    connection.execute("CHECKPOINT")
    for update in range(UPDATES):
        for row in range(rows):
            for am in AMS if row % 2 else AMS[::-1]:
                new = _change_document(current[am][row], update) \
                    if kind == "jsonb" else \
                    _change(kind, how, current[am][row], update)
                current[am][row] = new
                if images:
                    connection.execute("CHECKPOINT")
                sample = explain(
                    connection, f"UPDATE updates_{am} SET v = "
                    f"%s::{values.TYPES[kind]} WHERE id = %s", (new, row))
                if update in (0, UPDATES - 1):
                    when = "first" if update == 0 else "last"
                    result[am][when].append(sample.as_dict())
    _check(connection)
    connection.execute("DROP TABLE source, updates_heap, updates_toaster")
    return {"kind": kind, "size": size, "rows": rows, "how": how,
            "images": images, **result}


def _check(connection):
    different = connection.execute(
        "SELECT count(*) FROM updates_heap h FULL JOIN updates_toaster t "
        "USING (id) WHERE h.v IS DISTINCT FROM t.v").fetchone()[0]
    if different:
        raise RuntimeError(f"{different} rows differ after the updates")


def run(bench):
    results = []
    sizes = SIZES[:2] if bench.quick else SIZES
    cases = [("text", size, how) for size in sizes for how in HOW]
    cases += [("bytea", size, how) for size in sizes
              for how in ("differ", "more")]
    cases += [("jsonb", size, "another integer") for size in sizes]
    full_page_writes(bench.connection, "off")
    for kind, size, how in cases:
        bench.say(f"{kind} of {values.size_name(size)}: {how}")
        results.append(_measure(bench, kind, size, how, False))
    full_page_writes(bench.connection, "on")
    bench.say("text of 1 MB, with full-page images")
    results.append(_measure(bench, "text", 1000000, "differ", True))
    return results
