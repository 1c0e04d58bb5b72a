//! Privileged reads of environments, for publishers and for jobs that need them: the actions of built-in policies, which reveal
//! solutions, and proofs of tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palestra_protocol::action::Action;
use palestra_protocol::environment::{ProveTask, ProvenTask};
use tokio::sync::Semaphore;

use super::tasks::{TaskOrStoreError, split_length};
use super::{Catalog, CatalogError, blocking};
use palestra_environment::Tasks;
use palestra_environment::policy::Builtin;
use palestra_environment::proof::live::ProofTask;
use palestra_environment::task::TaskError;

/// Episodes of built-in policies that run concurrently.
const EPISODES_MAX: usize = 2;

/// Permits of these episodes.
static EPISODES: Semaphore = Semaphore::const_new(EPISODES_MAX);

/// A page of the actions of a built-in policy in a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionPage {
    /// The policy.
    pub policy: Builtin,
    /// The task's id.
    pub task: String,
    /// Seed of the random policy.
    pub seed: u64,
    /// The number of actions to skip.
    pub offset: u64,
    /// The number of actions to return.
    pub limit: u64,
}

/// An error of a privileged read.
#[derive(Debug, thiserror::Error)]
pub enum InsideError {
    /// There is no such environment or task.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The environment does not support it.
    #[error("{0}")]
    NotSupported(String),
    /// This server lacks a required back end.
    #[error("{0}")]
    Unavailable(String),
}

impl From<TaskOrStoreError> for InsideError {
    fn from(error: TaskOrStoreError) -> Self {
        Self::Catalog(error.into())
    }
}

impl From<TaskError> for InsideError {
    fn from(error: TaskError) -> Self {
        Self::Catalog(error.into())
    }
}

/// Sets the flag when the caller leaves.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Catalog {
    /// Actions of a built-in policy in a task; fewer than requested where it gives up.
    ///
    /// # Errors
    /// When there is no such environment or task, or no solution of it is known.
    pub async fn actions(&self, tenant: &str, name: &str, page: ActionPage) -> Result<Vec<Action>, InsideError> {
        let entry = self.resolve(tenant, name).await?;
        let task = self.task_of_id(&entry, &page.task).await?;
        let permit = EPISODES.acquire().await.map_err(|error| CatalogError::Broken(error.to_string()))?;
        let cancelled = Arc::new(AtomicBool::new(false));
        let _cancel = CancelOnDrop(Arc::clone(&cancelled));
        let act = move || {
            let _permit = permit;
            let Some(mut policy) = page.policy.begin(&entry.kind, &task, page.seed) else { return Ok(None) };
            let mut actions = Vec::new();
            for number in 0..page.offset.saturating_add(page.limit) {
                if cancelled.load(Ordering::Relaxed) {
                    break;
                }
                match policy.next_action() {
                    Some(action) if number >= page.offset => actions.push(action),
                    Some(_) => {}
                    None => break,
                }
            }
            Ok(Some(actions))
        };
        let unknown =
            || InsideError::NotSupported("no solution of the task is known: choose another policy".to_owned());
        blocking(act).await?.ok_or_else(unknown)
    }

    /// Proves a task by running its solution in the environment.
    ///
    /// # Errors
    /// When there is no such environment or task, its tasks have no such proof, or this server lacks a required back end.
    pub async fn prove(&self, tenant: &str, name: &str, asked: &ProveTask) -> Result<ProvenTask, InsideError> {
        let entry = self.resolve(tenant, name).await?;
        let Some(prover) = entry.kind.prover() else {
            let detail = format!(
                "tasks of {} are not done in sandboxes, databases or published pages: choose an environment whose tasks are",
                entry.name
            );
            return Err(InsideError::NotSupported(detail));
        };
        let (split, number) = (asked.split.as_str(), asked.number);
        split_length(entry.spec(), split)?;
        let length = prover.cases(split, u64::MAX);
        if number >= length {
            return Err(TaskError::OutOfRange { split: split.to_owned(), length, index: number }.into());
        }
        prover.check_available().map_err(InsideError::Unavailable)?;
        let _lock = self.0.proving.lock().await;
        let task = match entry.kind.tasks() {
            Tasks::Stored(_) => {
                let task = self.task_at(&entry, split, number).await?;
                let name = format!("{} {number}", task.public.template);
                Ok(ProofTask { name, seed: number, secret: task.secret.clone() })
            }
            Tasks::Generated(_) => {
                let (entry, split) = (entry.clone(), split.to_owned());
                let make = move || match entry.kind.prover() {
                    Some(prover) => Ok(prover.case(&split, number)),
                    None => Err(CatalogError::Broken("the prover of its tasks is missing".to_owned())),
                };
                blocking(make).await?
            }
        };
        match task {
            Ok(task) => {
                let faults = prover.prove(&task).await.map_err(InsideError::Unavailable)?;
                Ok(ProvenTask { name: task.name, faults })
            }
            Err(fault) => Ok(ProvenTask { name: format!("{split} {number}"), faults: vec![fault] }),
        }
    }
}
