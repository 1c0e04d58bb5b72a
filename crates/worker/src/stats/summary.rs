//! Outcomes of many episodes: counts, and means with their intervals. Episodes without a score are counted by reason and are never zeros.

use std::collections::BTreeMap;

use serde::Serialize;

use super::clustered::{self, Estimate};
use super::outcome::Outcome;
use super::pass_at::{self, PassAt};
use super::wilson;

/// Outcomes of many episodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Number of episodes.
    pub episodes: u64,
    /// Number of episodes with a score.
    pub scored: u64,
    /// Number of episodes without a score, by reason.
    pub unscored: BTreeMap<String, u64>,
    /// Mean score, clustered by task; null without a score.
    pub mean: Option<Estimate>,
    /// Share of scored episodes that passed every check; null without a score.
    pub strict: Option<Rate>,
    /// Probability that a task is solved within k attempts, and by all of them.
    pub pass_at: Vec<PassAt>,
}

/// A share with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// The share.
    pub rate: f64,
    /// 95%; null where it cannot be told.
    pub interval: Option<[f64; 2]>,
    /// The method by which the interval was estimated.
    pub method: Method,
}

/// The method by which the interval of a share was estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Wilson's, for one episode per task. Also where all episodes of all tasks agree: each task then counts once.
    Wilson,
    /// As of a mean, clustered by task.
    Clustered,
}

/// Sums up episodes, with `k` up to `samples_per_task`.
#[must_use]
pub fn summarise<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>, samples_per_task: u32) -> Summary {
    let (mut episodes, mut unscored) = (0, BTreeMap::new());
    let (mut scores, mut stricts) = (Vec::new(), Vec::new());
    let mut solved: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for outcome in outcomes {
        episodes += 1;
        match &outcome.result {
            Ok(found) => {
                scores.push((outcome.cluster(), found.score));
                stricts.push((outcome.cluster(), f64::from(u8::from(found.strict))));
                let (samples, correct) = solved.entry(outcome.cluster()).or_default();
                *samples += 1;
                *correct += u64::from(found.passed);
            }
            Err(reason) => *unscored.entry(reason.to_string()).or_default() += 1,
        }
    }
    let tasks: Vec<(u64, u64)> = solved.into_values().collect();
    Summary {
        episodes,
        scored: scores.len() as u64,
        unscored,
        mean: clustered::mean(scores).map(|mean| mean.within(0.0, 1.0)),
        strict: strict_rate(&stricts),
        pass_at: pass_at::estimate(&tasks, samples_per_task),
    }
}

fn strict_rate(stricts: &[((&str, &str), f64)]) -> Option<Rate> {
    let estimate = clustered::mean(stricts.iter().copied())?.within(0.0, 1.0);
    if estimate.clusters < estimate.samples && estimate.is_spread() {
        return Some(Rate { rate: estimate.mean, interval: estimate.interval, method: Method::Clustered });
    }
    // One value per task, or as many equal ones: more samples of the same tasks say nothing about other tasks.
    let successes =
        stricts.iter().filter(|(_, strict)| *strict > 0.0).count() as u64 * estimate.clusters / estimate.samples;
    let interval = wilson::interval_95(successes, estimate.clusters);
    Some(Rate { rate: estimate.mean, interval, method: Method::Wilson })
}

#[cfg(test)]
mod tests {
    use super::super::outcome::Scored;
    use super::*;

    fn outcome(task: &str, seed: u64, score: Option<f64>) -> Outcome {
        let scored = |score: f64| Scored { score, strict: score >= 1.0, passed: score >= 1.0 };
        let result = score.map(scored).ok_or_else(|| "timeout".into());
        Outcome { environment: "puzzle/a@1".into(), task: task.into(), seed, result }
    }

    #[test]
    fn what_has_no_score_is_counted_by_reason_and_is_no_zero() {
        let outcomes = [outcome("a", 0, Some(1.0)), outcome("b", 1, Some(0.5)), outcome("c", 2, None)];
        let found = summarise(&outcomes, 1);
        assert_eq!((found.episodes, found.scored), (3, 2));
        assert_eq!(found.unscored, BTreeMap::from([("timeout".to_owned(), 1)]));
        assert_eq!(found.mean.unwrap().mean, 0.75);
        let strict = found.strict.unwrap();
        assert_eq!((strict.rate, strict.method), (0.5, Method::Wilson));
        assert_eq!(strict.interval, wilson::interval_95(1, 2));
    }

    #[test]
    fn samples_of_one_task_are_one_cluster() {
        let outcomes = [outcome("a", 0, Some(1.0)), outcome("a", 1, Some(0.0)), outcome("b", 2, Some(1.0))];
        let found = summarise(&outcomes, 2);
        assert_eq!(found.mean.unwrap().clusters, 2);
        assert_eq!(found.strict.unwrap().method, Method::Clustered);
        assert_eq!((found.pass_at[0].any, found.pass_at[1].any, found.pass_at[1].tasks), (0.75, 1.0, 1));
    }

    #[test]
    fn more_samples_of_tasks_that_agree_make_nothing_more_certain() {
        let once: Vec<Outcome> = ["a", "b", "c"].map(|task| outcome(task, 0, Some(0.0))).to_vec();
        let thrice: Vec<Outcome> =
            (0..3).flat_map(|seed| ["a", "b", "c"].map(|task| outcome(task, seed, Some(0.0)))).collect();
        let (one, three) = (summarise(&once, 1), summarise(&thrice, 3));
        assert_eq!(one.strict.unwrap().interval, wilson::interval_95(0, 3));
        assert_eq!(three.strict, one.strict);
        assert_eq!((three.mean.unwrap().interval, one.mean.unwrap().interval), (None, None));
    }

    #[test]
    fn nothing_has_no_numbers() {
        let found = summarise(&[], 1);
        assert_eq!((found.mean, found.strict, found.pass_at.len()), (None, None, 0));
    }
}
