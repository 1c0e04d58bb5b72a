//! The local workers of `palestra serve`: started as children, started again when they die, and ended with the server.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use palestra_protocol::id::KeyId;
use palestra_protocol::key::{CreateKey, CreatedKey, Scope};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use palestra_auth::DEFAULT_TENANT;
use palestra_jobs::JobsError;
use palestra_store::StoreError;
use palestra_store::row::PageRequest;

/// The program of light jobs.
pub(super) const LIGHT: &str = "worker";
/// The program that trains and serves policies.
pub(super) const TRAINER: &str = "trainer";
/// Wait before a worker that died is started again, in milliseconds; doubled by each death in a row.
const RESTART_MS_MIN: u64 = 1_000;
/// Longest such wait.
const RESTART_MS_MAX: u64 = 60_000;
/// A worker that lived for so long was sound, in milliseconds: the next wait is the shortest again.
const SOUND_MS: u64 = 60_000;
/// Bytes of a worker's line that go to the log; the rest goes as further lines.
const LINE_BYTES_MAX: usize = 8_192;
/// Bytes of a worker's output that are read at once.
const READ_BYTES: usize = 4_096;
/// Keys that are looked at in one go.
const KEYS_PER_PAGE: u32 = 500;
/// Prefix of variables that concern the server alone: its secrets are among them.
const OWN_VARIABLES: &str = "PALESTRA_";

/// A program that works for the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkerProgram {
    /// Its name in the log.
    pub(super) name: &'static str,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    /// Variables that it is given beside address and key.
    pub(super) variables: Vec<(&'static str, OsString)>,
}

/// The workers of a server; end them with [`LocalWorkers::end`].
pub(super) struct LocalWorkers {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl LocalWorkers {
    /// Starts `programs` for the server at `url`, with a key of their own that nobody else learns.
    pub(super) fn begin(app: &App, url: String, programs: Vec<WorkerProgram>) -> Self {
        let stop = CancellationToken::new();
        let task = app.tracker().spawn(work(app.clone(), url, programs, stop.clone()));
        Self { stop, task }
    }

    /// Ends every worker. Each has `drain_ms` to hand its jobs back; then it is killed.
    pub(super) async fn end(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the local workers were left to end by themselves");
        }
    }
}

async fn work(app: App, url: String, mut programs: Vec<WorkerProgram>, stop: CancellationToken) {
    let node = std::fs::read_to_string(app.config().data.join("node")).unwrap_or_default();
    let node = node.trim();
    if let Err(error) = replace_former(&app, node).await {
        tracing::error!(%error, "the jobs of former local workers wait until their leases expire");
    }
    if programs.is_empty() {
        return;
    }
    for worker in &mut programs {
        worker.arguments.extend(["--name".into(), worker_name(worker.name, node).into()]);
    }
    let key = match make_key(&app, node).await {
        Ok(key) => key,
        Err(error) => {
            tracing::error!(%error, "local workers have no key, and do not start");
            return;
        }
    };
    let patience = Duration::from_millis(app.config().drain_ms);
    let mut places = JoinSet::new();
    for worker in programs {
        places.spawn(supervise(worker, url.clone(), key.secret.clone(), stop.clone(), patience));
    }
    while places.join_next().await.is_some() {}
    // A store that is closed already keeps the key; the next start revokes it.
    if let Err(error) = app.auth().revoke_key(DEFAULT_TENANT, key.key.id).await {
        tracing::warn!(%error, "the key of the local workers was not revoked");
    }
}

/// The name of a worker in the queue; workers of other nodes have other names.
fn worker_name(program: &str, node: &str) -> String {
    format!("local {program} of {node}")
}

fn key_name(node: &str) -> String {
    format!("local workers of {node}")
}

/// Ends what the local workers of a server left that was killed: they ended with it. Their keys are revoked, so that none that is about
/// to end still writes; then their jobs are queued again.
async fn replace_former(app: &App, node: &str) -> Result<(), JobsError> {
    for left in left_keys(app, &key_name(node)).await? {
        app.auth().revoke_key(DEFAULT_TENANT, left).await?;
    }
    let workers = [LIGHT, TRAINER].map(|program| worker_name(program, node));
    let jobs = app.jobs().take_back(&workers).await?;
    if jobs > 0 {
        tracing::info!(jobs, "queued the jobs of former local workers again");
    }
    Ok(())
}

/// Makes the key of this server's workers.
async fn make_key(app: &App, node: &str) -> Result<CreatedKey, StoreError> {
    let request = CreateKey { name: key_name(node), scopes: vec![Scope::Worker], expires_at: None };
    app.auth().create_key(DEFAULT_TENANT, request).await
}

async fn left_keys(app: &App, name: &str) -> Result<Vec<KeyId>, StoreError> {
    let (mut left, mut before) = (Vec::new(), None);
    loop {
        let keys = app.auth().keys(DEFAULT_TENANT, &PageRequest { before, limit: KEYS_PER_PAGE }).await?;
        let of_workers = |key: &&palestra_protocol::key::Key| key.revoked_at.is_none() && key.name == name;
        left.extend(keys.iter().filter(of_workers).map(|key| key.id));
        match keys.last() {
            Some(last) if keys.len() == KEYS_PER_PAGE as usize => before = Some(last.id.to_string()),
            _ => return Ok(left),
        }
    }
}

