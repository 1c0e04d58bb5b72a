//! Updates learn what is rewarded, and the same updates with the wrong sign do not; what a checkpoint holds goes on the same.

use std::ops::Range;

use burn::module::Module as _;
use burn::tensor::Device;
use palestra_protocol::session::TaskChoice;
use palestra_protocol::spec::train::{Advantage, ModelSize, Optimizer, Reward, Rollout};
use serde_json::{Value, json};

use super::batch::{self, Row, Target};
use super::critic::{self, GaeConfig};
use super::keep::{self, Saved};
use super::update::{Learner, UpdateSettings};
use crate::algorithm::advantage::{Baselines, Episode, Turn, advantages};
use crate::algorithm::preset::{AdvantageEstimator, Parts};
use crate::checkpoint::Checkpoints;
use crate::data::Sequence;
use crate::failure::TrainerError;
use crate::model::{ActorCritic, Named as _, Transformer, TransformerConfig, load_folder, save_folder};
use crate::optimizer::AdamW;
use crate::rollout::{EpisodeEnd, Planned, Played, Turn as PlayedTurn};
use crate::sampling::{Answer, SampleRequest, Sampler};

/// Tokens of the little language.
pub(super) const TOKENS: usize = 12;
/// Prompts of an update.
const TASKS: usize = 16;
/// Answers to each.
const ROLLOUTS: usize = 8;
/// Updates.
const UPDATES: u64 = 30;
/// Shares no divisor with the number of words.
const STRIDE: usize = 7_919;
/// Rewarded token.
const WANTED: u32 = 7;

/// A word that no other task has: held-out tasks begin where training ends. Neighbours are strewn over all words.
pub(super) fn prompt(task: usize) -> Vec<u32> {
    let task = task * STRIDE % TOKENS.pow(4);
    (0..4).map(|position| ((task / TOKENS.pow(position)) % TOKENS) as u32).collect()
}

/// A model of the little language.
pub(super) fn model(seed: u64) -> Transformer {
    let size = ModelSize { layers: Some(1), width: Some(32), heads: Some(2) };
    let config = TransformerConfig::tiny(TOKENS, Some(size), 16);
    Transformer::init(&config, seed, &Device::flex().autodiff()).unwrap()
}

fn plan() -> Optimizer {
    Optimizer { lr: 0.01, ..Optimizer::default() }
}

/// Slower, since `ppo` changes weights several times in an update, and divides by the spread of advantages however small it became.
fn plan_of_ppo() -> Optimizer {
    Optimizer { lr: 0.003, ..Optimizer::default() }
}

fn parts(algorithm: Value) -> Parts {
    Parts::new(&serde_json::from_value(algorithm).unwrap(), &Rollout::default()).unwrap()
}

fn settings<'a>(parts: &'a Parts, plan: &'a Optimizer, step: u64) -> UpdateSettings<'a> {
    UpdateSettings {
        parts,
        optimizer: plan,
        rate: plan.lr,
        temperature: 1.0,
        stale: false,
        seed: 1,
        step,
        go_on: &|| Ok(()),
    }
}

/// Answers of so many tokens to these tasks, in order, each with its prompt.
fn sample(
    model: &Transformer,
    tasks: Range<usize>,
    rollouts: usize,
    length: usize,
    seed: u64,
) -> Vec<(Vec<u32>, Answer)> {
    let mut sampler = Sampler::new(model.valid(), tasks.len() * rollouts, 8, seed);
    let prompts: Vec<Vec<u32>> = tasks.flat_map(|task| vec![prompt(task); rollouts]).collect();
    let slots: Vec<_> = (0..prompts.len()).map(|key| sampler.open(key as u64).unwrap()).collect();
    let requests: Vec<SampleRequest<'_>> = prompts
        .iter()
        .zip(slots)
        .map(|(tokens, slot)| SampleRequest {
            slot,
            tokens,
            max_tokens: length,
            temperature: 1.0,
            top_p: 1.0,
            stops: &[],
        })
        .collect();
    let answers = sampler.answer(&requests).unwrap();
    prompts.into_iter().zip(answers).collect()
}

/// Reward of an answer: its first token counts.
fn reward(answer: &Answer) -> f64 {
    f64::from(u8::from(answer.tokens[0] == WANTED))
}

