"""variants.py: four tables of documents with the same rows, side by side.

  pglz       heap, as PostgreSQL stores documents unless told otherwise
  lz4        heap, COMPRESSION lz4
  external   heap, STORAGE EXTERNAL: out of line and never compressed
  toaster    a toaster table with its defaults (lz4)
"""

from measure import explain

VARIANTS = ("pglz", "lz4", "external", "toaster")

TITLES = {"pglz": "heap pglz", "lz4": "heap lz4", "external": "heap EXTERNAL",
          "toaster": "toaster"}

HEAPS = VARIANTS[:3]

# A statement that is shorter is run several times in a turn.
SHORT_MS = 3
SHORT_REPEATS = 5


def create(connection, name, columns="id int, doc jsonb", column="doc",
           variants=VARIANTS):
    """The tables NAME_pglz to NAME_toaster."""
    for variant in variants:
        table = f"{name}_{variant}"
        am = "toaster" if variant == "toaster" else "heap"
        connection.execute(f"CREATE TABLE {table} ({columns}) USING {am}")
        alter = f"ALTER TABLE {table} ALTER {column} SET "
        if variant in ("pglz", "lz4"):
            connection.execute(f"{alter} COMPRESSION {variant}")
        elif variant == "external":
            connection.execute(f"{alter} STORAGE EXTERNAL")


def fill(connection, name, query, variants=VARIANTS):
    """The rows of the query into each of the tables."""
    for variant in variants:
        connection.execute(f"INSERT INTO {name}_{variant} {query}")
        connection.execute(f"ANALYZE {name}_{variant}")


def drop(connection, name, variants=VARIANTS):
    connection.execute("DROP TABLE " + ", ".join(
        f"{name}_{variant}" for variant in variants))


def turns(count, variants=VARIANTS):
    """(round, variant); each round begins with another variant."""
    for number in range(count):
        first = number % len(variants)
        for variant in variants[first:] + variants[:first]:
            yield number, variant


def sizes(connection, name, variants=VARIANTS):
    return {variant: connection.execute(
        "SELECT pg_total_relation_size(%s::regclass)",
        (f"{name}_{variant}",)).fetchone()[0] for variant in variants}


def flattened(connection):
    """How many documents the session has read whole."""
    row = connection.execute(
        "SELECT session FROM toaster.stats "
        "WHERE name = 'documents_flattened'").fetchone()
    return row[0] if row else 0


def counters(connection):
    """What the session has counted in toaster.stats."""
    return dict(connection.execute(
        "SELECT name, session FROM toaster.stats").fetchall())


def counted_since(connection, before):
    """How much that is more than it was; only what has changed."""
    return {name: count - before.get(name, 0)
            for name, count in counters(connection).items()
            if count != before.get(name, 0)}


def explain_turns(connection, statement, rounds, variants=VARIANTS):
    """variant -> samples of a statement with {table} in it, as dictionaries.

    statement: a string, or variant -> string
    """
    found = {variant: [] for variant in variants}
    for number, variant in turns(rounds, variants):
        text = statement if isinstance(statement, str) else statement[variant]
        sample = explain(connection, text)
        found[variant].append(sample.as_dict())
        if sample.milliseconds < SHORT_MS:
            found[variant] += [explain(connection, text).as_dict()
                               for _ in range(SHORT_REPEATS - 1)]
    return found


def per_variant(statement, variants=VARIANTS, **values):
    """variant -> the statement with its table, NAME_variant, put in."""
    return {variant: statement.format(variant=variant, **values)
            for variant in variants}
