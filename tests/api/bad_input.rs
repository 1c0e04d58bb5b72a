//! Bad input over HTTP: each has its documented code, changes nothing and tells nothing of the inside.

use palestra_protocol::id::{EpisodeId, FileId, JobId, KeyId, PolicyId, RunId, SessionId};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::files::{LINE, upload};
use super::policies::policy;
use super::sessions::{add, counter};
use super::stream::{ask, open};
use crate::support::server::{ADMIN_KEY, Answer, TestServer, read};

/// Words that would tell of the inside.
const INSIDE: &[&str] =
    &["palestra::", "serde", "struct ", "enum ", "u64", "src/", ".rs", "SELECT", "sqlite", "sqlx", "panicked", "/tmp/"];
/// Ids of the right form that name nothing.
const NO_SNAPSHOT: &str = "snap_0197a3c2f2a87c53b0a1d5e6f7089abc";
const NO_EPISODE: &str = "epi_0197a3c2f2a87c53b0a1d5e6f7089abc";

#[track_caller]
fn assert_tells_nothing(answer: &Value, case: &str) {
    let text = answer.to_string();
    for word in INSIDE {
        assert!(!text.contains(word), "{case}: {word} in {text}");
    }
}

/// State that must not change: the session's episode, step and state, and what the server holds.
async fn fingerprint(server: &TestServer, session: &str) -> Value {
    let state = server.get(&format!("/v1/sessions/{session}/state")).await.ok();
    let mut all = vec![state["episode"].clone(), state["seq"].clone(), state["hash"].clone()];
    for list in
        ["/v1/sessions", "/v1/episodes", "/v1/environments", "/v1/keys", "/v1/jobs", "/v1/policies", "/v1/files"]
    {
        all.push(json!(server.get(list).await.ok()["data"].as_array().unwrap().len()));
    }
    Value::Array(all)
}

async fn send(server: &TestServer, method: Method, path: &str, body: Vec<u8>) -> Answer {
    read(server.request(method, path).header("content-type", "application/json").body(body)).await
}

fn nested(levels: usize) -> String {
    format!("{}1{}", "[".repeat(levels), "]".repeat(levels))
}

