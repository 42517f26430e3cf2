-- An UPDATE by a function that changes a part of a document leaves the same
-- bytes in a tree as in a heap, and raises the same errors with the same
-- SQLSTATEs; it reads no document whole, and writes nothing where nothing has
-- changed: in trees of one node, of many tiny nodes, in documents of every
-- shape.
CREATE SCHEMA json_edit;
SET search_path = json_edit, twin, public;
SET client_min_messages = warning;

--
-- The documents: 1 to 5 have no container at their root, or are none
--
CREATE TABLE heap_docs (id int PRIMARY KEY, doc jsonb) USING heap;
INSERT INTO heap_docs VALUES
  (1, '"a string at the root"'), (2, '12.50'), (3, 'null'), (4, NULL), (5, to_jsonb(noise(17, 30000))),
  (6, '{}'), (7, '[]'), (8, '{"a": null, "b": {"c": [1, 2, {"d": "deep"}, []], "k1": null}, "": 0, "f": false, "t": true}'),
  (9, document(9, 40) || '{"a": {"b": {"c": "three levels"}}, "z": [[1, [2, 3]], {"d": null}, "é"]}'),
  (10, document(10, 2) || jsonb_build_object('a', noise(1, 9000), 'long', prose(2, 20000), 'b', document(3, 20),
     'number', repeat('123456789', 1100)::numeric, 'list', (SELECT jsonb_agg(noise(i, 700)) FROM generate_series(1, 20) i))),
  (11, (SELECT jsonb_agg(CASE i % 5 WHEN 0 THEN to_jsonb(i) WHEN 1 THEN to_jsonb('element ' || i)
     WHEN 2 THEN 'null' WHEN 3 THEN jsonb_build_object('d', i, 'a', jsonb_build_array(i, i + 1))
     ELSE jsonb_build_array(i, jsonb_build_array(i)) END) FROM generate_series(0, 999) i)),
  (12, jsonb_build_object('a', (SELECT jsonb_agg(jsonb_build_object('b', i, 'c', md5(i::text))) FROM generate_series(0, 499) i),
     'b', (SELECT jsonb_object_agg('k' || i, i) FROM generate_series(1, 500) i), 'd', '2024-02-03T04:05:06+02:00')),
  (13, (SELECT jsonb_object_agg(repeat('k', 300) || chr(97 + i % 26) || i % 3, i) FROM generate_series(0, 77) i) || '{"a": 1}'),
  (14, (repeat('{"a":', 60) || '"bottom"' || repeat('}', 60))::jsonb || jsonb_build_object('pad', noise(14, 3000))),
  (15, (repeat('[', 60) || '"bottom", 1' || repeat(']', 60))::jsonb || jsonb_build_array(noise(15, 3000), 15, 16, noise(16, 400), 18)),
  (16, '{"a": [], "b": {}, "c": [[], {}, [null]], "d": "", "list": [1.0, 1.00, 1e3, -0.5, "1"], "\u00e9\ud83d\ude00": "\u00e9\"\\\n\t"}'),
  (17, '{"1": "one", "-1": "minus one", "0": {"0": [10, [20]]}, "a b": {"c.d": 5}, "$": {"a": 1}, "last": 9}'),
  (18, jsonb_build_object('a', (SELECT jsonb_agg(md5(i::text)) FROM generate_series(1, 2500) i),
     'b', (SELECT jsonb_object_agg(md5(i::text), i) FROM generate_series(1, 1500) i)));
-- each with everything in one node, and in many nodes
SET pg_toaster.min_tree_size = 1;
CREATE TABLE docs (LIKE heap_docs INCLUDING ALL) USING toaster;
INSERT INTO docs SELECT * FROM heap_docs;
SET pg_toaster.node_size = 128;
CREATE TABLE tiny_docs (LIKE heap_docs INCLUDING ALL) USING toaster;
INSERT INTO tiny_docs SELECT * FROM heap_docs;
RESET pg_toaster.node_size;
SELECT trees('docs', 'doc') AS trees, trees('tiny_docs', 'doc') AS tiny_trees;

