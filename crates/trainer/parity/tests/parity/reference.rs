//! The independent implementation behind one face.

use std::path::Path;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::{llama, qwen2, qwen3};
use palestra_trainer::model::Family;

/// A model of `candle-transformers` with its cache.
pub(crate) enum Reference {
    Llama(Box<Llama>),
    Qwen2(Box<qwen2::ModelForCausalLM>),
    Qwen3(Box<qwen3::ModelForCausalLM>),
}

/// A Llama, whose cache stands apart from it.
pub(crate) struct Llama {
    model: llama::Llama,
    config: llama::Config,
    cache: llama::Cache,
}

impl Reference {
    /// Reads the `config.json` of a folder by its own rules, and takes weights from `weights`.
    pub(crate) fn new(kind: Family, config: &Path, weights: VarBuilder<'_>) -> Self {
        let text = std::fs::read(config).unwrap();
        match kind {
            Family::Llama => {
                let config: llama::LlamaConfig = serde_json::from_slice(&text).unwrap();
                let config = config.into_config(false);
                let cache = llama::Cache::new(true, DType::F32, &config, &Device::Cpu).unwrap();
                let model = llama::Llama::load(weights, &config).unwrap();
                Self::Llama(Box::new(Llama { model, config, cache }))
            }
            Family::Qwen2 => {
                let config: qwen2::Config = serde_json::from_slice(&text).unwrap();
                Self::Qwen2(Box::new(qwen2::ModelForCausalLM::new(&config, weights).unwrap()))
            }
            Family::Qwen3 => {
                let config: qwen3::Config = serde_json::from_slice(&text).unwrap();
                Self::Qwen3(Box::new(qwen3::ModelForCausalLM::new(&config, weights).unwrap()))
            }
        }
    }

    /// Loads a folder.
    pub(crate) fn load(kind: Family, folder: &Path) -> Self {
        let bytes = std::fs::read(folder.join("model.safetensors")).unwrap();
        let weights = VarBuilder::from_buffered_safetensors(bytes, DType::F32, &Device::Cpu).unwrap();
        Self::new(kind, &folder.join("config.json"), weights)
    }

    /// Forgets what was read.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Llama(llama) => {
                llama.cache = llama::Cache::new(true, DType::F32, &llama.config, &Device::Cpu).unwrap();
            }
            Self::Qwen2(model) => model.clear_kv_cache(),
            Self::Qwen3(model) => model.clear_kv_cache(),
        }
    }

    /// Reads `tokens` after `offset` others, answers the logits after the last.
    pub(crate) fn append(&mut self, tokens: &[u32], offset: usize) -> Vec<f32> {
        let run = |model: &mut Self| -> Result<Vec<f32>> {
            let input = Tensor::new(tokens, &Device::Cpu)?.unsqueeze(0)?;
            let logits = match model {
                Self::Llama(llama) => llama.model.forward(&input, offset, &mut llama.cache)?,
                Self::Qwen2(model) => model.forward(&input, offset)?,
                Self::Qwen3(model) => model.forward(&input, offset)?,
            };
            logits.flatten_all()?.to_vec1()
        };
        run(self).unwrap()
    }
}
