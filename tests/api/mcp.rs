//! `/v1/sessions/{id}/mcp`: both generations of the Model Context Protocol.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::sessions::{add, counter};
use crate::support::server::{ADMIN_KEY, Answer, TestServer, read};

const MODERN: &str = "2026-07-28";

/// A client of a session, with the credential that it sends.
struct McpClient<'a> {
    server: &'a TestServer,
    path: String,
    key: String,
}

impl<'a> McpClient<'a> {
    fn new(server: &'a TestServer, created: &Value, key: &str) -> Self {
        Self { server, path: format!("/v1/sessions/{}/mcp", created["id"].as_str().unwrap()), key: key.to_owned() }
    }

    fn request(&self) -> RequestBuilder {
        self.server.http.post(format!("{}{}", self.server.url(), self.path)).bearer_auth(&self.key)
    }

    async fn post(&self, body: &Value) -> Answer {
        read(self.request().json(body)).await
    }

    /// A request as older clients send it after `initialize`.
    async fn old(&self, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let answer = read(self.request().header("mcp-protocol-version", "2025-11-25").json(&body)).await.ok();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)), "{answer}");
        answer
    }

    /// A request as the newest clients send each.
    async fn new_request(&self, method: &str, mut params: Value) -> Answer {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}
        });
        let request = self.request().header("mcp-protocol-version", MODERN).header("mcp-method", method);
        let request = match params["name"].as_str() {
            Some(name) => request.header("mcp-name", name),
            None => request,
        };
        read(request.json(&json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": params}))).await
    }

    async fn call(&self, amount: Value) -> Value {
        self.old("tools/call", json!({"name": "add", "arguments": {"amount": amount}})).await["result"].clone()
    }
}

fn initialize(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}

#[tokio::test]
async fn an_older_client_shakes_hands_and_plays_an_episode() {
    let server = TestServer::start().await;
    let created = counter(&server).await;
    let client = McpClient::new(&server, &created, ADMIN_KEY);
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize("2025-06-18")});
    let hello = client.post(&hello).await;
    assert!(!hello.headers.contains_key("mcp-session-id"), "the session is the one in the path");
    let hello = hello.ok()["result"].clone();
    assert_eq!((&hello["protocolVersion"], &hello["serverInfo"]["name"]), (&json!("2025-06-18"), &json!("palestra")));
    assert_eq!(hello["instructions"], created["messages"][0]["content"]);
    let done = client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    assert_eq!((done.status.as_u16(), done.body), (202, Value::Null));
    assert_eq!(client.old("ping", json!({})).await["result"], json!({}));
    let tools = client.old("tools/list", json!({})).await["result"].clone();
    assert_eq!((&tools["tools"][0]["name"], tools.get("resultType")), (&json!("add"), None));
    assert_eq!(tools["tools"][0]["inputSchema"]["type"], "object");
    let first = client.call(json!(2)).await;
    assert_eq!(first["content"], json!([{"type": "text", "text": "Count: 2."}]));
    assert_eq!((&first["structuredContent"], &first["isError"]), (&json!({"count": 2}), &json!(false)));
    assert_eq!((&first["_meta"]["seq"], &first["_meta"]["terminated"]), (&json!(1), &json!(false)));
    let last = client.call(json!(1)).await;
    assert_eq!(last["content"][1]["text"], "The episode is over: done.");
    assert_eq!((&last["_meta"]["terminated"], &last["_meta"]["truncated"]), (&json!(true), &json!(false)));
    // The same episode over the API, with its verdict.
    let episode = server.get(&format!("/v1/episodes/{}", created["episode"].as_str().unwrap())).await.ok();
    assert_eq!((&episode["seq"], &episode["verdict"]["status"]), (&json!(2), &json!("scored")));
    let late = client.call(json!(1)).await;
    assert_eq!((&late["isError"], &late["structuredContent"]["error"]["code"]), (&json!(true), &json!("episode_over")));
    server.stop().await;
}

