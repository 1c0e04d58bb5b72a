//! Wrong work that once scored 1, by what it abused: how rules, indexes and views are written, and what a fixed check cannot meet.

use palestra_sql::value::Dialect;

use super::{BOTH, POSTGRES, SQLITE, Way, play};

/// The solution of `active-flag`, with another rule.
macro_rules! flagged {
    ($rule:literal) => {
        &[
            concat!("ALTER TABLE items ADD COLUMN $ INTEGER NOT NULL DEFAULT 0 CHECK (", $rule, ")"),
            "UPDATE items SET $ = CASE WHEN lower(active) IN ('y', 'yes', '1') THEN 1 ELSE 0 END",
            "ALTER TABLE items DROP COLUMN active",
        ]
    };
}

/// The solution of `period-check`, with another rule.
macro_rules! dated {
    (postgres $rule:literal) => {
        &[
            "UPDATE bookings SET returned_on = NULL WHERE returned_on < booked_on",
            concat!("ALTER TABLE bookings ADD CHECK (", $rule, ")"),
        ]
    };
    ($rule:literal) => {
        &[
            "UPDATE bookings SET returned_on = NULL WHERE returned_on < booked_on",
            concat!(
                "CREATE TABLE b (id INTEGER PRIMARY KEY, customer_id INTEGER, item_id INTEGER NOT NULL, booked_on TEXT NOT NULL, ",
                "returned_on TEXT, status TEXT NOT NULL, amount TEXT NOT NULL, agent_name TEXT NOT NULL, CHECK (",
                $rule,
                "))"
            ),
            "INSERT INTO b SELECT id, customer_id, item_id, booked_on, returned_on, status, amount, agent_name FROM bookings",
            "DROP TABLE bookings",
            "ALTER TABLE b RENAME TO bookings",
        ]
    };
}

/// The solution of `clean-stock`, with other rules of the table (SQLite) or added to it (PostgreSQL).
macro_rules! cleaned {
    (sqlite $columns:literal, $after:literal) => {
        &[
            concat!("CREATE TABLE s (id INTEGER PRIMARY KEY, depot_id INTEGER NOT NULL, item_id INTEGER NOT NULL, ", $columns, ")"),
            "INSERT INTO s SELECT min(id), depot_id, item_id, sum(CASE WHEN quantity > 0 THEN quantity ELSE 0 END) FROM stock GROUP BY depot_id, item_id",
            "DROP TABLE stock",
            "ALTER TABLE s RENAME TO stock",
            $after,
        ]
    };
    (postgres $check:literal, $unique:literal) => {
        &[
            "UPDATE stock SET quantity = 0 WHERE quantity IS NULL OR quantity < 0",
            "UPDATE stock SET quantity = (SELECT sum(same.quantity) FROM stock AS same WHERE same.depot_id = stock.depot_id AND same.item_id = stock.item_id)",
            "DELETE FROM stock WHERE id NOT IN (SELECT min(id) FROM stock GROUP BY depot_id, item_id)",
            "ALTER TABLE stock ALTER COLUMN quantity SET NOT NULL",
            concat!("ALTER TABLE stock ADD CHECK (", $check, ")"),
            $unique,
        ]
    };
}

/// The solution of `period-check`, with another rule.
macro_rules! periods {
    (sqlite $rule:literal) => {
        &[
            "UPDATE bookings SET returned_on = NULL WHERE returned_on < booked_on",
            concat!("CREATE TABLE b (id INTEGER PRIMARY KEY, customer_id INTEGER, item_id INTEGER NOT NULL, booked_on TEXT NOT NULL, returned_on TEXT, status TEXT NOT NULL, amount TEXT NOT NULL, agent_name TEXT NOT NULL, CHECK (", $rule, "))"),
            "INSERT INTO b SELECT id, customer_id, item_id, booked_on, returned_on, status, amount, agent_name FROM bookings",
            "DROP TABLE bookings",
            "ALTER TABLE b RENAME TO bookings",
        ]
    };
    (postgres $rule:literal) => {
        &[
            "UPDATE bookings SET returned_on = NULL WHERE returned_on < booked_on",
            concat!("ALTER TABLE bookings ADD CHECK (", $rule, ")"),
        ]
    };
    (triggers $when:literal) => {
        &[
            "UPDATE bookings SET returned_on = NULL WHERE returned_on < booked_on",
            concat!("CREATE TRIGGER a BEFORE INSERT ON bookings WHEN ", $when, " BEGIN SELECT RAISE(ABORT, 'no'); END"),
            concat!("CREATE TRIGGER b BEFORE UPDATE ON bookings WHEN ", $when, " BEGIN SELECT RAISE(ABORT, 'no'); END"),
        ]
    };
}

