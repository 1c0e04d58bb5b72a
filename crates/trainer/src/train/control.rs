//! A small network over vectors that learns by proximal policy optimisation, with a value function beside it.

use std::collections::BTreeSet;
use std::time::Instant;

use burn::module::Module as _;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use palestra_client::stream::Options;
use palestra_protocol::id::PolicyId;
use palestra_protocol::session::{CreateSession, Created};
use palestra_protocol::spec::train::{Reward, RewardFrom, Train};
use rand::seq::SliceRandom as _;
use serde_json::{Map, Value};

use super::Context;
use super::batch;
use super::critic::explained;
use super::idle::Idle;
use super::journal::{Journal, PolicyFolder, Values};
use super::keep::{self, Saved};
use super::measure;
use super::update::{host, numbers, scalar};
use crate::algorithm::advantage::generalised::{End, Step, generalised, whitened};
use crate::algorithm::loss::{TokenBatch, value};
use crate::algorithm::preset::{AdvantageEstimator, Parts};
use crate::failure::TrainerError;
use crate::model::{Mlp, MlpConfig};
use crate::optimizer::{AdamW, Gradients, rate};
use crate::rollout::{
    EpisodeEnd, Plans, PlayLimits, Played, Player, Times, VectorActor, VectorTrace, read_vector, stream,
};

/// Width of the hidden layers where a job says nothing.
const HIDDEN: usize = 64;

/// Every turn of an update, behind each other.
#[derive(Default)]
struct Turns {
    vectors: Vec<f32>,
    actions: Vec<i64>,
    advantages: Vec<f32>,
    returns: Vec<f32>,
    /// Values and log-probabilities before the update.
    values: Vec<f32>,
    old: Vec<f32>,
}

/// Trains a small network by playing.
///
/// # Errors
/// As [`TrainerError`] says.
pub(super) fn train(
    spec: &Train,
    context: &Context,
    model: Option<Mlp>,
    parent: Option<PolicyId>,
) -> Result<Value, TrainerError> {
    let parts = Parts::of_vectors(&spec.algorithm, &spec.rollout)?;
    let plans = Plans::new(spec.environments.clone(), spec.seed);
    let mut model = match model {
        Some(model) => model,
        None => Mlp::init(shape(spec, context, &plans)?, spec.seed, &context.device.clone().autodiff())?,
    };
    let mut optimizer = AdamW::new(&spec.optimizer);
    let mut saved = keep::restore(context, &spec.optimizer, &mut model, &mut optimizer)?.unwrap_or_default();
    let mut journal = Journal::begin(spec, context, saved.step, saved.history.clone())?;
    let mut control = Control { spec, context, parts, plans, model, optimizer, idle: Idle::default() };
    let policy = |model: &Mlp, saved: &Saved| {
        let folder = keep::save_network(context, model, &saved.actions)?;
        let environments = saved.environments.iter().cloned().collect();
        Ok::<_, TrainerError>(PolicyFolder { folder, parent, architecture: "mlp", environments })
    };
    if saved.step == 0 && spec.evaluate.as_ref().is_some_and(|evaluate| evaluate.at_start) {
        journal.step(0, &control.measured()?)?;
    }
    for step in saved.step..spec.steps {
        let (played, mut values) = control.step(step)?;
        saved.environments.extend(versions(&played));
        if let Some(trace) = played.iter().find_map(|played| played.trace.as_ref()) {
            saved.actions.clone_from(&trace.actions);
        }
        let done = step + 1;
        if measure::is_due(spec, done) {
            values.extend(control.measured()?);
        }
        journal.step(done, &values)?;
        if journal.is_due(done) {
            saved = Saved { step: done, history: journal.history().clone(), ..saved };
            let folder = keep::save(context, &control.model, &control.optimizer, &saved)?;
            journal.keep(done, &folder, &policy(&control.model, &saved)?)?;
        }
    }
    journal.finish(&policy(&control.model, &saved)?, &context.files.folder)
}

