//! Checkpoints of a training: from the model and the optimizer to a folder, and back from the artefacts of a former attempt.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use burn::module::Module as _;
use burn::tensor::TensorData;
use palestra_protocol::spec::train::Optimizer;
use serde::{Deserialize, Serialize};

use super::Context;
use super::journal::History;
use crate::algorithm::advantage::Baselines;
use crate::checkpoint::{Checkpoint, Checkpoints};
use crate::failure::TrainerError;
use crate::habits::Habits;
use crate::model::{Named, Transformer, merged, save_folder};
use crate::optimizer::AdamW;
use crate::tokenizer::Tokenizer;

/// The weights in a checkpoint.
const WEIGHTS: &str = "model.safetensors";
/// The optimizer's running means in a checkpoint.
const MOMENTS: &str = "optimizer.safetensors";

/// Where a training stands, beside its tensors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Saved {
    /// Updates that are done. Everything random and the place in the data follow from it.
    pub(super) step: u64,
    /// Running baselines of roles.
    pub(super) baselines: Baselines,
    /// The environments that were played, with their versions.
    pub(super) environments: BTreeSet<String>,
    /// Texts of the actions of a policy over vectors.
    #[serde(default)]
    pub(super) actions: Vec<String>,
    /// Curves up to here.
    pub(super) history: History,
}

/// Writes a checkpoint; answers its folder.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn save<M: Named>(
    context: &Context,
    model: &M,
    optimizer: &AdamW,
    saved: &Saved,
) -> Result<PathBuf, TrainerError> {
    let checkpoints = Checkpoints::open(&context.files.folder.join("checkpoints"))?;
    let draft = checkpoints.begin(saved.step)?;
    draft.tensors(WEIGHTS, &model.tensors())?;
    draft.tensors(MOMENTS, &optimizer.state()?)?;
    let folder = draft.finish(saved)?;
    // The queue keeps as many as were asked for; here the newest is enough.
    checkpoints.prune(1)?;
    Ok(folder)
}

/// Goes on from the checkpoint of a former attempt, where there is one: puts its numbers into model and optimizer.
///
/// # Errors
/// When it is missing, altered or does not fit.
pub(super) fn restore<M: Named>(
    context: &Context,
    plan: &Optimizer,
    model: &mut M,
    optimizer: &mut AdamW,
) -> Result<Option<Saved>, TrainerError> {
    let Some(kept) = &context.checkpoint else { return Ok(None) };
    let folder = context.files.folder.join("former");
    context.files.artifacts(context.reporter.job(), &kept.artifacts, &folder)?;
    let checkpoint = Checkpoint::load(&folder)?;
    let weights: HashMap<String, TensorData> = checkpoint.tensors(WEIGHTS)?.into_iter().collect();
    let moments: BTreeMap<String, TensorData> = checkpoint.tensors(MOMENTS)?;
    *model = model.clone().load(weights)?;
    *optimizer = AdamW::load(plan, model, moments, &context.device)?;
    let saved: Saved = checkpoint.state()?;
    context.reporter.log("info", format!("goes on from the checkpoint after {} updates", saved.step))?;
    Ok(Some(saved))
}

/// Writes a language model with its tokenizer as others read it.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn save_policy(
    model: &Transformer,
    tokenizer: &Tokenizer,
    habits: &Habits,
    folder: &Path,
) -> Result<(), TrainerError> {
    std::fs::create_dir_all(folder).map_err(TrainerError::io(folder.display().to_string()))?;
    save_folder(&merged(&model.valid()), folder)?;
    tokenizer.save(folder)?;
    habits.save(folder)
}
