//! Files of a server in a folder here: whole or not at all, and never outside of the folder.

use std::future::Future;
use std::path::{Path, PathBuf};

use palestra_client::{ClientError, Downloaded};
use tokio::fs::{self, File};

use super::failure::Failure;

/// The path in `folder` of the file `name` of a server.
///
/// # Errors
/// When the name would lead elsewhere: a server is not trusted with paths.
pub(super) fn place(folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    let sane = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    if name.split('/').all(sane) {
        Ok(name.split('/').fold(folder.to_owned(), |path, part| path.join(part)))
    } else {
        Err(Failure::Other(format!(
            "the server names a file {name:?}, which is no name: it is left out, rename it there"
        )))
    }
}

/// Writes what `receive` brings to `path`, which changes once it is whole.
///
/// # Errors
/// When the download fails, or the file cannot be written.
pub(super) async fn keep<F>(path: &Path, receive: impl FnOnce(File) -> F) -> Result<Downloaded, Failure>
where
    F: Future<Output = (File, Result<Downloaded, ClientError>)>,
{
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).await?;
    }
    let mut draft = path.as_os_str().to_owned();
    draft.push(".part");
    let draft = PathBuf::from(draft);
    let (file, received) = receive(File::create(&draft).await?).await;
    let kept = match received {
        Ok(downloaded) => match file.sync_all().await {
            Ok(()) => fs::rename(&draft, path).await.map(|()| downloaded).map_err(Failure::from),
            Err(error) => Err(error.into()),
        },
        Err(error) => Err(error.into()),
    };
    if kept.is_err() {
        // What is left of it is worth nothing; that it cannot be removed changes nothing.
        let _ = fs::remove_file(&draft).await;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_cannot_write_outside_of_the_folder() {
        let folder = Path::new("out");
        assert_eq!(place(folder, "policy/model.safetensors").unwrap(), folder.join("policy").join("model.safetensors"));
        for name in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a\\b", "C:x", "a\0b", "."] {
            assert!(place(folder, name).is_err(), "{name:?}");
        }
    }

    #[tokio::test]
    async fn a_file_that_breaks_off_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.bin");
        let broken = keep(&path, |file| async { (file, Err(ClientError::Unreachable("gone".to_owned()))) }).await;
        assert!(broken.is_err());
        assert_eq!(std::fs::read_dir(folder.path().join("a")).unwrap().count(), 0);
        let whole = Downloaded { size_bytes: 0, digest: String::new() };
        keep(&path, |file| async { (file, Ok(whole)) }).await.unwrap();
        assert!(path.is_file());
    }
}