fn versions(played: &[Played<VectorTrace>]) -> BTreeSet<String> {
    played.iter().map(|played| played.environment.clone()).filter(|name| !name.is_empty()).collect()
}

/// Numbers of observations and actions of the first environment.
fn shape(spec: &Train, context: &Context, plans: &Plans) -> Result<MlpConfig, TrainerError> {
    let first = plans.update(0, 0, 1, 1).remove(0);
    let request = CreateSession {
        environment: first.name,
        from: None,
        task: Some(first.task),
        seed: Some(first.seed),
        config: Map::new(),
        id: None,
        run: Some(context.run),
        group: None,
        count: None,
        limits: None,
        verify: None,
        observe: None,
        record: None,
        metadata: Value::Null,
    };
    let created = context.runtime.block_on(async {
        let created = context.client.create(&request, None).await?;
        if let Created::One(opened) = &created {
            context.client.close(opened.id).await?;
        }
        Ok::<_, palestra_client::ClientError>(created)
    })?;
    let Created::One(opened) = created else {
        return Err(TrainerError::Internal("one session was asked for".to_owned()));
    };
    let (vector, actions) = read_vector(&opened.observation)?;
    let hidden = spec.policy.size.and_then(|size| size.width).map_or(HIDDEN, |width| width as usize);
    Ok(MlpConfig { inputs: vector.len(), outputs: actions.len(), hidden })
}

/// A small network as it is trained.
struct Control<'a> {
    spec: &'a Train,
    context: &'a Context,
    parts: Parts,
    plans: Plans,
    model: Mlp,
    optimizer: AdamW,
    idle: Idle,
}

