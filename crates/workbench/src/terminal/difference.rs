//! Differences between two states of a file system.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use palestra_sandbox::wire::{Change, ChangeKind};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::{Archive, EntryType};

/// Comparable part of a change of the file system at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PathState {
    kind: u8,
    mode: u32,
    content: Vec<u8>,
    /// Where a link leads.
    target: Option<String>,
}

/// Present differences from a base, by path: the image itself, or what `base` made of it. `now` lists what differs from the
/// image; the archives are needed only where there is a base.
///
/// # Errors
/// When an archive cannot be read.
pub(super) fn of(now: &[Change], base: Option<&[u8]>, delta: Option<&[u8]>) -> Result<Value, String> {
    let reported = |change: &Change, kind: ChangeKind| {
        let entry = change.entry.as_ref();
        json!({
            "path": change.path,
            "change": kind,
            "size": entry.map(|entry| entry.size),
            "mode": entry.map(|entry| entry.mode),
        })
    };
    let (Some(base), Some(delta)) = (base, delta) else {
        return Ok(now.iter().map(|change| reported(change, change.change)).collect());
    };
    let (before, after) = (held(base)?, held(delta)?);
    let mut changes = BTreeMap::new();
    for change in now {
        let path = change.path.as_str();
        let (old, new) = (before.get(path), after.get(path));
        if old != new || (old.is_none() && new.is_none() && !deleted(&before, path)) {
            let kind = match (change.change, old) {
                (ChangeKind::Added, Some(_)) => ChangeKind::Modified,
                (kind, _) => kind,
            };
            changes.insert(path.to_owned(), reported(change, kind));
        }
    }
    for path in before.keys().filter(|path| !is_whiteout(path)) {
        if !after.contains_key(path) && !changes.contains_key(path) {
            let deleted = json!({"path": path, "change": ChangeKind::Deleted, "size": null, "mode": null});
            changes.insert(path.clone(), deleted);
        }
    }
    Ok(changes.into_values().collect())
}

/// Two changes of one image, compared by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Compared {
    /// Paths with other content, another kind or other permissions in the second, or in it alone.
    pub(super) changed: BTreeSet<String>,
    /// Paths that the second removed, of the image or of the first.
    pub(super) removed: BTreeSet<String>,
    /// Folders that the first has, with other permissions, or another kind in their place.
    pub(super) shut: BTreeSet<String>,
    /// Paths that are as the first has them.
    pub(super) same: BTreeSet<String>,
    /// Where links lead that the second has otherwise than the first, as they say.
    pub(super) links: BTreeMap<String, String>,
}

/// Compares what was done to an image with what was done to it before.
///
/// # Errors
/// When an archive cannot be read.
pub(super) fn compare(base: Option<&[u8]>, delta: &[u8]) -> Result<Compared, String> {
    let before = base.map(held).transpose()?.unwrap_or_default();
    let after = held(delta)?;
    let mut compared = Compared::default();
    for (path, now) in &after {
        let place = match before.get(path) == Some(now) {
            true => &mut compared.same,
            false if is_whiteout(path) => &mut compared.removed,
            false => &mut compared.changed,
        };
        if let Some(target) = now.target.as_ref().filter(|_| before.get(path) != Some(now)) {
            compared.links.insert(path.clone(), target.clone());
        }
        place.insert(shown(path));
        let was_folder = before.get(path).is_some_and(|before| before.kind == EntryType::Directory.as_byte());
        if was_folder && before.get(path) != Some(now) {
            compared.shut.insert(path.clone());
        }
    }
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    compared.removed.extend(gone.map(|path| shown(path)));
    Ok(compared)
}

/// All that an archive holds, by path.
///
/// # Errors
/// When it cannot be read.
pub(super) fn paths(archive: &[u8]) -> Result<BTreeSet<String>, String> {
    Ok(held(archive)?.into_keys().filter(|path| !is_whiteout(path)).collect())
}