#[tokio::test]
async fn bodies_that_cannot_be_read_or_do_not_fit_change_nothing() {
    let server = TestServer::start().await;
    let id = counter(&server).await["id"].as_str().unwrap().to_owned();
    server.post(&format!("/v1/sessions/{id}/step"), &add(1, 1)).await.ok();
    let mut before = fingerprint(&server, &id).await;
    let own = |call: &str| format!("/v1/sessions/{id}/{call}");
    let step = |action: &str| format!("{{\"seq\":2,\"action\":{action}}}").into_bytes();
    let text = |body: &str| body.as_bytes().to_vec();
    let deep = nested(1_000);
    let ten_megabytes = format!("{{\"action\":{{\"text\":\"{}\"}}}}", "x".repeat(10 << 20)).into_bytes();
    let cases: Vec<(String, Vec<u8>, &str)> = vec![
        (own("step"), text(""), "malformed"),
        (own("step"), text("{"), "malformed"),
        (own("step"), text("{\"action\":}"), "malformed"),
        (own("step"), text("nonsense"), "malformed"),
        (own("step"), text("{\"action\":{\"text\":\"1\"}} {}"), "malformed"),
        (own("step"), b"{\"action\":{\"text\":\"\xff\xfe\"}}".to_vec(), "malformed"),
        (own("step"), b"{\"action\":{\"text\":\"a\0b\"}}".to_vec(), "malformed"),
        (own("step"), b"\0".to_vec(), "malformed"),
        (own("step"), step("{\"text\":\"\\ud800\"}"), "malformed"),
        (own("step"), step(&format!("{{\"tool\":\"add\",\"arguments\":{{\"a\":{deep}}}}}")), "malformed"),
        (own("step"), text(&format!("{{\"action\":{{\"text\":\"1\"}},\"meta\":{deep}}}")), "malformed"),
        (own("step"), ten_megabytes.clone(), "too_large"),
        (own("step"), text("null"), "invalid"),
        (own("step"), text("7"), "invalid"),
        (own("step"), text("[]"), "invalid"),
        (own("step"), text("[2,{\"text\":\"1\"},null,null,null]"), "invalid"),
        (own("step"), text("{}"), "invalid"),
        (own("step"), step("{}"), "invalid"),
        (own("step"), step("[]"), "invalid"),
        (own("step"), step("\"1\""), "invalid"),
        (own("step"), step("{\"text\":1}"), "invalid"),
        (own("step"), step("{\"text\":\"1\",\"tool\":\"add\"}"), "invalid"),
        (own("step"), step("{\"text\":\"1\",\"colour\":\"red\"}"), "invalid"),
        (own("step"), step("{\"calls\":[{\"tool\":\"add\"}]}"), "invalid"),
        (own("step"), step("{\"calls\":{}}"), "invalid"),
        (own("step"), text("{\"seq\":2,\"action\":{\"text\":\"1\"},\"colour\":\"red\"}"), "invalid"),
        (own("step"), text("{\"action\":{\"text\":\"1\"},\"observe\":{\"keep\":\"all\"}}"), "invalid"),
        (own("step"), text("{\"action\":{\"text\":\"1\"},\"episode\":\"epi_1\"}"), "invalid"),
        (own("step"), text("{\"seq\":0,\"action\":{\"text\":\"1\"}}"), "invalid"),
        (own("step"), text("{\"seq\":-1,\"action\":{\"text\":\"1\"}}"), "invalid"),
        (own("step"), text("{\"seq\":1.5,\"action\":{\"text\":\"1\"}}"), "invalid"),
        (own("step"), text("{\"seq\":1e30,\"action\":{\"text\":\"1\"}}"), "invalid"),
        (own("step"), text("{\"seq\":1e999,\"action\":{\"text\":\"1\"}}"), "malformed"),
        (own("step"), text("{\"seq\":\"2\",\"action\":{\"text\":\"1\"}}"), "invalid"),
        (own("step"), text("{\"seq\":18446744073709551616,\"action\":{\"text\":\"1\"}}"), "invalid"),
        (own("step"), text("{\"seq\":18446744073709551615,\"action\":{\"text\":\"1\"}}"), "step_ahead"),
        (own("step"), text("{\"seq\":3,\"action\":{\"text\":\"1\"}}"), "step_ahead"),
        (own("step"), text("{\"seq\":1,\"action\":{\"text\":\"other\"}}"), "step_conflict"),
        (
            own("step"),
            format!("{{\"action\":{{\"text\":\"1\"}},\"episode\":\"{NO_EPISODE}\"}}").into(),
            "wrong_episode",
        ),
        (own("reset"), text("null"), "invalid"),
        (own("verify"), text("null"), "invalid"),
        (own("fork"), text("null"), "invalid"),
        (own("snapshots"), text("null"), "invalid"),
        (own("reset"), text("{\"seed\":-1}"), "invalid"),
        (own("reset"), text("{\"task\":{\"id\":\"no\"}}"), "unknown_task"),
        (own("reset"), text("{\"colour\":1}"), "invalid"),
        (own("finish"), text("{\"reason\":\"bored\"}"), "invalid"),
        (own("finish"), text("{}"), "invalid"),
        (own("verify"), text("{\"wait_ms\":\"long\"}"), "invalid"),
        (own("verify"), ten_megabytes.clone(), "too_large"),
        (own("fork"), text("{\"count\":0}"), "invalid"),
        (own("fork"), text("{\"count\":1025}"), "invalid"),
        (own("fork"), text("{\"at_seq\":99}"), "invalid"),
        (own("fork"), text("{\"at_seq\":18446744073709551615}"), "invalid"),
        (own("snapshots"), text("{\"name\":7}"), "invalid"),
        (own("snapshots"), text("{\"name\":\"a\\u0000b\"}"), "invalid"),
        (own("restore"), text("{}"), "invalid"),
        (own("restore"), text("{\"snapshot\":\"x\"}"), "invalid"),
        (own("restore"), format!("{{\"snapshot\":\"{NO_SNAPSHOT}\"}}").into(), "not_found"),
        ("/v1/sessions".into(), text("{\"environment\":\"no/such\"}"), "unknown_environment"),
        ("/v1/sessions".into(), text("{\"environment\":\"../../etc/passwd\"}"), "unknown_environment"),
        ("/v1/sessions".into(), text("{\"environment\":\"bench/counter@99\"}"), "unknown_environment"),
        (
            "/v1/sessions".into(),
            text("{\"environment\":\"bench/counter\",\"task\":{\"split\":\"no\"}}"),
            "unknown_task",
        ),
        (
            "/v1/sessions".into(),
            text("{\"environment\":\"bench/counter\",\"task\":{\"split\":\"train\",\"index\":18446744073709551615}}"),
            "unknown_task",
        ),
        ("/v1/sessions".into(), text("{\"environment\":\"bench/counter\",\"limits\":[]}"), "invalid"),
        ("/v1/sessions".into(), text("{\"environment\":\"bench/counter\",\"record\":{}}"), "invalid"),
        ("/v1/sessions".into(), text("{\"environment\":\"bench/counter\",\"config\":{\"target\":\"x\"}}"), "invalid"),
        ("/v1/sessions".into(), text("{\"environment\":\"bench/counter\",\"config\":{\"target\":{}}}"), "invalid"),
        (
            "/v1/sessions".into(),
            format!("{{\"environment\":\"bench/counter\",\"metadata\":{deep}}}").into(),
            "malformed",
        ),
        ("/v1/sessions".into(), ten_megabytes.clone(), "too_large"),
        ("/v1/sessions:step".into(), ten_megabytes, "too_large"),
        ("/v1/sessions:step".into(), text("{\"items\":{}}"), "invalid"),
        ("/v1/sessions:step".into(), text("{\"items\":[],\"colour\":1}"), "invalid"),
        ("/v1/sessions:step".into(), text("[]"), "invalid"),
        ("/v1/runs".into(), text("{\"lease_ms\":-1}"), "invalid"),
        ("/v1/runs".into(), text("{\"lease_ms\":1,\"id\":\"ses_1\"}"), "invalid"),
        ("/v1/keys".into(), text("{\"name\":\"a\",\"scopes\":\"admin\"}"), "invalid"),
        ("/v1/jobs".into(), text("{}"), "invalid"),
        ("/v1/jobs".into(), text("{\"kind\":\"check\"}"), "invalid"),
        ("/v1/jobs".into(), text("{\"kind\":\"cook\",\"spec\":{}}"), "invalid"),
        ("/v1/jobs".into(), text("{\"kind\":\"check\",\"spec\":{\"environment\":7}}"), "invalid"),
        ("/v1/jobs".into(), text("{\"kind\":\"check\",\"spec\":[]}"), "invalid"),
        ("/v1/jobs".into(), format!("{{\"kind\":\"check\",\"spec\":{deep}}}").into(), "malformed"),
        ("/v1/jobs".into(), text("{\"kind\":\"serve\",\"spec\":{\"policy\":\"pol_1\"}}"), "invalid"),
        (
            "/v1/worker/lease".into(),
            text("{\"worker\":\"a\",\"kinds\":[],\"device\":\"cpu\",\"memory_bytes\":0}"),
            "invalid",
        ),
        (
            "/v1/worker/lease".into(),
            text("{\"worker\":\"a\\u0000\",\"kinds\":[\"check\"],\"device\":\"cpu\",\"memory_bytes\":0}"),
            "invalid",
        ),
        ("/v1/worker/lease".into(), text("[]"), "invalid"),
        ("/v1/environments".into(), text("{\"environment\":{},\"rows\":7}"), "invalid"),
        ("/v1/environments".into(), text("[]"), "invalid"),
    ];
    let mut wrong = Vec::new();
    for (path, body, code) in cases {
        let case = format!("{path} {:.100}", String::from_utf8_lossy(&body));
        let answer = send(&server, Method::POST, &path, body).await;
        if answer.body["code"] != code {
            wrong.push(format!("{case}: {code} expected, not {}", answer.body));
        }
        assert_tells_nothing(&answer.body, &case);
        if fingerprint(&server, &id).await != before {
            wrong.push(format!("{case}: something changed"));
            before = fingerprint(&server, &id).await;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    server.stop().await;
}

#[tokio::test]
async fn commands_that_come_too_late_are_refused_by_name() {
    let server = TestServer::start().await;
    let created = counter(&server).await;
    let path = format!("/v1/sessions/{}", created["id"].as_str().unwrap());
    let step = format!("{path}/step");
    let ended = server.post(&step, &add(1, 3)).await.ok();
    assert_eq!(ended["terminated"], true);
    // A stored answer comes back also after the end; anything new does not run.
    assert_eq!(server.post(&step, &add(1, 3)).await.ok()["seq"], 1);
    for seq in [2, 9, u64::MAX] {
        assert_eq!(server.post(&step, &add(seq, 1)).await.code(), "episode_over", "{seq}");
    }
    server.post(&format!("{path}/reset"), &json!({})).await.ok();
    let before = fingerprint(&server, created["id"].as_str().unwrap()).await;
    let old = created["episode"].clone();
    for (call, body) in [
        ("step", json!({"seq": 1, "action": {"text": "1"}, "episode": old})),
        ("finish", json!({"reason": "gave_up", "episode": old})),
    ] {
        let answer = server.post(&format!("{path}/{call}"), &body).await;
        assert_eq!(answer.code(), "wrong_episode", "{call}: {}", answer.body);
    }
    assert_eq!(fingerprint(&server, created["id"].as_str().unwrap()).await, before);
    server.delete(&path).await.ok();
    for call in ["step", "reset", "fork", "snapshots"] {
        let body = if call == "step" { json!({"seq": 1, "action": {"text": "1"}}) } else { json!({}) };
        assert_eq!(server.post(&format!("{path}/{call}"), &body).await.code(), "session_over", "{call}");
    }
    server.stop().await;
}

/// Every operation of the API document with an id in its path, and a body that fits.
async fn operations_with_an_id(server: &TestServer) -> Vec<(Method, String, Option<Value>)> {
    let document = server.get("/openapi.json").await.ok();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if !path.contains("{id}") {
                continue;
            }
            let content = &operation["requestBody"]["content"]["application/json"];
            let example = content["examples"].as_object().and_then(|examples| examples.values().next());
            let body = example.map(|example| example["value"].clone()).or_else(|| content.get("example").cloned());
            let path = path.replace("{seq}", "1").replace("{name}", "a.bin");
            let path = if path.contains("/v1/worker/jobs/{id}/artifacts/") { format!("{path}?fence=1") } else { path };
            let path = if path.ends_with("/diff") { format!("{path}?against={NO_SNAPSHOT}") } else { path };
            operations.push((method.to_uppercase().parse().unwrap(), path, body));
        }
    }
    assert!(operations.len() > 20, "{operations:?}");
    operations
}

