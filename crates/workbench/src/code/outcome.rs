//! Outcomes of the tests of a submission, and the judgement that follows.

use palestra_sandbox::wire::Exited;

use super::row::Problem;
use crate::work::{Check, From, Judgement};

/// Outcome of one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It did what was expected.
    Accepted,
    /// It did something else.
    Wrong,
    /// It took too long.
    Time,
    /// It wanted too much memory.
    Memory,
    /// It failed.
    Runtime,
    /// It could not be built.
    Build,
    /// It printed too much.
    Output,
    /// It was not run, because the score was known already.
    Skipped,
}

impl Status {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Wrong => "wrong",
            Self::Time => "time",
            Self::Memory => "memory",
            Self::Runtime => "runtime",
            Self::Build => "build",
            Self::Output => "output",
            Self::Skipped => "skipped",
        }
    }
}

/// Outcome of one test, with its resource usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Status of the test.
    pub status: Status,
    /// In words, for whoever runs the environment.
    pub detail: String,
    /// Microseconds of CPU.
    pub cpu_us: u64,
    /// Most bytes of memory that it held.
    pub memory_bytes: u64,
}

impl Outcome {
    pub(super) fn of(status: Status, detail: &str, exited: &Exited) -> Self {
        Self { status, detail: detail.to_owned(), cpu_us: exited.cpu_us, memory_bytes: exited.memory_bytes }
    }

    /// One that used nothing.
    pub(super) fn unused(status: Status, detail: &str) -> Self {
        Self::of(status, detail, &Exited::default())
    }
}

/// The judgement over the tests of a problem, in their order. Where tests count alone, every one is a check; where all must pass,
/// one check holds the score and the others only tell.
pub(super) fn judgement(problem: &Problem, outcomes: &[Outcome], in_place: bool) -> Judgement {
    let weights = problem.tests.iter().map(|test| test.weight).chain(problem.asserts.iter().map(|test| test.weight));
    let mut checks: Vec<Check> = (1..)
        .zip(weights)
        .zip(outcomes)
        .map(|((number, weight), outcome)| Check {
            name: format!("test {number}"),
            weight: if problem.partial { weight } else { 0.0 },
            score: if outcome.status == Status::Accepted { 1.0 } else { 0.0 },
            evidence: evidence(outcome),
        })
        .collect();
    if !problem.partial {
        let accepted = outcomes.iter().filter(|outcome| outcome.status == Status::Accepted).count();
        let first = outcomes.iter().find(|outcome| outcome.status != Status::Accepted);
        let all = !outcomes.is_empty() && first.is_none();
        let mut evidence = format!("{accepted} of {} accepted", outcomes.len());
        if let Some(first) = first {
            evidence.push_str(&format!("; {}", first.status.as_str()));
        }
        checks.insert(
            0,
            Check { name: "all tests".to_owned(), weight: 1.0, score: if all { 1.0 } else { 0.0 }, evidence },
        );
    }
    let from = if in_place { From::InPlace } else { From::Fresh };
    Judgement { checks, trainable: !in_place, from }
}

/// The judgement over something that never came to its tests.
pub(super) fn nothing(problem: &Problem, status: Status, why: &str) -> Judgement {
    let count = problem.tests.len() + problem.asserts.len();
    let outcomes = vec![Outcome::unused(status, why); count];
    judgement(problem, &outcomes, false)
}

fn evidence(outcome: &Outcome) -> String {
    let Outcome { status, detail, cpu_us, memory_bytes } = outcome;
    let mut words = status.as_str().to_owned();
    if *cpu_us > 0 {
        words.push_str(&format!(" ({} ms, {} KiB)", cpu_us / 1_000, memory_bytes / 1_024));
    }
    if !detail.is_empty() {
        words.push_str(&format!(": {}", detail.chars().take(500).collect::<String>()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(partial: bool) -> Problem {
        let text = r#"{"prompt":"a","tests":[{"output":"1","weight":3},{"output":"2"}],"partial":PARTIAL}"#;
        serde_json::from_str(&text.replace("PARTIAL", if partial { "true" } else { "false" })).expect("a problem")
    }

    fn score(judgement: &Judgement) -> f64 {
        let weight: f64 = judgement.checks.iter().map(|check| check.weight).sum();
        judgement.checks.iter().map(|check| check.weight * check.score).sum::<f64>() / weight
    }

    #[test]
    fn some_tests_are_some_score_only_where_the_problem_says_so() {
        let half = [Outcome::unused(Status::Accepted, ""), Outcome::unused(Status::Wrong, "no")];
        assert_eq!(score(&judgement(&problem(false), &half, false)), 0.0);
        assert_eq!(score(&judgement(&problem(true), &half, false)), 0.75);
        let all = [Outcome::unused(Status::Accepted, ""), Outcome::unused(Status::Accepted, "")];
        assert_eq!(score(&judgement(&problem(false), &all, false)), 1.0);
        assert_eq!(score(&judgement(&problem(true), &all, false)), 1.0);
        assert_eq!(score(&nothing(&problem(true), Status::Build, "no")), 0.0);
    }

    #[test]
    fn tests_beside_the_submission_are_reported_and_not_trained_on() {
        let all = [Outcome::unused(Status::Accepted, ""), Outcome::unused(Status::Accepted, "")];
        let judged = judgement(&problem(false), &all, true);
        assert_eq!((judged.from, judged.trainable), (From::InPlace, false));
        let judged = judgement(&problem(false), &all, false);
        assert_eq!((judged.from, judged.trainable), (From::Fresh, true));
    }
}
