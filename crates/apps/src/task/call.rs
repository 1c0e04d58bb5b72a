//! Calls of tools, as solutions and searches make them.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value as Json};

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Call {
    /// The tool.
    pub name: Arc<str>,
    /// Its arguments.
    pub arguments: Map<String, Json>,
}
