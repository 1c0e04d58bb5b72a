//! Figures of several rounds, what is expected of them, and how they are written.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;

/// One value per round.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Series(Vec<f64>);

impl Series {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The middle of the values, or the mean of the two in the middle; `None` without values.
    pub(crate) fn median(&self) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => None,
            odd if odd % 2 == 1 => Some(sorted[middle]),
            _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
        }
    }

    /// This divided by `other`, round by round.
    pub(crate) fn over(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(value, other)| value / other).collect())
    }

    /// True if there are values, and all of them are positive numbers.
    pub(crate) fn is_positive(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|value| value.is_finite() && *value > 0.0)
    }

    /// True if there are values, and all of them are numbers.
    pub(crate) fn is_finite(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|value| value.is_finite())
    }

    /// `median (least..most)`.
    pub(crate) fn spread(&self) -> String {
        let Some(median) = self.median() else { return String::new() };
        let least = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if self.0.len() == 1 {
            return digits(median);
        }
        format!("{} ({}..{})", digits(median), digits(least), digits(most))
    }
}

impl FromIterator<f64> for Series {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// Mebibytes of the machine that are free or could be at once.
pub(crate) fn available_mib() -> anyhow::Result<f64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:")).context("no MemAvailable")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}

/// The median of several times, in milliseconds; they are sorted by it.
pub(crate) fn median_ms(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(f64::NAN, |time| time.as_secs_f64() * 1_000.0)
}

/// Three significant digits at least, and no more decimals than two.
pub(crate) fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// Verdict on a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Holds {
    Yes,
    No,
    /// The peer to compare with was not there.
    Unknown,
}

impl Holds {
    /// Of a figure that may be at most `most`.
    pub(crate) fn at_most(figure: Option<f64>, most: f64) -> Self {
        figure.map_or(Self::Unknown, |figure| if figure <= most { Self::Yes } else { Self::No })
    }

    /// Of a figure that has to be at least `least`.
    pub(crate) fn at_least(figure: Option<f64>, least: f64) -> Self {
        figure.map_or(Self::Unknown, |figure| if figure >= least { Self::Yes } else { Self::No })
    }

    /// Of all together.
    pub(crate) fn all(each: impl IntoIterator<Item = Self>) -> Option<Self> {
        each.into_iter().reduce(|left, right| match (left, right) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Yes, Self::Yes) => Self::Yes,
        })
    }

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "not compared",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        values.iter().copied().collect()
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(series(&[]).median(), None);
        assert_eq!(series(&[3.0, 1.0, 2.0]).median(), Some(2.0));
        assert_eq!(series(&[4.0, 1.0]).median(), Some(2.5));
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        assert_eq!(series(&[10.0, 40.0]).over(&series(&[5.0, 10.0])), series(&[2.0, 4.0]));
    }

    #[test]
    fn a_spread_names_middle_least_and_most() {
        assert_eq!(series(&[12.34, 9.0, 150.4]).spread(), "12.3 (9.00..150)");
        assert_eq!(series(&[2.5]).spread(), "2.50");
    }

    #[test]
    fn what_is_no_number_is_neither_positive_nor_finite() {
        assert!(series(&[1.0]).is_positive() && series(&[1.0]).is_finite());
        assert!(!series(&[1.0, 0.0]).is_positive() && series(&[1.0, 0.0]).is_finite());
        for broken in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY]] {
            assert!(!series(broken).is_positive() && !series(broken).is_finite(), "{broken:?}");
        }
    }

    #[test]
    fn one_expectation_that_fails_decides() {
        use Holds::{No, Unknown, Yes};
        assert_eq!(Holds::all([Yes, Unknown, No]), Some(No));
        assert_eq!(Holds::all([Yes, Unknown]), Some(Unknown));
        assert_eq!(Holds::all([Yes, Yes]), Some(Yes));
        assert_eq!(Holds::all([]), None);
        assert_eq!(Holds::at_most(Some(2.0), 2.0), Yes);
        assert_eq!(Holds::at_least(None, 2.0), Unknown);
    }
}