/// Share of held-out tasks that are solved.
fn solved(model: &Transformer) -> f64 {
    let answers = sample(model, 10_000..10_200, 1, 1, 99);
    answers.iter().map(|(_, answer)| reward(answer)).sum::<f64>() / answers.len() as f64
}

/// Solve rates on held-out tasks before and after training with advantages times `sign`.
fn train(name: &str, sign: f64) -> (f64, f64) {
    let (plan, parts) = (plan(), parts(json!({"name": name})));
    let AdvantageEstimator::Compared(kind) = &parts.estimator else { panic!("{name} compares nothing") };
    let model = ActorCritic::without_values(model(1));
    let mut learner = Learner { model, reference: None, optimizer: AdamW::new(&plan) };
    let before = solved(learner.model.policy());
    for step in 0..UPDATES {
        let first = step as usize * TASKS;
        let rollouts = parts.rollouts_per_task().min(ROLLOUTS as u32 + 1) as usize;
        let answers = sample(learner.model.policy(), first..first + TASKS, rollouts, 1, step);
        let rows = rows(kind, &answers, rollouts, sign);
        if !rows.is_empty() {
            learner.update(&rows, None, &settings(&parts, &plan, step)).unwrap();
        }
    }
    (before, solved(learner.model.policy()))
}

fn rows(kind: &Advantage, answers: &[(Vec<u32>, Answer)], rollouts: usize, sign: f64) -> Vec<Row> {
    let episodes: Vec<Episode> = answers
        .iter()
        .enumerate()
        .map(|(position, (_, answer))| Episode {
            group: position / rollouts,
            reward: reward(answer),
            counts: true,
            turns: vec![Turn { tokens: 1, reward: reward(answer), state: None }],
            tool_calls: 0,
            game: String::new(),
            role: String::new(),
            terminated: true,
        })
        .collect();
    let estimated = advantages(kind, 1.0, &episodes, &mut Baselines::default());
    let kept = answers.iter().zip(estimated.turns).zip(estimated.kept).filter(|(_, kept)| *kept);
    kept.map(|(((prompt, answer), turns), _)| {
        let (advantage, behaviour) = (sign * turns[0], answer.log_probs[0]);
        let target = Target { position: prompt.len(), advantage, behaviour, value: None };
        let tokens = prompt.iter().chain(&answer.tokens).copied().collect();
        Row { tokens, actions: vec![target], observations: Vec::new() }
    })
    .collect()
}

/// `ppo` in few passes, so that tests are short.
fn ppo() -> Parts {
    parts(json!({"name": "ppo", "epochs": 2, "minibatches": 2}))
}

fn with_values(seed: u64) -> Learner {
    Learner { model: ActorCritic::with_values(model(seed)), reference: None, optimizer: AdamW::new(&plan_of_ppo()) }
}

/// An answer as a played episode of one turn.
fn played(prompt: &[u32], answer: &Answer) -> Played<Sequence> {
    let mut sequence = Sequence::begin(prompt);
    sequence.answer(&answer.tokens, &answer.log_probs, 0);
    let planned =
        Planned { number: 0, group: 0, environment: 0, name: "a/b".to_owned(), task: TaskChoice::default(), seed: 0 };
    Played {
        planned,
        environment: "a/b@1".to_owned(),
        ended: EpisodeEnd::Scored { score: reward(answer), strict: reward(answer), passed: reward(answer) == 1.0 },
        terminated: true,
        turns: vec![PlayedTurn { reward: 0.0, state: None, tool_calls: 0, answer_cut: false }],
        trace: Some(sequence),
    }
}

/// Updates with a value function over answers of two tokens, of which the first decides and the last is rewarded, times `sign`.
fn update_with_values(learner: &mut Learner, updates: Range<u64>, sign: f64) {
    let (plan, parts) = (plan_of_ppo(), ppo());
    let AdvantageEstimator::Generalised { lambda, .. } = parts.estimator else { panic!("ppo has a value function") };
    for step in updates {
        let first = step as usize * TASKS;
        let answers = sample(learner.model.policy(), first..first + TASKS, ROLLOUTS, 2, step);
        let episodes: Vec<Played<Sequence>> = answers.iter().map(|(prompt, answer)| played(prompt, answer)).collect();
        let rewarded = answers
            .iter()
            .zip(&episodes)
            .map(|((_, answer), episode)| batch::episode(episode, Some(sign * reward(answer)), &Reward::default()));
        let (mut rows, trajectories) =
            critic::trajectories(&episodes, &rewarded.collect::<Vec<_>>(), &Reward::default());
        let settings = settings(&parts, &plan, step);
        let evaluation = learner.before(&rows, &settings).unwrap();
        critic::assign_advantages(
            &mut rows,
            &trajectories,
            &evaluation.values,
            GaeConfig { gamma: parts.gamma, lambda },
        );
        let metrics = learner.update(&rows, Some(evaluation), &settings).unwrap();
        assert!(metrics.value_loss.is_finite() && metrics.value_loss >= 0.0, "{metrics:?}");
    }
}

