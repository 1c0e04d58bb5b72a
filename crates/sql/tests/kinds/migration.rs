//! Migrations: the reference and nothing less than it is right, on data that nobody saw.

use palestra_sql::session::Submitted;
use palestra_sql::task::Task;
use palestra_sql::template::DrawnTask;
use palestra_sql::value::Dialect;
use serde_json::json;

use crate::form::thorough;
use crate::ground::{Engines, ask, neighbours, played, score, solution, suite, words};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reference_is_right_in_every_split() {
    let suite = suite("migration");
    let engines = Engines::start().await;
    for engine in &engines.all {
        let dialect = engine.dialect();
        for split in ["train", "test"] {
            if split == "test" && !thorough(engine.dialect()) {
                continue;
            }
            for DrawnTask { task, .. } in neighbours(&suite, split) {
                let statements = solution(&task, dialect);
                let scored = match split {
                    "train" => played(engine, &suite, &task, &statements, &json!({})).await,
                    _ => score(engine, &suite, &task, &statements, DONE).await,
                };
                assert_eq!(scored, 1.0, "{} {split} on {}", task.template, dialect.name());
            }
        }
    }
    engines.stop().await;
}

/// The end of a migration is handed in.
const DONE: Option<Submitted> = Some(Submitted::State);

/// Without its last statement a reference gains nothing, nor without any, nor with harm on top.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_a_migration_is_none() {
    let suite = suite("migration");
    let engines = Engines::start().await;
    for engine in &engines.all {
        let name = engine.dialect().name();
        let tasks =
            neighbours(&suite, "train").into_iter().take(if thorough(engine.dialect()) { usize::MAX } else { 4 });
        for (place, DrawnTask { task, .. }) in tasks.enumerate() {
            let mut statements = solution(&task, engine.dialect());
            let last = statements.len() - 1;
            // A few templates stand for all where the same is tried on each.
            let tried = if place < 4 { vec![0, last] } else { vec![last] };
            for done in tried {
                let scored = score(engine, &suite, &task, &statements[..done], DONE).await;
                assert_eq!(scored, 0.0, "{}: {done} statements on {name}", task.template);
            }
            if place >= 4 {
                continue;
            }
            // A table that no task touches but one, which is not among these.
            let harm = "UPDATE depots SET city = 'Nowhere' WHERE id = 1";
            statements.push(harm.to_owned());
            let scored = score(engine, &suite, &task, &statements, DONE).await;
            assert_eq!(scored, 0.0, "{}: with harm on {name}", task.template);
        }
    }
    engines.stop().await;
}

/// A solution that writes down the outcome in place of a rule is found out by the other data.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copied_outcomes_are_wrong_on_other_data() {
    let suite = suite("migration");
    let engines = Engines::start().await;
    for engine in &engines.all {
        let task = suite.drawn("active-flag", "train", 4).expect("a task").task;
        let query = "SELECT id FROM items WHERE lower(active) IN ('y', 'yes', '1')";
        let active = ask(engine, &suite, &task.data, &[query]).await;
        let ids: Vec<String> = active[0].rows.iter().map(|row| words(&row[0])).collect();
        let mut statements = solution(&task, engine.dialect());
        assert!(statements[1].starts_with("UPDATE"), "{}", statements[1]);
        let set = statements[1].split_once(" = CASE").expect("a rule").0.to_owned();
        statements[1] = format!("{set} = CASE WHEN id IN ({}) THEN 1 ELSE 0 END", ids.join(", "));
        assert_eq!(score(engine, &suite, &task, &statements, DONE).await, 0.0);
        // On its own data it would have been right: the other data alone told.
        let alone = Task { others: Vec::new(), ..task };
        assert_eq!(score(engine, &suite, &alone, &statements, DONE).await, 1.0);
    }
    engines.stop().await;
}

/// A rule can be kept by other means than the reference's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_way_to_the_same_end_is_right() {
    let suite = suite("migration");
    let engines = Engines::start().await;
    for engine in engines.all.iter().filter(|engine| engine.dialect() == Dialect::Sqlite) {
        let task = suite.drawn("period-check", "train", 0).expect("a task").task;
        let by_triggers = [
            "UPDATE bookings SET returned_on = NULL WHERE returned_on < booked_on",
            "CREATE TRIGGER early_insert BEFORE INSERT ON bookings WHEN NEW.returned_on < NEW.booked_on \
             BEGIN SELECT RAISE(ABORT, 'returned too early'); END",
            "CREATE TRIGGER early_update BEFORE UPDATE ON bookings WHEN NEW.returned_on < NEW.booked_on \
             BEGIN SELECT RAISE(ABORT, 'returned too early'); END",
        ];
        let statements = by_triggers.map(str::to_owned);
        assert_eq!(score(engine, &suite, &task, &statements, DONE).await, 1.0);
        assert_eq!(score(engine, &suite, &task, &statements[..2], DONE).await, 0.0);
    }
    for engine in &engines.all {
        // Other ids than the reference's, which the task leaves open.
        let task = suite.drawn("category-table", "train", 0).expect("a task").task;
        let statements: Vec<String> = solution(&task, engine.dialect())
            .into_iter()
            .map(|sql| sql.replace("row_number() OVER (ORDER BY name)", "100 - row_number() OVER (ORDER BY name)"))
            .collect();
        assert_eq!(score(engine, &suite, &task, &statements, DONE).await, 1.0);
    }
    engines.stop().await;
}
