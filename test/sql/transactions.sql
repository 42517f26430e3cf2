-- Transactions: whatever is rolled back, lost or refused leaves the old value
-- intact and no chunk that is not in a tree; what is committed is right.  What
-- a statement returns of a row's system columns is what is stored (S2, S3, S4).
CREATE SCHEMA transactions;
SET search_path = transactions, twin, public;
SET client_min_messages = warning;
\set VERBOSITY terse

CREATE TABLE stock (id int PRIMARY KEY, n int, v text, doc jsonb) USING heap;
INSERT INTO stock SELECT i, i, noise(i, 5000 * i), document(i, 30 * i) FROM generate_series(1, 4) i;
CREATE TABLE t (LIKE stock INCLUDING ALL) USING toaster;
INSERT INTO t SELECT * FROM stock;
-- small nodes: the same places of a page are used again and again
SET pg_toaster.node_size = 256;

--
-- Rollback, savepoints, errors in mid-statement
--
BEGIN;
UPDATE t SET v = overlay(v placing 'x' from 100), doc = doc || '{"a": 1}';
DELETE FROM t WHERE id = 2;
INSERT INTO t VALUES (10, 1, noise(10, 50000), document(10, 100));
SELECT count(*), verify('t') FROM t;
ROLLBACK;
SELECT same('stock', 't'), verify('t');
BEGIN;
UPDATE t SET v = left(v, 2500) || 'first' || substr(v, 2501);
SAVEPOINT a;
UPDATE t SET v = left(v, 1000) || 'second' || substr(v, 1001);
SAVEPOINT b;
UPDATE t SET v = NULL WHERE id < 3;
DELETE FROM t WHERE id > 3;
ROLLBACK TO b;
SELECT bool_and(t.v = left(s.v, 1000) || 'second' || substr(s.v, 1001, 1500) || 'first' || substr(s.v, 2501)) AS both
FROM t JOIN stock s USING (id);
ROLLBACK TO a;
UPDATE t SET v = v || 'third';
RELEASE a;
SELECT bool_and(t.v = left(s.v, 2500) || 'first' || substr(s.v, 2501) || 'third') AS right_one, verify('t')
FROM t JOIN stock s USING (id);
COMMIT;
UPDATE stock SET v = left(v, 2500) || 'first' || substr(v, 2501) || 'third';
SELECT same('stock', 't'), verify('t');
-- the row that fails is the last of four
UPDATE t SET v = v || 'x', n = 1 / (4 - id);
INSERT INTO t SELECT 14 - i, i, noise(i, 9000), NULL FROM generate_series(1, 13) i;
SELECT same('stock', 't'), verify('t');
VACUUM t;
SELECT same('stock', 't'), verify('t');

-- the first of many edits of one row in one transaction, and deletes of own rows
BEGIN;
DO $$
BEGIN
  FOR i IN 1 .. 30 LOOP
    UPDATE t SET v = overlay(v placing i::text from i * 137) WHERE id = 2;
    UPDATE stock SET v = overlay(v placing i::text from i * 137) WHERE id = 2;
  END LOOP;
END
$$;
INSERT INTO t VALUES (11, 0, noise(11, 20000), NULL);
UPDATE t SET v = v || v WHERE id = 11;
DELETE FROM t WHERE id = 11;
COMMIT;
SELECT same('stock', 't'), verify('t');
-- one statement that touches a row twice changes it once
UPDATE t SET v = v || f.n FROM (VALUES (1, 'once'), (1, 'once')) f(id, n) WHERE f.id = t.id;
UPDATE stock SET v = v || 'once' WHERE id = 1;
WITH u AS (UPDATE t SET v = v || 'cte' WHERE id = 2 RETURNING id) UPDATE t SET v = 'lost' FROM u WHERE t.id = u.id;
UPDATE stock SET v = v || 'cte' WHERE id = 2;
SELECT same('stock', 't'), verify('t');

