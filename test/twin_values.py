"""Random values for the heap twin, and edits of earlier values.

Everything here is a pure function of the random generator that it is given
and of its arguments, so a seed always makes the same values.  A value is
what the server's text output of it would be (str), or bytes for bytea.

An edit is what a writer does to a document between two saves: overwrite,
insert, delete, append, prepend, move a block, repeat a block, replace all,
or save it again unchanged.  It works on a sequence: bytes, characters,
list items.
"""

import json

WORDS = (
    "ant bee cat dog elk fox gnu hen ibis jay kite lynx mole newt owl pig "
    "quail rat seal toad urchin vole wasp yak zebra naïve straße Ω 象 "
    "toast chunk node rope frame piece branch"
).split()

# Sizes are spread evenly over their logarithm, with extra weight on the
# sizes at which a value leaves its row or a chunk is full.
EDGES = (1, 126, 127, 400, 1990, 1996, 2000, 2030, 2040, 4000, 8000, 65536)

LARGEST = 300_000


def random_size(rng, largest=LARGEST):
    """Return a size in bytes from 0 to about largest."""
    roll = rng.random()
    if roll < 0.15:
        return min(largest, max(0, rng.choice(EDGES) + rng.randint(-3, 3)))
    if roll < 0.2:
        return 0
    return min(largest, int(2 ** rng.uniform(0, 18.2)))


