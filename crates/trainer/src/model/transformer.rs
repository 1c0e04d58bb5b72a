//! A decoder transformer, as the Llama, SmolLM, Qwen2 and Qwen3 families are built.

use burn::module::{Module, Param};
use burn::tensor::module::embedding;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};

use super::attention::{Attention, causal_mask};
use super::cache::{Appended, Cache, LayerCache};
use super::config::TransformerConfig;
use super::feed_forward::FeedForward;
use super::linear::Linear;
use super::norm::RmsNorm;
use super::rotary::Rotary;
use super::weights::{RandomWeights, Weights};
use crate::failure::TrainerError;

/// A decoder transformer with its head. Fields are named so that the paths of parameters are the names in Hugging Face's files.
#[derive(Module, Debug)]
pub struct Transformer {
    pub(super) model: Decoder,
    lm_head: Option<Linear>,
    #[module(skip)]
    config: TransformerConfig,
}

/// Everything but the head.
#[derive(Module, Debug)]
pub(super) struct Decoder {
    embed_tokens: Embedding,
    pub(super) layers: Vec<Layer>,
    pub(super) norm: RmsNorm,
}

/// One vector per token.
#[derive(Module, Debug)]
pub(super) struct Embedding {
    /// `[vocabulary, width]`.
    weight: Param<Tensor<2>>,
}

/// Attention, then a feed-forward part, each on a normed copy and added to what came in.
#[derive(Module, Debug)]
pub(super) struct Layer {
    pub(super) self_attn: Attention,
    pub(super) mlp: FeedForward,
    input_layernorm: RmsNorm,
    post_attention_layernorm: RmsNorm,
}

impl Layer {
    fn new(
        weights: &mut dyn Weights,
        name: &str,
        config: &TransformerConfig,
        device: &Device,
    ) -> Result<Self, TrainerError> {
        let norm = |weights: &mut dyn Weights, part: &str| {
            RmsNorm::new(weights, &format!("{name}.{part}"), config.width, config.rms_epsilon, device)
        };
        Ok(Self {
            self_attn: Attention::new(weights, &format!("{name}.self_attn"), config, device)?,
            mlp: FeedForward::new(weights, &format!("{name}.mlp"), config, device)?,
            input_layernorm: norm(weights, "input_layernorm")?,
            post_attention_layernorm: norm(weights, "post_attention_layernorm")?,
        })
    }

    /// Queries, keys and values of the attention.
    pub(super) fn project(&self, x: Tensor<3>, rotary: &Rotary) -> (Tensor<4>, Tensor<4>, Tensor<4>) {
        self.self_attn.project(self.input_layernorm.forward(x), rotary)
    }

    /// The rest of the layer behind its attention: `x` came in, and the values were `mixed`.
    pub(super) fn follow(&self, x: Tensor<3>, mixed: Tensor<3>) -> Tensor<3> {
        let x = x + self.self_attn.o_proj.forward_sequence(mixed);
        x.clone() + self.mlp.forward(self.post_attention_layernorm.forward(x))
    }

    /// A whole sequence at once: `[batch, time, width]` -> `[batch, time, width]`.
    fn forward(&self, x: Tensor<3>, rotary: &Rotary) -> Tensor<3> {
        let (q, k, v) = self.project(x.clone(), rotary);
        self.follow(x, self.self_attn.mix_causal(&q, &k, &v))
    }

    /// New tokens of some rows after what the cache holds of them: `[rows, time, width]` -> `[rows, time, width]`.
    fn append(
        &self,
        x: Tensor<3>,
        rotary: &Rotary,
        masked: &Tensor<4, Bool>,
        cache: &mut LayerCache,
        appended: &Appended,
    ) -> Tensor<3> {
        let (q, k, v) = self.project(x.clone(), rotary);
        cache.write(&k, &v, appended);
        let (k, v) = cache.read(appended);
        self.follow(x, self.self_attn.mix(q, k, v, masked))
    }
}

