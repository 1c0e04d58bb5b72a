//! What a family of work is: rows of tasks, places to act in, and judges that look at evidence which was stored by digest.

use std::collections::BTreeMap;

use async_trait::async_trait;
use palestra_sandbox::blob::Blobs;
use palestra_sandbox::{Ending, SandboxError, Sandboxes};
use serde_json::{Map, Value};

use palestra_state::secrets::Secrets;

/// What rooms and judges work with.
#[derive(Clone)]
pub struct Desk {
    /// Where sandboxes come from.
    pub sandboxes: Sandboxes,
    /// Where evidence is kept.
    pub blobs: Blobs,
}

/// A family of work. A task is a row: JSON that holds all of it, the judge's part included. Only [`Work::describe`] decides what
/// the acting side gets to read.
#[async_trait]
pub trait Work: Send + Sync + 'static {
    /// The tools of every session, as OpenAI function tools.
    fn tools(&self) -> Vec<Value>;

    /// Reads what somebody wants to publish: rows, each with its split.
    ///
    /// # Errors
    /// Every fault that was found.
    fn rows(&self, upload: &Upload) -> Result<Vec<(String, Value)>, Vec<Fault>>;

    /// Proves by execution that a row can be played and judged, before it is published.
    ///
    /// # Errors
    /// What is wrong with it, or why it could not be tried.
    async fn admit(&self, row: &Value, desk: &Desk) -> Result<(), String>;

    /// What may be told of a task.
    ///
    /// # Errors
    /// In words, when the row is not of the stored form.
    fn describe(&self, row: &Value) -> Result<Brief, String>;

    /// Opens a room at the beginning of a task, or, where `opening.resumed`, on what outlived the server.
    ///
    /// # Errors
    /// When no sandbox can be had, or nothing of the room outlived the server.
    async fn open(&self, row: &Value, opening: &Opening, desk: &Desk) -> Result<Box<dyn Room>, SandboxError>;

    /// Judges the evidence that [`Room::evidence`] gave, in sandboxes of its own. `secrets` are those of the opening. The same case always gives the same judgement,
    /// also after the room and the server are long gone.
    ///
    /// # Errors
    /// What kept it from a score.
    async fn judge(
        &self,
        row: &Value,
        secrets: Secrets,
        evidence: &Value,
        desk: &Desk,
    ) -> Result<Judgement, JudgeError>;

    /// Which rule judges.
    fn verifier(&self) -> &'static str;

    /// What a change of would change verdicts of this row: the judge's part of it.
    fn judged_by(&self, row: &Value) -> Value;

    /// Calls that solve the task: for gates, tests, and jobs that play by them; never for the acting side.
    fn oracle(&self, row: &Value, seed: u64) -> Option<Vec<Call>>;

    /// Calls that give the judge something to judge where doing nothing gives it nothing to run: what a control plays.
    fn control(&self, _row: &Value) -> Vec<Call> {
        Vec::new()
    }

    /// A call that is well formed but chosen without looking; `choice` is any number.
    fn random_call(&self, choice: u64) -> Call;
}

/// What somebody wants to publish.
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
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// Something wrong in an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where: a path of a file, a line, a field (`tasks/x/task.toml: environment.cpus`).
    pub place: String,
    /// What is wrong, and what would be right.
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

/// What may be told of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Brief {
    /// Text for the system message.
    pub system: String,
    /// What is asked for.
    pub instruction: String,
    /// In [0, 1].
    pub difficulty: Option<f64>,
    /// Which template or area it is of.
    pub template: String,
    /// Anything else that may be known.
    pub metadata: Map<String, Value>,
}

/// What a room is opened with.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Names the room for good: the episode. Disks are named by it.
    pub name: String,
    /// What hidden values such as flags follow from.
    pub secrets: Secrets,
    /// Settings of the session, as the caller gave them: `backend`, ...
    pub config: Map<String, Value>,
    /// Whether the room was opened by an earlier server and only its disk is left.
    pub resumed: bool,
    /// The snapshot that the room goes on from, as [`Room::snapshot`] gave it.
    pub from: Option<Value>,
}

/// A place to act in.
#[async_trait]
pub trait Room: Send + Sync {
    /// What is seen at the beginning.
    async fn observe(&mut self) -> Result<Seen, SandboxError>;

    /// Carries out plain text or a tool call whose arguments fit the tool's schema. What goes wrong through the caller's fault is
    /// something seen, not an error.
    ///
    /// # Errors
    /// When the sandbox is lost.
    async fn act(&mut self, input: Input<'_>) -> Result<Seen, SandboxError>;

    /// What a judge needs, as JSON in which archives stand by digest. The acting side stands still while it is taken, and goes on
    /// afterwards.
    ///
    /// # Errors
    /// When the sandbox is lost.
    async fn evidence(&mut self) -> Result<Value, SandboxError>;

    /// An independent copy called `name` that goes on from here; `None` where this cannot be. Processes are not copied.
    ///
    /// # Errors
    /// When the sandbox is lost or no other can be had.
    async fn fork(&mut self, name: &str) -> Result<Option<Box<dyn Room>>, SandboxError>;

    /// What a room can be opened from again, as [`Opening::from`]; archives in it stand by digest. `None` where this cannot be.
    ///
    /// # Errors
    /// When the sandbox is lost.
    async fn snapshot(&mut self) -> Result<Option<Value>, SandboxError> {
        Ok(None)
    }

    /// What differs in files, since a snapshot or else since the beginning, as `{"data":[{"path","change","size","mode"}]}` by
    /// path. `None` where there are no files.
    ///
    /// # Errors
    /// When the sandbox is lost.
    async fn changes(&mut self, _since: Option<&Value>) -> Result<Option<Value>, SandboxError> {
        Ok(None)
    }

    /// Who ended its sandbox, asked once it was lost.
    async fn ending(&mut self) -> Ending;

    /// What is in force, as the sandbox's `Isolation`; `null` while there is no sandbox.
    fn isolation(&self) -> Value;

    /// Frees everything, the disk too.
    async fn close(&mut self);

    /// Frees everything but the disk, from which [`Opening::resumed`] goes on.
    async fn leave(&mut self) {
        self.close().await;
    }
}

/// One thing to react to.
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

/// What is seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Enough to act on.
    pub text: String,
    /// Typed blocks, such as `{"type":"screen",..}`.
    pub content: Vec<Value>,
    /// The same as data.
    pub data: Value,
    /// The task ended by its own rules.
    pub terminated: bool,
}

impl Seen {
    /// Text to look at.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// From where a judge looked.
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

/// What a judge found.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Every check by name; at least one.
    pub checks: Vec<Check>,
    /// Whether a trainer may learn from the episode.
    pub trainable: bool,
    /// From where it looked.
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
    /// What was checked.
    pub name: String,
    /// Its share of the score.
    pub weight: f64,
    /// In [0, 1].
    pub score: f64,
    /// What was found; shown to runners, never to the acting side.
    pub evidence: String,
}

/// What kept a judge from a score.
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
    /// In a word.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Verifier(_) => "the judge failed",
            Self::Infra(_) => "its sandbox failed",
            Self::Timeout(_) => "it took too long",
            Self::Unavailable(_) => "the server lacks something",
        }
    }

    /// The same error, with more words.
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
            SandboxError::Start(_) | SandboxError::Lost(_) | SandboxError::Refused { .. } => {
                Self::Infra(error.to_string())
            }
        }
    }
}
