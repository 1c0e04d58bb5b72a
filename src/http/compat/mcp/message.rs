//! Messages of clients: requests and notifications, one at a time.

use rmcp::ErrorData;
use rmcp::model::{JsonObject, RequestId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::super::strict;
use super::super::super::wording::plain;
use super::super::json_rpc::{Call, id_of};

/// A message of a client.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    Request(Request),
    /// There is nothing that one could change here: the only state is that of the session.
    Notification,
}

/// A message that is answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) id: RequestId,
    pub(super) method: String,
    pub(super) params: JsonObject,
}

/// A message that is none, with its id where it has one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unreadable {
    pub(super) id: Option<RequestId>,
    pub(super) error: ErrorData,
}

/// Reads a body. Several messages in an array were possible in one old revision, and are refused.
pub(super) fn read(body: &[u8]) -> Result<Message, Unreadable> {
    let message: Value = strict::from_slice(body).map_err(|error| Unreadable {
        id: None,
        error: ErrorData::parse_error(format!("Parse error: {error}"), None),
    })?;
    let id = id_of(&message).and_then(|id| RequestId::deserialize(id).ok());
    let invalid = |words: &str| ErrorData::invalid_request(format!("Invalid request: {words}"), None);
    let Call { id: given, method, params } =
        Call::read(message).map_err(|words| Unreadable { id: id.clone(), error: invalid(&words) })?;
    match (given, id) {
        (None, _) => Ok(Message::Notification),
        (Some(_), Some(id)) => Ok(Message::Request(Request { id, method, params })),
        (Some(_), None) => Err(Unreadable { id: None, error: invalid("an id is text or a whole number of 64 bits") }),
    }
}

/// The parameters of a request in the form of its method.
pub(super) fn params<T: DeserializeOwned>(params: JsonObject) -> Result<T, ErrorData> {
    serde_json::from_value(Value::Object(params))
        .map_err(|error| ErrorData::invalid_params(format!("Invalid params: {}", plain(&error.to_string())), None))
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolRequestParams, ErrorCode};

    use super::*;

    fn refused(body: &str) -> (ErrorCode, Option<RequestId>) {
        let unreadable = read(body.as_bytes()).expect_err("refused");
        (unreadable.error.code, unreadable.id)
    }

    #[test]
    fn requests_and_notifications_are_told_apart() {
        let request = read(br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#).expect("a message");
        let id = RequestId::String("a".into());
        assert_eq!(request, Message::Request(Request { id, method: "ping".to_owned(), params: JsonObject::new() }));
        let notification = read(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(notification, Ok(Message::Notification));
    }

    #[test]
    fn an_argument_that_stands_twice_is_refused() {
        let arguments = r#"{"status":"impossible","answers":{"until":1,"until":2}}"#;
        for arguments in [arguments, r#"{"status":"impossible","status":"ok"}"#] {
            let params = format!(r#"{{"name":"submit","arguments":{arguments}}}"#);
            let (code, _) = refused(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#));
            assert_eq!(code, ErrorCode::PARSE_ERROR, "{arguments}");
        }
    }

    #[test]
    fn whatever_is_no_message_is_refused_under_its_id() {
        let nested = format!("{}1{}", "[".repeat(1_000), "]".repeat(1_000));
        for body in ["", "{", "nonsense", "{} {}", nested.as_str()] {
            assert_eq!(refused(body), (ErrorCode::PARSE_ERROR, None), "{body:.40}");
        }
        for (body, id) in [
            ("7", None),
            ("[]", None),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, None),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, Some(RequestId::Number(1))),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, Some(RequestId::Number(1))),
            (r#"{"jsonrpc":"2.0","id":"a","result":{}}"#, Some(RequestId::String("a".into()))),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, None),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, None),
            (r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#, None),
        ] {
            assert_eq!(refused(body), (ErrorCode::INVALID_REQUEST, id), "{body}");
        }
    }

    #[test]
    fn parameters_of_another_form_are_told_in_json() {
        let wrong = JsonObject::from_iter([("name".to_owned(), Value::from("a")), ("arguments".to_owned(), 7.into())]);
        let error = params::<CallToolRequestParams>(wrong).expect_err("refused");
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
        assert!(error.message.contains("expected an object"), "{}", error.message);
    }
}
