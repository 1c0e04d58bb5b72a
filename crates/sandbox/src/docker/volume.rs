//! Images as volumes of the engine: an overlay cannot stand on a container's own root, but on a volume. Each is filled once, through
//! the engine, so that it also works where the engine sees none of the server's folders.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::channel::written;
use super::engine::{Container, Engine};
use super::{IMAGE, WHOLE, labels};
use crate::error::SandboxError;
use crate::image::{Image, host, pack};
use crate::profile::Network;

/// The image of the containers: the folders that they mount over.
pub(super) const BASE: &str = "palestra/stage:1";
/// Label of volumes with images, with the digest.
const DIGEST: &str = "palestra.image";
/// Label of containers that fill a volume, with its name.
const FILLS: &str = "palestra.fills";
/// Between two looks at a volume that another server fills.
const LOOK: Duration = Duration::from_millis(500);
/// Number of lookups: for 20 minutes.
const LOOKS_MAX: u32 = 2_400;

/// The volumes that are known to hold their image.
pub(super) struct Volumes {
    labels: HashMap<String, String>,
    first_id: u32,
    whole: Mutex<HashMap<String, Arc<OnceCell<()>>>>,
}

impl Volumes {
    /// None is known yet. Id 0 of a sandbox is `first_id` of the container.
    pub(super) fn new(server: &str, process: &str, first_id: u32) -> Self {
        Self { labels: labels(server, process), first_id, whole: Mutex::default() }
    }

    pub(super) fn first_id(&self) -> u32 {
        self.first_id
    }

    /// The name of the volume that holds an image, once it does.
    pub(super) async fn ready(&self, engine: &Engine, image: &Image) -> Result<String, SandboxError> {
        let name = self.name(image);
        let whole = Arc::clone(self.whole.lock().entry(name.clone()).or_default());
        whole.get_or_try_init(|| self.fill(engine, image, &name)).await?;
        Ok(name)
    }

    /// Looks again when the image is wanted next.
    pub(super) fn forget(&self, image: &Image) {
        self.whole.lock().remove(&self.name(image));
    }

    /// Removes volumes of images that are not in `keep`.
    pub(super) async fn prune(&self, engine: &Engine, keep: &BTreeSet<String>) -> Result<u64, SandboxError> {
        let kept: BTreeSet<String> = keep.iter().map(|digest| self.name_of(digest)).collect();
        let mut removed = 0;
        for volume in engine.volumes(DIGEST).await? {
            if !kept.contains(&volume) {
                self.whole.lock().remove(&volume);
                removed += u64::from(engine.remove_volume(&volume).await?);
            }
        }
        Ok(removed)
    }

    fn name(&self, image: &Image) -> String {
        self.name_of(&image.digest)
    }

    fn name_of(&self, digest: &str) -> String {
        let digits = digest.strip_prefix("sha256:").unwrap_or(digest);
        format!("palestra-image-{}-{}", self.first_id, &digits[..digits.len().min(40)])
    }

    async fn fill(&self, engine: &Engine, image: &Image, volume: &str) -> Result<(), SandboxError> {
        if !engine.has_image(BASE).await? {
            let (repository, tag) = BASE.split_once(':').unwrap_or((BASE, "latest"));
            engine.import_image(repository, tag, base()?).await?;
        }
        let digest = HashMap::from([(DIGEST.to_owned(), image.digest.clone())]);
        engine.create_volume(volume, digest).await?;
        let container = self.lock(engine, volume).await?;
        let filled = self.copy(engine, image, &container).await;
        engine.remove(&container).await?;
        filled
    }

    /// Makes the container through which the volume is filled. Its name is the lock: one fills at a time, of however many servers.
    async fn lock(&self, engine: &Engine, volume: &str) -> Result<String, SandboxError> {
        let name = format!("fill-{volume}");
        let mut labels = self.labels.clone();
        labels.insert(FILLS.to_owned(), volume.to_owned());
        let container = Container {
            name: name.clone(),
            labels,
            image: BASE.to_owned(),
            // It never runs.
            command: vec!["/none".to_owned()],
            program: None,
            volume: Some((volume.to_owned(), IMAGE.to_owned(), true)),
            capabilities: Vec::new(),
            memory_bytes: 0,
            data_bytes: 0,
            cpu_thousandths: 0,
            processes: 0,
            network: Network::None,
            runtime: None,
        };
        for _ in 0..LOOKS_MAX {
            if engine.create(container.clone()).await? {
                return Ok(name);
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(SandboxError::Unavailable(format!(
            "another server copies this image to the Docker engine without coming to an end: remove the container {name} if none does"
        )))
    }

    async fn copy(&self, engine: &Engine, image: &Image, container: &str) -> Result<(), SandboxError> {
        if engine.has(container, WHOLE).await? {
            return Ok(());
        }
        let root = image.root.clone().filter(|_| image.name != host::NAME).ok_or_else(|| {
            SandboxError::Unavailable(format!(
                "the image {:?} has no files of its own that a Docker engine can be given: build one with `palestra images build`",
                image.name
            ))
        })?;
        let first_id = self.first_id;
        tracing::info!(image = image.name, "copying the image to the Docker engine");
        engine.upload(container, IMAGE, written(move |to| pack(&root, Path::new("tree"), first_id, to))).await?;
        let whole = written(|to| {
            let mut builder = tar::Builder::new(to);
            let mut header = empty(tar::EntryType::Regular, 0o444);
            builder.append_data(&mut header, "whole", std::io::empty())?;
            builder.finish()
        });
        engine.upload(container, IMAGE, whole).await
    }
}

/// The archive of the containers' image.
fn base() -> Result<Vec<u8>, SandboxError> {
    let write = || {
        let mut builder = tar::Builder::new(Vec::new());
        for folder in ["palestra", "palestra/image", "palestra/place"] {
            let mut header = empty(tar::EntryType::Directory, 0o755);
            builder.append_data(&mut header, folder, std::io::empty())?;
        }
        builder.into_inner()
    };
    write().map_err(|error| SandboxError::Start(format!("the base image: {error}")))
}

/// The head of an entry without contents, of the container's first user.
fn empty(kind: tar::EntryType, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(0);
    header
}
