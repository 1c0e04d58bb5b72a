//! Images: what the file system of a sandbox is made from.

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::SandboxError;
use crate::local::host;
use serde::{Deserialize, Serialize};

/// An image that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Its name: `shell`, `python`, `build`, ... or `host`, which shows the host's `/usr` read-only.
    pub name: String,
    /// `sha256:<hex>` of what it was made from; sandboxes of equal digests are alike.
    pub digest: String,
    /// Environment of every command.
    pub env: Vec<(String, String)>,
    /// Where commands start.
    pub folder: String,
    /// The unpacked root file system; `None` where only a Docker engine holds it.
    pub root: Option<PathBuf>,
    /// Its name with the Docker engine, where that holds it.
    pub docker: Option<String>,
}

/// The images of this server: a folder with one folder each, which holds `image.json` and the root file system.
#[derive(Debug, Clone)]
pub struct Images {
    folder: PathBuf,
}

impl Images {
    /// The images in `folder`.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The image of a name.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`], with how to build it.
    pub fn resolve(&self, name: &str) -> Result<Arc<Image>, SandboxError> {
        let missing = |why: String| {
            SandboxError::Unavailable(format!(
                "there is no image {name:?} ({why}): build it with `palestra images build {name}`"
            ))
        };
        let sane = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if !sane {
            return Err(SandboxError::Unavailable(format!("{name:?} is no name of an image")));
        }
        if name == host::NAME {
            let made = host::image(&self.folder.join(name));
            return made
                .map(Arc::new)
                .map_err(|error| SandboxError::Unavailable(format!("the image {name:?} cannot be made: {error}")));
        }
        let path = self.folder.join(name).join("image.json");
        let text = std::fs::read_to_string(&path).map_err(|error| missing(error.to_string()))?;
        serde_json::from_str(&text).map(Arc::new).map_err(|error| missing(error.to_string()))
    }
}
