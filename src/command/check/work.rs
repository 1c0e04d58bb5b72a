//! Work that is done in sandboxes: each task is played and judged, by its solution, by nothing, and by its cheats.

use std::io::Write;

use palestra_sandbox::blob::Blobs;
use palestra_workbench::work::Workbench;

use super::Failure;
use crate::backends;
use crate::config::Config;
use palestra_families::work::{family, shipped};

/// True for an argument that names work: `terminal/files`, `terminal/*`.
pub(super) fn is_work(asked: &str) -> bool {
    family(asked).is_some()
}

/// Proves every task of the shipped environments that `asked` stands for. Answers the names of those with faults.
///
/// # Errors
/// When there is no such environment, or no sandbox can be had.
pub(super) async fn check(
    asked: &str,
    config: &Config,
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
    let config = Config { data: folder.path().to_owned(), images: Some(images(config)), ..config.clone() };
    let sandboxes = backends::sandboxes(&config, "check").await.map_err(|error| Failure::Other(error.to_string()))?;
    let desk = Workbench { sandboxes, blobs: Blobs::new(folder.path().join("blobs")) };
    let mut failed = Vec::new();
    for shipped in found {
        let kind = shipped.kind(&desk).map_err(Failure::Other)?;
        if super::prove_live(&*kind, u64::MAX, as_json, output, errors).await? {
            failed.push(shipped.name());
        }
    }
    desk.sandboxes.close().await;
    Ok(failed)
}

/// The images of a configuration, wherever its data lies.
fn images(config: &Config) -> std::path::PathBuf {
    backends::images(config).folder().to_owned()
}
