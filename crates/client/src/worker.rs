//! Calls of workers to the queue: lease, heartbeat, report, upload, finish, and the exchange of those that serve a policy.

use std::path::Path;
use std::time::Duration;

use palestra_protocol::id::JobId;
use palestra_protocol::job::{Artifact, Job, Policy};
use palestra_protocol::worker::{
    Exchange, Exchanged, Finish, Heartbeat, Held, Lease, LeaseRequest, RegisterPolicy, Report,
};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Body, Method};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use crate::error::ClientError;
use crate::transport::{Client, read, succeed};

/// The header with the digest of what is sent or answered: `sha256:` and 64 hexadecimal digits.
pub(crate) const DIGEST_HEADER: &str = "x-content-sha256";
/// Time limit of a call beyond the time that the server was asked to wait, in milliseconds.
const ANSWER_MS_MAX: u64 = 30_000;
/// Time limit of a heartbeat, in milliseconds: a lease is lost while one hangs.
const KEEP_MS_MAX: u64 = 15_000;
/// Time limit of the smallest upload, in milliseconds.
const UPLOAD_MS_MIN: u64 = 10 * 60_000;
/// Bytes per second that every connection is believed to carry.
const UPLOAD_BYTES_PER_SECOND_MIN: u64 = 128 << 10;
/// Bytes of a file that are read at once.
const READ_BYTES: usize = 256 << 10;

impl Client {
    /// Asks for a job to do; none came where it is `None`.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn lease_job(&self, request: &LeaseRequest) -> Result<Option<Lease>, ClientError> {
        let patience = Duration::from_millis(request.wait_ms.saturating_add(ANSWER_MS_MAX));
        let call = self.request(Method::POST, &["worker", "lease"]).timeout(patience).json(request);
        read(call.send().await?).await
    }

    /// Keeps a lease.
    ///
    /// # Errors
    /// `lease_lost` when the lease is another's or was taken back: stop at once. Otherwise when the server cannot be reached.
    pub async fn heartbeat_job(&self, job: JobId, beat: &Heartbeat) -> Result<Held, ClientError> {
        self.post_job(job, "heartbeat", beat, KEEP_MS_MAX).await
    }

    /// Reports events, in order, and keeps the lease. With a number, the same report may be sent again when its answer was lost.
    ///
    /// # Errors
    /// As [`Client::heartbeat_job`], and when an event is refused.
    pub async fn report_job(&self, job: JobId, report: &Report) -> Result<Held, ClientError> {
        self.post_job(job, "events", report, ANSWER_MS_MAX).await
    }

    /// Ends a lease. The same end may be sent again when its answer was lost.
    ///
    /// # Errors
    /// As [`Client::heartbeat_job`].
    pub async fn finish_job(&self, job: JobId, finish: &Finish) -> Result<Job, ClientError> {
        self.post_job(job, "finish", finish, ANSWER_MS_MAX).await
    }

    /// Registers a policy whose files were uploaded. The same again answers the policy that exists.
    ///
    /// # Errors
    /// As [`Client::heartbeat_job`], and when a file was not uploaded.
    pub async fn register_policy(&self, job: JobId, policy: &RegisterPolicy) -> Result<Policy, ClientError> {
        self.post_job(job, "policies", policy, ANSWER_MS_MAX).await
    }

    /// Hands answers of a served policy in and takes requests out.
    ///
    /// # Errors
    /// As [`Client::heartbeat_job`].
    pub async fn exchange(&self, job: JobId, exchange: &Exchange) -> Result<Exchanged, ClientError> {
        self.post_job(job, "exchange", exchange, exchange.wait_ms.saturating_add(ANSWER_MS_MAX)).await
    }

    /// Keeps `bytes` as an artefact of the job, in place of one with the same name.
    ///
    /// # Errors
    /// As [`Client::heartbeat_job`], `quota_exceeded` when the tenant has no room for it, or when the name is none.
    pub async fn upload_artifact(
        &self,
        job: JobId,
        fence: u64,
        name: &str,
        bytes: Vec<u8>,
    ) -> Result<Artifact, ClientError> {
        let (size, digest) = (bytes.len() as u64, digest_text(&Sha256::digest(&bytes)));
        self.put_artifact(job, fence, name, &digest, size, bytes.into()).await
    }

    /// Keeps the file at `path` as an artefact of the job: read twice, and never as a whole in memory.
    ///
    /// # Errors
    /// As [`Client::upload_artifact`], and [`ClientError::File`] when the file cannot be read.
    pub async fn upload_artifact_file(
        &self,
        job: JobId,
        fence: u64,
        name: &str,
        path: &Path,
    ) -> Result<Artifact, ClientError> {
        let unreadable = |error: std::io::Error| ClientError::File(format!("{}: {error}", path.display()));
        let (size, digest) = measure(path).await.map_err(unreadable)?;
        let file = File::open(path).await.map_err(unreadable)?;
        // No more than was measured: a file that still grows is refused by its digest, not sent for ever.
        let pieces = futures::stream::try_unfold(file.take(size), |mut file| async move {
            let mut piece = vec![0; READ_BYTES];
            let length = file.read(&mut piece).await?;
            piece.truncate(length);
            Ok::<_, std::io::Error>((length > 0).then_some((piece, file)))
        });
        self.put_artifact(job, fence, name, &digest, size, Body::wrap_stream(pieces)).await
    }

    /// Removes an artefact of the job, such as one of a checkpoint that is not kept any longer.
    ///
    /// # Errors
    /// As [`Client::heartbeat_job`].
    pub async fn delete_artifact(&self, job: JobId, fence: u64, name: &str) -> Result<(), ClientError> {
        let call = self.request_artifact(Method::DELETE, job, name).query(&[("fence", fence)]);
        succeed(call.send().await?).await.map(drop)
    }

    async fn put_artifact(
        &self,
        job: JobId,
        fence: u64,
        name: &str,
        digest: &str,
        size_bytes: u64,
        body: Body,
    ) -> Result<Artifact, ClientError> {
        let patience = UPLOAD_MS_MIN.saturating_add(size_bytes.saturating_mul(1_000) / UPLOAD_BYTES_PER_SECOND_MIN);
        let call = self
            .request_artifact(Method::PUT, job, name)
            .query(&[("fence", fence)])
            .header(DIGEST_HEADER, digest)
            .header(CONTENT_TYPE, "application/octet-stream")
            .timeout(Duration::from_millis(patience))
            .body(body);
        read(call.send().await?).await
    }

    fn request_artifact(&self, method: Method, job: JobId, name: &str) -> reqwest::RequestBuilder {
        let job = job.to_string();
        let segments: Vec<&str> =
            ["worker", "jobs", job.as_str(), "artifacts"].into_iter().chain(name.split('/')).collect();
        self.request(method, &segments)
    }

    async fn post_job<T: DeserializeOwned>(
        &self,
        job: JobId,
        call: &str,
        body: &impl Serialize,
        patience_ms: u64,
    ) -> Result<T, ClientError> {
        let request = self.request(Method::POST, &["worker", "jobs", &job.to_string(), call]);
        read(request.timeout(Duration::from_millis(patience_ms)).json(body).send().await?).await
    }
}

