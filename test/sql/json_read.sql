-- Every function that reads a part of a document gives for a tree what it
-- gives for a heap's document, errors and SQLSTATEs included, without reading
-- the document whole: in trees of one node, of many tiny nodes, in documents
-- of every shape.
CREATE SCHEMA json_read;
SET search_path = json_read, twin, public;
SET client_min_messages = warning;
SET TimeZone = 'UTC';

--
-- The documents
--
CREATE TABLE heap_docs (id int PRIMARY KEY, doc jsonb) USING heap;
INSERT INTO heap_docs VALUES
  (1, '{}'), (2, '[]'), (3, '"a string at the root"'), (4, '12.50'), (5, 'null'), (6, 'true'), (7, NULL),
  (8, '{"a": null, "b": {"c": [1, 2, {"d": "deep"}, []]}, "": 0, "f": false, "t": true}'),
  (9, document(9, 40) || '{"a": {"b": {"c": "three levels"}}, "z": [[1, [2, 3]], {"d": null}, "é"]}'),
  (10, document(10, 2) || jsonb_build_object('a', noise(1, 9000), 'long', prose(2, 20000), 'b', document(3, 20),
     'number', repeat('123456789', 1100)::numeric, 'list', (SELECT jsonb_agg(noise(i, 700)) FROM generate_series(1, 20) i))),
  (11, (SELECT jsonb_agg(CASE i % 5 WHEN 0 THEN to_jsonb(i) WHEN 1 THEN to_jsonb('element ' || i)
     WHEN 2 THEN 'null' WHEN 3 THEN jsonb_build_object('d', i, 'a', jsonb_build_array(i, i + 1))
     ELSE jsonb_build_array(i, jsonb_build_array(i)) END) FROM generate_series(0, 999) i)),
  (12, jsonb_build_object('a', (SELECT jsonb_agg(jsonb_build_object('b', i, 'c', md5(i::text))) FROM generate_series(0, 499) i),
     'b', (SELECT jsonb_object_agg('k' || i, i) FROM generate_series(1, 500) i), 'd', '2024-02-03T04:05:06+02:00')),
  (13, (SELECT jsonb_object_agg(repeat('k', 300) || chr(97 + i % 26) || i % 3, i) FROM generate_series(0, 77) i) || '{"a": 1}'),
  (14, (repeat('{"a":', 300) || '"bottom"' || repeat('}', 300))::jsonb),
  (15, (repeat('[', 300) || '"bottom", 1' || repeat(']', 300))::jsonb),
  (16, '{"a": [], "b": {}, "c": [[], {}, [null]], "d": "", "list": [1.0, 1.00, 1e3, -0.5, "1"], "\u00e9\ud83d\ude00": "\u00e9\"\\\n\t"}'),
  (17, to_jsonb(noise(17, 30000))), (18, to_jsonb(repeat('987654321', 1000)::numeric)),
  (19, '{"1": "one", "-1": "minus one", "0": {"0": [10, [20]]}, "a b": {"c.d": 5}, "$": {"a": 1}, "last": 9}');

-- each with everything in one node, and in many nodes
SET pg_toaster.min_tree_size = 1;
CREATE TABLE docs (LIKE heap_docs INCLUDING ALL) USING toaster;
INSERT INTO docs SELECT * FROM heap_docs;
SET pg_toaster.node_size = 128;
CREATE TABLE tiny_docs (LIKE heap_docs INCLUDING ALL) USING toaster;
INSERT INTO tiny_docs SELECT * FROM heap_docs;
RESET pg_toaster.min_tree_size;
RESET pg_toaster.node_size;
SELECT same('heap_docs', 'docs') AS docs, same('heap_docs', 'tiny_docs') AS tiny_docs,
  verify('docs'), verify('tiny_docs'), trees('docs', 'doc') AS trees, trees('tiny_docs', 'doc') AS tiny_trees;

--
-- Comparing
--

-- What an expression gives for each document: its rows, or the error.
CREATE FUNCTION results(expression text, rel regclass) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
  results text[] := '{}';
  result text;
  number int;
