//! One update of a language model: passes forwards and backwards over rows of tokens, and one change of weights.

use burn::module::Module as _;
use burn::tensor::{Device, Int, Tensor, TensorData};
use palestra_protocol::spec::train::{Auxiliary, Optimizer};
use rand::seq::SliceRandom as _;

use super::batch::Row;
use crate::algorithm::auxiliary::echo;
use crate::algorithm::loss::TokenBatch;
use crate::algorithm::preset::Parts;
use crate::algorithm::{aggregation, importance};
use crate::data::{Packed, pack};
use crate::failure::TrainerError;
use crate::model::Transformer;
use crate::optimizer::{AdamW, Gradients};
use crate::rollout::stream;

/// What is changed by updates.
pub(super) struct Learner {
    /// With autodiff.
    pub(super) model: Transformer,
    /// What the job started from, without autodiff; where the policy is kept near it.
    pub(super) reference: Option<Transformer>,
    /// Its running means.
    pub(super) optimizer: AdamW,
}

/// How rows are learnt from.
pub(super) struct Lesson<'a> {
    /// The algorithm.
    pub(super) parts: &'a Parts,
    /// How weights are changed.
    pub(super) plan: &'a Optimizer,
    /// Divides the logits, as when the tokens were sampled.
    pub(super) temperature: f64,
    /// Whether rows were sampled by older weights, which is then made up for.
    pub(super) stale: bool,
    /// Everything random derives from it.
    pub(super) seed: u64,
}

/// What an update showed: means over the tokens that were learnt from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Shown {
    /// The loss.
    pub(super) loss: f64,
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

/// Log-probabilities of every learnt token of every row.
type LogProbs = Vec<Vec<f32>>;

impl Learner {
    /// Learns from rows, in as many passes and parts as the algorithm takes. `rate` is the learning rate, `step` the number of the update.
    ///
    /// # Errors
    /// [`TrainerError::NotFinite`] where a gradient is; the weights are then as they were before the part in which that happened.
    pub(super) fn update(
        &mut self,
        rows: &[Row],
        lesson: &Lesson<'_>,
        rate: f64,
        step: u64,
    ) -> Result<Shown, TrainerError> {
        let parts = lesson.parts;
        let changes = (parts.epochs * parts.minibatches) as usize;
        let once = changes == 1 && !lesson.stale;
        let inference = self.model.valid();
        let old = if once { None } else { Some(log_probs(&inference, rows, lesson)?) };
        drop(inference);
        let reference = match &self.reference {
            Some(reference) => Some(log_probs(reference, rows, lesson)?),
            None => None,
        };
        let mut shown = Shown::default();
        for epoch in 0..parts.epochs {
            let mut order: Vec<usize> = (0..rows.len()).collect();
            order.shuffle(&mut stream(lesson.seed, "rows", &[step, u64::from(epoch)]));
            for part in order.chunks(rows.len().div_ceil(parts.minibatches as usize).max(1)) {
                self.change(rows, part, old.as_ref(), reference.as_ref(), lesson, rate, &mut shown)?;
            }
        }
        let tokens: usize = rows.iter().map(|row| row.tokens.len()).sum();
        shown.tokens = tokens as u64 * u64::from(parts.epochs);
        let scale = 1.0 / changes.max(1) as f64;
        shown.loss *= scale;
        shown.entropy *= scale;
        shown.kl *= scale;
        shown.clipped *= scale;
        shown.grad_norm *= scale;
        Ok(shown)
    }

    #[expect(clippy::too_many_arguments, reason = "what one change of weights needs, for one caller")]
    fn change(
        &mut self,
        rows: &[Row],
        part: &[usize],
        old: Option<&LogProbs>,
        reference: Option<&LogProbs>,
        lesson: &Lesson<'_>,
        rate: f64,
        shown: &mut Shown,
    ) -> Result<(), TrainerError> {
        let lengths: Vec<usize> = part.iter().map(|row| rows[*row].actions.len()).collect();
        let weights = aggregation::weights(&lesson.parts.aggregation, &lengths);
        let learnt: usize = lengths.iter().sum();
        let observed: Vec<usize> = part.iter().map(|row| rows[*row].observations.len()).collect();
        let widths: Vec<usize> = part.iter().map(|row| rows[*row].tokens.len()).collect();
        let mut gradients = Gradients::new();
        for pass in pack(&widths, lesson.plan.micro_batch_tokens) {
            let chosen: Vec<usize> = pass.rows.iter().map(|place| part[*place]).collect();
            let of_pass: Vec<f64> = pass.rows.iter().map(|place| weights[*place]).collect();
            let columns = Columns::new(rows, &chosen, &of_pass, pass.time, old, reference, lesson);
            let loss = self.pass(rows, &chosen, &pass, &columns, lesson, learnt, &observed, shown)?;
            gradients.add(&self.model, loss.backward());
        }
        shown.grad_norm += gradients.clip(lesson.plan.grad_norm_max)?;
        let model = self.optimizer.step(self.model.clone(), &gradients, rate)?;
        self.model = model;
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "what one pass needs, for one caller")]
    fn pass(
        &self,
        rows: &[Row],
        chosen: &[usize],
        pass: &Packed,
        columns: &Columns,
        lesson: &Lesson<'_>,
        learnt: usize,
        observed: &[usize],
        shown: &mut Shown,
    ) -> Result<Tensor<1>, TrainerError> {
        let device = self.model.device();
        let states = self.model.states(tokens(rows, chosen, pass.time, &device));
        let mut places = columns.places.clone();
        let mut targets = columns.targets.clone();
        let actions = places.len();
        if echo_weight(lesson.parts) > 0.0 {
            for (row, one) in chosen.iter().enumerate() {
                for place in &rows[*one].observations {
                    places.push((row * pass.time + place - 1) as i64);
                    targets.push(i64::from(rows[*one].tokens[*place]));
                }
            }
        }
        let (new, entropies) =
            self.model.log_probs(states, integers(&places, &device), integers(&targets, &device), lesson.temperature);
        let acted = new.clone().narrow(0, 0, actions);
        let entropies = entropies.narrow(0, 0, actions);
        let old = match &columns.old {
            Some(old) => numbers(old, &device),
            None => acted.clone().detach(),
        };
        let reference = columns.reference.as_ref().map(|reference| numbers(reference, &device));
        let loss = lesson.parts.loss.loss(TokenBatch {
            new: acted,
            old,
            reference,
            advantages: numbers(&columns.advantages, &device),
            entropies: Some(entropies.clone()),
            importance: columns.importance.as_ref().map(|importance| numbers(importance, &device)),
            sequence_of: &columns.sequences,
        })?;
        let mut total = (loss.per_token * numbers(&columns.weights, &device)).sum();
        let share = actions as f64 / learnt.max(1) as f64;
        shown.entropy += scalar(entropies.mean())? * share;
        shown.clipped += scalar(loss.held.mean())? * share;
        shown.kl += scalar(loss.kl.unwrap_or(loss.moved).mean())? * share;
        if new.dims()[0] > actions {
            let said = new.clone().narrow(0, actions, new.dims()[0] - actions);
            total = total - said.sum() * echo::token_weight(echo_weight(lesson.parts), observed);
        }
        shown.loss += scalar(total.clone())?;
        Ok(total)
    }
}

