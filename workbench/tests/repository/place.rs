//! A desk with the local back end, and what is shipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use palestra_sandbox::blob::Blobs;
use palestra_sandbox::image::Images;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::{Backend, Local, Sandboxes, shipped};
use palestra_workbench::repository::Repository;
use palestra_workbench::work::{Desk, Fault, JudgeError, Judgement, Upload, UploadedFile, Work as _};
use serde_json::Value;

/// A desk in a folder of its own, which goes with it.
pub(crate) struct Place {
    pub(crate) desk: Desk,
    pub(crate) repository: Repository,
    _folder: tempfile::TempDir,
}

/// A desk whose images are those of `PALESTRA_IMAGES`; `None`, with a word on the terminal, where this machine cannot have one.
pub(crate) fn open(image: &str) -> Option<Place> {
    let Some(images) = std::env::var_os("PALESTRA_IMAGES") else {
        println!("skipped: no PALESTRA_IMAGES");
        return None;
    };
    let images = Images::new(PathBuf::from(images));
    if let Err(error) = images.resolve(image) {
        println!("skipped: no image {image}: {error}");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let local = match Local::new(&folder.path().join("sandbox")) {
        Ok(local) => Arc::new(local) as Arc<dyn Backend>,
        Err(error) => {
            println!("skipped: no local back end: {error}");
            return None;
        }
    };
    let bounds = Bounds { sandboxes_max: 32, warm_min: 0 };
    let sandboxes = Sandboxes::new(vec![local], images, shipped::profiles().expect("profiles"), bounds);
    let desk = Desk { sandboxes, blobs: Blobs::new(folder.path().join("blobs")) };
    Some(Place { desk, repository: Repository::default(), _folder: folder })
}

/// The rows of `environments/repository/`, by name.
pub(crate) fn shipped() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../environments/repository");
    let mut files = BTreeMap::new();
    collect(&folder, &folder, &mut files);
    let rows = rows(&Upload::Files(files)).expect("rows without a fault");
    rows.into_iter().map(|(_, row)| (row["instance_id"].as_str().expect("a name").to_owned(), row)).collect()
}

/// A shipped row.
pub(crate) fn row(name: &str) -> Value {
    shipped().into_iter().find(|(known, _)| known == name).expect("a shipped instance").1
}

/// What an upload holds.
pub(crate) fn rows(upload: &Upload) -> Result<Vec<(String, Value)>, Vec<Fault>> {
    Repository::default().rows(upload)
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, UploadedFile>) {
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("below").to_str().expect("UTF-8").to_owned();
            files.insert(name, UploadedFile { mode: 0o644, bytes: std::fs::read(&path).expect("a file") });
        }
    }
}

impl Place {
    /// The verdict over a patch.
    pub(crate) async fn judge(&self, row: &Value, patch: &str) -> Result<Judgement, JudgeError> {
        let digest = self.desk.blobs.put(patch.as_bytes()).expect("kept");
        self.repository.judge(row, 7, &serde_json::json!({"patch": digest}), &self.desk).await
    }
}
