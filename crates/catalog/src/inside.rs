//! What is told of environments to those alone who publish, or whose job needs it: what built-in policies do, which follows from what
//! solves tasks, and whether tasks are sound.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palestra_protocol::action::Action;
use palestra_protocol::environment::{ProveTask, ProvenTask};
use tokio::sync::Semaphore;

use super::tasks::{TaskOrStoreError, split_length};
use super::{Catalog, CatalogError, blocking};
use palestra_environment::Tasks;
use palestra_environment::policy::Builtin;
use palestra_environment::proof::live::Exhibit;
use palestra_environment::task::TaskError;

/// Episodes whose actions are told at the same time.
const TOLD_AT_ONCE_MAX: usize = 2;

/// Room for episodes whose actions are told.
static TELLING: Semaphore = Semaphore::const_new(TOLD_AT_ONCE_MAX);

/// Which actions of a built-in policy are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionPage {
    /// Whose.
    pub policy: Builtin,
    /// The task's id.
    pub task: String,
    /// Randomness of the random policy.
    pub seed: u64,
    /// How many to pass over.
    pub offset: u64,
    /// How many.
    pub limit: u64,
}

/// Why nothing is told.
#[derive(Debug, thiserror::Error)]
pub enum InsideError {
    /// There is no such environment or task.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The environment cannot tell it.
    #[error("{0}")]
    NotSupported(String),
    /// This server lacks what it takes.
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

/// Says, once it is dropped, that nobody waits for the actions any more.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Catalog {
    /// What a built-in policy does in a task; fewer actions than were asked for where it gives up.
    ///
    /// # Errors
    /// When there is no such environment or task, or no solution of it is known.
    pub async fn actions(&self, tenant: &str, name: &str, page: ActionPage) -> Result<Vec<Action>, InsideError> {
        let entry = self.resolve(tenant, name).await?;
        let task = self.task_of_id(&entry, &page.task).await?;
        let room = TELLING.acquire().await.map_err(|error| CatalogError::Broken(error.to_string()))?;
        let given_up = Arc::new(AtomicBool::new(false));
        let _waiting = Waiting(Arc::clone(&given_up));
        let act = move || {
            let _room = room;
            let Some(mut policy) = page.policy.begin(&entry.kind, &task, page.seed) else { return Ok(None) };
            let mut actions = Vec::new();
            for number in 0..page.offset.saturating_add(page.limit) {
                if given_up.load(Ordering::Relaxed) {
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

    /// Proves a task by doing it where tasks of its environment are done.
    ///
    /// # Errors
    /// When there is no such environment or task, its tasks are not proven so, or this server lacks what they are done with.
    pub async fn prove(&self, tenant: &str, name: &str, asked: &ProveTask) -> Result<ProvenTask, InsideError> {
        let entry = self.resolve(tenant, name).await?;
        let Some(prover) = entry.kind.prover() else {
            let detail = format!(
                "tasks of {} are not done in sandboxes or databases: choose an environment whose tasks are",
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
        prover.equipped().map_err(InsideError::Unavailable)?;
        let _alone = self.0.proving.lock().await;
        let exhibit = match entry.kind.tasks() {
            Tasks::Stored(_) => {
                let task = self.task_at(&entry, split, number).await?;
                let name = format!("{} {number}", task.public.template);
                Ok(Exhibit { name, seed: number, secret: task.secret.clone() })
            }
            Tasks::Generated(_) => {
                let (entry, split) = (entry.clone(), split.to_owned());
                let make = move || match entry.kind.prover() {
                    Some(prover) => Ok(prover.case(&split, number)),
                    None => Err(CatalogError::Broken("what proves its tasks is gone".to_owned())),
                };
                blocking(make).await?
            }
        };
        match exhibit {
            Ok(exhibit) => {
                let faults = prover.prove(&exhibit).await.map_err(InsideError::Unavailable)?;
                Ok(ProvenTask { name: exhibit.name, faults })
            }
            Err(fault) => Ok(ProvenTask { name: format!("{split} {number}"), faults: vec![fault] }),
        }
    }
}
