//! Tuning: what is untouched misses the budget, what solves it fits, and the result stays. The usual form tries every template on both
//! engines in one split, and a part of them in another and untouched; `PALESTRA_SUITES=all` everything everywhere.

use std::sync::Arc;

use palestra_sql::engine::Engine;
use palestra_sql::session::Submitted;
use palestra_sql::task::{Check, Spoken, Submission, Task};
use palestra_sql::template::{DrawnTask, Suite};
use palestra_sql::value::Dialect;

use crate::form::{everything, thorough};
use crate::ground::{
    Engines, arguments, ask, handed_in, neighbours, neighbours_of, played, score, solution, spoken, suite, templates,
    words,
};

/// Of so many templates one is tried where only a part of them is.
const PART: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn solutions_fit_the_budget_and_what_is_untouched_does_not() {
    let suite = suite("tuning");
    let engines = Engines::start().await;
    for split in ["train", "test"] {
        let tasks = neighbours(&suite, split);
        for engine in &engines.all {
            if split == "test" && !thorough(engine.dialect()) {
                continue;
            }
            for (place, DrawnTask { task, wrong, .. }) in tasks.iter().enumerate() {
                if split == "test" && !everything() && !place.is_multiple_of(PART) {
                    continue;
                }
                fits(engine, &suite, task, split, place).await;
                falls_short(engine, &suite, task, wrong).await;
            }
        }
    }
    engines.stop().await;
}

async fn fits(engine: &Arc<dyn Engine>, suite: &Arc<Suite>, task: &Task, split: &str, place: usize) {
    let dialect = engine.dialect();
    let (statements, right) = (solution(task, dialect), handed_in(task, dialect));
    if split == "test" {
        let scored = score(engine, suite, task, &statements, Some(right)).await;
        assert_eq!(scored, 1.0, "{} on {}", task.template, dialect.name());
        return;
    }
    let scored = played(engine, suite, task, &statements, &arguments(&right)).await;
    assert_eq!(scored, 1.0, "{} on {}", task.template, dialect.name());
    if !place.is_multiple_of(PART) && !thorough(engine.dialect()) {
        return;
    }
    // The state as it was, or the slow query itself.
    let untouched = match task.submission {
        Submission::Sql => Submitted::Sql(slow(task, dialect)),
        _ => Submitted::State,
    };
    let scored = score(engine, suite, task, &[], Some(untouched)).await;
    assert_eq!(scored, 0.0, "{} untouched on {}", task.template, dialect.name());
}

/// Near misses of the template: queries that come close to the budget.
async fn falls_short(engine: &Arc<dyn Engine>, suite: &Arc<Suite>, task: &Task, wrong: &[Spoken]) {
    for text in wrong {
        let sql = spoken(text, engine.dialect()).to_owned();
        let scored = score(engine, suite, task, &[], Some(Submitted::Sql(sql.clone()))).await;
        assert_eq!(scored, 0.0, "{} on {}: {sql}", task.template, engine.dialect().name());
    }
}

fn slow(task: &Task, dialect: Dialect) -> String {
    let query = task.checks.iter().find_map(|check| match &check.check {
        Check::Plan { query, baseline, .. } => query.as_ref().or(baseline.as_ref()),
        _ => None,
    });
    spoken(query.expect("a slow query"), dialect).to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missed_budgets_and_changed_results_are_refused() {
    let suite = suite("tuning");
    let engines = Engines::start().await;
    let names: Vec<String> = templates(&suite).into_iter().filter(|name| is_misused(name)).collect();
    let tasks: Vec<Task> = neighbours_of(&suite, "train", &names).into_iter().map(|drawn| drawn.task).collect();
    for engine in &engines.all {
        indexes_of_other_columns_do_not_help(engine, &suite, &tasks).await;
        more_indexes_than_allowed_and_changed_data_are_refused(engine, &suite, &tasks).await;
        fast_queries_with_other_results_are_refused(engine, &suite, &tasks).await;
    }
    engines.stop().await;
}

/// Templates that are answered with what does not fit: indexes, and two queries.
fn is_misused(name: &str) -> bool {
    name.starts_with("index-") || ["rewrite-key-as-text", "rewrite-many-counts"].contains(&name)
}

fn named<'a>(tasks: &'a [Task], template: &str) -> &'a Task {
    tasks.iter().find(|task| task.template == template).expect("a template")
}

async fn indexes_of_other_columns_do_not_help(engine: &Arc<dyn Engine>, suite: &Arc<Suite>, tasks: &[Task]) {
    let wrong = [
        ("index-customer-parcels", "CREATE INDEX other ON parcels (status)"),
        ("index-device-window", "CREATE INDEX other ON scans (device)"),
        ("index-device-window", "CREATE INDEX other ON scans (scanned_at)"),
        ("index-dearest-of-depot", "CREATE INDEX other ON parcels (depot_id)"),
        ("index-complaints-of-customer", "CREATE INDEX other ON complaints (parcel_id)"),
        ("index-overdue-invoices", "CREATE INDEX other ON invoices (paid_on)"),
        ("index-email-any-case", "CREATE INDEX other ON customers (email)"),
        ("index-last-scan-of-depot", "CREATE INDEX other ON scans (depot_id)"),
        ("index-lost-parcels", "CREATE INDEX other ON parcels (courier_id)"),
        ("index-quiet-customers", "CREATE INDEX other ON parcels (sent_on, customer_id)"),
    ];
    for (template, index) in wrong.into_iter().take(if thorough(engine.dialect()) { usize::MAX } else { 3 }) {
        let task = named(tasks, template);
        let scored = score(engine, suite, task, &[index.to_owned()], Some(Submitted::State)).await;
        assert_eq!(scored, 0.0, "{template}: {index} on {}", engine.dialect().name());
    }
}

async fn more_indexes_than_allowed_and_changed_data_are_refused(
    engine: &Arc<dyn Engine>,
    suite: &Arc<Suite>,
    tasks: &[Task],
) {
    let task = named(tasks, "index-customer-parcels");
    for extra in ["CREATE INDEX more ON parcels (status)", "DELETE FROM parcels WHERE id = 1"] {
        let mut statements = solution(task, engine.dialect());
        statements.push(extra.to_owned());
        assert_eq!(score(engine, suite, task, &statements, Some(Submitted::State)).await, 0.0, "{extra}");
    }
}

/// A fast query with another result is no solution, nor is the result itself.
async fn fast_queries_with_other_results_are_refused(engine: &Arc<dyn Engine>, suite: &Arc<Suite>, tasks: &[Task]) {
    let task = named(tasks, "rewrite-key-as-text");
    let wrong = "SELECT id, tracking_code, status, sent_on FROM parcels WHERE id = 0".to_owned();
    assert_eq!(score(engine, suite, task, &[], Some(Submitted::Sql(wrong))).await, 0.0);
    assert_eq!(score(engine, suite, task, &[], None).await, 0.0, "nothing at all");
    let task = named(tasks, "rewrite-many-counts");
    let results = ask(engine, suite, &task.data, &[&slow(task, engine.dialect())]).await;
    let row = &results[0].rows[0];
    let literal = format!("SELECT {}", row.iter().map(words).collect::<Vec<_>>().join(", "));
    assert_eq!(score(engine, suite, task, &[], Some(Submitted::Sql(literal))).await, 0.0);
}
