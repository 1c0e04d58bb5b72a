//! Draws of a generator: the declared requirements for which it draws again, faults for which it never does, and counts of both.

use std::fmt::Display;
use std::num::TryFromIntError;

/// A property that a problem must have and that what was drawn may lack. Nothing else is a reason to draw again.
#[derive(Debug, PartialEq)]
pub struct Requirement {
    /// Its name in reports.
    pub name: &'static str,
    /// The condition, as a clause: "the clues leave one solution".
    pub meaning: &'static str,
    /// The largest share of what is drawn that may lack it, in [0, 1].
    pub share_max: f64,
}

impl Requirement {
    /// The requirement of this name.
    #[must_use]
    pub const fn new(name: &'static str, meaning: &'static str, share_max: f64) -> Self {
        Self { name, meaning, share_max }
    }

    /// Refuses what does not fulfil the requirement.
    ///
    /// # Errors
    /// Where `holds` is false: another attempt is made, and counted.
    pub const fn demand(&'static self, holds: bool) -> Result<(), Refusal> {
        if holds { Ok(()) } else { Err(Refusal::Unmet(self)) }
    }
}

/// A problem of a generated environment belongs to the split that was asked for. Half of the problems are in the largest split and a
/// quarter in each other one, so that over all splits alike seven in ten belong elsewhere.
pub static SPLIT: Requirement = Requirement::new("split", "the problem belongs to the split that was asked for", 0.75);

/// The reason for which an attempt gave no problem.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// The draw violates a requirement: another attempt is made.
    Unmet(&'static Requirement),
    /// The generator is wrong: no other attempt is made, and there is no task.
    Fault(String),
}

impl Refusal {
    /// A fault of the generator: a search that gave up, a problem that cannot be.
    pub fn fault(what: impl Into<String>) -> Self {
        Self::Fault(what.into())
    }
}

impl From<&'static Requirement> for Refusal {
    fn from(requirement: &'static Requirement) -> Self {
        Self::Unmet(requirement)
    }
}

impl From<TryFromIntError> for Refusal {
    fn from(error: TryFromIntError) -> Self {
        Self::Fault(format!("a number of the problem does not fit: {error}"))
    }
}

/// The number of checks of a requirement, and of those that failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Draws that were held to it.
    pub tried: u64,
    /// Those that lacked it and were drawn again.
    pub unmet: u64,
}

/// The value of a parameter: a number in a generator, a choice among kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The parameter's name in reports.
    pub parameter: &'static str,
    /// The value as text.
    pub value: String,
    /// True for the value that the problem asks for: it gives the answer away by its nature.
    pub is_answer: bool,
    /// True if the part of the problem for which it was drawn was used.
    used: bool,
}

