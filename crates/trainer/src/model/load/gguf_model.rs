//! Transformers from GGUF files: whose names differ from Hugging Face's, and for Llama the order of rotary pairs too.

use std::io::{Read, Seek};
use std::path::Path;

use burn::tensor::{Device, TensorData};

use super::gguf::{GgufFile, Metadata};
use super::{OnDemand, TokenizerSource};
use crate::failure::TrainerError;
use crate::model::config::{Family, TransformerConfig};
use crate::model::named::compare;
use crate::model::transformer::Transformer;

/// Names of a layer's parts: GGUF's, then Hugging Face's.
const LAYER_PARTS: [(&str, &str); 11] = [
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_output", "self_attn.o_proj"),
    ("attn_q_norm", "self_attn.q_norm"),
    ("attn_k_norm", "self_attn.k_norm"),
    ("ffn_gate", "mlp.gate_proj"),
    ("ffn_up", "mlp.up_proj"),
    ("ffn_down", "mlp.down_proj"),
    ("attn_norm", "input_layernorm"),
    ("ffn_norm", "post_attention_layernorm"),
];

/// Names outside the layers: GGUF's, then Hugging Face's.
const OTHER_PARTS: [(&str, &str); 3] =
    [("token_embd", "model.embed_tokens"), ("output_norm", "model.norm"), ("output", "lm_head")];

/// Loads a model, as f32, from a GGUF file.
///
/// # Errors
/// `BadCheckpoint` where the file is truncated or not supported; `Tensors` that lists what does not fit, by Hugging Face's
/// names where they have one.
pub fn load_gguf(path: &Path, device: &Device) -> Result<(Transformer, Option<TokenizerSource>), TrainerError> {
    let mut file = GgufFile::open(path)?;
    let model = read_model(&mut file, device)?;
    let tokenizer = file.metadata().texts("tokenizer.ggml.tokens").is_some();
    Ok((model, tokenizer.then(|| TokenizerSource::Gguf(file.metadata().clone()))))
}

/// The model of an opened file.
pub(super) fn read_model<R: Read + Seek>(file: &mut GgufFile<R>, device: &Device) -> Result<Transformer, TrainerError> {
    let config = read_config(file)?;
    let found: Vec<_> =
        file.tensors().iter().map(|(name, tensor)| (to_hugging_face(name), tensor.shape.clone())).collect();
    compare(&config.tensors(), &found)?;
    let names: std::collections::HashMap<String, String> =
        file.tensors().keys().map(|name| (to_hugging_face(name), name.clone())).collect();
    let mut weights = OnDemand(|name: &str| {
        let missing = || TrainerError::Internal(format!("{name} was there before"));
        let own = names.get(name).ok_or_else(missing)?;
        let shape = file.tensors().get(own).ok_or_else(missing)?.shape.clone();
        let mut values = file.values(own)?;
        let heads = if name.contains(".q_proj.") { config.heads } else { config.kv_heads };
        if config.kind == Family::Llama && (name.contains(".q_proj.") || name.contains(".k_proj.")) {
            values = halves_apart(&values, heads, config.head_dim);
        }
        Ok(TensorData::new(values, shape))
    });
    Transformer::build(&config, &mut weights, device)
}

/// `blk.3.attn_q.weight` -> `model.layers.3.self_attn.q_proj.weight`; what is not known stays as it is.
fn to_hugging_face(name: &str) -> String {
    let known = || {
        let (part, kind) = name.rsplit_once('.')?;
        if let Some((_, other)) = OTHER_PARTS.iter().find(|(own, _)| *own == part) {
            return Some(format!("{other}.{kind}"));
        }
        let (layer, part) = part.strip_prefix("blk.")?.split_once('.')?;
        let (_, other) = LAYER_PARTS.iter().find(|(own, _)| *own == part)?;
        Some(format!("model.layers.{layer}.{other}.{kind}"))
    };
    known().unwrap_or_else(|| name.to_owned())
}

