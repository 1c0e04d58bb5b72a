//! Recordings of the web: requests and what answered them, read from HAR and WARC files.

mod har;
mod http;
mod library;
mod warc;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use url::Url;

use super::address::plain;
use super::packed::{Packed, digest};

pub(super) use library::Library;

/// Requests of one recording.
const EXCHANGES_MAX: usize = 50_000;
/// Headers that say how an answer came through the network, or what a browser should do with later ones.
const HEADERS_LEFT_OUT: [&str; 14] = [
    "alt-svc",
    "connection",
    "content-encoding",
    "content-length",
    "expect-ct",
    "keep-alive",
    "nel",
    "proxy-connection",
    "report-to",
    "reporting-endpoints",
    "strict-transport-security",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A recorded request and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exchange {
    /// `GET`, `POST`, ...
    pub(super) method: String,
    /// The address without a fragment.
    pub(super) address: String,
    /// Digest of the request's body; none where it had none or it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<String>,
    /// Status code of the answer.
    pub(super) status: u16,
    /// Headers of the answer.
    pub(super) headers: Vec<(String, String)>,
    /// Body of the answer, uncompressed.
    pub(super) content: Packed,
}

/// The content of a recording.
#[derive(Debug, Default)]
pub(super) struct Recording {
    /// In the order in which they were recorded.
    pub(super) exchanges: Vec<Exchange>,
    /// The number of records that cannot be replayed, by reason.
    pub(super) left_out: BTreeMap<&'static str, usize>,
}

impl Recording {
    fn leave_out(&mut self, reason: &'static str) {
        *self.left_out.entry(reason).or_default() += 1;
    }

    fn add(&mut self, exchange: Exchange) -> Result<(), String> {
        if self.exchanges.len() >= EXCHANGES_MAX {
            return Err(format!("the recording has more than {EXCHANGES_MAX} requests: split it, or leave some out"));
        }
        self.exchanges.push(exchange);
        Ok(())
    }
}

/// True if a name is that of a recording.
pub(super) fn is_recording(name: &str) -> bool {
    [".har", ".warc", ".warc.gz"].iter().any(|ending| name.to_ascii_lowercase().ends_with(ending))
}

/// Reads a recording.
///
/// # Errors
/// In words, what is wrong with it.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Recording, String> {
    let recording = if name.to_ascii_lowercase().ends_with(".har") { har::read(bytes) } else { warc::read(bytes) }?;
    if recording.exchanges.is_empty() {
        let reasons: Vec<String> =
            recording.left_out.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        let why = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
        return Err(format!(
            "the recording has no answer that can be replayed{why}: record it with the bodies of answers"
        ));
    }
    Ok(recording)
}

/// An address of the web, without its fragment; none for addresses such as `data:`.
fn address(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.host_str().is_some()).then(|| plain(&url))
}

/// The digest of a request's body; none where there is none.
fn digest_of_body(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| digest(bytes))
}

/// The headers of an answer that are replayed.
fn kept(headers: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    let is_kept =
        |name: &str| !name.starts_with(':') && !HEADERS_LEFT_OUT.contains(&name.to_ascii_lowercase().as_str());
    headers.filter(|(name, _)| is_kept(name)).collect()
}

/// True for a status that an answer can be replayed with: none of a broken connection, of a step on the way, or of a copy in a cache.
fn is_replayed(status: u16) -> bool {
    (200..600).contains(&status) && status != 304
}
