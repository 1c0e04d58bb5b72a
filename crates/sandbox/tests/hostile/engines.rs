//! The back ends that this machine has.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use palestra_sandbox::docker::Options;
use palestra_sandbox::image::{Image, Images};
use palestra_sandbox::local::Local;
use palestra_sandbox::{Backend, Docker};

use crate::arena::Kind;

/// A back end with an image to start.
pub(crate) struct Engine {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) image: Arc<Image>,
    /// Where a Docker engine listens, so that its containers can be counted.
    pub(crate) socket: Option<PathBuf>,
}

/// The back end of a kind, which keeps its files in `folder`; `None` where it is not there, and says so.
pub(crate) async fn engine(kind: Kind, folder: &Path) -> Option<Engine> {
    match kind {
        Kind::Local => local(folder).await,
        Kind::Docker => docker(folder).await,
    }
}

async fn local(folder: &Path) -> Option<Engine> {
    let backend = Local::new(&folder.join("sandbox")).expect("a folder");
    if let Err(error) = backend.examine(&crate::arena::Arena::profile()).await {
        palestra_test_support::not_tried(format_args!("the local back end: {error}"));
        return None;
    }
    let image = Images::new(folder.join("images")).resolve("host").expect("the image of the host");
    Some(Engine { backend: Arc::new(backend), image, socket: None })
}

/// The engine that `PALESTRA_TEST_DOCKER` names (`unix://PATH`), with the image `shell` of the folder `PALESTRA_IMAGES`.
async fn docker(folder: &Path) -> Option<Engine> {
    let Ok(host) = std::env::var("PALESTRA_TEST_DOCKER") else {
        palestra_test_support::not_tried("Docker (PALESTRA_TEST_DOCKER)");
        return None;
    };
    let images = std::env::var("PALESTRA_IMAGES").ok();
    let Some(image) = images.and_then(|folder| Images::new(folder).resolve("shell").ok()) else {
        palestra_test_support::not_tried("the image shell (PALESTRA_IMAGES)");
        return None;
    };
    let socket = host.strip_prefix("unix://").map(PathBuf::from);
    // One server for all tests, since the engine's copy of the image is the server's.
    let options = Options { host, server: "hostile".to_owned(), folder: folder.join("sandbox"), runtime: None };
    let backend = Docker::connect(options).await.expect("an engine");
    Some(Engine { backend: Arc::new(backend), image, socket })
}
