//! A sandbox with one program in it that is run many times. The program belongs to one user and every run is another: no run can
//! alter the program, reach what another run left behind, or outlive its own end.

use std::time::Duration;

use palestra_sandbox::command::Command;
use palestra_sandbox::isolation::Isolation;
use palestra_sandbox::sandbox::Bounds;
use palestra_sandbox::wire::{FailureCode, Rlimits, User};
use palestra_sandbox::{Ending, Output, Sandbox, SandboxError, SandboxSpec, Sandboxes};

use super::language::{Language, Placeholders};

/// Where the program lies.
pub(super) const FOLDER: &str = "/code/program";
/// Below it, every run has a folder of its own.
const RUNS: &str = "/code/runs";
/// User that builds the program and owns it.
const BUILDER: User = User { uid: 2_001, gid: 2_001 };
/// The user of the first run; the others follow.
const FIRST_RUNNER: u32 = 20_000;
/// Runs of one bench; then the next user would be one that means something else.
const RUNS_MAX: u32 = 20_000;
/// Longest build.
const BUILD_MAX: Duration = Duration::from_secs(60);
/// Largest size of a built program.
const BUILT: Bounds = Bounds { bytes_max: 256 << 20, entries_max: 10_000 };
/// Time that a run may wait on top of four times its time of CPU.
const PATIENCE: Duration = Duration::from_secs(4);
/// Bytes of what a compiler says that are kept.
const SAID_BYTES_MAX: usize = 4_000;
/// Command that makes all folders unwritable for build and runs: else one could leave something for the next.
const CLOSE: &str = "chmod 0755 /tmp /var/tmp /dev/shm /dev/mqueue /run/lock 2>/dev/null; exit 0";
/// Signals that say why a program ended.
const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;
const SIGXFSZ: i32 = 25;

/// A sandbox with a program.
pub(super) struct ProgramRunner {
    sandboxes: Sandboxes,
    want: SandboxSpec,
    sandbox: Sandbox,
    /// True if runs can be other users than the builder. Where they cannot, each gets a sandbox of its own.
    apart: bool,
    /// The built program, to be laid into other sandboxes.
    built: Option<Vec<u8>>,
    closed: bool,
    used: u32,
    /// Up to which run folders are there.
    laid: u32,
}

/// One run of a program.
#[derive(Debug, Clone, Default)]
pub(super) struct Trial<'a> {
    pub(super) argv: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) input: &'a [u8],
    /// Files in the folder where it starts.
    pub(super) files: Vec<(&'a str, &'a [u8])>,
    pub(super) limits: Limits,
}

/// Limits of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) time_ms: u64,
    pub(super) memory_bytes: u64,
    pub(super) output_bytes: u64,
}

/// Outcome of a run.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) end: End,
    pub(super) output: Output,
}

/// End of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// It returned 0.
    Returned,
    /// It took too long.
    Time,
    /// It wanted too much memory.
    Memory,
    /// It printed or wrote too much.
    Output,
    /// It failed by itself; says how.
    Failed(String),
}

impl ProgramRunner {
    /// A bench in a fresh sandbox.
    pub(super) async fn open(sandboxes: &Sandboxes, want: SandboxSpec) -> Result<Self, SandboxError> {
        let sandbox = sandboxes.take(&want).await?;
        let apart = sandbox.isolation().lines.get("uid").is_some_and(|line| line.enforced);
        Ok(Self { sandboxes: sandboxes.clone(), want, sandbox, apart, built: None, closed: false, used: 0, laid: 0 })
    }

    /// Isolation in force.
    pub(super) fn isolation(&self) -> &Isolation {
        self.sandbox.isolation()
    }

    /// Cause of the end of the sandbox, once it is lost.
    pub(super) async fn ending(&self) -> Ending {
        self.sandbox.ending().await
    }

    /// Frees the sandbox.
    pub(super) async fn close(self) {
        self.sandbox.destroy(true).await;
    }