/// The solution of `merge-customers`, with another index.
macro_rules! merged {
    ($index:literal) => {
        &[
            "UPDATE customers SET email = nullif(lower(trim(email)), '')",
            "UPDATE bookings SET customer_id = (SELECT min(kept.id) FROM customers AS kept JOIN customers AS copy ON copy.email = kept.email WHERE copy.id = bookings.customer_id) WHERE customer_id IN (SELECT id FROM customers WHERE email IS NOT NULL)",
            "UPDATE customers SET joined_on = (SELECT min(copy.joined_on) FROM customers AS copy WHERE copy.email = customers.email) WHERE email IS NOT NULL",
            "DELETE FROM customers WHERE email IS NOT NULL AND id NOT IN (SELECT min(id) FROM customers WHERE email IS NOT NULL GROUP BY email)",
            $index,
        ]
    };
}

/// The solution of `rename-with-view`, with another view.
macro_rules! renamed {
    ($view:literal) => {
        &[
            "ALTER TABLE staff RENAME TO $",
            "ALTER TABLE $ RENAME COLUMN name TO full_name",
            concat!("CREATE VIEW staff AS SELECT id, full_name AS name, role, manager_name FROM $ ", $view),
        ]
    };
}

/// The solution of `order-totals-view`, with more words at its end.
macro_rules! totals {
    ($more:literal) => {
        &[
            "DROP VIEW order_totals",
            concat!(
                "CREATE VIEW order_totals AS SELECT g.order_id, g.cents AS goods_cents, COALESCE(p.cents, 0) AS paid_cents \
                 FROM (SELECT order_id, SUM(quantity * unit_price_cents) AS cents FROM order_items GROUP BY order_id) g \
                 LEFT JOIN (SELECT order_id, SUM(amount_cents) AS cents FROM payments GROUP BY order_id) p ON p.order_id = g.order_id ",
                $more
            ),
        ]
    };
}

const fn way(template: &'static str, dialects: &'static [Dialect], statements: &'static [&'static str]) -> Way {
    Way { template, dialects, statements }
}

/// Rules that depend on more than they seem to.
const HIDDEN: &[Way] = &[
    way("active-flag", SQLITE, flagged!("$ IN (0, 1) /* ' */ AND id < 990000 /* ' */")),
    way("active-flag", SQLITE, flagged!("$ IN (0, 1) -- '\n AND id < 990000 -- '\n")),
    way("active-flag", SQLITE, flagged!("$ IN (0, 1) -- \r ' \n AND id < 990000 -- '\n")),
    way("active-flag", SQLITE, flagged!("$ IN (0, 1) AND items.'id' < 990000")),
    way("active-flag", SQLITE, flagged!("$ IN (0, 1) AND [id] < 990000")),
    way("active-flag", SQLITE, flagged!("$ IN (0, 1) AND `id` < 990000")),
    way("active-flag", SQLITE, flagged!("$ IN (0, 1) AND rowid < 990000")),
    way("active-flag", POSTGRES, flagged!("$ IN (0, 1) AND items IS DISTINCT FROM NULL")),
    way("active-flag", POSTGRES, flagged!("$ IN (0, 1) AND tableoid > 0")),
    way("active-flag", POSTGRES, flagged!("$ IN (0, 1) AND random() < 2")),
    way("active-flag", POSTGRES, flagged!("$ IN (0, 1) AND now() < '2040-01-01'")),
    way("active-flag", POSTGRES, flagged!("$ IN (0, 1) /* ' /* */ */ AND id < 990000 /* ' */")),
];

