//! Workers that asked for jobs recently, in memory: they explain why a job waits.

use std::collections::HashMap;
use std::time::Duration;

use palestra_protocol::id::JobId;
use palestra_protocol::job::{Device, JobKind};
use palestra_protocol::time::Timestamp;
use palestra_protocol::worker::LeaseRequest;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::WorkerScope;
use super::schedule::fits;
use palestra_store::Tenant;
use palestra_store::row::job::{CandidateFilter, JobRow};

/// Workers that are remembered.
const WORKERS_MAX: usize = 1_024;
/// Time for which a worker is remembered after its last request.
const REMEMBERED: Duration = Duration::from_secs(60);

/// Workers by name and kinds: one program may ask for several sorts of jobs, each at a place of its own.
#[derive(Default)]
pub(super) struct Workers(Mutex<HashMap<(String, Vec<JobKind>), Worker>>);

/// A job that a worker holds.
struct Held {
    job: JobId,
    tenant: String,
}

struct Worker {
    tenant: Option<Tenant>,
    device: Device,
    memory_bytes: u64,
    at: Instant,
    /// The last job that it got; none once it asks again.
    busy: Option<Held>,
}

/// State of the workers that a job waits for.
pub(super) enum Waiting {
    /// No recent worker fits it.
    Missing(String),
    /// All that fit are busy.
    Busy(String),
    /// One that fits asks for a job.
    Ready,
}

impl Workers {
    /// Records a request for a job.
    pub(super) fn record_request(&self, scope: &WorkerScope, request: &LeaseRequest) {
        let now = Instant::now();
        let mut seen = self.0.lock();
        let name = (request.worker.clone(), request.kinds.clone());
        if seen.len() >= WORKERS_MAX && !seen.contains_key(&name) {
            seen.retain(|_, worker| now.duration_since(worker.at) <= REMEMBERED);
            if seen.len() >= WORKERS_MAX {
                return;
            }
        }
        let worker = Worker {
            tenant: scope.tenant.clone(),
            device: request.device,
            memory_bytes: request.memory_bytes,
            at: now,
            busy: None,
        };
        seen.insert(name, worker);
    }

    /// Records that a worker got a job.
    pub(super) fn record_lease(&self, worker: &str, kinds: &[JobKind], job: JobId, tenant: &str) {
        if let Some(seen) = self.0.lock().get_mut(&(worker.to_owned(), kinds.to_vec())) {
            seen.busy = Some(Held { job, tenant: tenant.to_owned() });
        }
    }

    /// Records a heartbeat: a worker sends no request while it works.
    pub(super) fn record_heartbeat(&self, worker: &str) {
        let now = Instant::now();
        let mut seen = self.0.lock();
        seen.iter_mut().filter(|((name, _), _)| name == worker).for_each(|(_, seen)| seen.at = now);
    }

    /// The jobs that the worker which holds this one could do in its place; `None` for a worker that is not remembered.
    pub(super) fn alternatives(&self, job: JobId, now: Timestamp) -> Option<CandidateFilter> {
        let seen = self.0.lock();
        let holds = |worker: &Worker| worker.busy.as_ref().is_some_and(|held| held.job == job);
        let ((_, kinds), worker) = seen.iter().find(|(_, worker)| holds(worker))?;
        let tenant = worker.tenant.as_ref().map(ToString::to_string);
        Some(CandidateFilter {
            tenant,
            kinds: kinds.clone(),
            device: worker.device,
            memory_bytes: worker.memory_bytes,
            now,
        })
    }

    /// State of the workers that could do a job.
    pub(super) fn waiting(&self, row: &JobRow) -> Waiting {
        let now = Instant::now();
        let seen = self.0.lock();
        let recent: Vec<(&(String, Vec<JobKind>), &Worker)> = seen
            .iter()
            .filter(|(_, worker)| now.duration_since(worker.at) <= REMEMBERED)
            .filter(|(_, worker)| worker.tenant.as_deref().is_none_or(|tenant| tenant == row.tenant))
            .collect();
        let able = recent.iter().filter(|((_, kinds), worker)| {
            let filter = CandidateFilter {
                tenant: None,
                kinds: kinds.clone(),
                device: worker.device,
                memory_bytes: worker.memory_bytes,
                now: row.created_at,
            };
            fits(row.kind, row.resources, &filter)
        });
        let mut able: Vec<(&str, Option<&Held>)> = able
            .map(|((name, _), worker)| (name.as_str(), worker.busy.as_ref().filter(|held| held.job != row.id)))
            .collect();
        able.sort_by_key(|(name, _)| *name);
        if let Some((name, busy)) = able.first() {
            return match busy.filter(|_| able.iter().all(|(_, busy)| busy.is_some())) {
                Some(held) => Waiting::Busy(busy_text(name, held, able.len() - 1, &row.tenant)),
                None => Waiting::Ready,
            };
        }
        let of_kind: Vec<&Worker> =
            recent.iter().filter(|((_, kinds), _)| kinds.contains(&row.kind)).map(|(_, worker)| *worker).collect();
        let has_device = |worker: &&Worker| row.resources.device != Device::Gpu || worker.device == Device::Gpu;
        Waiting::Missing(if of_kind.is_empty() {
            format!("no worker for jobs of kind {} has asked for a job in the last minute", row.kind.as_str())
        } else if !of_kind.iter().any(has_device) {
            "no worker with a gpu has asked for a job in the last minute".to_owned()
        } else {
            let needed = row.resources.memory_bytes;
            format!("no worker with {needed} bytes of memory free has asked for a job in the last minute")
        })
    }
}

/// The work of the first of the workers that fit; jobs of other tenants are not named.
fn busy_text(name: &str, held: &Held, others: usize, tenant: &str) -> String {
    let job = if held.tenant == tenant { held.job.to_string() } else { "a job of another tenant".to_owned() };
    match others {
        0 => format!("{name} is busy with {job}"),
        others => format!("{name} is busy with {job}, and {others} more workers that fit are busy"),
    }
}
