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

/// Reward of an episode, before any shaping by an algorithm; none where it is no sample.
#[must_use]
pub(super) fn reward<T>(played: &Played<T>, tokens: usize, spec: &Reward) -> Option<f64> {
    let EpisodeEnd::Scored { score, strict, .. } = played.ended else { return None };
    let raw = match spec.from {
        RewardFrom::Score => score,
        RewardFrom::Strict => strict,
        RewardFrom::Return => played.turns.iter().map(|turn| turn.reward).sum(),
    };
    let counted = match (played.is_cut(), spec.truncated) {
        (false, _) | (true, Truncated::Score) => raw,
        (true, Truncated::Zero) => 0.0,
        (true, Truncated::Mask) => return None,
    };
    Some(counted - spec.length_cost * tokens as f64 / 1_000.0)
}

/// True if the last state of an episode is bootstrapped: a limit cut it, and its steps are rewarded. After a verdict comes no more reward.
#[must_use]
pub(super) fn is_bootstrapped(terminated: bool, spec: &Reward) -> bool {
    !terminated && spec.from == RewardFrom::Return && spec.truncated == Truncated::Score
}

/// A language model's episode as advantages see it, its reward shaped by the algorithm.
#[must_use]
pub(super) fn shaped(played: &Played<Sequence>, parts: &Parts, spec: &Reward) -> Episode {
    let lengths = answer_lengths(played);
    let masked = parts.mask_truncated && played.is_cut();
    let reward = if masked { None } else { reward(played, lengths.iter().sum(), spec) };
    let longest = lengths.into_iter().max().unwrap_or(0);
    let penalty = parts.overlong.map_or(0.0, |overlong| overlong.penalty(longest));
    episode(played, reward.map(|reward| reward + penalty), spec)
}

/// An episode as advantages see it. `shaped` is its reward after all shaping; none masks it.
#[must_use]
pub(super) fn episode(played: &Played<Sequence>, shaped: Option<f64>, spec: &Reward) -> Episode {
    let tokens = answer_lengths(played);
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
fn answer_lengths(played: &Played<Sequence>) -> Vec<usize> {
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
        let turn = |reward| PlayedTurn { reward, state: None, tool_calls: 1, answer_cut: false };
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

    /// An episode whose second answer was cut at its longest, and which the environment ended with it.
    fn with_cut_answer() -> Played<Sequence> {
        let mut cut = played(SCORED, true);
        cut.turns[1].answer_cut = true;
        cut
    }

    fn parts(name: &str, max_tokens: u32) -> Parts {
        let algorithm = serde_json::from_value(serde_json::json!({ "name": name })).unwrap();
        Parts::new(&algorithm, &Rollout { max_tokens, ..Rollout::default() }).unwrap()
    }

    const SCORED: EpisodeEnd = EpisodeEnd::Scored { score: 0.6, strict: 0.0, passed: false };

    #[test]
    fn each_source_of_reward_gives_its_number() {
        let of = |from, truncated, terminated| {
            reward(&played(SCORED, terminated), 1_000, &Reward { from, truncated, length_cost: 0.1 })
        };
        assert_eq!(of(RewardFrom::Score, Truncated::Score, true), Some(0.5));
        assert_eq!(of(RewardFrom::Strict, Truncated::Score, true), Some(-0.1));
        assert_eq!(of(RewardFrom::Return, Truncated::Zero, true), Some(0.65));
        assert_eq!(of(RewardFrom::Score, Truncated::Zero, false), Some(-0.1));
        assert_eq!(of(RewardFrom::Score, Truncated::Mask, false), None);
    }

    #[test]
    fn a_cut_answer_cuts_its_episode() {
        let of = |truncated| reward(&with_cut_answer(), 0, &Reward { truncated, ..Reward::default() });
        assert_eq!(of(Truncated::Score), Some(0.6));
        assert_eq!(of(Truncated::Zero), Some(0.0));
        assert_eq!(of(Truncated::Mask), None);
    }

    #[test]
    fn dapo_masks_cut_answers_and_others_do_not() {
        let counts = |name, played: &Played<Sequence>| shaped(played, &parts(name, 50), &Reward::default()).counts;
        assert!(!counts("dapo", &with_cut_answer()));
        assert!(!counts("dapo", &played(SCORED, false)));
        assert!(counts("dapo", &played(SCORED, true)));
        assert!(counts("grpo", &with_cut_answer()) && counts("grpo", &played(SCORED, false)));
    }

    #[test]
    fn the_overlong_punishment_grows_within_the_longest_answer() {
        let reward = |lengths: &[usize]| {
            let mut played = played(SCORED, true);
            let mut sequence = Sequence::begin(&[1, 2]);
            for (turn, length) in lengths.iter().enumerate() {
                sequence.answer(&vec![3; *length], &vec![-0.5; *length], turn as u32);
            }
            played.trace = Some(sequence);
            shaped(&played, &parts("dapo", 10), &Reward::default()).reward
        };
        for (lengths, expected) in
            [([8, 8], 0.6), ([1, 9], 0.1), ([9, 1], 0.1), ([10, 1], -0.4), ([9, 9], 0.1), ([4, 5], 0.6)]
        {
            assert!((reward(&lengths) - expected).abs() < 1e-12, "{lengths:?}: {}", reward(&lengths));
        }
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
        assert_eq!(reward(&masked, 3, &Reward::default()), None);
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
