"""Random documents for the document twin, their paths and their parts.

Everything here is a pure function of the random generator that it is given
and of its arguments.  Documents are made as text, since only text can have
duplicate keys, escapes and numbers of any form; what the server returns is
loaded again (load), with numbers as their digits.
"""

import json
import math

from twin_values import WORDS

MISSING = object()

ODD_KEYS = ("", "0", "1", "-1", "00", "1e1", "a b", "$", "$.a", "a.b", '"',
            "\\", "é", "\U0001f600", "null", "last", "\t", "'", "%s", "@",
            "a" * 255, "a" * 256, "ÿ", "Z", "z")

# Strings that take part in path expressions and casts.
PLAIN = ("", "x", "true", "12", "1.50", "2024-02-03", "12:13:14+02",
         "2024-02-03T04:05:06+02:00", "[1]", "null", "NaN", "\u2028")

# Made on the server: {n} stands for a number of members.
SERVER_MADE = (
    "SELECT jsonb_agg(i) FROM generate_series(1, {n}) i",
    "SELECT jsonb_agg(i % 7) FROM generate_series(1, {n}) i",
    "SELECT jsonb_agg(md5(i::text)) FROM generate_series(1, {n}) i",
    "SELECT jsonb_agg(NULL::int) FROM generate_series(1, {n}) i",
    "SELECT jsonb_agg(CASE i % 4 WHEN 0 THEN to_jsonb(i) WHEN 1 THEN"
    " to_jsonb('e' || i) WHEN 2 THEN '{\"a\": [1, {}]}' ELSE 'null' END)"
    " FROM generate_series(1, {n}) i",
    "SELECT jsonb_object_agg('k' || i, i) FROM generate_series(1, {n}) i",
    "SELECT jsonb_object_agg(lpad(i::text, 8, '0'), md5(i::text))"
    " FROM generate_series(1, {n}) i",
    "SELECT jsonb_object_agg(md5(i::text), jsonb_build_object('id', i,"
    " 'list', jsonb_build_array(i, NULL))) FROM generate_series(1, {n}) i",
    "SELECT jsonb_build_object('a', (SELECT jsonb_agg(jsonb_build_object("
    "'b', i, 'c', md5(i::text))) FROM generate_series(1, {n}) i),"
    " 'b', (SELECT jsonb_object_agg('k' || i, i / 3.0)"
    " FROM generate_series(1, {n}) i), 'z', '2024-02-03')",
)


class Number(str):
    """The digits of a number in a document."""


def load(text):
    """Return the document behind its text."""
    return json.loads(text, parse_int=Number, parse_float=Number)


def dump(value):
    """Return the text of a document."""
    if isinstance(value, dict):
        return "{%s}" % ",".join("%s:%s" % (dump(k), dump(v))
                                 for k, v in value.items())
    if isinstance(value, list):
        return "[%s]" % ",".join(map(dump, value))
    if isinstance(value, Number):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def edges(node_size):
    """Return the sizes at which a member is stored in another way."""
    return (node_size // 4, node_size // 2, node_size, 2 * node_size,
            4 * node_size, 8 * node_size, 16 * node_size, 126, 2000, 8160)


