//! Where work is done on this server: the back ends of sandboxes that can be used here, images, profiles, and the evidence that is
//! kept by digest.

use std::path::Path;

use palestra_sandbox::Sandboxes;
use palestra_sandbox::blob::Blobs;
use palestra_sandbox::image::Images;
use palestra_workbench::work::Desk;

/// A desk without any sandbox, for those who read tasks and do none.
#[must_use]
pub fn without_sandboxes(data: &Path) -> Desk {
    let images = Images::new(data.join("images"));
    Desk { sandboxes: Sandboxes::none(images), blobs: Blobs::new(data.join("blobs")) }
}
