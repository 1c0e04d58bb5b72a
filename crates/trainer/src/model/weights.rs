//! Initial weights of a model: random numbers of a seed, or a map of names.

use std::collections::HashMap;

use burn::tensor::TensorData;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::failure::TrainerError;

/// Standard deviation of random weights, as the families take it.
const DEVIATION: f64 = 0.02;

/// Gives weights by name.
pub(super) trait Weights {
    /// The weight `name` of this shape, f32.
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData, TrainerError>;
}

impl Weights for HashMap<String, TensorData> {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData, TrainerError> {
        match self.remove(name) {
            Some(data) if data.shape().as_slice() == shape => Ok(data),
            Some(data) => {
                let found = data.shape().as_slice().to_vec();
                Err(TrainerError::Tensors(vec![format!("{name} has the shape {found:?}, expected {shape:?}")]))
            }
            None => Err(TrainerError::Tensors(vec![format!("{name} {shape:?} is missing")])),
        }
    }
}

/// Random weights: a function of the seed, the name and the shape alone, so that they are the same on every device.
///
/// Norms are 1, biases 0, everything else normal with deviation 0.02; projections back into the residual stream are
/// divided by sqrt(2 layers), so that its variance does not grow with depth (GPT-2,
/// <https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf>, section 2.3).
pub(super) struct RandomWeights {
    pub(super) seed: u64,
    pub(super) layers: usize,
}

impl Weights for RandomWeights {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData, TrainerError> {
        let elements = shape.iter().product();
        let values = if name.ends_with("norm.weight") {
            vec![1.0; elements]
        } else if name.ends_with(".bias") {
            vec![0.0; elements]
        } else {
            let residual = name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
            let divisor = if residual { (2.0 * self.layers as f64).sqrt() } else { 1.0 };
            let mut random = stream(self.seed, name);
            normal(&mut random, elements).into_iter().map(|x| (x * DEVIATION / divisor) as f32).collect()
        };
        Ok(TensorData::new(values, shape.to_vec()))
    }
}

/// The random stream of one tensor: FNV-1a of its name chooses it, so that no tensor depends on the others.
pub(super) fn stream(seed: u64, name: &str) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    random.set_stream(name.bytes().fold(0xcbf2_9ce4_8422_2325, hash));
    random
}

/// Uniform in (0, 1), 53 bits.
pub(super) fn uniform(random: &mut ChaCha8Rng) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// Standard normal numbers, Box and Muller's transform, <https://doi.org/10.1214/aoms/1177706645>.
pub(super) fn normal(random: &mut ChaCha8Rng, count: usize) -> Vec<f64> {
    let mut values = Vec::with_capacity(count + 1);
    while values.len() < count {
        let radius = (-2.0 * uniform(random).ln()).sqrt();
        let (sine, cosine) = (std::f64::consts::TAU * uniform(random)).sin_cos();
        values.extend([radius * cosine, radius * sine]);
    }
    values.truncate(count);
    values
}

#[cfg(test)]
mod tests {
    use super::{normal, stream};

    #[test]
    fn random_weights_are_standard_normal_and_repeat() {
        let values = normal(&mut stream(1, "a"), 20_000);
        let mean = values.iter().sum::<f64>() / 20_000.0;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 19_999.0;
        // Four standard errors of a mean and of a variance over 20,000 draws.
        assert!(mean.abs() < 4.0 / 20_000.0_f64.sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 4.0 * (2.0 / 20_000.0_f64).sqrt(), "{variance}");
        assert_eq!(values, normal(&mut stream(1, "a"), 20_000));
        assert_ne!(values, normal(&mut stream(1, "b"), 20_000));
        assert_ne!(values, normal(&mut stream(2, "a"), 20_000));
    }
}
