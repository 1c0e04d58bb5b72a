read -r count
head -n "$count" | sort -n
