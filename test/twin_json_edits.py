"""Expressions that edit documents, of which heap and tree must make the same.

An Edit makes expressions for a new version of one document whose contents
are known, so that most of its paths lead somewhere: jsonb_set() and its
kind, operators, subscripts, and nestings of them.  Some fail, as the
server's do.
"""

import re

from twin_json_docs import ODD_KEYS, astray, follow, random_path, resolve
from twin_json_reads import quote, texts

OPERATIONS = []

# Documents that are put into themselves grow no further than that.
LARGEST_SOURCE = 100_000

SIZES = (1, 1, 2, 3, 3, 10, 10, 30, 100, 100, 300, 1000, 3000, 10_000)

NEW_KEYS = ("a", "b", "c", "", "bad", "new", "0", "zzzz", "~", "k" * 40,
            "a" * 254, "n" * 3000)

TREATMENTS = ("use_json_null", "raise_exception", "delete_key",
              "return_target")


def fill(form, **parts):
    """Return a form with its parts, named by one letter, in their places."""
    return re.sub(r"\{(\w)\}", lambda found: parts.get(
        found.group(1), found.group(0)), form)


def operation(weight):
    """Enter a function into the list of operations."""
    def enter(function):
        OPERATIONS.append((weight, function))
        return function
    return enter


class Edit:
    """Expressions that edit one document."""

    def __init__(self, rng, maker, value, size, column="doc"):
        self.rng = rng
        self.maker = maker
        self.value = value
        self.size = size
        self.column = column
        self.number = column.rpartition(".")[0] + ".n" \
            if "." in column else "n"
        # Whether the outermost edit is one of the listed functions
        self.plain = True

    def path(self):
        """Return a path into the document, of known steps or odd ones."""
        rng = self.rng
        if rng.random() < 0.3:
            steps = self.array_place()
        else:
            steps = resolve(self.value, random_path(
                rng, self.value, rng.choice((1, 2, 3, 60)))[0])
        roll = rng.random()
        if roll < 0.18:
            steps = steps[:-1] + [rng.choice(NEW_KEYS + ODD_KEYS)]
        elif roll < 0.26:
            steps = astray(rng, steps)
        elif roll < 0.30:
            steps = steps + [rng.choice(NEW_KEYS[:4] + (0, -1, 1, 5))]
        elif roll < 0.31:
            steps = []
        # PostgreSQL 15 crashes when it is to set the smallest index.
        return [-2 ** 31 + 1 if step == -2 ** 31 else step for step in steps]

    def array_place(self):
        """Return the path to an element of an array, or to its edges."""
        rng = self.rng
        for _ in range(4):
            steps, _ = random_path(rng, self.value)
            steps = resolve(self.value, steps)
            while steps and not isinstance(
                    follow(self.value, steps), list):
                steps.pop()
            array = follow(self.value, steps)
            if isinstance(array, list):
                size = len(array)
                return steps + [rng.choice((
                    0, -1, size // 2, size - 1, size, size + 1, -size,
                    -size - 1, rng.randint(-size - 3, size + 3),
                    rng.randint(0, size), 2 ** 31 - 1))]
        return resolve(self.value, random_path(rng, self.value)[0])

    def steps(self, steps=None):
        """Return the array for a path, now and then an odd one."""
        rng = self.rng
        steps = self.path() if steps is None else list(steps)
        if steps and rng.random() < 0.06:
            place = rng.randrange(len(steps))
            old = steps[place]
            steps[place] = rng.choice((
                None, " %s" % old, "%s " % old, "%sx" % old, "", "+%s" % old,
                "99999999999", "-0", "0%s" % old, "0x1", "-2147483649"))
        if rng.random() < 0.005:
            return rng.choice(("NULL::text[]", "'{{a,b},{c,d}}'::text[]"))
        return texts(steps)

    def literal(self):
        """Return a new value: of any size, or a part of the document."""
        rng = self.rng
        roll = rng.random()
        if roll < 0.03:
            return quote(self.maker.value(rng.choice((30_000, 100_000,
                                                      300_000)))) + "::jsonb"
        if roll < 0.05:
            return "to_jsonb(repeat('%d', %d)::numeric)" % (
                rng.randint(1, 9), rng.choice((10, 1000, 10_000)))
        if roll < 0.08:
            return "to_jsonb(repeat(md5('%d'), %d))" % (
                rng.randrange(100), rng.choice((1, 10, 100, 3000)))
        if roll < 0.12:
            return "to_jsonb(%s)" % self.number
        if roll < 0.14:
            return quote(rng.choice(("null", "{}", "[]", '""'))) + "::jsonb"
        return quote(self.maker.value(rng.choice(SIZES))) + "::jsonb"

    def part(self):
        """Return an expression for a part of the document."""
        rng = self.rng
        steps = resolve(self.value, random_path(rng, self.value)[0])
        if rng.random() < 0.1:
            steps = astray(rng, steps)
        if rng.random() < 0.5 or len(steps) > 5 or not steps:
            return "(%s #> %s)" % (self.column, self.steps(steps))
        return "(%s%s)" % (self.column, "".join(
            " -> " + (quote(step) if isinstance(step, str) else "(%d)" % step)
            for step in steps))

    def new(self, depth=0):
        """Return an expression for a value to be put somewhere."""
        rng = self.rng
        roll = rng.random()
        if roll < 0.75:
            return self.literal()
        if roll < 0.92:
            return self.part()
        if self.size < LARGEST_SOURCE and depth < 3:
            return self.expression(depth + 1)
        return "NULL::jsonb" if rng.random() < 0.2 else self.literal()

    def new_at(self, places):
        """Return a value for subscripts; only one of the two may fail."""
        return self.literal() if "NULL" in places else self.new()

    def expression(self, depth=0):
        """Return a nesting of some edits of the document."""
        rng = self.rng
        expression = self.column
        for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3, 5))):
            weights = [weight for weight, _ in OPERATIONS]
            make = rng.choices(OPERATIONS, weights)[0][1]
            expression = make(self, expression, depth)
        return expression

    def boolean(self):
        """Return a boolean."""
        return self.rng.choice(("true", "false"))

    def key(self):
        """Return a key of the document, or some other."""
        if isinstance(self.value, dict) and self.value \
                and self.rng.random() < 0.8:
            return self.rng.choice(list(self.value))
        return self.rng.choice(NEW_KEYS + ODD_KEYS)

    def subscripts(self, steps=None):
        """Return a path as subscripts."""
        rng = self.rng
        steps = (self.path() if steps is None else steps)[:6]
        # What is missing before an index is filled with null.
        steps = [min(step, 3000) if isinstance(step, int) else step
                 for step in steps]
        steps = steps or [rng.choice((0, "a", -1))]
        out = []
        for step in steps:
            if isinstance(step, str):
                out.append("[%s]" % quote(step))
            elif rng.random() < 0.1:
                out.append("['%d']" % step)
            else:
                out.append("[%d]" % step if step >= 0 else "[(%d)]" % step)
        if rng.random() < 0.01:
            out[rng.randrange(len(out))] = "[NULL::text]"
        return "".join(out)


