//! Images: what the file system of a sandbox is made from.

mod alias;
mod build;
mod build_folder;
mod definition;
mod derive;
mod finish;
pub(crate) mod host;
mod tree;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::SandboxError;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

pub use alias::{Alias, Aliases};
pub use build::{BuildError, Contents, build, store};
pub use definition::{Definition, Packages};
pub use derive::derive;
pub(crate) use tree::pack;

/// The folder of the unpacked root file systems, by digest. No image can have this name.
const TREES: &str = ".trees";

/// An image that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Its name: `shell`, `python`, `build`, ... or `host`, which shows the host's `/usr` read-only.
    pub name: String,
    /// `sha256:<hex>` of what it was made from; sandboxes of equal digests are alike.
    pub digest: String,
    /// Environment of every command.
    pub env: Vec<(String, String)>,
    /// Folder in which commands start.
    pub folder: String,
    /// The unpacked root file system, without which no back end can start anything.
    pub root: Option<PathBuf>,
}

/// The images of this server: a folder with one folder each, which holds `image.json`. The root file systems lie beside them by digest,
/// so that an image which is built anew takes nothing from the sandboxes that run.
#[derive(Debug, Clone)]
pub struct Images {
    folder: PathBuf,
    /// The operator's, which go before the shipped ones.
    aliases: Arc<Aliases>,
    /// Names of packages by digest, read once.
    packages: Arc<Mutex<HashMap<String, Arc<BTreeSet<String>>>>>,
}

/// An image that stands in for one that others name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    /// The name of the image.
    pub image: String,
    /// Reason why it can stand in; empty where it is the image that is named.
    pub reason: String,
}

