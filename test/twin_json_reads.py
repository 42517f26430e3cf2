"""Expressions on documents, of which heap and tree must give the same.

A Question makes one expression that reads a part of one document of which
the contents are known.  Its text has {f} where a function's schema stands:
pg_catalog on heap's side, toaster on the other, so that trees are read
whether or not the planner has put our functions in the place of the
server's; operators and functions without {f} depend on the planner.

Question.partial says that the document must not be read whole.
"""

import json

from twin_json_docs import (MISSING, ODD_KEYS, Number, astray, dump,
                            follow, part_of, random_path, resolve)

SCALARS = []
SETS = []


def asking(weight, questions):
    """Enter a function into a list of questions."""
    def enter(function):
        questions.append((weight, function))
        return function
    return enter


def quote(text):
    """Return text as a literal."""
    return "'%s'" % text.replace("'", "''")


def texts(steps):
    """Return the literal of an array of text; None is NULL."""
    return "ARRAY[%s]::text[]" % ", ".join(
        "NULL" if step is None else quote(str(step)) for step in steps)


class Question:
    """One expression on a document."""

    def __init__(self, rng, value, mode, column="doc"):
        self.rng = rng
        self.mode = mode
        self.column = column
        self.partial = True
        path, self.found = random_path(rng, value)
        self.path = resolve(value, path)
        if rng.random() < 0.25:
            self.path = astray(rng, self.path)
            self.found = follow(value, self.path)
        self.value = value

    def direct(self):
        """Return true when our function is to be called by its name."""
        if self.mode == "mixed":
            return self.rng.random() < 0.5
        return self.mode == "direct"

    def call(self, name, *arguments):
        """Return a call of a function that both sides have."""
        schema = "{f}" if self.direct() else "pg_catalog."
        return "%s%s(%s)" % (schema, name, ", ".join(arguments))

    def infix(self, operator, function, left, right):
        """Return an operator, its function, or our function."""
        direct = self.direct()
        if not direct and self.rng.random() < 0.85:
            return "(%s %s %s)" % (left, operator, right)
        if operator.startswith("#"):
            right = "VARIADIC " + right
        if direct:
            return "{f}%s(%s, %s)" % (function, left, right)
        return "%s(%s, %s)" % (function, left, right)

    def step(self, base, step, text=False):
        """Return the expression for one step from another."""
        arrow = "->>" if text else "->"
        ending = "_text" if text else ""
        if isinstance(step, str):
            return self.infix(arrow, "jsonb_object_field" + ending, base,
                              quote(step))
        return self.infix(arrow, "jsonb_array_element" + ending, base,
                          "(%d)" % step)

    def extract(self, base, steps, text=False):
        """Return the expression for a path from another."""
        return self.infix("#>>" if text else "#>",
                          "jsonb_extract_path" + ("_text" if text else ""),
                          base, self.spread(steps))

    def spread(self, steps):
        """Return the array for a path, now and then an odd one."""
        rng = self.rng
        steps = list(steps)
        if steps and rng.random() < 0.08:
            place = rng.randrange(len(steps))
            steps[place] = rng.choice((
                None, " %s" % steps[place], "%sx" % steps[place], "",
                "+%s" % steps[place], "99999999999", "-0",
                "0%s" % steps[place]))
        return texts(steps)

    def chain(self, steps):
        """Return the expression for the container at the end of steps."""
        if not steps:
            return self.column
        if len(steps) > 20 or self.rng.random() < 0.25:
            return self.extract(self.column, steps)
        expression = self.column
        for step in steps:
            expression = self.step(expression, step)
        return expression

    def place(self):
        """Return an expression for a part, its value and path there."""
        rng = self.rng
        depth = rng.choice((0, 0, len(self.path),
                            rng.randint(0, len(self.path))))
        steps = self.path[:depth]
        return self.chain(steps), follow(self.value, steps), steps

    def last_step(self):
        """Return the last step of the path, or some step."""
        if self.path:
            return self.path[-1]
        return self.rng.choice(ODD_KEYS + (0, -1))

    def choose(self, questions):
        """Return the expression of one of the questions."""
        weights = [weight for weight, _ in questions]
        return self.rng.choices(questions, weights)[0][1](self)


