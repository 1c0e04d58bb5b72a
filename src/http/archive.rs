//! Archives of a definition's files: tar, plain or with gzip. Nothing is unpacked to a disk; what is no plain file of the
//! definition refuses the whole archive.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Component;

use flate2::read::MultiGzDecoder;
use palestra_protocol::problem::Code;
use palestra_workbench::work::UploadedFile;
use tar::{Archive, Entry, EntryType};

use super::problem::Failure;
use palestra_families::app::{FILE_BYTES_MAX, FILES_MAX, Files};

/// Bytes of an archive once it is unzipped: the files, and room for their headers.
const ARCHIVE_BYTES_MAX: u64 = FILE_BYTES_MAX as u64 + (1 << 20);
/// Entries of an archive, folders included.
const ENTRIES_MAX: usize = 4 * FILES_MAX;
/// Bytes of an archive of tasks once it is unzipped.
const TREE_BYTES_MAX: u64 = 256 << 20;
/// Entries of an archive of tasks, folders included.
const TREE_ENTRIES_MAX: usize = 100_000;
/// The first bytes of gzip (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The files of an archive, which lie at its top or together in one folder.
pub(super) fn files(archive: &[u8]) -> Result<Files, Failure> {
    if archive.starts_with(&GZIP) {
        read(MultiGzDecoder::new(archive).take(ARCHIVE_BYTES_MAX + 1))
    } else {
        read(archive.take(ARCHIVE_BYTES_MAX + 1))
    }
}

/// The plain files of an archive by path, with their permission bits, folders and all.
pub(super) fn tree(archive: &[u8]) -> Result<BTreeMap<String, UploadedFile>, Failure> {
    if archive.starts_with(&GZIP) {
        read_tree(MultiGzDecoder::new(archive).take(TREE_BYTES_MAX + 1))
    } else {
        read_tree(archive.take(TREE_BYTES_MAX + 1))
    }
}

fn read_tree(bytes: impl Read) -> Result<BTreeMap<String, UploadedFile>, Failure> {
    let mut archive = Archive::new(bytes);
    let (mut files, mut total) = (BTreeMap::new(), 0);
    for (number, entry) in archive.entries().map_err(|error| malformed(&error))?.enumerate() {
        if number >= TREE_ENTRIES_MAX {
            return Err(Failure::new(
                Code::TooLarge,
                format!("an archive must have at most {TREE_ENTRIES_MAX} entries"),
            ));
        }
        let mut entry = entry.map_err(|error| malformed(&error))?;
        let Some(parts) = parts(&entry)? else { continue };
        total += entry.size();
        if total > TREE_BYTES_MAX {
            return Err(Failure::new(Code::TooLarge, format!("an archive must have at most {TREE_BYTES_MAX} bytes")));
        }
        let mode = entry.header().mode().map_err(|error| malformed(&error))? & 0o777;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(|error| malformed(&error))?;
        if files.insert(parts.join("/"), UploadedFile { mode, bytes }).is_some() {
            return Err(refused(&entry, "it is there twice, pack it once"));
        }
    }
    if files.is_empty() {
        Err(Failure::new(Code::Malformed, "the archive holds no file: pack the definition's files"))
    } else {
        Ok(files)
    }
}

fn read(text: impl Read) -> Result<Files, Failure> {
    let mut archive = Archive::new(text);
    let (mut files, mut folder, mut bytes) = (Files::new(), None, 0);
    let entries = archive.entries().map_err(|error| malformed(&error))?;
    for (number, entry) in entries.enumerate() {
        if number >= ENTRIES_MAX {
            return Err(Failure::new(Code::TooLarge, format!("an archive must have at most {ENTRIES_MAX} entries")));
        }
        let mut entry = entry.map_err(|error| malformed(&error))?;
        let Some((parent, name)) = place(&entry)? else { continue };
        if *folder.get_or_insert_with(|| parent.clone()) != parent {
            return Err(refused(&entry, "all files must lie in one folder"));
        }
        bytes += entry.size();
        if bytes > FILE_BYTES_MAX as u64 {
            return Err(Failure::new(Code::TooLarge, format!("a definition must have at most {FILE_BYTES_MAX} bytes")));
        }
        let mut text = String::new();
        entry.read_to_string(&mut text).map_err(|error| malformed(&error))?;
        if files.insert(name, text).is_some() {
            return Err(refused(&entry, "it is there twice, pack it once"));
        }
    }
    if files.is_empty() {
        Err(Failure::new(Code::Malformed, "the archive holds no file: pack the definition's files"))
    } else {
        Ok(files)
    }
}

