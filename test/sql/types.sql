-- Values of every varlena type, of every size and of every storage kind come
-- back byte for byte as heap stores them; the large ones are kept as trees.
CREATE SCHEMA types;
SET search_path = types, twin, public;
SET client_min_messages = warning;

--
-- Every kind of type
--
CREATE DOMAIN document_text AS text CHECK (value <> 'forbidden');
CREATE TYPE pair AS (number int, words text, data bytea);
CREATE TYPE text_range AS RANGE (SUBTYPE = text, MULTIRANGE_TYPE_NAME = text_ranges);
CREATE TYPE own;
CREATE FUNCTION own_in(cstring) RETURNS own
  LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION own_out(own) RETURNS cstring
  LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE own (INPUT = own_in, OUTPUT = own_out,
                 INTERNALLENGTH = VARIABLE, STORAGE = extended);

CREATE TABLE many_heap (
  id int PRIMARY KEY, a_text text, a_varchar varchar, a_bpchar char(9000),
  a_bytea bytea, a_jsonb jsonb, a_json json, a_xml xml, a_text_array text[],
  a_jsonb_array jsonb[], an_int_array int[], a_tsvector tsvector,
  a_tsquery tsquery, a_numeric numeric, a_varbit varbit, a_polygon polygon,
  a_range text_range, a_multirange text_ranges, a_domain document_text,
  a_composite pair, a_composite_array pair[], an_own own) USING heap;
INSERT INTO many_heap
SELECT id, noise(id, size), noise(id + 100, size), left(noise(id, size), 9000),
  bytes(id, size), document(id, size / 100), document(id + 1, size / 100)::json,
  xmlelement(name doc, noise(id, size)),
  ARRAY(SELECT noise(i, size / 10) FROM generate_series(1, 10) i),
  ARRAY(SELECT document(i, size / 1000 + 1) FROM generate_series(1, 10) i),
  ARRAY(SELECT i * 7919 % 1000003 FROM generate_series(1, size / 4) i),
  (SELECT string_agg(md5(i::text), ' ') FROM generate_series(1, size / 40 + 1) i)::tsvector,
  (SELECT string_agg(md5(i::text), ' | ') FROM generate_series(1, 10) i)::tsquery,
  (SELECT string_agg((i * 7919 % 9973 + 1)::text, '') FROM generate_series(1, size / 5 + 1) i)::numeric,
  (SELECT string_agg((i * 7919)::bit(32)::text, '') FROM generate_series(1, size / 4 + 1) i)::varbit,
  (SELECT string_agg(format('(%s,%s)', i, i * i % 1009), ',') FROM generate_series(1, size / 16 + 1) i)::polygon,
  text_range('a' || noise(1, size), 'b' || noise(2, size)),
  text_ranges(text_range('a' || noise(1, size), 'b' || noise(1, size)),
              text_range('x', 'y' || noise(2, size))),
  noise(id, size), ROW(id, noise(id, size), bytes(id, size))::pair,
  ARRAY[ROW(1, noise(id, size), 'x')::pair, ROW(2, 'x', bytes(id, size))::pair],
  noise(id, size)::own
FROM (VALUES (1, 40), (2, 1000), (3, 20000), (4, 100000)) AS v(id, size);
INSERT INTO many_heap (id) VALUES (5);

-- one by one, many at a time, and from COPY
CREATE TABLE many_insert (LIKE many_heap INCLUDING ALL) USING toaster;
INSERT INTO many_insert SELECT * FROM many_heap WHERE id <= 2;
INSERT INTO many_insert SELECT * FROM many_heap WHERE id > 2;
SELECT same('many_heap', 'many_insert'), verify('many_insert');
CREATE TABLE many_ctas USING toaster AS TABLE many_heap;
SELECT same('many_heap', 'many_ctas'), verify('many_ctas');

-- as many trees as heap has values out of line; every column has some
SELECT external('many_heap') = sum(trees('many_insert', attname)) AS as_many,
  bool_and(trees('many_insert', attname) >= 2) AS every_type, count(*)
