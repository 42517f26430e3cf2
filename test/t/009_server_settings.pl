# Proves: the extension holds under two settings that change when the server
# forgets things: caches that are lost at every opportunity, while indexes on
# expressions are built and rows are logged for decoding, and snapshots that
# become too old.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $node = new_server('settings', 'wal_level = logical');
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');

SKIP:
{
	my ($status) =
	  $node->psql('postgres', 'SET debug_discard_caches = 1');
	skip 'the server has no debug_discard_caches', 5 if $status;

	create_docs($node, 'docs', 'SET pg_toaster.node_size = 500;');
	$node->safe_psql(
		'postgres', q(
		DELETE FROM docs WHERE id > 5;
		SET debug_discard_caches = 1;
		SET pg_toaster.node_size = 500;
		INSERT INTO docs SELECT 6, d, md5(d) FROM doc(6, 5000) d;
		UPDATE docs SET doc = put(doc, 900, 'here'),
			sum = md5(put(doc, 900, 'here'));
		CREATE INDEX docs_md5 ON docs (md5(doc));
		CREATE UNIQUE INDEX docs_hash ON docs (id, left(doc, 30));
		CREATE INDEX CONCURRENTLY docs_long ON docs (id)
			WHERE length(doc) > 5000;
		REINDEX TABLE docs;
		UPDATE docs SET id = id + 10 WHERE id = 5;
		DELETE FROM docs WHERE id = 4;
		ALTER TABLE docs REPLICA IDENTITY FULL;
		UPDATE docs SET id = id - 10, doc = put(doc, 7, 'here'),
			sum = md5(put(doc, 7, 'here')) WHERE id = 15;
		DELETE FROM docs WHERE id = 3;
		VACUUM docs;
		VACUUM FULL docs;
		CLUSTER docs USING docs_pkey;));
	intact($node, 'docs', 4, 'caches discarded');
	is( $node->safe_psql(
			'postgres', q(
			SET enable_seqscan = off;
			SELECT count(*) FROM docs d WHERE md5(doc) = d.sum
				AND EXISTS (SELECT FROM docs x WHERE md5(x.doc) = d.sum))),
		'4',
		'caches discarded: the index finds all');
	is( $node->safe_psql(
			'postgres',
			q(SET debug_discard_caches = 1;
			SELECT count(*) FROM toaster.verify('docs'))),
		'0',
		'caches discarded: verify is clean');
	is( $node->safe_psql(
			'postgres',
			q(SET debug_discard_caches = 1;
			SELECT count(*) FROM docs WHERE md5(doc) <> sum)),
		'0',
		'caches discarded: reading');
	is(logged_crash($node), '', 'caches discarded: no crash');
}

# Snapshots too old (until 16): an old reader gets its documents or the error
# that says so, never an error that speaks of damage.
SKIP:
{
	skip 'the server has no old_snapshot_threshold', 4 if $version >= 170000;

	$node->append_conf('postgresql.conf', "old_snapshot_threshold = 0\n");
	$node->restart;
	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS docs');
	create_docs($node, 'docs', 'SET pg_toaster.node_size = 256;');

	my ($in, $out) = ('', '');
	my $timer = IPC::Run::timeout(180);
	my $reader = open_psql($node, \$in, \$out, $timer);
	$in = "BEGIN ISOLATION LEVEL REPEATABLE READ;\n"
	  . "DECLARE c CURSOR FOR SELECT id, md5(doc) = sum FROM docs"
	  . " WHERE pg_sleep(0) IS NOT NULL ORDER BY id;\n"
	  . "FETCH 1 FROM c; SELECT 'ready';\n";
	pump_until($reader, $timer, \$out, qr/ready/) or die 'no reader';
	like($out, qr/^1\|t$/m, 'the reader has its snapshot');
	foreach my $round (1 .. 12)
	{
		$node->safe_psql(
			'postgres', qq(
			UPDATE docs SET doc = put(doc, $round * 40, 'round'),
				sum = md5(put(doc, $round * 40, 'round'));
			VACUUM docs;));
	}
	$out = '';
	$in = "FETCH ALL FROM c; ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE"
	  . " READ; SELECT 'done';\n";
	pump_until($reader, $timer, \$out, qr/done/) or die 'no answer';
	my @rows = grep { /\|/ } split /\n/, $out;
	is(scalar(grep { !/\|t$/ } @rows), 0, 'only whole documents');
	my @errors = grep { /ERROR/ } split /\n/, $out;
	is(scalar(grep { !/72000: snapshot too old/ } @errors),
		0, 'no error but the one of old snapshots')
	  or diag("@errors");
	$in = "\\q\n";
	$reader->finish;
	$node->safe_psql('postgres', 'VACUUM docs');
	sound($node, 'docs', 'after old snapshots');
}

$node->stop;
done_testing();
