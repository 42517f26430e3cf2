-- The functions that look into trees: they agree with each other and with the
-- TOAST relation, and refuse bad input with the right SQLSTATE.
CREATE SCHEMA inspect;
SET search_path = inspect, twin, public;
SET client_min_messages = warning;
\set VERBOSITY terse

CREATE TABLE t (id int PRIMARY KEY, n int, gone text, v text, b bytea, doc jsonb) USING toaster;
INSERT INTO t VALUES (1, 1, 'g', noise(1, 100000), bytes(1, 50000), document(1, 400)),
  (2, 2, 'g', prose(2, 1000000), NULL, '{}'), (3, NULL, NULL, NULL, NULL, NULL), (4, 4, 'g', 'short', '', '[]');
ALTER TABLE t DROP COLUMN gone;

--
-- tree: one root, the branches of each level add up to the value, no place is
-- named twice
--
CREATE VIEW nodes AS
  SELECT id, a.attname, n.*, max(level) OVER (PARTITION BY id, a.attname) AS top,
    CASE a.attname WHEN 'v' THEN octet_length(v) WHEN 'b' THEN octet_length(b) ELSE pg_column_size(doc) END AS size
  FROM t, unnest('{v,b,doc}'::name[]) a(attname), toaster.tree('t', t.ctid, a.attname) n;
SELECT id, attname, count(*) > 1 AS nodes, count(*) FILTER (WHERE kind = 'root') AS roots,
  bool_and((level = top) = (kind = 'root') AND (level = 0) = (kind = 'data') AND (entries > 0) = (level > 0)) AS kinds,
  max(raw_bytes) FILTER (WHERE level = top) = size AS root_size, count(DISTINCT address) = count(*) AS places
FROM nodes GROUP BY id, attname, size ORDER BY id, attname;
SELECT count(*) AS wrong_levels FROM (
  SELECT FROM nodes WHERE level > 0 AND (attname <> 'doc' OR kind = 'root') GROUP BY id, attname, level, size HAVING sum(raw_bytes) <> size) w;
-- as many nodes as live chunks
SELECT count(*) = chunks('t') AS all_nodes FROM nodes;
-- the tree of a larger value is deeper when its nodes are small
SELECT max(level) AS depth FROM nodes WHERE id = 1 AND attname = 'b' \gset
SET pg_toaster.node_size = 128;
UPDATE t SET b = bytes(3, 50000) WHERE id = 1;
RESET pg_toaster.node_size;
SELECT max(level) > :depth AS deeper
FROM nodes WHERE id = 1 AND attname = 'b';
-- nothing to show of values in the row and of NULLs
SELECT id, count(n) FROM t LEFT JOIN LATERAL toaster.tree('t', t.ctid, 'v') n ON true WHERE id > 2 GROUP BY id ORDER BY id;
SELECT count(*) FROM toaster.tree(NULL, '(0,1)', 'v');
SELECT count(*) FROM toaster.tree('t', NULL, 'v');
SELECT count(*) FROM toaster.tree('t', '(0,1)', NULL);
SELECT count(n) FROM t LEFT JOIN toaster.tree('t', t.ctid, 'n') n ON true WHERE id < 5;

--
-- storage: what tree says, summed
--
SELECT s.attname, "values", s.chunks = n.chunks AS chunks, s.depth = n.depth AS depth, s.raw_bytes = n.raw_bytes AS raw,
  s.stored_bytes = n.stored_bytes AS stored, s.stored_bytes < s.raw_bytes / 2 AS compressed
FROM toaster.storage('t') s LEFT JOIN (
  SELECT attname, count(*) AS chunks, max(level) + 1 AS depth, sum(raw_bytes) FILTER (WHERE level = top) AS raw_bytes,
    sum(stored_bytes) AS stored_bytes
  FROM nodes GROUP BY attname) n USING (attname)
ORDER BY attname;
SELECT compression FROM toaster.storage('t') WHERE attname = 'v';
SELECT count(*) FROM toaster.storage(NULL);

--
-- column_size: the stored bytes of one value, wherever it is
--
SELECT id, toaster.column_size(v) = (SELECT sum(stored_bytes) FROM toaster.tree('t', t.ctid, 'v')) AS v,
  toaster.column_size(b) >= octet_length(b) AS b, pg_column_size(v) = octet_length(v) AS stock_v FROM t WHERE id < 3 ORDER BY id;
SELECT toaster.column_size(v) = pg_column_size(v) AS short, toaster.column_size(b) = pg_column_size(b) AS empty,
  toaster.column_size(n) AS int FROM t WHERE id = 4;
SELECT toaster.column_size(v) IS NULL AS of_null, toaster.column_size(NULL::text) IS NULL AS of_constant FROM t WHERE id = 3;
SELECT toaster.column_size(1::bigint), toaster.column_size('name'::name), toaster.column_size('text'::text) = pg_column_size('text'::text) AS text;
CREATE TABLE h (id int, v text) USING heap;
INSERT INTO h VALUES (1, noise(1, 9000));
SELECT toaster.column_size(v) = pg_column_size(v) AS of_heap FROM h;

