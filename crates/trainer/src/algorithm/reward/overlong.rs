//! Soft overlong punishment of answers, "DAPO", <https://arxiv.org/abs/2503.14476>: nothing up to `longest - cache` tokens, then
//! in a line down to -1 at `longest` tokens, and -1 beyond.

/// Where the punishment begins and where it is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlong {
    /// Tokens at which it is full.
    pub longest: usize,
    /// Over how many tokens before that it grows.
    pub cache: usize,
}

impl Overlong {
    /// Penalty added to the reward of an episode whose longest answer has so many tokens: -1 to 0.
    #[must_use]
    pub fn penalty(&self, tokens: usize) -> f64 {
        let free = self.longest.saturating_sub(self.cache);
        if tokens <= free {
            0.0
        } else if tokens < self.longest {
            // (L_max - L_cache - length) / L_cache
            -((tokens - free) as f64 / (self.longest - free) as f64)
        } else {
            -1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::known::{assert_near, known, numbers};

    #[test]
    fn the_punishment_grows_in_a_line_as_worked_out_apart() {
        let case = &known()["overlong"];
        let number = |name: &str| case[name].as_u64().unwrap() as usize;
        let overlong = Overlong { longest: number("longest"), cache: number("cache") };
        let lengths = numbers(&case["lengths"]);
        let found: Vec<f64> = lengths.into_iter().map(|length| overlong.penalty(length as usize)).collect();
        assert_near(&found, &numbers(&case["penalties"]), 1e-12);
    }

    #[test]
    fn without_a_cache_it_is_a_step() {
        let overlong = Overlong { longest: 10, cache: 0 };
        assert_eq!([9, 10, 11].map(|tokens| overlong.penalty(tokens)), [0.0, 0.0, -1.0]);
        let all = Overlong { longest: 10, cache: 99 };
        assert_eq!([0, 5, 10].map(|tokens| all.penalty(tokens)), [0.0, -0.5, -1.0]);
    }
}
