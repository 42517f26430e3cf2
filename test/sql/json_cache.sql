--
-- What a session keeps of documents and pages never outlives what it is of.
-- There are as few documents as a session keeps, all of the same size.
--
CREATE FUNCTION large(n int, mark int) RETURNS jsonb LANGUAGE sql AS
  $$ SELECT jsonb_build_object('id', n, 'mark', mark, 'text', (SELECT string_agg(md5(n::text || i), '') FROM generate_series(1, 100) i)) $$;
CREATE TABLE cached (id int PRIMARY KEY, doc jsonb) USING toaster;
ALTER TABLE cached ALTER doc SET STORAGE EXTERNAL;
INSERT INTO cached SELECT i, large(i, 0) FROM generate_series(1, 6) i;
CREATE VIEW marks AS SELECT count(*), sum((doc ->> 'mark')::int) AS marks, sum((doc ->> 'id')::int) AS ids, count(DISTINCT doc ->> 'text') AS texts FROM cached;
CREATE FUNCTION flattened() RETURNS bigint LANGUAGE sql AS
  $$ SELECT session FROM toaster.stats WHERE name = 'documents_flattened' $$;

-- a rollback to a savepoint, and again, under one snapshot
BEGIN ISOLATION LEVEL REPEATABLE READ;
TABLE marks;
SAVEPOINT s;
UPDATE cached SET doc = large(id, 1) WHERE id <= 2;
TABLE marks;
ROLLBACK TO s;
TABLE marks;
UPDATE cached SET doc = large(id, 2) WHERE id <= 4;
TABLE marks;
ROLLBACK TO s;
UPDATE cached SET doc = large(id, 3) WHERE id > 4;
TABLE marks;
COMMIT;
TABLE marks;

-- a function that changes rows in the middle of a scan, and takes it back
CREATE FUNCTION change(n int, keep bool) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  UPDATE cached SET doc = large(id, 100) WHERE id = n;
  IF NOT keep THEN
    RAISE division_by_zero;
  END IF;
  RETURN (SELECT doc ->> 'mark' FROM cached WHERE id = n);
EXCEPTION WHEN division_by_zero THEN
  RETURN (SELECT doc ->> 'mark' FROM cached WHERE id = n);
END
$$;
SELECT id, doc ->> 'mark' AS before, change(id, id % 2 = 0) AS changed, doc ->> 'mark' AS after, doc ->> 'id' AS doc_id
FROM cached WHERE id BETWEEN 1 AND 6 ORDER BY id;
SELECT id, doc ->> 'mark' AS mark FROM cached WHERE id BETWEEN 1 AND 6 ORDER BY id;

-- a cursor sees what it saw
BEGIN;
DECLARE c CURSOR FOR SELECT id, doc ->> 'mark' AS mark, doc ->> 'id' AS doc_id FROM cached WHERE id > 1 ORDER BY id;
FETCH 2 FROM c;
UPDATE cached SET doc = large(id, 7) WHERE id > 1;
FETCH 2 FROM c;
DELETE FROM cached WHERE id = 6;
SELECT doc ->> 'mark' AS mark FROM cached WHERE id > 1 ORDER BY id;
FETCH 2 FROM c;
ROLLBACK;

-- rewrites and TRUNCATE in the transaction of the reader: the same places
BEGIN;
TABLE marks;
TRUNCATE cached;
INSERT INTO cached SELECT i, large(i, 5) FROM generate_series(1, 6) i;
TABLE marks;
SAVEPOINT s;
TRUNCATE cached;
INSERT INTO cached SELECT i, large(i, 6) FROM generate_series(1, 6) i;
TABLE marks;
ROLLBACK TO s;
TABLE marks;
ALTER TABLE cached ALTER id TYPE bigint;
TABLE marks;
COMMIT;
VACUUM FULL cached;
TABLE marks;
CLUSTER cached USING cached_pkey;
TABLE marks;

-- places that VACUUM has freed are used by other documents
DELETE FROM cached WHERE id % 2 = 0;
VACUUM cached;
TABLE marks;
INSERT INTO cached SELECT i, large(i, 9) FROM generate_series(2, 6, 2) i;
TABLE marks;

-- none of that read a whole document; a part kept in a variable is read once
SELECT flattened() AS before \gset
TABLE marks;
DO $$
DECLARE part jsonb;
BEGIN
  SELECT doc -> 'text' INTO part FROM cached WHERE id = 5;
  UPDATE cached SET doc = large(5, 11) WHERE id = 5;
  RAISE NOTICE '%', length(part #>> '{}');
END
$$;
SELECT flattened() - :before AS flattened;
SELECT * FROM toaster.verify('cached');
-- a scan of small documents copies each page once: fewer buffers than documents
CREATE FUNCTION buffers(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, FORMAT JSON) ' || statement INTO plan;
  RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END
$$;
CREATE TABLE small (id int, doc jsonb) USING toaster;
ALTER TABLE small ALTER doc SET STORAGE EXTERNAL;
INSERT INTO small SELECT i, jsonb_build_object('id', i, 'text', repeat(md5(i::text), 63)) FROM generate_series(1, 400) i;
SELECT buffers('SELECT doc -> ''id'', doc -> ''text'' FROM small') < 250 AS copied;
DROP TABLE small;
DROP TABLE cached CASCADE;
DROP FUNCTION large, change, flattened, buffers;