--
-- Hazard S2: values held in variables over a rolled back part, and reads of
-- the same place after it was used again, under one snapshot
--
CREATE TABLE held (id int PRIMARY KEY, v text) USING toaster;
INSERT INTO held VALUES (1, noise(1, 5000));
CREATE FUNCTION over_exception(OUT old_equal boolean, OUT inner_error boolean, OUT new_equal boolean)
LANGUAGE plpgsql AS $$
DECLARE
  before text;
  after text;
BEGIN
  SELECT v INTO before FROM held;
  FOR i IN 1 .. 20 LOOP
    BEGIN
      UPDATE held SET v = overlay(v placing 'rolled back' from i * 20);
      SELECT v INTO after FROM held;
      inner_error := after <> overlay(before placing 'rolled back' from i * 20);
      RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
      NULL;
    END;
    EXIT WHEN inner_error;
    IF (SELECT v FROM held) <> before THEN
      inner_error := true;
    END IF;
    UPDATE held SET v = overlay(v placing i::text from 4000);
    before := overlay(before placing i::text from 4000);
  END LOOP;
  old_equal := before = (SELECT v FROM held);
  new_equal := before = overlay(noise(1, 5000) placing '20' from 4000);
END
$$;
SELECT * FROM over_exception();
SELECT verify('held');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT md5(v) = md5(overlay(noise(1, 5000) placing '20' from 4000)) FROM held;
SAVEPOINT a;
UPDATE held SET v = overlay(v placing 'one' from 2000);
SELECT v = overlay(overlay(noise(1, 5000) placing '20' from 4000) placing 'one' from 2000) FROM held;
ROLLBACK TO a;
SELECT v = overlay(noise(1, 5000) placing '20' from 4000) FROM held;
UPDATE held SET v = overlay(v placing 'two' from 2000);
SELECT v = overlay(overlay(noise(1, 5000) placing '20' from 4000) placing 'two' from 2000) FROM held;
ROLLBACK TO a;
SELECT v = overlay(noise(1, 5000) placing '20' from 4000) FROM held;
UPDATE held SET v = overlay(v placing 'three' from 2000);
COMMIT;
SELECT v = overlay(overlay(noise(1, 5000) placing '20' from 4000) placing 'three' from 2000), verify('held') FROM held;
-- a cursor sees the version of its snapshot while the row changes
BEGIN;
DECLARE c CURSOR FOR SELECT v = overlay(overlay(noise(1, 5000) placing '20' from 4000) placing 'three' from 2000) AS old FROM held;
UPDATE held SET v = 'x' || v;
UPDATE held SET v = substr(v, 1000);
DELETE FROM held;
FETCH c;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM held FOR UPDATE;
FETCH 1 FROM c \gset
UPDATE held SET v = v || 'current' WHERE CURRENT OF c;
MOVE 1 IN c;
COMMIT;
SELECT right(v, 7), verify('held') FROM held;

--
-- Hazard S9: what was read keeps no pin, which would end in PANIC when the
-- same transaction throws the files away
--
CREATE TABLE read_and_gone (LIKE t INCLUDING ALL) USING toaster;
INSERT INTO read_and_gone SELECT * FROM stock;
BEGIN;
SELECT bool_and(r.v = s.v), bool_and(substr(r.v, 3000, 5) = substr(s.v, 3000, 5)) FROM read_and_gone r JOIN stock s USING (id);
TRUNCATE read_and_gone;
COMMIT;
INSERT INTO read_and_gone SELECT * FROM stock;
BEGIN;
UPDATE read_and_gone SET v = overlay(v placing 'x' from 2000);
SELECT count(md5(v)) FROM read_and_gone;
CLUSTER read_and_gone USING read_and_gone_pkey;
SELECT count(md5(doc::text)) FROM read_and_gone;
ALTER TABLE read_and_gone ALTER n TYPE bigint;
SELECT count(substr(v, 3000, 5)) FROM read_and_gone;
SAVEPOINT a;
SELECT verify('read_and_gone');
DROP TABLE read_and_gone;
COMMIT;
SELECT to_regclass('read_and_gone');

