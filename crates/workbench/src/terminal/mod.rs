//! Terminals: a live shell in a sandbox, tasks in an inline form and in the public folder layout, and their judges.

pub mod check;
mod difference;
mod evidence;
pub mod folder;
mod hidden;
pub(crate) mod inline;
mod judge;
mod keys;
pub mod live;
mod marks;
mod output;
mod output_log;
pub mod recording;
mod removed;
mod rewards;
pub mod row;
pub mod scene;
mod screen;
mod script;
mod secrets;
mod shell;
pub(crate) mod tools;
mod trust;
pub(crate) mod workspace;

use async_trait::async_trait;
use palestra_sandbox::SandboxError;
use serde_json::{Map, Value, json};

use crate::work::{Brief, Call, Fault, JudgeError, Judgement, Opening, Upload, Work, Workbench, Workspace};
use palestra_state::secrets::Secrets;
use row::Row;

/// System prompt of every terminal.
const SYSTEM: &str = "You work in a shell on a Linux machine without network. Run commands with `exec`; the working directory, \
    variables and background jobs are kept from one to the next. For programs that take over the screen use `keys` and `read`. \
    When the task is done, call `submit`.";

/// Commands that look around.
const GLANCES: [&str; 8] =
    ["ls -la", "pwd", "cat *", "env | sort", "ps aux", "touch out.txt", "git status", "echo done > result.txt"];

/// Milliseconds that a solution has.
const SOLUTION_MS: u64 = 600_000;
/// Milliseconds that looking around has.
const GLANCE_MS: u64 = 10_000;

/// The family `terminal`.
#[derive(Clone, Default)]
pub struct Terminal {
    layers: scene::Layers,
}

impl Terminal {
    /// The family, with no layer made yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Work for Terminal {
    fn tools(&self) -> Vec<Value> {
        tools::all()
    }

    fn rows(&self, upload: &Upload) -> Result<Vec<(String, Value)>, Vec<Fault>> {
        let rows = match upload {
            Upload::Text(text) if text.trim_start().starts_with('{') => inline::lines(text)?,
            Upload::Text(text) => vec![inline::yaml(text, "")?],
            Upload::Files(files) => folder::rows(files)?,
        };
        let stored = |(split, row): (String, Row)| match serde_json::to_value(&row) {
            Ok(value) => Ok((split, value)),
            Err(error) => Err(vec![Fault { place: row.name, detail: error.to_string() }]),
        };
        rows.into_iter().map(stored).collect()
    }

    async fn admit(&self, row: &Value, workbench: &Workbench) -> Result<(), String> {
        let report = check::check_task(self, row, workbench, None).await;
        if report.faults.is_empty() { Ok(()) } else { Err(report.faults.join("; ")) }
    }

    fn describe(&self, row: &Value) -> Result<Brief, String> {
        let row = Row::read(row)?;
        let mut metadata = Map::new();
        metadata.insert("task".to_owned(), json!(row.name));
        metadata.insert("image".to_owned(), json!(row.scene.image));
        metadata.insert("folder".to_owned(), json!(row.scene.folder));
        if let Some(limit) = row.scene.agent_ms {
            metadata.insert("timeout_ms".to_owned(), json!(limit));
        }
        Ok(Brief {
            system: SYSTEM.to_owned(),
            instruction: row.instruction,
            difficulty: row.difficulty,
            template: row.name,
            metadata,
        })
    }

    async fn open(
        &self,
        row: &Value,
        opening: &Opening,
        workbench: &Workbench,
    ) -> Result<Box<dyn Workspace>, SandboxError> {
        let row = Row::read(row).map_err(SandboxError::Start)?;
        Ok(Box::new(workspace::TerminalWorkspace::open(row, opening, &self.layers, workbench).await?))
    }

    async fn judge(
        &self,
        row: &Value,
        secrets: Secrets,
        evidence: &Value,
        workbench: &Workbench,
    ) -> Result<Judgement, JudgeError> {
        let row = Row::read(row).map_err(JudgeError::Verifier)?;
        judge::judge(&row, secrets, evidence, &self.layers, workbench).await
    }

    fn verifier(&self) -> &'static str {
        "terminal"
    }

    fn judged_by(&self, row: &Value) -> Value {
        json!({"judge": row["judge"], "folder": row["scene"]["folder"], "secrets": row["scene"]["secrets"]})
    }

    fn oracle(&self, row: &Value, _seed: u64) -> Option<Vec<Call>> {
        let row = Row::read(row).ok()?;
        let solution = row.solution?;
        let mut calls = Vec::new();
        for file in &solution.files {
            let mut arguments = Map::new();
            arguments.insert("path".to_owned(), json!(file.path));
            let (name, value) = match (&file.text, &file.base64) {
                (Some(text), _) => ("text", text),
                (None, base64) => ("base64", base64.as_ref()?),
            };
            arguments.insert(name.to_owned(), json!(value));
            arguments.insert("mode".to_owned(), json!(file.mode()));
            calls.push(Call { tool: "upload".to_owned(), arguments });
        }
        calls.push(exec(&solution.run, SOLUTION_MS));
        calls.push(Call { tool: "submit".to_owned(), arguments: Map::new() });
        Some(calls)
    }

    fn random_call(&self, choice: u64) -> Call {
        exec(GLANCES[(choice % GLANCES.len() as u64) as usize], GLANCE_MS)
    }
}

/// A call of `exec`.
fn exec(command: &str, timeout_ms: u64) -> Call {
    let mut arguments = Map::new();
    arguments.insert("command".to_owned(), json!(command));
    arguments.insert("timeout_ms".to_owned(), json!(timeout_ms));
    Call { tool: "exec".to_owned(), arguments }
}