impl Transformer {
    /// A model with random weights. Every weight is a function of the seed and its name alone: the same on every device.
    ///
    /// # Errors
    /// `BadCheckpoint` where the configuration makes no model.
    pub fn init(config: &TransformerConfig, seed: u64, device: &Device) -> Result<Self, TrainerError> {
        Self::build(config, &mut RandomWeights { seed, layers: config.layers }, device)
    }

    /// A model with weights by name.
    pub(super) fn build(
        config: &TransformerConfig,
        weights: &mut dyn Weights,
        device: &Device,
    ) -> Result<Self, TrainerError> {
        config.check()?;
        let table = [config.vocab_size, config.width];
        let embed = weights.take("model.embed_tokens.weight", &table)?;
        let layers =
            (0..config.layers).map(|layer| Layer::new(weights, &format!("model.layers.{layer}"), config, device));
        let layers = layers.collect::<Result<Vec<_>, _>>()?;
        let norm = RmsNorm::new(weights, "model.norm", config.width, config.rms_epsilon, device)?;
        let lm_head = if config.tied { None } else { Some(Linear::new(weights, "lm_head", table, false, device)?) };
        let embed_tokens = Embedding { weight: Param::from_data(embed, device) };
        Ok(Self { model: Decoder { embed_tokens, layers, norm }, lm_head, config: config.clone() })
    }

    /// Its shape.
    pub const fn config(&self) -> &TransformerConfig {
        &self.config
    }

    /// Device of its weights.
    pub fn device(&self) -> Device {
        self.model.embed_tokens.weight.val().device()
    }

    /// The normed states of the last layer: tokens `[batch, time]` -> `[batch, time, width]`. Rows may be padded at the right
    /// with any token: no position sees a later one.
    pub fn states(&self, tokens: Tensor<2, Int>) -> Tensor<3> {
        let [_, time] = tokens.dims();
        let rotary = self.rotary_of(time);
        let mut x = self.embedded(tokens);
        for layer in &self.model.layers {
            x = layer.forward(x, &rotary);
        }
        self.model.norm.forward(x)
    }

    /// The vectors of tokens: `[batch, time]` -> `[batch, time, width]`.
    pub(super) fn embedded(&self, tokens: Tensor<2, Int>) -> Tensor<3> {
        embedding(self.model.embed_tokens.weight.val(), tokens)
    }

    /// True if the vectors of tokens are trained.
    pub(super) fn learns_embeddings(&self) -> bool {
        self.model.embed_tokens.weight.is_require_grad()
    }

    /// states `[n, width]` -> logits `[n, vocabulary]`.
    pub fn logits(&self, states: Tensor<2>) -> Tensor<2> {
        match &self.lm_head {
            Some(head) => head.forward(states),
            None => states.matmul(self.model.embed_tokens.weight.val().transpose()),
        }
    }

    /// Room for `slots` sequences of at most `capacity` tokens each, for a model without autodiff (`valid()`).
    pub fn new_cache(&self, slots: usize, capacity: usize) -> Cache {
        Cache::new(&self.config, slots, capacity, &self.device())
    }

