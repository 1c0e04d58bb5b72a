//! The checkpoints of a job under one folder, `step-0000000120` each; one in the making has a name that starts with a
//! dot.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::TensorData;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use super::manifest::{MANIFEST, Manifest, broken, sync_folder};
use super::tensors::{read_tensors, write_tensors};
use crate::failure::TrainerError;

/// Prefix of the folder of an unfinished checkpoint.
const DRAFT_PREFIX: &str = ".draft-";
/// Prefix of the folder of a checkpoint.
const STEP_PREFIX: &str = "step-";
/// The state of the loop, within a checkpoint.
const STATE: &str = "state.json";
/// Most checkpoints of one and the same step: each restart may write the step once more.
const REPEATS_MAX: u32 = 10_000;

/// The checkpoints of one job. Only one process may use the folder at a time.
#[derive(Debug)]
pub struct Checkpoints {
    root: PathBuf,
}

/// A checkpoint in the making: it vanishes if it is dropped before [`Draft::finish`].
#[derive(Debug)]
pub struct Draft {
    root: PathBuf,
    folder: TempDir,
    step: u64,
}

/// A checkpoint whose files are all as they were written.
#[derive(Debug)]
pub struct Checkpoint {
    folder: PathBuf,
    manifest: Manifest,
}

impl Checkpoints {
    /// The checkpoints under `root`, which is made if it is not there. What a crash left half made is removed.
    ///
    /// # Errors
    /// [`TrainerError::Io`].
    pub fn open(root: &Path) -> Result<Self, TrainerError> {
        let failed = || TrainerError::io(format!("opening {}", root.display()));
        fs::create_dir_all(root).map_err(failed())?;
        for entry in fs::read_dir(root).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            if entry.file_name().to_string_lossy().starts_with(DRAFT_PREFIX) {
                let path = entry.path();
                let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                removed.map_err(TrainerError::io(format!("removing {}", path.display())))?;
            }
        }
        Ok(Self { root: root.to_owned() })
    }

    /// Begins the checkpoint after `step` updates.
    ///
    /// # Errors
    /// [`TrainerError::Io`].
    pub fn begin(&self, step: u64) -> Result<Draft, TrainerError> {
        let folder = tempfile::Builder::new().prefix(DRAFT_PREFIX).tempdir_in(&self.root);
        let folder = folder.map_err(TrainerError::io(format!("beginning a checkpoint in {}", self.root.display())))?;
        Ok(Draft { root: self.root.clone(), folder, step })
    }

    /// Folders of all checkpoints, the newest first. They are not verified yet: [`Checkpoint::load`] does.
    ///
    /// # Errors
    /// [`TrainerError::Io`].
    pub fn list(&self) -> Result<Vec<PathBuf>, TrainerError> {
        let failed = || TrainerError::io(format!("listing {}", self.root.display()));
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.root).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            if let Some(order) = entry.file_name().to_str().and_then(order) {
                found.push((order, entry.path()));
            }
        }
        found.sort_by_key(|found| std::cmp::Reverse(found.0));
        Ok(found.into_iter().map(|(_, path)| path).collect())
    }

    /// The newest checkpoint, verified; none where there is none.
    ///
    /// # Errors
    /// [`TrainerError::BadCheckpoint`] where its files are not as they were written: whether an older one will do is
    /// the caller's choice. [`TrainerError::Io`].
    pub fn newest(&self) -> Result<Option<Checkpoint>, TrainerError> {
        self.list()?.first().map(|path| Checkpoint::load(path)).transpose()
    }

    /// Removes all but the `keep` newest, of which there is always one.
    ///
    /// # Errors
    /// [`TrainerError::Io`].
    pub fn prune(&self, keep: usize) -> Result<(), TrainerError> {
        for path in self.list()?.into_iter().skip(keep.max(1)) {
            // Under a draft's name, so that a crash meanwhile leaves no checkpoint with half its files.
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let leaving = self.root.join(format!("{DRAFT_PREFIX}{name}"));
            let failed = || TrainerError::io(format!("removing {}", path.display()));
            fs::rename(&path, &leaving).map_err(failed())?;
            fs::remove_dir_all(&leaving).map_err(failed())?;
        }
        Ok(())
    }
}

