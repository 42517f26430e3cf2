# Proves: while trees cannot be decoded, no logical slot is ever shown a wrong
# or missing value.  A statement that would store a value out of line is
# refused while a logical slot of its database exists, and only then; what is
# stored in the row is decoded as from a heap.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $node = new_server('logical', q(
wal_level = logical
max_replication_slots = 10
max_wal_senders = 10
));
my $large = "doc(1, 50000)";

# A statement fails with feature_not_supported, and says why.
sub refused
{
	my ($sql, $name) = @_;
	my ($status, $out, $error) = $node->psql('postgres',
		"\\set VERBOSITY verbose\n$sql");
	isnt($status, 0, "$name: refused");
	like($error, qr/ERROR:  0A000: .*logical/, "$name: says why");
	return;
}

sub allowed
{
	my ($sql, $name) = @_;
	my ($status, $out, $error) =
	  $node->psql('postgres', $sql, on_error_stop => 1);
	is($error, '', "$name: allowed");
	return;
}

sub create_slot
{
	my ($database, $slot) = @_;
	$node->safe_psql($database,
		"SELECT pg_create_logical_replication_slot('$slot', 'pgoutput')");
	return;
}

# 1. The WAL level alone forbids nothing.
$node->safe_psql(
	'postgres', qq(
	CREATE TABLE docs (id int PRIMARY KEY, n int, doc text) USING toaster;
	CREATE TABLE heaps (id int PRIMARY KEY, n int, doc text);
	INSERT INTO docs SELECT i, i, doc(i, 30000) FROM generate_series(1, 4) i;
	INSERT INTO heaps SELECT * FROM docs;
	UPDATE docs SET doc = put(doc, 100, 'here');
	UPDATE heaps SET doc = put(doc, 100, 'here');
	CREATE PUBLICATION p FOR ALL TABLES;));
my $same = q(SELECT count(*) FROM docs JOIN heaps USING (id, n, doc));
is($node->safe_psql('postgres', $same), '4', 'no slot: all works');
sound($node, 'docs', 'no slot');

# 2. Neither does a slot of another database, nor a physical one.
$node->safe_psql('postgres', 'CREATE DATABASE other');
create_slot('other', 'elsewhere');
$node->safe_psql('postgres',
	"SELECT pg_create_physical_replication_slot('physical')");
allowed("INSERT INTO docs VALUES (5, 5, $large); "
	  . "UPDATE docs SET doc = put(doc, 9, 'x') WHERE id = 5",
	'slots that do not decode this database');

# 3. A slot of this database: what goes out of line is refused.
create_slot('postgres', 'here');
my $before = $node->safe_psql('postgres',
	'SELECT id, md5(doc) FROM docs ORDER BY id');
refused("INSERT INTO docs VALUES (6, 6, $large)", 'INSERT');
refused("UPDATE docs SET doc = put(doc, 9, 'y') WHERE id = 1", 'UPDATE');
refused("COPY docs FROM PROGRAM 'printf \"7\\t7\\t\"; seq -s, 1 20000'",
	'COPY');
refused("INSERT INTO docs VALUES (1, 1, $large) "
	  . 'ON CONFLICT (id) DO UPDATE SET doc = excluded.doc',
	'ON CONFLICT');
refused("BEGIN; INSERT INTO docs VALUES (8, 8, 'small');"
	  . " INSERT INTO docs VALUES (9, 9, $large)",
	'a transaction');
is( $node->safe_psql('postgres',
		'SELECT id, md5(doc) FROM docs ORDER BY id'),
	$before,
	'what was refused left nothing behind');
allowed(
	"BEGIN; SAVEPOINT s; INSERT INTO docs VALUES (10, 10, 'kept');"
	  . 'COMMIT',
	'a savepoint and a small row');
$node->psql('postgres', "BEGIN; INSERT INTO docs VALUES (11, 11, 'kept');"
	  . " SAVEPOINT s; INSERT INTO docs VALUES (12, 12, $large);"
	  . ' ROLLBACK TO s; COMMIT', on_error_stop => 0);
is($node->safe_psql('postgres', 'SELECT doc FROM docs WHERE id = 11'),
	'kept', 'rolled back to a savepoint, the transaction commits');
$node->safe_psql('postgres', 'VACUUM docs');
sound($node, 'docs', 'after refusals');

# A heap in the same database is not concerned, nor are our tables that no
# decoder ever sees.
allowed("INSERT INTO heaps VALUES (6, 6, $large)", 'a heap');
allowed(
	"CREATE TEMP TABLE t (doc text) USING toaster;"
	  . " INSERT INTO t VALUES ($large);"
	  . " UPDATE t SET doc = put(doc, 5, 'x')",
	'a temporary table');
allowed(
	'CREATE UNLOGGED TABLE u (doc text) USING toaster;'
	  . " INSERT INTO u VALUES ($large); DROP TABLE u",
	'an unlogged table');
allowed('VACUUM FULL docs; REINDEX TABLE docs; VACUUM docs',
	'maintenance');
$node->safe_psql('postgres', 'SELECT pg_replication_slot_advance(\'here\','
	  . ' pg_current_wal_lsn())');