/// Weight of the cross-entropy on observations.
fn echo_weight(parts: &Parts) -> f64 {
    parts.auxiliary.iter().map(|Auxiliary::Echo { weight }| weight).sum()
}

/// What stands beside the learnt tokens of one pass, row by row.
struct Columns {
    places: Vec<i64>,
    targets: Vec<i64>,
    advantages: Vec<f32>,
    weights: Vec<f32>,
    sequences: Vec<usize>,
    old: Option<Vec<f32>>,
    reference: Option<Vec<f32>>,
    importance: Option<Vec<f32>>,
}

impl Columns {
    fn new(
        rows: &[Row],
        chosen: &[usize],
        weights: &[f64],
        time: usize,
        old: Option<&LogProbs>,
        reference: Option<&LogProbs>,
        lesson: &Lesson<'_>,
    ) -> Self {
        let count = chosen.iter().map(|row| rows[*row].actions.len()).sum();
        let mut columns = Self {
            places: Vec::with_capacity(count),
            targets: Vec::with_capacity(count),
            advantages: Vec::with_capacity(count),
            weights: Vec::with_capacity(count),
            sequences: Vec::with_capacity(count),
            old: old.map(|_| Vec::with_capacity(count)),
            reference: reference.map(|_| Vec::with_capacity(count)),
            importance: None,
        };
        for (row, one) in chosen.iter().enumerate() {
            for (index, target) in rows[*one].actions.iter().enumerate() {
                columns.places.push((row * time + target.place - 1) as i64);
                columns.targets.push(i64::from(rows[*one].tokens[target.place]));
                columns.advantages.push(target.advantage as f32);
                columns.sequences.push(row);
                let before = old.map(|old| old[*one][index]);
                columns.weights.push(weights[row] as f32);
                if let (Some(column), Some(before)) = (&mut columns.old, before) {
                    column.push(before);
                }
                if let (Some(column), Some(reference)) = (&mut columns.reference, reference) {
                    column.push(reference[*one][index]);
                }
            }
        }
        if let (true, Some(old)) = (lesson.stale, &columns.old) {
            let sampled: Vec<f32> =
                chosen.iter().flat_map(|one| rows[*one].actions.iter().map(|target| target.behaviour)).collect();
            columns.importance = Some(importance::weights(old, &sampled));
        }
        columns
    }
}

/// Log-probabilities of the learnt tokens under a model without autodiff.
fn log_probs(model: &Transformer, rows: &[Row], lesson: &Lesson<'_>) -> Result<LogProbs, TrainerError> {
    let device = model.device();
    let mut found: LogProbs = vec![Vec::new(); rows.len()];
    let widths: Vec<usize> = rows.iter().map(|row| row.tokens.len()).collect();
    for pass in pack(&widths, lesson.plan.micro_batch_tokens) {
        let states = model.states(tokens(rows, &pass.rows, pass.time, &device));
        let (mut places, mut targets) = (Vec::new(), Vec::new());
        for (row, one) in pass.rows.iter().enumerate() {
            for target in &rows[*one].actions {
                places.push((row * pass.time + target.place - 1) as i64);
                targets.push(i64::from(rows[*one].tokens[target.place]));
            }
        }
        let (new, _) =
            model.log_probs(states, integers(&places, &device), integers(&targets, &device), lesson.temperature);
        let mut values = host(new)?.into_iter();
        for one in &pass.rows {
            found[*one] = values.by_ref().take(rows[*one].actions.len()).collect();
        }
    }
    Ok(found)
}

/// Rows as one tensor `[rows, time]`, padded at the right.
pub(super) fn tokens(rows: &[Row], chosen: &[usize], time: usize, device: &Device) -> Tensor<2, Int> {
    let mut padded = vec![0_i64; chosen.len() * time];
    for (line, one) in padded.chunks_mut(time).zip(chosen) {
        for (to, token) in line.iter_mut().zip(&rows[*one].tokens) {
            *to = i64::from(*token);
        }
    }
    Tensor::from_data(TensorData::new(padded, [chosen.len(), time]), device)
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
