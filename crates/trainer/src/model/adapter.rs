//! Low-rank parts in the layout of Python's `peft`, so that they can be used beside the model that they were trained for.

use std::path::Path;

use burn::module::Module as _;
use palestra_protocol::spec::train::Lora;
use serde_json::json;

use super::named::Named as _;
use super::save::{write_json, write_tensors};
use super::transformer::Transformer;
use crate::failure::TrainerError;

/// Prefix of all names in a file of `peft`: its own two layers around the model.
const PREFIX: &str = "base_model.model.";

/// Writes `adapter_config.json` and `adapter_model.safetensors` into `folder`, which is made where there is none. `base` names the model
/// that the parts belong to.
///
/// # Errors
/// `Io` or `Internal` where it cannot be written.
pub fn save_adapter(model: &Transformer, lora: &Lora, base: &str, folder: &Path) -> Result<(), TrainerError> {
    std::fs::create_dir_all(folder).map_err(TrainerError::io(format!("making {}", folder.display())))?;
    let parts = model.valid().tensors().into_iter().filter_map(|(name, data)| Some((peft_name(&name)?, data)));
    write_tensors(&parts.collect::<Vec<_>>(), &folder.join("adapter_model.safetensors"))?;
    let config = json!({
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": lora.rank,
        "lora_alpha": lora.alpha,
        "lora_dropout": 0.0,
        "target_modules": lora.targets,
        "bias": "none",
        "fan_in_fan_out": false,
        "use_rslora": false,
        "inference_mode": true,
    });
    write_json(&config, &folder.join("adapter_config.json"))
}

/// Name of a low-rank part as `peft` has it; none of other tensors.
fn peft_name(name: &str) -> Option<String> {
    let parts = [(".lora_a", ".lora_A.weight"), (".lora_b", ".lora_B.weight")];
    let named = parts.iter().find_map(|(ours, theirs)| Some((name.strip_suffix(ours)?, theirs)));
    named.map(|(module, part)| format!("{PREFIX}{module}{part}"))
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};
    use palestra_protocol::spec::train::LoraTarget;
    use safetensors::SafeTensors;
    use serde_json::Value;

    use super::*;
    use crate::model::{TransformerConfig, adapt, merged};

    /// `[rows, columns]`.
    fn matrix(tensors: &SafeTensors<'_>, name: &str) -> (usize, usize, Vec<f32>) {
        let tensor = tensors.tensor(name).unwrap();
        let values = tensor.data().chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
        (tensor.shape()[0], tensor.shape()[1], values)
    }

    #[test]
    fn what_is_written_adds_up_to_the_merged_weights() {
        let lora = Lora { rank: 3, alpha: 6.0, targets: vec![LoraTarget::VProj, LoraTarget::DownProj] };
        let model = Transformer::init(&TransformerConfig::tiny(20, None, 8), 1, &Device::flex().autodiff()).unwrap();
        let mut tensors: std::collections::HashMap<String, TensorData> =
            adapt(model, &lora, 5).tensors().into_iter().collect();
        for (name, data) in &mut tensors {
            if name.ends_with(".lora_b") {
                let values: Vec<f32> = (0..data.num_elements()).map(|i| (i % 7) as f32 * 0.1 - 0.3).collect();
                *data = TensorData::new(values, data.shape().clone());
            }
        }
        let plain = tensors.clone();
        let base = Transformer::init(&TransformerConfig::tiny(20, None, 8), 1, &Device::flex().autodiff()).unwrap();
        let adapted = adapt(base, &lora, 5).load(tensors).unwrap();
        let folder = tempfile::tempdir().unwrap();
        save_adapter(&adapted, &lora, "a/model", folder.path()).unwrap();

        let config = std::fs::read_to_string(folder.path().join("adapter_config.json")).unwrap();
        let config: Value = serde_json::from_str(&config).unwrap();
        assert_eq!((&config["r"], &config["lora_alpha"]), (&json!(3), &json!(6.0)));
        assert_eq!(config["target_modules"], json!(["v_proj", "down_proj"]));
        let bytes = std::fs::read(folder.path().join("adapter_model.safetensors")).unwrap();
        let written = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(written.len(), 2 * 2 * adapted.config().layers);
        for (name, merged) in merged(&adapted).tensors() {
            let module = name.trim_end_matches(".weight");
            let part = |part: &str| format!("base_model.model.{module}.lora_{part}.weight");
            if written.tensor(&part("A")).is_err() {
                assert!(plain[&name] == merged, "{name} changed without a part");
                continue;
            }
            let (rank, inputs, a) = matrix(&written, &part("A"));
            let (outputs, _, b) = matrix(&written, &part("B"));
            let (before, after) = (plain[&name].try_to_vec::<f32>().unwrap(), merged.try_to_vec::<f32>().unwrap());
            for row in 0..outputs {
                for column in 0..inputs {
                    let added: f32 = (0..rank).map(|k| b[row * rank + k] * a[k * inputs + column]).sum();
                    let place = row * inputs + column;
                    assert!((before[place] + 2.0 * added - after[place]).abs() < 1e-5, "{name} {row} {column}");
                }
            }
        }
    }
}
