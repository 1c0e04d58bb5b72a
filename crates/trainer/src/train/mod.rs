//! Training: from a spec and a server to a policy.
//!
//! Episodes are played by one stage and learnt from by another, with a bounded queue between them: while weights are changed,
//! the next episodes are played, as far ahead as the job allows.

mod batch;
mod control;
mod critic;
mod idle;
mod journal;
mod keep;
mod language;
#[cfg(test)]
mod learning;
mod measure;
mod memory;
mod playing;
#[cfg(test)]
mod preset_effects;
pub mod start;
mod supervised;
mod update;

use palestra_client::Client;
use palestra_protocol::id::RunId;
use palestra_protocol::job::Checkpoint;
use palestra_protocol::spec::train::{AlgorithmName, Train};
use serde_json::Value;
use tokio::runtime::Handle;

use burn::tensor::Device;

use crate::failure::TrainerError;
use crate::files::Files;
use crate::reporter::Reporter;
use crate::train::start::Start;

/// Everything that a training runs with.
pub struct Context {
    /// Device of the computation, without autodiff.
    pub device: Device,
    /// Plays sessions of the job's tenant.
    pub client: Client,
    /// Owns the sessions.
    pub run: RunId,
    /// Runtime of asynchronous work.
    pub runtime: Handle,
    /// Tells the queue.
    pub reporter: Reporter,
    /// Brings and keeps files.
    pub files: Files,
    /// Where a former attempt stopped.
    pub checkpoint: Option<Checkpoint>,
}

/// Trains; the answer is the job's result: the registered policy and the last numbers.
///
/// # Errors
/// As [`TrainerError`] says; a cancelled job has kept its last checkpoint.
pub fn train(spec: &Train, context: &Context) -> Result<Value, TrainerError> {
    let ppo = spec.algorithm.name == AlgorithmName::Ppo;
    match start::start(spec, context)? {
        Start::Vectors { model, parent } if ppo => control::train(spec, context, model, parent),
        Start::Vectors { .. } => {
            Err(TrainerError::BadSpec("a small network over vectors learns by ppo alone".to_owned()))
        }
        Start::Language(language) if spec.algorithm.name == AlgorithmName::Sft => {
            supervised::train(spec, context, *language)
        }
        Start::Language(language) => language::train(spec, context, *language),
    }
}
