//! Back ends of places outside this process: sandboxes, and databases.

use std::path::Path;

use palestra_browser::{Browsers, PoolSettings};
use palestra_sandbox::Sandboxes;
use palestra_sandbox::blob::Blobs;
use palestra_sandbox::image::Images;
use palestra_workbench::work::Workbench;

use crate::databases::Databases;

/// Everything that an environment can need beside its definition. Cheap to clone.
#[derive(Clone)]
pub struct Backends {
    /// Where work in sandboxes is done.
    pub desk: Workbench,
    /// Where SQL is run.
    pub databases: Databases,
    /// Where pages are looked at.
    pub browsers: Browsers,
}

impl Backends {
    /// No sandbox, no engine of SQL and no browser, for those who read tasks and play none. `data` is where images and evidence would lie.
    #[must_use]
    pub fn none(data: &Path) -> Self {
        let sandboxes = Sandboxes::none(Images::new(data.join("images")));
        let browsers = Browsers::new(sandboxes.clone(), PoolSettings::default());
        let desk = Workbench { sandboxes, blobs: Blobs::new(data.join("blobs")) };
        Self { desk, databases: Databases::none(), browsers }
    }
}