--
-- stats: what they count; the server's only when the library is preloaded
--
SELECT count(*) FROM toaster.stats
WHERE (server IS NULL) <> (current_setting('shared_preload_libraries') NOT LIKE '%pg_toaster%');
SELECT mark();
SELECT count(md5(b)) FROM t WHERE id = 1;
SELECT since('documents_flattened') AS flattened, since('nodes_fetched') > 0 AS fetched, since('nodes_written') AS written;
SELECT mark();
INSERT INTO t VALUES (5, 5, noise(5, 100000));
SELECT since('nodes_written') = count(*) AS written, since('nodes_deleted') AS deleted FROM t, toaster.tree('t', t.ctid, 'v') WHERE id = 5;
SELECT count(*) AS nodes FROM t, toaster.tree('t', t.ctid, 'v') WHERE id = 5 \gset
SELECT mark();
DELETE FROM t WHERE id = 5;
SELECT since('nodes_deleted') = :nodes AS deleted, since('nodes_written') AS written;
SELECT mark();
SELECT count(*), sum(n) FROM t;
SELECT name, since(name) FROM toaster.stats ORDER BY name COLLATE "C"; -- no value was looked at

--
-- Bad input
--
CREATE VIEW a_view AS TABLE t;
CREATE TABLE parted (id int, v text) PARTITION BY LIST (id);
CREATE SEQUENCE a_sequence;
SELECT f.name, rel, sqlstate_of(format(f.call, rel)) FROM
  (VALUES (1, 'verify', 'SELECT toaster.verify(%L)'), (2, 'storage', 'SELECT toaster.storage(%L)'),
          (3, 'tree', 'SELECT toaster.tree(%L, ''(0,1)'', ''v'')')) f(number, name, call),
  unnest('{h, a_view, t_pkey, parted, a_sequence, pg_class}'::regclass[]) WITH ORDINALITY r(rel, position)
ORDER BY f.number, position;
SELECT sqlstate_of('SELECT toaster.verify(''no_such_table'')') AS no_table, sqlstate_of('SELECT toaster.verify(1)') AS no_oid;
SELECT * FROM toaster.verify('h');
SELECT * FROM toaster.tree('t', '(0,1)', 'no_such_column');
SELECT * FROM toaster.tree('t', '(0,1)', 'gone');
SELECT * FROM toaster.tree('t', '(0,1)', '........pg.dropped.3........');
SELECT sqlstate_of($$SELECT toaster.tree('t', '(0,1)', 'ctid')$$) AS system_column,
  sqlstate_of($$SELECT toaster.tree('t', '(0,1)', 'tableoid')$$) AS another;
-- rows that are not there: deleted, never written, beyond the table
SELECT row, sqlstate_of(format($$SELECT toaster.tree('t', %L, 'v')$$, row))
FROM unnest('{"(0,1)", "(0,6)", "(0,200)", "(4000000000,1)", "(0,0)"}'::text[]) row;
SELECT count(*) FROM toaster.verify(NULL);
-- an empty table, one without columns, one that can have no TOAST relation
CREATE TABLE empty (id int, v text) USING toaster;
CREATE TABLE no_columns () USING toaster;
INSERT INTO no_columns DEFAULT VALUES;
CREATE TABLE no_toast (id int, n bigint) USING toaster;
INSERT INTO no_toast VALUES (1, 1);
SELECT verify('empty'), verify('no_columns'), verify('no_toast');
SELECT attname, "values", chunks FROM toaster.storage('empty');
SELECT count(*) FROM toaster.storage('no_columns');
SELECT count(*) FROM toaster.storage('no_toast') WHERE chunks > 0;

-- privileges: verify, tree and storage show data and need SELECT on the table
CREATE ROLE regress_toaster_other;
GRANT USAGE ON SCHEMA inspect, twin TO regress_toaster_other;
SET ROLE regress_toaster_other;
SELECT * FROM toaster.verify('t');
SELECT * FROM toaster.tree('t', '(0,2)', 'v');
SELECT * FROM toaster.storage('t');
SELECT count(*) > 0 AS stats FROM toaster.stats;
SELECT toaster.column_size('x'::text) > 0 AS column_size;
RESET ROLE;
GRANT SELECT ON t TO regress_toaster_other;
SET ROLE regress_toaster_other;
SELECT count(*) FROM toaster.verify('t');
SELECT count(*) > 0 AS nodes FROM toaster.tree('t', '(0,2)', 'v');
SELECT count(*) > 0 AS columns FROM toaster.storage('t');
SELECT v = noise(1, 100000) FROM t WHERE id = 1;
SET pg_toaster.failpoint = 'before_row:error';
RESET ROLE;
REVOKE SELECT ON t FROM regress_toaster_other;
GRANT SELECT (id, v) ON t TO regress_toaster_other;
SET ROLE regress_toaster_other;
SELECT sqlstate_of($$SELECT toaster.verify('t')$$) AS with_columns;
RESET ROLE;
DROP OWNED BY regress_toaster_other;
DROP ROLE regress_toaster_other;

-- verify sees changes of its own transaction, and old snapshots do not
-- confuse it
BEGIN;
DECLARE old CURSOR FOR SELECT v FROM t ORDER BY id;
UPDATE t SET v = overlay(v placing 'changed' from 5000) WHERE id < 3;
DELETE FROM t WHERE id = 2;
SELECT verify('t');
SAVEPOINT a;
UPDATE t SET v = NULL;
SELECT verify('t');
ROLLBACK TO a;
SELECT verify('t');
COMMIT;
SELECT verify('t');
DROP SCHEMA inspect CASCADE;
