-- Hazard F1: no copy of a row may carry a pointer into the table that it came
-- from.  Each way out of a table is followed by TRUNCATE or DROP of the source
-- and by new rows in its place; then the copy is read.
CREATE SCHEMA leaks;
SET search_path = leaks, twin, public;
SET client_min_messages = warning;

CREATE TABLE truth (id int PRIMARY KEY, n int, v text, doc jsonb) USING heap;
INSERT INTO truth SELECT i, i, noise(i, 8000 * i), document(i, 60 * i) FROM generate_series(1, 3) i;
CREATE TABLE source (LIKE truth INCLUDING ALL) USING toaster;
INSERT INTO source SELECT * FROM truth;

-- Empty the source and let other values take the places of the old ones, so
-- that a stale pointer would read another row's data or nothing at all; then
-- put the true rows back.
CREATE PROCEDURE reuse() LANGUAGE plpgsql AS $$
BEGIN
  TRUNCATE source;
  INSERT INTO source SELECT id + 10, n, noise(id + 50, length(v)), document(id + 50, 60 * id) FROM truth;
END
$$;
CREATE PROCEDURE refill() LANGUAGE plpgsql AS $$
BEGIN
  TRUNCATE source;
  INSERT INTO source SELECT * FROM truth;
END
$$;

--
-- Copies of the scan's own tuple: no projection between scan and store
--
CREATE TABLE ctas_heap USING heap AS SELECT * FROM source;
CREATE TABLE ctas_toaster USING toaster AS SELECT * FROM source;
CREATE TABLE insert_heap (LIKE truth) USING heap;
INSERT INTO insert_heap SELECT * FROM source;
CREATE TABLE insert_toaster (LIKE truth) USING toaster;
INSERT INTO insert_toaster SELECT * FROM source;
CREATE TABLE table_heap (LIKE truth) USING heap;
INSERT INTO table_heap TABLE source;
CREATE TEMP TABLE into_temp AS SELECT * FROM source ORDER BY id;
SELECT * INTO into_table FROM source WHERE id > 0;
CREATE MATERIALIZED VIEW matview_heap USING heap AS SELECT * FROM source;
CREATE TABLE moved_heap (LIKE truth) USING heap;
WITH gone AS (DELETE FROM source RETURNING *) INSERT INTO moved_heap SELECT * FROM gone;
CALL refill();
CREATE TABLE merge_heap (LIKE truth) USING heap;
MERGE INTO merge_heap h USING source s ON h.id = s.id
  WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, s.v, s.doc);
CREATE TABLE merge_toaster (LIKE truth) USING toaster;
MERGE INTO merge_toaster h USING source s ON h.id = s.id
  WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n, s.v, s.doc);
CREATE TABLE parts (LIKE truth) PARTITION BY LIST (id);
CREATE TABLE part_heap PARTITION OF parts FOR VALUES IN (1, 2) USING heap;
CREATE TABLE part_toaster PARTITION OF parts DEFAULT USING toaster;
INSERT INTO parts SELECT * FROM source;
CREATE TABLE copied_toaster (LIKE truth) USING toaster;
INSERT INTO copied_toaster SELECT * FROM insert_toaster;
UPDATE copied_toaster c SET v = s.v, doc = s.doc FROM source s WHERE c.id = s.id % 3 + 1;
CALL reuse();
SELECT rel, same('truth', rel) FROM unnest('{ctas_heap, ctas_toaster, insert_heap, insert_toaster,
  table_heap, into_temp, into_table, matview_heap, moved_heap, merge_heap, merge_toaster, parts}'::regclass[]) rel;
SELECT verify('ctas_toaster'), verify('insert_toaster'), verify('merge_toaster'),
  verify('part_toaster'), verify('copied_toaster');
SELECT bool_and(c.v = s.v AND c.doc = s.doc) FROM copied_toaster c JOIN truth s ON c.id = s.id % 3 + 1;
CALL refill();