/// Llama's files keep the two numbers of a rotary pair in neighbouring rows; Hugging Face keeps first numbers in the first half
/// of a head's rows, second ones in the second. Row (head, pair, which) moves to (head, which, pair).
fn halves_apart(values: &[f32], heads: usize, head_dim: usize) -> Vec<f32> {
    let width = values.len() / (heads * head_dim).max(1);
    let mut moved = Vec::with_capacity(values.len());
    for head in 0..heads {
        for which in 0..2 {
            for pair in 0..head_dim / 2 {
                let row = head * head_dim + 2 * pair + which;
                moved.extend_from_slice(&values[row * width..(row + 1) * width]);
            }
        }
    }
    moved
}

fn read_config<R: Read + Seek>(file: &GgufFile<R>) -> Result<TransformerConfig, TrainerError> {
    let metadata = file.metadata();
    let refused = |detail: String| TrainerError::BadCheckpoint(detail);
    let name = metadata.text("general.architecture").unwrap_or_default();
    let kind = Family::named(name)?;
    let key = |rest: &str| format!("{name}.{rest}");
    let size = |rest: &str| metadata.size(&key(rest));
    refuse_unsupported(metadata, name, file.tensors().contains_key("rope_freqs.weight"))?;
    let (width, heads) = (size("embedding_length")?, size("attention.head_count")?);
    let optional = |rest: &str, other: usize| if metadata.get(&key(rest)).is_some() { size(rest) } else { Ok(other) };
    let head_dim = optional("attention.key_length", width / heads.max(1))?;
    let (values, turned) = (optional("attention.value_length", head_dim)?, optional("rope.dimension_count", head_dim)?);
    if values != head_dim || turned != head_dim {
        return Err(refused(format!(
            "heads have {head_dim} numbers in keys, {values} in values and {turned} that turn; they must be equal"
        )));
    }
    let embedding = file.tensors().get("token_embd.weight").and_then(|tensor| tensor.shape.first());
    let mut ends = Vec::new();
    for key in ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"] {
        if let Some(id) = metadata.token(key)
            && !ends.contains(&id)
        {
            ends.push(id);
        }
    }
    let config = TransformerConfig {
        kind,
        vocab_size: *embedding.ok_or_else(|| refused("there is no tensor token_embd.weight".to_owned()))?,
        width,
        layers: size("block_count")?,
        heads,
        kv_heads: optional("attention.head_count_kv", heads)?,
        head_dim,
        feed_forward: size("feed_forward_length")?,
        rope_theta: metadata.float(&key("rope.freq_base")).unwrap_or(10_000.0),
        rope_scaling: None,
        rms_epsilon: metadata.float(&key("attention.layer_norm_rms_epsilon")).unwrap_or(1e-6),
        tied: !file.tensors().contains_key("output.weight"),
        qkv_bias: kind == Family::Qwen2,
        qk_norm: kind == Family::Qwen3,
        positions_max: optional("context_length", 2_048)?,
        eos: ends,
        bos: metadata.token("tokenizer.ggml.bos_token_id").into_iter().collect(),
    };
    config.check()?;
    Ok(config)
}

fn refuse_unsupported(metadata: &Metadata, name: &str, has_factors: bool) -> Result<(), TrainerError> {
    let scaling = metadata.text(&format!("{name}.rope.scaling.type"));
    let what = if has_factors || scaling.is_some_and(|scaling| scaling != "none") {
        "scaled rotary embedding is"
    } else if metadata.count(&format!("{name}.expert_count")).is_some_and(|experts| experts > 0) {
        "mixtures of experts are"
    } else if metadata.count(&format!("{name}.attention.sliding_window")).is_some_and(|window| window > 0) {
        "sliding windows are"
    } else {
        return Ok(());
    };
    Err(TrainerError::BadCheckpoint(format!("{what} not supported")))
}
