# What the TAP tests share: servers with the extension, documents that differ
# in every chunk, and the questions that follow each test.

package ToasterTest;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  create_docs intact logged_crash new_server open_psql prepare_database
  sound wait_until_up);

# Settings of every server: small enough to start many of them.
my $settings = q(
shared_buffers = 16MB
max_wal_size = 1GB
autovacuum = off
jit = off
);

# doc(seed, size) returns text of size bytes, different in every chunk and
# compressible by about half; put() replaces some bytes in its middle.
my $functions = q(
CREATE FUNCTION doc(seed int, size int) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
	SELECT left(string_agg(md5(seed || '/' || i) || repeat('-', 32), ''),
				size)
	FROM generate_series(0, size / 64) i
$$;
CREATE FUNCTION put(doc text, at int, new text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
	SELECT overlay(doc placing new from at)
$$;
);

# Return a started server whose database has the extension.  The options are
# those of init(); older versions ignore the ones that they do not know.
sub new_server
{
	my ($name, $conf, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%options);
	$node->append_conf('postgresql.conf', $settings . ($conf // ''));
	$node->start;
	prepare_database($node, 'postgres');
	return $node;
}

# Create the extension and the functions of the tests in a database.
sub prepare_database
{
	my ($node, $database) = @_;
	$node->safe_psql($database,
		"CREATE EXTENSION pg_toaster;\n" . $functions);
	return;
}

# Create a table of documents of several sizes, each with its digest beside
# it, under the settings given.
sub create_docs
{
	my ($node, $table, $settings) = @_;
	$node->safe_psql(
		'postgres', qq(
		$settings
		CREATE TABLE $table (id int PRIMARY KEY, doc text, sum text)
			USING toaster;
		INSERT INTO $table
			SELECT i, d, md5(d) FROM (
				SELECT i, doc(i, 40 + i * i * 700) AS d
				FROM generate_series(1, 8) i) x;));
	return;
}

# Every document of a table has the digest that was stored with it, and the
# table has the number of rows that is expected.
sub intact
{
	my ($node, $table, $rows, $name) = @_;
	my $answer = $node->safe_psql('postgres',
		"SELECT count(*), count(*) FILTER (WHERE md5(doc) <> sum OR"
		  . " substr(doc, 5000, 100) <> substr(doc || '', 5000, 100))"
		  . " FROM $table");
	is($answer, "$rows|0", "$name: documents intact");
	return;
}

# toaster.verify finds nothing.
sub sound
{
	my ($node, $table, $name) = @_;
	is( $node->safe_psql(
			'postgres', "SELECT * FROM toaster.verify('$table')"),
		'', "$name: verify is clean");
	return;
}

# Wait for a server that restarts by itself after a crash.
# Wait until a server whose session crashed, after the given offset of its log,
# has come back.  The first sessions after a crash may still be ended by it.
sub wait_until_up
{
	my ($node, $offset) = @_;
	$node->wait_for_log(qr/database system is ready to accept connections/,
		$offset);
	$node->poll_query_until('postgres', 'SELECT 1', '1')
	  or die 'the server did not come back';
	return;
}

# Start psql in the background; the caller pumps it.
sub open_psql
{
	my ($node, $in, $out, $timer) = @_;
	return IPC::Run::start(
		[
			'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d',
			$node->connstr('postgres')
		],
		'<', $in, '>', $out, '2>&1', $timer);
}

# Return what the server's log says of a crash, from an offset on.
sub logged_crash
{
	my ($node, $offset) = @_;
	my $log = slurp_file($node->logfile, $offset // 0);
	return join "\n", grep { /terminated by signal|PANIC:|TRAP:/ }
	  split /\n/, $log;
}

1;
