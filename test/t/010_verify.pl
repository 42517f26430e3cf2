# Proves: toaster.verify finds each kind of problem by its name and place:
# missing, foreign, orphaned, doubly referenced and damaged chunks, wrong
# sizes, wrong pointers.  One table for each; its files are changed while the
# server is down.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $page_size = 8192;

# Where things are in a tuple: the columns of a chunk, the node in it, and
# the TOAST pointer of a row (id int, doc text) with its fields.
my ($infomask, $chunk_id, $chunk_seq, $node_at) = (20, 24, 28, 36);
my ($pointer, $rawsize, $extinfo, $valueid, $toastrelid) =
  (28, 30, 34, 38, 42);

# CRC-32C of a string.
sub crc32c
{
	my $crc = 0xFFFFFFFF;
	foreach my $byte (unpack 'C*', $_[0])
	{
		$crc ^= $byte;
		$crc = ($crc >> 1) ^ ($crc & 1 ? 0x82F63B78 : 0) for 1 .. 8;
	}
	return $crc ^ 0xFFFFFFFF;
}

# A file under change: where the tuple "(block,offset)" begins, how long it
# is, and where its line pointer stands.
sub place
{
	my ($file, $tid) = @_;
	my ($block, $offset) = $tid =~ /\((\d+),(\d+)\)/;
	my $item = $block * $page_size + 24 + 4 * ($offset - 1);
	my $bits = unpack 'L', substr($$file, $item, 4);
	return ($block * $page_size + ($bits & 0x7fff), $bits >> 17, $item);
}

# Read and write numbers of four bytes.
sub get { return unpack 'L', substr(${ $_[0] }, $_[1], 4); }
sub put { return substr(${ $_[0] }, $_[1], 4) = pack 'L', $_[2]; }

# Change a field of a tuple.
sub put_field
{
	my ($file, $tid, $at, $value) = @_;
	my ($start) = place($file, $tid);
	return put($file, $start + $at, $value);
}

# Flip a bit of a tuple.
sub flip
{
	my ($file, $tid, $at) = @_;
	my ($start) = place($file, $tid);
	return put($file, $start + $at, get($file, $start + $at) ^ 1);
}

# The node of a chunk: where it is and how long.
sub node
{
	my ($file, $tid) = @_;
	my ($start) = place($file, $tid);
	return ($start + $node_at, (get($file, $start + 32) >> 2) - 4);
}

# Make the checksum of a root right again.
sub seal_root
{
	my ($file, $tid) = @_;
	my ($at, $size) = node($file, $tid);
	put($file, $at + $size - 4, crc32c(substr $$file, $at, $size - 4));
	return;
}

# Make the checksum right that a root holds of a child, and its own.
sub seal_child
{
	my ($file, $root, $child) = @_;
	my ($at, $size) = node($file, $root);
	my ($child_at, $child_size) = node($file, $child);
	my ($block, $offset) = $child =~ /(\d+)/g;
	my $ref = index substr($$file, $at, $size),
	  pack('LSS', $block, $offset, $child_size);
	die "$child is no child of $root" if $ref < 0;
	put($file, $at + $ref + 8, crc32c(substr $$file, $child_at, $child_size));
	seal_root($file, $root);
	return;
}

