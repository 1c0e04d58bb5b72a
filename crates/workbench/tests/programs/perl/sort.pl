use strict;
use warnings;
my ($count, @numbers) = map { split } <STDIN>;
print "$_\n" for sort { $a <=> $b } @numbers;