--
-- ON CONFLICT: the chunks of the loser are gone
--
SELECT chunks('t') AS chunks \gset
INSERT INTO t VALUES (1, 0, noise(100, 30000), document(1, 50)), (2, 0, noise(101, 30000), NULL) ON CONFLICT DO NOTHING;
SELECT chunks('t') = :chunks AS nothing_left, same('stock', 't'), verify('t');
CREATE UNIQUE INDEX unique_n ON t (n);
INSERT INTO t VALUES (20, 3, noise(100, 30000), NULL) ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (20, 3, noise(100, 30000), NULL) ON CONFLICT (id) DO NOTHING;
SELECT chunks('t') = :chunks AS nothing_left, same('stock', 't'), verify('t');
INSERT INTO t VALUES (1, 1, 'excluded', '{"b": 2}'), (5, 5, noise(5, 9000), document(5, 60))
  ON CONFLICT (id) DO UPDATE SET v = t.v || excluded.v, doc = t.doc || excluded.doc;
INSERT INTO stock VALUES (1, 1, 'excluded', '{"b": 2}'), (5, 5, noise(5, 9000), document(5, 60))
  ON CONFLICT (id) DO UPDATE SET v = stock.v || excluded.v, doc = stock.doc || excluded.doc;
SELECT same('stock', 't'), verify('t');
INSERT INTO t VALUES (2, 2, noise(7, 9000), NULL) ON CONFLICT (id) DO UPDATE SET v = excluded.v WHERE t.n > 100;
INSERT INTO t VALUES (2, 2, noise(7, 9000), NULL) ON CONFLICT (id) DO UPDATE SET v = excluded.v;
INSERT INTO stock VALUES (2, 2, noise(7, 9000), NULL) ON CONFLICT (id) DO UPDATE SET v = excluded.v;
SELECT same('stock', 't'), verify('t');
INSERT INTO t VALUES (6, 6, noise(6, 9000), NULL), (6, 6, noise(7, 9000), NULL)
  ON CONFLICT (id) DO UPDATE SET v = excluded.v; -- twice the same row: an error
SELECT same('stock', 't'), verify('t');
MERGE INTO t USING (VALUES (3, ' merged'), (4, NULL), (7, noise(7, 9000))) m(id, v) ON t.id = m.id
  WHEN MATCHED AND m.v IS NULL THEN DELETE
  WHEN MATCHED THEN UPDATE SET v = t.v || m.v
  WHEN NOT MATCHED THEN INSERT VALUES (m.id, m.id, m.v, NULL);
MERGE INTO stock t USING (VALUES (3, ' merged'), (4, NULL), (7, noise(7, 9000))) m(id, v) ON t.id = m.id
  WHEN MATCHED AND m.v IS NULL THEN DELETE
  WHEN MATCHED THEN UPDATE SET v = t.v || m.v
  WHEN NOT MATCHED THEN INSERT VALUES (m.id, m.id, m.v, NULL);
SELECT same('stock', 't'), verify('t');

--
-- RETURNING tells what is stored
--
CREATE FUNCTION stored(key int, at tid, x xid, deleted xid, value text) RETURNS boolean LANGUAGE sql AS $$
  SELECT ctid = at AND xmin = x AND xmax = deleted AND v = value FROM t WHERE id = key
$$;
CREATE TABLE returned (id int, at tid, x xid, c cid, v text, deleted xid) USING heap;
WITH i AS (INSERT INTO t VALUES (30, 30, noise(30, 9000), NULL) RETURNING id, ctid, xmin, cmin, v, xmax)
  INSERT INTO returned TABLE i;
SELECT stored(id, at, x, deleted, v), c, deleted FROM returned;
TRUNCATE returned;
WITH u AS (UPDATE t SET v = overlay(v placing 'y' from 5) WHERE id IN (1, 30) RETURNING id, ctid, xmin, cmin, v, xmax)
  INSERT INTO returned TABLE u;
