//! The choice of the job that a worker gets: a pure function of queued and running jobs.
//!
//! Tenants take turns by what they use: the one with the fewest running jobs goes first, among those the one that was served
//! longest ago; within a tenant priority decides, then age. A worker with a GPU gets a job that needs none only when no queued job
//! needs one.

use std::cmp::Reverse;
use std::collections::HashMap;

use palestra_protocol::id::JobId;
use palestra_protocol::job::{Device, JobKind, Resources};

use palestra_store::row::job::{Candidate, CandidateFilter};

/// True when a worker can run a job of this kind with these resources.
pub(super) fn fits(kind: JobKind, needed: Resources, filter: &CandidateFilter) -> bool {
    let device = match needed.device {
        Device::Gpu => filter.device == Device::Gpu,
        Device::Cpu | Device::Any => true,
    };
    device && needed.memory_bytes <= filter.memory_bytes && filter.kinds.contains(&kind)
}

/// The job that the worker gets. `running` holds the number of running jobs by tenant.
pub(super) fn choose(
    candidates: &[Candidate],
    running: &HashMap<String, u64>,
    filter: &CandidateFilter,
) -> Option<JobId> {
    let fitting = || candidates.iter().filter(|job| fits(job.kind, job.resources, filter));
    let gpu_needed = fitting().any(|job| job.resources.device == Device::Gpu);
    fitting()
        .filter(|job| !gpu_needed || job.resources.device == Device::Gpu)
        .min_by_key(|job| {
            let used = running.get(&job.tenant).copied().unwrap_or_default();
            (used, job.served, job.tenant.as_str(), Reverse(job.priority), job.created_at, job.id)
        })
        .map(|job| job.id)
}

#[cfg(test)]
mod tests {
    use palestra_protocol::time::Timestamp;

    use super::*;

    fn worker(device: Device) -> CandidateFilter {
        let now = Timestamp::from_milliseconds(0);
        CandidateFilter { tenant: None, kinds: vec![JobKind::Train], device, memory_bytes: 100, now }
    }

    fn job(tenant: &str, device: Device, priority: i32, created_ms: i64) -> Candidate {
        Candidate {
            id: JobId::new(),
            tenant: tenant.to_owned(),
            kind: JobKind::Train,
            resources: Resources { device, memory_bytes: 10 },
            priority,
            created_at: Timestamp::from_milliseconds(created_ms),
            served: 0,
        }
    }

    fn chosen(jobs: &[Candidate], running: &[(&str, u64)], device: Device) -> Option<usize> {
        let running = running.iter().map(|(tenant, count)| ((*tenant).to_owned(), *count)).collect();
        let id = choose(jobs, &running, &worker(device))?;
        jobs.iter().position(|job| job.id == id)
    }

    #[test]
    fn the_tenant_with_the_fewest_running_jobs_goes_first() {
        let jobs = [job("a", Device::Any, 100, 0), job("b", Device::Any, 0, 9)];
        assert_eq!(chosen(&jobs, &[("a", 1)], Device::Cpu), Some(1));
        assert_eq!(chosen(&jobs, &[("a", 1), ("b", 2)], Device::Cpu), Some(0));
    }

    #[test]
    fn among_equals_the_one_that_was_served_longest_ago_goes_first() {
        let jobs = [
            Candidate { served: 5, ..job("a", Device::Any, 9, 0) },
            Candidate { served: 4, ..job("b", Device::Any, 0, 9) },
        ];
        assert_eq!(chosen(&jobs, &[], Device::Cpu), Some(1));
    }

    #[test]
    fn within_a_tenant_priority_decides_and_then_age() {
        let jobs = [job("a", Device::Any, 0, 0), job("a", Device::Any, 1, 9), job("a", Device::Any, 1, 8)];
        assert_eq!(chosen(&jobs, &[], Device::Cpu), Some(2));
    }

    #[test]
    fn a_worker_with_a_gpu_takes_other_jobs_only_where_nothing_needs_one() {
        let jobs = [job("a", Device::Cpu, 9, 0), job("b", Device::Gpu, 0, 9)];
        assert_eq!(chosen(&jobs, &[("b", 7)], Device::Gpu), Some(1));
        assert_eq!(chosen(&jobs, &[], Device::Cpu), Some(0));
        assert_eq!(chosen(&jobs[..1], &[], Device::Gpu), Some(0));
    }

    #[test]
    fn what_does_not_fit_is_left() {
        let large = Resources { device: Device::Any, memory_bytes: 101 };
        let jobs = [
            Candidate { resources: large, ..job("a", Device::Any, 0, 0) },
            Candidate { kind: JobKind::Serve, ..job("a", Device::Any, 0, 0) },
        ];
        assert_eq!(chosen(&jobs, &[], Device::Gpu), None);
    }
}
