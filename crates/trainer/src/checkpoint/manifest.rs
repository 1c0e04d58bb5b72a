//! Files of a checkpoint: each file with its size and digest, and a digest of the list itself.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::failure::TrainerError;

/// Version of the folder's layout.
const FORMAT: u32 = 1;
/// Name of the list within the folder.
pub(super) const MANIFEST: &str = "manifest.json";
/// Bytes of a file digested at once.
const DIGEST_CHUNK_BYTES: usize = 1 << 20;
/// Most files of a checkpoint, folders within it included.
const FILES_MAX: usize = 10_000;
/// The longest list that is read.
const MANIFEST_BYTES_MAX: u64 = 8 << 20;

/// A file as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    bytes: u64,
    sha256: String,
}

/// The content of [`MANIFEST`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    format: u32,
    pub(super) step: u64,
    files: BTreeMap<String, Written>,
    /// Over all the rest.
    digest: String,
}

impl Manifest {
    /// Lists what a folder holds, brought to the disk.
    pub(super) fn of(folder: &Path, step: u64) -> Result<Self, TrainerError> {
        let mut files = BTreeMap::new();
        collect(folder, "", &mut files)?;
        let digest = own_digest(FORMAT, step, &files)?;
        Ok(Self { format: FORMAT, step, files, digest })
    }

    /// Reads the list of a folder and compares each file with it.
    pub(super) fn verify(folder: &Path) -> Result<Self, TrainerError> {
        let path = folder.join(MANIFEST);
        let length = fs::metadata(&path).map_err(|error| broken(&path, &format!("it cannot be read: {error}")))?.len();
        if length > MANIFEST_BYTES_MAX {
            return Err(broken(&path, &format!("it has {length} bytes, more than {MANIFEST_BYTES_MAX}")));
        }
        let text = fs::read(&path).map_err(|error| broken(&path, &format!("it cannot be read: {error}")))?;
        let manifest: Self = serde_json::from_slice(&text)
            .map_err(|error| broken(&path, &format!("it is altered or cut short: {error}")))?;
        if manifest.format != FORMAT {
            let reason = format!("its format is {}, this program reads {FORMAT}", manifest.format);
            return Err(broken(&path, &reason));
        }
        if own_digest(manifest.format, manifest.step, &manifest.files)? != manifest.digest {
            return Err(broken(&path, "it is altered"));
        }
        for (name, written) in &manifest.files {
            let path = folder.join(name);
            let found = fs::metadata(&path).map_err(|error| broken(&path, &format!("it is missing: {error}")))?.len();
            if found != written.bytes {
                return Err(broken(&path, &format!("it has {found} bytes, {} were written", written.bytes)));
            }
            let file = File::open(&path).map_err(|error| broken(&path, &format!("it cannot be read: {error}")))?;
            let found = digest(file).map_err(|error| broken(&path, &format!("it cannot be read: {error}")))?;
            if found != written.sha256 {
                return Err(broken(&path, "its content is not what was written"));
            }
        }
        Ok(manifest)
    }

    /// True if a file belongs to the checkpoint.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }
}

/// An error that names the file.
pub(super) fn broken(path: &Path, reason: &str) -> TrainerError {
    TrainerError::BadCheckpoint(format!("{}: {reason}", path.display()))
}

fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, Written>) -> Result<(), TrainerError> {
    let failed = |error| TrainerError::io(format!("listing {}", folder.display()))(error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let Some(name) = entry.file_name().to_str().map(|name| format!("{prefix}{name}")) else {
            return Err(TrainerError::Internal(format!("{} has a name that is not UTF-8", path.display())));
        };
        if entry.file_type().map_err(failed)?.is_dir() {
            collect(&path, &format!("{name}/"), files)?;
            continue;
        }
        if files.len() >= FILES_MAX {
            return Err(TrainerError::Internal(format!("a checkpoint of more than {FILES_MAX} files")));
        }
        let failed = |error| TrainerError::io(format!("digesting {}", path.display()))(error);
        let file = File::open(&path).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        files.insert(name, Written { bytes, sha256: digest(file).map_err(failed)? });
    }
    sync_folder(folder)
}

/// Brings a folder's entries to the disk.
pub(super) fn sync_folder(folder: &Path) -> Result<(), TrainerError> {
    let synced = File::open(folder).and_then(|opened| opened.sync_all());
    synced.map_err(TrainerError::io(format!("writing {}", folder.display())))
}

fn digest(mut file: File) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; DIGEST_CHUNK_BYTES];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(hex::encode(hasher.finalize())),
            read => hasher.update(&chunk[..read]),
        }
    }
}

fn own_digest(format: u32, step: u64, files: &BTreeMap<String, Written>) -> Result<String, TrainerError> {
    let text = serde_json::to_vec(&(format, step, files));
    let text = text.map_err(|error| TrainerError::Internal(format!("the list of a checkpoint: {error}")))?;
    Ok(hex::encode(Sha256::digest(text)))
}
