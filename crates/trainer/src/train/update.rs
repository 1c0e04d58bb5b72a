//! One update of a language model: passes forwards and backwards over rows of tokens, and changes of weights.

use burn::module::Module as _;
use burn::tensor::{Device, Int, Tensor, TensorData};
use palestra_protocol::spec::train::{Auxiliary, Optimizer};
use rand::seq::SliceRandom as _;

use super::batch::Row;
use crate::algorithm::auxiliary::echo;
use crate::algorithm::loss::{TokenBatch, value};
use crate::algorithm::preset::{AdvantageEstimator, Parts};
use crate::algorithm::{aggregation, importance};
use crate::data::Packed;
use crate::failure::TrainerError;
use crate::model::{ActorCritic, Predictions, Scores};
use crate::optimizer::AdamW;
use crate::passes::Passes;
use crate::rollout::stream;

/// Models and optimizers that updates change.
pub(super) struct Learner {
    /// With autodiff.
    pub(super) model: ActorCritic,
    /// The frozen model that the job started from, without autodiff; where the policy is kept near it.
    pub(super) reference: Option<ActorCritic>,
    /// Its running means.
    pub(super) optimizer: AdamW,
}

/// Settings of one update.
pub(super) struct UpdateSettings<'a> {
    /// The algorithm.
    pub(super) parts: &'a Parts,
    /// Settings of the optimizer.
    pub(super) optimizer: &'a Optimizer,
    /// The learning rate.
    pub(super) rate: f64,
    /// Divides the logits, as when the tokens were sampled.
    pub(super) temperature: f64,
    /// True if rows were sampled by older weights, which is then made up for.
    pub(super) stale: bool,
    /// Everything random derives from it.
    pub(super) seed: u64,
    /// The number of the update.
    pub(super) step: u64,
    /// Asked before each pass: fails once the work has to stop, in the midst of an update too.
    pub(super) go_on: &'a (dyn Fn() -> Result<(), TrainerError> + Sync),
}

/// Metrics of an update: means over the tokens that were learnt from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct UpdateMetrics {
    /// The loss.
    pub(super) loss: f64,
    /// The loss of the value function, without its weight; 0 where there is none.
    pub(super) value_loss: f64,
    /// Entropy of the policy, in nats.
    pub(super) entropy: f64,
    /// Divergence from the reference, or from the weights before the update where there is none.
    pub(super) kl: f64,
    /// Share of tokens whose ratio met a bound.
    pub(super) clipped: f64,
    /// Norm of the gradient over all tensors, before it was bounded; the mean over changes of weights.
    pub(super) grad_norm: f64,
    /// Tokens that went through the model, padding left out.
    pub(super) tokens: u64,
}

impl UpdateMetrics {
    fn add(&mut self, other: &Self) {
        let Self { loss, value_loss, entropy, kl, clipped, grad_norm, tokens } = other;
        self.loss += loss;
        self.value_loss += value_loss;
        self.entropy += entropy;
        self.kl += kl;
        self.clipped += clipped;
        self.grad_norm += grad_norm;
        self.tokens += tokens;
    }

    /// Multiplies everything but the tokens.
    fn scale(&mut self, scale: f64) {
        let Self { loss, value_loss, entropy, kl, clipped, grad_norm, tokens: _ } = self;
        for sum in [loss, value_loss, entropy, kl, clipped, grad_norm] {
            *sum *= scale;
        }
    }
}

/// Log-probabilities of every learnt token of every row.
type LogProbs = Vec<Vec<f32>>;

/// Log-probabilities and values of rows before an update.
pub(super) struct Evaluation {
    /// Log-probabilities of every learnt token.
    log_probs: LogProbs,
    /// Of each row, the values of the states before its learnt tokens, and behind them that of its last state; empty without a value
    /// function.
    pub(super) values: Vec<Vec<f32>>,
}

/// Constants of an update.
struct Update<'a> {
    rows: &'a [Row],
    settings: &'a UpdateSettings<'a>,
    old: Option<LogProbs>,
    reference: Option<LogProbs>,
}

/// Rows of one optimizer step.
struct Minibatch<'a> {
    update: &'a Update<'a>,
    /// The rows.
    row_indices: &'a [usize],
    /// For each of them, the weight of its tokens in the loss.
    weights: Vec<f64>,
    /// Number of tokens that are learnt from.
    learnt: usize,
    /// Weight of the cross-entropy on each observed token.
    observed: f64,
}

