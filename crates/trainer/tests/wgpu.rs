//! The portable form for graphics processors beside the processor's: products, logits, losses, gradients, an update, answers from
//! the cache. Built with the feature `wgpu` alone; `scripts/gpu-smoke` installs an adapter made of software and runs it.

#![cfg(test)]

mod shared;

use burn::module::Module as _;
use burn::tensor::{Device, Int, Tensor, TensorData};
use palestra_protocol::spec::train::Optimizer;
use palestra_trainer::device::{Choice, open};
use palestra_trainer::model::{Named as _, Predictions, Transformer, TransformerConfig};
use palestra_trainer::optimizer::{AdamW, Gradients};

use shared::greedy;

/// Largest difference between sums of some dozen products of numbers up to 1.
const PRODUCT_DIFFERENCE_MAX: f32 = 1e-4;
/// Largest difference between logits, losses and log-probabilities.
const LOGIT_DIFFERENCE_MAX: f32 = 1e-3;
/// Largest difference between gradients, beside the largest of its tensor.
const GRADIENT_DIFFERENCE_MAX: f32 = 1e-3;
/// Largest difference between weights after an update at this rate. Epsilon is large, so that an update hangs smoothly on its
/// gradient and not on the sign of one that is nearly 0.
const WEIGHT_DIFFERENCE_MAX: f32 = 1e-4;
const RATE: f64 = 1e-2;
const EPSILON: f64 = 1e-2;

const TEXT: [[i64; 6]; 2] = [[1, 5, 9, 2, 7, 3], [8, 8, 0, 4, 6, 10]];

fn graphics() -> Device {
    let opened = open(Choice::Gpu, true).unwrap();
    println!("on {}", opened.name);
    assert!(opened.is_gpu);
    opened.device
}

fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}

fn assert_near(found: &[f32], expected: &[f32], most: f32, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (position, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= most, "{what}, place {position}: {found} and {expected}");
    }
}

/// The smallest that has all parts: grouped heads, two layers. Weights are large enough that every part matters.
fn model(device: &Device) -> Transformer {
    let config = TransformerConfig {
        width: 16,
        layers: 2,
        heads: 4,
        kv_heads: 2,
        head_dim: 4,
        feed_forward: 24,
        ..TransformerConfig::tiny(11, None, 16)
    };
    let model = Transformer::init(&config, 3, device).unwrap();
    let weights = model.tensors().into_iter().enumerate().map(|(seed, (name, data))| {
        let shape = data.shape().as_slice().to_vec();
        let inputs = shape.last().copied().unwrap_or(1) as f64;
        let (centre, scale) = if name.ends_with("norm.weight") { (1.0, 0.3) } else { (0.0, (2.0 / inputs).sqrt()) };
        let value = |position: usize| centre + scale * (position as f64 * 1.7 + seed as f64 * 0.9).sin();
        let values: Vec<f32> = (0..data.num_elements()).map(|position| value(position) as f32).collect();
        (name, TensorData::new(values, shape))
    });
    let weights = weights.collect();
    model.load(weights).unwrap()
}

fn text(device: &Device) -> Tensor<2, Int> {
    let tokens: Vec<i64> = TEXT.into_iter().flatten().collect();
    Tensor::from_data(TensorData::new(tokens, [TEXT.len(), TEXT[0].len()]), device)
}

/// Mean negative log-probability of the tokens that follow the first of each row.
fn loss(model: &Transformer) -> Tensor<1> {
    let device = model.device();
    let (mut positions, mut targets) = (Vec::new(), Vec::new());
    for (row, tokens) in TEXT.iter().enumerate() {
        for (position, token) in tokens.iter().enumerate().skip(1) {
            positions.push((row * tokens.len() + position - 1) as i64);
            targets.push(*token);
        }
    }
    let count = positions.len();
    let integers = |values: Vec<i64>| Tensor::<1, Int>::from_data(TensorData::new(values, [count]), &device);
    let (positions, targets) = (integers(positions), integers(targets));
    let scores =
        model.scores(Predictions { tokens: text(&device), positions, targets, temperature: 0.8, entropies: true });
    scores.log_probs.mean().neg() - scores.entropies.unwrap().mean().mul_scalar(0.1)
}

