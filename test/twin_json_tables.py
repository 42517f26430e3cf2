"""Tables of the document twin: all that may stand around a document.

d0 and d1 have indexes only; d2 has constraints, generated columns, triggers,
a view and a table that refers to it; d3 is partitioned, with rows that lie in
other orders and in heap; d4 has policies, which hold for the role twin_user.
"""

SETUP = (
    "DROP SCHEMA IF EXISTS h CASCADE",
    "DROP SCHEMA IF EXISTS t CASCADE",
    "DROP TYPE IF EXISTS twin_ab",
    "CREATE SCHEMA h",
    "CREATE SCHEMA t",
    "CREATE TYPE twin_ab AS (a jsonb, b jsonb)",
    "DO $$ BEGIN CREATE ROLE twin_user; EXCEPTION WHEN duplicate_object"
    " THEN NULL; END $$")

READ = """
CREATE TABLE {s}.d0 (id int PRIMARY KEY, n int, doc jsonb) USING {am};
CREATE TABLE {s}.d1 (id int PRIMARY KEY, n int, doc jsonb, other jsonb)
    USING {am};
CREATE TABLE {s}.kept (id int, part jsonb, pair twin_ab, list jsonb[])
    USING {am};
CREATE TABLE {s}.plain (id int, part jsonb, pair twin_ab, list jsonb[])
    USING heap;
CREATE INDEX ON {s}.d0 (md5(doc ->> 'a'));
CREATE INDEX ON {s}.d0 (jsonb_typeof(doc -> 'a'));
CREATE INDEX ON {s}.d1 USING gin (doc jsonb_path_ops);
CREATE INDEX ON {s}.d1 USING gin ((other -> 'a'));
CREATE FUNCTION {s}.part(jsonb, text) RETURNS jsonb LANGUAGE sql IMMUTABLE
    AS 'SELECT $1 -> $2';
CREATE VIEW {s}.view_d0 AS SELECT id, doc -> 'a' AS a, doc ->> 'b' AS b,
    {f}jsonb_typeof(doc) AS kind FROM {s}.d0;
CREATE VIEW {s}.view_d1 AS SELECT id, {f}jsonb_object_field(doc, 'a') AS a,
    other #>> '{0,a}' AS b, jsonb_typeof(doc) AS kind FROM {s}.d1
"""

# Ask for what a BEFORE trigger does by the setting twin.mode.
BEFORE = """
CREATE FUNCTION {s}.before() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
    mode text := coalesce(current_setting('twin.mode', true), '');
    was jsonb;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        was := OLD.doc;
    END IF;
    CASE mode
        WHEN 'look' THEN
            IF NEW.doc -> 'a' IS NULL OR NEW.doc ? 'b' THEN
                NEW.n := NEW.n + 1;
            END IF;
        WHEN 'whole' THEN
            NEW.n := length(NEW.doc::text) % 100;
        WHEN 'set' THEN
            NEW.doc := jsonb_set(NEW.doc, '{a}', to_jsonb(NEW.n));
        WHEN 'subscript' THEN
            NEW.doc['trigger'] := to_jsonb(NEW.n);
            NEW.doc['a']['b'] := was -> 'a';
        WHEN 'remove' THEN
            NEW.doc := NEW.doc - 'a' - 0;
        WHEN 'null' THEN
            NEW.doc := NULL;
        WHEN 'old' THEN
            NEW.doc := was;
        WHEN 'mix' THEN
            NEW.doc := jsonb_build_array(was -> 'a', NEW.doc -> 'a', NEW.n);
        WHEN 'both' THEN
            NEW.doc := jsonb_set(was, '{new}', NEW.doc -> 'a');
        WHEN 'return old' THEN
            RETURN OLD;
        WHEN 'skip' THEN
            RETURN NULL;
        WHEN 'skip some' THEN
            IF NEW.id % 2 = 0 THEN
                RETURN NULL;
            END IF;
        WHEN 'fail' THEN
            RAISE EXCEPTION 'refused: %', left((NEW.doc -> 'a')::text, 200);
        ELSE
            NULL;
    END CASE;
    RETURN NEW;
END $body$
"""

BEFORE_MODES = ("", "look", "whole", "set", "subscript", "remove", "null",
                "old", "mix", "both", "return old", "skip", "skip some",
                "fail")

AFTER_ROW = """
CREATE FUNCTION {s}.after_row() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    IF current_setting('twin.log', true) = 'on' THEN
        INSERT INTO {s}.log VALUES ('row', NEW.id, OLD.doc -> 'a', NEW.doc,
            md5((NEW.doc -> 'b')::text), OLD.doc = NEW.doc);
        INSERT INTO {s}.log VALUES ('old', OLD.id, NEW.doc -> 'a', OLD.doc,
            NEW.doc ->> 0, jsonb_cmp(OLD.doc, NEW.doc) = 0);
    END IF;
    RETURN NULL;
END $body$
"""

AFTER_STATEMENT = """
CREATE FUNCTION {s}.after_all() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    IF current_setting('twin.log', true) = 'on' THEN
        INSERT INTO {s}.log SELECT 'all', o.id, n.doc -> 'a', n.doc,
            md5(o.doc::text), o.doc -> 'b' = n.doc -> 'b'
            FROM old_rows o JOIN new_rows n USING (id);
    END IF;
    RETURN NULL;
END $body$
"""

