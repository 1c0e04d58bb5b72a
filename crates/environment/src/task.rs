//! Tasks: ids that recreate them, seeds that never cross a split, and fixed permutations of a split.

use std::fmt;
use std::str::FromStr;

use palestra_protocol::environment::Task as PublicTask;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Seeds and indices stay below 2^53, so that every JSON implementation carries them exactly.
pub const SEED_MAX: u64 = (1 << 53) - 1;

/// A task with what only the judge may see.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The part that everybody may see.
    pub public: PublicTask,
    /// The part that only place and judge see: the answer, the hidden parameters.
    pub secret: Value,
}

/// Why there is no such task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// The split does not exist.
    #[error("there is no split {0:?}: choose one of the environment's `splits`")]
    UnknownSplit(String),
    /// The index is past the end of the split.
    #[error("the split {split:?} has {length} tasks, so there is none at {index}: choose a lower index")]
    OutOfRange {
        /// The split.
        split: String,
        /// The number of its tasks.
        length: u64,
        /// The index that was asked for.
        index: u64,
    },
    /// The id does not name a task.
    #[error("{0:?} is no task id here: take one that the environment's tasks have")]
    BadId(String),
    /// The choice contradicts itself or asks for what the environment lacks.
    #[error("{0}")]
    BadChoice(String),
    /// The definition of the environment is at fault.
    #[error("{0}")]
    Faulty(Box<FaultyTask>),
    /// The generator is wrong, or a stored row is broken.
    #[error("the task cannot be made, publish its environment anew or restore a backup: {0}")]
    Broken(String),
}

/// A task that shows a fault of the definition that it was drawn from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the definition of {environment} is at fault: seed {seed} of the template {template} in split {split} shows {flaw}; mend it and publish \
     it anew, `palestra check` shows such draws"
)]
pub struct FaultyTask {
    /// `family/name@version`.
    pub environment: String,
    /// The template.
    pub template: String,
    /// The split.
    pub split: String,
    /// The seed.
    pub seed: u64,
    /// The sort of fault, as `palestra check` calls it.
    pub flaw: &'static str,
    /// The draw and what is wrong with it. It holds what an agent must not see: for who publishes, and for the log.
    pub evidence: String,
}

/// The parts of a task id: `train-12`, or `train-12-d400` where a difficulty of 0.4 was asked for.
///
/// For a generated task the number is its seed, for a stored one its index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskId {
    /// The split.
    pub split: String,
    /// Seed or index.
    pub number: u64,
    /// Difficulty in thousandths, where one was asked for.
    pub difficulty_thousandths: Option<u16>,
}

impl TaskId {
    /// The id of a task that was asked for by number alone.
    #[must_use]
    pub fn plain(split: &str, number: u64) -> Self {
        Self { split: split.to_owned(), number, difficulty_thousandths: None }
    }

    /// The difficulty in [0, 1], where one was asked for.
    #[must_use]
    pub fn difficulty(&self) -> Option<f64> {
        self.difficulty_thousandths.map(|thousandths| f64::from(thousandths) / 1000.0)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.split, self.number)?;
        self.difficulty_thousandths.map_or(Ok(()), |thousandths| write!(f, "-d{thousandths}"))
    }
}

impl FromStr for TaskId {
    type Err = TaskError;

    fn from_str(text: &str) -> Result<Self, TaskError> {
        let bad = || TaskError::BadId(text.chars().take(100).collect());
        let mut parts = text.split('-');
        let split = parts.next().filter(|split| !split.is_empty()).ok_or_else(bad)?;
        let number: u64 = parts.next().ok_or_else(bad)?.parse().map_err(|_| bad())?;
        let difficulty_thousandths = match parts.next() {
            None => None,
            Some(part) => {
                let thousandths: u16 = part.strip_prefix('d').ok_or_else(bad)?.parse().map_err(|_| bad())?;
                Some(thousandths).filter(|thousandths| *thousandths <= 1000).ok_or_else(bad).map(Some)?
            }
        };
        let id = Self { split: split.to_owned(), number, difficulty_thousandths };
        // One spelling only: `train-007` or a fourth part would be a second name for the same task.
        if parts.next().is_none() && number <= SEED_MAX && id.to_string() == text { Ok(id) } else { Err(bad()) }
    }
}

/// A difficulty as ids carry it, in thousandths.
///
/// # Errors
/// When it is not from 0 to 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
pub fn thousandths(difficulty: f64) -> Result<u16, TaskError> {
    if (0.0..=1.0).contains(&difficulty) {
        Ok((difficulty * 1000.0).round() as u16)
    } else {
        Err(TaskError::BadChoice(format!("a difficulty must be a number from 0 to 1, not {difficulty}")))
    }
}

