# Proves: recovery, which replays heap's records and knows nothing of trees,
# stops at any point with the values of that point: at a name, before a
# commit, after being interrupted itself; with prepared transactions; and
# with unlogged tables emptied.  All the while wal_consistency_checking
# compares each replayed page of heap with the one that was logged.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $small = 'SET pg_toaster.node_size = 256;';
my $indexed = "$small SET pg_toaster.force_indexed = on;";

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, has_archiving => 1);
$primary->append_conf(
	'postgresql.conf', q(
autovacuum = off
wal_keep_size = 512MB
wal_level = replica
max_prepared_transactions = 5
wal_consistency_checking = 'heap,heap2'
));
$primary->start;
prepare_database($primary, 'postgres');
create_docs($primary, 'docs', $small);
create_docs($primary, 'indexed', $indexed);
$primary->backup('base');

my $answers = join ' UNION ALL ',
  map { "SELECT '$_', id, length(doc), md5(doc), md5(substr(doc, 3000, 2000))"
	  . " FROM $_" } qw(docs indexed);
$answers .= ' ORDER BY 1, 2';

# A server gives these answers, and its trees are sound.
sub answers_are
{
	my ($node, $wanted, $name) = @_;
	is($node->safe_psql('postgres', $answers), $wanted, "$name: answers");
	sound($node, $_, "$name, $_") foreach qw(docs indexed);
	return;
}

# An UPDATE of every document, in text that depends on the round; returns the
# transaction's id.
sub update_all
{
	my ($node, $round) = @_;
	my $sql = join ' ', map {
		"UPDATE $_ SET doc = put(doc, id * 300 + $round, 'round $round'),"
		  . " sum = md5(put(doc, id * 300 + $round, 'round $round'));"
	} qw(docs indexed);
	return $node->safe_psql('postgres',
		"$small BEGIN; $sql SELECT txid_current(); COMMIT;");
}

# The server writes on from where it is.
sub writes_on
{
	my ($node, $name) = @_;
	update_all($node, 9);
	foreach my $table (qw(docs indexed))
	{
		$node->safe_psql(
			'postgres', qq(
			DELETE FROM $table WHERE id = 2;
			INSERT INTO $table VALUES (2, doc(2, 9000), md5(doc(2, 9000)));
			VACUUM $table;));
		intact($node, $table, 8, "$name, $table, written on");
		sound($node, $table, "$name, $table, written on");
	}
	return;
}

