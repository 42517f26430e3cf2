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
-- Reading parts of documents: the planner hook puts these in the place of the
-- functions of the same names in pg_catalog.  Everybody may execute them: a
-- function that somebody may not execute is not put in any place.
--
CREATE FUNCTION toaster.jsonb_object_field(from_json jsonb, field_name text)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_object_field'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_object_field_text(from_json jsonb, field_name text)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_object_field_text'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_array_element(from_json jsonb, element_index int)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_array_element'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_array_element_text(from_json jsonb, element_index int)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_array_element_text'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_extract_path(from_json jsonb, VARIADIC path_elems text[])
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_extract_path'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_extract_path_text(from_json jsonb, VARIADIC path_elems text[])
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_extract_path_text'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_exists(jsonb, text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_exists'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_exists_any(jsonb, text[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_exists_any'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_exists_all(jsonb, text[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_exists_all'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_contains(jsonb, jsonb)
RETURNS boolean
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_contains'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_contained(jsonb, jsonb)
RETURNS boolean
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_contained'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_typeof(jsonb)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_typeof'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_array_length(jsonb)
RETURNS integer
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_array_length'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_object_keys(jsonb)
RETURNS SETOF text
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_object_keys'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE ROWS 100;

CREATE FUNCTION toaster.jsonb_each(from_json jsonb, OUT key text, OUT value jsonb)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_each'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE ROWS 100;

CREATE FUNCTION toaster.jsonb_each_text(from_json jsonb, OUT key text, OUT value text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_each_text'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE ROWS 100;

CREATE FUNCTION toaster.jsonb_array_elements(from_json jsonb, OUT value jsonb)
RETURNS SETOF jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_array_elements'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE ROWS 100;

CREATE FUNCTION toaster.jsonb_array_elements_text(from_json jsonb, OUT value text)
RETURNS SETOF text
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_array_elements_text'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE ROWS 100;

CREATE FUNCTION toaster.jsonb_set(jsonb_in jsonb, path text[], replacement jsonb, create_if_missing boolean)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_set'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_set_lax(jsonb_in jsonb, path text[], replacement jsonb, create_if_missing boolean, null_value_treatment text)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_set_lax'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_insert(jsonb_in jsonb, path text[], replacement jsonb, insert_after boolean)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_insert'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_concat(jsonb, jsonb)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_concat'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_delete(jsonb, text)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_delete'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_delete(jsonb, int)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_delete_idx'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_delete(from_json jsonb, VARIADIC path_elems text[])
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_delete_array'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_delete_path(jsonb, text[])
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_delete_path'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.byteacat(bytea, bytea)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_toaster_byteacat'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.textcat(text, text)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_textcat'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.overlay(bytea, bytea, int, int)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_toaster_byteaoverlay'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.overlay(bytea, bytea, int)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_toaster_byteaoverlay_no_len'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.overlay(text, text, int, int)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_textoverlay'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.overlay(text, text, int)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_textoverlay_no_len'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.substr(bytea, int, int)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_toaster_bytea_substr'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.substr(bytea, int)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_toaster_bytea_substr_no_len'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.substring(bytea, int, int)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_toaster_bytea_substr'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.substring(bytea, int)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_toaster_bytea_substr_no_len'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.substr(text, int, int)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_text_substr'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.substr(text, int)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_text_substr_no_len'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.substring(text, int, int)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_text_substr'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.substring(text, int)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_text_substr_no_len'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster."left"(text, int)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_text_left'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster."right"(text, int)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_text_right'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.set_byte(bytea, int, int)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_toaster_byteaSetByte'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.set_bit(bytea, bigint, int)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_toaster_byteaSetBit'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.get_byte(bytea, int)
RETURNS int
AS 'MODULE_PATHNAME', 'pg_toaster_byteaGetByte'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.get_bit(bytea, bigint)
RETURNS int
AS 'MODULE_PATHNAME', 'pg_toaster_byteaGetBit'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster."position"(bytea, bytea)
RETURNS int
AS 'MODULE_PATHNAME', 'pg_toaster_byteapos'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster."position"(text, text)
RETURNS int
AS 'MODULE_PATHNAME', 'pg_toaster_textpos'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.strpos(text, text)
RETURNS int
AS 'MODULE_PATHNAME', 'pg_toaster_textpos'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.starts_with(text, text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'pg_toaster_text_starts_with'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.textlen(text)
RETURNS int
AS 'MODULE_PATHNAME', 'pg_toaster_textlen'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.length(text)
RETURNS int
AS 'MODULE_PATHNAME', 'pg_toaster_textlen'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.char_length(text)
RETURNS int
AS 'MODULE_PATHNAME', 'pg_toaster_textlen'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.character_length(text)
RETURNS int
AS 'MODULE_PATHNAME', 'pg_toaster_textlen'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_subscript_assign(document jsonb, path text[], value jsonb, is_array boolean)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_subscript_assign'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_path_exists_opr(jsonb, jsonpath)
RETURNS boolean
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_path_exists_opr'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_path_match_opr(jsonb, jsonpath)
RETURNS boolean
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_path_match_opr'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_path_exists(target jsonb, path jsonpath, vars jsonb, silent boolean)
RETURNS boolean
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_path_exists'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_path_exists_tz(target jsonb, path jsonpath, vars jsonb, silent boolean)
RETURNS boolean
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_path_exists_tz'
LANGUAGE C STRICT STABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_path_match(target jsonb, path jsonpath, vars jsonb, silent boolean)
RETURNS boolean
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_path_match'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_path_match_tz(target jsonb, path jsonpath, vars jsonb, silent boolean)
RETURNS boolean
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_path_match_tz'
LANGUAGE C STRICT STABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_path_query(target jsonb, path jsonpath, vars jsonb, silent boolean)
RETURNS SETOF jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_path_query'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE ROWS 1000;

CREATE FUNCTION toaster.jsonb_path_query_tz(target jsonb, path jsonpath, vars jsonb, silent boolean)
RETURNS SETOF jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_path_query_tz'
LANGUAGE C STRICT STABLE PARALLEL SAFE ROWS 1000;

CREATE FUNCTION toaster.jsonb_path_query_array(target jsonb, path jsonpath, vars jsonb, silent boolean)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_path_query_array'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_path_query_array_tz(target jsonb, path jsonpath, vars jsonb, silent boolean)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_path_query_array_tz'
LANGUAGE C STRICT STABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_path_query_first(target jsonb, path jsonpath, vars jsonb, silent boolean)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_path_query_first'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.jsonb_path_query_first_tz(target jsonb, path jsonpath, vars jsonb, silent boolean)
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_path_query_first_tz'
LANGUAGE C STRICT STABLE PARALLEL SAFE;

-- What a path needs of a document, for JSON_VALUE(), JSON_QUERY(),
-- JSON_EXISTS() and JSON_TABLE() of PostgreSQL 17 and later.
CREATE FUNCTION toaster.jsonb_path_project(document jsonb, path jsonpath, below jsonpath[])
RETURNS jsonb
AS 'MODULE_PATHNAME', 'pg_toaster_jsonb_path_project'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

--
-- Changing bytea and text like a file, in any expression; in UPDATE .. SET on
-- a column of a toaster table only what differs is written.  Offsets and
-- counts are bytes or, of text, characters; the first one has offset 0.
--
CREATE FUNCTION toaster.splice(value bytea, "offset" bigint, remove_count bigint, insert bytea)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_toaster_splice_bytea'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.splice(value text, "offset" bigint, remove_count bigint, insert text)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_splice_text'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.append(value bytea, piece bytea)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_toaster_append_bytea'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.append(value text, piece text)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_append_text'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.truncate(value bytea, length bigint)
RETURNS bytea
AS 'MODULE_PATHNAME', 'pg_toaster_truncate_bytea'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION toaster.truncate(value text, length bigint)
RETURNS text
AS 'MODULE_PATHNAME', 'pg_toaster_truncate_text'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION toaster.splice(bytea, bigint, bigint, bytea) IS
'value with remove_count bytes, from offset (the first byte is 0) on, replaced by others';
COMMENT ON FUNCTION toaster.splice(text, bigint, bigint, text) IS
'value with remove_count characters, from offset (the first one is 0) on, replaced by others';
COMMENT ON FUNCTION toaster.append(bytea, bytea) IS
'value with a piece put behind it';
COMMENT ON FUNCTION toaster.append(text, text) IS
'value with a piece put behind it';
COMMENT ON FUNCTION toaster.truncate(bytea, bigint) IS
'the first bytes of value, at most length';
COMMENT ON FUNCTION toaster.truncate(text, bigint) IS
'the first characters of value, at most length';

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
GRANT EXECUTE ON FUNCTION toaster.jsonb_object_field(jsonb, text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_object_field_text(jsonb, text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_array_element(jsonb, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_array_element_text(jsonb, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_extract_path(jsonb, text[]) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_extract_path_text(jsonb, text[]) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_exists(jsonb, text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_exists_any(jsonb, text[]) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_exists_all(jsonb, text[]) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_contains(jsonb, jsonb) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_contained(jsonb, jsonb) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_typeof(jsonb) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_array_length(jsonb) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_object_keys(jsonb) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_each(jsonb) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_each_text(jsonb) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_array_elements(jsonb) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_array_elements_text(jsonb) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_path_exists_opr(jsonb, jsonpath) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_path_match_opr(jsonb, jsonpath) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_path_exists(jsonb, jsonpath, jsonb, boolean) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_path_exists_tz(jsonb, jsonpath, jsonb, boolean) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_path_match(jsonb, jsonpath, jsonb, boolean) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_path_match_tz(jsonb, jsonpath, jsonb, boolean) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_path_query(jsonb, jsonpath, jsonb, boolean) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_path_query_tz(jsonb, jsonpath, jsonb, boolean) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_path_query_array(jsonb, jsonpath, jsonb, boolean) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_path_query_array_tz(jsonb, jsonpath, jsonb, boolean) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_path_query_first(jsonb, jsonpath, jsonb, boolean) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_path_query_first_tz(jsonb, jsonpath, jsonb, boolean) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_path_project(jsonb, jsonpath, jsonpath[]) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_set(jsonb, text[], jsonb, boolean) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_set_lax(jsonb, text[], jsonb, boolean, text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_insert(jsonb, text[], jsonb, boolean) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_concat(jsonb, jsonb) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_delete(jsonb, text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_delete(jsonb, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_delete(jsonb, text[]) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_delete_path(jsonb, text[]) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.jsonb_subscript_assign(jsonb, text[], jsonb, boolean) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.byteacat(bytea, bytea) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.textcat(text, text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.overlay(bytea, bytea, int, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.overlay(bytea, bytea, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.overlay(text, text, int, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.overlay(text, text, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.substr(bytea, int, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.substr(bytea, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.substring(bytea, int, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.substring(bytea, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.substr(text, int, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.substr(text, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.substring(text, int, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.substring(text, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster."left"(text, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster."right"(text, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.set_byte(bytea, int, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.set_bit(bytea, bigint, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.get_byte(bytea, int) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.get_bit(bytea, bigint) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster."position"(bytea, bytea) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster."position"(text, text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.strpos(text, text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.starts_with(text, text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.textlen(text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.length(text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.char_length(text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.character_length(text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.splice(bytea, bigint, bigint, bytea) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.splice(text, bigint, bigint, text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.append(bytea, bytea) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.append(text, text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.truncate(bytea, bigint) TO PUBLIC;
GRANT EXECUTE ON FUNCTION toaster.truncate(text, bigint) TO PUBLIC;
