//! Gradients of losses over log-probabilities. Where the activations of a pass would take much memory, the pass goes layer by layer:
//! only what comes into each layer and what its attention mixes is kept, and all else is computed again on the way back
//! (<https://arxiv.org/abs/1604.06174>), the attention some queries at a time.

use burn::tensor::{Gradients, IndexingUpdateOp, Int, Tensor};

use super::attention::{SCORES_MAX, rows};
use super::config::TransformerConfig;
use super::log_probs::CHUNK_LOGITS_MAX;
use super::rotary::Rotary;
use super::transformer::{Layer, Transformer};
use crate::failure::TrainerError;

/// Most bytes of activations that one graph over all layers may keep. A constant, so that rounding is the same wherever it runs.
const GRAPH_BYTES_MAX: u64 = 2 << 30;
/// Copies of the scores of the attention that a graph keeps.
const GRAPH_SCORES: usize = 4;
/// Copies of the logits that a graph keeps.
const HEAD_COPIES: usize = 4;

/// Tokens of a pass, and those among them that are predicted.
#[derive(Debug, Clone)]
pub struct Predictions {
    /// `[batch, time]`, padded at the right.
    pub tokens: Tensor<2, Int>,
    /// Where they are predicted, `[n]`, counted through batch x time.
    pub positions: Tensor<1, Int>,
    /// The predicted tokens, `[n]`.
    pub targets: Tensor<1, Int>,
    /// Divides the logits; above 0.
    pub temperature: f64,
    /// True if the loss needs entropies.
    pub entropies: bool,
}

/// Quantities that losses are computed from; each carries gradients.
#[derive(Debug)]
pub struct Scores {
    /// Normed states of the last layer, `[batch, time, width]`.
    pub states: Tensor<3>,
    /// Log-probability of each target, `[n]`.
    pub log_probs: Tensor<1>,
    /// Entropy in nats of the distribution of each target, `[n]`, where it was asked for.
    pub entropies: Option<Tensor<1>>,
}

/// Tensors that are kept of a layer: its input, `[batch, time, width]`, and the mix of its attention, `[batch, time, heads x head_dim]`.
struct Kept {
    x: Tensor<3>,
    mixed: Tensor<3>,
}

impl Transformer {
    /// The scores of what is predicted.
    pub fn scores(&self, predictions: Predictions) -> Scores {
        let Predictions { tokens, positions, targets, temperature, entropies } = predictions;
        let states = self.states(tokens);
        let (log_probs, entropies) = self.log_probs(states.clone(), positions, targets, temperature, entropies);
        Scores { states, log_probs, entropies }
    }

    /// Computes a loss and its gradients, which `collect` takes: in one piece, or part by part of the model. `loss` answers the loss, `[1]`,
    /// and whatever else.
    ///
    /// # Errors
    /// That of `loss`.
    pub fn learn<T>(
        &self,
        predictions: Predictions,
        loss: impl FnOnce(Scores) -> Result<(Tensor<1>, T), TrainerError>,
        collect: &mut dyn FnMut(Gradients),
    ) -> Result<T, TrainerError> {
        let [batch, time] = predictions.tokens.dims();
        let [predicted] = predictions.positions.dims();
        if graph_bytes(self.config(), batch, time, predicted) <= GRAPH_BYTES_MAX {
            self.learn_whole(predictions, loss, collect)
        } else {
            self.learn_by_layer(predictions, loss, collect)
        }
    }

    fn learn_whole<T>(
        &self,
        predictions: Predictions,
        loss: impl FnOnce(Scores) -> Result<(Tensor<1>, T), TrainerError>,
        collect: &mut dyn FnMut(Gradients),
    ) -> Result<T, TrainerError> {
        let (loss, answer) = loss(self.scores(predictions))?;
        collect(loss.backward());
        Ok(answer)
    }