--
-- Comparing
--

-- A counter of this session.
CREATE FUNCTION counter(counter text) RETURNS bigint LANGUAGE sql AS $$
  SELECT session FROM toaster.stats WHERE name = counter
$$;

-- Do it to each document of a table; return the errors.
CREATE FUNCTION edit(rel regclass, assignment text, OUT errors text[], OUT flattened bigint, OUT applied bigint)
LANGUAGE plpgsql AS $$
DECLARE
  number int;
BEGIN
  PERFORM set_config('pg_toaster.node_size', CASE rel::text WHEN 'tiny_docs' THEN '128' ELSE '1996' END, true);
  errors := '{}';
  applied := counter('edits_applied');
  FOR number IN SELECT id FROM heap_docs ORDER BY id LOOP
    IF number = 6 THEN
      flattened := counter('documents_flattened') + counter('edits_flattened');
    END IF;
    BEGIN
      EXECUTE format('UPDATE %s AS t SET %s WHERE id = $1', rel, assignment) USING number;
    EXCEPTION WHEN OTHERS THEN
      errors := errors || format('%s %s %s', number, SQLSTATE, SQLERRM);
    END;
  END LOOP;
  flattened := counter('documents_flattened') + counter('edits_flattened') - flattened;
  applied := counter('edits_applied') - applied;
END
$$;

-- Is the outcome the same; how many documents changed, how many errors were
-- there, so that one sees that the assignment says something; how many
-- containers were read whole; was each one that changed edited in memory?  All
-- is undone.
CREATE FUNCTION compare(assignments text[])
RETURNS TABLE (assignment text, same boolean, changed bigint, errors text, flattened bigint, edited boolean)
LANGUAGE plpgsql AS $$
DECLARE
  stock record;
  large record;
  tiny record;
  sound boolean;
  edits bigint;
BEGIN
  CREATE TEMP TABLE before AS SELECT * FROM heap_docs;
  FOREACH assignment IN ARRAY assignments LOOP
    BEGIN
      stock := edit('heap_docs', assignment);
      large := edit('docs', assignment);
      tiny := edit('tiny_docs', assignment);
      same := same('heap_docs', 'docs') AND same('heap_docs', 'tiny_docs')
        AND large.errors = stock.errors AND tiny.errors = stock.errors;
      sound := verify('docs') = 'sound' AND verify('tiny_docs') = 'sound';
      SELECT count(*), count(*) FILTER (WHERE id >= 8 AND a.doc IS NOT NULL) INTO changed, edits
      FROM heap_docs a JOIN before b USING (id) WHERE NOT a *= b;
      SELECT string_agg(count || ' x ' || state, ', ' ORDER BY state) INTO errors
      FROM (SELECT split_part(e, ' ', 2) AS state, count(*) FROM unnest(stock.errors) e GROUP BY 1) x;
      flattened := coalesce(large.flattened + tiny.flattened, 0);
      edited := coalesce(large.applied >= edits AND tiny.applied >= edits, true);
      RAISE EXCEPTION USING ERRCODE = 'UNDO0';
    EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
      same := same AND sound;
      RETURN NEXT;
    END;
  END LOOP;
  DROP TABLE before;
END
$$;