#[tokio::test]
async fn ids_that_are_unknown_foreign_or_none_at_all_are_not_found_on_every_route() {
    let server = TestServer::start().await;
    let created = counter(&server).await;
    let (session, episode) = (created["id"].as_str().unwrap(), created["episode"].as_str().unwrap());
    let run = server.post("/v1/runs", &json!({"lease_ms": 60_000})).await.ok()["id"].as_str().unwrap().to_owned();
    let key = server.post("/v1/keys", &json!({"name": "a", "scopes": ["sessions"]})).await.ok();
    let key = key["id"].as_str().unwrap();
    let request = serde_json::from_value(json!({"name": "other", "scopes": ["admin"]})).unwrap();
    let stranger = server.app.auth().create_key("other", request).await.unwrap().secret;
    let (policy, job) = policy(&server).await;
    let file = upload(&server, LINE).await;
    let before = fingerprint(&server, session).await;
    for (method, path, body) in operations_with_an_id(&server).await {
        let (own, unknown) = match path.split('/').nth(2).unwrap() {
            "sessions" => (session, SessionId::new().to_string()),
            "episodes" => (episode, EpisodeId::new().to_string()),
            "runs" => (run.as_str(), RunId::new().to_string()),
            "keys" => (key, KeyId::new().to_string()),
            "jobs" | "worker" | "fine_tuning" => (job.as_str(), JobId::new().to_string()),
            "policies" => (policy.as_str(), PolicyId::new().to_string()),
            "files" => (file.as_str(), FileId::new().to_string()),
            other => panic!("{other}: say what its ids are"),
        };
        let none = ["ses_1", "%00", "%FF", "..%2f..", "0", NO_SNAPSHOT, &"x".repeat(5_000)];
        let tries = [(own, stranger.as_str()), (unknown.as_str(), ADMIN_KEY)];
        for (id, credential) in tries.into_iter().chain(none.into_iter().map(|id| (id, ADMIN_KEY))) {
            let case = format!("{method} {path} {id:.50}");
            let url = format!("{}{}", server.url(), path.replace("{id}", id));
            let mut request = server.http.request(method.clone(), url).bearer_auth(credential);
            if let Some(body) = &body {
                request = request.json(body);
            }
            let answer = read(request).await;
            if path.contains("/llm/") {
                // In the form of the dialect.
                assert_eq!(answer.status, 404, "{case}: {}", answer.body);
                assert!(answer.body["error"]["message"].is_string(), "{case}: {}", answer.body);
            } else {
                assert_eq!(answer.code(), "not_found", "{case}: {}", answer.body);
            }
            assert_tells_nothing(&answer.body, &case);
        }
    }
    assert_eq!(fingerprint(&server, session).await, before);

    let mut socket = open(&server).await;
    for op in [
        json!({"op": "reset"}),
        json!({"op": "step", "action": {"text": "1"}}),
        json!({"op": "finish", "reason": "gave_up"}),
        json!({"op": "verify"}),
        json!({"op": "fork"}),
        json!({"op": "snapshot"}),
        json!({"op": "restore", "snapshot": NO_SNAPSHOT}),
        json!({"op": "close"}),
        json!({"op": "subscribe"}),
    ] {
        for (session, code) in
            [(json!(SessionId::new()), "not_found"), (json!("ses_1"), "invalid"), (json!(7), "invalid")]
        {
            let mut frame = op.clone();
            frame["id"] = json!(1);
            frame["session"] = session;
            let answer = ask(&mut socket, frame.clone()).await;
            assert_eq!(answer["error"]["code"], code, "{frame}: {answer}");
            assert_tells_nothing(&answer, &frame.to_string());
        }
    }
    drop(socket);
    server.stop().await;
}

