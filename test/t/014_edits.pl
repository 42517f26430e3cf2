# Proves: whatever moment of an edit of a document a crash or an error hits,
# the document stays as it was, also one that was edited often, and one whose
# edits are just pushed down; committed edits survive a crash; thousands of
# edits of one document leave relations, and the memory of sessions, bounded;
# edits that are never written leave nothing.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $node = new_server('edits', "restart_after_crash = on\n");

# edited() is an UPDATE by an expression on the document, with its digest.
$node->safe_psql(
	'postgres', q(
	CREATE FUNCTION document(n int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
		SELECT jsonb_build_object('id', n, 'x', 0, 'big', doc(n, 20000 * n),
			'list', jsonb_agg(md5(n || '/' || i) ORDER BY i),
			'members', jsonb_object_agg('k' || i, i))
		FROM generate_series(1, 600) i
	$$;
	CREATE PROCEDURE edited(expression text) LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE format('UPDATE docs SET doc = %1$s, sum = md5((%1$s)::text)'
			|| ' WHERE id > 1', expression);
	END
	$$;
	CREATE PROCEDURE edited_often(times int, value text) LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. times LOOP
			CALL edited(format('jsonb_set(jsonb_set(doc, %L, to_jsonb(%s)),'
				|| ' %L, to_jsonb(%L::text))', '{x}', i,
				'{list,' || i * 37 % 600 || '}', value));
			COMMIT;
		END LOOP;
	END
	$$;));

# Documents and their digests; the first is never touched.
sub create_edited
{
	my ($settings, $before) = @_;
	$node->safe_psql(
		'postgres', qq(
		DROP TABLE IF EXISTS docs;
		$settings
		CREATE TABLE docs (id int PRIMARY KEY, doc jsonb, sum text)
			USING toaster;
		INSERT INTO docs SELECT i, document(i), md5(document(i)::text)
			FROM generate_series(1, 3) i;));
	$node->safe_psql('postgres', "$settings $before") if $before;
	return;
}

# Every document has its digest, and each of its parts can be read.
sub all_intact
{
	my ($rows, $name) = @_;
	my $answer = $node->safe_psql('postgres',
		"SELECT count(*), count(*) FILTER (WHERE md5(doc::text) <> sum"
		  . " OR doc ->> 'x' <> (doc || '{}') ->> 'x'"
		  . " OR doc #>> '{list,37}' <> (doc || '{}') #>> '{list,37}')"
		  . ' FROM docs');
	is($answer, "$rows|0", "$name: documents intact");
	return;
}

my $often = "CALL edited_often(5, 'a short value')";
my $full = "CALL edited_often(60, repeat('a long value ', 10))";
my $small = q(CALL edited('jsonb_set(doc, ''{x}'', ''-1'')'));

# A write, what has happened to the documents before it, the failpoints to
# try, and the number of documents after it.
my %writes = (
	'first edit' => {
		sql => $small,
		crash => [qw(node_written before_row after_row)],
	},
	'edit of an edited document' => {
		before => $often,
		sql => $small,
		crash => [qw(node_written before_row after_row)],
	},
	'edit that pushes others down' => {
		before => $full,
		sql => q(CALL edited('jsonb_set(doc, ''{members,k77}'','
			|| ' to_jsonb(repeat(md5(id::text), 60)))')),
		crash => [
			qw(node_written before_row after_row node_deleted
			  node_written:2 node_written:4)
		],
	},
	'edit that adds much' => {
		before => $often,
		sql => q(CALL edited('doc || jsonb_build_object(''new'','
			|| ' doc(id, 60000))')),
		crash => [qw(chunks_inserted node_written after_row)],
	},
	'edit that removes much' => {
		before => $often,
		sql => q(CALL edited('doc - ''big''')),
		crash => [qw(node_written after_row node_deleted)],
	},
	'whole new document' => {
		before => $often,
		sql => q(CALL edited('document(id + 10)')),
		crash => [qw(node_deleted)],
	},
	'DELETE' => {
		before => $often,
		sql => 'DELETE FROM docs WHERE id > 1',
		after => 1,
		crash => [qw(node_deleted node_deleted:3)],
	},
	'VACUUM FULL' => {
		before => $full,
		sql => 'VACUUM FULL docs',
		crash => [qw(node_written node_written:5)],
	},);
my %hits;

# Run a write that fails at a failpoint, then ask for everything.
sub fail_once
{
	my ($name, $failpoint, $action, $settings) = @_;
	my $write = $writes{$name};
	my ($point, $count) = split /:/, $failpoint;
	my $label = "$name, $failpoint, $action";
	my $after = $write->{after} // 3;

	create_edited($settings, $write->{before});
	my $sums = $node->safe_psql('postgres',
		'SELECT id, sum FROM docs ORDER BY id');
	my $offset = -s $node->logfile;
	my ($status, $out, $error) = $node->psql(
		'postgres',
		"$settings SET pg_toaster.failpoint = '$point:$action"
		  . ($count ? ":$count" : '') . "'; $write->{sql}",
		on_error_stop => 1);
	if ($status == 0)
	{
		note("$label: not reached");
		all_intact($after, $label);
		sound($node, 'docs', $label);
		return;
	}
	$hits{$point}++;
	like(
		$error,
		$action eq 'crash' ? qr/server closed the connection|terminat/
		: qr/failpoint/,
		"$label: by the failpoint");
	wait_until_up($node, $offset) if $action eq 'crash';
	is( $node->safe_psql('postgres', 'SELECT id, sum FROM docs ORDER BY id'),
		$sums,
		"$label: nothing has changed");
	all_intact(3, $label);
	$node->safe_psql('postgres', "$settings $write->{sql}");
	all_intact($after, "$label, write done again");
	$node->safe_psql('postgres', 'VACUUM docs');
	sound($node, 'docs', "$label, write done again");
	return;
}

my $tiny = 'SET pg_toaster.node_size = 256;';
foreach my $name (sort keys %writes)
{
	foreach my $failpoint (@{ $writes{$name}{crash} })
	{
		fail_once($name, $failpoint, 'crash', $tiny);
		fail_once($name, $failpoint, 'error', '');
	}
}
ok($hits{$_}, "failpoint $_ was reached")
  foreach qw(chunks_inserted node_written before_row after_row node_deleted);

# Errors inside savepoints, between edits that stay.
create_edited('', $often);
$node->psql(
	'postgres', q(
	BEGIN;
	CALL edited('jsonb_set(doc, ''{x}'', ''"kept"'')');
	SAVEPOINT s;
	SET pg_toaster.failpoint = 'after_row:error';
	CALL edited('jsonb_set(doc, ''{x}'', ''"lost"'')');
	ROLLBACK TO s;
	SET pg_toaster.failpoint = 'node_written:error';
	CALL edited('jsonb_set(doc, ''{members}'', to_jsonb(doc(7, 30000)))');
	ROLLBACK TO s;
	RESET pg_toaster.failpoint;
	CALL edited('jsonb_insert(doc, ''{list,3}'', ''"kept"'')');
	ROLLBACK TO s;
	CALL edited('jsonb_insert(doc, ''{list,4}'', ''"kept"'')');
	COMMIT;), on_error_stop => 0);
all_intact(3, 'errors in savepoints');
is( $node->safe_psql(
		'postgres',
		"SELECT doc ->> 'x', doc #>> '{list,4}', doc #>> '{list,3}' = 'kept',"
		  . " jsonb_array_length(doc -> 'list') FROM docs WHERE id > 1"),
	"kept|kept|f|601\nkept|kept|f|601",
	'edits around errors in savepoints');
$node->safe_psql('postgres', 'VACUUM docs');
sound($node, 'docs', 'errors in savepoints');

# Edits that were committed, then a crash before any checkpoint; and the whole
# server killed while sessions edit the same documents.
$node->safe_psql('postgres', "$often; $small");
$node->stop('immediate');
$node->start;
all_intact(3, 'committed before the crash');
is( $node->safe_psql('postgres', "SELECT doc -> 'x' FROM docs WHERE id = 2"),
	'-1', 'committed before the crash: new value');
sound($node, 'docs', 'committed before the crash');

my $script = PostgreSQL::Test::Utils::tempdir() . '/edit.sql';
append_to_file(
	$script, q(
\set id random(1, 3)
\set at random(0, 590)
UPDATE docs SET doc = jsonb_set(doc #- ARRAY['list', (:at / 2)::text],
		ARRAY['list', :at::text], to_jsonb(:at)),
	sum = md5(jsonb_set(doc #- ARRAY['list', (:at / 2)::text],
		ARRAY['list', :at::text], to_jsonb(:at))::text) WHERE id = :id;
UPDATE docs SET doc = jsonb_insert(doc, '{list,7}', to_jsonb(repeat('z', :at))),
	sum = md5(jsonb_insert(doc, '{list,7}', to_jsonb(repeat('z', :at)))::text)
	WHERE id = :id;
));
foreach my $round (1 .. 2)
{
	my $load = IPC::Run::start(
		[
			'pgbench', '-n', '-c', '4', '-T', '60', '-f', $script,
			$node->connstr('postgres')
		],
		'>', "$script.out", '2>', "$script.error");
	$node->poll_query_until('postgres',
		"SELECT n_tup_upd > 40 FROM pg_stat_user_tables"
		  . " WHERE relname = 'docs'");
	$node->stop('immediate');
	$load->finish;
	$node->start;
	all_intact(3, "killed under load, round $round");
	$node->safe_psql('postgres', 'VACUUM docs');
	sound($node, 'docs', "killed under load, round $round");
}
# --- steady state ---

# Pages of the table, its TOAST relation and both of their indexes
my $pages = q(SELECT string_agg((pg_relation_size(r) / 8192)::text, ' '
	ORDER BY o) FROM pg_class c, LATERAL (VALUES (1, c.oid),
	(2, c.reltoastrelid), (3, (SELECT indexrelid FROM pg_index
		WHERE indrelid = c.oid)), (4, (SELECT indexrelid FROM pg_index
		WHERE indrelid = c.reltoastrelid))) v (o, r)
	WHERE c.oid = 'docs'::regclass);

# Edit one document many times, without VACUUM and with it: no relation grows
# by more than some pages.
sub steady
{
	my ($name, $edit, $rounds, $vacuum) = @_;
	create_edited('', '');
	$node->safe_psql(
		'postgres', qq(
		CREATE OR REPLACE PROCEDURE edit_many(times int) LANGUAGE plpgsql AS
		\$\$ BEGIN
			FOR i IN 1 .. times LOOP
				UPDATE docs SET $edit WHERE id = 3;
				COMMIT;
			END LOOP;
		END \$\$;
		CALL edit_many(300); VACUUM docs; CALL edit_many(100)));
	my @before = split ' ', $node->safe_psql('postgres', $pages);
	my $work = join '; ', map { 'CALL edit_many(' . $rounds / 4 . ')'
		  . ($vacuum ? '; VACUUM docs' : '') } 1 .. 4;
	# But for the documents that a session keeps, which are few.
	my $memory = q(SELECT sum(total_bytes) FILTER (WHERE name <>
		'toaster document'), count(*) FILTER (WHERE name =
		'toaster document') FROM pg_backend_memory_contexts);
	my @used = map { [ split /\|/ ] } split /\n/, $node->safe_psql('postgres',
		"CALL edit_many(20); $memory; $work; $memory");
	my @after = split ' ', $node->safe_psql('postgres', $pages);
	note("$name: @before pages, then @after; memory $used[0][0] then"
		  . " $used[1][0]");
	cmp_ok($after[$_], '<=', $before[$_] * 1.2 + 16,
		"$name: relation $_ does not grow")
	  foreach 0 .. 3;
	cmp_ok($used[1][0] - $used[0][0],
		'<', 500_000, "$name: the session does not grow");
	cmp_ok($used[1][1], '<=', 16, "$name: few documents are kept");
	sound($node, 'docs', $name);
	return;
}

steady('one key', q(doc = jsonb_set(doc, '{x}', to_jsonb(i % 3))), 4000, 0);
steady('one key and VACUUM',
	q(doc = jsonb_set(doc, '{x}', to_jsonb(i))), 400, 1);
steady(
	'a value that grows and shrinks',
	q(doc = jsonb_set(doc, '{members,k300}',
		to_jsonb(repeat('x', i * 7 % 300)))), 600, 0);
steady('elements that come and go',
	q(doc = jsonb_insert(doc, '{list,300}', to_jsonb(i)) #- '{list,299}'),
	600, 1);
steady('all elements in turn',
	q(doc['list'][i * 37 % 600] = to_jsonb(md5(i::text))), 1000, 1);

# --- constant memory, nothing left behind ---

# A trigger that notes the memory of the session at some rows, and may drop
# the row.
$node->safe_psql(
	'postgres', q(
	CREATE TABLE rows (id int PRIMARY KEY, doc jsonb) USING toaster;
	INSERT INTO rows SELECT i, jsonb_build_object('id', i, 'x', 0,
		'text', doc(i, 2600), 'list', '[1, 2, 3]'::jsonb)
		FROM generate_series(1, 6000) i;
	CREATE TABLE used (id int, bytes bigint);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF NEW.id % 1000 = 500 THEN
			INSERT INTO used SELECT NEW.id, sum(total_bytes)
				FROM pg_backend_memory_contexts;
		END IF;
		IF current_setting('test.skip', true) = 'on' THEN
			RETURN NULL;
		END IF;
		RETURN NEW;
	END $$;
	CREATE TRIGGER note BEFORE UPDATE ON rows FOR EACH ROW
		EXECUTE FUNCTION note();
	VACUUM ANALYZE;));
foreach my $set (
	q(doc = jsonb_set(doc, '{x}', '1')),
	q(doc = jsonb_set(doc - 'list', '{text}', to_jsonb(doc(id, 4000)))),
	q(doc['x'] = '2', doc['y']['z'] = to_jsonb(id)))
{
	foreach my $skip ('off', 'on')
	{
		my $chunks = chunks_of('rows');
		$node->safe_psql('postgres',
			"TRUNCATE used; SET test.skip = $skip; UPDATE rows SET $set");
		cmp_ok(
			$node->safe_psql(
				'postgres', 'SELECT max(bytes) FILTER (WHERE id > 1000) -'
				  . ' max(bytes) FILTER (WHERE id < 1000) FROM used'),
			'<',
			1_500_000,
			"memory is constant: $set, rows skipped: $skip");
		next if $skip eq 'off';
		is(chunks_of('rows'), $chunks,
			"rows skipped leave nothing: $set");
	}
}
sound($node, 'rows', 'after many rows');

# Live chunks of a table's TOAST relation
sub chunks_of
{
	my ($table) = @_;
	my $toast = $node->safe_psql('postgres',
		"SELECT reltoastrelid::regclass FROM pg_class WHERE oid ="
		  . " '$table'::regclass");
	return $node->safe_psql('postgres',
		'SET enable_indexscan = off; SET enable_indexonlyscan = off;'
		  . " SET enable_bitmapscan = off; SELECT count(*) FROM $toast");
}

# Failpoints kill by signal 9.
my @crashes = grep { !/signal 9\b/ } split /\n/, logged_crash($node, 0);
is("@crashes", '', 'no crash but those that were asked for');
$node->stop;
done_testing();
