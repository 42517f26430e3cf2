"""JSON_VALUE, JSON_QUERY, JSON_EXISTS and JSON_TABLE on documents.

More questions of the kind of twin_json_reads, for PostgreSQL 17 and later,
which has these expressions.  The planner's hook makes them read parts.
"""

import json

from twin_json_docs import ODD_KEYS, follow
from twin_json_reads import (SCALARS, asking, json_path, path_literal,
                             path_query, quote)

QUESTIONS = []
MODES = ("", "", "lax ", "strict ")


def enter():
    """Let the twin ask these questions, too."""
    SCALARS.extend(QUESTIONS)


def plain_path(steps):
    """Return a jsonpath of members and indexes only."""
    return "$" + "".join(
        "." + json.dumps(step) if isinstance(step, str)
        else "[%d]" % max(step, 0) for step in steps)


def fits(q):
    """Return whether the first step fits the document."""
    return bool(q.path) and isinstance(
        q.value, dict if isinstance(q.path[0], str) else list)


def document_and_path(q):
    """Return the first two arguments, with variables now and then."""
    if q.rng.random() < 0.4:
        q.partial = fits(q)
        return "%s, %s" % (q.column, quote(q.rng.choice(MODES)
                                           + plain_path(q.path)))
    q.partial = False
    base = q.place()[0] if q.rng.random() < 0.1 else q.column
    path = quote(q.rng.choice(MODES) + path_query(q))
    passing = q.rng.choice((
        "", " PASSING 1 AS x, 0 AS i", " PASSING 'a'::text AS x, id AS i",
        " PASSING %s AS x" % quote(path_literal(q).strip("()\""))))
    return "%s, %s%s" % (base, path, passing)


def behaviour(q, on_empty, on_error):
    """Return what is to be done where there is nothing, and on errors."""
    out = ""
    if on_empty and q.rng.random() < 0.5:
        out += " %s ON EMPTY" % q.rng.choice(on_empty)
    if q.rng.random() < 0.6:
        out += " %s ON ERROR" % q.rng.choice(on_error)
    return out


@asking(14, QUESTIONS)
def value(q):
    """JSON_VALUE."""
    returning = q.rng.choice(("", "", "", "int", "numeric", "text", "bool",
                              "jsonb", "timestamptz"))
    default = "DEFAULT NULL" if returning else "DEFAULT 'default'"
    choices = ("ERROR", "ERROR", "NULL", default)
    return "JSON_VALUE(%s%s%s)" % (
        document_and_path(q), returning and " RETURNING " + returning,
        behaviour(q, choices, choices))


@asking(10, QUESTIONS)
def query(q):
    """JSON_QUERY."""
    choices = ("ERROR", "ERROR", "NULL", "EMPTY ARRAY", "EMPTY OBJECT",
               "DEFAULT '[1]'")
    return "JSON_QUERY(%s%s%s%s)" % (
        document_and_path(q),
        q.rng.choice(("", "", " RETURNING text", " RETURNING jsonb")),
        q.rng.choice(("", "", " WITH WRAPPER", " WITH CONDITIONAL WRAPPER",
                      " OMIT QUOTES", " WITHOUT WRAPPER KEEP QUOTES")),
        behaviour(q, choices, choices))


@asking(6, QUESTIONS)
def exists(q):
    """JSON_EXISTS."""
    return "JSON_EXISTS(%s%s)" % (
        document_and_path(q),
        behaviour(q, (), ("ERROR", "TRUE", "FALSE", "UNKNOWN")))


def column(q, number, row, steps):
    """Return a column of JSON_TABLE that looks into a row."""
    rng = q.rng
    if number == 0 and rng.random() < 0.3:
        return "c0 FOR ORDINALITY"
    roll = rng.random()
    if roll < 0.5:
        path = plain_path(steps)
    elif roll < 0.6:
        path = json_path(q, steps)
    elif isinstance(row, list):
        path = rng.choice(("$[0]", "$[last]", "$[1].a", "$.a", "$[*]"))
    else:
        pool = list(row)[:50] if isinstance(row, dict) else []
        path = "$." + json.dumps(rng.choice(pool or list(ODD_KEYS)))
    path = quote(rng.choice(MODES) + path)
    return rng.choice((
        "c%d text PATH %s", "c%d text PATH %s", "c%d text PATH %s",
        "c%d int PATH %s", "c%d int EXISTS PATH %s",
        "c%d jsonb PATH %s WITH WRAPPER", "c%d jsonb FORMAT JSON PATH %s",
        "c%d text PATH %s DEFAULT 'none' ON EMPTY DEFAULT 'bad' ON ERROR",
        "c%d text PATH %s ERROR ON ERROR")) % (number, path)


@asking(14, QUESTIONS)
def table(q):
    """JSON_TABLE, its rows put together."""
    rng = q.rng
    depth = rng.choice((0, 0, rng.randint(0, len(q.path))))
    rows = rng.choice((plain_path, lambda steps: json_path(q, steps)))(
        q.path[:depth])
    row = follow(q.value, q.path[:depth])
    if isinstance(row, list) and rng.random() < 0.5:
        rows += "[*]"
    q.partial = False
    columns = [column(q, number, row, q.path[depth:])
               for number in range(rng.randint(1, 4))]
    if rng.random() < 0.2:
        columns.append("NESTED %s COLUMNS (n0 text PATH '$', n1 int PATH %s)"
                       % (quote(rng.choice(("$[*]", "$.a", "$.*",
                                            json_path(q, q.path[depth:])))),
                          quote(rng.choice(("$.a", "$[0]", "strict $")))))
    return ("(SELECT count(*) || string_agg(x::text, ';') FROM"
            " JSON_TABLE(%s, %s COLUMNS (%s)%s) x)" % (
                q.column, quote(rng.choice(MODES) + rows),
                ", ".join(columns), rng.choice(("", " ERROR ON ERROR"))))