BEGIN
  FOR number IN SELECT id FROM heap_docs ORDER BY id LOOP
    BEGIN
      EXECUTE format('SELECT string_agg(coalesce(v::text, ''NULL''), E''\n'')
                      FROM (SELECT %s AS v FROM %s AS t WHERE id = $1) s',
                     expression, rel) INTO result USING number;
    EXCEPTION WHEN OTHERS THEN
      result := SQLSTATE || ' ' || SQLERRM;
    END;
    results := results || format('%s: %s', number, result);
  END LOOP;
  RETURN results;
END
$$;

CREATE FUNCTION flattened() RETURNS bigint LANGUAGE sql AS $$
  SELECT session FROM toaster.stats WHERE name = 'documents_flattened'
$$;

-- Do trees give the same; how many distinct results are there, so that one
-- sees that the expression says something; how many documents were read whole?
CREATE FUNCTION compare(expressions text[])
RETURNS TABLE (expression text, same boolean, results bigint, flattened bigint)
LANGUAGE plpgsql AS $$
DECLARE
  expected text[];
  before bigint;
BEGIN
  FOREACH expression IN ARRAY expressions LOOP
    expected := results(expression, 'heap_docs');
    before := flattened();
    same := results(expression, 'docs') = expected AND results(expression, 'tiny_docs') = expected;
    flattened := flattened() - before;
    SELECT count(DISTINCT substr(r, strpos(r, ':'))) INTO results FROM unnest(expected) r;
    RETURN NEXT;
  END LOOP;
END
$$;

--
-- -> and ->>
--
SELECT * FROM compare(ARRAY[
  $$doc -> 'a'$$, $$doc ->> 'a'$$, $$doc -> ''$$, $$doc ->> 'f'$$, $$doc -> 'no such key'$$, $$doc ->> NULL$$,
  $$doc -> 'key7'$$, $$doc ->> 'key40'$$, $$doc ->> 'long'$$, $$doc -> 'number'$$, $$doc ->> 'number'$$,
  $$doc -> (repeat('k', 300) || 'a0')$$, $$doc -> (repeat('k', 300) || 'z3')$$, $$doc -> 'éüé'$$, $$doc -> 'é😀'$$,
  $$doc -> 0$$, $$doc ->> 0$$, $$doc -> 1$$, $$doc -> -1$$, $$doc ->> -1$$, $$doc -> 500$$, $$doc ->> 501$$, $$doc -> 999$$,
  $$doc -> 1000$$, $$doc -> -1000$$, $$doc -> -1001$$, $$doc -> 2147483647$$, $$doc -> (-2147483648)$$, $$doc ->> NULL::int$$,
  $$doc -> id$$, $$doc -> ('key' || id)$$]);

-- chains build nothing between their links
SELECT * FROM compare(ARRAY[
  $$doc -> 'b' -> 'c' -> 2 ->> 'd'$$, $$doc -> 'a' -> 'b' ->> 'c'$$, $$doc -> 'a' -> 'b'$$, $$doc -> 'b' ->> 'k77'$$,
  $$doc -> 'a' -> 250 ->> 'b'$$, $$doc -> 'a' -> -1 -> 'c'$$, $$doc -> 'b' -> 'key20' -> 'list' ->> 3$$,
  $$doc -> 'z' -> 0 -> 1 ->> 1$$, $$doc -> 0 -> 0 -> 0 -> 0 -> 0$$, $$(doc -> 'key1') = (doc -> 'key2')$$,
  $$(doc -> 'b' ->> 'k9')::int + (doc -> 'a' -> 9 ->> 'b')::numeric$$, $$(doc -> 'b' -> 'k9')::float8$$,
  $$coalesce(doc -> 'zz', doc -> 'a' -> 'b', doc -> 'b')$$, $$jsonb_build_array(doc -> 'a', doc -> 'b', doc -> 3)$$,
  $$length((doc -> 'a')::text)$$, $$(doc -> 'b') || '{"x": 1}'$$, $$jsonb_set(doc -> 'a', '{b}', '1')$$]);

