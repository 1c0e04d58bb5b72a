//! What a step answered, written as JSON once: the record, what is kept for repetitions, and most replies are these bytes.

use std::ops::Deref;
use std::sync::Arc;

use palestra_protocol::step::Stepped;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use super::SessionError;

/// A step's answer with its JSON. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Said(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    stepped: Stepped,
    json: Arc<RawValue>,
}

impl Said {
    /// Writes an answer.
    ///
    /// # Errors
    /// When it has no JSON form.
    pub fn new(stepped: Stepped) -> Result<Self, SessionError> {
        let json = to_raw_value(&stepped).map_err(|error| SessionError::Internal(error.to_string()))?;
        Ok(Self(Arc::new(Inner { stepped, json: json.into() })))
    }

    /// Reads an answer that was written before.
    pub(super) fn read(json: Arc<RawValue>) -> serde_json::Result<Self> {
        let stepped = serde_json::from_str(json.get())?;
        Ok(Self(Arc::new(Inner { stepped, json })))
    }

    /// Another answer that differs from this one by a change.
    ///
    /// # Errors
    /// As [`Said::new`].
    pub fn changed(&self, change: impl FnOnce(&mut Stepped)) -> Result<Self, SessionError> {
        let mut stepped = self.0.stepped.clone();
        change(&mut stepped);
        Self::new(stepped)
    }

    /// Whether this is the very answer that `other` is.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The JSON, which takes less room than the answer.
    pub(super) fn json(&self) -> &Arc<RawValue> {
        &self.0.json
    }
}

impl Deref for Said {
    type Target = Stepped;

    fn deref(&self) -> &Stepped {
        &self.0.stepped
    }
}

impl PartialEq for Said {
    fn eq(&self, other: &Self) -> bool {
        self.0.stepped == other.0.stepped
    }
}

impl Serialize for Said {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.json.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said() -> Said {
        let stepped = serde_json::from_value(json!({
            "episode": "epi_0197a3c2f2a87c53b0a1d5e6f7089abc", "seq": 1, "durable_seq": 1,
            "observation": {"text": "seen"}, "messages": [], "reward": 0.5, "terminated": false, "truncated": false,
            "stop_reason": null, "info": {"env_ms": 0.1, "queue_ms": 0.25}
        }));
        Said::new(stepped.expect("an answer")).expect("it has a JSON form")
    }

    #[test]
    fn what_is_sent_is_what_was_said() {
        let said = said();
        let sent = serde_json::to_string(&said).expect("JSON");
        assert_eq!(sent, serde_json::to_string(&*said).expect("JSON"));
        assert_eq!(Said::read(Arc::clone(said.json())).expect("it was written here"), said);
    }

    #[test]
    fn a_change_is_written_too_and_leaves_the_first_alone() {
        let first = said();
        let second = first.changed(|stepped| stepped.reward = None).expect("it has a JSON form");
        assert!(second.json().get().contains(r#""reward":null"#));
        assert_eq!((first.reward, second.reward), (Some(0.5), None));
    }
}
