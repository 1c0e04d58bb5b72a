//! Model calls of sessions, against an upstream that answers, refuses, hangs and breaks off.

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::sessions::{add, counter};
use crate::support::server::{Answer, TestServer, read};
use crate::support::upstream::Upstream;

/// Planted as the key of every upstream.
const KEY: &str = "sk-marker-6b1f0c2e";
/// Models whose names say how they behave.
const BEHAVIOURS: [&str; 15] = [
    "plain",
    "refuse",
    "busy",
    "broken",
    "elsewhere",
    "other",
    "huge",
    "hang",
    "echo",
    "cut",
    "drip",
    "fails",
    "late",
    "spells",
    "tells",
];

async fn put(server: &TestServer, name: &str, body: &Value) -> Answer {
    read(server.request(Method::PUT, &format!("/v1/upstreams/{name}")).json(body)).await
}

/// An upstream of each dialect at this address.
async fn put_all(server: &TestServer, upstream: &Upstream, more: Value) {
    for (dialect, url) in [
        ("openai", format!("http://{}/v1", upstream.address)),
        ("anthropic", format!("http://{}", upstream.address)),
        ("gemini", format!("http://{}", upstream.address)),
    ] {
        let mut models: serde_json::Map<String, Value> =
            BEHAVIOURS.iter().map(|name| (format!("my-{name}"), json!(name))).collect();
        models.insert(format!("only-{dialect}"), json!("plain"));
        let mut body = json!({"dialect": dialect, "url": url, "key": KEY, "models": models});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        put(server, dialect, &body).await.ok();
    }
}

/// The address of an operation in a session.
fn at(server: &TestServer, session: &Value, operation: &str) -> String {
    format!("{}/v1/sessions/{}/llm/{operation}", server.url(), session["id"].as_str().unwrap())
}

fn token(session: &Value) -> &str {
    session["token"].as_str().expect("a token")
}

/// A chat of a session, by its token.
fn chat(server: &TestServer, session: &Value, body: &Value) -> RequestBuilder {
    server.http.post(at(server, session, "openai/chat/completions")).bearer_auth(token(session)).json(body)
}

fn ask(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "2 + 2?"}]})
}

async fn calls(server: &TestServer, session: &Value) -> Vec<Value> {
    let path = format!("/v1/episodes/{}/calls", session["episode"].as_str().unwrap());
    server.get(&path).await.ok()["data"].as_array().unwrap().clone()
}

