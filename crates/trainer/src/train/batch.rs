//! Played episodes as what an update learns from: rewards, advantages, and rows of tokens.

use palestra_protocol::spec::train::{Reward, RewardFrom, Truncated};

use crate::algorithm::advantage::{Advantages, Episode, Turn};
use crate::algorithm::preset::Parts;
use crate::data::{Part, Sequence};
use crate::rollout::{EpisodeEnd, Played};

/// A token that is learnt from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    /// Its position in the row; predicted from the position before.
    pub(super) position: usize,
    /// Its advantage.
    pub(super) advantage: f64,
    /// The log-probability with which it was sampled.
    pub(super) behaviour: f32,
    /// Value of the state before it; none where nothing values states.
    pub(super) value: Option<StateValue>,
}

/// Value of a state by the value function, and its target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StateValue {
    /// Before the update.
    pub(super) predicted: f32,
    /// Return from there on, by generalised advantage estimation.
    pub(super) target_return: f32,
}

/// A sequence that goes through the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Row {
    /// Every token.
    pub(super) tokens: Vec<u32>,
    /// Tokens that the policy sampled.
    pub(super) actions: Vec<Target>,
    /// Positions of tokens that the environment showed.
    pub(super) observations: Vec<usize>,
}

/// True if an episode ended by the rules of its task, and no limit of tokens cut one of its answers.
#[must_use]
pub(super) fn is_complete(played: &Played<Sequence>) -> bool {
    played.terminated && !played.trace.as_ref().is_some_and(Sequence::is_cut)
}

/// Reward of an episode after all shaping by the algorithm; none where it is no sample.
#[must_use]
pub(super) fn shaped_reward(played: &Played<Sequence>, parts: &Parts, spec: &Reward) -> Option<f64> {
    let complete = is_complete(played);
    if parts.mask_truncated && !complete {
        return None;
    }
    let answers = tokens_of_turns(played);
    let reward = reward(played, complete, answers.iter().sum(), spec)?;
    let longest = answers.into_iter().max().unwrap_or(0);
    Some(reward + parts.overlong.as_ref().map_or(0.0, |overlong| overlong.penalty(longest)))
}

/// Reward of an episode, before any shaping by an algorithm; none where it is no sample. One that is not `complete` was cut by a limit.
#[must_use]
pub(super) fn reward<T>(played: &Played<T>, complete: bool, tokens: usize, spec: &Reward) -> Option<f64> {
    let EpisodeEnd::Scored { score, strict, .. } = played.ended else { return None };
    let raw = match spec.from {
        RewardFrom::Score => score,
        RewardFrom::Strict => strict,
        RewardFrom::Return => played.turns.iter().map(|turn| turn.reward).sum(),
    };
    let counted = match (complete, spec.truncated) {
        (true, _) | (false, Truncated::Score) => raw,
        (false, Truncated::Zero) => 0.0,
        (false, Truncated::Mask) => return None,
    };
    Some(counted - spec.length_cost * tokens as f64 / 1_000.0)
}

/// True if the last state of an episode is bootstrapped: a limit cut it, and its steps are rewarded. After a verdict comes no more reward.
#[must_use]
pub(super) fn is_bootstrapped(terminated: bool, spec: &Reward) -> bool {
    !terminated && spec.from == RewardFrom::Return && spec.truncated == Truncated::Score
}

/// An episode as advantages see it. `shaped` is its reward after all shaping; none masks it.
#[must_use]
pub(super) fn episode(played: &Played<Sequence>, shaped: Option<f64>, spec: &Reward) -> Episode {
    let tokens = tokens_of_turns(played);
    let last = played.turns.len().saturating_sub(1);
    let returns = spec.from == RewardFrom::Return;
    let raw: f64 = played.turns.iter().map(|turn| turn.reward).sum();
    let turns = played.turns.iter().enumerate().map(|(position, turn)| {
        let at_end = if position == last { shaped.unwrap_or(0.0) } else { 0.0 };
        // The difference that shaping makes to a return belongs to the last turn.
        let bonus = if position == last { shaped.unwrap_or(raw) - raw } else { 0.0 };
        Turn {
            tokens: tokens.get(position).copied().unwrap_or(0),
            reward: if returns { turn.reward + bonus } else { at_end },
            state: turn.state.clone(),
        }
    });
    Episode {
        group: played.planned.group,
        reward: shaped.unwrap_or(0.0),
        counts: shaped.is_some() && !played.turns.is_empty(),
        turns: turns.collect(),
        tool_calls: played.turns.iter().map(|turn| turn.tool_calls).sum(),
        game: played.planned.name.clone(),
        role: String::new(),
        terminated: played.terminated,
    }
}