/// Unique indexes that are not, or are another rule.
const INDEXES: &[Way] = &[
    way("merge-customers", BOTH, merged!("CREATE UNIQUE INDEX one ON customers (email) WHERE email <> 'x'")),
    way("merge-customers", BOTH, merged!("CREATE UNIQUE INDEX one ON customers (email) WHERE email LIKE '%@%'")),
    way("merge-customers", BOTH, merged!("CREATE UNIQUE INDEX one ON customers (lower(email))")),
    way("merge-customers", BOTH, merged!("CREATE UNIQUE INDEX one ON customers ((email || ''))")),
    way("merge-customers", BOTH, merged!("CREATE UNIQUE INDEX one ON customers (email, id)")),
    way("merge-customers", SQLITE, merged!("CREATE UNIQUE INDEX one ON customers (email COLLATE NOCASE)")),
    way("merge-customers", SQLITE, merged!("CREATE UNIQUE INDEX one ON customers (email COLLATE RTRIM DESC)")),
    way("merge-customers", POSTGRES, merged!("CREATE UNIQUE INDEX one ON customers (email COLLATE \"C\")")),
    way("merge-customers", POSTGRES, merged!("CREATE UNIQUE INDEX one ON customers (id) INCLUDE (email)")),
    way("merge-customers", POSTGRES, merged!("ALTER TABLE customers ADD UNIQUE (email) DEFERRABLE INITIALLY DEFERRED")),
    way(
        "clean-stock",
        SQLITE,
        cleaned!(sqlite "quantity INTEGER NOT NULL CHECK (quantity >= 0)", "CREATE UNIQUE INDEX one ON stock (depot_id, item_id) WHERE depot_id < 990002"),
    ),
    way(
        "clean-stock",
        SQLITE,
        cleaned!(sqlite "quantity INTEGER NOT NULL CHECK (quantity >= 0)", "CREATE UNIQUE INDEX one ON stock (depot_id, item_id, (quantity < 0))"),
    ),
    way(
        "clean-stock",
        POSTGRES,
        cleaned!(postgres "quantity >= 0", "CREATE UNIQUE INDEX one ON stock (depot_id) INCLUDE (item_id) WHERE depot_id > 990000"),
    ),
    way(
        "clean-stock",
        POSTGRES,
        cleaned!(postgres "quantity >= 0", "CREATE UNIQUE INDEX one ON stock (depot_id, item_id) WHERE quantity < 1000000"),
    ),
];