@asking(30, SCALARS)
def get(q):
    """-> and ->> behind a chain of ->."""
    base = q.chain(q.path[:-1])
    return q.step(base, q.last_step(), q.rng.random() < 0.5)


@asking(20, SCALARS)
def get_path(q):
    """#> and #>>, of the document or of a part."""
    depth = q.rng.choice((0, 0, q.rng.randint(0, len(q.path))))
    if depth == len(q.path):
        q.partial = False
    return q.extract(q.chain(q.path[:depth]), q.path[depth:],
                     q.rng.random() < 0.5)


@asking(8, SCALARS)
def subscript(q):
    """Subscripts with keys, indexes and NULL."""
    steps = q.path[:30] or [q.rng.choice((0, "a"))]
    parts = []
    for step in steps:
        if q.rng.random() < 0.01:
            parts.append("[NULL::text]")
        elif isinstance(step, str):
            parts.append("[%s]" % quote(step))
        else:
            parts.append("[%d]" % step if step >= 0 else "[(%d)]" % step)
    return "(%s)%s" % (q.column, "".join(parts))


@asking(6, SCALARS)
def variadic(q):
    """jsonb_extract_path(_text), as its users write it."""
    q.partial = bool(q.path)
    name = q.rng.choice(("jsonb_extract_path", "jsonb_extract_path_text"))
    if q.direct() or len(q.path) > 50 or not q.path:
        return q.call(name, q.column, "VARIADIC " + q.spread(q.path))
    return "%s(%s, %s)" % (name, q.column, ", ".join(
        quote(str(step)) for step in q.path))


@asking(10, SCALARS)
def exists(q):
    """?, ?| and ?&."""
    base, value, _ = q.place()
    pool = list(ODD_KEYS)
    if isinstance(value, dict):
        pool = list(value)[:2000]
    elif isinstance(value, list):
        pool = [item for item in value[:3000] + value[-3:]
                if isinstance(item, str)] or pool
    elif isinstance(value, str):
        pool = [value]
    pool = pool or ["a"]
    keys = [q.rng.choice(pool) for _ in range(q.rng.randint(0, 5))]
    if q.rng.random() < 0.3:
        keys.append(q.rng.choice((None, "no such key", str(pool[0])[:-1])))
    if q.rng.random() < 0.5:
        key = keys[0] if keys and keys[0] is not None else "x"
        return q.infix("?", "jsonb_exists", base, quote(key))
    if q.rng.random() < 0.5:
        return q.infix("?|", "jsonb_exists_any", base, texts(keys))
    return q.infix("?&", "jsonb_exists_all", base, texts(keys))


def is_short(value):
    """Return whether it takes little time to look for value in itself."""
    return not isinstance(value, (dict, list)) or (
        len(value) < 2000 and len(dump(value)) < 60_000)


@asking(14, SCALARS)
def contains(q):
    """@> and <@ with parts of the document, true ones and near misses."""
    base, value, _ = q.place()
    if value is MISSING:
        value = q.value
    if q.rng.random() < 0.1 and is_short(q.value):
        other = q.column
        if q.rng.random() < 0.5:
            base, other = other, base
    else:
        text = dump(part_of(q.rng, value))
        if q.rng.random() < 0.05:
            text = "[%s]" % text
        other = quote(text) + "::jsonb"
    roll = q.rng.random()
    if roll < 0.6:
        return q.infix("@>", "jsonb_contains", base, other)
    if roll < 0.9:
        return q.infix("<@", "jsonb_contained", other, base)
    return q.infix("<@", "jsonb_contained", base, other)


