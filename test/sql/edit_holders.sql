-- An edited row that is shown to somebody before it is stored, or after it was
-- in another partition, is the row that a heap would show: to a trigger with a
-- transition table, to the workers of a query in a trigger, and to a trigger
-- that hands it on.
CREATE SCHEMA edit_holders;
SET search_path = edit_holders, twin, public;
SET client_min_messages = warning;
CREATE TABLE seen (n serial, what text, id int, doc jsonb) USING heap;

-- Do it in both schemas of a table; is the outcome the same, and what triggers
-- have seen?  How many documents were edited in memory?
CREATE FUNCTION on_both(statement text, OUT same boolean, OUT seen bigint, OUT edited bigint)
LANGUAGE plpgsql AS $$
DECLARE
  outcome text[] := '{}';
  place text;
BEGIN
  FOREACH place IN ARRAY '{stock,ours}'::text[] LOOP
    TRUNCATE seen RESTART IDENTITY;
    edited := -(SELECT session FROM toaster.stats WHERE name = 'edits_written');
    PERFORM set_config('search_path', place || ', edit_holders, twin, public', true);
    EXECUTE statement;
    edited := edited + (SELECT session FROM toaster.stats WHERE name = 'edits_written');
    EXECUTE 'SELECT $1 || md5(string_agg(t::text, '','' ORDER BY id)) FROM docs t' INTO outcome USING outcome;
    SELECT outcome || md5(string_agg(what || s.id || s.doc::text, ',' ORDER BY n)) INTO outcome FROM seen s;
    SELECT count(*) INTO seen FROM seen s;
  END LOOP;
  same := outcome[1:2] IS NOT DISTINCT FROM outcome[3:4];
END
$$;
CREATE FUNCTION see_table() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO seen (what, id, doc) SELECT 'new', n.id, n.doc FROM new_docs n ORDER BY id;
  RETURN NULL;
END
$$;
CREATE FUNCTION hand_on() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  part jsonb;
BEGIN
  INSERT INTO seen (what, id, doc) VALUES ('before', NEW.id, NEW.doc);
  EXECUTE 'SELECT $1 -> ''list''' INTO part USING NEW.doc;
  INSERT INTO seen (what, id, doc) VALUES ('part', NEW.id, part);
  -- a row as a value is read whole
  IF NEW.id = 1 THEN
    INSERT INTO seen (what, id, doc) SELECT 'row', NEW.id, to_jsonb(NEW);
  END IF;
  RETURN NEW;
END
$$;
CREATE FUNCTION ask() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM edit_holders.parts p WHERE NEW.doc @> p.part) THEN
    INSERT INTO seen (what, id) VALUES ('asked', NEW.id);
  END IF;
  RETURN NEW;
END
$$;
CREATE FUNCTION document(n int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_build_object('d', n, 'list', jsonb_agg(noise(n * 100 + i, 300)), 'members', jsonb_object_agg('k' || i, noise(i, 40)))
  FROM generate_series(1, 40) i
$$;

CREATE SCHEMA stock;
SET default_table_access_method = heap;
SET search_path = stock, edit_holders, twin, public;
CREATE TABLE docs (id int, k int, doc jsonb) PARTITION BY LIST (k);
CREATE TABLE docs1 PARTITION OF docs FOR VALUES IN (1);
CREATE TABLE docs2 (doc jsonb, gone int, k int, id int);
ALTER TABLE docs2 DROP gone;
ALTER TABLE docs ATTACH PARTITION docs2 FOR VALUES IN (2);
INSERT INTO docs SELECT i, i % 2 + 1, document(i) FROM generate_series(1, 4) i;
CREATE SCHEMA ours;
SET default_table_access_method = toaster;
SET search_path = ours, edit_holders, twin, public;
CREATE TABLE docs (id int, k int, doc jsonb) PARTITION BY LIST (k);
CREATE TABLE docs1 PARTITION OF docs FOR VALUES IN (1);
CREATE TABLE docs2 (doc jsonb, gone int, k int, id int);
ALTER TABLE docs2 DROP gone;
ALTER TABLE docs ATTACH PARTITION docs2 FOR VALUES IN (2);
INSERT INTO docs SELECT * FROM stock.docs;
RESET default_table_access_method;

SET search_path = edit_holders, twin, public;
SELECT * FROM on_both($$UPDATE docs SET doc = jsonb_set(doc, '{d}', '"stays"')$$);
SELECT * FROM on_both($$UPDATE docs SET doc = jsonb_set(doc, '{d}', '"moves"'), k = 3 - k$$);
-- a prepared statement knows of the trigger
PREPARE move AS UPDATE ours.docs SET doc = jsonb_set(doc, '{list,7}', '"prepared"'), k = 3 - k;
EXECUTE move;
CREATE TRIGGER see AFTER UPDATE ON ours.docs REFERENCING NEW TABLE AS new_docs FOR EACH STATEMENT EXECUTE FUNCTION see_table();
EXECUTE move;
CREATE TRIGGER see AFTER UPDATE ON stock.docs REFERENCING NEW TABLE AS new_docs FOR EACH STATEMENT EXECUTE FUNCTION see_table();
UPDATE stock.docs SET doc = jsonb_set(doc, '{list,7}', '"prepared"');
SELECT * FROM on_both($$UPDATE docs SET doc = jsonb_set(doc, '{d}', '"moves again"'), k = 3 - k$$);
SELECT * FROM on_both($$UPDATE docs SET doc = doc #- '{members,k7}' WHERE k = 1$$);
SELECT * FROM on_both($$MERGE INTO docs USING (VALUES (2), (3)) s (id) ON docs.id = s.id WHEN MATCHED THEN UPDATE SET doc = docs.doc || '{"d": "merged"}', k = 3 - k$$);
DROP TRIGGER see ON stock.docs;
DROP TRIGGER see ON ours.docs;

-- what a trigger hands on
CREATE TRIGGER see BEFORE UPDATE ON stock.docs FOR EACH ROW EXECUTE FUNCTION hand_on();
CREATE TRIGGER see BEFORE UPDATE ON ours.docs FOR EACH ROW EXECUTE FUNCTION hand_on();
SELECT * FROM on_both($$UPDATE docs SET doc = jsonb_set(doc, '{d}', '"handed on"')$$);
SELECT * FROM on_both($$UPDATE docs SET doc = jsonb_insert(doc, '{list,3}', '"inserted"'), k = 3 - k$$);
DROP TRIGGER see ON stock.docs;
DROP TRIGGER see ON ours.docs;

-- a query that would have workers, which cannot see the row
CREATE TABLE parts USING heap AS SELECT '{"d": "asked"}'::jsonb AS part FROM generate_series(1, 3000) i;
ANALYZE parts;
CREATE TRIGGER see BEFORE UPDATE ON stock.docs FOR EACH ROW EXECUTE FUNCTION ask();
CREATE TRIGGER see BEFORE UPDATE ON ours.docs FOR EACH ROW EXECUTE FUNCTION ask();
SET plan_cache_mode = force_generic_plan;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET parallel_leader_participation = off;
SELECT * FROM on_both($$UPDATE docs SET doc = jsonb_set(doc, '{d}', '"asked"')$$);
SELECT * FROM on_both($$UPDATE docs SET doc = jsonb_set(doc, '{d}', '"not asked"')$$);
SELECT verify('ours.docs1'), verify('ours.docs2');
DROP SCHEMA edit_holders, stock, ours CASCADE;
