//! Content of messages: a text, or a list of parts.

use serde_json::Value;

use super::Refusal;
use crate::conversation::{Piece, canonical};

/// Reads content; its parts are told apart by `type` in all dialects but Gemini's.
pub(super) fn read(content: &Value) -> Result<Vec<Piece>, Refusal> {
    match content {
        Value::Null => Ok(Vec::new()),
        Value::String(text) if text.is_empty() => Ok(Vec::new()),
        Value::String(text) => Ok(vec![Piece::text(text)]),
        Value::Array(parts) => parts.iter().map(part).collect(),
        _ => Err(Refusal::bad("`content` must be a text or a list of parts")),
    }
}

/// Reads a part. A medium stands as the digest of its bytes.
pub(super) fn part(part: &Value) -> Result<Piece, Refusal> {
    let text = |name: &str| part[name].as_str();
    let piece = match text("type") {
        Some("text" | "input_text" | "output_text") => text("text").map(Piece::text),
        Some("refusal") => text("refusal").map(Piece::text),
        Some("image_url") => part["image_url"]["url"].as_str().map(Piece::of_url),
        Some("input_image") if part["file_id"].is_string() => text("file_id").map(Piece::of_url),
        Some("input_image") => text("image_url").map(Piece::of_url),
        Some("image" | "document") => source(&part["source"]),
        Some(_) => Some(Piece::of_bytes(canonical(part).as_bytes())),
        None => None,
    };
    piece.ok_or_else(|| {
        Refusal::bad(format!(
            "the content part {} cannot be read: send its `type` with the fields of it",
            excerpt(part)
        ))
    })
}

/// Anthropic's sources of images and documents.
fn source(source: &Value) -> Option<Piece> {
    match source["type"].as_str()? {
        "base64" => source["data"].as_str().map(Piece::of_base64),
        "url" => source["url"].as_str().map(Piece::of_url),
        _ => Some(Piece::of_bytes(canonical(source).as_bytes())),
    }
}

/// The beginning of a value, for an error.
pub(super) fn excerpt(value: &Value) -> String {
    const CHARACTERS: usize = 80;
    value.to_string().chars().take(CHARACTERS).collect()
}
