//! Other rows for the same questions, so that an answer that is written down instead of looked up fails.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::test_bed::{Failure, OpenDatabase};
use super::{FAULTS_MAX, Imported};
use crate::counterexample::{Answer, Oracle, Search, search};
use crate::dataset::Dataset;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::task::{Check, Data, Task};
use crate::value::Dialect;

/// Makes variants of every database that is asked about, `name#1` and on, and names in each task those on which it is judged as well.
/// It takes seconds for a database with a hundred questions; `how` says how hard it looks.
///
/// # Errors
/// Databases of which none can be made.
pub async fn vary(sqlite: &Arc<dyn Engine>, imported: &mut Imported, how: Search) -> Result<(), Vec<Fault>> {
    let mut faults = Vec::new();
    let names: Vec<String> = imported.databases.keys().filter(|name| !name.contains('#')).cloned().collect();
    for name in names {
        let of_database = |task: &&mut Task| task.data == Data::Stored(name.clone());
        let mut tasks: Vec<&mut Task> = imported.rows.iter_mut().map(|(_, task)| task).filter(of_database).collect();
        let references: Vec<String> = tasks.iter().map(|task| reference(task)).collect();
        let mut distinct = references.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.is_empty() {
            continue;
        }
        let asked: Vec<&str> = distinct.iter().map(String::as_str).collect();
        let oracle = Worker { engine: Arc::clone(sqlite), references: &distinct, slow: Mutex::default() };
        let found = match search(&imported.databases[&name], &asked, how, &oracle).await {
            Ok(found) => found,
            Err(why) => {
                faults.push(Fault::new(
                    &name,
                    format!("no variant of it can be made, correct it or accept one database: {why}"),
                ));
                continue;
            }
        };
        for (task, reference) in tasks.iter_mut().zip(&references) {
            let Ok(opened) = distinct.binary_search(reference) else { continue };
            let variant = |number: &usize| Data::Stored(format!("{name}#{}", number + 1));
            task.others = found.stats[opened].others.iter().map(variant).collect();
        }
        for (number, dataset) in found.datasets.into_iter().enumerate() {
            imported.databases.insert(format!("{name}#{}", number + 1), dataset);
        }
    }
    faults.truncate(FAULTS_MAX);
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn reference(task: &Task) -> String {
    let gold = task.checks.iter().find_map(|check| match &check.check {
        Check::Result { gold, .. } => gold.in_dialect(Dialect::Sqlite),
        _ => None,
    });
    gold.unwrap_or_default().to_owned()
}

/// Tries queries in SQLite's worker. What took too long on one of a database's variants is not tried on the next.
struct Worker<'a> {
    engine: Arc<dyn Engine>,
    /// Sorted. They have more time than the wrong queries that are made of them.
    references: &'a [String],
    slow: Mutex<BTreeSet<String>>,
}

impl Worker<'_> {
    async fn answer(&self, places: &mut (OpenDatabase, OpenDatabase), query: &str) -> Answer {
        if self.slow.lock().contains(query) {
            return Err(Failure::Slow.to_string());
        }
        let is_reference = self.references.binary_search_by(|reference| reference.as_str().cmp(query)).is_ok();
        let opened = if is_reference { &mut places.0 } else { &mut places.1 };
        let answer = opened.run(query).await;
        if answer == Err(Failure::Slow) {
            self.slow.lock().insert(query.to_owned());
        }
        answer.map(|result| result.rows).map_err(|failure| failure.to_string())
    }
}

#[async_trait]
impl Oracle for Worker<'_> {
    async fn run(&self, dataset: &Dataset, queries: &[String]) -> Result<Vec<Answer>, String> {
        let mut places = OpenDatabase::open_both(&self.engine, dataset).await?;
        let mut answers = Vec::with_capacity(queries.len());
        for query in queries {
            answers.push(self.answer(&mut places, query).await);
        }
        places.0.close().await;
        places.1.close().await;
        Ok(answers)
    }
}
