//! Files: what jobs learn from, and what they left.

use std::path::Path;
use std::time::Duration;

use futures::StreamExt;
use palestra_protocol::file::{File as Kept, FileDeleted, FileList, FilePurpose};
use palestra_protocol::id::FileId;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE};
use reqwest::{Body, Method};
use serde::Serialize;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWrite};

use crate::download::{Downloaded, receive};
use crate::error::ClientError;
use crate::transport::{Client, read};

/// Time limit of the smallest upload, in milliseconds.
const UPLOAD_MS_MIN: u64 = 10 * 60_000;
/// Bytes per second that every connection is believed to carry.
const UPLOAD_BYTES_PER_SECOND_MIN: u64 = 128 << 10;
/// Bytes of a file that are read at once.
const READ_BYTES: usize = 256 << 10;

/// A query for files.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FileQuery {
    /// For this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<FilePurpose>,
    /// Most rows of a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The last file of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<FileId>,
}

impl Client {
    /// Uploads the file at `path`, never as a whole in memory. Uploaded again it is another file with the same content, which is
    /// kept once.
    ///
    /// # Errors
    /// [`ClientError::File`] when it cannot be read, `quota_exceeded` when the tenant has no room for it; otherwise when the server
    /// cannot be reached or refuses.
    pub async fn upload_file(&self, path: &Path, purpose: FilePurpose) -> Result<Kept, ClientError> {
        let unreadable = |error: std::io::Error| ClientError::File(format!("{}: {error}", path.display()));
        let name = path.file_name().and_then(|name| name.to_str());
        let name =
            name.ok_or_else(|| ClientError::File(format!("{} has no name to send: rename the file", path.display())))?;
        let file = File::open(path).await.map_err(unreadable)?;
        let metadata = file.metadata().await.map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(ClientError::File(format!("{} is no file: name one", path.display())));
        }
        let size = metadata.len();
        // The id is in no content that was there before.
        let boundary = format!("palestra-{}", FileId::new().uuid().simple());
        let (head, tail) = (head(&boundary, name, purpose), format!("\r\n--{boundary}--\r\n"));
        let length = head.len() as u64 + size + tail.len() as u64;
        let patience = UPLOAD_MS_MIN.saturating_add(size.saturating_mul(1_000) / UPLOAD_BYTES_PER_SECOND_MIN);
        let call = self
            .request(Method::POST, &["files"])
            .header(CONTENT_TYPE, format!("multipart/form-data; boundary={boundary}"))
            .header(CONTENT_LENGTH, length)
            .timeout(Duration::from_millis(patience))
            .body(body(head, file.take(size), tail));
        read(call.send().await?).await
    }

    /// One file.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn file(&self, file: FileId) -> Result<Kept, ClientError> {
        self.get(&["files", &file.to_string()], &()).await
    }

    /// A page of files, newest first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn files(&self, query: &FileQuery) -> Result<FileList, ClientError> {
        self.get(&["files"], query).await
    }

    /// Deletes a file that was uploaded.
    ///
    /// # Errors
    /// `job_over` when a job that is not over needs it, or it belongs to the result of a job; otherwise when the server cannot be
    /// reached or refuses.
    pub async fn delete_file(&self, file: FileId) -> Result<FileDeleted, ClientError> {
        read(self.request(Method::DELETE, &["files", &file.to_string()]).send().await?).await
    }

    /// Writes a file to `into` as it arrives, and checks its digest.
    ///
    /// # Errors
    /// As [`Client::download_artifact`].
    pub async fn download_file(
        &self,
        file: FileId,
        into: &mut (impl AsyncWrite + Unpin),
    ) -> Result<Downloaded, ClientError> {
        receive(self.request(Method::GET, &["files", &file.to_string(), "content"]), into).await
    }
}

/// The part of the form before the content.
fn head(boundary: &str, name: &str, purpose: FilePurpose) -> String {
    // Names go as browsers send them: only what would end the line or the quotes is escaped.
    let name = name.replace('\\', "\\\\").replace('"', "\\\"").replace('\r', "%0D").replace('\n', "%0A");
    format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\n{}\r\n--{boundary}\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n",
        purpose.as_str()
    )
}

/// The content between what stands before and behind it. Whoever shortens the file meanwhile breaks the upload off.
fn body(head: String, file: tokio::io::Take<File>, tail: String) -> Body {
    let content = futures::stream::try_unfold(file, |mut file| async move {
        let mut piece = vec![0; READ_BYTES];
        let length = file.read(&mut piece).await?;
        piece.truncate(length);
        Ok::<_, std::io::Error>((length > 0).then_some((piece, file)))
    });
    let ends = |text: String| futures::stream::once(async move { Ok::<_, std::io::Error>(text.into_bytes()) });
    Body::wrap_stream(ends(head).chain(content).chain(ends(tail)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_its_line() {
        let head = head("b", "a\"\r\nX: y\\.jsonl", FilePurpose::FineTune);
        assert!(head.contains("filename=\"a\\\"%0D%0AX: y\\\\.jsonl\"\r\n"), "{head}");
        assert!(head.starts_with("--b\r\n") && head.contains("\r\n\r\nfine-tune\r\n--b\r\n"), "{head}");
    }
}
