//! Shape of a transformer, as the files of models tell it.

use palestra_protocol::spec::train::ModelSize;
use serde_json::{Value, json};

use super::rope_scaling::RopeScaling;
use crate::failure::TrainerError;

/// Most tokens of a vocabulary.
const VOCABULARY_TOKENS_MAX: usize = 4_194_304;
/// Widest hidden state and head, in numbers.
const WIDTH_MAX: usize = 65_536;
/// Widest inner layer of a feed-forward part, in numbers.
const FEED_FORWARD_MAX: usize = 1_048_576;
/// Most layers.
const LAYERS_MAX: usize = 1_024;
/// Most attention heads.
const HEADS_MAX: usize = 1_024;

/// Layers of a transformer made from scratch, where its size is not given.
const TINY_LAYERS: u32 = 4;
/// Its width.
const TINY_WIDTH: u32 = 128;
/// Its attention heads.
const TINY_HEADS: u32 = 4;
/// Its feed-forward parts are 8/3 as wide as the rest, rounded up to a multiple of this.
const TINY_FEED_FORWARD_STEP: usize = 16;

/// Family of a model: they differ in biases and norms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Neither biases nor norms of heads: Llama, SmolLM, TinyLlama.
    Llama,
    /// Biases of queries, keys and values.
    Qwen2,
    /// Norms of the queries and keys of each head.
    Qwen3,
}

impl Family {
    const ALL: [Self; 3] = [Self::Llama, Self::Qwen2, Self::Qwen3];

    /// As `model_type` of `config.json` and `general.architecture` of GGUF name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Llama => "llama",
            Self::Qwen2 => "qwen2",
            Self::Qwen3 => "qwen3",
        }
    }

    const fn architecture(self) -> &'static str {
        match self {
            Self::Llama => "LlamaForCausalLM",
            Self::Qwen2 => "Qwen2ForCausalLM",
            Self::Qwen3 => "Qwen3ForCausalLM",
        }
    }

    /// The family with this name.
    ///
    /// # Errors
    /// `BadCheckpoint` that lists what there is.
    pub fn named(name: &str) -> Result<Self, TrainerError> {
        Self::ALL.into_iter().find(|family| family.name() == name).ok_or_else(|| {
            refused(format!("models of the kind {name:?} cannot be read; llama (also SmolLM), qwen2 and qwen3 can"))
        })
    }
}

/// The shape of a transformer.
#[derive(Debug, Clone, PartialEq)]
pub struct TransformerConfig {
    /// Its family.
    pub kind: Family,
    /// Rows of the embedding.
    pub vocab_size: usize,
    /// Numbers of a hidden state.
    pub width: usize,
    /// Number of layers.
    pub layers: usize,
    /// Number of query heads.
    pub heads: usize,
    /// Number of key and value heads; a divisor of `heads`.
    pub kv_heads: usize,
    /// Numbers of a head; even.
    pub head_dim: usize,
    /// Numbers inside a feed-forward part.
    pub feed_forward: usize,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Stretching of those frequencies, where the model was stretched to a longer context.
    pub rope_scaling: Option<RopeScaling>,
    /// Keeps the quotient of a norm finite.
    pub rms_epsilon: f64,
    /// True if the head is the embedding.
    pub tied: bool,
    /// True if queries, keys and values have biases.
    pub qkv_bias: bool,
    /// True if the queries and keys of each head are normed.
    pub qk_norm: bool,
    /// Positions that the model was made for.
    pub positions_max: usize,
    /// Tokens that end a text.
    pub eos: Vec<u32>,
    /// Tokens that begin a text.
    pub bos: Vec<u32>,
}

impl TransformerConfig {
    /// A transformer to be made from scratch, tied, without grouped heads.
    pub fn tiny(vocab_size: usize, size: Option<ModelSize>, positions_max: usize) -> Self {
        let size = size.unwrap_or(ModelSize { layers: None, width: None, heads: None });
        let width = size.width.unwrap_or(TINY_WIDTH) as usize;
        let heads = size.heads.unwrap_or(TINY_HEADS) as usize;
        Self {
            kind: Family::Llama,
            vocab_size,
            width,
            layers: size.layers.unwrap_or(TINY_LAYERS) as usize,
            heads,
            kv_heads: heads,
            head_dim: width / heads.max(1),
            feed_forward: (width * 8).div_ceil(3).next_multiple_of(TINY_FEED_FORWARD_STEP),
            rope_theta: 10_000.0,
            rope_scaling: None,
            rms_epsilon: 1e-5,
            tied: true,
            qkv_bias: false,
            qk_norm: false,
            positions_max,
            eos: Vec::new(),
            bos: Vec::new(),
        }
    }

