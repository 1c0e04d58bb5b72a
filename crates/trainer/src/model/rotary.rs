//! Rotary position embedding, <https://arxiv.org/abs/2104.09864>, in the half-split form of Hugging Face's weights: number i
//! of a head turns with number i + head_dim / 2.

use burn::tensor::{Device, Tensor, TensorData};

use super::config::TransformerConfig;
use super::rope_scaling::RopeScaling;

/// Sines and cosines for the positions of one pass.
#[derive(Debug, Clone)]
pub(super) struct Rotary {
    cosines: Tensor<4>,
    sines: Tensor<4>,
}

impl Rotary {
    /// For `positions` of `rows` rows, row-major: `[rows, time]`; one row serves a whole batch. Angles are computed in f64,
    /// since f32 loses several digits at far positions.
    pub(super) fn new(positions: &[usize], rows: usize, config: &TransformerConfig, device: &Device) -> Self {
        let TransformerConfig { head_dim, rope_theta: theta, rope_scaling, .. } = *config;
        let half = head_dim / 2;
        let mut frequencies: Vec<f64> = (0..half).map(|i| theta.powf(-2.0 * i as f64 / head_dim as f64)).collect();
        let length = rope_scaling.map_or(1.0, RopeScaling::attention_factor);
        if let Some(scaling) = rope_scaling {
            scaling.stretch(&mut frequencies, theta);
        }
        let mut cosines = Vec::with_capacity(positions.len() * half);
        let mut sines = Vec::with_capacity(positions.len() * half);
        for position in positions {
            for frequency in &frequencies {
                let (sine, cosine) = (*position as f64 * frequency).sin_cos();
                cosines.push((length * cosine) as f32);
                sines.push((length * sine) as f32);
            }
        }
        let shape = [rows, positions.len() / rows.max(1), 1, half];
        Self {
            cosines: Tensor::from_data(TensorData::new(cosines, shape), device),
            sines: Tensor::from_data(TensorData::new(sines, shape), device),
        }
    }

    /// Turns `[batch, time, heads, head_dim]`.
    pub(super) fn turn(&self, x: Tensor<4>) -> Tensor<4> {
        let half = x.dims()[3] / 2;
        let first = x.clone().narrow(3, 0, half);
        let second = x.narrow(3, half, half);
        let turned_first = first.clone() * self.cosines.clone() - second.clone() * self.sines.clone();
        let turned_second = second * self.cosines.clone() + first * self.sines.clone();
        Tensor::cat(vec![turned_first, turned_second], 3)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Tensor};

    use super::{Rotary, TransformerConfig};

    #[test]
    fn position_zero_changes_nothing_and_one_turns_the_first_pair_by_one_radian() {
        let device = Device::flex();
        let config = TransformerConfig { head_dim: 4, rope_theta: 100.0, ..TransformerConfig::tiny(9, None, 9) };
        let rotary = Rotary::new(&[0, 1], 1, &config, &device);
        let x = Tensor::<4>::from_floats([[[[1.0, 2.0, 3.0, 4.0]], [[1.0, 2.0, 3.0, 4.0]]]], &device);
        let turned = rotary.turn(x).into_data().try_to_vec::<f32>().unwrap();
        assert_eq!(turned[..4], [1.0, 2.0, 3.0, 4.0]);
        // Angles 1 and 0.1: 1 cos 1 - 3 sin 1, 2 cos 0.1 - 4 sin 0.1, 3 cos 1 + 1 sin 1, 4 cos 0.1 + 2 sin 0.1.
        let expected = [-1.984_110_6, 1.590_674_7, 2.462_377_9, 4.179_683_5];
        for (turned, expected) in turned[4..].iter().zip(expected) {
            assert!((turned - expected).abs() < 1e-6, "{turned} {expected}");
        }
    }
}
