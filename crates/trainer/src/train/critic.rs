//! Advantages of tokens by a value function, with generalised advantage estimation.

use palestra_protocol::spec::train::Reward;

use super::batch::{self, Row, StateValue};
use crate::algorithm::advantage::Episode;
use crate::algorithm::advantage::generalised::{End, Step, generalised, whitened};
use crate::data::Sequence;
use crate::rollout::Played;

/// Rewards of the learnt tokens of a row, and the end of its episode.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trajectory {
    /// Rewards, one for each token: the last token of an answer has the reward of its turn, the others 0.
    rewards: Vec<f64>,
    /// True if a limit cut it, so that the value of its last state stands for the rest.
    is_bootstrapped: bool,
}

/// Discount and lambda of generalised advantage estimation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GaeConfig {
    /// Discount per token.
    pub(super) gamma: f64,
    /// Trace decay per token.
    pub(super) lambda: f64,
}

/// Rows of the episodes that count, without advantages yet, each with its trajectory.
#[must_use]
pub(super) fn trajectories(
    played: &[Played<Sequence>],
    episodes: &[Episode],
    reward: &Reward,
) -> (Vec<Row>, Vec<Trajectory>) {
    let counted = played.iter().zip(episodes).filter(|(_, episode)| episode.counts);
    let learnt = counted.filter_map(|(played, episode)| {
        let sequence = played.trace.as_ref()?;
        let row = batch::row(sequence, &vec![0.0; episode.turns.len()]);
        let turns: Vec<usize> = row.actions.iter().map(|target| sequence.turn(target.position)).collect();
        let rewards = turns.iter().enumerate().map(|(index, turn)| {
            let is_last = turns.get(index + 1) != Some(turn);
            if is_last { episode.turns[*turn].reward } else { 0.0 }
        });
        let is_bootstrapped = batch::is_bootstrapped(episode.terminated, reward);
        let trajectory = Trajectory { rewards: rewards.collect(), is_bootstrapped };
        (!row.actions.is_empty()).then_some((row, trajectory))
    });
    learnt.unzip()
}

/// Gives every learnt token its advantage, whitened over all of them, and the value of its state with its target. Returns the explained
/// variance of the value function: 1 at best, NaN where all returns are equal.
///
/// `values` are, for each row, those of the states before its learnt tokens, and behind them that of its last state, from which a
/// truncated episode is bootstrapped.
pub(super) fn assign_advantages(
    rows: &mut [Row],
    trajectories: &[Trajectory],
    values: &[Vec<f32>],
    gae: GaeConfig,
) -> f64 {
    let (mut advantages, mut returns) = (Vec::new(), Vec::new());
    for (trajectory, values) in trajectories.iter().zip(values) {
        let estimate = generalised(&steps(trajectory, values), 0.0, gae.gamma, gae.lambda);
        advantages.extend(estimate.advantages);
        returns.extend(estimate.returns);
    }
    let whitened = whitened(&advantages, &vec![true; advantages.len()]);
    let mut estimates = whitened.into_iter().zip(&returns);
    for (row, values) in rows.iter_mut().zip(values) {
        for ((target, predicted), (advantage, target_return)) in
            row.actions.iter_mut().zip(values).zip(estimates.by_ref())
        {
            target.advantage = advantage;
            target.value = Some(StateValue { predicted: *predicted, target_return: *target_return as f32 });
        }
    }
    explained(&advantages, &returns)
}

fn steps(trajectory: &Trajectory, values: &[f32]) -> Vec<Step> {
    let last = trajectory.rewards.len().saturating_sub(1);
    let value_after = values.get(trajectory.rewards.len()).map_or(0.0, |value| f64::from(*value));
    let steps = trajectory.rewards.iter().zip(values).enumerate().map(|(index, (reward, value))| {
        let end = match (index == last, trajectory.is_bootstrapped) {
            (false, _) => End::Continues,
            (true, false) => End::Terminated,
            (true, true) => End::Truncated { value_after },
        };
        Step { reward: *reward, value: f64::from(*value), acts: true, end }
    });
    steps.collect()
}

