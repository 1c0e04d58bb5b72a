//! Two small networks over observations that are vectors: one acts, one values.

use std::path::Path;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::load::safetensors::Safetensors;
use super::named::Named;
use super::save::{write_json, write_tensors};
use super::weights::{normal, stream};
use crate::failure::TrainerError;

/// Hidden layers of each network.
const HIDDEN_LAYERS: usize = 2;
/// Widest layer, in numbers.
const WIDTH_MAX: usize = 65_536;
/// File with the shape in a saved folder.
const CONFIG_FILE: &str = "mlp.json";
/// File with the weights in a saved folder.
const WEIGHTS_FILE: &str = "model.safetensors";

/// The shape of the pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MlpConfig {
    /// Numbers of an observation.
    pub inputs: usize,
    /// Number of actions.
    pub outputs: usize,
    /// Width of the two hidden layers.
    pub hidden: usize,
}

/// A policy and a value network of two hidden layers each with tanh between, sharing nothing.
#[derive(Module, Debug)]
pub struct Mlp {
    policy: Vec<Dense>,
    value: Vec<Dense>,
    #[module(skip)]
    config: MlpConfig,
}

/// x W + b.
#[derive(Module, Debug)]
struct Dense {
    /// `[inputs, outputs]`.
    weight: Param<Tensor<2>>,
    /// `[outputs]`.
    bias: Param<Tensor<1>>,
}

impl Mlp {
    /// Random weights of the seed: orthogonal, <https://arxiv.org/abs/1312.6120>, scaled by sqrt 2 inside, 0.01 before the
    /// policy's answer and 1 before the value, as is customary for PPO, <https://arxiv.org/abs/2005.12729>. Biases are 0.
    ///
    /// # Errors
    /// `BadSpec` where a width is 0 or beyond bounds.
    pub fn init(config: MlpConfig, seed: u64, device: &Device) -> Result<Self, TrainerError> {
        if [config.inputs, config.outputs, config.hidden].iter().any(|width| !(1..=WIDTH_MAX).contains(width)) {
            return Err(TrainerError::BadSpec(format!("{config:?}: widths are from 1 to {WIDTH_MAX}")));
        }
        let network = |name: &str, outputs: usize, last_gain: f64| -> Vec<Dense> {
            let mut widths = vec![config.inputs];
            widths.resize(HIDDEN_LAYERS + 1, config.hidden);
            widths.push(outputs);
            let pairs = widths.windows(2).enumerate();
            pairs
                .map(|(layer, pair)| {
                    let gain = if layer == HIDDEN_LAYERS { last_gain } else { std::f64::consts::SQRT_2 };
                    let shape = [pair[0], pair[1]];
                    let weight = orthogonal(seed, &format!("{name}.{layer}"), shape, gain);
                    Dense {
                        weight: Param::from_data(weight, device),
                        bias: Param::from_data(TensorData::zeros::<f32, _>([shape[1]]), device),
                    }
                })
                .collect()
        };
        Ok(Self { policy: network("policy", config.outputs, 0.01), value: network("value", 1, 1.0), config })
    }

    /// Its shape.
    pub const fn config(&self) -> MlpConfig {
        self.config
    }

    /// observations `[n, inputs]` -> logits of actions `[n, outputs]`.
    pub fn policy(&self, observations: Tensor<2>) -> Tensor<2> {
        through(&self.policy, observations)
    }

    /// observations `[n, inputs]` -> values `[n]`.
    pub fn value(&self, observations: Tensor<2>) -> Tensor<1> {
        through(&self.value, observations).squeeze_dim(1)
    }

