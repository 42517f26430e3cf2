"""measure.py: how a statement is measured, and how numbers are printed.

Used by the demo and by the benchmarks.  A measurement of one statement is a
Sample: milliseconds, milliseconds of the backend's CPU, shared buffers
touched, bytes of WAL.  Buffers and WAL come from EXPLAIN (ANALYZE, BUFFERS,
WAL), which counts what the session itself did; TOAST relations are included,
other sessions are not.  The CPU time is the kernel's, in nanoseconds; it is
what to compare on a machine that has other work as well.

Rules
  1. What is compared runs in turns (heap, toaster, toaster, heap, ...), so
     that a slow moment of the machine hits both.
  2. The printed number is the median; the raw samples are kept.
"""

import json
import statistics
import sys
import time

import psycopg

AMS = ("heap", "toaster")


# A backend has still something to do when its client has the answer.
SETTLE_SECONDS = 0.0002


class Sample:
    """What one statement cost."""

    def __init__(self, milliseconds, cpu_ms, buffers=None, wal=None):
        self.milliseconds = milliseconds
        self.cpu_ms = cpu_ms
        self.buffers = buffers
        self.wal = wal

    def as_dict(self):
        return {key: value for key, value in vars(self).items()
                if value is not None}


def connect(database="postgres", host=None):
    """A connection in autocommit mode; the socket comes from PGHOST."""
    options = {"dbname": database, "user": "postgres", "autocommit": True}
    if host is not None:
        options["host"] = host
    return psycopg.connect(**options)


def backend_cpu_ms(connection):
    """CPU time that the backend has used so far."""
    time.sleep(SETTLE_SECONDS)
    with open(f"/proc/{connection.info.backend_pid}/schedstat",
              encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e6


def explain(connection, statement, parameters=None):
    """Run the statement once and return its Sample."""
    cpu = backend_cpu_ms(connection)
    row = connection.execute(
        "EXPLAIN (ANALYZE, BUFFERS, WAL, TIMING OFF, FORMAT JSON) "
        + statement, parameters).fetchone()
    cpu = backend_cpu_ms(connection) - cpu
    top = row[0][0] if not isinstance(row[0], str) else json.loads(row[0])[0]
    plan = top["Plan"]
    buffers = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    return Sample(top["Execution Time"], cpu, buffers, plan["WAL Bytes"])


def clock(connection, statement, calls=1):
    """Run the statement, fetching its result; the Sample is of one of the
    calls that it makes."""
    cpu = backend_cpu_ms(connection)
    start = time.perf_counter()
    connection.execute(statement).fetchall()
    elapsed = (time.perf_counter() - start) * 1000
    cpu = backend_cpu_ms(connection) - cpu
    return Sample(elapsed / calls, cpu / calls)


def set_server(connection, name, value):
    """Change a setting of the server."""
    connection.execute(f"ALTER SYSTEM SET {name} = {value}")
    connection.execute("SELECT pg_reload_conf()")
    # Another process is who makes it effective.
    connection.execute("SELECT pg_sleep(0.5)")


def full_page_writes(connection, value):
    set_server(connection, "full_page_writes", value)
    connection.execute("CHECKPOINT")


def turns(count):
    """(round, access method) so that neither method always goes first."""
    for number in range(count):
        order = AMS if number % 2 == 0 else AMS[::-1]
        for am in order:
            yield number, am


def median(samples):
    return statistics.median(samples)


def spread(samples):
    """Half the distance between the quartiles, as a part of the median."""
    if len(samples) < 3:
        return None
    first, _, third = statistics.quantiles(samples, n=4, method="inclusive")
    middle = statistics.median(samples)
    return (third - first) / 2 / middle if middle else None


def median_range(samples):
    """Bounds of the median: it is between them with a probability of 95 %,
    whatever the distribution (order statistics)."""
    ordered = sorted(samples)
    count = len(ordered)
    rank = max(0, int(count / 2 - 0.98 * count ** 0.5))
    return ordered[rank], ordered[count - 1 - rank]


def format_ms(milliseconds):
    if milliseconds >= 10000:
        return f"{milliseconds / 1000:.1f} s"
    if milliseconds >= 100:
        return f"{milliseconds:.0f} ms"
    if milliseconds >= 1:
        return f"{milliseconds:.2f} ms"
    return f"{milliseconds * 1000:.1f} us"


def format_bytes(count):
    for unit in ("B", "kB", "MB"):
        if count < 10000:
            return f"{count:.0f} {unit}" if unit == "B" else \
                f"{count:.1f} {unit}" if count < 100 else f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB" if count < 100 else f"{count:.0f} GB"


def format_count(count):
    return f"{count:,}".replace(",", " ")


def format_ratio(new, old):
    """How much toaster takes of what heap takes."""
    if not old:
        return "-"
    ratio = new / old
    if ratio >= 10:
        return f"{ratio:.0f}x"
    if ratio >= 0.1:
        return f"{ratio:.2f}x"
    return f"{ratio:.2g}x" if ratio >= 0.001 else "<0.001x"


class Progress:
    """A line that is rewritten on a terminal; elsewhere one line in a while."""

    SECONDS = {True: 0.1, False: 10.0}

    def __init__(self, what):
        self.what = what
        self.terminal = sys.stderr.isatty()
        self.shown = time.monotonic()
        self.wrote = False

    def show(self, done):
        now = time.monotonic()
        if now - self.shown < self.SECONDS[self.terminal]:
            return
        self.shown = now
        self.wrote = True
        if self.terminal:
            sys.stderr.write(f"\r\033[K{self.what}: {done}")
        else:
            sys.stderr.write(f"{self.what}: {done}\n")
        sys.stderr.flush()

    def end(self, done):
        start = "\r\033[K" if self.terminal else ""
        sys.stderr.write(f"{start}{self.what}: {done}\n")
        sys.stderr.flush()