#[tokio::test]
async fn paths_queries_and_methods_that_fit_nothing_are_refused() {
    let server = TestServer::start().await;
    let id = counter(&server).await["id"].as_str().unwrap().to_owned();
    let state = format!("/v1/sessions/{id}/state");
    let diff = format!("/v1/sessions/{id}/diff");
    for (method, path, code) in [
        ("GET", "/v1/sessions?colour=red", "malformed"),
        ("GET", "/v1/sessions?limit=2&limit=3", "malformed"),
        ("GET", "/v1/sessions?limit=-1", "malformed"),
        ("GET", "/v1/sessions?limit=99999999999", "malformed"),
        ("GET", "/v1/sessions?cursor=%27%20OR%201%3D1", "malformed"),
        ("GET", "/v1/sessions?task=a%00b", "malformed"),
        ("GET", "/v1/sessions?task=%ff%fe", "malformed"),
        ("GET", "/v1/sessions?state=tired", "malformed"),
        ("GET", "/v1/episodes?colour=red", "malformed"),
        ("GET", "/v1/episodes?status=tired", "malformed"),
        ("GET", "/v1/keys?colour=red", "malformed"),
        ("GET", "/v1/jobs?colour=red", "malformed"),
        ("GET", "/v1/jobs?state=tired", "malformed"),
        ("GET", "/v1/policies?cursor=job_1", "malformed"),
        ("PUT", "/v1/jobs", "method_not_allowed"),
        ("GET", "/v1/worker/lease", "method_not_allowed"),
        ("GET", "/v1/environments?colour=red", "malformed"),
        ("GET", "/v1/environments?tools=xml", "malformed"),
        ("GET", "/v1/environments/no/such", "unknown_environment"),
        ("GET", "/v1/environments/bench/counter@x", "unknown_environment"),
        ("GET", "/v1/environments/bench/counter?colour=red", "malformed"),
        ("GET", "/v1/environments/bench/counter?version=-1", "malformed"),
        ("GET", "/v1/environments/no/such/tasks", "unknown_environment"),
        ("GET", "/v1/environments/bench/counter/tasks?split=no", "unknown_task"),
        ("GET", "/v1/environments/bench/counter/tasks?offset=1.5", "malformed"),
        ("GET", "/v1/environments/bench/counter/tasks?colour=red", "malformed"),
        ("GET", &format!("{state}?colour=red"), "malformed"),
        ("GET", &format!("{diff}?colour=red"), "malformed"),
        ("GET", &format!("{diff}?against=x"), "malformed"),
        ("GET", &diff, "malformed"),
        ("GET", &format!("{diff}?against={NO_SNAPSHOT}"), "not_found"),
        ("GET", "/v1/%ff", "not_found"),
        ("GET", "/v1/../etc/passwd", "not_found"),
        ("GET", "/v2/sessions", "not_found"),
        ("PUT", "/v1/sessions", "method_not_allowed"),
        ("PATCH", &state, "method_not_allowed"),
        ("BREW", "/v1/sessions", "method_not_allowed"),
        ("DELETE", "/v1/environments", "method_not_allowed"),
    ] {
        let answer = send(&server, method.parse().unwrap(), path, Vec::new()).await;
        assert_eq!(answer.code(), code, "{method} {path}: {}", answer.body);
        assert_tells_nothing(&answer.body, path);
    }
    server.stop().await;
}

