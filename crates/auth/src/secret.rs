//! The root secret, from which all other keys are derived.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Random bytes of a generated root secret.
const ROOT_BYTES: usize = 32;
/// A file longer than this is no root secret.
const FILE_BYTES_MAX: u64 = 4_096;

/// The root secret cannot be read or created.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read or written.
    #[error("the root secret {} cannot be read or made: {source}; check the owner and the free space of its folder", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file does not hold a root secret.
    #[error("{} is no root secret: expected 64 hexadecimal digits", .0.display())]
    Broken(PathBuf),
}

/// The root secret. It signs nothing itself: each use derives a key of its own.
#[derive(Clone)]
pub struct RootSecret(Vec<u8>);

impl RootSecret {
    /// A configured secret.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }

    /// The secret in a file, which is created with mode 0600 if it does not exist.
    ///
    /// # Errors
    /// When the file can be neither read nor created, or does not hold a root secret.
    pub fn load_or_create(path: &Path) -> Result<Self, SecretError> {
        let fail = |source| SecretError::File { path: path.to_owned(), source };
        match File::open(path) {
            Ok(file) => {
                let mut text = String::new();
                file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(fail)?;
                let bytes = hex::decode(text.trim()).map_err(|_| SecretError::Broken(path.to_owned()))?;
                if bytes.len() == ROOT_BYTES { Ok(Self(bytes)) } else { Err(SecretError::Broken(path.to_owned())) }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let bytes: [u8; ROOT_BYTES] = random_bytes();
                write_private(path, &hex::encode(bytes)).map_err(fail)?;
                Ok(Self(bytes.to_vec()))
            }
            Err(error) => Err(fail(error)),
        }
    }

    /// A key for one use: HMAC-SHA-256 of its name.
    #[must_use]
    pub fn derive(&self, purpose: &str) -> [u8; 32] {
        let mut hmac = hmac(&self.0);
        hmac.update(purpose.as_bytes());
        hmac.finalize().into_bytes().into()
    }
}

/// HMAC-SHA-256 with a key of any length.
pub(super) fn hmac(key: &[u8]) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length")
}

/// Bytes from the system's generator.
pub(super) fn random_bytes<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    #[expect(clippy::expect_used, reason = "a server without randomness must not make secrets")]
    getrandom::fill(&mut bytes).expect("the system gives randomness");
    bytes
}

/// Writes a file that only its owner can read, atomically and durably.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension("new");
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&draft, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_was_made_is_found_again_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let made = RootSecret::load_or_create(&path).unwrap();
        assert_eq!(RootSecret::load_or_create(&path).unwrap().derive("x"), made.derive("x"));
        assert_ne!(made.derive("x"), made.derive("y"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_file_that_holds_something_else_is_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "abc").unwrap();
        assert!(matches!(RootSecret::load_or_create(&path), Err(SecretError::Broken(_))));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "abc");
    }
}
