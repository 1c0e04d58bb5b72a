//! Two policies on the same tasks and seeds: how far apart they are, and which tasks changed sides.
//!
//! E. Miller, "Adding Error Bars to Evals", <https://arxiv.org/abs/2411.00640>, section 4.2: the difference of each pair is one value, so that what
//! makes a task hard for both leaves the error; pairs of one task form a cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::clustered::{self, Estimate};
use super::outcome::Outcome;

/// Tasks of a flip that are named.
pub const FLIPPED_TASKS_MAX: usize = 100;

/// A policy compared with a baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Episodes of the same environment, task and seed that both sides have a score of.
    pub pairs: u64,
    /// Pairs that are no sample because a side has no score.
    pub unscored: Unscored,
    /// Tasks that the policy played and the baseline did not.
    pub tasks_without_baseline: u64,
    /// Tasks that the baseline played and the policy did not.
    pub tasks_of_baseline_alone: u64,
    /// Episodes without a partner, although both sides played their task.
    pub episodes_without_partner: u64,
    /// Mean of score minus baseline's score, clustered by task; null without a pair.
    pub difference: Option<Estimate>,
    /// Solved by the baseline and no longer.
    pub pass_to_fail: Flips,
    /// Not solved by the baseline but now.
    pub fail_to_pass: Flips,
}

/// Pairs without a score on at least one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Unscored {
    /// The policy has none.
    pub policy: u64,
    /// The baseline has none.
    pub baseline: u64,
    /// Neither has one.
    pub both: u64,
}

/// Pairs that changed sides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Flips {
    /// Number of them.
    pub count: u64,
    /// Their tasks, as environment and id; the first [`FLIPPED_TASKS_MAX`].
    pub tasks: Vec<(String, String)>,
}

impl Flips {
    fn add(&mut self, (environment, task): (&str, &str)) {
        self.count += 1;
        if self.tasks.len() < FLIPPED_TASKS_MAX {
            self.tasks.push((environment.to_owned(), task.to_owned()));
        }
    }
}

