# Proves: examples/stream_file.py, killed in the middle and run again, leaves
# the file in the value, byte for byte; what it had committed is there after it
# was killed and after the server was; the relations do not grow beyond the
# file; wrong files, names and servers are refused and change nothing.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Digest::SHA qw(sha256_hex);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ToasterTest;

my $python = '/usr/bin/python3';
my $program = "$FindBin::RealBin/../../examples/stream_file.py";
plan skip_all => "$python with psycopg 3 is needed"
  if system("$python -c 'import psycopg' 2>/dev/null") != 0;

my $node = new_server('stream');
my $directory = PostgreSQL::Test::Utils::tempdir();

# Write a file of so many bytes that do not compress.
sub make_file
{
	my ($name, $size) = @_;
	my $bytes = '';
	my $state = $size;
	while (length($bytes) < $size)
	{
		$state = ($state * 1103515245 + 12345) % 2**31;
		$bytes .= pack('n', $state >> 8 & 65535);
	}
	$bytes = substr($bytes, 0, $size);
	open my $file, '>:raw', "$directory/$name" or die "$name: $!";
	print $file $bytes;
	close $file or die "$name: $!";
	return $bytes;
}

# Run the program; its status, or minus the signal, and what it has printed.
sub stream
{
	my (@arguments) = @_;
	my ($out, $error) = ('', '');
	IPC::Run::run([ $python, '-B', $program, @arguments ],
		'>', \$out, '2>', \$error, IPC::Run::timeout(180));
	my $status = $? & 127 ? -($? & 127) : $? >> 8;
	return ($status, $out, $error);
}

sub value_is
{
	my ($name, $bytes, $label) = @_;
	is( $node->safe_psql(
			'postgres', "SELECT octet_length(data), encode(sha256(data),"
			  . " 'hex') FROM streamed_files WHERE name = '$name'"),
		length($bytes) . '|' . sha256_hex($bytes),
		"$label: the bytes of the file");
	sound($node, 'streamed_files', $label);
	return;
}

my @dsn = ('--dsn', $node->connstr('postgres'));
my $size = 3_000_000;
my $bytes = make_file('file', $size);
my ($status, $out, $error);

# Killed after 40 pieces: these are there, the one that was sent is not.
($status, $out, $error) =
  stream(@dsn, '--piece', 20_000, '--kill-after', 40, "$directory/file");
is($status, -9, 'killed itself');
value_is('file', substr($bytes, 0, 800_000), 'after 40 pieces');

# Killed again at once, then after some more; the server, too.
($status, $out, $error) =
  stream(@dsn, '--kill-after', 0, "$directory/file");
is($status, -9, 'killed at the first piece');
($status, $out, $error) =
  stream(@dsn, '--piece', 100, '--kill-after', 300, "$directory/file");
is($status, -9, 'killed while sending small pieces');
like($out, qr/^resuming at byte 800000$/m, 'resumed');
$node->stop('immediate');
$node->start;
value_is('file', substr($bytes, 0, 830_000), 'after a crash');

# To the end.
($status, $out, $error) =
  stream(@dsn, '--piece', 5_000, "$directory/file");
is($status, 0, 'sent the rest');
my $digest = sha256_hex($bytes);
like(
	$out,
	qr/^resuming at byte 830000\n$size bytes, 434 pieces sent, SHA-256 $digest$/m,
	'says what it has done');
like($error, qr/^sending +100%.*\nverifying.*100%/ms, 'shows how far it is');
value_is('file', $bytes, 'all sent');
($status, $out, $error) = stream(@dsn, "$directory/file");
is($status, 0, 'nothing is left to send');
like($out, qr/ 0 pieces sent, SHA-256 $digest$/m, 'and all is verified');
cmp_ok(
	$node->safe_psql(
		'postgres', "SELECT pg_table_size('streamed_files')"),
	'<',
	2 * $size,
	'hundreds of transactions have not made the table larger than twice the file');

# Pieces that another one has sent in between are not lost.
($status, $out, $error) = stream(
	@dsn, '--name', 'other', '--piece', 70_000, '--kill-after', 3,
	"$directory/file");
$node->safe_psql('postgres',
	"UPDATE streamed_files SET data = data || '\\x00' WHERE name = 'other'");
($status, $out, $error) = stream(@dsn, '--name', 'other', "$directory/file");
is($status, 1, 'a value that goes on otherwise is refused');
like($error, qr/does not have the bytes of this file/, 'and says so');

# Files and servers that do not serve.
make_file('short', 100);
my %refused = (
	'a shorter file' => [
		qr/the value has 3000000 bytes, the file only 100/,
		@dsn, '--name', 'file', "$directory/short"
	],
	'no file' => [ qr/No such file/, @dsn, "$directory/none" ],
	'no server' => [
		qr/stream_file.py: .*connect/s, '--dsn', "host=$directory",
		"$directory/file"
	],
	'no such table' => [
		qr/stream_file.py: .*schema "nowhere" does not exist/,
		@dsn, '--table', 'nowhere.files', "$directory/file"
	],);
foreach my $name (sort keys %refused)
{
	my ($message, @arguments) = @{ $refused{$name} };
	($status, $out, $error) = stream(@arguments);
	is($status, 1, "$name: refused");
	like($error, $message, "$name: says why");
	unlike($error, qr/Traceback/, "$name: says no more");
}
value_is('file', $bytes, 'after all that was refused');

# A file of no bytes is one, too.
make_file('empty', 0);
($status, $out, $error) = stream(@dsn, "$directory/empty");
is($status, 0, 'an empty file');
value_is('empty', '', 'an empty file');

$node->stop;
done_testing();