@operation(30)
def set_value(edit, base, depth):
    """jsonb_set."""
    rng = edit.rng
    return "jsonb_set(%s, %s, %s%s)" % (
        base, edit.steps(), edit.new(depth),
        rng.choice(("", "", ", true", ", false")))


@operation(8)
def set_lax(edit, base, depth):
    """jsonb_set_lax, mostly with NULL."""
    rng = edit.rng
    # Not a constant: jsonb_set_lax() puts 'null' into its place for good.
    value = edit.new(depth) if rng.random() < 0.3 \
        else "CASE %s WHEN -77 THEN '1'::jsonb END" % edit.number
    more = rng.choice(("", ", %s" % edit.boolean(), ", %s, '%s'" % (
        edit.boolean(), rng.choice(TREATMENTS)), ", %s, '%s'" % (
            edit.boolean(), rng.choice(TREATMENTS))))
    if rng.random() < 0.02:
        more = rng.choice((", true, NULL", ", true, 'other'", ", NULL"))
    return "jsonb_set_lax(%s, %s, %s%s)" % (base, edit.steps(), value, more)


@operation(12)
def insert_value(edit, base, depth):
    """jsonb_insert."""
    rng = edit.rng
    steps = edit.array_place() if rng.random() < 0.7 else edit.path()
    return "jsonb_insert(%s, %s, %s%s)" % (
        base, edit.steps(steps), edit.new(depth),
        rng.choice(("", ", false", ", true")))


