//! The tasks of an environment in the order in which they are played: a pure function of the seed.

use futures::Stream;
use palestra_client::{Client, ClientError, TaskQuery};
use palestra_protocol::session::TaskChoice;

use palestra_environment::task::SEED_MAX;

/// Tasks asked for in one request.
const TASKS_PER_PAGE: u64 = 100;

/// A split of an environment, and how many tasks of it are wanted from which seed on.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// `family/name@version`.
    pub environment: &'a str,
    /// The split.
    pub split: &'a str,
    /// Number of tasks of the split.
    pub length: u64,
    /// Chooses the tasks.
    pub seed: u64,
    /// Number of tasks that are wanted.
    pub count: u64,
}

impl Wanted<'_> {
    /// Tasks of these difficulties, numbered from 0: `difficulty` says which each number has.
    pub fn of_difficulty(self, difficulty: impl Fn(u64) -> f64) -> impl Iterator<Item = (u64, TaskChoice)> {
        let split = self.split.to_owned();
        (0..self.count).map(move |number| {
            // Seeds end at 2^53; the choice goes on at 0.
            let seed = self.seed.wrapping_add(number) & SEED_MAX;
            let choice = TaskChoice {
                split: Some(split.clone()),
                seed: Some(seed),
                difficulty: Some(difficulty(number)),
                ..TaskChoice::default()
            };
            (number, choice)
        })
    }
}

/// Tasks in the order of a fixed permutation of the split, numbered from 0, from the beginning again where there are too few.
pub fn listed<'a>(
    client: &'a Client,
    wanted: Wanted<'a>,
) -> impl Stream<Item = Result<(u64, TaskChoice), ClientError>> + Send + 'a {
    async_stream::try_stream! {
        let length = wanted.length.max(1);
        let mut number = 0;
        while number < wanted.count {
            let offset = number % length;
            let limit = TASKS_PER_PAGE.min(length - offset).min(wanted.count - number);
            let query = TaskQuery {
                split: Some(wanted.split.to_owned()),
                shuffle: Some(wanted.seed & SEED_MAX),
                offset: Some(offset),
                limit: Some(limit),
            };
            let page = client.tasks(wanted.environment, &query).await?;
            if page.data.is_empty() {
                let excerpt = format!("split {} has fewer tasks than {length}", wanted.split);
                Err(ClientError::Unexpected { status: 200, excerpt })?;
            }
            for task in page.data {
                yield (number, TaskChoice { id: Some(task.id), ..TaskChoice::default() });
                number += 1;
            }
        }
    }
}
