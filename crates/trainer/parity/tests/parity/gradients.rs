//! Gradients against central differences.

use std::collections::HashMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};
use palestra_protocol::spec::train::{Lora, LoraTarget};
use palestra_trainer::model::{Family, Named, Predictions, Transformer, TransformerConfig, adapt};

use crate::values::{Random, values};

/// Most that a step to either side moves a parameter, along a direction of length 1.
const STEP_MAX: f64 = 1e-2;
/// Most that a step is meant to change the loss: steep tensors take shorter steps, since what the third derivative adds to a
/// difference grows with the square of the step.
const CHANGE_MAX: f64 = 2e-2;
/// Rounding of the loss, a sum of some f32 of the order of 1 to 10; a difference holds it divided by the step.
const ROUNDING_MAX: f64 = 3e-6;
/// Largest difference between a finite difference and the gradient beyond rounding, relative to the length of that tensor's gradient.
const RELATIVE_MAX: f64 = 2e-3;
/// Random directions for each tensor.
const DIRECTIONS: usize = 3;

struct Collect<'a> {
    gradients: &'a Gradients,
    path: Vec<String>,
    found: HashMap<String, Vec<f64>>,
}

impl ModuleVisitor for Collect<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = param.val().grad(self.gradients) {
            self.found.insert(self.path.join("."), gradient.into_data().iter::<f64>().collect());
        }
    }
}

/// A loss through everything: log-probabilities and entropies at some positions of two rows, at a temperature.
fn loss(model: &Transformer) -> Tensor<1> {
    let device = model.device();
    let tokens = Tensor::<2, Int>::from_ints([[1, 5, 9, 2, 7], [3, 3, 8, 0, 0]], &device);
    let scores = model.scores(Predictions {
        tokens,
        positions: Tensor::from_ints([0, 1, 3, 5, 6, 7], &device),
        targets: Tensor::from_ints([5, 9, 7, 3, 8, 10], &device),
        temperature: 0.8,
        entropies: true,
    });
    let weights = Tensor::from_floats([0.5, -1.0, 0.7, 0.3, -0.4, 0.9], &device);
    (scores.log_probs * weights).sum() + scores.entropies.expect("entropies").mean().mul_scalar(0.3)
}

fn loss_at(model: &Transformer, tensors: HashMap<String, TensorData>) -> f64 {
    loss(&model.valid().load(tensors).unwrap()).into_scalar()
}

fn assert_gradients(model: &Transformer) {
    let gradients = loss(model).backward();
    let mut collect = Collect { gradients: &gradients, path: Vec::new(), found: HashMap::new() };
    model.visit(&mut collect);
    let mut names: Vec<_> = collect.found.keys().cloned().collect();
    names.sort();
    let mut trainable = model.trainable();
    trainable.sort();
    assert_eq!(names, trainable);
    let tensors: HashMap<String, TensorData> = model.tensors().into_iter().collect();
    for name in names {
        let gradient = &collect.found[&name];
        let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        assert!(length > 1e-6, "{name} has no gradient");
        let step = STEP_MAX.min(CHANGE_MAX / length);
        for seed in 0..=DIRECTIONS {
            // First along the gradient itself, then at random.
            let mut random = Random(seed as u64);
            let raw: Vec<f64> =
                if seed == 0 { gradient.clone() } else { gradient.iter().map(|_| random.signed()).collect() };
            let norm = raw.iter().map(|x| x * x).sum::<f64>().sqrt();
            let moved = |step: f64| {
                let mut tensors = tensors.clone();
                let data = &tensors[&name];
                let values = data.iter::<f64>().zip(&raw).map(|(x, d)| (x + step * d / norm) as f32).collect();
                let data = TensorData::new::<f32, _>(values, data.shape().clone());
                tensors.insert(name.clone(), data);
                loss_at(model, tensors)
            };
            let difference = (moved(step) - moved(-step)) / (2.0 * step);
            let expected = gradient.iter().zip(&raw).map(|(g, d)| g * d / norm).sum::<f64>();
            let most = RELATIVE_MAX * length + ROUNDING_MAX / step;
            assert!((difference - expected).abs() < most, "{name}: {difference} and {expected}, length {length}");
        }
    }
}

fn model(kind: Family, tied: bool) -> Transformer {
    let config = TransformerConfig {
        kind,
        qkv_bias: kind == Family::Qwen2,
        qk_norm: kind == Family::Qwen3,
        width: 16,
        layers: 2,
        heads: 4,
        kv_heads: 2,
        head_dim: 4,
        feed_forward: 24,
        tied,
        ..TransformerConfig::tiny(11, None, 16)
    };
    let weights = config.tensors().into_iter();
    let weights =
        weights.map(|(name, shape)| (name.clone(), TensorData::new(values(5, &name, &shape), shape))).collect();
    Transformer::init(&config, 0, &Device::flex().autodiff()).unwrap().load(weights).unwrap()
}

#[test]
fn gradients_of_every_tensor_agree_with_differences() {
    assert_gradients(&model(Family::Llama, true));
    assert_gradients(&model(Family::Qwen2, false));
    assert_gradients(&model(Family::Qwen3, true));
}

#[test]
fn gradients_of_low_rank_parts_agree_with_differences_and_nothing_else_has_any() {
    let targets = vec![LoraTarget::QProj, LoraTarget::VProj, LoraTarget::OProj, LoraTarget::DownProj];
    let adapted = adapt(model(Family::Llama, true), &Lora { rank: 2, alpha: 4.0, targets }, 1);
    // B of zero would leave A without a gradient.
    let mut tensors: HashMap<String, TensorData> = adapted.tensors().into_iter().collect();
    for (name, data) in &mut tensors {
        if name.ends_with(".lora_b") {
            *data = TensorData::new(values(6, name, data.shape().as_slice()), data.shape().clone());
        }
    }
    assert_gradients(&adapted.load(tensors).unwrap());
}
