//! Policies that jobs registered.

use std::collections::BTreeSet;

use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{Artifact, JobEventKind, Policy};
use palestra_protocol::name::NameKind;
use palestra_protocol::worker::RegisterPolicy;
use serde_json::json;

use super::change::Change;
use super::error::fault;
use super::queue_transaction::QueueTransaction;
use super::{ByteStream, Jobs, JobsError, WorkerScope};
use palestra_store::Durability;
use palestra_store::Tenant;
use palestra_store::row::PageRequest;
use palestra_store::row::job::PolicyRow;

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

fn check(request: &RegisterPolicy) -> Result<(), JobsError> {
    if request.architecture.len() > ARCHITECTURE_BYTES_MAX {
        return Err(fault("architecture", format!("must be 1 to {ARCHITECTURE_BYTES_MAX} bytes")));
    }
    if let Err(why) = NameKind::Label.check(&request.architecture) {
        return Err(fault("architecture", why.to_string()));
    }
    let environments = &request.environments;
    let plain = |name: &str| {
        NameKind::Environment.fits(name.split('@').next().unwrap_or_default()) && NameKind::Label.fits(name)
    };
    let sane = environments.iter().all(|name| name.len() <= ENVIRONMENT_BYTES_MAX && plain(name));
    if environments.len() > ENVIRONMENTS_MAX || !sane {
        let detail = format!("at most {ENVIRONMENTS_MAX} environments, each family/name or family/name@version");
        return Err(fault("environments", detail));
    }
    if serde_json::to_string(&request.metrics).map_or(usize::MAX, |text| text.len()) > METRICS_BYTES_MAX {
        return Err(fault("metrics", format!("at most {METRICS_BYTES_MAX} bytes of JSON")));
    }
    if !(1..=FILES_MAX).contains(&request.artifacts.len()) {
        return Err(fault("artifacts", format!("must be 1 to {FILES_MAX} artefacts of this job")));
    }
    Ok(())
}

impl QueueTransaction<'_> {
    async fn register(
        &mut self,
        scope: &WorkerScope,
        job: JobId,
        request: RegisterPolicy,
    ) -> Result<PolicyRow, JobsError> {
        let row = self.leased_job(scope, job, request.fence).await?;
        let now = self.clock().now();
        let mut files: Vec<Artifact> = Vec::new();
        let mut names = BTreeSet::new();
        for (index, name) in request.artifacts.iter().enumerate() {
            let field = || format!("artifacts[{index}]");
            let file = self.transaction.artifact(job, name).await?;
            let file = file.ok_or_else(|| fault(field(), format!("there is no artefact {name:?}: upload it first")))?;
            let last = name.rsplit('/').next().unwrap_or_default();
            if !names.insert(last) {
                return Err(fault(field(), format!("two files would be named {last:?}: rename one")));
            }
            files.push(Artifact { name: last.to_owned(), ..file });
        }
        if let Some(parent) = request.parent
            && self.transaction.policy(&row.tenant, parent).await?.is_none()
        {
            return Err(fault("parent", format!("there is no policy {parent}: register it first")));
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        let policy = Policy {
            id: request.id,
            job,
            parent: request.parent,
            architecture: request.architecture,
            environments: request.environments,
            metrics: request.metrics,
            files,
            created_at: now,
        };
        if let Some(there) = self.transaction.policy_of_any_tenant(request.id).await? {
            let same = Policy { created_at: there.policy.created_at, ..policy } == there.policy;
            let conflict = || {
                JobsError::Conflict(format!(
                    "policy {} exists with other content: register it under another name",
                    request.id
                ))
            };
            return if same && there.tenant == row.tenant { Ok(there) } else { Err(conflict()) };
        }
        let registered = PolicyRow { tenant: row.tenant.clone(), policy };
        self.transaction.insert_policy(&registered).await?;
        let mut change = Change::of(row, now);
        change.note(JobEventKind::Policy, json!({"policy": request.id}));
        self.put(change).await?;
        Ok(registered)
    }
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
        check(&request)?;
        let (jobs, scope) = (self.clone(), scope.clone());
        self.run_to_end(async move {
            let mut queue = jobs.begin(Durability::Disk).await?;
            let done = queue.register(&scope, id, request).await;
            Ok(queue.settle(done).await?.policy)
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
