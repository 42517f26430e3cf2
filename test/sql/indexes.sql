-- Indexes on expressions and predicates that read trees, of every access
-- method, built in every way: the index answers what a table scan answers.
CREATE SCHEMA indexes;
SET search_path = indexes, twin, public;
SET client_min_messages = warning;
SET jit = off;
\set VERBOSITY terse
CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA public;

CREATE TABLE t (id int, v text, doc jsonb) USING toaster;
INSERT INTO t SELECT i, CASE WHEN i % 4 > 0 THEN noise(i, 100 * i) END, document(i, i) FROM generate_series(1, 100) i;
-- dead and recently changed rows
DELETE FROM t WHERE id % 10 = 7;
UPDATE t SET v = v || 'changed' WHERE id % 3 = 0;
SELECT trees('t', 'v') > 30 AS v, trees('t', 'doc') > 30 AS doc, verify('t');

-- Compares the answers of the index with those of the table, query by query.
CREATE FUNCTION answers(query text) RETURNS TABLE (uses_index boolean, equal boolean, any_rows boolean)
LANGUAGE plpgsql AS $$
DECLARE
  by_table text;
  by_index text;
  line text;
BEGIN
  PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_indexonlyscan', 'off', true), set_config('enable_seqscan', 'on', true);
  EXECUTE format('SELECT string_agg(r::text, '','' ORDER BY r) FROM (%s) q(r)', query) INTO by_table;
  PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true),
    set_config('enable_indexonlyscan', 'on', true), set_config('enable_seqscan', 'off', true);
  EXECUTE format('SELECT string_agg(r::text, '','' ORDER BY r) FROM (%s) q(r)', query) INTO by_index;
  uses_index := false;
  FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
    uses_index := uses_index OR line LIKE '%Index%';
  END LOOP;
  equal := by_table IS NOT DISTINCT FROM by_index;
  any_rows := by_table IS NOT NULL;
  PERFORM set_config('enable_seqscan', 'on', true);
  RETURN NEXT;
END
$$;

-- btree: expression, partial, unique, INCLUDE, multicolumn
CREATE INDEX by_md5 ON t (md5(v));
CREATE UNIQUE INDEX by_text ON t (md5(doc::text), id);
CREATE INDEX partial ON t (id) WHERE length(v) > 5000;
CREATE INDEX by_key ON t ((doc ->> 'key1')) INCLUDE (id);
CREATE INDEX by_prefix ON t (left(v, 20) text_pattern_ops, id);
SELECT * FROM answers($$SELECT id FROM t WHERE md5(v) = md5(noise(50, 5000))$$);
SELECT * FROM answers($$SELECT id FROM t WHERE md5(v) >= '8'$$);
SELECT * FROM answers($$SELECT id FROM t WHERE md5(doc::text) = md5(document(99, 99)::text)$$);
SELECT * FROM answers($$SELECT id FROM t WHERE length(v) > 5000 AND id > 0$$);
SELECT * FROM answers($$SELECT id FROM t WHERE doc ->> 'key1' = document(5, 5) ->> 'key1'$$);
SELECT * FROM answers($$SELECT id FROM t WHERE left(v, 20) ~>=~ 'a'$$);
SELECT bt_index_parent_check(i, true, true)
FROM unnest('{by_md5, by_text, partial, by_key, by_prefix}'::regclass[]) i;
-- a violation found while building, and one by an insert
CREATE UNIQUE INDEX fails ON t ((left(v, 1)));
CREATE UNIQUE INDEX whole ON t (md5(v));
INSERT INTO t VALUES (1000, noise(50, 5000), NULL);
UPDATE t SET v = noise(50, 5000) WHERE id = 51;
SELECT verify('t');

-- hash, gin, gist, spgist, brin
CREATE INDEX by_hash ON t USING hash (md5(v));
CREATE INDEX by_gin ON t USING gin (doc jsonb_path_ops);
CREATE INDEX by_gin_keys ON t USING gin (doc) WHERE id > 20;
CREATE INDEX by_words ON t USING gin (to_tsvector('simple', doc::text));
CREATE INDEX by_gist ON t USING gist (to_tsvector('simple', doc::text));
CREATE INDEX by_spgist ON t USING spgist (left(v, 50));
CREATE INDEX by_brin ON t USING brin (length(v)) WITH (pages_per_range = 1);
DROP INDEX by_md5, whole;
SELECT * FROM answers($$SELECT id FROM t WHERE md5(v) = md5(noise(50, 5000))$$);
SELECT * FROM answers($$SELECT id FROM t WHERE doc @> '{"key50": {"list": [50]}}'$$);
SELECT * FROM answers($$SELECT id FROM t WHERE id > 20 AND doc ? 'key90'$$);
SELECT * FROM answers($$SELECT id FROM t WHERE to_tsvector('simple', doc::text) @@ 'key77'$$);
DROP INDEX by_words;
SELECT * FROM answers($$SELECT id FROM t WHERE to_tsvector('simple', doc::text) @@ 'key77'$$);
SELECT * FROM answers($$SELECT id FROM t WHERE left(v, 50) = left(noise(50, 5000), 50)$$);
SELECT * FROM answers($$SELECT id FROM t WHERE length(v) BETWEEN 3000 AND 4000$$);
INSERT INTO t SELECT i, noise(i, 200 * i), document(i, i / 2) FROM generate_series(101, 130) i;
INSERT INTO t SELECT i, repeat('x', 100) || i, NULL FROM generate_series(131, 500) i;
SELECT brin_summarize_new_values('by_brin') > 0 AS summarized;
SELECT brin_desummarize_range('by_brin', 0), brin_summarize_range('by_brin', 0);
SELECT * FROM answers($$SELECT id FROM t WHERE length(v) > 21000$$);
SELECT * FROM answers($$SELECT id FROM t WHERE doc @> '{"key50": {"list": [50]}}'$$);

