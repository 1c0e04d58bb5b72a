//! Registration of the policies that checkpoints of trainings hold.

use std::collections::BTreeSet;

use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{Checkpoint, JobEventKind, JobKind, Policy};
use serde_json::json;

use super::change::Change;
use super::error::fault;
use super::policy::made;
use super::queue_transaction::QueueTransaction;
use super::read::{CHECKPOINTS_MAX, unchanged};
use super::{Jobs, JobsError};
use palestra_store::Durability;
use palestra_store::Tenant;
use palestra_store::row::job::{JobRow, PolicyRow};

impl QueueTransaction<'_> {
    /// Registers the policy of a checkpoint, unless it is there already.
    async fn register_checkpoint(
        &mut self,
        tenant: &Tenant,
        job: JobId,
        step: Option<u64>,
    ) -> Result<PolicyRow, JobsError> {
        let row = self.job_of_tenant(tenant, job).await?;
        if row.kind != JobKind::Train {
            let detail = format!("{job} is of kind {}, which makes no policy: name a train job", row.kind.as_str());
            return Err(fault("job", detail));
        }
        if let Some(step) = step
            && let Some(there) = self.transaction.policy_of_checkpoint(job, step).await?
        {
            return Ok(there);
        }
        let checkpoint = self.checkpoint(&row, step).await?;
        let step = checkpoint.step;
        if let Some(name) = self.jobs().damaged_file(&checkpoint).await? {
            let detail =
                format!("the file {name} of the checkpoint after step {step} is damaged: choose another checkpoint");
            return Err(fault("step", detail));
        }
        if let Some(there) = self.transaction.policy_of_checkpoint(job, step).await? {
            return Ok(there);
        }
        let detail = || {
            format!(
                "the checkpoint after step {step} holds no policy, because an earlier version of the trainer made it: \
                 register one that a present trainer makes"
            )
        };
        let described = checkpoint.policy.ok_or_else(|| fault("step", detail()))?;
        let (id, now) = (PolicyId::new(), self.clock().now());
        let files = self.files_of_policy(job, &described.artifacts).await?;
        let policy = made(id, job, Some(step), described, files, now);
        let registered = PolicyRow { tenant: row.tenant.clone(), policy };
        self.transaction.insert_policy(&registered).await?;
        // The last event of a job that is over stays the one that tells of its end.
        if !row.state.is_over() {
            let mut change = Change::of(row, now);
            change.note(JobEventKind::Policy, json!({"policy": id}));
            self.put(change).await?;
        }
        Ok(registered)
    }

    /// The checkpoint of a job after so many updates, or its newest.
    async fn checkpoint(&mut self, row: &JobRow, step: Option<u64>) -> Result<Checkpoint, JobsError> {
        let events = self.transaction.last_job_events(row.id, JobEventKind::Checkpoint, CHECKPOINTS_MAX).await?;
        let kept = unchanged(events, &self.transaction.artifacts(row.id).await?);
        if kept.is_empty() {
            let id = row.id;
            let detail = if row.state.is_over() {
                format!(
                    "{id} keeps no checkpoint: choose a job that keeps one, which checkpoint.every of its spec sets"
                )
            } else {
                format!("{id} keeps no checkpoint yet: wait for its first, which checkpoint.every of its spec sets")
            };
            return Err(fault("job", detail));
        }
        let steps: BTreeSet<u64> = kept.iter().map(|checkpoint| checkpoint.step).collect();
        // The newest is first, also of two after the same step.
        let found = kept.into_iter().find(|checkpoint| step.is_none_or(|step| checkpoint.step == step));
        found.ok_or_else(|| {
            let steps: Vec<String> = steps.iter().map(u64::to_string).collect();
            let step = step.unwrap_or_default();
            let steps = steps.join(", ");
            fault("step", format!("{} keeps no checkpoint after step {step}: choose one of {steps}", row.id))
        })
    }
}

impl Jobs {
    /// Registers the policy that a checkpoint of a training holds: that after `step` updates, or the newest. A checkpoint that was
    /// registered before is the policy that exists. The training may run, or be over in any way.
    ///
    /// # Errors
    /// When there is no such job or checkpoint, or no policy in it.
    pub async fn register_checkpoint(
        &self,
        tenant: &Tenant,
        id: JobId,
        step: Option<u64>,
    ) -> Result<Policy, JobsError> {
        let (jobs, owner) = (self.clone(), tenant.clone());
        self.run_to_end(async move {
            let mut queue = jobs.begin(Durability::Disk).await?;
            let done = queue.register_checkpoint(&owner, id, step).await;
            Ok(queue.settle(done).await?.policy)
        })
        .await
    }
}
