//! A value from a state: what a critic beside a transformer answers.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};

/// v = w · state + b. Both begin at zero: at first, every state is worth nothing.
#[derive(Module, Debug)]
pub struct ValueHead {
    /// `[1, width]`.
    weight: Param<Tensor<2>>,
    /// `[1]`.
    bias: Param<Tensor<1>>,
}

impl ValueHead {
    /// For states of `width` numbers.
    pub fn init(width: usize, device: &Device) -> Self {
        Self {
            weight: Param::from_data(TensorData::zeros::<f32, _>([1, width]), device),
            bias: Param::from_data(TensorData::zeros::<f32, _>([1]), device),
        }
    }

    /// states `[n, width]` -> values `[n]`.
    pub fn values(&self, states: Tensor<2>) -> Tensor<1> {
        states.matmul(self.weight.val().transpose()).squeeze_dim::<1>(1) + self.bias.val()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use burn::tensor::{Device, Tensor, TensorData};

    use super::ValueHead;
    use crate::model::Named;

    #[test]
    fn a_value_is_the_weighted_sum_plus_the_bias() {
        let device = Device::flex();
        let weights = HashMap::from([
            ("weight".to_owned(), TensorData::new(vec![1.0_f32, -2.0], [1, 2])),
            ("bias".to_owned(), TensorData::new(vec![0.5_f32], [1])),
        ]);
        let head = ValueHead::init(2, &device).load(weights).unwrap();
        let values = head.values(Tensor::from_floats([[3.0, 1.0], [0.0, 1.0]], &device));
        assert_eq!(values.into_data().try_to_vec::<f32>().unwrap(), [1.5, -1.5]);
    }
}
