# Proves: pg_upgrade, copying files and linking them, carries every kind of
# tree to a new cluster as it is: what the tables answer, how they are stored
# and what toaster.verify says are equal, and everything can be written,
# rewritten and dropped afterwards.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $old = new_server('old', "fsync = off\n");
my ($bindir) = run_command([ 'pg_config', '--bindir' ]);

# Trees of several levels, indexed roots, a table that was a heap, a long
# default that old rows do not hold, and trees of dropped columns, in one
# table the last that could be large.
create_docs($old, 'trees', 'SET pg_toaster.node_size = 256;');
create_docs($old, 'roots', 'SET pg_toaster.force_indexed = on;');
create_docs($old, 'rope', 'SET pg_toaster.compression = none;');
$old->safe_psql(
	'postgres', q(
	ALTER DATABASE postgres SET pg_toaster.compression = 'pglz';
	CREATE INDEX trees_md5 ON trees (md5(doc));
	CREATE INDEX trees_hash ON trees USING hash (left(doc, 2000));
	CREATE INDEX roots_long ON roots (id) WHERE length(doc) > 10000;
	CREATE TABLE was_heap (LIKE trees);
	INSERT INTO was_heap SELECT * FROM trees;
	ALTER TABLE was_heap SET ACCESS METHOD toaster;
	ALTER TABLE rope ADD COLUMN note text DEFAULT repeat('note ', 1000);
	CREATE TABLE dropped (id int, js jsonb, doc text) USING toaster;
	INSERT INTO dropped SELECT id, jsonb_build_object('doc', doc), doc
		FROM trees;
	ALTER TABLE dropped DROP COLUMN js;
	CREATE TABLE narrow (id int, doc text) USING toaster;
	INSERT INTO narrow SELECT id, doc FROM trees;
	ALTER TABLE narrow DROP COLUMN doc;
	CREATE TABLE part (id int, doc text) PARTITION BY RANGE (id);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (5)
		USING toaster;
	CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (5) TO (9);
	INSERT INTO part SELECT id, doc FROM trees;
	CREATE MATERIALIZED VIEW seen USING toaster AS SELECT * FROM trees;
	CREATE UNIQUE INDEX ON seen (id);));

# Chunks of transactions that did not commit, and of versions that are gone.
foreach my $table (qw(trees roots))
{
	my ($status) = $old->psql('postgres',
		"SET pg_toaster.failpoint = 'before_row:error';"
		  . " INSERT INTO $table VALUES (9, doc(9, 30000), '')");
	isnt($status, 0, "$table: a write that failed");
	$old->safe_psql(
		'postgres', qq(
		BEGIN;
		UPDATE $table SET doc = doc(id + 90, 20000);
		ROLLBACK;
		UPDATE $table SET doc = put(doc, 900, 'here'),
			sum = md5(put(doc, 900, 'here')) WHERE id > 1;));
}

my $answers = q(
SELECT 'trees', id, md5(doc), md5(substr(doc, 3000, 2000)), sum FROM trees
UNION ALL SELECT 'roots', id, md5(doc), md5(substr(doc, 3000, 2000)), sum
	FROM roots
UNION ALL SELECT 'rope', id, md5(doc), md5(substr(doc, 3000, 2000)), md5(note)
	FROM rope
UNION ALL SELECT 'was_heap', id, md5(doc), md5(substr(doc, 3000, 2000)), sum
	FROM was_heap
UNION ALL SELECT 'dropped', id, md5(doc), md5(substr(doc, 3000, 2000)), ''
	FROM dropped
UNION ALL SELECT 'narrow', id, '', '', '' FROM narrow
UNION ALL SELECT 'part', id, md5(doc), md5(substr(doc, 3000, 2000)), ''
	FROM part
UNION ALL SELECT 'seen', id, md5(doc), md5(substr(doc, 3000, 2000)), sum
	FROM seen
ORDER BY 1, 2);
my $ours = q(FROM pg_class c JOIN pg_am a ON a.oid = c.relam
	AND a.amname = 'toaster');
my $storage = qq(SELECT c.relname, s.* $ours,
	toaster.storage(c.oid) s ORDER BY 1, 2);
my $methods = q(SELECT c.relname, a.amname, t.amname FROM pg_class c
	JOIN pg_am a ON a.oid = c.relam JOIN pg_class s ON s.oid = c.reltoastrelid
	JOIN pg_am t ON t.oid = s.relam
	WHERE c.relnamespace = 'public'::regnamespace ORDER BY 1);
my @questions = ($answers, $methods, $storage);
my @wanted = map { $old->safe_psql('postgres', $_) } @questions;
like($wanted[1], qr/^narrow\|toaster\|toaster_chunks$/m,
	'a table without large columns keeps its TOAST relation');
like($wanted[2], qr/^trees\|doc\|6\|\d+\|[2-9]\|/m, 'trees of several levels');


# Upgrade the old cluster to a new one, which is returned running.
sub upgrade
{
	my ($mode, $conf, @options) = @_;
	my $new = PostgreSQL::Test::Cluster->new($mode);

	$new->init;
	$new->append_conf('postgresql.conf', "autovacuum = off\n$conf");
	command_ok(
		[
			'pg_upgrade', '--no-sync', '-d', $old->data_dir,
			'-D', $new->data_dir, '-b', $bindir,
			'-B', $bindir, '-s', $new->host,
			'-p', $old->port, '-P', $new->port,
			@options
		],
		"$mode: pg_upgrade");
	$new->start;
	return $new;
}

