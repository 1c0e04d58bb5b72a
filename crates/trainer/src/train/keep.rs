//! Checkpoints of a training: from the model and the optimizer to a folder, and back from the artefacts of a former attempt.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use burn::module::Module as _;
use burn::tensor::{Device, TensorData};
use palestra_client::ClientError;
use palestra_protocol::job;
use palestra_protocol::spec::train::{Optimizer, TrainedPolicy};
use serde::{Deserialize, Serialize};

use super::Context;
use super::journal::{ADAPTER_FOLDER, History, POLICY_FOLDER};
use crate::algorithm::advantage::Baselines;
use crate::checkpoint::{Checkpoint, Checkpoints};
use crate::failure::TrainerError;
use crate::model::{Mlp, Named, Transformer, merged, save_adapter, save_folder};
use crate::optimizer::AdamW;
use crate::policy_manifest::PolicyManifest;
use crate::tokenizer::Tokenizer;

/// The weights in a checkpoint.
const WEIGHTS: &str = "model.safetensors";
/// The optimizer's running means in a checkpoint.
const MOMENTS: &str = "optimizer.safetensors";

/// State of a training beside its tensors.
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
    let folder = write(&checkpoints, model, optimizer, saved)?;
    // The queue keeps as many as were asked for; here the newest is enough.
    checkpoints.prune(1)?;
    Ok(folder)
}

/// Writes a checkpoint beside others; answers its folder.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn write<M: Named>(
    checkpoints: &Checkpoints,
    model: &M,
    optimizer: &AdamW,
    saved: &Saved,
) -> Result<PathBuf, TrainerError> {
    let draft = checkpoints.begin(saved.step)?;
    draft.tensors(WEIGHTS, &model.tensors())?;
    draft.tensors(MOMENTS, &optimizer.state()?)?;
    draft.finish(saved)
}

/// Goes on from the checkpoint of a former attempt, where there is one: puts its numbers into model and optimizer. One that is broken is
/// told of and passed over for an older one.
///
/// # Errors
/// When it does not fit, or each is missing or altered.
pub(super) fn restore<M: Named>(
    context: &Context,
    plan: &Optimizer,
    model: &mut M,
    optimizer: &mut AdamW,
) -> Result<Option<Saved>, TrainerError> {
    let Some(newest) = &context.checkpoint else { return Ok(None) };
    let job = context.reporter.job();
    let bring = |kept: &job::Checkpoint| {
        let folder = context.files.folder.join("former");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(TrainerError::io(folder.display().to_string()))?;
        }
        let own: Vec<_> = kept.artifacts.iter().filter(|file| !is_of_policy(&file.name)).cloned().collect();
        context.files.artifacts(job, &own, &folder)?;
        read(&folder, plan, model, optimizer, &context.device)
    };
    let warn = |message: &str| context.reporter.log("warn", message);
    let saved = newest_whole(newest, || context.files.checkpoints(job), bring, warn)?;
    context.reporter.log("info", format!("goes on from the checkpoint after {} updates", saved.step))?;
    Ok(Some(saved))
}

/// Result of `bring` for the newest checkpoint that is not broken. `all` answers every one, oldest first; `warn` gets each that
/// is broken.
///
/// # Errors
/// Where there is none: the first error that another attempt may not meet; without one, `BadCheckpoint` with every reason.
fn newest_whole<T>(
    newest: &job::Checkpoint,
    all: impl Fn() -> Result<Vec<job::Checkpoint>, TrainerError>,
    mut bring: impl FnMut(&job::Checkpoint) -> Result<T, TrainerError>,
    warn: impl Fn(&str) -> Result<(), TrainerError>,
) -> Result<T, TrainerError> {
    let (mut left, mut broken) = (vec![newest.clone()], Vec::new());
    let mut unread = None;
    while let Some(kept) = left.pop() {
        let error = match bring(&kept) {
            Err(error) if is_broken(&error) => error,
            brought => return brought,
        };
        let message = format!("the checkpoint after {} updates is broken: {error}", kept.step);
        warn(&message)?;
        if broken.is_empty() {
            left = all()?;
            left.retain(|other| other != newest);
        }
        broken.push(message);
        if error.may_pass() {
            unread.get_or_insert(error);
        }
    }
    Err(unread.unwrap_or_else(|| TrainerError::BadCheckpoint(broken.join("\n"))))
}

/// True if an error is one of a checkpoint's files, so that another checkpoint may do.
fn is_broken(error: &TrainerError) -> bool {
    match error {
        TrainerError::BadCheckpoint(_) => true,
        // A server that is away is waited for: what is left broke off, or cannot be read there.
        TrainerError::Client(ClientError::Unreachable(_)) => true,
        TrainerError::Client(ClientError::Problem(problem)) => matches!(problem.status, 404 | 500),
        _ => false,
    }
}

/// Puts the numbers of a checkpoint's folder into model and optimizer.
///
/// # Errors
/// When it is altered or does not fit.
pub(super) fn read<M: Named>(
    folder: &Path,
    plan: &Optimizer,
    model: &mut M,
    optimizer: &mut AdamW,
    device: &Device,
) -> Result<Saved, TrainerError> {
    let checkpoint = Checkpoint::load(folder)?;
    let weights: HashMap<String, TensorData> = checkpoint.tensors(WEIGHTS)?.into_iter().collect();
    let moments: BTreeMap<String, TensorData> = checkpoint.tensors(MOMENTS)?;
    *model = model.clone().load(weights)?;
    *optimizer = AdamW::load(plan, model, moments, device)?;
    checkpoint.state()
}