UPDATE stock SET v = overlay(v placing 'y' from 5) WHERE id = 1;
SELECT bool_and(stored(id, at, x, deleted, v)), count(*) FROM returned;
TRUNCATE returned;
WITH u AS (INSERT INTO t VALUES (30, 30, 'conflict', NULL) ON CONFLICT (id) DO UPDATE SET v = t.v || 'z'
           RETURNING id, ctid, xmin, cmin, v, xmax) INSERT INTO returned TABLE u;
SELECT stored(id, at, x, deleted, v), right(v, 1) FROM returned;
INSERT INTO t VALUES (31, 31, 'short', NULL) RETURNING xmin::text = pg_current_xact_id()::xid::text AS xmin, tableoid::regclass;
UPDATE t SET doc = document(1, 100) WHERE id = 31 RETURNING xmin::text = pg_current_xact_id()::xid::text AS xmin, tableoid::regclass;
DELETE FROM t WHERE id >= 30 RETURNING id, length(v), doc = document(1, 100) AS doc;
SELECT same('stock', 't');
SELECT verify('t');

--
-- Triggers see and make whole values
--
CREATE FUNCTION before_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.v := NEW.v || TG_OP;
  NEW.doc := coalesce(NEW.doc, '{}') || jsonb_build_object('length', length(NEW.v));
  RETURN NEW;
END
$$;
CREATE TRIGGER before_row BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION before_row();
CREATE TRIGGER before_row BEFORE INSERT OR UPDATE ON stock FOR EACH ROW EXECUTE FUNCTION before_row();
CREATE TABLE seen (op text, old_length int, new_length int, old_doc jsonb, new_doc jsonb);
CREATE FUNCTION after_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO seen VALUES (TG_OP, length(OLD.v), length(NEW.v), OLD.doc, NEW.doc);
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER after_row AFTER INSERT OR UPDATE ON t DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (length(NEW.v) > 100) EXECUTE FUNCTION after_row();
BEGIN;
UPDATE t SET n = n + 100;
UPDATE stock SET n = n + 100;
UPDATE t SET v = v || 'more' WHERE id = 1;
UPDATE stock SET v = v || 'more' WHERE id = 1;
INSERT INTO t VALUES (8, 8, noise(8, 9000), NULL);
INSERT INTO stock VALUES (8, 8, noise(8, 9000), NULL);
COMMIT;
SELECT same('stock', 't'), verify('t');
SELECT op, count(*), count(old_length), bool_and(new_length > coalesce(old_length, 0)) AS longer,
  bool_and(new_doc @> jsonb_build_object('length', new_length)) AS doc
FROM seen GROUP BY op ORDER BY op COLLATE "C";
DROP TRIGGER before_row ON t;
DROP TRIGGER before_row ON stock;
DROP TRIGGER after_row ON t;

--
-- Keys: updates of referenced and referencing rows, with actions
--
CREATE TABLE parent (id int PRIMARY KEY, v text) USING toaster;
CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON UPDATE CASCADE ON DELETE CASCADE, v text) USING toaster;
INSERT INTO parent SELECT i, noise(i, 9000) FROM generate_series(1, 3) i;
INSERT INTO child SELECT i, i, noise(i + 10, 9000) FROM generate_series(1, 3) i;
UPDATE parent SET id = id + 10, v = v || 'key' WHERE id = 1;
UPDATE parent SET id = id + 10 WHERE id = 2;
UPDATE parent SET v = v || 'no key' WHERE id = 3;
SELECT p.id, c.id AS child, p.v = noise(c.id, 9000) || CASE c.id WHEN 1 THEN 'key' WHEN 2 THEN '' ELSE 'no key' END AS parent,
  c.v = noise(c.id + 10, 9000) AS child FROM parent p JOIN child c ON c.parent = p.id ORDER BY c.id;