/// Keeps one worker running until `stop`.
async fn supervise(worker: WorkerProgram, url: String, key: String, stop: CancellationToken, patience: Duration) {
    let mut wait_ms = RESTART_MS_MIN;
    while !stop.is_cancelled() {
        let begun = Instant::now();
        match start(&worker, &url, &key) {
            Ok(child) => {
                if !wait_for_end(child, worker.name, &stop, patience).await {
                    return;
                }
            }
            Err(error) => {
                tracing::error!(worker = worker.name, program = %worker.program.display(), %error, "a worker does not start");
            }
        }
        if begun.elapsed() >= Duration::from_millis(SOUND_MS) {
            wait_ms = RESTART_MS_MIN;
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(Duration::from_millis(wait_ms)) => {}
        }
        wait_ms = (wait_ms * 2).min(RESTART_MS_MAX);
    }
}

fn start(worker: &WorkerProgram, url: &str, key: &str) -> std::io::Result<Child> {
    let mut command = Command::new(&worker.program);
    command.args(&worker.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with(OWN_VARIABLES)) {
        command.env_remove(name);
    }
    // Arguments are seen by everybody on the machine, variables by their owner alone.
    command.env("PALESTRA_URL", url).env("PALESTRA_API_KEY", key);
    command.envs(worker.variables.iter().map(|(name, value)| (name, value)));
    // Ctrl-C on a terminal reaches the server alone, which ends its workers in good order.
    #[cfg(unix)]
    command.process_group(0);
    command.kill_on_drop(true).spawn()
}

/// Waits for the end of a worker and answers true; or ends it because of `stop`, and answers false.
async fn wait_for_end(mut child: Child, name: &'static str, stop: &CancellationToken, patience: Duration) -> bool {
    // The worker lives as long as this is open, also when this process is killed.
    let stdin = child.stdin.take();
    let mut lines = JoinSet::new();
    if let Some(output) = child.stdout.take() {
        lines.spawn(log_lines(output, name));
    }
    if let Some(errors) = child.stderr.take() {
        lines.spawn(log_lines(errors, name));
    }
    let died = tokio::select! {
        status = child.wait() => {
            let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            tracing::warn!(worker = name, status, "a worker ended, and is started again");
            true
        }
        () = stop.cancelled() => false,
    };
    drop(stdin);
    if !died && timeout(patience, child.wait()).await.is_err() {
        tracing::warn!(worker = name, "a worker did not end in time, and is killed");
        if let Err(error) = child.kill().await {
            tracing::warn!(worker = name, %error, "a worker could not be killed");
        }
    }
    // What it said last; something that it started may hold its output open, and is not waited for.
    let _ = timeout(Duration::from_millis(RESTART_MS_MIN), async { while lines.join_next().await.is_some() {} }).await;
    died
}

/// Passes what a worker says on to the log, line by line.
async fn log_lines(mut output: impl AsyncRead + Unpin, name: &'static str) {
    let (mut line, mut piece) = (Vec::new(), [0; READ_BYTES]);
    while let Ok(length) = output.read(&mut piece).await {
        if length == 0 {
            break;
        }
        split_lines(
            &mut line,
            &piece[..length],
            |text| tracing::info!(target: "palestra::worker", worker = name, "{text}"),
        );
    }
    if !line.is_empty() {
        tracing::info!(target: "palestra::worker", worker = name, "{}", String::from_utf8_lossy(&line));
    }
}

/// Adds bytes to a line that has begun, and hands on every line that they end, or that is long enough.
fn split_lines(line: &mut Vec<u8>, bytes: &[u8], mut ready: impl FnMut(&str)) {
    for &byte in bytes {
        if byte == b'\n' || line.len() >= LINE_BYTES_MAX {
            if !line.is_empty() {
                ready(String::from_utf8_lossy(line).trim_end_matches('\r'));
            }
            line.clear();
        }
        if byte != b'\n' {
            line.push(byte);
        }
    }
}

/// The program `name` beside this one.
pub(super) fn sibling_program(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let program = own.parent().map(Path::to_owned)?.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    program.is_file().then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_becomes_lines_of_bounded_length() {
        let (mut line, mut seen) = (Vec::new(), Vec::new());
        let mut take = |bytes: &[u8]| split_lines(&mut line, bytes, |text| seen.push(text.to_owned()));
        take(b"one\r\ntw");
        take(b"o\n\n\xff\n");
        take(&vec![b'x'; LINE_BYTES_MAX + 3]);
        take(b"\n");
        let lengths: Vec<usize> = seen.iter().map(String::len).collect();
        assert_eq!(seen[..3], ["one", "two", "\u{fffd}"]);
        assert_eq!(lengths[3..], [LINE_BYTES_MAX, 3]);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_worker_ends_when_its_input_does_and_is_killed_when_it_does_not_listen() {
        let worker = |script: &str| WorkerProgram {
            name: "test",
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            variables: Vec::new(),
        };
        for script in ["cat", "trap '' TERM; exec sleep 600"] {
            let child = start(&worker(script), "http://127.0.0.1:1", "key").unwrap();
            let stop = CancellationToken::new();
            stop.cancel();
            let ended = wait_for_end(child, "test", &stop, Duration::from_millis(300));
            assert!(!timeout(Duration::from_secs(10), ended).await.unwrap(), "{script}");
        }
        let child = start(&worker("exit 3"), "http://127.0.0.1:1", "key").unwrap();
        assert!(wait_for_end(child, "test", &CancellationToken::new(), Duration::from_secs(5)).await);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_worker_learns_its_key_and_none_of_the_servers_secrets() {
        let worker = WorkerProgram {
            name: "test",
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), "env | grep ^PALESTRA_ | sort; printf '%s' \"$0\"".into()],
            variables: vec![("PALESTRA_LOG", "debug".into())],
        };
        let mut child = start(&worker, "http://127.0.0.1:1", "key").unwrap();
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).await.unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("PALESTRA_")).collect();
        assert_eq!(lines, ["PALESTRA_API_KEY=key", "PALESTRA_LOG=debug", "PALESTRA_URL=http://127.0.0.1:1"]);
    }
}
