//! Where sandboxes come from: back ends, images and profiles together, and the warm ones that wait to be used.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::backend::{Backend, Start};
use crate::error::SandboxError;
use crate::image::Images;
use crate::profile::Profile;
use crate::sandbox::Sandbox;

/// What kind of sandbox is wanted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Want {
    /// The back end; the server's first where left out.
    pub backend: Option<String>,
    /// The image's name.
    pub image: String,
    /// The profile's name.
    pub profile: String,
}

/// Hands out sandboxes. A sandbox is handed out once.
#[derive(Clone)]
pub struct Sandboxes(Arc<Inner>);

struct Inner {
    backends: Vec<Arc<dyn Backend>>,
    images: Images,
    profiles: BTreeMap<String, Arc<Profile>>,
    started: AtomicU64,
}

impl Sandboxes {
    /// Sandboxes of these back ends, the first of which serves where none is named.
    #[must_use]
    pub fn new(backends: Vec<Arc<dyn Backend>>, images: Images, profiles: BTreeMap<String, Arc<Profile>>) -> Self {
        Self(Arc::new(Inner { backends, images, profiles, started: AtomicU64::new(0) }))
    }

    /// A fresh sandbox.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] where back end, image or profile are not there; [`SandboxError::Exhausted`].
    pub async fn take(&self, want: &Want) -> Result<Sandbox, SandboxError> {
        self.start(want, None).await
    }

    /// A sandbox on the disk of this name, new or left by an earlier one.
    ///
    /// # Errors
    /// As [`Sandboxes::take`].
    pub async fn on_disk(&self, want: &Want, disk: &str) -> Result<Sandbox, SandboxError> {
        self.start(want, Some(disk.to_owned())).await
    }

    /// The images.
    #[must_use]
    pub fn images(&self) -> &Images {
        &self.0.images
    }

    /// A profile.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when there is none of this name.
    pub fn profile(&self, name: &str) -> Result<&Arc<Profile>, SandboxError> {
        let missing = || SandboxError::Unavailable(format!("there is no sandbox profile {name:?}"));
        self.0.profiles.get(name).ok_or_else(missing)
    }

    /// A back end by name, or the first.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] when there is none.
    pub fn backend(&self, name: Option<&str>) -> Result<&Arc<dyn Backend>, SandboxError> {
        let found = self.0.backends.iter().find(|backend| name.is_none_or(|name| backend.name() == name));
        found.ok_or_else(|| {
            let words = name.map_or_else(|| "no sandbox back end".to_owned(), |name| format!("no back end {name:?}"));
            SandboxError::Unavailable(format!("{words} is there: see `palestra doctor`"))
        })
    }

    /// Removes a kept disk of this name, wherever it is, once no sandbox uses it.
    pub fn forget_disk(&self, disk: &str) {
        for backend in &self.0.backends {
            backend.forget_disk(disk);
        }
    }

    async fn start(&self, want: &Want, disk: Option<String>) -> Result<Sandbox, SandboxError> {
        let backend = self.backend(want.backend.as_deref())?;
        let profile = Arc::clone(self.profile(&want.profile)?);
        let image = self.0.images.resolve(&want.image)?;
        let number = self.0.started.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{number}", std::process::id());
        backend.start(Start { id, image, profile, disk }).await
    }
}