    /// Puts a file beside the program.
    pub(super) async fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), SandboxError> {
        self.built = None;
        self.sandbox.write(&format!("{FOLDER}/{name}"), 0o644, self.owner(), bytes).await
    }

    /// Builds a program; what the compiler says where it refuses it.
    pub(super) async fn build(
        &mut self,
        language: &Language,
        source: &str,
    ) -> Result<Result<(), String>, SandboxError> {
        self.put(&language.source, source.as_bytes()).await?;
        self.close_shared_folders().await?;
        let placeholders = Placeholders { folder: FOLDER, memory_bytes: self.sandbox.profile().memory_bytes.value };
        let (argv, env) = language.fill(&language.build, placeholders);
        let command = Command {
            env: with_home(env, FOLDER),
            user: Some(self.owner()),
            wall: Some(BUILD_MAX),
            merge: true,
            alone: true,
            ..Command::new(argv).folder(FOLDER)
        };
        let output = self.sandbox.exec(&command).await.map_err(|error| missing(error, language, &self.want.image))?;
        if output.success() {
            if self.apart {
                // Some languages run code of the submission while they read it, which may have let others in.
                let seal = Command::new(["chmod", "-R", "go-w,a-s", "/code"]).user(BUILDER).folder("/");
                self.sandbox.exec(&Command { alone: true, ..seal }).await?;
            }
            return Ok(Ok(()));
        }
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.exited.timed_out {
            said.insert_str(0, "the build took too long\n");
        }
        Ok(Err(said.chars().take(SAID_BYTES_MAX).collect()))
    }

    /// Another bench with the same program, which was built and not run yet.
    pub(super) async fn twin(&self) -> Result<Self, SandboxError> {
        let (built, _) = self.sandbox.pack(&[FOLDER.to_owned()], BUILT).await?;
        let twin = Self::open(&self.sandboxes, self.want.clone()).await?;
        let laid = twin.sandbox.unpack("/", None, &built, BUILT).await;
        match laid {
            Ok(()) => Ok(twin),
            Err(error) => {
                twin.close().await;
                Err(error)
            }
        }
    }

    /// Makes the folders of the next `count` runs at once.
    pub(super) async fn expect(&mut self, count: usize, files: &[(&str, &[u8])]) -> Result<(), SandboxError> {
        let count = u32::try_from(count).unwrap_or(u32::MAX).min(RUNS_MAX.saturating_sub(self.used));
        if self.apart && self.laid < self.used + count {
            self.lay(self.used..self.used + count, files).await?;
        }
        Ok(())
    }

    /// Runs the program once.
    pub(super) async fn run(&mut self, language: &Language, trial: &Trial<'_>) -> Result<Run, SandboxError> {
        if self.used >= RUNS_MAX {
            return Err(SandboxError::Exhausted { retry_after_ms: 0 });
        }
        self.close_shared_folders().await?;
        if !self.apart {
            self.renew().await?;
        }
        if self.laid <= self.used {
            self.lay(self.used..self.used + 1, &trial.files).await?;
        }
        let number = self.used;
        self.used += 1;
        let limits = trial.limits;
        let time_ms = limits.time_ms + language.start_ms;
        let command = Command {
            env: with_home(trial.env.clone(), &format!("{RUNS}/{number}")),
            user: Some(self.runner(number)),
            input: trial.input.to_vec(),
            // A machine under load gives a program less than a core, so the clock on the wall is no measure of it.
            wall: Some(Duration::from_millis(time_ms * 4) + PATIENCE),
            output_bytes_max: Some(limits.output_bytes),
            rlimits: Rlimits {
                // The kernel counts whole ticks here, up to twice of what was really used; that decides afterwards.
                cpu_s: Some(time_ms * 2 / 1_000 + 1),
                address_bytes: language.memory.address_bytes.map(|more| limits.memory_bytes + more),
                processes: self.apart.then_some(language.processes),
                ..Rlimits::default()
            },
            alone: true,
            ..Command::new(trial.argv.clone()).folder(format!("{RUNS}/{number}"))
        };
        match self.sandbox.exec(&command).await {
            Ok(output) => Ok(Run { end: end(&output, language, limits, time_ms), output }),
            // The build left something that the kernel does not run.
            Err(SandboxError::Refused { code: FailureCode::NotStarted, detail }) => {
                Ok(Run { end: End::Failed(detail), output: Output::default() })
            }
            Err(error) => Err(error),
        }
    }

    fn owner(&self) -> User {
        if self.apart { BUILDER } else { self.sandbox.profile().user.value }
    }

    fn runner(&self, number: u32) -> User {
        let uid = FIRST_RUNNER + number;
        if self.apart { User { uid, gid: uid } } else { self.sandbox.profile().user.value }
    }

    /// Where every run gets a sandbox of its own: keeps the program as it is before the first run, and lays it into a fresh sandbox
    /// before every other.
    async fn renew(&mut self) -> Result<(), SandboxError> {
        let Some(built) = &self.built else {
            let (built, _) = self.sandbox.pack(&[FOLDER.to_owned()], BUILT).await?;
            self.built = Some(built);
            return Ok(());
        };
        let fresh = self.sandboxes.take(&self.want).await?;
        fresh.unpack("/", Some(self.owner()), built, BUILT).await?;
        std::mem::replace(&mut self.sandbox, fresh).destroy(true).await;
        self.laid = 0;
        Ok(())
    }

    async fn close_shared_folders(&mut self) -> Result<(), SandboxError> {
        if self.apart && !self.closed {
            let root = User { uid: 0, gid: 0 };
            self.sandbox.exec(&Command { alone: true, ..Command::shell(CLOSE).user(root).folder("/") }).await?;
            self.closed = true;
        }
        Ok(())
    }

    /// Makes folders of runs, each with these files.
    async fn lay(&mut self, runs: std::ops::Range<u32>, files: &[(&str, &[u8])]) -> Result<(), SandboxError> {
        let broken = |error: std::io::Error| SandboxError::Start(format!("the folders of the runs: {error}"));
        let mut archive = tar::Builder::new(Vec::new());
        for number in runs.clone() {
            let user = self.runner(number);
            append(&mut archive, &number.to_string(), None, user).map_err(broken)?;
            for (path, bytes) in files {
                append(&mut archive, &format!("{number}/{path}"), Some(bytes), user).map_err(broken)?;
            }
        }
        let archive = archive.into_inner().map_err(broken)?;
        let bounds = Bounds { bytes_max: archive.len() as u64, entries_max: u64::from(RUNS_MAX) * 64 };
        self.sandbox.unpack(RUNS, None, &archive, bounds).await?;
        self.laid = runs.end;
        Ok(())
    }
}

