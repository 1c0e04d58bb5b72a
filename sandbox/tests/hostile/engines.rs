//! The back ends that this machine has.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use palestra_sandbox::Backend;
use palestra_sandbox::image::{Image, Images};
use palestra_sandbox::local::Local;

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
        Kind::Docker => None,
    }
}

async fn local(folder: &Path) -> Option<Engine> {
    let backend = Local::new(&folder.join("sandbox")).expect("a folder");
    if let Err(error) = backend.examine(&crate::arena::Arena::profile()).await {
        eprintln!("skipped: no local back end: {error}");
        return None;
    }
    let image = Images::new(folder.join("images")).resolve("host").expect("the image of the host");
    Some(Engine { backend: Arc::new(backend), image, socket: None })
}
