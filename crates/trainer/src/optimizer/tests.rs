//! The optimizer against numbers worked out in NumPy, and over a small network: clipping, frozen parameters, and going
//! on from a saved state as if it had never stopped.

use std::collections::BTreeMap;

use burn::module::{Module, Param};
use burn::tensor::activation::tanh;
use burn::tensor::{Device, Tensor, TensorData};
use palestra_protocol::spec::train::Optimizer;
use serde_json::Value;

use super::{AdamW, Gradients, rate, trainable_shapes};
use crate::checkpoint::{Checkpoint, Checkpoints};

#[derive(Module, Debug)]
struct Layer {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

#[derive(Module, Debug)]
struct Network {
    hidden: Layer,
    output: Layer,
}

fn numbers(count: usize, seed: f64) -> Vec<f32> {
    (0..count).map(|index| ((index as f64 * 1.7 + seed).sin() * 0.6) as f32).collect()
}

fn layer(inputs: usize, outputs: usize, seed: f64, device: &Device) -> Layer {
    let weight = TensorData::new(numbers(inputs * outputs, seed), [inputs, outputs]);
    let bias = TensorData::new(numbers(outputs, seed + 0.5), [outputs]);
    Layer { weight: Param::from_data(weight, device), bias: Param::from_data(bias, device) }
}

fn device() -> Device {
    Device::flex().autodiff()
}

fn network() -> Network {
    Network { hidden: layer(3, 8, 0.1, &device()), output: layer(8, 1, 0.9, &device()) }
}

impl Layer {
    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        input.matmul(self.weight.val()) + self.bias.val().unsqueeze()
    }
}

impl Network {
    fn loss(&self, rows: usize, seed: f64) -> Tensor<1> {
        let inputs = Tensor::<2>::from_data(TensorData::new(numbers(rows * 3, seed), [rows, 3]), &device());
        let targets = Tensor::<2>::from_data(TensorData::new(numbers(rows, seed * 2.0), [rows, 1]), &device());
        (self.output.forward(tanh(self.hidden.forward(inputs))) - targets).square().sum()
    }

    fn bytes(&self) -> Vec<Vec<u8>> {
        let parameter = |layer: &Layer| {
            [layer.weight.val().into_data().as_bytes().to_vec(), layer.bias.val().into_data().as_bytes().to_vec()]
        };
        [parameter(&self.hidden), parameter(&self.output)].concat()
    }
}

fn plan() -> Optimizer {
    Optimizer { lr: 0.02, warmup_steps: 3, weight_decay: 0.01, ..Optimizer::default() }
}

/// Updates `from..to` of ten.
fn train(mut network: Network, optimizer: &mut AdamW, from: u64, to: u64) -> Network {
    for update in from..to {
        let mut gradients = Gradients::new();
        for micro_batch in 0..2 {
            gradients.add(&network, network.loss(4, update as f64 + f64::from(micro_batch) * 0.3).backward());
        }
        gradients.clip(1.0).unwrap();
        network = optimizer.step(network, &gradients, rate(&plan(), update, 10)).unwrap();
    }
    network
}

#[test]
fn five_steps_agree_with_numbers_worked_out_in_numpy() {
    let known: Value = serde_json::from_str(include_str!("../../known/adamw.json")).unwrap();
    let list =
        |value: &Value| -> Vec<f64> { value.as_array().unwrap().iter().map(|item| item.as_f64().unwrap()).collect() };
    let single = |value: &Value| -> Vec<f32> { list(value).into_iter().map(|number| number as f32).collect() };
    let number = |name: &str| known["plan"][name].as_f64().unwrap();
    let plan = Optimizer {
        lr: number("lr"),
        beta1: number("beta1"),
        beta2: number("beta2"),
        epsilon: number("epsilon"),
        weight_decay: number("weight_decay"),
        ..Optimizer::default()
    };
    let mut module = Layer {
        weight: Param::from_data(TensorData::new(single(&known["start"]["weight"]), [2, 3]), &device()),
        bias: Param::from_data(TensorData::new(single(&known["start"]["bias"]), [3]), &device()),
    };
    let mut optimizer = AdamW::new(&plan);
    for step in known["steps"].as_array().unwrap() {
        // The gradient of sum(parameter x constant) is the constant.
        let weight = Tensor::<2>::from_data(TensorData::new(single(&step["gradients"]["weight"]), [2, 3]), &device());
        let bias = Tensor::<1>::from_data(TensorData::new(single(&step["gradients"]["bias"]), [3]), &device());
        let loss = (module.weight.val() * weight).sum() + (module.bias.val() * bias).sum();
        let mut gradients = Gradients::new();
        gradients.add(&module, loss.backward());
        let norm = gradients.clip(number("grad_norm_max")).unwrap();
        assert!((norm - step["norm"].as_f64().unwrap()).abs() < 1e-6, "{norm}");
        module = optimizer.step(module, &gradients, plan.lr).unwrap();
        let found = [module.weight.val().into_data(), module.bias.val().into_data()];
        for (found, name) in found.iter().zip(["weight", "bias"]) {
            for (found, expected) in found.iter::<f64>().zip(list(&step["values"][name])) {
                assert!((found - expected).abs() < 2e-6, "{name}: {found} for {expected}");
            }
        }
    }
}

