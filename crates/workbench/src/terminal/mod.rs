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

use std::collections::BTreeSet;

use async_trait::async_trait;
use palestra_sandbox::image::Images;
use palestra_sandbox::{SandboxError, Sandboxes};
use serde_json::{Map, Value, json};

use crate::work::{Brief, Call, Fault, JudgeError, Judgement, Opening, Reading, Upload, Work, Workbench, Workspace};
use palestra_state::secrets::Secrets;
use row::{Judge, On, Row};

/// System prompt of every terminal.
const SYSTEM: &str = "You work in a shell on a Linux machine{network}. Run commands with `exec`; the working directory, \
    variables and background jobs are kept from one to the next. For programs that take over the screen use `keys` and `read`. \
    When the task is done, call `submit`.";

/// Commands that look around.
const GLANCES: [&str; 8] =
    ["ls -la", "pwd", "cat *", "env | sort", "ps aux", "touch out.txt", "git status", "echo done > result.txt"];

/// Milliseconds that a solution has.
const SOLUTION_MS: u64 = 600_000;
/// Milliseconds that looking around has.
const GLANCE_MS: u64 = 10_000;

/// Note on a task whose tests hold where the solution ran, and not on what it changed.
const JUDGED_IN_PLACE: &str = "the tests fail on what the solution changed and pass where it ran, as with a service that it leaves \
    running: they run where the agent was, as with `verifier.environment_mode = \"in_place\"`";

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
        let Reading { rows, faults } = self.read(upload, &Sandboxes::none(Images::new("")));
        if faults.is_empty() { Ok(rows) } else { Err(faults) }
    }

    fn read(&self, upload: &Upload, sandboxes: &Sandboxes) -> Reading {
        let read = |read: Result<Vec<(String, Row)>, Vec<Fault>>| match read {
            Ok(rows) => (rows, Vec::new()),
            Err(faults) => (Vec::new(), faults),
        };
        let (rows, mut faults) = match upload {
            Upload::Text(text) if text.trim_start().starts_with('{') => read(inline::lines(text)),
            Upload::Text(text) => read(inline::yaml(text, "").map(|row| vec![row])),
            Upload::Files(files) => folder::rows(files, sandboxes),
        };
        let mut stored = Vec::new();
        let mut names = BTreeSet::new();
        for (split, row) in rows {
            if !names.insert(row.name.clone()) {
                let detail = "is the name of two tasks: rename one".to_owned();
                faults.push(Fault { place: row.name, detail });
                continue;
            }
            match serde_json::to_value(&row) {
                Ok(value) => stored.push((split, value)),
                Err(error) => faults.push(Fault { place: row.name, detail: error.to_string() }),
            }
        }
        Reading { rows: stored, faults }
    }

    fn notes(&self, row: &Value) -> Vec<String> {
        Row::read(row).map(|row| row.notes).unwrap_or_default()
    }

    fn trust(&self, row: &mut Value) -> bool {
        if let Some(row) = row.as_object_mut().filter(|row| !row.contains_key("solution")) {
            row.insert("trusted".to_owned(), Value::Bool(true));
            for note in row.get_mut("notes").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(place) = note.as_str().and_then(|note| note.strip_suffix(folder::UNPROVEN)) {
                    *note = json!(format!("{place}{}", folder::TRUSTED));
                }
            }
        }
        true
    }

    fn declare_floor(&self, row: &mut Value, floor: f64) -> bool {
        if let Some(row) = row.as_object_mut() {
            row.entry("score_range").or_insert_with(|| json!({"floor": floor, "ceiling": 1.0}));
        }
        true
    }

    async fn admit(&self, row: &Value, workbench: &Workbench) -> Result<Vec<String>, String> {
        // A script may judge one run otherwise than the next.
        let times = if row["judge"]["by"] == "script" { 2 } else { 1 };
        let mut notes = Vec::new();
        for _ in 0..times {
            let report = check::check_task(self, row, workbench, None).await;
            if !report.faults.is_empty() {
                return Err(report.faults.join("; "));
            }
            notes = report.notes;
        }
        Ok(notes)
    }

    /// Tests of what a solution leaves running need the place where it ran.
    async fn admit_otherwise(&self, row: &Value, refusal: &str, workbench: &Workbench) -> Option<(Value, Vec<String>)> {
        // Where there was no verdict, the place where it was to be judged is not the cause.
        let mut row = Row::read(row).ok().filter(|_| refusal.starts_with(check::SOLUTION_SCORES))?;
        let Judge::Script { on, .. } = &mut row.judge else { return None };
        if *on != On::Delta {
            return None;
        }
        *on = On::Place;
        let in_place = serde_json::to_value(&row).ok()?;
        let mut notes = self.admit(&in_place, workbench).await.ok()?;
        notes.push(format!("{}: {JUDGED_IN_PLACE}", row.name));
        Some((in_place, notes))
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
            system: SYSTEM.replace("{network}", if row.scene.demand.network { "" } else { " without network" }),
            instruction: row.instruction,
            difficulty: row.difficulty,
            score_range: row.score_range,
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
        let mut judged = judge::judge(&row, secrets, evidence, &self.layers, workbench).await?;
        if row.is_unproven() && !row.trusted {
            judged.trainable = false;
            judged.checks[0].evidence.push_str("\nthe task has no solution, so nothing proves that it can be solved");
        }
        Ok(judged)
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
        if !solution.run.is_empty() {
            calls.push(exec(&solution.run, SOLUTION_MS));
        }
        let answer = solution.answer.map(|answer| ("answer".to_owned(), json!(answer)));
        calls.push(Call { tool: "submit".to_owned(), arguments: answer.into_iter().collect() });
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
