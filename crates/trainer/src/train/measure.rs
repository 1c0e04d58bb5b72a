//! Measuring on held-out tasks while a policy is trained.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_client::stream::Options;
use palestra_protocol::spec::play::EnvironmentMix;
use palestra_protocol::spec::train::{ToolFormat, Train};

use super::Context;
use super::journal::Values;
use crate::chat::ChatFormat;
use crate::failure::TrainerError;
use crate::model::Transformer;
use crate::rollout::{Actor, EpisodeEnd, LanguageActor, Plans, PlayLimits, Played, Player, SamplingSettings, Times};
use crate::sampling::Sampler;

/// Measures a language model.
pub(super) struct Measure<'a> {
    /// The job.
    pub(super) spec: &'a Train,
    /// Context of the training.
    pub(super) context: &'a Context,
    /// Conversation format of the model.
    pub(super) chat: &'a Arc<ChatFormat>,
    /// Form of actions in its text.
    pub(super) tool_format: ToolFormat,
}

/// True if a measurement is due after `done` updates.
#[must_use]
pub(super) fn is_due(spec: &Train, done: u64) -> bool {
    spec.evaluate.as_ref().is_some_and(|evaluate| done.is_multiple_of(evaluate.every) || done == spec.steps)
}

impl Measure<'_> {
    /// Plays the held-out tasks; nothing where the job asks for none. The values are named `evaluate/..`.
    ///
    /// # Errors
    /// As playing.
    pub(super) fn measure(&self, model: &Transformer, plans: &Plans) -> Result<Values, TrainerError> {
        let Some(evaluate) = &self.spec.evaluate else { return Ok(Values::new()) };
        let answering = SamplingSettings {
            max_tokens: (evaluate.sampling.max_tokens.min(self.spec.rollout.max_tokens)) as usize,
            temperature: evaluate.sampling.temperature,
            top_p: evaluate.sampling.top_p,
            tool_format: self.tool_format,
        };
        let episodes = evaluate.episodes as usize * plans.mix().len();
        let slots = (self.spec.rollout.concurrent_sessions as usize).min(episodes);
        let capacity = self.spec.rollout.max_context_tokens as usize;
        let sampler = Sampler::new(model.clone(), slots, capacity, self.spec.seed);
        let mut actor = LanguageActor::new(sampler, self.chat.clone(), answering);
        held_out(self.spec, self.context, plans, &mut actor)
    }
}

/// Plays the held-out tasks of a job with an actor.
///
/// # Errors
/// As playing.
pub(super) fn held_out<A: Actor>(
    spec: &Train,
    context: &Context,
    plans: &Plans,
    actor: &mut A,
) -> Result<Values, TrainerError> {
    let Some(evaluate) = &spec.evaluate else { return Ok(Values::new()) };
    let lengths = lengths(context, plans, &evaluate.split)?;
    let planned = plans.held_out(&evaluate.split, evaluate.episodes, &lengths);
    let mut player = Player {
        stream: context.runtime.block_on(context.client.stream(Options::default()))?,
        run: context.run,
        runtime: context.runtime.clone(),
        limits: PlayLimits {
            concurrent_sessions: spec.rollout.concurrent_sessions as usize,
            max_turns: spec.rollout.max_turns,
            state_hashes: false,
        },
        times: Times::default(),
    };
    let played = player.play(&planned, actor, &|done| {
        context.reporter.announce(format!("measured {done} of {} episodes", planned.len()));
        context.reporter.go_on()
    })?;
    let scores: Vec<f64> = played
        .iter()
        .filter_map(|played| match played.ended {
            EpisodeEnd::Scored { score, .. } => Some(score),
            EpisodeEnd::Masked(_) => None,
        })
        .collect();
    let mut values = solve_rates("evaluate/", &played, plans);
    values.insert("evaluate/score".to_owned(), scores.iter().sum::<f64>() / scores.len() as f64);
    values.insert("evaluate/unscored".to_owned(), (played.len() - scores.len()) as f64);
    Ok(values)
}

/// Number of tasks in a split of every environment.
fn lengths(context: &Context, plans: &Plans, split: &str) -> Result<Vec<u64>, TrainerError> {
    let length = |mix: &EnvironmentMix| {
        let environment = context.runtime.block_on(context.client.environment(&mix.name))?;
        environment.splits.get(split).copied().filter(|tasks| *tasks > 0).ok_or_else(|| {
            let splits: Vec<&str> = environment.splits.keys().map(String::as_str).collect();
            TrainerError::BadSpec(format!(
                "evaluate.split: {} has no tasks in split {split:?}: choose one of {}",
                mix.name,
                splits.join(", ")
            ))
        })
    };
    plans.mix().iter().map(length).collect()
}

/// Share of the judged episodes that were solved, in all and, where several are played, per environment.
#[must_use]
pub(super) fn solve_rates<T>(prefix: &str, played: &[Played<T>], plans: &Plans) -> Values {
    let mut counts: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for one in played {
        if let EpisodeEnd::Scored { passed, .. } = one.ended {
            let (solved, judged) = counts.entry(one.planned.environment).or_default();
            *solved += f64::from(u8::from(passed));
            *judged += 1.0;
        }
    }
    let (solved, judged) =
        counts.values().fold((0.0, 0.0), |(solved, judged), count| (solved + count.0, judged + count.1));
    let mut values = Values::from([(format!("{prefix}solve_rate"), solved / judged)]);
    if plans.mix().len() > 1 {
        for (environment, (solved, judged)) in counts {
            let name = &plans.mix()[environment].name;
            values.insert(format!("{prefix}solve_rate/{name}"), solved / judged);
        }
    }
    values
}
