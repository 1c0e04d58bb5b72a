set -e
umask 022
pack() { find . -exec touch -hd '2026-01-01T00:00:00Z' {} +; tar --sort=name --owner=0 --group=0 --numeric-owner -c"$1"f "/backup/$2" .; }
w=$(mktemp -d); cd "$w"
mkdir -p docs/old bin 'with space'
echo first > docs/a.txt; echo old > docs/old/b.txt; printf '#!/bin/sh\necho run\n' > bin/run; chmod 750 bin/run; echo s > 'with space/file name'; echo gone > gone
pack J 0-full.tar.xz
rm -rf ./* ; mkdir -p docs empty
printf 'docs/old\ngone\n' > .deleted; echo second > docs/a.txt; echo new > docs/c.txt; chmod 600 docs/c.txt
pack z 1-change.tar.gz
rm -rf ./* .deleted; mkdir -p docs/old
printf 'with space\ndocs/c.txt\n' > .deleted; echo back > docs/old/d.txt; echo third > docs/c.txt; ln -s ../bin/run docs/link
pack j 2-change.tar.bz2
cd /; rm -rf "$w"