impl Control<'_> {
    fn measured(&self) -> Result<Values, TrainerError> {
        let mut actor = VectorActor::new(self.model.valid(), self.context.device.clone(), self.spec.seed, true);
        measure::held_out(self.spec, self.context, &self.plans, &mut actor)
    }

    /// Plays for an update and makes it; answers the episodes and the numbers.
    fn step(&mut self, step: u64) -> Result<(Vec<Played<VectorTrace>>, Values), TrainerError> {
        let began = Instant::now();
        let (played, times) = self.play(step)?;
        let playing = began.elapsed().as_secs_f64();
        let (turns, mut values) = self.learnt_from(&played)?;
        let max_turns = self.spec.rollout.max_turns;
        let all_cut = played.iter().all(|played| played.turns.len() >= max_turns as usize);
        let cut = all_cut.then(|| format!("played only episodes that rollout.max_turns ({max_turns}) cut: raise it"));
        let idle = if turns.actions.is_empty() { Some("taught nothing: no episode counts".to_owned()) } else { cut };
        if let Some(warning) = self.idle.note(idle) {
            self.context.reporter.log("warn", warning)?;
        }
        let learning_rate = rate(&self.spec.optimizer, step, self.spec.steps);
        if !turns.actions.is_empty() {
            values.extend(self.update(&turns, learning_rate, step)?);
        }
        let seconds = began.elapsed().as_secs_f64().max(1e-9);
        values.extend(measure::solve_rates("", &played, &self.plans));
        values.extend([
            ("learning_rate".to_owned(), learning_rate),
            ("environment_share".to_owned(), times.environment_seconds / seconds),
            ("turns_played_per_second".to_owned(), turns.actions.len() as f64 / playing.max(1e-9)),
        ]);
        Ok((played, values))
    }

    fn play(&self, step: u64) -> Result<(Vec<Played<VectorTrace>>, Times), TrainerError> {
        let Self { spec, context, parts, .. } = self;
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
        let planned = self.plans.update(step, 0, parts.tasks_per_step as usize, parts.rollouts_per_task() as usize);
        let mut actor = VectorActor::new(self.model.valid(), context.device.clone(), spec.seed, false);
        let played = player.play(&planned, &mut actor, &|done| {
            context.reporter.announce(format!("played {done} of {} episodes", planned.len()));
            context.reporter.go_on()
        })?;
        Ok((played, player.times))
    }

    /// Advantages and returns of every turn of the episodes that count, with the rewards of those.
    fn learnt_from(&self, played: &[Played<VectorTrace>]) -> Result<(Turns, Values), TrainerError> {
        let (lambda, ..) = generalised_parts(&self.parts)?;
        let (device, model) = (&self.context.device, self.model.valid());
        let (mut turns, mut advantages, mut rewards) = (Turns::default(), Vec::new(), Vec::new());
        let (mut masked, mut failed) = (0_usize, 0_usize);
        for one in played {
            let (Some(trace), Some(episode_reward)) = (&one.trace, batch::reward(one, 0, &self.spec.reward)) else {
                masked += 1;
                failed += usize::from(matches!(one.ended, EpisodeEnd::Masked(_)));
                continue;
            };
            let count = one.turns.len().min(trace.turns.len());
            let values = values_of(&model, trace, count, device)?;
            let steps = steps(one, &values, episode_reward, &self.spec.reward);
            let estimate = generalised(&steps, 0.0, self.parts.gamma, lambda);
            rewards.push(episode_reward);
            advantages.extend(estimate.advantages);
            turns.returns.extend(estimate.returns.iter().map(|value| *value as f32));
            turns.values.extend_from_slice(&values[..count]);
            for turn in &trace.turns[..count] {
                turns.vectors.extend_from_slice(&turn.vector);
                turns.actions.push(turn.action as i64);
            }
        }
        turns.old = old_log_probs(&model, &turns, device)?;
        let acts = vec![true; advantages.len()];
        turns.advantages = whitened(&advantages, &acts).into_iter().map(|value| value as f32).collect();
        let share = failed as f64 / played.len().max(1) as f64;
        if share > self.spec.rollout.masked_share_max {
            return Err(TrainerError::Environment(format!(
                "{failed} of {} episodes were no samples: more than rollout.masked_share_max allows",
                played.len()
            )));
        }
        let returns: Vec<f64> = turns.returns.iter().map(|value| f64::from(*value)).collect();
        let values = Values::from([
            ("reward_mean".to_owned(), rewards.iter().sum::<f64>() / rewards.len() as f64),
            ("masked_episodes".to_owned(), masked as f64),
            ("turns_mean".to_owned(), turns.actions.len() as f64 / rewards.len().max(1) as f64),
            ("explained_variance".to_owned(), explained(&advantages, &returns)),
        ]);
        Ok((turns, values))
    }

    /// Changes the weights, in as many passes and parts as the algorithm takes; answers the numbers of that.
    fn update(&mut self, turns: &Turns, rate: f64, step: u64) -> Result<Values, TrainerError> {
        let (mut values, mut changes) = (Values::new(), 0.0);
        let count = turns.actions.len();
        for epoch in 0..self.parts.epochs {
            let mut order: Vec<usize> = (0..count).collect();
            order.shuffle(&mut stream(self.spec.seed, "turns", &[step, u64::from(epoch)]));
            for part in order.chunks(count.div_ceil(self.parts.minibatches as usize).max(1)) {
                self.context.reporter.go_on()?;
                for (name, value) in self.change(turns, part, rate)? {
                    *values.entry(name.to_owned()).or_default() += value;
                }
                changes += 1.0;
            }
        }
        values.values_mut().for_each(|value| *value /= f64::max(changes, 1.0));
        Ok(values)
    }

    /// Changes the weights once, along some of the turns.
    fn change(&mut self, turns: &Turns, part: &[usize], rate: f64) -> Result<[(&'static str, f64); 6], TrainerError> {
        let (_, value_weight, value_clip) = generalised_parts(&self.parts)?;
        let device = device_of(&self.model)?;
        let inputs = self.model.config().inputs;
        let of = |column: &[f32]| numbers(&part.iter().map(|turn| column[*turn]).collect::<Vec<_>>(), &device);
        let seen: Vec<f32> =
            part.iter().flat_map(|turn| turns.vectors[turn * inputs..(turn + 1) * inputs].to_vec()).collect();
        let seen = Tensor::<2>::from_data(TensorData::new(seen, [part.len(), inputs]), &device);
        let acted: Vec<i64> = part.iter().map(|turn| turns.actions[*turn]).collect();
        let acted = Tensor::<2, Int>::from_data(TensorData::new(acted, [part.len(), 1]), &device);
        let logs = log_softmax(self.model.policy(seen.clone()), 1);
        let entropy = (logs.clone().exp() * logs.clone()).sum_dim(1).squeeze_dim::<1>(1).neg();
        let sequence_of: Vec<usize> = (0..part.len()).collect();
        let parts = self.parts.loss.loss(TokenBatch {
            new: logs.gather(1, acted).squeeze_dim::<1>(1),
            old: of(&turns.old),
            reference: None,
            advantages: of(&turns.advantages),
            entropies: Some(entropy.clone()),
            importance: None,
            sequence_of: &sequence_of,
        })?;
        let values = self.model.value(seen);
        let value_loss = value::loss(values, of(&turns.values), of(&turns.returns), value_clip).mean();
        let loss = parts.per_token.mean() + value_loss.clone() * value_weight;
        let mut shown = [
            ("loss", scalar(loss.clone())?),
            ("value_loss", scalar(value_loss)?),
            ("entropy", scalar(entropy.mean())?),
            ("clip_fraction", scalar(parts.clipped.mean())?),
            ("kl", scalar(parts.approx_kl.mean())?),
            ("grad_norm", 0.0),
        ];
        let mut gradients = Gradients::new();
        gradients.add(&self.model, loss.backward());
        shown[5].1 = gradients.clip(self.spec.optimizer.grad_norm_max)?;
        self.model = self.optimizer.step(self.model.clone(), &gradients, rate)?;
        Ok(shown)
    }
}