-- parallel: a build that asks for workers, which read trees
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
SET maintenance_work_mem = '128MB';
ALTER TABLE t SET (parallel_workers = 2);
SET client_min_messages = debug1;
CREATE INDEX by_parallel ON t ((md5(v || doc::text)), length(doc::text));
SET client_min_messages = warning;
SELECT bt_index_parent_check('by_parallel', true, true);
SELECT * FROM answers($$SELECT id FROM t WHERE md5(v || doc::text) > '8'$$);
CREATE UNIQUE INDEX fails ON t ((left(v, 2)));
DROP INDEX by_parallel;
-- and workers of a query do
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
EXPLAIN (COSTS OFF) SELECT sum(hashtext(v || doc::text)::bigint) FROM t;
SELECT sum(hashtext(v || doc::text)::bigint) AS by_workers FROM t \gset
SET max_parallel_workers_per_gather = 0;
SELECT sum(hashtext(v || doc::text)::bigint) = :by_workers AS equal FROM t;
RESET max_parallel_workers_per_gather;

-- concurrently: built, rebuilt, refused
CREATE INDEX CONCURRENTLY by_concurrent ON t (md5(v)) WHERE length(doc::text) > 2000;
SELECT * FROM answers($$SELECT id FROM t WHERE md5(v) < '8' AND length(doc::text) > 2000$$);
REINDEX INDEX CONCURRENTLY by_concurrent;
REINDEX TABLE CONCURRENTLY t;
REINDEX TABLE t;
SELECT bt_index_parent_check('by_concurrent', true, true);
SELECT * FROM answers($$SELECT id FROM t WHERE md5(v) < '8' AND length(doc::text) > 2000$$);
SELECT * FROM answers($$SELECT id FROM t WHERE doc @> '{"key50": {"list": [50]}}'$$);
CREATE UNIQUE INDEX CONCURRENTLY fails ON t ((left(v, 1)));
SELECT indisvalid FROM pg_index WHERE indexrelid = 'fails'::regclass;
DROP INDEX CONCURRENTLY fails;

-- in the transaction that wrote the rows, and over a rolled back part of it
BEGIN;
UPDATE t SET v = overlay(v placing 'own change' from 50) WHERE id BETWEEN 50 AND 60;
SAVEPOINT a;
UPDATE t SET v = 'lost', doc = NULL WHERE id < 70;
ROLLBACK TO a;
CREATE INDEX in_transaction ON t (md5(v));
COMMIT;
SELECT * FROM answers($$SELECT id FROM t WHERE md5(v) >= '8'$$);
SELECT bt_index_parent_check('in_transaction', true, true);
-- exclusion constraint: checked against the index with whole values
ALTER TABLE t ADD CONSTRAINT excluded EXCLUDE USING btree (md5(v) WITH =);
INSERT INTO t VALUES (2000, noise(120, 24000), NULL);
SELECT verify('t');

-- values that are keys themselves: as large as stock allows, flat in the index
CREATE TABLE keys (id int, v text) USING toaster;
ALTER TABLE keys SET (toast_tuple_target = 128);
INSERT INTO keys SELECT i, noise(i, 400) FROM generate_series(1, 50) i;
CREATE INDEX keys_v ON keys (v);
CREATE INDEX keys_hash ON keys USING hash (v);
SELECT trees('keys', 'v'), bt_index_parent_check('keys_v', true, true) FROM keys LIMIT 1;
SELECT * FROM answers($$SELECT id FROM keys WHERE v = noise(7, 400)$$);
SELECT * FROM answers($$SELECT id FROM keys WHERE v > 'a'$$);
SET enable_seqscan = off;
SELECT bool_and(v = noise(id, 400)) FROM (SELECT v, min(id) AS id FROM keys GROUP BY v ORDER BY v) k;
INSERT INTO keys VALUES (51, noise(51, 4000));
INSERT INTO keys VALUES (52, noise(52, 9000));
SELECT verify('keys');
DROP SCHEMA indexes CASCADE;
