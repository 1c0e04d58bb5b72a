#!/bin/sh
cd /data
gzip -dc access.log.gz | awk '{print $1}' | sort | uniq -c | sort -rn | head -n 3 | awk '{print $1, $2}' > answer/top.txt
gzip -dc access.log.gz | awk '$9 ~ /^5[0-9][0-9]$/' | wc -l > answer/errors.txt
