//! A program: text in some language.

use serde::{Deserialize, Serialize};

/// A program in some language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The name of its language.
    pub language: String,
    /// Its text.
    pub source: String,
}