/// Trace decay, weight of the value loss, and how far a value moves in one update.
fn generalised_parts(parts: &Parts) -> Result<(f64, f64, f64), TrainerError> {
    match parts.estimator {
        AdvantageEstimator::Generalised { lambda, value_weight, value_clip } => Ok((lambda, value_weight, value_clip)),
        _ => Err(TrainerError::Internal("this algorithm has no value function".to_owned())),
    }
}

/// Values of what was seen before each of `count` turns, and of what was seen last, which is what an episode would have gone on to
/// earn, where it does.
fn values_of(model: &Mlp, trace: &VectorTrace, count: usize, device: &Device) -> Result<Vec<f32>, TrainerError> {
    let mut seen: Vec<f32> = trace.turns[..count].iter().flat_map(|turn| turn.vector.clone()).collect();
    seen.extend_from_slice(&trace.last);
    let shown = TensorData::new(seen, [count + 1, model.config().inputs]);
    host(model.value(Tensor::<2>::from_data(shown, device)))
}

/// The turns of an episode with their values, followed by the value of its last state.
fn steps(played: &Played<VectorTrace>, values: &[f32], episode_reward: f64, spec: &Reward) -> Vec<Step> {
    let count = values.len().saturating_sub(1);
    let bootstrapped = batch::is_bootstrapped(played.terminated, spec);
    let step = |position: usize| {
        let last = position + 1 == count;
        let end = match (last, bootstrapped) {
            (false, _) => End::Continues,
            (true, false) => End::Terminated,
            (true, true) => End::Truncated { value_after: f64::from(values[count]) },
        };
        let reward = turn_reward(played, position, last, episode_reward, spec);
        Step { reward, value: f64::from(values[position]), acts: true, end }
    };
    (0..count).map(step).collect()
}

