//! The view of a browser as an observation.

use palestra_browser::{BrowserError, Observed, Performed, Picture, Read, Reading};
use palestra_protocol::observation::Observation;
use serde_json::{Value, json};

use crate::recording::NETWORK;
use palestra_environment::blob::Blob;
use palestra_environment::{Cause, InfraError, Reaction};

/// The tabs and the page in front, as text and as data.
pub(super) fn shown(observed: &Observed, performed: &Performed) -> Observation {
    let mut text = String::new();
    if let Some(error) = &performed.error {
        text.push_str(&format!("Error: {error}\n"));
    }
    for (place, tab) in observed.tabs.iter().enumerate() {
        let mark = if place == observed.active { " (in front)" } else { "" };
        text.push_str(&format!("Tab {place}{mark}: {} {}\n", tab.title, tab.url));
    }
    if let Some(dialog) = &observed.dialog {
        text.push_str(&format!("The page shows a dialog ({}): {}\n", dialog.kind, dialog.message));
    }
    text.push('\n');
    text.push_str(&observed.text);
    if observed.cut > 0 {
        text.push_str(&format!("\n… {} more nodes are not shown", observed.cut));
    }
    let data = json!({
        "error": performed.error,
        "message": performed.message,
        "infeasible": performed.infeasible,
        "tabs": observed.tabs,
        "active": observed.active,
        "focused": observed.focused,
        "dialog": observed.dialog,
        "console": observed.console,
        "failed_requests": observed.failed_requests,
        "left_out": observed.left_out,
        "nodes": observed.nodes,
        "lines": observed.lines,
    });
    Observation { text, data, ..Observation::default() }
}

/// Most bytes of a page's text or document that stand in an observation; the whole is read by its digest.
const READ_BYTES_MAX: usize = 50_000;

/// The block of a picture, and the picture as content.
pub(super) fn picture_block(picture: Picture) -> (Value, Blob) {
    let blob = Blob::new(picture.format.media_type(), picture.bytes);
    let mut block = blob.block("image");
    let known = [
        ("width", picture.width.into()),
        ("height", picture.height.into()),
        ("scale", picture.scale.into()),
        ("marks", json!(picture.marks)),
        ("marks_left_out", picture.marks_left_out.into()),
    ];
    block.extend(known.map(|(name, value): (&str, Value)| (name.to_owned(), value)));
    (block.into(), blob)
}

/// The block of a log of requests, and the log as content.
pub(super) fn network_block(har: &Value) -> (Value, Blob) {
    let blob = Blob::new("application/json", har.to_string().into_bytes());
    let mut block = blob.block(NETWORK);
    let entries = har["log"]["entries"].as_array().map_or(0, Vec::len);
    block.insert("requests".to_owned(), entries.into());
    (block.into(), blob)
}

/// A part of a page: as text, as a block, and as content.
pub(super) fn read_block(read: &Read) -> (String, (Value, Blob)) {
    let media_type = match read.reading {
        Reading::Text => "text/plain; charset=utf-8",
        Reading::Html => "text/html; charset=utf-8",
    };
    let blob = Blob::new(media_type, read.text.clone().into_bytes());
    let end = read.text.floor_char_boundary(READ_BYTES_MAX);
    let mut text = read.text[..end].to_owned();
    if end < read.text.len() {
        text.push_str(&format!("\n… {} more bytes: read them by the digest {}", read.text.len() - end, blob.digest));
    }
    if read.cut > 0 {
        text.push_str(&format!("\n… {} more characters of the page were not read", read.cut));
    }
    (text, (blob.block("document").into(), blob))
}

/// The answer to what is no action; nothing was looked at for it.
pub(super) fn refused(error: &str) -> Reaction {
    let (text, data) = (format!("Error: {error}"), json!({"error": error}));
    Reaction { observation: Observation { text, data, ..Observation::default() }, ..Reaction::default() }
}

pub(super) fn infra(error: &BrowserError) -> InfraError {
    let cause = match error {
        BrowserError::Busy { retry_after_ms } => Cause::Busy(*retry_after_ms),
        BrowserError::Missing(_) => Cause::Missing,
        BrowserError::Sandbox(palestra_sandbox::SandboxError::Unavailable(_)) => Cause::Missing,
        BrowserError::Sandbox(palestra_sandbox::SandboxError::Exhausted { retry_after_ms }) => {
            Cause::Busy(*retry_after_ms)
        }
        _ => Cause::Broken,
    };
    InfraError { detail: error.to_string(), cause }
}
