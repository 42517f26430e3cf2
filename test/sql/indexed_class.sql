-- The indexed class of addresses: roots that a pointer cannot name by their
-- place are found through the TOAST relation's index.  Rare in real life, so
-- forced here; then everything that writes, copies or reindexes runs again.
CREATE SCHEMA indexed;
SET search_path = indexed, twin, public;
SET client_min_messages = warning;
SET jit = off;
CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA public;

CREATE TABLE stock (id int PRIMARY KEY, n int, v text, doc jsonb) USING heap;
INSERT INTO stock SELECT i, i, noise(i, 6000 * i), document(i, 50 * i) FROM generate_series(1, 6) i;
CREATE TABLE t (LIKE stock INCLUDING ALL) USING toaster;
CREATE INDEX by_md5 ON t (md5(v));
SET pg_toaster.force_indexed = on;
INSERT INTO t SELECT * FROM stock;

-- The table is right; every live root, and nothing else, stands in the index
-- of the TOAST relation under an id of its own.
CREATE FUNCTION state(roots int, OUT same boolean, OUT verify text, OUT in_index boolean, OUT amcheck boolean, OUT by_md5 boolean)
LANGUAGE plpgsql AS $$
DECLARE
  toast regclass;
  toast_index regclass;
  found_by_index bigint;
BEGIN
  same := same('stock', 't');
  verify := verify('t');
  SELECT reltoastrelid INTO toast FROM pg_class WHERE oid = 't'::regclass;
  SELECT indexrelid INTO toast_index FROM pg_index WHERE indrelid = toast;
  PERFORM bt_index_check(toast_index, true);
  amcheck := true;
  PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
  EXECUTE format('SELECT count(DISTINCT chunk_id) FROM %s WHERE chunk_id > 0', toast) INTO found_by_index;
  in_index := found_by_index = roots;
  SELECT count(*) = (SELECT count(*) FROM stock) INTO by_md5 FROM stock s JOIN t ON md5(t.v) = md5(s.v) AND t.id = s.id;
  PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
END
$$;
SELECT * FROM state(12);
SELECT trees('t', 'v') AS v, trees('t', 'doc') AS doc;

-- updates: a new id for every version, old snapshots see the old one
BEGIN;
DECLARE old CURSOR FOR SELECT count(*) FROM stock s JOIN t USING (id, v, doc);
UPDATE t SET n = n + 1;
UPDATE stock SET n = n + 1;
SELECT mark();
UPDATE t SET v = overlay(v placing 'changed' from 3000), doc = doc || '{"a": 1}';
SELECT since('nodes_shared') > 0 AS shared;
UPDATE t SET v = v || 'twice' WHERE id % 2 = 0;
SELECT verify('t');
SAVEPOINT a;
UPDATE t SET v = left(v, 3000);
DELETE FROM t WHERE id = 6;
ROLLBACK TO a;
UPDATE t SET v = v || 'kept';
FETCH old;
COMMIT;
UPDATE stock SET v = overlay(v placing 'changed' from 3000) || CASE id % 2 WHEN 0 THEN 'twice' ELSE '' END || 'kept',
  doc = doc || '{"a": 1}';
SELECT * FROM state(12);
UPDATE t SET v = NULL WHERE id = 1;
UPDATE t SET v = 'short' WHERE id = 2;
DELETE FROM t WHERE id = 3;
UPDATE stock SET v = NULL WHERE id = 1;
UPDATE stock SET v = 'short' WHERE id = 2;
DELETE FROM stock WHERE id = 3;
SELECT same('stock', 't'), verify('t');
INSERT INTO t VALUES (4, 0, 'loser', NULL), (3, 3, noise(30, 9000), document(3, 50)) ON CONFLICT (id) DO UPDATE SET v = t.v || excluded.v;
INSERT INTO t VALUES (4, 0, noise(9, 20000), NULL) ON CONFLICT DO NOTHING;
INSERT INTO stock VALUES (4, 0, 'loser', NULL), (3, 3, noise(30, 9000), document(3, 50)) ON CONFLICT (id) DO UPDATE SET v = stock.v || excluded.v;
UPDATE t SET v = noise(id, 9000) WHERE id < 3;
UPDATE stock SET v = noise(id, 9000) WHERE id < 3;
SELECT * FROM state(12);
VACUUM t;
SELECT * FROM state(12);