#[test]
fn going_on_from_files_equals_never_stopping_bit_by_bit() {
    let mut optimizer = AdamW::new(&plan());
    let straight = train(network(), &mut optimizer, 0, 10);
    let straight_state = optimizer.state().unwrap();

    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::open(folder.path()).unwrap();
    let mut optimizer = AdamW::new(&plan());
    let half = train(network(), &mut optimizer, 0, 5);
    let draft = checkpoints.begin(5).unwrap();
    let weights = [
        ("hidden.weight", half.hidden.weight.val().into_data()),
        ("hidden.bias", half.hidden.bias.val().into_data()),
        ("output.weight", half.output.weight.val().into_data()),
        ("output.bias", half.output.bias.val().into_data()),
    ];
    let weights: Vec<(String, TensorData)> = weights.map(|(name, data)| (name.to_owned(), data)).into();
    draft.tensors("model.safetensors", &weights).unwrap();
    draft.tensors("optimizer.safetensors", &optimizer.state().unwrap()).unwrap();
    let path = draft.finish(&5_u64).unwrap();
    drop((half, optimizer));

    let checkpoint = Checkpoint::load(&path).unwrap();
    let mut weights = checkpoint.tensors("model.safetensors").unwrap();
    let mut take = |name: &str| weights.remove(name).unwrap();
    let mut layer = |name: &str| Layer {
        weight: Param::from_data(take(&format!("{name}.weight")), &device()),
        bias: Param::from_data(take(&format!("{name}.bias")), &device()),
    };
    let resumed = Network { hidden: layer("hidden"), output: layer("output") };
    let state = checkpoint.tensors("optimizer.safetensors").unwrap();
    let mut optimizer = AdamW::load(&plan(), &resumed, state, &device()).unwrap();
    let resumed = train(resumed, &mut optimizer, checkpoint.state().unwrap(), 10);
    assert_eq!(resumed.bytes(), straight.bytes());
    assert_eq!(optimizer.state().unwrap(), straight_state);
    assert_ne!(resumed.bytes(), network().bytes());
}

#[test]
fn micro_batches_add_up_to_the_whole() {
    let network = network();
    let mut parts = Gradients::new();
    let mut whole = Gradients::new();
    parts.add(&network, network.loss(4, 1.0).backward());
    parts.add(&network, network.loss(3, 2.0).backward());
    whole.add(&network, (network.loss(4, 1.0) + network.loss(3, 2.0)).backward());
    assert_eq!(parts.len(), 4);
    for path in ["hidden.weight", "hidden.bias", "output.weight", "output.bias"] {
        let found = parts.get(path).unwrap().to_data();
        let expected = whole.get(path).unwrap().to_data();
        for (found, expected) in found.iter::<f64>().zip(expected.iter::<f64>()) {
            assert!((found - expected).abs() < 1e-4, "{path}: {found} for {expected}");
        }
    }
}

