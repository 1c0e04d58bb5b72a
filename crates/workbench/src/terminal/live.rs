//! A sandbox with a live shell, and what the tools do in it. Judges and evidence are the matter of who owns it.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use palestra_sandbox::wire::User;
use palestra_sandbox::{Command, Sandbox, SandboxError};
use serde_json::{Value, json};

use super::shell::{COLUMNS, Outcome, ROWS, Shell};
use super::tools::{Download, Exec, Keys, Tool, Upload};
use crate::work::Observation;

/// Time for which nothing must be printed before keys are taken to have done their work.
const QUIET: Duration = Duration::from_millis(50);
/// Time that a file may take to be written or read.
const TRANSFER: Duration = Duration::from_secs(30);
/// Bytes of a file that is downloaded.
const DOWNLOAD_BYTES_MAX: usize = 1 << 20;
/// Longest listing of the shell's environment.
const ENVIRONMENT: Duration = Duration::from_secs(5);
/// Shells that are started in one workspace.
const SHELLS_MAX: u32 = 1_000;

/// A live shell in a sandbox.
pub struct Live {
    sandbox: Sandbox,
    shell: Shell,
    user: User,
    env: Vec<(String, String)>,
    /// Where new shells start if the old one's folder is gone.
    home: String,
    began: Instant,
    shells: u32,
    /// Notes for the next observation.
    notes: Vec<String>,
}

/// Settings of a new shell.
#[derive(Debug, Clone)]
pub struct Start {
    /// The position.
    pub folder: String,
    /// Environment.
    pub env: Vec<(String, String)>,
    /// User.
    pub user: User,
    /// Commands that bring back what another shell had exported.
    pub exports: Option<String>,
}