    fn learn_by_layer<T>(
        &self,
        predictions: Predictions,
        loss: impl FnOnce(Scores) -> Result<(Tensor<1>, T), TrainerError>,
        collect: &mut dyn FnMut(Gradients),
    ) -> Result<T, TrainerError> {
        let fixed = burn::module::Module::valid(self);
        let Predictions { tokens, positions, targets, temperature, entropies } = predictions;
        let (positions, inner_targets) = (positions.inner(), targets.clone().inner());
        let (last, kept) = fixed.kept(tokens.clone().inner());
        let states = fixed.model.norm.forward(last.clone());
        let (logs, spread) = fixed.log_probs(states.clone(), positions.clone(), inner_targets, temperature, entropies);

        let (states, logs, spread) = (leaf(states), leaf(logs), spread.map(leaf));
        let scores = Scores { states: states.clone(), log_probs: logs.clone(), entropies: spread.clone() };
        let (loss, answer) = loss(scores)?;
        let mut backward = loss.backward();
        let of_states = gradient(&states, &mut backward);
        let of_logs = gradient(&logs, &mut backward);
        let of_spread = spread.map(|spread| gradient(&spread, &mut backward));
        collect(backward);

        let [batch, time, width] = states.dims();
        let states = states.inner().reshape([batch * time, width]);
        let selected =
            self.pull_head(states.select(0, positions.clone()), &targets, temperature, of_logs, of_spread, collect);
        let of_states = of_states.reshape([batch * time, width]);
        let of_states = of_states.select_assign(0, positions, selected, IndexingUpdateOp::Add);
        let last = leaf(last);
        let normed = self.model.norm.forward(last.clone());
        let mut backward = pull(normed, of_states.reshape([batch, time, width]));
        let mut of_x = gradient(&last, &mut backward);
        collect(backward);

        let rotary = self.rotary_of(time);
        for (layer, kept) in self.model.layers.iter().zip(kept).rev() {
            of_x = layer.pull(kept, of_x, &rotary, collect);
        }
        if self.learns_embeddings() {
            collect(pull(self.embedded(tokens), of_x));
        }
        Ok(answer)
    }

    /// The states of the last layer before their norm, and what is kept of each layer. For a model without autodiff.
    fn kept(&self, tokens: Tensor<2, Int>) -> (Tensor<3>, Vec<Kept>) {
        let [_, time] = tokens.dims();
        let rotary = self.rotary_of(time);
        let mut x = self.embedded(tokens);
        let mut kept = Vec::with_capacity(self.model.layers.len());
        for layer in &self.model.layers {
            let (q, k, v) = layer.project(x.clone(), &rotary);
            let mixed = layer.self_attn.mix_causal(&q, &k, &v);
            kept.push(Kept { x: x.clone(), mixed: mixed.clone() });
            x = layer.follow(x, mixed);
        }
        (x, kept)
    }

    /// Gradient of the states at the predicted positions, `[n, width]`, from those of their log-probabilities and entropies, `[n]`.
    fn pull_head(
        &self,
        states: Tensor<2>,
        targets: &Tensor<1, Int>,
        temperature: f64,
        of_logs: Tensor<1>,
        of_spread: Option<Tensor<1>>,
        collect: &mut dyn FnMut(Gradients),
    ) -> Tensor<2> {
        let rows = self.chunk_rows();
        let mut of_spread = of_spread.map(|of| of.split(rows, 0).into_iter());
        let chunks = states.split(rows, 0).into_iter().zip(targets.clone().split(rows, 0)).zip(of_logs.split(rows, 0));
        let parts = chunks.map(|((states, targets), of_logs)| {
            let states = leaf(states);
            let of_spread = of_spread.as_mut().and_then(Iterator::next);
            let (logs, spread) = self.scored(rows, states.clone(), targets, temperature, of_spread.is_some());
            let mut sum = (logs * of_logs.autodiff()).sum();
            if let (Some(spread), Some(of_spread)) = (spread, of_spread) {
                sum = sum + (spread * of_spread.autodiff()).sum();
            }
            let mut backward = sum.backward();
            let of_states = gradient(&states, &mut backward);
            collect(backward);
            of_states
        });
        Tensor::cat(parts.collect(), 0)
    }
}

