-- JSON_VALUE, JSON_QUERY, JSON_EXISTS and JSON_TABLE, which PostgreSQL 17 has,
-- give for a tree what they give for a heap's document, errors and SQLSTATEs
-- included, and read parts of it only.  Older versions stop here.
SELECT current_setting('server_version_num')::int < 170000 AS too_old \gset
\if :too_old
\quit
\endif
CREATE SCHEMA sql_json;
SET search_path = sql_json, twin, public;
SET client_min_messages = warning;
SET TimeZone = 'UTC';

CREATE TABLE heap_docs (id int PRIMARY KEY, doc jsonb) USING heap;
INSERT INTO heap_docs VALUES
  (1, '{}'), (2, '[]'), (3, '"a string at the root"'), (4, NULL),
  (5, document(5, 40) || '{"a": {"b": {"c": "three levels"}}, "z": [[1, [2, 3]], {"d": null}, "x"], "n": 5}'),
  (6, document(6, 2) || jsonb_build_object('a', noise(1, 9000), 'b', document(3, 20), 'n', 6,
     'list', (SELECT jsonb_agg(noise(i, 700)) FROM generate_series(1, 20) i))),
  (7, (SELECT jsonb_agg(CASE i % 5 WHEN 0 THEN to_jsonb(i) WHEN 1 THEN to_jsonb('element ' || i)
     WHEN 2 THEN 'null' WHEN 3 THEN jsonb_build_object('d', i, 'a', jsonb_build_array(i, i + 1))
     ELSE jsonb_build_array(i, jsonb_build_array(i)) END) FROM generate_series(0, 999) i)),
  (8, jsonb_build_object('a', (SELECT jsonb_agg(jsonb_build_object('b', i, 'c', md5(i::text))) FROM generate_series(0, 499) i),
     'b', (SELECT jsonb_object_agg('k' || i, i) FROM generate_series(1, 500) i), 'd', '2024-02-03T04:05:06+02:00', 'n', 8)),
  (9, '{"a": [], "b": {}, "c": [[], {}, [null]], "d": "", "list": [1.0, 1.00, 1e3, -0.5, "1"], "n": "nine"}');

-- each with everything in one node, and in many nodes
SET pg_toaster.min_tree_size = 1;
CREATE TABLE docs (LIKE heap_docs INCLUDING ALL) USING toaster;
INSERT INTO docs SELECT * FROM heap_docs;
SET pg_toaster.node_size = 128;
CREATE TABLE tiny_docs (LIKE heap_docs INCLUDING ALL) USING toaster;
INSERT INTO tiny_docs SELECT * FROM heap_docs;
RESET pg_toaster.min_tree_size;
RESET pg_toaster.node_size;

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

-- Do trees give the same; how many distinct results are there; how many
-- documents were read whole?
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
-- Members and elements
--
SELECT * FROM compare(ARRAY[
  $$JSON_VALUE(doc, '$.n')$$, $$JSON_VALUE(doc, '$.n' RETURNING int)$$, $$JSON_VALUE(doc, '$.n' RETURNING int ERROR ON ERROR)$$,
  $$JSON_VALUE(doc, '$.n' RETURNING int DEFAULT -1 ON EMPTY DEFAULT -2 ON ERROR)$$, $$JSON_VALUE(doc, 'strict $.n' ERROR ON ERROR)$$,
  $$JSON_VALUE(doc, '$.a' ERROR ON ERROR)$$, $$JSON_VALUE(doc, '$.a.b.c' ERROR ON EMPTY)$$, $$JSON_VALUE(doc, 'strict $.a.b.c' ERROR ON ERROR)$$,
  $$JSON_VALUE(doc, '$.a[250].b' RETURNING int)$$, $$JSON_VALUE(doc, '$.a[last].c')$$, $$JSON_VALUE(doc, '$.a[500].c' ERROR ON EMPTY)$$,
  $$JSON_VALUE(doc, 'strict $.a[500].c' ERROR ON ERROR)$$, $$JSON_VALUE(doc, '$[3].d')$$, $$JSON_VALUE(doc, '$[3].a[1]' RETURNING numeric)$$,
  $$JSON_VALUE(doc, '$[0][0].n')$$, $$JSON_VALUE(doc, '$[1].n')$$, $$JSON_VALUE(doc, 'strict $[0].n' ERROR ON ERROR)$$,
  $$JSON_VALUE(doc, '$.list[$x]' PASSING 2 AS x)$$, $$JSON_VALUE(doc, '$.d.datetime()' RETURNING timestamptz)$$,
  $$JSON_VALUE(doc, '$.b.k77 + $.b.k78 * $.n' RETURNING int)$$, $$JSON_VALUE(doc -> 'b', '$.k9')$$, $$JSON_VALUE(doc, '$.a.size()')$$]);
