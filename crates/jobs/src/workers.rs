//! Workers that asked for jobs recently, in memory: they explain why a job waits.

use std::collections::HashMap;
use std::time::Duration;

use palestra_protocol::job::{Device, JobKind};
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

/// Workers by name.
#[derive(Default)]
pub(super) struct Workers(Mutex<HashMap<String, Worker>>);

struct Worker {
    tenant: Option<Tenant>,
    kinds: Vec<JobKind>,
    device: Device,
    memory_bytes: u64,
    at: Instant,
}

impl Workers {
    /// Records a request for a job.
    pub(super) fn record_request(&self, scope: &WorkerScope, request: &LeaseRequest) {
        let now = Instant::now();
        let mut seen = self.0.lock();
        if seen.len() >= WORKERS_MAX && !seen.contains_key(&request.worker) {
            seen.retain(|_, worker| now.duration_since(worker.at) <= REMEMBERED);
            if seen.len() >= WORKERS_MAX {
                return;
            }
        }
        let worker = Worker {
            tenant: scope.tenant.clone(),
            kinds: request.kinds.clone(),
            device: request.device,
            memory_bytes: request.memory_bytes,
            at: now,
        };
        seen.insert(request.worker.clone(), worker);
    }

    /// Records a heartbeat: a worker sends no request while it works.
    pub(super) fn record_heartbeat(&self, worker: &str) {
        if let Some(seen) = self.0.lock().get_mut(worker) {
            seen.at = Instant::now();
        }
    }

    /// The reason why no recent worker fits a job; `None` where one does.
    pub(super) fn missing_for(&self, row: &JobRow) -> Option<String> {
        let now = Instant::now();
        let seen = self.0.lock();
        let recent: Vec<&Worker> = seen
            .values()
            .filter(|worker| now.duration_since(worker.at) <= REMEMBERED)
            .filter(|worker| worker.tenant.as_deref().is_none_or(|tenant| tenant == row.tenant))
            .collect();
        let able = |worker: &&&Worker| {
            let filter = CandidateFilter {
                tenant: None,
                kinds: worker.kinds.clone(),
                device: worker.device,
                memory_bytes: worker.memory_bytes,
                now: row.created_at,
            };
            fits(row.kind, row.resources, &filter)
        };
        if recent.iter().any(|worker| able(&worker)) {
            return None;
        }
        let of_kind: Vec<&&Worker> = recent.iter().filter(|worker| worker.kinds.contains(&row.kind)).collect();
        let has_device = |worker: &&&Worker| row.resources.device != Device::Gpu || worker.device == Device::Gpu;
        Some(if of_kind.is_empty() {
            format!("no worker for jobs of kind {} has asked for a job in the last minute", row.kind.as_str())
        } else if !of_kind.iter().any(has_device) {
            "no worker with a gpu has asked for a job in the last minute".to_owned()
        } else {
            let needed = row.resources.memory_bytes;
            format!("no worker with {needed} bytes of memory free has asked for a job in the last minute")
        })
    }
}
