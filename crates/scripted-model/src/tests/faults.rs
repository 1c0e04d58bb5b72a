//! Faults, keys and the log, through the router.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::ServiceExt as _;

use super::script;
use crate::server::{Options, router};
use crate::{Script, token};

/// Paths of the dialects, each with a body and the header of its key.
fn calls(text: &str, stream: bool) -> [(&'static str, Value, &'static str); 4] {
    let messages = json!([{"role": "user", "content": text}]);
    let generate =
        if stream { "/v1beta/models/m:streamGenerateContent?alt=sse" } else { "/v1beta/models/m:generateContent" };
    [
        ("/v1/chat/completions", json!({"model": "m", "messages": messages, "stream": stream}), "authorization"),
        ("/v1/responses", json!({"model": "m", "input": text, "stream": stream}), "authorization"),
        ("/v1/messages", json!({"model": "m", "max_tokens": 1, "messages": messages, "stream": stream}), "x-api-key"),
        (generate, json!({"contents": [{"parts": [{"text": text}]}]}), "x-goog-api-key"),
    ]
}

async fn send(router: &Router, path: &str, body: &Value, header: Option<(&str, &str)>) -> Response {
    let mut request = Request::post(path).header("content-type", "application/json");
    if let Some((name, value)) = header {
        request = request.header(name, value);
    }
    router.clone().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap()
}

async fn body(response: Response) -> Value {
    serde_json::from_slice(&to_bytes(response.into_body(), usize::MAX).await.unwrap()).unwrap()
}

async fn log(router: &Router) -> Vec<Value> {
    let request = Request::get("/log").body(Body::empty()).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.headers()["x-dropped-calls"], "0");
    let text = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let text = String::from_utf8(text.to_vec()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn the_log_has_what_the_model_read_and_produced() {
    let script = Script::read("{policy_version: '7', rules: [{text: hello}]}", "t").unwrap();
    let router = router(script, Options::default());
    for (path, body, _) in calls("hi", true) {
        let response = send(&router, path, &body, None).await;
        assert_eq!(response.headers()["x-policy-version"], "7");
        assert!(
            to_bytes(response.into_body(), usize::MAX).await.unwrap().starts_with(b"data: ")
                || path != "/v1/chat/completions"
        );
    }
    let calls = log(&router).await;
    assert_eq!(calls.len(), 4);
    for (call, number) in calls.iter().zip(1..) {
        let ids = |name: &str| serde_json::from_value::<Vec<u32>>(call[name].clone()).unwrap();
        assert_eq!(token::decode(&ids("prompt_token_ids")), "<|user|>hi<|end|><|assistant|>");
        assert_eq!(token::decode(&ids("completion_token_ids")), "hello<|end|>");
        let logprobs: Vec<f64> = serde_json::from_value(call["logprobs"].clone()).unwrap();
        let exact = token::logprobs(&ids("prompt_token_ids"), 6);
        assert_eq!(logprobs, exact.into_iter().map(f64::from).collect::<Vec<_>>());
        assert_eq!((&call["number"], &call["text"], &call["model"]), (&json!(number), &json!("hello"), &json!("m")));
        assert_eq!(call.get("fault"), None);
    }
    assert_eq!(calls[3]["path"], "/v1beta/models/m:streamGenerateContent");
    let request = Request::delete("/log").body(Body::empty()).unwrap();
    assert_eq!(router.clone().oneshot(request).await.unwrap().status(), StatusCode::NO_CONTENT);
    assert_eq!(log(&router).await, Vec::<Value>::new());
}

#[tokio::test]
async fn errors_have_the_form_of_the_dialect() {
    let router = router(script("- {status: 429, retry_after: 2}"), Options::default());
    let kinds = [
        ("/error/code", json!("rate_limit_exceeded")),
        ("/error/code", json!("rate_limit_exceeded")),
        ("/error/type", json!("rate_limit_error")),
        ("/error/status", json!("RESOURCE_EXHAUSTED")),
    ];
    for ((path, sent, _), (place, kind)) in calls("hi", false).into_iter().zip(&kinds) {
        let response = send(&router, path, &sent, None).await;
        assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (429, &"2".parse().unwrap()));
        assert_eq!(body(response).await.pointer(place), Some(kind), "{path}");
        let wrong = body(send(&router, path, &json!({"model": 1}), None).await).await;
        let message = wrong["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("the body has not the form of this operation: "), "{message}");
    }
    assert!(
        log(&router).await.iter().all(|call| call["fault"] == "status" && call["completion_token_ids"] == json!([]))
    );
    let stored = json!({"model": "m", "input": "x", "previous_response_id": "resp_1"});
    let refused = body(send(&router, "/v1/responses", &stored, None).await).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("send the whole conversation"), "{refused}");
    let unknown = send(&router, "/v1beta/models/m:embedContent", &json!({}), None).await;
    assert_eq!((unknown.status().as_u16(), &body(unknown).await["error"]["status"]), (404, &json!("NOT_FOUND")));
}

