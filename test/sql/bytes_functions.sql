-- toaster.splice(), append() and truncate(), in expressions and as edits;
-- get_byte(), get_bit(), position() and the like read what they need of a
-- tree.  Results and errors are those on a heap table with the same rows.
CREATE SCHEMA bytes_functions;
SET search_path = bytes_functions, twin, public;
SET client_min_messages = warning;

CREATE TABLE stock (id int PRIMARY KEY, v bytea, t text) USING heap;
INSERT INTO stock VALUES
  (1, bytes(1, 300000), prose(1, 300000)),
  (2, bytes(2, 70000) || decode(repeat('00', 70000), 'hex'), noise(2, 70000)),
  (3, bytes(3, 2100), noise(3, 2100)),
  (4, bytes(4, 10), 'short'),
  (5, '', ''),
  (6, NULL, NULL);
CREATE TABLE t (LIKE stock INCLUDING ALL) USING toaster;
INSERT INTO t SELECT * FROM stock;

-- An expression on both tables, or a SET clause: the same answer, or the same
-- error; values that were read whole.
CREATE FUNCTION attempt(statement text, answers boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
  detail text;
BEGIN
  IF NOT answers THEN
    EXECUTE statement;
    RETURN 'ok';
  END IF;
  EXECUTE statement INTO answer;
  RETURN coalesce(answer, 'nothing');
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RETURN concat_ws(' ', SQLSTATE, SQLERRM, nullif(detail, ''));
END
$$;
CREATE FUNCTION ask(expression text)
RETURNS TABLE (answer text, agree boolean, whole bigint)
LANGUAGE plpgsql AS $$
DECLARE
  expected text := attempt(format('SELECT string_agg(concat(id, ''='', (%s)::text), '' '' ORDER BY id) FROM stock', expression), true);
BEGIN
  PERFORM mark();
  answer := attempt(format('SELECT string_agg(concat(id, ''='', (%s)::text), '' '' ORDER BY id) FROM t', expression), true);
  whole := since('edits_flattened') + since('documents_flattened');
  agree := answer = expected;
  IF length(answer) > 150 THEN
    answer := 'long';
  END IF;
  RETURN NEXT;
END
$$;
CREATE FUNCTION edit(assignment text)
RETURNS TABLE (result text, agree boolean, same boolean, verify text,
               applied bigint, written bigint, whole bigint)
LANGUAGE plpgsql AS $$
DECLARE
  expected text := attempt(format('UPDATE stock SET %s', assignment), false);
BEGIN
  PERFORM mark();
  result := attempt(format('UPDATE t SET %s', assignment), false);
  applied := since('edits_applied');
  written := since('edits_written');
  whole := since('edits_flattened') + since('documents_flattened');
  agree := result = expected;
  same := same('stock', 't');
  verify := verify('t');
  RETURN NEXT;
END
$$;

-- reads
SELECT * FROM ask('get_byte(v, 0) + get_byte(v, 9)') WHERE agree IS NOT TRUE;
SELECT * FROM ask('CASE WHEN id < 4 THEN get_byte(v, length(v) - 1) END');
SELECT * FROM ask('CASE WHEN id < 5 THEN get_bit(v, 75) END');
SELECT * FROM ask('CASE WHEN id = 1 THEN get_bit(v, 2399999) END');
SELECT * FROM ask('get_byte(v, 2147483647)');
SELECT * FROM ask('get_byte(v, -1)');
SELECT * FROM ask('get_bit(v, 2400000)');
SELECT * FROM ask('get_bit(v, -1)');
SELECT * FROM ask('get_byte(v, NULL)');
SELECT * FROM ask('length(v) + octet_length(v)');
SELECT * FROM ask($$position('\x0000' in v)$$);
SELECT * FROM ask($$position('\x' in v)$$);
SELECT * FROM ask($$position('\x00' in v)$$);
SELECT * FROM ask($$position(substr(bytes(1, 300000), 131060, 30) in v)$$);
SELECT * FROM ask($$position(substr(bytes(1, 300000), 1000, 65000) in v)$$);
SELECT * FROM ask($$position(substr(bytes(1, 300000), 1000, 66000) in v)$$);
SELECT * FROM ask($$position(v in v || 'x')$$);
SELECT * FROM ask($$strpos(t, 'line 3000 ')$$);
SELECT * FROM ask($$strpos(t, 'no such line')$$);
SELECT * FROM ask($$strpos(t, '')$$);
SELECT * FROM ask($$starts_with(t, 'This is') OR t ^@ 'shorter'$$);
SELECT * FROM ask($$length(t) + char_length(t)$$);
SELECT * FROM ask($$substr(t, 200000, 20)$$);
SELECT * FROM ask($$right(left(t, -290000), 5)$$);

-- an expression: a flat value, whatever becomes of it
SELECT * FROM ask($$md5(toaster.splice(v, 0, 0, '\x0102')) = md5('\x0102' || v)$$);
SELECT * FROM ask($$toaster.splice(v, length(v), 5, '\xff') = v || '\xff'$$);
SELECT * FROM ask($$toaster.splice(v, length(v) / 2, 9223372036854775807, '\xff') = substr(v, 1, length(v) / 2) || '\xff'$$);
SELECT * FROM ask($$toaster.splice(v, length(v) / 2, length(v) / 4, '\xff')
  = substr(v, 1, length(v) / 2) || '\xff' || substr(v, length(v) / 2 + length(v) / 4 + 1)$$);
SELECT * FROM ask($$toaster.splice(t, length(t) / 2, length(t) / 4, 'xyz')
  = left(t, length(t) / 2) || 'xyz' || substr(t, length(t) / 2 + length(t) / 4 + 1)$$);
SELECT * FROM ask($$toaster.append(v, '\xff') = v || '\xff' AND toaster.append(t, 'x') = t || 'x'$$);
SELECT * FROM ask($$toaster.truncate(v, 7) = substr(v, 1, 7) AND toaster.truncate(t, 7) = left(t, 7)$$);
SELECT * FROM ask($$toaster.truncate(v, 250000) = substr(v, 1, 250000) AND toaster.truncate(t, 9223372036854775807) = t$$);
SELECT * FROM ask($$toaster.splice(v, NULL, 0, v) IS NULL AND toaster.append(t, NULL) IS NULL AND toaster.truncate(v, NULL) IS NULL$$);
-- sorted, in variables and in another table, our functions by their names
CREATE TABLE other USING toaster AS
  SELECT id, toaster.splice(v, 0, 0, '\x01') AS v, toaster.textcat(t, 'x') AS t
  FROM t WHERE id < 5 ORDER BY md5(toaster.append(t, 'y')), 2;
SELECT o.id, o.v = '\x01' || t.v AS v, o.t = t.t || 'x' AS t FROM other o JOIN t USING (id) ORDER BY id;
SELECT id, length(v), length(s) FROM (SELECT id, toaster.byteacat(v, '\x01') v, toaster.substr(t, 2) s FROM t ORDER BY 2, 3) q ORDER BY id;
DO $$
DECLARE
  one bytea := (SELECT toaster.set_byte(v, 0, 0) FROM t WHERE id = 1);
  two bytea;
BEGIN
  SELECT toaster.overlay(v, '\xff', 5) INTO two FROM t WHERE id = 1;
  IF one IS DISTINCT FROM (SELECT set_byte(v, 0, 0) FROM stock WHERE id = 1) OR
    two IS DISTINCT FROM (SELECT overlay(v placing '\xff' from 5) FROM stock WHERE id = 1) THEN
    RAISE 'values differ';
  END IF;
END
$$;

-- arguments that make no sense
SELECT * FROM ask($$toaster.splice(v, -1, 0, '')$$);
SELECT * FROM ask($$toaster.splice(v, 0, -1, '')$$);
SELECT * FROM ask($$toaster.splice(v, 300001, 0, '')$$);
SELECT * FROM ask($$toaster.splice(t, 300001, 9223372036854775807, '')$$);
SELECT * FROM ask($$toaster.splice(t, 9223372036854775807, 0, '')$$);
SELECT * FROM ask($$toaster.truncate(v, -1)$$);
SELECT * FROM ask($$toaster.truncate(t, -9223372036854775808)$$);
SELECT * FROM edit($$v = toaster.splice(v, -1, 0, '')$$);
SELECT * FROM edit($$v = toaster.splice(v, 0, -1, '')$$);
SELECT * FROM edit($$v = toaster.splice(v, 300001, 0, '')$$);
SELECT * FROM edit($$t = toaster.splice(t, 300001, 0, '')$$);
SELECT * FROM edit($$t = toaster.truncate(t, -1)$$);

-- edits
SELECT * FROM edit($$v = toaster.splice(v, 0, 0, '\x0102')$$);
SELECT * FROM edit($$v = toaster.splice(v, length(v), 7, '\x0304')$$);
SELECT * FROM edit($$v = toaster.splice(v, length(v) / 2, 0, '')$$);
SELECT * FROM edit($$v = toaster.splice(v, length(v) / 2, 100, ''), t = toaster.splice(t, length(t) / 3, 5, 'xyz')$$);
SELECT * FROM edit($$v = toaster.append(v, '\xffff'), t = toaster.append(t, 'end')$$);
SELECT * FROM edit($$v = toaster.append(toaster.truncate(v, 100000), '\xabcd')$$);
SELECT * FROM edit($$v = toaster.append(toaster.append(toaster.splice(v, 1, 1, '\x00'), '\x01'), '\x02') WHERE id <= 3$$);
SELECT * FROM edit($$t = toaster.truncate(t, 50000)$$);
SELECT * FROM edit($$t = toaster.truncate(t, 50000), v = toaster.truncate(v, 9223372036854775807)$$);
SELECT * FROM edit($$v = CASE WHEN id = 1 THEN toaster.splice(v, 5, 5, '') ELSE coalesce(toaster.truncate(v, 50000), '\x01') END$$);
-- a function that not everybody may execute is not put anywhere
REVOKE EXECUTE ON FUNCTION toaster.append(bytea, bytea) FROM PUBLIC;
SELECT result, agree, same, applied FROM edit($$v = toaster.append(v, '\x0506')$$);
GRANT EXECUTE ON FUNCTION toaster.append(bytea, bytea) TO PUBLIC;
SELECT result, agree, same, applied FROM edit($$v = toaster.append(v, '\x0506')$$);
SET pg_toaster.enable_planner = off;
SELECT result, agree, same, applied FROM edit($$v = toaster.append(v, '\x0708'), t = toaster.truncate(t, 40000)$$);
RESET pg_toaster.enable_planner;

-- no value becomes longer than 1 GB; the old one stays
CREATE TABLE long (id int, v bytea, t text) USING toaster;
INSERT INTO long VALUES (1, decode(repeat('00', 70000000), 'hex'), repeat('a', 100000000));
UPDATE long SET v = v || v;
UPDATE long SET v = v || v;
UPDATE long SET v = v || v;
UPDATE long SET v = toaster.append(v, v);
UPDATE long SET v = toaster.splice(v, 5, 5, v);
SELECT toaster.splice(v, 5, 5, v) FROM long;
UPDATE long SET v = toaster.splice(v, 559999999, 1, '\x01');
SELECT octet_length(v), get_byte(v, 559999999), position('\x01' in v), length(t), verify('long') FROM long;
DROP TABLE long;
