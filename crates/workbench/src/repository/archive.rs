//! Archive formats of a project: a git bundle, or a tar archive of a tree with or without its `.git`. It is opened in sandboxes alone.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use palestra_sandbox::blob::Blobs;
use serde_json::Value;

use crate::work::UploadedFile;

/// Bytes of an archive that stands in a row.
pub const ARCHIVE_BYTES_MAX: usize = 128 << 20;

/// Kind of archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A git bundle.
    Bundle,
    /// A tar archive.
    Tar,
    /// A tar archive, compressed by gzip.
    TarGz,
}

/// Kind of some bytes.
///
/// # Errors
/// In words, when they are neither.
pub fn kind(bytes: &[u8]) -> Result<Kind, String> {
    if bytes.starts_with(b"# v2 git bundle\n") || bytes.starts_with(b"# v3 git bundle\n") {
        Ok(Kind::Bundle)
    } else if bytes.get(257..262) == Some(b"ustar") {
        Ok(Kind::Tar)
    } else if bytes.starts_with(&[0x1f, 0x8b]) {
        Ok(Kind::TarGz)
    } else {
        Err("the archive must be a git bundle (`git bundle create x --all`) or a tar archive".to_owned())
    }
}

/// The bytes of an archive as it stands in a row.
///
/// # Errors
/// In words.
pub fn decode(text: &str) -> Result<Vec<u8>, String> {
    if text.len() / 4 * 3 > ARCHIVE_BYTES_MAX {
        return Err("the archive must be at most 128 MiB".to_owned());
    }
    let letters: String = text.split_ascii_whitespace().collect();
    STANDARD.decode(letters).map_err(|error| format!("the archive must be base64: {error}"))
}

/// Puts a row's archive into the store and its digest into the row, so that a row stays small and instances of one project share
/// one archive. Rows that hold a digest already are left as they are.
///
/// # Errors
/// In words, when the disk refuses.
pub fn keep(row: &mut Value, blobs: &Blobs) -> Result<(), String> {
    let Some(Value::String(archive)) = row.get_mut("archive") else {
        return Err("the row has no archive: add one".to_owned());
    };
    if !archive.starts_with("sha256:") {
        *archive = blobs.put(&decode(archive)?).map_err(|error| {
            format!("the archive cannot be kept, check the data folder and its free space: {error}")
        })?;
    }
    Ok(())
}

/// The bytes of an archive by digest or from the row itself.
///
/// # Errors
/// In words, when they are not there.
pub fn fetch(archive: &str, blobs: &Blobs) -> Result<Vec<u8>, String> {
    if !archive.starts_with("sha256:") {
        return decode(archive);
    }
    blobs
        .get(archive)
        .map_err(|error| error.to_string())?
        .ok_or_else(|| format!("the archive {archive} is not kept here: publish the environment anew"))
}

/// A tar archive of files below the folder `tree`, the same for the same files.
///
/// # Errors
/// In words, when a path cannot stand in an archive.
pub fn pack(files: &BTreeMap<String, &UploadedFile>) -> Result<Vec<u8>, String> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, file) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(file.bytes.len() as u64);
        header.set_mode(if file.mode & 0o100 == 0 { 0o644 } else { 0o755 });
        header.set_entry_type(tar::EntryType::Regular);
        builder
            .append_data(&mut header, format!("tree/{path}"), file.bytes.as_slice())
            .map_err(|error| format!("{path}: {error}"))?;
    }
    builder.into_inner().map_err(|error| error.to_string())
}

/// Bytes as they stand in a row.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_files_make_the_same_archive_and_it_is_known_as_one() {
        let file = UploadedFile { mode: 0o755, bytes: b"x".to_vec() };
        let files = BTreeMap::from([("a/b.py".to_owned(), &file)]);
        let packed = pack(&files).expect("packed");
        assert_eq!(packed, pack(&files).expect("packed"));
        assert_eq!(kind(&packed), Ok(Kind::Tar));
        assert_eq!(kind(b"# v2 git bundle\nabc"), Ok(Kind::Bundle));
        assert!(kind(b"PK\x03\x04").is_err());
        let out = BTreeMap::from([("../../b.py".to_owned(), &file)]);
        assert!(pack(&out).is_err());
    }

    #[test]
    fn an_archive_leaves_its_row_for_the_store() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::new(folder.path());
        let mut row = json!({"archive": encode(b"# v2 git bundle\n")});
        keep(&mut row, &blobs).expect("kept");
        let digest = row["archive"].as_str().expect("a digest").to_owned();
        assert!(digest.starts_with("sha256:"));
        keep(&mut row, &blobs).expect("again");
        assert_eq!(fetch(&digest, &blobs).expect("there"), b"# v2 git bundle\n");
        assert!(fetch(&format!("sha256:{}", "0".repeat(64)), &blobs).is_err());
    }
}
