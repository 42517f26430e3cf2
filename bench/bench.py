"""bench.py: run the benchmarks, print Markdown, keep the raw samples.

Called by bench/run with two running servers.  A suite is a module with
run(bench), which returns a list of results: plain data with the raw samples
of heap and of toaster.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys

import psycopg

import plot
import plot_edits
import report
import suite_documents
import suite_edits
import suite_memory
import suite_pgbench
import suite_pieces
import suite_slices
import suite_updates
import suite_values
from measure import connect

SUITES = {"values": suite_values, "slices": suite_slices,
          "updates": suite_updates, "documents": suite_documents,
          "edits": suite_edits, "pieces": suite_pieces,
          "pgbench": suite_pgbench, "memory": suite_memory}

HERE = os.path.dirname(os.path.abspath(__file__))

SETTINGS = ("shared_buffers", "fsync", "autovacuum", "jit",
            "default_toast_compression", "wal_level", "full_page_writes",
            "max_wal_size", "checkpoint_timeout",
            "max_parallel_workers_per_gather", "pg_toaster.compression",
            "pg_toaster.node_size", "pg_toaster.min_tree_size")


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="bench/run",
        description="heap (lz4) and toaster side by side, in turns")
    parser.add_argument("--suite", default=",".join(SUITES),
                        help="which ones, separated by commas (all of them: "
                             "%(default)s)")
    parser.add_argument("--kind", help="only these kinds of values, parts of documents "
                             "or scripts of pgbench")
    parser.add_argument("--quick", action="store_true",
                        help="fewer sizes, smaller values")
    parser.add_argument("--rounds", type=int, default=7,
                        help="turns of each measurement (%(default)s)")
    parser.add_argument("--pgbench-rounds", type=int, default=40,
                        help="turns of each script (%(default)s)")
    parser.add_argument("--pgbench-seconds", type=int, default=3,
                        help="length of a run (%(default)s)")
    parser.add_argument("--out", help="where to write the raw samples "
                                      "(bench/results/DATE-COMMIT.json)")
    parser.add_argument("--render", metavar="FILE",
                        help="print an earlier result, measure nothing")
    parser.add_argument("--plot", metavar="FILE.svg",
                        help="draw the reads of keys, else the edits, of this "
                             "run or of --render")
    parser.add_argument("--cache", help=argparse.SUPPRESS)
    parser.add_argument("--small-host", help=argparse.SUPPRESS)
    parser.add_argument("--pgbench", default="pgbench", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.suite = arguments.suite.split(",")
    for name in arguments.suite:
        if name not in SUITES:
            parser.error(f"there is no suite {name}")
    if arguments.rounds < 1 or arguments.pgbench_rounds < 1:
        parser.error("one round at least")
    return arguments


class Bench:
    """What a suite is given."""

    def __init__(self, arguments, connection):
        self.connection = connection
        self.quick = arguments.quick
        self.rounds = arguments.rounds
        self.kinds = arguments.kind.split(",") if arguments.kind else None
        self.cache = arguments.cache
        self.small_host = arguments.small_host
        self.pgbench = arguments.pgbench
        self.pgbench_rounds = arguments.pgbench_rounds
        self.pgbench_seconds = arguments.pgbench_seconds
        self.suite = ""

    def say(self, what):
        print(f"{self.suite}: {what}", file=sys.stderr, flush=True)

    def choose(self, kinds):
        """Those of the kinds that were asked for."""
        return [kind for kind in kinds
                if self.kinds is None or kind in self.kinds]


def _git(*arguments):
    try:
        return subprocess.run(["git", "-C", HERE, *arguments],
                              capture_output=True, text=True,
                              check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def describe(connection):
    """The circumstances of a result."""
    settings = {}
    connection.execute("CREATE TABLE circumstances (id int) USING toaster")
    for name in SETTINGS:
        value = connection.execute("SELECT current_setting(%s, true)",
                                   (name,)).fetchone()[0]
        if value is not None:
            settings[name] = value
    connection.execute("DROP TABLE circumstances")
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "commit": _git("rev-parse", "--short=12", "HEAD") or "unknown",
        "changed": bool(_git("status", "--porcelain")),
        "date": datetime.datetime.now(datetime.timezone.utc)
                .strftime("%Y-%m-%d %H:%M UTC"),
        "server_version": connection.execute(
            "SHOW server_version").fetchone()[0],
        "machine": {"cpus": os.cpu_count(), "memory_gb": round(pages / 2**30)},
        "settings": settings,
    }


def _write(path, result):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


def show(arguments, result):
    print(report.render(result))
    if arguments.plot:
        with open(arguments.plot, "w", encoding="utf-8") as file:
            picture = plot if "documents" in result["suites"] else plot_edits
            file.write(picture.draw(result))


def measure(arguments):
    with connect() as connection:
        connection.execute("CREATE EXTENSION pg_toaster")
        result = describe(connection)
        result["arguments"] = sys.argv[1:]
        result["suites"] = {}
        path = arguments.out or os.path.join(
            HERE, "results", result["date"][:16].replace(" ", "-")
            .replace(":", "") + f"-{result['commit']}.json")
        bench = Bench(arguments, connection)
        for name in arguments.suite:
            bench.suite = name
            result["suites"][name] = SUITES[name].run(bench)
            _write(path, result)
    show(arguments, result)
    print(f"raw samples: {path}", file=sys.stderr)


def main():
    arguments = parse_arguments()
    try:
        if arguments.render:
            with open(arguments.render, encoding="utf-8") as file:
                show(arguments, json.load(file))
        else:
            measure(arguments)
    except (psycopg.Error, RuntimeError, OSError, ValueError) as error:
        print(f"bench: {str(error).strip()}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
