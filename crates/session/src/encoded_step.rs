//! The answer of a step, encoded as JSON once: the record, the copy for repeated steps and most replies are these bytes.

use std::ops::Deref;
use std::sync::Arc;

use palestra_protocol::observation::{Message, Observation};
use palestra_protocol::step::{Info, Stepped};
use serde::{Serialize, Serializer};

use super::SessionError;

/// Bytes of an answer beside its texts, as most are.
const BYTES_BESIDE_TEXTS: usize = 400;

/// The answer of a step together with its JSON.
#[derive(Debug, Clone)]
pub struct EncodedStep {
    stepped: Box<Stepped>,
    json: Arc<str>,
}

impl EncodedStep {
    /// Encodes an answer.
    ///
    /// # Errors
    /// When it has no JSON form.
    pub fn new(stepped: Stepped) -> Result<Self, SessionError> {
        let json = write(&stepped).map_err(|error| SessionError::Internal(error.to_string()))?;
        Ok(Self { stepped: Box::new(stepped), json: json.into() })
    }

    /// Decodes an answer.
    pub(super) fn read(json: Arc<str>) -> serde_json::Result<Self> {
        Ok(Self { stepped: serde_json::from_str(&json)?, json })
    }

    /// Changes the answer and encodes it again.
    ///
    /// # Errors
    /// As [`EncodedStep::new`].
    pub fn changed(mut self, change: impl FnOnce(&mut Stepped)) -> Result<Self, SessionError> {
        change(&mut self.stepped);
        Self::new(*self.stepped)
    }

    /// The JSON of the answer.
    #[must_use]
    pub const fn json(&self) -> &Arc<str> {
        &self.json
    }

    /// The answer without its JSON.
    #[must_use]
    pub fn into_stepped(self) -> Stepped {
        *self.stepped
    }
}

impl Deref for EncodedStep {
    type Target = Stepped;

    fn deref(&self) -> &Stepped {
        &self.stepped
    }
}

impl PartialEq for EncodedStep {
    fn eq(&self, other: &Self) -> bool {
        self.stepped == other.stepped
    }
}

impl Serialize for EncodedStep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.stepped.serialize(serializer)
    }
}

