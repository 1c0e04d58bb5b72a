//! Start of a training: weights, and how they read conversations.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use palestra_protocol::id::PolicyId;
use palestra_protocol::spec::play::PolicyFrom;
use palestra_protocol::spec::train::{ToolFormat, Train};

use super::Context;
use crate::chat::ChatFormat;
use crate::failure::TrainerError;
use crate::model::{Mlp, TokenizerSource, Transformer, TransformerConfig, adapt, load_folder, load_gguf};
use crate::policy_manifest::PolicyManifest;
use crate::tokenizer::Tokenizer;

/// A policy to begin with.
pub enum Start {
    /// A language model.
    Language(Box<Language>),
    /// A small network over vectors; none until an environment has shown how many numbers there are.
    Vectors {
        /// With autodiff.
        model: Option<Mlp>,
        /// The registered policy that it is.
        parent: Option<PolicyId>,
    },
}

/// A language model to begin with.
pub struct Language {
    /// With autodiff.
    pub model: Transformer,
    /// Its conversation format.
    pub chat: Arc<ChatFormat>,
    /// The registered policy that it is.
    pub parent: Option<PolicyId>,
    /// The form of its actions where the job says nothing.
    pub tool_format: ToolFormat,
}

/// A model with its tokenizer from a folder or a GGUF file.
///
/// # Errors
/// When a file is missing, truncated or does not fit.
pub fn load(path: &Path, device: &Device) -> Result<(Transformer, Tokenizer), TrainerError> {
    let (model, source) = if path.is_dir() { load_folder(path, device)? } else { load_gguf(path, device)? };
    let tokenizer = match source {
        Some(TokenizerSource::Folder(folder)) => Tokenizer::from_folder(&folder)?,
        Some(TokenizerSource::Gguf(metadata)) => Tokenizer::from_gguf(&metadata)?,
        None => {
            return Err(TrainerError::BadCheckpoint(format!("{} holds no tokenizer", path.display())));
        }
    };
    if tokenizer.vocab_size() > model.config().vocab_size {
        let (tokens, rows) = (tokenizer.vocab_size(), model.config().vocab_size);
        return Err(TrainerError::BadCheckpoint(format!("the tokenizer has {tokens} tokens, the model {rows}")));
    }
    Ok((model, tokenizer))
}

/// Makes or loads what a job starts from.
///
/// # Errors
/// When it cannot be made or loaded.
pub fn start(spec: &Train, context: &Context) -> Result<Start, TrainerError> {
    let device = context.device.clone().autodiff();
    match &spec.policy.from {
        PolicyFrom::Mlp => Ok(Start::Vectors { model: None, parent: None }),
        PolicyFrom::TinyTransformer => {
            let tokenizer = Tokenizer::bytes();
            let positions = spec.rollout.max_context_tokens as usize;
            let config = TransformerConfig {
                bos: tokenizer.bos().into_iter().collect(),
                eos: tokenizer.eos().to_vec(),
                ..TransformerConfig::tiny(tokenizer.vocab_size(), spec.policy.size, positions)
            };
            let model = Transformer::init(&config, spec.seed, &device)?;
            let chat = Arc::new(ChatFormat::new(&tokenizer)?);
            Ok(Start::Language(Box::new(Language { model, chat, parent: None, tool_format: ToolFormat::default() })))
        }
        from => {
            let located = context.files.policy(from)?;
            if located.path.is_dir() && Mlp::is_folder(&located.path) {
                let model = Mlp::load_folder(&located.path, &device)?;
                return Ok(Start::Vectors { model: Some(model), parent: located.policy });
            }
            let (model, tokenizer) = load(&located.path, &device)?;
            let manifest = PolicyManifest::load(&located.path)?;
            let model = match &spec.policy.lora {
                Some(lora) => adapt(model, lora, spec.seed),
                None => model,
            };
            let chat = Arc::new(ChatFormat::new(&tokenizer)?);
            Ok(Start::Language(Box::new(Language {
                model,
                chat,
                parent: located.policy,
                tool_format: manifest.tool_format,
            })))
        }
    }
}