DELETE FROM parent WHERE id = 3;
INSERT INTO child VALUES (4, 99, noise(4, 9000));
UPDATE child SET parent = 99, v = v || 'x' WHERE id = 1;
SELECT count(*), verify('parent'), verify('child') FROM child;

--
-- SERIALIZABLE and two-phase commit
--
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE t SET v = v || 'serializable';
SELECT verify('t');
COMMIT;
UPDATE stock SET v = v || 'serializable';
SELECT same('stock', 't'), verify('t');
SELECT current_setting('max_prepared_transactions')::int > 0 AS two_phase \gset
BEGIN;
UPDATE t SET v = v || 'prepared', doc = NULL WHERE id = 1;
DELETE FROM t WHERE id = 2;
\if :two_phase
PREPARE TRANSACTION 'pg_toaster regression';
SELECT same('stock', 't'); -- not yet
COMMIT PREPARED 'pg_toaster regression';
\else
COMMIT;
SELECT true AS same;
\endif
UPDATE stock SET v = v || 'prepared', doc = NULL WHERE id = 1;
DELETE FROM stock WHERE id = 2;
SELECT same('stock', 't'), verify('t');
BEGIN;
UPDATE t SET v = v || 'prepared', doc = NULL;
\if :two_phase
PREPARE TRANSACTION 'pg_toaster regression';
ROLLBACK PREPARED 'pg_toaster regression';
\else
ROLLBACK;
\endif
SELECT same('stock', 't'), verify('t');

--
-- COPY, also with FREEZE and into a table made in the same transaction
--
CREATE TABLE copied (LIKE stock) USING toaster;
\getenv builddir PG_ABS_BUILDDIR
\set file :builddir '/results/transactions.data'
\set to_file '\\copy stock TO ' :'file'
\set from_file '\\copy copied FROM ' :'file'
\set from_file_frozen '\\copy frozen FROM ' :'file' ' WITH (FREEZE)'
\set again_from_file_frozen '\\copy copied FROM ' :'file' ' WITH (FREEZE)'
\set to_binary_file '\\copy copied TO ' :'file' ' WITH (FORMAT binary)'
\set from_binary_file '\\copy copied FROM ' :'file' ' WITH (FORMAT binary)'
:to_file
:from_file
SELECT same('stock', 'copied'), verify('copied');
BEGIN;
CREATE TABLE frozen (LIKE stock) USING toaster;
:from_file_frozen
COMMIT;
SELECT same('stock', 'frozen'), verify('frozen'), count(DISTINCT xmin::text) AS xmins FROM frozen;
-- the nodes are frozen as the rows are
CREATE EXTENSION IF NOT EXISTS pageinspect SCHEMA public;
SELECT c.relname = 'frozen' AS is_table, bool_and(t_infomask & 768 = 768) AS frozen, count(*) > 4 AS some
FROM pg_class c, generate_series(0, pg_relation_size(c.oid) / 8192 - 1) p,
  heap_page_items(get_raw_page(c.oid::regclass::text, p::int))
WHERE c.oid IN (SELECT unnest(ARRAY[oid, reltoastrelid]) FROM pg_class WHERE oid = 'frozen'::regclass)
GROUP BY c.relname ORDER BY 1;
BEGIN;
TRUNCATE copied;
:again_from_file_frozen
SAVEPOINT a;
UPDATE copied SET v = v || 'lost';
ROLLBACK TO a;
COMMIT;
:to_binary_file
TRUNCATE copied;
:from_binary_file
SELECT same('stock', 'copied'), verify('copied');
UPDATE frozen SET v = v || 'thawed';
SELECT bool_and(f.v = s.v || 'thawed'), verify('frozen') FROM frozen f JOIN stock s USING (id);

DELETE FROM t;
SELECT chunks('t');
VACUUM t;
SELECT verify('t'), pg_relation_size('t') = 0 AS empty;
DROP SCHEMA transactions CASCADE;