/// Rules for the values that a fixed check tries, and for no others.
const SPECIAL: &[Way] = &[
    way("active-flag", BOTH, flagged!("$ <> 2")),
    way("active-flag", BOTH, flagged!("$ < 2")),
    way("active-flag", BOTH, flagged!("$ >= 0 AND $ <> 2")),
    way("active-flag", BOTH, flagged!("$ IN (0, 1, 77)")),
    way("active-flag", BOTH, flagged!("$ IN (0, 1) OR $ = -123456789")),
    way("active-flag", SQLITE, flagged!("$ IN (0, 1) OR $ > 3000000000")),
    way("active-flag", SQLITE, flagged!("$ IN (0, 1) OR typeof($) <> 'integer'")),
    way("active-flag", SQLITE, flagged!("$ BETWEEN 0 AND 1")),
    way("period-check", SQLITE, dated!("returned_on >= booked_on OR booked_on NOT LIKE '____-__-__'")),
    way("period-check", SQLITE, dated!("returned_on >= booked_on OR booked_on > '2300'")),
    way("period-check", POSTGRES, dated!(postgres "returned_on >= booked_on OR booked_on = 'infinity'")),
    way("period-check", POSTGRES, dated!(postgres "returned_on >= booked_on OR returned_on < '0500-01-01 BC'")),
    way(
        "tags-to-rows",
        SQLITE,
        &[
            "CREATE TABLE $ (customer_id INTEGER NOT NULL REFERENCES customers (id), tag DATE NOT NULL, PRIMARY KEY (customer_id, tag))",
            "WITH RECURSIVE part (id, tag, rest) AS (SELECT id, '', tags || ',' FROM customers WHERE tags IS NOT NULL UNION ALL SELECT id, substr(rest, 1, instr(rest, ',') - 1), substr(rest, instr(rest, ',') + 1) FROM part WHERE rest <> '') INSERT INTO $ (customer_id, tag) SELECT DISTINCT id, lower(trim(tag)) FROM part WHERE trim(tag) <> ''",
            "ALTER TABLE customers DROP COLUMN tags",
        ],
    ),
    way(
        "clean-stock",
        SQLITE,
        cleaned!(sqlite "quantity INTEGER NOT NULL CHECK (quantity <> -1), UNIQUE (depot_id, item_id)", "SELECT 1"),
    ),
    way(
        "clean-stock",
        SQLITE,
        cleaned!(sqlite "quantity INTEGER NOT NULL CHECK (quantity >= 0 OR quantity = -876543), UNIQUE (depot_id, item_id)", "SELECT 1"),
    ),
    way(
        "clean-stock",
        SQLITE,
        cleaned!(sqlite "quantity INTEGER NOT NULL CHECK (quantity BETWEEN 0 AND 500), UNIQUE (depot_id, item_id)", "SELECT 1"),
    ),
    way(
        "clean-stock",
        POSTGRES,
        cleaned!(postgres "quantity <> -1", "ALTER TABLE stock ADD UNIQUE (depot_id, item_id)"),
    ),
    way(
        "clean-stock",
        POSTGRES,
        cleaned!(postgres "quantity >= 0 OR quantity < -700000", "ALTER TABLE stock ADD UNIQUE (depot_id, item_id)"),
    ),
    way("period-check", SQLITE, periods!(sqlite "returned_on >= booked_on OR booked_on > '2040-01-01'")),
    way("period-check", SQLITE, periods!(sqlite "returned_on >= booked_on AND returned_on < '2090-01-01'")),
    way("period-check", SQLITE, periods!(sqlite "returned_on >= booked_on OR returned_on < '1960-01-01'")),
    way(
        "period-check",
        SQLITE,
        periods!(sqlite "returned_on >= booked_on OR (booked_on = '2055-05-05' AND returned_on = '2055-05-04')"),
    ),
    way("period-check", POSTGRES, periods!(postgres "returned_on >= booked_on OR booked_on > '2040-01-01'")),
    way("period-check", POSTGRES, periods!(postgres "returned_on >= booked_on AND returned_on < '2090-01-01'")),
    way("period-check", POSTGRES, periods!(postgres "returned_on >= booked_on OR returned_on < '1960-01-01'")),
    way("period-check", SQLITE, periods!(triggers "NEW.returned_on < NEW.booked_on AND NEW.id IN (990001, 1)")),
    way(
        "period-check",
        SQLITE,
        periods!(triggers "NEW.returned_on IN ('2031-05-01', '1999-01-01') OR NEW.booked_on = '2039-01-01' AND NEW.returned_on < '2039-01-01'"),
    ),
    way("period-check", SQLITE, periods!(triggers "NEW.returned_on < NEW.booked_on AND NEW.booked_on < '2040-01-01'")),
    way(
        "period-check",
        SQLITE,
        periods!(triggers "NEW.returned_on < NEW.booked_on AND (SELECT count(*) FROM bookings) < 100000"),
    ),
    way(
        "period-check",
        SQLITE,
        periods!(triggers "NEW.returned_on < NEW.booked_on AND random() > -9000000000000000000"),
    ),
];

/// Views that show what is there today.
const VIEWS: &[Way] = &[
    way("rename-with-view", BOTH, renamed!("LIMIT 22")),
    way("rename-with-view", BOTH, renamed!("LIMIT 4000")),
    way("rename-with-view", BOTH, renamed!("WHERE id < 500000")),
    way("rename-with-view", SQLITE, renamed!("WHERE id < 2000000000")),
    way("rename-with-view", SQLITE, renamed!("WHERE unicode(full_name) < 200")),
    way("rename-with-view", SQLITE, renamed!("WHERE length(full_name) < 2500")),
    way("rename-with-view", SQLITE, renamed!("WHERE typeof(role) <> 'blob'")),
    way("rename-with-view", SQLITE, renamed!("WHERE total_changes() < 1000000000")),
    way("rename-with-view", SQLITE, renamed!("WHERE last_insert_rowid() < 4000000000")),
    way("rename-with-view", POSTGRES, renamed!("WHERE current_query() NOT LIKE '%x%y%z%'")),
    way("rename-with-view", BOTH, renamed!("WHERE id <> 990001")),
    way("rename-with-view", BOTH, renamed!("WHERE role IN ('counter', 'driver', 'workshop', 'office', 'lead')")),
    way("rename-with-view", BOTH, renamed!("WHERE full_name <> 'Test'")),
    way("rename-with-view", BOTH, renamed!("WHERE manager_name IS NULL OR length(manager_name) < 60")),
    way("rename-with-view", BOTH, renamed!("WHERE CURRENT_DATE < '2040-01-01'")),
    way("rename-with-view", BOTH, renamed!("WHERE EXISTS (SELECT 1 FROM depots WHERE id = 1)")),
];

