//! A model server that misbehaves as its model's name says, and keeps what it was asked.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A request that it got.
#[derive(Debug, Clone)]
pub struct Asked {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
}

/// A running model server; it ends when it is dropped.
pub struct Upstream {
    pub address: SocketAddr,
    asked: Arc<watch::Sender<Vec<Asked>>>,
    _serving: JoinSet<()>,
}

impl Upstream {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(watch::Sender::new(Vec::new()));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&asked));
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        Self { address, asked, _serving: serving }
    }

    /// Waits until it was asked so often.
    pub async fn was_asked(&self, times: usize) {
        let mut asked = self.asked.subscribe();
        asked.wait_for(|asked| asked.len() >= times).await.expect("the sender is here");
    }

    /// Everything that it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.borrow().clone()
    }
}

/// A completion of two tokens.
fn completion() -> Value {
    json!({"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "prompt_token_ids": [1, 2, 3],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop", "token_ids": [8, 9],
            "logprobs": {"content": [{"token": "h", "logprob": -0.5, "bytes": [104], "top_logprobs": []},
                                     {"token": "i", "logprob": -1.5, "bytes": [105], "top_logprobs": []}]}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}})
}

/// The events of the same completion.
fn chunks(with_usage: bool) -> Vec<String> {
    let chunk = |delta: Value, finish: Value, ids: Value| {
        json!({"id": "c1", "object": "chat.completion.chunk", "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "token_ids": ids,
                "logprobs": {"content": [{"token": "x", "logprob": -0.5}]}}]})
    };
    let mut first = chunk(json!({"role": "assistant", "content": "h"}), Value::Null, json!([8]));
    first["prompt_token_ids"] = json!([1, 2, 3]);
    let mut chunks = vec![first, chunk(json!({"content": "i"}), json!("stop"), json!([9]))];
    if with_usage {
        chunks.push(json!({"id": "c1", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}));
    }
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

async fn answer(State(asked): State<Arc<watch::Sender<Vec<Asked>>>>, request: Request) -> Response {
    let (path, headers) = (request.uri().to_string(), request.headers().clone());
    let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.expect("a body");
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    let model =
        body["model"].as_str().or_else(|| path.split("models/").nth(1)?.split(':').next()).unwrap_or("").to_owned();
    let echo = format!("{:?}", headers.get("authorization"));
    let key = headers.get("authorization").and_then(|key| key.to_str().ok()).unwrap_or_default().to_owned();
    let one = Asked { path: path.clone(), headers, body: body.clone() };
    asked.send_modify(|asked| asked.push(one));
    let json_of = |status: u16, body: Value| (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response();
    let events = |pieces: Vec<String>, then_hang: bool| {
        let pieces = stream::iter(pieces.into_iter().map(|piece| Ok::<_, Infallible>(Bytes::from(piece))));
        let body = if then_hang {
            Body::from_stream(futures::StreamExt::chain(pieces, stream::pending()))
        } else {
            Body::from_stream(pieces)
        };
        ([("content-type", "text/event-stream")], body).into_response()
    };
    let with_usage = body["stream_options"]["include_usage"] == true;
    match &*model {
        "refuse" => json_of(401, json!({"error": {"message": "Incorrect API key"}})),
        "busy" => {
            let mut response = json_of(429, json!({"error": {"message": format!("slow down, {echo}")}}));
            response.headers_mut().insert("retry-after", "7".parse().unwrap());
            response
        }
        "broken" => (StatusCode::INTERNAL_SERVER_ERROR, format!("<html>{echo}</html>")).into_response(),
        "elsewhere" => (StatusCode::FOUND, [("location", "http://127.0.0.1:1/")]).into_response(),
        "other" => json_of(200, json!({"content": "no completion"})),
        "huge" => (StatusCode::OK, vec![b'x'; 40 << 20]).into_response(),
        "hang" => std::future::pending().await,
        "echo" => {
            let mut completion = completion();
            completion["choices"][0]["message"]["content"] = json!(echo);
            json_of(200, completion)
        }
        "cut" => events(chunks(false), false),
        "drip" => events(chunks(false), true),
        // Its key letter by letter, and in an error.
        "spells" => {
            let letters = format!("I know {}", key.trim_start_matches("Bearer "));
            let letter = |letter: char| json!({"choices": [{"index": 0, "delta": {"content": letter.to_string()}}]});
            let mut pieces: Vec<String> = letters.chars().map(|one| format!("data: {}\n\n", letter(one))).collect();
            pieces.push("data: [DONE]\n\n".to_owned());
            events(pieces, false)
        }
        "tells" => events(
            vec![format!(
                "data: {}\n\n",
                json!({"error": {"message": format!("it is {}", key.trim_start_matches("Bearer "))}})
            )],
            false,
        ),
        "fails" => {
            let mut pieces = chunks(false);
            pieces.push("data: {\"error\": {\"message\": \"out of memory\"}}\n\n".to_owned());
            events(pieces, false)
        }
        _ if path.ends_with("/chat/completions") && body["stream"] == true => {
            let mut pieces = chunks(with_usage);
            pieces.push("data: [DONE]\n\n".to_owned());
            events(pieces, false)
        }
        _ if path.ends_with("/chat/completions") => json_of(200, completion()),
        _ if path.ends_with("/responses") => json_of(
            200,
            json!({"id": "r1", "object": "response", "status": "completed", "output": [],
            "usage": {"input_tokens": 3, "output_tokens": 2}, "prompt_token_ids": [1, 2, 3], "token_ids": [8, 9], "logprobs": [-0.5, -1.5]}),
        ),
        _ if path.ends_with("/v1/messages") => json_of(
            200,
            json!({"id": "m1", "type": "message", "role": "assistant",
            "content": [{"type": "text", "text": "hi"}], "model": "m", "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 3, "output_tokens": 2}, "prompt_token_ids": [1, 2, 3], "token_ids": [8, 9], "logprobs": [-0.5, -1.5]}),
        ),
        _ => json_of(
            200,
            json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}, "prompt_token_ids": [1, 2, 3], "token_ids": [8, 9],
            "logprobs": [-0.5, -1.5]}),
        ),
    }
}
