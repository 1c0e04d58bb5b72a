#!/bin/bash
cut -d ' ' -f 1 /app/access.log | sort | uniq -c | sort -rn | head -1 | awk '{print $2, $1}' > /app/top.txt