    /// Refuses what no model has or what could not be computed.
    ///
    /// # Errors
    /// `BadCheckpoint` that names the number.
    pub fn check(&self) -> Result<(), TrainerError> {
        let bounded = |name: &str, value: usize, most: usize| {
            if (1..=most).contains(&value) {
                Ok(())
            } else {
                Err(refused(format!("{name} is {value}, not 1 to {most}")))
            }
        };
        bounded("vocab_size", self.vocab_size, VOCABULARY_TOKENS_MAX)?;
        bounded("hidden_size", self.width, WIDTH_MAX)?;
        bounded("num_hidden_layers", self.layers, LAYERS_MAX)?;
        bounded("num_attention_heads", self.heads, HEADS_MAX)?;
        bounded("num_key_value_heads", self.kv_heads, self.heads)?;
        bounded("head_dim", self.head_dim, WIDTH_MAX)?;
        bounded("intermediate_size", self.feed_forward, FEED_FORWARD_MAX)?;
        if !self.heads.is_multiple_of(self.kv_heads) {
            let (heads, kv_heads) = (self.heads, self.kv_heads);
            return Err(refused(format!("{heads} heads cannot be shared out among {kv_heads} key-value heads")));
        }
        if !self.head_dim.is_multiple_of(2) {
            return Err(refused(format!("head_dim is {}, which is odd: rotary embedding takes pairs", self.head_dim)));
        }
        if !(self.rope_theta.is_finite() && self.rope_theta > 0.0) {
            return Err(refused(format!("rope_theta is {}, not above 0", self.rope_theta)));
        }
        if !(self.rms_epsilon.is_finite() && self.rms_epsilon >= 0.0) {
            return Err(refused(format!("rms_norm_eps is {}, not 0 or above", self.rms_epsilon)));
        }
        Ok(())
    }

    /// Reads a `config.json`.
    ///
    /// # Errors
    /// `BadCheckpoint` that says what is missing or not supported: other kinds of scaled rotary embedding, sliding windows, experts,
    /// quantised weights, other activations, other architectures.
    pub fn from_hugging_face(config: &Value) -> Result<Self, TrainerError> {
        let kind = Family::named(config["model_type"].as_str().unwrap_or_default())?;
        refuse_unsupported(config, kind)?;
        let width = required(config, "hidden_size")?;
        let heads = required(config, "num_attention_heads")?;
        let head_dim = match size(config, "head_dim")? {
            Some(head_dim) => head_dim,
            // What the family's own code takes where the file does not say.
            None if kind == Family::Qwen3 => 128,
            None => width / heads.max(1),
        };
        let theta = float(config, "rope_theta")?.or(float(&config["rope_parameters"], "rope_theta")?);
        let read = Self {
            kind,
            vocab_size: required(config, "vocab_size")?,
            width,
            layers: required(config, "num_hidden_layers")?,
            heads,
            kv_heads: size(config, "num_key_value_heads")?.unwrap_or(heads),
            head_dim,
            feed_forward: required(config, "intermediate_size")?,
            rope_theta: theta.unwrap_or(10_000.0),
            rope_scaling: RopeScaling::from_hugging_face(config)?,
            rms_epsilon: float(config, "rms_norm_eps")?.unwrap_or(1e-6),
            tied: config["tie_word_embeddings"].as_bool().unwrap_or(false),
            qkv_bias: kind == Family::Qwen2,
            qk_norm: kind == Family::Qwen3,
            positions_max: size(config, "max_position_embeddings")?.unwrap_or(2_048),
            eos: tokens(config, "eos_token_id")?,
            bos: tokens(config, "bos_token_id")?,
        };
        read.check()?;
        Ok(read)
    }

