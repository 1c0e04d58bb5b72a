//! The contents of artefacts, policies and uploaded files, by digest: in files of the data folder, or in pieces in the store.
//!
//! Bytes are received under a temporary name, made durable, and only then named by their digest. Contents that no row references are
//! deleted after a grace period, in which an upload has time to reference its own.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::StreamExt as _;
use futures::stream::BoxStream;
use palestra_protocol::time::Timestamp;
use sha2::{Digest as _, Sha256};
use tempfile::{NamedTempFile, TempPath};
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufWriter};
use tokio::sync::{RwLock, RwLockReadGuard};
use tokio_util::bytes::{Bytes, BytesMut};
use tokio_util::task::TaskTracker;

use super::pending_upload::PendingUpload;
use super::{ArtifactStorage, ByteStream, JobSettings, JobsError};
use palestra_store::Store;
use palestra_store::clock::Clock;
use palestra_store::row::job::ContentRow;

/// The folder of artefacts in the data folder.
const FOLDER: &str = "artifacts";
/// Its folder of incomplete uploads.
const INCOMING: &str = "incoming";
/// The prefix of digests.
const DIGEST_PREFIX: &str = "sha256:";
/// Bytes that are buffered before they are written to a file.
const WRITE_BYTES: usize = 1 << 20;
/// Bytes that are read from a file at a time.
const READ_BYTES: usize = 64 * 1024;
/// Bytes of a piece in the store.
const PIECE_BYTES: usize = 1 << 20;

/// The storage of contents.
pub(super) struct Contents {
    storage: Storage,
    /// Shared by uploads from naming a file by its digest until a row references it; exclusive to the removal of files.
    removal_lock: RwLock<()>,
    grace: Duration,
}

enum Storage {
    Disk(PathBuf),
    Store(Pieces),
}

/// Contents in pieces in the store.
struct Pieces {
    store: Arc<Store>,
    clock: Clock,
    /// Runs the deletion of uploads that became no content.
    tracker: TaskTracker,
}

/// Bytes that were received, not yet named by their digest.
pub(super) struct Received {
    pub(super) digest: String,
    pub(super) size_bytes: u64,
    draft: Draft,
}

enum Draft {
    /// Deleted when dropped.
    File(TempPath),
    Pieces(PendingUpload),
}

/// Limits of the size of an upload, in bytes.
#[derive(Clone, Copy)]
pub(super) struct SizeLimits {
    /// The most for any artefact.
    pub(super) most: u64,
    /// The bytes that the tenant has stored already.
    pub(super) kept: u64,
    /// The most bytes that the tenant may store.
    pub(super) quota: u64,
}

impl SizeLimits {
    fn check(&self, size: u64) -> Result<(), JobsError> {
        if size > self.most {
            return Err(JobsError::TooLarge(self.most));
        }
        if self.kept.saturating_add(size) > self.quota {
            return Err(JobsError::QuotaExceeded { kept_bytes: self.kept, quota_bytes: self.quota });
        }
        Ok(())
    }
}

