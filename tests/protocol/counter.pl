# SPDX-License-Identifier: MIT
# counter.pl NAME ROUNDS: count up under holds, of which some are lost meanwhile.
use strict;
use warnings;
use DBI;
use IPC::Open2;
use JSON::PP;

my ($name, $rounds) = @ARGV;
my $committed = 0;
my $db = DBI->connect('DBI:MariaDB:mariadb_read_default_file=shop.cnf', undef,
	undef, { AutoCommit => 0, RaiseError => 1, PrintError => 0 });
for (1 .. $rounds) {
	my $pid = open2(my $from, my $to, 'rowlock', 'hold', '--json',
		'--guarded', '-t', '1s', $name);
	my $held = decode_json(scalar <$from>);
	die $held->{message} if $held->{event} ne 'held';
	my ($n) = $db->selectrow_array('SELECT n FROM shop_counter');
	system('rowlock', 'break', $name) if rand() < 0.1;
	my $guarded = eval {
		$db->do('UPDATE shop_counter SET n = ?', undef, $n + 1);
		if (!defined $ENV{UNGUARDED}) {
			$db->do($_) for @{$held->{guard}};
		}
		1;
	};
	if ($guarded) {
		$db->commit;
		$committed++;
	} else {
		$db->rollback;
	}
	close $to;
	waitpid $pid, 0;
}
$db->disconnect;
print "$committed\n";