impl Learner {
    /// Log-probabilities and values of rows by the current model.
    ///
    /// # Errors
    /// When the device fails.
    pub(super) fn before(&self, rows: &[Row], settings: &UpdateSettings<'_>) -> Result<Evaluation, TrainerError> {
        evaluate(&self.model.valid(), rows, settings)
    }

    /// Learns from rows, in as many passes and parts as the algorithm takes. `before` is their evaluation, where it is
    /// there already.
    ///
    /// # Errors
    /// [`TrainerError::NotFinite`] where a gradient is; that of `go_on`. The weights are then as they were before the part in which that
    /// happened.
    pub(super) fn update(
        &mut self,
        rows: &[Row],
        before: Option<Evaluation>,
        settings: &UpdateSettings<'_>,
    ) -> Result<UpdateMetrics, TrainerError> {
        let parts = settings.parts;
        let once = parts.epochs * parts.minibatches == 1 && !settings.stale;
        let old = match before {
            Some(before) => Some(before.log_probs),
            None if once => None,
            None => Some(self.before(rows, settings)?.log_probs),
        };
        let reference = match &self.reference {
            Some(reference) => Some(evaluate(reference, rows, settings)?.log_probs),
            None => None,
        };
        let update = Update { rows, settings, old, reference };
        let (mut metrics, mut changes) = (UpdateMetrics::default(), 0.0);
        for epoch in 0..parts.epochs {
            let mut order: Vec<usize> = (0..rows.len()).collect();
            order.shuffle(&mut stream(settings.seed, "rows", &[settings.step, u64::from(epoch)]));
            for row_indices in order.chunks(rows.len().div_ceil(parts.minibatches as usize).max(1)) {
                self.change(&Minibatch::new(&update, row_indices), &mut metrics)?;
                changes += 1.0;
            }
        }
        let tokens: usize = rows.iter().map(|row| row.tokens.len()).sum();
        metrics.tokens = tokens as u64 * u64::from(parts.epochs);
        metrics.scale(1.0 / f64::max(changes, 1.0));
        Ok(metrics)
    }

    /// Changes the weights once.
    fn change(&mut self, minibatch: &Minibatch<'_>, metrics: &mut UpdateMetrics) -> Result<(), TrainerError> {
        let Update { rows, settings, .. } = minibatch.update;
        let widths: Vec<usize> = minibatch.row_indices.iter().map(|row| rows[*row].tokens.len()).collect();
        let device = self.model.device();
        let passes = Passes::new(&widths, settings.optimizer.micro_batch_tokens, &device);
        let learnt = passes.learn(&self.model, &device, |model, pass, collect| {
            (settings.go_on)()?;
            let columns = Columns::new(minibatch, pass);
            model.policy().learn(
                columns.predictions(minibatch, &device),
                |scores| loss(model, minibatch, &columns, scores),
                collect,
            )
        });
        let (mut gradients, parts) = learnt?;
        parts.iter().for_each(|pass| metrics.add(pass));
        metrics.grad_norm += gradients.clip(settings.optimizer.grad_norm_max)?;
        self.model = self.optimizer.step(self.model.clone(), &gradients, settings.rate)?;
        Ok(())
    }
}

/// Loss of one pass, with its share of the update's metrics.
fn loss(
    model: &ActorCritic,
    minibatch: &Minibatch<'_>,
    columns: &Columns,
    scores: Scores,
) -> Result<(Tensor<1>, UpdateMetrics), TrainerError> {
    let settings = minibatch.update.settings;
    let device = model.device();
    let Scores { states, log_probs: new, entropies } = scores;
    let value_loss = value_loss(model, states, minibatch, columns)?;
    let actions = columns.advantages.len();
    let acted = new.clone().narrow(0, 0, actions);
    let entropies = entropies.ok_or_else(|| TrainerError::Internal("no entropies were computed".to_owned()))?;
    let entropies = entropies.narrow(0, 0, actions);
    let old = match &columns.old {
        Some(old) => numbers(old, &device),
        None => acted.clone().detach(),
    };
    let loss = settings.parts.loss.loss(TokenBatch {
        new: acted,
        old,
        reference: columns.reference.as_ref().map(|reference| numbers(reference, &device)),
        advantages: numbers(&columns.advantages, &device),
        entropies: Some(entropies.clone()),
        importance: columns.importance.as_ref().map(|importance| numbers(importance, &device)),
        sequence_of: &columns.sequences,
    })?;
    let mut total = (loss.per_token * numbers(&columns.weights, &device)).sum();
    let share = actions as f64 / minibatch.learnt.max(1) as f64;
    let mut metrics = UpdateMetrics {
        entropy: scalar(entropies.mean())? * share,
        clipped: scalar(loss.clipped.mean())? * share,
        kl: scalar(loss.kl.unwrap_or(loss.approx_kl).mean())? * share,
        ..UpdateMetrics::default()
    };
    let observations = columns.positions.len() - actions;
    if observations > 0 {
        total = total - new.narrow(0, actions, observations).sum() * minibatch.observed;
    }
    if let Some((value_loss, weight)) = value_loss {
        metrics.value_loss = scalar(value_loss.clone())?;
        total = total + value_loss * weight;
    }
    metrics.loss = scalar(total.clone())?;
    Ok((total, metrics))
}

