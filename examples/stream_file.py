#!/usr/bin/python3
"""Stream a file into one bytea value, a piece in each transaction.

    stream_file.py [--dsn DSN] [--table NAME] [--name NAME] [--piece BYTES]
                   [--kill-after N] FILE

On a table USING toaster, UPDATE .. SET data = data || piece writes the piece
and a few hundred bytes, however long the value is by then.  So a value can be
filled like a file: the program sends a piece, commits, and shows how far it
is.  What is committed is durable, and can be read by others, at once.

It may be stopped at any moment and started again: it goes on where the value
ends.  --kill-after N has it kill itself after N pieces, with the next one sent
and not committed.  At the end, the value is read back in slices, and its
SHA-256 is compared with that of the file.

    createdb example
    psql -d example -c 'CREATE EXTENSION pg_toaster'
    stream_file.py --dsn dbname=example --kill-after 20 FILE
    stream_file.py --dsn dbname=example FILE

The table is created if it is not there.  It has the columns name, the name of
the file or what --name says, and data.  DSN is a connection string of libpq;
without it, the variables PGHOST, PGDATABASE and so on are used.
"""
import argparse
import hashlib
import os
import signal
import sys
import time

import psycopg
from psycopg import sql

LARGEST = 1024 ** 3 - 5
SLICE = 1024 * 1024
WIDTH = 40


class Failure(Exception):
    """A message for the user."""


class Progress:
    """A bar on a terminal; elsewhere, a line for each tenth."""

    def __init__(self, what, done, total):
        self.what = what
        self.first = done
        self.total = total
        self.started = time.monotonic()
        self.is_terminal = sys.stderr.isatty()
        self.tenth = -1

    def show(self, done):
        """Show that so many bytes are done."""
        share = done / self.total if self.total else 1
        elapsed = max(time.monotonic() - self.started, 1e-6)
        rate = (done - self.first) / elapsed / 1e6
        if self.is_terminal:
            bar = ("#" * int(share * WIDTH)).ljust(WIDTH, ".")
            end = "\n" if done == self.total else ""
            print(f"\r{self.what} [{bar}] {share:4.0%} {rate:7.1f} MB/s",
                  end=end, file=sys.stderr, flush=True)
        elif int(share * 10) > self.tenth:
            self.tenth = int(share * 10)
            print(f"{self.what} {share:.0%} {rate:.1f} MB/s",
                  file=sys.stderr, flush=True)


class Stream:
    """One value, which pieces are put behind."""

    def __init__(self, connection, table, name):
        self.connection = connection
        self.name = name
        self.table = sql.Identifier(*table.split("."))

    def run(self, statement, *values):
        """Execute a statement on the table."""
        return self.connection.execute(
            sql.SQL(statement).format(table=self.table), values)

    def prepare(self):
        """Make sure that the table and the row are there."""
        self.run("CREATE TABLE IF NOT EXISTS {table} (name text PRIMARY KEY,"
                 " data bytea NOT NULL) USING toaster")
        self.run("INSERT INTO {table} VALUES (%s, '')"
                 " ON CONFLICT (name) DO NOTHING", self.name)
        self.connection.commit()

    def length(self):
        """Return how long the value is; this reads none of it."""
        row = self.run("SELECT octet_length(data) FROM {table}"
                       " WHERE name = %s", self.name).fetchone()
        self.connection.commit()
        if row is None:
            raise Failure(f"the row {self.name!r} has been deleted")
        return row[0]

    def read(self, offset, size):
        """Return a slice of the value; only that is read."""
        row = self.run("SELECT substr(data, %s, %b) FROM {table}"
                       " WHERE name = %s",
                       offset + 1, size, self.name).fetchone()
        self.connection.commit()
        return row[0] if row else b""

    def append(self, offset, piece):
        """Put a piece behind the value, which has to end at the offset."""
        done = self.run("UPDATE {table} SET data = data || %b"
                        " WHERE name = %s AND octet_length(data) = %s",
                        piece, self.name, offset).rowcount
        if done != 1:
            raise Failure(f"somebody else has changed the row {self.name!r}")

    def commit(self):
        """Make what was appended durable."""
        self.connection.commit()


def check_start(stream, file, offset, size):
    """Is what the value ends with what the file has there?"""
    if offset > size:
        raise Failure(f"the value has {offset} bytes, the file only {size}")
    start = max(offset - SLICE, 0)
    file.seek(start)
    if file.read(offset - start) != stream.read(start, offset - start):
        raise Failure("the value does not have the bytes of this file;"
                      " choose another --name")


def send(stream, file, size, options):
    """Append what the value lacks."""
    offset = stream.length()
    check_start(stream, file, offset, size)
    if offset > 0:
        print(f"resuming at byte {offset}", flush=True)
    progress = Progress("sending  ", offset, size)
    file.seek(offset)
    sent = 0
    while offset < size:
        piece = file.read(min(options.piece, size - offset))
        if not piece:
            raise Failure("the file has become shorter")
        stream.append(offset, piece)
        if options.kill_after is not None and sent == options.kill_after:
            os.kill(os.getpid(), signal.SIGKILL)
        stream.commit()
        sent += 1
        offset += len(piece)
        progress.show(offset)
    return sent


def verify(stream, file, size):
    """Compare the SHA-256 of the value with that of the file."""
    expected = hashlib.sha256()
    found = hashlib.sha256()
    progress = Progress("verifying", 0, size)
    if stream.length() != size:
        raise Failure(f"the value has {stream.length()} bytes, not {size}")
    file.seek(0)
    for offset in range(0, size, SLICE):
        expected.update(file.read(SLICE))
        found.update(stream.read(offset, SLICE))
        progress.show(min(offset + SLICE, size))
    if expected.digest() != found.digest():
        raise Failure(f"SHA-256 of the file is {expected.hexdigest()},"
                      f" that of the value {found.hexdigest()}")
    return found.hexdigest()


def positive(text):
    """Return the integer above 0 that an argument is."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def parse():
    """Return the options."""
    parser = argparse.ArgumentParser(
        description="Stream a file into one bytea value.")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--dsn", default="", help="connection string")
    parser.add_argument("--table", default="streamed_files")
    parser.add_argument("--name", help="of the row; that of the file")
    parser.add_argument("--piece", type=positive, default=65536,
                        metavar="BYTES", help="in one transaction; 65536")
    parser.add_argument("--kill-after", type=int, metavar="N",
                        help="kill this program after N pieces")
    return parser.parse_args()


def stream_file(options):
    """Send the file, and verify that it has arrived."""
    with open(options.file, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST:
            raise Failure(f"the file has {size} bytes; a value can have"
                          f" {LARGEST}")
        with psycopg.connect(options.dsn) as connection:
            stream = Stream(connection, options.table, options.name
                            or os.path.basename(options.file))
            stream.prepare()
            sent = send(stream, file, size, options)
            digest = verify(stream, file, size)
    print(f"{size} bytes, {sent} pieces sent, SHA-256 {digest}")


def main():
    """Run; return the status to exit with."""
    try:
        stream_file(parse())
    except (Failure, OSError) as failure:
        print(f"stream_file.py: {failure}", file=sys.stderr)
        return 1
    except psycopg.Error as error:
        print(f"stream_file.py: {str(error).strip()}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstream_file.py: stopped; run it again to resume",
              file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
