//! Databases and questions that come from elsewhere become an environment.
//!
//! A folder holds databases (`*.sql`, `*.sqlite`, `*.db`, named by their files) and a file of questions (`questions.json`, `.jsonl` or
//! `.yaml`) with a reference query each. Databases are opened in SQLite's worker alone and read into datasets, from which either
//! engine's are made. [`choose_moments`] says when their sessions begin, [`try_out`] runs every reference, [`vary`] makes other data for
//! them, and [`admit`] proves them on all data and both engines.

mod admit;
mod broken_line;
mod columns;
mod database;
mod engines;
mod files;
mod moment;
mod order;
mod questions;
mod references;
mod test_bed;
mod trial;
mod variants;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dataset::{Dataset, Unwritable};
use crate::engine::{Engine, EngineError};
use crate::fault::Fault;
use crate::task::{Check, Compare, Spoken, Task};
use crate::value::Dialect;

use broken_line::broken_line;

pub use admit::{Admission, admit};
pub use database::{Read, Unreadable, dataset};
pub use engines::Engines;
pub use moment::choose as choose_moments;
pub use order::is_ordered;
pub use trial::try_out;
pub use variants::vary;

/// Faults that are told at most; who mends these sees the rest.
const FAULTS_MAX: usize = 100;

/// Contents of a folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    /// Databases by name; variants with other rows as `name#1` and on.
    pub databases: BTreeMap<String, Dataset>,
    /// Tasks with their splits, in the order of the questions.
    pub rows: Vec<(String, Task)>,
    /// Where each of them stands in the folder, in the same order.
    pub places: Vec<String>,
    /// Differences from the folder, and between dialects.
    pub notes: Vec<String>,
}

impl Imported {
    /// The scripts that make the databases, by name; in SQLite's dialect alone where PostgreSQL cannot hold one.
    ///
    /// # Errors
    /// When a database cannot be written even in SQLite's.
    pub fn scripts(&self) -> Result<BTreeMap<String, Spoken>, Unwritable> {
        let script = |dataset: &Dataset| {
            let sqlite = dataset.script(Dialect::Sqlite)?;
            Ok(match dataset.script(Dialect::Postgres) {
                Ok(postgres) => Spoken::each(sqlite, postgres),
                Err(_) => Spoken::Each(BTreeMap::from([(Dialect::Sqlite, sqlite)])),
            })
        };
        self.databases.iter().map(|(name, dataset)| Ok((name.clone(), script(dataset)?))).collect()
    }
}

/// Reads a folder: every file with its path and content.
///
/// # Errors
/// Everything that is wrong, with its place, up to a hundred faults.
pub async fn read(files: &BTreeMap<String, Vec<u8>>, sqlite: &Arc<dyn Engine>) -> Result<Imported, Vec<Fault>> {
    let mut faults = Vec::new();
    let sources = files::databases(files, &mut faults);
    let questions = questions::questions(files, &mut faults);
    let mut imported = Imported { notes: questions::contradictions(&questions), ..Imported::default() };
    let mut known: Vec<String> = Vec::new();
    for (name, (path, source)) in sources {
        known.push(name.clone());
        match dataset(&**sqlite, &source).await {
            Ok(read) => {
                imported.notes.extend(read.notes.into_iter().map(|note| format!("{name}: {note}")));
                imported.databases.insert(name, read.dataset);
            }
            Err(fault) => {
                let text =
                    files.get(&path).filter(|_| path.ends_with(".sql")).and_then(|text| std::str::from_utf8(text).ok());
                let line = match (&fault, text) {
                    (Unreadable::Engine(EngineError::Source(_)), Some(text)) => broken_line(&**sqlite, text).await,
                    _ => None,
                };
                let place = line.map_or_else(|| path.clone(), |line| format!("{path}:{line}"));
                faults.push(Fault::new(place, fault.to_string()));
            }
        }
    }
    for question in questions {
        match known.iter().find(|name| name.eq_ignore_ascii_case(&question.database)) {
            None => faults.push(Fault::new(
                question.location,
                format!("there is no database {}: use one of {}", question.database, listed(&known)),
            )),
            Some(name) => {
                if let Some(dataset) = imported.databases.get(name) {
                    imported.places.push(question.location.clone());
                    imported.rows.push(question.task(name, dataset));
                }
            }
        }
    }
    faults.truncate(FAULTS_MAX);
    if faults.is_empty() { Ok(imported) } else { Err(faults) }
}

/// The references of a task in SQLite's words, each with how results are compared with its own.
fn references(task: &Task) -> Vec<(&str, Compare)> {
    let mut references = Vec::new();
    for check in &task.checks {
        let Check::Result { gold, compare, accepted } = &check.check else { continue };
        references.extend(gold.in_dialect(Dialect::Sqlite).map(|sql| (sql, *compare)));
        references.extend(accepted.iter().filter_map(|other| {
            Some((other.gold.in_dialect(Dialect::Sqlite)?, Compare { ordered: other.ordered, ..*compare }))
        }));
    }
    references
}

fn listed(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let mut text = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(", ...");
    }
    if names.is_empty() { "none".into() } else { text }
}