-- into itself: two rows, two trees
INSERT INTO source SELECT id + 3, n, v, doc FROM source;
ALTER TABLE source DROP CONSTRAINT source_pkey;
INSERT INTO source SELECT * FROM source;
SELECT verify('source'), count(DISTINCT root) AS roots
FROM (SELECT (SELECT address FROM toaster.tree('source', ctid, 'v') ORDER BY level DESC LIMIT 1) AS root
      FROM source) r;
DELETE FROM source WHERE ctid IN (SELECT min(ctid) FROM source GROUP BY id);
DELETE FROM source WHERE id > 3;
VACUUM source;
SELECT same('truth', 'source'), verify('source');
ALTER TABLE source ADD PRIMARY KEY (id);

-- a copy of a copy, and the source dropped
CREATE TABLE second USING toaster AS TABLE source;
CREATE TABLE third USING heap AS TABLE second;
CREATE TABLE fourth USING toaster AS TABLE third;
DROP TABLE second;
SELECT same('truth', 'third'), same('truth', 'fourth'), verify('fourth');

--
-- Rows within rows: triggers that log OLD and NEW, ROW(), arrays of rows
--
CREATE TABLE log (id int GENERATED ALWAYS AS IDENTITY, op text, one source, other source) USING heap;
CREATE TABLE log_toaster (LIKE log INCLUDING ALL) USING toaster;
CREATE FUNCTION log_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO log (op, other) VALUES (TG_OP, NEW);
    INSERT INTO log_toaster (op, other) VALUES (TG_OP, NEW);
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO log (op, one, other) VALUES (TG_OP, OLD, NEW);
    INSERT INTO log_toaster (op, one, other) VALUES (TG_OP, OLD, NEW);
  ELSE
    INSERT INTO log (op, one) VALUES (TG_OP, OLD);
    INSERT INTO log_toaster (op, one) VALUES (TG_OP, OLD);
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER log_row AFTER INSERT OR UPDATE OR DELETE ON source FOR EACH ROW EXECUTE FUNCTION log_row();
CREATE TABLE images (LIKE truth) USING heap;
CREATE FUNCTION log_images() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO images SELECT * FROM new_rows;
  RETURN NULL;
END
$$;
CREATE TRIGGER log_images AFTER UPDATE ON source REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION log_images();
UPDATE source SET n = n WHERE id = 1;
UPDATE source SET v = v || 'more' WHERE id = 2;
DELETE FROM source WHERE id = 3;
INSERT INTO source SELECT * FROM truth WHERE id = 3;
DROP TRIGGER log_row ON source;
DROP TRIGGER log_images ON source;
CREATE TYPE record_of AS (v text, doc jsonb);
CREATE TABLE composites (id int, r source, list source[], part record_of) USING heap;
UPDATE source SET v = t.v FROM truth t WHERE t.id = source.id;
INSERT INTO composites SELECT id, s, ARRAY[s, s], ROW(s.v, s.doc)::record_of FROM source s;
CREATE TABLE composites_toaster USING toaster AS TABLE composites;
CALL reuse();
SELECT l.id, op, one IS NULL OR one *= t AS old, other IS NULL OR other *= t
  OR op = 'UPDATE' AND other *= ROW(t.id, t.n, t.v || 'more', t.doc)::source AS new
FROM (TABLE log UNION ALL TABLE log_toaster) l
JOIN truth t ON t.id = coalesce((one).id, (other).id) ORDER BY l.id, op;
SELECT id, i.v = CASE id WHEN 2 THEN t.v || 'more' ELSE t.v END AND i.doc = t.doc AS image
FROM images i JOIN truth t USING (id) ORDER BY id;
SELECT bool_and(c.r *= t AND c.list[1] *= t AND c.list[2] *= t AND (c.part).v = t.v AND (c.part).doc = t.doc)
FROM (TABLE composites UNION ALL TABLE composites_toaster) c JOIN truth t USING (id);
SELECT verify('log_toaster'), verify('composites_toaster');
CALL refill();