CONSTRAINED = """
CREATE TABLE {s}.d2 (id int PRIMARY KEY, n int, doc jsonb,
    name text GENERATED ALWAYS AS (left(doc ->> 'a', 100)) STORED,
    deep jsonb GENERATED ALWAYS AS (doc #> '{a,b}') STORED,
    CONSTRAINT odd CHECK ((doc -> 'a') IS DISTINCT FROM 'true'),
    CONSTRAINT kind CHECK (jsonb_typeof(doc) <> 'boolean'),
    CONSTRAINT bad CHECK (NOT doc ? 'bad')) USING {am};
CREATE INDEX ON {s}.d2 (md5(doc ->> 'b'));
CREATE UNIQUE INDEX ON {s}.d2 (id, md5(doc #>> '{a,b}'));
CREATE INDEX ON {s}.d2 (id) WHERE doc ? 'a';
CREATE INDEX ON {s}.d2 (n) WHERE doc ->> 'c' IS NOT NULL;
CREATE TABLE {s}.child (id int PRIMARY KEY, ref int REFERENCES {s}.d2
    ON UPDATE CASCADE ON DELETE SET NULL, doc jsonb) USING {am};
CREATE TABLE {s}.log (op text, id int, part jsonb, doc jsonb, digest text,
    same boolean) USING {am};
CREATE VIEW {s}.view_d2 AS SELECT id, n, doc FROM {s}.d2
    WHERE doc -> 'a' IS NOT NULL WITH CHECK OPTION;
CREATE TRIGGER before BEFORE INSERT OR UPDATE ON {s}.d2
    FOR EACH ROW EXECUTE FUNCTION {s}.before();
CREATE TRIGGER after_row AFTER UPDATE ON {s}.d2
    FOR EACH ROW WHEN (OLD.doc -> 'a' IS DISTINCT FROM NEW.doc -> 'a'
        OR NEW.n < 5) EXECUTE FUNCTION {s}.after_row();
CREATE TRIGGER after_all AFTER UPDATE ON {s}.d2
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION {s}.after_all()
"""

PARTITIONED = """
CREATE TABLE {s}.d3 (id int, n int, doc jsonb, PRIMARY KEY (id, n))
    PARTITION BY RANGE (n);
CREATE TABLE {s}.d3_a PARTITION OF {s}.d3
    FOR VALUES FROM (MINVALUE) TO (3) USING {am};
CREATE TABLE {s}.d3_b (doc jsonb, gone text, n int NOT NULL, id int NOT NULL)
    USING {am};
ALTER TABLE {s}.d3_b DROP gone;
ALTER TABLE {s}.d3 ATTACH PARTITION {s}.d3_b FOR VALUES FROM (3) TO (7);
CREATE TABLE {s}.d3_c PARTITION OF {s}.d3
    FOR VALUES FROM (7) TO (MAXVALUE) USING heap;
CREATE INDEX ON {s}.d3 (md5(doc ->> 'a'))
"""

SECURED = """
CREATE TABLE {s}.d4 (id int PRIMARY KEY, n int, doc jsonb) USING {am};
ALTER TABLE {s}.d4 ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON {s}.d4 FOR SELECT
    USING (doc ->> 'c' IS DISTINCT FROM 'hidden');
CREATE POLICY added ON {s}.d4 FOR INSERT WITH CHECK (NOT doc ? 'bad');
CREATE POLICY changed ON {s}.d4 FOR UPDATE
    USING (jsonb_typeof(doc) <> 'string') WITH CHECK (NOT doc ? 'bad'
        AND doc -> 'a' IS DISTINCT FROM '[]');
GRANT USAGE ON SCHEMA {s} TO twin_user;
GRANT SELECT, INSERT, UPDATE ON {s}.d4 TO twin_user
"""


def statements():
    """Return the templates that create all of it."""
    texts = []
    for text in (READ, CONSTRAINED.replace(
            "CREATE TRIGGER before", "{functions};\nCREATE TRIGGER before"),
                 PARTITIONED, SECURED):
        for one in text.split(";\n"):
            texts += [BEFORE, AFTER_ROW, AFTER_STATEMENT] \
                if one.strip() == "{functions}" else [one]
    return texts


class Table:
    """One pair of tables."""

    def __init__(self, name, columns, computed=(), parts=(), key="id"):
        self.name = name
        self.columns = columns
        self.computed = computed
        self.parts = parts or (name,)
        self.key = key

    def path(self):
        """Return the name of the table in a statement template."""
        return "{s}." + self.name

    def names(self):
        """Return the columns that are compared."""
        return list(self.columns) + list(self.computed)


READ_TABLES = (Table("d0", ("doc",)), Table("d1", ("doc", "other")))

EDITED_TABLES = (
    Table("d2", ("doc",), ("name", "deep")),
    Table("d3", ("doc",), parts=("d3_a", "d3_b"), key="id, n"),
    Table("d4", ("doc",)))

# What toaster.verify looks at
VERIFIED = [part for table in READ_TABLES + EDITED_TABLES
            for part in table.parts] + ["kept", "child", "log"]
