//! Policies that jobs registered.

use std::collections::BTreeMap;

use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{Artifact, CheckpointPolicy, JobEventKind, Policy};
use palestra_protocol::name::NameKind;
use palestra_protocol::time::Timestamp;
use palestra_protocol::worker::RegisterPolicy;
use serde_json::json;

use super::change::Change;
use super::error::fault;
use super::queue_transaction::QueueTransaction;
use super::reach::named;
use super::{ByteStream, Jobs, JobsError, WorkerScope};
use palestra_store::Durability;
use palestra_store::Tenant;
use palestra_store::row::PageRequest;
use palestra_store::row::job::{JobRow, PolicyRow};

/// Files of one policy.
const FILES_MAX: usize = 256;
/// Environments that a policy names.
const ENVIRONMENTS_MAX: usize = 1_000;
/// Bytes of the name of an environment.
const ENVIRONMENT_BYTES_MAX: usize = 300;
/// Bytes of the name of an architecture.
const ARCHITECTURE_BYTES_MAX: usize = 64;
/// Bytes of a policy's metrics as JSON.
const METRICS_BYTES_MAX: usize = 64 * 1024;

/// Checks what is told of a policy; answers the field that does not fit, and why.
pub(super) fn check_policy(policy: &CheckpointPolicy) -> Result<(), (&'static str, String)> {
    if policy.architecture.len() > ARCHITECTURE_BYTES_MAX {
        return Err(("architecture", format!("must be 1 to {ARCHITECTURE_BYTES_MAX} bytes")));
    }
    if let Err(why) = NameKind::Label.check(&policy.architecture) {
        return Err(("architecture", why.to_string()));
    }
    let environments = &policy.environments;
    let plain = |name: &str| {
        NameKind::Environment.fits(name.split('@').next().unwrap_or_default()) && NameKind::Label.fits(name)
    };
    let sane = environments.iter().all(|name| name.len() <= ENVIRONMENT_BYTES_MAX && plain(name));
    if environments.len() > ENVIRONMENTS_MAX || !sane {
        let detail = format!("at most {ENVIRONMENTS_MAX} environments, each family/name or family/name@version");
        return Err(("environments", detail));
    }
    if serde_json::to_string(&policy.metrics).map_or(usize::MAX, |text| text.len()) > METRICS_BYTES_MAX {
        return Err(("metrics", format!("at most {METRICS_BYTES_MAX} bytes of JSON")));
    }
    if !(1..=FILES_MAX).contains(&policy.artifacts.len()) {
        return Err(("artifacts", format!("must be 1 to {FILES_MAX} artefacts of this job")));
    }
    Ok(())
}

impl QueueTransaction<'_> {
    async fn register(
        &mut self,
        scope: &WorkerScope,
        job: JobId,
        fence: u64,
        id: PolicyId,
        described: CheckpointPolicy,
    ) -> Result<PolicyRow, JobsError> {
        let row = self.leased_job(scope, job, fence).await?;
        let now = self.clock().now();
        let files = self.files_of_policy(job, &described.artifacts).await?;
        if let Some(parent) = described.parent
            && self.transaction.policy(&row.tenant, parent).await?.is_none()
        {
            return Err(fault("parent", format!("there is no policy {parent}: register it first")));
        }
        let policy = made(id, job, None, described, files, now);
        if let Some(there) = self.transaction.policy_of_any_tenant(id).await? {
            let same = Policy { created_at: there.policy.created_at, ..policy } == there.policy;
            let conflict = || {
                JobsError::Conflict(format!("policy {id} exists with other content: register it under another name"))
            };
            return if same && there.tenant == row.tenant { Ok(there) } else { Err(conflict()) };
        }
        let registered = PolicyRow { tenant: row.tenant.clone(), policy };
        self.transaction.insert_policy(&registered).await?;
        let mut change = Change::of(row, now);
        change.note(JobEventKind::Policy, json!({"policy": id}));
        self.put(change).await?;
        Ok(registered)
    }

    /// Artefacts of a job as the files of a policy's folder, by name.
    pub(super) async fn files_of_policy(
        &mut self,
        job: JobId,
        artifacts: &[String],
    ) -> Result<Vec<Artifact>, JobsError> {
        let mut files: BTreeMap<String, Artifact> = BTreeMap::new();
        for (index, name) in artifacts.iter().enumerate() {
            let field = || format!("artifacts[{index}]");
            let file = self.transaction.artifact(job, name).await?;
            let file = file.ok_or_else(|| fault(field(), format!("there is no artefact {name:?}: upload it first")))?;
            let last = name.rsplit('/').next().unwrap_or_default();
            if files.insert(last.to_owned(), Artifact { name: last.to_owned(), ..file }).is_some() {
                return Err(fault(field(), format!("two files would be named {last:?}: rename one")));
            }
        }
        Ok(files.into_values().collect())
    }

    /// Deletes a policy that no job needs any more.
    async fn delete_policy(&mut self, tenant: &Tenant, id: PolicyId) -> Result<(), JobsError> {
        let row = self.transaction.policy(tenant, id).await?.ok_or(JobsError::NotFound("policy"))?;
        let maker = self.transaction.job(row.policy.job).await?;
        for stored in self.transaction.unfinished_jobs(tenant).await? {
            let named = named(&stored);
            let by_job =
                named.jobs.contains(&row.policy.job) && maker.as_ref().is_some_and(|maker| is_result(maker, id));
            let makes = stored.row.id == row.policy.job && row.policy.step.is_none();
            if named.policies.contains(&id) || by_job || makes {
                let (job, state) = (stored.row.id, stored.row.state.as_str());
                let detail = format!("policy {id} is used by job {job}, which is {state}: cancel that job first");
                return Err(JobsError::NotOver(detail));
            }
        }
        self.transaction.delete_policy(id).await?;
        Ok(())
    }
}

