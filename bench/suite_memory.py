"""suite_memory.py: the peak memory of a backend that handles a large value.

Each operation runs in a fresh backend, on a server with 1 MB of shared
buffers, since pages of shared memory that a process touched count as its own.
The peak is the high-water mark of the resident size that Linux keeps for the
process (VmHWM), less what the backend had before.  Every operation has one
flat copy of the value in memory at least: the one it stores, or the one it
reads.  So the number to look at is the peak less the size of the value.
"""

import values
from measure import AMS, connect, turns

KINDS = ("text", "bytea", "jsonb")
SIZE = 100000000
QUICK_SIZE = 10000000


def _peak(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    raise RuntimeError("this system does not tell the peak memory of a process")


def peak_growth(host, warm, statement):
    """Bytes that the backend grew by while it ran the statement."""
    with connect("postgres", host) as connection:
        connection.execute(warm)
        pid = connection.info.backend_pid
        before = _peak(pid)
        connection.execute(statement)
        return _peak(pid) - before


OPERATIONS = (
    ("INSERT", "INSERT INTO memory_{am} SELECT * FROM source"),
    ("SELECT", "SELECT count(*) FROM memory_{am} WHERE {reads}"),
    ("UPDATE, whole", "UPDATE memory_{am} t SET v = s.v FROM other s"),
)


def _measure_kind(bench, kind, size):
    host = bench.small_host
    reads = values.READS[kind]
    result = {name: {am: [] for am in AMS} for name, _ in OPERATIONS}
    with connect("postgres", host) as connection:
        values.fill(connection, "source", kind, size, 1)
        # The same size, different at one place only.
        connection.execute("CREATE TABLE other AS TABLE source WITH NO DATA")
        connection.execute("ALTER TABLE other ALTER v SET STORAGE EXTERNAL")
        changed = {"text": "overlay(v placing '##########' from 5000)",
                   "bytea": r"overlay(v placing '\x00010203' from 5000)",
                   "jsonb": "jsonb_set(v, '{key1}', '123')"}[kind]
        connection.execute(f"INSERT INTO other SELECT id, {changed} "
                           "FROM source")
        flat = connection.execute(
            "SELECT pg_column_size(v) FROM source").fetchone()[0]
        for _, am in turns(bench.rounds):
            connection.execute(f"DROP TABLE IF EXISTS memory_{am}")
            connection.execute(f"CREATE TABLE memory_{am} "
                               f"(id int, v {values.TYPES[kind]}) USING {am}")
            # Loads the library and the catalogs that the operation needs.
            warm = (f"INSERT INTO memory_{am} SELECT * FROM source "
                    f"WHERE id < 0; SELECT count(*) FROM memory_{am} "
                    f"WHERE id < 0 AND {reads}; UPDATE memory_{am} t SET v = s.v "
                    "FROM other s WHERE t.id < 0")
            for name, statement in OPERATIONS:
                result[name][am].append(peak_growth(
                    host, warm, statement.format(am=am, reads=reads)))
        connection.execute(
            "DROP TABLE source, other, memory_heap, memory_toaster")
    return [{"kind": kind, "size": size, "flat": flat, "operation": name,
             **result[name]} for name, _ in OPERATIONS]


def run(bench):
    if not bench.small_host:
        raise RuntimeError("the memory suite needs --small-host")
    with connect("postgres", bench.small_host) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_toaster")
    results = []
    for kind in bench.choose(KINDS):
        bench.say(f"{kind}")
        results += _measure_kind(bench, kind,
                                 QUICK_SIZE if bench.quick else SIZE)
    return results
