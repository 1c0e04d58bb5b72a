//! The environments that are shipped with the program: the folder `environments/`, packed by the build, each unpacked when it is played.

use std::collections::BTreeMap;
use std::io::{self, Read as _};

use flate2::read::GzDecoder;

include!(concat!(env!("OUT_DIR"), "/packed.rs"));

/// An environment with all its versions.
struct Packed {
    family: &'static str,
    name: &'static str,
    /// The newest first. Each of the others has the files in which it differs from the version after it.
    versions: &'static [&'static [u8]],
}

/// One version of an environment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Version {
    /// Its name within its family.
    pub(crate) name: &'static str,
    /// From 1.
    pub(crate) number: u32,
    /// The newest version, and those after it down to this one.
    packs: &'static [&'static [u8]],
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
    versions(family).filter(|version| version.packs.len() == 1)
}

/// The versions before the newest.
pub(crate) fn former(family: &str) -> impl Iterator<Item = Version> {
    versions(family).filter(|version| version.packs.len() > 1)
}

fn versions(family: &str) -> impl Iterator<Item = Version> {
    PACKED.iter().filter(move |packed| packed.family == family).flat_map(|packed| {
        let Packed { name, versions, .. } = *packed;
        (1..).zip((1..=versions.len()).rev()).map(move |(number, packs)| Version {
            name,
            number,
            packs: &versions[..packs],
        })
    })
}

impl Version {
    /// Its files by their paths in its folder.
    pub(crate) fn files(&self) -> BTreeMap<String, File> {
        let mut files = BTreeMap::new();
        for pack in self.packs {
            files.extend(unpacked(pack).expect("the build packed it"));
        }
        files
    }
}

fn unpacked(pack: &[u8]) -> io::Result<BTreeMap<String, File>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(GzDecoder::new(pack)).entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_file() {
            let path = entry.path()?.to_string_lossy().into_owned();
            let mode = entry.header().mode()? & 0o777;
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            files.insert(path, File { mode, bytes });
        }
    }
    Ok(files)
}