impl Layer {
    /// Gradient of what came into the layer, `[batch, time, width]`, from that of what went out.
    fn pull(&self, kept: Kept, of_out: Tensor<3>, rotary: &Rotary, collect: &mut dyn FnMut(Gradients)) -> Tensor<3> {
        let (x, mixed) = (leaf(kept.x.clone()), leaf(kept.mixed));
        let mut backward = pull(self.follow(x.clone(), mixed.clone()), of_out);
        let (directly, of_mixed) = (gradient(&x, &mut backward), gradient(&mixed, &mut backward));
        collect(backward);

        let x = leaf(kept.x);
        let (q, k, v) = self.project(x.clone(), rotary);
        let (of_q, of_k, of_v) = self.pull_attention([&q, &k, &v].map(|y| y.clone().inner()).each_ref(), &of_mixed);
        let product = |y: Tensor<4>, of: Tensor<4>| (y * of.autodiff()).sum();
        let mut backward = (product(q, of_q) + product(k, of_k) + product(v, of_v)).backward();
        let through_attention = gradient(&x, &mut backward);
        collect(backward);
        directly + through_attention
    }

    /// Gradients of queries, keys and values from that of what they mix to, some queries at a time.
    fn pull_attention(&self, [q, k, v]: [&Tensor<4>; 3], of_mixed: &Tensor<3>) -> (Tensor<4>, Tensor<4>, Tensor<4>) {
        let (mut of_q, mut of_k, mut of_v) = (Vec::new(), k.zeros_like(), v.zeros_like());
        for block in self.self_attn.blocks(q.dims()) {
            let seen = 0..block.end;
            let (asked, keys, values) =
                (leaf(rows(q, block.clone())), leaf(rows(k, seen.clone())), leaf(rows(v, seen)));
            let masked = self.self_attn.block_mask(&block, &asked.device());
            let mixed = self.self_attn.mix(asked.clone(), keys.clone(), values.clone(), &masked);
            let mut backward = pull(mixed, of_mixed.clone().narrow(1, block.start, block.len()));
            of_q.push(gradient(&asked, &mut backward));
            for (sum, part) in [(&mut of_k, &keys), (&mut of_v, &values)] {
                let part = gradient(part, &mut backward);
                let [batch, heads, seen, width] = part.dims();
                let place = [0..batch, 0..heads, 0..seen, 0..width];
                sum.inplace(|sum| {
                    let grown = sum.clone().slice(place.clone()) + part;
                    sum.slice_assign(place, grown)
                });
            }
        }
        (Tensor::cat(of_q, 2), of_k, of_v)
    }
}

/// A beginning of a graph.
fn leaf<const D: usize>(tensor: Tensor<D>) -> Tensor<D> {
    tensor.autodiff().require_grad()
}

/// Goes back from `output`, whose gradient is known.
fn pull<const D: usize>(output: Tensor<D>, of_output: Tensor<D>) -> Gradients {
    (output * of_output.autodiff()).sum().backward()
}

/// Gradient of a leaf; zeros where nothing depends on it.
fn gradient<const D: usize>(leaf: &Tensor<D>, backward: &mut Gradients) -> Tensor<D> {
    leaf.grad_remove(backward).unwrap_or_else(|| leaf.clone().inner().zeros_like())
}

/// Bytes of activations that a graph over all layers keeps, about: of `batch` rows of `time` tokens, `predicted` of which are predicted.
fn graph_bytes(config: &TransformerConfig, batch: usize, time: usize, predicted: usize) -> u64 {
    let scores = GRAPH_SCORES * batch * time * config.heads * time;
    bytes(config.layers * (layer_numbers(config, batch * time) + scores) + HEAD_COPIES * predicted * config.vocab_size)
}

/// Bytes that a pass layer by layer takes, about: what is kept of all layers, and the graph of one layer with a block of its attention or of
/// some logits, whatever is more.
fn layer_bytes(config: &TransformerConfig, time: usize) -> u64 {
    let kept = config.layers * time * (config.width + config.heads * config.head_dim);
    let block = GRAPH_SCORES * SCORES_MAX.min(config.heads * time * time).max(config.heads * time);
    let logits = 2 * HEAD_COPIES * CHUNK_LOGITS_MAX.min(time * config.vocab_size);
    bytes(kept + layer_numbers(config, time) + block.max(logits))
}

