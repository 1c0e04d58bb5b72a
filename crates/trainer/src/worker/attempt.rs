//! One attempt at a job, in a process of its own.

use std::io::{BufRead as _, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use clap::Args;
use palestra_client::Client;
use palestra_protocol::job::JobError;
use palestra_protocol::run::CreateRun;
use palestra_protocol::spec::Spec;
use palestra_protocol::worker::{Lease, Outcome};
use serde_json::Value;
use tokio::runtime::Handle;

use super::serve;
use crate::device::{self, Choice};
use crate::failure::{TrainerError, lacks_memory};
use crate::files::Files;
use crate::reporter::Reporter;
use crate::train;

/// Length of the run that owns an attempt's sessions, in milliseconds: they end this long after the attempt went silent.
const RUN_LEASE_MS: u64 = 60_000;
/// Time between two renewals of that run, in milliseconds.
const RUN_BEAT_MS: u64 = 15_000;

/// Arguments of an attempt.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// The server.
    #[arg(long)]
    pub url: String,
    /// The worker's key.
    #[arg(long, env = "PALESTRA_API_KEY", hide_env_values = true)]
    pub key: String,
    /// The device that it computes on.
    #[arg(long, value_enum, default_value_t = Choice::Cpu)]
    pub device: Choice,
    /// Also uses an adapter that only pretends to be a graphics processor; for tests.
    #[arg(long)]
    pub allow_software_adapter: bool,
    /// The folder for temporary files.
    #[arg(long)]
    pub scratch: Option<PathBuf>,
    /// A folder from which jobs may load models as `file:PATH`.
    #[arg(long = "models")]
    pub models: Vec<PathBuf>,
}

/// Does the job whose lease is the first line of the standard input, and reports how it ended. The end of that input ends the
/// process at once: whoever started it is gone, or wants it gone.
///
/// # Errors
/// When the lease cannot be read, or its end cannot be told.
pub fn attempt(arguments: &Arguments, runtime: &Handle) -> Result<(), TrainerError> {
    let lease = read_lease()?;
    let client = Client::new(&arguments.url, Some(&arguments.key))?;
    let reporter = Reporter::new(client, &lease, runtime.clone(), show_life);
    let done = catch_unwind(AssertUnwindSafe(|| run(arguments, &lease, &reporter, runtime)));
    let outcome = match done {
        Ok(Ok(result)) => Outcome::Succeeded { result },
        Ok(Err(TrainerError::Cancelled)) => Outcome::Cancelled,
        Ok(Err(TrainerError::LeaseLost)) => return Err(TrainerError::LeaseLost),
        Ok(Err(error)) => Outcome::Failed { retry: error.may_pass(), error: error.to_job_error() },
        Err(panic) => panicked(panic_message::panic_message(&panic)),
    };
    reporter.finish(outcome)
}

/// Tells whoever started this attempt that it lives and that the queue still counts on it.
fn show_life() {
    let mut out = std::io::stdout().lock();
    // Nobody reads it where the worker is gone, which ends the attempt.
    let _ = out.write_all(b"\n").and_then(|()| out.flush());
}

fn read_lease() -> Result<Lease, TrainerError> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(TrainerError::io("the lease"))?;
    let lease =
        serde_json::from_str(&line).map_err(|error| TrainerError::Internal(format!("no lease came: {error}")))?;
    std::thread::spawn(|| {
        let mut rest = [0; 64];
        while std::io::stdin().lock().read(&mut rest).is_ok_and(|count| count > 0) {}
        tracing::info!("whoever started this attempt is gone: it ends");
        std::process::exit(3);
    });
    Ok(lease)
}

fn run(arguments: &Arguments, lease: &Lease, reporter: &Reporter, runtime: &Handle) -> Result<Value, TrainerError> {
    let spec = lease.job.read_spec().map_err(TrainerError::BadSpec)?;
    let opened = device::open(arguments.device, arguments.allow_software_adapter)?;
    let scratch = match &arguments.scratch {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    }
    .map_err(TrainerError::io("the folder to work in"))?;
    // The token of the lease reaches the job's tenant and nothing else.
    let client = Client::new(&arguments.url, Some(&lease.token))?;
    let files = Files {
        client: client.clone(),
        reporter: reporter.clone(),
        folder: scratch.path().to_owned(),
        models: arguments.models.clone(),
    };
    match spec {
        Spec::Train(spec) => {
            let request = CreateRun { id: Some(lease.run), lease_ms: RUN_LEASE_MS };
            reporter.ask(|| client.create_run(&request))?;
            let (renewing, run) = (client.clone(), lease.run);
            let renewal = runtime.spawn(async move {
                loop {
                    tokio::time::sleep(std::time::Duration::from_millis(RUN_BEAT_MS)).await;
                    // A server that does not answer is asked again; a run that ended shows in its sessions.
                    let _ = renewing.heartbeat(run).await;
                }
            });
            let context = train::Context {
                device: opened.device,
                client: client.clone(),
                run: lease.run,
                runtime: runtime.clone(),
                reporter: reporter.clone(),
                files,
                checkpoint: lease.checkpoint.clone(),
            };
            let done = train::train(&spec, &context);
            renewal.abort();
            // Where this fails, the sessions end when the run's lease does.
            let _ = runtime.block_on(client.delete_run(lease.run));
            done
        }
        Spec::Serve(spec) => serve::serve(&spec, &opened.device, &files, reporter),
        _ => Err(TrainerError::BadSpec("a trainer does jobs of the kinds train and serve".to_owned())),
    }
}

/// The outcome of a panic. Device drivers report a lack of memory by panics.
fn panicked(text: &str) -> Outcome {
    let error = if lacks_memory(text) {
        TrainerError::OutOfMemory(text.to_owned()).to_job_error()
    } else {
        JobError { code: "internal".to_owned(), detail: text.to_owned() }
    };
    Outcome::Failed { error, retry: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_for_lack_of_memory_is_told_from_others() {
        let code = |text: &str| match panicked(text) {
            Outcome::Failed { error, retry: true } => error.code,
            other => panic!("{other:?}"),
        };
        assert_eq!(code("called `Result::unwrap()`: An out-of-memory error happened during launch"), "out_of_memory");
        assert_eq!(code("index out of bounds"), "internal");
    }
}