# 4. Rows without new values out of line are decoded as those of a heap, old
# rows of REPLICA IDENTITY FULL with their large values.
my $changes = q(
	INSERT INTO %1$s VALUES (20, 20, 'small'), (21, 21, NULL);
	UPDATE %1$s SET n = n + 100 WHERE id IN (20, 21);
	UPDATE %1$s SET doc = repeat('a', 1500) WHERE id = 20;
	UPDATE %1$s SET id = 22 WHERE id = 21;
	DELETE FROM %1$s WHERE id = 20;
	UPDATE %1$s SET n = 7 WHERE id = 2;
	UPDATE %1$s SET id = 50 WHERE id = 4;
	DELETE FROM %1$s WHERE id = 3;
	ALTER TABLE %1$s REPLICA IDENTITY FULL;
	UPDATE %1$s SET n = 8 WHERE id = 2;
	UPDATE %1$s SET doc = 'small' WHERE id = 50;
	UPDATE %1$s SET doc = 'smaller' WHERE id = 50;
	DELETE FROM %1$s WHERE id IN (1, 2););

SKIP:
{
	my ($status) = $node->psql('postgres',
		"SELECT pg_create_logical_replication_slot('text', 'test_decoding')");
	skip 'no test_decoding', 4 if $status;

	# Returns what is decoded of the changes of a table.
	my $decoded = sub {
		my ($table) = @_;
		$node->safe_psql('postgres',
			"SELECT pg_replication_slot_advance('text',"
			  . ' pg_current_wal_lsn())');
		$node->safe_psql('postgres', sprintf $changes, $table);
		my $text = $node->safe_psql('postgres',
			'SELECT data FROM pg_logical_slot_get_changes(\'text\', NULL,'
			  . " NULL, 'include-xids', '0', 'skip-empty-xacts', '1')");
		$text =~ s/public\.$table/public.any/g;
		return $text;
	};
	my $heap = $decoded->('heaps');
	like($heap, qr/unchanged-toast-datum/, 'the heap decodes');
	my $full = grep { length > 9000 } split /\n/, $heap;
	cmp_ok($full, '>', 1, 'the heap decodes old rows');
	my $ours = $decoded->('docs');
	ok($ours eq $heap, 'equal changes are decoded')
	  or diag(first_difference($heap, $ours));
	$node->safe_psql('postgres',
		'SELECT pg_drop_replication_slot(\'text\')');
}
sound($node, 'docs', 'after small changes');
$node->safe_psql('postgres', 'ALTER TABLE docs REPLICA IDENTITY DEFAULT');

# Show the first lines that differ in two texts.
sub first_difference
{
	my @one = split /\n/, $_[0];
	my @two = split /\n/, $_[1];
	foreach my $i (0 .. $#one)
	{
		next if $one[$i] eq ($two[$i] // '');
		return sprintf "heap:  %.300s\nother: %.300s", $one[$i],
		  $two[$i] // 'nothing';
	}
	return 'more lines';
}

# 6. Without the slot everything works again.
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('here')");
allowed(
	"INSERT INTO docs VALUES (40, 40, $large), (41, 41, $large);"
	  . " UPDATE docs SET n = 9, doc = put(doc, 50, 'z') WHERE id = 40;"
	  . ' DELETE FROM docs WHERE id = 5; UPDATE docs SET doc = NULL'
	  . ' WHERE id = 41',
	'the slot is gone');
is( $node->safe_psql(
		'postgres', 'SELECT substr(doc, 50, 1), n FROM docs WHERE id = 40'),
	'z|9',
	'the slot is gone: new value');
$node->safe_psql('postgres', 'VACUUM docs');
sound($node, 'docs', 'the slot is gone');

# 7. A subscriber gets the rows that may be written, and stores the large
# ones of a heap in trees.
my $subscriber = new_server('subscriber');
$subscriber->safe_psql('postgres',
	'CREATE TABLE docs (id int PRIMARY KEY, n int, doc text) USING toaster;'
	  . 'CREATE TABLE heaps (id int PRIMARY KEY, n int, doc text)'
	  . ' USING toaster');
$node->safe_psql('postgres',
	'TRUNCATE docs, heaps; ALTER TABLE docs REPLICA IDENTITY FULL;'
	  . ' INSERT INTO heaps SELECT i, i, doc(i, 30000)'
	  . ' FROM generate_series(1, 4) i');
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION s CONNECTION '"
	  . $node->connstr
	  . " dbname=postgres' PUBLICATION p");
$subscriber->wait_for_subscription_sync($node, 's');
$node->safe_psql(
	'postgres', q(
	INSERT INTO docs VALUES (1, 1, 'one'), (2, 2, 'two'), (3, 3, 'three');
	UPDATE docs SET doc = doc || '!' WHERE id < 3;
	DELETE FROM docs WHERE id = 2;
	UPDATE heaps SET doc = put(doc, 500, 'sent') WHERE id < 3;
	UPDATE heaps SET n = n + 1;));
$node->wait_for_catchup('s');
foreach my $table (qw(docs heaps))
{
	my $rows = "SELECT id, n, md5(doc) FROM $table ORDER BY id";
	is( $subscriber->safe_psql('postgres', $rows),
		$node->safe_psql('postgres', $rows),
		"the subscriber has equal rows of $table");
	sound($subscriber, $table, "the subscriber's $table");
}
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION s');
$subscriber->stop;
$node->stop;
done_testing();
