//! Near misses of a migration or a repair, which change something else or only pretend.

use super::{BOTH, POSTGRES, SQLITE, Way, play};

const fn way(dialects: &'static [palestra_sql::value::Dialect], statements: &'static [&'static str]) -> Way {
    Way { template: "active-flag", dialects, statements }
}

const MIGRATIONS: &[Way] = &[
    // The old column stays under another name, and the new one is worked out of it.
    way(
        SQLITE,
        &[
            "ALTER TABLE items RENAME COLUMN active TO zz",
            "ALTER TABLE items ADD COLUMN $ INTEGER GENERATED ALWAYS AS (CASE WHEN lower(zz) IN ('y','yes','1') THEN 1 ELSE 0 END) VIRTUAL",
        ],
    ),
    way(
        POSTGRES,
        &[
            "ALTER TABLE items RENAME COLUMN active TO zz",
            "ALTER TABLE items ADD COLUMN $ integer NOT NULL GENERATED ALWAYS AS (CASE WHEN lower(zz) IN ('y','yes','1') THEN 1 ELSE 0 END) STORED",
        ],
    ),
    // A view in the table's place.
    way(
        BOTH,
        &[
            "ALTER TABLE items RENAME TO items_old",
            "CREATE VIEW items AS SELECT id, code, title, category, depot_id, second_depot_id, daily_cents, CASE WHEN lower(active) IN ('y','yes','1') THEN 1 ELSE 0 END AS $ FROM items_old",
        ],
    ),
    // What was asked for, and something besides.
    way(BOTH, &["SOLUTION", "CREATE TABLE items_copy AS SELECT * FROM items"]),
    way(BOTH, &["SOLUTION", "ALTER TABLE items ADD COLUMN note TEXT"]),
    way(BOTH, &["SOLUTION", "ALTER TABLE items RENAME COLUMN title TO name"]),
    way(BOTH, &["SOLUTION", "CREATE VIEW active_items AS SELECT * FROM items"]),
    way(BOTH, &["SOLUTION", "CREATE UNIQUE INDEX more ON items (code, title)"]),
    way(BOTH, &["SOLUTION", "CREATE UNIQUE INDEX more ON items (id) WHERE id > 100"]),
    way(BOTH, &["SOLUTION", "CREATE INDEX more ON items ((abs(daily_cents)))"]),
    way(BOTH, &["SOLUTION", "CREATE INDEX more ON items (code) WHERE daily_cents > 5"]),
    way(BOTH, &["SOLUTION", "UPDATE items SET daily_cents = daily_cents + 1 WHERE id = 3"]),
    way(BOTH, &["SOLUTION", "INSERT INTO stock (id, depot_id, item_id, quantity) VALUES (990007, 1, 1, 1)"]),
    way(BOTH, &["SOLUTION", "DROP TABLE staff"]),
    way(BOTH, &["SOLUTION", "ALTER TABLE staff RENAME TO people"]),
    // No rule but a trigger, which may not be, and one that does harm later.
    way(
        SQLITE,
        &[
            "ALTER TABLE items ADD COLUMN $ INTEGER",
            "UPDATE items SET $ = CASE WHEN lower(active) IN ('y','yes','1') THEN 1 ELSE 0 END",
            "ALTER TABLE items DROP COLUMN active",
            "CREATE TRIGGER x BEFORE UPDATE ON items BEGIN SELECT RAISE(ABORT, 'no'); END",
        ],
    ),
    way(SQLITE, &["SOLUTION", "CREATE TRIGGER x AFTER INSERT ON stock BEGIN DELETE FROM stock WHERE id = NEW.id; END"]),
    way(SQLITE, &["SOLUTION", "CREATE TRIGGER x AFTER INSERT ON items BEGIN DELETE FROM items WHERE id = NEW.id; END"]),
    // The table is made again, and is another one.
    way(
        SQLITE,
        &[
            "CREATE TABLE new (id INTEGER PRIMARY KEY AUTOINCREMENT, code TEXT NOT NULL, title TEXT NOT NULL, category TEXT, depot_id INTEGER NOT NULL, second_depot_id INTEGER, daily_cents INTEGER NOT NULL, $ INTEGER NOT NULL CHECK ($ IN (0, 1)))",
            "INSERT INTO new SELECT id, code, title, category, depot_id, second_depot_id, daily_cents, CASE WHEN lower(active) IN ('y','yes','1') THEN 1 ELSE 0 END FROM items",
            "DROP TABLE items",
            "ALTER TABLE new RENAME TO items",
        ],
    ),
    way(
        SQLITE,
        &[
            "CREATE TABLE new (id INTEGER PRIMARY KEY, code TEXT NOT NULL COLLATE NOCASE, title TEXT NOT NULL, category TEXT, depot_id INTEGER NOT NULL, second_depot_id INTEGER, daily_cents INTEGER NOT NULL, $ INTEGER NOT NULL CHECK ($ IN (0, 1)))",
            "INSERT INTO new SELECT id, code, title, category, depot_id, second_depot_id, daily_cents, CASE WHEN lower(active) IN ('y','yes','1') THEN 1 ELSE 0 END FROM items",
            "DROP TABLE items",
            "ALTER TABLE new RENAME TO items",
        ],
    ),
    way(
        SQLITE,
        &[
            "CREATE TABLE new (id INTEGER PRIMARY KEY ON CONFLICT REPLACE, code TEXT NOT NULL, title TEXT NOT NULL, category TEXT, depot_id INTEGER NOT NULL, second_depot_id INTEGER, daily_cents INTEGER NOT NULL, $ INTEGER NOT NULL CHECK ($ IN (0, 1)))",
            "INSERT INTO new SELECT id, code, title, category, depot_id, second_depot_id, daily_cents, CASE WHEN lower(active) IN ('y','yes','1') THEN 1 ELSE 0 END FROM items",
            "DROP TABLE items",
            "ALTER TABLE new RENAME TO items",
        ],
    ),
    way(
        SQLITE,
        &[
            "CREATE TABLE new (id INTEGER PRIMARY KEY, code TEXT, title TEXT NOT NULL, category TEXT, depot_id INTEGER NOT NULL, second_depot_id INTEGER, daily_cents INTEGER NOT NULL DEFAULT 7, $ INTEGER NOT NULL CHECK ($ IN (0, 1)))",
            "INSERT INTO new SELECT id, code, title, category, depot_id, second_depot_id, daily_cents, CASE WHEN lower(active) IN ('y','yes','1') THEN 1 ELSE 0 END FROM items",
            "DROP TABLE items",
            "ALTER TABLE new RENAME TO items",
        ],
    ),
    way(
        SQLITE,
        &[
            "ALTER TABLE items ADD COLUMN $ INTEGER NOT NULL DEFAULT 0 CHECK ($ IN (0, 1) AND id < 990000)",
            "UPDATE items SET $ = CASE WHEN lower(active) IN ('y','yes','1') THEN 1 ELSE 0 END",
            "ALTER TABLE items DROP COLUMN active",
        ],
    ),
    way(POSTGRES, &["SOLUTION", "ALTER TABLE items ADD CHECK (daily_cents > 0)"]),
    way(POSTGRES, &["SOLUTION", "ALTER TABLE items ALTER COLUMN daily_cents DROP NOT NULL"]),
    way(POSTGRES, &["SOLUTION", "ALTER TABLE items ALTER COLUMN daily_cents TYPE numeric"]),
    way(POSTGRES, &["SOLUTION", "ALTER TABLE items ALTER COLUMN daily_cents SET DEFAULT 7"]),
    way(POSTGRES, &["SOLUTION", "ALTER TABLE items ENABLE ROW LEVEL SECURITY"]),
    way(POSTGRES, &["SOLUTION", "ALTER TABLE stock SET UNLOGGED"]),
    way(POSTGRES, &["SOLUTION", "CREATE DOMAIN flag AS integer CHECK (VALUE IN (0, 1))"]),
    way(POSTGRES, &["SOLUTION", "CREATE TYPE pair AS (a integer, b integer)"]),
    way(POSTGRES, &["SOLUTION", "CREATE SEQUENCE numbers"]),
    way(POSTGRES, &["SOLUTION", "CREATE MATERIALIZED VIEW kept AS SELECT * FROM items"]),
    way(POSTGRES, &["SOLUTION", "CREATE TABLE more () INHERITS (stock)"]),
    way(
        POSTGRES,
        &[
            "SOLUTION",
            "CREATE TRIGGER x BEFORE UPDATE ON items FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        ],
    ),
    way(
        POSTGRES,
        &[
            "ALTER TABLE items ADD COLUMN $ integer NOT NULL DEFAULT 0",
            "UPDATE items SET $ = CASE WHEN lower(active) IN ('y','yes','1') THEN 1 ELSE 0 END",
            "ALTER TABLE items ADD CHECK ($ IN (0, 1)) NOT VALID",
            "ALTER TABLE items DROP COLUMN active",
        ],
    ),
    // Other templates: extra rules where a rule is asked for.
    Way {
        template: "period-check",
        dialects: SQLITE,
        statements: &["SOLUTION", "CREATE TRIGGER x BEFORE UPDATE ON bookings BEGIN SELECT RAISE(ABORT, 'no'); END"],
    },
    Way {
        template: "period-check",
        dialects: SQLITE,
        statements: &["SOLUTION", "CREATE TRIGGER x AFTER INSERT ON bookings BEGIN DELETE FROM payments; END"],
    },
    Way {
        template: "rename-with-view",
        dialects: SQLITE,
        statements: &["SOLUTION", "CREATE TRIGGER x INSTEAD OF UPDATE ON staff BEGIN SELECT RAISE(ABORT, 'no'); END"],
    },
    Way {
        template: "rename-with-view",
        dialects: POSTGRES,
        statements: &[
            "SOLUTION",
            "DROP VIEW staff",
            "CREATE MATERIALIZED VIEW staff AS SELECT id, full_name AS name, role, manager_name FROM $",
        ],
    },
    Way { template: "category-table", dialects: BOTH, statements: &["SOLUTION", "ALTER TABLE $ ADD COLUMN note TEXT"] },
    Way {
        template: "category-table",
        dialects: BOTH,
        statements: &["SOLUTION", "INSERT INTO $ (id, name) VALUES (990001, 'other')"],
    },
    Way {
        template: "merge-customers",
        dialects: BOTH,
        statements: &["SOLUTION", "CREATE UNIQUE INDEX more ON customers (full_name, id)"],
    },
];

const REPAIRS: &[Way] = &[
    // A table, or what is kept, in place of the view.
    Way {
        template: "order-totals-view",
        dialects: BOTH,
        statements: &[
            "SOLUTION",
            "CREATE TABLE kept AS SELECT * FROM order_totals",
            "DROP VIEW order_totals",
            "CREATE VIEW order_totals AS SELECT * FROM kept",
        ],
    },
    Way {
        template: "order-totals-view",
        dialects: BOTH,
        statements: &[
            "SOLUTION",
            "CREATE TABLE kept AS SELECT * FROM order_totals",
            "DROP VIEW order_totals",
            "ALTER TABLE kept RENAME TO order_totals",
        ],
    },
    Way {
        template: "order-totals-view",
        dialects: BOTH,
        statements: &["SOLUTION", "CREATE VIEW more AS SELECT * FROM order_totals"],
    },
    Way {
        template: "order-totals-view",
        dialects: BOTH,
        statements: &["SOLUTION", "ALTER TABLE orders ADD COLUMN note TEXT"],
    },
    Way {
        template: "order-totals-view",
        dialects: SQLITE,
        statements: &["SOLUTION", "CREATE TRIGGER x AFTER INSERT ON payments BEGIN DELETE FROM payments; END"],
    },
    Way {
        template: "staffing-view",
        dialects: BOTH,
        statements: &["SOLUTION", "DELETE FROM assignments WHERE employee_id = 901"],
    },
    Way {
        template: "staffing-view",
        dialects: POSTGRES,
        statements: &["SOLUTION", "ALTER TABLE assignments ADD CHECK (percent > 0)"],
    },
    Way {
        template: "staffing-view",
        dialects: POSTGRES,
        statements: &["SOLUTION", "CREATE MATERIALIZED VIEW kept AS SELECT * FROM staffing"],
    },
    Way {
        template: "available-titles-view",
        dialects: BOTH,
        statements: &["SOLUTION", "CREATE UNIQUE INDEX more ON copies (id, book_id)"],
    },
    Way {
        template: "available-titles-view",
        dialects: SQLITE,
        statements: &["SOLUTION", "ALTER TABLE loans ADD COLUMN late INTEGER GENERATED ALWAYS AS (1) VIRTUAL"],
    },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_changes_anything_else_scores_nothing() {
    let faults = play("migration", MIGRATIONS, |scored| scored == 0.0).await;
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repair_that_changes_anything_else_scores_nothing() {
    let faults = play("repair", REPAIRS, |scored| scored == 0.0).await;
    assert!(faults.is_empty(), "{faults:#?}");
}