# toaster.verify finds nothing in any table.
sub all_sound
{
	my ($node, $name) = @_;
	is( $node->safe_psql(
			'postgres', "SELECT v.* $ours, toaster.verify(c.oid) v"),
		'', "$name: verify is clean");
	return;
}

# The new cluster holds what the old one held, as the old one held it.
sub equal
{
	my ($node, $mode) = @_;
	my @names = ('answers', 'access methods', 'storage');

	foreach my $i (0 .. $#questions)
	{
		is($node->safe_psql('postgres', $questions[$i]),
			$wanted[$i], "$mode: equal $names[$i]");
	}
	is( $node->safe_psql(
			'postgres',
			'SET enable_seqscan = off; SELECT count(*) FROM trees t'
			  . ' WHERE md5(doc) = t.sum AND md5(doc) IN'
			  . ' (SELECT sum FROM trees)'),
		'8',
		"$mode: expression index");
	is($node->safe_psql('postgres', 'SHOW pg_toaster.compression'),
		'pglz', "$mode: setting of the database");
	all_sound($node, $mode);
	return;
}

# Everything can be written and rewritten.
sub used
{
	my ($node, $mode) = @_;
	my $small = 'SET pg_toaster.node_size = 256;';

	foreach my $table (qw(trees roots was_heap rope))
	{
		$node->safe_psql(
			'postgres', qq(
			$small
			UPDATE $table SET doc = put(doc, id * 500, 'there'),
				sum = md5(put(doc, id * 500, 'there'));
			DELETE FROM $table WHERE id = 3;
			INSERT INTO $table VALUES (3, doc(3, 9000), md5(doc(3, 9000)));));
	}
	$node->safe_psql(
		'postgres', q(
		UPDATE dropped SET doc = put(doc, 40, 'there');
		UPDATE narrow SET id = id + 1;
		UPDATE part SET id = id - 4 WHERE id > 4;
		REFRESH MATERIALIZED VIEW CONCURRENTLY seen;));
	all_sound($node, "$mode, after writes");
	foreach my $command (
		'VACUUM (FREEZE)',
		'REINDEX DATABASE postgres',
		'VACUUM FULL',
		'CLUSTER trees USING trees_pkey',
		'ALTER TABLE roots ALTER COLUMN id TYPE bigint')
	{
		$node->safe_psql('postgres', $command);
		all_sound($node, "$mode, after $command");
	}
	intact($node, $_, 8, "$mode, $_") foreach qw(trees roots was_heap rope);
	is( $node->safe_psql(
			'postgres',
			'SELECT count(*) FROM seen FULL JOIN trees USING (id)'
			  . ' WHERE seen.doc IS DISTINCT FROM trees.doc'),
		'0',
		"$mode: refreshed materialized view");
	is( $node->safe_psql(
			'postgres', 'SELECT count(*), count(DISTINCT doc) FROM part_1'),
		'8|8',
		"$mode: rows moved between partitions");
	return;
}

# No table and no access method of ours is left, and all can begin again.
sub gone
{
	my ($node, $name) = @_;
	is( $node->safe_psql(
			'postgres', q(
			SELECT count(*) FROM pg_class WHERE relname IN
				('trees', 'roots', 'dropped', 'narrow', 'part_1', 'seen');
			SELECT count(*) FROM pg_am WHERE oid > 16383;
			SELECT count(*) FROM part;)),
		"0\n0\n0",
		"$name: nothing is left");
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_toaster');
	create_docs($node, 'again', '');
	intact($node, 'again', 8, "$name, and created again");
	return;
}

chdir $PostgreSQL::Test::Utils::tmp_check or die "no directory: $!";
$old->stop;

my $copied = upgrade('copy', '');
equal($copied, 'copy');
used($copied, 'copy');

my $linked = upgrade('link', "shared_preload_libraries = 'pg_toaster'\n",
	'--link');
equal($linked, 'link');
used($linked, 'link');

# Drop the extension.  pg_dump creates access methods in the order of their
# names, so that CASCADE takes the TOAST relations' one before the tables: it
# fails and leaves everything.  It works after the tables, or when that access
# method is no longer the extension's.
my ($status, $out, $error) =
  $copied->psql('postgres', 'DROP EXTENSION pg_toaster CASCADE');
like(
	$error,
	qr/cache lookup failed for access method/,
	'DROP EXTENSION CASCADE after an upgrade fails');
all_sound($copied, 'after a failed DROP EXTENSION');
intact($copied, 'trees', 8, 'after a failed DROP EXTENSION');
$copied->safe_psql(
	'postgres', q(
	DROP MATERIALIZED VIEW seen;
	DROP TABLE trees, roots, rope, was_heap, dropped, narrow, part_1;
	DROP EXTENSION pg_toaster;));
gone($copied, 'dropped after its tables');
$linked->safe_psql(
	'postgres', q(
	ALTER EXTENSION pg_toaster DROP ACCESS METHOD toaster_chunks;
	DROP EXTENSION pg_toaster CASCADE;));
gone($linked, 'dropped with its tables');

$copied->stop;
$linked->stop;
done_testing();