    /// A `config.json` that Python's `transformers` reads.
    pub fn to_hugging_face(&self) -> Value {
        let one_or_many = |ids: &[u32]| match ids {
            [] => Value::Null,
            [id] => json!(id),
            _ => json!(ids),
        };
        let mut config = json!({
            "architectures": [self.kind.architecture()],
            "model_type": self.kind.name(),
            "vocab_size": self.vocab_size,
            "hidden_size": self.width,
            "intermediate_size": self.feed_forward,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "max_position_embeddings": self.positions_max,
            "rope_theta": self.rope_theta,
            "rope_scaling": self.rope_scaling.map(RopeScaling::to_hugging_face),
            "rms_norm_eps": self.rms_epsilon,
            "tie_word_embeddings": self.tied,
            "hidden_act": "silu",
            "attention_dropout": 0.0,
            "use_cache": true,
            "torch_dtype": "float32",
            "bos_token_id": self.bos.first(),
            "eos_token_id": one_or_many(&self.eos),
        });
        if self.kind == Family::Llama {
            config["mlp_bias"] = json!(false);
        } else {
            // Readers want these to be there; windows are off.
            config["use_sliding_window"] = json!(false);
            config["sliding_window"] = json!(self.positions_max);
            config["max_window_layers"] = json!(self.layers);
        }
        if self.kind != Family::Qwen2 {
            config["attention_bias"] = json!(false);
        }
        config
    }

    /// Names and shapes of all weights, as Hugging Face names them, in the order in which the model holds them.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let mut all = vec![("model.embed_tokens.weight".to_owned(), vec![self.vocab_size, self.width])];
        let (asked, answered) = (self.heads * self.head_dim, self.kv_heads * self.head_dim);
        for layer in 0..self.layers {
            let mut add =
                |name: &str, shape: &[usize]| all.push((format!("model.layers.{layer}.{name}"), shape.to_vec()));
            for (name, outputs) in [("q_proj", asked), ("k_proj", answered), ("v_proj", answered)] {
                add(&format!("self_attn.{name}.weight"), &[outputs, self.width]);
                if self.qkv_bias {
                    add(&format!("self_attn.{name}.bias"), &[outputs]);
                }
            }
            add("self_attn.o_proj.weight", &[self.width, asked]);
            if self.qk_norm {
                add("self_attn.q_norm.weight", &[self.head_dim]);
                add("self_attn.k_norm.weight", &[self.head_dim]);
            }
            add("mlp.gate_proj.weight", &[self.feed_forward, self.width]);
            add("mlp.up_proj.weight", &[self.feed_forward, self.width]);
            add("mlp.down_proj.weight", &[self.width, self.feed_forward]);
            add("input_layernorm.weight", &[self.width]);
            add("post_attention_layernorm.weight", &[self.width]);
        }
        all.push(("model.norm.weight".to_owned(), vec![self.width]));
        if !self.tied {
            all.push(("lm_head.weight".to_owned(), vec![self.vocab_size, self.width]));
        }
        all
    }
}

fn refused(detail: impl Into<String>) -> TrainerError {
    TrainerError::BadCheckpoint(detail.into())
}

fn refuse_unsupported(config: &Value, kind: Family) -> Result<(), TrainerError> {
    let refuse = |holds: bool, what: &str| if holds { Err(refused(format!("config.json: {what}"))) } else { Ok(()) };
    let set = |value: &Value| !value.is_null() && *value != json!(false) && *value != json!({});
    let full = |layer: &Value| layer == "full_attention";
    let windows = config["layer_types"].as_array().is_some_and(|layers| !layers.iter().all(full));
    refuse(set(&config["use_sliding_window"]) || windows, "sliding windows are not supported")?;
    let experts = ["num_experts", "num_local_experts", "n_routed_experts"];
    refuse(experts.iter().any(|key| set(&config[key])), "mixtures of experts are not supported")?;
    refuse(set(&config["quantization_config"]), "quantised weights are not supported; use the plain ones or GGUF")?;
    refuse(set(&config["mlp_bias"]), "biases in feed-forward parts (mlp_bias) are not supported")?;
    let bias = kind != Family::Qwen2 && set(&config["attention_bias"]);
    refuse(bias, "biases of this kind in attention (attention_bias) are not supported")?;
    let rotated = config["partial_rotary_factor"].as_f64().is_some_and(|factor| factor < 1.0);
    refuse(rotated, "partial rotary embedding is not supported")?;
    let activation = config["hidden_act"].as_str().unwrap_or("silu");
    refuse(!["silu", "swish"].contains(&activation), "hidden_act must be silu")
}

