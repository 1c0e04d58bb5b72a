//! Files that tenants upload for training, and files of a job's result.

use std::io;

use futures::stream::BoxStream;
use palestra_protocol::file::FilePurpose;
use palestra_protocol::id::{FileId, JobId};
use palestra_protocol::job::Artifact;
use palestra_protocol::name::NameKind;
use tokio_util::bytes::Bytes;

use super::content::{Received, SizeLimits};
use super::error::fault;
use super::queue_transaction::QueueTransaction;
use super::{ByteStream, Jobs, JobsError};
use palestra_store::Durability;
use palestra_store::Tenant;
use palestra_store::row::PageRequest;
use palestra_store::row::job::{ContentRow, FileFilter, FileRow};

/// Uploaded files of one tenant.
const FILES_PER_TENANT_MAX: u64 = 100_000;

/// The bytes of a received file, which has no name yet. Dropped, they are deleted.
pub struct ReceivedFile(Received);

/// True for a valid name of a file.
fn is_name(name: &str) -> bool {
    NameKind::File.fits(name)
}

impl QueueTransaction<'_> {
    async fn add_file(&mut self, row: &FileRow, content: Option<&ContentRow>, quota: u64) -> Result<(), JobsError> {
        if let Some(content) = content {
            self.transaction.put_content(content).await?;
        }
        if self.transaction.count_uploaded_files(&row.tenant).await? >= FILES_PER_TENANT_MAX {
            return Err(JobsError::TooMany { what: "uploaded files", most: FILES_PER_TENANT_MAX });
        }
        let kept_bytes = self.transaction.kept_bytes(&row.tenant).await?;
        self.transaction.insert_files(std::slice::from_ref(row)).await?;
        if self.transaction.kept_bytes(&row.tenant).await? > quota {
            return Err(JobsError::QuotaExceeded { kept_bytes, quota_bytes: quota });
        }
        Ok(())
    }

    async fn remove_file(&mut self, tenant: &str, id: FileId) -> Result<(), JobsError> {
        let row = self.transaction.file(tenant, id).await?.ok_or(JobsError::NotFound("file"))?;
        if let Some(job) = row.job {
            return Err(JobsError::NotOver(format!("file {id} belongs to the result of job {job}: delete the job")));
        }
        if let Some(job) = self.transaction.file_needed_by(id).await? {
            return Err(JobsError::NotOver(format!("job {job} needs file {id} and is not over: cancel it first")));
        }
        self.transaction.delete_file(id).await?;
        Ok(())
    }
}

impl Jobs {
    /// Receives the bytes of a file, which [`Self::keep_file`] names.
    ///
    /// # Errors
    /// When they are too many, or their stream fails. Nothing is stored then.
    pub async fn receive_file(
        &self,
        tenant: &Tenant,
        bytes: BoxStream<'_, io::Result<Bytes>>,
    ) -> Result<ReceivedFile, JobsError> {
        let (most, quota) = (self.0.settings.artifact_bytes_max, self.0.settings.quota_bytes);
        let limits = SizeLimits { most, kept: self.0.store.kept_bytes(tenant).await?, quota };
        Ok(ReceivedFile(self.0.contents.receive(bytes, limits).await?))
    }

    /// Stores a received file.
    ///
    /// # Errors
    /// When name or purpose are invalid, or the quota of the tenant is used up. Nothing is stored then.
    pub async fn keep_file(
        &self,
        tenant: &Tenant,
        received: ReceivedFile,
        name: String,
        purpose: FilePurpose,
    ) -> Result<FileRow, JobsError> {
        if !is_name(&name) {
            return Err(JobsError::BadFileName);
        }
        if !FilePurpose::UPLOADED.contains(&purpose) {
            return Err(fault(
                "purpose",
                format!("only jobs leave files for {}: choose another purpose", purpose.as_str()),
            ));
        }
        let (jobs, tenant) = (self.clone(), tenant.to_string());
        self.run_to_end(async move {
            let (now, ReceivedFile(received)) = (jobs.0.clock.now(), received);
            let (digest, size_bytes) = (received.digest.clone(), received.size_bytes);
            let row =
                FileRow { id: FileId::new(), tenant, name, purpose, digest, size_bytes, created_at: now, job: None };
            let _no_removal = jobs.0.contents.block_removal().await;
            let content = jobs.0.contents.keep(received, now).await?;
            let mut queue = jobs.begin(Durability::Disk).await?;
            let done = queue.add_file(&row, content.as_ref(), jobs.0.settings.quota_bytes).await;
            queue.settle(done).await?;
            Ok(row)
        })
        .await
    }

    /// Files of a tenant after the id that the page names.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn files(
        &self,
        tenant: &Tenant,
        filter: FileFilter,
        page: &PageRequest,
    ) -> Result<Vec<FileRow>, JobsError> {
        Ok(self.0.store.files(tenant, filter, page).await?)
    }

    /// A file of a tenant.
    ///
    /// # Errors
    /// When there is no such file.
    pub async fn file(&self, tenant: &Tenant, id: FileId) -> Result<FileRow, JobsError> {
        self.0.store.file(tenant, id).await?.ok_or(JobsError::NotFound("file"))
    }

    /// A file of a tenant with its bytes.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be read.
    pub async fn open_file(&self, tenant: &Tenant, id: FileId) -> Result<(Artifact, ByteStream), JobsError> {
        let FileRow { name, digest, size_bytes, created_at, .. } = self.file(tenant, id).await?;
        let bytes = self.0.contents.read(&digest).await?;
        Ok((Artifact { name, digest, size_bytes, created_at }, bytes))
    }

    /// Deletes a file that was uploaded.
    ///
    /// # Errors
    /// When there is no such file, a job that is not over names it, or it belongs to the result of a job.
    pub async fn delete_file(&self, tenant: &Tenant, id: FileId) -> Result<(), JobsError> {
        let (jobs, owner) = (self.clone(), tenant.clone());
        self.run_to_end(async move {
            let mut queue = jobs.begin(Durability::Disk).await?;
            let done = queue.remove_file(&owner, id).await;
            queue.settle(done).await
        })
        .await
    }

    /// True when the spec of a job names a file.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn names_file(&self, job: JobId, file: FileId) -> Result<bool, JobsError> {
        Ok(self.0.store.job_names_file(job, file).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_of_files_and_lead_nowhere_else() {
        for name in ["a", "my data (1).jsonl", "übung.jsonl", "..a", &"a".repeat(255)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", ".", "..", "a/b", "a\\b", "a\0", "a\nb", &"a".repeat(256)] {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