/// Numbers that the graph of one layer keeps of so many tokens, the scores left out.
fn layer_numbers(config: &TransformerConfig, tokens: usize) -> usize {
    let TransformerConfig { width, heads, kv_heads, head_dim, feed_forward, .. } = *config;
    tokens * (12 * width + 4 * (heads + 2 * kv_heads) * head_dim + 4 * feed_forward)
}

const fn bytes(numbers: usize) -> u64 {
    (size_of::<f32>() * numbers) as u64
}

impl Transformer {
    /// Bytes of activations that learning from one sequence of so many tokens takes, about.
    pub fn learning_bytes(&self, time: usize) -> u64 {
        let whole = graph_bytes(self.config(), 1, time, time);
        if whole <= GRAPH_BYTES_MAX { whole } else { layer_bytes(self.config(), time) }
    }

    /// Bytes of the keys and values of one sequence of so many tokens.
    pub fn cache_bytes(&self, time: usize) -> u64 {
        let TransformerConfig { layers, kv_heads, head_dim, .. } = *self.config();
        bytes(2 * layers * kv_heads * head_dim * time)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use burn::tensor::{Device, Int, Tensor, TensorData};
    use palestra_protocol::spec::train::{Lora, LoraTarget};

    use super::*;
    use crate::model::config::Family;
    use crate::model::{ActorCritic, adapt};
    use crate::optimizer::Gradients as Sum;

    const VOCABULARY: usize = 40;

    fn config() -> TransformerConfig {
        let tiny = TransformerConfig::tiny(VOCABULARY, None, 4_096);
        TransformerConfig { width: 24, layers: 2, heads: 4, kv_heads: 2, head_dim: 6, feed_forward: 32, ..tiny }
    }

    fn init(config: &TransformerConfig) -> Transformer {
        Transformer::init(config, 3, &Device::flex().autodiff()).unwrap()
    }

    /// Two rows, some of whose tokens are predicted, in no order.
    fn predictions(time: usize, device: &Device) -> Predictions {
        let integers = |values: Vec<i64>| {
            let count = values.len();
            Tensor::<1, Int>::from_data(TensorData::new(values, [count]), device)
        };
        let positions: Vec<i64> = (0..2 * time as i64 - 1).rev().step_by(3).collect();
        let targets = positions.iter().map(|position| position * 7 % VOCABULARY as i64).collect();
        Predictions {
            tokens: integers((0..2 * time as i64).map(|place| place * 11 % VOCABULARY as i64).collect())
                .reshape([2, time]),
            positions: integers(positions),
            targets: integers(targets),
            temperature: 0.7,
            entropies: true,
        }
    }

    /// A loss that needs everything: log-probabilities, not linearly, entropies and values.
    fn loss(model: &ActorCritic, scores: Scores) -> Result<(Tensor<1>, f32), TrainerError> {
        let [count] = scores.log_probs.dims();
        let positions = Tensor::<1, Int>::arange(0..count as i64, &model.device());
        let mut loss = scores.log_probs.exp().square().sum();
        if let Some(entropies) = scores.entropies {
            loss = loss - entropies.sum() * 0.3;
        }
        if let Some(values) = model.values(scores.states, positions) {
            loss = loss + (values - 1.0).square().sum();
        }
        let number: f32 = loss.clone().into_scalar();
        Ok((loss, number))
    }

    fn learnt(model: &ActorCritic, predictions: Predictions, by_layer: bool) -> (f32, BTreeMap<String, Vec<f32>>) {
        let mut sum = Sum::new();
        let mut collect = |backward| sum.add(model, backward);
        let loss = |scores| loss(model, scores);
        let number = if by_layer {
            model.policy().learn_by_layer(predictions, loss, &mut collect)
        } else {
            model.policy().learn_whole(predictions, loss, &mut collect)
        };
        let flat = |path: &str| sum.get(path).unwrap().to_data().try_to_vec::<f32>().unwrap();
        (number.unwrap(), sum.paths().map(|path| (path.to_owned(), flat(path))).collect())
    }

    fn assert_same(model: &ActorCritic, predictions: &Predictions) {
        let (whole_loss, whole) = learnt(model, predictions.clone(), false);
        let (loss, by_layer) = learnt(model, predictions.clone(), true);
        assert!((loss - whole_loss).abs() <= 1e-4 * whole_loss.abs(), "{loss} {whole_loss}");
        assert!(by_layer.keys().eq(whole.keys()), "{:?} {:?}", by_layer.keys(), whole.keys());
        assert!(!whole.is_empty());
        for (path, whole) in &whole {
            let largest = whole.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            assert!(largest > 0.0, "{path} learns nothing");
            for (one, other) in by_layer[path].iter().zip(whole) {
                assert!((one - other).abs() <= 2e-4 * largest, "{path}: {one} {other}");
            }
        }
    }

    #[test]
    fn gradients_layer_by_layer_are_those_of_the_whole_graph() {
        let qwen2 = TransformerConfig { kind: Family::Qwen2, qkv_bias: true, tied: false, ..config() };
        let qwen3 = TransformerConfig { kind: Family::Qwen3, qk_norm: true, ..config() };
        for config in [config(), qwen2, qwen3] {
            let model = ActorCritic::without_values(init(&config));
            let mut predictions = predictions(9, &model.device());
            assert_same(&model, &predictions);
            predictions.entropies = false;
            assert_same(&model, &predictions);
        }
    }

    #[test]
    fn values_and_low_rank_parts_learn_the_same() {
        let lora = Lora { rank: 2, alpha: 4.0, targets: vec![LoraTarget::QProj, LoraTarget::DownProj] };
        let adapted = adapt(init(&config()), &lora, 3);
        // B begins at zero, so that A learns nothing at first.
        let predictions = predictions(9, &adapted.device());
        let (_, whole) = learnt(&ActorCritic::without_values(adapted.clone()), predictions.clone(), false);
        let (_, by_layer) = learnt(&ActorCritic::without_values(adapted), predictions.clone(), true);
        assert!(whole.keys().all(|path| path.contains("lora")) && by_layer.keys().eq(whole.keys()));
        for (path, whole) in &whole {
            assert!(by_layer[path].iter().zip(whole).all(|(one, other)| (one - other).abs() < 1e-4), "{path}");
        }
        let with_values = ActorCritic::with_values(init(&config()));
        let [one, other] = [false, true].map(|by_layer| learnt(&with_values, predictions.clone(), by_layer).1);
        let head = other.keys().filter(|path| path.starts_with("value")).collect::<Vec<_>>();
        assert_eq!(head.len(), 2);
        for path in head {
            assert!(one[path].iter().zip(&other[path]).all(|(one, other)| (one - other).abs() < 1e-3), "{path}");
        }
    }

    #[test]
    fn attention_in_blocks_is_that_of_the_whole() {
        let narrow =
            TransformerConfig { width: 8, layers: 1, heads: 16, kv_heads: 4, head_dim: 2, feed_forward: 8, ..config() };
        let model = ActorCritic::without_values(init(&narrow));
        let predictions = predictions(1_100, &model.device());
        assert!(model.policy().model.layers[0].self_attn.blocks([2, 16, 1_100, 2]).count() > 2);
        assert_same(&model, &predictions);
    }

    #[test]
    fn only_passes_that_would_take_much_go_by_layer() {
        let tiny = config();
        assert!(graph_bytes(&tiny, 8, 128, 500) < GRAPH_BYTES_MAX / 10);
        // SmolLM2-135M, <https://huggingface.co/HuggingFaceTB/SmolLM2-135M>.
        let smollm2 = TransformerConfig {
            vocab_size: 49_152,
            width: 576,
            layers: 30,
            heads: 9,
            kv_heads: 3,
            head_dim: 64,
            feed_forward: 1_536,
            ..tiny
        };
        assert!(graph_bytes(&smollm2, 1, 4_096, 4_096) > 20 << 30);
        assert!(layer_bytes(&smollm2, 4_096) < 3 << 30, "{}", layer_bytes(&smollm2, 4_096));
    }
}
