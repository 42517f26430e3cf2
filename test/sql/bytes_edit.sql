-- Edits of bytea and text: ||, overlay(), substr(), set_byte() and the like
-- change a few nodes of a tree and read none of it whole; results and errors
-- are those of the server's functions, on a heap table with the same rows.
CREATE SCHEMA bytes_edit;
SET search_path = bytes_edit, twin, public;
SET client_min_messages = warning;

CREATE TABLE stock (id int PRIMARY KEY, v bytea, t text, w varchar) USING heap;
INSERT INTO stock VALUES
  (1, bytes(1, 300000), prose(1, 300000), prose(2, 300000)),
  (2, bytes(2, 2100), noise(2, 2100), noise(3, 2500)),
  (3, bytes(3, 10), 'short', 'short'),
  (4, '', '', ''),
  (5, NULL, NULL, NULL);
CREATE TABLE t (LIKE stock INCLUDING ALL) USING toaster;
INSERT INTO t SELECT * FROM stock;

-- One SET clause on both tables: the same result or the same error; how many
-- edits were made, written and read whole, and values that were read whole.
CREATE FUNCTION attempt(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE statement;
  RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
CREATE FUNCTION edit(assignment text)
RETURNS TABLE (result text, agree boolean, same boolean, verify text,
               applied bigint, written bigint, whole bigint)
LANGUAGE plpgsql AS $$
DECLARE
  expected text := attempt(format('UPDATE stock SET %s WHERE id <= 4', assignment));
BEGIN
  PERFORM mark();
  result := attempt(format('UPDATE t SET %s WHERE id <= 4', assignment));
  applied := since('edits_applied');
  written := since('edits_written');
  whole := since('edits_flattened') + since('documents_flattened');
  agree := result = expected;
  same := same('stock', 't');
  verify := verify('t');
  RETURN NEXT;
END
$$;
SELECT * FROM edit($$v = v || '\x0102'$$);
SELECT * FROM edit($$v = '\x0102' || v$$);
SELECT * FROM edit($$v = v || ''::bytea$$);
SELECT * FROM edit($$v = overlay(v placing '\xffffff' from 1)$$);
SELECT * FROM edit($$v = overlay(v placing '\xffffff' from 1000 for 0)$$);
SELECT * FROM edit($$v = overlay(v placing '' from 1000 for 5)$$);
SELECT * FROM edit($$v = overlay(v placing '\xffffff' from 150000 for 70000)$$);
SELECT * FROM edit($$v = overlay(v placing '\xffffff' from 10000000 for 1)$$);
SELECT * FROM edit($$v = overlay(v placing '\xffffff' from 1 for 2000000000)$$);
SELECT * FROM edit($$v = v || bytes(id, 300000)$$);
SELECT * FROM edit($$v = overlay(v placing '\xff' from 0)$$);
SELECT * FROM edit($$v = overlay(v placing '\xff' from 2000000000 for 2000000000)$$);
SELECT * FROM edit($$v = overlay(v placing '\xff' from 5 for -3)$$);
SELECT * FROM edit($$v = substr(v, 10)$$);
SELECT * FROM edit($$v = substr(v, 1, 290000)$$);
SELECT * FROM edit($$v = substring(v, -5, 280000)$$);
SELECT * FROM edit($$v = substring(v from 3 for 2147483647)$$);
SELECT * FROM edit($$v = substr(v, 1, -1)$$);
SELECT * FROM edit($$v = set_byte(v, 1, 255) WHERE length(v) > 10 --$$);
SELECT * FROM edit($$v = set_byte(v, 100000, 0)$$);
SELECT * FROM edit($$v = set_byte(v, -1, 0)$$);
SELECT * FROM edit($$v = set_bit(v, 15, 1) WHERE length(v) > 10 --$$);
SELECT * FROM edit($$v = set_bit(set_bit(v, 0, 0), 15, 0) WHERE length(v) > 10 --$$);
SELECT * FROM edit($$v = set_bit(v, 15, 2)$$);
SELECT * FROM edit($$v = set_bit(v, 100000000, 1)$$);
-- pieces of the value itself, in their order and not
SELECT * FROM edit($$v = substr(v, 1, 100000) || '\xabcd' || substr(v, 100010)$$);
SELECT * FROM edit($$v = substr(v, 100000) || substr(v, 1, 100000)$$);
SELECT * FROM edit($$v = v || v WHERE id <= 2 --$$);
SELECT * FROM edit($$v = substr(substr(v, 5) || '\x77', 7)$$);
SELECT * FROM edit($$v = CASE WHEN id = 1 THEN v || '\x01' ELSE coalesce('\x02' || v, '') END$$);
-- text: characters are bytes only where the encoding has one byte for each
SELECT * FROM edit($$t = t || 'äß€', w = 'ñ' || w$$);
SELECT (edit($$t = overlay(t placing 'X' from 1000 for 2)$$)).same;
SELECT (edit($$t = substr(t, 5, 200000), w = left(w, -3)$$)).same;
SELECT (edit($$t = right(t, -7), w = right(w, 250000)$$)).same;
SELECT (edit($$t = left(t, 150000) || '.' || substr(t, 150001)$$)).same;
-- to another column, and from another table
SELECT (edit($$w = t || 'x', t = t || 'y'$$)).same;
UPDATE stock SET v = stock.v || o.v FROM (SELECT v FROM stock WHERE id = 2) o WHERE id = 1;
UPDATE t SET v = t.v || o.v FROM (SELECT v FROM t WHERE id = 2) o WHERE id = 1;
SELECT same('stock', 't'), verify('t');

-- a stream of small appends, each of which can be read
SELECT mark();
DO $$
BEGIN
  FOR i IN 1 .. 500 LOOP
    UPDATE t SET v = v || int4send(i) WHERE id = 1;
    IF (SELECT substr(v, length(v) - 3) FROM t WHERE id = 1) <> int4send(i) THEN
      RAISE 'append % is not there', i;
    END IF;
  END LOOP;
END
$$;
SELECT since('edits_written') AS written, since('edits_flattened') + since('documents_flattened') AS whole;
UPDATE stock SET v = v || (SELECT string_agg(int4send(i), '' ORDER BY i) FROM generate_series(1, 500) i) WHERE id = 1;
SELECT same('stock', 't'), verify('t');

-- with tiny nodes each of them is pushed down
SET pg_toaster.node_size = 128;
SELECT (edit(format($$v = overlay(v placing '\x%s' from %s for %s)$$, md5(i::text), i * 5003 % 300000 + 1, i % 40))).same, count(*)
FROM generate_series(1, 60) i GROUP BY 1;
SELECT verify('t');
RESET pg_toaster.node_size;

-- what RETURNING, triggers, CTEs and savepoints see
BEGIN;
SAVEPOINT s;
UPDATE t SET v = v || '\xdead' WHERE id = 1 RETURNING length(v) = (SELECT length(v) + 2 FROM stock WHERE id = 1) AS longer;
ROLLBACK TO s;
WITH u AS (UPDATE t SET v = v || '\xbeef' WHERE id <= 2 RETURNING id, v)
SELECT id, substr(v, length(v) - 1) FROM u ORDER BY id;
ROLLBACK;
SELECT same('stock', 't'), verify('t');
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE WARNING 'old %, new %', length(OLD.v), length(NEW.v);
  IF NEW.id = 2 THEN RETURN NULL; END IF;
  IF NEW.id = 3 THEN NEW.v := NEW.v || '\x33'; END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER look BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION look();
CREATE TRIGGER look BEFORE UPDATE ON stock FOR EACH ROW EXECUTE FUNCTION look();
SELECT agree, same, verify FROM edit($$v = v || '\x44'$$);
-- nothing is left
DROP TRIGGER look ON t;
DROP TRIGGER look ON stock;
SELECT result, agree, same, verify FROM edit($$v = substr(v, 100000000), t = left(t, -100000000)$$);

-- called by name, the functions return flat values, which can be kept
CREATE TABLE kept AS
SELECT id, toaster.byteacat(v, '\x01') AS v, toaster.textcat(t, 'x') AS t FROM t ORDER BY length(v);
SELECT bool_and(kept.v = t.v || '\x01' AND kept.t = t.t || 'x') AS same FROM kept JOIN t USING (id);
CREATE OPERATOR ||| (FUNCTION = toaster.byteacat, LEFTARG = bytea, RIGHTARG = bytea);
SELECT mark();
UPDATE t SET v = v ||| '\x01';
SELECT since('edits_applied') AS applied, bool_and(kept.v = t.v) AS same FROM kept JOIN t USING (id);