/// Runs blocking work on a thread for it.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// True for the name of a content: 64 hexadecimal digits.
fn is_hex(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn hex_of(digest: &str) -> io::Result<&str> {
    let hex = digest.strip_prefix(DIGEST_PREFIX).filter(|hex| is_hex(hex));
    hex.ok_or_else(|| io::Error::other("a stored digest is not sha256:<64 hexadecimal digits>"))
}

fn path_of(folder: &Path, hex: &str) -> PathBuf {
    folder.join(&hex[..2]).join(hex)
}

impl Contents {
    pub(super) async fn open(
        settings: &JobSettings,
        store: &Arc<Store>,
        data: &Path,
        clock: &Clock,
        tracker: &TaskTracker,
    ) -> Result<Self, JobsError> {
        let storage = match settings.artifacts {
            ArtifactStorage::Store => {
                let (store, clock, tracker) = (Arc::clone(store), clock.clone(), tracker.clone());
                Storage::Store(Pieces { store, clock, tracker })
            }
            ArtifactStorage::Disk => {
                let folder = data.join(FOLDER);
                tokio::fs::create_dir_all(folder.join(INCOMING)).await?;
                Storage::Disk(folder)
            }
        };
        Ok(Self { storage, removal_lock: RwLock::new(()), grace: Duration::from_millis(settings.unreferenced_ms) })
    }

    /// Receives bytes within limits.
    pub(super) async fn receive(
        &self,
        mut bytes: BoxStream<'_, io::Result<Bytes>>,
        limits: SizeLimits,
    ) -> Result<Received, JobsError> {
        let mut draft = Upload::begin(&self.storage).await?;
        let (mut hash, mut size) = (Sha256::new(), 0_u64);
        while let Some(chunk) = bytes.next().await {
            let chunk = chunk?;
            size = size.saturating_add(chunk.len() as u64);
            limits.check(size)?;
            hash.update(&chunk);
            draft.write(&chunk).await?;
        }
        let digest = format!("{DIGEST_PREFIX}{}", hex::encode(hash.finalize()));
        Ok(Received { digest, size_bytes: size, draft: draft.end().await? })
    }

    /// Blocks the removal of files until the guard is dropped.
    pub(super) async fn block_removal(&self) -> RwLockReadGuard<'_, ()> {
        self.removal_lock.read().await
    }

    /// Names bytes by their digest. Requires that the guard of [`Self::block_removal`] is held until a row references the digest.
    /// Returns the row that makes pieces in the store a content.
    pub(super) async fn keep(&self, received: Received, now: Timestamp) -> Result<Option<ContentRow>, JobsError> {
        let Received { digest, size_bytes, draft } = received;
        match (draft, &self.storage) {
            (Draft::Pieces(pieces), _) => {
                Ok(Some(ContentRow { digest, pieces: pieces.keep(), size_bytes, created_at: now }))
            }
            (Draft::File(draft), Storage::Disk(folder)) => {
                let path = path_of(folder, hex_of(&digest)?);
                blocking(move || persist(draft, &path)).await?;
                Ok(None)
            }
            (Draft::File(_), Storage::Store(_)) => {
                Err(JobsError::Internal("an upload in a file cannot become a content in the store".to_owned()))
            }
        }
    }

    /// True when the content of a digest exists with this size. Its bytes are not compared.
    pub(super) async fn has(&self, digest: &str, size_bytes: u64) -> Result<bool, JobsError> {
        match &self.storage {
            Storage::Disk(folder) => match tokio::fs::metadata(path_of(folder, hex_of(digest)?)).await {
                Ok(found) => Ok(found.len() == size_bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error.into()),
            },
            Storage::Store(Pieces { store, .. }) => {
                let content = store.content(digest).await?;
                Ok(content.is_some_and(|content| content.size_bytes == size_bytes))
            }
        }
    }

    /// The bytes of a digest.
    pub(super) async fn read(&self, digest: &str) -> Result<ByteStream, JobsError> {
        match &self.storage {
            Storage::Disk(folder) => {
                let mut file = File::open(path_of(folder, hex_of(digest)?)).await?;
                Ok(Box::pin(async_stream::try_stream! {
                    loop {
                        let mut chunk = BytesMut::with_capacity(READ_BYTES);
                        if file.read_buf(&mut chunk).await? == 0 {
                            break;
                        }
                        yield chunk.freeze();
                    }
                }))
            }
            Storage::Store(Pieces { store, .. }) => {
                let content = store.content(digest).await?;
                let content =
                    content.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the content was deleted"))?;
                let (store, digest) = (Arc::clone(store), digest.to_owned());
                let (mut pieces, mut left) = (content.pieces, content.size_bytes);
                Ok(Box::pin(async_stream::try_stream! {
                    let mut position = 0;
                    while left > 0 {
                        let piece = piece(&store, &digest, &mut pieces, position).await?;
                        left = left.saturating_sub(piece.len() as u64);
                        position += 1;
                        yield Bytes::from(piece);
                    }
                }))
            }
        }
    }

    /// Deletes unreferenced contents; returns how many files or rows.
    pub(super) async fn remove_unreferenced(&self, references: &Store, now: Timestamp) -> Result<u64, JobsError> {
        match &self.storage {
            Storage::Store(Pieces { store, .. }) => {
                let grace = i64::try_from(self.grace.as_millis()).unwrap_or(i64::MAX);
                let before = Timestamp::from_milliseconds(now.milliseconds().saturating_sub(grace));
                Ok(store.delete_unreferenced(before).await?)
            }
            Storage::Disk(folder) => self.remove_unreferenced_files(folder, references).await,
        }
    }

    async fn remove_unreferenced_files(&self, folder: &Path, references: &Store) -> Result<u64, JobsError> {
        let mut removed = 0;
        for folder in subfolders(folder.to_owned()).await? {
            let grace = self.grace;
            let old = blocking(move || files_older(&folder, grace)).await?;
            for path in old {
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
                let _lock = self.removal_lock.write().await;
                if is_hex(&name) && references.is_referenced(&format!("{DIGEST_PREFIX}{name}")).await? {
                    continue;
                }
                // Once more: an upload may have renewed it since.
                if is_older(&path, self.grace).await {
                    tokio::fs::remove_file(&path).await?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}

/// A piece of a content. If an equal upload replaced the content meanwhile, the piece comes from that one.
async fn piece(store: &Store, digest: &str, pieces: &mut String, position: u64) -> io::Result<Vec<u8>> {
    let mut found = store.piece(pieces, position).await.map_err(io::Error::other)?;
    if found.is_none()
        && let Some(content) = store.content(digest).await.map_err(io::Error::other)?
    {
        *pieces = content.pieces;
        found = store.piece(pieces, position).await.map_err(io::Error::other)?;
    }
    found
        .filter(|piece| !piece.is_empty())
        .ok_or_else(|| io::Error::other("a piece of the content is missing: upload the file again"))
}

async fn subfolders(folder: PathBuf) -> io::Result<Vec<PathBuf>> {
    blocking(move || {
        let entries = std::fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        Ok(entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_dir()).collect())
    })
    .await
}

fn age(path: &Path) -> io::Result<Duration> {
    let written = std::fs::metadata(path)?.modified()?;
    Ok(SystemTime::now().duration_since(written).unwrap_or_default())
}

fn files_older(folder: &Path, than: Duration) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let old = |path: &PathBuf| path.is_file() && age(path).is_ok_and(|age| age >= than);
    Ok(entries.into_iter().map(|entry| entry.path()).filter(old).collect())
}

async fn is_older(path: &Path, than: Duration) -> bool {
    let path = path.to_owned();
    blocking(move || age(&path)).await.is_ok_and(|age| age >= than)
}

/// Renames a file to its final path, durably.
fn persist(draft: TempPath, path: &Path) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("the path of a content has no folder"))?;
    let fresh = !folder.is_dir();
    std::fs::create_dir_all(folder)?;
    // Also where the content exists already: this renews its age.
    draft.persist(path).map_err(|error| error.error)?;
    std::fs::File::open(folder)?.sync_all()?;
    match folder.parent().filter(|_| fresh) {
        Some(above) => std::fs::File::open(above)?.sync_all(),
        None => Ok(()),
    }
}

