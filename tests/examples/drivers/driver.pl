# SPDX-License-Identifier: MIT
# driver.pl DRIVER WAY: a transaction of a shop by a driver of Perl, with its guard.
use strict;
use warnings;
use DBI;

my ($driver, $way) = @ARGV;
my $guard = $ENV{ROWLOCK_GUARD_SQL};
my $db = DBI->connect("DBI:$driver:database=$ENV{SHOP_DATABASE};" .
	"host=$ENV{SHOP_HOST};port=$ENV{SHOP_PORT};" .
	lc($driver) . '_multi_statements=1', $ENV{SHOP_USER},
	$ENV{SHOP_PASSWORD}, { AutoCommit => 0, PrintError => 0,
		RaiseError => $way ne 'errors passed over' });
$db->do('UPDATE shop SET balance = balance - 10 WHERE id = 1');
if ($way eq 'do') {
	$db->do($guard);
} elsif ($way eq 'prepared, and finished') {
	my $made = $db->prepare($guard);
	$made->execute;
	$made->finish;
	undef $made;
} else {
	$db->do($_) for split /; /, $guard;
}
$db->commit;
$db->disconnect;
