//! Training: a starting policy, an environment mix or data, and an algorithm.

use serde::{Deserialize, Serialize};

use super::Faults;
use super::play::{EnvironmentMix, PolicyFrom, Sampling, check_environments};
use crate::id::JobId;

/// Most updates of one job.
pub const STEPS_MAX: u64 = 10_000_000;
/// Most sessions that one job plays at once.
pub const CONCURRENT_SESSIONS_MAX: u32 = 4_096;

/// Trains a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Train {
    /// What is trained.
    pub policy: TrainedPolicy,
    /// What it plays; empty for `sft`, which learns from `data`.
    #[serde(default)]
    pub environments: Vec<EnvironmentMix>,
    /// How it learns.
    pub algorithm: Algorithm,
    /// How episodes are played.
    #[serde(default)]
    pub rollout: Rollout,
    /// What is rewarded.
    #[serde(default)]
    pub reward: Reward,
    /// Examples to learn from; for `sft` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// How weights are changed.
    #[serde(default)]
    pub optimizer: Optimizer,
    /// How many updates.
    pub steps: u64,
    /// Everything random derives from it.
    #[serde(default)]
    pub seed: u64,
    /// Measures on held-out tasks meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluate: Option<EvaluateMeanwhile>,
    /// When to keep a point to go on from.
    #[serde(default)]
    pub checkpoint: CheckpointPlan,
}

/// The policy that a training starts from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TrainedPolicy {
    /// Where its weights come from.
    pub from: PolicyFrom,
    /// Trains small matrices beside the weights, which stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lora: Option<Lora>,
    /// Size of a model that is made from scratch, for `builtin:` policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<ModelSize>,
}

/// Size of a model that is made from scratch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelSize {
    /// How many layers; 4 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 128))]
    pub layers: Option<u32>,
    /// Width of a layer; 128 where left out. A multiple of 2 x heads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 8, maximum = 16_384))]
    pub width: Option<u32>,
    /// How many attention heads; 4 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 256))]
    pub heads: Option<u32>,
}

/// Low-rank adaptation, <https://arxiv.org/abs/2106.09685>: y = Wx + (alpha / rank) B A x.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Lora {
    /// Rows of A.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_024))]
    pub rank: u32,
    /// The scale is `alpha / rank`.
    pub alpha: f64,
    /// Which projections: `q_proj`, `k_proj`, `v_proj`, `o_proj`, `gate_proj`, `up_proj`, `down_proj`.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 7))]
    pub targets: Vec<LoraTarget>,
}

/// A projection that LoRA adapts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "named as in the files of models")]
pub enum LoraTarget {
    QProj,
    KProj,
    VProj,
    OProj,
    GateProj,
    UpProj,
    DownProj,
}

/// How a policy learns: a preset by name, whose parts can be set apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Algorithm {
    /// The preset.
    pub name: AlgorithmName,
    /// Rollouts of one task; for algorithms that compare within groups. 8 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 2, maximum = 1_024))]
    pub group_size: Option<u32>,
    /// Tasks of one update; 8 where left out. Episodes per update are `tasks_per_step` x `group_size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 65_536))]
    pub tasks_per_step: Option<u32>,
    /// Passes over the episodes of one update; 1 where left out, 4 for `ppo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 64))]
    pub epochs: Option<u32>,
    /// Parts into which the episodes of one update are cut, with a change of weights after each; 1 where left out, 4 for `ppo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1_024))]
    pub minibatches: Option<u32>,
    /// Bounds of the probability ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<Clip>,
    /// Keeps the policy near another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kl: Option<Kl>,
    /// How advantages are computed; that of the preset where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advantage: Option<Advantage>,
    /// How token losses become one number; that of the preset where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<Aggregation>,
    /// Weight of the entropy bonus; 0 where left out, 0.01 for `ppo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<f64>,
    /// Weight of the value loss of `ppo`; 0.5 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Discount per turn for algorithms that look at turns (`ppo`, `gigpo`, `reinforce_pp`); 0.99 for `ppo`, else 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// Trace decay of generalised advantage estimation; 0.95 where left out. For `ppo` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// More terms of the loss.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 8))]
    pub auxiliary: Vec<Auxiliary>,
}

