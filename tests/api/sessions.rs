//! `/v1/sessions`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::server::{TestServer, read};

/// A session of a counter that ends at 3.
pub async fn counter(server: &TestServer) -> Value {
    let body = json!({"environment": "bench/counter", "task": {"id": "train-0"}, "seed": 1, "config": {"target": 3}});
    server.post("/v1/sessions", &body).await.ok()
}

pub fn add(seq: u64, amount: i64) -> Value {
    json!({"seq": seq, "action": {"tool": "add", "arguments": {"amount": amount}}})
}

#[tokio::test]
async fn an_episode_goes_from_reset_to_verdict() {
    let server = TestServer::start().await;
    let created = counter(&server).await;
    let id = created["id"].as_str().unwrap();
    assert_eq!((&created["seq"], &created["attempt"]), (&json!(0), &json!(1)));
    let path = format!("/v1/sessions/{id}");
    let stepped = server.post(&format!("{path}/step"), &add(1, 2)).await.ok();
    assert_eq!((&stepped["seq"], &stepped["terminated"]), (&json!(1), &json!(false)));
    let ended = server.post(&format!("{path}/step"), &add(2, 1)).await.ok();
    assert_eq!(ended["terminated"], true);
    assert_eq!(ended["verdict"]["status"], "scored");
    let verdict = server.post(&format!("{path}/verify"), &json!({})).await.ok();
    assert_eq!(verdict["score"], ended["verdict"]["score"]);
    let again = server.post(&format!("{path}/reset"), &json!({})).await.ok();
    assert_eq!((&again["attempt"], &again["seq"]), (&json!(2), &json!(0)));
    assert_ne!(again["episode"], created["episode"]);
    assert_eq!(server.get(&path).await.ok()["episodes"], 2);
    assert_eq!(server.delete(&path).await.ok()["state"], "closed");
    assert_eq!(server.post(&format!("{path}/step"), &add(1, 1)).await.code(), "session_over");
    server.stop().await;
}

#[tokio::test]
async fn a_repeated_step_acts_once_and_others_conflict() {
    let server = TestServer::start().await;
    let path = format!("/v1/sessions/{}/step", counter(&server).await["id"].as_str().unwrap());
    let first = server.post(&path, &add(1, 1)).await.ok();
    let again = server.post(&path, &add(1, 1)).await.ok();
    assert_eq!(first["observation"], again["observation"]);
    assert_eq!(server.post(&path, &add(1, 2)).await.code(), "step_conflict");
    let ahead = server.post(&path, &add(3, 1)).await;
    assert_eq!((ahead.code(), &ahead.body["expected"]), ("step_ahead", &json!(2)));
    let late = json!({"seq": 2, "action": {"text": "1"}, "episode": "epi_0197a3c2f2a87c53b0a1d5e6f7089abc"});
    assert_eq!(server.post(&path, &late).await.code(), "wrong_episode");
    server.stop().await;
}

#[tokio::test]
async fn an_idempotency_key_makes_one_session() {
    let server = TestServer::start().await;
    let create = |key: &str, seed: u64| {
        let body = json!({"environment": "bench/counter", "seed": seed, "task": {"id": "train-0"}});
        read(server.request(Method::POST, "/v1/sessions").header("idempotency-key", key).json(&body))
    };
    let (first, again) = (create("a", 1).await.ok(), create("a", 1).await.ok());
    assert_eq!(first, again);
    assert_eq!(create("a", 2).await.code(), "key_reused");
    assert_ne!(create("b", 1).await.ok()["id"], first["id"]);
    assert_eq!(create("", 1).await.code(), "malformed");
    server.stop().await;
}

#[tokio::test]
async fn tools_come_in_the_form_that_is_asked_for() {
    let server = TestServer::start().await;
    let body = json!({"environment": "bench/counter"});
    let openai = server.post("/v1/sessions", &body).await.ok();
    assert!(openai["tools"][0]["function"]["parameters"].is_object());
    let mcp = server.post("/v1/sessions?tools=mcp", &body).await.ok();
    assert!(mcp["tools"][0]["inputSchema"].is_object());
    let group = server.post("/v1/sessions?tools=mcp", &json!({"environment": "bench/counter", "count": 2})).await.ok();
    for member in group["data"].as_array().unwrap() {
        assert_eq!(member["tools"], mcp["tools"]);
        assert_eq!(member["task"]["tools"], mcp["tools"]);
    }
    // Converting for one caller changes nothing for others.
    assert_eq!(server.post("/v1/sessions", &body).await.ok()["task"]["tools"], openai["tools"]);
    server.stop().await;
}

#[tokio::test]
async fn a_group_and_its_forks_have_tokens_of_their_own() {
    let server = TestServer::start().await;
    let group = server.post("/v1/sessions", &json!({"environment": "bench/counter", "count": 3})).await.ok();
    let members = group["data"].as_array().unwrap();
    assert_eq!(members.len(), 3);
    assert!(members.iter().all(|member| member["group"] == members[0]["group"] && member["token"].is_string()));
    let parent = members[0]["id"].as_str().unwrap();
    let forks = server.post(&format!("/v1/sessions/{parent}/fork"), &json!({"count": 2})).await.ok();
    for fork in forks["data"].as_array().unwrap() {
        assert_eq!(fork["parent"], parent);
        let token = fork["token"].as_str().unwrap();
        let path = format!("{}/v1/sessions/{}/step", server.url(), fork["id"].as_str().unwrap());
        read(server.http.post(path).bearer_auth(token).json(&add(1, 1))).await.ok();
    }
    server.stop().await;
}

