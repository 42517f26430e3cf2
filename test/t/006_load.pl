# Proves: sessions that update the same documents, beside VACUUM, VACUUM FULL,
# REINDEX and CREATE INDEX CONCURRENTLY, lose and mix up nothing: every
# document still has the digest that was written with it, and all parts that
# are read of a jsonb document are of one version.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $seconds = ($ENV{PG_TEST_EXTRA} // '') =~ /\blong\b/ ? 120 : 8;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $node = new_server('load',
	"autovacuum = on\nautovacuum_naptime = 1s\ndeadlock_timeout = 100ms\n");
create_docs($node, 'docs', 'SET pg_toaster.node_size = 256;');

$node->safe_psql(
	'postgres', q(
	CREATE FUNCTION tree(id int, mark int) RETURNS jsonb LANGUAGE sql AS $$
		SELECT jsonb_build_object('mark', mark, 'list', (
			SELECT jsonb_agg(md5((id * i)::text))
			FROM generate_series(1, 100 + mark % 7 * 100) i) || to_jsonb(mark),
			'deep', jsonb_build_object('mark', mark,
				'text', repeat(md5(id::text), 100))) $$;
	CREATE TABLE trees (id int PRIMARY KEY, mark int, doc jsonb)
		USING toaster;
	INSERT INTO trees SELECT i, i, tree(i, i) FROM generate_series(1, 40) i;
	CREATE VIEW mixed AS SELECT FROM trees
		WHERE doc ->> 'mark' <> mark::text
		OR doc -> 'list' ->> -1 <> mark::text
		OR doc #>> '{deep,mark}' <> mark::text
		OR jsonb_array_length(doc -> 'list') <> 101 + mark % 7 * 100;));

my %scripts = (
	'update_tree@4' => q(
\set id random(1, 40)
\set mark random(1, 1000)
BEGIN;
UPDATE trees SET mark = 0, doc = tree(:id, 0) WHERE id = :id;
SAVEPOINT s;
UPDATE trees SET mark = 1, doc = tree(:id, 1) WHERE id = :id;
SELECT 1 / (count(*) = 0)::int FROM mixed;
ROLLBACK TO s;
UPDATE trees SET mark = :mark, doc = tree(:id, :mark) WHERE id = :id;
SELECT 1 / (count(*) = 0)::int FROM mixed;
END;
),
	'edit_tree@6' => q(
\set id random(1, 40)
UPDATE trees SET mark = mark + 7, doc['mark'] = to_jsonb(mark + 7),
	doc['deep']['mark'] = to_jsonb(mark + 7),
	doc['list'][-1] = to_jsonb(mark + 7) WHERE id = :id;
UPDATE trees SET mark = mark + 14, doc = jsonb_set(jsonb_insert(jsonb_set(doc,
	'{mark}', to_jsonb(mark + 14)) #- '{list,-1}', '{list,9999}',
	to_jsonb(mark + 14)) || jsonb_build_object('i', :id),
	'{deep,mark}', to_jsonb(mark + 14)) WHERE id = :id;
BEGIN;
UPDATE trees SET mark = mark + 1, doc = jsonb_set(doc, '{mark}', '"lost"')
	WHERE id = :id;
ROLLBACK;
),
	'read_tree@6' => q(
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 1 / (count(*) = 0)::int FROM mixed;
SELECT pg_sleep(0.02);
SELECT 1 / (count(*) = 0)::int FROM mixed;
END;
SELECT 1 / (count(*) = 0)::int FROM mixed;
),
	'update@6' => q(
\set id random(1, 8)
\set at random(1, 30000)
UPDATE docs SET doc = put(doc, :at, 'client :client_id'),
	sum = md5(put(doc, :at, 'client :client_id')) WHERE id = :id;
),
	'transaction@2' => q(
\set id random(1, 4)
\set at random(1, 9000)
BEGIN;
UPDATE docs SET doc = left(doc || repeat(md5(random()::text), 20), 60000)
	WHERE id = :id;
SAVEPOINT s;
UPDATE docs SET doc = 'lost ' || doc, sum = 'lost' WHERE id = :id + 4;
ROLLBACK TO s;
UPDATE docs SET sum = md5(doc) WHERE id = :id;
END;
),
	'rollback@1' => q(
\set id random(1, 8)
BEGIN;
UPDATE docs SET doc = reverse(doc), sum = 'lost' WHERE id = :id;
ROLLBACK;
),
	'churn@2' => q(
\set id 100 + :client_id
\set size random(1, 40000)
BEGIN;
DELETE FROM docs WHERE id = :id;
INSERT INTO docs VALUES (:id, doc(:size, :size), md5(doc(:size, :size)))
	ON CONFLICT (id) DO UPDATE SET doc = excluded.doc, sum = excluded.sum;
END;
),
	'read@4' => q(
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 1 / (count(*) = 0)::int FROM docs WHERE md5(doc) <> sum;
SELECT pg_sleep(0.02);
SELECT 1 / (count(*) = 0)::int FROM docs WHERE md5(doc) <> sum;
END;
),);
my @files;
foreach my $name (sort keys %scripts)
{
	my ($file, $weight) = split /@/, $name;
	append_to_file("$directory/$file.sql", $scripts{$name});
	push @files, '-f', "$directory/$file.sql\@$weight";
}

