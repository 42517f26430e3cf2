-- Every kind of relation that may hold trees: temporary and unlogged tables,
-- partitions with rows that move, inheritance, materialized views, generated
-- columns, constraints and row security work as on heap.
CREATE SCHEMA objects;
SET search_path = objects, twin, public;
SET client_min_messages = warning;
SET jit = off;
\set VERBOSITY terse

CREATE TABLE stock (id int PRIMARY KEY, k int, v text, doc jsonb) USING heap;
INSERT INTO stock SELECT i, i % 3, noise(i, 4000 * i), document(i, 40 * i) FROM generate_series(1, 6) i;

--
-- Temporary tables, with each ON COMMIT
--
CREATE TEMP TABLE temp_t USING toaster AS TABLE stock;
UPDATE temp_t SET v = overlay(v placing 'changed' from 100);
SELECT bool_and(t.v = overlay(s.v placing 'changed' from 100)), verify('temp_t'), trees('temp_t', 'v')
FROM temp_t t JOIN stock s USING (id);
VACUUM FULL temp_t;
CREATE INDEX ON temp_t (md5(v));
SELECT bool_and(t.doc = s.doc), verify('temp_t') FROM temp_t t JOIN stock s USING (id);
TRUNCATE temp_t;
INSERT INTO temp_t SELECT * FROM stock WHERE id = 6;
SELECT v = noise(6, 24000), verify('temp_t') FROM temp_t;
BEGIN;
CREATE TEMP TABLE temp_delete (LIKE stock) USING toaster ON COMMIT DELETE ROWS;
CREATE TEMP TABLE temp_drop (LIKE stock) USING toaster ON COMMIT DROP;
INSERT INTO temp_delete SELECT * FROM stock;
INSERT INTO temp_drop SELECT * FROM temp_delete;
SELECT same('stock', 'temp_delete'), same('stock', 'temp_drop'), verify('temp_drop');
COMMIT;
SELECT count(*), chunks('temp_delete'), to_regclass('temp_drop') FROM temp_delete;
INSERT INTO temp_delete SELECT * FROM stock;
SELECT count(*), verify('temp_delete') FROM temp_delete;

--
-- Unlogged
--
CREATE UNLOGGED TABLE unlogged_t (LIKE stock INCLUDING ALL) USING toaster;
INSERT INTO unlogged_t SELECT * FROM stock;
UPDATE unlogged_t SET v = v || 'x';
DELETE FROM unlogged_t WHERE id = 1;
SELECT bool_and(t.v = s.v || 'x'), verify('unlogged_t') FROM unlogged_t t JOIN stock s USING (id);