--
-- #>, #>> and subscripts
--
SELECT * FROM compare(ARRAY[
  $$doc #> '{a}'$$, $$doc #>> '{a}'$$, $$doc #> '{b,c,2,d}'$$, $$doc #>> '{b,c,2,d}'$$, $$doc #> '{b,c,-1}'$$,
  $$doc #> '{a,b,c}'$$, $$doc #>> '{a,499,c}'$$, $$doc #> '{a,500,c}'$$, $$doc #> '{a,-500,c}'$$, $$doc #> '{a,-501,c}'$$,
  $$doc #> '{3,a,1}'$$, $$doc #> '{ 3,a, 1}'$$, $$doc #> '{3x}'$$, $$doc #> '{0x1}'$$, $$doc #> '{""}'$$, $$doc #> '{99999999999}'$$,
  $$doc #> '{-2147483648}'$$, $$doc #> '{-1}'$$, $$doc #>> '{1}'$$, $$doc #> ARRAY['a', NULL]$$, $$doc #>> ARRAY[NULL]$$, $$doc #> NULL$$,
  $$doc #> '{{a,b},{c,d}}'$$, $$doc #>> '{{b,c},{0,d}}'$$, $$doc #> array_fill('a'::text, ARRAY[300])$$,
  $$doc #> array_fill('0'::text, ARRAY[300])$$, $$doc #>> array_fill('a'::text, ARRAY[301])$$, $$doc #>> ARRAY['b', 'key' || id]$$,
  $$jsonb_extract_path(doc, 'b', 'c', '2')$$, $$jsonb_extract_path_text(doc, VARIADIC '{a,7,b}')$$]);
