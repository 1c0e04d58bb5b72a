//! Algorithms by name: which parts each is made of, and parts that a job sets apart from its preset.

use palestra_protocol::spec::train::{Advantage, Aggregation, Algorithm, AlgorithmName, Auxiliary, Clip, Rollout};

use super::loss::value::VALUE_CLIP;
use super::loss::{Ratio, TokenLoss};
use super::reward::overlong::Overlong;
use crate::failure::TrainerError;

/// Tasks of one update where a job says nothing.
const TASKS_PER_STEP: u32 = 8;
/// Rollouts of one task where a job says nothing.
const GROUP_SIZE: u32 = 8;
/// Passes over the episodes of one update of `ppo`.
const PPO_EPOCHS: u32 = 4;
/// Parts into which the episodes of one update of `ppo` are cut.
const PPO_MINIBATCHES: u32 = 4;
/// Parts into which the episodes of one update of `gspo` and `dapo` are cut, <https://arxiv.org/abs/2507.18071>.
const SPLIT_MINIBATCHES: u32 = 4;
/// The same for other algorithms with a clip: with one part, the ratio is 1 and no clip ever acts.
const CLIPPED_MINIBATCHES: u32 = 2;
/// Discount per turn of `ppo` over vectors, as in <https://arxiv.org/abs/1707.06347>.
const VECTORS_GAMMA: f64 = 0.99;
/// Dual clip of all presets with a ratio per token, <https://arxiv.org/abs/1912.09729>.
const DUAL_CLIP: f64 = 3.0;
/// Keeps the quotients of group statistics finite.
const DEVIATION_MIN: f64 = 1e-6;
/// The overlong punishment begins at this share of the longest answer below it: 4096 of 20480 tokens in the paper.
const OVERLONG_CACHE_PARTS: usize = 5;

/// Estimator of advantages.
#[derive(Debug, Clone, PartialEq)]
pub enum AdvantageEstimator {
    /// Given tokens are learned with cross-entropy: there is nothing to judge.
    Supervised,
    /// By a value function, with generalised advantage estimation and whitening.
    Generalised {
        /// Trace decay.
        lambda: f64,
        /// Weight of the value loss.
        value_weight: f64,
        /// Largest change of a value in one update.
        value_clip: f64,
    },
    /// By comparing rewards.
    Compared(Advantage),
}

/// The parts of an algorithm.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    /// Estimator of advantages.
    pub estimator: AdvantageEstimator,
    /// Discount per turn; per token where a value function judges the tokens of a language model.
    pub gamma: f64,
    /// The policy loss per token: ratio, clip, divergence and entropy.
    pub loss: TokenLoss,
    /// Aggregation of token losses into one number.
    pub aggregation: Aggregation,
    /// Passes over the episodes of one update.
    pub epochs: u32,
    /// Parts into which the episodes of one update are cut, with a change of weights after each.
    pub minibatches: u32,
    /// Rollouts of one task that enter an update; 1 where nothing is compared within groups.
    pub group_size: u32,
    /// Tasks of one update.
    pub tasks_per_step: u32,
    /// One rollout more per task is drawn: the median one, which leaves.
    pub extra_rollout: bool,
    /// Groups with equal rewards are replaced by other tasks.
    pub resample_equal_groups: bool,
    /// Episodes that a limit cut leave the update.
    pub mask_truncated: bool,
    /// Long answers are punished.
    pub overlong: Option<Overlong>,
    /// More terms of the loss.
    pub auxiliary: Vec<Auxiliary>,
}

impl Parts {
    /// The parts that a job asks for its language model: those of its preset, each replaced where the job sets it.
    ///
    /// # Errors
    /// `BadSpec` where parts contradict each other.
    pub fn new(algorithm: &Algorithm, rollout: &Rollout) -> Result<Self, TrainerError> {
        let mut parts = Self::preset(algorithm.name, rollout);
        parts.replace(algorithm);
        parts.extra_rollout = matches!(parts.estimator, AdvantageEstimator::Compared(Advantage::GroupMedian { .. }));
        parts.check()?;
        Ok(parts)
    }