#[tokio::test]
async fn a_revision_that_is_unknown_or_has_no_handshake_is_answered_with_the_newest_that_has_one() {
    let server = TestServer::start().await;
    let client = McpClient::new(&server, &counter(&server).await, ADMIN_KEY);
    for (asked, agreed) in
        [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), (MODERN, "2025-11-25"), ("soon", "2025-11-25")]
    {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize(asked)});
        assert_eq!(client.post(&hello).await.ok()["result"]["protocolVersion"], agreed, "{asked}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_newer_client_plays_without_a_handshake() {
    let server = TestServer::start().await;
    let created = counter(&server).await;
    let client = McpClient::new(&server, &created, ADMIN_KEY);
    let found = client.new_request("server/discover", json!({})).await.ok()["result"].clone();
    assert!(found["supportedVersions"].as_array().unwrap().contains(&json!(MODERN)));
    assert_eq!(
        (&found["resultType"], &found["instructions"]),
        (&json!("complete"), &created["messages"][0]["content"])
    );
    let tools = client.new_request("tools/list", json!({})).await.ok()["result"].clone();
    assert_eq!(tools["tools"][0]["name"], "add");
    assert_eq!(
        (&tools["resultType"], &tools["ttlMs"], &tools["cacheScope"]),
        (&json!("complete"), &json!(0), &json!("private"))
    );
    let call = json!({"name": "add", "arguments": {"amount": 3}});
    let called = client.new_request("tools/call", call.clone()).await.ok()["result"].clone();
    assert_eq!((&called["isError"], &called["_meta"]["terminated"]), (&json!(false), &json!(true)));
    let late = client.new_request("tools/call", call).await.ok()["result"].clone();
    assert_eq!(late["structuredContent"]["error"]["code"], "episode_over");
    server.stop().await;
}

#[tokio::test]
async fn the_task_is_a_prompt_of_both_generations() {
    let server = TestServer::start().await;
    let created = counter(&server).await;
    let client = McpClient::new(&server, &created, ADMIN_KEY);
    let old = client.old("prompts/get", json!({"name": "task"})).await["result"].clone();
    let new = client.new_request("prompts/get", json!({"name": "task"})).await.ok()["result"].clone();
    for prompt in [old, new] {
        assert_eq!(prompt["messages"][0]["role"], "user");
        assert_eq!(prompt["messages"][0]["content"]["text"], created["messages"][0]["content"]);
    }
    assert_eq!(client.old("prompts/list", json!({})).await["result"]["prompts"][0]["name"], "task");
    assert_eq!(client.old("prompts/get", json!({"name": "other"})).await["error"]["code"], -32_602);
    // A reset brings another task, and the instructions are those of the session as it is now.
    let path = format!("/v1/sessions/{}/reset", created["id"].as_str().unwrap());
    let again = server.post(&path, &json!({"task": {"split": "train", "index": 1}})).await.ok();
    let prompt = client.old("prompts/get", json!({"name": "task"})).await["result"].clone();
    assert_eq!(prompt["messages"][0]["content"]["text"], again["messages"][0]["content"]);
    assert_ne!(again["messages"], created["messages"]);
    server.stop().await;
}

#[tokio::test]
async fn a_call_that_does_not_fit_is_a_turn_whose_result_is_an_error() {
    let server = TestServer::start().await;
    let created = counter(&server).await;
    let client = McpClient::new(&server, &created, ADMIN_KEY);
    for (seq, params) in [
        (1, json!({"name": "sub", "arguments": {"amount": 1}})),
        (2, json!({"name": "add", "arguments": {"amount": "one"}})),
        (3, json!({"name": "add"})),
        (4, json!({"name": "add", "arguments": {"amount": 1, "colour": "red"}})),
    ] {
        let result = client.old("tools/call", params.clone()).await["result"].clone();
        assert_eq!((&result["isError"], &result["_meta"]["seq"]), (&json!(true), &json!(seq)), "{params}: {result}");
        assert!(result["content"][0]["text"].as_str().unwrap().starts_with("Error"), "{result}");
    }
    assert_eq!(client.call(json!(1)).await["structuredContent"], json!({"count": 1}));
    server.stop().await;
}