SELECT * FROM compare(ARRAY[
  $$doc['a']$$, $$doc['a'][3]$$, $$doc['b']['c'][2]['d']$$, $$doc[3]['a'][1]$$, $$doc[-1]$$, $$doc[id]$$, $$doc[(id % 3)::text]$$,
  $$doc['a'][id]['b']$$, $$doc[NULL::text]$$, $$doc['a'][NULL::int]$$, $$doc['1']$$, $$doc['key' || id]$$, $$doc['b']['c'][id / 8]$$,
  $$(doc -> 'b')['c'][0]$$, $$doc['a'] ->> 'b'$$, $$(doc #> '{b,c}')[2]['d']$$]);

--
-- ?, ?|, ?&, jsonb_typeof(), jsonb_array_length()
--
SELECT * FROM compare(ARRAY[
  $$doc ? 'a'$$, $$doc ? 'key33'$$, $$doc ? ''$$, $$doc ? 'a string at the root'$$, $$doc ? 'element 996'$$, $$doc ? NULL$$, $$doc ? '12.50'$$,
  $$doc -> 'a' ? 'b'$$, $$doc -> 'list' ? '1'$$, $$doc ?| '{x,a,y}'$$, $$doc ?| '{}'$$, $$doc ?| ARRAY[NULL, 'b']$$, $$doc ?| '{x,element 1}'$$,
  $$doc ?& '{a,b}'$$, $$doc ?& '{a,x}'$$, $$doc ?& '{}'$$, $$doc ?& ARRAY[NULL, 'a']$$, $$doc ?& '{element 1,element 6}'$$, $$doc ?& ARRAY[NULL]::text[]$$,
  $$doc ? ANY ('{x,t}')$$, $$doc ? ALL ('{a,b}')$$, $$jsonb_exists(doc, 'a')$$,
  $$jsonb_typeof(doc)$$, $$jsonb_typeof(doc -> 'a')$$, $$jsonb_typeof(doc -> 'b')$$, $$jsonb_typeof(doc -> 3)$$,
  $$jsonb_array_length(doc)$$, $$jsonb_array_length(doc -> 'a')$$, $$jsonb_array_length(doc -> 'list')$$, $$jsonb_array_length(doc -> 'b')$$]);

--
-- @> and <@
--
SELECT * FROM compare(ARRAY[
  $$doc @> '{}'$$, $$doc @> '[]'$$, $$doc @> '{"a": null}'$$, $$doc @> '{"b": {"k77": 77}}'$$, $$doc @> '{"b": {"k77": 78}}'$$, $$doc @> '{"b": {}}'$$,
  $$doc @> '{"b": []}'$$, $$doc @> '{"a": []}'$$, $$doc @> '{"a": [{"b": 77}]}'$$, $$doc @> '{"a": [{"b": 77, "c": "x"}]}'$$, $$doc @> '{"a": [{"b": 1}, {"b": 499}]}'$$,
  $$doc @> '{"list": [1000, "1"]}'$$, $$doc @> '{"list": [1]}'$$, $$doc @> '{"list": [1, 2]}'$$, $$doc @> '{"b": {"c": [{"d": "deep"}, [], 2]}}'$$, $$doc @> '{"b": {"c": [[1]]}}'$$,
  $$doc @> '[{"a": [3]}]'$$, $$doc @> '[{"a": [3, 4]}, {"d": 8}, null, "element 6", [[4]], 10]'$$, $$doc @> '[{"a": [5]}]'$$, $$doc @> '[null]'$$, $$doc @> 'null'$$,
  $$doc @> '"element 991"'$$, $$doc @> '["a string at the root"]'$$, $$doc @> '"a string at the root"'$$, $$doc @> '12.5'$$, $$doc @> '[[]]'$$, $$doc @> '[{}]'$$,
  $$doc @> '{"key3": {"list": [3, false]}, "key4": {"number": 5.1428571428571429}}'$$, $$doc @> jsonb_build_object('a', noise(1, 9000))$$,
  $$doc @> jsonb_build_object('list', jsonb_build_array(noise(20, 700)))$$, $$doc @> jsonb_build_object('list', jsonb_build_array(noise(21, 700)))$$,
  $$doc @> doc$$, $$doc <@ doc$$, $$(doc -> 'a') @> (doc -> 'a')$$, $$doc @> (doc -> 'b')$$, $$(doc -> 'b') <@ (doc -> 'b')$$, $$doc -> 'b' @> '{"k1": 1}'$$,
  $$'{"a": null, "b": 1}' <@ doc$$, $$doc <@ '{"a": 1}'$$, $$doc <@ '{"b": {"c": [1, 2, {"d": "deep"}, []]}, "a": null, "t": true, "f": false, "": 0, "more": 1}'$$,
  $$doc <@ '[]'$$, $$doc <@ '[12.5, "a string at the root", true, null]'$$, $$'{"a": 1}' @> doc$$, $$'[{"a": 1}]' @> doc$$, $$doc @> ANY (ARRAY['{"a": 1}', '{"f": false}']::jsonb[])$$,
  $$doc @> NULL$$]);
-- of two different documents, each pair
SELECT count(*) AS pairs, count(*) FILTER (WHERE h.contains = d.contains AND h.contains = t.contains) AS same,
  count(*) FILTER (WHERE h.contains) AS contained
FROM (SELECT a.id, b.id AS other, a.doc @> b.doc AS contains FROM heap_docs a, heap_docs b WHERE a.id <> 7 AND b.id <> 7) h
JOIN (SELECT a.id, b.id AS other, a.doc @> b.doc AS contains FROM docs a, tiny_docs b) d USING (id, other)
JOIN (SELECT a.id, b.id AS other, b.doc <@ a.doc AS contains FROM tiny_docs a, docs b) t USING (id, other);

--
-- Sets
--
SELECT * FROM compare(ARRAY[
  $$jsonb_object_keys(doc)$$, $$jsonb_object_keys(doc -> 'b')$$, $$jsonb_each(doc)$$, $$jsonb_each(doc -> 'b')$$, $$jsonb_each_text(doc)$$,
  $$(jsonb_each(doc)).key$$, $$(jsonb_each_text(doc -> 'key1')).value$$, $$jsonb_array_elements(doc)$$, $$jsonb_array_elements(doc -> 'a')$$,
  $$jsonb_array_elements_text(doc)$$, $$jsonb_array_elements_text(doc -> 'list')$$, $$jsonb_array_elements(doc -> 'a') ->> 'c'$$,
  $$(SELECT count(*) FROM jsonb_object_keys(doc))$$, $$(SELECT string_agg(key || value, ',') FROM jsonb_each(doc -> 'b'))$$,
  $$(SELECT sum((e ->> 'b')::int) FROM jsonb_array_elements(doc -> 'a') e)$$, $$(SELECT array_agg(e) FROM jsonb_array_elements(doc) WITH ORDINALITY e)$$,
  $$(SELECT array_agg(v ORDER BY n) FROM (SELECT jsonb_array_elements(doc) AS v, generate_series(1, 3) AS n LIMIT 5) s)$$,
  $$(SELECT array_agg(k) FROM (SELECT jsonb_object_keys(doc) AS k LIMIT 2) s)$$]);
-- documents in the row, in a tree and not there at all in one scan
SELECT md5(string_agg(a::text, '')) = md5(string_agg(b::text, '')) AS same, count(*) FROM
  (SELECT id, jsonb_object_keys(CASE WHEN id < 9 THEN '{"in": 1, "memory": 2}' ELSE doc END) AS a FROM docs WHERE id IN (1, 7, 8, 9, 10, 12, 14)) x
  FULL JOIN (SELECT id, jsonb_object_keys(CASE WHEN id < 9 THEN '{"in": 1, "memory": 2}' ELSE doc END) AS b FROM heap_docs WHERE id IN (1, 7, 8, 9, 10, 12, 14)) y
  ON (x.id, a) = (y.id, b);

-- LIMIT ends the reading
CREATE FUNCTION nodes(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  before bigint;
BEGIN
  SELECT session INTO before FROM toaster.stats WHERE name = 'nodes_fetched';
  EXECUTE statement;
  RETURN (SELECT session FROM toaster.stats WHERE name = 'nodes_fetched') - before;
END
$$;
CREATE TABLE streams (id int, doc jsonb) USING toaster;
INSERT INTO streams SELECT i, (SELECT jsonb_agg(md5(i || '/' || j)) FROM generate_series(1, 20000) j) FROM generate_series(1, 2) i;
INSERT INTO streams SELECT i, (SELECT jsonb_object_agg(md5(i || '/' || j), j) FROM generate_series(1, 20000) j) FROM generate_series(3, 6) i;
SELECT nodes('SELECT jsonb_array_elements(doc) FROM streams WHERE id = 1 LIMIT 10') * 5
     < nodes('SELECT jsonb_array_elements(doc) FROM streams WHERE id = 2') AS elements,
  nodes('SELECT jsonb_object_keys(doc) FROM streams WHERE id = 3 LIMIT 10') * 5
     < nodes('SELECT jsonb_object_keys(doc) FROM streams WHERE id = 4') AS keys,
  nodes('SELECT jsonb_each(doc) FROM streams WHERE id = 5 LIMIT 10') * 5
     < nodes('SELECT jsonb_each(doc) FROM streams WHERE id = 6') AS members;

--
-- jsonpath
--
SELECT * FROM compare(ARRAY[
  $$doc @? '$.a'$$, $$doc @? '$.b.c[2].d'$$, $$doc @? '$.a[499].c'$$, $$doc @? '$.a[500].c'$$, $$doc @? 'strict $.a[500].c'$$, $$doc @? '$[3].a[1] ? (@ == 4)'$$,
  $$doc @? '$.b ? (@.k77 == 77)'$$, $$doc @? 'strict $.no.such'$$, $$doc @? '$.a.b.c ? (@ starts with "three")'$$, $$doc @? '$.a[last] ? (@.b > $.b.k9)'$$,
  $$doc @@ '$.a == null'$$, $$doc @@ '$.b.k77 == 77'$$, $$doc @@ '$.a[7].b == 7 && $.b.k8 == 8'$$, $$doc @@ 'exists($.b.key20.list)'$$, $$doc @@ '$.a'$$,
  $$doc @@ '$.b.c[0] < $.b.c[1]'$$, $$doc @@ '!($.f == true) || $.t == true'$$, $$doc @@ '($.a.b.c like_regex "^THREE" flag "i") is unknown'$$,
  $$doc @@ 'strict $.a.b == 1'$$, $$doc @@ '$.key1.number + $.key2.number > $.key3.number - 1'$$]);
SELECT * FROM compare(ARRAY[
  $$jsonb_path_query(doc, '$.a')$$, $$jsonb_path_query(doc, '$.a.b')$$, $$jsonb_path_query(doc, '$.a[0].b')$$, $$jsonb_path_query(doc, '$.a[*].b ? (@ > 495)')$$,
  $$jsonb_path_query(doc, '$.a[0 to 2]')$$, $$jsonb_path_query(doc, '$.a[1, 3].b')$$, $$jsonb_path_query(doc, '$.a[last].b')$$, $$jsonb_path_query(doc, '$.a[last - 1]')$$,
  $$jsonb_path_query(doc, '$.a[1.9].b')$$, $$jsonb_path_query(doc, '$.a[-1]')$$, $$jsonb_path_query(doc, '$.b.*')$$, $$jsonb_path_query(doc, '$.b.**{2}')$$,
  $$jsonb_path_query(doc, '$.b.c.size()')$$, $$jsonb_path_query(doc, '$.b.type()')$$, $$jsonb_path_query(doc, '$.b.k77.double() + 1')$$, $$jsonb_path_query(doc, '-$.b.k77')$$,
  $$jsonb_path_query(doc, 'strict $.a')$$, $$jsonb_path_query(doc, 'strict $.a.b')$$, $$jsonb_path_query(doc, 'strict $.a[0].b')$$, $$jsonb_path_query(doc, 'strict $.a[500]')$$,
  $$jsonb_path_query(doc, 'strict $.b.k77[0]')$$, $$jsonb_path_query(doc, '$.b.k77[0]')$$, $$jsonb_path_query(doc, '$.b[0].k77')$$, $$jsonb_path_query(doc, '$.a[0][0][0].c')$$,
  $$jsonb_path_query(doc, 'strict $.a[500].x', '{}', true)$$, $$jsonb_path_query(doc, '$.b ? (@.k1 == $x && $.d starts with "2024").k2', '{"x": 1}')$$,
  $$jsonb_path_query(doc, '$.a[$i].b', '{"i": 3}')$$, $$jsonb_path_query(doc, '$.a[$.b.k3].b')$$, $$jsonb_path_query(doc, '$.a', '[]')$$,
  $$jsonb_path_query(doc, '$."a b"."c.d"')$$, $$jsonb_path_query(doc, '$."$".a')$$, $$jsonb_path_query(doc, '$.last')$$, $$jsonb_path_query(doc, '$."0"."0"[last][0]')$$,
  $$jsonb_path_query(doc, '$.d.datetime()')$$, $$jsonb_path_query(doc, '$.z[0][1][0]')$$, $$jsonb_path_query(doc, '$.z.d')$$,
  $$jsonb_path_query(doc, ('$' || repeat('.a', 300))::jsonpath)$$, $$jsonb_path_query(doc, ('$' || repeat('[0]', 300))::jsonpath)$$]);
SELECT * FROM compare(ARRAY[
  $$jsonb_path_exists(doc, '$.b.k77 ? (@ > $x)', '{"x": 70}')$$, $$jsonb_path_exists(doc, 'strict $.b.k77.x')$$, $$jsonb_path_match(doc, '$.b.k77 == 77')$$,
  $$jsonb_path_match(doc, '$.b.k77')$$, $$jsonb_path_match(doc, '$.b.k77', '{}', true)$$, $$jsonb_path_query_array(doc, '$.a[*].b')$$, $$jsonb_path_query_array(doc, '$.b.c')$$,
  $$jsonb_path_query_first(doc, '$.a[3 to last].c')$$, $$jsonb_path_query_first(doc, '$.nothing')$$,
  $$jsonb_path_exists_tz(doc, '$.d.datetime() ? (@ < "2025-01-01".datetime())')$$, $$jsonb_path_exists(doc, '$.d.datetime() ? (@ < "2025-01-01".datetime())')$$,
  $$jsonb_path_match_tz(doc, '$.d.datetime() < "2025-01-01".datetime()')$$, $$jsonb_path_query_tz(doc, '$.d.datetime() < "2025-01-01".datetime()')$$,
  $$jsonb_path_query_array_tz(doc, '$.d.datetime() < "2025-01-01".datetime()')$$, $$jsonb_path_query_first_tz(doc, '$.d.datetime() < "2025-01-01".datetime()')$$]);
-- these need the whole document, and get it
SELECT expression, same, results, flattened > 0 AS flattened FROM compare(ARRAY[
  $$doc #> '{}'$$, $$doc #>> '{}'$$, $$jsonb_extract_path(doc)$$, $$jsonb_path_query(doc, '$')$$, $$jsonb_path_query(doc, '$.b.keyvalue().id')$$, $$jsonb_path_query(doc, '$.**.d')$$, $$jsonb_path_query(doc, '$.size()')$$,
  $$jsonb_path_query(doc, '$[*].d')$$, $$jsonb_path_query(doc, '1 + 2')$$, $$doc::text$$, $$doc = '{}'$$, $$jsonb_pretty(doc)$$, $$hashtext(doc::text)$$]);

DROP SCHEMA json_read CASCADE;
