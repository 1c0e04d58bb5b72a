//! Artefacts: files of jobs.

use palestra_protocol::id::JobId;
use palestra_protocol::job::{Artifact, JobEventKind};
use palestra_protocol::name::NameKind;

use super::change::Change;
use super::content::SizeLimits;
use super::queue_transaction::QueueTransaction;
use super::{ByteStream, Jobs, JobsError, WorkerScope};
use palestra_store::Durability;
use palestra_store::Tenant;
use palestra_store::row::job::{ArtifactRow, ContentRow};

/// Files of one job.
const FILES_PER_JOB_MAX: u64 = 10_000;

/// True for a valid name of an artefact.
pub(super) fn is_name(name: &str) -> bool {
    NameKind::Path.fits(name)
}

/// Refuses a digest that differs from the announced one, which may lack the prefix `sha256:`.
fn check_digest(announced: Option<&str>, found: &str) -> Result<(), JobsError> {
    let bare = |digest: &str| digest.trim().to_ascii_lowercase().trim_start_matches("sha256:").to_owned();
    match announced {
        Some(announced) if bare(announced) != bare(found) => {
            Err(JobsError::DigestMismatch { announced: announced.chars().take(100).collect(), found: found.to_owned() })
        }
        _ => Ok(()),
    }
}

/// A file with a stored content, which no row references yet.
struct Naming {
    id: JobId,
    fence: u64,
    artifact: Artifact,
    content: Option<ContentRow>,
    quota: u64,
}

impl QueueTransaction<'_> {
    async fn name_file(&mut self, scope: &WorkerScope, naming: &Naming) -> Result<(), JobsError> {
        let Naming { id, fence, artifact, content, quota } = naming;
        let row = self.leased_job(scope, *id, *fence).await?;
        if let Some(content) = content {
            self.transaction.put_content(content).await?;
        }
        let before = self.transaction.artifact(*id, &artifact.name).await?;
        if before.is_none() && self.transaction.count_artifacts(*id).await? >= FILES_PER_JOB_MAX {
            return Err(JobsError::TooMany { what: "artefacts of this job", most: FILES_PER_JOB_MAX });
        }
        let kept_bytes = self.transaction.kept_bytes(&row.tenant).await?;
        let named = ArtifactRow { job: *id, tenant: row.tenant.clone(), artifact: artifact.clone() };
        self.transaction.put_artifact(&named).await?;
        if self.transaction.kept_bytes(&row.tenant).await? > *quota {
            return Err(JobsError::QuotaExceeded { kept_bytes, quota_bytes: *quota });
        }
        let mut change = Change::of(row, self.clock().now());
        let data = serde_json::to_value(artifact).map_err(|error| JobsError::Internal(error.to_string()))?;
        change.note(JobEventKind::Artifact, data);
        self.put(change).await
    }
}

impl Jobs {
    /// Stores a file of a job, in place of an earlier one of its name. This does not extend the lease: send heartbeats meanwhile.
    ///
    /// # Errors
    /// [`JobsError::LeaseLost`] when the lease is not held any more, at the beginning or at the end; when the name is invalid, the bytes
    /// are too many or not those of `digest`, or their stream fails. Nothing is stored then.
    pub async fn upload(
        &self,
        scope: &WorkerScope,
        id: JobId,
        name: String,
        fence: u64,
        digest: Option<String>,
        bytes: ByteStream,
    ) -> Result<Artifact, JobsError> {
        if !is_name(&name) {
            return Err(JobsError::BadArtifactName);
        }
        let row = self.0.store.job(id).await?.filter(|row| scope.covers(&row.tenant));
        let row = row.ok_or(JobsError::NotFound("job"))?;
        if !row.is_held(fence) {
            return Err(JobsError::LeaseLost);
        }
        let (most, quota) = (self.0.settings.artifact_bytes_max, self.0.settings.quota_bytes);
        let limits = SizeLimits { most, kept: self.0.store.kept_bytes(&row.tenant).await?, quota };
        let received = self.0.contents.receive(bytes, limits).await?;
        check_digest(digest.as_deref(), &received.digest)?;
        let (jobs, scope) = (self.clone(), scope.clone());
        self.run_to_end(async move {
            let now = jobs.0.clock.now();
            let (digest, size_bytes) = (received.digest.clone(), received.size_bytes);
            let artifact = Artifact { name, digest, size_bytes, created_at: now };
            let _no_removal = jobs.0.contents.block_removal().await;
            let content = jobs.0.contents.keep(received, now).await?;
            let naming = Naming { id, fence, artifact, content, quota };
            let mut queue = jobs.begin(Durability::Disk).await?;
            let done = queue.name_file(&scope, &naming).await;
            queue.settle(done).await?;
            Ok(naming.artifact)
        })
        .await
    }

    /// Deletes a file of a job, such as one of a replaced checkpoint.
    ///
    /// # Errors
    /// [`JobsError::LeaseLost`] when the lease is not held any more; when there is no such file.
    pub async fn delete_artifact(
        &self,
        scope: &WorkerScope,
        id: JobId,
        name: &str,
        fence: u64,
    ) -> Result<(), JobsError> {
        let (jobs, scope, name) = (self.clone(), scope.clone(), name.to_owned());
        self.run_to_end(async move {
            let mut queue = jobs.begin(Durability::Process).await?;
            let done = async {
                queue.leased_job(&scope, id, fence).await?;
                let was_there = queue.transaction.delete_artifact(id, &name).await?;
                if was_there { Ok(()) } else { Err(JobsError::NotFound("artefact")) }
            }
            .await;
            queue.settle(done).await
        })
        .await
    }

    /// Files of a job by name.
    ///
    /// # Errors
    /// When there is no such job.
    pub async fn artifacts(&self, tenant: &Tenant, id: JobId) -> Result<Vec<Artifact>, JobsError> {
        self.row(tenant, id).await?;
        Ok(self.0.store.artifacts(id).await?)
    }

    /// A file of a job with its bytes.
    ///
    /// # Errors
    /// When there is no such job or file, or the file cannot be read.
    pub async fn open_artifact(
        &self,
        tenant: &Tenant,
        id: JobId,
        name: &str,
    ) -> Result<(Artifact, ByteStream), JobsError> {
        self.row(tenant, id).await?;
        let artifact = self.0.store.artifact(id, name).await?.ok_or(JobsError::NotFound("artefact"))?;
        let bytes = self.0.contents.read(&artifact.digest).await?;
        Ok((artifact, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_job() {
        for name in ["a", "model.safetensors", "checkpoint/step-20/a_B.9", "a/b/c/d/e/f/g/h", &"a".repeat(200)] {
            assert!(is_name(name), "{name}");
        }
        let long = "a".repeat(201);
        for name in
            ["", "/", "a/", "/a", "a//b", ".", "..", "a/../b", "a b", "a\\b", "ä", "a\0", "1/2/3/4/5/6/7/8/9", &long]
        {
            assert!(!is_name(name), "{name:?}");
        }
    }

    #[test]
    fn a_digest_is_compared_however_it_is_written() {
        for announced in [None, Some("sha256:ab"), Some("AB"), Some(" ab ")] {
            assert!(check_digest(announced, "sha256:ab").is_ok(), "{announced:?}");
        }
        assert!(matches!(check_digest(Some("ac"), "sha256:ab"), Err(JobsError::DigestMismatch { .. })));
    }
}
