# Proves: values of 60 MB, and with "large" in PG_TEST_EXTRA of 500 MB, are
# stored, read whole and in slices, changed, and deleted, as on a heap.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $node = new_server('large', "fsync = off\nmax_wal_size = 4GB\n");
my @sizes = (60);
push @sizes, 500 if ($ENV{PG_TEST_EXTRA} // '') =~ /\blarge\b/;

# 2 MB, different in each 32 bytes, and everything else repeats it with a
# counter between.
$node->safe_psql(
	'postgres', q(
CREATE FUNCTION huge(megabytes int) RETURNS bytea LANGUAGE sql AS $$
	SELECT substr(string_agg(convert_to(i::text, 'UTF8') || unit, ''), 1,
				megabytes * 1000000)
	FROM generate_series(1, megabytes / 2 + 1) i,
		(SELECT string_agg(sha256(convert_to(j::text, 'UTF8')), '') AS unit
		FROM generate_series(1, 62500) j) u
$$;));

foreach my $megabytes (@sizes)
{
	my $bytes = $megabytes * 1000000;
	my $middle = $bytes / 2;
	my $label = "$megabytes MB";

	# What a value is, whole and in slices.
	my $facts = "SELECT length(b), md5(b), md5(substr(b, $middle, 5000)),"
	  . " md5(substr(b, $bytes - 9)), get_byte(b, $bytes / 3) FROM %s";
	my $equal = sub {
		my ($name) = @_;
		is( $node->safe_psql('postgres', sprintf $facts, 'trees'),
			$node->safe_psql('postgres', sprintf $facts, 'heaps'),
			"$label: $name");
		return;
	};

	foreach my $am (qw(heap toaster))
	{
		my $table = $am eq 'heap' ? 'heaps' : 'trees';
		$node->safe_psql('postgres',
			"CREATE TABLE $table (b bytea, t text) USING $am");
	}
	$node->safe_psql('postgres',
		"INSERT INTO heaps (b) SELECT huge($megabytes);"
		  . ' INSERT INTO trees (b) SELECT b FROM heaps');
	$equal->('stored');
	sound($node, 'trees', "$label, stored");

	# One byte, some bytes more, some less: the statement sends it all.
	foreach my $change (
		"set_byte(b, $middle, 7)",
		"overlay(b placing 'inserted'::bytea from $middle for 0)",
		"overlay(b placing ''::bytea from 1000 for 5000)",
		"b || 'appended'::bytea",
		"'prepended'::bytea || b")
	{
		my $before = $node->safe_psql('postgres', 'SELECT session FROM'
			  . " toaster.stats WHERE name = 'nodes_written'");
		$node->safe_psql('postgres', "UPDATE $_ SET b = $change")
		  foreach qw(heaps trees);
		$equal->($change);
	}
	sound($node, 'trees', "$label, changed");

	# Almost nothing of a value is written when one byte changes.
	my $written = $node->safe_psql(
		'postgres', qq(
		UPDATE trees SET b = set_byte(b, $middle + 17, 9);
		SELECT session FROM toaster.stats WHERE name = 'nodes_written'));
	cmp_ok($written, '<', 100, "$label: few nodes are written for a byte");
	$node->safe_psql('postgres',
		"UPDATE heaps SET b = set_byte(b, $middle + 17, 9)");
	$equal->('a byte more');

	# Text of the same size, in wide characters.
	$node->safe_psql('postgres',
		"UPDATE $_ SET b = NULL, t = repeat('größe 象 ' || "
		  . "md5('$label'), $bytes / 50)")
	  foreach qw(heaps trees);
	my $text =
	  "SELECT md5(t), length(t), md5(substr(t, $bytes / 3, 99)) FROM %s";
	is( $node->safe_psql('postgres', sprintf $text, 'trees'),
		$node->safe_psql('postgres', sprintf $text, 'heaps'),
		"$label: text");
	$node->safe_psql('postgres', 'VACUUM trees');
	sound($node, 'trees', "$label, text");

	$node->safe_psql('postgres',
		'DELETE FROM trees; VACUUM (INDEX_CLEANUP on) trees');
	is( $node->safe_psql(
			'postgres',
			'SELECT pg_relation_size(reltoastrelid) FROM pg_class'
			  . " WHERE relname = 'trees'"),
		'0',
		"$label: deleted, nothing remains");
	sound($node, 'trees', "$label, deleted");
	$node->safe_psql('postgres', 'DROP TABLE heaps, trees');
}

$node->stop;
done_testing();
