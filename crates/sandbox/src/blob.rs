//! Bytes by digest: artefacts, changes of file systems, recordings. A folder of files named by their SHA-256.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// A store of bytes by digest. Putting the same bytes twice keeps them once; what is there is never changed.
#[derive(Debug, Clone)]
pub struct Blobs {
    folder: PathBuf,
}

impl Blobs {
    /// The store in `folder`, which is made when something is put.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Keeps bytes, on the disk before it returns; answers `sha256:<hex>`.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn put(&self, bytes: &[u8]) -> io::Result<String> {
        let digest = hex::encode(Sha256::digest(bytes));
        let path = self.path(&digest);
        if !path.is_file() {
            let folder = path.parent().unwrap_or(&self.folder);
            std::fs::create_dir_all(folder)?;
            let mut draft = tempfile::NamedTempFile::new_in(folder)?;
            draft.write_all(bytes)?;
            draft.as_file().sync_all()?;
            draft.persist(&path)?;
            std::fs::File::open(folder)?.sync_all()?;
        }
        Ok(format!("sha256:{digest}"))
    }

    /// The bytes of a digest; `None` where they are not here.
    ///
    /// # Errors
    /// When they cannot be read, or are no longer those that were put.
    pub fn get(&self, digest: &str) -> io::Result<Option<Vec<u8>>> {
        let Some(hex_digits) = digest.strip_prefix("sha256:").filter(|text| is_digest(text)) else { return Ok(None) };
        match std::fs::read(self.path(hex_digits)) {
            Ok(bytes) if hex::encode(Sha256::digest(&bytes)) == hex_digits => Ok(Some(bytes)),
            Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidData, format!("{digest} was altered on the disk"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn path(&self, hex_digits: &str) -> PathBuf {
        Path::new(&self.folder).join(&hex_digits[..2]).join(hex_digits)
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_altered_ones_do_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::new(folder.path().join("blobs"));
        let digest = blobs.put(b"hello").expect("kept");
        assert_eq!(blobs.put(b"hello").expect("kept"), digest);
        assert_eq!(blobs.get(&digest).expect("read").as_deref(), Some(b"hello".as_slice()));
        assert_eq!(blobs.get("sha256:../../etc/passwd").expect("read"), None);
        assert_eq!(blobs.get(&format!("sha256:{}", "0".repeat(64))).expect("read"), None);
        std::fs::write(blobs.path(&digest["sha256:".len()..]), "other").expect("altered");
        assert!(blobs.get(&digest).is_err());
    }
}