fn size(config: &Value, key: &str) -> Result<Option<usize>, TrainerError> {
    match &config[key] {
        Value::Null => Ok(None),
        value => match value.as_u64().and_then(|value| usize::try_from(value).ok()) {
            Some(value) => Ok(Some(value)),
            None => Err(refused(format!("config.json: {key} is no whole number"))),
        },
    }
}

fn required(config: &Value, key: &str) -> Result<usize, TrainerError> {
    size(config, key)?.ok_or_else(|| refused(format!("config.json: {key} is missing")))
}

fn float(config: &Value, key: &str) -> Result<Option<f64>, TrainerError> {
    match &config[key] {
        Value::Null => Ok(None),
        value => value.as_f64().map(Some).ok_or_else(|| refused(format!("config.json: {key} is no number"))),
    }
}

fn tokens(config: &Value, key: &str) -> Result<Vec<u32>, TrainerError> {
    let id = |value: &Value| {
        value
            .as_u64()
            .and_then(|id| u32::try_from(id).ok())
            .ok_or_else(|| refused(format!("config.json: {key} is no token id")))
    };
    match &config[key] {
        Value::Null => Ok(Vec::new()),
        Value::Array(ids) => ids.iter().map(id).collect(),
        one => Ok(vec![id(one)?]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Family, TransformerConfig};

    fn smollm() -> Value {
        json!({
            "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 576, "intermediate_size": 1536,
            "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152,
            "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 100000, "rope_scaling": null,
            "tie_word_embeddings": true, "hidden_act": "silu", "attention_bias": false, "eos_token_id": 2, "bos_token_id": 1
        })
    }

    #[test]
    fn a_config_survives_writing_and_reading() {
        let read = TransformerConfig::from_hugging_face(&smollm()).unwrap();
        assert_eq!((read.head_dim, read.kv_heads, read.eos.as_slice()), (64, 3, [2].as_slice()));
        assert_eq!(TransformerConfig::from_hugging_face(&read.to_hugging_face()).unwrap(), read);
        for kind in [Family::Qwen2, Family::Qwen3] {
            let (qkv_bias, qk_norm) = (kind == Family::Qwen2, kind == Family::Qwen3);
            let other = TransformerConfig { kind, qkv_bias, qk_norm, eos: vec![3, 4], ..read.clone() };
            assert_eq!(TransformerConfig::from_hugging_face(&other.to_hugging_face()).unwrap(), other);
        }
    }

    #[test]
    fn unsupported_fields_are_refused_by_name() {
        let cases = [
            ("rope_scaling", json!({"rope_type": "longrope", "factor": 8.0}), "rope_scaling"),
            ("rope_parameters", json!({"rope_type": "dynamic", "rope_theta": 1e6}), "rope_scaling"),
            ("use_sliding_window", json!(true), "sliding"),
            ("layer_types", json!(["full_attention", "sliding_attention"]), "sliding"),
            ("num_local_experts", json!(8), "experts"),
            ("model_type", json!("gpt2"), "gpt2"),
            ("model_type", json!("qwen3_moe"), "qwen3_moe"),
            ("hidden_act", json!("gelu"), "hidden_act"),
            ("attention_bias", json!(true), "attention_bias"),
            ("quantization_config", json!({"bits": 4}), "quantised"),
            ("num_key_value_heads", json!(4), "key-value"),
            ("hidden_size", json!(null), "hidden_size"),
            ("hidden_size", json!("wide"), "hidden_size"),
            ("vocab_size", json!(u64::MAX), "vocab_size"),
            ("head_dim", json!(63), "odd"),
        ];
        for (key, value, named) in cases {
            let mut config = smollm();
            config[key] = value;
            let error = TransformerConfig::from_hugging_face(&config).unwrap_err().to_string();
            assert!(error.contains(named), "{key}: {error}");
        }
    }

    #[test]
    fn newer_files_keep_theta_among_the_rope_parameters() {
        let mut config = smollm();
        config["rope_theta"] = Value::Null;
        config["rope_parameters"] = json!({"rope_type": "default", "rope_theta": 250000.0});
        let read = TransformerConfig::from_hugging_face(&config).unwrap();
        assert!((read.rope_theta - 250_000.0).abs() < f64::EPSILON);
    }
}
