#!/usr/bin/env python3
"""Check the rules of style that a program can check.

    tidy.py [DIRECTORY]

Prints one line for each problem and their number; exits 1 if there are any.
The rules stand in CONTRIBUTING.md; each function below is one of them.
"""
import ast
import pathlib
import re
import sys

FILE_LINES = 700
FUNCTION_LINES = 70
LINE_WIDTH = 80
TAB = 4

# Built, generated or fetched; never part of the sources.
SKIPPED_NAMES = {".git", "__pycache__", "results", "log", "output_iso",
                 "tmp_check", "tmp_check_iso", "regression.diffs",
                 "regression.out"}
SKIPPED_SUFFIXES = {".o", ".so", ".d", ".bc", ".pyc", ".gcda", ".gcno"}

LEFTOVERS = re.compile(
    r"\b(?:FIX" r"ME|TO" r"DO|X" r"XX|HA" r"CK)\b|^\s*#\s*if\s+0\b")
# A directory that only one machine has.
MACHINE_PATH = re.compile(r"(?<![\w.$}{*-])/(?:work|root|home|Users)/\w")
# The name of a host; which hosts are used is up to the configuration of the
# programs that use them.  Prose may link to the world's documentation.
HOST = re.compile(r"\b(?:[a-z0-9-]+\.){1,}(?:org|com|net|io|dev)\b")
# Examples; and the name of SVG's namespace is an address of nothing.
HOST_ALLOWED = re.compile(r"\b(?:[a-z0-9-]+\.)*example\.(?:org|com|net)\b"
                          r"|\bwww\.w3\.org/2000/svg\b")

GUARD = "PG_TOASTER_{}_H"
INCLUDE = re.compile(r'^#include\s+([<"])([^>"]+)[>"]')


class Source:
    """One text file: its path below the root, its text, its lines."""

    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        self.name = path.name
        self.stem = path.stem
        self.suffix = path.suffix
        self.raw = path.read_bytes()
        self.text = self.raw.decode("utf-8", errors="replace")
        self.lines = self.text.splitlines()
        first = self.lines[0] if self.lines else ""
        self.is_c = self.suffix in (".c", ".h")
        self.is_python = self.suffix == ".py" or "python" in first[:30]
        self.is_shell = self.suffix == ".sh" or first.endswith("/bash")
        self.is_output = self.path.startswith(("test/expected/",
                                               "test/core/expected/"))


def without_comments(text):
    """C text with comments and strings blanked, lines kept."""
    def blank(match):
        found = match.group(0)
        if found.startswith('"'):
            return '"' + " " * (len(found) - 2) + '"'
        if found.startswith("'"):
            return found
        return re.sub(r"[^\n]", " ", found)
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'
                  r"'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


def check_text(source):
    """Lines end in LF, without white space, and the last one ends."""
    if source.is_output or not source.raw:
        return
    if not source.raw.endswith(b"\n"):
        yield len(source.lines), "no end of line at the end"
    if b"\r" in source.raw:
        yield 1, "carriage returns"
    for number, line in enumerate(source.lines, 1):
        if line != line.rstrip():
            yield number, "white space at the end of the line"


def check_size(source):
    """No file is longer than a reader can hold."""
    if not source.is_output and len(source.lines) > FILE_LINES:
        yield 1, f"{len(source.lines)} lines, {FILE_LINES} are allowed"


def check_width(source):
    """C lines fit a screen."""
    if source.is_c:
        for number, line in enumerate(source.lines, 1):
            width = len(line.expandtabs(TAB))
            if width > LINE_WIDTH:
                yield number, f"{width} columns, {LINE_WIDTH} are allowed"