--
-- jsonb_set(), jsonb_set_lax(), jsonb_insert()
--
SELECT * FROM compare(ARRAY[
  $$doc = jsonb_set(doc, '{a}', '1')$$, $$doc = jsonb_set(doc, '{a}', '[1, {"x": "y"}]')$$, $$doc = jsonb_set(doc, '{a}', 'null')$$,
  $$doc = jsonb_set(doc, '{a}', '1', false)$$, $$doc = jsonb_set(doc, '{new}', '"value"')$$, $$doc = jsonb_set(doc, '{b,k77}', '"longer than before"')$$,
  $$doc = jsonb_set(doc, '{a,250,b}', '-1')$$, $$doc = jsonb_set(doc, '{a,-1,new}', '{}')$$, $$doc = jsonb_set(doc, '{b,c,2,d}', '[[]]')$$,
  $$doc = jsonb_set(doc, '{key7,list,3}', '"x"')$$, $$doc = jsonb_set(doc, '{z,0,1,1}', '3.50')$$, $$doc = jsonb_set(doc, '{500}', '"five hundred"')$$,
  $$doc = jsonb_set(doc, '{0}', '0')$$, $$doc = jsonb_set(doc, '{-1}', '{"last": true}')$$, $$doc = jsonb_set(doc, '{1000}', '"appended"')$$,
  $$doc = jsonb_set(doc, '{-1001}', '"prepended"')$$, $$doc = jsonb_set(doc, '{5000}', '"appended"', true)$$, $$doc = jsonb_set(doc, '{a,99999}', '1')$$,
  $$doc = jsonb_set(doc, '{list,-99}', '1')$$, $$doc = jsonb_set(doc, '{}', '1')$$, $$doc = jsonb_set(doc, '{""}', '"empty key"')$$,
  $$doc = jsonb_set(doc, ARRAY[repeat('k', 300) || 'm1'], '"changed"')$$, $$doc = jsonb_set(doc, ARRAY['é😀', 'x'], '1')$$,
  $$doc = jsonb_set(doc, ARRAY['a', NULL], '1')$$, $$doc = jsonb_set(doc, '{a,x}', '1')$$, $$doc = jsonb_set(doc, '{x,a}', '1')$$,
  $$doc = jsonb_set(doc, '{b,x,y}', '1')$$, $$doc = jsonb_set(doc, '{{a,b},{c,d}}', '1')$$, $$doc = jsonb_set(doc, '{99999999999}', '1')$$,
  $$doc = jsonb_set(doc, array_fill('a'::text, ARRAY[60]), '"deep"')$$, $$doc = jsonb_set(doc, array_fill('0'::text, ARRAY[60]), '{"deep": 1}')$$,
  $$doc = jsonb_set(doc, array_fill('a'::text, ARRAY[30]), '"cut"')$$, $$doc = jsonb_set(doc, '{a}', NULL)$$, $$doc = jsonb_set(doc, NULL, '1')$$]);
-- values of all sizes, and parts of the document itself
SELECT * FROM compare(ARRAY[
  $$doc = jsonb_set(doc, '{a}', to_jsonb(noise(id, 100)))$$, $$doc = jsonb_set(doc, '{a}', to_jsonb(noise(id, 5000)))$$,
  $$doc = jsonb_set(doc, '{7}', to_jsonb(prose(id, 300000)))$$, $$doc = jsonb_set(doc, '{b}', document(id, 300))$$,
  $$doc = jsonb_set(doc, '{a,3}', to_jsonb(repeat('98765', 2000)::numeric))$$, $$doc = jsonb_set(doc, '{long}', '"short"')$$,
  $$doc = jsonb_set(doc, '{number}', '1')$$, $$doc = jsonb_set(doc, '{list,10}', '[]')$$, $$doc = jsonb_set(doc, '{list,10}', to_jsonb(noise(7, 6000)))$$,
  $$doc = jsonb_set(doc, '{new}', doc -> 'a')$$, $$doc = jsonb_set(doc, '{a}', doc -> 'b')$$, $$doc = jsonb_set(doc, '{3,a}', doc -> 8)$$,
  $$doc = jsonb_set(doc, '{b}', jsonb_set(doc -> 'b', '{k5}', '55'))$$, $$doc = jsonb_set(doc, '{a}', to_jsonb(id))$$]);
SELECT * FROM compare(ARRAY[
  $$doc = jsonb_set_lax(doc, '{a}', '1')$$, $$doc = jsonb_set_lax(doc, '{b,k1}', NULL)$$, $$doc = jsonb_set_lax(doc, '{b,k1}', NULL, true, 'delete_key')$$,
  $$doc = jsonb_set_lax(doc, '{a,1}', NULL, true, 'delete_key')$$, $$doc = jsonb_set_lax(doc, '{new}', NULL, true, 'use_json_null')$$,
  $$doc = jsonb_set_lax(doc, '{new}', NULL, false)$$, $$doc = jsonb_set_lax(doc, '{0}', NULL, true, 'delete_key')$$, $$doc = jsonb_set_lax(doc, '{5000}', NULL)$$]);