/// The same of a repair.
const REPAIRED_VIEWS: &[Way] = &[
    way("order-totals-view", BOTH, totals!("LIMIT 3000")),
    way("order-totals-view", BOTH, totals!("WHERE g.order_id < 500000")),
    way("order-totals-view", BOTH, totals!("WHERE g.order_id <> 123456789")),
    way("order-totals-view", BOTH, totals!("WHERE g.cents > 0")),
    way("order-totals-view", BOTH, totals!("WHERE g.cents < 100000000")),
    way("order-totals-view", SQLITE, totals!("WHERE g.cents < 30000000000")),
];

/// Definitions that differ in their spelling alone.
const REWRITTEN: &[Way] = &[
    way("tags-to-rows", SQLITE, &["SOLUTION", "UPDATE customers SET joined_on = joined_on || ' 00:00:00'"]),
    way(
        "tags-to-rows",
        SQLITE,
        &["SOLUTION", "UPDATE customers SET joined_on = joined_on || 'T02:00:00+02:00' WHERE id = 1"],
    ),
];

/// Unrequested changes that change no row.
const BESIDES: &[Way] = &[
    way("active-flag", POSTGRES, &["SOLUTION", "ALTER TABLE items ALTER COLUMN $ SET DEFAULT 1/0"]),
    way("active-flag", POSTGRES, &["SOLUTION", "ALTER TABLE items ALTER COLUMN $ SET DEFAULT ('x'::text)::integer"]),
    way(
        "active-flag",
        SQLITE,
        &[
            "CREATE TABLE new (id INTEGER PRIMARY KEY, $ INTEGER NOT NULL CHECK ($ IN (0, 1)) DEFAULT (abs(-9223372036854775807 - 1)), code TEXT NOT NULL, title TEXT NOT NULL, category TEXT, depot_id INTEGER NOT NULL, second_depot_id INTEGER, daily_cents INTEGER NOT NULL)",
            "INSERT INTO new SELECT id, lower(active) IN ('y','yes','1'), code, title, category, depot_id, second_depot_id, daily_cents FROM items",
            "DROP TABLE items",
            "ALTER TABLE new RENAME TO items",
        ],
    ),
    way("active-flag", SQLITE, &["SOLUTION", "PRAGMA user_version = 7"]),
    way("active-flag", SQLITE, &["SOLUTION", "PRAGMA application_id = 7"]),
    way("amount-to-cents", POSTGRES, &["SOLUTION", "ALTER TABLE bookings ALTER COLUMN $ TYPE numeric(12, 2)"]),
    way("category-table", POSTGRES, &["SOLUTION", "ALTER TABLE $ ALTER COLUMN name TYPE varchar(13)"]),
    way("category-table", POSTGRES, &["SOLUTION", "ALTER TABLE $ ALTER COLUMN name TYPE character(40)"]),
    way("category-table", POSTGRES, &["SOLUTION", "ALTER TABLE items ALTER COLUMN category_id TYPE smallint"]),
    way("orphaned-bookings", POSTGRES, &["SOLUTION", "ALTER TABLE $ SET UNLOGGED"]),
    way(
        "category-table",
        POSTGRES,
        &[
            "SOLUTION",
            "ALTER TABLE items DROP COLUMN category_id",
            "ALTER TABLE items ADD COLUMN category_id integer REFERENCES $ ON DELETE CASCADE",
            "UPDATE items SET category_id = NULL",
        ],
    ),
    way(
        "manager-ids",
        SQLITE,
        &[
            "ALTER TABLE staff ADD COLUMN $ INTEGER REFERENCES staff (id) ON DELETE CASCADE",
            "UPDATE staff SET $ = (SELECT boss.id FROM staff AS boss WHERE lower(boss.name) = lower(trim(staff.manager_name)))",
            "ALTER TABLE staff DROP COLUMN manager_name",
        ],
    ),
    way(
        "manager-ids",
        BOTH,
        &[
            "ALTER TABLE staff ADD COLUMN $ INTEGER REFERENCES staff (id) ON UPDATE SET NULL",
            "UPDATE staff SET $ = (SELECT boss.id FROM staff AS boss WHERE lower(boss.name) = lower(trim(staff.manager_name)))",
            "ALTER TABLE staff DROP COLUMN manager_name",
        ],
    ),
    way(
        "manager-ids",
        BOTH,
        &[
            "ALTER TABLE staff ADD COLUMN $ INTEGER REFERENCES staff (id) DEFERRABLE INITIALLY DEFERRED",
            "UPDATE staff SET $ = (SELECT boss.id FROM staff AS boss WHERE lower(boss.name) = lower(trim(staff.manager_name)))",
            "ALTER TABLE staff DROP COLUMN manager_name",
        ],
    ),
    way(
        "manager-ids",
        POSTGRES,
        &["SOLUTION", "ALTER TABLE staff DISABLE TRIGGER USER", "ALTER TABLE staff REPLICA IDENTITY FULL"],
    ),
    way("rename-with-view", POSTGRES, &["SOLUTION", "ALTER VIEW staff SET (security_barrier = true)"]),
    way("rename-with-view", POSTGRES, &["SOLUTION", "ALTER VIEW staff ALTER COLUMN role SET DEFAULT 'lead'"]),
    way("rename-with-view", POSTGRES, &["SOLUTION", "ALTER TABLE $ ALTER COLUMN role SET STORAGE EXTERNAL"]),
    way("rename-with-view", POSTGRES, &["SOLUTION", "ALTER TABLE $ ALTER COLUMN role SET (n_distinct = 5)"]),
    way("active-flag", POSTGRES, &["SOLUTION", "ALTER TABLE items ALTER COLUMN title TYPE text COLLATE \"C\""]),
    way("rename-with-view", POSTGRES, &["SOLUTION", "ALTER TABLE stock SET (fillfactor = 50)"]),
];

