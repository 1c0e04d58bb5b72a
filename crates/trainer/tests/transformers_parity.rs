//! Folders for another implementation to read: random models of every family as the trainer saves them, with the logits and the
//! greedy answers that it gives itself. `PALESTRA_PARITY_FOLDER` names where they go, else they go with the test; the trainer
//! reads them back itself.
//! `scripts/transformers-parity` runs this and reads the folders with Python's `transformers`.

#![cfg(test)]

mod shared;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use burn::module::Module as _;
use burn::tensor::{Device, Int, Tensor, TensorData};
use palestra_protocol::spec::train::{Lora, LoraTarget};
use palestra_trainer::model::{
    Family, Named as _, Transformer, TransformerConfig, adapt, load_folder, save_adapter, save_folder,
};
use palestra_trainer::tokenizer::Tokenizer;
use serde_json::{Value, json};

use shared::greedy;

/// Tokens of a text, and of a greedy answer to its beginning.
const TEXT_TOKENS: usize = 24;
const PROMPT_TOKENS: usize = 6;
const ANSWER_TOKENS: usize = 24;
/// Largest difference between logits of weights that were saved and read and those before.
const LOGIT_DIFFERENCE_MAX: f32 = 1e-4;

/// Texts whose tokens both sides have to agree on.
const TEXTS: [&str; 4] =
    ["Hello, world 42!", "naïve 日本語 🙂\n\ttabs", "  two  spaces ", "{\"name\": \"move\", \"by\": [1, -2]}"];

