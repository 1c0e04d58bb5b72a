//! A shell on a terminal that lives as long as its workspace: it keeps its folder, variables and background jobs from one command to the
//! next.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use palestra_sandbox::sandbox::{Keys, PtyPiece, Screen as Printer};
use palestra_sandbox::wire::{Exited, User};
use palestra_sandbox::{Command, Sandbox, SandboxError};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::marks::{PROMPT, typed};
use super::output_log::OutputLog;

/// Rows of a new terminal.
pub(super) const ROWS: u16 = 24;
/// Columns of a new terminal.
pub(super) const COLUMNS: u16 = 80;
/// Time that a shell that stands at its prompt may take to begin a command.
const BEGIN_MAX: Duration = Duration::from_secs(10);
/// Time that a new shell may take to stand at its prompt.
const START_MAX: Duration = Duration::from_secs(20);

/// The number of the signal that nothing survives.
const SIGKILL: i32 = 9;
/// Time that a shell that is killed may take to be gone.
const KILL_MAX: Duration = Duration::from_secs(10);

/// Input of a terminal.
#[async_trait]
pub(super) trait TerminalInput: Send + Sync {
    async fn type_bytes(&self, keys: &[u8]) -> Result<(), SandboxError>;
    async fn resize(&self, rows: u16, columns: u16) -> Result<(), SandboxError>;
    /// Kills the shell; whatever runs in front of it is hung up.
    async fn kill(&self) -> Result<(), SandboxError>;
}

/// Output of a terminal.
#[async_trait]
pub(super) trait TerminalOutput: Send {
    async fn next(&mut self) -> Result<PtyPiece, SandboxError>;
}

#[async_trait]
impl TerminalInput for Keys {
    async fn type_bytes(&self, keys: &[u8]) -> Result<(), SandboxError> {
        Self::type_bytes(self, keys).await
    }

    async fn resize(&self, rows: u16, columns: u16) -> Result<(), SandboxError> {
        Self::resize(self, rows, columns).await
    }

    async fn kill(&self) -> Result<(), SandboxError> {
        self.signal(SIGKILL).await
    }
}

#[async_trait]
impl TerminalOutput for Printer {
    async fn next(&mut self) -> Result<PtyPiece, SandboxError> {
        Self::next(self).await
    }
}

/// A terminal on which nothing runs.
struct Nobody;

#[async_trait]
impl TerminalInput for Nobody {
    async fn type_bytes(&self, _keys: &[u8]) -> Result<(), SandboxError> {
        Ok(())
    }

    async fn resize(&self, _rows: u16, _columns: u16) -> Result<(), SandboxError> {
        Ok(())
    }

    async fn kill(&self) -> Result<(), SandboxError> {
        Ok(())
    }
}

#[async_trait]
impl TerminalOutput for Nobody {
    async fn next(&mut self) -> Result<PtyPiece, SandboxError> {
        Ok(PtyPiece::Exited(Exited::default()))
    }
}

/// Outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It ended and returned this.
    Ended(i32),
    /// The shell gave it up and stands at its prompt.
    Interrupted,
    /// It goes on running.
    Running,
    /// Nothing took it as a command: another program reads the terminal.
    NotTaken,
    /// The shell ended.
    Died(Exited),
}

/// A live shell.
pub(super) struct Shell {
    keyboard: Box<dyn TerminalInput>,
    output_log: Arc<Mutex<OutputLog>>,
    changed: watch::Receiver<()>,
    /// True if keys were typed since the last command, so that another program may read the terminal.
    keyed: bool,
    size: (u16, u16),
    _reader: JoinSet<()>,
}

impl Shell {
    /// Starts one in a sandbox.
    pub(super) async fn start(
        sandbox: &Sandbox,
        user: Option<User>,
        folder: &str,
        env: &[(String, String)],
        size: (u16, u16),
        began: Instant,
    ) -> Result<Self, SandboxError> {
        let mut command = Command::new(["bash", "--noprofile", "--norc"]).folder(folder);
        command.user = user;
        command.env = env.to_vec();
        command.env.push(("TERM".to_owned(), "xterm-256color".to_owned()));
        let pty = sandbox.open_pty(&command, size.0, size.1).await?;
        let mut shell = Self::on(Box::new(pty.keys), Box::new(pty.screen), folder, size, began);
        if let Err(error) = shell.prepare().await {
            if matches!(error, SandboxError::Start(_)) {
                // Whatever stands where the shell should be would go on reading the terminal.
                shell.end().await?;
            }
            return Err(error);
        }
        Ok(shell)
    }

