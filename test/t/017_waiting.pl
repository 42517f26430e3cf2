# Proves: a statement that has waited for a row goes on with the documents of
# the version that it finds then, not with what it has read before: sessions
# that count in the same few documents lose no step, by UPDATE, MERGE, ON
# CONFLICT and SELECT FOR UPDATE, in rows that move between partitions, too.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $seconds = ($ENV{PG_TEST_EXTRA} // '') =~ /\blong\b/ ? 60 : 8;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $node = new_server('waiting', 'deadlock_timeout = 100ms');

# In each row, n counts what doc counts, so that a step lost is seen.
$node->safe_psql(
	'postgres', q(
	CREATE FUNCTION document(id int) RETURNS jsonb LANGUAGE sql AS $$
		SELECT jsonb_build_object('n', 0, 'list', jsonb_agg(md5(i::text)),
			'members', jsonb_object_agg('k' || i, md5((id * i)::text)))
		FROM generate_series(1, 300) i $$;
	CREATE TABLE docs (id int PRIMARY KEY, n int DEFAULT 0, doc jsonb,
		bytes bytea DEFAULT decode(repeat('00', 20000), 'hex'))
		USING toaster;
	INSERT INTO docs SELECT i, 0, document(i) FROM generate_series(1, 3) i;
	SET default_table_access_method = toaster;
	CREATE TABLE moving (id int, k int, n int DEFAULT 0, doc jsonb)
		PARTITION BY LIST (k);
	CREATE TABLE moving1 PARTITION OF moving FOR VALUES IN (1);
	CREATE TABLE moving2 PARTITION OF moving FOR VALUES IN (2);
	INSERT INTO moving SELECT i, 1, 0, document(i)
		FROM generate_series(1, 2) i;
	CREATE FUNCTION next(doc jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
		SELECT to_jsonb((doc ->> 'n')::int + 1) $$;
	CREATE FUNCTION locked(number int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		r docs;
	BEGIN
		SELECT * INTO r FROM docs WHERE id = number FOR UPDATE;
		UPDATE docs SET n = r.n + 1, doc = jsonb_set(r.doc, '{n}', next(r.doc))
			WHERE id = number;
	END $$;
	CREATE FUNCTION move(number int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		UPDATE moving SET n = n + 1, k = 3 - k,
			doc = jsonb_set(doc, '{n}', next(doc)) WHERE id = number;
	EXCEPTION WHEN OTHERS THEN
		IF SQLERRM NOT LIKE '%moved to another partition%' THEN
			RAISE;
		END IF;
	END $$;));

my %scripts = (
	'update@4' => q(
\set id random(1, 3)
UPDATE docs SET n = n + 1, doc = jsonb_set(doc, '{n}', next(doc)),
	bytes = set_byte(bytes, n % 20000, 7) WHERE id = :id;
),
	'join@2' => q(
\set id random(1, 3)
UPDATE docs SET n = docs.n + 1, doc = jsonb_set(docs.doc, '{n}',
	next(docs.doc)) || jsonb_build_object('x', m.doc -> 'members' -> 'k7')
	FROM moving m WHERE docs.id = :id AND m.id = 1;
),
	'upsert@2' => q(
\set id random(1, 3)
INSERT INTO docs VALUES (:id) ON CONFLICT (id) DO UPDATE SET n = docs.n + 1,
	doc = jsonb_set(docs.doc, '{n}', next(docs.doc));
),
	'merge@2' => q(
\set id random(1, 3)
MERGE INTO docs USING (VALUES (:id)) s (x) ON id = x WHEN MATCHED THEN
	UPDATE SET n = n + 1, doc = jsonb_set(doc, '{n}', next(doc));
),
	'locked@2' => q(
\set id random(1, 3)
SELECT locked(:id);
),
	'move@2' => q(
\set id random(1, 2)
SELECT move(:id);
));
my @options = ('-n', '-c', 5, '-j', 2, '-T', $seconds);
foreach my $name (sort keys %scripts)
{
	my ($file, $weight) = split /@/, $name;
	append_to_file("$directory/$file.sql", $scripts{$name});
	push @options, '-f', "$directory/$file.sql\@$weight";
}
$node->command_ok([ 'pgbench', @options, 'postgres' ],
	'sessions that wait for each other');
is( $node->safe_psql(
		'postgres', q(
		SELECT 'docs', id, n, doc -> 'n' FROM docs WHERE doc ->> 'n' <> n::text
		UNION ALL
		SELECT 'moving', id, n, doc -> 'n' FROM moving
		WHERE doc ->> 'n' <> n::text)),
	'',
	'no step is lost');
cmp_ok(
	$node->safe_psql('postgres', 'SELECT sum(n) FROM docs'),
	'>', 100, 'there were steps');
sound($node, $_, 'afterwards') foreach qw(docs moving1 moving2);
is(logged_crash($node), '', 'no crash');

$node->stop;
done_testing();
