//! Effects of what sets a preset apart: the same training with that part taken away ends with other weights.

use burn::module::Module as _;
use palestra_protocol::session::TaskChoice;
use palestra_protocol::spec::train::{
    Advantage, Aggregation, Algorithm, AlgorithmName, Clip, Optimizer, Reward, Rollout,
};
use serde_json::json;

use super::batch;
use super::critic::{self, GaeConfig};
use super::learning::{model, prompt};
use super::playing::Taken;
use super::update::{Learner, UpdateSettings};
use crate::algorithm::advantage::{Baselines, advantages};
use crate::algorithm::loss::Ratio;
use crate::algorithm::preset::{AdvantageEstimator, Parts};
use crate::data::Sequence;
use crate::model::{ActorCritic, Named as _};
use crate::optimizer::AdamW;
use crate::rollout::{EpisodeEnd, Planned, Played, Turn};
use crate::sampling::{Answer, SampleRequest, Sampler, Stopped};

/// Most tokens of an answer; one more is sampled in an episode.
const LONGEST: u32 = 9;
/// The token that ends an answer.
const END: u32 = 0;
/// Tokens up to this one are rewarded.
const REWARDED: u32 = 5;
/// Updates of a training.
const UPDATES: u64 = 4;
/// Seed of every training.
const SEED: u64 = 3;
/// Difference of two weights that is no rounding error.
const DIFFERENCE_MIN: f64 = 1e-4;

/// A training, update by update.
struct Training {
    /// Mean score of the episodes that were learnt from.
    rewards: Vec<f64>,
    /// Share of the tokens whose ratio was clipped.
    clipped: Vec<f64>,
    /// Every weight at the end.
    weights: Vec<f64>,
}

fn parts(name: AlgorithmName) -> Parts {
    let algorithm: Algorithm = serde_json::from_value(json!({"name": name, "tasks_per_step": 8})).unwrap();
    let rollout = Rollout { max_turns: 2, max_tokens: LONGEST, max_context_tokens: 16, ..Rollout::default() };
    Parts::new(&algorithm, &rollout).unwrap()
}

/// An answer as an episode of two turns: its first token, which decides in which state the second one begins, and the rest. The
/// environment ends it, also where the answer was cut.
fn played(group: usize, prompt: &[u32], answer: &Answer) -> Played<Sequence> {
    let mut sequence = Sequence::begin(prompt);
    sequence.answer(&answer.tokens[..1], &answer.log_probs[..1], 0);
    sequence.answer(&answer.tokens[1..], &answer.log_probs[1..], 1);
    let turn = |state: String, answer_cut| Turn { reward: 0.0, state: Some(state), tool_calls: 0, answer_cut };
    let mut turns = vec![
        turn("start".to_owned(), false),
        turn((answer.tokens[0] % 2).to_string(), answer.stopped == Stopped::Length),
    ];
    turns[0].tool_calls = answer.tokens.iter().filter(|token| **token % 4 == 1).count() % 2;
    let rewarded = answer.tokens.iter().filter(|token| (1..=REWARDED).contains(*token)).count();
    let score = rewarded as f64 / answer.tokens.len() as f64;
    Played {
        planned: Planned { number: 0, group, environment: 0, name: "a/b".into(), task: TaskChoice::default(), seed: 0 },
        environment: "a/b@1".to_owned(),
        ended: EpisodeEnd::Scored { score, strict: 0.0, passed: false },
        terminated: true,
        turns,
        trace: Some(sequence),
    }
}

