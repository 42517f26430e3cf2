# Proves: the extension needs no preloading; preloaded, it counts for the
# whole server as well; its settings exist as soon as the library is loaded.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $node = new_server('preload');

my $server_side =
  "SELECT count(*), count(server), count(session) FROM toaster.stats";
my $counters = q(SELECT string_agg(name, ' ' ORDER BY name)
	FROM toaster.stats);
my $write = q(
	INSERT INTO docs SELECT i, doc(i, 20000) FROM generate_series(1, 5) i;
	SELECT sum(length(doc || '')) FROM docs;
	SELECT sum(length(substr(doc, 7000, 10))) FROM docs;);

# Not preloaded.
$node->safe_psql('postgres', 'CREATE TABLE docs (id int, doc text) '
	  . 'USING toaster');
is($node->safe_psql('postgres', "$write"),
	"100000\n50", 'works without being preloaded');
is( $node->safe_psql('postgres', $counters),
	'cache_hits documents_flattened edits_applied edits_flattened '
	  . 'edits_written nodes_decompressed nodes_deleted '
	  . 'nodes_fetched nodes_replaced nodes_shared nodes_written '
	  . 'parts_flattened slices_fetched',
	'the counters');
is($node->safe_psql('postgres', $server_side),
	'13|0|13', 'no counters of the server unless preloaded');
is( $node->safe_psql(
		'postgres', q(
		SELECT count(doc) FROM docs WHERE doc || '' <> '';
		SELECT session > 0 FROM toaster.stats WHERE name = 'nodes_fetched')),
	"5\nt",
	'the session counts');
is( $node->safe_psql(
		'postgres', q(
		CREATE TABLE copy USING toaster AS SELECT * FROM docs;
		SELECT session > 0 FROM toaster.stats WHERE name = 'nodes_written')),
	't',
	'the session counts what it writes');

# Loaded by the session.
$node->append_conf('postgresql.conf',
	"session_preload_libraries = 'pg_toaster'\n");
$node->restart;
is( $node->safe_psql('postgres', 'SHOW pg_toaster.node_size'),
	'1996B', 'session_preload_libraries: settings from the start');
is( $node->safe_psql('postgres', 'SELECT count(DISTINCT md5(doc)) FROM docs'),
	'5', 'session_preload_libraries: values');
is($node->safe_psql('postgres', $server_side),
	'13|0|13', 'session_preload_libraries: no counters of the server');
my ($status, $out, $error) = $node->psql('postgres',
	'SET pg_toaster.node_size = 12');
isnt($status, 0, 'a bad value is refused');
like($error, qr/outside the valid range/, 'a bad value is named');

# Also in a database without the extension.
$node->safe_psql('postgres', 'CREATE DATABASE bare');
is( $node->safe_psql(
		'bare', q(CREATE TABLE t (doc text);
		INSERT INTO t VALUES (repeat('x', 100000));
		SELECT length(doc) FROM t)),
	'100000',
	'a database without the extension is not disturbed');

# Loaded by the server.
$node->adjust_conf('postgresql.conf', 'session_preload_libraries', "''");
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'pg_toaster'\n");
$node->restart;
is($node->safe_psql('postgres', $server_side),
	'13|13|13', 'preloaded: counters of the server');
my $fetched =
  "SELECT server FROM toaster.stats WHERE name = 'nodes_fetched'";
my $before = $node->safe_psql('postgres', $fetched);
$node->safe_psql('postgres', 'SELECT md5(doc) FROM docs') foreach 1 .. 3;
my $after = $node->safe_psql('postgres', $fetched);
cmp_ok($after, '>=', $before + 15, 'the server adds up its sessions');
is( $node->safe_psql(
		'postgres',
		"SELECT session FROM toaster.stats WHERE name = 'nodes_fetched'"),
	'0',
	'a new session starts at zero');
cmp_ok(
	$node->safe_psql(
		'postgres',
		"SELECT server FROM toaster.stats WHERE name = 'nodes_written'"),
	'>=', 0,
	'nothing was written since the start of the server, or it was counted');
$node->safe_psql('postgres', $write);
cmp_ok(
	$node->safe_psql(
		'postgres',
		"SELECT server FROM toaster.stats WHERE name = 'nodes_written'"),
	'>=', 5,
	'the server counts what other sessions wrote');
is($node->safe_psql('bare', 'SELECT length(doc) FROM t'),
	'100000', 'preloaded: a database without the extension');

$node->stop;
done_testing();
