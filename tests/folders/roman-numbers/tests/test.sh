#!/bin/bash
# Three rewards by name.
reward() { echo "{\"compiles\": $1, \"numbers\": $2, \"numerals\": $3}" > /logs/verifier/reward.json; }
folder=$(mktemp -d)
cp /app/roman.c "$folder" && cd "$folder" && gcc -std=c11 -Wall -Werror -o roman roman.c || { reward 0 0 0; exit; }
numbers=0; numerals=0
try() { timeout 10 ./roman < "$1" > out; cmp -s out "$2"; }
printf '%s\n' 1 4 9 14 40 90 400 944 1987 2026 3999 0 4000 '' 12a -5 99999999999999999999 > a
printf '%s\n' I IV IX XIV XL XC CD CMXLIV MCMLXXXVII MMXXVI MMMCMXCIX '?' '?' '?' '?' '?' '?' > b
printf '%s\n' I IV IX XIV MCMLXXXVII MMMCMXCIX IIII VX IC XM MMMM iv 'X X' IVI CMC LXXX > c
printf '%s\n' 1 4 9 14 1987 3999 '?' '?' '?' '?' '?' '?' '?' '?' '?' 80 > d
try a b && numbers=1
try c d && numerals=1
reward 1 $numbers $numerals
