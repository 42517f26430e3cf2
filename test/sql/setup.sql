-- What every other file of this suite stands on: the extension itself and the
-- schema "twin", which compares a toaster table with its heap twin and looks
-- at the TOAST relation behind the extension's back.  Runs first:
-- make installcheck REGRESS="setup NAME" runs one file.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_toaster;
CREATE SCHEMA twin;

-- Bytes that no method compresses, equal for equal arguments.
CREATE FUNCTION twin.bytes(seed int, size int) RETURNS bytea
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT substr(string_agg(decode(md5(seed || ':' || i), 'hex'), ''::bytea
                           ORDER BY i), 1, size)
  FROM generate_series(1, size / 16 + 1) i
$$;

-- The same as text: hexadecimal digits.
CREATE FUNCTION twin.noise(seed int, size int) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT left(encode(twin.bytes(seed, size / 2 + 1), 'hex'), size)
$$;

-- Text that compresses well, although no two places in it are the same.
CREATE FUNCTION twin.prose(seed int, size int) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT left(string_agg('This is line ' || i || ' of text number ' || seed
                         || ', which is much like every other line. ', ''
                         ORDER BY i), size)
  FROM generate_series(1, size / 40 + 1) i
$$;

-- A document of that many keys, about 150 bytes each.
CREATE FUNCTION twin.document(seed int, keys int) RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT jsonb_object_agg('key' || i, jsonb_build_object(
           'number', i * seed / 7.0, 'text', md5(seed || ':' || i),
           'list', jsonb_build_array(i, i % 2 = 0, NULL, 'element ' || i)))
  FROM generate_series(1, keys) i
$$;

-- Are the rows of both tables the same, byte for byte, by their column id?
CREATE FUNCTION twin.same(one regclass, other regclass) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  differences bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM %s AS twin_one FULL JOIN %s AS twin_other
                  USING (id) WHERE (twin_one *= twin_other) IS NOT TRUE',
                 one, other) INTO differences;
  RETURN differences = 0;
END
$$;

-- "sound", or what toaster.verify found.
CREATE FUNCTION twin.verify(rel regclass) RETURNS text
LANGUAGE sql AS $$
  SELECT coalesce(string_agg(concat_ws(' ', relation, ctid, attname, chunk,
                                       message), E'\n'), 'sound')
  FROM toaster.verify(rel)
$$;

-- Live rows of the TOAST relation, read as a plain table: never by its index,
-- in which chunks that are reached by their place do not stand.
CREATE FUNCTION twin.chunks(rel regclass) RETURNS bigint
LANGUAGE plpgsql SET enable_indexscan = off SET enable_indexonlyscan = off
SET enable_bitmapscan = off AS $$
DECLARE
  toast regclass;
  chunks bigint := 0;
BEGIN
  SELECT reltoastrelid INTO toast FROM pg_class
  WHERE oid = rel AND reltoastrelid <> 0;
  IF FOUND THEN
    EXECUTE format('SELECT count(*) FROM %s', toast) INTO chunks;
  END IF;
  RETURN chunks;
END
$$;

-- Values that a heap table keeps out of line.
CREATE FUNCTION twin.external(rel regclass) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  ids bigint;
BEGIN
  EXECUTE format('SELECT count(DISTINCT chunk_id) FROM %s',
                 (SELECT reltoastrelid FROM pg_class WHERE oid = rel)::regclass)
  INTO ids;
  RETURN ids;
END
$$;

-- Rows of a table whose value in this column is kept as a tree.
CREATE FUNCTION twin.trees(rel regclass, attname name) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  trees bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM %s AS t
                  WHERE EXISTS (SELECT FROM toaster.tree(%L, t.ctid, %L))',
                 rel, rel, attname) INTO trees;
  RETURN trees;
END
$$;

-- The address of the root of one row's value.
CREATE FUNCTION twin.root(rel regclass, id int, attname name) RETURNS tid
LANGUAGE plpgsql AS $$
DECLARE
  root tid;
BEGIN
  EXECUTE format('SELECT n.address FROM %s AS t, toaster.tree(%L, t.ctid, %L) n
                  WHERE t.id = %s ORDER BY n.level DESC LIMIT 1',
                 rel, rel, attname, id) INTO root;
  RETURN root;
END
$$;

-- Counters of this session: remember them, then ask for the difference.
CREATE FUNCTION twin.mark() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('twin.' || name, session::text, false) FROM toaster.stats;
END
$$;
CREATE FUNCTION twin.since(counter text) RETURNS bigint
LANGUAGE sql AS $$
  SELECT session - current_setting('twin.' || counter)::bigint
  FROM toaster.stats WHERE name = counter
$$;

-- The SQLSTATE with which a statement fails, or "succeeds".
CREATE FUNCTION twin.sqlstate_of(statement text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE statement;
  RETURN 'succeeds';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE;
END
$$;

-- The server can do what the rest of the suite asks of it.
SELECT amname, amtype FROM pg_am WHERE amname LIKE 'toaster%' ORDER BY amname;
SELECT name FROM toaster.stats ORDER BY name COLLATE "C";