impl Draft {
    /// Where to write files, also in folders of their own.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file of tensors.
    ///
    /// # Errors
    /// As [`write_tensors`].
    pub fn tensors(&self, name: &str, tensors: &[(String, TensorData)]) -> Result<(), TrainerError> {
        write_tensors(&self.path().join(name), tensors)
    }

    /// Writes the state of the loop, whose numbers have to be finite, and makes all of it a checkpoint in one instant.
    /// Answers its folder.
    ///
    /// # Errors
    /// [`TrainerError::Io`]; nothing is left behind then.
    pub fn finish<S: Serialize>(self, state: &S) -> Result<PathBuf, TrainerError> {
        self.write(STATE, state)?;
        let manifest = Manifest::of(self.path(), self.step)?;
        self.write(MANIFEST, &manifest)?;
        sync_folder(self.path())?;
        for repeat in 0..REPEATS_MAX {
            let suffix = if repeat == 0 { String::new() } else { format!(".{repeat}") };
            let place = self.root.join(format!("{STEP_PREFIX}{:010}{suffix}", self.step));
            if place.exists() {
                continue;
            }
            let failed = || TrainerError::io(format!("finishing {}", place.display()));
            fs::rename(self.path(), &place).map_err(failed())?;
            // The folder has another name now: nothing is left to clean up.
            let _ = self.folder.keep();
            sync_folder(&self.root)?;
            return Ok(place);
        }
        Err(TrainerError::Internal(format!("step {} was written {REPEATS_MAX} times", self.step)))
    }

    /// Leaves the draft as a crash would.
    #[cfg(test)]
    pub(super) fn folder_that_stays(self) -> PathBuf {
        self.folder.keep()
    }

    fn write<S: Serialize>(&self, name: &str, value: &S) -> Result<(), TrainerError> {
        let path = self.path().join(name);
        let text = serde_json::to_vec_pretty(value);
        let text = text.map_err(|error| TrainerError::Internal(format!("{name} cannot be written: {error}")))?;
        let written = fs::write(&path, text).and_then(|()| fs::File::open(&path)?.sync_all());
        written.map_err(TrainerError::io(format!("writing {}", path.display())))
    }
}

impl Checkpoint {
    /// Opens a checkpoint and compares every file with its digest.
    ///
    /// # Errors
    /// [`TrainerError::BadCheckpoint`] with the file that is missing, cut short or altered.
    pub fn load(folder: &Path) -> Result<Self, TrainerError> {
        Ok(Self { folder: folder.to_owned(), manifest: Manifest::verify(folder)? })
    }

    /// After how many updates it was made.
    #[must_use]
    pub const fn step(&self) -> u64 {
        self.manifest.step
    }

    /// Where its files are.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// True if it has a file.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.manifest.has(name)
    }

    /// The state of the loop.
    ///
    /// # Errors
    /// [`TrainerError::BadCheckpoint`] where it is of another program's shape.
    pub fn state<S: DeserializeOwned>(&self) -> Result<S, TrainerError> {
        let path = self.folder.join(STATE);
        let text = fs::read(&path).map_err(|error| broken(&path, &format!("it cannot be read: {error}")))?;
        serde_json::from_slice(&text).map_err(|error| broken(&path, &format!("it does not fit this program: {error}")))
    }

    /// The tensors of a file, by name.
    ///
    /// # Errors
    /// As [`read_tensors`].
    pub fn tensors(&self, name: &str) -> Result<BTreeMap<String, TensorData>, TrainerError> {
        read_tensors(&self.folder.join(name))
    }
}

/// Step and repeat of a checkpoint's folder.
fn order(name: &str) -> Option<(u64, u32)> {
    let rest = name.strip_prefix(STEP_PREFIX)?;
    let (step, repeat) = rest.split_once('.').map_or((rest, Some(0)), |(step, repeat)| (step, repeat.parse().ok()));
    Some((step.parse().ok()?, repeat?))
}
