use strict;
use warnings;
my $sum = 0;
while (<STDIN>) {
    $sum += $_ for split;
}
print "$sum\n";
