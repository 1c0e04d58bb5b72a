//! The choice of a task in an environment.

use std::sync::Arc;

use palestra_protocol::environment::{Environment as Spec, Task as PublicTask};
use palestra_protocol::session::TaskChoice;
use rand::RngExt;

use super::{Catalog, CatalogError, Entry};
use palestra_environment::Tasks;
use palestra_environment::task::{SEED_MAX, Task, TaskError, TaskId, permute, pick};
use palestra_store::StoreError;

/// Tasks in one page of a listing.
pub const TASKS_PER_PAGE_MAX: u64 = 1_000;

/// A page of the tasks of a split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPage {
    /// The split.
    pub split: String,
    /// The key of a permutation of the split; the natural order for `None`.
    pub shuffle: Option<u64>,
    /// The first position.
    pub offset: u64,
    /// Most tasks.
    pub limit: u64,
}

impl Catalog {
    /// A page of a split. Pages with disjoint offsets never share a task, shuffled or not.
    ///
    /// # Errors
    /// When there is no such environment or split.
    pub async fn tasks(&self, tenant: &str, name: &str, page: &TaskPage) -> Result<Vec<PublicTask>, CatalogError> {
        let entry = self.resolve(tenant, name).await?;
        let length = split_length(entry.spec(), &page.split)?;
        let end = page.offset.saturating_add(page.limit.min(TASKS_PER_PAGE_MAX)).min(length);
        let mut tasks = Vec::new();
        for position in page.offset..end {
            let index = page.shuffle.map_or(position, |key| permute(position, length, key));
            tasks.push(self.task_at(&entry, &page.split, index).await?.public.clone());
        }
        Ok(tasks)
    }

    /// The task that a choice names; a random one of the `train` split without a choice.
    ///
    /// # Errors
    /// When the choice contradicts itself or names no task.
    pub async fn choose(&self, entry: &Arc<Entry>, choice: Option<&TaskChoice>) -> Result<Arc<Task>, TaskOrStoreError> {
        let nothing = TaskChoice::default();
        let choice = choice.unwrap_or(&nothing);
        if let Some(id) = &choice.id {
            if choice.split.is_some() || choice.index.is_some() || choice.seed.is_some() || choice.difficulty.is_some()
            {
                return Err(bad("a task id excludes split, index, seed and difficulty: leave those out"));
            }
            return self.task_of_id(entry, id).await;
        }
        let split = choice.split.as_deref().unwrap_or("train");
        let length = split_length(entry.spec(), split)?;
        if choice.index.is_some() && (choice.seed.is_some() || choice.difficulty.is_some()) {
            return Err(bad("an index excludes seed and difficulty: leave those out"));
        }
        if let Some(index) = choice.index {
            return self.task_at(entry, split, index).await;
        }
        let seed = choice.seed.unwrap_or_else(|| rand::rng().random_range(0..=SEED_MAX));
        if seed > SEED_MAX {
            return Err(bad("a seed is at most 2^53 - 1"));
        }
        match entry.kind.tasks() {
            Tasks::Stored(_) if choice.difficulty.is_some() => {
                Err(bad("tasks of this environment have no difficulty: leave it out"))
            }
            Tasks::Stored(_) if length == 0 => {
                Err(TaskError::OutOfRange { split: split.to_owned(), length, index: 0 }.into())
            }
            Tasks::Stored(_) => {
                let index = pick(&[b"task by seed", &seed.to_le_bytes()], length);
                self.task_at(entry, split, index).await
            }
            Tasks::Generated(generator) if generator.has_own_ids(split) => {
                if choice.difficulty.is_some() {
                    return Err(bad("the tasks of this split have no difficulty: leave it out"));
                }
                let index = pick(&[b"task by seed", &seed.to_le_bytes()], length.max(1));
                self.task_at(entry, split, index).await
            }
            Tasks::Generated(_) => {
                let difficulty_thousandths = choice.difficulty.map(thousandths).transpose()?;
                let id = TaskId { split: split.to_owned(), number: seed, difficulty_thousandths };
                self.task_of_id(entry, &id.to_string()).await
            }
        }
    }