/// The episodes of so many tasks in one round of one update.
fn play(learner: &Learner, parts: &Parts, tasks: usize, step: u64, round: u64) -> Vec<Played<Sequence>> {
    let rollouts = parts.rollouts_per_task() as usize;
    let mut sampler = Sampler::new(learner.model.policy().valid(), tasks * rollouts, 16, SEED + 100 * step + round);
    let prompts: Vec<Vec<u32>> =
        (0..tasks * rollouts).map(|place| prompt(step as usize * 16 + place / rollouts)).collect();
    let slots: Vec<_> = (0..prompts.len()).map(|key| sampler.open(key as u64).unwrap()).collect();
    let requests: Vec<SampleRequest<'_>> = prompts
        .iter()
        .zip(slots)
        .enumerate()
        .map(|(place, (tokens, slot))| SampleRequest {
            slot,
            tokens,
            max_tokens: LONGEST as usize + 1,
            // Every second task has one answer alone at first, so that its rewards are equal.
            temperature: if round == 0 && place / rollouts % 2 == 1 { 0.0 } else { 1.0 },
            top_p: 1.0,
            stops: &[END],
        })
        .collect();
    let answers = sampler.answer(&requests).unwrap();
    let episodes = prompts.iter().zip(&answers).enumerate();
    episodes.map(|(place, (prompt, answer))| played(place / rollouts, prompt, answer)).collect()
}

/// The episodes of one update, as the stage that plays takes them.
fn take(learner: &Learner, parts: &Parts, step: u64) -> Taken {
    let (rollouts, wanted) = (parts.rollouts_per_task() as usize, parts.tasks_per_step as usize);
    let mut taken = Taken::default();
    let rounds = if parts.resample_equal_groups { 4 } else { 1 };
    for round in 0..rounds {
        let missing = wanted - taken.played.len() / rollouts;
        if missing > 0 {
            let fresh = play(learner, parts, missing, step, round);
            taken.take(fresh, round + 1 == rounds, rollouts, parts, &Reward::default());
        }
    }
    taken
}

fn train(parts: &Parts, updates: u64) -> Training {
    let optimizer = Optimizer { lr: 0.02, ..Optimizer::default() };
    let model = match parts.estimator {
        AdvantageEstimator::Generalised { .. } => ActorCritic::with_values(model(SEED)),
        _ => ActorCritic::without_values(model(SEED)),
    };
    let mut learner = Learner { model, reference: None, optimizer: AdamW::new(&optimizer) };
    let (mut baselines, mut rewards, mut clipped) = (Baselines::default(), Vec::new(), Vec::new());
    for step in 0..updates {
        let Taken { played, episodes } = take(&learner, parts, step);
        let settings = UpdateSettings {
            parts,
            optimizer: &optimizer,
            rate: optimizer.lr,
            temperature: 1.0,
            stale: false,
            seed: SEED,
            step,
            go_on: &|| Ok(()),
        };
        let (rows, before) = match &parts.estimator {
            AdvantageEstimator::Compared(kind) => {
                (batch::rows(&played, &advantages(kind, parts.gamma, &episodes, &mut baselines)), None)
            }
            AdvantageEstimator::Generalised { lambda, .. } => {
                let (mut rows, trajectories) = critic::trajectories(&played, &episodes, &Reward::default());
                let before = learner.before(&rows, &settings).unwrap();
                let gae = GaeConfig { gamma: parts.gamma, lambda: *lambda };
                critic::assign_advantages(&mut rows, &trajectories, &before.values, gae);
                (rows, Some(before))
            }
            AdvantageEstimator::Supervised => panic!("examples are no episodes"),
        };
        let scores = played.iter().filter_map(|played| match played.ended {
            EpisodeEnd::Scored { score, .. } => Some(score),
            EpisodeEnd::Masked(_) => None,
        });
        rewards.push(scores.sum::<f64>() / played.len() as f64);
        clipped.push(learner.update(&rows, before, &settings).unwrap().clipped);
    }
    let tensors = learner.model.policy().tensors();
    let weights = tensors.iter().flat_map(|(_, tensor)| tensor.iter::<f64>().collect::<Vec<f64>>()).collect();
    Training { rewards, clipped, weights }
}

/// The largest difference of two weights.
fn difference(one: &Training, other: &Training) -> f64 {
    one.weights.iter().zip(&other.weights).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max)
}

