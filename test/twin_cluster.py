"""A private PostgreSQL cluster for the heap twin.

The cluster lives in a temporary directory, listens on a unix socket in that
directory only and is stopped and removed at the end.  Run by root, the
server runs as an unprivileged user.
"""

import glob
import os
import pwd
import shutil
import subprocess
import tempfile

SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{directory}'
fsync = off
max_connections = 20
max_prepared_transactions = 4
shared_buffers = 32MB
max_wal_size = 2GB
wal_level = replica
max_locks_per_transaction = 128
log_min_messages = warning
log_line_prefix = '%m [%p] '
log_min_error_statement = panic
jit = off
"""


def server_user():
    """Return the user to run the server as, or None for ourselves."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    raise SystemExit("no unprivileged user to run the server as")


class Cluster:
    """One server; start(), stop(mode), dsn(), remove()."""

    def __init__(self, bindir, extra=""):
        self.bindir = bindir
        self.user = server_user()
        self.directory = tempfile.mkdtemp(prefix="twin.")
        self.data = os.path.join(self.directory, "data")
        self.logfile = os.path.join(self.directory, "log")
        if self.user:
            os.chown(self.directory, self.user.pw_uid, self.user.pw_gid)
        self._run("initdb", "--no-sync", "--auth=trust", "--username=twin",
                  "--locale=C", "--encoding=UTF8", "--pgdata=" + self.data)
        with open(os.path.join(self.data, "postgresql.conf"), "a",
                  encoding="utf-8") as conf:
            conf.write(SETTINGS.format(directory=self.directory))
            conf.write(extra)

    def _run(self, program, *arguments):
        command = [os.path.join(self.bindir, program), *arguments]
        who = {}
        if self.user:
            who = {"user": self.user.pw_uid, "group": self.user.pw_gid,
                   "extra_groups": []}
        done = subprocess.run(
            command, cwd=self.directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False, **who)
        if done.returncode:
            raise RuntimeError("%s failed:\n%s%s" % (
                " ".join(command), done.stdout, self.log_tail()))

    def start(self):
        """Start the server and wait until it accepts connections."""
        self._run("pg_ctl", "start", "--wait", "--silent", "--timeout=180",
                  "--pgdata=" + self.data, "--log=" + self.logfile)

    def stop(self, mode="fast"):
        """Stop the server; the mode immediate is a crash."""
        self._run("pg_ctl", "stop", "--wait", "--silent", "--timeout=180",
                  "--pgdata=" + self.data, "--mode=" + mode)

    def dsn(self):
        """Return the connection string of the twin's superuser."""
        return "host=%s user=twin dbname=postgres" % self.directory

    def log_tail(self, lines=30):
        """Return the end of the server's log."""
        try:
            with open(self.logfile, encoding="utf-8",
                      errors="replace") as log:
                return "".join(log.readlines()[-lines:])
        except OSError:
            return ""

    def crashes(self):
        """Return the log's lines that tell of a crash of the server."""
        marks = ("terminated by signal", "PANIC:", "TRAP:")
        with open(self.logfile, encoding="utf-8", errors="replace") as log:
            return [line for line in log if any(m in line for m in marks)]

    def remove(self, keep=False):
        """Stop the server if it runs, and remove its files."""
        if os.path.exists(os.path.join(self.data, "postmaster.pid")):
            try:
                self.stop("immediate")
            except RuntimeError:
                pass
        if keep:
            print("cluster kept in", self.directory)
            for core in glob.glob(os.path.join(self.data, "core*")):
                print("core file", core)
        else:
            shutil.rmtree(self.directory, ignore_errors=True)
