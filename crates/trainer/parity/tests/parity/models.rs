//! Logits and greedy answers of both sides, with files written by either.

use std::collections::HashMap;
use std::path::Path;

use burn::tensor::{Device, Int, Tensor, TensorData};
use candle_core::{DType, Device as CandleDevice, Tensor as CandleTensor};
use candle_nn::{VarBuilder, VarMap};
use palestra_trainer::model::{Family, Named, RopeScaling, Transformer, TransformerConfig, load_folder, save_folder};
use serde_json::json;

use crate::reference::Reference;
use crate::values::{Random, values};

/// Largest difference between logits.
const LOGIT_DIFFERENCE_MAX: f32 = 1e-4;
/// Tokens of a text, and of a greedy answer.
const TEXT_TOKENS: usize = 12;
const ANSWER_TOKENS: usize = 16;
const SEEDS: u64 = 3;

/// Shapes that differ in all that a family leaves free: grouped heads, width of heads, tied or not.
fn configs() -> Vec<TransformerConfig> {
    let base = TransformerConfig {
        width: 32,
        layers: 2,
        heads: 4,
        kv_heads: 2,
        head_dim: 8,
        feed_forward: 48,
        rms_epsilon: 1e-5,
        ..TransformerConfig::tiny(61, None, 64)
    };
    let llama = |heads, kv_heads, head_dim, tied| TransformerConfig {
        heads,
        kv_heads,
        head_dim,
        width: heads * head_dim,
        tied,
        ..base.clone()
    };
    let qwen2 = |tied, theta| TransformerConfig {
        kind: Family::Qwen2,
        qkv_bias: true,
        tied,
        rope_theta: theta,
        ..base.clone()
    };
    let qwen3 = |tied, kv_heads, head_dim| TransformerConfig {
        kind: Family::Qwen3,
        qk_norm: true,
        tied,
        kv_heads,
        head_dim,
        ..base.clone()
    };
    vec![
        llama(4, 4, 8, true),
        llama(6, 2, 4, false),
        llama(9, 3, 6, true),
        // Stretched from 8 positions, so that the texts here are long.
        TransformerConfig {
            rope_scaling: Some(RopeScaling::Llama3 {
                factor: 8.0,
                low_freq_factor: 1.0,
                high_freq_factor: 4.0,
                original_positions: 8.0,
            }),
            ..llama(4, 2, 8, false)
        },
        qwen2(true, 10_000.0),
        qwen2(false, 1_000_000.0),
        qwen3(true, 2, 8),
        qwen3(false, 1, 12),
    ]
}

fn text(config: &TransformerConfig, seed: u64) -> Vec<u32> {
    let mut random = Random(seed);
    (0..TEXT_TOKENS).map(|_| (random.bits() % config.vocab_size as u64) as u32).collect()
}

fn whole(model: &Transformer, tokens: &[u32]) -> Vec<Vec<f32>> {
    let data = TensorData::new(tokens.iter().map(|token| i64::from(*token)).collect(), [1, tokens.len()]);
    let states = model.states(Tensor::<2, Int>::from_data(data, &model.device()));
    let logits: Vec<f32> = model.logits(states.squeeze_dim(0)).into_data().try_to_vec().unwrap();
    logits.chunks(model.config().vocab_size).map(<[f32]>::to_vec).collect()
}

fn highest(logits: &[f32]) -> u32 {
    let best = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    best.0 as u32
}

fn greedy(prompt: &[u32], mut next: impl FnMut(&[u32]) -> Vec<f32>) -> Vec<u32> {
    let mut tokens = prompt.to_vec();
    for _ in 0..ANSWER_TOKENS {
        tokens.push(highest(&next(&tokens)));
    }
    tokens
}