/// A change of the parts of a preset, with a name.
type Change = (&'static str, fn(&mut Parts));

fn compare_as_grpo(parts: &mut Parts) {
    parts.estimator = AdvantageEstimator::Compared(Advantage::GroupNormalised { epsilon: 1e-6 });
    parts.extra_rollout = false;
}

fn aggregate_as_grpo(parts: &mut Parts) {
    parts.aggregation = Aggregation::SequenceMeanOfTokenMean;
}

/// Each part that sets a preset apart, taken away.
fn without_its_parts(name: AlgorithmName) -> Vec<Change> {
    let advantage: Change = ("advantage", compare_as_grpo);
    let aggregation: Change = ("aggregation", aggregate_as_grpo);
    match name {
        // Learns from examples: `supervised` tests it.
        AlgorithmName::Sft => Vec::new(),
        AlgorithmName::Ppo => vec![
            ("value function", |parts| {
                parts.estimator = AdvantageEstimator::Compared(Advantage::BatchWhitened { group_mean_first: false });
            }),
            ("trace decay", |parts| {
                if let AdvantageEstimator::Generalised { lambda, .. } = &mut parts.estimator {
                    *lambda = 1.0;
                }
            }),
        ],
        AlgorithmName::Grpo => vec![("division by the spread", |parts| {
            parts.estimator = AdvantageEstimator::Compared(Advantage::GroupCentred);
        })],
        AlgorithmName::DrGrpo | AlgorithmName::Rloo | AlgorithmName::ReinforcePp => vec![advantage, aggregation],
        AlgorithmName::Dapo => vec![
            aggregation,
            ("upper clip", |parts| parts.loss.clip.high = parts.loss.clip.low),
            ("other tasks for equal groups", |parts| parts.resample_equal_groups = false),
            ("mask of cut answers", |parts| parts.mask_truncated = false),
            ("overlong punishment", |parts| parts.overlong = None),
        ],
        AlgorithmName::Gspo => vec![("ratio of sequences", |parts| parts.loss.ratio = Ratio::Token)],
        AlgorithmName::McGrpo => vec![advantage],
        AlgorithmName::Gigpo => vec![("step advantage", |parts| {
            parts.estimator =
                AdvantageEstimator::Compared(Advantage::GroupInGroup { step_weight: 0.0, normalise: true });
        })],
        AlgorithmName::Stratified => vec![("strata", |parts| {
            parts.estimator = AdvantageEstimator::Compared(Advantage::Stratified { alpha: 0.0, epsilon: 1e-6 });
        })],
        AlgorithmName::RoleConditioned => vec![("moving baseline", |parts| {
            parts.estimator = AdvantageEstimator::Compared(Advantage::RoleBaseline { decay: 1.0 });
        })],
    }
}

#[test]
fn what_sets_a_preset_apart_changes_its_updates() {
    for name in AlgorithmName::ALL {
        let changes = without_its_parts(name);
        if changes.is_empty() {
            assert_eq!(name, AlgorithmName::Sft);
            continue;
        }
        let whole = train(&parts(name), UPDATES);
        for (part, take_away) in changes {
            let mut without = parts(name);
            take_away(&mut without);
            let difference = difference(&whole, &train(&without, UPDATES));
            assert!(difference > DIFFERENCE_MIN, "{name:?} without its {part} differs by {difference}");
        }
    }
}

#[test]
fn every_preset_that_plays_clips_by_default() {
    for name in AlgorithmName::ALL.into_iter().filter(|name| *name != AlgorithmName::Sft) {
        let parts = parts(name);
        let whole = train(&parts, UPDATES);
        assert!(whole.clipped.iter().any(|share| *share > 0.0), "{name:?} clips {:?}", whole.clipped);
        let mut free = parts.clone();
        free.loss.clip = Clip { low: 1.0, high: 1e9, dual: None };
        let difference = difference(&whole, &train(&free, UPDATES));
        assert!(difference > DIFFERENCE_MIN, "{name:?} without its clip differs by {difference}");
    }
}

#[test]
fn grpo_gspo_and_dapo_learn_along_three_curves() {
    let names = [AlgorithmName::Grpo, AlgorithmName::Gspo, AlgorithmName::Dapo];
    let curves = names.map(|name| (name, train(&parts(name), 6).rewards));
    for (place, (name, curve)) in curves.iter().enumerate() {
        for (other, compared) in &curves[..place] {
            let apart = curve.iter().zip(compared).filter(|(one, other)| (*one - *other).abs() > 1e-3).count();
            assert!(apart >= 3, "{name:?} {curve:?} and {other:?} {compared:?}");
        }
    }
}
