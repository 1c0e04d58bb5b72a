//! Other rows for the same questions, so that an answer that is written down instead of looked up fails.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::test_bed::{Failure, OpenDatabase};
use super::{FAULTS_MAX, Imported, references};
use crate::counterexample::{Answer, Oracle, ReferenceStats, Search, search};
use crate::dataset::Dataset;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::task::{Data, Task};

/// Makes variants of every database that is asked about, `name#1` and on, and names in each task those on which it is judged as well.
/// It takes seconds for a database with a hundred questions; `how` says how hard it looks.
///
/// # Errors
/// Databases of which none can be made.
pub async fn vary(sqlite: &Arc<dyn Engine>, imported: &mut Imported, how: Search) -> Result<(), Vec<Fault>> {
    let mut faults = Vec::new();
    let mut asked: BTreeSet<(String, Option<i64>)> = BTreeSet::new();
    for (_, task) in &imported.rows {
        if let Data::Stored(name) = &task.data {
            asked.insert((name.clone(), task.begins_ms));
        }
    }
    let mut made: BTreeMap<String, usize> = BTreeMap::new();
    for (name, begins_ms) in asked {
        let together = |task: &&mut Task| task.data == Data::Stored(name.clone()) && task.begins_ms == begins_ms;
        let tasks: Vec<&mut Task> = imported.rows.iter_mut().map(|(_, task)| task).filter(together).collect();
        let of_task = |task: &Task| references(task).into_iter().map(|(sql, _)| sql.to_owned()).collect::<Vec<_>>();
        let of_tasks: Vec<Vec<String>> = tasks.iter().map(|task| of_task(task)).collect();
        let distinct: BTreeSet<String> = of_tasks.iter().flatten().cloned().collect();
        let distinct: Vec<String> = distinct.into_iter().collect();
        if distinct.is_empty() {
            continue;
        }
        let asked: Vec<&str> = distinct.iter().map(String::as_str).collect();
        let oracle = Worker { engine: Arc::clone(sqlite), references: &distinct, begins_ms, slow: Mutex::default() };
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
        // Variants of one database are numbered through, whenever their sessions begin.
        let before = made.entry(name.clone()).or_default();
        for (task, references) in tasks.into_iter().zip(&of_tasks) {
            let stats = references.iter().filter_map(|sql| Some(&found.stats[distinct.binary_search(sql).ok()?]));
            task.others = common(&stats.collect::<Vec<_>>())
                .map(|number| variant(&name, *before + number))
                .map(Data::Stored)
                .collect();
        }
        for (number, dataset) in found.datasets.iter().enumerate() {
            imported.databases.insert(variant(&name, *before + number), dataset.clone());
        }
        *before += found.datasets.len();
    }
    faults.truncate(FAULTS_MAX);
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn variant(name: &str, number: usize) -> String {
    format!("{name}#{}", number + 1)
}

/// The variants on which a question is judged that has these references: those of each, unless another one's result depends there on
/// how rows are stored.
fn common<'a>(stats: &'a [&ReferenceStats]) -> impl Iterator<Item = usize> + 'a {
    let mut seen = BTreeSet::new();
    let all = stats.iter().flat_map(|stats| &stats.others).copied().filter(move |number| seen.insert(*number));
    all.filter(|number| stats.iter().all(|stats| !stats.deterministic || stats.steady.contains(number)))
}

/// Tries queries in SQLite's worker. What took too long on one of a database's variants is not tried on the next.
struct Worker<'a> {
    engine: Arc<dyn Engine>,
    /// Sorted. They have more time than the wrong queries that are made of them.
    references: &'a [String],
    begins_ms: Option<i64>,
    slow: Mutex<BTreeSet<String>>,
}

impl Worker<'_> {
    async fn answer(&self, places: &mut (OpenDatabase, OpenDatabase), query: &str) -> Answer {
        if self.slow.lock().contains(query) {
            return Err(Failure::Slow.to_string());
        }
        let is_reference = self.references.binary_search_by(|reference| reference.as_str().cmp(query)).is_ok();
        let opened = if is_reference { &mut places.0 } else { &mut places.1 };
        let answer = opened.run(query, self.begins_ms).await;
        if answer == Err(Failure::Slow) {
            self.slow.lock().insert(query.to_owned());
        }
        answer.map(|result| result.rows).map_err(|failure| failure.to_string())
    }
}

#[async_trait]
impl Oracle for Worker<'_> {
    async fn run(&self, dataset: &Dataset, queries: &[String]) -> Result<Vec<Answer>, String> {
        let mut places = OpenDatabase::open_both(&self.engine, dataset).await.map_err(|why| why.to_string())?;
        let mut answers = Vec::with_capacity(queries.len());
        for query in queries {
            answers.push(self.answer(&mut places, query).await);
        }
        places.0.close().await;
        places.1.close().await;
        Ok(answers)
    }
}