/// Sampled tokens of each turn.
fn tokens_of_turns(played: &Played<Sequence>) -> Vec<usize> {
    let Some(sequence) = &played.trace else { return Vec::new() };
    let mut tokens = vec![0; played.turns.len()];
    for position in sequence.positions(Part::Action) {
        if let Some(count) = tokens.get_mut(sequence.turn(position)) {
            *count += 1;
        }
    }
    tokens
}

/// Rows of the episodes that enter the update.
#[must_use]
pub(super) fn rows(played: &[Played<Sequence>], advantages: &Advantages) -> Vec<Row> {
    let episodes = played.iter().zip(&advantages.turns).zip(&advantages.kept);
    let kept =
        episodes.filter(|(_, kept)| **kept).filter_map(|((played, turns), _)| Some(row(played.trace.as_ref()?, turns)));
    kept.filter(|row| !row.actions.is_empty()).collect()
}

/// A sequence whose tokens are learnt from with the advantage of their turn.
#[must_use]
pub(super) fn row(sequence: &Sequence, turns: &[f64]) -> Row {
    let actions = sequence.positions(Part::Action).filter_map(|position| {
        let advantage = *turns.get(sequence.turn(position))?;
        Some(Target { position, advantage, behaviour: sequence.behaviour(position), value: None })
    });
    Row {
        tokens: sequence.tokens().to_vec(),
        actions: actions.collect(),
        observations: sequence.positions(Part::Observation).collect(),
    }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::session::TaskChoice;
    use palestra_protocol::spec::train::Rollout;

    use super::*;
    use crate::rollout::{Planned, Turn as PlayedTurn};

    fn played(ended: EpisodeEnd, terminated: bool) -> Played<Sequence> {
        let mut sequence = Sequence::begin(&[1, 2]);
        sequence.answer(&[3, 4], &[-0.5, -0.5], 0);
        sequence.extend(&[5], Part::Observation, 1);
        sequence.answer(&[6], &[-1.0], 1);
        let turn = |reward| PlayedTurn { reward, state: None, tool_calls: 1 };
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
            ended,
            terminated,
            turns: vec![turn(0.25), turn(0.5)],
            trace: Some(sequence),
        }
    }

    const SCORED: EpisodeEnd = EpisodeEnd::Scored { score: 0.6, strict: 0.0, passed: false };

    #[test]
    fn each_source_of_reward_gives_its_number() {
        let of = |from, truncated, terminated| {
            reward(&played(SCORED, terminated), terminated, 1_000, &Reward { from, truncated, length_cost: 0.1 })
        };
        assert_eq!(of(RewardFrom::Score, Truncated::Score, true), Some(0.5));
        assert_eq!(of(RewardFrom::Strict, Truncated::Score, true), Some(-0.1));
        assert_eq!(of(RewardFrom::Return, Truncated::Zero, true), Some(0.65));
        assert_eq!(of(RewardFrom::Score, Truncated::Zero, false), Some(-0.1));
        assert_eq!(of(RewardFrom::Score, Truncated::Mask, false), None);
    }

    #[test]
    fn answers_that_the_limit_of_tokens_cut_are_masked_where_a_job_or_dapo_says_so() {
        let parts = |name: &str| {
            let rollout = Rollout { max_turns: 8, max_tokens: 5, ..Rollout::default() };
            Parts::new(&serde_json::from_value(serde_json::json!({"name": name})).unwrap(), &rollout).unwrap()
        };
        let spec = |truncated| Reward { truncated, ..Reward::default() };
        let whole = played(SCORED, true);
        let mut cut = played(SCORED, true);
        cut.trace.as_mut().unwrap().cut();
        for (name, truncated, of_whole, of_cut) in [
            ("grpo", Truncated::Score, Some(0.6), Some(0.6)),
            ("grpo", Truncated::Mask, Some(0.6), None),
            ("grpo", Truncated::Zero, Some(0.6), Some(0.0)),
            ("dapo", Truncated::Score, Some(0.6), None),
        ] {
            let found = [&whole, &cut].map(|played| shaped_reward(played, &parts(name), &spec(truncated)));
            assert_eq!(found, [of_whole, of_cut], "{name} {truncated:?}");
        }
    }

    #[test]
    fn the_overlong_punishment_begins_below_the_limit_of_tokens() {
        let rollout = Rollout { max_turns: 8, max_tokens: 10, ..Rollout::default() };
        let parts =
            Parts::new(&serde_json::from_value(serde_json::json!({"name": "dapo"})).unwrap(), &rollout).unwrap();
        let of = |tokens: usize| {
            let mut one = played(SCORED, true);
            let mut sequence = Sequence::begin(&[1, 2]);
            sequence.answer(&vec![3; tokens], &vec![-1.0; tokens], 0);
            sequence.answer(&[3], &[-1.0], 1);
            one.trace = Some(sequence);
            shaped_reward(&one, &parts, &Reward::default()).unwrap()
        };
        // Nothing up to 8 of 10 tokens; the sum of both answers is no length.
        assert_eq!([1, 8, 9, 10].map(of), [0.6, 0.6, 0.6 - 0.5, 0.6 - 1.0]);
    }

    #[test]
    fn only_cut_episodes_whose_steps_are_rewarded_go_on() {
        let of =
            |from, truncated, terminated| is_bootstrapped(terminated, &Reward { from, truncated, ..Reward::default() });
        assert!(of(RewardFrom::Return, Truncated::Score, false));
        assert!(!of(RewardFrom::Return, Truncated::Score, true));
        assert!(!of(RewardFrom::Return, Truncated::Zero, false));
        assert!(!of(RewardFrom::Score, Truncated::Score, false));
        assert!(!of(RewardFrom::Strict, Truncated::Score, false));
    }

    #[test]
    fn unscored_episodes_are_never_zeros() {
        let masked = played(EpisodeEnd::Masked("infra_error".to_owned()), true);
        assert_eq!(reward(&masked, true, 3, &Reward::default()), None);
        assert!(!episode(&masked, None, &Reward::default()).counts);
    }

    #[test]
    fn tokens_get_the_advantage_of_their_turn_and_nothing_else_is_learnt_from() {
        let advantages = Advantages { turns: vec![vec![1.0, -2.0]], kept: vec![true] };
        let rows = rows(&[played(SCORED, true)], &advantages);
        let learnt: Vec<(usize, f64)> =
            rows[0].actions.iter().map(|target| (target.position, target.advantage)).collect();
        assert_eq!(learnt, [(2, 1.0), (3, 1.0), (5, -2.0)]);
        assert_eq!(rows[0].observations, [4]);
        let left_out = Advantages { turns: vec![vec![0.0, 0.0]], kept: vec![false] };
        assert!(super::rows(&[played(SCORED, true)], &left_out).is_empty());
    }

    #[test]
    fn the_turns_of_an_episode_hold_its_reward() {
        let spec = Reward::default();
        let end = episode(&played(SCORED, true), Some(0.6), &spec);
        assert_eq!(end.turns.iter().map(|turn| (turn.tokens, turn.reward)).collect::<Vec<_>>(), [(2, 0.0), (1, 0.6)]);
        let spec = Reward { from: RewardFrom::Return, ..Reward::default() };
        let by_turn = episode(&played(SCORED, true), Some(0.7), &spec);
        let rewards: Vec<f64> = by_turn.turns.iter().map(|turn| turn.reward).collect();
        assert!((rewards[0] - 0.25).abs() < 1e-12 && (rewards[1] - 0.45).abs() < 1e-12, "{rewards:?}");
    }
}