# In each: the problems expected are "place: message" where place is the chunk
# of the first document, "other" that of the second, "row" (no chunk), or
# "toast" (of no row).  "all orphans" are the chunks of a document, "other
# orphans" those but one.  The code is given a file, and the first row's tid,
# root and first data node.
my @trials = (
	{
		name => 'a missing chunk',
		toast => sub {
			my ($file, $t) = @_;
			put($file, (place($file, $t->{data}))[2], 0);
		},
		expected => ['data: Chunk is missing']
	},
	{
		name => 'a missing root',
		toast => sub {
			my ($file, $t) = @_;
			put($file, (place($file, $t->{root}))[2], 0);
		},
		expected => [
			'root: Chunk is missing',
			'other orphans'
		]
	},
	{
		name => 'a foreign chunk',
		toast => sub { flip($_[0], $_[1]{data}, $chunk_id) },
		expected => ['data: Chunk belongs to another value']
	},
	{
		name => 'a foreign root',
		toast => sub { flip($_[0], $_[1]{root}, $chunk_id) },
		expected => [
			'root: Root belongs to another value',
			'other orphans'
		]
	},
	{
		name => 'orphans',
		table => sub {
			my ($file, $t) = @_;
			put($file, (place($file, $t->{row}))[2], 0);
		},
		expected => [ 'all orphans' ]
	},
	{
		name => 'a doubly referenced tree',
		table => sub {
			my ($file, $t) = @_;
			my ($one) = place($file, $t->{row});
			my ($two) = place($file, $t->{other_row});
			substr($$file, $two + $pointer, 18) =
			  substr $$file, $one + $pointer, 18;
		},
		expected => [
			'root: Chunk is referenced twice',
			'all orphans'
		]
	},
	{
		name => 'a damaged chunk',
		toast => sub { flip($_[0], $_[1]{data}, $node_at + 100) },
		expected => ['data: Chunk has another checksum than its parent says']
	},
	{
		name => 'a damaged root',
		toast => sub { flip($_[0], $_[1]{root}, $node_at + 100) },
		expected => [
			'root: Checksum of the root is wrong',
			'other orphans'
		]
	},
	{
		name => 'a frame that does not decompress',
		toast => sub {
			my ($file, $t) = @_;
			my ($at, $size) = node($file, $t->{data});
			substr($$file, $at + 4, $size - 4) = "\xFF" x ($size - 4);
			seal_child($file, $t->{root}, $t->{data});
		},
		expected => ['data: Frame does not decompress']
	},
	{
		name => 'a root of a wrong size',
		toast => sub {
			my ($file, $t) = @_;
			my ($at) = node($file, $t->{root});
			put($file, $at + 8, get($file, $at + 8) + 1);
			seal_root($file, $t->{root});
		},
		expected => [
			'root: Piece sizes do not sum to that of the node',
			'other orphans'
		]
	},
	{
		name => 'a pointer with a wrong size',
		table => sub {
			my ($file, $t) = @_;
			my ($start) = place($file, $t->{row});
			foreach my $field ($rawsize, $extinfo)
			{
				put($file, $start + $field, get($file, $start + $field) + 1);
			}
		},
		expected => [
			'root: Root has another size than the pointer says',
			'other orphans'
		]
	},
	{
		name => 'a pointer whose sizes disagree',
		table => sub { flip($_[0], $_[1]{row}, $rawsize) },
		expected => [
			'row: TOAST pointer is damaged',
			'all orphans'
		]
	},
	{
		name => 'a pointer of another version',
		table => sub {
			my ($file, $t) = @_;
			my ($start) = place($file, $t->{row});
			put($file, $start + $extinfo,
				get($file, $start + $extinfo) ^ 1 << 30);
		},
		expected => ['root: Root has another version than the pointer says']
	},
	{
		name => 'a pointer to another relation',
		table => sub { flip($_[0], $_[1]{row}, $toastrelid) },
		expected => [
			'row: Value points to another relation',
			'all orphans'
		]
	},
	{
		name => 'an address of no class',
		table => sub { put_field($_[0], $_[1]{row}, $valueid, 0xE0000001) },
		expected => [
			'row: Address is not one of a stored value',
			'all orphans'
		]
	},
	{
		name => 'an address past the end',
		table => sub { put_field($_[0], $_[1]{row}, $valueid, 1000 * 64 + 1) },
		expected => [
			'other: Chunk lies past the end of the relation',
			'all orphans'
		]
	},
	{
		name => 'an address that is not in the index',
		settings => 'SET pg_toaster.force_indexed = on;',
		table => sub { flip($_[0], $_[1]{row}, $valueid) },
		expected => [
			'row: Root is missing',
			'all orphans'
		]
	},
	{
		name => "a chunk of stock's making",
		toast => sub { flip($_[0], $_[1]{data}, $chunk_seq) },
		expected => ['data: Chunk has a sequence number']
	},
	{
		name => 'an orphan that is no node',
		table => sub {
			my ($file, $t) = @_;
			put($file, (place($file, $t->{row}))[2], 0);
		},
		toast => sub { put_field($_[0], $_[1]{data}, $node_at, 0) },
		expected => [
			'other orphans',
			'toast: Chunk is not referenced by any row, and does not hold a node'
		]
	},
	{
		name => 'a row without the flag of its pointers',
		table => sub {
			my ($file, $t) = @_;
			my ($start) = place($file, $t->{row});
			my $flags = get($file, $start + $infomask);
			put($file, $start + $infomask, $flags & ~4);
		},
		expected => ['row: Row does not say that it has TOAST pointers']
	},
	{
		name => 'a page that cannot be read',
		toast => sub { put($_[0], 12, 0x00010002) },
		expected => [
			'root: invalid page in block',
			'other: invalid page in block',
			'toast: invalid page in block'
		]
	});