#[tokio::test]
async fn the_acting_side_sees_neither_reward_nor_verdict_nor_what_gives_the_answer_away() {
    let server = TestServer::start().await;
    let created = counter(&server).await;
    let (id, token) = (created["id"].as_str().unwrap(), created["token"].as_str().unwrap());
    let mut step = add(1, 3);
    step["observe"] = json!({"state_hash": true});
    let url = format!("{}/v1/sessions/{id}", server.url());
    let stepped = read(server.http.post(format!("{url}/step")).bearer_auth(token).json(&step)).await.ok();
    assert_eq!(stepped["terminated"], true);
    assert_eq!(stepped["reward"], Value::Null);
    assert!(stepped.get("verdict").is_none() && stepped["info"].get("state_hash").is_none(), "{stepped}");
    let seen = read(server.http.get(&url).bearer_auth(token)).await.ok();
    for secret in ["seed", "task", "metadata", "run", "group"] {
        assert!(seen.get(secret).is_none(), "{secret}: {seen}");
    }
    let refused = read(server.http.post(format!("{url}/verify")).bearer_auth(token)).await;
    assert_eq!(refused.code(), "forbidden");
    server.stop().await;
}

#[tokio::test]
async fn state_snapshots_and_diffs_show_points_of_an_episode() {
    let server = TestServer::start().await;
    let path = format!("/v1/sessions/{}", counter(&server).await["id"].as_str().unwrap());
    server.post(&format!("{path}/step"), &add(1, 1)).await.ok();
    let snapshot = server.post(&format!("{path}/snapshots"), &json!({"name": "one"})).await.ok();
    server.post(&format!("{path}/step"), &add(2, 1)).await.ok();
    let state = server.get(&format!("{path}/state?pointer=/count")).await.ok();
    assert_eq!((&state["state"], &state["seq"]), (&json!(2), &json!(2)));
    let id = snapshot["id"].as_str().unwrap();
    let diff = server.get(&format!("{path}/diff?against={id}")).await.ok();
    assert!(!diff["patch"].as_array().unwrap().is_empty());
    assert_eq!(server.get(&format!("{path}/snapshots")).await.ok()["data"][0]["name"], "one");
    let restored = server.post(&format!("{path}/restore"), &json!({"snapshot": id})).await.ok();
    assert_eq!(restored["seq"], 1);
    assert_eq!(server.get(&format!("{path}/diff?against=nothing")).await.code(), "malformed");
    server.stop().await;
}

#[tokio::test]
async fn lists_come_in_pages_and_by_filter() {
    let server = TestServer::start().await;
    for _ in 0..3 {
        counter(&server).await;
    }
    let first = server.get("/v1/sessions?limit=2&environment=bench/counter&state=open").await.ok();
    assert_eq!(first["data"].as_array().unwrap().len(), 2);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = server.get(&format!("/v1/sessions?limit=2&cursor={cursor}")).await.ok();
    assert_eq!(second["data"].as_array().unwrap().len(), 1);
    assert_eq!(second["next_cursor"], Value::Null);
    assert_eq!(server.get("/v1/sessions?state=closed").await.ok()["data"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn what_is_not_there_and_what_does_not_fit_is_refused_by_name() {
    let server = TestServer::start().await;
    for (body, code) in [
        (json!({"environment": "no/such"}), "unknown_environment"),
        (json!({"environment": "bench/counter@9"}), "unknown_environment"),
        (json!({"environment": "a\u{0}b/c"}), "unknown_environment"),
        (json!({"environment": "bench/counter", "task": {"id": "train-01"}}), "unknown_task"),
        (json!({"environment": "bench/counter", "task": {"split": "no\u{0}"}}), "unknown_task"),
        (json!({"environment": "bench/counter", "task": {"id": "train-0", "index": 1}}), "invalid"),
        (json!({"environment": "bench/counter", "config": {"colour": "red"}}), "invalid"),
        (json!({"environment": "bench/counter", "count": 0}), "invalid"),
        (json!({"environment": "bench/counter", "count": 1_000_000}), "invalid"),
        (json!({"environment": "bench/counter", "limits": {"steps": 0}}), "invalid"),
    ] {
        let answer = server.post("/v1/sessions", &body).await;
        assert_eq!(answer.code(), code, "{body}");
    }
    let unknown = "ses_0197a3c2f2a87c53b0a1d5e6f7089abc";
    assert_eq!(server.post(&format!("/v1/sessions/{unknown}/step"), &add(1, 1)).await.code(), "not_found");
    let large =
        read(server.request(Method::POST, "/v1/sessions").json(&json!({"environment": "a".repeat(10_000_000)}))).await;
    assert_eq!(large.code(), "too_large");
    server.stop().await;
}

#[tokio::test]
async fn another_tenants_session_is_not_found() {
    let server = TestServer::start().await;
    let id = counter(&server).await["id"].as_str().unwrap().to_owned();
    let request = serde_json::from_value(json!({"name": "other", "scopes": ["admin"]})).unwrap();
    let key = server.app.auth().create_key("other", request).await.unwrap().secret;
    for (method, path) in [
        (Method::GET, format!("/v1/sessions/{id}")),
        (Method::DELETE, format!("/v1/sessions/{id}")),
        (Method::GET, format!("/v1/sessions/{id}/state")),
        (Method::GET, format!("/v1/sessions/{id}/events")),
        (Method::POST, format!("/v1/sessions/{id}/verify")),
    ] {
        let answer = read(server.http.request(method, format!("{}{path}", server.url())).bearer_auth(&key)).await;
        assert_eq!(answer.code(), "not_found", "{path}");
    }
    server.stop().await;
}