@asking(5, SCALARS)
def type_of(q):
    """jsonb_typeof and jsonb_array_length."""
    return q.call(q.rng.choice(("jsonb_typeof", "jsonb_array_length")),
                  q.place()[0])


@asking(6, SCALARS)
def cast(q):
    """Casts of what ->> gives, and of what -> gives."""
    if isinstance(q.found, Number):
        kinds = ("int", "numeric", "float8", "bigint", "text", "bool")
    elif isinstance(q.found, bool):
        kinds = ("bool", "text", "int")
    else:
        kinds = ("text", "date", "int", "jsonb", "numeric", "timestamptz")
    text = q.rng.random() < 0.6
    base = q.step(q.chain(q.path[:-1]), q.last_step(), text)
    if not text:
        kinds = ("int", "numeric", "float8", "bool", "text", "int2")
    return "(%s)::%s" % (base, q.rng.choice(kinds))


def json_path(q, steps):
    """Return a jsonpath for steps, with one generalized now and then."""
    out = ["$"]
    value = q.value
    for step in steps:
        if isinstance(step, str):
            name = "." + json.dumps(step,
                                    ensure_ascii=q.rng.random() < 0.5)
            out.append(q.rng.choice((name,) * 15 + (".*",)))
        elif step < 0:
            out.append("[last - %d]" % (-step - 1) if step < -1
                       else "[last]")
        else:
            out.append(q.rng.choice(
                ("[%d]" % step,) * 12 + ("[*]", "[%d to %d]" % (
                    max(0, step - 2), min(step + 1, 2 ** 31 - 1)),
                    "[%d, 0]" % step, "[%d.7]" % step, "[last]")))
        value = follow(value, [step])
    if q.rng.random() < 0.05:
        out.insert(q.rng.randint(1, len(out)),
                   q.rng.choice(("[*]", "[0]", ".*", "[last]", "[0][0]")))
    return "".join(out)


def path_literal(q):
    """Return a scalar for a jsonpath, often the one that is there."""
    if isinstance(q.found, str) and len(q.found) < 3000 \
            and q.rng.random() < 0.7:
        if isinstance(q.found, Number):
            return str(q.found) if not q.found.startswith("-") \
                else "(%s)" % q.found
        return json.dumps(q.found)
    return q.rng.choice(("1", "0", "true", "null", '"x"', "1.5"))


def path_query(q):
    """Return a jsonpath that gives items."""
    rng = q.rng
    path = json_path(q, q.path)
    roll = rng.random()
    if roll < 0.45:
        return path
    if roll < 0.65:
        depth = rng.randint(0, len(q.path))
        rest = json_path(q, q.path[depth:])
        return "%s ? (@%s %s %s)" % (
            json_path(q, q.path[:depth]), rest[1:],
            rng.choice(("==", "!=", "<", ">=", "<>")), path_literal(q))
    if roll < 0.72:
        return path + rng.choice((" ? (@ == $x)", " ? (@ >= $x)", "[$i]",
                                  " ? (exists(@.*))"))
    if roll < 0.90:
        return path + rng.choice((
            ".type()", ".size()", ".double()", ".abs()", ".floor()",
            ".ceiling()", ".keyvalue()", ".keyvalue().id", ".datetime()",
            ".datetime().type()", ".*", "[*]", ".**{1}", ".**{0 to 2}",
            ".keyvalue().key"))
    if roll < 0.94:
        return "-" + path
    return "%s %s %s" % (path, rng.choice("+-*/%"), rng.choice(
        ("1", "0", "$x", json_path(q, q.path[:1]))))


def path_predicate(q):
    """Return a jsonpath that says true, false or unknown."""
    rng = q.rng
    path = json_path(q, q.path)
    compare = "%s %s %s" % (path, rng.choice(("==", "!=", "<", ">=")),
                            path_literal(q))
    return rng.choice((
        compare, compare, compare, "exists(%s)" % path, "!(%s)" % compare,
        "(%s) is unknown" % compare, path + " == $x", path,
        path + ' starts with "a"', path + ' like_regex "^[a-k1]"',
        "%s && %s == null" % (compare, json_path(q, q.path[:1])),
        "%s || exists(%s)" % (compare, json_path(q, q.path[:1]))))


