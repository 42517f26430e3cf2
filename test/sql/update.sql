-- UPDATE with a flat value, which is what every client sends: only the nodes
-- that differ are written, also behind an insertion or deletion, and a column
-- that does not change costs nothing.
CREATE SCHEMA updates;
SET search_path = updates, twin, public;
SET client_min_messages = warning;
SET pg_toaster.enable_planner = off;  -- no edits: values arrive flat

CREATE TABLE stock (id int PRIMARY KEY, n int, v bytea, t text, doc jsonb) USING heap;
INSERT INTO stock VALUES (1, 0, bytes(1, 1000000), prose(1, 1000000), document(1, 5000));
CREATE TABLE t (LIKE stock INCLUDING ALL) USING toaster;
INSERT INTO t SELECT * FROM stock;
SELECT same('stock', 't'), verify('t');

-- One SET clause on both tables, and what it cost on ours.
CREATE FUNCTION edit(assignment text, at_most int)
RETURNS TABLE (same boolean, verify text, few_written boolean, shared boolean)
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('UPDATE stock SET %s WHERE id = 1', assignment);
  PERFORM mark();
  EXECUTE format('UPDATE t SET %s WHERE id = 1', assignment);
  few_written := since('nodes_written') BETWEEN 1 AND at_most;
  shared := since('nodes_shared') > 10;
  same := same('stock', 't');
  verify := verify('t');
  RETURN NEXT;
END
$$;

--
-- Edits of a 1 MB value without repetition
--
SELECT * FROM edit($$v = overlay(v placing '\x0102030405060708090a' from 500000)$$, 12); -- overwrite
SELECT * FROM edit($$v = overlay(v placing '\xff' from 1)$$, 12);                -- the first byte
SELECT * FROM edit($$v = set_byte(v, 999999, 1)$$, 12);                          -- the last byte
SELECT * FROM edit($$v = substr(v, 1, 300000) || 'inserted' || substr(v, 300001)$$, 12); -- insert
SELECT * FROM edit($$v = 'prepended' || v$$, 12);                                -- prepend
SELECT * FROM edit($$v = v || 'appended'$$, 12);                                 -- append
SELECT * FROM edit($$v = substr(v, 1, 600000) || substr(v, 600100)$$, 12);       -- delete
SELECT * FROM edit($$v = substr(v, 20)$$, 12);                                   -- delete in front
SELECT * FROM edit($$v = substr(v, 1, 999000)$$, 12);                            -- truncate
SELECT * FROM edit($$v = overlay(overlay(v placing 'one' from 1000) placing 'two' from 900000)$$, 24); -- two places
SELECT * FROM edit($$v = substr(v, 1, 400000) || substr(v, 500001) || substr(v, 400001, 100000)$$, 140); -- move: right, if not cheap

--
-- The same of a 1 MB value that compresses, and of a document
--
SELECT * FROM edit($$t = overlay(t placing 'ten bytes!' from 500000)$$, 12);
SELECT * FROM edit($$t = left(t, 300000) || 'inserted' || substr(t, 300001)$$, 12);
SELECT * FROM edit($$t = 'prepended' || t$$, 12);
SELECT * FROM edit($$t = t || 'appended'$$, 12);
SELECT * FROM edit($$t = left(t, 600000) || substr(t, 600100)$$, 12);
SELECT * FROM edit($$t = left(t, 999000)$$, 12);
SELECT * FROM edit($$doc = jsonb_set(doc, '{key2500,text}', '"00000000000000000000000000000000"')$$, 12);
SELECT * FROM edit($$n = n + 1, t = overlay(t placing 'x' from 7), v = set_byte(v, 70000, 7)$$, 24);

--
-- A column that does not change costs nothing: its nodes stay and are not read
--
CREATE TABLE roots AS SELECT root('t', 1, 'v') AS v, root('t', 1, 't') AS t, root('t', 1, 'doc') AS doc;
CREATE FUNCTION idle(assignment text)
RETURNS TABLE (written bigint, replaced bigint, deleted bigint, same_roots boolean)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM mark();
  EXECUTE format('UPDATE t SET %s WHERE id = 1', assignment);
  written := since('nodes_written');
  replaced := since('nodes_replaced');
  deleted := since('nodes_deleted');
  SELECT root('t', 1, 'v') = v AND root('t', 1, 't') = r.t AND root('t', 1, 'doc') = doc
  INTO same_roots FROM roots r;
  RETURN NEXT;
END
$$;
SELECT mark();
UPDATE t SET n = n + 1;
SELECT since('nodes_fetched') AS fetched, since('documents_flattened') AS flattened;
SELECT * FROM idle('n = n + 1');
SELECT * FROM idle('v = v, t = t, doc = doc');
SELECT * FROM idle($$v = v || ''::bytea, t = t || '', doc = doc || '{}'$$); -- flat, but equal
UPDATE stock SET n = n + 2;
UPDATE stock SET n = n + 1;
SELECT (SELECT n FROM t) - (SELECT n FROM stock) AS n, verify('t');
UPDATE t SET n = 0;
UPDATE stock SET n = 0;
SELECT same('stock', 't');

--
-- Between the row and a tree, and to NULL and back
--
CREATE TABLE moves_heap (id int PRIMARY KEY, v text) USING heap;
INSERT INTO moves_heap SELECT i, noise(i, 10) FROM generate_series(1, 3) i;
CREATE TABLE moves (LIKE moves_heap INCLUDING ALL) USING toaster;
INSERT INTO moves SELECT * FROM moves_heap;
CREATE FUNCTION move(value text) RETURNS TABLE (same boolean, verify text, trees bigint, has_chunks boolean)
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('UPDATE moves_heap SET v = %s', value);
  EXECUTE format('UPDATE moves SET v = %s', value);
  RETURN QUERY SELECT same('moves_heap', 'moves'), verify('moves'), trees('moves', 'v'), chunks('moves') > 0;
