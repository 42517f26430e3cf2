# Proves: pg_dump and pg_restore carry tables with their access method, in
# custom and plain format, in parallel with expression indexes, and into a
# server's default method where the dump does not name one.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $node = new_server('dump');
my $directory = PostgreSQL::Test::Utils::tempdir();
create_docs($node, 'docs', 'SET pg_toaster.node_size = 256;');
$node->safe_psql(
	'postgres', q(
	CREATE INDEX docs_md5 ON docs (md5(doc));
	CREATE INDEX docs_hash ON docs USING hash (left(doc, 2000));
	CREATE INDEX docs_long ON docs (id) WHERE length(doc) > 10000;
	ALTER TABLE docs ADD COLUMN js jsonb;
	ALTER TABLE docs ALTER COLUMN doc SET STORAGE EXTERNAL;
	UPDATE docs SET js = jsonb_build_object('id', id, 'doc', doc);
	CREATE INDEX docs_js ON docs ((js ->> 'id'));
	CREATE TABLE plain (LIKE docs);
	INSERT INTO plain SELECT * FROM docs;
	CREATE TABLE part (id int, doc text) PARTITION BY RANGE (id);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (9)
		USING toaster;
	INSERT INTO part SELECT id, doc FROM docs;
	CREATE MATERIALIZED VIEW seen USING toaster AS SELECT * FROM docs;));

my $answers = q(
SELECT id, md5(doc), md5(js::text), doc = js ->> 'doc' FROM docs
UNION ALL SELECT id, md5(doc), md5(js::text), true FROM plain
UNION ALL SELECT id, md5(doc), md5(js::text), true FROM seen
UNION ALL SELECT id, md5(doc), '', true FROM part
ORDER BY 1, 2, 3);
my $methods = q(
SELECT c.relname, a.amname, t.amname FROM pg_class c
JOIN pg_am a ON a.oid = c.relam
JOIN pg_class s ON s.oid = c.reltoastrelid JOIN pg_am t ON t.oid = s.relam
WHERE c.relnamespace = 'public'::regnamespace ORDER BY 1);
my $wanted = $node->safe_psql('postgres', $answers);
my $storage = $node->safe_psql('postgres', $methods);
like($storage, qr/^docs\|toaster\|toaster_chunks$/m,
	'the table has our methods');
like($storage, qr/^plain\|heap\|heap$/m, 'a copy of it has not');

# The restored database equals the first one and is sound.
sub restored
{
	my ($database, $name, $am) = @_;
	is($node->safe_psql($database, $answers),
		$wanted, "$name: equal answers");
	is($node->safe_psql($database, $methods),
		$am // $storage, "$name: access methods");
	is( $node->safe_psql(
			$database,
			'SET enable_seqscan = off; SELECT count(*) FROM docs d'
			  . " WHERE js ->> 'id' = d.id::text"),
		'8',
		"$name: expression index");
	is( $node->safe_psql(
			$database, "SELECT * FROM toaster.verify('docs')"),
		'', "$name: verify is clean") unless $am;
	return;
}

$node->command_ok(
	[ 'pg_dump', '-Fc', '-f', "$directory/custom", 'postgres' ],
	'dump in custom format');
$node->safe_psql('postgres', 'CREATE DATABASE custom');
$node->command_ok(
	[ 'pg_restore', '-j', '2', '-e', '-d', 'custom', "$directory/custom" ],
	'restore in two jobs');
restored('custom', 'custom format');

$node->command_ok(
	[ 'pg_dump', '-Fp', '-f', "$directory/plain.sql", 'postgres' ],
	'dump as a script');
$node->safe_psql('postgres', 'CREATE DATABASE script');
$node->command_ok(
	[
		'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', 'script',
		'-f', "$directory/plain.sql"
	],
	'restore of the script');
restored('script', 'script');

$node->command_ok(
	[
		'pg_dump', '-Fd', '-j', '2', '-f', "$directory/dir", 'postgres'
	],
	'parallel dump to a directory');
$node->safe_psql('postgres', 'CREATE DATABASE directory');
$node->command_ok(
	[ 'pg_restore', '-j', '2', '-e', '-d', 'directory', "$directory/dir" ],
	'restore of the directory');
restored('directory', 'directory');

# INSERT statements with every column, from several rows.
$node->command_ok(
	[
		'pg_dump', '--rows-per-insert=3', '-f', "$directory/insert.sql",
		'postgres'
	],
	'dump as INSERT statements');
$node->safe_psql('postgres', 'CREATE DATABASE insert');
$node->command_ok(
	[
		'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', 'insert',
		'-f', "$directory/insert.sql"
	],
	'restore by INSERT statements');
restored('insert', 'INSERT statements');

SKIP:
{
	my ($help) = run_command([ 'pg_restore', '--help' ]);
	skip 'pg_restore has no --no-table-access-method', 4
	  unless $help =~ /--no-table-access-method/;

	$node->safe_psql('postgres', 'CREATE DATABASE none');
	$node->command_ok(
		[
			'pg_restore', '-e', '--no-table-access-method', '-d', 'none',
			"$directory/custom"
		],
		'restore without access methods');
	(my $heap = $storage) =~ s/toaster_chunks|toaster/heap/g;
	restored('none', 'without access methods', $heap);
}

$node->stop;
done_testing();