FROM pg_attribute
WHERE attrelid = 'many_insert'::regclass AND attnum > 0 AND attlen = -1
AND attstorage <> 'p';

-- every type answers as itself, not just as bytes
SELECT bool_and(h.a_jsonb @> t.a_jsonb AND t.a_jsonb @> h.a_jsonb
                AND h.a_text_array = t.a_text_array AND h.a_tsvector = t.a_tsvector
                AND h.a_numeric = t.a_numeric AND h.a_multirange = t.a_multirange
                AND h.a_composite = t.a_composite AND h.a_polygon ~= t.a_polygon
                AND h.a_xml::text = t.a_xml::text
                AND h.an_own::text = t.an_own::text) AS equal, count(*)
FROM many_heap h JOIN many_insert t USING (id) WHERE id < 5;
UPDATE many_insert SET a_domain = 'forbidden' WHERE id = 4;
UPDATE many_insert SET a_jsonb = a_jsonb || '{"more": true}', a_numeric = a_numeric + 1,
  a_text_array[3] = 'three', an_int_array = an_int_array || 5,
  a_composite.words = 'new words', an_own = 'own' WHERE id >= 3;
UPDATE many_heap SET a_jsonb = a_jsonb || '{"more": true}', a_numeric = a_numeric + 1,
  a_text_array[3] = 'three', an_int_array = an_int_array || 5,
  a_composite.words = 'new words', an_own = 'own' WHERE id >= 3;
SELECT same('many_heap', 'many_insert'), verify('many_insert');

--
-- Every size: each length around the borders of a short header, of the
-- threshold, of a chunk and of a page, and some large ones
--
CREATE TABLE sizes_heap (id int PRIMARY KEY, t text, b bytea) USING heap;
INSERT INTO sizes_heap
SELECT size, noise(size, size), bytes(size, size)
FROM (SELECT generate_series(1, 3) UNION SELECT generate_series(124, 130)
      UNION SELECT generate_series(1990, 2040, 3) UNION SELECT generate_series(3985, 4000, 5)
      UNION SELECT generate_series(8140, 8200, 7) UNION SELECT 65535 UNION SELECT 65536
      UNION SELECT 1048576) AS s(size);
INSERT INTO sizes_heap
SELECT 3000000 + size, prose(size, size), convert_to(prose(size + 1, size), 'UTF8')
FROM (VALUES (1), (2000), (2500), (9000), (70000), (300000), (3000000)) AS s(size);
CREATE TABLE sizes (LIKE sizes_heap INCLUDING ALL) USING toaster;
INSERT INTO sizes SELECT * FROM sizes_heap;
SELECT same('sizes_heap', 'sizes'), verify('sizes');
-- what stock keeps in the row stays in the row, exactly as stock stores it
SELECT count(*) AS differently_stored
FROM sizes_heap h JOIN sizes t USING (id)
WHERE (h.id < 1990 OR pg_column_size(h.t) < 1000)
AND (pg_column_size(h.t) <> pg_column_size(t.t)
     OR pg_column_size(h.b) <> pg_column_size(t.b)
     OR pg_column_compression(h.t) IS DISTINCT FROM pg_column_compression(t.t));
-- a tree reports its flat size, and no compression, to stock's functions
SELECT bool_and(pg_column_size(b) = octet_length(b) AND pg_column_compression(b) IS NULL
                AND toaster.column_size(b) >= octet_length(b) * 0.98) AS noise,
  trees('sizes', 'b') >= count(*) AS are_trees
FROM sizes WHERE id BETWEEN 2040 AND 2000000;
SELECT bool_and(pg_column_size(t) = octet_length(t)
                AND toaster.column_size(t) < octet_length(t) / 2) AS prose
