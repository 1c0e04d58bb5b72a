#!/bin/bash
db=$(mktemp)
cp /app/crm.db "$db"
ask() { sqlite3 -batch "$db" "$1" 2>&1; }
share() { [ "$1" = "$2" ] && echo 1 || echo 0; }
customers=$(share "$(ask "SELECT id, name, coalesce(email, 'null'), created FROM customers ORDER BY id;")" "2|A. Lund|ava@example.com|2025-01-15
3|Bo|null|2025-02-02
4|Bo|null|2025-02-03
5|Cy|cy@example.com|2025-05-05
7|Dee|  |2025-06-01
9|Eli|eli@example.com|2025-07-01
10|Dee||2025-06-02")
orders=$(share "$(ask "SELECT customer, count(*), sum(cents) FROM orders GROUP BY customer ORDER BY customer;")/$customers" "2|3|1300
3|1|50
5|2|901
9|1|20
10|1|3/1")
index=$(share "$(ask "INSERT INTO customers VALUES (20, 'x', 'eli@example.com', 'x');" | grep -c UNIQUE) $(ask "INSERT INTO customers VALUES (21, 'x', NULL, 'x'), (22, 'y', '  ', 'y'), (23, 'z', '', 'z'); SELECT changes();") $(ask "SELECT count(*) FROM sqlite_master WHERE name = 'customers_email' AND tbl_name = 'customers';")" "1 3 1")
printf '{"customers": %d, "orders": %d, "index": %d}\n' "$customers" "$orders" "$index" > /logs/verifier/reward.json
