# Proves: whatever moment of a write a crash hits, recovery leaves the old
# values whole, the write can be done again, and after VACUUM nothing of the
# lost write remains; an error at the same moments does no harm either; and
# a committed write survives a crash.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $node = new_server('crash', "restart_after_crash = on\n");

# Every node small: a document of 40 kB is a tree of several levels.
my $small = 'SET pg_toaster.node_size = 256;';

# A write, whether it commits alone, and the failpoints that it must reach.
my %writes = (
	'INSERT' => {
		sql => "INSERT INTO docs VALUES (9, doc(9, 40000), md5(doc(9, 40000)))",
		after => 9,
		reach => [qw(chunks_inserted node_written before_row after_row)],
	},
	'small UPDATE' => {
		sql => "UPDATE docs SET doc = put(doc, 20000, 'here'),"
		  . " sum = md5(put(doc, 20000, 'here')) WHERE id IN (7, 8)",
		after => 8,
		reach => [qw(node_written before_row after_row)],
	},
	'large UPDATE' => {
		sql => 'UPDATE docs SET doc = doc(id + 70, 30000),'
		  . ' sum = md5(doc(id + 70, 30000)) WHERE id IN (7, 8)',
		after => 8,
		reach => [
			qw(chunks_inserted node_written before_row after_row
			  node_deleted)
		],
	},
	'DELETE' => {
		sql => 'DELETE FROM docs WHERE id IN (7, 8)',
		after => 6,
		reach => ['node_deleted'],
	},
	'VACUUM FULL' => {
		sql => 'VACUUM FULL docs',
		after => 8,
		reach => ['node_written'],
	},);

# Run a write that dies at a failpoint, then ask for everything.
sub crash_once
{
	my ($name, $failpoint) = @_;
	my $write = $writes{$name};
	my $label = "$name, $failpoint";

	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS docs');
	create_docs($node, 'docs', $small);
	my $offset = -s $node->logfile;
	my ($status, $out, $error) = $node->psql(
		'postgres',
		"$small SET pg_toaster.failpoint = '$failpoint'; $write->{sql}",
		on_error_stop => 1);
	ok($status != 0, "$label: the write was lost")
	  or diag('the failpoint was not reached');
	like(
		$error,
		$failpoint =~ /crash/ ? qr/server closed the connection|terminat/
		: qr/failpoint/,
		"$label: by the failpoint");
	wait_until_up($node, $offset) if $failpoint =~ /crash/;
	intact($node, 'docs', 8, $label);
	$node->safe_psql('postgres', 'VACUUM docs');
	sound($node, 'docs', $label);
	$node->safe_psql('postgres', $small);
	$node->safe_psql('postgres', $write->{sql});
	intact($node, 'docs', $write->{after}, "$label, write done again");
	$node->safe_psql('postgres', 'VACUUM docs');
	sound($node, 'docs', "$label, write done again");
	return;
}

foreach my $name (sort keys %writes)
{
	foreach my $failpoint (@{ $writes{$name}{reach} })
	{
		crash_once($name, "$failpoint:crash");
		crash_once($name, "$failpoint:error");
	}
}

# Later hits: some nodes of the write are in place, others are not.
crash_once('INSERT', 'node_written:crash:2');
crash_once('large UPDATE', 'chunks_inserted:crash:2');
crash_once('large UPDATE', 'node_deleted:crash:3');
crash_once('VACUUM FULL', 'node_written:crash:9');

# An error inside a savepoint: the same transaction goes on and commits.
$node->safe_psql('postgres', 'DROP TABLE docs');
create_docs($node, 'docs', $small);
$node->psql(
	'postgres', qq(
	$small
	BEGIN;
	UPDATE docs SET doc = put(doc, 100, 'kept'),
		sum = md5(put(doc, 100, 'kept'));
	SAVEPOINT s;
	SET pg_toaster.failpoint = 'after_row:error';
	UPDATE docs SET doc = put(doc, 100, 'lost');
	ROLLBACK TO s;
	RESET pg_toaster.failpoint;
	UPDATE docs SET doc = put(doc, 200, 'kept'),
		sum = md5(put(doc, 200, 'kept'));
	COMMIT;), on_error_stop => 0);
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM docs WHERE doc LIKE '%kept%kept%'"),
	'8',
	'a savepoint survives a failed write');
intact($node, 'docs', 8, 'after a failed write in a savepoint');
$node->safe_psql('postgres', 'VACUUM docs');
sound($node, 'docs', 'after a failed write in a savepoint');

# A write that was committed, then a crash before any checkpoint.
$node->safe_psql('postgres', "$small $writes{'small UPDATE'}{sql}");
$node->stop('immediate');
$node->start;
intact($node, 'docs', 8, 'committed before the crash');
is( $node->safe_psql(
		'postgres', 'SELECT substr(doc, 20000, 4) FROM docs WHERE id = 8'),
	'here',
	'committed before the crash: new value');
sound($node, 'docs', 'committed before the crash');

# The whole server is killed while sessions write.
my $script = PostgreSQL::Test::Utils::tempdir() . '/update.sql';
append_to_file(
	$script, q(
\set id random(1, 8)
\set at random(1, 6000)
UPDATE docs SET doc = put(doc, :at, 'w' || :at),
	sum = md5(put(doc, :at, 'w' || :at)) WHERE id = :id;
));
foreach my $round (1 .. 3)
{
	my $load = IPC::Run::start(
		[
			'pgbench', '-n', '-c', '4', '-T', '60', '-f', $script,
			$node->connstr('postgres')
		],
		'>', "$script.out", '2>', "$script.error");
	$node->poll_query_until('postgres',
		"SELECT n_tup_upd > 20 FROM pg_stat_user_tables"
		  . " WHERE relname = 'docs'");
	$node->stop('immediate');
	$load->finish;
	$node->start;
	intact($node, 'docs', 8, "killed under load, round $round");
	$node->safe_psql('postgres', 'VACUUM docs');
	sound($node, 'docs', "killed under load, round $round");
}

$node->stop;
done_testing();