FROM sizes WHERE id > 3070000;
-- executor nodes that keep, sort, hash and compare values
SET work_mem = '64kB';
SELECT (SELECT md5(string_agg(md5(t), '' ORDER BY t COLLATE "C", id)) FROM sizes_heap)
  = (SELECT md5(string_agg(md5(t), '' ORDER BY t COLLATE "C", id)) FROM sizes) AS sorted,
  (SELECT count(*) FROM sizes_heap h JOIN sizes s ON s.t = h.t AND s.b = h.b) = count(*) AS joined,
  (SELECT count(*) FROM (SELECT t, b FROM sizes EXCEPT ALL SELECT t, b FROM sizes_heap) e) AS left_over,
  (SELECT max(n) FROM (SELECT count(*) OVER (PARTITION BY b) AS n FROM sizes) w) AS most_equal,
  count(DISTINCT t) = count(*) AS distinct_values
FROM sizes;
RESET work_mem;
-- with the smallest nodes, and every value a tree that is not shorter than one
SET pg_toaster.node_size = 128;
SET pg_toaster.min_tree_size = 1;
CREATE TABLE sizes_small (LIKE sizes_heap INCLUDING ALL) USING toaster;
INSERT INTO sizes_small SELECT * FROM sizes_heap WHERE length(t) <= 70000;
RESET pg_toaster.node_size;
RESET pg_toaster.min_tree_size;
DELETE FROM sizes_heap WHERE length(t) > 70000;
SELECT same('sizes_heap', 'sizes_small'), verify('sizes_small'),
  trees('sizes_small', 't') = count(*) FILTER (WHERE length(t) >= 32) AS all_trees,
  max((SELECT max(level) FROM toaster.tree('sizes_small', ctid, 'b'))) >= 2 AS deep
FROM sizes_small;

--
-- The four storage kinds, toast_tuple_target and COMPRESSION keep their meaning
--
CREATE TABLE kinds_heap (id int PRIMARY KEY, plain text, main text,
                         external text, extended text) USING heap;
ALTER TABLE kinds_heap ALTER plain SET STORAGE PLAIN, ALTER main SET STORAGE MAIN,
  ALTER external SET STORAGE EXTERNAL, ALTER extended SET STORAGE EXTENDED;
CREATE VIEW kinds_rows (id, plain, main, external, extended) AS VALUES
  (1, noise(1, 1000), NULL, NULL, NULL), (2, NULL, prose(2, 10000), NULL, NULL),
  (3, NULL, NULL, prose(3, 10000), NULL), (4, NULL, NULL, NULL, prose(4, 10000)),
  (5, NULL, noise(5, 10000), NULL, NULL), (6, NULL, NULL, noise(6, 10000), NULL),
  (7, NULL, NULL, NULL, noise(7, 10000)), (8, noise(8, 7000), NULL, NULL, NULL),
  (9, NULL, noise(9, 7000), NULL, NULL), (10, noise(10, 1500), noise(10, 500), noise(10, 100), noise(10, 400)),
  (11, NULL, repeat('m', 10000), repeat('x', 10000), repeat('e', 10000));
CREATE TABLE kinds (LIKE kinds_heap INCLUDING ALL) USING toaster;
INSERT INTO kinds_heap SELECT * FROM kinds_rows;
INSERT INTO kinds SELECT * FROM kinds_rows;
SELECT same('kinds_heap', 'kinds'), verify('kinds');
-- t: a tree; the rule is stock's
SELECT id, EXISTS (SELECT FROM toaster.tree('kinds', ctid, 'plain')) AS plain,
  EXISTS (SELECT FROM toaster.tree('kinds', ctid, 'main')) AS main,
  EXISTS (SELECT FROM toaster.tree('kinds', ctid, 'external')) AS external,
  EXISTS (SELECT FROM toaster.tree('kinds', ctid, 'extended')) AS extended
FROM kinds ORDER BY id;
SELECT external('kinds_heap') = trees('kinds', 'plain') + trees('kinds', 'main')
  + trees('kinds', 'external') + trees('kinds', 'extended') AS as_many;
-- EXTERNAL is never compressed, a compressed value in the row is heap's
SELECT bool_and(toaster.column_size(external) >= length(external)) AS external,
  bool_and(NOT EXISTS (SELECT FROM toaster.tree('kinds', ctid, 'external') n WHERE n.compression <> 'none')) AS not_compressed
