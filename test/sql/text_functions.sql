-- Functions on text whose positions are characters: on trees in databases of
-- several encodings they give what they give on a heap table, or the same
-- error, and read no value whole; also those that change a value.
SET client_min_messages = warning;
SELECT $script$
SET client_encoding = 'UTF8';
SET client_min_messages = warning;
CREATE EXTENSION pg_toaster;

-- So many characters of the array, at random.
CREATE FUNCTION mixed(chars text[], seed int, size int) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(chars[1 + get_byte(decode(md5(seed || ':' || i), 'hex'), 0)
                          % array_length(chars, 1)], '' ORDER BY i)
  FROM generate_series(1, size) i
$$;
-- The last three have their characters across the borders of 64 kB.
CREATE TABLE stock (id int PRIMARY KEY, v text COLLATE "C") USING heap;
INSERT INTO stock
  SELECT i, mixed(chars, i::int, size)
  FROM chars, unnest(ARRAY[120000, 40000, 3000, 10]) WITH ORDINALITY u (size, i)
  UNION ALL SELECT 5, '' UNION ALL SELECT 6, NULL
  UNION ALL SELECT 7 + i, repeat('a', i) || repeat(chars[array_length(chars, 1)], 60000)
  FROM chars, generate_series(0, 2) i;
CREATE TABLE t (LIKE stock INCLUDING ALL) USING toaster;
INSERT INTO t SELECT * FROM stock;
CREATE TABLE wanted (letter text, needle text);
INSERT INTO wanted SELECT chars[2], mixed(chars, 1, 120000) FROM chars;
UPDATE wanted SET needle = substr(needle, 95000, 40);