/// Texts of the files that an archive holds below a folder, by path; what is no text is left out.
///
/// # Errors
/// When it cannot be read.
pub(super) fn texts(archive: &[u8], folder: &str) -> Result<BTreeMap<String, String>, String> {
    let mut texts = BTreeMap::new();
    let mut archive = Archive::new(archive);
    for entry in archive.entries().map_err(|error| error.to_string())? {
        let mut entry = entry.map_err(|error| error.to_string())?;
        let path = name(&entry.path_bytes());
        let is_inside = path.strip_prefix(folder).is_some_and(|below| below.starts_with('/'));
        let mut text = String::new();
        if is_inside && entry.header().entry_type().is_file() && entry.read_to_string(&mut text).is_ok() {
            texts.insert(path, text);
        }
    }
    Ok(texts)
}

/// The absolute path of an entry.
fn name(bytes: &[u8]) -> String {
    format!("/{}", String::from_utf8_lossy(bytes).trim_start_matches("./").trim_matches('/'))
}

/// The path that a whiteout stands for.
fn shown(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, ".wh..wh..opq")) => folder.to_owned(),
        Some((folder, name)) => format!("{folder}/{}", name.strip_prefix(".wh.").unwrap_or(name)),
        None => path.to_owned(),
    }
}

fn is_whiteout(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(".wh."))
}

fn deleted(before: &BTreeMap<String, PathState>, path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    before.contains_key(&format!("{folder}/.wh.{name}"))
}

fn held(archive: &[u8]) -> Result<BTreeMap<String, PathState>, String> {
    let mut held = BTreeMap::new();
    let mut archive = Archive::new(archive);
    for entry in archive.entries().map_err(|error| error.to_string())? {
        let mut entry = entry.map_err(|error| error.to_string())?;
        let path = name(&entry.path_bytes());
        let kind = entry.header().entry_type();
        let mode = entry.header().mode().unwrap_or_default() & 0o7777;
        let mut hash = Sha256::new();
        let target = entry.link_name_bytes();
        if let Some(target) = &target {
            hash.update(target);
        }
        let target = target.filter(|_| kind == EntryType::Symlink);
        let target = target.map(|target| String::from_utf8_lossy(&target).into_owned());
        if kind != EntryType::Directory {
            std::io::copy(&mut entry, &mut Hashing(&mut hash)).map_err(|error| error.to_string())?;
        }
        held.insert(path, PathState { kind: kind.as_byte(), mode, content: hash.finalize().to_vec(), target });
    }
    Ok(held)
}

struct Hashing<'a>(&'a mut Sha256);

impl std::io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tar::{Builder, Header};

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (path, text) in files {
            let mut header = Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, path, text.as_bytes()).expect("appended");
        }
        builder.into_inner().expect("an archive")
    }

    fn change(path: &str, change: ChangeKind) -> Change {
        Change { path: path.to_owned(), change, entry: None }
    }

    #[test]
    fn changes_of_a_layer_are_not_reported_again() {
        let base = archive(&[("app/a", "1"), ("app/b", "1"), ("app/gone", "1"), ("etc/.wh.motd", "")]);
        let now =
            archive(&[("app/a", "1"), ("app/b", "2"), ("app/c", "1"), ("etc/.wh.motd", ""), ("etc/.wh.issue", "")]);
        let listed = [
            change("/app/a", ChangeKind::Added),
            change("/app/b", ChangeKind::Added),
            change("/app/c", ChangeKind::Added),
            change("/etc/issue", ChangeKind::Deleted),
            change("/etc/motd", ChangeKind::Deleted),
        ];
        let reported = of(&listed, Some(&base), Some(&now)).expect("told");
        let reported: Vec<(&str, &str)> = reported
            .as_array()
            .expect("a list")
            .iter()
            .map(|change| (change["path"].as_str().expect("a path"), change["change"].as_str().expect("a word")))
            .collect();
        let expected =
            [("/app/b", "modified"), ("/app/c", "added"), ("/app/gone", "deleted"), ("/etc/issue", "deleted")];
        assert_eq!(reported, expected);
        let set = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        let compared = Compared {
            changed: set(&["/app/b", "/app/c"]),
            removed: set(&["/app/gone", "/etc/issue"]),
            shut: set(&[]),
            same: set(&["/app/a", "/etc/motd"]),
            links: BTreeMap::new(),
        };
        assert_eq!(compare(Some(&base), &now).expect("compared"), compared);
        assert_eq!(compare(Some(&base), &base).expect("compared").changed, set(&[]));
    }
}