/// Pseudo-random numbers, splitmix64, <https://doi.org/10.1145/2714064.2660195>.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in [-1, 1).
    fn signed(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// Shapes that differ in all that a family leaves free, by name.
fn configs() -> Vec<(&'static str, TransformerConfig)> {
    let vocabulary = Tokenizer::bytes().vocab_size();
    let base = TransformerConfig {
        width: 48,
        layers: 3,
        heads: 6,
        kv_heads: 2,
        head_dim: 8,
        feed_forward: 80,
        rms_epsilon: 1e-5,
        bos: vec![256],
        eos: vec![257],
        ..TransformerConfig::tiny(vocabulary, None, 128)
    };
    let qwen2 = TransformerConfig { kind: Family::Qwen2, qkv_bias: true, ..base.clone() };
    let qwen3 = TransformerConfig { kind: Family::Qwen3, qk_norm: true, ..base.clone() };
    vec![
        ("llama-tied", base.clone()),
        ("llama", TransformerConfig { tied: false, kv_heads: 6, rope_theta: 100_000.0, ..base }),
        ("qwen2-tied", qwen2.clone()),
        ("qwen2", TransformerConfig { tied: false, rope_theta: 1_000_000.0, rms_epsilon: 1e-6, ..qwen2 }),
        ("qwen3-tied", TransformerConfig { head_dim: 12, ..qwen3.clone() }),
        ("qwen3", TransformerConfig { tied: false, rope_theta: 1_000_000.0, ..qwen3 }),
    ]
}

/// Values large enough to tell a wrong model from a right one: norms around 1, biases up to 0.5, matrices with a deviation of
/// 1 / sqrt(inputs), low-rank parts too.
fn filled(model: Transformer, seed: u64) -> Transformer {
    let mut random = Random(seed);
    let fill = |(name, data): (String, TensorData)| {
        let shape = data.shape().as_slice().to_vec();
        let inputs = shape.last().copied().unwrap_or(1) as f64;
        let mut value = || {
            let x = random.signed();
            let x = match name.as_str() {
                name if name.ends_with("norm.weight") => 1.0 + 0.3 * x,
                name if name.ends_with(".bias") => 0.5 * x,
                name if name.ends_with("embed_tokens.weight") => x,
                _ => x * (3.0 / inputs).sqrt(),
            };
            x as f32
        };
        let values: Vec<f32> = (0..shape.iter().product::<usize>()).map(|_| value()).collect();
        (name, TensorData::new(values, shape))
    };
    let tensors = model.tensors().into_iter().map(fill).collect();
    model.load(tensors).unwrap()
}

/// The same with values in the low-rank parts alone, which belong to the model below them.
fn filled_parts(model: Transformer, seed: u64) -> Transformer {
    let mut tensors: HashMap<String, TensorData> = model.tensors().into_iter().collect();
    let parts = filled(model.clone(), seed).tensors().into_iter().filter(|(name, _)| name.contains(".lora_"));
    tensors.extend(parts);
    model.load(tensors).unwrap()
}

/// Logits of every position, row by row.
fn logits(model: &Transformer, tokens: &[u32]) -> Vec<f32> {
    let data = TensorData::new(tokens.iter().map(|token| i64::from(*token)).collect::<Vec<_>>(), [1, tokens.len()]);
    let states = model.states(Tensor::<2, Int>::from_data(data, &model.device()));
    model.logits(states.squeeze_dim(0)).into_data().try_to_vec().unwrap()
}

fn write(folder: &Path, model: &Transformer, seed: u64) {
    let tokenizer = Tokenizer::bytes();
    save_folder(model, folder).unwrap();
    tokenizer.save(folder).unwrap();
    let model = model.valid();
    let mut random = Random(seed);
    let vocabulary = model.config().vocab_size as u64;
    let tokens: Vec<u32> = (0..TEXT_TOKENS).map(|_| (random.bits() % vocabulary) as u32).collect();
    let texts: Vec<Value> =
        TEXTS.iter().map(|text| json!({"text": text, "tokens": tokenizer.encode(text).unwrap()})).collect();
    let expected = json!({
        "tokens": tokens,
        "logits": logits(&model, &tokens),
        "prompt": tokens[..PROMPT_TOKENS],
        "answer": greedy(model, &tokens[..PROMPT_TOKENS], ANSWER_TOKENS, &[]),
        "texts": texts,
    });
    std::fs::write(folder.join("expected.json"), expected.to_string()).unwrap();
}

/// Asserts that the trainer answers alike from a folder that it reads and the model that it saved there.
fn assert_read_back(folder: &Path) {
    let expected: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("expected.json")).unwrap()).unwrap();
    let (model, _) = load_folder(folder, &Device::flex()).unwrap();
    let tokens: Vec<u32> = serde_json::from_value(expected["tokens"].clone()).unwrap();
    let saved: Vec<f32> = serde_json::from_value(expected["logits"].clone()).unwrap();
    let found = logits(&model, &tokens);
    assert!(!found.is_empty() && found.len() == saved.len(), "{} and {} logits", found.len(), saved.len());
    let apart = saved.iter().zip(&found).fold(0.0_f32, |most, (saved, found)| most.max((saved - found).abs()));
    assert!(apart <= LOGIT_DIFFERENCE_MAX, "logits of {} lie {apart} apart", folder.display());
    assert_eq!(json!(greedy(model, &tokens[..PROMPT_TOKENS], ANSWER_TOKENS, &[])), expected["answer"]);
}

#[test]
fn folders_for_python_are_written_and_read_back() {
    let own = tempfile::tempdir().unwrap();
    let named = std::env::var_os("PALESTRA_PARITY_FOLDER").map(PathBuf::from);
    let folder = named.as_deref().unwrap_or(own.path());
    let device = Device::flex().autodiff();
    for (seed, (name, config)) in configs().into_iter().enumerate() {
        let model = filled(Transformer::init(&config, 0, &device).unwrap(), seed as u64);
        write(&folder.join(name), &model, seed as u64);
        assert_read_back(&folder.join(name));
        // Low-rank parts are folded in when they are saved: the other side sees plain weights.
        if name == "llama" {
            let targets = vec![LoraTarget::QProj, LoraTarget::VProj, LoraTarget::OProj, LoraTarget::DownProj];
            let lora = Lora { rank: 4, alpha: 2.0, targets };
            let adapted = filled_parts(adapt(model, &lora, 1), 40);
            write(&folder.join("llama-adapted"), &adapted, 40);
            save_adapter(&adapted, &lora, "../llama", &folder.join("llama-adapted/adapter")).unwrap();
            assert_read_back(&folder.join("llama-adapted"));
        }
    }
}
