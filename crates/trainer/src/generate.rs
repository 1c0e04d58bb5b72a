//! `palestra-trainer generate`: one answer of a model from a folder or a GGUF file, to see that it is what it should be.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::chat::ChatFormat;
use crate::device::{self, Choice};
use crate::failure::TrainerError;
use crate::sampling::{SampleRequest, Sampler};
use crate::train::start;

/// Prompt and model to generate with.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// A folder in the Hugging Face layout, or a GGUF file.
    #[arg(long)]
    pub model: PathBuf,
    /// Text of the user.
    #[arg(long)]
    pub prompt: String,
    /// Most tokens of the answer.
    #[arg(long, default_value_t = 64)]
    pub max_tokens: usize,
    /// 0 takes the most probable token each time.
    #[arg(long, default_value_t = 0.0)]
    pub temperature: f64,
    /// Of the randomness.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Device of the computation.
    #[arg(long, value_enum, default_value_t = Choice::Cpu)]
    pub device: Choice,
}

/// Answers a prompt.
///
/// # Errors
/// When the model cannot be loaded or the prompt does not fit.
pub fn generate(arguments: &Arguments) -> Result<String, TrainerError> {
    let opened = device::open(arguments.device, false)?;
    let (model, tokenizer) = start::load(&arguments.model, &opened.device)?;
    let chat = ChatFormat::new(&tokenizer)?;
    let prompt = chat.prompt(&[json!({"role": "user", "content": arguments.prompt})], &[])?;
    let mut sampler = Sampler::new(model, 1, prompt.len() + arguments.max_tokens, arguments.seed);
    let slot = sampler.open(0).ok_or_else(|| TrainerError::Internal("no slot".to_owned()))?;
    let request = SampleRequest {
        slot,
        tokens: &prompt,
        max_tokens: arguments.max_tokens,
        temperature: arguments.temperature,
        top_p: 1.0,
        stops: chat.stops(),
    };
    let answers = sampler.answer(&[request])?;
    let tokens = answers.first().map(|answer| answer.tokens.as_slice()).unwrap_or_default();
    let text: Vec<u32> = tokens.iter().copied().filter(|token| !chat.stops().contains(token)).collect();
    Ok(tokenizer.decode(&text))
}
