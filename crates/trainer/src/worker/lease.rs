//! The part that never touches a device: it asks for jobs, starts a process for each, and says how that ended when the process
//! cannot say so itself.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use clap::Args;
use palestra_client::{Client, HeldLease, LeaseError, Leases};
use palestra_protocol::job::{Device, JobError, JobKind};
use palestra_protocol::worker::{Lease, LeaseRequest, Outcome};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

use super::end;
use crate::device::{self, Choice, Opened};
use crate::failure::TrainerError;

/// Time that one request for a job waits, in milliseconds.
const WAIT_MS: u64 = 20_000;
/// Time for an attempt to stop when the worker does, in milliseconds.
const STOP_MS: u64 = 20_000;

/// Lease times without a sign of life after which an attempt is killed: after one, its lease is lost.
const SILENT_LEASES: u32 = 2;

/// Arguments of a worker.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// The server.
    #[arg(long, env = "PALESTRA_URL", default_value = "http://127.0.0.1:7070")]
    pub url: String,
    /// A key with the scope `worker`.
    #[arg(long, env = "PALESTRA_API_KEY", hide_env_values = true)]
    pub key: String,
    /// Name of this worker, for people.
    #[arg(long, default_value = "trainer")]
    pub name: String,
    /// On what it computes.
    #[arg(long, value_enum, default_value_t = Choice::Cpu)]
    pub device: Choice,
    /// Also uses an adapter that only pretends to be a graphics processor; for tests.
    #[arg(long)]
    pub allow_software_adapter: bool,
    /// Memory that jobs may ask for, in bytes [default: what is free].
    #[arg(long)]
    pub memory_bytes: Option<u64>,
    /// Folder for temporary files of attempts; emptied after each [default: the system's temporary folder].
    #[arg(long)]
    pub scratch: Option<PathBuf>,
    /// A folder from which jobs may load models as `file:PATH`; can be given several times.
    #[arg(long = "models", value_name = "FOLDER")]
    pub models: Vec<PathBuf>,
    /// Ends when its standard input does: for whoever started it.
    #[arg(long)]
    pub until_stdin_closes: bool,
}

/// Does jobs until `stop`.
///
/// # Errors
/// When the device cannot be used or the credential is refused.
pub async fn work(arguments: &Arguments, program: &Path, stop: CancellationToken) -> Result<(), TrainerError> {
    let device = arguments.device;
    let flexible = arguments.allow_software_adapter;
    let opened = tokio::task::spawn_blocking(move || device::open(device, flexible))
        .await
        .map_err(|error| TrainerError::Device(format!("the device cannot be opened: {error}")))??;
    tracing::info!(device = opened.name, "ready for jobs");
    let client = Client::new(&arguments.url, Some(&arguments.key))?;
    // A policy that is served must not keep a training waiting, nor the other way round.
    let (train, serve) = tokio::join!(
        lease_loop(arguments, &client, program, &opened, JobKind::Train, &stop),
        lease_loop(arguments, &client, program, &opened, JobKind::Serve, &stop),
    );
    train.and(serve)
}

async fn lease_loop(
    arguments: &Arguments,
    client: &Client,
    program: &Path,
    opened: &Opened,
    kind: JobKind,
    stop: &CancellationToken,
) -> Result<(), TrainerError> {
    let mut leases = Leases::new(client.clone());
    while !stop.is_cancelled() {
        let request = LeaseRequest {
            worker: arguments.name.clone(),
            kinds: vec![kind],
            device: if opened.is_gpu { Device::Gpu } else { Device::Cpu },
            memory_bytes: match arguments.memory_bytes {
                Some(bytes) => bytes,
                None => free_memory_bytes(opened).await,
            },
            wait_ms: WAIT_MS,
            remark: None,
        };
        let leased = tokio::select! {
            leased = leases.next(&request) => leased?,
            () = stop.cancelled() => None,
        };
        if let Some(lease) = leased {
            supervise(arguments, client, program, &lease, stop).await;
        }
    }
    Ok(())
}

