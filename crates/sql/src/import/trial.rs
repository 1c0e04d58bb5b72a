//! References are run before anything is made of them: one that does not end, or gives something else each time, is a fault of its
//! question, and nothing else is tried with it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::test_bed::{Failure, OpenDatabase};
use super::{FAULTS_MAX, Imported, references};
use crate::compare::difference;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::task::{Compare, Data, now_ms};

/// After so many references that take too long no others are run: each of them takes all its time.
const SLOW_MAX: usize = 3;
/// Number of times that a reference is run again that speaks of anything random, which may well be the same twice.
const RANDOM_RUNS: u64 = 8;
/// Actions of a session between one run and the next: the time is another one, the date is not.
const ACTIONS_BETWEEN: u64 = 61;

/// Runs every reference on its own database, on SQLite alone, and once more at another time and with other randomness.
///
/// # Errors
/// References that fail, take too long, are no queries, or do not give the same again, with the places of their questions.
pub async fn try_out(sqlite: &Arc<dyn Engine>, imported: &Imported) -> Result<(), Vec<Fault>> {
    let mut faults = Vec::new();
    let mut slow: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (name, dataset) in imported.databases.iter().filter(|(name, _)| !name.contains('#')) {
        let data = Data::Stored(name.clone());
        let rows = imported.rows.iter().zip(&imported.places).filter(|((_, task), _)| task.data == data);
        let asked: Vec<_> = rows
            .flat_map(|((_, task), at)| {
                references(task).into_iter().map(move |(sql, compare)| (at, task.begins_ms, sql, compare))
            })
            .collect();
        if asked.is_empty() || slow.len() >= SLOW_MAX {
            continue;
        }
        let mut opened = match OpenDatabase::open(sqlite, dataset).await {
            Ok(opened) => opened,
            Err(why) => {
                faults.push(Fault::new(name, why.to_string()));
                continue;
            }
        };
        for (at, begins_ms, sql, compare) in asked {
            let tried = if slow.contains(&(name.as_str(), sql)) {
                Err(Failure::Slow)
            } else if slow.len() >= SLOW_MAX {
                break;
            } else {
                repeat(&mut opened, sql, begins_ms, &compare).await
            };
            if let Err(failure) = tried {
                if failure == Failure::Slow {
                    slow.insert((name.as_str(), sql));
                }
                faults.push(Fault::new(at, failure.to_string()));
            }
        }
        opened.close().await;
    }
    faults.truncate(FAULTS_MAX);
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Checks whether a reference gives the same each time, as its judge compares.
async fn repeat(
    opened: &mut OpenDatabase,
    sql: &str,
    begins_ms: Option<i64>,
    compare: &Compare,
) -> Result<(), Failure> {
    let first = opened.run(sql, begins_ms).await?;
    // As the judge reads what is handed in.
    if first.columns.is_empty() || !first.command.starts_with("SELECT") {
        return Err(Failure::NoQuery(first.command));
    }
    let runs = if sql.to_ascii_lowercase().contains("random") { RANDOM_RUNS } else { 1 };
    for number in 1..=runs {
        let again = opened.run_at(sql, now_ms(begins_ms, 1 + number * ACTIONS_BETWEEN)).await?;
        if let Some(difference) = difference((&first).into(), (&again).into(), compare) {
            return Err(Failure::Unsteady(difference.0));
        }
    }
    Ok(())
}
