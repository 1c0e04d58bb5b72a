//! Git inside a sandbox. It runs without hooks, helpers and the settings of anybody, since a project may bring its own.

use palestra_sandbox::sandbox::Sandbox;
use palestra_sandbox::{Command, Output, SandboxError};

use crate::work::JudgeError;

/// Committer and time of the server's commits: the same trees then have the same names always.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_AUTHOR_NAME", "Maintainers"),
    ("GIT_AUTHOR_EMAIL", "maintainers@example.org"),
    ("GIT_AUTHOR_DATE", "2024-01-01T00:00:00Z"),
    ("GIT_COMMITTER_NAME", "Maintainers"),
    ("GIT_COMMITTER_EMAIL", "maintainers@example.org"),
    ("GIT_COMMITTER_DATE", "2024-01-01T00:00:00Z"),
    ("LC_ALL", "C.UTF-8"),
];
/// Settings of every call.
const SETTINGS: &[(&str, &str)] = &[
    ("safe.directory", "*"),
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.logAllRefUpdates", "false"),
    ("core.quotePath", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.detachedHead", "false"),
];
/// Bytes of what git says that are kept of a failure.
const WORDS_MAX: usize = 600;

/// Failure to prepare or judge a repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The instance is not what it says.
    #[error("{0}")]
    Instance(String),
}

impl Trouble {
    /// As a workspace says it.
    #[must_use]
    pub(super) fn into_sandbox(self) -> SandboxError {
        match self {
            Self::Sandbox(error) => error,
            Self::Instance(words) => SandboxError::Start(words),
        }
    }

    /// As a judge says it.
    #[must_use]
    pub(super) fn into_judge(self) -> JudgeError {
        match self {
            Self::Sandbox(error) => error.into(),
            Self::Instance(words) => JudgeError::Verifier(words),
        }
    }
}

/// Git in a folder of a sandbox.
pub(super) struct Git<'a> {
    sandbox: &'a Sandbox,
    folder: String,
    env: Vec<(String, String)>,
}

impl<'a> Git<'a> {
    pub(super) fn new(sandbox: &'a Sandbox, folder: impl Into<String>) -> Self {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut env: Vec<(String, String)> = ENVIRONMENT.iter().map(own).collect();
        env.push(("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string()));
        for (index, (name, value)) in SETTINGS.iter().enumerate() {
            env.push((format!("GIT_CONFIG_KEY_{index}"), (*name).to_owned()));
            env.push((format!("GIT_CONFIG_VALUE_{index}"), (*value).to_owned()));
        }
        Self { sandbox, folder: folder.into(), env }
    }

    /// The same with a variable.
    pub(super) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    pub(super) fn folder(&self) -> &str {
        &self.folder
    }

    /// Runs git and says how it went.
    pub(super) async fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Output, SandboxError> {
        let argv = std::iter::once("git").chain(arguments.iter().copied());
        let mut command = Command::new(argv).folder(self.folder.clone()).input(input);
        command.env.clone_from(&self.env);
        self.sandbox.exec(&command).await
    }

    /// Runs git, which has to succeed; what it printed.
    pub(super) async fn must(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, Trouble> {
        let output = self.run(arguments, input).await?;
        if output.success() && output.exited.output_omitted_bytes == 0 {
            return Ok(output.stdout);
        }
        Err(Trouble::Instance(format!("`git {}` failed: {}", arguments.join(" "), words(&output))))
    }

    /// The same for what is one line.
    pub(super) async fn line(&self, arguments: &[&str]) -> Result<String, Trouble> {
        let printed = self.must(arguments, b"").await?;
        Ok(String::from_utf8_lossy(&printed).trim().to_owned())
    }
}

/// The end of what a command said, as one short text.
pub(super) fn words(output: &Output) -> String {
    let said = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
    let text = String::from_utf8_lossy(said);
    let text = text.trim();
    let from = text.char_indices().rev().take(WORDS_MAX).last().map_or(0, |(at, _)| at);
    let ended = match (output.exited.code, output.exited.signal) {
        _ if output.exited.timed_out => "its time was over".to_owned(),
        (Some(code), _) => format!("it returned {code}"),
        (None, Some(signal)) => format!("signal {signal} ended it"),
        (None, None) => "it did not end".to_owned(),
    };
    format!("{ended}: {}", &text[from..])
}