#[test]
fn every_comparing_algorithm_learns_what_is_rewarded() {
    for name in ["grpo", "dr_grpo", "rloo", "reinforce_pp", "dapo", "gspo", "mc_grpo", "stratified"] {
        let (before, after) = train(name, 1.0);
        assert!(before < 0.2, "{name} begins with {before}");
        assert!(after > 0.8, "{name} goes from {before} to {after}");
    }
}

#[test]
fn with_the_wrong_sign_nothing_is_learnt() {
    let (before, after) = train("grpo", -1.0);
    assert!(before < 0.2 && after < 0.2, "from {before} to {after}");
}

#[test]
fn the_same_seed_learns_the_same_to_the_last_bit() {
    assert_eq!(train("grpo", 1.0), train("grpo", 1.0));
}

#[test]
fn a_value_function_carries_a_reward_back_to_the_token_that_earned_it() {
    let mut learner = with_values(1);
    let before = solved(learner.model.policy());
    update_with_values(&mut learner, 0..UPDATES, 1.0);
    let after = solved(learner.model.policy());
    assert!(before < 0.2 && after > 0.8, "from {before} to {after}");
}

#[test]
fn with_a_value_function_and_the_wrong_sign_nothing_is_learnt() {
    let mut learner = with_values(1);
    update_with_values(&mut learner, 0..UPDATES, -1.0);
    let after = solved(learner.model.policy());
    assert!(after < 0.2, "{after}");
}

#[test]
fn a_checkpoint_holds_the_value_function_and_goes_on_to_the_last_bit() {
    let mut alone = with_values(1);
    update_with_values(&mut alone, 0..3, 1.0);
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::open(folder.path()).unwrap();
    let mut first = with_values(1);
    update_with_values(&mut first, 0..2, 1.0);
    let saved = Saved { step: 2, ..Saved::default() };
    let kept = keep::write(&checkpoints, &first.model, &first.optimizer, &saved).unwrap();
    let mut second = with_values(2);
    let device = Device::flex();
    let found = keep::read(&kept, &plan(), &mut second.model, &mut second.optimizer, &device).unwrap();
    assert_eq!(found, saved);
    assert_eq!(second.model.tensors(), first.model.tensors());
    update_with_values(&mut second, 2..3, 1.0);
    assert_eq!(second.model.tensors(), alone.model.tensors());
    let tensors = alone.model.tensors();
    let (_, head) = tensors.iter().find(|(name, _)| name == "value.weight").unwrap();
    assert!(head.iter::<f64>().any(|weight| weight != 0.0), "the head has learnt nothing");
}

#[test]
fn a_policy_is_saved_without_its_value_function() {
    let mut learner = with_values(1);
    update_with_values(&mut learner, 0..1, 1.0);
    let folder = tempfile::tempdir().unwrap();
    save_folder(learner.model.policy(), folder.path()).unwrap();
    let (read, _) = load_folder(folder.path(), &Device::flex()).unwrap();
    assert_eq!(read.tensors(), learner.model.policy().tensors());
}

#[test]
fn a_cancelled_update_is_not_made() {
    let (plan, parts) = (plan(), parts(json!({"name": "grpo"})));
    let AdvantageEstimator::Compared(kind) = &parts.estimator else { panic!("grpo compares") };
    let mut learner =
        Learner { model: ActorCritic::without_values(model(1)), reference: None, optimizer: AdamW::new(&plan) };
    let rollouts = parts.rollouts_per_task() as usize;
    let rows = rows(kind, &sample(learner.model.policy(), 0..TASKS, rollouts, 1, 0), rollouts, 1.0);
    let settings = UpdateSettings { go_on: &|| Err(TrainerError::Cancelled), ..settings(&parts, &plan, 0) };
    assert_eq!(learner.update(&rows, None, &settings).unwrap_err().code(), "cancelled");
}
