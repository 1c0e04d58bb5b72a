//! Bodies beside which stand `session` and `key`, as in frames of the stream and items of batches.

use palestra_protocol::id::SessionId;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::extract::{check_key, parse, parse_value};
use super::problem::Failure;

/// The fields that were not taken yet. Steps do not come this way: they are read straight into their form.
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// Reads an object.
    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        parse(text.as_bytes()).map(Self)
    }

    /// Leaves out what was read before.
    pub(super) fn without(mut self, names: &[&str]) -> Self {
        for name in names {
            self.0.remove(*name);
        }
        self
    }

    pub(super) fn session(&mut self) -> Result<SessionId, Failure> {
        let session =
            self.0.remove("session").ok_or_else(|| Failure::invalid("session", "is missing: name the session"))?;
        parse_value(session).map_err(|failure| Failure::invalid("session", failure.0.detail))
    }

    pub(super) fn key(&mut self) -> Result<Option<String>, Failure> {
        match self.0.remove("key") {
            None => Ok(None),
            Some(Value::String(key)) => check_key(Some(key)),
            Some(_) => Err(Failure::invalid("key", "a key must be text")),
        }
    }

    /// All the others.
    pub(super) fn body<T: DeserializeOwned>(self) -> Result<T, Failure> {
        parse_value(Value::Object(self.0))
    }
}