def path_arguments(q, path, with_vars=True):
    """Return path, variables and silence as arguments of a function."""
    mode = q.rng.choice(("", "", "strict ", "lax "))
    variables = q.rng.choice((
        "{}", "{}", '{"x": 1, "i": 0}', '{"x": "a", "i": 1}', "[]",
        '{"x": %s, "i": 2}' % path_literal(q).strip("()")))
    path = quote(mode + path) + "::jsonpath"
    if not with_vars:
        return [path]
    return [path, quote(variables) + "::jsonb",
            q.rng.choice(("false", "true"))]


@asking(22, SCALARS)
def path_function(q):
    """@?, @@ and the functions that give one value."""
    q.partial = False
    base = q.place()[0] if q.rng.random() < 0.1 else q.column
    roll = q.rng.random()
    if roll < 0.2:
        return q.infix("@?", "jsonb_path_exists_opr", base,
                       path_arguments(q, path_query(q), False)[0])
    if roll < 0.4:
        return q.infix("@@", "jsonb_path_match_opr", base,
                       path_arguments(q, path_predicate(q), False)[0])
    name = q.rng.choice(("exists", "match", "query_array", "query_first"))
    path = path_predicate(q) if name == "match" else path_query(q)
    return q.call("jsonb_path_%s%s" % (name, q.rng.choice(("", "_tz"))),
                  base, *path_arguments(q, path))


@asking(6, SCALARS)
def simple_path(q):
    """@? with members and indexes only, which reads the way to one item."""
    path = "$"
    for step in q.path:
        path += ("." + json.dumps(step)) if isinstance(step, str) \
            else "[%d]" % max(step, 0)
    q.partial = bool(q.path)
    return q.infix("@?", "jsonb_path_exists_opr", q.column,
                   quote(path) + "::jsonpath")


@asking(14, SCALARS)
def whole(q):
    """What needs the whole document, or a whole part of it."""
    q.partial = False
    base, value, _ = q.place()
    key = next(iter(value)) if isinstance(value, dict) and value else "a"
    steps = q.spread(q.path)
    return q.rng.choice((
        "%s", "%s", "to_jsonb(%s)", "jsonb_pretty(%s)", "jsonb_hash(%s)",
        "jsonb_hash_extended(%s, 7)", "jsonb_strip_nulls(%s)",
        "%s || '{\"new\": [1]}'", "%s - {k}", "%s - 0", "%s #- {p}",
        "jsonb_set(%s, {p}, '[\"set\"]')", "jsonb_set(%s, {p}, doc)",
        "jsonb_insert(%s, {p}, '1', true)", "md5((%s)::text)",
        "jsonb_build_object('a', %s, 'b', doc)", "ROW(%s, 1)",
        "ARRAY[%s, NULL, '1']", "coalesce(%s, doc)",
        "jsonb_set_lax(%s, {p}, NULL, true, 'delete_key')",
        "%s = doc", "%s < doc", "jsonb_cmp(doc, %s)", "(%s)::text::json",
        "octet_length((%s)::text)", "jsonb_build_array(%s, %s)",
        "NULLIF(%s, 'null')", "greatest(%s, '[]')", "quote_literal(%s)",
        "CASE WHEN %s IS NULL THEN doc ELSE doc -> 0 END",
        "(jsonb_populate_record(NULL::twin_ab, %s)).a",
        "jsonb_to_tsvector('simple', %s, '\"all\"')::text",
        "jsonb_concat(%s, %s)", "pg_typeof(%s)", "num_nulls(%s, doc)",
    )).replace("%s", base).replace("{k}", quote(key)).replace("{p}", steps)


