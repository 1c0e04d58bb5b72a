//! Policies behind addresses: what they are asked, and what a job makes of each answer.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::light_work::{LightWorker, close, over, succeeded, target};
use crate::support::server::TestServer;

/// Status line and body of an answer.
type Answer = (&'static str, String);

/// A server of chat completions that answers the nth question, counted from 0, by `answer`; it ends with the set.
async fn completions(answer: impl Fn(usize, &Value) -> Answer + Send + 'static) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        for number in 0.. {
            let (mut socket, _) = listener.accept().await.unwrap();
            let asked = question(&mut socket).await;
            let (status, text) = answer(number, &asked);
            let length = text.len();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            );
            socket.write_all(head.as_bytes()).await.unwrap();
            // Who has read enough of it hangs up.
            let _ = socket.write_all(text.as_bytes()).await;
        }
    });
    (address, tasks)
}

async fn question(socket: &mut TcpStream) -> Value {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && socket.read_exact(&mut byte).await.is_ok() {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    assert!(head.starts_with("post /v1/chat/completions"), "{head}");
    let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// The completion that calls `add` with the amount that the question asks for.
fn solved(asked: &Value, finish_reason: &str) -> Answer {
    let amount = target(asked["messages"].as_array().unwrap());
    let call = json!({"id": "c1", "type": "function",
        "function": {"name": "add", "arguments": format!("{{\"amount\": {amount}}}")}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let completion = json!({"choices": [{"message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2}});
    ("200 OK", completion.to_string())
}

/// A completion of so many bytes of text.
fn long(bytes: usize) -> Answer {
    let message = json!({"role": "assistant", "content": "x".repeat(bytes)});
    ("200 OK", json!({"choices": [{"message": message}]}).to_string())
}

#[tokio::test]
async fn a_policy_behind_an_allowed_url_is_asked_with_its_tools_and_again_after_a_refusal() {
    let server = TestServer::start().await;
    let (address, _answering) = completions(|number, asked| {
        assert_eq!((&asked["model"], &asked["tools"][0]["function"]["name"]), (&json!("seven"), &json!("add")));
        if number == 0 { ("503 Busy", String::new()) } else { solved(asked, "tool_calls") }
    })
    .await;
    let light = LightWorker::start(&server, &[address.to_string()]).await;
    let spec = json!({
        "policy": {"from": format!("url:http://{address}/v1#seven")}, "limits": {"max_turns": 1},
        "environments": [{"name": "bench/counter", "split": "test"}], "episodes": 3,
    });
    let (_, result) = succeeded(&server, "evaluate", spec).await;
    assert!(close(&result["all"]["mean"]["mean"], 1.0), "{result}");
    let usage = json!({"steps": 3, "prompt_tokens": 21, "completion_tokens": 6, "cut_answers": 0});
    assert_eq!(result["usage"], usage);
    light.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn an_answer_that_is_too_large_or_refused_costs_its_own_episode_alone() {
    let server = TestServer::start().await;
    let (address, _answering) = completions(|number, asked| match number {
        0 => solved(asked, "length"),
        1 => long(2 << 20),
        2 => long(9 << 20),
        3 => ("404 Not Found", "gone".to_owned()),
        4 => ("302 Found", "elsewhere".to_owned()),
        _ => solved(asked, "tool_calls"),
    })
    .await;
    let light = LightWorker::start(&server, &[address.to_string()]).await;
    let spec = json!({
        "policy": {"from": format!("url:http://{address}/v1")}, "limits": {"max_turns": 1, "concurrent_sessions": 1},
        "environments": [{"name": "bench/counter", "split": "test"}], "episodes": 8,
    });
    let (_, result) = succeeded(&server, "evaluate", spec).await;
    assert_eq!(result["all"]["unscored"], json!({"too_large": 1, "policy_error": 3}), "{result}");
    assert_eq!((&result["all"]["scored"], &result["usage"]["cut_answers"]), (&json!(4), &json!(1)), "{result}");
    light.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn where_nothing_was_scored_the_job_fails_and_says_why() {
    let server = TestServer::start().await;
    let (address, _refusing) = completions(|_, _| ("400 Bad Request", "too long".to_owned())).await;
    let light = LightWorker::start(&server, &[address.to_string()]).await;
    for kind in ["evaluate", "collect"] {
        let spec = json!({
            "policy": {"from": format!("url:http://{address}/v1")}, "episodes": 2,
            "environments": [{"name": "bench/counter", "split": "test"}],
        });
        let job = server.post("/v1/jobs", &json!({"kind": kind, "spec": spec, "attempts_max": 1})).await.ok();
        let job = over(&server, job["id"].as_str().unwrap()).await;
        assert_eq!((&job["state"], &job["error"]["code"]), (&json!("failed"), &json!("environment")), "{job}");
        assert!(job["error"]["detail"].as_str().unwrap().contains("policy_error"), "{job}");
    }
    light.stop().await;
    server.stop().await;
}