--
-- Partitions: of heap and of toaster, rows that move between them, attach,
-- detach, an index and keys over all of them
--
CREATE TABLE parts (id int, k int, v text, doc jsonb, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (0) USING toaster;
CREATE TABLE part_1 (doc jsonb, gone text, v text, k int NOT NULL, id int NOT NULL) USING toaster; -- other order
ALTER TABLE part_1 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION part_1 FOR VALUES IN (1);
CREATE TABLE part_2 PARTITION OF parts FOR VALUES IN (2) USING heap;
CREATE TABLE part_3 PARTITION OF parts FOR VALUES IN (3, 4) PARTITION BY LIST (k);
CREATE TABLE part_34 PARTITION OF part_3 FOR VALUES IN (3, 4) USING toaster;
CREATE INDEX ON parts (md5(v));
INSERT INTO parts SELECT * FROM stock;
CREATE FUNCTION parts_state(OUT same boolean, OUT verify text, OUT trees bigint, OUT "rows" text)
LANGUAGE sql AS $$
  SELECT same('stock', 'parts'), concat_ws(', ', verify('part_0'), verify('part_1'), verify('part_34')),
    trees('part_0', 'doc') + trees('part_1', 'doc') + trees('part_34', 'doc'),
    (SELECT string_agg(id || ' in ' || tableoid::regclass, ', ' ORDER BY id) FROM parts)
$$;
SELECT * FROM parts_state();
UPDATE parts SET k = (k + 1) % 4;
UPDATE stock SET k = (k + 1) % 4;
SELECT * FROM parts_state();
UPDATE parts SET k = (k + 1) % 4, v = overlay(v placing 'moved' from 100);
UPDATE stock SET k = (k + 1) % 4, v = overlay(v placing 'moved' from 100);
SELECT * FROM parts_state();
UPDATE parts SET k = 4 WHERE k = 3;
UPDATE stock SET k = 4 WHERE k = 3;
INSERT INTO parts SELECT * FROM stock WHERE id = 2 ON CONFLICT (id, k) DO UPDATE SET v = parts.v || excluded.v;
UPDATE stock SET v = v || v WHERE id = 2;
SELECT * FROM parts_state();
ALTER TABLE parts DETACH PARTITION part_1;
ALTER TABLE parts ATTACH PARTITION part_1 FOR VALUES IN (1);
TRUNCATE part_2;
DELETE FROM stock WHERE k = 2;
VACUUM FULL parts;
CLUSTER parts USING parts_pkey;
SELECT * FROM parts_state();
SET enable_seqscan = off;
SELECT count(*) FROM stock s JOIN parts p ON md5(s.v) = md5(p.v);
RESET enable_seqscan;
SET default_table_access_method = toaster;
CREATE TABLE part_5 PARTITION OF parts FOR VALUES IN (5);
RESET default_table_access_method;
SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE c.oid = 'part_5'::regclass;
-- the TOAST relation of a toaster table, and only it, is made of our chunks
SELECT c.relname, a.amname FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid JOIN pg_am a ON a.oid = t.relam
WHERE c.relnamespace = 'objects'::regnamespace AND c.relname LIKE 'part%' ORDER BY 1;

--
-- Inheritance
--
CREATE TABLE ancestor (LIKE stock) USING toaster;
CREATE TABLE heir (extra text) INHERITS (ancestor) USING toaster;
CREATE TABLE heap_heir () INHERITS (ancestor) USING heap;
INSERT INTO ancestor SELECT * FROM stock WHERE k = 0;
INSERT INTO heir SELECT *, noise(id, 5000) FROM stock WHERE k = 1;
INSERT INTO heap_heir SELECT * FROM stock WHERE k > 1;
SELECT same('stock', 'ancestor'), verify('ancestor'), verify('heir');
UPDATE ancestor SET v = v || 'all', doc = doc || '{"all": 1}';
UPDATE stock SET v = v || 'all', doc = doc || '{"all": 1}';
SELECT same('stock', 'ancestor'), verify('ancestor'), verify('heir');
ALTER TABLE ancestor ADD COLUMN more text DEFAULT 'more';
SELECT bool_and(extra = noise(id, 5000) AND more = 'more'), verify('heir') FROM heir;
DELETE FROM ancestor;
SELECT chunks('ancestor'), chunks('heir'), chunks('heap_heir');

--
-- Materialized views
--
CREATE TABLE base (LIKE stock INCLUDING ALL) USING toaster;
INSERT INTO base SELECT * FROM stock;
CREATE MATERIALIZED VIEW mv USING toaster AS SELECT * FROM base WHERE id > 0;
CREATE UNIQUE INDEX ON mv (id);
SELECT same('stock', 'mv'), verify('mv'), trees('mv', 'v') = count(*) AS trees FROM mv;
UPDATE base SET v = overlay(v placing 'refreshed' from 50) WHERE id % 2 = 0;
UPDATE stock SET v = overlay(v placing 'refreshed' from 50) WHERE id % 2 = 0;
DELETE FROM base WHERE id = 3;
DELETE FROM stock WHERE id = 3;
INSERT INTO base VALUES (9, 9, noise(9, 50000), document(9, 100));
INSERT INTO stock VALUES (9, 9, noise(9, 50000), document(9, 100));
SELECT mark();
REFRESH MATERIALIZED VIEW CONCURRENTLY mv;
SELECT same('stock', 'mv'), verify('mv');
-- exact flat forms: a second refresh finds nothing to change
CREATE TABLE places AS SELECT id, ctid AS place, xmin AS x FROM mv;
REFRESH MATERIALIZED VIEW CONCURRENTLY mv;
SELECT count(*) = (SELECT count(*) FROM mv) AS untouched FROM mv JOIN places p ON p.id = mv.id AND mv.ctid = p.place AND mv.xmin = p.x;
UPDATE base SET v = v || 'again';
UPDATE stock SET v = v || 'again';
REFRESH MATERIALIZED VIEW mv;
SELECT same('stock', 'mv'), verify('mv');
REFRESH MATERIALIZED VIEW mv WITH NO DATA;
SELECT chunks('mv');
CREATE MATERIALIZED VIEW mv_heap USING heap AS TABLE base;
DROP TABLE base CASCADE;

--
-- Generated columns, CHECK, defaults, identity, NOT NULL
--
CREATE TABLE generated (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text NOT NULL DEFAULT noise(77, 6000),
  upper_v text GENERATED ALWAYS AS (upper(v)) STORED, size int GENERATED ALWAYS AS (length(v)) STORED,
  CHECK (right(v, 3) <> 'bad'), CHECK (length(v) < 50000)) USING toaster;
INSERT INTO generated DEFAULT VALUES;
INSERT INTO generated (v) VALUES (noise(2, 9000)), ('short');
UPDATE generated SET v = v || 'x' WHERE id < 3;
UPDATE generated SET v = v || 'bad';
UPDATE generated SET v = NULL;
INSERT INTO generated (v) VALUES (noise(3, 60000));
SELECT bool_and(upper_v = upper(v) AND size = length(v)), verify('generated'), trees('generated', 'upper_v') FROM generated;
ALTER TABLE generated ADD CONSTRAINT checked CHECK (position('zz' in v) = 0);
ALTER TABLE generated ADD CONSTRAINT no_x CHECK (right(v, 1) <> 'x');

--
-- Views that are updated, rules, row security
--
CREATE TABLE secured (id int, owner name DEFAULT current_user, v text, doc jsonb) USING toaster;
INSERT INTO secured SELECT id, CASE WHEN id % 2 = 0 THEN current_user ELSE 'nobody' END, noise(id, 9000), document(id, 50)
FROM generate_series(1, 4) id;
CREATE VIEW updatable AS SELECT id, v, doc FROM secured WHERE length(v) > 100 WITH CHECK OPTION;
UPDATE updatable SET v = v || 'view' WHERE id = 1;
UPDATE updatable SET v = 'too short' WHERE id = 1;
INSERT INTO updatable VALUES (7, noise(7, 9000), NULL);
DELETE FROM updatable WHERE id = 7;
SELECT v = noise(1, 9000) || 'view' AS equal, verify('secured') FROM updatable WHERE id = 1;
CREATE ROLE regress_toaster_reader;
GRANT ALL ON SCHEMA objects, twin TO regress_toaster_reader;
GRANT ALL ON secured TO regress_toaster_reader;
ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
CREATE POLICY by_document ON secured USING (doc ? 'key50' AND left(v, 4) <> 'gone')
  WITH CHECK (owner <> 'nobody' AND v NOT LIKE '%forbidden');
SET ROLE regress_toaster_reader;
SELECT count(*) FROM secured;
UPDATE secured SET v = 'gone' || v WHERE id = 2;
UPDATE secured SET v = v || 'forbidden';
SELECT count(*) FROM secured;
INSERT INTO secured (id, v, doc) VALUES (8, noise(8, 9000), document(8, 50)) RETURNING id, v = noise(8, 9000) AS equal;
RESET ROLE;
SELECT verify('secured'), count(*) FROM secured;
DROP OWNED BY regress_toaster_reader;
DROP ROLE regress_toaster_reader;

--
-- Dropped with everything: no file of a TOAST relation stays behind
--
SELECT reltoastrelid AS toast FROM pg_class WHERE oid = 'secured'::regclass \gset
DROP TABLE secured CASCADE;
SELECT count(*) FROM pg_class WHERE oid = :toast;
DROP SCHEMA objects CASCADE;