/// One pass's share of the mean loss of the value function, and its weight; none where the algorithm has none.
fn value_loss(
    model: &ActorCritic,
    states: Tensor<3>,
    minibatch: &Minibatch<'_>,
    columns: &Columns,
) -> Result<Option<(Tensor<1>, f64)>, TrainerError> {
    let AdvantageEstimator::Generalised { value_weight, value_clip, .. } = minibatch.update.settings.parts.estimator
    else {
        return Ok(None);
    };
    let device = model.device();
    let positions = integers(&columns.positions[..columns.advantages.len()], &device);
    let Some(values) = model.values(states, positions) else {
        return Err(TrainerError::Internal("this algorithm needs a value function".to_owned()));
    };
    let (old, returns) = (numbers(&columns.old_values, &device), numbers(&columns.returns, &device));
    let losses = value::loss(values, old, returns, value_clip);
    Ok(Some((losses.sum() / minibatch.learnt.max(1) as f64, value_weight)))
}

/// Weight of the cross-entropy on observations.
fn echo_weight(parts: &Parts) -> f64 {
    parts.auxiliary.iter().map(|Auxiliary::Echo { weight }| weight).sum()
}

impl<'a> Minibatch<'a> {
    fn new(update: &'a Update<'a>, row_indices: &'a [usize]) -> Self {
        let count =
            |of: fn(&Row) -> usize| -> Vec<usize> { row_indices.iter().map(|row| of(&update.rows[*row])).collect() };
        let lengths = count(|row| row.actions.len());
        let observed = count(|row| row.observations.len());
        let parts = update.settings.parts;
        Self {
            update,
            row_indices,
            weights: aggregation::weights(&parts.aggregation, &lengths),
            learnt: lengths.iter().sum(),
            observed: echo::token_weight(echo_weight(parts), &observed),
        }
    }
}

/// One pass as columns, row by row: first of the learnt tokens; `positions` and `targets` go on with the observed ones, where those count.
struct Columns {
    /// The rows.
    rows: Vec<usize>,
    /// Tokens of the longest.
    time: usize,
    positions: Vec<i64>,
    targets: Vec<i64>,
    advantages: Vec<f32>,
    weights: Vec<f32>,
    sequences: Vec<usize>,
    old: Option<Vec<f32>>,
    reference: Option<Vec<f32>>,
    importance: Option<Vec<f32>>,
    /// Values before the update, and the returns that they estimate; both empty without a value function.
    old_values: Vec<f32>,
    returns: Vec<f32>,
}

impl Columns {
    fn new(minibatch: &Minibatch<'_>, pass: &Packed) -> Self {
        let Update { rows, settings, old, reference } = minibatch.update;
        let chosen: Vec<usize> = pass.rows.iter().map(|index| minibatch.row_indices[*index]).collect();
        let of_rows = |column: &LogProbs| -> Vec<f32> { chosen.iter().flat_map(|one| column[*one].clone()).collect() };
        let old = old.as_ref().map(of_rows);
        let reference = reference.as_ref().map(of_rows);
        let mut columns = Self {
            time: pass.time,
            positions: Vec::new(),
            targets: Vec::new(),
            advantages: Vec::new(),
            weights: Vec::new(),
            sequences: Vec::new(),
            old,
            reference,
            importance: None,
            old_values: Vec::new(),
            returns: Vec::new(),
            rows: chosen,
        };
        let mut sampled = Vec::new();
        for (row, index) in pass.rows.iter().enumerate() {
            for target in &rows[minibatch.row_indices[*index]].actions {
                columns.predict(row, target.position, rows);
                columns.advantages.push(target.advantage as f32);
                columns.weights.push(minibatch.weights[*index] as f32);
                columns.sequences.push(row);
                sampled.push(target.behaviour);
                if let Some(value) = target.value {
                    columns.old_values.push(value.predicted);
                    columns.returns.push(value.target_return);
                }
            }
        }
        if let (true, Some(old)) = (settings.stale, &columns.old) {
            columns.importance = Some(importance::weights(old, &sampled));
        }
        if minibatch.observed > 0.0 {
            for (row, index) in pass.rows.iter().enumerate() {
                for observed in &rows[minibatch.row_indices[*index]].observations {
                    columns.predict(row, *observed, rows);
                }
            }
        }
        columns
    }