my $node = new_server('verify', '', no_data_checksums => 1);
foreach my $i (0 .. $#trials)
{
	my $trial = $trials[$i];
	$trial->{table_name} = "t$i";
	$node->safe_psql(
		'postgres', ($trial->{settings} // '') . qq(
		CREATE TABLE t$i (id int, doc text) USING toaster;
		INSERT INTO t$i SELECT i, doc(i, 7000) FROM generate_series(1, 2) i;
	));
	is($node->safe_psql('postgres', "SELECT * FROM toaster.verify('t$i')"),
		'', "$trial->{name}: sound before");
	my ($root, $data, @more) = split /\n/,
	  $node->safe_psql('postgres',
		"SELECT address FROM t$i, toaster.tree('t$i', t$i.ctid, 'doc')"
		  . ' WHERE id = 1');
	my @orphans = ('toast: Chunk is not referenced by any row') x (1 + @more);
	$trial->{expected} = [
		map {
			  $_ eq 'other orphans' ? @orphans
			: $_ eq 'all orphans' ? (@orphans, $orphans[0])
			: $_
		} @{ $trial->{expected} }
	];
	@$trial{ 'row', 'other_row', 'root', 'data' } =
	  ('(0,1)', '(0,2)', $root, $data);
	@$trial{ 'table_file', 'toast_file' } = split /\|/,
	  $node->safe_psql(
		'postgres', "SELECT pg_relation_filepath(oid),
		pg_relation_filepath(reltoastrelid) FROM pg_class
		WHERE relname = 't$i'");
}
$node->stop;

# Change the files.
foreach my $trial (@trials)
{
	foreach my $kind ('table', 'toast')
	{
		next unless $trial->{$kind};
		my $path = $node->data_dir . '/' . $trial->{"${kind}_file"};
		my $file = slurp_file($path);
		my $before = $file;
		$trial->{$kind}->(\$file, $trial);
		isnt($file, $before, "$trial->{name}: the file was changed");
		open my $out, '>:raw', $path or die "$path: $!";
		print $out $file;
		close $out;
	}
}
$node->start;

foreach my $trial (@trials)
{
	my $table = $trial->{table_name};
	my $found = $node->safe_psql('postgres', "SELECT relation = '$table'::"
		  . 'regclass, ctid IS NOT NULL, attname, chunk, message'
		  . " FROM toaster.verify('$table')");
	my @found;
	foreach my $line (split /\n/, $found)
	{
		my ($of_table, $of_row, $attname, $chunk, $message) =
		  split /\|/, $line, 5;
		my $place =
		    $of_table eq 'f' ? 'toast'
		  : $chunk eq '' ? 'row'
		  : $chunk eq $trial->{root} ? 'root'
		  : $chunk eq $trial->{data} ? 'data'
		  : 'other';
		$message =~ s/^(invalid page in block).*/$1/;
		push @found, "$place: $message";
		is($of_row, $of_table, "$trial->{name}: a row for those of the table");
	}
	is( join("\n", sort @found),
		join("\n", sort @{ $trial->{expected} }),
		$trial->{name});
}
$node->stop;
done_testing();