# A server that is being restored from the base backup, with some settings.
sub restore
{
	my ($name, $conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($primary, 'base', has_restoring => 1);
	$node->append_conf('postgresql.conf', $conf);
	$node->start;
	return $node;
}

# Wait until recovery has ended or paused, as the condition says.
sub wait_for
{
	my ($node, $condition) = @_;
	$node->poll_query_until('postgres', "SELECT $condition")
	  or die "recovery did not reach: $condition";
	return;
}

# Points in time: after each of three updates of the same documents; then
# what they were is lost.
my (@wanted, @xids);
foreach my $round (1 .. 3)
{
	push @xids, update_all($primary, $round);
	push @wanted, $primary->safe_psql('postgres', $answers);
	$primary->safe_psql('postgres',
		"SELECT pg_create_restore_point('round $round')");
}
isnt($wanted[0], $wanted[1], 'updates change the answers');
my $wal_file = $primary->safe_psql(
	'postgres', q(
	DELETE FROM docs WHERE id > 3;
	VACUUM docs;
	TRUNCATE indexed;
	SELECT pg_walfile_name(pg_current_wal_lsn())));
$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
$primary->poll_query_until('postgres',
	"SELECT last_archived_wal >= '$wal_file' FROM pg_stat_archiver")
  or die 'WAL was not archived';

# To a name; killed while it waits there, before any restart point; again
# from the base backup's start, past that place to another name.
my $node = restore(
	'named', q(
recovery_target_name = 'round 1'
recovery_target_action = pause
));
wait_for($node, "pg_get_wal_replay_pause_state() = 'paused'");
answers_are($node, $wanted[0], 'paused after the first update');
$node->stop('immediate');
$node->append_conf(
	'postgresql.conf', q(
recovery_target_name = 'round 2'
recovery_target_action = promote
));
$node->start;
wait_for($node, 'NOT pg_is_in_recovery()');
answers_are($node, $wanted[1], 'interrupted, then after the second update');
writes_on($node, 'interrupted recovery');
$node->stop('immediate');
$node->start;
intact($node, $_, 8, "crash after recovery, $_") foreach qw(docs indexed);
$node->stop;

# To just before a commit: the nodes of the third update are in the pages.
$node = restore(
	'uncommitted', qq(
recovery_target_xid = '$xids[2]'
recovery_target_inclusive = off
recovery_target_action = promote
));
wait_for($node, 'NOT pg_is_in_recovery()');
answers_are($node, $wanted[1], 'before the commit of the third update');
$node->safe_psql('postgres', 'VACUUM docs; VACUUM indexed');
answers_are($node, $wanted[1], 'before the commit, after VACUUM');
writes_on($node, 'before the commit');
$node->stop;

# Prepared transactions live through a crash; one commits, one rolls back.
$primary->safe_psql('postgres', 'DROP TABLE docs, indexed');
create_docs($primary, 'docs', $small);
create_docs($primary, 'indexed', $indexed);
my $standby = PostgreSQL::Test::Cluster->new('standby');
$primary->backup('later');
$standby->init_from_backup($primary, 'later', has_streaming => 1);
$standby->start;
my $before = $primary->safe_psql('postgres', $answers);
foreach my $table (qw(docs indexed))
{
	foreach my $fate (qw(commit rollback))
	{
		my $rows = $fate eq 'commit' ? 'id > 4' : 'id <= 4';
		my $id = $fate eq 'commit' ? 8 : 4;

		$primary->safe_psql(
			'postgres', qq(
			$small
			BEGIN;
			UPDATE $table SET doc = put(doc, 600, '$fate'),
				sum = md5(put(doc, 600, '$fate')) WHERE $rows;
			SAVEPOINT s;
			UPDATE $table SET doc = put(doc, 700, 'never') WHERE $rows;
			ROLLBACK TO s;
			DELETE FROM $table WHERE id = $id;
			INSERT INTO $table SELECT $id + 10, d, md5(d)
				FROM (SELECT doc($id + 10, 20000) AS d) x;
			PREPARE TRANSACTION '$table $fate';));
	}
}
$primary->stop('immediate');
$primary->start;
answers_are($primary, $before, 'prepared, then a crash');
$primary->wait_for_catchup($standby);
answers_are($standby, $before, 'prepared, on the standby');
(undef, undef, my $error) = $primary->psql('postgres',
	"SET lock_timeout = '100ms';"
	  . " UPDATE docs SET doc = doc(1, 9000) WHERE id = 7");
like($error, qr/lock timeout/, 'a prepared update keeps its locks');
foreach my $table (qw(docs indexed))
{
	$primary->safe_psql('postgres', "COMMIT PREPARED '$table commit'");
	$primary->safe_psql('postgres', "ROLLBACK PREPARED '$table rollback'");
}
foreach my $name ('prepared, then ended', 'ended, then a crash')
{
	foreach my $table (qw(docs indexed))
	{
		is( $primary->safe_psql(
				'postgres', qq(
				SELECT string_agg(id::text, ' ' ORDER BY id) FROM $table;
				SELECT string_agg(id::text, ' ' ORDER BY id) FROM $table
					WHERE substr(doc, 600, 6) = 'commit';
				SELECT count(*) FROM $table
					WHERE doc ~ 'rollback|never';)),
			"1 2 3 4 5 6 7 18\n5 6 7\n0",
			"$name, $table: one committed, one not");
		intact($primary, $table, 8, "$name, $table");
		sound($primary, $table, "$name, $table");
	}
	$primary->stop('immediate');
	$primary->start;
}

# Unlogged tables are empty after a crash, with their trees, and logged ones
# are not, whichever way they became so.
my $copy = 'SELECT * FROM indexed';
$primary->safe_psql(
	'postgres', qq(
	$indexed
	CREATE UNLOGGED TABLE unlogged USING toaster AS $copy;
	CREATE UNLOGGED TABLE logged USING toaster AS $copy;
	CREATE TABLE no_longer USING toaster AS $copy;
	UPDATE unlogged SET doc = doc(id, 8000), sum = md5(doc(id, 8000));
	ALTER TABLE logged SET LOGGED;
	ALTER TABLE no_longer SET UNLOGGED;));
$primary->restart;
intact($primary, 'unlogged', 8, 'unlogged, after a clean restart');
sound($primary, 'unlogged', 'unlogged, after a clean restart');
$primary->stop('immediate');
$primary->start;
intact($primary, 'logged', 8, 'set logged, then a crash');
foreach my $table (qw(unlogged no_longer))
{
	is( $primary->safe_psql(
			'postgres', qq(
			SELECT count(*) FROM $table;
			SELECT pg_relation_size(reltoastrelid) FROM pg_class
				WHERE relname = '$table')),
		"0\n0",
		"$table: empty after a crash");
	$primary->safe_psql('postgres', "$indexed INSERT INTO $table $copy");
	intact($primary, $table, 8, "$table, filled again");
}
sound($primary, $_, "$_, after a crash")
  foreach qw(unlogged no_longer logged);

# A standby compares every page that it replays: nodes replaced in their
# pages, inserted in batches, deleted, killed, pruned, frozen, moved.
sub workload
{
	my ($table, $settings) = @_;
	my $rewrite = "UPDATE $table SET doc = doc(id, 30000),"
	  . ' sum = md5(doc(id, 30000));';

	return qq(
	$settings
	$rewrite
	VACUUM $table;
	UPDATE $table SET doc = put(doc, 500, 'x'), sum = md5(put(doc, 500, 'x'));
	UPDATE $table SET doc = put(doc, 700, 'y'), sum = md5(put(doc, 700, 'y'));
	BEGIN;
	UPDATE $table SET doc = put(doc, 800, 'z'), sum = '';
	UPDATE $table SET doc = put(doc, 900, 'z'), sum = '';
	ROLLBACK;
	DO \$\$
	BEGIN
		INSERT INTO $table VALUES (20, doc(20, 50000), ''),
			(1, doc(1, 50000), '');
	EXCEPTION WHEN unique_violation THEN
		UPDATE $table SET doc = left(doc, 9000), sum = md5(left(doc, 9000));
	END \$\$;
	DELETE FROM $table WHERE id = 5;
	INSERT INTO $table SELECT 5, d, md5(d) FROM (SELECT doc(5, 9000) AS d) x;
	VACUUM (FREEZE) $table;
	UPDATE $table SET doc = put(doc, 500, 'x'), sum = md5(put(doc, 500, 'x'));
	VACUUM FULL $table;
	UPDATE $table SET doc = put(doc, 600, 'y'), sum = md5(put(doc, 600, 'y'));
	SELECT session > 4 FROM toaster.stats WHERE name = 'nodes_replaced';);
}

my $replaced = qr/^t$/m;
foreach my $level (qw(replica logical))
{
	$primary->adjust_conf('postgresql.conf', 'wal_level', $level);
	$primary->restart;
	my $from = $primary->lsn('insert');
	my $chunks = $primary->safe_psql(
		'postgres', q(
		SELECT '1663/' || d.oid || '/' || pg_relation_filenode(reltoastrelid)
		FROM pg_class, pg_database d
		WHERE relname = 'docs' AND datname = current_database()));
	foreach my $table (qw(docs indexed))
	{
		$primary->safe_psql('postgres',
			"ALTER TABLE $table REPLICA IDENTITY FULL")
		  if $level eq 'logical';
		like(
			$primary->safe_psql(
				'postgres',
				workload($table, $table eq 'docs' ? $small : $indexed)),
			$replaced,
			"wal_level $level, $table: nodes were replaced");
	}
	my $to = $primary->lsn('insert');
	$primary->wait_for_catchup($standby);
	answers_are($standby, $primary->safe_psql('postgres', $answers),
		"wal_level $level, on the standby");
	my ($records) = run_command(
		[
			'pg_waldump', '-b', '-p', $primary->data_dir . '/pg_wal',
			'-s', $from, '-e', $to, '-R', $chunks
		]);
	my $insert = $level eq 'logical' ? 'INSERT' : 'MULTI_INSERT';
	foreach my $record ($insert, qw(HOT_UPDATE DELETE PRUNE))
	{
		like(
			$records,
			qr/desc: $record[^\n]*\n(\t[^\n]*\n)*?\t[^\n]*verification/,
			"wal_level $level: $record of chunks was compared");
	}
}
unlike(slurp_file($standby->logfile),
	qr/inconsistent page/, 'no page differs on the standby');

$primary->stop;
$standby->stop;
done_testing();
