//! A language model with what values its states beside it: what an update changes.

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};

use super::transformer::Transformer;
use super::value_head::ValueHead;

/// A transformer that acts and, where the algorithm has a value function, a head that values its states.
#[derive(Module, Debug)]
pub struct ActorCritic {
    policy: Transformer,
    value: Option<ValueHead>,
}

impl ActorCritic {
    /// A policy without a value function.
    #[must_use]
    pub const fn without_values(policy: Transformer) -> Self {
        Self { policy, value: None }
    }

    /// A policy with a head that has learnt nothing yet. It is trained also where the policy's own weights are frozen.
    #[must_use]
    pub fn with_values(policy: Transformer) -> Self {
        let value = Some(ValueHead::init(policy.config().width, &policy.device()));
        Self { policy, value }
    }

    /// The acting network.
    #[must_use]
    pub const fn policy(&self) -> &Transformer {
        &self.policy
    }

    /// True if it has a value function.
    #[must_use]
    pub const fn has_values(&self) -> bool {
        self.value.is_some()
    }

    /// Device of its weights.
    #[must_use]
    pub fn device(&self) -> Device {
        self.policy.device()
    }

    /// Estimated values of the states at some positions, `[n]`; none without a value function.
    ///
    /// `states` are `[batch, time, width]`; `positions`, `[n]`, count through batch x time.
    #[must_use]
    pub fn values(&self, states: Tensor<3>, positions: Tensor<1, Int>) -> Option<Tensor<1>> {
        let head = self.value.as_ref()?;
        let [batch, time, width] = states.dims();
        Some(head.values(states.reshape([batch * time, width]).select(0, positions)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use burn::module::Module;
    use burn::tensor::{Device, Int, Tensor, TensorData};
    use palestra_protocol::spec::train::{Lora, LoraTarget};

    use super::ActorCritic;
    use crate::model::{Named, Transformer, TransformerConfig, adapt};

    const HEAD: [&str; 2] = ["value.weight", "value.bias"];

    fn policy() -> Transformer {
        Transformer::init(&TransformerConfig::tiny(20, None, 8), 1, &Device::flex().autodiff()).unwrap()
    }

    #[test]
    fn the_head_is_a_part_of_what_is_trained_and_of_what_is_named() {
        let policy = policy();
        let names =
            |tensors: Vec<(String, TensorData)>| -> Vec<String> { tensors.into_iter().map(|(name, _)| name).collect() };
        let own: Vec<String> = names(policy.tensors()).into_iter().map(|name| format!("policy.{name}")).collect();
        assert_eq!(names(ActorCritic::without_values(policy.clone()).tensors()), own);
        let both = ActorCritic::with_values(policy);
        assert_eq!(names(both.tensors()), [own, HEAD.map(str::to_owned).to_vec()].concat());
        assert_eq!(both.trainable().len(), both.shapes().len());
    }

    #[test]
    fn the_head_is_trained_beside_low_rank_parts() {
        let lora = Lora { rank: 2, alpha: 4.0, targets: vec![LoraTarget::QProj] };
        let trainable = ActorCritic::with_values(adapt(policy(), &lora, 1)).trainable();
        let (head, parts): (Vec<String>, Vec<String>) =
            trainable.into_iter().partition(|name| HEAD.contains(&name.as_str()));
        assert_eq!(head, HEAD);
        assert!(!parts.is_empty() && parts.iter().all(|name| name.ends_with(".lora_a") || name.ends_with(".lora_b")));
    }

    #[test]
    fn values_are_those_of_the_states_at_the_positions() {
        let model = ActorCritic::with_values(policy()).valid();
        let states = model.policy().states(Tensor::<2, Int>::from_ints([[1, 2, 3], [4, 5, 6]], &model.device()));
        let at = |model: &ActorCritic, positions: [i64; 2]| -> Vec<f32> {
            let positions = Tensor::from_ints(positions, &model.device());
            model.values(states.clone(), positions).unwrap().into_data().try_to_vec().unwrap()
        };
        assert_eq!(at(&model, [0, 5]), [0.0, 0.0], "at first every state is worth nothing");
        let mut tensors: HashMap<String, TensorData> = model.tensors().into_iter().collect();
        let width = model.policy().config().width;
        let mut weight = vec![0.0_f32; width];
        weight[3] = 2.0;
        tensors.insert("value.weight".to_owned(), TensorData::new(weight, [1, width]));
        tensors.insert("value.bias".to_owned(), TensorData::new(vec![0.5_f32], [1]));
        let model = model.load(tensors).unwrap();
        let numbers: Vec<f32> = states.clone().into_data().try_to_vec().unwrap();
        for (found, place) in at(&model, [1, 4]).into_iter().zip([1, 4]) {
            assert!((found - (2.0 * numbers[place * width + 3] + 0.5)).abs() < 1e-5);
        }
    }
}