fn assert_same(model: &Transformer, reference: &mut Reference, text: &[u32]) {
    let ours = whole(model, text);
    for (position, ours) in ours.iter().enumerate() {
        reference.clear();
        let theirs = reference.append(&text[..=position], 0);
        assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert!((ours - theirs).abs() < LOGIT_DIFFERENCE_MAX, "position {position}: {ours} and {theirs}");
        }
        let spread = theirs.iter().copied().fold(0.0_f32, |most, logit| most.max(logit.abs()));
        assert!(spread > 0.3, "weights too small to tell anything: {spread}");
    }
    let prompt = &text[..4];
    let ours_whole = greedy(prompt, |tokens| whole(model, tokens).pop().unwrap());
    let mut cache = model.new_cache(3, prompt.len() + ANSWER_TOKENS);
    let ours_cached = greedy(prompt, |tokens| {
        let new = &tokens[cache.length(1)..];
        let states = model.append(&mut cache, &[1], &[new]).unwrap();
        model.logits(states).into_data().try_to_vec().unwrap()
    });
    let theirs_whole = greedy(prompt, |tokens| {
        reference.clear();
        reference.append(tokens, 0)
    });
    reference.clear();
    let mut read = 0;
    let theirs_cached = greedy(prompt, |tokens| {
        let logits = reference.append(&tokens[read..], read);
        read = tokens.len();
        logits
    });
    assert_eq!(ours_whole, theirs_whole);
    assert_eq!(ours_cached, theirs_whole);
    assert_eq!(theirs_cached, theirs_whole);
}

#[test]
fn models_saved_by_us_answer_the_same_on_the_other_side() {
    for config in configs() {
        for seed in 0..SEEDS {
            let weights: HashMap<String, TensorData> = config
                .tensors()
                .into_iter()
                .map(|(name, shape)| (name.clone(), TensorData::new(values(seed, &name, &shape), shape)))
                .collect();
            let model = Transformer::init(&config, seed, &Device::flex()).unwrap().load(weights).unwrap();
            let folder = tempfile::tempdir().unwrap();
            save_folder(&model, folder.path()).unwrap();
            let mut reference = Reference::load(config.kind, folder.path());
            assert_same(&model, &mut reference, &text(&config, seed));
        }
    }
}

/// A `config.json` as the hub's files have it, written apart from our own writer.
fn write_config(config: &TransformerConfig, path: &Path) {
    let mut file = json!({
        "hidden_size": config.width, "intermediate_size": config.feed_forward, "vocab_size": config.vocab_size,
        "num_hidden_layers": config.layers, "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads, "rms_norm_eps": config.rms_epsilon, "rope_theta": config.rope_theta,
        "max_position_embeddings": config.positions_max, "tie_word_embeddings": config.tied, "hidden_act": "silu",
        "bos_token_id": 1, "eos_token_id": 2,
    });
    if let Some(RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_positions }) =
        config.rope_scaling
    {
        file["rope_scaling"] = json!({
            "factor": factor, "low_freq_factor": low_freq_factor, "high_freq_factor": high_freq_factor, "rope_type": "llama3",
            "original_max_position_embeddings": original_positions as u64,
        });
    }
    match config.kind {
        Family::Llama => file["model_type"] = json!("llama"),
        Family::Qwen2 => {
            file["model_type"] = json!("qwen2");
            file["sliding_window"] = json!(config.positions_max);
            file["use_sliding_window"] = json!(false);
            file["max_window_layers"] = json!(config.layers);
        }
        Family::Qwen3 => {
            file["model_type"] = json!("qwen3");
            file["head_dim"] = json!(config.head_dim);
            file["attention_bias"] = json!(false);
            file["sliding_window"] = json!(null);
            file["use_sliding_window"] = json!(false);
            file["max_window_layers"] = json!(config.layers);
        }
    }
    std::fs::write(path, file.to_string()).unwrap();
}

#[test]
fn models_saved_on_the_other_side_answer_the_same_here() {
    for config in configs() {
        for seed in 10..10 + SEEDS {
            let folder = tempfile::tempdir().unwrap();
            let config_path = folder.path().join("config.json");
            write_config(&config, &config_path);
            let variables = VarMap::new();
            let build = || {
                let weights = VarBuilder::from_varmap(&variables, DType::F32, &CandleDevice::Cpu);
                // An untied head is looked for before it is made.
                if !config.tied {
                    weights.pp("lm_head").get((config.vocab_size, config.width), "weight").unwrap();
                }
                Reference::new(config.kind, &config_path, weights)
            };
            build();
            for (name, variable) in variables.data().lock().unwrap().iter() {
                let values = values(seed, name, variable.dims());
                let shape = variable.shape().clone();
                variable.set(&CandleTensor::from_vec(values, shape, &CandleDevice::Cpu).unwrap()).unwrap();
            }
            variables.save(folder.path().join("model.safetensors")).unwrap();
            let mut reference = build();
            let (model, _) = load_folder(folder.path(), &Device::flex()).unwrap();
            assert_eq!(model.config().tensors(), config.tensors());
            assert_same(&model, &mut reference, &text(&config, seed));
        }
    }
}