    /// The tokens, and those that are predicted.
    fn predictions(&self, minibatch: &Minibatch<'_>, device: &Device) -> Predictions {
        let Update { rows, settings, .. } = minibatch.update;
        Predictions {
            tokens: tokens(&chosen(rows, &self.rows), self.time, device),
            positions: integers(&self.positions, device),
            targets: integers(&self.targets, device),
            temperature: settings.temperature,
            entropies: true,
        }
    }

    /// Adds a token that is predicted from the position before it.
    fn predict(&mut self, row: usize, position: usize, rows: &[Row]) {
        self.positions.push((row * self.time + position - 1) as i64);
        self.targets.push(i64::from(rows[self.rows[row]].tokens[position]));
    }
}

/// Log-probabilities and values of rows by a model without autodiff.
fn evaluate(model: &ActorCritic, rows: &[Row], settings: &UpdateSettings<'_>) -> Result<Evaluation, TrainerError> {
    let device = model.device();
    let widths: Vec<usize> = rows.iter().map(|row| row.tokens.len()).collect();
    let passes = Passes::new(&widths, settings.optimizer.micro_batch_tokens, &device);
    let answers = passes.map(|pass| {
        (settings.go_on)()?;
        let (mut positions, mut targets, mut valued) = (Vec::new(), Vec::new(), Vec::new());
        for (row, one) in pass.rows.iter().enumerate() {
            let first = row * pass.time;
            for target in &rows[*one].actions {
                positions.push((first + target.position - 1) as i64);
                targets.push(i64::from(rows[*one].tokens[target.position]));
                valued.push((first + target.position - 1) as i64);
            }
            valued.push((first + rows[*one].tokens.len() - 1) as i64);
        }
        let scores = model.policy().scores(Predictions {
            tokens: tokens(&chosen(rows, &pass.rows), pass.time, &device),
            positions: integers(&positions, &device),
            targets: integers(&targets, &device),
            temperature: settings.temperature,
            entropies: false,
        });
        let values = model.values(scores.states, integers(&valued, &device)).map(host).transpose()?;
        let logs = host(scores.log_probs)?;
        Ok((pass.rows.clone(), logs, values))
    })?;
    let mut found = Evaluation { log_probs: vec![Vec::new(); rows.len()], values: vec![Vec::new(); rows.len()] };
    for (of, logs, values) in answers {
        let (mut logs, mut values) = (logs.into_iter(), values.map(Vec::into_iter));
        for one in of {
            let count = rows[one].actions.len();
            found.log_probs[one] = logs.by_ref().take(count).collect();
            if let Some(values) = &mut values {
                found.values[one] = values.by_ref().take(count + 1).collect();
            }
        }
    }
    Ok(found)
}

/// Rows as one tensor `[rows, time]`, padded at the right.
pub(super) fn tokens(rows: &[&[u32]], time: usize, device: &Device) -> Tensor<2, Int> {
    let mut padded = vec![0_i64; rows.len() * time];
    for (line, row) in padded.chunks_mut(time).zip(rows) {
        for (to, token) in line.iter_mut().zip(*row) {
            *to = i64::from(*token);
        }
    }
    Tensor::from_data(TensorData::new(padded, [rows.len(), time]), device)
}

/// The tokens of some rows.
fn chosen<'a>(rows: &'a [Row], indices: &[usize]) -> Vec<&'a [u32]> {
    indices.iter().map(|index| rows[*index].tokens.as_slice()).collect()
}

/// Whole numbers as a tensor.
pub(super) fn integers(values: &[i64], device: &Device) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(values.to_vec(), [values.len()]), device)
}

/// Numbers as a tensor.
pub(super) fn numbers(values: &[f32], device: &Device) -> Tensor<1> {
    Tensor::from_data(TensorData::new(values.to_vec(), [values.len()]), device)
}

/// A tensor's numbers.
pub(super) fn host<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, TrainerError> {
    tensor.into_data().convert::<f32>().try_to_vec().map_err(|error| TrainerError::Internal(format!("{error:?}")))
}

/// The one number of a tensor.
pub(super) fn scalar(tensor: Tensor<1>) -> Result<f64, TrainerError> {
    host(tensor)?
        .first()
        .map(|value| f64::from(*value))
        .ok_or_else(|| TrainerError::Internal("an empty tensor".to_owned()))
}