/// The JSON of an answer, as its `Serialize` would write it. Written by hand because it is written for every step: names that
/// are known need no search for characters to escape, which is most of what the general way does.
fn write(stepped: &Stepped) -> serde_json::Result<String> {
    // All fields are named, so that a new one cannot be forgotten here.
    let Stepped { episode, seq, durable_seq, observation, messages, .. } = stepped;
    let Stepped { reward, terminated, truncated, stop_reason, verdict, info, .. } = stepped;
    let Observation { text, content, data, omitted_bytes } = observation;
    let Info { env_ms, queue_ms, state_hash, shaping, irreversible, interrupted } = info;
    let mut json = Json(Vec::with_capacity(BYTES_BESIDE_TEXTS + 2 * text.len()));
    json.put(r#"{"episode":"#, episode)?;
    json.put(r#","seq":"#, seq)?;
    json.put(r#","durable_seq":"#, durable_seq)?;
    json.put(r#","observation":{"text":"#, text)?;
    json.put_unless(content.is_empty(), r#","content":"#, content)?;
    json.put_unless(data.is_null(), r#","data":"#, data)?;
    json.put_unless(*omitted_bytes == 0, r#","omitted_bytes":"#, omitted_bytes)?;
    json.push(r#"},"messages":["#);
    for (place, Message { role, content, tool_call_id }) in messages.iter().enumerate() {
        json.put(if place == 0 { r#"{"role":"# } else { r#",{"role":"# }, role)?;
        json.put(r#","content":"#, content)?;
        json.put_unless(tool_call_id.is_none(), r#","tool_call_id":"#, tool_call_id)?;
        json.push("}");
    }
    json.put(r#"],"reward":"#, reward)?;
    json.put(r#","terminated":"#, terminated)?;
    json.put(r#","truncated":"#, truncated)?;
    json.put(r#","stop_reason":"#, stop_reason)?;
    json.put_unless(verdict.is_none(), r#","verdict":"#, verdict)?;
    json.put(r#","info":{"env_ms":"#, env_ms)?;
    json.put(r#","queue_ms":"#, queue_ms)?;
    json.put_unless(state_hash.is_none(), r#","state_hash":"#, state_hash)?;
    json.put_unless(shaping.is_none(), r#","shaping":"#, shaping)?;
    json.put_unless(irreversible.is_empty(), r#","irreversible":"#, irreversible)?;
    json.put_unless(!interrupted, r#","interrupted":"#, interrupted)?;
    json.push("}}");
    String::from_utf8(json.0).map_err(serde::ser::Error::custom)
}

/// JSON on its way.
struct Json(Vec<u8>);

impl Json {
    fn push(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Adds a value behind the `text` that leads to it.
    fn put<T: Serialize + ?Sized>(&mut self, text: &str, value: &T) -> serde_json::Result<()> {
        self.push(text);
        serde_json::to_writer(&mut self.0, value)
    }

    fn put_unless<T: Serialize + ?Sized>(&mut self, left_out: bool, text: &str, value: &T) -> serde_json::Result<()> {
        if left_out { Ok(()) } else { self.put(text, value) }
    }
}

/// The JSON of a value that is recorded.
pub(super) fn to_json<T: Serialize>(value: &T) -> Result<String, SessionError> {
    serde_json::to_string(value).map_err(|error| SessionError::Internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn encode(extra: &Value) -> EncodedStep {
        let mut stepped = json!({
            "episode": "epi_0197a3c2f2a87c53b0a1d5e6f7089abc", "seq": 1, "durable_seq": 1,
            "observation": {"text": "seen"}, "messages": [], "reward": 0.5, "terminated": false, "truncated": false,
            "stop_reason": null, "info": {"env_ms": 0.1, "queue_ms": 0.25}
        });
        for (field, value) in extra.as_object().expect("fields") {
            stepped[field] = value.clone();
        }
        EncodedStep::new(serde_json::from_value(stepped).expect("an answer")).expect("it has a JSON form")
    }

    fn check(encoded: &EncodedStep) {
        assert_eq!(**encoded.json(), serde_json::to_string(&**encoded).expect("JSON"));
        assert_eq!(EncodedStep::read(Arc::clone(encoded.json())).expect("it was written here"), *encoded);
    }

    #[test]
    fn the_encoding_equals_that_of_serde() {
        let verdict = json!({
            "episode": "epi_0197a3c2f2a87c53b0a1d5e6f7089abc", "status": "scored", "score": 1.0, "strict": 1,
            "passed": true, "trainable": true, "checks": [], "judge": "state",
            "verifier": {"name": "count", "version": "1"}, "state": null, "seq": 1,
            "usage": {"steps": 1, "calls": 0, "env_ms": 0, "judge_ms": 0, "tokens": 0, "cost": 0.0}, "detail": null
        });
        for extra in [
            json!({}),
            json!({"observation": {"text": "\"\\\u{0}\n\u{1F600}ü", "content": [{"type": "table"}], "data": [null], "omitted_bytes": 3}}),
            json!({"messages": [{"role": "user", "content": "a\nb"}, {"role": "tool", "content": "", "tool_call_id": "\"1\""}]}),
            json!({"reward": null, "terminated": true, "stop_reason": "done", "verdict": verdict}),
            json!({"info": {"env_ms": 1e-7, "queue_ms": 1e21, "state_hash": "sha256:0", "shaping": -0.0, "irreversible": ["pay", "\"post\""], "interrupted": true}}),
        ] {
            check(&encode(&extra));
        }
    }

    proptest! {
        #[test]
        fn the_encoding_of_any_text_and_number_equals_that_of_serde(text in ".*", role in ".*", reward in any::<f64>(), seq in any::<u64>()) {
            let observation = json!({"text": text, "data": {text.clone(): reward}});
            let messages = json!([{"role": role, "content": text}]);
            let encoded = encode(&json!({"observation": observation, "messages": messages, "reward": reward, "seq": seq}));
            prop_assert_eq!(&**encoded.json(), serde_json::to_string(&*encoded).expect("JSON"));
        }
    }

    #[test]
    fn a_changed_answer_is_encoded_again() {
        let changed = encode(&json!({})).changed(|stepped| stepped.reward = None).expect("it has a JSON form");
        assert!(changed.json().contains(r#""reward":null"#));
        check(&changed);
    }
}
