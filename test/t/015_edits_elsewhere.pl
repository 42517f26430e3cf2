# Proves: documents that were edited, a few times or so often that the edits
# were pushed down, are the same on a standby, also to long queries during
# edits, after promotion, in a dump that is restored, after VACUUM FULL and
# CLUSTER, and after a recovery to a point in time between edits.

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

# Each document has its twin in a heap table, to which the same is done.
$primary->safe_psql(
	'postgres', q(
	CREATE FUNCTION document(n int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
		SELECT jsonb_build_object('id', n, 'x', 0, 'big', doc(n, 9000 * n),
			'list', jsonb_agg(md5(n || '/' || i) ORDER BY i),
			'members', jsonb_object_agg('k' || i, i))
		FROM generate_series(1, 500) i
	$$;
	CREATE TABLE plain (id int PRIMARY KEY, doc jsonb);
	INSERT INTO plain SELECT i, document(i) FROM generate_series(1, 6) i;
	CREATE TABLE docs (LIKE plain INCLUDING ALL) USING toaster;
	INSERT INTO docs SELECT * FROM plain;
	SET pg_toaster.node_size = 256;
	CREATE TABLE tiny (LIKE plain INCLUDING ALL) USING toaster;
	INSERT INTO tiny SELECT * FROM plain;
	CREATE INDEX docs_x ON docs ((doc ->> 'x'));
	CREATE PROCEDURE edit(expression text) LANGUAGE plpgsql AS $$
	DECLARE
		name text;
	BEGIN
		FOREACH name IN ARRAY '{plain,docs,tiny}'::text[] LOOP
			EXECUTE format('UPDATE %I SET %s WHERE id > 1', name, expression);
		END LOOP;
	END
	$$;
	CREATE PROCEDURE edit_often(times int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. times LOOP
			CALL edit(format('doc[''x''] = %L, doc[''list''][%s] = %L,'
				|| ' doc[''members''][''k%s''] = %L', i, i * 37 % 500,
				'"element"', i * 11 % 600, '"member"'));
			CALL edit(format('doc = jsonb_insert(doc #- ''{list,-1}'','
				|| ' ''{list,%s}'', to_jsonb(%s))', i * 7 % 500, i));
			COMMIT;
		END LOOP;
	END
	$$;));

my $answers = q(
SELECT t, id, md5(doc::text), doc ->> 'x', doc #>> '{list,37}',
	doc #> '{members,k11}', jsonb_array_length(doc -> 'list'),
	doc @> '{"members": {"k22": "member"}}'
FROM (SELECT 'docs' AS t, id, doc FROM docs
	UNION ALL SELECT 'tiny', id, doc FROM tiny) x ORDER BY 1, 2);
my $different = q(
SELECT p.id, d.id, t.id FROM plain p FULL JOIN docs d USING (id)
	FULL JOIN tiny t USING (id)
WHERE NOT (p *= d AND p *= t) OR p.id IS NULL OR d.id IS NULL
	OR t.id IS NULL);

# A server has what heap has, and its trees are sound.
sub as_heap
{
	my ($node, $name, $database) = @_;
	$database //= 'postgres';
	is($node->safe_psql($database, $different),
		'', "$name: the same as heap");
	foreach my $table (qw(docs tiny))
	{
		is( $node->safe_psql(
				$database, "SELECT * FROM toaster.verify('$table')"),
			'', "$name: verify of $table is clean");
	}
	return;
}

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

sub equal_answers
{
	my ($name) = @_;
	as_heap($primary, "$name, primary");
	$primary->wait_for_catchup($standby);
	as_heap($standby, "$name, standby");
	is( $standby->safe_psql('postgres', $answers),
		$primary->safe_psql('postgres', $answers),
		"$name: equal answers");
	return;
}

equal_answers('before edits');
$primary->safe_psql('postgres', 'CALL edit_often(1)');
equal_answers('after some edits');
$primary->safe_psql('postgres', 'CALL edit_often(50)');
equal_answers('after many edits');
$primary->safe_psql('postgres',
	q(VACUUM docs; CALL edit($$doc = (doc - 'big') || jsonb_build_object(
		'x', -1, 'moved', doc -> 'big')$$)));
equal_answers('after VACUUM and a rename');

# A snapshot on the standby keeps its versions while the primary edits.
my $before = $standby->safe_psql('postgres', $answers);
my ($in, $out) = ('', '');
my $timer = IPC::Run::timeout(180);
my $reader = open_psql($standby, \$in, \$out, $timer);
$in = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 'ready';\n";
pump_until($reader, $timer, \$out, qr/ready/) or die 'no reader';
$primary->poll_query_until('postgres',
	'SELECT bool_or(backend_xmin IS NOT NULL) FROM pg_stat_replication')
  or die 'no feedback';
$primary->safe_psql('postgres',
	'CALL edit_often(20); VACUUM docs; VACUUM tiny') foreach 1 .. 3;
$primary->wait_for_catchup($standby);
$out = '';
$in = "$answers;\nSELECT 'finished';\n";
pump_until($reader, $timer, \$out, qr/finished/) or die 'no answers';
$out =~ s/\s*finished\s*//;
is($out, $before, 'an old snapshot on the standby keeps its versions');
$in = "COMMIT;\n\\q\n";
$reader->finish;
equal_answers('after edits beside a reader');

# Rewrites of documents with edits in their roots, and edits after them.
foreach my $rewrite (
	'VACUUM FULL docs; VACUUM FULL tiny',
	'CLUSTER docs USING docs_pkey; CLUSTER tiny USING tiny_pkey',
	'ALTER TABLE docs ALTER id TYPE bigint; ALTER TABLE plain ALTER id TYPE'
	. ' bigint; ALTER TABLE tiny ALTER id TYPE bigint',
	'REINDEX TABLE docs; VACUUM (FREEZE) docs, tiny')
{
	$primary->safe_psql('postgres',
		"CALL edit_often(3); $rewrite; CALL edit_often(3)");
	equal_answers($rewrite);
}

# A dump of edited documents.
my $directory = PostgreSQL::Test::Utils::tempdir();
$primary->command_ok(
	[ 'pg_dump', '-Fc', '-f', "$directory/custom", 'postgres' ], 'dump');
$primary->safe_psql('postgres', 'CREATE DATABASE custom');
$primary->command_ok(
	[ 'pg_restore', '-j', '2', '-e', '-d', 'custom', "$directory/custom" ],
	'restore');
as_heap($primary, 'restored', 'custom');
is( $primary->safe_psql('custom', $answers),
	$primary->safe_psql('postgres', $answers),
	'restored: equal answers');
$primary->safe_psql('custom', 'CALL edit_often(3)');
as_heap($primary, 'restored and edited', 'custom');

# Recovery of the base backup to a point in time between edits.
$primary->safe_psql('postgres', 'CALL edit_often(2)');
$primary->safe_psql('postgres',
	"SELECT pg_create_restore_point('between')");
my $wanted = $primary->safe_psql('postgres', $answers);
$primary->safe_psql('postgres',
	'CALL edit_often(2); SELECT pg_switch_wal()');
my $recovered = PostgreSQL::Test::Cluster->new('recovered');
$recovered->init_from_backup($primary, 'base', has_restoring => 1);
$recovered->append_conf(
	'postgresql.conf', q(
recovery_target_name = 'between'
recovery_target_action = promote
));
$recovered->start;
$recovered->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
  or die 'recovery did not end';
is($recovered->safe_psql('postgres', $answers),
	$wanted, 'recovered to a point in time');
$recovered->safe_psql('postgres', 'CALL edit_often(2)');
as_heap($recovered, 'recovered and edited');
$recovered->stop;

# Promotion: the standby edits.
$primary->wait_for_catchup($standby);
$primary->stop;
$standby->promote;
$standby->safe_psql('postgres', 'CALL edit_often(40); VACUUM docs');
as_heap($standby, 'promoted');
is(logged_crash($_), '', 'no crash on ' . $_->name)
  foreach $primary, $standby;
$standby->stop;

done_testing();
