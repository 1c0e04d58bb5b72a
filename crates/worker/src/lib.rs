//! The light worker: leases jobs that need no model of its own, does them over the public API with the job's own credential, and reports
//! progress and result.
//!
//! It keeps nothing: a worker that dies loses its leases, and its sessions end with the run that owns them. Its episodes lie in the store:
//! another worker counts those with a score and plays the rest.

mod attempt;
mod context;
mod earlier;
mod failure;
mod findings;
mod kinds;
mod lines;
pub mod play;
mod playing;
mod proof;
mod report;
pub mod stats;

use std::time::Duration;

use palestra_client::{Client, ClientError, Leases};
use palestra_protocol::job::{Device, JobKind};
use palestra_protocol::worker::LeaseRequest;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::play::endpoint::Hosts;

/// The kinds of jobs that this worker can do.
#[must_use]
pub fn light_kinds() -> Vec<JobKind> {
    JobKind::ALL.into_iter().filter(|kind| kind.is_light()).collect()
}

/// Jobs at once where nothing else is asked for.
pub const JOBS_AT_ONCE_DEFAULT: usize = 4;

/// Time that the server waits for a job before it answers that there is none, in milliseconds.
const LEASE_WAIT_MS: u64 = 20_000;

/// Settings and permissions of a worker.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name of the worker, for people. 1 to 200 bytes.
    pub name: String,
    /// The kinds of jobs that it takes, of [`light_kinds`].
    pub kinds: Vec<JobKind>,
    /// Hosts at which policies behind URLs may be asked, as `host` or `host:port`; a job names the URL, so none is allowed by itself.
    pub policy_hosts: Vec<String>,
    /// Credential for those.
    pub policy_key: Option<String>,
    /// Time limit of an answer of those.
    pub answer_timeout: Duration,
    /// Jobs at once.
    pub jobs_at_once: usize,
    /// Memory that is free, in bytes, as the queue compares it with what jobs ask for.
    pub memory_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "palestra".to_owned(),
            kinds: light_kinds(),
            policy_hosts: Vec::new(),
            policy_key: None,
            answer_timeout: Duration::from_secs(play::endpoint::ANSWER_S_DEFAULT),
            jobs_at_once: JOBS_AT_ONCE_DEFAULT,
            memory_bytes: 0,
        }
    }
}

/// Does jobs of the server behind `client`, whose credential has the scope `worker`, until `stop`. Then jobs go back into the queue.
///
/// # Errors
/// When the server refuses the credential or what is asked of it. A server that cannot be reached is asked again.
pub async fn run(client: &Client, options: &Options, stop: &CancellationToken) -> Result<(), ClientError> {
    let mut places = JoinSet::new();
    for _ in 0..options.jobs_at_once.max(1) {
        let worker = Worker { client: client.clone(), options: options.clone(), stop: stop.child_token() };
        places.spawn(async move { worker.work().await });
    }
    let mut refused = Ok(());
    while let Some(ended) = places.join_next().await {
        let ended = ended.unwrap_or_else(|error| Err(ClientError::Unreachable(error.to_string())));
        if let Err(error) = ended
            && refused.is_ok()
        {
            // What one place is refused is refused to all: they hand back what they do.
            refused = Err(error);
            places.abort_all();
        }
    }
    refused
}

/// One place at which jobs are done, one after the other.
struct Worker {
    client: Client,
    options: Options,
    stop: CancellationToken,
}

impl Worker {
    async fn work(&self) -> Result<(), ClientError> {
        let request = LeaseRequest {
            worker: self.options.name.clone(),
            kinds: self.options.kinds.clone(),
            device: Device::Cpu,
            memory_bytes: self.options.memory_bytes,
            wait_ms: LEASE_WAIT_MS,
            remark: None,
        };
        let mut leases = Leases::new(self.client.clone());
        loop {
            let leased = tokio::select! {
                () = self.stop.cancelled() => return Ok(()),
                leased = leases.next(&request) => leased?,
            };
            if let Some(lease) = leased {
                Box::pin(attempt::perform(self, lease)).await;
            }
        }
    }

    fn hosts(&self) -> Hosts {
        Hosts::Only(self.options.policy_hosts.clone())
    }
}
