//! Writes models as folders that Python's `transformers` reads.

use std::collections::HashMap;
use std::path::Path;

use burn::tensor::{DType, TensorData};
use safetensors::tensor::{Dtype, TensorView};
use serde_json::Value;

use super::lora::merged;
use super::named::Named;
use super::transformer::Transformer;
use crate::failure::TrainerError;

/// Writes `config.json` and `model.safetensors` into `folder`, which is made where there is none. Low-rank parts are folded in.
///
/// # Errors
/// `Io` or `Internal` where it cannot be written.
pub fn save_folder(model: &Transformer, folder: &Path) -> Result<(), TrainerError> {
    std::fs::create_dir_all(folder).map_err(TrainerError::io(format!("making {}", folder.display())))?;
    write_tensors(&merged(model).tensors(), &folder.join("model.safetensors"))?;
    write_json(&model.config().to_hugging_face(), &folder.join("config.json"))
}

/// Writes tensors of f32 as safetensors.
pub(super) fn write_tensors(tensors: &[(String, TensorData)], path: &Path) -> Result<(), TrainerError> {
    let failed = |detail: String| TrainerError::Internal(format!("writing {}: {detail}", path.display()));
    let mut views = Vec::with_capacity(tensors.len());
    for (name, data) in tensors {
        if data.dtype() != DType::F32 {
            return Err(failed(format!("{name} is not f32 but {:?}", data.dtype())));
        }
        let view = TensorView::new(Dtype::F32, data.shape().as_slice().to_vec(), data.as_bytes());
        views.push((name.as_str(), view.map_err(|error| failed(error.to_string()))?));
    }
    // Python's readers want to be told that the layout is PyTorch's.
    let about = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    safetensors::serialize_to_file(views, Some(about), path).map_err(|error| failed(error.to_string()))
}

/// Writes JSON, indented for people.
pub(super) fn write_json(value: &Value, path: &Path) -> Result<(), TrainerError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| TrainerError::Internal(error.to_string()))?;
    std::fs::write(path, text + "\n").map_err(TrainerError::io(format!("writing {}", path.display())))
}
