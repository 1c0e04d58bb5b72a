#!/bin/sh
found=$(find /srv/share /srv/elsewhere -printf '%p %y %m %s %l\n' | sed -E 's/^(.* d [0-7]+) [0-9]+ /\1 /' | LC_ALL=C sort)
expected='/srv/elsewhere d 755 
/srv/elsewhere/kept.sh f 611 7 
/srv/share d 2750 
/srv/share/empty.txt f 640 0 
/srv/share/linked.sh l 777 22 /srv/elsewhere/kept.sh
/srv/share/readme.txt f 640 17 
/srv/share/tools d 2750 
/srv/share/tools/hi.sh f 750 8 
/srv/share/tools/report f 750 22 
/srv/share/two words d 2750 
/srv/share/two words/b.tmp f 640 2 '
if [ "$found" = "$expected" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
