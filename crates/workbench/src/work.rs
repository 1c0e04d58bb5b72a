//! Traits of a family of work: rows of tasks, workspaces, and judges of evidence that is stored by digest.

use std::collections::BTreeMap;

use async_trait::async_trait;
use palestra_protocol::environment::ScoreRange;
use palestra_sandbox::blob::Blobs;
use palestra_sandbox::{Ending, SandboxError, Sandboxes};
use serde_json::{Map, Value};

use palestra_state::secrets::Secrets;

/// Resources of workspaces and judges.
#[derive(Clone)]
pub struct Workbench {
    /// Source of sandboxes.
    pub sandboxes: Sandboxes,
    /// Store of evidence.
    pub blobs: Blobs,
}

/// A family of work. A task is a row: JSON with all of the task, the judge's part included. Only [`Work::describe`]
/// decides which part the acting side may read.
#[async_trait]
pub trait Work: Send + Sync + 'static {
    /// The tools of every session, as OpenAI function tools.
    fn tools(&self) -> Vec<Value>;

    /// Reads a publication into rows, each with its split.
    ///
    /// # Errors
    /// Every fault that was found.
    fn rows(&self, upload: &Upload) -> Result<Vec<(String, Value)>, Vec<Fault>>;

    /// Reads a publication as [`Work::rows`] does, for a server with these sandboxes, and goes on after faults.
    fn read(&self, upload: &Upload, _sandboxes: &Sandboxes) -> Reading {
        match self.rows(upload) {
            Ok(rows) => Reading { rows, faults: Vec::new() },
            Err(faults) => Reading { rows: Vec::new(), faults },
        }
    }

    /// Notes on a row for whoever publishes it, once it is proven.
    fn notes(&self, _row: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Marks a row as trainable though nothing proves that it can be solved; false where every row of this family is proven.
    fn trust(&self, _row: &mut Value) -> bool {
        false
    }

    /// Proves by execution that a row can be played and judged, before it is published. Answers what the proof showed that its
    /// author should know, as `task: words`.
    ///
    /// # Errors
    /// What is wrong with it, or why it could not be tried.
    async fn admit(&self, row: &Value, workbench: &Workbench) -> Result<Vec<String>, String>;

    /// Another form of a row that [`Work::admit`] refuses, in which it holds though its judge trusts the acting side more, with notes as
    /// those of [`Work::admit`]; `None` where there is none.
    async fn admit_otherwise(
        &self,
        _row: &Value,
        _refusal: &str,
        _workbench: &Workbench,
    ) -> Option<(Value, Vec<String>)> {
        None
    }

    /// Public description of a task.
    ///
    /// # Errors
    /// In words, when the row is not of the stored form.
    fn describe(&self, row: &Value) -> Result<Brief, String>;

    /// Opens a workspace at the beginning of a task, or, where `opening.resumed`, on what outlived the server.
    ///
    /// # Errors
    /// When no sandbox can be had, or nothing of the workspace outlived the server.
    async fn open(
        &self,
        row: &Value,
        opening: &Opening,
        workbench: &Workbench,
    ) -> Result<Box<dyn Workspace>, SandboxError>;

    /// Judges the evidence that [`Workspace::evidence`] gave, in sandboxes of its own. `secrets` are those of the
    /// opening. The same input always gives the same judgement, even when workspace and server are long gone.
    ///
    /// # Errors
    /// The reason why there is no score.
    async fn judge(
        &self,
        row: &Value,
        secrets: Secrets,
        evidence: &Value,
        workbench: &Workbench,
    ) -> Result<Judgement, JudgeError>;

    /// Name of the judging rule.
    fn verifier(&self) -> &'static str;

    /// Settings of which a change would change verdicts of this row: the judge's part of it.
    fn judged_by(&self, row: &Value) -> Value;

    /// Calls that solve the task, for gates, tests, and jobs that play them. Never shown to the acting side.
    fn oracle(&self, row: &Value, seed: u64) -> Option<Vec<Call>>;

    /// Declares the floor of a row that declares no range itself; false where rows of this family have none.
    fn declare_floor(&self, _row: &mut Value, _floor: f64) -> bool {
        false
    }

    /// Calls of a control, where doing nothing would leave the judge nothing to run.
    fn control(&self, _row: &Value) -> Vec<Call> {
        Vec::new()
    }

    /// A random well-formed call; `choice` is any number.
    fn random_call(&self, choice: u64) -> Call;
}

/// A publication as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Rows without faults, each with its split.
    pub rows: Vec<(String, Value)>,
    /// Faults of the others.
    pub faults: Vec<Fault>,
}

/// A publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upload {
    /// Files by path with their permission bits, as unpacked from an archive: relative, without `..`, regular files alone.
    Files(BTreeMap<String, UploadedFile>),
    /// JSON Lines or YAML.
    Text(String),
}

/// A file of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedFile {
    /// Permission bits.
    pub mode: u32,
    /// Contents.
    pub bytes: Vec<u8>,
}

/// A fault of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Position: a path of a file, a line, a field (`tasks/x/task.toml: environment.cpus`).
    pub place: String,
    /// Description of the fault, and of the right form.
    pub detail: String,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// Public description of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Brief {
    /// Text for the system message.
    pub system: String,
    /// Instruction.
    pub instruction: String,
    /// In [0, 1].
    pub difficulty: Option<f64>,
    /// Where its scores are rescaled.
    pub score_range: Option<ScoreRange>,
    /// Its template or area.
    pub template: String,
    /// Further public data.
    pub metadata: Map<String, Value>,
}

