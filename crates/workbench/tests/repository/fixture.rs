//! A workbench with the local back end, and what is shipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use palestra_sandbox::blob::Blobs;
use palestra_sandbox::docker::Options;
use palestra_sandbox::image::Images;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::{Backend, Docker, Local, Sandboxes, shipped};
use palestra_state::secrets::Secrets;
use palestra_workbench::repository::Repository;
use palestra_workbench::work::{Fault, JudgeError, Judgement, Upload, UploadedFile, Work as _, Workbench};
use serde_json::Value;

/// A workbench in a folder of its own, which goes with it.
pub(crate) struct Fixture {
    pub(crate) workbench: Workbench,
    pub(crate) repository: Repository,
    _folder: tempfile::TempDir,
}

/// A workbench whose images are those of `PALESTRA_IMAGES`; `None`, with a word on the terminal, where this machine cannot have one.
pub(crate) fn open(image: &str) -> Option<Fixture> {
    let (images, folder) = (images(image)?, tempfile::tempdir().expect("a folder"));
    match Local::new(&folder.path().join("sandbox")) {
        Ok(local) => Some(Fixture::with(Arc::new(local), images, folder)),
        Err(error) => {
            palestra_test_support::not_tried(format_args!("the local back end: {error}"));
            None
        }
    }
}

/// The same with the Docker engine of `PALESTRA_TEST_DOCKER`.
pub(crate) async fn open_docker(image: &str) -> Option<Fixture> {
    let Ok(host) = std::env::var("PALESTRA_TEST_DOCKER") else {
        palestra_test_support::not_tried("Docker (PALESTRA_TEST_DOCKER)");
        return None;
    };
    let (images, folder) = (images(image)?, tempfile::tempdir().expect("a folder"));
    let server = format!("repository-{}", std::process::id());
    let options = Options { host, server, folder: folder.path().join("sandbox"), runtime: None };
    let docker = Docker::connect(options).await.expect("an engine");
    Some(Fixture::with(Arc::new(docker), images, folder))
}

fn images(image: &str) -> Option<Images> {
    let Some(images) = std::env::var_os("PALESTRA_IMAGES") else {
        palestra_test_support::not_tried("images (PALESTRA_IMAGES)");
        return None;
    };
    let images = Images::new(PathBuf::from(images));
    if let Err(error) = images.resolve(image) {
        palestra_test_support::not_tried(format_args!("the image {image} (PALESTRA_IMAGES): {error}"));
        return None;
    }
    Some(images)
}

/// The rows of `environments/repository/`, by name.
pub(crate) fn shipped() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../environments/repository");
    let mut files = BTreeMap::new();
    collect(&folder, &folder, &mut files);
    let rows = rows(&Upload::Files(files)).expect("rows without a fault");
    rows.into_iter().map(|(_, row)| (row["instance_id"].as_str().expect("a name").to_owned(), row)).collect()
}

/// A shipped row.
pub(crate) fn row(name: &str) -> Value {
    shipped().into_iter().find(|(known, _)| known == name).expect("a shipped instance").1
}

/// Rows of an upload.
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

impl Fixture {
    fn with(backend: Arc<dyn Backend>, images: Images, folder: tempfile::TempDir) -> Self {
        let bounds = Bounds { sandboxes_max: 32, warm_min: 0 };
        let profiles = shipped::profiles().expect("profiles");
        let sandboxes = Sandboxes::new(vec![backend], images, profiles, bounds);
        let workbench = Workbench { sandboxes, blobs: Blobs::new(folder.path().join("blobs")) };
        Self { workbench, repository: Repository::default(), _folder: folder }
    }

    /// The verdict over a patch.
    pub(crate) async fn judge(&self, row: &Value, patch: &str) -> Result<Judgement, JudgeError> {
        let digest = self.workbench.blobs.put(patch.as_bytes()).expect("kept");
        self.repository.judge(row, Secrets::Seed(7), &serde_json::json!({"patch": digest}), &self.workbench).await
    }
}
