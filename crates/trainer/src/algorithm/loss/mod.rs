//! Losses of single tokens, as tensors of shape [n]: what a policy update, its constraints and a value function cost.

mod clipped;
pub mod cross_entropy;
mod entropy;
mod kl;
mod sequence_ratio;
pub mod value;

use burn::tensor::{GradientCheckpointingStrategy, Tensor};
use palestra_protocol::spec::train::{Clip, KlEstimator};

use crate::failure::TrainerError;

/// Differences of log-probabilities are taken as no more than this, in nats, in either direction: beyond it the
/// exponential would overflow, and the gradient there is 0.
pub const LOG_RATIO_NATS_MAX: f64 = 20.0;

/// Unit whose probability ratio is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ratio {
    /// That of each token.
    Token,
    /// That of the whole sequence, per token.
    Sequence,
}

/// The loss of a policy per action token.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLoss {
    /// Unit whose ratio is clipped.
    pub ratio: Ratio,
    /// Bounds of the ratio.
    pub clip: Clip,
    /// Weight and estimator of the divergence from the reference; none costs nothing.
    pub kl: Option<(f64, KlEstimator)>,
    /// Weight of the entropy bonus; 0 costs nothing.
    pub entropy: f64,
}

/// The action tokens of one micro-batch, all of shape [n]; log-probabilities in nats at the temperature that sampled.
#[derive(Debug)]
pub struct TokenBatch<'a> {
    /// Under the weights that are trained; carries the gradient.
    pub new: Tensor<1>,
    /// Under the weights before this update.
    pub old: Tensor<1>,
    /// Under the reference policy; needed where the loss has a `kl`.
    pub reference: Option<Tensor<1>>,
    /// The advantage of the turn of each token.
    pub advantages: Tensor<1>,
    /// Entropy of the distribution at each token; needed where the loss weighs it; carries the gradient.
    pub entropies: Option<Tensor<1>>,
    /// Truncated importance weights of stale rollouts; none weighs all alike.
    pub importance: Option<Tensor<1>>,
    /// Sequence of each token, by any number. With `Ratio::Sequence` a sequence has to be here as a
    /// whole.
    pub sequence_of: &'a [usize],
}

/// The loss of each token, with its metrics. All of shape [n]; all but `per_token` are outside the graph.
#[derive(Debug)]
pub struct LossParts {
    /// The loss; weigh it by the aggregation and add it up.
    pub per_token: Tensor<1>,
    /// 1 where the clip decides and gives no gradient, else 0. Its mean is the clip fraction.
    pub clipped: Tensor<1>,
    /// The ratio that was used.
    pub ratio: Tensor<1>,
    /// Approximate KL divergence of this update: e^d - d - 1 with d = ln p_new - ln p_old, an estimate of KL(old ||
    /// new).
    pub approx_kl: Tensor<1>,
    /// The divergence from the reference, without its weight; none where the loss has no `kl`.
    pub kl: Option<Tensor<1>>,
}

impl TokenLoss {
    /// The loss of each token.
    ///
    /// # Errors
    /// `Internal` where lengths differ, there is no token, or a tensor is missing that the loss needs.
    pub fn loss(&self, batch: TokenBatch<'_>) -> Result<LossParts, TrainerError> {
        self.check(&batch)?;
        let new = batch.new;
        let constant = |tensor: Tensor<1>| without_gradient(tensor, new.gradient_checkpointing_strategy());
        let advantages = constant(batch.advantages);
        let difference = new.clone() - constant(batch.old);
        let log_ratio = difference.clone().clamp(-LOG_RATIO_NATS_MAX, LOG_RATIO_NATS_MAX);
        let ratio = match self.ratio {
            Ratio::Token => log_ratio.clone().exp(),
            Ratio::Sequence => sequence_ratio::ratio(&new, &difference, batch.sequence_of),
        };
        let told = log_ratio.inner();
        let approx_kl = told.clone().exp() - told - 1.0;
        let (policy, clipped) = clipped::loss(ratio.clone(), advantages, &self.clip);
        let mut per_token = match batch.importance {
            Some(weights) => policy * constant(weights),
            None => policy,
        };
        let mut kl = None;
        if let (Some((beta, estimator)), Some(reference)) = (self.kl, batch.reference) {
            let divergence = kl::divergence(estimator, new.clone(), constant(reference));
            kl = Some(divergence.clone().inner());
            per_token = per_token + divergence * beta;
        }
        if let (true, Some(entropies)) = (self.entropy != 0.0, batch.entropies) {
            per_token = per_token + entropy::loss(entropies, self.entropy);
        }
        Ok(LossParts { per_token, clipped: clipped.inner(), ratio: ratio.inner(), approx_kl, kl })
    }

    fn check(&self, batch: &TokenBatch<'_>) -> Result<(), TrainerError> {
        let tokens = batch.sequence_of.len();
        let tensors = [
            ("new", Some(&batch.new)),
            ("old", Some(&batch.old)),
            ("reference", batch.reference.as_ref()),
            ("advantages", Some(&batch.advantages)),
            ("entropies", batch.entropies.as_ref()),
            ("importance", batch.importance.as_ref()),
        ];
        for (name, tensor) in tensors {
            let length = tensor.map_or(tokens, |tensor| tensor.dims()[0]);
            if length != tokens {
                let message = format!("the loss got {length} numbers as {name} for {tokens} tokens");
                return Err(TrainerError::Internal(message));
            }
        }
        let fault = if tokens == 0 {
            "no tokens"
        } else if self.kl.is_some() && batch.reference.is_none() {
            "no log-probabilities of the reference"
        } else if self.entropy != 0.0 && batch.entropies.is_none() {
            "no entropies"
        } else {
            return Ok(());
        };
        Err(TrainerError::Internal(format!("the loss got {fault}")))
    }
}

/// The same numbers without a past, in the autodiff context (with that strategy) or out of it, as those that they meet.
fn without_gradient<const D: usize>(tensor: Tensor<D>, context: Option<GradientCheckpointingStrategy>) -> Tensor<D> {
    let inner = tensor.inner();
    match context {
        Some(strategy) => inner.autodiff().with_gradient_checkpointing_strategy(strategy),
        None => inner,
    }
}

#[cfg(test)]
mod known_tokens;
#[cfg(test)]
mod tests;