SELECT * FROM compare(ARRAY[
  $$JSON_QUERY(doc, '$.a')$$, $$JSON_QUERY(doc, '$.a' WITH WRAPPER)$$, $$JSON_QUERY(doc, '$.a' WITH CONDITIONAL WRAPPER)$$, $$JSON_QUERY(doc, '$.d' OMIT QUOTES)$$,
  $$JSON_QUERY(doc, '$.a[*].b' WITH WRAPPER)$$, $$JSON_QUERY(doc, '$.a[*].b' ERROR ON ERROR)$$, $$JSON_QUERY(doc, '$.a.b' WITH WRAPPER)$$,
  $$JSON_QUERY(doc, '$.d' WITH WRAPPER)$$, $$JSON_QUERY(doc, 'strict $.d' WITH WRAPPER ERROR ON ERROR)$$, $$JSON_QUERY(doc, '$.z[0][1]' RETURNING text)$$,
  $$JSON_QUERY(doc, '$.a ? (@.b > $x && @.b < $.n + 20).c' PASSING 20 AS x WITH WRAPPER)$$, $$JSON_QUERY(doc, '$.a[3, 5].c' WITH WRAPPER)$$,
  $$JSON_QUERY(doc, '$.list[last]')$$, $$JSON_QUERY(doc, '$.key7' EMPTY OBJECT ON EMPTY)$$, $$JSON_QUERY(doc, '$.b' RETURNING bytea ERROR ON ERROR)$$,
  $$JSON_EXISTS(doc, '$.a')$$, $$JSON_EXISTS(doc, '$.a.b')$$, $$JSON_EXISTS(doc, 'strict $.a.b' ERROR ON ERROR)$$, $$JSON_EXISTS(doc, 'strict $.a.b' UNKNOWN ON ERROR)$$,
  $$JSON_EXISTS(doc, '$.a[499]')$$, $$JSON_EXISTS(doc, 'strict $.a[500]')$$, $$JSON_EXISTS(doc, '$.b.k5 ? (@ == $x)' PASSING id - 3 AS x)$$]);

-- what needs the whole document gets it
SELECT expression, same, results, flattened > 0 AS flattened FROM compare(ARRAY[
  $$JSON_QUERY(doc, '$')$$, $$JSON_QUERY(doc, '$.*' WITH WRAPPER)$$, $$JSON_QUERY(doc, '$.**.c' WITH WRAPPER)$$,
  $$JSON_QUERY(doc, '$.b.keyvalue()' WITH WRAPPER)$$, $$JSON_VALUE(doc::text, '$.n')$$,
  $$JSON_VALUE(doc, '$[last]' ERROR ON ERROR)$$, $$JSON_VALUE(doc, '$[1 to 3]' ERROR ON ERROR)$$, $$JSON_EXISTS(doc, '$ ? (@.n == 8)')$$]);