/// Opening of a workspace.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Permanent name of the workspace: the episode. Disks are named by it.
    pub name: String,
    /// Source of hidden values such as flags.
    pub secrets: Secrets,
    /// Settings of the session, as the caller gave them: `backend`, ...
    pub config: Map<String, Value>,
    /// True if the workspace was opened by an earlier server and only its disk is left.
    pub resumed: bool,
    /// The snapshot that the workspace goes on from, as [`Workspace::snapshot`] gave it.
    pub from: Option<Value>,
}

/// The place of an episode of work.
#[async_trait]
pub trait Workspace: Send + Sync {
    /// Observation at the beginning.
    async fn observe(&mut self) -> Result<Observation, SandboxError>;

    /// Carries out plain text or a tool call whose arguments fit the tool's schema. Mistakes of the caller are in the
    /// observation; they are no errors.
    ///
    /// # Errors
    /// When the sandbox is lost.
    async fn act(&mut self, input: Input<'_>) -> Result<Observation, SandboxError>;

    /// Evidence for a judge, as JSON in which archives stand by digest. The acting side is paused meanwhile.
    ///
    /// # Errors
    /// When the sandbox is lost.
    async fn evidence(&mut self) -> Result<Value, SandboxError>;

    /// Forks the workspace under a new name; `None` where this is impossible. Processes are not copied.
    ///
    /// # Errors
    /// When the sandbox is lost or no other can be had.
    async fn fork(&mut self, name: &str) -> Result<Option<Box<dyn Workspace>>, SandboxError>;

    /// Value that a workspace can be opened again from, as [`Opening::from`]; archives in it stand by digest. `None` where this cannot
    /// be.
    ///
    /// # Errors
    /// When the sandbox is lost.
    async fn snapshot(&mut self) -> Result<Option<Value>, SandboxError> {
        Ok(None)
    }

    /// Differences in files, since a snapshot or else since the beginning, as `{"data":[{"path","change","size","mode"}]}` by
    /// path. `None` where there are no files.
    ///
    /// # Errors
    /// When the sandbox is lost.
    async fn changes(&mut self, _since: Option<&Value>) -> Result<Option<Value>, SandboxError> {
        Ok(None)
    }

    /// Cause of the end of its sandbox, asked once it was lost.
    async fn ending(&mut self) -> Ending;

    /// Isolation in force, as the sandbox's `Isolation`; `null` while there is no sandbox.
    fn isolation(&self) -> Value;

    /// Frees everything, the disk too.
    async fn close(&mut self);

    /// Frees everything but the disk, from which [`Opening::resumed`] goes on.
    async fn leave(&mut self) {
        self.close().await;
    }
}

/// An action.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// Plain text.
    Text(&'a str),
    /// A call of a tool.
    Call {
        /// The tool's name.
        tool: &'a str,
        /// Its arguments.
        arguments: &'a Map<String, Value>,
    },
}

/// Observation of the acting side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observation {
    /// Enough to act on.
    pub text: String,
    /// Typed blocks, such as `{"type":"screen",..}`.
    pub content: Vec<Value>,
    /// The same as data.
    pub data: Value,
    /// The task ended by its own rules.
    pub terminated: bool,
}

impl Observation {
    /// Text to look at.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Source of the judge's observations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// Privileged state that the acting side cannot write.
    State,
    /// Declared artefacts in a clean sandbox.
    Fresh,
    /// The whole change of the file system in a clean sandbox.
    FreshDelta,
    /// A place that code of the acting side could have written to.
    InPlace,
}

/// Outcome of a judging.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Every check by name; at least one.
    pub checks: Vec<Check>,
    /// True if a trainer may learn from the episode.
    pub trainable: bool,
    /// Source of the judge's observations.
    pub from: From,
}

impl Judgement {
    /// The weighted mean of its checks.
    #[must_use]
    pub fn score(&self) -> f64 {
        let weights: f64 = self.checks.iter().map(|check| check.weight).sum();
        self.checks.iter().map(|check| check.weight * check.score).sum::<f64>() / weights
    }
}

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Name of the check.
    pub name: String,
    /// Its share of the score.
    pub weight: f64,
    /// In [0, 1].
    pub score: f64,
    /// Evidence; shown to runners, never to the acting side.
    pub evidence: String,
}

/// Failure of a judge to score.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// The judge itself failed: a crash, a missing or impossible result.
    #[error("{0}")]
    Verifier(String),
    /// The sandbox under the judge failed.
    #[error("{0}")]
    Infra(String),
    /// Judging took too long.
    #[error("{0}")]
    Timeout(String),
    /// The server lacks what judging needs: evidence, a back end, an image, room. Never the doing of what is judged.
    #[error("{0}")]
    Unavailable(String),
}

impl JudgeError {
    /// One word for the kind of error.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Verifier(_) => "the judge failed",
            Self::Infra(_) => "its sandbox failed",
            Self::Timeout(_) => "it took too long",
            Self::Unavailable(_) => "the server lacks something",
        }
    }

    /// The same error with a further explanation.
    #[must_use]
    pub fn because(self, more: &str) -> Self {
        let joined = |words: String| format!("{words}; {more}");
        match self {
            Self::Verifier(words) => Self::Verifier(joined(words)),
            Self::Infra(words) => Self::Infra(joined(words)),
            Self::Timeout(words) => Self::Timeout(joined(words)),
            Self::Unavailable(words) => Self::Unavailable(joined(words)),
        }
    }
}

impl std::convert::From<SandboxError> for JudgeError {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::Unavailable(_) | SandboxError::Exhausted { .. } | SandboxError::Unenforced { .. } => {
                Self::Unavailable(error.to_string())
            }
            SandboxError::Start(_) | SandboxError::SetUp(_) | SandboxError::Lost(_) | SandboxError::Refused { .. } => {
                Self::Infra(error.to_string())
            }
        }
    }
}