/// A preset of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AlgorithmName {
    /// Supervised: masked cross-entropy over the global token count.
    Sft,
    /// Proximal policy optimisation with a value function and generalised advantages.
    Ppo,
    /// Group-relative: (r - mean) / (sd + eps), mean over sequences of token means.
    Grpo,
    /// Group-relative without the division by spread and length.
    DrGrpo,
    /// Leave one out: the mean of the others as baseline.
    Rloo,
    /// Batch-wide whitening, optionally with group means taken first.
    ReinforcePp,
    /// Wider upper clip, token mean, groups with equal rewards drawn again, overlong answers masked.
    Dapo,
    /// One ratio per sequence.
    Gspo,
    /// Median baseline; the median rollout leaves the update.
    McGrpo,
    /// Episode advantage plus step advantage within equal states.
    Gigpo,
    /// Normalised within strata of equal numbers of tool calls.
    Stratified,
    /// Self-play: a running baseline per game and role.
    RoleConditioned,
}

/// How advantages are computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
pub enum Advantage {
    /// (r - mean) / (sd of n - 1 + eps).
    GroupNormalised {
        /// Keeps the quotient finite.
        #[serde(default = "tiny")]
        epsilon: f64,
    },
    /// r - mean.
    GroupCentred,
    /// r - mean of the others.
    LeaveOneOut,
    /// Return to go, whitened over all tokens of the batch.
    BatchWhitened {
        /// Takes the group's mean away first.
        #[serde(default)]
        group_mean_first: bool,
    },
    /// (r - median) / (median absolute deviation + eps); the median rollout leaves the update.
    GroupMedian {
        /// Keeps the quotient finite.
        #[serde(default = "thousandth")]
        epsilon: f64,
    },
    /// Episode advantage + weight x step advantage within groups of equal states.
    GroupInGroup {
        /// Weight of the step advantage.
        #[serde(default = "one")]
        step_weight: f64,
        /// Divides by the spread too.
        #[serde(default = "yes")]
        normalise: bool,
    },
    /// alpha x normalised within strata + (1 - alpha) x normalised in the group.
    Stratified {
        /// Weight of the form within strata.
        #[serde(default = "four_fifths")]
        alpha: f64,
        /// Keeps the quotients finite.
        #[serde(default = "tiny")]
        epsilon: f64,
    },
    /// R - b(game, role), b moving by (1 - decay) after each batch.
    RoleBaseline {
        /// How much of the baseline stays.
        #[serde(default = "nineteen_twentieths")]
        decay: f64,
    },
}

fn tiny() -> f64 {
    1e-6
}

fn thousandth() -> f64 {
    1e-3
}

fn one() -> f64 {
    1.0
}

fn four_fifths() -> f64 {
    0.8
}

fn nineteen_twentieths() -> f64 {
    0.95
}

fn yes() -> bool {
    true
}

/// How token losses become one number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
pub enum Aggregation {
    /// Mean over all tokens of the batch.
    TokenMean,
    /// Mean over sequences of their token means.
    SequenceMeanOfTokenMean,
    /// Mean over sequences of their token sums.
    SequenceMeanOfTokenSum,
    /// Sum over tokens divided by sequences x a constant.
    TokenSumOverConstant {
        /// The constant, in tokens: commonly the longest answer.
        constant: f64,
    },
}

/// Bounds of the probability ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Clip {
    /// The ratio counts as no less than 1 - low.
    pub low: f64,
    /// The ratio counts as no more than 1 + high.
    pub high: f64,
    /// Bound of ratio x |A| for negative advantages, above 1; none where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dual: Option<f64>,
}

/// Keeps the policy near another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Kl {
    /// To whom.
    #[serde(default)]
    pub to: KlTo,
    /// Weight in the loss; 0 costs nothing.
    pub beta: f64,
    /// How it is estimated.
    #[serde(default)]
    pub estimator: KlEstimator,
}

/// To whom a policy is kept near.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum KlTo {
    /// What the job started from.
    #[default]
    Reference,
}

/// How a divergence is estimated from sampled tokens, with d = ln p_ref - ln p, <http://joschu.net/blog/kl-approx.html>.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum KlEstimator {
    /// -d.
    K1,
    /// d^2 / 2.
    K2,
    /// e^d - d - 1.
    #[default]
    K3,
}

