//! Metadata of a GGUF file about its model and tokenizer, by key and type.

use std::collections::BTreeMap;

use crate::failure::TrainerError;

/// One value; numbers are widened, their width does not matter to readers.
#[derive(Debug, Clone, PartialEq)]
pub enum MetadataValue {
    /// 8 to 64 bits.
    Unsigned(u64),
    /// 8 to 64 bits.
    Signed(i64),
    /// 32 or 64 bits.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// UTF-8; what was not is replaced.
    Text(String),
    /// Values of one type.
    Array(MetadataArray),
}

/// Values of one type.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "as in `MetadataValue`")]
pub enum MetadataArray {
    Bytes(Vec<u8>),
    Unsigned(Vec<u64>),
    Signed(Vec<i64>),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
    Texts(Vec<String>),
}

impl MetadataValue {
    /// As a count; signed values count where they are not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Unsigned(value) => Some(*value),
            Self::Signed(value) => u64::try_from(*value).ok(),
            _ => None,
        }
    }
}

/// Metadata of a file: `general.architecture`, `llama.block_count`, `tokenizer.ggml.tokens` ...
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata(BTreeMap<String, MetadataValue>);

impl Metadata {
    /// From entries that were read or made.
    pub const fn new(entries: BTreeMap<String, MetadataValue>) -> Self {
        Self(entries)
    }

    /// All keys, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&MetadataValue> {
        self.0.get(key)
    }

    /// A text, where there is one.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(MetadataValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A count, where there is one.
    pub fn count(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(MetadataValue::as_u64)
    }

    /// A token id, where there is one.
    pub fn token(&self, key: &str) -> Option<u32> {
        self.count(key).and_then(|id| u32::try_from(id).ok())
    }

    /// A number, where there is one.
    pub fn float(&self, key: &str) -> Option<f64> {
        match self.get(key) {
            Some(MetadataValue::Float(value)) => Some(*value),
            _ => None,
        }
    }

    /// True or false, where it is given.
    pub fn bool(&self, key: &str) -> Option<bool> {
        match self.get(key) {
            Some(MetadataValue::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    /// Texts, where there are: `tokenizer.ggml.tokens`, `tokenizer.ggml.merges`.
    pub fn texts(&self, key: &str) -> Option<&[String]> {
        match self.get(key) {
            Some(MetadataValue::Array(MetadataArray::Texts(texts))) => Some(texts),
            _ => None,
        }
    }

    /// Numbers, where there are: `tokenizer.ggml.scores`.
    pub fn floats(&self, key: &str) -> Option<&[f64]> {
        match self.get(key) {
            Some(MetadataValue::Array(MetadataArray::Floats(values))) => Some(values),
            _ => None,
        }
    }

    /// Whole numbers of any width and sign, where there are: `tokenizer.ggml.token_type`. What does not fit is `None`.
    pub fn integers(&self, key: &str) -> Option<Vec<i64>> {
        match self.get(key) {
            Some(MetadataValue::Array(MetadataArray::Bytes(values))) => {
                Some(values.iter().map(|value| i64::from(*value)).collect())
            }
            Some(MetadataValue::Array(MetadataArray::Unsigned(values))) => {
                values.iter().map(|value| i64::try_from(*value).ok()).collect()
            }
            Some(MetadataValue::Array(MetadataArray::Signed(values))) => Some(values.clone()),
            _ => None,
        }
    }

    /// A count that must be there and fit `usize`.
    ///
    /// # Errors
    /// `BadCheckpoint` that names the key.
    pub fn size(&self, key: &str) -> Result<usize, TrainerError> {
        self.count(key)
            .and_then(|value| usize::try_from(value).ok())
            .ok_or_else(|| TrainerError::BadCheckpoint(format!("the metadata of the GGUF file lack a count {key:?}")))
    }
}