impl Live {
    /// Starts a shell.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn start(sandbox: Sandbox, start: Start) -> Result<Self, SandboxError> {
        let began = Instant::now();
        let Start { folder, env, user, exports } = start;
        let shell = Shell::start(&sandbox, Some(user), &folder, &env, (ROWS, COLUMNS), began).await;
        let mut shell = match shell {
            Ok(shell) => shell,
            Err(error) => {
                sandbox.destroy(true).await;
                return Err(error);
            }
        };
        if let Some(exports) = exports {
            shell.quietly(&exports, ENVIRONMENT).await?;
        }
        Ok(Self { sandbox, shell, user, env, home: folder, began, shells: 1, notes: Vec::new() })
    }

    /// The same in a place where somebody acted before, who may have left nothing to start a shell with: then there is none, until
    /// one can be started.
    pub(super) async fn go_on(sandbox: Sandbox, start: Start) -> Result<Self, SandboxError> {
        let began = Instant::now();
        let Start { folder, env, user, exports } = start;
        let size = (ROWS, COLUMNS);
        let mut notes = Vec::new();
        let shell = match Shell::start(&sandbox, Some(user), &folder, &env, size, began).await {
            Err(SandboxError::Refused { detail, .. } | SandboxError::Start(detail)) => {
                notes.push(no_shell(&detail));
                Shell::without(&folder, size, began)
            }
            Err(error) => {
                sandbox.destroy(true).await;
                return Err(error);
            }
            Ok(mut shell) => {
                if let Some(exports) = exports {
                    shell.quietly(&exports, ENVIRONMENT).await?;
                }
                shell
            }
        };
        Ok(Self { sandbox, shell, user, env, home: folder, began, shells: 1, notes })
    }

    /// Its sandbox.
    #[must_use]
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Acting user.
    #[must_use]
    pub fn user(&self) -> User {
        self.user
    }

    /// When it began.
    #[must_use]
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Tells something with the next observation.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Observation without an action.
    #[must_use]
    pub fn look(&mut self) -> Observation {
        let folder = self.shell.output_log().folder().to_owned();
        let (rows, columns) = self.shell.size();
        let text = self.with_notes(&format!("The shell is in {folder}."));
        Observation {
            text,
            data: json!({"folder": folder, "rows": rows, "columns": columns}),
            ..Observation::default()
        }
    }

    /// Does what a tool asks for. What the sandbox refuses is something to read: nobody gets rid of an episode by asking for it.
    ///
    /// # Errors
    /// When the sandbox is lost.
    pub(super) async fn call(&mut self, tool: Tool) -> Result<Observation, SandboxError> {
        match self.carry_out(tool).await {
            Err(SandboxError::Refused { detail, .. }) => Ok(self.words(&detail)),
            seen => seen,
        }
    }

    async fn carry_out(&mut self, tool: Tool) -> Result<Observation, SandboxError> {
        match tool {
            Tool::Exec(exec) => self.exec(&exec).await,
            Tool::Keys(keys) => self.keys(&keys).await,
            Tool::Read(read) => self.read(Duration::from_millis(read.wait_ms)).await,
            Tool::Resize(size) => {
                self.shell.resize(size.rows, size.columns).await?;
                self.shell.settle(QUIET, Duration::from_millis(500)).await?;
                Ok(self.screen(None))
            }
            Tool::Upload(upload) => self.upload(&upload).await,
            Tool::Download(download) => self.download(&download).await,
            Tool::Submit(_) => Ok(Observation { terminated: true, ..Observation::text("The task is handed in.") }),
        }
    }

    /// Exports of the live shell, as commands; `None` while it is busy.
    pub(super) async fn exports(&mut self) -> Result<Option<String>, SandboxError> {
        if self.shell.occupied() {
            return Ok(None);
        }
        self.shell.quietly("\\builtin export -p", ENVIRONMENT).await
    }

    /// Where the shell is.
    pub(super) fn folder(&self) -> String {
        self.shell.output_log().folder().to_owned()
    }

    /// Environment of new shells.
    pub(super) fn env(&self) -> &[(String, String)] {
        &self.env
    }

    /// Ends the shell and what runs in front of it; processes in the background go on.
    pub(super) async fn end_shell(&mut self) -> Result<(), SandboxError> {
        self.shell.end().await
    }

    /// The sandbox alone.
    pub(super) fn into_sandbox(self) -> Sandbox {
        self.sandbox
    }

    async fn exec(&mut self, exec: &Exec) -> Result<Observation, SandboxError> {
        if self.shell.occupied() {
            let text =
                "The command before is still running. Read what it prints, or send keys (<C-c> to interrupt it).";
            return Ok(self.screen(Some(text)));
        }
        let began = Instant::now();
        let outcome = self.shell.run(&exec.command, Duration::from_millis(exec.timeout_ms)).await?;
        self.outcome(outcome, began).await
    }

    async fn keys(&mut self, keys: &Keys) -> Result<Observation, SandboxError> {
        let application = self.shell.output_log().screen.application_keys();
        let bytes = super::keys::bytes(&keys.keys, application);
        let began = Instant::now();
        self.shell.keys(&bytes, QUIET, Duration::from_millis(keys.wait_ms)).await?;
        self.after_keys(began).await
    }

    async fn read(&mut self, wait: Duration) -> Result<Observation, SandboxError> {
        let began = Instant::now();
        self.shell.watch(QUIET, wait).await?;
        self.after_keys(began).await
    }

    /// The screen, and what became of the command that ran if that is news.
    async fn after_keys(&mut self, began: Instant) -> Result<Observation, SandboxError> {
        let exited = self.shell.output_log().exited;
        if let Some(exited) = exited {
            return self.outcome(Outcome::Died(exited), began).await;
        }
        let finished = self.shell.output_log().finished.take();
        let words = finished.as_ref().map(|finished| match finished.code {
            Some(code) => format!("[the command ended with exit code {code}]"),
            None => "[the command was interrupted]".to_owned(),
        });
        let mut seen = self.screen(words.as_deref());
        if let (Some(finished), Value::Object(data)) = (finished, &mut seen.data) {
            data.insert("exit_code".to_owned(), json!(finished.code));
        }
        Ok(seen)
    }

    async fn outcome(&mut self, outcome: Outcome, began: Instant) -> Result<Observation, SandboxError> {
        let duration_ms = began.elapsed().as_millis() as u64;
        let (mut text, omitted_bytes) = self.shell.output_log().output.take();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let mut code = None;
        match outcome {
            Outcome::Ended(0) => code = Some(0),
            Outcome::Ended(other) => {
                code = Some(other);
                let _ = writeln!(text, "[exit code {other}]");
            }
            Outcome::Interrupted => text.push_str("[the command was interrupted]\n"),
            Outcome::Running => text.push_str(
                "[the command is still running: read what it prints, type to it with keys, or interrupt it with <C-c>]\n",
            ),
            Outcome::NotTaken => text.push_str(
                "[the shell did not take the command: another program reads the terminal, and what was typed went to it]\n",
            ),
            Outcome::Died(exited) => {
                code = exited.code;
                let how = exited.code.map_or_else(|| "was killed".to_owned(), |code| format!("ended with exit code {code}"));
                let now = match self.renew().await? {
                    None => format!("a new one was started in {}", self.folder()),
                    Some(why) => no_shell(&why),
                };
                let _ = writeln!(text, "[the shell {how}; {now}]");
            }
        }
        let text = self.with_notes(&text);
        let (rows, columns) = self.shell.size();
        let mut output_log = self.shell.output_log();
        let view = output_log.finished.take().map(|finished| finished.view);
        let view = view.unwrap_or_else(|| output_log.screen.view());
        let data = json!({
            "exit_code": code,
            "running": matches!(outcome, Outcome::Running | Outcome::NotTaken),
            "duration_ms": duration_ms,
            "folder": output_log.folder(),
            "omitted_bytes": omitted_bytes,
            "screen": view,
            "recording": output_log.recorder.take(rows, columns),
        });
        Ok(Observation { text, data, ..Observation::default() })
    }

    /// The screen, under some words.
    fn screen(&mut self, words: Option<&str>) -> Observation {
        let (rows, columns) = self.shell.size();
        let (view, data) = {
            let mut output_log = self.shell.output_log();
            let view = output_log.screen.view();
            let data = json!({
                "running": output_log.busy(),
                "folder": output_log.folder(),
                "screen": view,
                "recording": output_log.recorder.take(rows, columns),
            });
            (view, data)
        };
        let lines: Vec<&str> = view["lines"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut text = lines.join("\n");
        if let Some(words) = words {
            let _ = write!(text, "{}{words}", if text.is_empty() { "" } else { "\n" });
        }
        let text = self.with_notes(&text);
        let mut block = view;
        block["type"] = json!("screen");
        Observation { text, content: vec![block], data, terminated: false }
    }

    /// A new shell where the old one ended; why there is none, where the acting side left nothing to start one with.
    async fn renew(&mut self) -> Result<Option<String>, SandboxError> {
        if self.shells >= SHELLS_MAX {
            return Ok(Some(format!("{SHELLS_MAX} were started, and no further one is")));
        }
        self.shells += 1;
        let size = self.shell.size();
        let folder = self.folder();
        let folder = if stands(&self.sandbox, &folder).await? { folder } else { self.home.clone() };
        let fresh = Shell::start(&self.sandbox, Some(self.user), &folder, &self.env, size, self.began).await;
        let fresh = match fresh {
            Err(SandboxError::Refused { .. }) => {
                Shell::start(&self.sandbox, Some(self.user), "/", &self.env, size, self.began).await
            }
            other => other,
        };
        match fresh {
            Ok(fresh) => {
                self.shell = fresh;
                Ok(None)
            }
            Err(SandboxError::Refused { detail, .. } | SandboxError::Start(detail)) => Ok(Some(detail)),
            Err(error) => Err(error),
        }
    }

    /// Writes a file as who acts, so that nothing can be written that the shell could not write.
    async fn upload(&mut self, upload: &Upload) -> Result<Observation, SandboxError> {
        let bytes = match (&upload.text, &upload.base64) {
            (Some(text), None) => text.clone().into_bytes(),
            (None, Some(base64)) => match STANDARD.decode(base64) {
                Ok(bytes) => bytes,
                Err(error) => return Ok(self.words(&format!("base64: {error}"))),
            },
            _ => return Ok(self.words("give either text or base64")),
        };
        let script = r#"mkdir -p -- "$(dirname -- "$1")" && cat > "$1" && chmod -- "$2" "$1""#;
        let mode = format!("{:o}", upload.mode.unwrap_or(0o644) & 0o777);
        let size = bytes.len();
        let command = self.errand(["sh", "-c", script, "sh", &upload.path, &mode]).input(bytes);
        let output = self.sandbox.exec(&command).await?;
        if output.success() {
            let words = format!("{size} bytes were written to {}.", upload.path);
            let mut seen = self.words(&words);
            seen.data = json!({"path": upload.path, "bytes": size});
            return Ok(seen);
        }
        let why = super::scene::excerpt(&output.stderr);
        Ok(self.words(&format!("{} was not written: {}", upload.path, why.trim())))
    }

    /// Reads a file as who acts.
    async fn download(&mut self, download: &Download) -> Result<Observation, SandboxError> {
        let limit = (DOWNLOAD_BYTES_MAX + 1).to_string();
        let mut command = self.errand(["head", "-c", &limit, "--", &download.path]);
        command.output_bytes_max = Some(2 * DOWNLOAD_BYTES_MAX as u64);
        let output = self.sandbox.exec(&command).await?;
        if !output.success() {
            let why = if output.exited.timed_out {
                "it never ends".to_owned()
            } else {
                super::scene::excerpt(&output.stderr)
            };
            return Ok(self.words(&format!("{} cannot be read: {}", download.path, why.trim())));
        }
        let size = output.stdout.len();
        if size > DOWNLOAD_BYTES_MAX {
            let words = format!("{} is larger than {DOWNLOAD_BYTES_MAX} bytes: take a part of it", download.path);
            return Ok(self.words(&words));
        }
        let (text, data) = match String::from_utf8(output.stdout) {
            Ok(text) => (text.clone(), json!({"path": download.path, "bytes": size, "text": text})),
            Err(error) => {
                let base64 = STANDARD.encode(error.as_bytes());
                (base64.clone(), json!({"path": download.path, "bytes": size, "base64": base64}))
            }
        };
        let text = self.with_notes(&text);
        Ok(Observation { text, data, ..Observation::default() })
    }

    fn errand<const N: usize>(&self, argv: [&str; N]) -> Command {
        let mut command = Command::new(argv).folder(self.folder()).user(self.user).wall(TRANSFER);
        command.env = self.env.clone();
        command
    }

    fn words(&mut self, words: &str) -> Observation {
        let text = self.with_notes(words);
        Observation { text, data: json!({}), ..Observation::default() }
    }

    /// The text, after what was to be told.
    fn with_notes(&mut self, text: &str) -> String {
        let mut notes = std::mem::take(&mut self.notes);
        notes.push(text.to_owned());
        notes.join("\n")
    }
}

/// Message to the acting side where no shell can be started.
fn no_shell(why: &str) -> String {
    format!(
        "no shell can be started: {why}; files can still be uploaded and downloaded as far as programs for it are left"
    )
}

/// Checks whether there is anything at a path that the acting side chose: one that cannot be followed leads nowhere.
pub(super) async fn stands(sandbox: &Sandbox, path: &str) -> Result<bool, SandboxError> {
    match sandbox.stat(path).await {
        Err(SandboxError::Refused { .. }) => Ok(false),
        found => Ok(found?.is_some()),
    }
}
