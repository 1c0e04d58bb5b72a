//! Updates learn what is rewarded, and the same updates with the wrong sign do not.

use burn::module::Module as _;
use burn::tensor::Device;
use palestra_protocol::spec::train::{Advantage, ModelSize, Optimizer};
use serde_json::json;

use super::batch::{Row, Target};
use super::update::{Learner, Lesson};
use crate::algorithm::advantage::{Baselines, Episode, Turn, advantages};
use crate::algorithm::preset::{Judging, Parts};
use crate::model::{Transformer, TransformerConfig};
use crate::optimizer::AdamW;
use crate::sampling::{Ask, Sampler};

/// Tokens of the little language.
const TOKENS: usize = 12;
/// Prompts of an update.
const TASKS: usize = 16;
/// Answers to each.
const ROLLOUTS: usize = 8;
/// Updates.
const UPDATES: u64 = 30;
/// What is rewarded.
const WANTED: u32 = 7;

/// A word that no other task has: held-out tasks begin where training ends.
fn prompt(task: usize) -> Vec<u32> {
    (0..4).map(|place| ((task / TOKENS.pow(place)) % TOKENS) as u32).collect()
}

/// Answers to these tasks, in order.
fn sample(model: &Transformer, tasks: std::ops::Range<usize>, rollouts: usize, seed: u64) -> Vec<(Vec<u32>, u32, f32)> {
    let mut sampler = Sampler::new(model.valid(), tasks.len() * rollouts, 8, seed);
    let prompts: Vec<Vec<u32>> = tasks.flat_map(|task| vec![prompt(task); rollouts]).collect();
    let slots: Vec<_> = (0..prompts.len()).map(|key| sampler.open(key as u64).unwrap()).collect();
    let asks: Vec<Ask<'_>> = prompts
        .iter()
        .zip(slots)
        .map(|(tokens, slot)| Ask { slot, tokens, max_tokens: 1, temperature: 1.0, top_p: 1.0, stops: &[] })
        .collect();
    let answers = sampler.answer(&asks).unwrap();
    prompts.into_iter().zip(answers).map(|(prompt, answer)| (prompt, answer.tokens[0], answer.log_probs[0])).collect()
}

/// Share of held-out tasks that are solved.
fn solved(model: &Transformer) -> f64 {
    let answers = sample(model, 10_000..10_200, 1, 99);
    answers.iter().filter(|(_, answer, _)| *answer == WANTED).count() as f64 / answers.len() as f64
}

/// Solve rates on held-out tasks before and after training with advantages times `sign`.
fn train(name: &str, sign: f64) -> (f64, f64) {
    let device = Device::flex().autodiff();
    let size = ModelSize { layers: Some(1), width: Some(32), heads: Some(2) };
    let model = Transformer::init(&TransformerConfig::tiny(TOKENS, Some(size), 16), 1, &device).unwrap();
    let plan = Optimizer { lr: 0.01, ..Optimizer::default() };
    let algorithm = serde_json::from_value(json!({"name": name})).unwrap();
    let parts = Parts::new(&algorithm, &palestra_protocol::spec::train::Rollout::default()).unwrap();
    let Judging::Compared(kind) = parts.judging.clone() else { panic!("{name} compares nothing") };
    let mut learner = Learner { model, reference: None, optimizer: AdamW::new(&plan) };
    let before = solved(&learner.model);
    for step in 0..UPDATES {
        let first = step as usize * TASKS;
        let rollouts = parts.rollouts_per_task().min(ROLLOUTS as u32 + 1) as usize;
        let answers = sample(&learner.model, first..first + TASKS, rollouts, step);
        let rows = rows(&kind, &answers, rollouts, sign);
        let lesson = Lesson { parts: &parts, plan: &plan, temperature: 1.0, stale: false, seed: 1 };
        if !rows.is_empty() {
            learner.update(&rows, &lesson, plan.lr, step).unwrap();
        }
    }
    (before, solved(&learner.model))
}

fn rows(kind: &Advantage, answers: &[(Vec<u32>, u32, f32)], rollouts: usize, sign: f64) -> Vec<Row> {
    let episodes: Vec<Episode> = answers
        .iter()
        .enumerate()
        .map(|(place, (_, answer, _))| {
            let reward = f64::from(u8::from(*answer == WANTED));
            Episode {
                group: place / rollouts,
                reward,
                counts: true,
                turns: vec![Turn { tokens: 1, reward, state: None }],
                tool_calls: 0,
                game: String::new(),
                role: String::new(),
                terminated: true,
            }
        })
        .collect();
    let judged = advantages(kind, 1.0, &episodes, &mut Baselines::default());
    let kept = answers.iter().zip(judged.turns).zip(judged.kept).filter(|(_, kept)| *kept);
    kept.map(|(((prompt, answer, behaviour), turns), _)| {
        let target = Target { place: prompt.len(), advantage: sign * turns[0], behaviour: *behaviour };
        let tokens = prompt.iter().copied().chain([*answer]).collect();
        Row { tokens, actions: vec![target], observations: Vec::new() }
    })
    .collect()
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
