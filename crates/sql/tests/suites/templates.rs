//! Invariants of every template.

use std::sync::Arc;

use palestra_sql::compare::{Grid, difference};
use palestra_sql::engine::Engine;
use palestra_sql::mutate;
use palestra_sql::task::{Check, Compare, Spoken, Submission, Task};
use palestra_sql::template::{DrawnTask, Suite};
use palestra_sql::value::Dialect;

use crate::form::thorough;
use crate::play::{Moves, Table};
use crate::stage;

/// Of so many templates one is answered wrongly too where not everything is tried.
const WRONG_EVERY: usize = 3;

/// Tasks of every template, split and seed, those of one template together.
fn tasks(suite: &Suite) -> Vec<Vec<DrawnTask>> {
    let names: Vec<String> = suite.templates().map(|(name, _)| name.to_owned()).collect();
    assert!(names.len() >= 12, "{} templates", names.len());
    let drawn = |name: &String| {
        let splits = ["train", "test"].into_iter().flat_map(|split| (0..stage::seeds()).map(move |seed| (split, seed)));
        let one = |(split, seed)| {
            suite.drawn(name, split, seed).unwrap_or_else(|fault| panic!("{name} {split} {seed}: {fault}"))
        };
        splits.map(one).collect()
    };
    names.iter().map(drawn).collect()
}

fn spoken(text: &Spoken, dialect: Dialect) -> String {
    text.in_dialect(dialect).expect("both dialects").to_owned()
}

/// The solution scores 1; nothing else that is tried scores anything.
pub(crate) async fn check(name: &str, engine: Arc<dyn Engine>) {
    let suite = Arc::new(stage::suite(name));
    let table = Table { engine, library: Arc::clone(&suite) as Arc<_> };
    let dialect = table.engine.dialect();
    let all = tasks(&suite);
    let thorough = thorough(dialect);
    let mut faults = Vec::new();
    for (number, of_template) in all.iter().enumerate() {
        let stranger = &all[(number + 1) % all.len()][0];
        for drawn in of_template.iter().take(if thorough { usize::MAX } else { 1 }) {
            let task = &drawn.task;
            let label = format!("{} on {:?}", task.template, task.data);
            let solved = table.play(task, &solution(task, dialect)).await;
            if (solved.score - 1.0).abs() > 1e-9 {
                faults.push(format!("{label}: the solution scores {} {:#?}", solved.score, solved.notes));
            }
            // The usual form tries one of them on every third template.
            if !thorough && !number.is_multiple_of(WRONG_EVERY) {
                continue;
            }
            let attempts = attempts(&table, drawn, stranger, dialect).await;
            let most = if thorough { attempts.len() } else { 1 };
            for (what, moves) in attempts.into_iter().take(most) {
                let outcome = table.play(task, &moves).await;
                if outcome.score > 0.0 {
                    faults.push(format!("{label}: {what} scores {} with {moves:?}", outcome.score));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

fn solution(task: &Task, dialect: Dialect) -> Moves {
    let handed_in = task.solution_submission.as_ref().map(|text| spoken(text, dialect));
    Moves {
        steps: task.solution.iter().map(|text| spoken(text, dialect)).collect(),
        submission: Some(handed_in.unwrap_or_default()),
    }
}

/// Attempts that must not score: nothing at all, what the template calls wrong, what solves another template, and results that are known
/// by heart.
async fn attempts(
    table: &Table,
    drawn: &DrawnTask,
    stranger: &DrawnTask,
    dialect: Dialect,
) -> Vec<(&'static str, Moves)> {
    let task = &drawn.task;
    let handed = |text: &str| Moves { steps: Vec::new(), submission: Some(text.to_owned()) };
    let mut attempts = Vec::new();
    for wrong in &drawn.wrong {
        let text = spoken(wrong, dialect);
        attempts.push(match task.submission {
            Submission::State => ("a wrong way", Moves { steps: vec![text], submission: Some(String::new()) }),
            Submission::Sql | Submission::Answer => ("a wrong answer", handed(&text)),
        });
    }
    attempts.push(("giving up", Moves::default()));
    match task.submission {
        Submission::State => {
            attempts.push(("doing nothing", handed("")));
            attempts.push(("another template's solution", solution(&stranger.task, dialect)));
        }
        Submission::Answer => attempts.push(("an empty answer", handed("unknown"))),
        Submission::Sql => {
            attempts.push(("a constant", handed("SELECT 1")));
            attempts.push(("another template's reference", handed(&spoken(&stranger.gold, dialect))));
            let result = table.rows(&task.data, &task.setup, &spoken(&drawn.gold, dialect)).await;
            assert!(!result.rows.is_empty(), "{}: the reference gives nothing", task.template);
            if !task.others.is_empty() {
                let by_heart = mutate::hard_coded(result.columns.len(), &result.rows);
                attempts.push(("a result that is known by heart", handed(&by_heart.sql)));
            }
        }
    }
    attempts
}

/// References give the same rows on both engines, and other rows on every other data.
pub(crate) async fn check_alike(name: &str, sqlite: Arc<dyn Engine>, postgres: Arc<dyn Engine>) {
    let suite = Arc::new(stage::suite(name));
    let tables = [sqlite, postgres].map(|engine| Table { engine, library: Arc::clone(&suite) as Arc<_> });
    let first_of_each = tasks(&suite).into_iter().filter_map(|of_template| of_template.into_iter().next());
    for (number, drawn) in first_of_each.filter(|drawn| drawn.gold != Spoken::Nothing).enumerate() {
        let task = &drawn.task;
        let compare = task.checks.iter().find_map(|check| match &check.check {
            Check::Result { compare, .. } => Some(*compare),
            _ => None,
        });
        let compare = Compare { columns: palestra_sql::task::Columns::Position, ..compare.unwrap_or_default() };
        let mut first = None;
        let places = 1 + task.others.len();
        for (place, data) in std::iter::once(&task.data).chain(&task.others).enumerate() {
            let [one, other] = &tables;
            let one = one.rows(data, &task.setup, &spoken(&drawn.gold, Dialect::Sqlite)).await;
            // The usual form compares the engines on one data of each template, here on the first and there on another.
            if thorough(Dialect::Postgres) || place == number % places {
                let other = other.rows(data, &task.setup, &spoken(&drawn.gold, Dialect::Postgres)).await;
                let found = difference(Grid::from(&one), Grid::from(&other), &compare);
                assert!(found.is_none(), "{} on {data:?}: {}", task.template, found.expect("a difference"));
            }
            match &first {
                None => first = Some(one),
                Some(first) => {
                    let same = difference(Grid::from(first), Grid::from(&one), &compare).is_none();
                    assert!(!same, "{}: {data:?} gives what {:?} gives", task.template, task.data);
                }
            }
        }
    }
}
