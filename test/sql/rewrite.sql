-- Everything that gives a table new files copies its trees, address by
-- address, into the new TOAST relation; only a rewrite of the TOAST relation
-- alone (hazard F2) is refused.
CREATE SCHEMA rewrite;
SET search_path = rewrite, twin, public;
SET client_min_messages = warning;

CREATE TABLE stock (id int PRIMARY KEY, k int, gone text, v text, doc jsonb) USING heap;
INSERT INTO stock SELECT i, i * 7 % 20, 'x', CASE i % 3 WHEN 0 THEN noise(i, 500 * i)
  WHEN 1 THEN prose(i, 2000 * i) END, document(i, 10 * i) FROM generate_series(1, 20) i;
CREATE TABLE t (LIKE stock INCLUDING ALL) USING toaster;
INSERT INTO t SELECT * FROM stock;
-- old versions and a dropped column, which a copy has to skip
UPDATE t SET k = k + 1, v = v || 'changed';
UPDATE stock SET k = k + 1, v = v || 'changed';
DELETE FROM t WHERE id % 5 = 0;
DELETE FROM stock WHERE id % 5 = 0;
ALTER TABLE t DROP COLUMN gone;
ALTER TABLE stock DROP COLUMN gone;
CREATE INDEX by_k ON t (k);
CREATE INDEX by_hash ON t ((md5(v)));
CREATE INDEX by_gin ON t USING gin (doc);

-- The table is right, sound, kept as trees, and its indexes answer.
CREATE FUNCTION state(OUT same boolean, OUT verify text, OUT trees boolean,
                      OUT by_k boolean, OUT by_hash boolean, OUT by_gin boolean)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
BEGIN
  same := same('stock', 't');
  verify := verify('t');
  trees := trees('t', 'doc') >= 5;
  SELECT bool_and(s.v IS NOT DISTINCT FROM t.v) AND count(*) = (SELECT count(*) FROM stock)
  INTO by_k FROM stock s JOIN t ON t.k = s.k AND t.id = s.id;
  SELECT count(*) = (SELECT count(v) FROM stock)
  INTO by_hash FROM stock s JOIN t ON md5(t.v) = md5(s.v) AND t.id = s.id;
  SELECT count(*) = (SELECT count(*) FROM stock WHERE doc @> '{"key50": {"list": [50]}}')
  INTO by_gin FROM t WHERE doc @> '{"key50": {"list": [50]}}';
END
$$;
SELECT * FROM state();

--
-- VACUUM FULL and CLUSTER
--
VACUUM FULL t;
SELECT * FROM state();
CLUSTER t USING by_k;
SELECT * FROM state();
SELECT bool_and(k >= before) AS in_order FROM (SELECT k, lag(k, 1, k) OVER (ORDER BY ctid) AS before FROM t) o;
UPDATE t SET v = v || ' and again' WHERE id % 2 = 0;
UPDATE stock SET v = v || ' and again' WHERE id % 2 = 0;
CLUSTER t;
SELECT * FROM state();
SET enable_seqscan = off; SET enable_sort = off;
CLUSTER t USING t_pkey;  -- by index scan
RESET enable_seqscan;
SET enable_indexscan = off;
CLUSTER t USING by_k;    -- by sort
RESET enable_indexscan; RESET enable_sort;
SELECT * FROM state();
VACUUM (FULL, FREEZE, ANALYZE) t;
SELECT * FROM state();
VACUUM (FREEZE) t;
SELECT * FROM state();
-- it gives space back
DELETE FROM t WHERE id > 10;
DELETE FROM stock WHERE id > 10;
SELECT pg_table_size('t') AS before \gset
VACUUM FULL t;
SELECT pg_table_size('t') < :before AS smaller;
SELECT * FROM state();
VACUUM FULL t;  -- a copy of a copy is as large
SELECT chunks('t') AS chunks \gset
VACUUM FULL t;
SELECT chunks('t') = :chunks AS as_many;

