//! Seeded chance. Whole-number arithmetic alone, so that a seed gives the same world on every machine and in every release.

use jiff::civil::Date;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

/// A stream of chance.
#[derive(Debug, Clone)]
pub struct Draw {
    random: ChaCha8Rng,
}

impl Draw {
    /// The stream of a name: equal parts give equal streams, and any other parts an unrelated one.
    #[must_use]
    pub fn of(parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        Self { random: ChaCha8Rng::from_seed(hash.finalize().into()) }
    }

    /// A number below `bound`; 0 where the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // Multiply and shift: the bias is below 2^-32 for every bound in use.
        ((u128::from(self.random.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = usize::try_from(high - low + 1).unwrap_or(0);
        low + self.below(span) as i64
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of them, all alike. They must not be empty.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// One of them, early ones far more often than late ones, as customers and products are in life. They must not be empty.
    pub fn pick_skewed<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let reach = self.below(from.len()) + 1;
        &from[self.below(reach)]
    }

    /// One of them, each as often as its weight says. The weights must not all be 0.
    pub fn pick_weighted<'a, T>(&mut self, from: &'a [(T, usize)]) -> &'a T {
        let mut rest = self.below(from.iter().map(|(_, weight)| weight).sum());
        for (item, weight) in from {
            if rest < *weight {
                return item;
            }
            rest -= weight;
        }
        &from[0].0
    }

    /// `count` different ones of them, or all, in no order.
    pub fn sample<T: Clone>(&mut self, from: &[T], count: usize) -> Vec<T> {
        let mut all = from.to_vec();
        self.shuffle(&mut all);
        all.truncate(count);
        all
    }

    /// Mixes them.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// A day from `first` on, within so many days.
    pub fn day(&mut self, first: Date, days: i64) -> Date {
        later(first, self.between(0, days - 1))
    }
}

/// The day so many days after another (before it, where they are negative).
#[must_use]
pub fn later(day: Date, days: i64) -> Date {
    day.saturating_add(jiff::Span::new().days(days))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_follows_from_its_name_alone() {
        let numbers = |parts: &[&str]| {
            let mut draw = Draw::of(parts);
            (0..20).map(|_| draw.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&["a", "b"]), numbers(&["a", "b"]));
        assert_ne!(numbers(&["a", "b"]), numbers(&["ab", ""]));
    }

    #[test]
    fn bounds_are_kept_and_reached() {
        let mut draw = Draw::of(&["bounds"]);
        let numbers: Vec<i64> = (0..500).map(|_| draw.between(-2, 2)).collect();
        assert_eq!(numbers.iter().min(), Some(&-2));
        assert_eq!(numbers.iter().max(), Some(&2));
    }

    #[test]
    fn weights_count_and_nothing_of_weight_zero_comes() {
        let mut draw = Draw::of(&["weights"]);
        let often =
            (0..1_000).filter(|_| *draw.pick_weighted(&[("often", 9), ("never", 0), ("seldom", 1)]) == "often").count();
        assert!((800..1_000).contains(&often), "{often}");
    }
}
