/* pg_toaster 0.1: access methods, functions, privileges */

-- psql stops here; CREATE EXTENSION takes lines with \echo out.
\echo Load this file with "CREATE EXTENSION pg_toaster". \quit

--
-- Access methods
--
CREATE FUNCTION toaster.pg_toaster_handler(internal)
RETURNS table_am_handler
AS 'MODULE_PATHNAME', 'pg_toaster_handler'
LANGUAGE C STRICT;

CREATE FUNCTION toaster.pg_toaster_chunks_handler(internal)
RETURNS table_am_handler
AS 'MODULE_PATHNAME', 'pg_toaster_chunks_handler'
LANGUAGE C STRICT;

-- In this order: DROP EXTENSION .. CASCADE takes the younger first, and with
-- it the tables, whose TOAST relations need the older until they are gone.
CREATE ACCESS METHOD toaster_chunks
TYPE TABLE HANDLER toaster.pg_toaster_chunks_handler;

CREATE ACCESS METHOD toaster
TYPE TABLE HANDLER toaster.pg_toaster_handler;

COMMENT ON FUNCTION toaster.pg_toaster_handler(internal) IS
'handler of the table access method toaster';
COMMENT ON FUNCTION toaster.pg_toaster_chunks_handler(internal) IS
'handler of the table access method toaster_chunks';
COMMENT ON ACCESS METHOD toaster IS
'heap that keeps large values as copy-on-write trees of chunks';
COMMENT ON ACCESS METHOD toaster_chunks IS
'TOAST relations of tables that use the access method toaster';

--
-- Looking into trees
--

-- Not for parallel plans: it takes a snapshot of its own.
CREATE FUNCTION toaster.verify(rel regclass)
RETURNS TABLE (relation regclass, ctid tid, attname name, chunk tid,
			   message text)
AS 'MODULE_PATHNAME', 'pg_toaster_verify'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION toaster.tree(rel regclass, ctid tid, attname name)
RETURNS TABLE (level int, kind text, address tid, entries int,
			   raw_bytes bigint, stored_bytes bigint, compression text)
AS 'MODULE_PATHNAME', 'pg_toaster_tree'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED;

CREATE FUNCTION toaster.storage(rel regclass)
RETURNS TABLE (attname name, "values" bigint, chunks bigint, depth int,
			   raw_bytes bigint, stored_bytes bigint, compression text)
AS 'MODULE_PATHNAME', 'pg_toaster_storage'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED;

CREATE FUNCTION toaster.column_size("any")
RETURNS bigint
AS 'MODULE_PATHNAME', 'pg_toaster_column_size'
LANGUAGE C STRICT STABLE PARALLEL SAFE;

COMMENT ON FUNCTION toaster.verify(regclass) IS
'problems found in the trees of a table, none when it is sound';
COMMENT ON FUNCTION toaster.tree(regclass, tid, name) IS
'nodes of one value, parents before children';
COMMENT ON FUNCTION toaster.storage(regclass) IS
'how much of a table''s columns is stored in trees';
COMMENT ON FUNCTION toaster.column_size("any") IS
'bytes of the nodes of a value, or pg_column_size() of any other';

--
-- Counters; each session has its own
--
CREATE FUNCTION toaster.stats()
RETURNS TABLE (name text, session bigint, server bigint)
AS 'MODULE_PATHNAME', 'pg_toaster_stats'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE VIEW toaster.stats AS
SELECT name, session, server FROM toaster.stats();

COMMENT ON FUNCTION toaster.stats() IS
'what this session, and the server if it preloads pg_toaster, has counted';
COMMENT ON VIEW toaster.stats IS
'what this session, and the server if it preloads pg_toaster, has counted';

--
-- Privileges, whatever the default privileges are
--
GRANT USAGE ON SCHEMA toaster TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.verify(regclass) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.tree(regclass, tid, name) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.storage(regclass) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.column_size("any") TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.stats() TO PUBLIC;
GRANT SELECT ON toaster.stats TO PUBLIC;