    /// Appends `tokens[i]` to slot `slots[i]`; rows may differ in length, whether they are first read or go on. Answers the
    /// normed states of each row's last token, `[rows, width]`. For a model without autodiff (`valid()`).
    ///
    /// # Errors
    /// `Internal`, with the cache unchanged, where a row is empty or holds no token of the vocabulary, slots repeat or
    /// do not exist, or a slot's capacity is exceeded.
    pub fn append(&self, cache: &mut Cache, slots: &[usize], tokens: &[&[u32]]) -> Result<Tensor<2>, TrainerError> {
        let device = self.device();
        let counts: Vec<usize> = tokens.iter().map(|row| row.len()).collect();
        let appended = cache.plan(slots, &counts, &device)?;
        let (rows, time) = (tokens.len(), appended.time);
        let mut padded = vec![0_i64; rows * time];
        for (target, row) in padded.chunks_mut(time).zip(tokens) {
            for (target, token) in target.iter_mut().zip(*row) {
                if *token as usize >= self.config.vocab_size {
                    let size = self.config.vocab_size;
                    return Err(TrainerError::Internal(format!("token {token} lies beyond a vocabulary of {size}")));
                }
                *target = i64::from(*token);
            }
        }
        let positions: Vec<usize> = appended.rows.iter().flat_map(|row| row.start..row.start + time).collect();
        let rotary = self.rotary(&positions, rows, &device);
        let group = self.config.heads / self.config.kv_heads;
        let masked = causal_mask(&positions, rows, appended.seen, group, &device);
        let tokens = Tensor::<2, Int>::from_data(TensorData::new(padded, [rows, time]), &device);
        let mut x = self.embedded(tokens);
        cache.reserve(&appended);
        for (layer, held) in self.model.layers.iter().zip(&mut cache.layers) {
            x = layer.append(x, &rotary, &masked, held, &appended);
        }
        let last = appended.rows.iter().enumerate().map(|(index, row)| (index * time + row.count - 1) as i64);
        let last = Tensor::<1, Int>::from_data(TensorData::new(last.collect::<Vec<_>>(), [rows]), &device);
        cache.grow(&appended);
        Ok(self.model.norm.forward(x.reshape([rows * time, self.config.width]).select(0, last)))
    }

    /// Rotary embedding of so many positions from 0 on.
    pub(super) fn rotary_of(&self, time: usize) -> Rotary {
        let positions: Vec<usize> = (0..time).collect();
        self.rotary(&positions, 1, &self.device())
    }

    fn rotary(&self, positions: &[usize], rows: usize, device: &Device) -> Rotary {
        Rotary::new(positions, rows, &self.config, device)
    }
}

#[cfg(test)]
mod tests {
    use burn::module::Module;
    use burn::tensor::{Device, Int, Tensor, TensorData};

    use super::{Transformer, TransformerConfig};
    use crate::model::Named;
    use crate::model::config::Family;

    fn config() -> TransformerConfig {
        let tiny = TransformerConfig::tiny(40, None, 64);
        TransformerConfig { width: 24, layers: 2, heads: 4, kv_heads: 2, head_dim: 6, feed_forward: 32, ..tiny }
    }

    fn whole(model: &Transformer, tokens: &[u32]) -> Vec<f32> {
        let data = TensorData::new(tokens.iter().map(|t| i64::from(*t)).collect(), [1, tokens.len()]);
        let states = model.states(Tensor::<2, Int>::from_data(data, &model.device()));
        model.logits(states.narrow(1, tokens.len() - 1, 1).squeeze_dim(1)).into_data().try_to_vec().unwrap()
    }