/// One more term of the loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
pub enum Auxiliary {
    /// Cross-entropy on observation tokens, in the same forward pass.
    Echo {
        /// Its weight.
        weight: f64,
    },
}

/// How episodes are played.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Rollout {
    /// Sessions at once.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 4096))]
    pub concurrent_sessions: u32,
    /// Most turns of an episode.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100_000))]
    pub max_turns: u32,
    /// Most tokens of one answer.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 131_072))]
    pub max_tokens: u32,
    /// Most tokens of a whole episode, prompt included; a longer one is cut there as `max_tokens`.
    #[cfg_attr(feature = "openapi", schema(minimum = 8, maximum = 1_048_576))]
    pub max_context_tokens: u32,
    /// Divides the logits.
    pub temperature: f64,
    /// How actions stand in the text.
    pub tool_format: ToolFormat,
    /// By how many updates the weights that play may lag behind.
    #[cfg_attr(feature = "openapi", schema(maximum = 16))]
    pub staleness_updates_max: u32,
    /// Share of episodes of one update that may fail for reasons of infrastructure before the job fails; they are masked.
    pub masked_share_max: f64,
}

impl Default for Rollout {
    fn default() -> Self {
        Self {
            concurrent_sessions: 64,
            max_turns: 8,
            max_tokens: 512,
            max_context_tokens: 2_048,
            temperature: 1.0,
            tool_format: ToolFormat::Auto,
            staleness_updates_max: 0,
            masked_share_max: 0.5,
        }
    }
}

/// How actions stand in the text of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolFormat {
    /// Tool calls where the environment has tools and the model's template knows them, else text.
    #[default]
    Auto,
    /// `<tool_call>{"name":..,"arguments":{..}}</tool_call>`.
    Json,
    /// The text itself is the action.
    Text,
}

/// What is rewarded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Reward {
    /// Which number of an episode.
    pub from: RewardFrom,
    /// What an episode counts that a limit cut.
    pub truncated: Truncated,
    /// Taken from the reward per token of an answer, in thousandths: r - cost x tokens / 1000.
    pub length_cost: f64,
}

impl Default for Reward {
    fn default() -> Self {
        Self { from: RewardFrom::Score, truncated: Truncated::Score, length_cost: 0.0 }
    }
}

/// Which number of an episode is its reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RewardFrom {
    /// The verdict's score.
    Score,
    /// The verdict's strict score: 1 or 0.
    Strict,
    /// The sum of the steps' rewards.
    Return,
}

/// What an episode counts that a limit cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Truncated {
    /// What it was judged.
    Score,
    /// It leaves the update.
    Mask,
    /// Nothing.
    Zero,
}

/// Examples to learn from: JSON Lines of `{"messages":[..],"tools":[..]?}` in the form of OpenAI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Data {
    /// The export of a `collect` job, which has to succeed first.
    Job(JobId),
    /// A file that was uploaded: `file-..`.
    File(String),
    /// The lines themselves, at most 4 MiB.
    Lines(String),
}

/// How weights are changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Optimizer {
    /// Which.
    pub name: OptimizerName,
    /// Learning rate.
    pub lr: f64,
    /// Updates over which the rate grows from 0.
    pub warmup_steps: u64,
    /// How it goes on.
    pub schedule: Schedule,
    /// Decay of the running mean.
    pub beta1: f64,
    /// Decay of the running square.
    pub beta2: f64,
    /// Keeps the quotient finite.
    pub epsilon: f64,
    /// Share of a weight that goes per update and unit of rate.
    pub weight_decay: f64,
    /// Bound of the gradient's norm over all tensors; 0 bounds nothing.
    pub grad_norm_max: f64,
    /// Most tokens in one pass forwards and backwards, padding included; gradients of several are added up.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub micro_batch_tokens: u64,
    /// Examples of one update; for `sft` alone.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 65_536))]
    pub examples_per_step: u32,
}

impl Default for Optimizer {
    fn default() -> Self {
        Self {
            name: OptimizerName::Adamw,
            lr: 1e-5,
            warmup_steps: 0,
            schedule: Schedule::Constant,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.0,
            grad_norm_max: 1.0,
            micro_batch_tokens: 16_384,
            examples_per_step: 32,
        }
    }
}

/// An optimizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OptimizerName {
    /// Adam with decoupled weight decay, <https://arxiv.org/abs/1711.05101>.
    Adamw,
}