/// Size and digest of a file.
async fn measure(path: &Path) -> std::io::Result<(u64, String)> {
    let mut file = File::open(path).await?;
    let (mut size, mut hash, mut piece) = (0, Sha256::new(), vec![0; READ_BYTES]);
    loop {
        let length = file.read(&mut piece).await?;
        if length == 0 {
            return Ok((size, digest_text(&hash.finalize())));
        }
        size += length as u64;
        hash.update(&piece[..length]);
    }
}

/// A digest as it travels: `sha256:` and 64 hexadecimal digits.
pub(crate) fn digest_text(digest: &[u8]) -> String {
    format!("sha256:{}", hex::encode(digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_artefacts_keep_their_parts_and_escape_what_is_no_name() {
        let client = Client::new("http://localhost:7070", None).unwrap();
        let job = JobId::new();
        let path = |name: &str| {
            let request = client.request_artifact(Method::PUT, job, name).build().unwrap();
            request.url().path().to_owned()
        };
        assert_eq!(
            path("checkpoint-20/model.safetensors"),
            format!("/v1/worker/jobs/{job}/artifacts/checkpoint-20/model.safetensors")
        );
        assert!(path("a?b#c").ends_with("/artifacts/a%3Fb%23c"));
    }

    #[tokio::test]
    async fn a_file_is_measured_as_its_bytes_are() {
        let path = std::env::temp_dir().join(format!("palestra-measure-{}", JobId::new()));
        std::fs::write(&path, b"abc").unwrap();
        let (size, digest) = measure(&path).await.unwrap();
        std::fs::remove_file(&path).unwrap();
        // The known digest of "abc", FIPS 180-4.
        let known = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((size, digest.as_str()), (3, known));
    }
}
