//! Ways to the end of a migration that a task leaves free, beside the template's own.

use palestra_sql::value::Dialect;

use super::{BOTH, POSTGRES, SQLITE, Way, play};

const fn way(template: &'static str, dialects: &'static [Dialect], statements: &'static [&'static str]) -> Way {
    Way { template, dialects, statements }
}

const WAYS: &[Way] = &[
    way(
        "active-flag",
        SQLITE,
        &[
            "CREATE TABLE items_new (id INTEGER PRIMARY KEY, $ INTEGER NOT NULL CHECK ($ = 0 OR $ = 1), code TEXT NOT NULL, title TEXT NOT NULL, category TEXT, depot_id INTEGER NOT NULL, second_depot_id INTEGER, daily_cents INTEGER NOT NULL)",
            "INSERT INTO items_new SELECT id, lower(active) IN ('y','yes','1'), code, title, category, depot_id, second_depot_id, daily_cents FROM items",
            "DROP TABLE items",
            "ALTER TABLE items_new RENAME TO items",
            "CREATE INDEX items_flag ON items ($)",
        ],
    ),
    way(
        "active-flag",
        SQLITE,
        &[
            "ALTER TABLE items ADD COLUMN $ INT CONSTRAINT flag CHECK ($ IS NOT NULL AND ($ = 0 OR $ = 1)) DEFAULT 1",
            "UPDATE items SET $ = CASE WHEN lower(active) IN ('y', 'yes', '1') THEN 1 ELSE 0 END",
            "ALTER TABLE items DROP COLUMN active",
        ],
    ),
    way(
        "active-flag",
        POSTGRES,
        &[
            "BEGIN",
            "ALTER TABLE items ADD COLUMN $ smallint",
            "UPDATE items SET $ = CASE WHEN lower(active) IN ('y', 'yes', '1') THEN 1 ELSE 0 END",
            "ALTER TABLE items ALTER COLUMN $ SET NOT NULL, ADD CONSTRAINT flag CHECK ($ BETWEEN 0 AND 1)",
            "ALTER TABLE items DROP COLUMN active",
            "COMMIT",
        ],
    ),
    // What is temporary is gone with the session.
    way(
        "active-flag",
        BOTH,
        &["CREATE TEMP TABLE notes AS SELECT * FROM items", "SOLUTION", "CREATE TEMP VIEW seen AS SELECT * FROM notes"],
    ),
    way(
        "amount-to-cents",
        SQLITE,
        &[
            "CREATE TABLE b (id INTEGER PRIMARY KEY, customer_id INTEGER, item_id INTEGER NOT NULL, booked_on TEXT NOT NULL, returned_on TEXT, status TEXT NOT NULL, agent_name TEXT NOT NULL, $ BIGINT NOT NULL)",
            "INSERT INTO b SELECT id, customer_id, item_id, booked_on, returned_on, status, agent_name, CAST(round(CAST(trim(amount) AS REAL) * 100) AS INTEGER) FROM bookings",
            "DROP TABLE bookings",
            "ALTER TABLE b RENAME TO bookings",
        ],
    ),
    way(
        "amount-to-cents",
        POSTGRES,
        &[
            "ALTER TABLE bookings ADD COLUMN $ integer",
            "UPDATE bookings SET $ = CASE WHEN trim(amount) = '' THEN 0 ELSE round(trim(amount)::numeric * 100) END",
            "ALTER TABLE bookings ALTER COLUMN $ SET NOT NULL",
            "ALTER TABLE bookings DROP COLUMN amount",
        ],
    ),
    way(
        "category-table",
        SQLITE,
        &[
            "CREATE TABLE $ (id INTEGER PRIMARY KEY AUTOINCREMENT, name VARCHAR(50) NOT NULL)",
            "CREATE UNIQUE INDEX names ON $ (name)",
            "INSERT INTO $ (name) SELECT DISTINCT lower(trim(category)) FROM items WHERE category IS NOT NULL ORDER BY 1 DESC",
            "ALTER TABLE items ADD COLUMN category_id INTEGER REFERENCES $ (id) ON DELETE RESTRICT ON UPDATE RESTRICT",
            "UPDATE items SET category_id = (SELECT c.id FROM $ AS c WHERE c.name = lower(trim(items.category)))",
            "ALTER TABLE items DROP COLUMN category",
        ],
    ),
    way(
        "category-table",
        POSTGRES,
        &[
            "CREATE TABLE $ (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name varchar(80) NOT NULL UNIQUE)",
            "INSERT INTO $ (name) SELECT DISTINCT lower(trim(category)) FROM items WHERE category IS NOT NULL",
            "ALTER TABLE items ADD COLUMN category_id bigint",
            "UPDATE items SET category_id = c.id FROM $ c WHERE c.name = lower(trim(items.category))",
            "ALTER TABLE items ADD FOREIGN KEY (category_id) REFERENCES $ (id) ON DELETE RESTRICT",
            "ALTER TABLE items DROP COLUMN category",
            "CREATE INDEX ON items (category_id)",
        ],
    ),
    way(
        "category-table",
        POSTGRES,
        &[
            "CREATE TABLE $ (id serial PRIMARY KEY, name text NOT NULL, CONSTRAINT one_name UNIQUE (name))",
            "INSERT INTO $ (name) SELECT DISTINCT lower(trim(category)) FROM items WHERE category IS NOT NULL",
            "ALTER TABLE items ADD COLUMN category_id integer REFERENCES $",
            "UPDATE items SET category_id = c.id FROM $ c WHERE c.name = lower(trim(items.category))",
            "ALTER TABLE items DROP COLUMN category",
        ],
    ),
    way(
        "clean-stock",
        SQLITE,
        &[
            "UPDATE stock SET quantity = 0 WHERE quantity IS NULL OR quantity < 0",
            "CREATE TABLE s (id INTEGER PRIMARY KEY, depot_id INTEGER NOT NULL, item_id INTEGER NOT NULL, quantity INTEGER, CHECK (quantity IS NOT NULL AND quantity >= 0))",
            "INSERT INTO s SELECT min(id), depot_id, item_id, sum(quantity) FROM stock GROUP BY depot_id, item_id",
            "DROP TABLE stock",
            "ALTER TABLE s RENAME TO stock",
            "CREATE UNIQUE INDEX one_row ON stock (item_id, depot_id)",
        ],
    ),
    way(
        "clean-stock",
        POSTGRES,
        &[
            "CREATE TEMP TABLE sums AS SELECT min(id) AS id, sum(greatest(coalesce(quantity, 0), 0)) AS quantity FROM stock GROUP BY depot_id, item_id",
            "DELETE FROM stock WHERE id NOT IN (SELECT id FROM sums)",
            "UPDATE stock SET quantity = sums.quantity FROM sums WHERE sums.id = stock.id",
            "ALTER TABLE stock ADD CONSTRAINT no_debt CHECK (quantity IS NOT NULL AND quantity >= 0)",
            "CREATE UNIQUE INDEX one_row ON stock (item_id, depot_id)",
        ],
    ),
    way(
        "items-in-depots",
        SQLITE,
        &[
            "CREATE TABLE $ (item_id INTEGER, depot_id INTEGER, preference INTEGER, PRIMARY KEY (item_id, depot_id), FOREIGN KEY (item_id) REFERENCES items (id), FOREIGN KEY (depot_id) REFERENCES depots)",
            "INSERT INTO $ SELECT id, depot_id, 1 FROM items",
            "INSERT INTO $ SELECT id, second_depot_id, 2 FROM items WHERE second_depot_id IS NOT NULL AND second_depot_id <> depot_id",
            "ALTER TABLE items DROP COLUMN second_depot_id",
            "ALTER TABLE items DROP COLUMN depot_id",
        ],
    ),
    way(
        "items-in-depots",
        POSTGRES,
        &[
            "CREATE TABLE $ (preference smallint, depot_id bigint REFERENCES depots, item_id bigint REFERENCES items, PRIMARY KEY (item_id, depot_id))",
            "INSERT INTO $ (item_id, depot_id, preference) SELECT id, depot_id, 1 FROM items",
            "INSERT INTO $ (item_id, depot_id, preference) SELECT id, second_depot_id, 2 FROM items WHERE second_depot_id IS NOT NULL ON CONFLICT DO NOTHING",
            "ALTER TABLE items DROP COLUMN depot_id, DROP COLUMN second_depot_id",
        ],
    ),
    way(
        "latest-preferences",
        SQLITE,
        &[
            "CREATE TABLE p (setting TEXT NOT NULL, scope TEXT NOT NULL, content TEXT NOT NULL, updated_on TEXT NOT NULL, PRIMARY KEY (scope, setting))",
            "INSERT INTO p (scope, setting, content, updated_on) SELECT scope, setting, content, updated_on FROM (SELECT *, row_number() OVER (PARTITION BY scope, setting ORDER BY updated_on DESC, id DESC) AS place FROM preferences) WHERE place = 1",
            "DROP TABLE preferences",
            "ALTER TABLE p RENAME TO preferences",
        ],
    ),
    way(
        "latest-preferences",
        POSTGRES,
        &[
            "DELETE FROM preferences WHERE id NOT IN (SELECT DISTINCT ON (scope, setting) id FROM preferences ORDER BY scope, setting, updated_on DESC, id DESC)",
            "ALTER TABLE preferences DROP COLUMN id",
            "ALTER TABLE preferences ADD PRIMARY KEY (scope, setting)",
        ],
    ),
    way(
        "manager-ids",
        SQLITE,
        &[
            "CREATE TABLE s (id INTEGER PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, $ INTEGER, FOREIGN KEY ($) REFERENCES s (id))",
            "INSERT INTO s SELECT staff.id, staff.name, staff.role, boss.id FROM staff LEFT JOIN staff AS boss ON lower(boss.name) = lower(trim(staff.manager_name))",
            "DROP TABLE staff",
            "ALTER TABLE s RENAME TO staff",
        ],
    ),
    way(
        "manager-ids",
        POSTGRES,
        &[
            "ALTER TABLE staff ADD COLUMN $ bigint",
            "UPDATE staff SET $ = boss.id FROM staff boss WHERE lower(boss.name) = lower(trim(staff.manager_name))",
            "ALTER TABLE staff ADD CONSTRAINT managed FOREIGN KEY ($) REFERENCES staff (id)",
            "ALTER TABLE staff DROP COLUMN manager_name",
        ],
    ),
    way(
        "merge-customers",
        SQLITE,
        &[
            "UPDATE customers SET email = lower(trim(email))",
            "UPDATE customers SET email = NULL WHERE email = ''",
            "CREATE TEMP TABLE kept AS SELECT email, min(id) AS id, min(joined_on) AS joined_on FROM customers WHERE email IS NOT NULL GROUP BY email",
            "UPDATE bookings SET customer_id = (SELECT kept.id FROM kept JOIN customers c ON c.email = kept.email WHERE c.id = bookings.customer_id) WHERE customer_id IN (SELECT id FROM customers WHERE email IS NOT NULL)",
            "DELETE FROM customers WHERE email IS NOT NULL AND id NOT IN (SELECT id FROM kept)",
            "UPDATE customers SET joined_on = (SELECT joined_on FROM kept WHERE kept.id = customers.id) WHERE id IN (SELECT id FROM kept)",
            "CREATE UNIQUE INDEX one_email ON customers (email) WHERE email IS NOT NULL",
        ],
    ),
    way(
        "merge-customers",
        POSTGRES,
        &[
            "UPDATE customers SET email = nullif(lower(trim(email)), '')",
            "CREATE TEMP TABLE kept AS SELECT email, min(id) AS id, min(joined_on) AS joined_on FROM customers WHERE email IS NOT NULL GROUP BY email",
            "UPDATE bookings SET customer_id = kept.id FROM customers c JOIN kept ON kept.email = c.email WHERE c.id = bookings.customer_id",
            "DELETE FROM customers WHERE email IS NOT NULL AND id NOT IN (SELECT id FROM kept)",
            "UPDATE customers SET joined_on = kept.joined_on FROM kept WHERE kept.id = customers.id",
            "ALTER TABLE customers ADD CONSTRAINT one_email UNIQUE (email)",
        ],
    ),
    way(
        "orphaned-bookings",
        SQLITE,
        &[
            "CREATE TABLE $ AS SELECT * FROM bookings WHERE customer_id IS NULL OR customer_id NOT IN (SELECT id FROM customers)",
            "CREATE TABLE b (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, item_id INTEGER NOT NULL, booked_on TEXT NOT NULL, returned_on TEXT, status TEXT NOT NULL, amount TEXT NOT NULL, agent_name TEXT NOT NULL, FOREIGN KEY (customer_id) REFERENCES customers (id))",
            "INSERT INTO b SELECT * FROM bookings WHERE id NOT IN (SELECT id FROM $)",
            "DROP TABLE bookings",
            "ALTER TABLE b RENAME TO bookings",
        ],
    ),
    way(
        "orphaned-bookings",
        POSTGRES,
        &[
            "CREATE TABLE $ (LIKE bookings INCLUDING ALL)",
            "INSERT INTO $ SELECT b.* FROM bookings b LEFT JOIN customers c ON c.id = b.customer_id WHERE c.id IS NULL",
            "DELETE FROM bookings WHERE customer_id IS NULL OR customer_id NOT IN (SELECT id FROM customers)",
            "ALTER TABLE bookings ALTER COLUMN customer_id SET NOT NULL, ADD CONSTRAINT of_customer FOREIGN KEY (customer_id) REFERENCES customers",
        ],
    ),
    way(
        "period-check",
        SQLITE,
        &[
            "UPDATE bookings SET returned_on = NULL WHERE returned_on < booked_on",
            "CREATE TRIGGER early_insert BEFORE INSERT ON bookings WHEN NEW.returned_on < NEW.booked_on BEGIN SELECT RAISE(ABORT, 'returned too early'); END",
            "CREATE TRIGGER early_update BEFORE UPDATE ON bookings WHEN NEW.returned_on < NEW.booked_on BEGIN SELECT RAISE(ABORT, 'returned too early'); END",
        ],
    ),
    way(
        "period-check",
        SQLITE,
        &[
            "CREATE TABLE b (id INTEGER PRIMARY KEY, customer_id INTEGER, item_id INTEGER NOT NULL, booked_on TEXT NOT NULL, returned_on TEXT CONSTRAINT later CHECK (returned_on IS NULL OR returned_on >= booked_on), status TEXT NOT NULL, amount TEXT NOT NULL, agent_name TEXT NOT NULL)",
            "INSERT INTO b SELECT id, customer_id, item_id, booked_on, CASE WHEN returned_on >= booked_on THEN returned_on END, status, amount, agent_name FROM bookings",
            "DROP TABLE bookings",
            "ALTER TABLE b RENAME TO bookings",
        ],
    ),
    way(
        "period-check",
        POSTGRES,
        &[
            "UPDATE bookings SET returned_on = NULL WHERE returned_on < booked_on",
            "ALTER TABLE bookings ADD CHECK (NOT returned_on < booked_on)",
        ],
    ),
    way(
        "phones-to-rows",
        BOTH,
        &[
            "CREATE TABLE $ (phone VARCHAR(40) NOT NULL, depot_id INTEGER REFERENCES depots (id), position SMALLINT, CONSTRAINT place PRIMARY KEY (depot_id, position))",
            "INSERT INTO $ (depot_id, position, phone) SELECT id, 3, phone3 FROM depots WHERE phone3 IS NOT NULL AND phone3 <> ''",
            "INSERT INTO $ (depot_id, position, phone) SELECT id, 2, phone2 FROM depots WHERE length(phone2) > 0",
            "INSERT INTO $ (depot_id, position, phone) SELECT id, 1, phone1 FROM depots WHERE length(phone1) > 0",
            "ALTER TABLE depots DROP COLUMN phone3",
            "ALTER TABLE depots DROP COLUMN phone2",
            "ALTER TABLE depots DROP COLUMN phone1",
        ],
    ),
    way(
        "price-periods",
        SQLITE,
        &[
            "DELETE FROM prices WHERE id NOT IN (SELECT max(id) FROM prices GROUP BY item_id, valid_from)",
            "CREATE TABLE p (id INTEGER PRIMARY KEY, item_id INTEGER NOT NULL, valid_from TEXT NOT NULL, daily_cents INTEGER NOT NULL, valid_to TEXT, UNIQUE (item_id, valid_from))",
            "INSERT INTO p (id, item_id, valid_from, daily_cents, valid_to) SELECT id, item_id, valid_from, daily_cents, date(lead(valid_from) OVER (PARTITION BY item_id ORDER BY valid_from), '-1 day') FROM prices",
            "DROP TABLE prices",
            "ALTER TABLE p RENAME TO prices",
        ],
    ),
    way(
        "price-periods",
        POSTGRES,
        &[
            "DELETE FROM prices WHERE id NOT IN (SELECT max(id) FROM prices GROUP BY item_id, valid_from)",
            "UPDATE prices SET valid_to = n.until FROM (SELECT id, lead(valid_from) OVER (PARTITION BY item_id ORDER BY valid_from) - 1 AS until FROM prices) n WHERE n.id = prices.id",
            "ALTER TABLE prices ADD CONSTRAINT one_price UNIQUE (valid_from, item_id)",
        ],
    ),
    way(
        "rename-with-view",
        SQLITE,
        &[
            "CREATE TABLE $ (id INTEGER NOT NULL PRIMARY KEY, full_name TEXT NOT NULL, role TEXT NOT NULL, manager_name TEXT)",
            "INSERT INTO $ SELECT * FROM staff",
            "DROP TABLE staff",
            "CREATE VIEW staff (id, name, role, manager_name) AS SELECT * FROM $",
        ],
    ),
    way(
        "rename-with-view",
        POSTGRES,
        &[
            "ALTER TABLE staff RENAME COLUMN name TO full_name",
            "ALTER TABLE staff RENAME TO $",
            "CREATE VIEW staff (id, name, role, manager_name) AS SELECT p.id, p.full_name, p.role, p.manager_name FROM $ p",
        ],
    ),
    way(
        "repeated-payments",
        SQLITE,
        &[
            "DELETE FROM payments WHERE EXISTS (SELECT 1 FROM payments p WHERE p.booking_id = payments.booking_id AND p.paid_on = payments.paid_on AND p.amount_cents = payments.amount_cents AND p.method = payments.method AND p.id < payments.id)",
            "CREATE TABLE $ AS SELECT * FROM payments WHERE booking_id NOT IN (SELECT id FROM bookings)",
            "CREATE TABLE p (id INTEGER PRIMARY KEY, booking_id INTEGER NOT NULL REFERENCES bookings, paid_on TEXT NOT NULL, amount_cents INTEGER NOT NULL, method TEXT NOT NULL)",
            "INSERT INTO p SELECT * FROM payments WHERE booking_id IN (SELECT id FROM bookings)",
            "DROP TABLE payments",
            "ALTER TABLE p RENAME TO payments",
            "CREATE UNIQUE INDEX once ON payments (method, booking_id, paid_on, amount_cents)",
        ],
    ),
    way(
        "repeated-payments",
        POSTGRES,
        &[
            "DELETE FROM payments a USING payments b WHERE a.booking_id = b.booking_id AND a.paid_on = b.paid_on AND a.amount_cents = b.amount_cents AND a.method = b.method AND a.id > b.id",
            "CREATE TABLE $ (LIKE payments INCLUDING ALL)",
            "WITH gone AS (DELETE FROM payments WHERE booking_id NOT IN (SELECT id FROM bookings) RETURNING *) INSERT INTO $ SELECT * FROM gone",
            "ALTER TABLE payments ADD CONSTRAINT of_booking FOREIGN KEY (booking_id) REFERENCES bookings (id)",
            "CREATE UNIQUE INDEX once ON payments (booking_id, paid_on, amount_cents, method)",
        ],
    ),
    way(
        "split-contacts",
        SQLITE,
        &[
            "CREATE TABLE $ (customer_id INTEGER NOT NULL, email VARCHAR, phone VARCHAR(30), PRIMARY KEY (customer_id), FOREIGN KEY (customer_id) REFERENCES customers (id))",
            "INSERT INTO $ SELECT id, CASE email WHEN '' THEN NULL ELSE email END, CASE phone WHEN '' THEN NULL ELSE phone END FROM customers WHERE length(email) > 0 OR length(phone) > 0",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, city TEXT NOT NULL, tags TEXT, joined_on TEXT NOT NULL)",
            "PRAGMA foreign_keys = OFF",
            "INSERT INTO c SELECT id, full_name, city, tags, joined_on FROM customers",
            "DROP TABLE customers",
            "ALTER TABLE c RENAME TO customers",
            "PRAGMA foreign_keys = ON",
        ],
    ),
    way(
        "split-contacts",
        POSTGRES,
        &[
            "CREATE TABLE $ AS SELECT id AS customer_id, nullif(email, '') AS email, nullif(phone, '') AS phone FROM customers WHERE coalesce(email, '') <> '' OR coalesce(phone, '') <> ''",
            "ALTER TABLE $ ADD PRIMARY KEY (customer_id), ADD FOREIGN KEY (customer_id) REFERENCES customers (id)",
            "ALTER TABLE customers DROP COLUMN email, DROP COLUMN phone",
        ],
    ),
    way(
        "status-table",
        SQLITE,
        &[
            "CREATE TABLE $ (code VARCHAR(20) PRIMARY KEY NOT NULL)",
            "INSERT INTO $ SELECT DISTINCT lower(trim(status)) FROM bookings ORDER BY 1",
            "CREATE TABLE b (id INTEGER PRIMARY KEY, customer_id INTEGER, item_id INTEGER NOT NULL, booked_on TEXT NOT NULL, returned_on TEXT, status TEXT NOT NULL, amount TEXT NOT NULL, agent_name TEXT NOT NULL, FOREIGN KEY (status) REFERENCES $ (code))",
            "INSERT INTO b SELECT id, customer_id, item_id, booked_on, returned_on, lower(trim(status)), amount, agent_name FROM bookings",
            "DROP TABLE bookings",
            "ALTER TABLE b RENAME TO bookings",
        ],
    ),
    way(
        "status-table",
        POSTGRES,
        &[
            "UPDATE bookings SET status = trim(lower(status))",
            "CREATE TABLE $ AS SELECT DISTINCT status AS code FROM bookings",
            "ALTER TABLE $ ADD PRIMARY KEY (code)",
            "ALTER TABLE bookings ADD CONSTRAINT known FOREIGN KEY (status) REFERENCES $",
        ],
    ),
    way(
        "tags-to-rows",
        POSTGRES,
        &[
            "CREATE TABLE $ (tag varchar, customer_id integer REFERENCES customers, PRIMARY KEY (customer_id, tag))",
            "INSERT INTO $ (customer_id, tag) SELECT id, lower(trim(part)) FROM customers CROSS JOIN regexp_split_to_table(tags, ',') AS part WHERE trim(part) <> '' ON CONFLICT DO NOTHING",
            "ALTER TABLE customers DROP COLUMN tags",
        ],
    ),
    way(
        "tags-to-rows",
        SQLITE,
        &[
            "CREATE TABLE $ (tag TEXT, customer_id INT, FOREIGN KEY (customer_id) REFERENCES customers (id), PRIMARY KEY (customer_id, tag))",
            "INSERT OR IGNORE INTO $ (customer_id, tag) SELECT c.id, lower(trim(j.value)) FROM customers c, json_each('[\"' || replace(c.tags, ',', '\",\"') || '\"]') j WHERE c.tags IS NOT NULL AND trim(j.value) <> ''",
            "ALTER TABLE customers DROP COLUMN tags",
        ],
    ),
    way(
        "text-to-date",
        SQLITE,
        &[
            "UPDATE inspections SET done_on = CASE WHEN done_on LIKE '__/__/____' THEN substr(done_on, 7) || '-' || substr(done_on, 4, 2) || '-' || substr(done_on, 1, 2) ELSE 'unknown' END",
            "CREATE TABLE n (id INTEGER PRIMARY KEY, item_id INTEGER NOT NULL, done_on TEXT, grade TEXT NOT NULL)",
            "INSERT INTO n SELECT id, item_id, nullif(done_on, 'unknown'), grade FROM inspections",
            "DROP TABLE inspections",
            "ALTER TABLE n RENAME TO inspections",
        ],
    ),
    way(
        "text-to-date",
        POSTGRES,
        &[
            "ALTER TABLE inspections ADD COLUMN day date",
            "UPDATE inspections SET day = to_date(done_on, 'DD/MM/YYYY') WHERE done_on <> 'unknown'",
            "ALTER TABLE inspections DROP COLUMN done_on",
            "ALTER TABLE inspections RENAME COLUMN day TO done_on",
        ],
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_may_be_done_in_any_way_that_is_free() {
    let faults = play("migration", WAYS, |scored| scored == 1.0).await;
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Views count by what they mean, not by the types of their columns.
const REPAIRS: &[Way] = &[way(
    "order-totals-view",
    POSTGRES,
    &[
        "DROP VIEW order_totals",
        "CREATE VIEW order_totals AS SELECT i.order_id, SUM(i.quantity * i.unit_price_cents)::bigint AS goods_cents, COALESCE((SELECT SUM(p.amount_cents) FROM payments p WHERE p.order_id = i.order_id), 0)::bigint AS paid_cents FROM order_items i GROUP BY i.order_id",
    ],
)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repaired_view_may_be_of_other_types() {
    let faults = play("repair", REPAIRS, |scored| scored == 1.0).await;
    assert!(faults.is_empty(), "{faults:#?}");
}
