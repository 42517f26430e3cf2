# Proves: parts of documents are read in place of whole documents wherever a
# plan is made or kept (the first statement of a session, partitioned parents,
# prepared statements, plpgsql, SQL functions, views, policies, workers,
# cursors), EXPLAIN shows what the user wrote, indexes are used as before, and
# plans survive what happens to the functions behind them: DROP EXTENSION,
# REVOKE, a database without the extension.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $node = new_server('planner');

# Documents of 40 kB, in a table, in partitions and in a table that inherits.
$node->safe_psql(
	'postgres', q(
	CREATE FUNCTION document(n int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
		SELECT jsonb_object_agg('k' || i, md5(n || '/' || i))
		  || jsonb_build_object('n', n, 'owner', 'user' || n % 2,
			'a', jsonb_build_array(n, jsonb_build_object('b', 'deep')),
			'v', '')
		FROM generate_series(1, 700) i
	$$;
	CREATE TABLE docs (id int PRIMARY KEY, doc jsonb) USING toaster;
	CREATE TABLE parent (id int, doc jsonb) PARTITION BY RANGE (id);
	CREATE TABLE part1 PARTITION OF parent FOR VALUES FROM (0) TO (10)
		USING toaster;
	CREATE TABLE part2 PARTITION OF parent FOR VALUES FROM (10) TO (99)
		USING toaster;
	CREATE TABLE ancestor (id int, doc jsonb);
	CREATE TABLE heir () INHERITS (ancestor) USING toaster;
	CREATE TABLE plain (id int PRIMARY KEY, doc jsonb) USING heap;
	INSERT INTO docs SELECT i, document(i) FROM generate_series(1, 20) i;
	INSERT INTO parent SELECT * FROM docs;
	INSERT INTO heir SELECT * FROM docs;
	INSERT INTO plain SELECT * FROM docs;
	CREATE VIEW view_of_docs AS SELECT id, doc, doc -> 'a' AS a FROM docs;
	CREATE VIEW view_of_parent AS SELECT id, doc ->> 'n' AS n FROM parent;
	CREATE FUNCTION total() RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		v jsonb;
		sum bigint := 0;
	BEGIN
		FOR v IN SELECT doc FROM docs LOOP
			IF v ? 'n' AND v -> 'a' -> 1 ->> 'b' = 'deep' THEN
				sum := sum + (v ->> 'n')::int + v['a'][0]::int;
			END IF;
		END LOOP;
		RETURN sum;
	END
	$$;
	CREATE FUNCTION inlined(d jsonb) RETURNS text LANGUAGE sql IMMUTABLE
		AS $$ SELECT d ->> 'n' $$;
	CREATE FUNCTION not_inlined(d jsonb) RETURNS text LANGUAGE sql VOLATILE
		SET work_mem = '1MB' AS $$ SELECT d ->> 'n' $$;
	CREATE FUNCTION rows() RETURNS SETOF text LANGUAGE sql STABLE
		SET work_mem = '1MB' AS $$ SELECT doc ->> 'n' FROM parent $$;
	VACUUM ANALYZE;));

# The last line of a fresh session's output, and how many documents were read
# whole.
sub session
{
	my ($sql, %options) = @_;
	my $output = $node->safe_psql(
		$options{database} // 'postgres',
		"$sql;\nSELECT session FROM toaster.stats"
		  . " WHERE name = 'documents_flattened'",
		extra_params => $options{user} ? [ '-U', $options{user} ] : []);
	my @lines = split /\n/, $output;
	my $flattened = pop @lines;
	return ($lines[-1] // '', $flattened);
}

# A fresh session gives that result and reads no document whole.
sub partial
{
	my ($name, $sql, $expected, %options) = @_;
	my ($result, $flattened) = session($sql, %options);
	is($result, $expected, $name);
	is($flattened, 0, "$name: no document was read whole");
	return;
}

# --- the first statement of a session ---
my $sum = "SELECT sum((doc ->> 'n')::int) FROM";
partial('a table', "$sum docs", 210);
partial('a partitioned table', "$sum parent", 210);
partial('a partition', "$sum part2", 165);
partial('a table with an heir', "$sum ancestor", 210);
partial('a view of a partitioned table',
	'SELECT sum(n::int) FROM view_of_parent', 210);
partial('a cursor on a partitioned table',
	"BEGIN; DECLARE c CURSOR FOR SELECT doc ->> 'n' FROM parent ORDER BY id;"
	  . ' FETCH 2 FROM c; COMMIT', 2);
partial('a CTE on a partitioned table',
	"WITH c AS MATERIALIZED (SELECT doc FROM parent) $sum c", 210);
partial('CREATE TABLE AS on a partitioned table',
	"CREATE TEMP TABLE x AS SELECT doc -> 'n' AS n FROM parent;"
	  . ' SELECT count(*) FROM x', 20);
partial('EXPLAIN ANALYZE of a partitioned table',
	"EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off)"
	  . " SELECT doc -> 'n' FROM parent WHERE id = 1;"
	  . ' SELECT 1', 1);
partial('a function that reads a partitioned table',
	'SELECT sum(r::int) FROM rows() r', 210);
partial('a DO block on a partitioned table',
	"DO \$\$ BEGIN PERFORM doc -> 'n' FROM parent; END \$\$; SELECT 1", 1);

# The plan that was made while the library was loaded is not kept.
partial('a generic plan of a partitioned table',
	"SET plan_cache_mode = force_generic_plan;"
	  . " PREPARE p AS $sum parent; EXECUTE p; EXECUTE p; EXECUTE p", 210);
partial('an expression planned before the library was loaded',
	"CREATE FUNCTION pg_temp.n(jsonb) RETURNS jsonb LANGUAGE plpgsql AS"
	  . " \$\$ BEGIN RETURN \$1 -> 'n'; END \$\$;"
	  . " SELECT pg_temp.n('{\"n\": 1}'); SELECT pg_temp.n('{\"n\": 2}');"
	  . ' SELECT sum(pg_temp.n(doc)::int) FROM parent', 210);

if ($node->pg_version >= 17)
{
	partial('JSON_VALUE of a partitioned table',
		q(SELECT sum(JSON_VALUE(doc, '$.n' RETURNING int)) FROM parent), 210);
	partial('JSON_TABLE of a partitioned table',
		q(SELECT sum(n) FROM parent,
			JSON_TABLE(doc, '$' COLUMNS (n int, deep text PATH '$.a[1].b'))
			WHERE deep = 'deep'), 210);
}

# --- wherever plans are made ---
partial('a prepared statement',
	"PREPARE p(int) AS SELECT doc ->> 'n' FROM docs WHERE id = \$1;"
	  . join('', map { "EXECUTE p($_);" } 1 .. 8), 8);
partial('plpgsql variables', 'SELECT total()', 420);
partial('an inlined SQL function', 'SELECT sum(inlined(doc)::int) FROM docs',
	210);
# From version 18 on it is kept; the first five would be for one value each.
partial('an SQL function with a plan of its own',
	'SET plan_cache_mode = force_generic_plan;'
	  . ' SELECT sum(not_inlined(doc)::int) FROM docs', 210);
partial('a view', "SELECT max(a ->> 0) FROM view_of_docs", 9);
partial('a cursor',
	"BEGIN; DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT doc ->> 'n'"
	  . ' FROM docs ORDER BY id; COMMIT; FETCH LAST FROM c', 20);
partial('aggregates, windows, grouping and sorting',
	"SELECT max(s) FROM (SELECT sum((doc ->> 'n')::int) OVER"
	  . " (PARTITION BY doc ->> 'owner' ORDER BY doc ->> 'k1') AS s FROM docs)"
	  . ' x', 110);
partial('GROUP BY and HAVING',
	"SELECT count(*) FROM (SELECT doc ->> 'owner', count(doc -> 'a')"
	  . " FROM docs GROUP BY 1 HAVING max(doc ->> 'n') > '1' ORDER BY 1) x", 2);
partial('a subquery in an expression',
	"SELECT count(*) FROM docs d WHERE doc ->> 'n' IN"
	  . " (SELECT p.doc ->> 'n' FROM parent p WHERE p.doc @> '{\"v\": \"\"}')",
	20);
partial('a correlated subquery',
	"SELECT sum((SELECT (d.doc ->> 'n')::int FROM plain p WHERE p.id = d.id"
	  . " AND d.doc ? 'k5')) FROM docs d", 210);

for my $join ('hash', 'merge', 'nestloop')
{
	my $off = join '',
	  map { $_ eq $join ? '' : "SET enable_${_}join = off;" }
	  grep { $_ ne 'nestloop' } ('hash', 'merge');
	$off .= 'SET enable_nestloop = off;' if $join ne 'nestloop';
	partial("a $join join", "$off SELECT count(*) FROM docs d JOIN parent p"
		  . " ON d.doc ->> 'k1' = p.doc ->> 'k1'", 20);
}

# The setting has another name from version 16 on.
my $parallel = 'SET '
  . ($node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query')
  . ' = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;'
  . ' SET min_parallel_table_scan_size = 0;';
partial('a parallel plan', "$parallel $sum docs WHERE doc ? 'k7'", 210);
like(
	$node->safe_psql('postgres',
		"$parallel EXPLAIN (COSTS off)"
		  . " SELECT count(*) FROM docs WHERE doc ? 'k7'"),
	qr/Gather/, 'the plan was parallel');

# --- statements that write ---
partial('UPDATE and RETURNING',
	"UPDATE docs SET id = id + 100 WHERE doc ->> 'n' = '20'"
	  . " RETURNING doc -> 'a' -> 0", 20);
partial('DELETE', "DELETE FROM docs WHERE doc ->> 'n' = '19'"
	  . " RETURNING doc ->> 'n'", 19);
partial('INSERT .. ON CONFLICT',
	"INSERT INTO docs VALUES (1, '{\"n\": 0}') ON CONFLICT (id) DO UPDATE"
	  . " SET id = 201 WHERE docs.doc ->> 'n' = '1' RETURNING doc ->> 'n'", 1);
partial('MERGE',
	"MERGE INTO docs d USING plain p ON d.id = p.id WHEN MATCHED AND"
	  . " d.doc ->> 'n' = '3' THEN DELETE WHEN MATCHED AND d.doc ->> 'n' = '4'"
	  . ' THEN UPDATE SET id = 204; SELECT count(*) FROM docs', 18);

# --- policies ---
$node->safe_psql(
	'postgres', q(
	CREATE ROLE user1 LOGIN;
	CREATE ROLE user0 LOGIN;
	GRANT SELECT ON ALL TABLES IN SCHEMA public TO user0, user1;
	ALTER TABLE parent ENABLE ROW LEVEL SECURITY;
	CREATE POLICY owner ON parent USING (doc ->> 'owner' = current_user);
	CREATE TABLE checked (LIKE docs) USING toaster;
	INSERT INTO checked SELECT * FROM docs;
	CREATE VIEW checking AS SELECT * FROM checked WHERE doc ->> 'v' = ''
		WITH CHECK OPTION;));
partial('a policy', 'SELECT count(*) FROM parent', 10, user => 'user1');
partial('WITH CHECK OPTION',
	"UPDATE checking SET id = id + 1 WHERE id = 5 RETURNING id", 6);

# --- EXPLAIN ---
my $explain = 'EXPLAIN (VERBOSE, COSTS off)';
my $written = q(SELECT doc -> 'a', doc ->> 'b', doc -> 1, doc #> '{a,b}',
	doc #>> '{a,b}' FROM %s WHERE doc @> '{"a": 1}' AND doc ? 'a'
	AND doc ?| '{a}' AND doc ?& '{a}' AND '{}' <@ doc AND doc @? '$.a'
	AND doc @@ '$.a' AND doc ? ANY ('{a}'));
my $ours = $node->safe_psql('postgres', "$explain " . sprintf($written, 'docs'));
my $stock =
  $node->safe_psql('postgres', "$explain " . sprintf($written, 'plain'));
$stock =~ s/plain/docs/g;
is($ours, $stock, 'EXPLAIN shows operators as they were written');
like(
	$node->safe_psql('postgres',
		"$explain SELECT doc['a'][0], jsonb_typeof(doc) FROM docs"),
	qr/docs\.doc|doc #> '\{a,0\}'::text\[\].*toaster\.jsonb_typeof\(doc\)/,
	'EXPLAIN shows subscripts as paths, and functions with our schema');

# --- indexes ---
$node->safe_psql(
	'postgres', q(
	CREATE TABLE indexed (LIKE docs) USING toaster;
	INSERT INTO indexed SELECT * FROM parent;
	CREATE INDEX by_n ON indexed ((doc ->> 'n'));
	CREATE INDEX by_path ON indexed USING gin (doc jsonb_path_ops);
	CREATE INDEX partial ON indexed (id) WHERE doc ? 'k1';
	VACUUM ANALYZE indexed;));
my %index_scans = (
	by_n => "doc ->> 'n' = '7'",
	by_path => q(doc @> '{"n": 7, "a": [7, {"b": "deep"}]}'),
	partial => "id = 7 AND doc ? 'k1'",);
for my $index (sort keys %index_scans)
{
	my $query = 'SET enable_seqscan = off;'
	  . " %s SELECT doc -> 'a' -> 0 FROM indexed WHERE $index_scans{$index}";
	like($node->safe_psql('postgres', sprintf($query, 'EXPLAIN')),
		qr/\b$index\b/, "the index $index is used");
	partial("the index $index", sprintf($query, ''), 7);
}
partial(
	'a lossy bitmap', q(SET enable_seqscan = off; SET enable_indexscan = off;
	SET work_mem = '64kB'; SELECT count(*) FROM indexed WHERE
	doc @> '{"v": ""}' OR doc ->> 'n' = '7'), 20);

# --- what happens to plans when the functions behind them change ---

# Statements of one session, one by one; others may come between.
my $session = $node->background_psql('postgres');
sub ask
{
	return $session->query_safe(shift);
}
ask("SET plan_cache_mode = force_generic_plan;"
	  . " PREPARE n AS SELECT doc ->> 'n' FROM docs WHERE id = 7;"
	  . " PREPARE v(jsonb) AS SELECT \$1 -> 'n'");
is(ask('EXECUTE n'), 7, 'a generic plan');
is(ask(q(EXECUTE v('{"n": 5}'))), 5, 'a generic plan without a table');

my $function = 'FUNCTION toaster.jsonb_object_field_text(jsonb, text)';
my $flattened = q(SELECT session FROM toaster.stats
	WHERE name = 'documents_flattened');
my $before = ask($flattened);
$node->safe_psql('postgres', "REVOKE EXECUTE ON $function FROM PUBLIC");
is(ask('EXECUTE n'), 7, 'without the right to execute our function');
is(ask($flattened), $before + 1, 'the server reads the document whole');
$node->safe_psql('postgres', "GRANT EXECUTE ON $function TO PUBLIC");
is(ask('EXECUTE n'), 7, 'with it again');
is(ask($flattened), $before + 1, 'the plan was made again');

$node->safe_psql('postgres', "ALTER EXTENSION pg_toaster DROP $function;"
	  . " DROP $function");
is(ask('EXECUTE n'), 7, 'without our function');
is(ask($flattened), $before + 2, 'the server reads the document whole');

is(ask("SET pg_toaster.enable_planner = off; SELECT doc -> 'n' FROM docs"
		. ' WHERE id = 7'), 7, 'without the hook');
is(ask($flattened), $before + 3, 'the server reads the document whole');
$session->quit;

# A function of the server that somebody may not execute stays forbidden.
$node->safe_psql('postgres',
	'REVOKE EXECUTE ON FUNCTION jsonb_object_field(jsonb, text) FROM PUBLIC');
my ($status, $output, $error) = $node->psql('postgres',
	"SELECT doc -> 'n' FROM docs", extra_params => [ '-U', 'user1' ]);
like($error, qr/permission denied for function jsonb_object_field/,
	'a function of the server that is forbidden');
$node->safe_psql('postgres',
	'GRANT EXECUTE ON FUNCTION jsonb_object_field(jsonb, text) TO PUBLIC');
partial('allowed again', "SELECT doc -> 'n' FROM docs WHERE id = 7", 7,
	user => 'user1');

# --- databases without the extension, and DROP EXTENSION ---
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql(
	'other', q(
	CREATE SCHEMA toaster;
	CREATE FUNCTION toaster.jsonb_object_field(jsonb, text) RETURNS jsonb
		LANGUAGE sql STRICT IMMUTABLE AS $$ SELECT '"false"'::jsonb $$;));
is($node->safe_psql('other', q(LOAD 'pg_toaster';
	SELECT '{"n": 1}'::jsonb -> x FROM (VALUES ('n')) v(x))),
	1, 'functions that somebody else has put into the schema are not used');
$node->safe_psql('other', 'DROP SCHEMA toaster CASCADE');

$session = $node->background_psql('other');
ask("LOAD 'pg_toaster'; SET plan_cache_mode = force_generic_plan;"
	  . " PREPARE v(jsonb) AS SELECT \$1 -> 'n'");
is(ask(q(EXECUTE v('{"n": 5}'))), 5, 'the library without the extension');
ask('CREATE EXTENSION pg_toaster; DISCARD PLANS');
is(ask(q(EXECUTE v('{"n": 5}'))), 5, 'with the extension');
$node->safe_psql('other', 'DROP EXTENSION pg_toaster');
is(ask(q(EXECUTE v('{"n": 6}'))), 6, 'after DROP EXTENSION');
$node->safe_psql(
	'other', q(
	ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
	CREATE EXTENSION pg_toaster;
	CREATE TABLE docs (doc jsonb) USING toaster;
	INSERT INTO docs SELECT jsonb_object_agg(md5(i::text), i) || '{"n": 8}'
		FROM generate_series(1, 1000) i;
	GRANT SELECT ON docs TO user1;));
is(ask(q(EXECUTE v('{"n": 7}'))), 7, 'after CREATE EXTENSION again');
$session->quit;
partial('default privileges do not matter', "SELECT doc -> 'n' FROM docs", 8,
	user => 'user1', database => 'other');

$node->stop;
done_testing();