/// The calls of a session once there are so many: one whose caller went away is recorded a moment later.
async fn calls_when(server: &TestServer, session: &Value, count: usize) -> Vec<Value> {
    for _ in 0..400 {
        let found = calls(server, session).await;
        if found.len() >= count {
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("there are no {count} calls");
}

#[tokio::test]
async fn each_dialect_is_forwarded_with_the_upstreams_key_and_recorded_with_its_tokens() {
    let (server, upstream) = (TestServer::start().await, Upstream::start().await);
    put_all(
        &server,
        &upstream,
        json!({"extra": {"return_token_ids": true}, "price": {"input_per_million": 1e6, "output_per_million": 2e6}}),
    )
    .await;
    let session = counter(&server).await;
    server.post(&format!("/v1/sessions/{}/step", session["id"].as_str().unwrap()), &add(1, 1)).await.ok();
    let token = token(&session);
    let http = &server.http;
    for (operation, request, path, header, kind) in [
        (
            "openai/chat/completions",
            Some(("authorization", format!("Bearer {token}"))),
            "/v1/chat/completions",
            "authorization",
            "chat_completions",
        ),
        (
            "openai/responses",
            Some(("authorization", format!("Bearer {token}"))),
            "/v1/responses",
            "authorization",
            "responses",
        ),
        ("anthropic/v1/messages", Some(("x-api-key", token.to_owned())), "/v1/messages", "x-api-key", "messages"),
        (
            "gemini/v1beta/models/my-plain:generateContent",
            Some(("x-goog-api-key", token.to_owned())),
            "/v1beta/models/plain:generateContent",
            "x-goog-api-key",
            "generate_content",
        ),
        (
            &format!("gemini/v1beta/models/my-plain:generateContent?key={token}"),
            None,
            "/v1beta/models/plain:generateContent",
            "x-goog-api-key",
            "generate_content",
        ),
    ] {
        let mut call = http.post(at(&server, &session, operation)).json(&ask("my-plain"));
        if let Some((name, value)) = request {
            call = call.header(name, value);
        }
        let answered = read(call).await;
        let id = answered.headers["x-palestra-call"].to_str().unwrap().to_owned();
        let answered = answered.ok();
        let asked = upstream.asked().pop().unwrap();
        assert_eq!(asked.path, path);
        let key = asked.headers[header].to_str().unwrap();
        assert_eq!(key.trim_start_matches("Bearer "), KEY, "{operation}");
        assert!(!format!("{:?} {}", asked.headers, asked.path).contains(token), "the session's token stays here");
        assert_eq!(asked.body["return_token_ids"], true);
        let row = calls(&server, &session).await.pop().unwrap();
        assert_eq!(
            (&row["id"], &row["kind"], &row["outcome"], &row["status"]),
            (&json!(id), &json!(kind), &json!("completed"), &json!(200))
        );
        assert_eq!((&row["seq"], &row["model"], &row["streamed"]), (&json!(1), &json!("my-plain"), &json!(false)));
        assert_eq!((&row["prompt_token_ids"], &row["completion_token_ids"]), (&json!([1, 2, 3]), &json!([8, 9])));
        assert_eq!((&row["logprobs"], &row["cost"]), (&json!([-0.5, -1.5]), &json!(7.0)));
        assert_eq!((&row["input_tokens"], &row["output_tokens"], &row["response"]), (&json!(3), &json!(2), &answered));
        assert_eq!(row["request"]["messages"], ask("")["messages"]);
    }
    // Whoever acts sees no rows, and spends what the operator sees.
    let path = format!("{}/v1/episodes/{}/calls", server.url(), session["episode"].as_str().unwrap());
    assert_eq!(read(http.get(path).bearer_auth(token)).await.code(), "forbidden");
    let spent = server.get("/v1/upstreams/openai").await.ok()["spent"].take();
    assert_eq!(spent, json!({"calls": 2, "tokens": 10, "cost": 14.0}));
    for (operation, pointer) in [
        ("openai/models", "/data/0/id"),
        ("anthropic/v1/models", "/data/0/id"),
        ("gemini/v1beta/models", "/models/0/name"),
    ] {
        let listed = read(http.get(at(&server, &session, operation)).bearer_auth(token)).await.ok();
        assert!(listed.pointer(pointer).unwrap().as_str().unwrap().contains("my-broken"), "{listed}");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_answer_in_parts_is_passed_on_and_its_call_is_recorded_before_the_last() {
    let (server, upstream) = (TestServer::start().await, Upstream::start().await);
    put_all(&server, &upstream, json!({})).await;
    let session = counter(&server).await;
    let mut body = ask("my-plain");
    body["stream"] = json!(true);
    let text = chat(&server, &session, &body).send().await.unwrap().text().await.unwrap();
    assert!(text.ends_with("data: [DONE]\n\n") && !text.contains("usage"), "nobody asked for the usage: {text}");
    assert_eq!(upstream.asked().pop().unwrap().body["stream_options"], json!({"include_usage": true}));
    let row = calls(&server, &session).await.pop().unwrap();
    assert_eq!(
        (&row["outcome"], &row["streamed"], &row["finish_reason"]),
        (&json!("completed"), &json!(true), &json!("stop"))
    );
    assert_eq!((&row["prompt_token_ids"], &row["completion_token_ids"]), (&json!([1, 2, 3]), &json!([8, 9])));
    assert_eq!(
        (&row["output_tokens"], &row["response"]["choices"][0]["message"]["content"]),
        (&json!(2), &json!("hi"))
    );
    body["stream_options"] = json!({"include_usage": true});
    let text = chat(&server, &session, &body).send().await.unwrap().text().await.unwrap();
    assert!(text.contains("\"usage\""), "{text}");
    server.stop().await;
}

#[tokio::test]
async fn faults_of_an_upstream_are_told_in_the_dialects_form_and_leave_the_session_as_it_is() {
    let (server, upstream) = (TestServer::start().await, Upstream::start().await);
    put_all(&server, &upstream, json!({"silence_max_ms": 1_000})).await;
    put(&server, "down", &json!({"dialect": "openai", "url": "http://127.0.0.1:1/v1", "models": {"down": "x"}}))
        .await
        .ok();
    let session = counter(&server).await;
    for (model, status, words) in [
        ("down", 502, "cannot be reached"),
        ("my-refuse", 502, "refused its key"),
        ("my-busy", 429, "slow down"),
        ("my-broken", 502, "500 Internal Server Error"),
        ("my-elsewhere", 502, "302"),
        ("my-other", 502, "check its URL and dialect"),
        ("my-huge", 502, "larger than"),
        ("my-hang", 504, "silent for 1000 ms"),
    ] {
        let answered = read(chat(&server, &session, &ask(model))).await;
        assert_eq!(answered.status, StatusCode::from_u16(status).unwrap(), "{model}: {}", answered.body);
        let told = answered.body["error"]["message"].as_str().unwrap_or_else(|| panic!("{model}: {}", answered.body));
        assert!(told.contains(words) && !told.contains(KEY), "{model}: {told}");
        assert_eq!(answered.headers.get("retry-after").is_some(), model == "my-busy");
        let row = calls(&server, &session).await.pop().unwrap();
        assert_eq!((&row["outcome"], &row["status"]), (&json!("failed"), &json!(status)), "{model}");
        assert!(row["error"].as_str().unwrap().contains(words), "{model}: {}", row["error"]);
        assert_eq!((&row["response"], &row["completion_token_ids"]), (&Value::Null, &Value::Null));
    }
    for (model, words) in [("my-cut", "broke off"), ("my-fails", "out of memory"), ("my-drip", "silent for 1000 ms")] {
        let mut body = ask(model);
        body["stream"] = json!(true);
        let mut response = chat(&server, &session, &body).send().await.unwrap();
        let mut text = String::new();
        let ended = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => text.push_str(std::str::from_utf8(&chunk).unwrap()),
                ended => break ended,
            }
        };
        assert!(ended.is_err(), "{model}: an answer that broke off does not end as a whole one does");
        assert!(text.contains("\"error\"") && text.contains(words) && !text.contains("[DONE]"), "{model}: {text}");
        let row = calls(&server, &session).await.pop().unwrap();
        assert_eq!((&row["outcome"], &row["completion_token_ids"]), (&json!("failed"), &Value::Null), "{model}");
    }
    let stepped = server.post(&format!("/v1/sessions/{}/step", session["id"].as_str().unwrap()), &add(1, 3)).await.ok();
    assert_eq!(stepped["verdict"]["status"], "scored", "{stepped}");
    server.stop().await;
}

#[tokio::test]
async fn what_does_not_fit_is_refused_in_the_dialects_form() {
    let (server, upstream) = (TestServer::start().await, Upstream::start().await);
    put_all(&server, &upstream, json!({})).await;
    let (session, other) = (counter(&server).await, counter(&server).await);
    let post = |operation: &str, token: &str, body: &Value| {
        server.http.post(at(&server, &session, operation)).bearer_auth(token).json(body)
    };
    let own = token(&session);
    let anthropic = "anthropic/v1/messages";
    for (operation, credential, body, status, words) in [
        ("openai/chat/completions", "nobody", ask("my-plain"), 401, "credential"),
        ("openai/chat/completions", token(&other), ask("my-plain"), 403, "another session"),
        ("openai/chat/completions", own, ask("none"), 404, "choose one of my-broken, my-busy"),
        ("openai/chat/completions", own, ask("only-anthropic"), 404, "below `/llm/anthropic`"),
        ("openai/chat/completions", own, json!({"messages": []}), 400, "`model` is missing"),
        ("openai/chat/completions", own, json!([1]), 400, "no JSON object"),
        ("openai/chat/completions", own, json!({"model": "my-plain", "stream": 1}), 400, "`stream`"),
        ("openai/responses", own, json!({"model": "my-plain", "input": "a", "background": true}), 400, "`background`"),
        (anthropic, own, ask("none"), 404, "choose one of"),
        (anthropic, "nobody", ask("my-plain"), 401, "credential"),
        ("gemini/v1beta/models/none:generateContent", own, ask(""), 404, "choose one of"),
        ("gemini/v1beta/models/my-plain:countTokens", own, ask(""), 404, "is no operation here"),
        ("gemini/v1beta/models/my-plain:streamGenerateContent", own, ask(""), 400, "alt=sse"),
    ] {
        let answered = read(post(operation, credential, &body)).await;
        assert_eq!(answered.status.as_u16(), status, "{operation}: {}", answered.body);
        assert!(answered.body["error"]["message"].as_str().unwrap().contains(words), "{operation}: {}", answered.body);
        assert_eq!(answered.body["type"] == "error", operation == anthropic, "{}", answered.body);
        assert_eq!(answered.headers["content-type"], "application/json");
    }
    assert!(
        upstream.asked().is_empty() && calls(&server, &session).await.is_empty(),
        "nothing was forwarded or recorded"
    );
    server.delete(&format!("/v1/sessions/{}", session["id"].as_str().unwrap())).await.ok();
    let over = read(chat(&server, &session, &ask("my-plain"))).await;
    assert_eq!((over.status.as_u16(), &over.body["error"]["code"]), (410, &json!("session_over")));
    server.stop().await;
}

#[tokio::test]
async fn a_caller_who_goes_away_has_its_call_recorded_as_cancelled() {
    let (server, upstream) = (TestServer::start().await, Upstream::start().await);
    put_all(&server, &upstream, json!({})).await;
    let session = counter(&server).await;
    let mut body = ask("my-drip");
    body["stream"] = json!(true);
    let mut response = chat(&server, &session, &body).send().await.unwrap();
    assert!(response.chunk().await.unwrap().is_some());
    drop(response);
    let row = calls_when(&server, &session, 1).await.pop().unwrap();
    assert_eq!((&row["outcome"], &row["completion_token_ids"]), (&json!("cancelled"), &Value::Null));
    assert_eq!(
        row["response"]["choices"][0]["message"]["content"].as_str().map(|text| text.starts_with('h')),
        Some(true)
    );
    let hanging = chat(&server, &session, &ask("my-hang")).timeout(std::time::Duration::from_millis(300)).send().await;
    assert!(hanging.unwrap_err().is_timeout());
    let row = calls_when(&server, &session, 2).await.pop().unwrap();
    assert_eq!(row["outcome"], "cancelled");
    // A server that stops waits for no model.
    let mut stuck = tokio::task::JoinSet::new();
    stuck.spawn(chat(&server, &session, &ask("my-hang")).send());
    upstream.was_asked(3).await;
    server.stop().await;
    let answered = stuck.join_next().await.expect("a task").expect("no panic").expect("an answer");
    assert_eq!(answered.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn limits_of_a_session_and_the_budget_of_an_upstream_hold_also_after_a_restart() {
    let (server, upstream) = (TestServer::start().await, Upstream::start().await);
    put_all(&server, &upstream, json!({})).await;
    let open = |limits: Value| json!({"environment": "bench/counter", "limits": limits});
    let calls_max = server.post("/v1/sessions", &open(json!({"model_calls": 2}))).await.ok();
    let tokens_max = server.post("/v1/sessions", &open(json!({"model_tokens": 6}))).await.ok();
    for session in [&calls_max, &tokens_max] {
        for _ in 0..2 {
            read(chat(&server, session, &ask("my-plain"))).await.ok();
        }
    }
    let budget = json!({"dialect": "openai", "url": format!("http://{}/v1", upstream.address), "models": {"dear": "plain"},
        "price": {"input_per_million": 1e6, "output_per_million": 0.0}, "budget": {"cost": 3.0}});
    put(&server, "dear", &budget).await.ok();
    let free = counter(&server).await;
    read(chat(&server, &free, &ask("dear"))).await.ok();
    let data = server.stop().await;

    let server = TestServer::start_in(data, |_| {}).await;
    for (session, model, words) in
        [(&calls_max, "my-plain", "2 model calls"), (&tokens_max, "my-plain", "6 tokens"), (&free, "dear", "cost of 3")]
    {
        let refused = read(chat(&server, session, &ask(model))).await;
        assert_eq!((refused.status.as_u16(), &refused.body["error"]["code"]), (403, &json!("limit_reached")));
        assert!(refused.body["error"]["message"].as_str().unwrap().contains(words), "{}", refused.body);
        assert_eq!(refused.headers["x-should-retry"], "false");
    }
    // Put again, it counts anew.
    put(&server, "dear", &budget).await.ok();
    read(chat(&server, &free, &ask("dear"))).await.ok();
    for (limits, field) in
        [(json!({"model_calls": 0}), "limits.model_calls"), (json!({"model_cost": 0.0}), "limits.model_cost")]
    {
        let refused = server.post("/v1/sessions", &open(limits)).await;
        assert_eq!(refused.body["errors"][0]["field"], field);
    }
    server.stop().await;
}

#[tokio::test]
async fn the_key_of_an_upstream_is_nowhere_but_at_the_upstream() {
    let (server, upstream) = (TestServer::start().await, Upstream::start().await);
    put_all(&server, &upstream, json!({})).await;
    let session = counter(&server).await;
    let mut seen = String::new();
    for model in ["my-echo", "my-busy", "my-broken"] {
        seen.push_str(&read(chat(&server, &session, &ask(model))).await.body.to_string());
    }
    let listed = server.get("/v1/upstreams").await.ok();
    assert_eq!((listed["data"].as_array().unwrap().len(), &listed["data"][0]["has_key"]), (3, &json!(true)));
    seen.push_str(&listed.to_string());
    seen.push_str(&serde_json::to_string(&calls(&server, &session).await).unwrap());
    for model in ["my-spells", "my-tells"] {
        let mut body = ask(model);
        body["stream"] = json!(true);
        let mut response = chat(&server, &session, &body).send().await.unwrap();
        let mut text = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            text.extend_from_slice(&chunk);
        }
        if model == "my-tells" {
            seen.push_str(std::str::from_utf8(&text).unwrap());
        }
    }
    seen.push_str(&serde_json::to_string(&calls(&server, &session).await).unwrap());
    assert!(seen.contains("I know ***") && seen.contains("it is ***"), "{seen}");
    assert!(seen.contains("Bearer ***"), "the upstream shows what it was sent: {seen}");
    assert!(!seen.contains(KEY), "{seen}");
    let metrics = server.request(Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
    assert!(!metrics.contains(KEY));
    let data = server.stop().await;
    let mut files = vec![data.path().to_owned()];
    let mut read = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            read += bytes.len();
            assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()), "{}", path.display());
        }
    }
    assert!(read > 10_000, "the store was searched: {read} bytes");
}

