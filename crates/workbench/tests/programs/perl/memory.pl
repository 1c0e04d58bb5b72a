use strict;
use warnings;
my @parts;
push @parts, chr($_ % 255 + 1) x (1 << 20) for 1 .. 1024;
print scalar(@parts), "\n";
