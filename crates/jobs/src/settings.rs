//! Limits of the queue.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The storage of artefacts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactStorage {
    /// Files of the data folder, named by digest.
    #[default]
    Disk,
    /// The store, for several nodes without a shared folder.
    Store,
}

/// Settings of the queue.
#[derive(Debug, Clone)]
pub struct JobSettings {
    /// Milliseconds that a lease lasts without a heartbeat.
    pub lease_ms: u64,
    /// Jobs of a tenant that may be queued at once.
    pub queued_max: u64,
    /// Milliseconds for which a job is kept after its end.
    pub retention_ms: u64,
    /// The storage of artefacts.
    pub artifacts: ArtifactStorage,
    /// Bytes of one artefact.
    pub artifact_bytes_max: u64,
    /// Bytes of artefacts, policies and files that a tenant may store, equal contents counted once.
    pub quota_bytes: u64,
    /// Milliseconds between the request to stop and the end of the lease of a worker that does not.
    pub cancel_grace_ms: u64,
    /// Longest time for an answer of a policy, in milliseconds.
    pub act_ms_max: u64,
    /// Milliseconds between two sweeps of leases.
    pub sweep_ms: u64,
    /// Milliseconds for which unreferenced contents are kept, so that an upload has time to reference its own.
    pub unreferenced_ms: u64,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self {
            lease_ms: 60_000,
            queued_max: 10_000,
            retention_ms: 90 * 86_400_000,
            artifacts: ArtifactStorage::Disk,
            artifact_bytes_max: 16 << 30,
            quota_bytes: 64 << 30,
            cancel_grace_ms: 30_000,
            act_ms_max: 120_000,
            sweep_ms: 1_000,
            unreferenced_ms: 3_600_000,
        }
    }
}