/// Memory of the device that is free, in bytes; 0 where that cannot be told.
async fn free_memory_bytes(opened: &Opened) -> u64 {
    let device = opened.device.clone();
    // Some drivers tell it through a program of their own.
    let told = tokio::task::spawn_blocking(move || device::free_memory_bytes(&device)).await;
    told.ok().flatten().unwrap_or(0)
}

/// Runs one attempt in a process, and reports its end where it could not.
async fn supervise(arguments: &Arguments, client: &Client, program: &Path, lease: &Lease, stop: &CancellationToken) {
    let outcome = match start(arguments, program, lease).await {
        Ok(child) => watch(child, lease_time(lease) * SILENT_LEASES, stop).await,
        Err(error) => Some(Outcome::Failed {
            error: JobError { code: "internal".to_owned(), detail: format!("no process could be started: {error}") },
            retry: true,
        }),
    };
    let Some(outcome) = outcome else { return };
    match HeldLease::new(client.clone(), lease).finish(outcome).await {
        // Where it is lost, the attempt said it itself, or the queue gave the job to somebody else.
        Ok(()) | Err(LeaseError::Lost) => {}
        Err(error) => tracing::warn!(%error, job = %lease.job.id, "the end of an attempt could not be told"),
    }
}

fn lease_time(lease: &Lease) -> Duration {
    Duration::from_millis(lease.lease_ms)
}

/// Starts the process of an attempt. What it needs to know travels over its standard input, so that no credential stands in a list
/// of processes; the end of that input ends it.
async fn start(arguments: &Arguments, program: &Path, lease: &Lease) -> std::io::Result<Child> {
    let mut command = Command::new(program);
    command.arg("attempt").arg("--url").arg(&arguments.url).arg("--device").arg(arguments.device.as_str());
    if arguments.allow_software_adapter {
        command.arg("--allow-software-adapter");
    }
    if let Some(scratch) = &arguments.scratch {
        command.arg("--scratch").arg(scratch);
    }
    for folder in &arguments.models {
        command.arg("--models").arg(folder);
    }
    command.env("PALESTRA_API_KEY", &arguments.key).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let mut line = serde_json::to_vec(lease)?;
    line.push(b'\n');
    if let Some(input) = child.stdin.as_mut() {
        let told = async {
            input.write_all(&line).await?;
            input.flush().await
        };
        tokio::time::timeout(lease_time(lease), told).await??;
    }
    Ok(child)
}

/// Waits for the end of an attempt, and passes on what it says meanwhile; answers what is left to say. An attempt that gives no sign of
/// life for as long as `silence` is killed.
async fn watch(mut child: Child, silence: Duration, stop: &CancellationToken) -> Option<Outcome> {
    let kills = end::memory_kills().await;
    let (stdout, stderr, over) = (child.stdout.take(), child.stderr.take(), CancellationToken::new());
    let mut silent = false;
    let ending = async {
        let status = tokio::select! {
            status = ended(&mut child, stop) => Some(status),
            () = until_silent(stdout, silence) => None,
        };
        let status = match status {
            Some(status) => status,
            None => {
                silent = true;
                // A signal that works on a stopped process too.
                let _ = child.start_kill();
                child.wait().await
            }
        };
        over.cancel();
        status
    };
    let (status, no_memory) = tokio::join!(ending, end::listen(stderr, &over));
    match status {
        Ok(_) if silent => {
            let detail = format!(
                "the attempt gave no sign of life for {} s, because it was stopped or hung: its process was killed, and it goes on \
                 at its next attempt",
                silence.as_secs_f64()
            );
            tracing::warn!("{detail}");
            Some(Outcome::Failed { error: JobError { code: "lease_lost".to_owned(), detail }, retry: true })
        }
        Ok(status) if status.success() => None,
        Ok(_) if stop.is_cancelled() => Some(Outcome::Released),
        Ok(status) => {
            let kernel = end::rose(kills, end::memory_kills().await);
            Some(end::died(status, no_memory.as_deref(), kernel))
        }
        Err(error) => Some(Outcome::Failed {
            error: JobError { code: "internal".to_owned(), detail: format!("the process was lost: {error}") },
            retry: true,
        }),
    }
}

