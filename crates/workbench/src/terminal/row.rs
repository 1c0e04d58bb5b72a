//! The stored form of a task of a terminal, whatever it was written in. It holds all of the task, the judge's part included.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use palestra_protocol::environment::ScoreRange;
use palestra_sandbox::Demand;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checks::CheckForm;

/// The parts of an environment.
pub(super) const SPLITS: [&str; 3] = ["train", "validation", "test"];

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name among those of its area.
    pub name: String,
    /// Subject area: the folder that it was found in.
    pub area: String,
    /// Instruction.
    pub instruction: String,
    /// In [0, 1].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub difficulty: Option<f64>,
    /// Scores of doing nothing and of the solution, where they are not 0 and 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub score_range: Option<ScoreRange>,
    /// Where it takes place.
    pub scene: Scene,
    /// Judge.
    pub judge: Judge,
    /// Solution.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub solution: Option<Solution>,
    /// Cheats that must not score: scripts by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub cheats: BTreeMap<String, String>,
    /// Notes for whoever publishes it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
    /// True if it is trainable though nothing proves that it can be solved.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub trusted: bool,
}

/// Where a task takes place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scene {
    /// The image.
    pub image: String,
    /// The sandbox profile.
    pub profile: String,
    /// Acting user; the profile's user where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Where the shell starts.
    pub folder: String,
    /// Environment of the shell.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Patterns of secrets by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, String>,
    /// Steps that are done once for all sessions, and kept as a layer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layer: Vec<Step>,
    /// Files that are laid out at the beginning of each session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<StoredFile>,
    /// A script that runs then, as who acts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Milliseconds that the acting side has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_ms: Option<u64>,
    /// Demand on sandboxes beyond the profile.
    #[serde(skip_serializing_if = "Demand::is_empty")]
    pub demand: Demand,
}

/// A step of what is done once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Files are laid out.
    Files {
        /// The files.
        files: Vec<StoredFile>,
        /// Owner of them.
        user: String,
    },
    /// A folder is made where there is none.
    Folder {
        /// Absolute path.
        path: String,
        /// Owner of it.
        user: String,
    },
    /// A script runs.
    Run {
        /// Program and arguments.
        argv: Vec<String>,
        /// User that it runs as.
        user: String,
        /// The position.
        folder: String,
        /// More environment.
        env: BTreeMap<String, String>,
        /// Where it was written.
        place: String,
    },
    /// Packages have to be there already.
    Packages {
        /// Their names.
        names: Vec<String>,
        /// Kind: `deb` or `python`.
        kind: String,
        /// Where they were asked for.
        place: String,
    },
}

/// A file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredFile {
    /// Where it is put.
    pub path: String,
    /// Contents as text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// Contents in base64.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub base64: Option<String>,
    /// Permission bits; 0o644 where left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mode: Option<u32>,
}

/// Judge of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum Judge {
    /// The server evaluates checks.
    Checks {
        /// Image of the judging sandboxes.
        image: String,
        /// Hidden files that lie there.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        files: Vec<StoredFile>,
        /// Absolute paths of artefacts taken from the acting side.
        artefacts: Vec<String>,
        /// The checks.
        checks: Vec<CheckForm>,
    },
    /// A script of the task judges and writes a reward.
    Script {
        /// Place of judging.
        on: On,
        /// Files below `/tests`.
        files: Vec<StoredFile>,
        /// Steps that the script takes to install something; done beforehand where builds have a network.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        provision: Vec<Step>,
        /// Commands that run where the acting side was, before artefacts are taken.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        collect: Vec<Collect>,
        /// True if it would use a network, false if it would not; as the acting side where left out.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        network: Option<bool>,
        /// User that it runs as.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        user: Option<String>,
        /// Its environment.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        env: BTreeMap<String, String>,
        /// Milliseconds that it may take.
        timeout_ms: u64,
    },
}

/// Subject of a script's judging.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum On {
    /// The whole change of the file system, in a fresh sandbox.
    Delta,
    /// Declared artefacts, in a fresh sandbox of its own kind.
    Artefacts {
        /// Absolute paths.
        paths: Vec<String>,
        /// Patterns of names that are left out.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        except: Vec<String>,
        /// Where they are judged.
        scene: Box<Scene>,
    },
    /// The live sandbox.
    Place,
}

/// A command that leaves something to be judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collect {
    /// The command.
    pub command: String,
    /// User that it runs as; the acting one where left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub user: Option<String>,
    /// Milliseconds that it may take.
    pub timeout_ms: u64,
}

/// Solution of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Solution {
    /// Files that it needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<StoredFile>,
    /// The command.
    pub run: String,
    /// The answer that is submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

impl Row {
    /// Reads one.
    ///
    /// # Errors
    /// In words.
    pub fn read(row: &Value) -> Result<Self, String> {
        Self::deserialize(row).map_err(|error| format!("the task cannot be read, correct it: {error}"))
    }

    /// True if a script judges it and nothing proves that it can be solved.
    #[must_use]
    pub fn is_unproven(&self) -> bool {
        self.solution.is_none() && matches!(self.judge, Judge::Script { .. })
    }
}

impl StoredFile {
    /// A file, as text where it is UTF-8.
    #[must_use]
    pub fn of(path: impl Into<String>, mode: u32, bytes: &[u8]) -> Self {
        let (text, base64) = match std::str::from_utf8(bytes) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => (None, Some(STANDARD.encode(bytes))),
        };
        Self { path: path.into(), text, base64, mode: Some(mode) }
    }

    /// Contents.
    ///
    /// # Errors
    /// In words, when it has no content or two, or its base64 cannot be read.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        match (&self.text, &self.base64) {
            (Some(text), None) => Ok(text.clone().into_bytes()),
            (None, Some(base64)) => {
                let compact: String = base64.split_whitespace().collect();
                STANDARD.decode(compact).map_err(|error| format!("base64 must be readable: {error}"))
            }
            _ => Err("a file must have text or base64".to_owned()),
        }
    }

    /// Permission bits.
    #[must_use]
    pub fn mode(&self) -> u32 {
        self.mode.unwrap_or(0o644) & 0o777
    }
}