END
$$;
SELECT * FROM move('noise(id, 5000)');      -- into a tree
SELECT * FROM move('noise(id, 1000000)');   -- a deeper one
SELECT * FROM move('noise(id, 2100)');      -- down to one node
SELECT * FROM move('noise(id, 100)');       -- into the row: no chunk remains
SELECT * FROM move('noise(id, 9000)');
SELECT * FROM move('NULL');                 -- no chunk remains
SELECT * FROM move('noise(id + 1, 9000)');
SELECT * FROM move($$''$$);
SELECT * FROM move('prose(id, 500000)');
SELECT * FROM move('noise(id + 2, 700000)'); -- nothing in common with the old value
SELECT * FROM move('CASE id WHEN 1 THEN v || v WHEN 2 THEN left(v, 1) END');

--
-- Hazard S1: four hundred edits of a value, one transaction each, put each new
-- node in the place of the old one; nothing grows but by a few pages, and no
-- root leaves the range of places that a pointer can name
--
CREATE TABLE often (id int PRIMARY KEY, v text) USING toaster;
INSERT INTO often SELECT i, noise(i, 8000) FROM generate_series(1, 20) i;
CREATE PROCEDURE edit_often() LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. 400 LOOP
    UPDATE often SET v = overlay(v placing i::text from 4000) WHERE id = 1 + i % 2;
    COMMIT;
  END LOOP;
END
$$;
SELECT mark();
SELECT pg_relation_size(reltoastrelid) AS before FROM pg_class WHERE oid = 'often'::regclass \gset
CALL edit_often();
SELECT pg_relation_size(reltoastrelid) - :before < 20 * 8192 AS hardly_grown,
  since('nodes_replaced') > 380 AS replaced, since('nodes_written') < 810 AS few_written
FROM pg_class WHERE oid = 'often'::regclass;
SELECT pg_relation_size(indexrelid) = 8192 AS no_index_entries FROM pg_index
WHERE indrelid = (SELECT reltoastrelid FROM pg_class WHERE oid = 'often'::regclass);
SELECT bool_and(v = CASE id WHEN 1 THEN overlay(noise(1, 8000) placing '400' from 4000)
  WHEN 2 THEN overlay(noise(2, 8000) placing '399' from 4000) ELSE noise(id, 8000) END), verify('often') FROM often;

--
-- From one column to another: the tree is copied, not shared
--
CREATE TABLE swap (id int PRIMARY KEY, a text, b text) USING toaster;
INSERT INTO swap SELECT i, noise(i, 20000), noise(i + 10, 20000) FROM generate_series(1, 2) i;
UPDATE swap SET a = b, b = a;
SELECT bool_and(a = noise(id + 10, 20000) AND b = noise(id, 20000)), verify('swap') FROM swap;
UPDATE swap SET a = b;
SELECT bool_and(a = b), verify('swap') FROM swap;
UPDATE swap SET a = overlay(a placing 'changed' from 9000) WHERE id = 1;
SELECT id, a = b AS equal, b = noise(id, 20000) AS kept, verify('swap') FROM swap ORDER BY id;
UPDATE swap s SET a = o.a FROM swap o WHERE s.id = 1 AND o.id = 2;
DELETE FROM swap WHERE id = 2;
VACUUM swap;
SELECT a = noise(2, 20000) AS a, b = noise(1, 20000) AS b, verify('swap') FROM swap;

--
-- A long life: a hundred edits of one value with tiny nodes, one transaction
-- each, every version compared; and no more chunks at the end than needed
--
SET pg_toaster.node_size = 128;
CREATE TABLE life_heap (id int PRIMARY KEY, v text) USING heap;
CREATE TABLE life (LIKE life_heap INCLUDING ALL) USING toaster;
INSERT INTO life_heap VALUES (1, prose(1, 20000));
INSERT INTO life VALUES (1, prose(1, 20000));
CREATE PROCEDURE live(steps int) LANGUAGE plpgsql AS $$
DECLARE
  at int;
  change text;
BEGIN
  FOR i IN 1 .. steps LOOP
    at := i * 7919 % 18000 + 1;
    change := CASE i % 5
      WHEN 0 THEN format('left(v, %s) || ''<%s>'' || substr(v, %s)', at, i, at + 1)
      WHEN 1 THEN format('left(v, %s) || substr(v, %s)', at, at + 1 + i % 40)
      WHEN 2 THEN format('overlay(v placing noise(%s, 300) from %s)', i, at)
      WHEN 3 THEN format('v || noise(%s, 200)', i)
      ELSE format('noise(%s, 30) || v', i) END;
    EXECUTE format('UPDATE life_heap SET v = %s', change);
    EXECUTE format('UPDATE life SET v = %s', change);
    IF NOT same('life_heap', 'life') OR verify('life') <> 'sound' THEN
      RAISE EXCEPTION 'wrong after step %: %: %', i, change, verify('life');
    END IF;
    COMMIT;
  END LOOP;
END
$$;
CALL live(100);
SELECT same('life_heap', 'life'), verify('life'),
  chunks('life') < 5 * (SELECT count(*) FROM life, toaster.tree('life', life.ctid, 'v')) AS few_chunks
FROM life;
UPDATE life SET v = v || 'x';
VACUUM life;
SELECT length(v) - (SELECT length(v) FROM life_heap) AS longer, verify('life') FROM life;
RESET pg_toaster.node_size;
DROP SCHEMA updates CASCADE;