/// Log-probabilities of the actions, from the same pass forwards that training makes.
fn old_log_probs(model: &Mlp, turns: &Turns, device: &Device) -> Result<Vec<f32>, TrainerError> {
    let count = turns.actions.len();
    if count == 0 {
        return Ok(Vec::new());
    }
    let seen = TensorData::new(turns.vectors.clone(), [count, model.config().inputs]);
    let acted = Tensor::<2, Int>::from_data(TensorData::new(turns.actions.clone(), [count, 1]), device);
    host(log_softmax(model.policy(Tensor::from_data(seen, device)), 1).gather(1, acted))
}

/// The steps' rewards where the reward is their sum, with what the episode counts beside that at the end; else all of it at the end.
fn turn_reward(played: &Played<VectorTrace>, position: usize, last: bool, episode_reward: f64, spec: &Reward) -> f64 {
    match spec.from {
        RewardFrom::Return if last => {
            let raw: f64 = played.turns.iter().map(|turn| turn.reward).sum();
            played.turns[position].reward + (episode_reward - raw)
        }
        RewardFrom::Return => played.turns[position].reward,
        RewardFrom::Score | RewardFrom::Strict if last => episode_reward,
        RewardFrom::Score | RewardFrom::Strict => 0.0,
    }
}

/// Where a model's weights are, with autodiff.
fn device_of(model: &Mlp) -> Result<Device, TrainerError> {
    model.devices().into_iter().next().ok_or_else(|| TrainerError::Internal("a model without weights".to_owned()))
}

#[cfg(test)]
mod tests {
    use palestra_protocol::session::TaskChoice;
    use palestra_protocol::spec::train::Truncated;

    use super::*;
    use crate::rollout::{Planned, Turn, VectorTurn};

    /// Two turns that were cut by a limit.
    fn cut() -> Played<VectorTrace> {
        let turn = |reward| Turn { reward, state: None, tool_calls: 0, answer_cut: false };
        let seen = VectorTurn { vector: vec![0.0], action: 0, log_prob: -0.5 };
        let planned = Planned {
            number: 1,
            group: 0,
            environment: 0,
            name: "a/b".to_owned(),
            task: TaskChoice::default(),
            seed: 0,
        };
        Played {
            planned,
            environment: "a/b@1".to_owned(),
            ended: EpisodeEnd::Scored { score: 0.5, strict: 0.0, passed: false },
            terminated: false,
            turns: vec![turn(1.0), turn(2.0)],
            trace: Some(VectorTrace { turns: vec![seen.clone(), seen], last: vec![0.0], actions: Vec::new() }),
        }
    }

    /// The rewards of its steps and how the last one ends, where the value of its last state is 4.
    fn seen(from: RewardFrom, truncated: Truncated) -> (Vec<f64>, End) {
        let (played, spec) = (cut(), Reward { from, truncated, ..Reward::default() });
        let episode_reward = batch::reward(&played, 0, &spec).unwrap();
        let steps = steps(&played, &[0.0, 0.0, 4.0], episode_reward, &spec);
        (steps.iter().map(|step| step.reward).collect(), steps[1].end)
    }

    #[test]
    fn a_cut_is_bootstrapped_where_steps_are_rewarded() {
        assert_eq!(seen(RewardFrom::Return, Truncated::Score), (vec![1.0, 2.0], End::Truncated { value_after: 4.0 }));
        assert_eq!(seen(RewardFrom::Score, Truncated::Score), (vec![0.0, 0.5], End::Terminated));
    }

    #[test]
    fn a_cut_that_counts_nothing_earns_nothing_in_all() {
        assert_eq!(seen(RewardFrom::Return, Truncated::Zero), (vec![1.0, -1.0], End::Terminated));
        assert_eq!(seen(RewardFrom::Score, Truncated::Zero), (vec![0.0, 0.0], End::Terminated));
    }
}
