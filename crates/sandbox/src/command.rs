//! Commands and their outcomes.

use std::time::Duration;

use palestra_sandbox_agent::watch::Record;
use palestra_sandbox_agent::wire::{Exec, Exited, Programs, Rlimits, User};

use crate::profile::Profile;

/// A command to run in a sandbox. What is left out follows from the sandbox's profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Folder in which it starts; the image's folder where left out.
    pub folder: Option<String>,
    /// More variables, over those of image and profile.
    pub env: Vec<(String, String)>,
    /// User that it runs as.
    pub user: Option<User>,
    /// Its standard input.
    pub input: Vec<u8>,
    /// Longest run.
    pub wall: Option<Duration>,
    /// Bytes of output that are kept.
    pub output_bytes_max: Option<u64>,
    /// Limits beyond the profile's.
    pub rlimits: Rlimits,
    /// True if standard error goes where standard output goes.
    pub merge: bool,
    /// True if all processes that it left behind are killed when it ends.
    pub alone: bool,
    /// Programs that it may start as another user.
    pub programs: Option<Programs>,
    /// True if what it runs and opens is recorded.
    pub watch: bool,
}

impl Command {
    /// A program with arguments.
    #[must_use]
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Self {
        Self { argv: argv.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// A line for `sh -c`.
    #[must_use]
    pub fn shell(line: impl Into<String>) -> Self {
        Self::new(["sh".to_owned(), "-c".to_owned(), line.into()])
    }

    /// The same with a standard input.
    #[must_use]
    pub fn input(self, input: impl Into<Vec<u8>>) -> Self {
        Self { input: input.into(), ..self }
    }

    /// The same in another folder.
    #[must_use]
    pub fn folder(self, folder: impl Into<String>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// The same for another user.
    #[must_use]
    pub fn user(self, user: User) -> Self {
        Self { user: Some(user), ..self }
    }

    /// The same with a time limit.
    #[must_use]
    pub fn wall(self, wall: Duration) -> Self {
        Self { wall: Some(wall), ..self }
    }

    /// The request to the agent; `profile` and `env` (of image and profile) fill the fields left out.
    #[must_use]
    pub(crate) fn exec(&self, profile: &Profile, folder: &str, env: &[(String, String)]) -> Exec {
        let mut merged: Vec<(String, String)> = env.to_vec();
        for (name, value) in &self.env {
            merged.retain(|(other, _)| other != name);
            merged.push((name.clone(), value.clone()));
        }
        let wall_ms = self.wall.map(|wall| u64::try_from(wall.as_millis()).unwrap_or(u64::MAX));
        Exec {
            argv: self.argv.clone(),
            folder: self.folder.clone().unwrap_or_else(|| folder.to_owned()),
            env: merged,
            user: self.user.unwrap_or(profile.user.value),
            wall_ms: Some(wall_ms.unwrap_or(u64::MAX).min(profile.command_ms.value)),
            rlimits: self.rlimits,
            output_bytes_max: self.output_bytes_max.or(Some(profile.output_bytes.value)),
            merge: self.merge,
            alone: self.alone,
            programs: self.programs.clone(),
            watch: self.watch,
        }
    }
}

/// Outcome of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Its end.
    pub exited: Exited,
    /// Standard output: what came first, and after a gap of [`Exited::output_omitted_bytes`] what came last.
    pub stdout: Vec<u8>,
    /// Standard error likewise.
    pub stderr: Vec<u8>,
    /// Record of its programs and opened files, where that was asked for.
    pub record: Record,
}

impl Output {
    /// True if it returned 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.exited.code == Some(0)
    }

    /// Standard output as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}