--
-- In a transaction: own changes before and after, committed and rolled back.
-- The relation keeps its OID, not its contents (hazard S2)
--
BEGIN;
SELECT sum(length(v)) AS before FROM t \gset
UPDATE t SET v = overlay(v placing 'in transaction' from 100);
SELECT sum(length(v)) = :before FROM t;
CLUSTER t USING by_k;
SELECT sum(length(v)) = :before FROM t;
UPDATE t SET v = v || 'after';
DELETE FROM t WHERE id = 1;
CLUSTER t USING t_pkey;
SELECT sum(length(v)) <> :before FROM t;
SELECT verify('t');
ROLLBACK;
SELECT * FROM state();
BEGIN;
UPDATE t SET v = overlay(v placing 'in transaction' from 100);
CLUSTER t USING by_k;
UPDATE t SET v = v || 'after' WHERE id = 2;
COMMIT;
UPDATE stock SET v = overlay(v placing 'in transaction' from 100);
UPDATE stock SET v = v || 'after' WHERE id = 2;
SELECT * FROM state();
BEGIN;
TRUNCATE t;
INSERT INTO t SELECT id, k, noise(id, 5000), doc FROM stock;
SAVEPOINT a;
TRUNCATE t;
INSERT INTO t SELECT * FROM stock WHERE id < 4;
SELECT count(*), verify('t') FROM t;
ROLLBACK TO a;
SELECT bool_and(v = noise(id, 5000)), verify('t') FROM t;
ROLLBACK;
SELECT * FROM state();

--
-- REINDEX, also of the TOAST relation
--
REINDEX TABLE t;
REINDEX INDEX by_hash;
REINDEX TABLE CONCURRENTLY t;
REINDEX INDEX CONCURRENTLY by_gin;
SELECT * FROM state();
SELECT reltoastrelid::regclass AS toast, i.indexrelid::regclass AS toast_index
FROM pg_class c JOIN pg_index i ON i.indrelid = c.reltoastrelid WHERE c.oid = 't'::regclass \gset
REINDEX TABLE :toast;
REINDEX INDEX :toast_index;
REINDEX INDEX CONCURRENTLY :toast_index;
REINDEX TABLE CONCURRENTLY :toast;
SELECT * FROM state();
CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA public;
SELECT reltoastrelid::regclass AS toast, i.indexrelid::regclass AS toast_index
FROM pg_class c JOIN pg_index i ON i.indrelid = c.reltoastrelid WHERE c.oid = 't'::regclass \gset
SELECT bt_index_parent_check(:'toast_index', true, true);
SELECT relname AS toast_index FROM pg_class WHERE oid = :'toast_index'::regclass \gset
SELECT bt_index_parent_check('t_pkey', true, true), bt_index_parent_check('by_hash', true, true);

--
-- The TOAST relation alone must not be moved: every address would be stale
--
\set VERBOSITY sqlstate
VACUUM FULL :toast;
SELECT regexp_replace(:'LAST_ERROR_MESSAGE', '\d+', 'N') AS message;
CLUSTER :toast USING :toast_index;
SELECT regexp_replace(:'LAST_ERROR_MESSAGE', '\d+', 'N') AS message;
\set VERBOSITY default
VACUUM :toast;
VACUUM (FREEZE) :toast;
SELECT * FROM state();

--
-- ALTER TABLE: rewrites, new and dropped columns
--
ALTER TABLE t ALTER k TYPE bigint;
ALTER TABLE stock ALTER k TYPE bigint;
SELECT * FROM state();
ALTER TABLE t ADD COLUMN plain text, ADD COLUMN constant text DEFAULT 'constant',
  ADD COLUMN computed text DEFAULT noise(random()::int * 0 + 1, 5000);
ALTER TABLE stock ADD COLUMN plain text, ADD COLUMN constant text DEFAULT 'constant',
  ADD COLUMN computed text DEFAULT noise(random()::int * 0 + 1, 5000);
