use strict;
my $number = ;
