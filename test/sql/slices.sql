-- A slice of a tree is what stock cuts out of the whole value, at every
-- offset, compressed or not, and costs a few nodes, not the value.
CREATE SCHEMA slices;
SET search_path = slices, twin, public;
SET client_min_messages = warning;

CREATE TABLE stock (id int PRIMARY KEY, t text, b bytea) USING heap;
ALTER TABLE stock ALTER b SET STORAGE EXTERNAL;
INSERT INTO stock VALUES
  (1, prose(1, 30000), bytes(1, 30000)),
  (2, noise(2, 30000), convert_to(prose(2, 30000), 'UTF8')),
  (3, repeat('é', 5000) || noise(3, 3000) || repeat('x', 9000), '\x00'),
  (4, '', '');
CREATE TABLE normal (LIKE stock) USING toaster;
ALTER TABLE normal SET (toast_tuple_target = 128);
INSERT INTO normal SELECT * FROM stock;
SET pg_toaster.node_size = 128;
SET pg_toaster.min_tree_size = 1;
CREATE TABLE small (LIKE stock) USING toaster;
INSERT INTO small SELECT * FROM stock;
RESET pg_toaster.node_size;
RESET pg_toaster.min_tree_size;
ALTER TABLE small ALTER t SET STORAGE EXTERNAL;
INSERT INTO small SELECT id + 10, t, b FROM stock;
SELECT trees('normal', 't') AS t, trees('normal', 'b') AS b,
  trees('small', 't') > 3 AS small, verify('normal'), verify('small');

-- every offset, around every border of a node or frame, a few lengths
CREATE FUNCTION compare(rel regclass, shift int)
RETURNS TABLE (slices bigint, wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE format($query$
    WITH cut (at, size) AS (
      SELECT o, l FROM generate_series(1, 30010, 13) o, unnest('{0,1,130}'::int[]) l
      UNION ALL
      SELECT o, l FROM generate_series(1, 30000, 2999) o, unnest('{2000,4096,40000}'::int[]) l
      UNION ALL
      SELECT p + d, 3 FROM generate_series(1996, 30000, 1996) p, generate_series(-3, 2) d
      UNION ALL
      SELECT p + d, 3 FROM generate_series(128, 30000, 128) p, generate_series(-3, 2) d)
    SELECT count(*), count(*) FILTER (WHERE
        substr(s.b, at, size) IS DISTINCT FROM substr(t.b, at, size)
        OR (at %% 5 = 0 AND substr(s.t, at, size) IS DISTINCT FROM substr(t.t, at, size)))
    FROM stock s JOIN %s t ON t.id = s.id + %s, cut$query$, rel, shift);
END
$$;
SELECT * FROM compare('normal', 0);
SELECT * FROM compare('small', 0);
SELECT * FROM compare('small', 10);

-- the functions that cut, at their borders
CREATE FUNCTION cuts(t text, b bytea) RETURNS text[] LANGUAGE sql AS $$
  SELECT ARRAY[left(t, 0), left(t, 1), left(t, 4999), left(t, 5001), left(t, -7),
    right(t, 9), right(t, -29990), substr(t, -5, 10), substr(t, 29990),
    substr(t, 29998, 100), substr(t, 50000, 3), substr(t, 5000, 2),
    md5(substring(b from 29000)), md5(substring(b for 3)), substr(b, -2, 5)::text,
    substr(b, 30000, 9)::text, substr(b, 30001, 9)::text, overlay(t placing 'new' from 100 for 8),
    position('line 99' in t)::text, length(t)::text, octet_length(t)::text,
    octet_length(b)::text, length(b)::text, split_part(t, ',', 20), starts_with(t, 'This')::text,
    md5(t), md5(b), (t < 'M')::text, (b > '\x80')::text]
$$;
SELECT s.id, cuts(s.t, s.b) = cuts(n.t, n.b) AS normal, cuts(s.t, s.b) = cuts(m.t, m.b) AS small
FROM stock s JOIN normal n USING (id) JOIN small m USING (id) ORDER BY id;
SELECT bool_and(get_byte(s.b, o) = get_byte(n.b, o) AND get_byte(s.b, o) = get_byte(m.b, o)
                AND get_bit(s.b, o * 8 + 3) = get_bit(m.b, o * 8 + 3))
FROM stock s JOIN normal n USING (id) JOIN small m USING (id),
  unnest('{0,1,127,128,129,1995,1996,2000,15000,29998,29999}'::int[]) o
WHERE id < 3;
SELECT get_byte(b, 30000) FROM stock WHERE id = 1;
SELECT get_byte(b, 30000) FROM normal WHERE id = 1;
SELECT get_byte(b, 30000) FROM small WHERE id = 1;
SELECT substr(t, 1, -1) FROM normal WHERE id = 1;

-- what a slice costs: nothing for a length, a few nodes for the middle of a
-- compressed value of 2 MB, and no look at the whole value
CREATE TABLE big (id int, b bytea) USING toaster;
INSERT INTO big VALUES (1, convert_to(prose(1, 2000000), 'UTF8')), (2, bytes(2, 2000000));
SELECT bool_and(toaster.column_size(b) < 500000) AS compressed FROM big WHERE id = 1;
SELECT mark();
SELECT octet_length(b) FROM big;
SELECT since('nodes_fetched') AS nodes, since('documents_flattened') AS flattened;
SELECT mark();
SELECT id, substr(b, 1000000, 20) = substr(CASE id WHEN 1 THEN convert_to(prose(1, 2000000), 'UTF8')
                                           ELSE bytes(2, 2000000) END, 1000000, 20) AS equal
FROM big;
SELECT since('slices_fetched') >= 2 AS slices, since('documents_flattened') AS flattened,
  since('nodes_fetched') BETWEEN 2 AND 40 AS few_nodes;
SELECT mark();
SELECT count(md5(b)) FROM big;
SELECT since('documents_flattened') AS flattened, since('nodes_fetched') > 40 AS many_nodes;
DROP SCHEMA slices CASCADE;
