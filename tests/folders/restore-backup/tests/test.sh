#!/bin/bash
reward=0
found=$(cd /restored && find . ! -path . -printf '%P %y %m %l\n' | LC_ALL=C sort && cat docs/a.txt docs/c.txt docs/old/d.txt && stat -c %Y docs/a.txt docs/c.txt bin/run | sort -u)
expected='bin d 755 
bin/run f 750 
docs d 755 
docs/a.txt f 644 
docs/c.txt f 644 
docs/link l 777 ../bin/run
docs/old d 755 
docs/old/d.txt f 644 
empty d 755 
second
third
back
1767225600'
if [ "$found" = "$expected" ]; then
  reward=0.7
  [ "$(cat /MANIFEST)" = "$(cd /restored && find . -type f | LC_ALL=C sort | xargs -d '\n' sha256sum)" ] && reward=1
fi
echo $reward > /logs/verifier/reward.txt