/// How the learning rate goes on after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// It stays.
    Constant,
    /// In a line to 0 at the last update.
    Linear,
    /// In half a cosine to 0 at the last update.
    Cosine,
}

/// Measures on held-out tasks during a training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EvaluateMeanwhile {
    /// After every so many updates, and after the last.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub every: u64,
    /// Of which split the tasks are; never one that is trained on.
    pub split: String,
    /// How many episodes per environment.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100_000))]
    pub episodes: u32,
    /// How answers are sampled; the most probable token each time where left out.
    #[serde(default)]
    pub sampling: Sampling,
    /// Also measure before the first update.
    #[serde(default = "yes")]
    pub at_start: bool,
}

/// When to keep a point to go on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointPlan {
    /// After every so many updates, and after the last.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub every: u64,
    /// How many of the newest are kept.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100))]
    pub keep: u32,
}

impl Default for CheckpointPlan {
    fn default() -> Self {
        Self { every: 20, keep: 3 }
    }
}

impl AlgorithmName {
    /// Whether it compares rollouts of one task.
    #[must_use]
    pub const fn is_grouped(self) -> bool {
        !matches!(self, Self::Sft | Self::Ppo | Self::RoleConditioned)
    }
}

impl Train {
    /// Notes every fault and contradiction.
    pub fn check(&self, faults: &mut Faults) {
        let name = self.algorithm.name;
        faults.unless((1..=STEPS_MAX).contains(&self.steps), "steps", format!("1 to {STEPS_MAX}"));
        self.policy.check(faults);
        if name == AlgorithmName::Sft {
            faults.unless(self.data.is_some(), "data", "sft learns from data: name a job, a file, or give lines");
            let played = self.evaluate.is_some() == self.environments.is_empty();
            faults.unless(!played, "environments", "sft names environments exactly where it evaluates in them");
        } else {
            faults.unless(self.data.is_none(), "data", "only sft learns from data");
            faults.unless(!self.environments.is_empty(), "environments", "name at least one environment to play");
        }
        check_environments(&self.environments, faults);
        self.algorithm.check(faults);
        self.rollout.check(faults);
        faults.unless(
            finite(self.reward.length_cost) && self.reward.length_cost >= 0.0,
            "reward.length_cost",
            "0 or more",
        );
        self.optimizer.check(faults);
        if let Some(Data::Lines(lines)) = &self.data {
            faults.unless(lines.len() <= 4 << 20, "data.lines", "at most 4 MiB: upload a file instead");
        }
        if let Some(evaluate) = &self.evaluate {
            faults.unless(evaluate.every >= 1, "evaluate.every", "1 or more");
            faults.unless((1..=100_000).contains(&evaluate.episodes), "evaluate.episodes", "1 to 100000");
            let trained = self.environments.iter().any(|mix| name != AlgorithmName::Sft && mix.split == evaluate.split);
            faults.unless(!trained, "evaluate.split", "this split is trained on: choose a held-out one");
            evaluate.sampling.check("evaluate.sampling", faults);
        }
        faults.unless(self.checkpoint.every >= 1, "checkpoint.every", "1 or more");
        faults.unless((1..=100).contains(&self.checkpoint.keep), "checkpoint.keep", "1 to 100");
    }
}

fn finite(number: f64) -> bool {
    number.is_finite()
}

impl TrainedPolicy {
    fn check(&self, faults: &mut Faults) {
        let builtin = self.from.is_scratch();
        self.from.check("policy.from", faults);
        faults.unless(self.from.is_trainable(), "policy.from", "this policy has no weights to train");
        if let Some(lora) = &self.lora {
            faults.unless(!builtin, "policy.lora", "a model from scratch has no weights worth keeping: leave lora out");
            faults.unless((1..=1_024).contains(&lora.rank), "policy.lora.rank", "1 to 1024");
            faults.unless(finite(lora.alpha) && lora.alpha > 0.0, "policy.lora.alpha", "above 0");
            faults.unless(!lora.targets.is_empty(), "policy.lora.targets", "name at least one projection");
        }
        if let Some(size) = &self.size {
            faults.unless(builtin, "policy.size", "only a model from scratch has a size to choose");
            let (width, heads) = (size.width.unwrap_or(128), size.heads.unwrap_or(4));
            faults.unless((1..=128).contains(&size.layers.unwrap_or(4)), "policy.size.layers", "1 to 128");
            faults.unless((1..=256).contains(&heads), "policy.size.heads", "1 to 256");
            let fits = (8..=16_384).contains(&width) && width.is_multiple_of(2 * heads.max(1));
            faults.unless(fits, "policy.size.width", "8 to 16384, and a multiple of 2 x heads");
        }
    }
}

