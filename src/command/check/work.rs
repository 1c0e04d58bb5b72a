//! Work that is done in sandboxes: each task is played and judged, by its solution, by nothing, and by its cheats.

use std::io::Write;
use std::sync::Arc;

use futures::StreamExt;
use palestra_workbench::work::{Desk, Work};
use serde_json::Value;

use super::Failure;
use crate::config::Config;
use crate::desk;
use crate::environment::work::{family, shipped};
use palestra_sandbox::blob::Blobs;

/// Tasks that are proven at the same time.
const AT_ONCE: usize = 2;

/// Whether an argument stands for work: `terminal/files`, `terminal/*`.
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
    let found: Vec<_> = shipped::all().into_iter().filter(|shipped| fits(shipped.name())).collect();
    if found.is_empty() {
        return Err(Failure::Other(format!("{asked} is no shipped environment")));
    }
    let folder = tempfile::tempdir()?;
    let config = Config { data: folder.path().to_owned(), images: Some(images(config)), ..config.clone() };
    let sandboxes = desk::sandboxes(&config, "check").await.map_err(|error| Failure::Other(error.to_string()))?;
    let desk = Desk { sandboxes, blobs: Blobs::new(folder.path().join("blobs")) };
    let mut failed = Vec::new();
    for shipped in found {
        let work = family(shipped.name()).ok_or_else(|| Failure::Other(format!("{} is no work", shipped.name())))?;
        let rows = shipped.rows().map_err(Failure::Other)?;
        let count = rows.len();
        let faults = prove(&work, rows, &desk).await;
        if super::report(shipped.name(), count, &faults, as_json, output, errors)? {
            failed.push(shipped.name().to_owned());
        }
    }
    desk.sandboxes.close().await;
    Ok(failed)
}

/// The faults of rows, by task, in order.
async fn prove(work: &Arc<dyn Work>, rows: Vec<(String, Value)>, desk: &Desk) -> Vec<(String, String)> {
    let proofs = rows.into_iter().enumerate().map(|(index, (split, row))| {
        let (work, desk) = (Arc::clone(work), desk.clone());
        async move {
            let refused = work.admit(&row, &desk).await.err();
            let template = work.describe(&row).map(|brief| brief.template).unwrap_or_default();
            refused.map(|fault| (index, (format!("{split} {template}"), fault)))
        }
    });
    let found: Vec<_> = futures::stream::iter(proofs).buffer_unordered(AT_ONCE).collect().await;
    let mut faults: Vec<_> = found.into_iter().flatten().collect();
    faults.sort_by_key(|(index, _)| *index);
    faults.into_iter().map(|(_, fault)| fault).collect()
}

/// The images of a configuration, wherever its data lies.
fn images(config: &Config) -> std::path::PathBuf {
    desk::images(config).folder().to_owned()
}