/// True for a file of a checkpoint that a policy needs and no later attempt.
fn is_of_policy(name: &str) -> bool {
    Path::new(name).parent().is_some_and(|folder| folder.ends_with(POLICY_FOLDER))
}

/// Writes a language model with its tokenizer as others read it, in place of what was in its folder. Low-rank parts are folded in.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn save_policy(
    context: &Context,
    model: &Transformer,
    tokenizer: &Tokenizer,
    manifest: &PolicyManifest,
) -> Result<PathBuf, TrainerError> {
    let folder = policy_folder(context)?;
    save_folder(&merged(&model.valid()), &folder)?;
    tokenizer.save(&folder)?;
    manifest.save(&folder)?;
    Ok(folder)
}

/// Writes the low-rank parts of a language model, where those were trained.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn save_parts(context: &Context, model: &Transformer, policy: &TrainedPolicy) -> Result<(), TrainerError> {
    let Some(lora) = &policy.lora else { return Ok(()) };
    save_adapter(model, lora, &policy.from.to_string(), &context.files.folder.join(ADAPTER_FOLDER))
}

/// Writes a small network over vectors with the texts of its actions, in place of what was in its folder.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn save_network(context: &Context, model: &Mlp, actions: &[String]) -> Result<PathBuf, TrainerError> {
    let folder = policy_folder(context)?;
    model.valid().save(&folder)?;
    PolicyManifest { actions: actions.to_vec(), ..PolicyManifest::default() }.save(&folder)?;
    Ok(folder)
}

/// An empty folder for a policy.
fn policy_folder(context: &Context) -> Result<PathBuf, TrainerError> {
    let folder = context.files.folder.join(POLICY_FOLDER);
    let fail = || TrainerError::io(folder.display().to_string());
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(fail())?;
    }
    std::fs::create_dir_all(&folder).map_err(fail())?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use palestra_protocol::job::Checkpoint;
    use palestra_protocol::problem::{Code, Problem};
    use palestra_protocol::time::Timestamp;

    use super::*;

    fn kept(step: u64) -> Checkpoint {
        Checkpoint {
            step,
            attempt: 1,
            artifacts: Vec::new(),
            policy: None,
            created_at: Timestamp::from_milliseconds(0),
        }
    }

    fn altered(step: u64) -> TrainerError {
        TrainerError::BadCheckpoint(format!("file-{step} is altered"))
    }

    fn nobody() -> Result<Vec<Checkpoint>, TrainerError> {
        panic!("nobody asked for older ones")
    }

    #[test]
    fn files_that_only_a_policy_needs_are_not_brought() {
        assert!(is_of_policy("checkpoints/00000040/policy/model.safetensors"));
        assert!(!is_of_policy("checkpoints/00000040/model.safetensors"));
    }

    #[test]
    fn a_whole_checkpoint_is_the_only_one_that_is_looked_at() {
        let found = newest_whole(&kept(40), nobody, |kept| Ok(kept.step), |_| panic!("nothing is wrong"));
        assert_eq!(found.unwrap(), 40);
    }

    #[test]
    fn broken_checkpoints_are_passed_over_from_the_newest_to_the_oldest() {
        let (asked, warnings) = (Cell::new(0), RefCell::new(Vec::new()));
        let all = || {
            asked.set(asked.get() + 1);
            Ok([10, 20, 30, 40].map(kept).to_vec())
        };
        let bring = |kept: &Checkpoint| if kept.step > 20 { Err(altered(kept.step)) } else { Ok(kept.step) };
        let warn = |message: &str| {
            warnings.borrow_mut().push(message.to_owned());
            Ok(())
        };
        assert_eq!(newest_whole(&kept(40), all, bring, warn).unwrap(), 20);
        assert_eq!(asked.get(), 1);
        let warnings = warnings.into_inner();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("file-40") && warnings[1].contains("file-30"), "{warnings:?}");
    }

    #[test]
    fn where_none_is_whole_the_error_names_all() {
        let all = || Ok([20, 40].map(kept).to_vec());
        let error = newest_whole(&kept(40), all, |kept| Err::<(), _>(altered(kept.step)), |_| Ok(())).unwrap_err();
        assert_eq!(error.code(), "bad_checkpoint");
        let warnings = error.to_string();
        assert!(warnings.contains("file-20") && warnings.contains("file-40"), "{warnings}");
    }

    #[test]
    fn unreadable_checkpoints_may_be_whole_in_another_attempt() {
        let end = |fault: fn() -> ClientError| {
            let all = || Ok([20, 40].map(kept).to_vec());
            let bring = |kept: &Checkpoint| {
                Err::<(), _>(if kept.step == 40 { TrainerError::from(fault()) } else { altered(kept.step) })
            };
            let error = newest_whole(&kept(40), all, bring, |_| Ok(())).unwrap_err();
            (error.code(), error.may_pass())
        };
        assert_eq!(end(|| ClientError::Unreachable("it broke off".to_owned())), ("internal", true));
        assert_eq!(end(|| ClientError::from(Problem::new(Code::Internal, "the disk fails"))), ("internal", true));
        // What is not there does not come back.
        assert_eq!(end(|| ClientError::from(Problem::new(Code::NotFound, "no file"))), ("bad_checkpoint", false));
    }

    #[test]
    fn errors_other_than_of_files_end_the_search() {
        for error in [TrainerError::LeaseLost, TrainerError::Cancelled, TrainerError::Tensors(Vec::new())] {
            let code = error.code();
            let error = Cell::new(Some(error));
            let bring = |_: &Checkpoint| Err::<(), _>(error.take().unwrap());
            let found = newest_whole(&kept(40), nobody, bring, |_| panic!("nothing is broken"));
            assert_eq!(found.unwrap_err().code(), code);
        }
    }
}