impl Algorithm {
    fn check(&self, faults: &mut Faults) {
        let name = self.name;
        let only = |faults: &mut Faults, given: bool, field: &str, fits: bool, who: &str| {
            faults.unless(!given || fits, &format!("algorithm.{field}"), format!("only {who} takes this"));
        };
        let learns_by_playing = name != AlgorithmName::Sft;
        only(
            faults,
            self.group_size.is_some(),
            "group_size",
            name.is_grouped(),
            "an algorithm that compares within groups",
        );
        only(faults, self.tasks_per_step.is_some(), "tasks_per_step", learns_by_playing, "an algorithm that plays");
        only(faults, self.epochs.is_some(), "epochs", learns_by_playing, "an algorithm that plays");
        only(faults, self.minibatches.is_some(), "minibatches", learns_by_playing, "an algorithm that plays");
        only(faults, self.clip.is_some(), "clip", learns_by_playing, "an algorithm that plays");
        only(faults, self.kl.is_some(), "kl", learns_by_playing, "an algorithm that plays");
        only(faults, self.entropy.is_some(), "entropy", learns_by_playing, "an algorithm that plays");
        only(faults, !self.auxiliary.is_empty(), "auxiliary", learns_by_playing, "an algorithm that plays");
        only(faults, self.aggregation.is_some(), "aggregation", learns_by_playing, "an algorithm that plays");
        only(faults, self.value.is_some(), "value", name == AlgorithmName::Ppo, "ppo");
        only(faults, self.lambda.is_some(), "lambda", name == AlgorithmName::Ppo, "ppo");
        let turns = matches!(name, AlgorithmName::Ppo | AlgorithmName::Gigpo | AlgorithmName::ReinforcePp);
        only(faults, self.gamma.is_some(), "gamma", turns, "ppo, gigpo or reinforce_pp");
        only(
            faults,
            self.advantage.is_some(),
            "advantage",
            name.is_grouped() || name == AlgorithmName::RoleConditioned,
            "a group-relative algorithm",
        );
        if let Some(Advantage::RoleBaseline { .. }) = self.advantage {
            faults.unless(
                name == AlgorithmName::RoleConditioned,
                "algorithm.advantage",
                "only role_conditioned has roles",
            );
        }
        if let Some(advantage) = &self.advantage {
            let fits = name != AlgorithmName::RoleConditioned || !advantage.compares_within_groups();
            faults.unless(
                fits,
                "algorithm.advantage",
                "role_conditioned plays each task once: a group of one compares with nothing",
            );
            advantage.check(faults);
        }
        let in_range =
            |value: Option<u32>, most: u32, least: u32| value.is_none_or(|value| (least..=most).contains(&value));
        faults.unless(in_range(self.group_size, 1_024, 2), "algorithm.group_size", "2 to 1024");
        faults.unless(in_range(self.tasks_per_step, 65_536, 1), "algorithm.tasks_per_step", "1 to 65536");
        faults.unless(in_range(self.epochs, 64, 1), "algorithm.epochs", "1 to 64");
        faults.unless(in_range(self.minibatches, 1_024, 1), "algorithm.minibatches", "1 to 1024");
        for (field, value, most) in [
            ("gamma", self.gamma, 1.0),
            ("lambda", self.lambda, 1.0),
            ("entropy", self.entropy, 1e3),
            ("value", self.value, 1e3),
        ] {
            let fits = value.is_none_or(|value| finite(value) && (0.0..=most).contains(&value));
            faults.unless(fits, &format!("algorithm.{field}"), format!("0 to {most}"));
        }
        if let Some(clip) = self.clip {
            faults.unless((0.0..=1.0).contains(&clip.low), "algorithm.clip.low", "0 to 1");
            faults.unless(finite(clip.high) && clip.high >= 0.0, "algorithm.clip.high", "0 or more");
            faults.unless(clip.dual.is_none_or(|dual| finite(dual) && dual > 1.0), "algorithm.clip.dual", "above 1");
        }
        if let Some(kl) = &self.kl {
            faults.unless(finite(kl.beta) && kl.beta >= 0.0, "algorithm.kl.beta", "0 or more");
        }
        if let Some(Aggregation::TokenSumOverConstant { constant }) = self.aggregation {
            faults.unless(finite(constant) && constant > 0.0, "algorithm.aggregation.constant", "above 0");
        }
        for (index, auxiliary) in self.auxiliary.iter().enumerate() {
            let Auxiliary::Echo { weight } = auxiliary;
            faults.unless(
                finite(*weight) && *weight >= 0.0,
                &format!("algorithm.auxiliary[{index}].weight"),
                "0 or more",
            );
        }
    }
}