-- rewrites and reindexing
VACUUM FULL t;
SELECT * FROM state(12);
CLUSTER t USING t_pkey;
SELECT * FROM state(12);
REINDEX TABLE t;
REINDEX TABLE CONCURRENTLY t;
SELECT reltoastrelid::regclass AS toast FROM pg_class WHERE oid = 't'::regclass \gset
REINDEX TABLE :toast;
SELECT * FROM state(12);
REINDEX TABLE CONCURRENTLY :toast;
SELECT * FROM state(12);
\set VERBOSITY sqlstate
VACUUM FULL :toast;
\set VERBOSITY default
ALTER TABLE t ALTER n TYPE bigint;
ALTER TABLE stock ALTER n TYPE bigint;
SELECT * FROM state(12);
ALTER TABLE t SET ACCESS METHOD heap;
SELECT same('stock', 't');
ALTER TABLE t SET ACCESS METHOD toaster;
SELECT * FROM state(12);

-- copies
CREATE TABLE copy USING toaster AS TABLE t;
CREATE TABLE copy_heap USING heap AS TABLE t;
INSERT INTO copy SELECT id + 10, n, v, doc FROM copy;
DELETE FROM copy WHERE id < 10;
SELECT bool_and(c.v = s.v AND c.doc = s.doc), verify('copy') FROM copy c JOIN stock s ON c.id = s.id + 10;

-- both classes in one table: an edit changes the class of the root it writes,
-- slices and whole values are read either way
RESET pg_toaster.force_indexed;
UPDATE t SET v = overlay(v placing 'direct' from 500) WHERE id % 2 = 0;
UPDATE stock SET v = overlay(v placing 'direct' from 500) WHERE id % 2 = 0;
SELECT * FROM state(9);
VACUUM FULL t;
SELECT same('stock', 't'), verify('t');
SET pg_toaster.force_indexed = on;
UPDATE t SET v = v || 'indexed';
UPDATE stock SET v = v || 'indexed';
SELECT same('stock', 't'), verify('t'), bool_and(substr(v, 5000, 50) = (SELECT substr(v, 5000, 50) FROM stock s WHERE s.id = t.id))
FROM t;
CREATE TABLE bytes_t (id int, b bytea) USING toaster;
INSERT INTO bytes_t VALUES (1, bytes(1, 300000));
SELECT mark();
SELECT substr(b, 150000, 20) = substr(bytes(1, 300000), 150000, 20) FROM bytes_t;
SELECT since('documents_flattened') AS flattened, since('nodes_fetched') < 20 AS few_nodes;

-- small nodes on top
SET pg_toaster.node_size = 128;
SET pg_toaster.min_tree_size = 1;
CREATE TABLE small USING toaster AS TABLE t;
UPDATE small SET v = left(v, 2000) || 'inserted' || substr(v, 2001), n = n;
SELECT bool_and(m.v = left(s.v, 2000) || 'inserted' || substr(s.v, 2001) AND m.doc = s.doc), verify('small')
FROM small m JOIN stock s USING (id);
VACUUM FULL small;
SELECT bool_and(m.v = left(s.v, 2000) || 'inserted' || substr(s.v, 2001) AND m.doc = s.doc), verify('small')
FROM small m JOIN stock s USING (id);
DELETE FROM small;
DELETE FROM t;
SELECT chunks('small') AS small, chunks('t') AS t;
VACUUM t;
SELECT verify('t');
DROP SCHEMA indexed CASCADE;