/// The folder and the name of a file; none for a folder.
fn place(entry: &Entry<'_, impl Read>) -> Result<Option<(String, String)>, Failure> {
    let Some(mut parts) = parts(entry)? else { return Ok(None) };
    match (parts.pop(), parts.as_slice()) {
        (Some(name), []) => Ok(Some((String::new(), name))),
        (Some(name), [folder]) => Ok(Some((folder.clone(), name))),
        _ => Err(refused(entry, "files must lie at the top of the archive, or in one folder")),
    }
}

/// The path of a plain file; none for a folder.
fn parts(entry: &Entry<'_, impl Read>) -> Result<Option<Vec<String>>, Failure> {
    match entry.header().entry_type() {
        EntryType::Directory => return Ok(None),
        EntryType::Regular => {}
        _ => return Err(refused(entry, "only plain files and folders are read: leave out links")),
    }
    let path = entry.path().map_err(|error| malformed(&error))?;
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(refused(entry, "names must be relative and not lead out of the archive"));
            }
        }
    }
    if parts.is_empty() { Err(refused(entry, "it has no name, give it one")) } else { Ok(Some(parts)) }
}

fn refused(entry: &Entry<'_, impl Read>, why: &str) -> Failure {
    let name: String = String::from_utf8_lossy(&entry.path_bytes()).chars().take(100).collect();
    Failure::new(Code::Malformed, format!("the archive cannot be taken: {name:?}: {why}"))
}

fn malformed(error: &std::io::Error) -> Failure {
    Failure::new(Code::Malformed, format!("the archive cannot be read, send tar or tar.gz: {error}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, Header};

    use super::*;

    /// An archive with one entry, whose name is taken as it is.
    fn with(name: &str, kind: EntryType, text: &[u8]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        add(&mut builder, name, kind, text);
        builder.into_inner().unwrap()
    }

    fn add(builder: &mut Builder<Vec<u8>>, name: &str, kind: EntryType, text: &[u8]) {
        let mut header = Header::new_gnu();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, text).unwrap();
    }

    fn zipped(archive: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(archive).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn files_lie_at_the_top_or_in_one_folder_zipped_or_not() {
        let mut builder = Builder::new(Vec::new());
        add(&mut builder, "shed/", EntryType::Directory, b"");
        add(&mut builder, "./shed/app.yaml", EntryType::Regular, b"app: shed");
        add(&mut builder, "shed/tasks.yaml", EntryType::Regular, b"tasks: {}");
        let archive = builder.into_inner().unwrap();
        let expected =
            Files::from([("app.yaml", "app: shed"), ("tasks.yaml", "tasks: {}")].map(|(a, b)| (a.into(), b.into())));
        assert_eq!(files(&archive).unwrap(), expected);
        assert_eq!(files(&zipped(&archive)).unwrap(), expected);
        assert_eq!(files(&with("app.yaml", EntryType::Regular, b"")).unwrap().len(), 1);
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for name in ["../app.yaml", "/etc/app.yaml", "a/../../app.yaml", "a/b/app.yaml"] {
            assert_eq!(files(&with(name, EntryType::Regular, b"x")).unwrap_err().code(), Code::Malformed, "{name}");
        }
        for kind in [EntryType::Symlink, EntryType::Link, EntryType::Fifo, EntryType::Char, EntryType::Block] {
            assert_eq!(files(&with("app.yaml", kind, b"")).unwrap_err().code(), Code::Malformed, "{kind:?}");
        }
        let mut twice = Builder::new(Vec::new());
        add(&mut twice, "app.yaml", EntryType::Regular, b"a");
        add(&mut twice, "./app.yaml", EntryType::Regular, b"b");
        assert!(files(&twice.into_inner().unwrap()).unwrap_err().0.detail.contains("twice"));
        let mut apart = Builder::new(Vec::new());
        add(&mut apart, "a/app.yaml", EntryType::Regular, b"a");
        add(&mut apart, "b/tasks.yaml", EntryType::Regular, b"b");
        assert!(files(&apart.into_inner().unwrap()).unwrap_err().0.detail.contains("one folder"));
    }

    #[test]
    fn what_is_too_large_or_no_archive_is_refused() {
        let bomb = zipped(&with("app.yaml", EntryType::Regular, &vec![b' '; FILE_BYTES_MAX + 1]));
        assert!(bomb.len() < 100_000);
        assert_eq!(files(&bomb).unwrap_err().code(), Code::TooLarge);
        let mut many = Builder::new(Vec::new());
        (0..=ENTRIES_MAX).for_each(|number| add(&mut many, &format!("{number}/"), EntryType::Directory, b""));
        assert_eq!(files(&many.into_inner().unwrap()).unwrap_err().code(), Code::TooLarge);
        for broken in [&b""[..], b"not an archive", &GZIP, &zipped(b"x".repeat(600).as_slice())] {
            assert_eq!(files(broken).unwrap_err().code(), Code::Malformed);
        }
        assert_eq!(files(&with("app.yaml", EntryType::Regular, b"\xff")).unwrap_err().code(), Code::Malformed);
    }
}