def container(q, kind):
    """Return an expression for some part, of that kind if there is one."""
    for depth in sorted(range(len(q.path) + 1),
                        key=lambda _: q.rng.random()):
        if isinstance(follow(q.value, q.path[:depth]), kind):
            return q.chain(q.path[:depth])
    return q.place()[0]


@asking(10, SETS)
def keys(q):
    """jsonb_object_keys."""
    return q.call("jsonb_object_keys", container(q, dict))


@asking(14, SETS)
def members(q):
    """jsonb_each and jsonb_each_text."""
    return q.call(q.rng.choice(("jsonb_each", "jsonb_each_text")),
                  container(q, dict))


@asking(20, SETS)
def elements(q):
    """jsonb_array_elements and jsonb_array_elements_text."""
    return q.call(q.rng.choice(("jsonb_array_elements",
                                "jsonb_array_elements_text")),
                  container(q, list))


@asking(10, SETS)
def path_items(q):
    """jsonb_path_query."""
    q.partial = False
    return q.call("jsonb_path_query" + q.rng.choice(("", "_tz")),
                  q.column, *path_arguments(q, path_query(q)))


def scalar_statement(rng, q, table, ident):
    """Return a SELECT of some expressions on one document in one row."""
    expressions = [q.choose(SCALARS)]
    if rng.random() < 0.3:
        for _ in range(rng.randint(1, 3)):
            more = Question(rng, q.value, q.mode, q.column)
            expressions.append(more.choose(SCALARS))
            q.partial = q.partial and more.partial
    target = ", ".join(expressions)
    first = expressions[0]
    where = "WHERE id = %d" % ident
    return rng.choice((
        "SELECT id, {e} FROM {t} {w}",
        "SELECT {e} FROM {t} {w}",
        "SELECT {e} FROM {t} {w}",
        "SELECT ({x})::text FROM {t} {w}",
        "SELECT x FROM (SELECT {x} AS x FROM {t} {w} OFFSET 0) y",
        "WITH c AS MATERIALIZED (SELECT {x} AS x FROM {t} {w})"
        " SELECT x, x::text FROM c",
        "SELECT id FROM (SELECT * FROM {t} {w} OFFSET 0) y"
        " WHERE ({x}) IS NOT NULL",
        "SELECT x, (SELECT x) FROM {t}, LATERAL (SELECT {x} AS x"
        " OFFSET 0) y {w}",
        "SELECT (SELECT {x}) FROM {t} {w}",
    )).replace("{e}", target).replace("{x}", first).replace(
        "{t}", table).replace("{w}", where)


def set_statement(rng, q, table, ident):
    """Return a SELECT from a function that returns a set."""
    call = q.choose(SETS)
    limit = rng.choice(("", "", " LIMIT 1", " LIMIT %d" % rng.randint(2, 200),
                        " LIMIT 3 OFFSET %d" % rng.randint(0, 100)))
    where = "WHERE id = %d" % ident
    return rng.choice((
        "SELECT {c} FROM {t} {w}{l}",
        "SELECT id, ({c})::text FROM {t} {w}{l}",
        "SELECT x.* FROM {t}, LATERAL {c} AS x {w}{l}",
        "SELECT x.* FROM {t}, LATERAL {c} WITH ORDINALITY AS x {w}{l}",
        "SELECT count(*), md5(string_agg(x::text, ',')) FROM"
        " (SELECT {c} AS x FROM {t} {w}{l}) y",
        "SELECT x FROM (SELECT {c} AS x FROM {t} {w}{l}) y ORDER BY x::text",
        "SELECT {c}, generate_series(1, 3) FROM {t} {w}{l}",
        "SELECT (SELECT count(x.*) FROM {c} AS x) FROM {t} {w}",
        "SELECT EXISTS (SELECT FROM {c} AS x) FROM {t} {w}",
    )).replace("{c}", call).replace("{t}", table).replace(
        "{w}", where).replace("{l}", limit)
