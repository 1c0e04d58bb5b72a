//! Judging the evidence of an episode.

use std::collections::BTreeMap;

use palestra_sandbox::SandboxSpec;
use serde::Deserialize as _;
use serde_json::Value;

use super::evidence::{backend, gather};
use super::row::{Judge, Row};
use super::scene::Layers;
use super::{script, secrets};
use crate::checks::program::CheckRunner;
use crate::checks::{Artefacts, CheckForm};
use crate::work::{Check, From, JudgeError, Judgement, Workbench};
use palestra_state::secrets::Secrets;

/// The profile of sandboxes in which programs are checked.
const PROFILE: &str = "judge";

/// Judges.
pub(super) async fn judge(
    row: &Row,
    secrets: Secrets,
    evidence: &Value,
    layers: &Layers,
    workbench: &Workbench,
) -> Result<Judgement, JudgeError> {
    let Judge::Checks { image, files, checks, .. } = &row.judge else {
        return script::judge(row, secrets, evidence, layers, workbench).await;
    };
    let mut artefacts = Artefacts::default();
    gather(evidence, workbench, &mut artefacts).await?;
    let secrets = secrets::draw(&row.scene.secrets, secrets);
    let mut hidden = Vec::new();
    for file in files {
        let bytes = match &file.text {
            Some(text) => secrets::fill(text, &secrets).into_bytes(),
            None => file.bytes().map_err(JudgeError::Verifier)?,
        };
        hidden.push((file.path.clone(), file.mode(), bytes));
    }
    let runner = CheckRunner {
        workbench,
        want: SandboxSpec::new(backend(evidence, workbench), image, PROFILE),
        folder: &row.scene.folder,
        artefacts: &artefacts,
        answer: evidence["answer"].as_str(),
        hidden: &hidden,
        has_drivers: checks.iter().any(CheckForm::has_driver),
        env: &BTreeMap::new(),
    };
    let (mut judged, mut trainable) = (Vec::new(), true);
    for check in checks {
        let check = filled(check, &secrets)?;
        let found = runner.test(&check).await?;
        trainable &= found.distrusted.is_none();
        let (name, weight, evidence) =
            (check.name.clone(), check.weight(), secrets::masked(&found.message(), &secrets));
        judged.push(Check { name, weight, score: found.score, evidence });
    }
    Ok(Judgement { checks: judged, trainable, from: From::Fresh })
}

/// The check with the session's secrets.
fn filled(check: &CheckForm, secrets: &BTreeMap<String, String>) -> Result<CheckForm, JudgeError> {
    if secrets.is_empty() {
        return Ok(check.clone());
    }
    let wrong = |error: serde_json::Error| JudgeError::Verifier(error.to_string());
    let mut form = serde_json::to_value(check).map_err(wrong)?;
    secrets::fill_all(&mut form, secrets);
    CheckForm::deserialize(&form).map_err(wrong)
}