SELECT * FROM state();
SELECT trees('t', 'computed') = count(*) AS computed FROM t;
ALTER TABLE t ALTER v TYPE varchar;             -- no rewrite
ALTER TABLE stock ALTER v TYPE varchar;
DROP INDEX by_gin;
ALTER TABLE t ALTER doc TYPE json;              -- every value new
ALTER TABLE stock ALTER doc TYPE json;
ALTER TABLE t ALTER doc TYPE jsonb USING doc::jsonb || '{"altered": true}';
ALTER TABLE stock ALTER doc TYPE jsonb USING doc::jsonb || '{"altered": true}';
CREATE INDEX by_gin ON t USING gin (doc);
SELECT * FROM state();
-- a dropped column leaves its trees with the row until the row goes; nothing
-- stumbles over them, and a rewrite leaves them behind
ALTER TABLE t DROP COLUMN computed;
ALTER TABLE stock DROP COLUMN computed;
SELECT * FROM state();
UPDATE t SET plain = 'p' WHERE id % 2 = 0;
UPDATE stock SET plain = 'p' WHERE id % 2 = 0;
DELETE FROM t WHERE id = 3;
DELETE FROM stock WHERE id = 3;
SELECT * FROM state();
VACUUM FULL t;
SELECT * FROM state();
SELECT sum(chunks) = chunks('t') AS no_more_chunks FROM toaster.storage('t');
-- the addition of a TOAST relation to a table that had none
CREATE TABLE narrow (id int) USING toaster;
INSERT INTO narrow VALUES (1);
ALTER TABLE narrow ADD COLUMN v text;
UPDATE narrow SET v = noise(1, 9000);
SELECT v = noise(1, 9000) AS equal, trees('narrow', 'v'), verify('narrow') FROM narrow;
ALTER TABLE t ALTER v SET STORAGE EXTERNAL;
UPDATE t SET v = v || '.';
UPDATE stock SET v = v || '.';
ALTER TABLE t SET (fillfactor = 70, toast.autovacuum_enabled = false);
VACUUM FULL t;
SELECT * FROM state();

--
-- To heap and back, by SET ACCESS METHOD
--
ALTER TABLE t SET ACCESS METHOD heap;
SELECT same('stock', 't');
SELECT sqlstate_of($$SELECT toaster.verify('t')$$) <> 'succeeds' AS not_ours;
UPDATE t SET v = v || '!';
UPDATE stock SET v = v || '!';
ALTER TABLE t SET ACCESS METHOD toaster;
SELECT * FROM state();
BEGIN;
ALTER TABLE t SET ACCESS METHOD heap;
UPDATE t SET v = 'lost';
ROLLBACK;
SELECT * FROM state();
ALTER TABLE stock SET ACCESS METHOD toaster;
SELECT same('t', 'stock'), verify('stock');
ALTER TABLE stock SET ACCESS METHOD heap;

--
-- Other files, same contents
--
ALTER TABLE t SET UNLOGGED;
SELECT * FROM state();
ALTER TABLE t SET LOGGED;
SELECT * FROM state();
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE rewrite_space LOCATION '';
ALTER TABLE t SET TABLESPACE rewrite_space;
SELECT * FROM state();
UPDATE t SET v = v || '?';
UPDATE stock SET v = v || '?';
VACUUM FULL t;
ALTER TABLE t SET TABLESPACE pg_default;
SELECT * FROM state();
DROP TABLESPACE rewrite_space;

--
-- Dead rows in pages of more chunks than an address can tell apart
--
SET pg_toaster.min_tree_size = 32;
SET pg_toaster.node_size = 128;
CREATE TABLE many (id int PRIMARY KEY, v text) USING toaster;
INSERT INTO many SELECT i, md5(i::text) FROM generate_series(1, 300) i;
SELECT max((n.address::text::point)[1]) > 63 AS many_in_a_page
FROM many m, toaster.tree('many', m.ctid, 'v') n;
BEGIN;
DELETE FROM many WHERE id % 2 = 0;
CLUSTER many USING many_pkey;
COMMIT;
SELECT count(*) FILTER (WHERE v = md5(id::text)) AS intact, verify('many') FROM many;
RESET pg_toaster.min_tree_size;
RESET pg_toaster.node_size;
DROP SCHEMA rewrite CASCADE;