fn gradients_of(values: &[f32]) -> Gradients {
    let (head, tail) = values.split_at(1);
    let module = Layer {
        weight: Param::from_data(TensorData::new(vec![0.0_f32; tail.len()], [1, tail.len()]), &device()),
        bias: Param::from_data(TensorData::new(vec![0.0_f32], [1]), &device()),
    };
    let weight = Tensor::<2>::from_data(TensorData::new(tail.to_vec(), [1, tail.len()]), &device());
    let bias = Tensor::<1>::from_data(TensorData::new(head.to_vec(), [1]), &device());
    let mut gradients = Gradients::new();
    let loss = (module.weight.val() * weight).sum() + (module.bias.val() * bias).sum();
    gradients.add(&module, loss.backward());
    gradients
}

#[test]
fn the_norm_survives_large_small_and_many_numbers() {
    for scale in [1e25_f32, 1.0, 1e-30, 0.0] {
        let norm = gradients_of(&[3.0 * scale, 4.0 * scale, 0.0]).norm().unwrap();
        let expected = 5.0 * f64::from(scale);
        assert!((norm - expected).abs() <= 1e-6 * expected, "{norm} for {expected}");
    }
    let count = 3 * 4_096 + 17;
    let norm = gradients_of(&vec![0.5; count]).norm().unwrap();
    assert!((norm - (count as f64 * 0.25).sqrt()).abs() < 1e-6);
    assert_eq!(Gradients::new().norm().unwrap(), 0.0);
}

#[test]
fn clipping_bounds_all_tensors_together_and_leaves_small_ones_alone() {
    let mut gradients = gradients_of(&[3.0, 4.0, 12.0]);
    assert_eq!(gradients.clip(26.0).unwrap(), 13.0);
    assert_eq!(gradients.clip(0.0).unwrap(), 13.0);
    assert_eq!(gradients.clip(6.5).unwrap(), 13.0);
    assert!((gradients.norm().unwrap() - 6.5).abs() < 1e-5);
}

#[test]
fn a_gradient_that_is_not_finite_is_named_by_its_path() {
    for broken in [f32::NAN, f32::INFINITY] {
        let error = gradients_of(&[1.0, 2.0, broken, 5.0]).clip(1.0).unwrap_err();
        assert_eq!(error.code(), "not_finite");
        assert!(error.to_string().contains("the gradient of weight"), "{error}");
        let error = gradients_of(&[broken, 2.0]).norm().unwrap_err();
        assert!(error.to_string().contains("the gradient of bias"), "{error}");
    }
}

#[test]
fn frozen_parameters_have_no_gradient_no_state_and_stay() {
    let mut network = network();
    network.hidden = network.hidden.no_grad();
    let before = network.bytes();
    let mut optimizer = AdamW::new(&plan());
    let network = train(network, &mut optimizer, 0, 3);
    let after = network.bytes();
    assert_eq!(before[..2], after[..2]);
    assert!(before[2] != after[2] && before[3] != after[3]);
    let names: Vec<String> = optimizer.state().unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 6);
    assert!(names.iter().all(|name| name.starts_with("output.")), "{names:?}");
    assert_eq!(trainable_shapes(&network).keys().collect::<Vec<_>>(), ["output.bias", "output.weight"]);
    assert!(network.output.weight.is_require_grad() && !network.hidden.weight.is_require_grad());
}

#[test]
fn a_state_that_does_not_fit_is_refused_with_every_fault() {
    let mut optimizer = AdamW::new(&plan());
    let network = train(network(), &mut optimizer, 0, 1);
    let mut state: BTreeMap<String, TensorData> = optimizer.state().unwrap().into_iter().collect();
    state.remove("hidden.bias.updates");
    state.insert("output.bias.first_moment".to_owned(), TensorData::new(vec![0.0_f32; 2], [2]));
    state.insert("elsewhere.first_moment".to_owned(), TensorData::new(vec![0.0_f32], [1]));
    let error = AdamW::load(&plan(), &network, state, &device()).unwrap_err().to_string();
    for fault in ["hidden.bias", "output.bias: [1]", "[2]", "elsewhere.first_moment"] {
        assert!(error.contains(fault), "{fault} in {error}");
    }
    let other = layer(2, 2, 0.0, &device());
    let mut gradients = Gradients::new();
    gradients.add(&network, network.loss(2, 0.0).backward());
    let error = AdamW::new(&plan()).step(other, &gradients, 0.1).unwrap_err();
    assert!(error.to_string().contains("hidden.weight"), "{error}");
}
