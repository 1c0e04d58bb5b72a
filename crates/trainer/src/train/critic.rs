//! Tokens judged by a value function: what each earned, and how much better that was than what its state was said to be worth.

use palestra_protocol::spec::train::Reward;

use super::batch::{self, Row, Worth};
use crate::algorithm::advantage::Episode;
use crate::algorithm::advantage::generalised::{End, Step, generalised, whitened};
use crate::data::Sequence;
use crate::rollout::Played;

/// What the learnt tokens of a row earned, and how its episode ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Course {
    /// What each earned: the last token of an answer has the reward of its turn, the others 0.
    rewards: Vec<f64>,
    /// Whether it would have gone on to earn more.
    goes_on: bool,
}

/// How much what comes later counts for a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Horizon {
    /// Discount per token.
    pub(super) gamma: f64,
    /// Trace decay per token.
    pub(super) lambda: f64,
}

/// Rows of the episodes that count, not judged yet, each with its course.
#[must_use]
pub(super) fn courses(played: &[Played<Sequence>], episodes: &[Episode], reward: &Reward) -> (Vec<Row>, Vec<Course>) {
    let counted = played.iter().zip(episodes).filter(|(_, episode)| episode.counts);
    let learnt = counted.filter_map(|(played, episode)| {
        let sequence = played.trace.as_ref()?;
        let row = batch::row(sequence, &vec![0.0; episode.turns.len()]);
        let turns: Vec<usize> = row.actions.iter().map(|target| sequence.turn(target.place)).collect();
        let rewards = turns.iter().enumerate().map(|(index, turn)| {
            let is_last = turns.get(index + 1) != Some(turn);
            if is_last { episode.turns[*turn].reward } else { 0.0 }
        });
        let goes_on = batch::goes_on(episode.terminated, reward);
        let course = Course { rewards: rewards.collect(), goes_on };
        (!row.actions.is_empty()).then_some((row, course))
    });
    learnt.unzip()
}

/// Gives every learnt token its advantage, whitened over all of them, and what its state is worth. Answers which share of the spread of
/// what was earned the value function explained: 1 at best, NaN where all earned the same.
///
/// `values` are, for each row, those of the states before its learnt tokens, and behind them that of its last state, which stands for
/// what an episode would have gone on to earn, where it does.
pub(super) fn judge(rows: &mut [Row], courses: &[Course], values: &[Vec<f32>], horizon: Horizon) -> f64 {
    let (mut advantages, mut earned) = (Vec::new(), Vec::new());
    for (course, values) in courses.iter().zip(values) {
        let estimate = generalised(&steps(course, values), 0.0, horizon.gamma, horizon.lambda);
        advantages.extend(estimate.advantages);
        earned.extend(estimate.returns);
    }
    let whitened = whitened(&advantages, &vec![true; advantages.len()]);
    let mut judged = whitened.into_iter().zip(&earned);
    for (row, values) in rows.iter_mut().zip(values) {
        for ((target, said), (advantage, earned)) in row.actions.iter_mut().zip(values).zip(judged.by_ref()) {
            target.advantage = advantage;
            target.worth = Some(Worth { said: *said, earned: *earned as f32 });
        }
    }
    explained(&advantages, &earned)
}

fn steps(course: &Course, values: &[f32]) -> Vec<Step> {
    let last = course.rewards.len().saturating_sub(1);
    let value_after = values.get(course.rewards.len()).map_or(0.0, |value| f64::from(*value));
    let steps = course.rewards.iter().zip(values).enumerate().map(|(index, (reward, value))| {
        let end = match (index == last, course.goes_on) {
            (false, _) => End::Continues,
            (true, false) => End::Terminated,
            (true, true) => End::Truncated { value_after },
        };
        Step { reward: *reward, value: f64::from(*value), acts: true, end }
    });
    steps.collect()
}