FROM kinds WHERE length(external) > 2000;
SELECT count(*) FROM kinds_heap h JOIN kinds t USING (id)
WHERE pg_column_size(h.plain) IS DISTINCT FROM pg_column_size(t.plain)
OR (id IN (2, 9, 11) AND pg_column_size(h.main) IS DISTINCT FROM pg_column_size(t.main))
OR (id IN (4, 10) AND pg_column_compression(h.extended) IS DISTINCT FROM pg_column_compression(t.extended));
-- a row that no storing out of line can make fit is refused, as on heap
SELECT sqlstate_of($$INSERT INTO kinds_heap VALUES (12, noise(12, 9000))$$) AS heap,
  sqlstate_of($$INSERT INTO kinds VALUES (12, noise(12, 9000), noise(12, 9000))$$) AS toaster;
SELECT verify('kinds'), count(*) FROM kinds;

CREATE TABLE target (id int PRIMARY KEY, t text) USING toaster;
INSERT INTO target VALUES (1, noise(1, 500));
SELECT trees('target', 't'), chunks('target');
ALTER TABLE target SET (toast_tuple_target = 128);
INSERT INTO target VALUES (2, noise(2, 500));
SELECT trees('target', 't'), chunks('target') > 0 AS chunks;
SELECT bool_and(t = noise(id, 500)), verify('target') FROM target;

CREATE TABLE method (id int, p text COMPRESSION pglz, l text COMPRESSION lz4) USING toaster;
INSERT INTO method VALUES (1, repeat('p', 5000), repeat('l', 5000));
SELECT pg_column_compression(p) AS p, pg_column_compression(l) AS l, chunks('method')
FROM method;
-- a column's own method is that of its trees, too
SET pg_toaster.compression = 'zstd';
UPDATE method SET p = prose(1, 1000000), l = prose(2, 1000000);
RESET pg_toaster.compression;
SELECT (SELECT string_agg(DISTINCT n.compression, ', ') FROM toaster.tree('method', ctid, 'p') n WHERE level = 0) AS p,
  (SELECT string_agg(DISTINCT n.compression, ', ') FROM toaster.tree('method', ctid, 'l') n WHERE level = 0) AS l,
  p = prose(1, 1000000) AND l = prose(2, 1000000) AS equal, verify('method')
FROM method;

--
-- Compression of nodes: each method, each readable whatever the setting is
--
CREATE TABLE compressed (id text PRIMARY KEY, t text) USING toaster;
ALTER TABLE compressed SET (toast_tuple_target = 128);
SET pg_toaster.compression = 'none';
INSERT INTO compressed VALUES ('none', prose(1, 1000000));
SET pg_toaster.compression = 'pglz';
INSERT INTO compressed VALUES ('pglz', prose(2, 1000000));
SET pg_toaster.compression = 'lz4';
INSERT INTO compressed VALUES ('lz4', prose(3, 1000000));
SET pg_toaster.compression = 'zstd';
INSERT INTO compressed VALUES ('zstd', prose(4, 1000000));
INSERT INTO compressed VALUES ('noise', noise(5, 100000));
RESET pg_toaster.compression;
SHOW pg_toaster.compression;
SELECT id, t = CASE id WHEN 'none' THEN prose(1, 1000000) WHEN 'pglz' THEN prose(2, 1000000)
                WHEN 'lz4' THEN prose(3, 1000000) WHEN 'zstd' THEN prose(4, 1000000)
                WHEN 'noise' THEN noise(5, 100000) END AS equal,
  toaster.column_size(t) < length(t) / 2 AS smaller,
  EXISTS (SELECT FROM toaster.tree('compressed', c.ctid, 't') n WHERE n.compression = c.id) AS used
FROM compressed c ORDER BY id COLLATE "C";
SELECT verify('compressed');

-- everything is gone with its rows
DELETE FROM sizes;
DELETE FROM many_insert;
DELETE FROM kinds;
DELETE FROM compressed;
SELECT chunks('sizes') AS sizes, chunks('many_insert') AS many,
  chunks('kinds') AS kinds, chunks('compressed') AS compressed;
DROP SCHEMA types CASCADE;
