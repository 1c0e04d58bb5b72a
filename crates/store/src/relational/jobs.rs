//! Changes of jobs on a relational engine.

use async_trait::async_trait;
use palestra_protocol::id::{FileId, JobId, PolicyId};
use palestra_protocol::job::Artifact;
use palestra_protocol::time::Timestamp;

use super::Relational;
use crate::engine::{Bulk, Engine, Statement, Transaction};
use crate::field::Fields as _;
use crate::job_transaction::JobTransaction;
use crate::row::IdempotencyRow;
use crate::row::job::{
    ArtifactRow, Candidate, CandidateFilter, ContentRow, FileRow, JobEventRow, JobRow, JobSpecRow, Needed, PolicyRow,
    StoredJob,
};
use crate::{Durability, StoreError, answer, artifact, file, job, job_event, policy};

/// Whoever changes a job holds this lock: every decision is taken on what is really there.
const LOCK: &str = "jobs";

const INSERT_JOB: Bulk = job::JOBS.insert("", "job");
const INSERT_SPEC: Bulk = job::SPECS.insert("", "job");
const INSERT_EVENTS: Bulk = job_event::EVENTS.insert("", "event of a job");
const PUT_ARTIFACT: Bulk = artifact::ARTIFACTS.insert(artifact::REPLACE, "artefact");
const PUT_CONTENT: Bulk = artifact::CONTENTS.insert(artifact::RENEW, "content");
const INSERT_POLICY: Bulk = policy::POLICIES.insert("", "policy");
const INSERT_FILES: Bulk = policy::FILES.insert("", "file of a policy");
const INSERT_UPLOADED: Bulk = file::FILES.insert("", "file");
const INSERT_ANSWER: Bulk = answer::ANSWERS.insert("", "answer");

/// [`JobTransaction`] on a relational engine.
struct Open<'a, E: Engine> {
    store: &'a Relational<E>,
    transaction: E::Transaction,
    durability: Durability,
}

type Row<E> = <<E as Engine>::Transaction as Transaction>::Row;

impl<E: Engine> Open<'_, E> {
    async fn all<T: Send>(
        &mut self,
        query: Statement<'_>,
        decode: impl Fn(&Row<E>) -> Result<T, StoreError> + Send,
    ) -> Result<Vec<T>, StoreError> {
        self.transaction.fetch(query).await?.iter().map(decode).collect()
    }

    async fn one<T: Send>(
        &mut self,
        query: Statement<'_>,
        decode: impl Fn(&Row<E>) -> Result<T, StoreError> + Send,
    ) -> Result<Option<T>, StoreError> {
        self.transaction.fetch(query).await?.first().map(decode).transpose()
    }

    async fn number(&mut self, query: Statement<'_>) -> Result<u64, StoreError> {
        Ok(self.one(query, |row| row.number("number")).await?.unwrap_or_default())
    }
}

#[expect(private_bounds, reason = "engines are an inner matter; only the two finished stores are public")]
impl<E: Engine> Relational<E> {
    pub(super) async fn open_jobs(&self, durability: Durability) -> Result<Box<dyn JobTransaction + '_>, StoreError> {
        let mut transaction = self.begin(durability).await?;
        transaction.lock(LOCK).await?;
        Ok(Box::new(Open { store: self, transaction, durability }))
    }

    /// Forgets contents in the store that nothing names and that are older; answers how many rows went.
    pub(super) async fn forget_contents(&self, before: Timestamp) -> Result<u64, StoreError> {
        // With the lock: no upload names a content between the look and the removal.
        let mut transaction = self.begin(Durability::Process).await?;
        let mut forgotten = transaction.lock(LOCK).await.map(|()| 0);
        for statement in artifact::forget_unnamed(before) {
            if let Ok(count) = &mut forgotten {
                match transaction.execute(statement).await {
                    Ok(rows) => *count += rows,
                    Err(error) => forgotten = Err(error),
                }
            }
        }
        self.settle(transaction, Durability::Process, forgotten).await
    }
}