impl Images {
    /// The images in `folder`. Sandboxes start elsewhere, so that it is kept as an absolute path.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        // Only an empty path has no absolute form.
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        Self { folder, aliases: Arc::default(), packages: Arc::default() }
    }

    /// The same with the operator's aliases of base images.
    #[must_use]
    pub fn with_aliases(self, aliases: Aliases) -> Self {
        Self { aliases: Arc::new(aliases), ..self }
    }

    /// The image that is used where somebody else's task names a base image: by the operator's aliases, as the name of an image that is
    /// here, or by the shipped aliases.
    ///
    /// # Errors
    /// In words, when none is.
    pub fn stand_in(&self, base: &str) -> Result<StandIn, String> {
        if let Some(alias) = self.aliases.find(base) {
            return Ok(StandIn { image: alias.image.clone(), reason: alias.reason.clone() });
        }
        let own = base.strip_suffix(":latest").unwrap_or(base);
        if is_name(own) && own != host::NAME && self.resolve(own).is_ok() {
            return Ok(StandIn { image: own.to_owned(), reason: String::new() });
        }
        let shipped = Aliases::shipped()?;
        let alias = shipped.find(base).ok_or_else(|| {
            format!(
                "no image here stands in for {base:?}: name one in the file of --image-aliases, or build one by that name \
                 (sandboxes/aliases.toml lists what is shipped)"
            )
        })?;
        Ok(StandIn { image: alias.image.clone(), reason: alias.reason.clone() })
    }

    /// The names of the Debian packages of an image, with what they stand for; `None` where the image is not here or has no list.
    #[must_use]
    pub fn packages(&self, name: &str) -> Option<Arc<BTreeSet<String>>> {
        let image = self.resolve(name).ok()?;
        if let Some(known) = self.packages.lock().get(&image.digest) {
            return Some(Arc::clone(known));
        }
        let list = std::fs::read_to_string(image.root.as_ref()?.join("var/lib/dpkg/status")).ok()?;
        let names = Arc::new(installed(&list));
        self.packages.lock().insert(image.digest.clone(), Arc::clone(&names));
        Some(names)
    }

    /// Where they are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
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
        if !is_name(name) {
            return Err(SandboxError::Unavailable(format!(
                "{name:?} is no name of an image: choose one that `palestra images` lists"
            )));
        }
        if name == host::NAME {
            let made = host::image(&self.folder.join(name));
            return made.map(Arc::new).map_err(|error| {
                SandboxError::Unavailable(format!("the image {name:?} cannot be made, see `palestra images`: {error}"))
            });
        }
        let path = self.folder.join(name).join("image.json");
        let text = std::fs::read_to_string(&path).map_err(|error| missing(error.to_string()))?;
        serde_json::from_str(&text).map(Arc::new).map_err(|error| missing(error.to_string()))
    }

    /// All that are there, by name.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self) -> std::io::Result<Vec<Arc<Image>>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = BTreeSet::new();
        for entry in entries {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names.iter().filter_map(|name| self.resolve(name).ok()).collect())
    }

    /// Removes the root file systems that no image names any more and that are not in `keep` (digests); answers how many. Nothing may
    /// run in them, and no kept disk may stand on them.
    ///
    /// # Errors
    /// When a folder cannot be read or removed.
    pub fn prune(&self, keep: &BTreeSet<String>) -> std::io::Result<u64> {
        let mut named: BTreeSet<PathBuf> = keep.iter().map(|digest| self.tree(digest)).collect();
        named.extend(self.list()?.iter().filter_map(|image| image.root.clone()));
        let mut removed = 0;
        let trees = self.folder.join(TREES);
        if !trees.is_dir() {
            return Ok(0);
        }
        for entry in std::fs::read_dir(trees)? {
            let path = entry?.path();
            if !named.contains(&path) {
                std::fs::remove_dir_all(path)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Where the root file system of a digest lies.
    fn tree(&self, digest: &str) -> PathBuf {
        let digits = digest.strip_prefix("sha256:").unwrap_or(digest);
        self.folder.join(TREES).join(digits)
    }
}

/// The names of packages in a list of dpkg, with those that they provide.
fn installed(list: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for record in list.split("\n\n").filter(|record| record.contains("\nStatus: install ok installed")) {
        for line in record.lines() {
            if let Some(name) = line.strip_prefix("Package: ") {
                names.insert(name.to_owned());
            } else if let Some(provided) = line.strip_prefix("Provides: ") {
                names.extend(provided.split(", ").filter_map(|name| name.split_whitespace().next()).map(str::to_owned));
            }
        }
    }
    names
}

/// True if a text can name an image: letters, digits, `-` and `_`.
#[must_use]
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(images: &Images, name: &str, digest: &str) {
        let root = images.tree(digest);
        std::fs::create_dir_all(root.join("etc")).expect("a tree");
        let image = Image {
            name: name.to_owned(),
            digest: digest.to_owned(),
            env: Vec::new(),
            folder: "/".to_owned(),
            root: Some(root),
        };
        let folder = images.folder().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("image.json"), serde_json::to_vec(&image).expect("JSON")).expect("written");
    }

    #[test]
    fn images_are_found_by_name_and_no_path_is_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let images = Images::new(folder.path());
        keep(&images, "shell", "sha256:aa");
        assert_eq!(images.resolve("shell").expect("there").digest, "sha256:aa");
        for name in ["", "../shell", "a/b", ".trees", "python"] {
            assert!(matches!(images.resolve(name), Err(SandboxError::Unavailable(_))), "{name}");
        }
        assert_eq!(images.list().expect("listed").len(), 1);
        assert_eq!(Images::new(folder.path().join("none")).list().expect("listed").len(), 0);
        assert!(Images::new("data/images").folder.is_absolute());
    }

    #[test]
    fn only_trees_that_nothing_names_are_pruned() {
        let folder = tempfile::tempdir().expect("a folder");
        let images = Images::new(folder.path());
        keep(&images, "shell", "sha256:aa");
        keep(&images, "shell", "sha256:bb");
        keep(&images, "shell", "sha256:cc");
        assert_eq!(images.prune(&BTreeSet::from(["sha256:aa".to_owned()])).expect("pruned"), 1);
        assert!(images.tree("sha256:aa").is_dir());
        assert!(!images.tree("sha256:bb").exists());
        assert!(images.tree("sha256:cc").is_dir());
    }
}