/// The draws of one task.
#[derive(Debug, Default)]
pub struct Draws {
    attempts: u64,
    /// Attempts that were refused, by what they lacked.
    refused: Vec<(&'static Requirement, u64)>,
    /// Parts of problems, by what they were held to.
    parts: Vec<(&'static Requirement, Count)>,
    /// Values of parameters, by attempt; kept for an audit alone.
    watched: bool,
    /// Of attempts that were refused.
    lost: Vec<Value>,
    /// Of the attempt that goes on, or was accepted.
    current: Vec<Value>,
    /// Values that parameters can take.
    domains: Vec<Value>,
}

impl Draws {
    /// Draws whose parameters are written down, for an audit.
    #[must_use]
    pub fn watched() -> Self {
        Self { watched: true, ..Self::default() }
    }

    /// Begins the next attempt.
    pub fn begin(&mut self) {
        self.attempts += 1;
        self.lost.append(&mut self.current);
    }

    /// Counts an attempt that lacked something.
    pub fn refuse(&mut self, requirement: &'static Requirement) {
        match self.refused.iter_mut().find(|(other, _)| std::ptr::eq(*other, requirement)) {
            Some((_, count)) => *count += 1,
            None => self.refused.push((requirement, 1)),
        }
    }

    /// Counts `tried` parts of a problem of which `unmet` lacked something and were drawn again.
    pub fn count(&mut self, requirement: &'static Requirement, tried: u64, unmet: u64) {
        let known = self.parts.iter().position(|(other, _)| std::ptr::eq(*other, requirement));
        let at = known.unwrap_or_else(|| {
            self.parts.push((requirement, Count::default()));
            self.parts.len() - 1
        });
        self.parts[at].1.tried += tried;
        self.parts[at].1.unmet += unmet;
    }

    /// Draws a part of a problem until one fulfils the requirement, `most` times at most.
    pub fn until<T>(
        &mut self,
        requirement: &'static Requirement,
        most: usize,
        mut draw: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<T> {
        let mut tried = 0;
        let found = (0..most).find_map(|_| {
            tried += 1;
            draw(self)
        });
        self.count(requirement, tried, tried - u64::from(found.is_some()));
        found
    }

    /// Writes down the value of a parameter.
    pub fn note(&mut self, parameter: &'static str, value: impl Display) {
        self.note_part(parameter, value, true);
    }

    /// Writes down the value of a parameter that the problem asks for.
    pub fn note_answer(&mut self, parameter: &'static str, value: impl Display) {
        if self.watched {
            self.current.push(Value { parameter, value: value.to_string(), is_answer: true, used: true });
        }
    }

    /// Writes down the value of a parameter of a part of the problem, and whether that part was used.
    pub fn note_part(&mut self, parameter: &'static str, value: impl Display, used: bool) {
        if self.watched {
            self.current.push(Value { parameter, value: value.to_string(), is_answer: false, used });
        }
    }

    /// Declares the values that a parameter can take, so that one that is never drawn is missed.
    pub fn domain<V: Display>(&mut self, parameter: &'static str, values: impl IntoIterator<Item = V>) {
        if self.watched && self.domains.iter().all(|known| known.parameter != parameter) {
            let value = |value: V| Value { parameter, value: value.to_string(), is_answer: false, used: false };
            self.domains.extend(values.into_iter().map(value));
        }
    }

    /// Attempts that were begun.
    #[must_use]
    pub const fn attempts(&self) -> u64 {
        self.attempts
    }

    /// Attempts that were refused, by what they lacked.
    #[must_use]
    pub fn refused(&self) -> &[(&'static Requirement, u64)] {
        &self.refused
    }

    /// Parts of problems, by what they were held to.
    #[must_use]
    pub fn parts(&self) -> &[(&'static Requirement, Count)] {
        &self.parts
    }

    /// Values that were drawn, each with whether the task has it.
    pub fn drawn(&self) -> impl Iterator<Item = (&Value, bool)> {
        self.lost.iter().map(|lost| (lost, false)).chain(self.current.iter().map(|value| (value, value.used)))
    }

    /// Values that were declared.
    #[must_use]
    pub fn domains(&self) -> &[Value] {
        &self.domains
    }

    /// Lists the draws that were made again, for an error: `unique 12 of 30, split 3 of 18`.
    #[must_use]
    pub fn summary(&self) -> String {
        let refused = self.refused.iter().map(|(requirement, unmet)| (requirement.name, *unmet, self.attempts));
        let parts = self.parts.iter().map(|(requirement, count)| (requirement.name, count.unmet, count.tried));
        let counted = refused.chain(parts).filter(|(_, unmet, _)| *unmet > 0);
        counted.map(|(name, unmet, tried)| format!("{name} {unmet} of {tried}")).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static EVEN: Requirement = Requirement::new("even", "the number is even", 0.5);
    static SMALL: Requirement = Requirement::new("small", "the number is small", 0.5);

    #[test]
    fn repeated_draws_are_counted_by_requirement() {
        let mut draws = Draws::default();
        draws.begin();
        let mut numbers = [1, 3, 4, 5].into_iter();
        let even = draws.until(&EVEN, 10, |_| numbers.next().filter(|number| number % 2 == 0));
        assert_eq!(even, Some(4));
        assert_eq!(draws.until(&EVEN, 1, |_| numbers.next().filter(|number| number % 2 == 0)), None);
        draws.refuse(&SMALL);
        draws.begin();
        assert_eq!(draws.refused(), [(&SMALL, 1)]);
        assert_eq!(draws.parts(), [(&EVEN, Count { tried: 4, unmet: 3 })]);
        assert_eq!((draws.attempts(), draws.summary().as_str()), (2, "small 1 of 2, even 3 of 4"));
    }

    #[test]
    fn values_are_those_of_refused_attempts_and_of_the_accepted_one() {
        let mut draws = Draws::watched();
        for value in ["a", "b"] {
            draws.begin();
            draws.note("letter", value);
        }
        draws.note_part("part", 1, false);
        let drawn: Vec<(&str, bool)> = draws.drawn().map(|(value, kept)| (value.value.as_str(), kept)).collect();
        assert_eq!(drawn, [("a", false), ("b", true), ("1", false)]);
        let mut unwatched = Draws::default();
        unwatched.note("letter", "a");
        assert_eq!(unwatched.drawn().count(), 0);
    }

    #[test]
    fn a_requirement_refuses_what_lacks_it() {
        assert_eq!(EVEN.demand(true), Ok(()));
        assert_eq!(EVEN.demand(false), Err(Refusal::Unmet(&EVEN)));
        assert_eq!(Refusal::from(&SMALL), Refusal::Unmet(&SMALL));
    }
}
