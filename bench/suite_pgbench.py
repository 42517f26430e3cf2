"""suite_pgbench.py: pgbench with its own tables, small rows, nothing to toast.

What is to be shown is that a toaster table costs nothing where there are no
large values.  Two databases, one with each kind of tables; runs in turns.
Besides transactions per second, which the neighbours of the machine disturb,
the CPU time of the backends per transaction is measured: the server's first
process sums up what its children used when they end.

The last script is SELECT only on heap's tables, without the library ("heap")
and with it ("toaster"): what its hooks cost those who have no table of ours.
pgbench and the kernel's clock ticks are too coarse for that, so sessions of our
own send the statements, many in one message, each of which is planned anew.
"""

import os
import random
import re
import subprocess
import time

from measure import AMS, clock, connect, turns

SCRIPTS = (("TPC-B-like", "tpcb-like"), ("simple update", "simple-update"),
           ("SELECT only", "select-only"))
LOADED = "library loaded"
SCALE = 10

# Statements in a message, and messages of a session, of the last script
MESSAGE = 500
MESSAGES = 10


def _pgbench(bench, database, *arguments, am=None):
    environment = dict(os.environ)
    if am is not None:
        environment["PGOPTIONS"] = f"-c default_table_access_method={am}"
    result = subprocess.run(
        [bench.pgbench, "-U", "postgres", *arguments, database],
        env=environment, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"pgbench failed: {result.stderr.strip()}")
    return result.stdout


def _postmaster(connection):
    return int(connection.execute(
        "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)"
    ).fetchone()[0])


def _ended_cpu_seconds(pid):
    """User and system time of the children of a process that have ended."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def _wait_for_end(bench, database):
    """The backends of pgbench end a moment after pgbench itself."""
    while bench.connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s",
            (database,)).fetchone()[0]:
        time.sleep(0.05)
    time.sleep(0.2)


def _run(bench, database, script, postmaster):
    before = _ended_cpu_seconds(postmaster)
    output = _pgbench(bench, database, "-M", "prepared", "-c", "1", "-b",
                      script, "-T", str(bench.pgbench_seconds))
    _wait_for_end(bench, database)
    cpu = _ended_cpu_seconds(postmaster) - before
    count = int(re.search(r"actually processed: (\d+)", output).group(1))
    rate = float(re.search(r"tps = ([\d.]+)", output).group(1))
    return {"tps": rate, "cpu_ms": cpu * 1000 / count}


def _check_tables(database, am):
    with connect(database) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_class c JOIN pg_am a ON a.oid = c.relam "
            "WHERE c.relname LIKE 'pgbench%%' AND c.relkind = 'r' "
            "AND a.amname = %s", (am,)).fetchone()[0]
    if found != 4:
        raise RuntimeError(f"{found} of pgbench's 4 tables are of {am}")


def _compare_tables(bench, label, script, postmaster):
    result = {am: [] for am in AMS}
    for number, am in turns(bench.pgbench_rounds):
        bench.say(f"{label}, {am}, round {number + 1}")
        bench.connection.execute("CHECKPOINT")
        result[am].append(_run(bench, f"pgbench_{am}", script, postmaster))
    return {"script": label, **result}


def _statements(source, count):
    return ";".join(
        "SELECT abalance FROM pgbench_accounts WHERE aid = "
        f"{source.randrange(1, SCALE * 100000)}" for _ in range(count))


def _run_session(am, seed):
    """The statements in a session of its own; the pages are read before."""
    source = random.Random(seed)
    with connect("pgbench_heap") as connection:
        if am == "toaster":
            connection.execute("LOAD 'pg_toaster'")
        connection.execute("SELECT count(abalance) FROM pgbench_accounts")
        connection.execute(_statements(source, MESSAGE))
        sample = {"milliseconds": 0, "cpu_ms": 0}
        for _ in range(MESSAGES):
            one = clock(connection, _statements(source, MESSAGE), MESSAGE)
            sample["milliseconds"] += one.milliseconds / MESSAGES
            sample["cpu_ms"] += one.cpu_ms / MESSAGES
    return {"tps": 1000 / sample["milliseconds"], "cpu_ms": sample["cpu_ms"]}


def _compare_library(bench):
    result = {am: [] for am in AMS}
    for number, am in turns(bench.pgbench_rounds):
        bench.say(f"{LOADED}, {am}, round {number + 1}")
        result[am].append(_run_session(am, number))
    return {"script": LOADED, **result}


def run(bench):
    connection = bench.connection
    postmaster = _postmaster(connection)
    for am in AMS:
        connection.execute(f"CREATE DATABASE pgbench_{am}")
        with connect(f"pgbench_{am}") as other:
            other.execute("CREATE EXTENSION pg_toaster")
        _pgbench(bench, f"pgbench_{am}", "-i", "-q", "-s", str(SCALE), am=am)
        _check_tables(f"pgbench_{am}", am)
    scripts = dict(SCRIPTS)
    results = []
    for label in bench.choose([*scripts, LOADED]):
        results.append(
            _compare_library(bench) if label == LOADED else
            _compare_tables(bench, label, scripts[label], postmaster))
    for am in AMS:
        connection.execute(f"DROP DATABASE pgbench_{am}")
    return results
