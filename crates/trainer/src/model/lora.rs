//! Low-rank adaptation, <https://arxiv.org/abs/2106.09685>: y = W x + (alpha / rank) B A x, with W frozen.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use palestra_protocol::spec::train::{Lora, LoraTarget};

use super::linear::Linear;
use super::transformer::{Layer, Transformer};
use super::weights::{stream, uniform};

/// Freezes every weight of `model` and puts low-rank parts beside the targets: A uniform within 1 / sqrt(inputs), B zero, so
/// that nothing changes at first. Parts are named as the weight that they adapt, with `lora_a` and `lora_b` at the end.
pub fn adapt(model: Transformer, lora: &Lora, seed: u64) -> Transformer {
    let device = model.device();
    let mut model = model.no_grad();
    let rank = (lora.rank as usize).max(1);
    for (index, layer) in model.model.layers.iter_mut().enumerate() {
        for target in &lora.targets {
            let (linear, name) = target_of(layer, *target);
            let [outputs, inputs] = linear.weight.dims();
            let mut random = stream(seed, &format!("model.layers.{index}.{name}.lora_a"));
            let bound = 1.0 / (inputs as f64).sqrt();
            let values: Vec<f32> =
                (0..rank * inputs).map(|_| ((2.0 * uniform(&mut random) - 1.0) * bound) as f32).collect();
            linear.lora_a = Some(trained(TensorData::new(values, [rank, inputs]), &device));
            linear.lora_b = Some(trained(TensorData::zeros::<f32, _>([outputs, rank]), &device));
            linear.lora_scale = lora.alpha / rank as f64;
        }
    }
    model
}

/// A copy without autodiff whose weights hold what their low-rank parts add: for saving. Where nothing is adapted, a plain copy.
pub fn merged(model: &Transformer) -> Transformer {
    let mut model = model.valid();
    for layer in &mut model.model.layers {
        for target in ALL {
            let (linear, _) = target_of(layer, target);
            let (Some(a), Some(b)) = (linear.lora_a.take(), linear.lora_b.take()) else { continue };
            let added = b.val().matmul(a.val()).mul_scalar(linear.lora_scale);
            linear.weight = Param::from_tensor(linear.weight.val() + added);
            linear.lora_scale = 0.0;
        }
    }
    model.unfreeze()
}

const ALL: [LoraTarget; 7] = [
    LoraTarget::QProj,
    LoraTarget::KProj,
    LoraTarget::VProj,
    LoraTarget::OProj,
    LoraTarget::GateProj,
    LoraTarget::UpProj,
    LoraTarget::DownProj,
];

fn trained(data: TensorData, device: &Device) -> Param<Tensor<2>> {
    Param::from_data(data, device)
}

fn target_of(layer: &mut Layer, target: LoraTarget) -> (&mut Linear, &'static str) {
    match target {
        LoraTarget::QProj => (&mut layer.self_attn.q_proj, "self_attn.q_proj"),
        LoraTarget::KProj => (&mut layer.self_attn.k_proj, "self_attn.k_proj"),
        LoraTarget::VProj => (&mut layer.self_attn.v_proj, "self_attn.v_proj"),
        LoraTarget::OProj => (&mut layer.self_attn.o_proj, "self_attn.o_proj"),
        LoraTarget::GateProj => (&mut layer.mlp.gate_proj, "mlp.gate_proj"),
        LoraTarget::UpProj => (&mut layer.mlp.up_proj, "mlp.up_proj"),
        LoraTarget::DownProj => (&mut layer.mlp.down_proj, "mlp.down_proj"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use burn::module::Module;
    use burn::tensor::{Device, Int, Tensor, TensorData};
    use palestra_protocol::spec::train::Lora;

    use super::{ALL, adapt, merged};
    use crate::model::{Named, Transformer, TransformerConfig};

    fn logits(model: &Transformer) -> Vec<f32> {
        let states = model.states(Tensor::<2, Int>::from_ints([[1, 2, 3, 4]], &model.device()));
        model.logits(states.squeeze_dim(0)).into_data().try_to_vec().unwrap()
    }

    fn near(a: &[f32], b: &[f32], most: f32) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() <= most)
    }

    #[test]
    fn an_adapted_model_starts_as_it_was_trains_only_its_parts_and_merges_to_the_same() {
        let config = TransformerConfig::tiny(20, None, 8);
        let model = Transformer::init(&config, 1, &Device::flex().autodiff()).unwrap();
        let before = logits(&model.valid());
        let adapted = adapt(model.clone(), &Lora { rank: 4, alpha: 8.0, targets: ALL.to_vec() }, 5);
        assert_eq!(logits(&adapted.valid()), before);
        let trainable = adapted.trainable();
        assert_eq!(trainable.len(), 7 * 2 * config.layers);
        assert!(trainable.iter().all(|name| name.ends_with(".lora_a") || name.ends_with(".lora_b")));
        // Give every B some values, as training would.
        let mut changed: HashMap<String, TensorData> = adapted.tensors().into_iter().collect();
        for (name, data) in &mut changed {
            if name.ends_with(".lora_b") {
                let values = (0..data.num_elements()).map(|i| ((i * 7 % 11) as f32 - 5.0) * 0.02).collect();
                *data = TensorData::new::<f32, _>(values, data.shape().clone());
            }
        }
        let changed = adapted.load(changed).unwrap();
        assert_eq!(changed.trainable(), trainable);
        let after = logits(&changed.valid());
        assert!(!near(&after, &before, 1e-3), "the parts do nothing");
        let folded = merged(&changed);
        assert_eq!(folded.shapes(), config.tensors());
        assert!(near(&logits(&folded), &after, 1e-4));
        assert!(near(&logits(&merged(&model)), &before, 0.0));
    }
}
