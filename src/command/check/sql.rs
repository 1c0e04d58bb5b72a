//! Databases: tasks of each template are played and judged on both engines, by their solution and by nothing.

use std::io::Write;
use std::sync::Arc;

use palestra_sql::library::Library;
use palestra_sql::prove;
use palestra_sql::template::Suite;

use super::Failure;
use crate::config::Config;
use crate::databases::{Databases, Settings};
use crate::environment::sql::{is_sql, shipped};

/// Whether an argument stands for databases: `sql/question`, `sql/*`.
pub(super) fn asked_for(asked: &str) -> bool {
    is_sql(asked)
}

/// Proves `seeds` tasks of each template and split of the shipped environments that `asked` stands for. Answers the names of those
/// with faults.
///
/// # Errors
/// When there is no such environment, or an engine cannot be had.
pub(super) async fn check(
    asked: &str,
    config: &Config,
    seeds: u64,
    as_json: bool,
    output: &mut impl Write,
    errors: &mut impl Write,
) -> Result<Vec<String>, Failure> {
    let fits = |name: &str| asked.strip_suffix(super::ALL).map_or(name == asked, |start| name.starts_with(start));
    let found: Vec<_> = shipped::all().into_iter().filter(|shipped| fits(shipped.name())).collect();
    if found.is_empty() {
        return Err(Failure::Other(format!("{asked} is no shipped environment")));
    }
    let folder = tempfile::tempdir()?;
    let config = Config { data: folder.path().to_owned(), ..config.clone() };
    let databases = Databases::new(Settings::of(&config, "check"));
    let mut failed = Vec::new();
    for shipped in found {
        let suite = Arc::new(shipped.suite().map_err(Failure::Other)?);
        let (tasks, faults) = prove_suite(&suite, &databases, seeds).await?;
        if super::report(shipped.name(), tasks, &faults, as_json, output, errors)? {
            failed.push(shipped.name().to_owned());
        }
    }
    databases.close().await;
    Ok(failed)
}

/// How many tasks were proven, and what is wrong with some, by template, split, seed and engine.
async fn prove_suite(
    suite: &Arc<Suite>,
    databases: &Databases,
    seeds: u64,
) -> Result<(usize, Vec<(String, String)>), Failure> {
    let library: Arc<dyn Library> = Arc::clone(suite) as _;
    let environment = suite.environment();
    let (mut tasks, mut faults) = (0, Vec::new());
    for dialect in &environment.engines {
        let engine = databases.engine(*dialect).await.map_err(|error| Failure::Other(error.to_string()))?;
        for (template, _) in suite.templates() {
            for split in environment.splits.keys() {
                for seed in 0..seeds {
                    let proven = match suite.drawn(template, split, seed) {
                        Ok(drawn) => prove::task(&engine, &library, &drawn.task, seed).await,
                        Err(detail) => Err(detail),
                    };
                    tasks += 1;
                    let place = || format!("{template} {split} {seed} on {}", dialect.name());
                    faults.extend(proven.err().map(|fault| (place(), fault)));
                }
            }
        }
    }
    Ok((tasks, faults))
}
