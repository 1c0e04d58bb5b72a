//! Memory of learning from long sequences. Each test measures its own process, as `cargo nextest` runs them.

#![cfg(test)]

use std::fs;

use burn::tensor::{Device, Int, Tensor, TensorData};
use palestra_protocol::spec::train::Optimizer;
use palestra_trainer::model::{Predictions, Scores, Transformer, TransformerConfig};
use palestra_trainer::optimizer::{AdamW, Gradients};

/// Tokens of the sequence.
const TOKENS: usize = 4_096;
const GIGABYTE: u64 = 1_000_000_000;

/// The shape of SmolLM2-135M, <https://huggingface.co/HuggingFaceTB/SmolLM2-135M>, with so many of its 30 layers.
fn smollm2(layers: usize) -> TransformerConfig {
    TransformerConfig {
        width: 576,
        layers,
        heads: 9,
        kv_heads: 3,
        head_dim: 64,
        feed_forward: 1_536,
        ..TransformerConfig::tiny(49_152, None, TOKENS)
    }
}

/// The most memory that this process has had, in bytes.
fn most_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix("kB").unwrap().trim().parse::<u64>().unwrap() * 1_024
}

/// Learns from one sequence whose last `predicted` tokens are predicted, and changes the weights.
fn learn(config: &TransformerConfig, predicted: usize) {
    let device = Device::flex().autodiff();
    let model = Transformer::init(config, 1, &device).unwrap();
    let token = |place: usize| (place * 7_919 % config.vocab_size) as i64;
    let integers = |values: Vec<i64>| {
        let count = values.len();
        Tensor::<1, Int>::from_data(TensorData::new(values, [count]), &device)
    };
    let places = TOKENS - predicted - 1..TOKENS - 1;
    let predictions = Predictions {
        tokens: integers((0..TOKENS).map(token).collect()).reshape([1, TOKENS]),
        positions: integers(places.clone().map(|place| place as i64).collect()),
        targets: integers(places.map(|place| token(place + 1)).collect()),
        temperature: 1.0,
        entropies: true,
    };
    let mut gradients = Gradients::new();
    let loss = |scores: Scores| {
        let loss = scores.log_probs.mean().neg() - scores.entropies.unwrap().mean() * 0.01;
        let number: f32 = loss.clone().into_scalar();
        Ok((loss, number))
    };
    let loss = model.learn(predictions, loss, &mut |backward| gradients.add(&model, backward)).unwrap();
    // About as much as among equally likely tokens.
    assert!((loss - (config.vocab_size as f32).ln() * 0.99).abs() < 2.0, "{loss}");
    assert_eq!(gradients.len(), config.tensors().len());
    let mut optimizer = AdamW::new(&Optimizer::default());
    optimizer.step(model, &gradients, 1e-4).unwrap();
}

fn assert_below(bytes_max: u64) {
    let bytes = most_bytes();
    eprintln!("{:.2} GB of {:.2} GB", bytes as f64 / GIGABYTE as f64, bytes_max as f64 / GIGABYTE as f64);
    assert!(bytes < bytes_max, "{bytes} bytes");
}

/// The short form has two layers, whose graph would keep 5 GB of scores alone. `PALESTRA_MEMORY_LONG` takes the whole model, and every token
/// predicted, in minutes.
#[test]
fn a_model_shaped_as_smollm2_learns_from_a_long_sequence_in_little_memory() {
    if std::env::var_os("PALESTRA_MEMORY_LONG").is_some() {
        learn(&smollm2(30), TOKENS - 1);
        assert_below(6 * GIGABYTE);
    } else {
        learn(&smollm2(2), 512);
        assert_below(2 * GIGABYTE);
    }
}