@operation(10)
def concatenate(edit, base, depth):
    """|| with an object, an array or a scalar, on either side."""
    rng = edit.rng
    roll = rng.random()
    if roll < 0.35:
        other = "jsonb_build_object(%s)" % ", ".join(
            "%s, %s" % (quote(edit.key()), edit.new(depth))
            for _ in range(rng.randint(0, 3)))
    elif roll < 0.6:
        other = "jsonb_build_array(%s)" % ", ".join(
            edit.new(depth) for _ in range(rng.randint(0, 3)))
    elif roll < 0.7:
        other = quote(rng.choice(("{}", "[]", "1", "null", '"x"', "[[]]",
                                  '{"a": {"b": []}}'))) + "::jsonb"
    else:
        other = edit.new(depth)
    left, right = (base, other) if rng.random() < 0.75 else (other, base)
    return "(%s || %s)" % (left, right)


@operation(14)
def remove(edit, base, _depth):
    """- with a key, an index or some keys, and #-."""
    rng = edit.rng
    roll = rng.random()
    if roll < 0.4:
        return "(%s #- %s)" % (base, edit.steps())
    if roll < 0.6:
        return "(%s - %s::text)" % (base, quote(edit.key()))
    if roll < 0.8:
        size = len(edit.value) if isinstance(edit.value, list) else 3
        return "(%s - (%d))" % (base, rng.choice(
            (0, -1, size // 2, size, -size, -size - 1, 2 ** 31 - 1)))
    keys = [edit.key() for _ in range(rng.randint(0, 5))]
    if rng.random() < 0.1:
        keys.append(None)
    return "(%s - %s)" % (base, texts(keys))


@operation(6)
def rename(edit, base, _depth):
    """A part moves to another place."""
    rng = edit.rng
    if rng.random() < 0.5:
        old = quote(edit.key())
        return "((%s - %s::text) || jsonb_build_object(%s, %s -> %s::text))" \
            % (base, old, quote(rng.choice(NEW_KEYS)), edit.column, old)
    old = texts(resolve(edit.value, random_path(rng, edit.value, 3)[0]))
    return "jsonb_%s(%s #- %s, %s, %s #> %s)" % (
        rng.choice(("set", "insert")), base, old, edit.steps(), edit.column,
        old)


@operation(6)
def edit_part(edit, base, _depth):
    """A part is edited and put back."""
    rng = edit.rng
    steps = resolve(edit.value, random_path(rng, edit.value)[0])
    depth = rng.randint(0, len(steps))
    head, rest = texts(steps[:depth]), texts(steps[depth:])
    part = "%s #> %s" % (edit.column, head)
    form = rng.choice((
        "jsonb_set({b}, {h}, jsonb_set({p}, {r}, {v}))",
        "jsonb_set({b}, {h}, ({p}) #- {r})",
        "jsonb_set({b}, {h}, ({p}) || {v})",
        "jsonb_set({b}, {h}, {v} || ({p}))",
        "jsonb_set({b}, {h}, jsonb_strip_nulls({p}))",
        "jsonb_set({b}, {h}, jsonb_build_object('in', {p}))",
        "jsonb_set({b}, {h}, coalesce(({p}) -> 'a', ({p}) -> 0, {v}))",
        "jsonb_set({b}, {h}, to_jsonb(md5(({p})::text)))"))
    return fill(form, v=edit.literal(), b=base, h=head, r=rest, p=part)


@operation(6)
def choose(edit, base, depth):
    """CASE, COALESCE and others around an edit."""
    rng = edit.rng
    if len(base) > 20_000:
        return base
    edit.plain = False
    other = "jsonb_set(%s, %s, %s)" % (edit.column, edit.steps(),
                                       edit.new(depth + 1))
    form = rng.choice((
        "CASE WHEN {c} -> 'a' IS NULL THEN {b} ELSE {o} END",
        "CASE WHEN {n} > 4 THEN {b} ELSE {c} END",
        "CASE WHEN {b} ? 'a' THEN {c} ELSE {o} END",
        "CASE jsonb_typeof({b}) WHEN 'array' THEN {b} || '[1]'"
        " ELSE {c} END",
        "coalesce({b}, {o})", "coalesce(NULL, {b}, '{}')",
        "nullif({b}, {c})", "({b} -> 'a')", "greatest({b}, {c})",
        "jsonb_strip_nulls({b})", "jsonb_build_array({b}, {o} -> 'a')",
        "(SELECT {b})", "(SELECT x FROM (SELECT {b} AS x OFFSET 0) y)",
        "(ARRAY[{b}, {c}])[1 + {n} % 2]", "({b})::text::jsonb",
        "(ROW({b}, {c})::twin_ab).a", "{s}.part({b}, 'a')"))
    return "(%s)" % fill(form, b=base, o=other, c=edit.column, n=edit.number)