    /// Writes shape and weights into a folder, which is made where there is none.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), TrainerError> {
        std::fs::create_dir_all(folder).map_err(TrainerError::io(format!("making {}", folder.display())))?;
        write_tensors(&self.tensors(), &folder.join(WEIGHTS_FILE))?;
        let config = serde_json::to_value(self.config).map_err(|error| TrainerError::Internal(error.to_string()))?;
        write_json(&config, &folder.join(CONFIG_FILE))
    }

    /// Reads what `save` wrote.
    ///
    /// # Errors
    /// `BadCheckpoint` or `Tensors` where the folder holds no such pair.
    pub fn load_folder(folder: &Path, device: &Device) -> Result<Self, TrainerError> {
        let path = folder.join(CONFIG_FILE);
        let broken = |detail: String| TrainerError::BadCheckpoint(format!("{}: {detail}", path.display()));
        let text = std::fs::read(&path).map_err(|error| broken(error.to_string()))?;
        let config: MlpConfig = serde_json::from_slice(&text).map_err(|error| broken(error.to_string()))?;
        let mut file = Safetensors::open(&folder.join(WEIGHTS_FILE))?;
        let model = Self::init(config, 0, device)?;
        super::named::compare(&model.shapes(), &file.shapes())?;
        model.load(file.all()?)
    }

    /// True if a folder holds such a pair.
    pub fn is_folder(folder: &Path) -> bool {
        folder.join(CONFIG_FILE).is_file()
    }
}

fn through(layers: &[Dense], mut x: Tensor<2>) -> Tensor<2> {
    for (index, layer) in layers.iter().enumerate() {
        x = x.matmul(layer.weight.val()) + layer.bias.val().unsqueeze();
        if index + 1 < layers.len() {
            x = x.tanh();
        }
    }
    x
}

/// Rows or columns, whichever are fewer, orthogonal to each other and of length `gain`: Gram and Schmidt's procedure on normal
/// vectors, twice over each for the sake of rounding.
fn orthogonal(seed: u64, name: &str, shape: [usize; 2], gain: f64) -> TensorData {
    let [inputs, outputs] = shape;
    let (count, length) = (inputs.min(outputs), inputs.max(outputs));
    let mut random = stream(seed, name);
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(count);
    while basis.len() < count {
        let mut vector = normal(&mut random, length);
        for _ in 0..2 {
            for other in &basis {
                let shared: f64 = vector.iter().zip(other).map(|(a, b)| a * b).sum();
                vector.iter_mut().zip(other).for_each(|(a, b)| *a -= shared * b);
            }
        }
        let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|x| *x /= norm);
        basis.push(vector);
    }
    let at = |row: usize, column: usize| if inputs <= outputs { basis[row][column] } else { basis[column][row] };
    let values = (0..inputs * outputs).map(|i| (gain * at(i / outputs, i % outputs)) as f32).collect();
    TensorData::new::<f32, _>(values, shape)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Tensor};

    use super::{Mlp, MlpConfig, orthogonal};
    use crate::model::Named;

    const CONFIG: MlpConfig = MlpConfig { inputs: 4, outputs: 3, hidden: 16 };

    #[test]
    fn initial_weights_are_orthogonal() {
        for shape in [[3, 5], [5, 3], [4, 4]] {
            let w: Vec<f64> = orthogonal(1, "w", shape, 2.0).iter::<f64>().collect();
            let at = |row: usize, column: usize| w[row * shape[1] + column];
            let (count, length) = (shape[0].min(shape[1]), shape[0].max(shape[1]));
            for a in 0..count {
                for b in 0..count {
                    let product = |i| if shape[0] <= shape[1] { at(a, i) * at(b, i) } else { at(i, a) * at(i, b) };
                    let expected = if a == b { 4.0 } else { 0.0 };
                    assert!(((0..length).map(product).sum::<f64>() - expected).abs() < 1e-5);
                }
            }
        }
    }

    #[test]
    fn at_first_all_actions_are_nearly_equally_likely() {
        let device = Device::flex();
        let model = Mlp::init(CONFIG, 1, &device).unwrap();
        let x = Tensor::from_floats([[1.0, -1.0, 0.5, 2.0], [0.0, 0.0, 0.0, 0.0]], &device);
        let logits = model.policy(x.clone());
        assert_eq!((logits.dims(), model.value(x).dims()), ([2, 3], [2]));
        assert!(logits.into_data().iter::<f64>().all(|logit| logit.abs() < 0.05));
    }

    #[test]
    fn a_saved_pair_is_read_back_to_the_bit() {
        let device = Device::flex();
        let folder = tempfile::tempdir().unwrap();
        let model = Mlp::init(CONFIG, 1, &device).unwrap();
        model.save(folder.path()).unwrap();
        assert!(Mlp::is_folder(folder.path()));
        let read = Mlp::load_folder(folder.path(), &device).unwrap();
        assert_eq!((read.tensors(), read.config()), (model.tensors(), CONFIG));
    }
}