/// True if this is the policy that a job left at its end.
fn is_result(job: &JobRow, policy: PolicyId) -> bool {
    let left = job.result.as_ref().and_then(|result| result.get("policy")?.as_str());
    left == Some(policy.to_string().as_str())
}

/// A policy with these files.
pub(super) fn made(
    id: PolicyId,
    job: JobId,
    step: Option<u64>,
    described: CheckpointPolicy,
    files: Vec<Artifact>,
    created_at: Timestamp,
) -> Policy {
    let CheckpointPolicy { parent, architecture, environments, metrics, artifacts: _ } = described;
    Policy { id, job, step, parent, architecture, environments, metrics, files, created_at }
}

impl Jobs {
    /// Registers a policy whose files are artefacts of the job. The same id with the same content again is the policy that
    /// exists.
    ///
    /// # Errors
    /// [`JobsError::LeaseLost`] when the lease is not held any more; when the request is invalid or the id is taken.
    pub async fn register_policy(
        &self,
        scope: &WorkerScope,
        id: JobId,
        request: RegisterPolicy,
    ) -> Result<Policy, JobsError> {
        let RegisterPolicy { fence, id: policy, parent, architecture, environments, metrics, artifacts } = request;
        let described = CheckpointPolicy { parent, architecture, environments, metrics, artifacts };
        check_policy(&described).map_err(|(field, detail)| fault(field, detail))?;
        let (jobs, scope) = (self.clone(), scope.clone());
        self.run_to_end(async move {
            let mut queue = jobs.begin(Durability::Disk).await?;
            let done = queue.register(&scope, id, fence, policy, described).await;
            Ok(queue.settle(done).await?.policy)
        })
        .await
    }

    /// Deletes a policy. Its files stay where others have the same content.
    ///
    /// # Errors
    /// When there is no such policy, or a job that is not over needs it.
    pub async fn delete_policy(&self, tenant: &Tenant, id: PolicyId) -> Result<(), JobsError> {
        let (jobs, owner) = (self.clone(), tenant.clone());
        self.run_to_end(async move {
            let mut queue = jobs.begin(Durability::Disk).await?;
            let done = queue.delete_policy(&owner, id).await;
            queue.settle(done).await
        })
        .await
    }

    /// Policies of a tenant by descending id; those of one job where one is named.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn policies(
        &self,
        tenant: &Tenant,
        job: Option<JobId>,
        page: &PageRequest,
    ) -> Result<Vec<Policy>, JobsError> {
        let rows = self.0.store.policies(tenant, job, page).await?;
        Ok(rows.into_iter().map(|row| row.policy).collect())
    }

    /// A policy of a tenant.
    ///
    /// # Errors
    /// When there is no such policy.
    pub async fn policy(&self, tenant: &Tenant, id: PolicyId) -> Result<Policy, JobsError> {
        let row = self.0.store.policy(tenant, id).await?.ok_or(JobsError::NotFound("policy"))?;
        Ok(row.policy)
    }

    /// A file of a policy with its bytes.
    ///
    /// # Errors
    /// When there is no such policy or file, or the file cannot be read.
    pub async fn open_policy_file(
        &self,
        tenant: &Tenant,
        id: PolicyId,
        file: &str,
    ) -> Result<(Artifact, ByteStream), JobsError> {
        let policy = self.policy(tenant, id).await?;
        let found = policy.files.into_iter().find(|kept| kept.name == file);
        let artifact = found.ok_or(JobsError::NotFound("file of this policy"))?;
        let bytes = self.0.contents.read(&artifact.digest).await?;
        Ok((artifact, bytes))
    }
}