    /// The task that an id recreates.
    ///
    /// # Errors
    /// When the environment has no task with this id.
    pub async fn task_of_id(&self, entry: &Arc<Entry>, id: &str) -> Result<Arc<Task>, TaskOrStoreError> {
        if let Tasks::Generated(generator) = entry.kind.tasks()
            && let Some((split, index)) = generator.place_of(id)
        {
            return self.task_at(entry, &split, index).await;
        }
        let parsed: TaskId = id.parse()?;
        let length = split_length(entry.spec(), &parsed.split)?;
        match entry.kind.tasks() {
            Tasks::Stored(_) if parsed.difficulty_thousandths.is_some() => Err(TaskError::BadId(id.to_owned()).into()),
            Tasks::Stored(_) => self.task_at(entry, &parsed.split, parsed.number).await,
            Tasks::Generated(generator) if generator.has_own_ids(&parsed.split) => {
                Err(TaskError::BadId(id.chars().take(100).collect()).into())
            }
            Tasks::Generated(_) => {
                let index = parsed.difficulty_thousandths.is_none().then_some(parsed.number).filter(|n| *n < length);
                self.generate(entry, &parsed, index).await
            }
        }
    }

    pub(super) async fn task_at(
        &self,
        entry: &Arc<Entry>,
        split: &str,
        index: u64,
    ) -> Result<Arc<Task>, TaskOrStoreError> {
        let length = split_length(entry.spec(), split)?;
        let out_of_range = || TaskError::OutOfRange { split: split.to_owned(), length, index };
        if index >= length {
            return Err(out_of_range().into());
        }
        match entry.kind.tasks() {
            Tasks::Generated(_) => self.generate(entry, &TaskId::plain(split, index), Some(index)).await,
            Tasks::Stored(rows) => {
                let row = self.0.store.task_row(rows.digest(), split, index).await?.ok_or_else(out_of_range)?;
                Ok(Arc::new(rows.task(split, index, row)?))
            }
        }
    }

    async fn generate(
        &self,
        entry: &Arc<Entry>,
        id: &TaskId,
        index: Option<u64>,
    ) -> Result<Arc<Task>, TaskOrStoreError> {
        let make = {
            let (entry, id) = (Arc::clone(entry), id.clone());
            move || match entry.kind.tasks() {
                Tasks::Generated(generator) => generator.generate(&id.split, id.number, id.difficulty()),
                Tasks::Stored(_) => Err(TaskError::Broken("its tasks are stored".to_owned())),
            }
        };
        let named = matches!(entry.kind.tasks(), Tasks::Generated(generator) if generator.has_own_ids(&id.split));
        let mut task = if entry.kind.heavy() {
            tokio::task::spawn_blocking(make).await.map_err(|error| TaskError::Broken(error.to_string()))??
        } else {
            make()?
        };
        if !named {
            task.public.id = id.to_string();
        }
        task.public.index = index;
        Ok(Arc::new(task))
    }
}

/// A task was not found, or the store failed.
#[derive(Debug, thiserror::Error)]
pub enum TaskOrStoreError {
    /// There is no such task.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<TaskOrStoreError> for CatalogError {
    fn from(error: TaskOrStoreError) -> Self {
        match error {
            TaskOrStoreError::Task(error) => Self::Task(error),
            TaskOrStoreError::Store(error) => Self::Store(error),
        }
    }
}

fn bad(words: &str) -> TaskOrStoreError {
    TaskError::BadChoice(words.to_owned()).into()
}

pub(super) fn split_length(spec: &Spec, split: &str) -> Result<u64, TaskError> {
    spec.splits.get(split).copied().ok_or_else(|| TaskError::UnknownSplit(split.chars().take(100).collect()))
}

/// A difficulty in thousandths, the resolution of task ids.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
fn thousandths(difficulty: f64) -> Result<u16, TaskError> {
    if (0.0..=1.0).contains(&difficulty) {
        Ok((difficulty * 1000.0).round() as u16)
    } else {
        Err(TaskError::BadChoice("a difficulty must be between 0 and 1".to_owned()))
    }
}
