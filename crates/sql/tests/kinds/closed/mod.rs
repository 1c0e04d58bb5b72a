//! Migrations and repairs in a closed world: nothing but what was asked for may have changed, and what was asked for may be done in
//! any way that the task leaves free. The usual form plays every way on SQLite and a part on PostgreSQL; `PALESTRA_SUITES=all` all.

mod attacks;
mod honest;
mod hostile;

use std::sync::Arc;

use palestra_sql::engine::Engine;
use palestra_sql::session::Submitted;
use palestra_sql::task::{Check, Task};
use palestra_sql::template::Suite;
use palestra_sql::value::Dialect;

use crate::form::everything;
use crate::ground::{Engines, score, solution, suite};

/// A way to do a task: its template, in which dialects it can be done like this, and the statements. `$` is the name that the task
/// draws, and `SOLUTION` the statements of the template's own.
struct Way {
    template: &'static str,
    dialects: &'static [Dialect],
    statements: &'static [&'static str],
}

const BOTH: &[Dialect] = &[Dialect::Sqlite, Dialect::Postgres];
const SQLITE: &[Dialect] = &[Dialect::Sqlite];
const POSTGRES: &[Dialect] = &[Dialect::Postgres];

/// Of so many ways one is played on PostgreSQL in the usual form.
const POSTGRES_EVERY: usize = 4;

/// Name that the task drew: the name that is right in every place where its text has it.
fn drawn_name(task: &Task) -> String {
    let names = [
        "is_active",
        "in_use",
        "lendable",
        "amount_cents",
        "charged_cents",
        "total_cents",
        "categories",
        "item_categories",
        "groups_of_items",
        "item_depots",
        "depot_items",
        "item_locations",
        "manager_id",
        "reports_to",
        "boss_id",
        "orphaned_bookings",
        "lost_bookings",
        "bookings_to_review",
        "depot_phones",
        "phones",
        "phone_numbers",
        "employees",
        "people",
        "colleagues",
        "orphaned_payments",
        "unassigned_payments",
        "payments_to_review",
        "customer_contacts",
        "contacts",
        "contact_details",
        "booking_statuses",
        "statuses",
        "booking_states",
        "customer_tags",
        "customer_labels",
        "tags_of_customers",
    ];
    let marked = |name: &&&str| {
        let text = &task.instruction;
        text.contains(&format!("table {name} "))
            || text.contains(&format!("column {name} "))
            || text.contains(&format!("table {name}."))
            || text.contains(&format!("called {name},"))
    };
    names.iter().find(marked).map(|name| (*name).to_owned()).unwrap_or_default()
}

fn statements(way: &Way, task: &Task, dialect: Dialect) -> Vec<String> {
    let name = drawn_name(task);
    let mut all = Vec::new();
    for statement in way.statements {
        if *statement == "SOLUTION" {
            all.extend(solution(task, dialect));
        } else {
            assert!(!statement.contains('$') || !name.is_empty(), "{}: {}", task.template, task.instruction);
            all.push(statement.replace('$', &name));
        }
    }
    all
}

/// Plays ways of an environment, and says which did not score what they should.
async fn play(environment: &str, ways: &[Way], right: impl Fn(f64) -> bool) -> Vec<String> {
    let suite = suite(environment);
    let engines = Engines::start().await;
    let mut faults = Vec::new();
    for engine in &engines.all {
        let dialect = engine.dialect();
        let ways = ways.iter().filter(|way| way.dialects.contains(&dialect)).enumerate();
        for (place, way) in ways {
            if dialect == Dialect::Postgres && !everything() && !place.is_multiple_of(POSTGRES_EVERY) {
                continue;
            }
            let scored = score_of(engine, &suite, way).await;
            if !right(scored) {
                faults.push(format!("{} on {}: {scored} for {:?}", way.template, dialect.name(), way.statements));
            }
        }
    }
    engines.stop().await;
    faults
}

async fn score_of(engine: &Arc<dyn Engine>, suite: &Arc<Suite>, way: &Way) -> f64 {
    let task = suite.drawn(way.template, "train", 0).expect("a task").task;
    assert!(
        task.checks.iter().any(|check| check.required && matches!(check.check, Check::Whole { .. })),
        "{}: the whole database is compared",
        way.template
    );
    let statements = statements(way, &task, engine.dialect());
    score(engine, suite, &task, &statements, Some(Submitted::State)).await
}

#[test]
fn every_task_that_is_judged_by_its_state_is_judged_by_the_whole_of_it() {
    for name in ["migration", "repair", "policy", "tuning"] {
        let suite = suite(name);
        for (template, _) in suite.templates() {
            let task = suite.drawn(template, "train", 0).expect("a task").task;
            if task.submission == palestra_sql::task::Submission::State {
                let whole = |check: &Check| matches!(check, Check::Whole { .. });
                assert!(task.checks.iter().any(|check| check.required && whole(&check.check)), "{name}/{template}");
            }
        }
    }
}
