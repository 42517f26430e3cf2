-- Hazard S5 and the seam with heap, with every cache thrown away at every
-- chance (debug_discard_caches, where the server was built with it; elsewhere
-- the same statements run without): writes, builds and rewrites keep working
-- when the relation's cache entry is rebuilt under them.
CREATE SCHEMA discard;
SET search_path = discard, twin, public;
SET client_min_messages = warning;
SET jit = off;
CREATE TABLE stock (id int PRIMARY KEY, v text, doc jsonb) USING heap;
INSERT INTO stock SELECT i, noise(i, 3000 * i), document(i, 20 * i) FROM generate_series(1, 3) i;
CREATE TABLE t (LIKE stock INCLUDING ALL) USING toaster;
CREATE INDEX by_md5 ON stock (md5(v));

DO $$
BEGIN
  PERFORM set_config('debug_discard_caches', '1', false);
EXCEPTION WHEN invalid_parameter_value THEN
  NULL;
END
$$;
INSERT INTO t SELECT * FROM stock;
CREATE INDEX by_text ON t (md5(v)) WHERE length(doc::text) > 10;
CREATE UNIQUE INDEX by_doc ON t ((doc ->> 'key1'), id);
UPDATE t SET v = overlay(v placing 'changed' from 1000);
UPDATE t SET id = id + 10 WHERE id = 3;
UPDATE t SET id = id - 10, doc = doc || '{"a": 1}' WHERE id = 13;
DELETE FROM t WHERE id = 2;
INSERT INTO t VALUES (1, 'loser', '{}'), (2, noise(2, 6000), NULL)
  ON CONFLICT (id) DO UPDATE SET v = t.v || excluded.v;
BEGIN;
SAVEPOINT a;
UPDATE t SET v = v || 'lost';
ROLLBACK TO a;
UPDATE t SET v = v || 'kept';
COMMIT;
VACUUM t;
VACUUM FULL t;
CLUSTER t USING t_pkey;
REINDEX TABLE t;
ALTER TABLE t ALTER id TYPE bigint;
ALTER TABLE t SET ACCESS METHOD heap;
ALTER TABLE t SET ACCESS METHOD toaster;
CREATE INDEX CONCURRENTLY by_concurrent ON t (md5(doc::text));
COPY (SELECT count(*) FROM t WHERE length(v) > 100) TO STDOUT;
RESET debug_discard_caches;

SELECT t.id, t.v = CASE t.id WHEN 1 THEN overlay(s.v placing 'changed' from 1000) || 'loser'
                   WHEN 2 THEN s.v ELSE overlay(s.v placing 'changed' from 1000) END || 'kept' AS v,
  t.doc = CASE t.id WHEN 3 THEN s.doc || '{"a": 1}' ELSE s.doc END AS doc
FROM t JOIN stock s USING (id) ORDER BY id;
SELECT verify('t'), trees('t', 'v'), trees('t', 'doc');
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE md5(v) IN (SELECT md5(v) FROM t) AND length(doc::text) > 10;
DROP SCHEMA discard CASCADE;
