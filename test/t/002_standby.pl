# Proves: a streaming standby, which sees heap's WAL and nothing else, gives
# the answers of its primary, also to long queries during updates; it can be
# promoted; and a base backup recovers to a point in time.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, has_archiving => 1);
$primary->append_conf(
	'postgresql.conf', q(
autovacuum = off
wal_level = replica
max_standby_streaming_delay = 120s
hot_standby_feedback = on
));
$primary->start;
prepare_database($primary, 'postgres');
create_docs($primary, 'docs', 'SET pg_toaster.node_size = 256;');
create_docs($primary, 'indexed',
	'SET pg_toaster.force_indexed = on; SET pg_toaster.node_size = 500;');

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $answers = q(
SELECT 'docs', id, length(doc), md5(doc), md5(substr(doc, 3000, 2000)),
	doc LIKE '%here%' FROM docs
UNION ALL
SELECT 'indexed', id, length(doc), md5(doc), md5(substr(doc, 3000, 2000)),
	doc LIKE '%here%' FROM indexed
ORDER BY 1, 2);

# The standby has caught up, gives equal answers, and verifies.
sub equal_answers
{
	my ($name) = @_;
	$primary->wait_for_catchup($standby);
	is( $standby->safe_psql('postgres', $answers),
		$primary->safe_psql('postgres', $answers),
		"$name: equal answers");
	foreach my $table (qw(docs indexed))
	{
		sound($standby, $table, "$name, $table on the standby");
	}
	return;
}

equal_answers('after the base backup');

foreach my $table (qw(docs indexed))
{
	$primary->safe_psql(
		'postgres', qq(
		SET pg_toaster.node_size = 256;
		UPDATE $table SET doc = put(doc, id * 500, 'here'),
			sum = md5(put(doc, id * 500, 'here'));
		DELETE FROM $table WHERE id = 2;
		INSERT INTO $table VALUES (2, doc(2, 9000), md5(doc(2, 9000)));));
}
equal_answers('after updates');

$primary->safe_psql('postgres', 'VACUUM docs; VACUUM (FREEZE) indexed');
equal_answers('after VACUUM');
$primary->safe_psql('postgres', 'VACUUM FULL docs; CLUSTER indexed USING '
	  . 'indexed_pkey; REINDEX TABLE indexed');
equal_answers('after rewrites');

# A snapshot on the standby keeps its versions while the primary updates
# them many times over and prunes.
my $before = $standby->safe_psql('postgres', $answers);
my ($in, $out) = ('', '');
my $timer = IPC::Run::timeout(180);
my $reader = open_psql($standby, \$in, \$out, $timer);
$in = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 'ready';\n";
pump_until($reader, $timer, \$out, qr/ready/) or die 'no reader';
$primary->poll_query_until('postgres',
	'SELECT bool_or(backend_xmin IS NOT NULL) FROM pg_stat_replication')
  or die 'no feedback';
foreach my $round (1 .. 15)
{
	$primary->safe_psql(
		'postgres', qq(
		UPDATE docs SET doc = put(doc, $round * 60, 'round'),
			sum = md5(put(doc, $round * 60, 'round'));
		UPDATE indexed SET doc = put(doc, $round * 60, 'round'),
			sum = md5(put(doc, $round * 60, 'round'));
		VACUUM docs; VACUUM indexed;));
}
$primary->wait_for_catchup($standby);
$out = '';
$in = "$answers;\nSELECT 'finished';\n";
pump_until($reader, $timer, \$out, qr/finished/) or die 'no answers';
$out =~ s/\s*finished\s*//;
is($out, $before, 'an old snapshot on the standby keeps its versions');
$in = "COMMIT;\n\\q\n";
$reader->finish;
equal_answers('after fifteen rounds');

# Recovery of the base backup to a point in time before a loss.
my $point = $primary->safe_psql('postgres',
	"SELECT pg_create_restore_point('before')");
my $wanted = $primary->safe_psql('postgres', $answers);
$primary->safe_psql('postgres',
	'TRUNCATE docs; DELETE FROM indexed; SELECT pg_switch_wal()');
my $recovered = PostgreSQL::Test::Cluster->new('recovered');
$recovered->init_from_backup($primary, 'base', has_restoring => 1);
$recovered->append_conf(
	'postgresql.conf', q(
recovery_target_name = 'before'
recovery_target_action = promote
));
$recovered->start;
$recovered->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
  or die 'recovery did not end';
is($recovered->safe_psql('postgres', $answers),
	$wanted, 'recovered to a point in time');
sound($recovered, $_, "recovered, $_") foreach qw(docs indexed);
$recovered->stop;

# Promotion: the standby writes.
$primary->safe_psql('postgres',
	"INSERT INTO docs SELECT i, d, md5(d) FROM (SELECT i, doc(i, 30000) AS d"
	  . " FROM generate_series(1, 8) i) x");
$primary->wait_for_catchup($standby);
$primary->stop;
$standby->promote;
$standby->safe_psql(
	'postgres', q(
	UPDATE docs SET doc = put(doc, 700, 'promoted'),
		sum = md5(put(doc, 700, 'promoted'));
	VACUUM docs;));
intact($standby, 'docs', 8, 'promoted');
sound($standby, 'docs', 'promoted');
$standby->stop;

done_testing();