    /// A terminal without a shell, as one whose shell was killed.
    pub(super) fn without(folder: &str, size: (u16, u16), began: Instant) -> Self {
        let shell = Self::on(Box::new(Nobody), Box::new(Nobody), folder, size, began);
        shell.output_log().end(Exited::default());
        shell
    }

    /// Sets the prompt, which marks itself, and shows an empty screen.
    async fn prepare(&mut self) -> Result<(), SandboxError> {
        let prompt = format!("PS1='{PROMPT}' HISTCONTROL=ignoreboth; unset HISTFILE");
        match self.run(&prompt, START_MAX).await? {
            Outcome::Ended(_) => {}
            other => return Err(SandboxError::Start(format!("the shell does not answer: {other:?}"))),
        }
        let (rows, columns) = self.size;
        self.output_log().clear(rows, columns);
        Ok(())
    }

    /// On a terminal where a shell runs already.
    pub(super) fn on(
        keyboard: Box<dyn TerminalInput>,
        printer: Box<dyn TerminalOutput>,
        folder: &str,
        size: (u16, u16),
        began: Instant,
    ) -> Self {
        let output_log = Arc::new(Mutex::new(OutputLog::new(size.0, size.1, folder, began)));
        let (sender, changed) = watch::channel(());
        let mut reader = JoinSet::new();
        reader.spawn(read(printer, Arc::clone(&output_log), sender));
        Self { keyboard, output_log, changed, keyed: false, size, _reader: reader }
    }