    fn assert_near(a: &[f32], b: &[f32], most: f32) {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() <= most, "{a} {b}");
        }
    }

    #[test]
    fn parameters_are_named_and_ordered_as_the_configuration_says() {
        let qwen2 = TransformerConfig { kind: Family::Qwen2, qkv_bias: true, tied: false, ..config() };
        let qwen3 = TransformerConfig { kind: Family::Qwen3, qk_norm: true, ..config() };
        for config in [config(), qwen2, qwen3] {
            let model = Transformer::init(&config, 1, &Device::flex()).unwrap();
            let named: Vec<_> =
                model.tensors().into_iter().map(|(name, data)| (name, data.shape().as_slice().to_vec())).collect();
            assert_eq!(named, config.tensors());
        }
    }

    #[test]
    fn rows_of_different_lengths_append_as_if_each_were_read_whole() {
        let model = Transformer::init(&config(), 3, &Device::flex()).unwrap();
        let mut cache = model.new_cache(4, 16);
        let texts: [&[u32]; 3] = [&[1, 2, 3, 4, 5, 6], &[7, 8, 9], &[10, 11, 12, 13]];
        // Slots out of order and not next to each other; the last row comes in later and goes on alone.
        model.append(&mut cache, &[3, 0], &[&texts[0][..4], &texts[1][..1]]).unwrap();
        model.append(&mut cache, &[2], &[&texts[2][..3]]).unwrap();
        let states = model.append(&mut cache, &[0, 2, 3], &[&texts[1][1..], &texts[2][3..], &texts[0][4..]]).unwrap();
        let logits = model.logits(states);
        for (row, text) in [texts[1], texts[2], texts[0]].iter().enumerate() {
            let row: Vec<f32> = logits.clone().narrow(0, row, 1).into_data().try_to_vec().unwrap();
            assert_near(&row, &whole(&model, text), 1e-5);
        }
        assert_eq!([cache.length(0), cache.length(1), cache.length(2), cache.length(3)], [3, 0, 4, 6]);
    }

    #[test]
    fn a_cleared_slot_forgets() {
        let model = Transformer::init(&config(), 3, &Device::flex()).unwrap();
        let mut cache = model.new_cache(2, 8);
        model.append(&mut cache, &[0, 1], &[&[1, 2, 3, 4, 5], &[6]]).unwrap();
        cache.clear(0);
        let states = model.append(&mut cache, &[0, 1], &[&[9, 8], &[7]]).unwrap();
        let first: Vec<f32> = model.logits(states.narrow(0, 0, 1)).into_data().try_to_vec().unwrap();
        assert_near(&first, &whole(&model, &[9, 8]), 1e-5);
    }

    #[test]
    fn inputs_beyond_the_cache_are_refused_and_change_nothing() {
        let model = Transformer::init(&config(), 3, &Device::flex()).unwrap();
        let mut cache = model.new_cache(2, 4);
        model.append(&mut cache, &[0], &[&[1, 2, 3]]).unwrap();
        let refused: [(&[usize], &[&[u32]]); 6] = [
            (&[0], &[&[4, 5]]),
            (&[2], &[&[4]]),
            (&[1, 1], &[&[4], &[5]]),
            (&[1], &[&[]]),
            (&[], &[]),
            (&[1], &[&[40]]),
        ];
        for (slots, tokens) in refused {
            assert!(model.append(&mut cache, slots, tokens).is_err(), "{slots:?} {tokens:?}");
        }
        assert_eq!((cache.length(0), cache.length(1)), (3, 0));
    }

    #[test]
    fn padding_at_the_right_changes_nothing_before_it() {
        let model = Transformer::init(&config(), 5, &Device::flex()).unwrap();
        let rows = TensorData::new(vec![1_i64, 2, 3, 0, 0, 1, 2, 3, 17, 39], [2, 5]);
        let states = model.states(Tensor::<2, Int>::from_data(rows, &Device::flex()));
        let rows: Vec<Vec<f32>> =
            (0..2).map(|row| states.clone().slice([row..row + 1, 0..3]).into_data().try_to_vec().unwrap()).collect();
        assert_near(&rows[0], &rows[1], 1e-6);
    }

    #[test]
    fn weights_are_a_function_of_the_seed() {
        let init = |seed| Transformer::init(&config(), seed, &Device::flex()).unwrap().tensors();
        assert_eq!(init(1), init(1));
        assert_ne!(init(1), init(2));
    }

    #[test]
    fn inference_copies_compute_without_a_graph() {
        let model = Transformer::init(&config(), 1, &Device::flex().autodiff()).unwrap();
        assert!(model.device().is_autodiff());
        assert!(!model.valid().device().is_autodiff());
        assert_near(&whole(&model.valid(), &[1, 2, 3]), &whole(&model, &[1, 2, 3]), 1e-6);
    }
}