#[async_trait]
impl<E: Engine> JobTransaction for Open<'_, E> {
    async fn job(&mut self, id: JobId) -> Result<Option<JobRow>, StoreError> {
        self.one(job::one(id), job::decode).await
    }

    async fn stored_job(&mut self, id: JobId) -> Result<Option<StoredJob>, StoreError> {
        self.one(job::stored(id), job::decode_stored).await
    }

    async fn insert_job(&mut self, row: &JobRow, spec: &JobSpecRow, needs: &[JobId]) -> Result<(), StoreError> {
        self.transaction.bulk(&INSERT_JOB, &[job::encode(row)?]).await?;
        self.transaction.bulk(&INSERT_SPEC, &[job::encode_spec(spec)?]).await?;
        self.transaction.bulk(&job::INSERT_NEEDS, &job::encode_needs(row.id, needs)).await
    }

    async fn update_job(&mut self, row: &JobRow) -> Result<(), StoreError> {
        self.transaction.bulk(&job::UPDATE, &[job::encode(row)?]).await
    }

    async fn delete_job(&mut self, id: JobId) -> Result<(), StoreError> {
        for statement in file::delete_of_job(id).into_iter().chain(job::delete(id)) {
            self.transaction.execute(statement).await?;
        }
        Ok(())
    }

    async fn append(&mut self, events: &[JobEventRow]) -> Result<(), StoreError> {
        let rows = events.iter().map(job_event::encode).collect::<Result<Vec<_>, _>>()?;
        self.transaction.bulk(&INSERT_EVENTS, &rows).await
    }

    async fn dependents(&mut self, id: JobId) -> Result<Vec<JobRow>, StoreError> {
        self.all(job::dependents(id), job::decode).await
    }

    async fn needs(&mut self, id: JobId) -> Result<Vec<Needed>, StoreError> {
        self.all(job::needs(id), job::decode_needs).await
    }

    async fn queued(&mut self, tenant: &str) -> Result<u64, StoreError> {
        self.number(job::queued(tenant)).await
    }

    async fn candidates(&mut self, wanted: &CandidateFilter) -> Result<Vec<Candidate>, StoreError> {
        self.all(job::candidates(wanted), job::decode_candidate).await
    }

    async fn running(&mut self) -> Result<Vec<(String, u64)>, StoreError> {
        self.all(job::running(), job::decode_running).await
    }

    async fn serve(&mut self, tenant: &str) -> Result<(), StoreError> {
        self.transaction.execute(job::serve(tenant)).await.map(drop)
    }

    async fn artifact(&mut self, job: JobId, name: &str) -> Result<Option<Artifact>, StoreError> {
        self.one(artifact::one(job, name), artifact::decode).await
    }

    async fn artifact_count(&mut self, job: JobId) -> Result<u64, StoreError> {
        self.number(artifact::count(job)).await
    }

    async fn put_artifact(&mut self, row: &ArtifactRow) -> Result<(), StoreError> {
        self.transaction.bulk(&PUT_ARTIFACT, &[artifact::encode(row)?]).await
    }

    async fn delete_artifact(&mut self, job: JobId, name: &str) -> Result<bool, StoreError> {
        Ok(self.transaction.execute(artifact::delete(job, name)).await? > 0)
    }

    async fn kept_bytes(&mut self, tenant: &str) -> Result<u64, StoreError> {
        self.number(artifact::kept_bytes(tenant)).await
    }

    async fn put_content(&mut self, row: &ContentRow) -> Result<(), StoreError> {
        self.transaction.bulk(&PUT_CONTENT, &[artifact::encode_content(row)?]).await
    }

    async fn policy(&mut self, id: PolicyId) -> Result<Option<PolicyRow>, StoreError> {
        let Some(mut row) = self.one(policy::one(id), policy::decode).await? else { return Ok(None) };
        row.policy.files = self.all(policy::files(id), artifact::decode).await?;
        Ok(Some(row))
    }

    async fn insert_policy(&mut self, row: &PolicyRow) -> Result<(), StoreError> {
        self.transaction.bulk(&INSERT_POLICY, &[policy::encode(row)?]).await?;
        self.transaction.bulk(&INSERT_FILES, &policy::encode_files(row)?).await
    }

    async fn file(&mut self, id: FileId) -> Result<Option<FileRow>, StoreError> {
        self.one(file::one(id), file::decode).await
    }

    async fn file_count(&mut self, tenant: &str) -> Result<u64, StoreError> {
        self.number(file::count(tenant)).await
    }

    async fn insert_files(&mut self, rows: &[FileRow]) -> Result<(), StoreError> {
        let rows = rows.iter().map(file::encode).collect::<Result<Vec<_>, _>>()?;
        self.transaction.bulk(&INSERT_UPLOADED, &rows).await
    }

    async fn delete_file(&mut self, id: FileId) -> Result<bool, StoreError> {
        Ok(self.transaction.execute(file::delete(id)).await? > 0)
    }

    async fn name_files(&mut self, job: JobId, files: &[FileId]) -> Result<(), StoreError> {
        self.transaction.bulk(&file::INSERT_NAMED, &file::encode_named(job, files)).await
    }

    async fn file_needed_by(&mut self, id: FileId) -> Result<Option<JobId>, StoreError> {
        self.one(file::needed_by(id), job::decode_id).await
    }

    async fn lost_file(&mut self, job: JobId) -> Result<Option<FileId>, StoreError> {
        self.one(file::lost(job), file::decode_lost).await
    }

    async fn answer(&mut self, tenant: &str, operation: &str, key: &str) -> Result<Option<IdempotencyRow>, StoreError> {
        self.one(answer::one(tenant, operation, key), answer::decode).await
    }

    async fn insert_answer(&mut self, row: &IdempotencyRow) -> Result<(), StoreError> {
        self.transaction.bulk(&INSERT_ANSWER, &[answer::encode(row)]).await
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let Self { store, transaction, durability } = *self;
        store.settle(transaction, durability, Ok(())).await
    }

    async fn undo(self: Box<Self>) {
        // The answer is the error that is passed.
        let _undone = self.transaction.end::<()>(Err(StoreError::Fenced)).await;
    }
}