#[tokio::test]
async fn calls_and_steps_of_a_session_are_one_sequence() {
    let server = TestServer::start().await;
    let created = counter(&server).await;
    let client = McpClient::new(&server, &created, ADMIN_KEY);
    let step = format!("/v1/sessions/{}/step", created["id"].as_str().unwrap());
    client.call(json!(1)).await;
    let stepped = server.post(&step, &add(2, 1)).await.ok();
    assert_eq!(stepped["observation"]["data"], json!({"count": 2}));
    assert_eq!(client.call(json!(-1)).await["_meta"]["seq"], 3);
    server.stop().await;
}

#[tokio::test]
async fn an_mcp_client_is_told_neither_reward_nor_verdict_and_a_token_reaches_its_own_session_alone() {
    let server = TestServer::start().await;
    let (created, other) = (counter(&server).await, counter(&server).await);
    let token = created["token"].as_str().unwrap();
    for (session, key) in [(&created, token), (&other, ADMIN_KEY)] {
        let client = McpClient::new(&server, session, key);
        assert_eq!(client.old("tools/list", json!({})).await["result"]["tools"][0]["name"], "add");
        let ended = client.call(json!(3)).await;
        assert_eq!(ended["_meta"]["terminated"], true);
        for word in ["reward", "verdict", "score", "shaping", "state_hash"] {
            assert!(!ended.to_string().contains(word), "{word} in {ended}");
        }
    }
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(McpClient::new(&server, &other, token).post(&list).await.code(), "forbidden");
    let request = serde_json::from_value(json!({"name": "other", "scopes": ["admin"]})).unwrap();
    let stranger = server.app.auth().create_key("other", request).await.unwrap().secret;
    assert_eq!(McpClient::new(&server, &created, &stranger).post(&list).await.code(), "not_found");
    let publisher = server.post("/v1/keys", &json!({"name": "a", "scopes": ["environments:write"]})).await.ok();
    let publisher = publisher["secret"].as_str().unwrap();
    assert_eq!(McpClient::new(&server, &created, publisher).post(&list).await.code(), "forbidden");
    assert_eq!(McpClient::new(&server, &created, "nonsense").post(&list).await.code(), "unauthorized");
    server.stop().await;
}

#[tokio::test]
async fn calls_of_a_closed_session_are_results_with_its_code() {
    let server = TestServer::start().await;
    let created = counter(&server).await;
    let client = McpClient::new(&server, &created, ADMIN_KEY);
    server.delete(&format!("/v1/sessions/{}", created["id"].as_str().unwrap())).await.ok();
    assert_eq!(client.old("tools/list", json!({})).await["result"]["tools"][0]["name"], "add");
    let late = client.call(json!(1)).await;
    assert_eq!((&late["isError"], &late["structuredContent"]["error"]["code"]), (&json!(true), &json!("session_over")));
    server.stop().await;
}

#[tokio::test]
async fn a_broken_environment_ends_its_episode_and_nothing_else() {
    let server = TestServer::start().await;
    let body = json!({"environment": "bench/counter", "config": {"panic_at": 2}});
    let created = server.post("/v1/sessions", &body).await.ok();
    let client = McpClient::new(&server, &created, ADMIN_KEY);
    let broken = client.call(json!(2)).await;
    assert_eq!((&broken["_meta"]["truncated"], &broken["_meta"]["stop_reason"]), (&json!(true), &json!("infra_error")));
    assert_eq!(broken["isError"], true);
    assert!(!broken.to_string().contains("told to panic"), "{broken}");
    server.stop().await;
}