impl Advantage {
    /// Whether it needs several rollouts of one task.
    #[must_use]
    pub const fn compares_within_groups(&self) -> bool {
        !matches!(self, Self::RoleBaseline { .. } | Self::BatchWhitened { group_mean_first: false })
    }

    fn check(&self, faults: &mut Faults) {
        let not_negative = |value: f64| finite(value) && value >= 0.0;
        let share = |value: f64| (0.0..=1.0).contains(&value);
        match *self {
            Self::GroupNormalised { epsilon } | Self::GroupMedian { epsilon } => {
                faults.unless(not_negative(epsilon), "algorithm.advantage.epsilon", "0 or more");
            }
            Self::GroupInGroup { step_weight, .. } => {
                faults.unless(not_negative(step_weight), "algorithm.advantage.step_weight", "0 or more");
            }
            Self::Stratified { alpha, epsilon } => {
                faults.unless(share(alpha), "algorithm.advantage.alpha", "0 to 1");
                faults.unless(not_negative(epsilon), "algorithm.advantage.epsilon", "0 or more");
            }
            Self::RoleBaseline { decay } => faults.unless(share(decay), "algorithm.advantage.decay", "0 to 1"),
            Self::GroupCentred | Self::LeaveOneOut | Self::BatchWhitened { .. } => {}
        }
    }
}

impl Rollout {
    fn check(&self, faults: &mut Faults) {
        let sessions = (1..=CONCURRENT_SESSIONS_MAX).contains(&self.concurrent_sessions);
        faults.unless(sessions, "rollout.concurrent_sessions", format!("1 to {CONCURRENT_SESSIONS_MAX}"));
        faults.unless((1..=100_000).contains(&self.max_turns), "rollout.max_turns", "1 to 100000");
        faults.unless((1..=131_072).contains(&self.max_tokens), "rollout.max_tokens", "1 to 131072");
        faults.unless((8..=1_048_576).contains(&self.max_context_tokens), "rollout.max_context_tokens", "8 to 1048576");
        faults.unless(
            finite(self.temperature) && self.temperature > 0.0 && self.temperature <= 10.0,
            "rollout.temperature",
            "above 0, at most 10",
        );
        faults.unless(self.staleness_updates_max <= 16, "rollout.staleness_updates_max", "at most 16");
        faults.unless((0.0..=1.0).contains(&self.masked_share_max), "rollout.masked_share_max", "0 to 1");
    }
}

impl Optimizer {
    fn check(&self, faults: &mut Faults) {
        let positive = |value: f64| finite(value) && value > 0.0;
        faults.unless(finite(self.lr) && (0.0..=10.0).contains(&self.lr), "optimizer.lr", "0 to 10");
        faults.unless((0.0..1.0).contains(&self.beta1), "optimizer.beta1", "0 to 1, without 1");
        faults.unless((0.0..1.0).contains(&self.beta2), "optimizer.beta2", "0 to 1, without 1");
        faults.unless(positive(self.epsilon), "optimizer.epsilon", "above 0");
        faults.unless(finite(self.weight_decay) && self.weight_decay >= 0.0, "optimizer.weight_decay", "0 or more");
        faults.unless(finite(self.grad_norm_max) && self.grad_norm_max >= 0.0, "optimizer.grad_norm_max", "0 or more");
        faults.unless(self.micro_batch_tokens >= 1, "optimizer.micro_batch_tokens", "1 or more");
        faults.unless((1..=65_536).contains(&self.examples_per_step), "optimizer.examples_per_step", "1 to 65536");
    }
}
