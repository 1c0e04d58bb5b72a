//! Repositories: a project at a commit, an issue, and tests that have to go from failing to passing.

pub mod admit;
pub mod archive;
mod canary;
mod change;
mod check;
mod git;
pub mod instance;
mod judge;
pub mod log;
mod patch;
mod prepare;
mod protected;
mod trial;
mod upload;
mod workspace;

use std::sync::Arc;

use async_trait::async_trait;
use palestra_sandbox::SandboxError;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::work::{Brief, Call, Fault, JudgeError, Judgement, Opening, Upload, Work, Workbench, Workspace};
use admit::Report;
use instance::Instance;
use palestra_state::secrets::Secrets;
use prepare::Layers;
use workspace::RepositoryWorkspace;

/// System prompt of every repository.
const SYSTEM: &str = "You work on a project in a shell on a Linux machine without network. Change the project's files so that the \
    issue is resolved; run commands with `exec`. Hidden tests judge what you changed, as a patch against the commit that you found. \
    Changes of tests and of settings of the test runner are left out. When you are done, call `submit`, or hand in a patch with \
    `submit_patch`.";

/// Commands that look around.
const GLANCES: [&str; 6] = ["git log --oneline", "git status", "ls -R", "cat README.md", "git diff", "git checkout ."];

/// The family `repository`.
#[derive(Clone, Default)]
pub struct Repository {
    layers: Arc<Layers>,
}

impl Repository {
    /// The family, with no layer made yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs the tests of a row on the broken and on the repaired tree, and says which behave otherwise than their lists say.
    ///
    /// # Errors
    /// In words, when they could not be run at all.
    pub async fn examine(&self, row: &Value, workbench: &Workbench) -> Result<Report, String> {
        let instance = Instance::of(row)?;
        admit::admit(&instance, &self.layers, workbench).await.map_err(|error| error.to_string())
    }
}

#[async_trait]
impl Work for Repository {
    fn tools(&self) -> Vec<Value> {
        workspace::tools()
    }

    fn rows(&self, upload: &Upload) -> Result<Vec<(String, Value)>, Vec<Fault>> {
        upload::rows(upload)
    }

    async fn admit(&self, row: &Value, workbench: &Workbench) -> Result<Vec<String>, String> {
        let report = self.examine(row, workbench).await?;
        if report.admitted() { Ok(Vec::new()) } else { Err(report.to_string()) }
    }

    fn describe(&self, row: &Value) -> Result<Brief, String> {
        let instance = Instance::of(row)?;
        let mut metadata = instance.metadata.clone();
        let folder = instance.folder();
        for (name, value) in [
            ("instance_id", json!(instance.instance_id)),
            ("repo", json!(instance.repo)),
            ("base_commit", json!(instance.base_commit)),
            ("version", json!(instance.version)),
            ("image", json!(instance.image)),
            ("folder", json!(folder)),
        ] {
            if !value.is_null() {
                metadata.insert(name.to_owned(), value);
            }
        }
        Ok(Brief {
            system: SYSTEM.to_owned(),
            instruction: format!("The project is in {folder}. The issue:\n\n{}", instance.problem_statement.trim_end()),
            difficulty: instance.difficulty,
            score_range: None,
            template: instance.repo,
            metadata,
        })
    }

    async fn open(
        &self,
        row: &Value,
        opening: &Opening,
        workbench: &Workbench,
    ) -> Result<Box<dyn Workspace>, SandboxError> {
        let instance = Instance::of(row).map_err(SandboxError::Start)?;
        Ok(Box::new(RepositoryWorkspace::open(instance, opening, &self.layers, workbench).await?))
    }

    async fn judge(
        &self,
        row: &Value,
        secrets: Secrets,
        evidence: &Value,
        workbench: &Workbench,
    ) -> Result<Judgement, JudgeError> {
        let instance = Instance::of(row).map_err(JudgeError::Verifier)?;
        judge::judge(&instance, secrets, evidence, &self.layers, workbench).await
    }

    fn verifier(&self) -> &'static str {
        "repository"
    }

    fn judged_by(&self, row: &Value) -> Value {
        let mut judged: Map<String, Value> = row.as_object().cloned().unwrap_or_default();
        for told in ["problem_statement", "difficulty", "metadata", "split", "version"] {
            judged.remove(told);
        }
        // The same bytes, whether they stand in the row or are kept.
        if let Some(Value::String(archive)) = judged.get_mut("archive")
            && let Ok(bytes) = archive::decode(archive)
        {
            *archive = format!("sha256:{}", hex::encode(Sha256::digest(bytes)));
        }
        Value::Object(judged)
    }

    fn oracle(&self, row: &Value, _seed: u64) -> Option<Vec<Call>> {
        let instance = Instance::of(row).ok()?;
        let arguments = Map::from_iter([("patch".to_owned(), Value::String(instance.patch))]);
        Some(vec![Call { tool: workspace::SUBMIT_PATCH.to_owned(), arguments }])
    }

    fn random_call(&self, choice: u64) -> Call {
        let command = GLANCES[(choice % GLANCES.len() as u64) as usize];
        Call { tool: "exec".to_owned(), arguments: Map::from_iter([("command".to_owned(), json!(command))]) }
    }
}
