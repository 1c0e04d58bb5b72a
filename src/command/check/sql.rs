//! Databases: tasks of each template are played and judged on both engines, by their solution and by nothing.

use std::io::Write;

use super::Failure;
use crate::backends;
use crate::config::Config;
use palestra_families::sql::{is_sql, shipped};

/// True for an argument that names databases: `sql/question`, `sql/*`.
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
    let found: Vec<_> = shipped::all().into_iter().filter(|shipped| fits(&shipped.name())).collect();
    if found.is_empty() {
        return Err(Failure::Other(format!(
            "{asked} is no shipped environment: choose one that `palestra environments` lists"
        )));
    }
    let folder = tempfile::tempdir()?;
    let config = Config { data: folder.path().to_owned(), ..config.clone() };
    let databases = backends::databases(&config, "check");
    let mut failed = Vec::new();
    for shipped in found {
        let kind = shipped.kind(&databases).map_err(Failure::Other)?;
        if super::prove_live(&*kind, seeds, as_json, output, errors).await? {
            failed.push(shipped.name());
        }
    }
    databases.close().await;
    Ok(failed)
}
