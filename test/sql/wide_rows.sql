-- Hazard F4: rows that no storing out of line brings below the threshold, as
-- 400 bigint columns and a document, are stored as they are.  heap never
-- toasts behind our back: no chunk has an id of stock's making.
CREATE SCHEMA wide;
SET search_path = wide, twin, public;
SET client_min_messages = warning;

DO $$
BEGIN
  EXECUTE (SELECT 'CREATE TABLE stock (id int PRIMARY KEY, doc jsonb, '
           || string_agg(format('c%s bigint', i), ', ') || ', v text) USING heap'
           FROM generate_series(1, 400) i);
  EXECUTE (SELECT format('INSERT INTO stock SELECT r, document(r, 100 * r), %s, noise(r, 9000) FROM generate_series(1, 3) r',
                         string_agg(i::text, ', ')) FROM generate_series(1, 400) i);
END
$$;
CREATE TABLE t (LIKE stock INCLUDING ALL) USING toaster;

-- one row, many rows, COPY-like, self-copy
INSERT INTO t SELECT * FROM stock WHERE id = 1;
INSERT INTO t SELECT * FROM stock WHERE id > 1;
SELECT same('stock', 't'), verify('t'), trees('t', 'doc') AS docs, trees('t', 'v') AS texts;
CREATE TABLE c USING toaster AS TABLE t;
SELECT same('stock', 'c'), verify('c');
INSERT INTO c SELECT * FROM c;
DELETE FROM c WHERE ctid IN (SELECT max(ctid) FROM c GROUP BY id);
SELECT same('stock', 'c'), verify('c');

-- change a number, a document, both, none
UPDATE t SET c200 = -1;
UPDATE stock SET c200 = -1;
SELECT same('stock', 't'), verify('t');
SELECT mark();
UPDATE t SET doc = doc || '{"new": 1}' WHERE id = 3;
SELECT since('nodes_shared') > 0 AS shared;
UPDATE stock SET doc = doc || '{"new": 1}' WHERE id = 3;
UPDATE t SET doc = '{}', c1 = NULL WHERE id = 2;
UPDATE stock SET doc = '{}', c1 = NULL WHERE id = 2;
UPDATE t SET v = v;
UPDATE stock SET v = v;
SELECT same('stock', 't'), verify('t');

-- rewrites insert through another door of heap
VACUUM FULL t;
SELECT same('stock', 't'), verify('t'), trees('t', 'doc') AS docs;
CLUSTER t USING t_pkey;
SELECT same('stock', 't'), verify('t'), trees('t', 'doc') AS docs;
ALTER TABLE t ALTER c7 TYPE numeric, ADD COLUMN added int DEFAULT random() * 0;
ALTER TABLE stock ALTER c7 TYPE numeric, ADD COLUMN added int DEFAULT 0;
SELECT same('stock', 't'), verify('t'), trees('t', 'doc') AS docs;
ALTER TABLE t SET ACCESS METHOD heap;
SELECT same('stock', 't');
ALTER TABLE t SET ACCESS METHOD toaster;
SELECT same('stock', 't'), verify('t'), trees('t', 'doc') AS docs;

-- every chunk belongs to a tree: as many live chunks as nodes, none in the
-- TOAST index, where stock would have put each of its own
SELECT chunks('t') >= count(*) AS chunks, count(*) > 3 AS nodes
FROM t, LATERAL (SELECT FROM toaster.tree('t', t.ctid, 'doc')
                 UNION ALL SELECT FROM toaster.tree('t', t.ctid, 'v')) n;
SELECT pg_relation_size(indexrelid) = current_setting('block_size')::int AS toast_index_is_empty
FROM pg_index WHERE indrelid = (SELECT reltoastrelid FROM pg_class WHERE oid = 't'::regclass);

DELETE FROM t WHERE id = 1;
SELECT verify('t');
DELETE FROM t;
SELECT chunks('t');

-- Rows wider than a page are refused as on heap, and leave nothing behind
DO $$
BEGIN
  EXECUTE (SELECT 'CREATE TABLE too_wide (id int, v text, ' || string_agg(format('c%s bigint', i), ', ')
           || ') USING toaster' FROM generate_series(1, 1100) i);
END
$$;
SELECT sqlstate_of('INSERT INTO too_wide SELECT 1, noise(1, 20000), '
                   || string_agg('1', ', ')) FROM generate_series(1, 1100);
SELECT verify('too_wide'), chunks('too_wide');

-- Two hundred short texts: as many go out of line as on heap
DO $$
BEGIN
  EXECUTE (SELECT 'CREATE TABLE texts_heap (id int, ' || string_agg(format('c%s text', i), ', ')
           || ') USING heap' FROM generate_series(1, 200) i);
  EXECUTE (SELECT 'INSERT INTO texts_heap SELECT r, ' || string_agg(format('noise(r * %s, 50 + %s)', i, i * 37 % 101), ', ')
           || ' FROM generate_series(1, 3) r' FROM generate_series(1, 200) i);
END
$$;
CREATE TABLE texts (LIKE texts_heap) USING toaster;
INSERT INTO texts SELECT * FROM texts_heap;
SELECT same('texts_heap', 'texts'), verify('texts'),
  (SELECT sum(trees('texts', attname)) FROM pg_attribute
   WHERE attrelid = 'texts'::regclass AND attlen = -1) = external('texts_heap') AS as_many,
  external('texts_heap') > 300 AS many;
UPDATE texts SET c7 = c7 || 'x', c100 = NULL, c101 = repeat('y', 300);
UPDATE texts_heap SET c7 = c7 || 'x', c100 = NULL, c101 = repeat('y', 300);
SELECT same('texts_heap', 'texts'), verify('texts');
DROP SCHEMA wide CASCADE;