--
-- JSON_TABLE
--
SELECT * FROM compare(ARRAY[
  $$(SELECT string_agg(j::text, ';') FROM JSON_TABLE(doc, '$' COLUMNS (n text, o FOR ORDINALITY, c text PATH '$.a.b.c', k int PATH '$.b.k7', e int EXISTS PATH '$.z')) j)$$,
  $$(SELECT string_agg(j::text, ';') FROM JSON_TABLE(doc, '$' COLUMNS (n int ERROR ON ERROR)) j)$$,
  $$(SELECT string_agg(j::text, ';') FROM JSON_TABLE(doc, '$.a' COLUMNS (b text, l text PATH '$[last].c', f text PATH '$[3].c')) j)$$,
  $$(SELECT string_agg(j::text, ';') FROM JSON_TABLE(doc, '$.a[*]' COLUMNS (b text, c text, x jsonb PATH '$')) j)$$,
  $$(SELECT string_agg(j::text, ';') FROM JSON_TABLE(doc, '$.a[*] ? (@.b < $x)' PASSING 5 AS x COLUMNS (o FOR ORDINALITY, b int)) j)$$,
  $$(SELECT string_agg(j::text, ';') FROM JSON_TABLE(doc, '$' COLUMNS (n text, NESTED '$.a[*]' COLUMNS (b text), NESTED '$.list[*]' COLUMNS (v text PATH '$'))) j)$$,
  $$(SELECT string_agg(j::text, ';') FROM JSON_TABLE(doc, 'strict $.a' COLUMNS (b text PATH 'strict $.b' DEFAULT 'none' ON EMPTY DEFAULT 'wrong' ON ERROR)) j)$$,
  $$(SELECT string_agg(j::text, ';') FROM JSON_TABLE(doc, 'strict $.a' COLUMNS (b text PATH 'strict $.b') ERROR ON ERROR) j)$$,
  $$(SELECT string_agg(j::text, ';') FROM JSON_TABLE(doc, '$.b' COLUMNS (q jsonb PATH '$.c' WITH WRAPPER, k text PATH '$.k500')) j)$$,
  $$(SELECT string_agg(j::text, ';') FROM JSON_TABLE(doc, 'strict $.b' COLUMNS (k text PATH '$.k500')) j)$$]);
SELECT expression, same, results, flattened > 0 AS flattened FROM compare(ARRAY[
  $$(SELECT string_agg(j::text, ';') FROM JSON_TABLE(doc, '$' COLUMNS (n text, whole jsonb PATH '$')) j)$$,
  $$(SELECT string_agg(j::text, ';') FROM JSON_TABLE(doc, '$' COLUMNS (n text, k jsonb PATH '$.b.keyvalue()' WITH WRAPPER)) j)$$]);

--
-- EXPLAIN prints what the user wrote; wherever the plan is made
--
EXPLAIN (VERBOSE, COSTS off) SELECT JSON_VALUE(doc, '$.n' RETURNING int) FROM docs WHERE JSON_EXISTS(doc, '$.b');
EXPLAIN (VERBOSE, COSTS off) SELECT j.* FROM docs, JSON_TABLE(doc, '$' COLUMNS (n text)) j;
CREATE VIEW values_of_docs AS SELECT id, JSON_VALUE(doc, '$.n') AS n FROM docs;
CREATE FUNCTION value_of(d jsonb) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN JSON_VALUE(d, ''$.n''); END';
PREPARE by_id(int) AS SELECT JSON_VALUE(doc, '$.n') FROM docs WHERE id = $1;
SET plan_cache_mode = force_generic_plan;
SELECT mark();
SELECT string_agg(n, ',' ORDER BY id) FROM values_of_docs WHERE id > 4;
SELECT string_agg(value_of(doc), ',' ORDER BY id) FROM docs WHERE id > 4;
EXECUTE by_id(8);
EXECUTE by_id(8);
SELECT id FROM docs WHERE JSON_VALUE(doc, '$.n') = '8' AND id > 4 ORDER BY JSON_VALUE(doc, '$.b.k7');
SELECT since('documents_flattened') AS flattened;

-- without our function the server reads the document whole
REVOKE EXECUTE ON FUNCTION toaster.jsonb_path_project(jsonb, jsonpath, jsonpath[]) FROM PUBLIC;
EXECUTE by_id(8);
SELECT since('documents_flattened') AS flattened;
GRANT EXECUTE ON FUNCTION toaster.jsonb_path_project(jsonb, jsonpath, jsonpath[]) TO PUBLIC;
EXECUTE by_id(8);
SELECT since('documents_flattened') AS flattened;
DROP SCHEMA sql_json CASCADE;
