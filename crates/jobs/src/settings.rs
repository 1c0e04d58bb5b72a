//! Limits of the queue.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Where the bytes of artefacts lie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactStorage {
    /// In files of the data folder, named by their digest.
    #[default]
    Disk,
    /// In the store, for several nodes without a folder in common.
    Store,
}

/// Limits of all jobs together.
#[derive(Debug, Clone)]
pub struct JobSettings {
    /// Milliseconds that a lease lasts without a heartbeat.
    pub lease_ms: u64,
    /// Jobs of a tenant that may be queued at once.
    pub queued_max: u64,
    /// Milliseconds that a job is kept after it was over.
    pub retention_ms: u64,
    /// Where the bytes of artefacts lie.
    pub artifacts: ArtifactStorage,
    /// Bytes of one artefact.
    pub artifact_bytes_max: u64,
    /// Bytes of artefacts and policies that a tenant may keep, equal contents counted once.
    pub quota_bytes: u64,
    /// Milliseconds that a worker has to stop after it was asked to, before its lease is taken back.
    pub cancel_grace_ms: u64,
    /// Milliseconds for a policy to answer.
    pub act_ms_max: u64,
    /// Milliseconds between two looks at leases that may have expired.
    pub sweep_ms: u64,
    /// Milliseconds that bytes which nothing names are kept, so that an upload under way finds its own.
    pub unnamed_ms: u64,
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
            unnamed_ms: 3_600_000,
        }
    }
}
