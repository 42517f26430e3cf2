# Proves: whatever is damaged in the file of a TOAST relation, reading a
# document ends in an error that names the chunk, or gives the document;
# never another row's data, never a crash.  toaster.verify reports damage
# that a reader meets, as rows.
#
# The damage follows from a seed, PG_TOASTER_SEED; with "long" in
# PG_TEST_EXTRA there are ten times as many rounds.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $page_size = 8192;
my $page_header = 24;

my $seed = $ENV{PG_TOASTER_SEED} // 1;
my $rounds = ($ENV{PG_TEST_EXTRA} // '') =~ /\blong\b/ ? 30 : 3;
srand($seed);
note("PG_TOASTER_SEED=$seed");

# One value of a page: where its line pointer is, and what that says.
sub items
{
	my ($page) = @_;
	my $lower = unpack 'S', substr($page, 12, 2);
	my @items;
	for (my $at = $page_header; $at + 4 <= $lower; $at += 4)
	{
		my $bits = unpack 'L', substr($page, $at, 4);
		next if (($bits >> 15) & 3) != 1;
		push @items,
		  {
			at => $at,
			offset => $bits & 0x7fff,
			length => $bits >> 17
		  };
	}
	return @items;
}

sub random_of { return $_[ int rand @_ ] }

# Replace bytes of one field of the header of a random tuple.
sub tuple_field
{
	my ($page, $at, $size) = @_;
	my $item = random_of(items($page));
	substr($page, $item->{offset} + $at, $size) =
	  join '', map { chr int rand 256 } 1 .. $size;
	return $page;
}

# Replace the line pointer of a random tuple, given a way to make its bits.
sub line_pointer
{
	my ($page, $make) = @_;
	my $item = random_of(items($page));
	substr($page, $item->{at}, 4) = pack 'L', $make->($item);
	return $page;
}

# Flip bits of a page between two places.
sub flip
{
	my ($page, $from, $to, $count) = @_;
	foreach (1 .. $count)
	{
		my $at = $from + int rand($to - $from);
		substr($page, $at, 1) =
		  chr(ord(substr $page, $at, 1) ^ (1 << int rand 8));
	}
	return $page;
}

# Each takes one page and returns it damaged.
my %page_damage = (
	'one flipped bit in a tuple' => sub {
		my $item = random_of(items($_[0]));
		return flip($_[0], $item->{offset} + 24,
			$item->{offset} + $item->{length}, 1);
	},
	'many flipped bits in tuples' => sub {
		my @items = items($_[0]);
		return flip($_[0], $items[-1]{offset}, $page_size, 40);
	},
	'flipped bits in the line pointers' =>
	  sub { return flip($_[0], $page_header, $page_header + 4 * items($_[0]), 3) },
	'a flipped bit in the page header' =>
	  sub { return flip($_[0], 0, $page_header, 1) },
	'a zeroed page' => sub { return "\0" x $page_size },
	'a page of random bytes' => sub {
		return join '', map { chr int rand 256 } 1 .. $page_size;
	},
	'random bytes after the page header' => sub {
		return substr($_[0], 0, $page_header) . join '',
		  map { chr int rand 256 } $page_header + 1 .. $page_size;
	},
	't_hoff' => sub { return tuple_field($_[0], 22, 1) },
	't_infomask' => sub { return tuple_field($_[0], 20, 2) },
	'natts' => sub { return tuple_field($_[0], 18, 2) },
	'chunk_id' => sub { return tuple_field($_[0], 24, 4) },
	'chunk_seq' => sub { return tuple_field($_[0], 28, 4) },
	'the length word of a chunk' => sub { return tuple_field($_[0], 32, 4) },
	'the header of a node' => sub { return tuple_field($_[0], 36, 16) },
	'a chunk that claims to be compressed' => sub {
		my $item = random_of(items($_[0]));
		my $word = unpack 'L', substr($_[0], $item->{offset} + 32, 4);
		substr($_[0], $item->{offset} + 32, 4) = pack 'L', $word | 2;
		return $_[0];
	},
	'a chunk that claims to be a pointer' => sub {
		my $item = random_of(items($_[0]));
		substr($_[0], $item->{offset} + 32, 2) = "\x01\x12";
		return $_[0];
	},
	'an unused line pointer' =>
	  sub { return line_pointer($_[0], sub { 0 }) },
	'a dead line pointer' =>
	  sub { return line_pointer($_[0], sub { 3 << 15 }) },
	'a redirecting line pointer' => sub {
		return line_pointer($_[0], sub { 2 << 15 | 1 + int rand 300 });
	},
	'a line pointer beyond the page' => sub {
		return line_pointer($_[0],
			sub { 8100 | 1 << 15 | (1000 + int rand 9000) << 17 });
	},
	'a line pointer to anywhere' => sub {
		return line_pointer($_[0],
			sub { int(rand 8192) | 1 << 15 | int(rand 4000) << 17 });
	},
	'two line pointers exchanged' => sub {
		my @items = items($_[0]);
		my ($one, $two) = (random_of(@items), random_of(@items));
		my $bits = substr $_[0], $one->{at}, 4;
		substr($_[0], $one->{at}, 4) = substr $_[0], $two->{at}, 4;
		substr($_[0], $two->{at}, 4) = $bits;
		return $_[0];
	},);

# Each takes all pages and returns them damaged.
my %file_damage = (
	'a truncated file' => sub { return @_[ 0 .. $#_ / 2 ] },
	'an empty file' => sub { return () },
	'a file cut within a page' => sub {
		$_[-1] = substr $_[-1], 0, 5000;
		return @_;
	},
	'two pages exchanged' => sub {
		my ($one, $two) = (int rand @_, int rand @_);
		@_[ $one, $two ] = @_[ $two, $one ];
		return @_;
	},
	'a page copied over another' => sub {
		$_[ int rand @_ ] = random_of(@_);
		return @_;
	},
	'all pages shifted by one' => sub { return (@_[ 1 .. $#_ ], $_[0]) },);

my $node = new_server('corruption', "restart_after_crash = on\n",
	no_data_checksums => 1);
is($node->safe_psql('postgres', 'SHOW data_checksums'),
	'off', 'pages have no checksums: only ours can tell');

# Reads every row by every path and returns what happened, one line each.
$node->safe_psql(
	'postgres', q(
CREATE FUNCTION probe(name text, writes bool) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	query text;
	same bool;
	i int;
BEGIN
	FOR i IN 1 .. 7 LOOP
		FOREACH query IN ARRAY ARRAY[
			'md5(doc) = sum', 'md5(substr(doc, at, 300)) = part',
			'md5(doc) = sum AND md5(substr(doc, at, 300)) = part']
		LOOP
			BEGIN
				EXECUTE format('SELECT %s FROM %I WHERE id = %s',
					query, name, i) INTO same;
				RETURN NEXT CASE WHEN same THEN 'same'
					ELSE format('other row %s: %s', i, query) END;
			EXCEPTION WHEN OTHERS THEN
				RETURN NEXT 'error ' || SQLSTATE || ' ' || SQLERRM;
			END;
		END LOOP;
		CONTINUE WHEN NOT writes;
		FOREACH query IN ARRAY ARRAY[
			'UPDATE %I SET doc = doc(77, 9000) WHERE id = %s',
			'DELETE FROM %I WHERE id = %s']
		LOOP
			BEGIN
				EXECUTE format(query, name, i);
				RAISE EXCEPTION 'undo';
			EXCEPTION
				WHEN raise_exception THEN NULL;
				WHEN OTHERS THEN
					RETURN NEXT 'error ' || SQLSTATE || ' ' || SQLERRM;
			END;
		END LOOP;
	END LOOP;
END $$));

# One table for each kind of damage in each round; the documents of a table
# all differ in size.
my @settings = (
	'SET pg_toaster.node_size = 1996;',
	'SET pg_toaster.node_size = 256;',
	'SET pg_toaster.node_size = 500; SET pg_toaster.compression = none;',
	'SET pg_toaster.node_size = 300; SET pg_toaster.compression = pglz;',
	'SET pg_toaster.node_size = 800; SET pg_toaster.compression = zstd;',
	'SET pg_toaster.node_size = 256; SET pg_toaster.force_indexed = on;');
my @trials;
my $create = '';
foreach my $round (1 .. $rounds)
{
	foreach my $kind (sort(keys %page_damage), sort keys %file_damage)
	{
		my $table = 'damaged_' . @trials;
		push @trials, { kind => $kind, table => $table };
		$create .= $settings[ @trials % @settings ] . qq(
			CREATE TABLE $table (id int PRIMARY KEY, doc text, sum text,
				at int, part text) USING toaster;
			INSERT INTO $table SELECT i, d, md5(d), at,
				md5(substr(d, at, 300))
			FROM (SELECT i, length(d) / 2 AS at, d FROM
				(SELECT i, doc(i, 900 * (1 << i) + i) AS d
				FROM generate_series(1, 7) i) x) y;
			RESET ALL;);
	}
}
$node->safe_psql('postgres', $create);
foreach my $trial (@trials)
{
	$trial->{path} = $node->safe_psql('postgres',
		'SELECT pg_relation_filepath(reltoastrelid) FROM pg_class'
		  . " WHERE relname = '$trial->{table}'");
}
$node->stop;

# Damage the files.
foreach my $trial (@trials)
{
	my $path = $node->data_dir . '/' . $trial->{path};
	my $file = slurp_file($path);
	my @pages = unpack "(a$page_size)*", $file;
	if (my $damage = $page_damage{ $trial->{kind} })
	{
		my $number = int rand @pages;
		$number-- while !items($pages[$number]);
		my $page = $pages[$number];
		$pages[$number] = $damage->($page);
		$trial->{where} = "block $number";
	}
	else
	{
		@pages = $file_damage{ $trial->{kind} }->(@pages);
		$trial->{where} = 'the file';
	}
	open my $out, '+<:raw', $path or die "$path: $!";
	truncate $out, 0;
	print $out @pages;
	close $out;
}
$node->start;

# What an error may say: our own words, or the server's on pages that are
# no pages and on transactions that never were.
my $named = qr/^error\ XX00[12]\ .*(
	damaged\ chunk\ .*toast\ value\ \d+.*"pg_toast_\d+"
	| chunk\ .*toast\ value\ \d+.*pg_toast_\d+
	| invalid\ page\ in\ block
	| could\ not\ read\ block)
	| ^error\ (58P01|XX000)\ could\ not\ access\ status\ of\ transaction/x;

# Tuple headers that do not belong to their tuples end in the server's own
# assertions when a page is written to, so writes are tried elsewhere only.
my $writable = qr/in a tuple|header of a node|truncated|zeroed/;

my $damaged = 0;
foreach my $trial (@trials)
{
	my $label = "$trial->{kind} ($trial->{table}, $trial->{where})";
	my $offset = -s $node->logfile;
	my $writes = $trial->{kind} =~ $writable ? 'true' : 'false';
	my ($status, $out, $error) = $node->psql(
		'postgres', "SET statement_timeout = '60s';
		SELECT * FROM probe('$trial->{table}', $writes)");
	is($status, 0, "$label: the server answers") or diag($error);
	my @wrong = grep { !/^same$/ && !/$named/ } split /\n/, $out;
	is("@wrong", '', "$label: an error that names the chunk, or the value");
	my $failed = grep { /^error/ } split /\n/, $out;
	$damaged++ if $failed;

	($status, $out, $error) = $node->psql(
		'postgres', "SET statement_timeout = '60s';
		SELECT * FROM toaster.verify('$trial->{table}')");
	is($status, 0, "$label: verify answers") or diag($error);
	ok($out ne '', "$label: verify reports what readers met") if $failed;
	my $crash = logged_crash($node, $offset);
	is($crash, '', "$label: no crash");
	wait_until_up($node, $offset) if $crash;
}
cmp_ok($damaged, '>', @trials / 2, 'most damage was met by a reader')
  or diag("$damaged of " . @trials);

$node->stop('immediate');
done_testing();
