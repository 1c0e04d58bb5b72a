//! Recordings of the web: requests and what answered them, read from HAR and WARC files.

mod har;
mod http;
mod library;
mod warc;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use url::Url;

use super::address::plain;
use super::packed::{CONTENT_BYTES_MAX, Packed};
use palestra_environment::state::Digest;

pub(super) use library::{Library, repeats};

/// Requests of all recordings of an environment.
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

impl Exchange {
    /// Bytes that it takes.
    fn bytes(&self) -> usize {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.address.len() + headers + self.content.0.len()
    }
}

/// The content of recordings.
#[derive(Debug, Default)]
pub(super) struct Recording {
    /// In the order in which they were recorded.
    pub(super) exchanges: Vec<Exchange>,
    /// Bytes of all of them.
    pub(super) bytes: usize,
    /// The number of records of the last file that cannot be replayed, by reason.
    pub(super) left_out: BTreeMap<&'static str, usize>,
}

impl Recording {
    fn leave_out(&mut self, reason: &'static str) {
        *self.left_out.entry(reason).or_default() += 1;
    }

    fn add(&mut self, exchange: Exchange) -> Result<(), String> {
        if self.exchanges.len() >= EXCHANGES_MAX {
            return Err(format!("there are more than {EXCHANGES_MAX} recorded requests: leave some out"));
        }
        self.bytes += exchange.bytes();
        if self.bytes > CONTENT_BYTES_MAX {
            return Err(format!("the recorded answers have more than {CONTENT_BYTES_MAX} bytes: leave some out"));
        }
        self.exchanges.push(exchange);
        Ok(())
    }
}

/// True if a name is that of a recording.
pub(super) fn is_recording(name: &str) -> bool {
    [".har", ".warc", ".warc.gz"].iter().any(|ending| name.to_ascii_lowercase().ends_with(ending))
}

/// Reads a file behind those that were read before.
///
/// # Errors
/// In words, what is wrong with it, or that all together pass a bound.
pub(super) fn read(name: &str, bytes: &[u8], recording: &mut Recording) -> Result<(), String> {
    let before = recording.exchanges.len();
    recording.left_out.clear();
    let is_har = name.to_ascii_lowercase().ends_with(".har");
    if is_har { har::read(bytes, recording) } else { warc::read(bytes, recording) }?;
    if recording.exchanges.len() == before {
        let reasons: Vec<String> =
            recording.left_out.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        let why = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
        return Err(format!(
            "the recording has no answer that can be replayed{why}: record it with the bodies of answers"
        ));
    }
    Ok(())
}

/// An address of the web, without its fragment; none for addresses such as `data:`.
fn address(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.host_str().is_some()).then(|| plain(&url))
}

/// The digest of a request's body; none where there is none.
fn digest_of_body(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| Digest::of(bytes).to_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_recordings_together_have_a_bound_of_requests_and_bytes() {
        let exchange = |bytes: usize| Exchange {
            method: "GET".to_owned(),
            address: "http://a.test/".to_owned(),
            body: None,
            status: 200,
            headers: vec![("a".to_owned(), "b".to_owned())],
            content: Packed(vec![0; bytes]),
        };
        let mut full = Recording { exchanges: vec![exchange(0); EXCHANGES_MAX], ..Recording::default() };
        assert!(full.add(exchange(0)).unwrap_err().contains("recorded requests"));
        let mut large = Recording { bytes: CONTENT_BYTES_MAX - 26, ..Recording::default() };
        assert_eq!(large.add(exchange(10)), Ok(()));
        assert!(large.add(exchange(0)).unwrap_err().contains("bytes: leave some out"));
    }
}
