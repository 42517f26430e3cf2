"""documents.py: where the demo's documents come from.

Each source yields Documents: a name, the text of a JSON document, and how far
through the source that is, None if it is a pipe.

  botocore    the service models in a wheel of the Python package index, at a
              pinned version whose checksum is checked; 1,688 documents
  iso-codes   the tables of Debian's package of that name
  ndjson      the user's own file, one document on each line
  generated   made up here, from a fixed seed, for a machine without a network
"""

import gzip
import hashlib
import json
import os
import random
import subprocess
import sys
import zipfile
from collections import namedtuple

# number: of the line in the user's file, else of the document
Document = namedtuple("Document", "number name text done")

WHEEL = "botocore-1.35.0-py3-none-any.whl"
WHEEL_PACKAGE = "botocore==1.35.0"
WHEEL_SHA256 = \
    "a3c96fe0b6afe7d00bad6ffbe73f2610953065fcdf0ed697eba4e1e5287cc84f"

# Neither a jsonb value nor the message that carries it can be as large.
LINE_LIMIT = 1000000000


class Trouble(Exception):
    """What the user is told before the demo ends."""


def _sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def fetch_wheel(cache):
    """The path of the checked wheel, or None when it cannot be downloaded."""
    path = os.path.join(cache, WHEEL)
    if not os.path.exists(path):
        print(f"downloading {WHEEL_PACKAGE} (13 MB)", flush=True)
        result = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
             "--no-cache-dir", "--disable-pip-version-check",
             "--only-binary", ":all:", "--retries", "1", "--timeout", "20",
             "--dest", cache, WHEEL_PACKAGE],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, check=False)
        if result.returncode != 0 or not os.path.exists(path):
            reason = result.stderr.strip().splitlines()
            print("it cannot be downloaded: " + (reason or ["pip failed"])[-1])
            return None
    found = _sha256(path)
    if found != WHEEL_SHA256:
        os.remove(path)
        raise Trouble(f"{WHEEL} is not what it should be and was removed: "
                      f"its SHA-256 is {found}, not {WHEEL_SHA256}")
    return path


def _wheel_entries(wheel):
    """Name and text of the JSON documents botocore/data/*/*/*.json[.gz]."""
    for entry in wheel.infolist():
        path = entry.filename
        if not path.startswith("botocore/data/") or path.count("/") != 4:
            continue
        data = wheel.read(entry)
        if path.endswith(".json.gz"):
            data = gzip.decompress(data)
        elif not path.endswith(".json"):
            continue
        name = path[len("botocore/data/"):].removesuffix(".gz")
        yield name, data.decode()


def botocore(path):
    """Every document of the wheel."""
    with zipfile.ZipFile(path) as wheel:
        total = len(wheel.infolist())
        for number, (name, text) in enumerate(_wheel_entries(wheel), 1):
            yield Document(number, name, text, number / total)


def botocore_together(path):
    """One document: an object with every service model."""
    with zipfile.ZipFile(path) as wheel:
        members = [json.dumps(name.rsplit("/", 1)[0]) + ":" + text
                   for name, text in _wheel_entries(wheel)
                   if name.endswith("/service-2.json")]
    return "{" + ",".join(members) + "}"


def iso_codes(directory):
    """The tables of the package iso-codes, as unpacked in a directory."""
    names = sorted(name for name in os.listdir(directory)
                   if name.startswith("iso_") and name.endswith(".json"))
    for number, name in enumerate(names, 1):
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            yield Document(number, "iso-codes/" + name, file.read(),
                           number / len(names))


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def _check(path, number, line):
    """The line as text, or Trouble with its number."""
    where = f"{path}, line {number}"
    if len(line) > LINE_LIMIT:
        raise Trouble(f"{where}: the document is larger than 1 GB")
    try:
        text = line.decode()
        json.loads(text, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise Trouble(f"{where}: not UTF-8 at byte {error.start + 1}") \
            from None
    except json.JSONDecodeError as error:
        raise Trouble(f"{where}: not a JSON document: {error.msg}, "
                      f"at character {error.pos + 1}") from None
    except ValueError as error:
        raise Trouble(f"{where}: not a JSON document: {error}") from None
    except RecursionError:
        # PostgreSQL has its own limit of the depth.
        pass
    return text


def ndjson(path):
    """The user's documents; empty lines are skipped."""
    try:
        file = open(path, "rb")
    except OSError as error:
        raise Trouble(f"{path}: {error.strerror}") from None
    with file:
        size = os.fstat(file.fileno()).st_size
        read = 0
        try:
            for number, line in enumerate(file, 1):
                read += len(line)
                line = line.strip()
                if line:
                    yield Document(number, f"line {number}",
                                   _check(path, number, line),
                                   read / size if size else None)
        except OSError as error:
            raise Trouble(f"{path}: {error.strerror}") from None


WORDS = ("request response operation identifier resource policy endpoint the "
         "of region bucket member structure required shape documentation name "
         "string list status returns specified optional value").split()


def _generated_shape(source):
    return {
        "type": source.choice(("structure", "string", "list", "integer")),
        "required": source.sample(WORDS, 3),
        "documentation": "<p>" + " ".join(
            source.choices(WORDS, k=source.randrange(8, 60))) + "</p>",
        "max": source.randrange(1 << 16),
        "id": f"{source.getrandbits(64):016x}",
    }


def _generated_text(source, shapes):
    model = {
        "version": "2.0",
        "metadata": {"uid": f"{source.getrandbits(128):032x}",
                     "protocol": "json"},
        "shapes": {f"Shape{number}": _generated_shape(source)
                   for number in range(shapes)},
    }
    return json.dumps(model)


def generated(count=400, largest=8000):
    """Documents of 300 bytes to 3 MB, few of them large."""
    source = random.Random(20260101)
    for number in range(1, count + 1):
        shapes = int(largest ** (number / count) ** 2)
        yield Document(number, f"generated {number}",
                       _generated_text(source, shapes), number / count)


def generated_together():
    """One document of about 29 MB."""
    return "{" + ",".join(json.dumps(document.name) + ":" + document.text
                          for document in generated(400, 2500)) + "}"