/// Ends once nothing has come from an attempt for so long: it writes after each heartbeat that the queue took.
async fn until_silent(stdout: Option<ChildStdout>, silence: Duration) {
    let (mut stdout, mut beats) = (stdout, [0; 64]);
    while let Some(from) = stdout.as_mut() {
        match tokio::time::timeout(silence, from.read(&mut beats)).await {
            Ok(Ok(count)) if count > 0 => {}
            Ok(_) => stdout = None,
            Err(_) => return,
        }
    }
    // Its output is closed, which comes just before the end of a process.
    tokio::time::sleep(silence).await;
}

/// Waits until an attempt is over, which has to be soon once the worker stops.
async fn ended(child: &mut Child, stop: &CancellationToken) -> std::io::Result<ExitStatus> {
    // Held open: its end would end the attempt.
    let input = child.stdin.take();
    tokio::select! {
        status = child.wait() => status,
        () = stop.cancelled() => {
            drop(input);
            match tokio::time::timeout(Duration::from_millis(STOP_MS), child.wait()).await {
                Ok(status) => status,
                Err(_) => {
                    let _ = child.start_kill();
                    child.wait().await
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than a test.
    const LONG: Duration = Duration::from_secs(600);

    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command.spawn().unwrap()
    }

    #[tokio::test]
    async fn a_process_whose_allocation_fails_ran_out_of_memory() {
        let child = shell("echo before >&2; echo 'memory allocation of 4096 bytes failed' >&2; kill -ABRT $$");
        let outcome = watch(child, LONG, &CancellationToken::new()).await;
        let told = matches!(&outcome, Some(Outcome::Failed { error, retry: true })
            if error.code == "out_of_memory" && error.detail.contains("memory allocation of 4096 bytes failed"));
        assert!(told, "{outcome:?}");
    }

    #[tokio::test]
    async fn a_process_that_says_more_than_a_pipe_holds_comes_to_its_end() {
        let child = shell("head -c 200000 /dev/zero >&2");
        assert_eq!(watch(child, LONG, &CancellationToken::new()).await, None);
    }

    #[tokio::test]
    async fn a_process_that_ends_because_the_worker_stops_is_given_back() {
        let stop = CancellationToken::new();
        stop.cancel();
        // It ends with its input, as an attempt does.
        let outcome = watch(shell("cat >&2; exit 3"), LONG, &stop).await;
        assert_eq!(outcome, Some(Outcome::Released));
    }

    fn signal(child: &Child, name: &str) {
        let pid = child.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    #[tokio::test]
    async fn a_process_that_is_stopped_is_killed_and_reaped() {
        let child = shell("while true; do echo; sleep 0.05; done");
        let process = format!("/proc/{}", child.id().unwrap());
        signal(&child, "-STOP");
        let outcome = watch(child, Duration::from_millis(300), &CancellationToken::new()).await;
        let told = matches!(&outcome, Some(Outcome::Failed { error, retry: true })
            if error.code == "lease_lost" && error.detail.contains("no sign of life for 0.3 s"));
        assert!(told, "{outcome:?}");
        assert!(!Path::new(&process).exists(), "{process} is left");
    }

    #[tokio::test]
    async fn a_process_that_gives_signs_of_life_may_take_its_time() {
        let child = shell("for beat in 1 2 3 4 5 6 7 8; do echo; sleep 0.5; done");
        assert_eq!(watch(child, Duration::from_secs(3), &CancellationToken::new()).await, None);
    }
}
