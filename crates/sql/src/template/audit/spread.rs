//! Distribution of the values of a parameter over draws.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::template::form::ParameterSource;

/// Values of a range that are looked for one by one; of a longer range none is.
const VALUES_MAX: i64 = 50;
/// Values that are told one by one.
const TOLD_MAX: usize = 12;

/// The values of a parameter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spread {
    /// Drawn values and their counts.
    pub before: BTreeMap<String, u64>,
    /// Of that, what was accepted.
    pub after: BTreeMap<String, u64>,
    /// Possible values, where the template names them.
    pub can: BTreeSet<String>,
    /// Values of a column in the worlds that are played, each world counted.
    pub offered: u64,
    /// Of these, the ones that are in every world of a task.
    pub common: u64,
}

impl Spread {
    /// Values that can be drawn and were never accepted, where so many draws would have shown them.
    pub(super) fn never(&self, accepted: u64) -> Vec<&String> {
        let shown = accepted >= 10 * self.can.len() as u64;
        let missing = self.can.iter().chain(self.before.keys()).filter(|value| !self.after.contains_key(*value));
        let mut missing: Vec<&String> = missing.filter(|value| shown && self.can.contains(*value)).collect();
        missing.dedup();
        missing
    }

    /// Share of the values that is lost since not every world has them.
    #[must_use]
    pub fn lost(&self) -> f64 {
        if self.offered == 0 { 0.0 } else { 1.0 - self.common as f64 / self.offered as f64 }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} values before, {} after", self.before.len(), self.after.len())?;
        if self.offered > 0 {
            write!(out, "; {:.0}% of the worlds' values are not in every world of a task", 100.0 * self.lost())?;
        }
        if self.before.len() <= TOLD_MAX {
            for (value, count) in &self.before {
                write!(out, "; {value}: {count} -> {}", self.after.get(value).copied().unwrap_or_default())?;
            }
        }
        Ok(())
    }
}

/// Possible values of a parameter, where the template alone names them.
pub(super) fn can_be(source: &ParameterSource) -> BTreeSet<String> {
    match source {
        ParameterSource::Choice(choices) => choices
            .iter()
            .filter_map(|choice| crate::template::fill::Filled::of(choice).ok())
            .map(|filled| super::label(source, &filled))
            .collect(),
        ParameterSource::Range(range) if range.step > 0 && (range.to - range.from) / range.step < VALUES_MAX => {
            let steps = (range.to - range.from) / range.step;
            (0..=steps).map(|step| (range.from + step * range.step).to_string()).collect()
        }
        _ => BTreeSet::new(),
    }
}