/// The status of the answer to bytes that no client library would send, if there is one.
async fn raw(server: &TestServer, bytes: &[u8]) -> Option<u16> {
    let mut connection = TcpStream::connect(server.address()).await.unwrap();
    // The server may hang up before all of it has left.
    let _ = connection.write_all(bytes).await;
    let mut answer = [0; 512];
    let length = connection.read(&mut answer).await.unwrap_or(0);
    let text = String::from_utf8_lossy(&answer[..length]).into_owned();
    text.split(' ').nth(1).and_then(|status| status.parse().ok())
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_hinders_nobody() {
    let server = TestServer::start().await;
    let huge = format!("GET /healthz HTTP/1.1\r\nhost: a\r\nx-huge: {}\r\n\r\n", "x".repeat(1 << 20));
    let many = format!("GET /healthz HTTP/1.1\r\nhost: a\r\n{}\r\n", "x-a: 1\r\n".repeat(1_000));
    let long = format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", "x".repeat(100_000));
    for (bytes, statuses) in [
        (b"\0\0\0\0\r\n\r\n".to_vec(), &[400][..]),
        (b"GET /v1/\0 HTTP/1.1\r\nhost: a\r\n\r\n".to_vec(), &[400]),
        (b"GET /v1/\xff\xfe HTTP/1.1\r\nhost: a\r\n\r\n".to_vec(), &[400, 404]),
        (b"GET /v1/sessions?task=\xff\xfe HTTP/1.1\r\nhost: a\r\n\r\n".to_vec(), &[400, 401]),
        (b"GET / HTTP/9.9\r\n\r\n".to_vec(), &[400, 505]),
        (b"POST /v1/sessions HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n".to_vec(), &[400]),
        (huge.into_bytes(), &[431]),
        (many.into_bytes(), &[431]),
        (long.into_bytes(), &[414, 431]),
    ] {
        let case = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        // Bytes that were still on their way when the server hung up can take the answer with them.
        let status = raw(&server, &bytes).await;
        assert!(status.is_none_or(|status| statuses.contains(&status)), "{case}: {status:?}");
        assert!(status.is_some() || bytes.len() > 60_000, "{case}");
    }
    assert_eq!(server.get("/v1/sessions").await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn every_broken_line_of_a_data_set_is_reported_by_number() {
    let server = TestServer::start().await;
    let before = server.get("/v1/environments").await.ok();
    let broken: &[&[u8]] = &[
        b"{",
        b"7",
        b"[]",
        b"null",
        b"{}",
        b"{\"prompt\":1,\"answer\":\"a\"}",
        b"{\"prompt\":\"a\"}",
        b"{\"prompt\":\"a\",\"answer\":\"b\",\"colour\":\"red\"}",
        b"{\"prompt\":\"\xff\",\"answer\":\"b\"}",
        b"{\"prompt\":\"a\",\"answer\":\"b\",\"verifier\":\"no\"}",
        b"\0",
    ];
    let mut body = Vec::new();
    let mut expected = Vec::new();
    let deep = format!("{{\"prompt\":\"a\",\"answer\":\"b\",\"metadata\":{}}}", nested(1_000)).into_bytes();
    for line in broken.iter().copied().chain([deep.as_slice()]) {
        body.extend_from_slice(b"{\"prompt\":\"2+2?\",\"answer\":\"4\"}\n");
        body.extend_from_slice(line);
        body.push(b'\n');
        expected.push(2 * (expected.len() as u64 + 1));
    }
    let request = server.request(Method::POST, "/v1/environments?name=dataset/broken&verifier=exact");
    let answer = read(request.header("content-type", "application/jsonl").body(body)).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (422, "invalid"));
    let faults = answer.body["errors"].as_array().unwrap();
    let mut lines: Vec<u64> = faults.iter().filter_map(|fault| fault["line"].as_u64()).collect();
    lines.dedup();
    assert_eq!(lines, expected, "{}", answer.body);
    assert_tells_nothing(&answer.body, "data set");
    assert_eq!(server.get("/v1/environments").await.ok(), before);
    for (path, code) in [
        ("/v1/environments?name=nofamily&verifier=exact", "invalid"),
        ("/v1/environments?name=puzzle/countdown&verifier=exact", "invalid"),
        ("/v1/environments?name=dataset/a&verifier=no", "invalid"),
        ("/v1/environments?name=dataset/a&colour=red", "malformed"),
        ("/v1/environments?name=dataset/a%00&verifier=exact", "malformed"),
        ("/v1/environments?name=dataset/a/b&verifier=exact", "invalid"),
    ] {
        let request = server.request(Method::POST, path).header("content-type", "application/jsonl");
        let answer = read(request.body("{\"prompt\":\"2+2?\",\"answer\":\"4\"}\n")).await;
        assert_eq!(answer.code(), code, "{path}: {}", answer.body);
        assert_tells_nothing(&answer.body, path);
    }
    assert_eq!(server.get("/v1/environments").await.ok(), before);
    server.stop().await;
}
