//! Frames of the socket: one request, one reply.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::super::super::strict;
use super::refusal::{Detail, Refusal};

/// Stands for a reply that has no JSON form.
const UNWRITTEN: &str =
    r#"{"type":"error","data":{"message":"the reply could not be written","code":"EXECUTION_ERROR"}}"#;

/// The request of a client.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    Reset(Map<String, Value>),
    Step(Map<String, Value>),
    State,
    Close,
    /// A JSON-RPC request.
    Mcp(Map<String, Value>),
}

/// A frame that asks for nothing that there is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Unreadable {
    Json(String),
    Type(String),
    Refused(Refusal),
}

impl Unreadable {
    /// The error frame that answers it.
    pub(super) fn reply(&self) -> String {
        let (message, code) = match self {
            Self::Json(fault) => (format!("Invalid JSON: {fault}"), "INVALID_JSON"),
            Self::Type(named) => (format!("Unknown message type: {named}"), "UNKNOWN_TYPE"),
            Self::Refused(refusal) => return error(refusal),
        };
        reply("error", &json!({"message": message, "code": code}))
    }
}

/// Reads a frame. Every field but `type` and `data` is refused.
pub(super) fn read(text: &str) -> Result<Request, Unreadable> {
    let frame: Value = strict::from_slice(text.as_bytes()).map_err(|fault| Unreadable::Json(fault.to_string()))?;
    let Value::Object(mut fields) = frame else {
        let words = "Input should be an object with a type";
        return Err(Unreadable::Refused(Detail::new("dict_type", &[], words, &frame).into()));
    };
    let kind = match fields.remove("type") {
        Some(Value::String(kind)) => kind,
        None => return Err(Unreadable::Type(String::new())),
        Some(other) => return Err(Unreadable::Type(Detail::shortened(&other).to_string())),
    };
    let request = match kind.as_str() {
        "reset" => Request::Reset(data(&mut fields)?.unwrap_or_default()),
        "step" => Request::Step(required(&mut fields)?),
        "state" => Request::State,
        "close" => Request::Close,
        "mcp" => Request::Mcp(required(&mut fields)?),
        _ => return Err(Unreadable::Type(kind.chars().take(100).collect())),
    };
    super::action::refuse_others(&fields, &[]).map_err(Unreadable::Refused)?;
    Ok(request)
}

fn data(fields: &mut Map<String, Value>) -> Result<Option<Map<String, Value>>, Unreadable> {
    match fields.remove("data") {
        None => Ok(None),
        Some(Value::Object(data)) => Ok(Some(data)),
        Some(other) => {
            let words = "Input should be a valid dictionary";
            Err(Unreadable::Refused(Detail::new("dict_type", &["data"], words, &other).into()))
        }
    }
}

fn required(fields: &mut Map<String, Value>) -> Result<Map<String, Value>, Unreadable> {
    let missing = || Detail::new("missing", &["data"], "Field required", &Value::Null);
    data(fields)?.ok_or_else(|| Unreadable::Refused(missing().into()))
}

/// A reply.
pub(super) fn reply(kind: &str, data: &impl Serialize) -> String {
    #[derive(Serialize)]
    struct Reply<'a, T> {
        r#type: &'a str,
        data: &'a T,
    }
    serde_json::to_string(&Reply { r#type: kind, data }).unwrap_or_else(|error| {
        tracing::error!(%error, "a reply could not be written");
        UNWRITTEN.to_owned()
    })
}

/// The reply to what was refused.
pub(super) fn error(refusal: &Refusal) -> String {
    reply("error", &refusal.frame_data())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Value {
        let reply: Value = serde_json::from_str(&read(text).expect_err(text).reply()).expect("JSON");
        assert_eq!(reply["type"], "error");
        reply["data"]["code"].clone()
    }

    #[test]
    fn a_member_that_stands_twice_is_refused() {
        assert_eq!(code(r#"{"type":"step","data":{"action":{"status":"impossible","status":"ok"}}}"#), "INVALID_JSON");
    }

    #[test]
    fn every_request_is_read() {
        assert_eq!(read(r#"{"type":"reset"}"#), Ok(Request::Reset(Map::new())));
        let data = Map::from_iter([("seed".to_owned(), json!(7))]);
        assert_eq!(read(r#"{"type":"reset","data":{"seed":7}}"#), Ok(Request::Reset(data.clone())));
        assert_eq!(read(r#"{"data":{"seed":7},"type":"step"}"#), Ok(Request::Step(data.clone())));
        assert_eq!(read(r#"{"type":"mcp","data":{"seed":7}}"#), Ok(Request::Mcp(data)));
        assert_eq!(read(r#"{"type":"state"}"#), Ok(Request::State));
        assert_eq!(read(r#"{"type":"close"}"#), Ok(Request::Close));
    }

    #[test]
    fn everything_else_is_answered_with_the_code_that_fits() {
        let deep = format!("{{\"type\":\"step\",\"data\":{{\"a\":{}1{}}}}}", "[".repeat(500), "]".repeat(500));
        for (text, expected) in [
            ("", "INVALID_JSON"),
            ("{", "INVALID_JSON"),
            (r#"{"type":"step","data":{"x":NaN}}"#, "INVALID_JSON"),
            (deep.as_str(), "INVALID_JSON"),
            ("[]", "VALIDATION_ERROR"),
            ("7", "VALIDATION_ERROR"),
            ("{}", "UNKNOWN_TYPE"),
            (r#"{"type":"dance"}"#, "UNKNOWN_TYPE"),
            (r#"{"type":7}"#, "UNKNOWN_TYPE"),
            (r#"{"type":"step"}"#, "VALIDATION_ERROR"),
            (r#"{"type":"step","data":[]}"#, "VALIDATION_ERROR"),
            (r#"{"type":"mcp"}"#, "VALIDATION_ERROR"),
            (r#"{"type":"state","data":{}}"#, "VALIDATION_ERROR"),
            (r#"{"type":"close","now":true}"#, "VALIDATION_ERROR"),
            (r#"{"type":"reset","data":{},"seed":7}"#, "VALIDATION_ERROR"),
        ] {
            assert_eq!(code(text), expected, "{text:.80}");
        }
    }
}
