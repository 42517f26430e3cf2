-- What is wrong is refused with a clear error and the right SQLSTATE: values
-- of settings, uses of the access methods, DROP EXTENSION.
CREATE SCHEMA bad;
SET search_path = bad, twin, public;
SET client_min_messages = warning;
\set VERBOSITY terse
CREATE TABLE t (id int PRIMARY KEY, v text) USING toaster;
INSERT INTO t VALUES (1, noise(1, 9000));

--
-- Settings
--
SET pg_toaster.compression = 'brotli';
SET pg_toaster.compression = '';
SELECT sqlstate_of('SET pg_toaster.node_size = 127');
SELECT sqlstate_of('SET pg_toaster.node_size = 1997');
SET pg_toaster.node_size = 'large';
SELECT sqlstate_of('SET pg_toaster.min_tree_size = -1');
SET pg_toaster.min_tree_size = '1 MB long';
SET pg_toaster.force_indexed = 'maybe';
SET pg_toaster.failpoint = 'nowhere';
SET pg_toaster.failpoint = 'before_row:explode';
SET pg_toaster.failpoint = 'before_row:error:0';
SET pg_toaster.failpoint = 'before_row:error:x';
SET pg_toaster.no_such_setting = 1;
SELECT setting, statement, sqlstate_of(statement) FROM (
  SELECT setting, format('SET pg_toaster.%s = %s', setting, value) AS statement FROM (VALUES
    ('compression', 'gzip'), ('node_size', '0'), ('min_tree_size', '-5'), ('force_indexed', '7'), ('failpoint', '''x:y:z''')) s(setting, value)) s;
SELECT setting, sqlstate_of(format('SET pg_toaster.%s = %s', setting, value)) FROM (VALUES
  ('compression', 'none'), ('compression', 'ZSTD'), ('node_size', '128'), ('node_size', '1996'),
  ('min_tree_size', '0'), ('min_tree_size', '''2MB'''), ('force_indexed', 'on'), ('failpoint', '''''')) s(setting, value);
RESET ALL;
SET search_path = bad, twin, public;
SET client_min_messages = warning;
SELECT name, setting, vartype, min_val, max_val, enumvals, context FROM pg_settings
WHERE name LIKE 'pg\_toaster.%' ORDER BY name COLLATE "C";

--
-- Every failpoint that raises an error leaves the table as it was
--
CREATE FUNCTION fails_at(point text, statement text, OUT state text, OUT verify text, OUT unchanged boolean)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('pg_toaster.failpoint', point || ':error', false);
  state := sqlstate_of(statement);
  PERFORM set_config('pg_toaster.failpoint', '', false);
  verify := verify('t');
  SELECT count(*) = 1 AND bool_and(v = noise(1, 9000)) INTO unchanged FROM t;
END
$$;
SELECT * FROM fails_at('chunks_inserted', $$UPDATE t SET v = noise(2, 9000)$$);
SELECT * FROM fails_at('node_written', $$UPDATE t SET v = overlay(v placing 'x' from 5)$$);
SELECT * FROM fails_at('before_row', $$UPDATE t SET v = overlay(v placing 'x' from 5)$$);
SELECT * FROM fails_at('after_row', $$UPDATE t SET v = v || 'x'$$);
SELECT * FROM fails_at('before_row', $$INSERT INTO t VALUES (2, noise(2, 9000))$$);
SELECT * FROM fails_at('node_deleted', $$DELETE FROM t$$);
SELECT * FROM fails_at('node_deleted', $$UPDATE t SET v = NULL$$);

--
-- toaster_chunks is for TOAST relations, toaster for tables
--
CREATE TABLE chunks_table (id int) USING toaster_chunks;
CREATE TABLE chunks_as USING toaster_chunks AS TABLE t;
CREATE MATERIALIZED VIEW chunks_mv USING toaster_chunks AS TABLE t;
ALTER TABLE t SET ACCESS METHOD toaster_chunks;
CREATE TABLE plain (id int, v text) USING heap;
ALTER TABLE plain SET ACCESS METHOD toaster_chunks;
SELECT to_regclass('chunks_table'), to_regclass('chunks_as'), to_regclass('chunks_mv'), verify('t');
-- logical decoding of a catalog table would read TOAST with another horizon
ALTER TABLE t SET (user_catalog_table = true);
UPDATE t SET v = v || 'x';
CREATE TABLE catalog_t (id int, v text) USING toaster WITH (user_catalog_table = true);
INSERT INTO catalog_t VALUES (1, noise(1, 9000));
ALTER TABLE t RESET (user_catalog_table);
SELECT verify('t');

--
-- The extension stays while tables need it
--
BEGIN;
DROP EXTENSION pg_toaster;
ROLLBACK;
BEGIN;
DROP EXTENSION pg_toaster CASCADE;
SELECT to_regclass('t'), to_regclass('plain');
ROLLBACK;
DROP ACCESS METHOD toaster;
DROP ACCESS METHOD toaster_chunks;
DROP FUNCTION toaster.verify(regclass);
DROP SCHEMA toaster;
ALTER EXTENSION pg_toaster SET SCHEMA bad;
SELECT v = noise(1, 9000) OR v = noise(1, 9000) || 'x' AS still_there FROM t;
CREATE EXTENSION pg_toaster;

--
-- Too large, as on heap; cancelled; bad values of types
--
INSERT INTO t VALUES (2, 'x'), (1, noise(1, 9000));
INSERT INTO t SELECT 3, repeat(noise(1, 100000), 20000);
UPDATE t SET v = repeat(noise(1, 100000), 20000);
SET statement_timeout = 1;
DO $$ BEGIN FOR i IN 1 .. 1000 LOOP UPDATE t SET v = noise(i, 100000); END LOOP; END $$;
RESET statement_timeout;
SELECT verify('t'), count(*) FROM t;
DROP SCHEMA bad CASCADE;
