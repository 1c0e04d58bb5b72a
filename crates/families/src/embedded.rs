//! The environments that are shipped with the program: the folder `environments/`, packed by the build, each unpacked when it is played.

use std::collections::BTreeMap;
use std::io::{self, Read as _};

include!(concat!(env!("OUT_DIR"), "/packed.rs"));

/// An environment with all its versions.
#[derive(Debug)]
struct Packed {
    family: &'static str,
    name: &'static str,
    /// Number of versions, which is that of the newest.
    versions: u32,
    /// An archive with a folder per version, named by its number. All but the newest have the files in which they differ from the version
    /// after them.
    pack: &'static [u8],
}

/// One version of an environment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Version {
    /// Its name within its family.
    pub(crate) name: &'static str,
    /// From 1.
    pub(crate) number: u32,
    environment: &'static Packed,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// Its permission bits.
    pub(crate) mode: u32,
    pub(crate) bytes: Vec<u8>,
}

/// The newest version of each environment of a family, by name.
pub(crate) fn newest(family: &str) -> impl Iterator<Item = Version> {
    versions(family).filter(|version| version.number == version.environment.versions)
}

/// The versions before the newest.
pub(crate) fn former(family: &str) -> impl Iterator<Item = Version> {
    versions(family).filter(|version| version.number < version.environment.versions)
}

fn versions(family: &str) -> impl Iterator<Item = Version> {
    PACKED.iter().filter(move |packed| packed.family == family).flat_map(|packed| {
        (1..=packed.versions).map(|number| Version { name: packed.name, number, environment: packed })
    })
}

impl Version {
    /// Its files by their paths in its folder.
    pub(crate) fn files(&self) -> BTreeMap<String, File> {
        let mut versions = unpacked(self.environment.pack).expect("the build packed it");
        // Of files that several versions have, this version's is the one of the first at or after it.
        let mut files = BTreeMap::new();
        for number in (self.number..=self.environment.versions).rev() {
            files.extend(versions.remove(&number).unwrap_or_default());
        }
        files
    }
}

/// The files of each version by their paths in its folder.
fn unpacked(pack: &[u8]) -> io::Result<BTreeMap<u32, BTreeMap<String, File>>> {
    let archive = palestra_pack::unpack(pack)?;
    let mut versions: BTreeMap<u32, BTreeMap<String, File>> = BTreeMap::new();
    for entry in tar::Archive::new(&*archive).entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_file() {
            let path = entry.path()?.to_string_lossy().into_owned();
            let (number, path) = path.split_once('/').unwrap_or_default();
            let mode = entry.header().mode()? & 0o777;
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            let number = number.parse().map_err(io::Error::other)?;
            versions.entry(number).or_default().insert(path.to_owned(), File { mode, bytes });
        }
    }
    Ok(versions)
}
