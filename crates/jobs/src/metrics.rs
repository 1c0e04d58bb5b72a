//! Metrics of the queue, by name.

/// Jobs that are queued.
pub const JOBS_QUEUED: &str = "palestra_jobs_queued";
/// Jobs that run.
pub const JOBS_RUNNING: &str = "palestra_jobs_running";
/// Leases by `kind` of job.
pub const JOBS_LEASED: &str = "palestra_jobs_leased_total";
/// Ended jobs by `kind` and `state`.
pub const JOBS_ENDED: &str = "palestra_jobs_ended_total";
/// Leases that were taken back.
pub const JOB_LEASES_LOST: &str = "palestra_job_leases_lost_total";