    /// The parts that a job asks for its policy over vectors: as [`Self::new`], with a discount of its own where the job sets none.
    ///
    /// # Errors
    /// `BadSpec` where parts contradict each other, or one is for language models alone.
    pub fn of_vectors(algorithm: &Algorithm, rollout: &Rollout) -> Result<Self, TrainerError> {
        let mut parts = Self::new(algorithm, rollout)?;
        parts.gamma = algorithm.gamma.unwrap_or(VECTORS_GAMMA);
        let foreign = [
            ("kl", parts.loss.kl.is_some()),
            ("aggregation", algorithm.aggregation.is_some()),
            ("auxiliary", !algorithm.auxiliary.is_empty()),
        ];
        match foreign.into_iter().find(|(_, given)| *given) {
            Some((field, _)) => {
                Err(TrainerError::BadSpec(format!("algorithm.{field}: only a language model takes this: leave it out")))
            }
            None => Ok(parts),
        }
    }

    /// Rollouts of one task that are drawn.
    #[must_use]
    pub const fn rollouts_per_task(&self) -> u32 {
        self.group_size + self.extra_rollout as u32
    }

    /// The parts of a preset, for episodes of such lengths.
    fn preset(name: AlgorithmName, rollout: &Rollout) -> Self {
        let (longest, answer) = (longest_episode_tokens(rollout), rollout.max_tokens as usize);
        let token = |low, high| (Ratio::Token, Clip { low, high, dual: Some(DUAL_CLIP) });
        let grouped = Advantage::GroupNormalised { epsilon: DEVIATION_MIN };
        let constant = Aggregation::TokenSumOverConstant { constant: longest as f64 };
        let compared = AdvantageEstimator::Compared;
        let ((ratio, clip), estimator, aggregation) = match name {
            AlgorithmName::Sft => (token(0.2, 0.2), AdvantageEstimator::Supervised, Aggregation::TokenMean),
            AlgorithmName::Ppo => {
                let estimator =
                    AdvantageEstimator::Generalised { lambda: 0.95, value_weight: 0.5, value_clip: VALUE_CLIP };
                (token(0.2, 0.2), estimator, Aggregation::TokenMean)
            }
            AlgorithmName::Grpo => (token(0.2, 0.2), compared(grouped), Aggregation::SequenceMeanOfTokenMean),
            AlgorithmName::DrGrpo => (token(0.2, 0.2), compared(Advantage::GroupCentred), constant),
            AlgorithmName::Rloo => {
                (token(0.2, 0.2), compared(Advantage::LeaveOneOut), Aggregation::SequenceMeanOfTokenSum)
            }
            AlgorithmName::ReinforcePp => {
                let advantage = Advantage::BatchWhitened { group_mean_first: false };
                (token(0.2, 0.2), compared(advantage), Aggregation::TokenMean)
            }
            AlgorithmName::Dapo => (token(0.2, 0.28), compared(grouped), Aggregation::TokenMean),
            AlgorithmName::Gspo => {
                let clip = Clip { low: 3e-4, high: 4e-4, dual: None };
                ((Ratio::Sequence, clip), compared(grouped), Aggregation::SequenceMeanOfTokenMean)
            }
            AlgorithmName::McGrpo => {
                let advantage = Advantage::GroupMedian { epsilon: 1e-3 };
                (token(0.2, 0.2), compared(advantage), Aggregation::SequenceMeanOfTokenMean)
            }
            AlgorithmName::Gigpo => {
                let advantage = Advantage::GroupInGroup { step_weight: 1.0, normalise: true };
                (token(0.2, 0.2), compared(advantage), Aggregation::SequenceMeanOfTokenMean)
            }
            AlgorithmName::Stratified => {
                let advantage = Advantage::Stratified { alpha: 0.8, epsilon: DEVIATION_MIN };
                (token(0.2, 0.2), compared(advantage), Aggregation::SequenceMeanOfTokenMean)
            }
            AlgorithmName::RoleConditioned => {
                let advantage = Advantage::RoleBaseline { decay: 0.95 };
                (token(0.2, 0.2), compared(advantage), Aggregation::SequenceMeanOfTokenSum)
            }
        };
        let (ppo, dapo) = (name == AlgorithmName::Ppo, name == AlgorithmName::Dapo);
        Self {
            estimator,
            gamma: 1.0,
            loss: TokenLoss { ratio, clip, kl: None, entropy: if ppo { 0.01 } else { 0.0 } },
            aggregation,
            epochs: if ppo { PPO_EPOCHS } else { 1 },
            minibatches: match name {
                AlgorithmName::Sft => 1,
                AlgorithmName::Ppo => PPO_MINIBATCHES,
                AlgorithmName::Gspo | AlgorithmName::Dapo => SPLIT_MINIBATCHES,
                _ => CLIPPED_MINIBATCHES,
            },
            group_size: if name.is_grouped() { GROUP_SIZE } else { 1 },
            tasks_per_step: TASKS_PER_STEP,
            extra_rollout: false,
            resample_equal_groups: dapo,
            mask_truncated: dapo,
            overlong: dapo.then_some(Overlong { longest: answer, cache: answer / OVERLONG_CACHE_PARTS }),
            auxiliary: Vec::new(),
        }
    }