/// Which share of the spread of what was earned a value function explained: 1 - Var(earned - said) / Var(earned), where an advantage is
/// what was earned less what was said. NaN where all earned the same.
#[must_use]
pub(super) fn explained(advantages: &[f64], earned: &[f64]) -> f64 {
    let spread = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let whole = spread(earned);
    if whole > 0.0 { 1.0 - spread(advantages) / whole } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::session::TaskChoice;
    use palestra_protocol::spec::train::{RewardFrom, Truncated};

    use super::*;
    use crate::data::Part;
    use crate::rollout::{Ended, Planned, Turn};

    /// Two answers, of two tokens and of one, with an observation of two tokens between.
    fn played(terminated: bool) -> Played<Sequence> {
        let mut sequence = Sequence::begin(&[1, 2]);
        sequence.answer(&[3, 4], &[-0.5, -0.25], 0);
        sequence.extend(&[5, 6], Part::Observation, 1);
        sequence.answer(&[7], &[-1.0], 1);
        let turn = |reward| Turn { reward, state: None, tool_calls: 0 };
        Played {
            planned: Planned {
                number: 1,
                group: 0,
                environment: 0,
                name: "a/b".to_owned(),
                task: TaskChoice::default(),
                seed: 0,
            },
            environment: "a/b@1".to_owned(),
            ended: Ended::Scored { score: 0.5, strict: 0.0, passed: false },
            terminated,
            turns: vec![turn(0.25), turn(0.5)],
            trace: Some(sequence),
        }
    }

    fn learnt(terminated: bool, from: RewardFrom, earned: Option<f64>) -> (Vec<Row>, Vec<Course>) {
        learnt_by(terminated, earned, &Reward { from, ..Reward::default() })
    }

    fn learnt_by(terminated: bool, earned: Option<f64>, reward: &Reward) -> (Vec<Row>, Vec<Course>) {
        let played = played(terminated);
        let episode = batch::episode(&played, earned, reward);
        courses(&[played], &[episode], reward)
    }

    fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
        }
    }

    #[test]
    fn a_turn_is_rewarded_at_the_last_token_of_its_answer() {
        let (rows, by_turn) = learnt(true, RewardFrom::Return, Some(0.75));
        assert_eq!(rows[0].actions.iter().map(|target| target.place).collect::<Vec<_>>(), [2, 3, 6]);
        near(&by_turn[0].rewards, &[0.0, 0.25, 0.5]);
        let (_, at_end) = learnt(true, RewardFrom::Score, Some(0.4));
        near(&at_end[0].rewards, &[0.0, 0.0, 0.4]);
        let (_, shaped) = learnt(true, RewardFrom::Return, Some(0.65));
        near(&shaped[0].rewards, &[0.0, 0.25, 0.4]);
    }

    #[test]
    fn what_is_no_sample_leaves_the_update() {
        let (rows, courses) = learnt(true, RewardFrom::Score, None);
        assert!(rows.is_empty() && courses.is_empty());
    }

    /// What the state before each learnt token, and the last state, are said to be worth.
    const VALUES: [f32; 4] = [0.25, 0.5, 0.125, 2.0];

    fn earned(rows: &[Row]) -> Vec<f64> {
        rows.iter().flat_map(|row| &row.actions).map(|target| f64::from(target.worth.unwrap().earned)).collect()
    }

    #[test]
    fn tokens_are_judged_across_observations_and_a_cut_is_bootstrapped() {
        let horizon = Horizon { gamma: 0.5, lambda: 0.5 };
        let (mut rows, courses) = learnt(true, RewardFrom::Return, Some(0.75));
        judge(&mut rows, &courses, &[VALUES.to_vec()], horizon);
        // Backwards: 0.5 - 0.125 = 0.375; 0.25 + 0.0625 - 0.5 + 0.25 x 0.375 = -0.09375; 0.25 - 0.25 - 0.25 x 0.09375 = -0.0234375.
        near(&earned(&rows), &[0.25 - 0.023_437_5, 0.5 - 0.093_75, 0.125 + 0.375]);
        let said: Vec<f32> = rows[0].actions.iter().map(|target| target.worth.unwrap().said).collect();
        assert_eq!(said, VALUES[..3]);
        let (mut rows, courses) = learnt(false, RewardFrom::Return, Some(0.75));
        judge(&mut rows, &courses, &[VALUES.to_vec()], horizon);
        // The last token: 0.5 + 0.5 x 2 - 0.125.
        near(&earned(&rows)[2..], &[1.5]);
    }

    #[test]
    fn nothing_comes_after_a_verdict_or_a_zero() {
        let horizon = Horizon { gamma: 0.5, lambda: 0.5 };
        let last = |earned_in_all: f64, reward: &Reward| {
            let (mut rows, courses) = learnt_by(false, Some(earned_in_all), reward);
            judge(&mut rows, &courses, &[VALUES.to_vec()], horizon);
            earned(&rows)[2]
        };
        near(&[last(0.4, &Reward::default())], &[0.4]);
        near(&[last(1.0, &Reward { from: RewardFrom::Strict, ..Reward::default() })], &[1.0]);
        // The steps gave 0.25 and 0.5: the last one takes back what the first gave.
        let zero = Reward { from: RewardFrom::Return, truncated: Truncated::Zero, ..Reward::default() };
        near(&[last(0.0, &zero)], &[-0.25]);
    }

    #[test]
    fn advantages_are_whitened_over_the_tokens_of_all_rows() {
        let (mut rows, mut courses) = learnt(true, RewardFrom::Score, Some(1.0));
        let (more, other) = learnt(true, RewardFrom::Score, Some(0.0));
        rows.extend(more);
        courses.extend(other);
        let values = vec![vec![0.5; 4]; 2];
        let explained = judge(&mut rows, &courses, &values, Horizon { gamma: 1.0, lambda: 1.0 });
        let advantages: Vec<f64> = rows.iter().flat_map(|row| &row.actions).map(|target| target.advantage).collect();
        // 0.5 and -0.5, three times each: the variance with n - 1 is 0.3.
        let one = 0.5 / (0.3_f64 + 1e-8).sqrt();
        near(&advantages, &[one, one, one, -one, -one, -one]);
        assert_eq!(explained, 0.0, "a constant explains nothing");
    }

    #[test]
    fn a_perfect_value_function_explains_all_and_equal_earnings_are_not_measured() {
        let (mut rows, courses) = learnt(true, RewardFrom::Return, Some(0.75));
        let perfect = vec![0.75, 0.75, 0.5, 9.0];
        assert_eq!(judge(&mut rows, &courses, &[perfect], Horizon { gamma: 1.0, lambda: 0.9 }), 1.0);
        let advantages: Vec<f64> = rows[0].actions.iter().map(|target| target.advantage).collect();
        assert_eq!(advantages, [0.0; 3]);
        let (mut rows, courses) = learnt(true, RewardFrom::Score, Some(0.5));
        assert!(judge(&mut rows, &courses, &[vec![0.0; 4]], Horizon { gamma: 1.0, lambda: 1.0 }).is_nan());
    }
}