/// Explained variance of a value function: 1 - Var(returns - values) / Var(returns), where an advantage is a return less its value. NaN
/// where all returns are equal.
#[must_use]
pub(super) fn explained(advantages: &[f64], returns: &[f64]) -> f64 {
    let squares = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let total = squares(returns);
    if total > 0.0 { 1.0 - squares(advantages) / total } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::session::TaskChoice;
    use palestra_protocol::spec::train::{RewardFrom, Truncated};

    use super::*;
    use crate::data::Part;
    use crate::rollout::{EpisodeEnd, Planned, Turn};

    /// Two answers, of two tokens and of one, with an observation of two tokens between.
    fn played(terminated: bool) -> Played<Sequence> {
        let mut sequence = Sequence::begin(&[1, 2]);
        sequence.answer(&[3, 4], &[-0.5, -0.25], 0);
        sequence.extend(&[5, 6], Part::Observation, 1);
        sequence.answer(&[7], &[-1.0], 1);
        let turn = |reward| Turn { reward, state: None, tool_calls: 0, answer_cut: false };
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
            ended: EpisodeEnd::Scored { score: 0.5, strict: 0.0, passed: false },
            terminated,
            turns: vec![turn(0.25), turn(0.5)],
            trace: Some(sequence),
        }
    }

    fn learnt(terminated: bool, from: RewardFrom, shaped: Option<f64>) -> (Vec<Row>, Vec<Trajectory>) {
        learnt_by(terminated, shaped, &Reward { from, ..Reward::default() })
    }

    fn learnt_by(terminated: bool, shaped: Option<f64>, reward: &Reward) -> (Vec<Row>, Vec<Trajectory>) {
        let played = played(terminated);
        let episode = batch::episode(&played, shaped, reward);
        trajectories(&[played], &[episode], reward)
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
        assert_eq!(rows[0].actions.iter().map(|target| target.position).collect::<Vec<_>>(), [2, 3, 6]);
        near(&by_turn[0].rewards, &[0.0, 0.25, 0.5]);
        let (_, at_end) = learnt(true, RewardFrom::Score, Some(0.4));
        near(&at_end[0].rewards, &[0.0, 0.0, 0.4]);
        let (_, shaped) = learnt(true, RewardFrom::Return, Some(0.65));
        near(&shaped[0].rewards, &[0.0, 0.25, 0.4]);
    }

    #[test]
    fn masked_episodes_leave_the_update() {
        let (rows, trajectories) = learnt(true, RewardFrom::Score, None);
        assert!(rows.is_empty() && trajectories.is_empty());
    }

    /// Values of the state before each learnt token, and of the last state.
    const VALUES: [f32; 4] = [0.25, 0.5, 0.125, 2.0];

    fn returns(rows: &[Row]) -> Vec<f64> {
        rows.iter().flat_map(|row| &row.actions).map(|target| f64::from(target.value.unwrap().target_return)).collect()
    }

    #[test]
    fn advantages_reach_across_observations_and_a_truncation_is_bootstrapped() {
        let gae = GaeConfig { gamma: 0.5, lambda: 0.5 };
        let (mut rows, trajectories) = learnt(true, RewardFrom::Return, Some(0.75));
        assign_advantages(&mut rows, &trajectories, &[VALUES.to_vec()], gae);
        // Backwards: 0.5 - 0.125 = 0.375; 0.25 + 0.0625 - 0.5 + 0.25 x 0.375 = -0.09375; 0.25 - 0.25 - 0.25 x 0.09375 = -0.0234375.
        near(&returns(&rows), &[0.25 - 0.023_437_5, 0.5 - 0.093_75, 0.125 + 0.375]);
        let predicted: Vec<f32> = rows[0].actions.iter().map(|target| target.value.unwrap().predicted).collect();
        assert_eq!(predicted, VALUES[..3]);
        let (mut rows, trajectories) = learnt(false, RewardFrom::Return, Some(0.75));
        assign_advantages(&mut rows, &trajectories, &[VALUES.to_vec()], gae);
        // The last token: 0.5 + 0.5 x 2 - 0.125.
        near(&returns(&rows)[2..], &[1.5]);
    }

    #[test]
    fn nothing_comes_after_a_verdict_or_a_zero() {
        let gae = GaeConfig { gamma: 0.5, lambda: 0.5 };
        let last = |episode_reward: f64, reward: &Reward| {
            let (mut rows, trajectories) = learnt_by(false, Some(episode_reward), reward);
            assign_advantages(&mut rows, &trajectories, &[VALUES.to_vec()], gae);
            returns(&rows)[2]
        };
        near(&[last(0.4, &Reward::default())], &[0.4]);
        near(&[last(1.0, &Reward { from: RewardFrom::Strict, ..Reward::default() })], &[1.0]);
        // The steps gave 0.25 and 0.5: the last one takes back what the first gave.
        let zero = Reward { from: RewardFrom::Return, truncated: Truncated::Zero, ..Reward::default() };
        near(&[last(0.0, &zero)], &[-0.25]);
    }

    #[test]
    fn advantages_are_whitened_over_the_tokens_of_all_rows() {
        let (mut rows, mut trajectories) = learnt(true, RewardFrom::Score, Some(1.0));
        let (more, other) = learnt(true, RewardFrom::Score, Some(0.0));
        rows.extend(more);
        trajectories.extend(other);
        let values = vec![vec![0.5; 4]; 2];
        let explained = assign_advantages(&mut rows, &trajectories, &values, GaeConfig { gamma: 1.0, lambda: 1.0 });
        let advantages: Vec<f64> = rows.iter().flat_map(|row| &row.actions).map(|target| target.advantage).collect();
        // 0.5 and -0.5, three times each: the variance with n - 1 is 0.3.
        let one = 0.5 / (0.3_f64 + 1e-8).sqrt();
        near(&advantages, &[one, one, one, -one, -one, -one]);
        assert_eq!(explained, 0.0, "a constant explains nothing");
    }

    #[test]
    fn a_perfect_value_function_explains_all_and_equal_returns_are_not_measured() {
        let (mut rows, trajectories) = learnt(true, RewardFrom::Return, Some(0.75));
        let perfect = vec![0.75, 0.75, 0.5, 9.0];
        assert_eq!(assign_advantages(&mut rows, &trajectories, &[perfect], GaeConfig { gamma: 1.0, lambda: 0.9 }), 1.0);
        let advantages: Vec<f64> = rows[0].actions.iter().map(|target| target.advantage).collect();
        assert_eq!(advantages, [0.0; 3]);
        let (mut rows, trajectories) = learnt(true, RewardFrom::Score, Some(0.5));
        assert!(
            assign_advantages(&mut rows, &trajectories, &[vec![0.0; 4]], GaeConfig { gamma: 1.0, lambda: 1.0 })
                .is_nan()
        );
    }
}