# The load, with the number of maintenance statements beside it.
my $load = IPC::Run::start(
	[
		'pgbench', '-n', '-c', '5', '-j', '2', '-T', $seconds,
		'--max-tries=100', @files, $node->connstr('postgres')
	],
	'>',
	"$directory/out",
	'2>',
	"$directory/error");
my @maintenance = (
	'VACUUM docs',
	'VACUUM FULL docs',
	'VACUUM FULL trees',
	'REINDEX TABLE docs',
	'VACUUM (FREEZE) docs',
	'CREATE INDEX CONCURRENTLY docs_x ON docs (md5(doc))',
	'REINDEX TABLE CONCURRENTLY docs',
	'VACUUM (DISABLE_PAGE_SKIPPING) docs',
	'CLUSTER docs USING docs_pkey',
	'DROP INDEX docs_x',
	'VACUUM trees',
	'SELECT count(*) FROM toaster.verify(\'trees\')',
	'SELECT count(*) FROM toaster.verify(\'docs\')',
	'ANALYZE docs');
my $started = time;
my $count = 0;
while (time - $started < $seconds - 1)
{
	my $sql = $maintenance[ $count++ % @maintenance ];
	my ($status, $answer, $problem) =
	  $node->psql('postgres', "SET pg_toaster.node_size = 400; $sql");
	is($problem, '', "under load: $sql");
	is($answer, '0', 'under load: verify finds nothing')
	  if $sql =~ /verify/;
}
$load->finish;
is(slurp_file("$directory/error") =~ s/^pgbench \(.*\n//r,
	'', 'no client met an error');
my ($done) = slurp_file("$directory/out") =~ /actually processed: (\d+)/;
cmp_ok($done // 0, '>', 20, 'transactions were processed');
note("$done transactions, $count maintenance statements");

my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM docs');
cmp_ok($rows, '>=', 8, 'no document was lost');
intact($node, 'docs', $rows, 'after the load');
$node->safe_psql('postgres', 'VACUUM docs');
sound($node, 'docs', 'after the load');
is($node->safe_psql('postgres', 'SELECT count(*) FROM mixed'),
	'0', 'parts are of one version after the load');
sound($node, 'trees', 'after the load');
$node->safe_psql('postgres', 'VACUUM FULL docs');
intact($node, 'docs', $rows, 'after the last rewrite');
sound($node, 'docs', 'after the last rewrite');
is(logged_crash($node), '', 'no crash');

$node->stop;
done_testing();
