"""whole_documents.py: INSERT and SELECT of whole documents, and their size.

A part of the suite documents.  Two kinds of documents of each size, and one
set as it comes:

  synthetic  zeros, as in values.py; nothing compresses better
  real       consecutive shapes of the service models of botocore, by service;
             or, without a network, made up ones (the results say which)
  as is      every document of botocore

INSERT from text is what a client sends: most of it is the parsing.  INSERT ..
SELECT takes documents that are not compressed from a heap table.
"""

import contextlib
import json
import random
import sys

import documents
import values
import variants
from measure import clock, explain
from variants import VARIANTS

SIZES = (2000, 4000, 8000, 16000, 64000, 1000000, 13000000)
QUICK_SIZES = (2000, 8000, 64000, 1000000)

BYTES_PER_TABLE = 8000000
MAX_ROWS = 2000
READS_PER_TURN = 3
AS_IS_ROUNDS = 2

# Bytes of text that the shapes of real documents are taken from
POOL_BYTES = 40000000

# A condition that reads the whole document and then looks at its first byte
READ = "doc > '1'::jsonb"


class Real:
    """Real documents, of any size and as they are."""

    def __init__(self, cache):
        self.wheel = None
        if cache:
            with contextlib.redirect_stdout(sys.stderr):
                self.wheel = documents.fetch_wheel(cache)
        self.label = "botocore 1.35.0" if self.wheel else "generated"
        self.shapes = []

    def as_is(self):
        if self.wheel:
            return documents.botocore(self.wheel)
        return documents.generated()

    def _pool(self):
        """(service, name of the shape, its text)"""
        size = 0
        for found in self.as_is():
            for name, shape in json.loads(found.text).get(
                    "shapes", {}).items():
                text = json.dumps(shape)
                size += len(text)
                self.shapes.append((found.name, name, text))
            if size > POOL_BYTES:
                break

    def document(self, size, number):
        """The text of an object of services, each an object of shapes."""
        if not self.shapes:
            self._pool()
        at = random.Random(f"{size} {number}").randrange(len(self.shapes))
        services = {}
        while size > 0:
            service, name, text = self.shapes[at]
            member = f"{json.dumps(name)}:{text}"
            size -= len(member)
            services.setdefault(service, []).append(member)
            at = (at + 1) % len(self.shapes)
        return "{" + ",".join(
            f"{json.dumps(service)}:{{{','.join(members)}}}"
            for service, members in services.items()) + "}"


def _load(connection, texts):
    """The tables incoming, of text, and source, of documents."""
    connection.execute("CREATE TABLE incoming (id int, body text)")
    connection.execute("CREATE TABLE source (id int, doc jsonb)")
    connection.execute("ALTER TABLE incoming ALTER body SET STORAGE EXTERNAL")
    connection.execute("ALTER TABLE source ALTER doc SET STORAGE EXTERNAL")
    with connection.cursor().copy("COPY incoming FROM STDIN") as copy:
        for number, text in enumerate(texts):
            copy.write_row((number, text))
    connection.execute(
        "INSERT INTO source SELECT id, body::jsonb FROM incoming")
    rows, flat = connection.execute(
        "SELECT count(*), avg(pg_column_size(doc))::int FROM source"
    ).fetchone()
    return {"rows": rows, "flat": flat}


INSERTS = (("text", "SELECT id, body::jsonb FROM incoming"),
           ("copy", "SELECT id, doc FROM source"))


def _check(connection):
    """All tables must hold the same documents."""
    for variant in VARIANTS:
        different = connection.execute(
            f"SELECT count(*) FROM source s FULL JOIN whole_{variant} w "
            "USING (id) WHERE s.doc IS DISTINCT FROM w.doc").fetchone()[0]
        if different:
            raise RuntimeError(f"{different} documents of whole_{variant} "
                               "are not those that were stored")


def _measure(connection, kind, texts, rounds):
    result = {"kind": kind, **_load(connection, texts), "text": {},
              "copy": {}, "select": {}}
    variants.create(connection, "whole")
    connection.execute("CHECKPOINT")
    for _, variant in variants.turns(rounds):
        table = f"whole_{variant}"
        for name, query in INSERTS:
            connection.execute(f"TRUNCATE {table}")
            sample = explain(connection, f"INSERT INTO {table} {query}")
            result[name].setdefault(variant, []).append(sample.as_dict())
        for _ in range(READS_PER_TURN):
            sample = clock(connection,
                           f"SELECT count(*) FROM {table} WHERE {READ}")
            result["select"].setdefault(variant, []).append(sample.as_dict())
    result["stored"] = variants.sizes(connection, "whole")
    _check(connection)
    variants.drop(connection, "whole")
    connection.execute("DROP TABLE incoming, source")
    return result


def measure(bench):
    real = Real(bench.cache)
    results = []
    makers = (("synthetic", values.synthetic), (real.label, real.document))
    for kind, make in makers:
        for size in QUICK_SIZES if bench.quick else SIZES:
            bench.say(f"whole documents of {values.size_name(size)}, {kind}")
            rows = max(1, min(MAX_ROWS, BYTES_PER_TABLE // size))
            results.append({"size": size, **_measure(
                bench.connection, kind,
                (make(size, number) for number in range(rows)),
                bench.rounds)})
    if not bench.quick:
        bench.say("whole documents as they are")
        results.append({"size": 0, **_measure(
            bench.connection, f"{real.label}, as is",
            (found.text for found in real.as_is()), AS_IS_ROUNDS)})
    return results