class Maker:
    """Makes the texts of documents for one size of nodes."""

    def __init__(self, rng, node_size, largest):
        self.rng = rng
        self.edges = edges(node_size)
        self.largest = largest

    def size(self):
        """Return a size in bytes."""
        if self.rng.random() < 0.35:
            return max(0, self.rng.choice(self.edges)
                       + self.rng.randint(-12, 4))
        most = math.log2(self.largest)
        least = most - 4 if self.rng.random() < 0.25 else 2
        return int(2 ** self.rng.uniform(least, most))

    def document(self):
        """Return the text of a document of any kind."""
        rng = self.rng
        roll = rng.random()
        size = self.size()
        if roll < 0.03:
            return self.tiny()
        if roll < 0.07:
            return self.string(size)
        if roll < 0.09:
            return self.number(size)
        if roll < 0.50:
            text = self.object(size)
        else:
            text = self.array(size)
        if rng.random() < 0.08:
            depth = rng.choice((2, 10, 40, 100, 300, 1000))
            text = self.wrap(text, depth)
        return text

    def wrap(self, text, depth):
        """Return a document with text that many levels deep."""
        heads, tails = [], []
        plain = self.rng.random() < 0.5
        both = ('{"a":', "}"), ("[", "]")
        more = (('{"b":1,"a":', ',"c":"x"}'), ("[0,", "]"), ("[", ",[]]"),
                ('{"a":%s,"b":' % self.value(40), "}"))
        one = self.rng.choice(both)
        for _ in range(depth):
            head, tail = one if plain else self.rng.choice(both + more)
            heads.append(head)
            tails.append(tail)
        return "".join(heads) + text + "".join(reversed(tails))

    def tiny(self):
        """Return a short value."""
        return self.rng.choice((
            "0", "-1", "1.50", "1e2", "-0", "12345678901234567890", "true",
            "false", "null", '""', '"x"', "[]", "{}", "[[]]", '"é"',
            '"12"', "[null]", '{"a":1}', '{"a":[]}', "0.000"))

    def value(self, size, depth=0):
        """Return any value of about size bytes."""
        if size < 8:
            return self.tiny()
        roll = self.rng.random()
        if roll < 0.35 or depth > 60:
            return self.string(size)
        if roll < 0.40:
            return self.number(min(size, 10_000))
        if roll < 0.70:
            return self.object(size, depth + 1)
        return self.array(size, depth + 1)

    def characters(self, size):
        """Return a string of about size bytes."""
        rng = self.rng
        style = rng.randrange(6)
        if style == 0:
            return rng.randbytes(size // 2 + 1).hex()[:size]
        if style == 1:
            return rng.choice("x-é象\U0001f600\x01\\\"") * (size // 2 + 1)
        if style == 2:
            unit = rng.randbytes(rng.randint(1, 100)).hex()
            return (unit * (size // len(unit) + 1))[:size]
        if style == 3 and size < 100:
            return rng.choice(PLAIN)
        if style == 4:
            pool = ("\x01", "\n", "\t", '"', "\\", "/", "é", "\u07ff", "\ue000",
                    "\uffff", "\U00010000", "\U0010ffff", "a", " ")
            return "".join(rng.choices(pool, k=size // 3 + 1))
        words = rng.choices(WORDS, k=size // 5 + 1)
        return " ".join(words)[:size]

    def string(self, size):
        """Return a string, quoted, with some or all escapes."""
        return json.dumps(self.characters(max(0, size)),
                          ensure_ascii=self.rng.random() < 0.4)

    def number(self, size):
        """Return the digits of a number, also of very many."""
        rng = self.rng
        size = max(1, min(size, 10_000))
        roll = rng.random()
        if roll < 0.4 or size < 10:
            return str(rng.randrange(-10 ** 6, 10 ** 6))
        digits = str(rng.randrange(1, 10)) + "".join(
            rng.choices("0123456789", k=size - 1))
        if roll < 0.6:
            return rng.choice(("", "-")) + digits
        if roll < 0.8:
            place = rng.randint(1, size)
            return digits[:place] + "." + (digits[place:] or "0") \
                + rng.choice(("", "000"))
        if roll < 0.9:
            return "%d.%de%d" % (rng.randrange(10), rng.randrange(1000),
                                 rng.choice((0, 5, -5, 200, -1000)))
        return digits[:3] + "0" * (size - 3)

    def keys(self, count, size):
        """Return keys of one of several kinds, about size bytes in all."""
        rng = self.rng
        length = max(1, size // max(1, count))
        style = rng.randrange(8)
        if style == 0:
            return [rng.choice(WORDS) + str(i) for i in range(count)]
        if style == 1:
            return ["key%06d" % i for i in range(count)]
        if style == 2:
            prefix = "p" * rng.randint(1, min(length, 100_000))
            return [prefix + chr(33 + i % 90) + (str(i // 90) or "")
                    for i in range(count)]
        if style == 3:
            width = rng.choice((1, 2, 3, 4, 8, 12, 40))
            return [rng.randbytes(width).hex() for _ in range(count)]
        if style == 4:
            return ["a" * i for i in range(min(count, 200))]
        if style == 5:
            return [rng.choice(ODD_KEYS) if i < 20 else "o%d" % i
                    for i in range(count)]
        if style == 6 and count <= 40:
            return [rng.choice("kK") * rng.randint(0, length) + str(i)
                    for i in range(count)]
        return [rng.choice("abcdefghij") for _ in range(min(count, 10))]

    def shares(self, count, size):
        """Return how size is split among count members."""
        if count > 60 or self.rng.random() < 0.4:
            return [size // count] * count
        weights = [self.rng.expovariate(1) ** 2 + 0.001
                   for _ in range(count)]
        total = sum(weights)
        return [int(size * weight / total) for weight in weights]

    def count(self, size):
        """Return how many members share size bytes."""
        if self.rng.random() < 0.5:
            return self.rng.randint(1, 9)
        return max(1, size // self.rng.choice((6, 12, 30, 80, 300)))

    def object(self, size, depth=0):
        """Return an object of about size bytes."""
        rng = self.rng
        if size < 8:
            return rng.choice(("{}", '{"a":1}', '{"":{}}'))
        count = self.count(size)
        keys = self.keys(count, size // 2)
        if rng.random() < 0.1:
            keys += rng.choices(keys, k=2)
        values = self.members(len(keys), size, depth)
        return "{%s}" % ",".join(
            "%s:%s" % (json.dumps(key, ensure_ascii=rng.random() < 0.2), v)
            for key, v in zip(keys, values))

    def array(self, size, depth=0):
        """Return an array of about size bytes."""
        if size < 8:
            return self.rng.choice(("[]", "[1]", "[[]]", "[null,null]"))
        return "[%s]" % ",".join(
            self.members(self.count(size), size, depth))

    def members(self, count, size, depth):
        """Return the values of count members that share size bytes."""
        rng = self.rng
        style = rng.randrange(7)
        share = size // count
        if style == 0:
            return [str(rng.randrange(10 ** rng.randint(1, 9)))
                    for _ in range(count)]
        if style == 1:
            return [self.string(share + rng.randint(-2, 2))
                    for _ in range(count)]
        if style == 2 and share > 30:
            names = [rng.choice(WORDS) for _ in range(3)]
            return ['{"%s":%d,"%s":%s,"%s":%s}' % (
                names[0], i, names[1], self.value(share - 30, depth + 2),
                names[2], rng.choice(("null", "[]", "true")))
                    for i in range(count)]
        if style == 3:
            return [self.tiny() for _ in range(count)]
        if style == 4 and count < 100:
            sizes = [rng.choice(self.edges) + rng.randint(-12, 4)
                     if rng.random() < 0.2 else share for _ in range(count)]
            if sum(sizes) <= 2 * size + 1000:
                return [self.value(one, depth) for one in sizes]
        return [self.value(one, depth) for one in self.shares(count, size)]


def random_path(rng, value, most=60):
    """Return a path into a document, and the value to which it leads."""
    path = []
    stop = rng.choice((0.05, 0.2, 0.5))
    while isinstance(value, (dict, list)) and value and len(path) < most:
        if path and rng.random() < stop:
            break
        if isinstance(value, dict):
            step = rng.choice(list(value)) if len(value) < 1000 \
                or rng.random() < 0.1 else next(iter(value))
            value = value[step]
        else:
            step = rng.choice((0, len(value) - 1, rng.randrange(len(value))))
            value = value[step]
            if rng.random() < 0.2 and len(path) < 10:
                # from the end, when it is turned into an expression
                path.append(Backward(step))
                continue
        path.append(step)
    return path, value


class Backward(int):
    """An index that is to be counted from the end, of a known array."""


def follow(value, path):
    """Return the value at the end of a path, or MISSING."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step, MISSING)
        elif isinstance(value, list) and not isinstance(step, str) \
                and -len(value) <= step < len(value):
            value = value[step]
        else:
            return MISSING
    return value


def resolve(value, path):
    """Return a path whose backward steps are negative numbers."""
    steps = []
    for step in path:
        if isinstance(step, Backward):
            steps.append(int(step) - len(value))
        else:
            steps.append(step)
        value = value[int(step)] if isinstance(value, list) else value[step]
    return steps


def astray(rng, path):
    """Return the path with one step that probably leads nowhere."""
    steps = list(path)
    place = rng.randrange(len(steps)) if steps else 0
    old = steps[place] if steps else "a"
    if isinstance(old, str):
        new = rng.choice((old + "x", old[:-1], old[:-1] + "~", old.upper(),
                          rng.choice(ODD_KEYS), "\x7f" + old, 0, -1))
    else:
        new = rng.choice((old + 1, -old - 2, 10 ** 6, 2 ** 31 - 1, -2 ** 31,
                          "a", "", str(old)))
    if steps and rng.random() < 0.7:
        steps[place] = new
    else:
        steps.append(new)
    return steps


def part_of(rng, value, budget=30):
    """Return a value that value contains, or nearly."""
    if rng.random() < 0.02:
        return rng.choice((Number("1"), None, [], {}, "x", [None]))
    if isinstance(value, dict) and budget > 0:
        keys = list(value)
        chosen = rng.sample(keys, min(len(keys), rng.randint(0, 3)))
        return {key: part_of(rng, value[key], budget // 3) for key in chosen}
    if isinstance(value, list) and budget > 0:
        chosen = [rng.choice(value)
                  for _ in range(rng.randint(0, 3))] if value else []
        return [part_of(rng, item, budget // 3) for item in chosen]
    if isinstance(value, Number) and "." in value and "e" not in value:
        return Number(value + rng.choice(("", "0")))
    if isinstance(value, str) and not isinstance(value, Number) and value:
        return rng.choice((value,) * 9 + (value[:-1] + "~",))
    return value