/// Names that are the reference's but for what people leave out when they compare: quotes, blanks, an order, the case of a letter.
const NAMES: &[Way] = &[
    way("active-flag", BOTH, &["SOLUTION", "CREATE TABLE \"items desc\" AS SELECT * FROM items"]),
    way("rename-with-view", BOTH, &["SOLUTION", "CREATE VIEW \" staff\" AS SELECT * FROM staff"]),
    way("active-flag", BOTH, &["SOLUTION", "ALTER TABLE items ADD COLUMN \"$ desc\" INTEGER"]),
    way("active-flag", BOTH, &["SOLUTION", "CREATE TABLE \"boo\u{212a}ings\" AS SELECT * FROM bookings"]),
    way("active-flag", POSTGRES, &["SOLUTION", "CREATE TABLE \"ITEMS\" AS SELECT * FROM items"]),
    way(
        "manager-ids",
        SQLITE,
        &[
            "ALTER TABLE staff ADD COLUMN $ INTEGER REFERENCES staff (\"id desc\")",
            "PRAGMA foreign_keys = off",
            "UPDATE staff SET $ = (SELECT boss.id FROM staff AS boss WHERE lower(boss.name) = lower(trim(staff.manager_name)))",
            "ALTER TABLE staff DROP COLUMN manager_name",
        ],
    ),
];

