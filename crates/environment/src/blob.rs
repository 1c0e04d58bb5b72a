//! Content that is too large to stand in an observation: an observation names it by its digest.

use std::sync::Arc;

use palestra_state::Digest;
use serde_json::{Map, Value};

/// The field of a block of an observation that names content by its digest.
const FIELD: &str = "blob";

/// Content of some type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// `sha256:<hex>` of the bytes.
    pub digest: String,
    /// Media type, such as `image/png`.
    pub media_type: &'static str,
    /// The bytes.
    pub bytes: Arc<[u8]>,
}

impl Blob {
    /// Bytes of a type.
    #[must_use]
    pub fn new(media_type: &'static str, bytes: Vec<u8>) -> Self {
        Self { digest: Digest::of(&bytes).to_string(), media_type, bytes: bytes.into() }
    }

    /// A block of an observation that names it: `type`, `media_type`, `blob`, `size_bytes`.
    #[must_use]
    pub fn block(&self, kind: &str) -> Map<String, Value> {
        Map::from_iter([
            ("type".to_owned(), kind.into()),
            ("media_type".to_owned(), self.media_type.into()),
            (FIELD.to_owned(), self.digest.as_str().into()),
            ("size_bytes".to_owned(), self.bytes.len().into()),
        ])
    }

    /// The digest that a block names, where it names one.
    #[must_use]
    pub fn named_by(block: &Value) -> Option<&str> {
        block[FIELD].as_str()
    }

    /// Puts the bytes themselves into a block in place of their digest: `data`, in base64.
    pub fn fill(&self, block: &mut Map<String, Value>) {
        use base64::Engine as _;
        block.remove(FIELD);
        block.insert("data".to_owned(), base64::engine::general_purpose::STANDARD.encode(&self.bytes).into());
    }
}