    fn replace(&mut self, algorithm: &Algorithm) {
        if let Some(advantage) = &algorithm.advantage {
            self.estimator = AdvantageEstimator::Compared(advantage.clone());
        }
        if let AdvantageEstimator::Generalised { lambda, value_weight, .. } = &mut self.estimator {
            *lambda = algorithm.lambda.unwrap_or(*lambda);
            *value_weight = algorithm.value.unwrap_or(*value_weight);
        }
        if let Some(aggregation) = &algorithm.aggregation {
            self.aggregation = aggregation.clone();
        }
        if let Some(kl) = &algorithm.kl {
            // A weight of 0 costs nothing: not even a forward pass of the reference.
            self.loss.kl = (kl.beta != 0.0).then_some((kl.beta, kl.estimator));
        }
        self.loss.clip = algorithm.clip.unwrap_or(self.loss.clip);
        self.loss.entropy = algorithm.entropy.unwrap_or(self.loss.entropy);
        self.gamma = algorithm.gamma.unwrap_or(self.gamma);
        self.epochs = algorithm.epochs.unwrap_or(self.epochs);
        self.minibatches = algorithm.minibatches.unwrap_or(self.minibatches);
        self.group_size = algorithm.group_size.unwrap_or(self.group_size);
        self.tasks_per_step = algorithm.tasks_per_step.unwrap_or(self.tasks_per_step);
        self.auxiliary.clone_from(&algorithm.auxiliary);
    }

    /// A job with such a contradiction is refused when it is made; this holds where a trainer is called without a
    /// server.
    fn check(&self) -> Result<(), TrainerError> {
        match &self.estimator {
            AdvantageEstimator::Compared(advantage) if self.group_size < 2 && advantage.compares_within_groups() => {
                let message = "algorithm.advantage: each task is played once, and a group of one compares with nothing";
                Err(TrainerError::BadSpec(message.to_owned()))
            }
            _ => Ok(()),
        }
    }
}

/// The most action tokens of one episode: all its answers at their longest, within its context.
fn longest_episode_tokens(rollout: &Rollout) -> usize {
    let answers = u64::from(rollout.max_turns) * u64::from(rollout.max_tokens);
    usize::try_from(answers.min(u64::from(rollout.max_context_tokens))).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
