//! JSON-RPC 2.0, as far as the protocols that use it agree: what a request is.

use serde_json::{Map, Value};

/// Longest part of a foreign word that is told back, in characters.
const TOLD_BACK_CHARS_MAX: usize = 100;

/// A request, or a notification where it has no id.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// Text, a whole number, or null.
    pub(super) id: Option<Value>,
    pub(super) method: String,
    /// Empty where they were left out.
    pub(super) params: Map<String, Value>,
}

impl Call {
    /// Reads a request strictly.
    ///
    /// # Errors
    /// With what is wrong, in words.
    pub(super) fn read(message: Value) -> Result<Self, String> {
        let Value::Object(mut fields) = message else { return Err("the message must be an object".to_owned()) };
        if fields.remove("jsonrpc").as_ref().and_then(Value::as_str) != Some("2.0") {
            return Err("jsonrpc must be \"2.0\"".to_owned());
        }
        let Some(Value::String(method)) = fields.remove("method") else {
            return Err("the message has no method: name one".to_owned());
        };
        let id = fields.remove("id");
        if id.as_ref().is_some_and(|id| !(id.is_null() || is_id(id))) {
            return Err("an id must be text or a whole number".to_owned());
        }
        let params = match fields.remove("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err("params must be an object".to_owned()),
        };
        match fields.keys().next() {
            Some(other) => Err(format!("there is no field {:?}: leave it out", told_back(other))),
            None => Ok(Self { id, method, params }),
        }
    }
}

/// The id of a message, also of one that is no request otherwise, so that its sender can match the answer.
pub(super) fn id_of(message: &Value) -> Option<&Value> {
    message.get("id").filter(|id| is_id(id))
}

/// The beginning of a word that was sent, for an answer.
pub(super) fn told_back(word: &str) -> String {
    word.chars().take(TOLD_BACK_CHARS_MAX).collect()
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_are_read_strictly() {
        let good = Call::read(json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list"})).expect("a request");
        assert_eq!(good, Call { id: Some(json!("a")), method: "tools/list".to_owned(), params: Map::new() });
        for message in [
            json!({}),
            json!([]),
            json!({"jsonrpc": "1.0", "method": "a"}),
            json!({"jsonrpc": "2.0"}),
            json!({"jsonrpc": "2.0", "method": "a", "params": []}),
            json!({"jsonrpc": "2.0", "method": "a", "id": 1.5}),
            json!({"jsonrpc": "2.0", "method": "a", "colour": "red"}),
        ] {
            assert!(!Call::read(message.clone()).expect_err("refused").is_empty(), "{message}");
        }
    }

    #[test]
    fn a_notification_has_no_id_and_null_is_one() {
        let id = |message: Value| Call::read(message).expect("a request").id;
        assert_eq!(id(json!({"jsonrpc": "2.0", "method": "a"})), None);
        assert_eq!(id(json!({"jsonrpc": "2.0", "method": "a", "id": null})), Some(Value::Null));
    }

    #[test]
    fn the_id_of_a_broken_request_is_found_where_it_can_be() {
        assert_eq!(id_of(&json!({"id": 7, "method": 7})), Some(&json!(7)));
        for message in [json!({"id": [7]}), json!({"id": null}), json!({}), json!([7]), json!(7)] {
            assert_eq!(id_of(&message), None, "{message}");
        }
    }
}