SELECT * FROM compare(ARRAY[
  $$doc = jsonb_insert(doc, '{new}', '"inserted"')$$, $$doc = jsonb_insert(doc, '{a}', '1')$$, $$doc = jsonb_insert(doc, '{500}', '"before"')$$,
  $$doc = jsonb_insert(doc, '{500}', '"after"', true)$$, $$doc = jsonb_insert(doc, '{0}', '{"first": 1}')$$, $$doc = jsonb_insert(doc, '{0}', '"second"', true)$$,
  $$doc = jsonb_insert(doc, '{-1}', '"before the last"')$$, $$doc = jsonb_insert(doc, '{-1}', '"last"', true)$$, $$doc = jsonb_insert(doc, '{9999}', '"far"')$$,
  $$doc = jsonb_insert(doc, '{-9999}', '"far in front"')$$, $$doc = jsonb_insert(doc, '{-9999}', '"far in front"', true)$$, $$doc = jsonb_insert(doc, '{a,250}', '{"b": "middle"}')$$,
  $$doc = jsonb_insert(doc, '{a,1250}', to_jsonb(noise(1, 3000)), true)$$, $$doc = jsonb_insert(doc, '{b,k250a}', '"between"')$$, $$doc = jsonb_insert(doc, '{b,c,0}', '[]')$$,
  $$doc = jsonb_insert(doc, '{list,20}', '1')$$, $$doc = jsonb_insert(doc, '{list,5}', to_jsonb(noise(2, 700)))$$, $$doc = jsonb_insert(doc, '{a,b}', '1')$$,
  $$doc = jsonb_insert(doc, '{a,x,b}', '1')$$, $$doc = jsonb_insert(doc, '{}', '1')$$]);

--
-- ||, - and #-
--
SELECT * FROM compare(ARRAY[
  $$doc = doc || '{"a": 1}'$$, $$doc = doc || '{"new": [1], "a": null, "zz": {}}'$$, $$doc = doc || '{}'$$, $$doc = doc || '[]'$$, $$doc = doc || '[1, [2]]'$$,
  $$doc = doc || '"scalar"'$$, $$doc = doc || 'null'$$, $$doc = '{"a": 1, "first": 1}' || doc$$, $$doc = '{}' || doc$$, $$doc = '[]' || doc$$,
  $$doc = '["front", {}]' || doc$$, $$doc = '1' || doc$$, $$doc = doc || jsonb_build_object('big', noise(3, 20))$$, $$doc = doc || jsonb_build_array(noise(3, 20))$$,
  $$doc = doc || NULL$$, $$doc = NULL || doc$$]);
SELECT * FROM compare(ARRAY[
  $$doc = doc - 'a'$$, $$doc = doc - 'key20'$$, $$doc = doc - 'no such key'$$, $$doc = doc - ''$$, $$doc = doc - (repeat('k', 300) || 'm1')$$,
  $$doc = doc - 'element 501'$$, $$doc = doc - 0$$, $$doc = doc - 500$$, $$doc = doc - -1$$, $$doc = doc - 999$$, $$doc = doc - 1000$$, $$doc = doc - -1001$$,
  $$doc = doc - 2147483647$$, $$doc = doc - '{a,key1,key2,long,x}'::text[]$$, $$doc = doc - '{}'::text[]$$, $$doc = doc - ARRAY[NULL, 'b']$$,
  $$doc = doc - '{element 1,element 996}'::text[]$$, $$doc = doc - '{{a,b},{c,d}}'::text[]$$, $$doc = doc - NULL::text$$]);