    /// The output.
    pub(super) fn output_log(&self) -> MutexGuard<'_, OutputLog> {
        self.output_log.lock()
    }

    /// Rows and columns.
    pub(super) fn size(&self) -> (u16, u16) {
        self.size
    }

    /// True if a command runs that nothing was typed to since.
    pub(super) fn occupied(&self) -> bool {
        !self.keyed && self.output_log().busy()
    }

    /// Carries out a command; waits for its end at most `wait`.
    pub(super) async fn run(&mut self, command: &str, wait: Duration) -> Result<Outcome, SandboxError> {
        let exited = self.output_log().exited;
        if let Some(exited) = exited {
            return Ok(Outcome::Died(exited));
        }
        let nonce = format!("{:016x}", RandomState::new().build_hasher().finish());
        self.output_log().typed(&nonce, command);
        self.keyed = false;
        self.keyboard.type_bytes(&typed(command, &nonce)).await?;
        let deadline = Instant::now() + wait;
        let begun = self.until(Instant::now() + BEGIN_MAX, |output_log| !output_log.waits()).await?;
        if !begun {
            self.output_log().release();
            // Whatever reads the terminal, a later command may be tried.
            self.keyed = true;
            return Ok(Outcome::NotTaken);
        }
        self.ended(deadline).await
    }

    /// Waits for the end of the command that runs, until `deadline`.
    pub(super) async fn ended(&mut self, deadline: Instant) -> Result<Outcome, SandboxError> {
        self.until(deadline, |output_log| !output_log.busy()).await?;
        let output_log = self.output_log();
        Ok(match (output_log.exited, &output_log.finished) {
            (Some(exited), None) => Outcome::Died(exited),
            (_, Some(finished)) => finished.code.map_or(Outcome::Interrupted, Outcome::Ended),
            (None, None) => Outcome::Running,
        })
    }

    /// Carries out a command that nobody is shown; what it printed, unless that was too much or it did not end in time.
    pub(super) async fn quietly(&mut self, command: &str, wait: Duration) -> Result<Option<String>, SandboxError> {
        self.output_log().hide(true);
        let outcome = self.run(command, wait).await?;
        let mut output_log = self.output_log();
        output_log.hide(false);
        output_log.finished = None;
        let (text, omitted_bytes) = output_log.output.take();
        Ok((outcome == Outcome::Ended(0) && omitted_bytes == 0).then_some(text))
    }

    /// Waits at most `wait` for the end of the command that runs or, where none does, for something to be printed and to stand still.
    pub(super) async fn watch(&mut self, quiet: Duration, wait: Duration) -> Result<(), SandboxError> {
        let deadline = Instant::now() + wait;
        if self.output_log().busy() {
            return self.ended(deadline).await.map(|_| ());
        }
        let received = self.output_log().received;
        if self.until(deadline, |output_log| output_log.received != received || output_log.exited.is_some()).await? {
            self.settle(quiet, deadline.saturating_duration_since(Instant::now())).await?;
        }
        Ok(())
    }

    /// Types keys and waits until nothing was printed for `quiet`, at most `wait`.
    pub(super) async fn keys(&mut self, keys: &[u8], quiet: Duration, wait: Duration) -> Result<(), SandboxError> {
        self.keyed = true;
        self.keyboard.type_bytes(keys).await?;
        self.settle(quiet, wait).await
    }

    /// Waits until nothing was printed for `quiet`, at most `wait`.
    pub(super) async fn settle(&mut self, quiet: Duration, wait: Duration) -> Result<(), SandboxError> {
        let deadline = Instant::now() + wait;
        loop {
            let received = self.output_log().received;
            let until = (Instant::now() + quiet).min(deadline);
            let more =
                self.until(until, |output_log| output_log.received != received || output_log.exited.is_some()).await?;
            if !more || self.output_log().exited.is_some() || Instant::now() >= deadline {
                return Ok(());
            }
        }
    }

    /// Ends the shell and what runs in front of it.
    pub(super) async fn end(&mut self) -> Result<(), SandboxError> {
        if self.output_log().exited.is_none() {
            self.keyboard.kill().await?;
            self.until(Instant::now() + KILL_MAX, |output_log| output_log.exited.is_some()).await?;
        }
        Ok(())
    }

    /// Changes the size of the terminal.
    pub(super) async fn resize(&mut self, rows: u16, columns: u16) -> Result<(), SandboxError> {
        self.keyboard.resize(rows, columns).await?;
        self.size = (rows, columns);
        self.output_log().screen.resize(rows, columns);
        Ok(())
    }

    /// Waits until `done`, at most until `deadline`; whether it is.
    async fn until(&mut self, deadline: Instant, done: impl Fn(&OutputLog) -> bool) -> Result<bool, SandboxError> {
        loop {
            {
                let output_log = self.output_log.lock();
                if done(&output_log) {
                    return Ok(true);
                }
                if let Some(lost) = &output_log.lost {
                    return Err(lost.clone());
                }
                if output_log.exited.is_some() {
                    return Ok(true);
                }
            }
            match tokio::time::timeout_at(deadline.into(), self.changed.changed()).await {
                Ok(Ok(())) => {}
                // The reader went after it noted why.
                Ok(Err(_)) => {
                    let output_log = self.output_log.lock();
                    if let (None, None) = (&output_log.lost, &output_log.exited) {
                        return Err(SandboxError::Lost("the terminal is no longer read".to_owned()));
                    }
                }
                Err(_) => return Ok(done(&self.output_log.lock())),
            }
        }
    }
}

/// Takes everything that is printed, all the time: what is not taken would hold up the whole sandbox.
async fn read(mut printer: Box<dyn TerminalOutput>, output_log: Arc<Mutex<OutputLog>>, changed: watch::Sender<()>) {
    loop {
        let piece = printer.next().await;
        let more = {
            let mut output_log = output_log.lock();
            match piece {
                Ok(PtyPiece::Output(bytes)) => {
                    output_log.feed(&bytes);
                    true
                }
                Ok(PtyPiece::Exited(exited)) => {
                    output_log.end(exited);
                    false
                }
                Err(error) => {
                    output_log.lost = Some(error);
                    false
                }
            }
        };
        changed.send_replace(());
        if !more {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
