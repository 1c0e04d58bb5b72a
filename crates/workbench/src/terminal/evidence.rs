//! Blobs that evidence of an episode names: the back end that it ran on, and its artefacts.

use palestra_sandbox::sandbox::Bounds;
use serde_json::Value;

use super::scene::kept;
use crate::checks::Artefacts;
use crate::work::{JudgeError, Workbench};

/// Most that the artefacts of an episode may hold together.
pub(super) const ARTEFACTS: Bounds = Bounds { bytes_max: 64 << 20, entries_max: 50_000 };

/// The back end that the episode ran on, if it is here.
pub(super) fn backend(evidence: &Value, workbench: &Workbench) -> Option<String> {
    let backend = evidence["backend"].as_str()?;
    workbench.sandboxes.backend(Some(backend)).ok().map(|_| backend.to_owned())
}

/// The artefacts that evidence names.
pub(super) async fn gather(
    evidence: &Value,
    workbench: &Workbench,
    artefacts: &mut Artefacts,
) -> Result<(), JudgeError> {
    let digests = evidence["artefacts"].as_array();
    let digests = digests
        .ok_or_else(|| JudgeError::Unavailable("the evidence names no artefacts: play the episode again".to_owned()))?;
    for digest in digests {
        let archive = kept(workbench, digest.as_str().unwrap_or_default()).await;
        let archive = archive.map_err(JudgeError::from)?;
        artefacts.add(&archive, ARTEFACTS.bytes_max).map_err(JudgeError::Infra)?;
    }
    Ok(())
}