--
-- Rows that functions keep: RETURN QUERY, RETURN NEXT, record variables over
-- the end of the transaction, cursors WITH HOLD
--
CREATE FUNCTION return_query() RETURNS SETOF source LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT * FROM source;
END
$$;
CREATE TABLE return_query USING heap AS SELECT * FROM return_query();
CREATE TABLE return_from USING heap AS SELECT f.* FROM source, LATERAL return_query() f WHERE source.id = 1;
CREATE FUNCTION return_next() RETURNS SETOF source LANGUAGE plpgsql AS $$
DECLARE
  r source;
BEGIN
  FOR r IN SELECT * FROM source LOOP
    RETURN NEXT r;
  END LOOP;
END
$$;
CREATE TABLE return_next USING heap AS SELECT * FROM return_next();
CREATE FUNCTION sql_rows() RETURNS SETOF source LANGUAGE sql AS 'SELECT * FROM source';
CREATE TABLE sql_rows USING heap AS SELECT * FROM sql_rows();
CREATE TABLE returning_rows (id int, r source) USING heap;
WITH u AS (UPDATE source SET n = n RETURNING source) INSERT INTO returning_rows SELECT (u.source).id, u.source FROM u;
CALL reuse();
SELECT same('truth', 'return_query'), same('truth', 'return_next'), same('truth', 'sql_rows'),
  same('truth', 'return_from');
SELECT bool_and(r *= t) FROM returning_rows JOIN truth t USING (id);
CALL refill();

CREATE TABLE kept (id int, kind text, r source, v text) USING heap;
CREATE PROCEDURE keep() LANGUAGE plpgsql AS $$
DECLARE
  whole source;
  any_record record;
  scalar text;
  list source[];
BEGIN
  SELECT * INTO whole FROM source WHERE id = 1;
  SELECT * INTO any_record FROM source WHERE id = 2;
  SELECT v INTO scalar FROM source WHERE id = 3;
  SELECT array_agg(s ORDER BY id) INTO list FROM source s;
  COMMIT;
  CALL reuse();
  COMMIT;
  INSERT INTO kept VALUES (1, 'row', whole, NULL), (2, 'record', ROW(any_record.id, any_record.n, any_record.v, any_record.doc), NULL),
    (3, 'scalar', NULL, scalar), (3, 'array', list[3], list[3].v);
END
$$;
CALL keep();
SELECT k.id, kind, r IS NULL OR r *= t AS row, k.v IS NULL OR k.v = t.v AS value
FROM kept k JOIN truth t USING (id) ORDER BY id, kind;
CALL refill();

BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT id, v, doc, s FROM source s ORDER BY id;
COMMIT;
CALL reuse();
DO $$
DECLARE
  c refcursor := 'held';
  h record;
BEGIN
  CREATE TABLE held_rows (id int, v text, doc jsonb, r source) USING heap;
  LOOP
    FETCH c INTO h;
    EXIT WHEN NOT FOUND;
    INSERT INTO held_rows VALUES (h.id, h.v, h.doc, h.s);
  END LOOP;
END
$$;
SELECT id, h.v = t.v AS v, h.doc = t.doc AS doc, h.r *= t AS row FROM held_rows h JOIN truth t USING (id);
CLOSE held;
CALL refill();

--
-- An UPDATE that changes nothing is seen as such
--
CREATE TRIGGER suppress BEFORE UPDATE ON source FOR EACH ROW
  EXECUTE FUNCTION suppress_redundant_updates_trigger();
WITH u AS (UPDATE source SET n = n RETURNING 1) SELECT count(*) AS updated FROM u;
WITH u AS (UPDATE source SET v = v RETURNING 1) SELECT count(*) AS updated FROM u;
WITH u AS (UPDATE source SET n = n + 1 RETURNING 1) SELECT count(*) AS updated FROM u;
DROP TRIGGER suppress ON source;
SELECT verify('source');

--
-- The flag on disk tells the truth: a row with a pointer says so
--
CREATE EXTENSION IF NOT EXISTS pageinspect SCHEMA public;
SELECT count(*) >= 3 AS rows, bool_and(t_infomask & 4 = 4) AS flagged
FROM generate_series(0, pg_relation_size('source') / 8192 - 1) page,
  heap_page_items(get_raw_page('source', page::int)) WHERE t_data IS NOT NULL;
DROP SCHEMA leaks CASCADE;
