//! Artefacts: files that were taken out of a sandbox, held as data. The archive comes from inside and is hostile.

use std::collections::BTreeMap;
use std::io::Read as _;

use tar::{Archive, Builder, EntryType, Header};

/// Longest symbolic link and path.
const PATH_BYTES_MAX: usize = 4_096;

/// Files, folders and links by absolute path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Artefacts(BTreeMap<String, Artefact>);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artefact {
    /// Kind of the artefact.
    pub kind: ArtefactKind,
    /// Permission bits, without those that change who runs a program.
    pub mode: u32,
}

/// Kind of an artefact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtefactKind {
    /// A regular file and what it holds.
    File(Vec<u8>),
    /// A folder.
    Folder,
    /// A symbolic link and where it points to.
    Link(String),
}

impl Artefacts {
    /// Adds what an archive holds. Entries of other kinds, and those whose names lead elsewhere, are passed over.
    ///
    /// # Errors
    /// When it is no archive, or holds more than `bytes_max` bytes.
    pub fn add(&mut self, archive: &[u8], bytes_max: u64) -> Result<(), String> {
        let mut left = bytes_max;
        let mut archive = Archive::new(archive);
        for entry in archive.entries().map_err(|error| error.to_string())? {
            let mut entry = entry.map_err(|error| error.to_string())?;
            let Some(path) = absolute(&entry.path_bytes()) else { continue };
            let mode = entry.header().mode().unwrap_or(0o644) & 0o777;
            let kind = match entry.header().entry_type() {
                EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                    let mut bytes = Vec::new();
                    let read = entry.by_ref().take(left.saturating_add(1)).read_to_end(&mut bytes);
                    let read = read.map_err(|error| error.to_string())? as u64;
                    left = left.checked_sub(read).ok_or_else(|| format!("more than {bytes_max} bytes"))?;
                    ArtefactKind::File(bytes)
                }
                EntryType::Directory => ArtefactKind::Folder,
                EntryType::Symlink => match entry.link_name_bytes() {
                    Some(name) if name.len() <= PATH_BYTES_MAX => {
                        ArtefactKind::Link(String::from_utf8_lossy(&name).into_owned())
                    }
                    _ => continue,
                },
                EntryType::Link => {
                    let target = entry.link_name_bytes().and_then(|name| absolute(&name));
                    match target.and_then(|target| self.0.get(&target)) {
                        Some(Artefact { kind: ArtefactKind::File(bytes), .. }) => {
                            let size = bytes.len() as u64;
                            left = left.checked_sub(size).ok_or_else(|| format!("more than {bytes_max} bytes"))?;
                            ArtefactKind::File(bytes.clone())
                        }
                        _ => continue,
                    }
                }
                _ => continue,
            };
            self.0.insert(path, Artefact { kind, mode });
        }
        Ok(())
    }

    /// Leaves out what a pattern names, with all below it: a name at any depth, or a whole path, in which `*` and `?` stand for others.
    pub fn leave_out(&mut self, patterns: &[String]) {
        let left_out = |path: &str| {
            let mut end = path.len();
            loop {
                let head = &path[..end];
                let name = head.rsplit('/').next().unwrap_or(head);
                let named = |pattern: &String| {
                    let pattern = pattern.trim_end_matches('/');
                    let subject = if pattern.contains('/') { head } else { name };
                    fits(subject.as_bytes(), pattern.as_bytes())
                };
                if patterns.iter().any(named) {
                    return true;
                }
                match head.rfind('/') {
                    Some(at @ 1..) => end = at,
                    _ => return false,
                }
            }
        };
        self.0.retain(|path, _| !left_out(path));
    }

    /// Artefact at an absolute path.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<&Artefact> {
        self.0.get(path)
    }

    /// All of them, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Artefact)> {
        self.0.iter().map(|(path, artefact)| (path.as_str(), artefact))
    }

    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let size = |artefact: &Artefact| match &artefact.kind {
            ArtefactKind::File(bytes) => bytes.len() as u64,
            ArtefactKind::Folder | ArtefactKind::Link(_) => 0,
        };
        self.0.values().map(size).sum()
    }

    /// Puts something at an absolute path.
    pub fn put(&mut self, path: impl Into<String>, artefact: Artefact) {
        self.0.insert(path.into(), artefact);
    }

    /// An archive of them in which nothing but names, contents and permissions is left of the one that they came in.
    ///
    /// # Errors
    /// When a name does not fit in an archive.
    pub fn pack(&self) -> std::io::Result<Vec<u8>> {
        let mut builder = Builder::new(Vec::new());
        for (path, artefact) in &self.0 {
            let name = path.trim_start_matches('/');
            if name.is_empty() {
                continue;
            }
            let mut header = Header::new_gnu();
            header.set_mode(artefact.mode);
            header.set_mtime(0);
            header.set_size(0);
            match &artefact.kind {
                ArtefactKind::File(bytes) => {
                    header.set_entry_type(EntryType::Regular);
                    header.set_size(bytes.len() as u64);
                    builder.append_data(&mut header, name, bytes.as_slice())?;
                }
                ArtefactKind::Folder => {
                    header.set_entry_type(EntryType::Directory);
                    builder.append_data(&mut header, name, std::io::empty())?;
                }
                ArtefactKind::Link(target) => {
                    header.set_entry_type(EntryType::Symlink);
                    builder.append_link(&mut header, name, target)?;
                }
            }
        }
        builder.into_inner()
    }
}