def random_bytes(rng, size):
    """Return size bytes that compress well, badly or in parts."""
    style = rng.randrange(5)
    if style == 0:
        return rng.randbytes(size)
    if style == 1:
        return bytes([rng.randrange(256)]) * size
    if style == 2:
        unit = rng.randbytes(rng.randint(2, 600))
        return (unit * (size // len(unit) + 1))[:size]
    if style == 3:
        return random_text(rng, size).encode()[:size]
    out = bytearray()
    while len(out) < size:
        run = rng.randint(1, 3000)
        out += rng.randbytes(run) if rng.random() < 0.5 else bytes(run)
    return bytes(out[:size])


def random_text(rng, size):
    """Return about size bytes of text, some of it of wide characters."""
    style = rng.randrange(5)
    if style == 0:
        return rng.randbytes(size // 2 + 1).hex()[:size]
    if style == 1:
        return rng.choice("x-é象") * size
    if style == 2:
        unit = rng.randbytes(rng.randint(1, 200)).hex()
        return (unit * (size // len(unit) + 1))[:size]
    out = []
    length = 0
    while length < size:
        word = rng.choice(WORDS)
        if rng.random() < 0.2:
            word += str(rng.randrange(10 ** 6))
        out.append(word)
        length += len(word) + 1
    return " ".join(out)[:size]


def random_json(rng, size):
    """Return a json value whose text takes about size bytes."""
    if size < 12:
        return rng.choice((0, -1, True, None, "", "x", 1.5, [], {}))
    style = rng.randrange(4)
    if style == 0:
        return random_text(rng, size)
    if style == 1:
        return [rng.randrange(10 ** rng.randint(1, 12))
                for _ in range(size // 8)]
    count = rng.randint(1, 12)
    parts = [random_json(rng, size // count) for _ in range(count)]
    if style == 2:
        return parts
    return {rng.choice(WORDS) + str(i): part for i, part in enumerate(parts)}


def random_ints(rng, size):
    """Return a list of integers and NULLs of about size bytes."""
    top = 10 ** rng.randint(0, 9)
    holes = rng.random() < 0.2
    return [None if holes and rng.random() < 0.1 else rng.randrange(top + 1)
            for _ in range(size // 4)]


def random_lexemes(rng, size):
    """Return the words of a tsvector of about size bytes."""
    spread = rng.choice((50, 10 ** 4, 10 ** 6))
    return [rng.choice(WORDS) + str(rng.randrange(spread))
            for _ in range(size // 12)]


def random_digits(rng, size):
    """Return the digits of a numeric of about size bytes on disk."""
    size = min(size, 40_000)
    unit = str(rng.randrange(1, 10 ** rng.randint(1, 40)))
    if rng.random() < 0.5:
        return (unit * (size * 2 // len(unit) + 1))[:size * 2 + 1]
    return "".join(rng.choices("0123456789", k=size * 2 + 1))


def splice(rng, sequence, fresh):
    """Return sequence with one random edit; fresh(n) makes n new items."""
    kind = rng.choice(
        "overwrite insert delete append prepend move repeat "
        "replace same overwrite insert".split())
    length = len(sequence)
    start = rng.randint(0, length)
    run = min(int(2 ** rng.uniform(0, 12)), max(1, length))
    block = sequence[start:start + run]
    if kind == "overwrite":
        new = fresh(min(run, length - start))
        return sequence[:start] + new + sequence[start + len(new):]
    if kind == "insert":
        return sequence[:start] + fresh(run) + sequence[start:]
    if kind == "delete":
        return sequence[:start] + sequence[start + run:]
    if kind == "append":
        return sequence + fresh(run)
    if kind == "prepend":
        return fresh(run) + sequence
    if kind == "move":
        rest = sequence[:start] + sequence[start + run:]
        there = rng.randint(0, len(rest))
        return rest[:there] + block + rest[there:]
    if kind == "repeat":
        return sequence[:start] + block * rng.randint(2, 4) \
            + sequence[start + run:]
    if kind == "replace":
        return fresh(length)
    return sequence


def edit_json(rng, node, depth=0):
    """Return node, a parsed json value, with an edit somewhere below it."""
    if isinstance(node, list):
        if node and depth < 4 and rng.random() < 0.5:
            spot = rng.randrange(len(node))
            return node[:spot] + [edit_json(rng, node[spot], depth + 1)] \
                + node[spot + 1:]
        return splice(rng, node, lambda n: [
            random_json(rng, 30) for _ in range(min(n, 300))])
    if isinstance(node, dict):
        keys = list(node)
        roll = rng.random()
        if keys and roll < 0.6:
            key = rng.choice(keys)
            return {**node, key: edit_json(rng, node[key], depth + 1)}
        if keys and roll < 0.75:
            gone = rng.choice(keys)
            return {k: v for k, v in node.items() if k != gone}
        added = rng.choice(WORDS) + str(rng.randrange(1000))
        return {**node, added: random_json(rng, random_size(rng, 5000))}
    if isinstance(node, str):
        return splice(rng, node, lambda n: random_text(rng, n))
    return random_json(rng, random_size(rng, 3000))


def cap(value, largest=2 * LARGEST):
    """Keep a value from growing without bound over many edits."""
    return value[:largest]


class Kind:
    """A column type: how to make, print, read and edit its values."""

    def __init__(self, sql, make, dump=None, load=None, edit=None):
        self.sql = sql
        self.make = make
        self.dump = dump or (lambda value: value)
        self.load = load or (lambda value: value)
        self.edit = edit

    def random(self, rng, largest=LARGEST):
        """Return a new value, as it is sent to the server."""
        return self.dump(self.make(rng, random_size(rng, largest)))

    def edited(self, rng, sent):
        """Return an edit of a value that the server returned."""
        value = self.load(sent)
        if len(sent) > LARGEST:
            return self.random(rng)
        if self.edit:
            return self.dump(self.edit(rng, value))
        fresh = self.make
        return self.dump(cap(splice(rng, value, lambda n: fresh(rng, n))))


def dump_array(items):
    """Return the array literal of a list of integers and NULLs."""
    return "{%s}" % ",".join("NULL" if i is None else str(i) for i in items)


def load_array(literal):
    """Return the list behind an array literal."""
    return [None if item == "NULL" else int(item)
            for item in literal[1:-1].split(",") if item]


def load_lexemes(literal):
    """Return the words of a tsvector's text form (no positions, quotes)."""
    return [word.strip("'") for word in literal.split()]


def dump_composite(text):
    """Return the literal of the composite (7, text)."""
    return '(7,"%s")' % text.replace("\\", "\\\\").replace('"', '""')


def load_composite(literal):
    """Return the text inside a literal written by the server."""
    inner = literal[literal.index(",") + 1:-1]
    if inner.startswith('"'):
        inner = inner[1:-1].replace('""', '"').replace("\\\\", "\\")
    return inner


def edit_digits(rng, digits):
    """Return an edit of a string of digits that stays a number."""
    out = splice(rng, digits, lambda n: "".join(
        rng.choices("0123456789", k=n)))
    return out[:100_000] or "0"


KINDS = {
    "t": Kind("text", random_text),
    "b": Kind("bytea", random_bytes, bytes, bytes),
    "j": Kind("jsonb", random_json,
              lambda v: json.dumps(v, ensure_ascii=False),
              json.loads, lambda r, v: edit_json(r, v)),
    "a": Kind("int[]", random_ints, dump_array, load_array),
    "v": Kind("tsvector", random_lexemes, " ".join, load_lexemes),
    "m": Kind("numeric", random_digits, None, None, edit_digits),
    "d": Kind("twin_domain", random_text),
    "c": Kind("twin_pair", random_text, dump_composite, load_composite),
}