/// An upload that is being received.
enum Upload {
    File { file: BufWriter<File>, path: TempPath },
    Pieces { pending: PendingUpload, next: u64, buffer: BytesMut, clock: Clock },
}

impl Upload {
    async fn begin(storage: &Storage) -> io::Result<Self> {
        match storage {
            Storage::Disk(folder) => {
                let folder = folder.join(INCOMING);
                let (file, path) = blocking(move || NamedTempFile::new_in(folder)).await?.into_parts();
                Ok(Self::File { file: BufWriter::with_capacity(WRITE_BYTES, File::from_std(file)), path })
            }
            Storage::Store(Pieces { store, clock, tracker }) => {
                let (pending, buffer) = (PendingUpload::new(store, tracker), BytesMut::with_capacity(PIECE_BYTES));
                Ok(Self::Pieces { pending, next: 0, buffer, clock: clock.clone() })
            }
        }
    }

    async fn write(&mut self, mut bytes: &[u8]) -> Result<(), JobsError> {
        if let Self::File { file, .. } = self {
            return Ok(file.write_all(bytes).await?);
        }
        while !bytes.is_empty() {
            if let Self::Pieces { buffer, .. } = self {
                let (now, later) = bytes.split_at(bytes.len().min(PIECE_BYTES - buffer.len()));
                buffer.extend_from_slice(now);
                bytes = later;
            }
            self.flush(PIECE_BYTES).await?;
        }
        Ok(())
    }

    /// Stores the buffered piece, if it has at least this many bytes.
    async fn flush(&mut self, bytes_min: usize) -> Result<(), JobsError> {
        if let Self::Pieces { pending, next, buffer, clock } = self
            && buffer.len() >= bytes_min
            && !buffer.is_empty()
        {
            pending.put(*next, clock.now(), buffer).await?;
            *next += 1;
            buffer.clear();
        }
        Ok(())
    }

    /// Makes all bytes durable.
    async fn end(mut self) -> Result<Draft, JobsError> {
        self.flush(1).await?;
        match self {
            Self::Pieces { pending, .. } => Ok(Draft::Pieces(pending)),
            Self::File { mut file, path } => {
                file.flush().await?;
                file.into_inner().sync_all().await?;
                Ok(Draft::File(path))
            }
        }
    }
}
