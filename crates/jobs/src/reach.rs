//! Permissions of the token of a lease on jobs and policies of its tenant.

use palestra_protocol::id::{JobId, PolicyId, RunId};
use palestra_protocol::job::{CreateJob, JobKind};
use palestra_protocol::spec::{Disclosure, References, Spec};
use serde_json::{Map, Value};

use super::{Jobs, JobsError};
use palestra_store::Tenant;
use palestra_store::row::job::StoredJob;

/// The key in the metadata of a `serve` job that names the attempt it serves: its run, without the prefix of ids.
const FOR: &str = "for";

/// The spec of a stored job: read when the job was queued, by this program or an earlier one. `None` where this one refuses it.
pub(super) fn spec_of(stored: &StoredJob) -> Option<Spec> {
    Spec::read(stored.row.kind, &stored.spec.spec).ok()
}

/// The things that a job names; none where its spec cannot be read.
pub(super) fn named(stored: &StoredJob) -> References {
    let mut named = spec_of(stored).map(|spec| spec.references());
    if let Some(named) = &mut named {
        named.jobs.extend(&stored.spec.follows);
    }
    named.unwrap_or_default()
}

/// True for the metadata of a `serve` job that the attempt with this run queued.
fn is_for(metadata: &Map<String, Value>, run: Option<RunId>) -> bool {
    let run = run.map(|run| run.uuid().as_simple().to_string());
    run.is_some_and(|run| metadata.get(FOR).and_then(Value::as_str) == Some(run.as_str()))
}

impl Jobs {
    /// True when a lease of `own` may read another job: itself, one that it names, or one that it queued.
    ///
    /// # Errors
    /// When the job of the lease was deleted.
    pub async fn reaches_job(&self, tenant: &Tenant, own: JobId, other: JobId) -> Result<bool, JobsError> {
        if own == other {
            return Ok(true);
        }
        let holder = self.holder(tenant, own).await?;
        Ok(named(&holder).jobs.contains(&other) || self.queued_by(&holder, other).await?)
    }

    /// True when a lease of `own` may cancel another job: one that it queued.
    ///
    /// # Errors
    /// When the job of the lease was deleted.
    pub async fn may_cancel(&self, tenant: &Tenant, own: JobId, other: JobId) -> Result<bool, JobsError> {
        let holder = self.holder(tenant, own).await?;
        self.queued_by(&holder, other).await
    }

    /// True when a lease of `own` may queue a job: a `serve` job for a policy that it plays.
    ///
    /// # Errors
    /// When the job of the lease was deleted.
    pub async fn may_queue(&self, tenant: &Tenant, own: JobId, request: &CreateJob) -> Result<bool, JobsError> {
        let Ok(Spec::Serve(serve)) = Spec::read(request.kind, &request.spec) else { return Ok(false) };
        let holder = self.holder(tenant, own).await?;
        let plain = request.priority == 0 && request.after.is_empty();
        Ok(plain && is_for(&request.metadata, holder.row.run) && self.policy_of(&holder, serve.policy).await?)
    }

    /// True when a lease of `own` may read a policy and ask it to act: one that its job names or registered, or that a job which it
    /// names registered.
    ///
    /// # Errors
    /// When the job of the lease was deleted.
    pub async fn reaches_policy(&self, tenant: &Tenant, own: JobId, policy: PolicyId) -> Result<bool, JobsError> {
        let holder = self.holder(tenant, own).await?;
        self.policy_of(&holder, policy).await
    }

    /// True where a lease of `own` may learn this of an environment, `family/name` or `family/name@version`.
    ///
    /// # Errors
    /// When the job of the lease is gone.
    pub async fn may_learn(
        &self,
        tenant: &Tenant,
        own: JobId,
        disclosure: Disclosure,
        environment: &str,
    ) -> Result<bool, JobsError> {
        let holder = self.holder(tenant, own).await?;
        Ok(spec_of(&holder).is_some_and(|spec| spec.may_learn(disclosure, environment)))
    }

    async fn holder(&self, tenant: &Tenant, own: JobId) -> Result<StoredJob, JobsError> {
        let stored = self.0.store.stored_job(own).await?.filter(|stored| *stored.row.tenant == **tenant);
        stored.ok_or(JobsError::NotFound("job"))
    }

    async fn queued_by(&self, holder: &StoredJob, other: JobId) -> Result<bool, JobsError> {
        let other = self.0.store.stored_job(other).await?;
        Ok(other.is_some_and(|other| {
            other.row.tenant == holder.row.tenant
                && other.row.kind == JobKind::Serve
                && is_for(&other.spec.metadata, holder.row.run)
        }))
    }

    async fn policy_of(&self, holder: &StoredJob, policy: PolicyId) -> Result<bool, JobsError> {
        let named = named(holder);
        if named.policies.contains(&policy) {
            return Ok(true);
        }
        let found = self.0.store.policy(&holder.row.tenant, policy).await?;
        Ok(found.is_some_and(|row| row.policy.job == holder.row.id || named.jobs.contains(&row.policy.job)))
    }
}
