//! Plan of the tasks to play: everything follows from the job's seed and the number of the update.

use palestra_protocol::session::TaskChoice;
use palestra_protocol::spec::play::EnvironmentMix;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest as _, Sha256};

/// Seeds of tasks and sessions have 53 bits, so that every language's JSON keeps them.
const SEED_BITS: u32 = 53;

/// An episode to play.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Names its randomness: no two episodes of a job share it.
    pub number: u64,
    /// Index of its task in the update: rollouts of one task share it.
    pub group: usize,
    /// Place of the environment in the mix.
    pub environment: usize,
    /// As it was named.
    pub name: String,
    /// The problem.
    pub task: TaskChoice,
    /// Randomness of the environment: the same for all rollouts of one task, so that they begin alike.
    pub seed: u64,
}

/// Chooses tasks.
#[derive(Debug, Clone)]
pub struct Plans {
    mix: Vec<EnvironmentMix>,
    seed: u64,
}

impl Plans {
    /// Plans over an environment mix, which is not empty.
    #[must_use]
    pub const fn new(mix: Vec<EnvironmentMix>, seed: u64) -> Self {
        Self { mix, seed }
    }

    /// The mix.
    #[must_use]
    pub fn mix(&self) -> &[EnvironmentMix] {
        &self.mix
    }

    /// The tasks of an update, each `rollouts` times. `round` counts how often tasks were drawn for it: 0 unless groups are
    /// drawn again.
    #[must_use]
    pub fn update(&self, step: u64, round: u64, tasks: usize, rollouts: usize) -> Vec<Planned> {
        let mut random = stream(self.seed, "tasks", &[step, round]);
        let total: f64 = self.mix.iter().map(|mix| mix.weight).sum();
        let mut planned = Vec::with_capacity(tasks * rollouts);
        for group in 0..tasks {
            let mut share = random.random::<f64>() * total;
            let chosen = self.mix.iter().position(|mix| {
                share -= mix.weight;
                share < 0.0
            });
            let environment = chosen.unwrap_or(self.mix.len() - 1);
            let mix = &self.mix[environment];
            let task = TaskChoice {
                split: Some(mix.split.clone()),
                seed: Some(random.next_u64() >> (64 - SEED_BITS)),
                difficulty: mix.difficulty.map(|[low, high]| low + random.random::<f64>() * (high - low)),
                ..TaskChoice::default()
            };
            let seed = random.next_u64() >> (64 - SEED_BITS);
            for rollout in 0..rollouts {
                let number = number(&[step, round, group as u64, rollout as u64]);
                planned.push(Planned { number, group, environment, name: mix.name.clone(), task: task.clone(), seed });
            }
        }
        planned
    }

    /// The held-out tasks of a measurement: the same each time, `episodes` of every environment. `lengths` says how many tasks each has in
    /// the split; where that is fewer, tasks are played again.
    #[must_use]
    pub fn held_out(&self, split: &str, episodes: u32, lengths: &[u64]) -> Vec<Planned> {
        let mut planned = Vec::new();
        for (environment, mix) in self.mix.iter().enumerate() {
            let mut random = stream(self.seed, "held out", &[environment as u64]);
            for index in 0..u64::from(episodes) {
                let drawn = mix.difficulty.map(|[low, high]| low + random.random::<f64>() * (high - low));
                let task = TaskChoice {
                    split: Some(split.to_owned()),
                    // A place in the split where nothing is asked of its difficulty, so that data sets are taken row by row.
                    index: drawn.is_none().then_some(index % lengths[environment].max(1)),
                    seed: drawn.is_some().then(|| random.next_u64() >> (64 - SEED_BITS)),
                    difficulty: drawn,
                    ..TaskChoice::default()
                };
                planned.push(Planned {
                    number: number(&[u64::MAX, environment as u64, index]),
                    group: planned.len(),
                    environment,
                    name: mix.name.clone(),
                    task,
                    seed: random.next_u64() >> (64 - SEED_BITS),
                });
            }
        }
        planned
    }
}

/// Randomness that `words` and `numbers` name.
#[must_use]
pub fn stream(seed: u64, word: &str, numbers: &[u64]) -> ChaCha8Rng {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(word.as_bytes());
    numbers.iter().for_each(|number| hash.update(number.to_le_bytes()));
    ChaCha8Rng::from_seed(hash.finalize().into())
}

/// One number for several.
fn number(parts: &[u64]) -> u64 {
    stream(0, "episode", parts).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(name: &str, weight: f64) -> EnvironmentMix {
        EnvironmentMix { name: name.to_owned(), split: "train".to_owned(), weight, difficulty: Some([0.0, 0.4]) }
    }

    #[test]
    fn the_same_update_plays_the_same_tasks_and_another_plays_others() {
        let plans = Plans::new(vec![mix("a/b", 1.0), mix("c/d", 3.0)], 7);
        assert_eq!(plans.update(3, 0, 4, 2), plans.update(3, 0, 4, 2));
        assert_ne!(plans.update(3, 0, 4, 2), plans.update(4, 0, 4, 2));
        assert_ne!(plans.update(3, 0, 4, 2), plans.update(3, 1, 4, 2));
    }

    #[test]
    fn rollouts_of_a_task_begin_alike_and_differ_in_their_randomness() {
        let planned = Plans::new(vec![mix("a/b", 1.0)], 7).update(0, 0, 2, 3);
        assert_eq!(planned[0].task, planned[2].task);
        assert_eq!(planned[0].seed, planned[2].seed);
        assert_ne!(planned[0].task, planned[3].task);
        let mut numbers: Vec<u64> = planned.iter().map(|planned| planned.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 6);
    }

    #[test]
    fn a_split_with_too_few_tasks_is_measured_on_each_of_them_again() {
        let whole = EnvironmentMix { difficulty: None, ..mix("a/b", 1.0) };
        let planned = Plans::new(vec![whole.clone(), whole], 7).held_out("test", 5, &[3, 100]);
        let indices: Vec<u64> = planned.iter().filter_map(|planned| planned.task.index).collect();
        assert_eq!(indices, [0, 1, 2, 0, 1, 0, 1, 2, 3, 4]);
        assert_ne!(planned[0].seed, planned[3].seed, "the same task is sampled anew");
    }

    #[test]
    fn environments_are_played_by_their_weight() {
        let planned = Plans::new(vec![mix("a/b", 1.0), mix("c/d", 3.0)], 7).update(0, 0, 4_000, 1);
        let share = planned.iter().filter(|planned| planned.environment == 1).count();
        assert!((2_850..3_150).contains(&share), "{share} of 4000 for a share of three quarters");
    }
}
