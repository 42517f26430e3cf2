-- Proves: what happens at the edges of sizes and of old layouts keeps values
-- and chunks whole.  Each part was a mistake once.

-- a row without a tree gets one, in a table with a key
CREATE TABLE edge (id int PRIMARY KEY, v text) USING toaster;
INSERT INTO edge VALUES (1, 'short'), (2, NULL);
UPDATE edge SET v = (SELECT string_agg(md5(i::text), '')
                     FROM generate_series(1, 1000) i);
SELECT id, v = (SELECT string_agg(md5(i::text), '')
                FROM generate_series(1, 1000) i) AS same FROM edge ORDER BY id;
SELECT count(*) FROM toaster.verify('edge');
DROP TABLE edge;

-- trees that were laid out for larger nodes: no frame may end up in two nodes
CREATE TABLE edge (id int PRIMARY KEY, v bytea) USING toaster;
ALTER TABLE edge ALTER v SET STORAGE EXTERNAL;
INSERT INTO edge SELECT i, (SELECT string_agg(sha256((i || '/' || j)::bytea), '')
                            FROM generate_series(1, 1500) j)
  FROM generate_series(1, 4) i;
CREATE TABLE edge_twin AS SELECT * FROM edge;
DO $$
BEGIN
  FOR i IN 1..12 LOOP
    UPDATE edge SET v = overlay(v PLACING '\x010203' FROM i * 3001 FOR i % 5);
    UPDATE edge_twin SET v = overlay(v PLACING '\x010203' FROM i * 3001 FOR i % 5);
  END LOOP;
END $$;
SET pg_toaster.node_size = 128;
VACUUM FULL edge;
SELECT count(*) FROM toaster.verify('edge');
DO $$
BEGIN
  FOR i IN 1..12 LOOP
    UPDATE edge SET v = overlay(v PLACING '\x0405' FROM i * 3301 FOR 2);
    UPDATE edge_twin SET v = overlay(v PLACING '\x0405' FROM i * 3301 FOR 2);
  END LOOP;
END $$;
VACUUM edge;
SELECT count(*) FROM toaster.verify('edge');
SELECT count(*) AS equal FROM edge JOIN edge_twin USING (id, v);
RESET pg_toaster.node_size;
DROP TABLE edge, edge_twin;

-- a long default of an added column is written by a rewrite
CREATE TABLE edge (id int PRIMARY KEY, v text) USING toaster;
INSERT INTO edge SELECT i, repeat(md5(i::text), 500) FROM generate_series(1, 3) i;
ALTER TABLE edge ADD COLUMN w text DEFAULT repeat(md5('w'), 10000);
VACUUM FULL edge;
SELECT id, v = repeat(md5(id::text), 500) AS v, w = repeat(md5('w'), 10000) AS w
  FROM edge ORDER BY id;
CLUSTER edge USING edge_pkey;
SELECT count(*) FROM toaster.verify('edge');
DROP TABLE edge;

-- more roots in a page than direct addresses can express, and frozen
SET pg_toaster.min_tree_size = 32;
BEGIN;
CREATE TABLE edge (id int, v text) USING toaster;
COPY edge FROM PROGRAM 'seq 1 400 | sed "s/.*/&	value number & of a long list of short values/"'
  WITH (FREEZE);
COMMIT;
SELECT count(*) FROM toaster.verify('edge');
SELECT count(*) FROM edge
  WHERE v = format('value number %s of a long list of short values', id);
VACUUM FULL edge;
SELECT count(*) FROM toaster.verify('edge');
RESET pg_toaster.min_tree_size;
DROP TABLE edge;
