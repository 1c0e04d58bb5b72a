//! The answers of the solutions, and the score of one answer given to every task.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use palestra_protocol::action::Action;
use serde::Serialize;

use super::{Audit, Player, Sample, exceeds};
use crate::policy::Policy;

/// Constant answers that are tried, the commonest first.
const CONSTANTS: usize = 8;

/// Tasks on which each of them is tried.
const CONSTANT_TASKS: usize = 500;

/// Tasks from which on an answer's share says enough.
const SHARE_TASKS_MIN: usize = 50;

/// The largest share that one answer may have among the tasks that have one value of a parameter.
const GROUP_SHARE_MAX: f64 = 0.5;

/// Answers by the solutions, and by a policy that always answers the same.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Answers {
    /// The number of different ones.
    pub different: u64,
    /// The share of tasks that have the commonest answer.
    pub commonest: f64,
    /// The largest share that one answer has where a parameter has one value, and which.
    pub commonest_in_group: Option<(String, f64)>,
    /// The mean score of the best constant answer that was tried.
    pub constant_score: f64,
    /// Tasks on which constant answers were tried.
    pub constant_tasks: u64,
}

impl Audit {
    /// Holds the answers to the floor: no constant one may get beyond it.
    pub(super) fn judge_answers(&mut self, player: &Player<'_>, samples: &[Sample], floor: f64) {
        let commonest = commonest(samples.iter().map(|sample| sample.answer.as_str()));
        self.answers.different = commonest.len() as u64;
        let share = |count: usize, of: usize| count as f64 / of.max(1) as f64;
        if let Some((answer, count)) = commonest.first() {
            self.answers.commonest = share(*count, samples.len());
            if samples.len() >= SHARE_TASKS_MIN && exceeds(self.answers.commonest, floor, samples.len() as u64) {
                let text = format!("{count} of {} tasks have the answer {answer:.200}", samples.len());
                self.fault("answers", format!("{text}, more than the floor {floor}"));
            }
        }
        self.judge_groups(samples);
        let every = (samples.len() / CONSTANT_TASKS).max(1);
        let tried: Vec<&Sample> = samples.iter().step_by(every).collect();
        self.answers.constant_tasks = tried.len() as u64;
        let mut constants: Vec<&str> = commonest.iter().map(|(answer, _)| *answer).take(CONSTANTS / 2).collect();
        // Where all answers differ these stand for any of them.
        constants.extend(
            samples.iter().step_by((samples.len() / (CONSTANTS / 2)).max(1)).map(|sample| sample.answer.as_str()),
        );
        for constant in constants.into_iter().take(CONSTANTS) {
            let Ok(actions) = serde_json::from_str::<Vec<Action>>(constant) else { continue };
            let total: f64 = tried.iter().map(|sample| player.score_of(sample, &actions)).sum();
            let mean = total / tried.len().max(1) as f64;
            if mean > self.answers.constant_score {
                self.answers.constant_score = mean;
            }
            if tried.len() >= SHARE_TASKS_MIN && exceeds(mean, floor, tried.len() as u64) {
                self.fault(
                    "answers",
                    format!("always {constant:.200} scores {mean:.3} on average, more than the floor {floor}"),
                );
            }
        }
    }

    /// A value of a parameter that players see must not give the answer away.
    fn judge_groups(&mut self, samples: &[Sample]) {
        let mut groups: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for sample in samples {
            for (parameter, value) in &sample.values {
                groups.entry((parameter, value)).or_default().push(&sample.answer);
            }
        }
        for ((parameter, value), answers) in groups.into_iter().filter(|(_, answers)| answers.len() >= SHARE_TASKS_MIN)
        {
            let Some((answer, count)) = commonest(answers.iter().copied()).into_iter().next() else { continue };
            let share = count as f64 / answers.len() as f64;
            if share > self.answers.commonest_in_group.as_ref().map_or(0.0, |(_, most)| *most) {
                self.answers.commonest_in_group = Some((format!("{parameter} {value}"), share));
            }
            if share > GROUP_SHARE_MAX {
                let text = format!(
                    "{count} of {} tasks with {parameter} {value} have the answer {answer:.200}",
                    answers.len()
                );
                self.fault("answers", text);
            }
        }
    }
}

/// Answers with how many tasks have them, the commonest first.
fn commonest<'a>(answers: impl Iterator<Item = &'a str>) -> Vec<(&'a str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for answer in answers {
        *counts.entry(answer).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

impl Player<'_> {
    /// The score of these actions on a task; `None` where they cannot be played.
    fn score_of(&self, sample: &Sample, actions: &[Action]) -> f64 {
        let constant = Box::new(Constant(actions.iter().cloned().collect()));
        let played = catch_unwind(AssertUnwindSafe(|| self.play(&sample.task, constant)));
        played.ok().and_then(Result::ok).unwrap_or(0.0)
    }
}

/// The same actions for every task.
struct Constant(VecDeque<Action>);

impl Policy for Constant {
    fn next_action(&mut self) -> Option<Action> {
        self.0.pop_front()
    }
}