/// A name in an archive as an absolute path; `None` where it leads elsewhere or is no text.
fn absolute(name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name).ok()?;
    if name.len() > PATH_BYTES_MAX || name.contains('\0') {
        return None;
    }
    let mut path = String::with_capacity(name.len() + 1);
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => return None,
            part => {
                path.push('/');
                path.push_str(part);
            }
        }
    }
    Some(if path.is_empty() { "/".to_owned() } else { path })
}

/// True if a name fits a pattern with `*` and `?`.
pub(crate) fn fits(name: &[u8], pattern: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|skipped| fits(&name[skipped..], rest)),
        Some((b'?', rest)) => name.split_first().is_some_and(|(_, name)| fits(name, rest)),
        Some((letter, rest)) => name.split_first().is_some_and(|(first, name)| first == letter && fits(name, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> Artefact {
        Artefact { kind: ArtefactKind::File(bytes.to_vec()), mode: 0o644 }
    }

    #[test]
    fn packed_artefacts_are_read_again() {
        let mut artefacts = Artefacts::default();
        artefacts.put("/home/agent/work", Artefact { kind: ArtefactKind::Folder, mode: 0o755 });
        artefacts.put("/home/agent/work/a.txt", file(b"hello"));
        artefacts.put(format!("/home/{}", "x".repeat(200)), file(b"long"));
        artefacts.put("/home/link", Artefact { kind: ArtefactKind::Link("/etc/passwd".to_owned()), mode: 0o777 });
        let archive = artefacts.pack().expect("packed");
        let mut read = Artefacts::default();
        read.add(&archive, 100).expect("read");
        assert_eq!(read, artefacts);
        assert!(Artefacts::default().add(&archive, 8).is_err());
    }

    #[test]
    fn hostile_entries_are_passed_over() {
        let mut builder = Builder::new(Vec::new());
        let raw = |name: &[u8], kind: EntryType, bytes: &[u8], builder: &mut Builder<Vec<u8>>| {
            let mut header = Header::new_gnu();
            header.as_mut_bytes()[..name.len()].copy_from_slice(name);
            header.set_entry_type(kind);
            header.set_mode(0o4755);
            header.set_size(bytes.len() as u64);
            header.set_cksum();
            builder.append(&header, bytes).expect("appended");
        };
        raw(b"../../etc/passwd", EntryType::Regular, b"x", &mut builder);
        raw(b"a/../b", EntryType::Regular, b"x", &mut builder);
        raw(b"pipe", EntryType::Fifo, b"", &mut builder);
        raw(b"device", EntryType::Char, b"", &mut builder);
        raw(b"/tmp//./ok", EntryType::Regular, b"x", &mut builder);
        let mut read = Artefacts::default();
        read.add(&builder.into_inner().expect("an archive"), 100).expect("read");
        assert_eq!(read.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["/tmp/ok"]);
        assert_eq!(read.find("/tmp/ok").map(|artefact| artefact.mode), Some(0o755));
        assert!(Artefacts::default().add(b"no archive at all, but long enough".repeat(40).as_slice(), 100).is_err());
    }
}
