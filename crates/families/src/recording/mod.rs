//! Recordings of episodes: as a page that stands alone, and as a trace that Playwright's viewer opens. Both are made of the stored
//! episode: actions, observations, and the pictures and logs of requests that observations name by their digests.

mod page;
mod trace;

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_environment::blob::Blob;
use palestra_protocol::action::{Action, Call};
use palestra_protocol::episode::Trajectory;
use palestra_protocol::observation::Observation;
use serde_json::{Map, Value};

pub use page::page;
pub use trace::trace;

/// Type of the blocks that hold pictures.
const IMAGE: &str = "image";
/// Type of the blocks that hold requests of pages, as HAR 1.2.
pub(crate) const NETWORK: &str = "network";

/// Contents that observations name, by digest: media type and bytes.
pub type Contents = BTreeMap<String, (String, Arc<[u8]>)>;

/// Digests that a recording of an episode needs, from its beginning on, each once.
#[must_use]
pub fn named(trajectory: &Trajectory) -> Vec<&str> {
    let mut digests: Vec<&str> = Vec::new();
    let steps = trajectory.steps.iter().map(|step| &step.answer.observation);
    let observations = trajectory.opening.iter().chain(steps);
    let all = observations.flat_map(|seen| [digest_of(seen, IMAGE), digest_of(seen, NETWORK)]);
    for digest in all.flatten() {
        if !digests.contains(&digest) {
            digests.push(digest);
        }
    }
    digests
}

/// Digest of the last content of a type that an observation names.
fn digest_of<'o>(seen: &'o Observation, kind: &str) -> Option<&'o str> {
    seen.content.iter().rev().filter(|block| block["type"] == kind).find_map(Blob::named_by)
}

/// Entries of the log of requests that an observation names.
fn requests_of(seen: &Observation, contents: &Contents) -> Vec<Value> {
    let log = digest_of(seen, NETWORK).and_then(|digest| contents.get(digest));
    let log: Value = log.and_then(|(_, bytes)| serde_json::from_slice(bytes).ok()).unwrap_or_default();
    log["log"]["entries"].as_array().cloned().unwrap_or_default()
}

/// Why the action that an observation answers did not happen, where it did not.
fn error_of(seen: &Observation) -> Option<&str> {
    seen.data["error"].as_str()
}

/// An action in one line.
fn words(action: Option<&Action>) -> String {
    let call = |tool: &str, arguments: &Map<String, Value>| {
        let arguments: Vec<String> = arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{tool}({})", arguments.join(", "))
    };
    match action {
        None => "no action reached the environment".to_owned(),
        Some(Action::Text(text)) => text.clone(),
        Some(Action::Tool { tool, arguments }) => call(tool, arguments),
        Some(Action::Calls(calls)) => {
            let all = calls.iter().map(|Call { tool, arguments, .. }| call(tool, arguments));
            all.collect::<Vec<_>>().join("; ")
        }
        Some(Action::Message(message)) => Value::Object(message.clone()).to_string(),
    }
}
