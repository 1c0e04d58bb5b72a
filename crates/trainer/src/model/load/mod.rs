//! Weights from files: Hugging Face folders and GGUF.

pub mod gguf;
mod gguf_blocks;
mod gguf_metadata;
mod gguf_model;
pub mod safetensors;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, TensorData};
use serde_json::Value;

pub use gguf_blocks::BlockKind;
pub use gguf_model::load_gguf;

use super::config::TransformerConfig;
use super::named::compare;
use super::transformer::Transformer;
use super::weights::Weights;
use crate::failure::TrainerError;

/// Longest `config.json`.
const CONFIG_BYTES_MAX: u64 = 16 * 1_024 * 1_024;

/// Where the tokenizer of a loaded model is to be found.
#[derive(Debug, Clone)]
pub enum TokenizerSource {
    /// A folder with a tokenizer's files.
    Folder(PathBuf),
    /// `tokenizer.ggml.*` of a GGUF file.
    Gguf(gguf::Metadata),
}

/// Loads a folder in the Hugging Face layout: `config.json`, and `model.safetensors` or shards with their index.
///
/// # Errors
/// `BadCheckpoint` where files are missing, truncated or not supported; `Tensors` that lists what does not fit.
pub fn load_folder(folder: &Path, device: &Device) -> Result<(Transformer, Option<TokenizerSource>), TrainerError> {
    let config = read_config(&folder.join("config.json"))?;
    let mut shards = safetensors::open_folder(folder)?;
    let mut held: HashMap<String, usize> = HashMap::new();
    let mut found = Vec::new();
    for (index, shard) in shards.iter().enumerate() {
        for (name, shape) in shard.shapes() {
            if held.insert(name.clone(), index).is_some() {
                return Err(TrainerError::BadCheckpoint(format!("two shards hold a tensor {name}")));
            }
            if !is_left_out(&name, &config) {
                found.push((name, shape));
            }
        }
    }
    compare(&config.tensors(), &found)?;
    let mut weights = OnDemand(|name: &str| {
        let shard = held.get(name).and_then(|index| shards.get_mut(*index));
        shard.ok_or_else(|| TrainerError::Internal(format!("{name} was there before")))?.tensor(name)
    });
    let model = Transformer::build(&config, &mut weights, device)?;
    Ok((model, has_tokenizer(folder).then(|| TokenizerSource::Folder(folder.to_owned()))))
}

fn read_config(path: &Path) -> Result<TransformerConfig, TrainerError> {
    let broken = |detail: String| TrainerError::BadCheckpoint(format!("{}: {detail}", path.display()));
    let length = path.metadata().map_err(|error| broken(error.to_string()))?.len();
    if length > CONFIG_BYTES_MAX {
        return Err(broken("longer than any configuration".to_owned()));
    }
    let text = std::fs::read(path).map_err(|error| broken(error.to_string()))?;
    let config: Value = serde_json::from_slice(&text).map_err(|error| broken(error.to_string()))?;
    TransformerConfig::from_hugging_face(&config)
}

/// Tensors that some folders hold without need: tables of rotary embedding, and the head where it is the embedding.
fn is_left_out(name: &str, config: &TransformerConfig) -> bool {
    name.ends_with(".rotary_emb.inv_freq") || (config.tied && name == "lm_head.weight")
}

fn has_tokenizer(folder: &Path) -> bool {
    let Ok(entries) = folder.read_dir() else { return false };
    entries.flatten().any(|entry| entry.file_name().to_str().is_some_and(|name| name.contains("tokenizer")))
}

/// Weights that are read when they are asked for, so that one at a time is in memory twice.
struct OnDemand<F>(F);

impl<F: FnMut(&str) -> Result<TensorData, TrainerError>> Weights for OnDemand<F> {
    fn take(&mut self, name: &str, _shape: &[usize]) -> Result<TensorData, TrainerError> {
        // Shapes were compared before anything was read.
        (self.0)(name)
    }
}

#[cfg(test)]
mod tests;