/// The status, and the code of JSON-RPC.
fn refused(answer: &Answer) -> (u16, i64) {
    assert_eq!(answer.headers["content-type"], "application/json", "{}", answer.body);
    assert_eq!(answer.body["jsonrpc"], "2.0");
    (answer.status.as_u16(), answer.body["error"]["code"].as_i64().expect("a code"))
}

#[tokio::test]
async fn what_cannot_be_read_or_has_no_method_is_refused_and_changes_nothing() {
    let server = TestServer::start().await;
    let created = counter(&server).await;
    let client = McpClient::new(&server, &created, ADMIN_KEY);
    let raw = |body: String| read(client.request().header("content-type", "application/json").body(body));
    let deep = format!("{}1{}", "[".repeat(1_000), "]".repeat(1_000));
    for (body, code) in [
        (String::new(), -32_700),
        ("{".to_owned(), -32_700),
        ("\0".to_owned(), -32_700),
        (format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{{\"a\":{deep}}}}}"), -32_700),
        ("7".to_owned(), -32_600),
        ("[]".to_owned(), -32_600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#.to_owned(), -32_600),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(), -32_600),
        (r#"{"id":1,"method":"ping"}"#.to_owned(), -32_600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_owned(), -32_600),
    ] {
        assert_eq!(refused(&raw(body.clone()).await), (400, code), "{body:.60}");
    }
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "x".repeat(10 << 20)});
    assert_eq!(client.post(&large).await.code(), "too_large");
    let text = read(client.request().header("content-type", "text/plain").body("{}")).await;
    assert_eq!(text.code(), "unsupported_media_type");
    for (method, params, code) in [
        ("dance", json!({}), -32_601),
        ("server/discover", json!({}), -32_601),
        ("resources/list", json!({}), -32_601),
        ("initialize", json!({}), -32_602),
        ("tools/call", json!({}), -32_602),
        ("tools/call", json!({"name": 7}), -32_602),
        ("tools/call", json!({"name": "add", "arguments": []}), -32_602),
        ("tools/list", json!({"cursor": "a"}), -32_602),
        ("prompts/get", json!({}), -32_602),
    ] {
        assert_eq!(client.old(method, params.clone()).await["error"]["code"], code, "{method} {params}");
    }
    for (method, params, expected) in [
        ("dance", json!({}), (404, -32_601)),
        ("initialize/again", json!({}), (404, -32_601)),
        ("ping", json!({}), (404, -32_601)),
        ("tools/call", json!({}), (400, -32_602)),
        ("tools/call", json!({"name": "add", "arguments": 7}), (400, -32_602)),
    ] {
        assert_eq!(refused(&client.new_request(method, params.clone()).await), expected, "{method} {params}");
    }
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let unknown = read(client.request().header("mcp-protocol-version", "2099-01-01").json(&list)).await;
    assert_eq!(refused(&unknown), (400, -32_022));
    assert!(unknown.body["error"]["data"]["supported"].as_array().unwrap().contains(&json!(MODERN)));
    let bare = read(client.request().header("mcp-protocol-version", MODERN).json(&list)).await;
    assert_eq!(refused(&bare), (400, -32_602));
    assert_eq!(client.call(json!(1)).await["_meta"]["seq"], 1);
    server.stop().await;
}

#[tokio::test]
async fn nothing_but_post_is_taken() {
    let server = TestServer::start().await;
    let created = counter(&server).await;
    let path = format!("/v1/sessions/{}/mcp", created["id"].as_str().unwrap());
    for method in [Method::GET, Method::DELETE, Method::PUT] {
        let answer = read(server.request(method.clone(), &path)).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (405, "method_not_allowed"), "{method}");
        assert_eq!(answer.headers["allow"], "POST");
    }
    assert_eq!(server.get(path.trim_end_matches("/mcp")).await.ok()["state"], "open");
    server.stop().await;
}
