//! Refusals in the form of each dialect, as its clients read them.

use palestra_protocol::model_call::CallKind;
use palestra_protocol::upstream::Dialect;
use serde_json::{Value, json};

/// The body of a refusal.
#[must_use]
pub fn refusal_body(dialect: Dialect, status: u16, code: &str, message: &str) -> Value {
    match dialect {
        Dialect::Openai => {
            let kind = match status {
                401 => "authentication_error",
                403 => "permission_error",
                404 => "not_found_error",
                429 => "rate_limit_error",
                500.. => "server_error",
                _ => "invalid_request_error",
            };
            json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
        }
        Dialect::Anthropic => {
            let kind = match status {
                401 => "authentication_error",
                403 => "permission_error",
                404 => "not_found_error",
                413 => "request_too_large",
                429 => "rate_limit_error",
                529 => "overloaded_error",
                500.. => "api_error",
                _ => "invalid_request_error",
            };
            json!({"type": "error", "error": {"type": kind, "message": message}})
        }
        Dialect::Gemini => {
            let word = match status {
                401 => "UNAUTHENTICATED",
                403 => "PERMISSION_DENIED",
                404 => "NOT_FOUND",
                429 => "RESOURCE_EXHAUSTED",
                503 => "UNAVAILABLE",
                504 => "DEADLINE_EXCEEDED",
                500.. => "INTERNAL",
                _ => "INVALID_ARGUMENT",
            };
            json!({"error": {"code": status, "message": message, "status": word}})
        }
    }
}

/// A refusal as an event, for an answer that has begun.
#[must_use]
pub fn refusal_event(kind: CallKind, code: &str, message: &str) -> String {
    let body = match kind {
        // This operation alone has no member around it.
        CallKind::Responses => json!({"type": "error", "code": code, "message": message, "param": null}),
        _ => refusal_body(kind.dialect(), 502, code, message),
    };
    match kind {
        CallKind::Responses | CallKind::Messages => format!("event: error\ndata: {body}\n\n"),
        CallKind::ChatCompletions | CallKind::GenerateContent => format!("data: {body}\n\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dialect_has_its_own_form() {
        let openai = refusal_body(Dialect::Openai, 401, "unauthorized", "no");
        assert_eq!(openai["error"]["type"], "authentication_error");
        let anthropic = refusal_body(Dialect::Anthropic, 429, "limit", "slow down");
        assert_eq!(anthropic, json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}));
        let gemini = refusal_body(Dialect::Gemini, 503, "down", "later");
        assert_eq!(gemini, json!({"error": {"code": 503, "message": "later", "status": "UNAVAILABLE"}}));
    }

    #[test]
    fn an_event_has_its_name_where_clients_look_for_it() {
        for (kind, named) in [
            (CallKind::ChatCompletions, false),
            (CallKind::Responses, true),
            (CallKind::Messages, true),
            (CallKind::GenerateContent, false),
        ] {
            let event = refusal_event(kind, "cut", "it broke off");
            assert_eq!(event.starts_with("event: error\n"), named);
            let data = crate::sse::data(event.as_bytes()).unwrap();
            let data: Value = serde_json::from_slice(&data).unwrap();
            assert!(data.to_string().contains("it broke off"), "{data}");
        }
    }
}