#[tokio::test]
async fn upstreams_are_put_by_admins_at_hosts_that_may_be_called() {
    let server = TestServer::start().await;
    let good = json!({"dialect": "openai", "url": "http://127.0.0.1:9/v1", "key": KEY, "models": {"a": "b"}});
    put(&server, "one", &good).await.ok();
    // Without a key, what was stored stays at the same address alone.
    let mut again = good.clone();
    again.as_object_mut().unwrap().remove("key");
    assert_eq!(put(&server, "one", &again).await.ok()["has_key"], true);
    again["url"] = json!("http://127.0.0.1:10/v1");
    assert_eq!(put(&server, "one", &again).await.ok()["has_key"], false);
    for (field, value) in [
        ("url", json!("file:///etc/passwd")),
        ("url", json!("http://user@host/v1")),
        ("url", json!("http://host/v1?key=1")),
        ("key", json!("two words")),
        ("models", json!({})),
        ("price", json!({"input_per_million": -1.0, "output_per_million": 0.0})),
        ("budget", json!({"calls": 0})),
        ("calls_at_once", json!(0)),
        ("silence_max_ms", json!(1)),
    ] {
        let mut wrong = good.clone();
        wrong[field] = value;
        let refused = put(&server, "two", &wrong).await;
        assert_eq!(
            (refused.code(), &refused.body["errors"][0]["field"]),
            ("invalid", &json!(field)),
            "{}",
            refused.body
        );
    }
    assert_eq!(put(&server, "No Name", &good).await.body["errors"][0]["field"], "name");
    let runner = server.post("/v1/keys", &json!({"name": "r", "scopes": ["sessions"]})).await.ok();
    let by_runner =
        server.http.put(format!("{}/v1/upstreams/x", server.url())).bearer_auth(runner["secret"].as_str().unwrap());
    assert_eq!(read(by_runner.json(&good)).await.code(), "forbidden");
    server.delete("/v1/upstreams/one").await.ok();
    assert_eq!(server.get("/v1/upstreams/one").await.code(), "not_found");
    assert_eq!(server.delete("/v1/upstreams/one").await.code(), "not_found");
    server.stop().await;
}