def functions(source):
    """Yield (first line, last line, name) of each function."""
    if source.is_python:
        for node in ast.walk(ast.parse(source.text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.lineno, node.end_lineno, node.name
        return
    if source.is_c:
        opening = re.compile(r"^(\w+)\s*\(")
    elif source.is_shell:
        opening = re.compile(r"^(\w+)\s*\(\)\s*\{$")
    elif source.suffix in (".pl", ".pm"):
        opening = re.compile(r"^sub\s+(\w+)")
    else:
        return
    name, start = None, 0
    for number, line in enumerate(source.lines, 1):
        match = opening.match(line)
        if match:
            name, start = match.group(1), number
        elif line.startswith("}") and name:
            yield start, number, name
            name = None


def check_functions(source):
    """A function is one screen."""
    for start, end, name in functions(source):
        if end - start + 1 > FUNCTION_LINES:
            yield start, (f"{name} has {end - start + 1} lines, "
                          f"{FUNCTION_LINES} are allowed")


def check_guard(source):
    """A header has a guard of its own name, and nothing around it."""
    if source.suffix != ".h":
        return
    guard = GUARD.format(source.stem.upper())
    code = [(number, line.strip()) for number, line in
            enumerate(without_comments(source.text).splitlines(), 1)
            if line.strip()]
    texts = [text for _, text in code]
    if texts[:2] != [f"#ifndef {guard}", f"#define {guard}"]:
        yield code[0][0] if code else 1, f"no guard {guard}"
    elif not texts[-1].startswith("#endif"):
        yield code[-1][0], "something stands after the guard"


def check_header_comment(source):
    """A C file begins by saying what it is."""
    if source.is_c and (not source.text.startswith("/*") or
                        source.name not in "\n".join(source.lines[:4])):
        yield 1, "the first comment does not name the file"


def include_rank(kind, name, own):
    """The group that an include belongs to."""
    if name in ("postgres.h", "postgres_fe.h", "c.h"):
        return 0
    if kind == "<":
        return 1
    return 3 if name in own else 2


def check_includes(source, own):
    """Includes: postgres.h, <system>, the server's, ours; each sorted."""
    if not source.is_c or not source.path.startswith("src/"):
        return
    previous = (-1, "")
    for number, line in enumerate(source.lines, 1):
        match = INCLUDE.match(line)
        if not match:
            if line.startswith("#"):
                previous = (-1, "")
            continue
        kind, name = match.groups()
        current = (include_rank(kind, name, own), name)
        if current[0] < previous[0]:
            yield number, f"{name} belongs further up"
        elif current < previous:
            yield number, f"{name} does not come after {previous[1]}"
        elif current[0] > previous[0] >= 0 and source.lines[number - 2]:
            yield number, f"no empty line before {name}"
        previous = current


def call_text(text, start):
    """The text of a call from its name to its closing parenthesis."""
    depth = 0
    for position in range(text.index("(", start), len(text)):
        if text[position] == "(":
            depth += 1
        elif text[position] == ")":
            depth -= 1
            if depth == 0:
                return text[start:position + 1]
    return text[start:]


def check_errcode(source):
    """Each error has its SQLSTATE."""
    if not source.is_c:
        return
    text = without_comments(source.text)
    for match in re.finditer(r"\bereport(?:_domain)?\s*\(", text):
        call = call_text(text, match.start())
        level = call.split("(", 1)[1].split(",", 1)[0].strip()
        if level in ("ERROR", "FATAL", "PANIC", "elevel") and \
                "errcode" not in call:
            yield text.count("\n", 0, match.start()) + 1, \
                "ereport without errcode"


def check_version(source):
    """What differs between versions of PostgreSQL stands in compat.h."""
    if source.is_c and source.name != "compat.h":
        code = without_comments(source.text).splitlines()
        for number, line in enumerate(code, 1):
            if "PG_VERSION_NUM" in line:
                yield number, "PG_VERSION_NUM outside of compat.h"


def check_leftovers(source):
    """Nothing is left for later in the sources."""
    if not source.is_output:
        for number, line in enumerate(source.lines, 1):
            if LEFTOVERS.search(line):
                yield number, "a leftover: " + line.strip()[:60]


def check_places(source):
    """No path or host of one machine."""
    for number, line in enumerate(source.lines, 1):
        if MACHINE_PATH.search(line):
            yield number, "a path of one machine: " + line.strip()[:60]
        if source.suffix == ".md":
            continue
        for host in HOST.findall(HOST_ALLOWED.sub("", line)):
            yield number, "the name of a host: " + line.strip()[:60]
            break


def check_purpose(source):
    """A test begins by saying what it proves."""
    if re.match(r"test/(sql|specs|t)/[^/]+$", source.path):
        start = "--" if source.suffix == ".sql" else "#"
        if not source.text.startswith(start):
            yield 1, "the test does not begin with what it proves"


def check_pairs(sources):
    """Every test runs and has its expected output, every output its test."""
    tests, outputs, order = {}, {}, set()
    for source in sources:
        if source.path == "test/order":
            order = {line for line in source.lines if line[:1].isalpha()}
        if re.match(r"test/(sql/[^/]+\.sql|specs/[^/]+\.spec)$", source.path):
            if source.stem in tests:
                yield source.path, 1, "another test has this name"
            tests[source.stem] = source.path
        elif re.match(r"test/expected/[^/]+\.out$", source.path):
            outputs[source.stem] = source.path
    for name, path in tests.items():
        if path.endswith(".sql") and name not in order:
            yield path, 1, "test/order does not name the test"
        if name not in outputs:
            yield path, 1, f"no test/expected/{name}.out"
    for name, path in outputs.items():
        # name_1.out is an alternative of name.out
        if name not in tests and re.sub(r"_\d$", "", name) not in tests:
            yield path, 1, "no test has this output"


CHECKS = (check_text, check_size, check_width, check_functions, check_guard,
          check_header_comment, check_errcode, check_version, check_leftovers,
          check_places, check_purpose)


def read_sources(root):
    """All text files of the tree."""
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if SKIPPED_NAMES.intersection(parts) or not path.is_file() or \
                path.suffix in SKIPPED_SUFFIXES:
            continue
        if b"\0" not in path.read_bytes()[:8000]:
            yield Source(root, path)


def main():
    """Check the tree; return the exit status."""
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                        pathlib.Path(__file__).resolve().parent.parent)
    sources = list(read_sources(root))
    own = {s.name for s in sources if s.suffix == ".h"}
    problems = []
    for source in sources:
        for check in CHECKS:
            problems += [(source.path, *p) for p in check(source)]
        problems += [(source.path, *p) for p in check_includes(source, own)]
    problems += check_pairs(sources)
    for path, line, text in sorted(problems):
        print(f"{path}:{line}: {text}")
    print(f"{len(sources)} files, {len(problems)} problems")
    return 1 if problems or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