SELECT * FROM compare(ARRAY[
  $$doc = doc #- '{a}'$$, $$doc = doc #- '{b,k77}'$$, $$doc = doc #- '{b,c,2,d}'$$, $$doc = doc #- '{a,250}'$$, $$doc = doc #- '{a,-1}'$$, $$doc = doc #- '{a,1000,x}'$$,
  $$doc = doc #- '{500}'$$, $$doc = doc #- '{3,a,0}'$$, $$doc = doc #- '{list,19}'$$, $$doc = doc #- '{key7,list}'$$, $$doc = doc #- '{}'$$, $$doc = doc #- '{x}'$$,
  $$doc = doc #- '{-9999}'$$, $$doc = doc #- ARRAY['a', NULL]$$, $$doc = doc #- '{b,x,y}'$$, $$doc = doc #- array_fill('a'::text, ARRAY[60])$$,
  $$doc = doc #- array_fill('0'::text, ARRAY[59])$$, $$doc = doc #- '{{a,b},{c,d}}'$$]);

--
-- Subscripts
--
SELECT * FROM compare(ARRAY[
  $$doc['a'] = '1'$$, $$doc['new'] = '{"x": []}'$$, $$doc['b']['k77'] = '"changed"'$$, $$doc['a'][250]['b'] = '[]'$$, $$doc['a'][-1] = '0'$$,
  $$doc[0] = '"first"'$$, $$doc[-1] = 'null'$$, $$doc[-1000] = 'null'$$, $$doc[-1001] = 'null'$$, $$doc[1000] = '"next"'$$, $$doc[CASE id WHEN 11 THEN 1010 ELSE 30 END] = '"gap"'$$,
  $$doc['a'][510] = '"gap"'$$, $$doc['x']['y'][3]['z'] = '"made"'$$, $$doc['b']['c'][2]['d']['e'] = '1'$$, $$doc['b']['c'][7] = '7'$$, $$doc['a']['b'] = '1'$$,
  $$doc[id] = to_jsonb(id)$$, $$doc['k' || id] = to_jsonb(id)$$, $$doc['a'] = NULL$$, $$doc[NULL::text] = '1'$$, $$doc['a'] = doc['b']$$,
  $$doc['a'] = '1', doc['b'] = '2'$$, $$doc['b']['k1'] = '-1', doc['b']['k500'] = '-500', doc['new'][2] = '2'$$, $$doc[1] = '1', doc[3]['a'][0] = '3', doc[-2] = '2'$$,
  $$doc['a'] = '[]', doc['a'][3] = '3', doc['a'][1] = '1'$$]);

--
-- Nestings
--
SELECT * FROM compare(ARRAY[
  $$doc = jsonb_set(jsonb_set(doc, '{a}', '1'), '{new}', '2')$$, $$doc = jsonb_set(doc - 'a', '{b,k1}', '1') || '{"x": 1}'$$,
  $$doc = (doc - 'a') || jsonb_build_object('renamed', doc -> 'a')$$, $$doc = (doc - 'b') || jsonb_build_object('', doc -> 'b')$$,
  $$doc = jsonb_set(doc #- '{b,k9}', '{b,renamed}', doc #> '{b,k9}')$$, $$doc = jsonb_insert(doc #- '{a,250}', '{a,1}', doc #> '{a,250}')$$,
  $$doc = jsonb_insert(jsonb_insert(doc - 500, '{0}', '1'), '{-1}', '2', true)$$, $$doc = doc - 1 - 1 - 1 - -1$$, $$doc = doc #- '{a,0}' #- '{a,0}' #- '{a,-1}'$$,
  $$doc = jsonb_set(doc || '{"list": []}', '{list,0}', '"one"')$$, $$doc = jsonb_set(doc, '{b}', jsonb_strip_nulls(doc -> 'b'))$$,
  $$doc = CASE WHEN id % 2 = 0 THEN jsonb_set(doc, '{a}', '1') ELSE doc - 'b' END$$, $$doc = coalesce(jsonb_set(doc, '{a}', '1'), '{}')$$,
  $$doc = '{"a": 0, "0": 1}' || (doc || '{"1": 2}')$$]);
-- what reads the edited document, adds more than there was, and jsonb_strip_nulls() of all of it: no less correct
SELECT assignment, same, changed, errors FROM compare(ARRAY[
  $$doc = doc || jsonb_build_object('big', noise(3, 9000))$$, $$doc = doc || jsonb_build_array(document(2, 60))$$, $$doc = doc || jsonb_build_object('moved', doc -> 'b')$$,
  $$doc = jsonb_strip_nulls(jsonb_set(doc, '{a}', 'null'))$$, $$doc = jsonb_strip_nulls(doc)$$, $$doc = jsonb_set(doc, '{a}', '1') -> 'b'$$,
  $$doc = jsonb_build_array(doc - 'a', doc -> 'a')$$, $$doc = to_jsonb(md5((doc - 'a')::text))$$, $$doc = doc || doc$$, $$doc = jsonb_set(doc, '{a}', doc)$$,
  $$doc = jsonb_set(doc, '{a}', (jsonb_set(doc, '{b}', '1') -> 'b'))$$, $$doc = CASE WHEN jsonb_set(doc, '{a}', '1') ? 'b' THEN doc - 'b' ELSE doc - 0 END$$, $$doc = (SELECT doc - 'a')$$, $$doc = nullif(doc - 'a', doc)$$,
  $$doc = (doc || (SELECT jsonb_object_agg(md5(i::text), i) FROM generate_series(1, 3000) i))$$,
  $$doc = (SELECT jsonb_set(t.doc, '{a}', h.doc -> 'a') FROM heap_docs h WHERE h.id = 9)$$]);

--
-- Where nothing changes, nothing is written
--
CREATE FUNCTION nothing(assignments text[]) RETURNS TABLE (assignment text, same boolean, written bigint)
LANGUAGE plpgsql AS $$
DECLARE
  table_name text;
BEGIN
  FOREACH assignment IN ARRAY assignments LOOP
    PERFORM mark();
    FOREACH table_name IN ARRAY '{docs,tiny_docs}'::text[] LOOP
      PERFORM set_config('pg_toaster.node_size', CASE table_name WHEN 'docs' THEN '1996' ELSE '128' END, true);
      EXECUTE format('UPDATE %s SET doc = %s WHERE jsonb_typeof(doc) = ''object'' AND id > 6', table_name, assignment);
    END LOOP;
    written := since('nodes_written');
    same := same('heap_docs', 'docs') AND same('heap_docs', 'tiny_docs');
    RETURN NEXT;
  END LOOP;
END
$$;
SELECT * FROM nothing(ARRAY[
  $$doc$$, $$jsonb_set(doc, '{no such key}', '1', false)$$, $$jsonb_set(doc, '{x,y}', '1')$$, $$doc - 'no such key'$$, $$doc #- '{no,such,key}'$$,
  $$doc - '{x,y}'::text[]$$, $$doc || '{}'$$, $$'{}' || doc$$, $$jsonb_set_lax(doc, '{a}', NULL, true, 'return_target')$$, $$jsonb_set(doc, '{}', '1')$$,
  $$doc #- '{}'$$, $$coalesce(jsonb_set(doc, '{a}', doc -> 'a', false), doc)$$, $$coalesce(jsonb_set(doc, '{b,k1}', doc #> '{b,k1}', false), doc)$$, $$coalesce(doc, '{}')$$]);

--
-- Many edits, one after the other: all of them stay
--
CREATE PROCEDURE many(rel regclass) LANGUAGE plpgsql AS $$
DECLARE
  assignments text[] := ARRAY[
    $a$doc = jsonb_set(doc, '{a}', to_jsonb($1))$a$, $a$doc = jsonb_set(doc, '{b,k77}', to_jsonb(repeat('x', $1 % 50)))$a$,
    $a$doc = doc || jsonb_build_object('new' || $1 % 7, $1)$a$, $a$doc = doc - ('new' || ($1 + 3) % 7)$a$, $a$doc['b']['c'][$1 % 5] = to_jsonb($1)$a$,
    $a$doc = jsonb_set(doc, '{a}', doc -> 'b', false)$a$, $a$doc = jsonb_insert(doc, '{list,0}', to_jsonb($1))$a$, $a$doc = doc #- '{list,1}'$a$,
    $a$doc = jsonb_set(doc, '{key3}', to_jsonb(repeat('y', $1 * 5)))$a$, $a$doc = jsonb_set(doc, '{d}', to_jsonb($1 % 2))$a$];
BEGIN
  FOR round IN 1 .. 60 LOOP
    EXECUTE format('UPDATE %s SET %s WHERE id IN (8, 9, 10, 12, 14, 16, 17, 18)',
                   rel, assignments[1 + round * 7 % 10]) USING round;
    EXECUTE format('UPDATE %s SET doc = jsonb_set(jsonb_insert(doc, ARRAY[($1 * 37 %% 900)::text], to_jsonb($1)), ''{-1}'', to_jsonb($1)) - 7'
                   ' WHERE id IN (7, 11, 15)', rel) USING round;
    COMMIT;
  END LOOP;
END
$$;
CALL many('heap_docs');
SELECT mark();
CALL many('docs');
SET pg_toaster.node_size = 128;
CALL many('tiny_docs');
RESET pg_toaster.node_size;
SELECT coalesce((SELECT session - current_setting('twin.edits_flattened')::bigint FROM toaster.stats WHERE name = 'edits_flattened'), 0) AS edits_flattened;
SELECT same('heap_docs', 'docs') AS docs, same('heap_docs', 'tiny_docs') AS tiny_docs, verify('docs'), verify('tiny_docs');
-- parts of edited documents are read as parts, and give the same
CREATE FUNCTION parts(rel regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE format($s$
    SELECT string_agg(concat_ws('|', id, doc ->> 'a', doc #>> '{b,k77}', doc -> 'b' ->> 'k78', doc -> 'new3', doc ? 'new4', doc -> 'list' ->> 1,
      doc #> '{b,c}', doc -> -1, doc ->> 500, doc @> '{"d": 1}', jsonb_typeof(doc -> 'a'), doc #>> '{a,250,b}', doc -> 'key3',
      doc @? '$.b.k77', jsonb_path_query_first(doc, '$.b.c[2]')), E'\n' ORDER BY id) FROM %s WHERE id > 5$s$, rel) INTO result;
  RETURN result;
END
$$;
SELECT counter('documents_flattened') AS before \gset
SELECT parts('docs') = parts('heap_docs') AS docs, parts('tiny_docs') = parts('heap_docs') AS tiny_docs, counter('documents_flattened') - :before AS flattened;
VACUUM docs, tiny_docs;
VACUUM FULL docs;
CLUSTER tiny_docs USING tiny_docs_pkey;
SELECT same('heap_docs', 'docs') AS docs, same('heap_docs', 'tiny_docs') AS tiny_docs, verify('docs'), verify('tiny_docs');

--
-- One statement of each kind reads nothing whole, with indexes and constraints
--
CREATE TABLE target (id int PRIMARY KEY, doc jsonb, name text GENERATED ALWAYS AS (doc ->> 'd') STORED,
  CHECK (doc -> 'a' IS NOT NULL), CHECK (jsonb_typeof(doc) = 'object')) USING toaster;
CREATE INDEX ON target ((doc ->> 'd'));
CREATE INDEX ON target (id) WHERE doc ? 'd';
CREATE UNIQUE INDEX ON target (id, (doc #>> '{b,k7}'));
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.doc ->> 'd' IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER look BEFORE UPDATE ON target FOR EACH ROW EXECUTE FUNCTION look();
CREATE FUNCTION cost(statement text, OUT rows bigint, OUT flattened bigint, OUT edited boolean) LANGUAGE plpgsql AS $$
BEGIN
  flattened := counter('documents_flattened') + counter('edits_flattened');
  edited := counter('edits_written') = 0;
  PERFORM mark();
  EXECUTE statement;
  GET DIAGNOSTICS rows = ROW_COUNT;
  flattened := coalesce(counter('documents_flattened') + counter('edits_flattened') - flattened, 0);
  edited := coalesce((SELECT session - current_setting('twin.edits_written')::bigint = rows FROM toaster.stats WHERE name = 'edits_written'), true);
END
$$;
INSERT INTO target SELECT i, jsonb_build_object('a', (SELECT jsonb_agg(jsonb_build_object('b', j, 'c', md5((i * j)::text))) FROM generate_series(0, 499) j),
  'b', (SELECT jsonb_object_agg('k' || j, j) FROM generate_series(1, 500) j), 'd', i) FROM generate_series(1, 6) i;
CREATE TABLE target_twin (LIKE target INCLUDING ALL) USING heap;
CREATE TRIGGER look BEFORE UPDATE ON target_twin FOR EACH ROW EXECUTE FUNCTION look();
INSERT INTO target_twin (id, doc) SELECT id, doc FROM target;
CREATE FUNCTION on_both(statement text, OUT rows bigint, OUT flattened bigint, OUT edited boolean, OUT same boolean) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE replace(statement, 'target', 'target_twin');
  SELECT * INTO rows, flattened, edited FROM cost(statement);
  same := same('target', 'target_twin');
END
$$;
SELECT * FROM on_both($$UPDATE target SET doc = jsonb_set(doc, '{b,k1}', '"x"') WHERE id = 1$$);
SELECT * FROM on_both($$UPDATE target SET doc = jsonb_set(doc, '{d}', '"indexed"')$$);
SELECT * FROM on_both($$UPDATE target SET doc = doc - 'd' WHERE id = 2$$); -- none, by the trigger
SELECT * FROM on_both($$UPDATE target SET doc['b']['k2'] = '"y"', doc['new'] = '1' WHERE id <= 3$$);
SELECT * FROM on_both($$UPDATE target SET doc = jsonb_insert(target.doc, '{a,100}', to_jsonb(o.id)) FROM generate_series(2, 3) o(id) WHERE o.id = target.id$$);
SELECT * FROM on_both($$INSERT INTO target (id, doc) VALUES (1, '{"a": 7, "d": 7}') ON CONFLICT (id) DO UPDATE SET doc = jsonb_set(target.doc, '{b,k3}', excluded.doc -> 'a')$$);
SELECT * FROM on_both($$MERGE INTO target USING (VALUES (4, '{"z": 1}'::jsonb), (5, '[]')) s (id, doc) ON target.id = s.id WHEN MATCHED THEN UPDATE SET doc = jsonb_set(target.doc, '{b,k4}', s.doc)$$);
SELECT * FROM on_both($$WITH u AS (UPDATE target SET doc = doc #- '{a,0}' WHERE id = 6 RETURNING id, doc -> 'd' AS d) SELECT id FROM u WHERE d IS NOT NULL$$);
SELECT sqlstate_of($$UPDATE target SET doc = doc - 'a'$$), sqlstate_of($$UPDATE target SET id = 7, doc = jsonb_set(doc, '{x}', '1')$$), same('target', 'target_twin');
SELECT id, name, doc ->> 'd' AS d, doc #>> '{b,k1}' AS k1, doc #>> '{b,k2}' AS k2, doc #>> '{b,k3}' AS k3, doc #>> '{b,k4}' AS k4,
  doc -> 'new' AS new, jsonb_array_length(doc -> 'a') AS length FROM target ORDER BY id;
SELECT verify('target');

-- called by name the functions return flat documents, which can be kept
CREATE TABLE kept AS
SELECT id, toaster.jsonb_set(doc, '{x}', '1', true) AS doc, toaster.jsonb_subscript_assign(doc, '{x}', '1', false) AS other
FROM docs WHERE id IN (8, 9, 10, 12) ORDER BY doc -> 'b';
SELECT bool_and(k.doc = jsonb_set(t.doc, '{x}', '1') AND k.other = k.doc) AS same FROM kept k JOIN docs t USING (id);
DROP SCHEMA json_edit CASCADE;
