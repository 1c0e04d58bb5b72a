//! Causal attention in which several heads that ask share one that answers, <https://arxiv.org/abs/2305.13245>.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};

use super::config::TransformerConfig;
use super::linear::Linear;
use super::norm::RmsNorm;
use super::rotary::Rotary;
use super::weights::Weights;
use crate::failure::TrainerError;

/// Stand-in for minus infinity before the softmax: its exponential is 0 in f32, and no difference overflows.
const MASKED_SCORE: f32 = -1e30;
/// Most scores of a block of queries: 64 MiB of f32.
pub(super) const SCORES_MAX: usize = 1 << 24;

/// Grouped-query attention.
#[derive(Module, Debug)]
pub(super) struct Attention {
    pub(super) q_proj: Linear,
    pub(super) k_proj: Linear,
    pub(super) v_proj: Linear,
    pub(super) o_proj: Linear,
    q_norm: Option<RmsNorm>,
    k_norm: Option<RmsNorm>,
    #[module(skip)]
    heads: usize,
    #[module(skip)]
    kv_heads: usize,
    #[module(skip)]
    head_dim: usize,
}

impl Attention {
    pub(super) fn new(
        weights: &mut dyn Weights,
        name: &str,
        config: &TransformerConfig,
        device: &Device,
    ) -> Result<Self, TrainerError> {
        let (asked, answered) = (config.heads * config.head_dim, config.kv_heads * config.head_dim);
        let mut linear =
            |part: &str, shape, biased| Linear::new(weights, &format!("{name}.{part}"), shape, biased, device);
        let q_proj = linear("q_proj", [asked, config.width], config.qkv_bias)?;
        let k_proj = linear("k_proj", [answered, config.width], config.qkv_bias)?;
        let v_proj = linear("v_proj", [answered, config.width], config.qkv_bias)?;
        let o_proj = linear("o_proj", [config.width, asked], false)?;
        let mut norm = |part: &str| {
            let name = format!("{name}.{part}");
            let new = || RmsNorm::new(weights, &name, config.head_dim, config.rms_epsilon, device);
            config.qk_norm.then(new).transpose()
        };
        let (q_norm, k_norm) = (norm("q_norm")?, norm("k_norm")?);
        let (heads, kv_heads, head_dim) = (config.heads, config.kv_heads, config.head_dim);
        Ok(Self { q_proj, k_proj, v_proj, o_proj, q_norm, k_norm, heads, kv_heads, head_dim })
    }

    /// `[batch, time, width]` -> queries `[batch, heads, time, head_dim]`, keys and values `[batch, kv_heads, time, head_dim]`.
    pub(super) fn project(&self, x: Tensor<3>, rotary: &Rotary) -> (Tensor<4>, Tensor<4>, Tensor<4>) {
        let [batch, time, width] = x.dims();
        let x = x.reshape([batch * time, width]);
        let by_head = |y: Tensor<2>, heads| y.reshape([batch, time, heads, self.head_dim]);
        let mut q = by_head(self.q_proj.forward(x.clone()), self.heads);
        let mut k = by_head(self.k_proj.forward(x.clone()), self.kv_heads);
        let v = by_head(self.v_proj.forward(x), self.kv_heads);
        if let (Some(q_norm), Some(k_norm)) = (&self.q_norm, &self.k_norm) {
            q = q_norm.forward(q);
            k = k_norm.forward(k);
        }
        (rotary.turn(q).swap_dims(1, 2), rotary.turn(k).swap_dims(1, 2), v.swap_dims(1, 2))
    }

    /// softmax(q kᵀ / sqrt(head_dim)) v, `[batch, time, heads x head_dim]`. Keys are `[batch, kv_heads, seen, head_dim]`; `masked`
    /// broadcasts to `[batch, kv_heads, group x time, seen]`: a group's queries stand one below the other, so that keys
    /// need no repetition.
    pub(super) fn mix(&self, q: Tensor<4>, k: Tensor<4>, v: Tensor<4>, masked: &Tensor<4, Bool>) -> Tensor<3> {
        let [batch, _, time, _] = q.dims();
        let group = self.heads / self.kv_heads;
        let q = q.mul_scalar((self.head_dim as f64).powf(-0.5));
        let q = q.reshape([batch, self.kv_heads, group * time, self.head_dim]);
        let scores = q.matmul(k.transpose()).mask_fill(masked.clone(), MASKED_SCORE);
        let mixed = softmax(scores, 3).matmul(v);
        let mixed = mixed.reshape([batch, self.heads, time, self.head_dim]).swap_dims(1, 2);
        mixed.reshape([batch, time, self.heads * self.head_dim])
    }

    /// The same for whole sequences, in which each query looks at itself and what is before it: some queries at a time, so that the
    /// scores of a long sequence never exist at once.
    pub(super) fn mix_causal(&self, q: &Tensor<4>, k: &Tensor<4>, v: &Tensor<4>) -> Tensor<3> {
        let mixed = self.blocks(q.dims()).map(|block| {
            let masked = self.block_mask(&block, &q.device());
            self.mix(rows(q, block.clone()), rows(k, 0..block.end), rows(v, 0..block.end), &masked)
        });
        Tensor::cat(mixed.collect(), 1)
    }

    /// Queries `[batch, heads, time, head_dim]` in blocks that have [`SCORES_MAX`] scores at most.
    pub(super) fn blocks(&self, [batch, heads, time, _]: [usize; 4]) -> impl Iterator<Item = Range<usize>> + use<> {
        let rows = (SCORES_MAX / (batch * heads * time).max(1)).max(1);
        (0..time).step_by(rows).map(move |from| from..time.min(from + rows))
    }

    /// Mask of a block of queries, whose keys end with it.
    pub(super) fn block_mask(&self, block: &Range<usize>, device: &Device) -> Tensor<4, Bool> {
        let positions: Vec<usize> = block.clone().collect();
        causal_mask(&positions, 1, block.end, self.heads / self.kv_heads, device)
    }
}

/// Some positions of `[batch, heads, time, head_dim]`.
pub(super) fn rows(x: &Tensor<4>, positions: Range<usize>) -> Tensor<4> {
    x.clone().narrow(2, positions.start, positions.len())
}

/// True where a query must not look: keys at later positions. `positions` are those of the queries, `[rows, time]`
/// row-major, keys stand at 0 to `seen` - 1; answers `[rows, 1, group x time, seen]`.
pub(super) fn causal_mask(
    positions: &[usize],
    rows: usize,
    seen: usize,
    group: usize,
    device: &Device,
) -> Tensor<4, Bool> {
    let time = positions.len() / rows.max(1);
    let mut queries = Vec::with_capacity(positions.len() * group);
    for row in positions.chunks(time.max(1)) {
        for _ in 0..group {
            queries.extend(row.iter().map(|position| *position as i64));
        }
    }
    let height = group * time;
    let queries = Tensor::<4, Int>::from_data(TensorData::new(queries, [rows, 1, height, 1]), device);
    let keys = Tensor::<1, Int>::arange(0..seen as i64, device).reshape([1, 1, 1, seen]);
    let whole = [rows, 1, height, seen];
    keys.expand(whole).greater(queries.expand(whole))
}