fn append(archive: &mut tar::Builder<Vec<u8>>, path: &str, bytes: Option<&[u8]>, user: User) -> std::io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_uid(user.uid.into());
    header.set_gid(user.gid.into());
    header.set_mtime(0);
    header.set_entry_type(if bytes.is_some() { tar::EntryType::Regular } else { tar::EntryType::Directory });
    // Nobody but the run itself reads what it leaves behind.
    header.set_mode(if bytes.is_some() { 0o644 } else { 0o700 });
    header.set_size(bytes.map_or(0, <[u8]>::len) as u64);
    archive.append_data(&mut header, path, bytes.unwrap_or_default())
}

fn with_home(mut env: Vec<(String, String)>, home: &str) -> Vec<(String, String)> {
    for name in ["HOME", "TMPDIR"] {
        if !env.iter().any(|(other, _)| other == name) {
            env.push((name.to_owned(), home.to_owned()));
        }
    }
    env
}

fn missing(error: SandboxError, language: &Language, image: &str) -> SandboxError {
    match error {
        SandboxError::Refused { code: FailureCode::NotStarted, detail } => SandboxError::Unavailable(format!(
            "the image {image:?} has no {} ({detail}): build `languages` with `palestra images build languages`",
            language.title
        )),
        other => other,
    }
}

/// Says how a run ended. Time is time of CPU, but for a program that waits; memory is what it really held, or what it asked for
/// in vain.
fn end(output: &Output, language: &Language, limits: Limits, time_ms: u64) -> End {
    let exited = &output.exited;
    let held = exited.memory_bytes;
    let allowed = limits.memory_bytes + language.memory.resident_bytes;
    if exited.output_omitted_bytes > 0 || exited.signal == Some(SIGXFSZ) {
        return End::Output;
    }
    if held > allowed {
        return End::Memory;
    }
    if exited.timed_out || exited.signal == Some(SIGXCPU) || exited.cpu_us > time_ms * 1_000 {
        return End::Time;
    }
    if exited.code == Some(0) {
        return End::Returned;
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let asked_in_vain = language.memory.words.iter().any(|words| said.contains(words.as_str()));
    // Nobody but the kernel kills a run before its time, and a program that fails close to its limit most likely met it.
    if asked_in_vain || exited.signal == Some(SIGKILL) || held >= limits.memory_bytes / 8 * 7 {
        return End::Memory;
    }
    End::Failed(match (exited.code, exited.signal) {
        (Some(code), _) => format!("returned {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended without a word".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use palestra_sandbox::wire::Exited;

    use super::*;

    const LIMITS: Limits = Limits { time_ms: 1_000, memory_bytes: 64 << 20, output_bytes: 1_000 };

    fn ended(exited: Exited, stderr: &str) -> End {
        let output = Output { exited, stderr: stderr.as_bytes().to_vec(), ..Output::default() };
        end(&output, Language::named("python").expect("Python"), LIMITS, LIMITS.time_ms)
    }

    #[test]
    fn a_run_is_told_by_what_it_used_and_how_it_ended() {
        let good = Exited { code: Some(0), memory_bytes: 10 << 20, cpu_us: 10_000, ..Exited::default() };
        assert_eq!(ended(good, "MemoryError"), End::Returned);
        assert_eq!(ended(Exited { cpu_us: 1_000_001, ..good }, ""), End::Time);
        assert_eq!(ended(Exited { memory_bytes: 100 << 20, ..good }, ""), End::Memory);
        assert_eq!(ended(Exited { output_omitted_bytes: 1, ..good }, ""), End::Output);
        let failed = Exited { code: Some(1), ..good };
        assert_eq!(ended(failed, "ValueError"), End::Failed("returned 1".to_owned()));
        assert_eq!(ended(failed, "MemoryError"), End::Memory);
        assert_eq!(ended(Exited { memory_bytes: 60 << 20, ..failed }, ""), End::Memory);
        let killed = Exited { code: None, signal: Some(SIGKILL), ..good };
        assert_eq!(ended(killed, ""), End::Memory);
        assert_eq!(ended(Exited { timed_out: true, ..killed }, ""), End::Time);
        assert_eq!(ended(Exited { signal: Some(11), ..killed }, ""), End::Failed("ended by signal 11".to_owned()));
    }

    #[test]
    fn a_flood_is_a_flood_however_it_was_ended() {
        let flood = Exited { signal: Some(SIGKILL), timed_out: true, output_omitted_bytes: 9, ..Exited::default() };
        assert_eq!(ended(flood, ""), End::Output);
    }
}