/// Difficulty of a generated task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difficulty {
    /// Thousandths that were asked for, as ids carry them.
    pub asked: Option<u16>,
    /// Thousandths that it has.
    pub thousandths: u16,
}

impl Difficulty {
    /// The difficulty that was asked for, or else the one that follows from environment, split and seed: every value is equally
    /// likely, so that a split covers the whole scale.
    ///
    /// # Errors
    /// When the one that was asked for is not from 0 to 1.
    pub fn of(environment: &str, split: &str, seed: u64, asked: Option<f64>) -> Result<Self, TaskError> {
        let asked = asked.map(thousandths).transpose()?;
        let thousandths = asked.unwrap_or_else(|| {
            let words = [environment.as_bytes(), b"difficulty", split.as_bytes(), &seed.to_le_bytes()];
            u16::try_from(pick(&words, 1001)).unwrap_or(0)
        });
        Ok(Self { asked, thousandths })
    }

    /// The same as a share from 0 to 1.
    #[must_use]
    pub fn share(self) -> f64 {
        f64::from(self.thousandths) / 1000.0
    }
}

/// A generator seeded by the digest of `words`, so that every use of randomness has a stream of its own.
#[must_use]
pub fn seeded(words: &[&[u8]]) -> ChaCha8Rng {
    ChaCha8Rng::from_seed(seed_of(words))
}

/// The digest of `words`, each with its length.
#[must_use]
pub fn seed_of(words: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for word in words {
        hasher.update(u64::try_from(word.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(word);
    }
    hasher.finalize().into()
}

/// A number in [0, `length`) that follows from `words`; `length` must not be zero.
#[must_use]
pub fn pick(words: &[&[u8]], length: u64) -> u64 {
    use rand::RngExt;
    seeded(words).random_range(0..length)
}

/// Where place `position` of the permutation `key` of `length` places lies: a four-round Feistel network over the next even
/// power of two, walked until it falls inside (cycle walking; Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002).
#[must_use]
pub fn permute(position: u64, length: u64, key: u64) -> u64 {
    debug_assert!(position < length);
    let half_bits = (64 - length.saturating_sub(1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1_u64 << half_bits) - 1;
    let mut place = position;
    loop {
        let (mut left, mut right) = (place >> half_bits, place & mask);
        for round in 0..4_u64 {
            (left, right) = (right, left ^ (mix(right ^ mix(key ^ (round << 56))) & mask));
        }
        place = (left << half_bits) | right;
        if place < length {
            return place;
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        for text in ["train-0", "test-9007199254740991", "validation-3-d0", "train-7-d1000"] {
            assert_eq!(text.parse::<TaskId>().map(|id| id.to_string()).as_deref(), Ok(text));
        }
        for text in
            ["", "train", "train-", "train-01", "train--1", "train-1-d1001", "train-1-400", "train-1-d4-5", "-3"]
        {
            assert!(text.parse::<TaskId>().is_err(), "{text}");
        }
    }

    #[test]
    fn difficulties_off_the_scale_are_refused() {
        for difficulty in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(thousandths(difficulty).is_err(), "{difficulty}");
        }
        assert_eq!(thousandths(0.4), Ok(400));
    }

    #[test]
    fn a_difficulty_is_the_one_that_was_asked_for_or_follows_from_the_seed() {
        let of = |seed, asked| Difficulty::of("puzzle/x", "train", seed, asked);
        assert_eq!(of(1, Some(0.25)), Ok(Difficulty { asked: Some(250), thousandths: 250 }));
        assert!(of(1, Some(2.0)).is_err());
        let drawn: Vec<Difficulty> = (0..200).map(|seed| of(seed, None).expect("a difficulty")).collect();
        assert_eq!(drawn[7], of(7, None).expect("a difficulty"));
        assert!(drawn.iter().any(|drawn| drawn.share() < 0.1) && drawn.iter().any(|drawn| drawn.share() > 0.9));
        assert!(drawn.iter().all(|drawn| drawn.asked.is_none() && drawn.thousandths <= 1000));
    }

    #[test]
    fn a_permutation_visits_every_place_once() {
        for length in [1, 2, 3, 10, 64, 1000, 1025] {
            let mut places: Vec<u64> = (0..length).map(|position| permute(position, length, 7)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..length).collect::<Vec<_>>());
        }
        let other: Vec<u64> = (0..1000).map(|position| permute(position, 1000, 8)).collect();
        assert_ne!(other, (0..1000).map(|position| permute(position, 1000, 7)).collect::<Vec<_>>());
    }
}