#[test]
fn an_adapter_made_of_software_is_refused_for_real_work() {
    let found = open(Choice::Gpu, true).unwrap();
    match open(Choice::Gpu, false) {
        Ok(real) => assert_eq!(real.name, found.name, "a real one is taken either way"),
        Err(error) => {
            assert_eq!(error.code(), "device");
            assert!(error.to_string().contains("made of software"), "{error}");
        }
    }
}

#[test]
fn products_are_those_of_the_processor() {
    let values = |count: usize, seed: f64| -> Vec<f32> {
        (0..count).map(|index| (index as f64 * 1.7 + seed).sin() as f32).collect()
    };
    let product = |device: &Device| {
        let left = Tensor::<2>::from_data(TensorData::new(values(33 * 70, 0.1), [33, 70]), device);
        let right = Tensor::<2>::from_data(TensorData::new(values(70 * 41, 0.7), [70, 41]), device);
        host(left.matmul(right))
    };
    assert_near(&product(&graphics()), &product(&Device::flex()), PRODUCT_DIFFERENCE_MAX, "a product");
}

#[test]
fn logits_and_cached_answers_are_those_of_the_processor() {
    let logits = |device: &Device| {
        let model = model(device);
        let states = model.states(text(device));
        let [rows, time, width] = states.dims();
        host(model.logits(states.reshape([rows * time, width])))
    };
    let device = graphics();
    assert_near(&logits(&device), &logits(&Device::flex()), LOGIT_DIFFERENCE_MAX, "logits");
    let answer = |device: &Device| greedy(model(device).valid(), &[1, 5, 9], 4, &[]);
    assert_eq!(answer(&device), answer(&Device::flex()));
}

/// The loss, the gradients by name and the weights by name after one update.
fn update(device: &Device) -> (f32, Vec<(String, Vec<f32>)>, Vec<(String, Vec<f32>)>) {
    let model = model(&device.clone().autodiff());
    let plan = Optimizer { lr: RATE, epsilon: EPSILON, weight_decay: 0.01, ..Optimizer::default() };
    let mut gradients = Gradients::new();
    let loss = loss(&model);
    gradients.add(&model, loss.backward());
    let loss = loss.into_scalar::<f32>();
    gradients.clip(1.0).unwrap();
    let found = gradients.paths().map(|path| (path.to_owned(), host(gradients.get(path).unwrap().clone()))).collect();
    let model = AdamW::new(&plan).step(model, &gradients, RATE).unwrap();
    let weights = model.tensors().into_iter().map(|(name, data)| (name, data.try_to_vec().unwrap())).collect();
    (loss, found, weights)
}

#[test]
fn an_update_is_that_of_the_processor() {
    let (loss, gradients, weights) = update(&graphics());
    let (expected_loss, expected_gradients, expected_weights) = update(&Device::flex());
    assert_near(&[loss], &[expected_loss], LOGIT_DIFFERENCE_MAX, "the loss");
    assert_eq!(gradients.len(), expected_gradients.len());
    for ((name, found), (_, expected)) in gradients.iter().zip(&expected_gradients) {
        let largest = expected.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        assert!(largest > 0.0, "{name} has no gradient");
        assert_near(found, expected, GRADIENT_DIFFERENCE_MAX * largest, name);
    }
    for ((name, found), (_, expected)) in weights.iter().zip(&expected_weights) {
        assert_near(found, expected, WEIGHT_DIFFERENCE_MAX, name);
    }
    let before = model(&Device::flex()).tensors();
    let moved = before.iter().zip(&weights).any(|((_, before), (_, after))| {
        before.iter::<f32>().zip(after).any(|(before, after)| (before - after).abs() > 10.0 * WEIGHT_DIFFERENCE_MAX)
    });
    assert!(moved, "the update changed nothing that could be told from rounding");
}