-- What an expression, or the statement, gives: all rows, or the error.
CREATE FUNCTION attempt(statement text, answers boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
BEGIN
  IF NOT answers THEN
    EXECUTE statement;
    RETURN 'ok';
  END IF;
  EXECUTE statement INTO answer;
  RETURN coalesce(answer, 'nothing');
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
CREATE FUNCTION whole() RETURNS bigint LANGUAGE sql AS $$
  SELECT sum(session)::bigint FROM toaster.stats WHERE name ~ 'flattened'
$$;
-- Expressions on both tables; how many differ, and values read whole.
CREATE FUNCTION ask(expressions text[])
RETURNS TABLE (asked bigint, failed bigint, different text, whole bigint)
LANGUAGE plpgsql AS $$
DECLARE
  e text;
  question text := 'SELECT md5(string_agg(concat(id, ''='', (%s)::text), ''/'' ORDER BY id)) FROM %I, wanted';
  expected text;
  got text;
  before bigint;
BEGIN
  asked := 0;
  failed := 0;
  whole := 0;
  FOREACH e IN ARRAY expressions LOOP
    expected := attempt(format(question, e, 'stock'), true);
    before := whole();
    got := attempt(format(question, e, 't'), true);
    whole := whole + whole() - before;
    asked := asked + 1;
    failed := failed + (expected ~ '^[0-9A-Z]{5} ')::int;
    IF got <> expected THEN
      different := concat(different, e, ': ', expected, ' <> ', got, '; ');
    END IF;
  END LOOP;
  RETURN NEXT;
END
$$;
-- SET clauses on both tables; the same results?
CREATE FUNCTION change(assignments text[])
RETURNS TABLE (changed bigint, different text, flat text, whole bigint)
LANGUAGE plpgsql AS $$
DECLARE
  a text;
  statement text := 'UPDATE %I SET v = %s FROM wanted WHERE %s';
  expected text;
  got text;
  before bigint;
  written bigint;
BEGIN
  changed := 0;
  whole := 0;
  FOREACH a IN ARRAY assignments LOOP
    expected := attempt(format(statement, 'stock', split_part(a, ' WHERE ', 1), coalesce(nullif(split_part(a, ' WHERE ', 2), ''), 'true')), false);
    before := whole();
    SELECT session INTO written FROM toaster.stats WHERE name = 'edits_written';
    got := attempt(format(statement, 't', split_part(a, ' WHERE ', 1), coalesce(nullif(split_part(a, ' WHERE ', 2), ''), 'true')), false);
    whole := whole + whole() - before;
    IF (SELECT session = written FROM toaster.stats WHERE name = 'edits_written') THEN
      flat := concat(flat, a, '; ');
    END IF;
    changed := changed + 1;
    IF got <> 'ok' OR got <> expected OR EXISTS (SELECT FROM stock JOIN t USING (id) WHERE stock.v IS DISTINCT FROM t.v) THEN
      different := concat(different, a, ': ', expected, ' <> ', got, '; ');
    END IF;
  END LOOP;
  RETURN NEXT;
END
$$;

SELECT count(DISTINCT id) AS trees FROM t, toaster.tree('t', t.ctid, 'v');
-- parts: at the front, at the end, beyond it, in order of size
SELECT * FROM ask(ARRAY(
  SELECT format(f, n, m) FROM unnest(ARRAY['substr(v, %s, %s)', 'substring(v from %s for %s)']) f,
    unnest(ARRAY[-2147483648, -5, 0, 1, 2, 9, 20000, 32769, 39999, 95000, 119999, 120001, 2147483647]) n,
    unnest(ARRAY[0, 1, 10, 1000, 30000, 70000, 2147483647]) m
  WHERE NOT (n IN (-5, 0, 1) AND m > 1000))) AS parts;
SELECT * FROM ask(ARRAY(
  SELECT format(f, n) FROM unnest(ARRAY['substr(v, %s + 600)', 'left(v, %s)', 'left(v, -%s - 1)', 'right(v, %s)', 'right(v, -%s - 1)']) f,
    unnest(ARRAY[0, 1, 2, 9, 2000, 32769, 39999, 95000, 119999]) n
  WHERE NOT (n > 2000 AND f IN ('left(v, %s)', 'right(v, %s)')))) AS parts;
-- and all of it, which is a flat value then
SELECT asked, failed, different FROM ask(ARRAY['substr(v, -2147483648)', 'substr(v, 1)', 'substr(v, 0)', 'substr(v, 1, 2147483647)',
  'substr(v, -5, 2147483647)', 'left(v, 120000)', 'left(v, 119999)', 'right(v, 2147483647)', 'left(v, 2147483647)', 'right(v, 119999)',
  'substr(v, 1, 30000)', 'right(v, 0)', 'right(v, -2147483647)', 'left(v, 0)', 'left(v, -2147483647)']) AS whole_values;
SELECT * FROM ask(ARRAY['length(v)', 'char_length(v)', 'character_length(v)', 'octet_length(v)',
  'starts_with(v, left(v, 100))', 'v ^@ left(v, 15000)', 'starts_with(v, needle)', 'starts_with(v, '''')', 'v ^@ letter',
  'substr(v, 5, NULL)', 'left(v, NULL)', 'length(NULL || v)']) AS others;
-- searching: not by bytes where those of one character may be in others
SELECT asked, failed, different, whole = 0 OR current_setting('server_encoding') = 'EUC_JP' AS in_pieces
FROM ask(ARRAY['strpos(v, letter)', 'strpos(v, needle)', 'position(needle in v)', 'strpos(v, '''')', 'strpos(v, needle || needle)',
  'strpos(v, NULL)', 'strpos(v, right(v, 9))', 'strpos(v, substr(v, 1000, 2000))']) AS searches;
-- errors are the server's
SELECT asked, failed, different FROM ask(ARRAY['substr(v, 1, -1)', 'substr(v, -5, -2147483648)', 'left(v, 1 / (id - 1))',
  'right(v, -2147483648)', 'left(v, -2147483648)', 'strpos(v, repeat(letter, 70000))', 'length(1 / (id - 1) || v)']) AS errors;

-- the same, changed in place
SELECT * FROM change(ARRAY['v || letter', 'letter || v', 'overlay(v placing needle from 20001)',
  'overlay(v placing letter from 1 for 0)', 'overlay(v placing '''' from 5000 for 11000)',
  'overlay(v placing needle from 32768 for 2)', 'substr(v, 2)', 'substr(v, 1, 105000)', 'left(v, -3)', 'right(v, -3)',
  'right(v, 100000)', 'left(v, 20000) || needle || substr(v, 20001)', 'substr(v, 2001) || left(v, 2000)',
  'toaster.splice(v, 7, 2, needle) WHERE id IN (1, 2, 7)', 'toaster.append(v, letter)',
  'toaster.splice(v, 0, 5, needle || letter)', 'toaster.splice(v, length(v), 5, letter)',
  'toaster.splice(v, length(v) / 2, 2147483647, '''')', 'toaster.truncate(v, 29000)']
  || ARRAY(SELECT format('toaster.splice(v, %s, %s, substr(needle, 1, %s))', i * 7919 % 10000, i % 20, i % 23) || ' WHERE length(v) > 10000'
           FROM generate_series(1, 40) i)) AS changes;
SELECT * FROM toaster.verify('t');
-- positions in versions that edits have made, and that were rolled back
CREATE TABLE positions AS
  SELECT format('substr(v, %s, 50)', i * 1733) AS e FROM generate_series(1, 60) i UNION ALL SELECT 'length(v)';
SELECT * FROM ask(ARRAY(SELECT e FROM positions)) AS edited;
BEGIN;
UPDATE stock SET v = letter || overlay(v placing needle from 17000) FROM wanted;
UPDATE t SET v = letter || overlay(v placing needle from 17000) FROM wanted;
SELECT * FROM ask(ARRAY(SELECT e FROM positions)) AS in_transaction;
ROLLBACK;
SELECT * FROM ask(ARRAY(SELECT e FROM positions)) AS rolled_back;
UPDATE stock SET v = overlay(v placing needle from 27000) || needle FROM wanted;
UPDATE t SET v = overlay(v placing needle from 27000) || needle FROM wanted;
SELECT * FROM ask(ARRAY(SELECT e FROM positions)) AS edited_otherwise;
UPDATE t SET v = stock.v FROM stock WHERE stock.id = t.id;
VACUUM FULL t;
SELECT * FROM ask(ARRAY(SELECT e FROM positions)) AS rewritten;
SELECT asked, failed, different FROM ask(ARRAY['length(v)', 'v', 'right(v, 1000)', 'substr(v, 11000, 10)', 'strpos(v, needle)']);
$script$ AS script \gset

CREATE DATABASE toaster_utf8 ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0;
CREATE DATABASE toaster_euc ENCODING 'EUC_JP' LOCALE 'C' TEMPLATE template0;
CREATE DATABASE toaster_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0;
\set old :DBNAME
\c toaster_utf8
CREATE TABLE chars AS SELECT ARRAY['a', chr(233), chr(8364), chr(128512), 'z', chr(8364)] AS chars;
:script
\c toaster_euc
CREATE TABLE chars AS SELECT ARRAY['a', convert_from('\xa4a2', 'EUC_JP'), convert_from('\x8fb0a1', 'EUC_JP'), 'z'] AS chars;
UPDATE chars SET chars = chars || convert_from('\x8fb0a2', 'EUC_JP');
:script
\c toaster_latin
CREATE TABLE chars AS SELECT ARRAY['a', chr(233), 'z', chr(255)] AS chars;
:script
\c :old
DROP DATABASE toaster_utf8;
DROP DATABASE toaster_euc;
DROP DATABASE toaster_latin;