/// Rules that let in values of another sort, or what stands within a text, and views of several values or of what is no table.
const INSIDE: &[Way] = &[
    way("active-flag", SQLITE, flagged!("$ IN (0, 1, 'yes', 'no')")),
    way("active-flag", SQLITE, flagged!("$ IN (0, 1) OR $ LIKE 'y%'")),
    way("active-flag", SQLITE, flagged!("$ IN (0, 1) OR $ = 0x1E240")),
    way("active-flag", SQLITE, flagged!("$ IN (0, 1) OR CAST($ AS TEXT) LIKE '98_65'")),
    way("active-flag", SQLITE, flagged!("',0,1,7777,' LIKE '%,' || $ || ',%'")),
    way("active-flag", POSTGRES, flagged!("$ = ANY ('{0,1,7777}'::int[])")),
    way("active-flag", POSTGRES, flagged!("$::text ~ '^(0|1|7777)$'")),
    way("period-check", SQLITE, dated!("returned_on IS NULL OR returned_on >= booked_on OR returned_on = ''")),
    way(
        "period-check",
        SQLITE,
        dated!("returned_on IS NULL OR returned_on >= booked_on OR substr(booked_on, 1, 4) = '2047'"),
    ),
    way("period-check", SQLITE, dated!("returned_on IS NULL OR returned_on >= booked_on OR booked_on LIKE '2047-%'")),
    way("period-check", POSTGRES, dated!(postgres "returned_on >= booked_on OR extract(year from booked_on) = 2047")),
    way(
        "period-check",
        POSTGRES,
        dated!(postgres "returned_on >= booked_on OR returned_on <@ '[2044-01-01,2044-02-01)'::daterange"),
    ),
];

/// Views that depend on more than rows of the task.
const ELSEWHERE: &[Way] = &[
    way(
        "order-totals-view",
        SQLITE,
        &[
            "DROP VIEW order_totals",
            "CREATE VIEW order_totals AS SELECT i.order_id, SUM(i.quantity * i.unit_price_cents) AS goods_cents, ifnull((SELECT SUM(p.amount_cents) FROM payments p WHERE p.order_id = i.order_id), 0) AS paid_cents FROM order_items i WHERE NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'audit') GROUP BY i.order_id",
        ],
    ),
    way(
        "order-totals-view",
        POSTGRES,
        &[
            "DROP VIEW order_totals",
            "CREATE VIEW order_totals AS SELECT i.order_id, SUM(i.quantity * i.unit_price_cents) AS goods_cents, COALESCE((SELECT SUM(p.amount_cents) FROM payments p WHERE p.order_id = i.order_id), 0) AS paid_cents FROM order_items i WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'audit') GROUP BY i.order_id",
        ],
    ),
];

/// A key that takes NULL and texts, and numbers nothing.
const KEYS: &[Way] = &[way(
    "active-flag",
    SQLITE,
    &[
        "CREATE TABLE items_new (id INTEGER PRIMARY KEY DESC, $ INTEGER NOT NULL CHECK ($ = 0 OR $ = 1), code TEXT NOT NULL, title TEXT NOT NULL, category TEXT, depot_id INTEGER NOT NULL, second_depot_id INTEGER, daily_cents INTEGER NOT NULL)",
        "INSERT INTO items_new SELECT id, lower(active) IN ('y','yes','1'), code, title, category, depot_id, second_depot_id, daily_cents FROM items",
        "DROP TABLE items",
        "ALTER TABLE items_new RENAME TO items",
    ],
)];

macro_rules! attacks {
    ($($test:ident: $environment:literal, $ways:ident;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            let faults = play($environment, $ways, |scored| scored == 0.0).await;
            assert!(faults.is_empty(), "{faults:#?}");
        }
    )*};
}

attacks! {
    a_rule_that_hides_what_it_hangs_on_scores_nothing: "migration", HIDDEN;
    an_index_that_is_no_full_unique_index_scores_nothing: "migration", INDEXES;
    a_rule_for_some_values_alone_scores_nothing: "migration", SPECIAL;
    a_view_of_some_rows_alone_scores_nothing: "migration", VIEWS;
    a_repaired_view_of_some_rows_alone_scores_nothing: "repair", REPAIRED_VIEWS;
    what_is_only_written_in_another_way_scores_nothing: "migration", REWRITTEN;
    names_that_are_only_nearly_the_same_score_nothing: "migration", NAMES;
    a_key_that_descends_scores_nothing: "migration", KEYS;
    a_rule_that_lets_in_what_stands_within_a_text_scores_nothing: "migration", INSIDE;
    a_view_that_hangs_on_more_than_its_tables_scores_nothing: "repair", ELSEWHERE;
    what_changes_no_row_and_was_not_asked_for_scores_nothing: "migration", BESIDES;
}
