//! Chance of tasks.

use std::ops::RangeInclusive;

use jiff::civil::Date;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// First names in texts.
const NAMES: [&str; 24] = [
    "Ada", "Bruno", "Chloe", "Dmitri", "Elena", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kenji", "Lena", "Marco",
    "Nadia", "Oskar", "Priya", "Quinn", "Rosa", "Samir", "Tara", "Umar", "Vera", "Wim", "Yuki",
];
/// Things in texts.
const THINGS: [&str; 24] = [
    "anchor", "basket", "candle", "drum", "easel", "flask", "guitar", "hammer", "inkwell", "jar", "kettle", "lantern",
    "mirror", "needle", "oar", "pillow", "quilt", "ribbon", "saddle", "teapot", "umbrella", "vase", "wagon", "zither",
];

/// Difficulty, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// One step, nothing that misleads.
    One,
    /// A few steps.
    Two,
    /// Several steps, and things that are alike.
    Three,
    /// Many steps, many things that are alike, or conditions that have to be thought about.
    Four,
}

impl Level {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::One, Self::Two, Self::Three, Self::Four];

    /// One of four values.
    #[must_use]
    pub fn of<T: Copy>(self, values: [T; 4]) -> T {
        values[self as usize]
    }
}

/// Chance of one task.
pub struct Draw {
    /// Its difficulty.
    pub level: Level,
    random: ChaCha8Rng,
}

impl Draw {
    /// The chance of a seed.
    #[must_use]
    pub fn new(level: Level, seed: u64) -> Self {
        Self { level, random: ChaCha8Rng::seed_from_u64(seed ^ (level as u64) << 61) }
    }

    /// A number, both ends included.
    pub fn number(&mut self, range: RangeInclusive<i64>) -> i64 {
        self.random.random_range(range)
    }

    /// A seed for what follows later.
    pub fn seed(&mut self) -> u32 {
        self.random.random()
    }

    /// True once in `of` times.
    pub fn once_in(&mut self, of: u32) -> bool {
        self.random.random_ratio(1, of)
    }

    /// A place in a list of so many.
    pub fn place(&mut self, length: usize) -> usize {
        self.random.random_range(0..length)
    }

    /// One of some.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.place(from.len())].clone()
    }

    /// The same in another order.
    pub fn shuffled<T: Clone>(&mut self, from: &[T]) -> Vec<T> {
        let mut all = from.to_vec();
        for at in (1..all.len()).rev() {
            all.swap(at, self.random.random_range(0..=at));
        }
        all
    }

    /// So many different ones.
    pub fn some<T: Clone>(&mut self, count: usize, from: &[T]) -> Vec<T> {
        let mut all = self.shuffled(from);
        all.truncate(count);
        all
    }

    /// So many different first names.
    pub fn names(&mut self, count: usize) -> Vec<&'static str> {
        self.some(count, &NAMES)
    }

    /// So many different things.
    pub fn things(&mut self, count: usize) -> Vec<&'static str> {
        self.some(count, &THINGS)
    }

    /// A day of the years 2030 to 2032.
    pub fn day(&mut self) -> Date {
        let first = jiff::civil::date(2030, 1, 1);
        let days = jiff::Span::new().days(self.number(0..=1_094));
        first.checked_add(days).unwrap_or(first)
    }
}
