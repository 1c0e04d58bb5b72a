#!/bin/sh
# Half of the reward for each of the two files.
reward=0
[ "$(cat /data/answer/top.txt)" = '573 192.0.2.1
571 10.0.0.8
57 192.0.2.2' ] && reward=1
[ "$(tr -d ' \n' < /data/answer/errors.txt)" = 59 ] && reward=$((reward + 1))
awk "BEGIN { print $reward / 2 }" > /logs/verifier/reward.txt