#[tokio::test]
async fn a_request_that_no_rule_fits_is_told_so() {
    let router = router(script("- {turn: 5, text: x}"), Options::default());
    let (path, sent, _) = &calls("hi", false)[0];
    let refused = body(send(&router, path, sent, None).await).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("whose last message is `hi`: add a rule"), "{message}");
}

#[tokio::test]
async fn the_key_stands_in_the_header_of_the_dialect() {
    let options = Options { key: Some("k".to_owned()), log: false };
    let router = router(script("- text: hello"), options);
    for (path, sent, header) in calls("hi", false) {
        let value = |key: &str| if header == "authorization" { format!("Bearer {key}") } else { key.to_owned() };
        assert_eq!(send(&router, path, &sent, None).await.status(), 401, "{path}");
        assert_eq!(send(&router, path, &sent, Some((header, &value("other")))).await.status(), 401, "{path}");
        assert_eq!(send(&router, path, &sent, Some((header, &value("k")))).await.status(), 200, "{path}");
    }
    let refused = body(send(&router, "/v1/messages", &json!({}), None).await).await;
    assert_eq!(refused["error"]["type"], "authentication_error");
    let health = Request::get("/health").body(Body::empty()).unwrap();
    assert_eq!(router.clone().oneshot(health).await.unwrap().status(), 200);
    let hidden = Request::get("/log").body(Body::empty()).unwrap();
    assert_eq!(router.clone().oneshot(hidden).await.unwrap().status(), 401);
}

#[tokio::test]
async fn an_answer_is_cut_in_its_middle() {
    let router = router(script("- {text: hello there, tokens_per_chunk: 2, cut_after_chunks: 3}"), Options::default());
    for stream in [true, false] {
        for (path, sent, _) in calls("hi", stream) {
            let response = send(&router, path, &sent, None).await;
            assert_eq!(response.status(), 200);
            assert!(to_bytes(response.into_body(), usize::MAX).await.is_err(), "{path} is cut");
        }
    }
    let calls = log(&router).await;
    assert!(calls.iter().all(|call| call["fault"] == "cut" && call["text"] == "hello there"), "{calls:?}");
}

#[tokio::test]
async fn an_answer_that_hangs_never_comes() {
    let router = router(script("- {hang: true}"), Options::default());
    let (path, sent, _) = &calls("hi", true)[0];
    assert!(timeout(Duration::from_millis(100), send(&router, path, sent, None)).await.is_err());
    assert_eq!(log(&router).await[0]["fault"], "hang");
}

#[tokio::test]
async fn a_huge_answer_is_made_while_it_is_sent() {
    let router = router(script("- bytes: 3000000"), Options::default());
    for stream in [false, true] {
        for (path, sent, _) in calls("hi", stream) {
            let response = send(&router, path, &sent, None).await;
            let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            assert!(bytes.len() > 3_000_000, "{path}");
            if !stream {
                let whole: Value = serde_json::from_slice(&bytes).unwrap();
                let usage = ["/usage/completion_tokens", "/usage/output_tokens", "/usageMetadata/candidatesTokenCount"];
                let count = usage.iter().find_map(|place| whole.pointer(place)).unwrap();
                assert_eq!(count, &json!(3_000_001), "{path}");
            }
        }
    }
}

#[tokio::test]
async fn gemini_streams_an_array_where_no_events_are_asked_for() {
    let router = router(script("- {text: hello there, tokens_per_chunk: 4}"), Options::default());
    let sent = json!({"contents": [{"parts": [{"text": "hi"}]}], "return_token_ids": true});
    let array = body(send(&router, "/v1beta/models/m:streamGenerateContent", &sent, None).await).await;
    let parts = array.as_array().unwrap();
    assert_eq!(parts.len(), 3);
    assert_eq!(parts[2]["token_ids"].as_array().unwrap().len(), 12);
    assert_eq!(parts[2]["candidates"][0]["finishReason"], "STOP");
}