/// Compares the episodes of a policy with those of a baseline.
#[must_use]
pub fn compare(policy: &[Outcome], baseline: &[Outcome]) -> Comparison {
    let mut others: BTreeMap<((&str, &str), u64), &Outcome> =
        baseline.iter().map(|outcome| ((outcome.cluster(), outcome.seed), outcome)).collect();
    let tasks = |outcomes: &'_ [Outcome]| -> BTreeSet<(String, String)> {
        outcomes.iter().map(|outcome| (outcome.environment.to_string(), outcome.task.to_string())).collect()
    };
    let (ours, theirs) = (tasks(policy), tasks(baseline));
    let shared = |outcome: &Outcome| {
        let task = (outcome.environment.to_string(), outcome.task.to_string());
        ours.contains(&task) && theirs.contains(&task)
    };
    let (mut unscored, mut partnerless) = (Unscored::default(), 0);
    let (mut pass_to_fail, mut fail_to_pass) = (Flips::default(), Flips::default());
    let mut differences = Vec::new();
    let mut sorted: Vec<&Outcome> = policy.iter().collect();
    sorted.sort_by_key(|outcome| (outcome.cluster(), outcome.seed));
    for outcome in sorted {
        let Some(other) = others.remove(&(outcome.cluster(), outcome.seed)) else {
            partnerless += u64::from(shared(outcome));
            continue;
        };
        match (&outcome.result, &other.result) {
            (Ok(here), Ok(there)) => {
                differences.push((outcome.cluster(), here.score - there.score));
                match (there.passed, here.passed) {
                    (true, false) => pass_to_fail.add(outcome.cluster()),
                    (false, true) => fail_to_pass.add(outcome.cluster()),
                    _ => {}
                }
            }
            (Err(_), Ok(_)) => unscored.policy += 1,
            (Ok(_), Err(_)) => unscored.baseline += 1,
            (Err(_), Err(_)) => unscored.both += 1,
        }
    }
    partnerless += others.values().filter(|outcome| shared(outcome)).count() as u64;
    Comparison {
        pairs: differences.len() as u64,
        unscored,
        tasks_without_baseline: ours.difference(&theirs).count() as u64,
        tasks_of_baseline_alone: theirs.difference(&ours).count() as u64,
        episodes_without_partner: partnerless,
        difference: clustered::mean(differences).map(|difference| difference.within(-1.0, 1.0)),
        pass_to_fail,
        fail_to_pass,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::outcome::Scored;
    use super::*;

    fn outcome(task: u8, seed: u64, score: Option<f64>) -> Outcome {
        let scored = |score: f64| Scored { score, strict: score >= 1.0, passed: score >= 1.0 };
        let result = score.map(scored).ok_or_else(|| "infra_error".into());
        Outcome { environment: "puzzle/a@1".into(), task: format!("test-{task}").into(), seed, result }
    }

    fn side(scores: &[(u8, Option<f64>)]) -> Vec<Outcome> {
        scores.iter().enumerate().map(|(seed, (task, score))| outcome(*task, seed as u64, *score)).collect()
    }

    /// The numbers are those of `known.py`.
    #[test]
    fn it_agrees_with_numbers_that_were_worked_out_apart() {
        let tasks = [0, 0, 1, 1, 2, 2];
        let of = |scores: [f64; 6]| side(&tasks.into_iter().zip(scores.map(Some)).collect::<Vec<_>>());
        let found = compare(&of([1.0, 0.5, 0.0, 1.0, 1.0, 0.25]), &of([0.0, 0.5, 0.5, 1.0, 0.0, 0.75]));
        let difference = found.difference.unwrap();
        assert!((difference.mean - 0.166_666_666_666_666_69).abs() < 1e-12);
        assert!((difference.standard_error.unwrap() - 0.220_479_275_922_049_2).abs() < 1e-12);
        let [low, high] = difference.interval.unwrap();
        assert!((low + 0.781_979_091_732_523_1).abs() < 1e-8);
        // 1.115 without the bound: no difference is above 1.
        assert!((high - 1.0).abs() < f64::EPSILON);
        assert_eq!((found.pairs, found.fail_to_pass.count, found.pass_to_fail.count), (6, 2, 0));
    }

    #[test]
    fn what_has_no_partner_or_no_score_is_counted() {
        let policy = side(&[(0, Some(1.0)), (1, None), (2, Some(0.0)), (3, None), (4, Some(1.0))]);
        let mut baseline = side(&[(0, Some(0.0)), (1, Some(1.0)), (2, None), (3, None)]);
        baseline.push(outcome(0, 77, Some(1.0)));
        baseline.push(outcome(9, 78, Some(1.0)));
        let found = compare(&policy, &baseline);
        assert_eq!(found.pairs, 1);
        assert_eq!(found.unscored, Unscored { policy: 1, baseline: 1, both: 1 });
        assert_eq!((found.tasks_without_baseline, found.tasks_of_baseline_alone), (1, 1));
        assert_eq!(found.episodes_without_partner, 1);
        assert_eq!(found.fail_to_pass.tasks, [("puzzle/a@1".to_owned(), "test-0".to_owned())]);
    }

    #[test]
    fn the_tasks_that_are_named_are_bounded_and_the_count_is_not() {
        let all = |score| (0..150).map(|seed| outcome(0, seed, Some(score))).collect::<Vec<_>>();
        let found = compare(&all(0.0), &all(1.0));
        assert_eq!((found.pass_to_fail.count, found.pass_to_fail.tasks.len()), (150, FLIPPED_TASKS_MAX));
    }

    proptest! {
        #[test]
        fn a_policy_does_not_differ_from_itself(scores in proptest::collection::vec((0_u8..5, 0.0_f64..=1.0), 2..40)) {
            let policy = side(&scores.iter().map(|(task, score)| (*task, Some(*score))).collect::<Vec<_>>());
            let found = compare(&policy, &policy);
            let difference = found.difference.unwrap();
            prop_assert_eq!((difference.mean, difference.standard_error.unwrap_or(0.0)), (0.0, 0.0));
            prop_assert_eq!((found.pass_to_fail.count, found.fail_to_pass.count), (0, 0));
        }

        #[test]
        fn exchanging_the_sides_turns_the_difference_around(
            scores in proptest::collection::vec((0_u8..5, 0.0_f64..=1.0, 0.0_f64..=1.0), 2..40),
        ) {
            let one = side(&scores.iter().map(|(task, score, _)| (*task, Some(*score))).collect::<Vec<_>>());
            let other = side(&scores.iter().map(|(task, _, score)| (*task, Some(*score))).collect::<Vec<_>>());
            let (there, back) = (compare(&one, &other), compare(&other, &one));
            let (left, right) = (there.difference.unwrap(), back.difference.unwrap());
            prop_assert!((left.mean + right.mean).abs() < 1e-12);
            prop_assert_eq!(there.pass_to_fail.count, back.fail_to_pass.count);
        }
    }
}
