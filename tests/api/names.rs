//! Names, wherever they come in: one grammar, and no character that cannot be seen. What was stored before is still shown.

use reqwest::Method;
use serde_json::{Value, json};

use super::jobs::{check, queue};
use super::worker::{lease, tell, upload};
use crate::support::server::{TestServer, read};

/// Characters that no name may contain.
const UNSEEN: [char; 7] = ['\u{1b}', '\n', '\u{7f}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{200b}'];

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// The field that a call was refused for.
async fn refused_for(server: &TestServer, path: &str, body: &Value) -> String {
    let answer = server.post(path, body).await;
    assert_eq!(answer.code(), "invalid", "{path} {body}: {}", answer.body);
    answer.body["errors"][0]["field"].as_str().unwrap_or_default().to_owned()
}

async fn publish(server: &TestServer, query: &str, body: &str) -> Value {
    let request = server.request(Method::POST, &format!("/v1/environments?{query}"));
    let answer = read(request.header("content-type", "application/jsonl").body(body.to_owned())).await;
    assert_eq!(answer.code(), "invalid", "{query} {body}: {}", answer.body);
    answer.body["errors"][0].clone()
}

#[tokio::test]
async fn no_name_that_comes_in_holds_what_cannot_be_seen() {
    let server = TestServer::start().await;
    let opened = server.post("/v1/sessions", &json!({"environment": "bench/counter"})).await.ok();
    let snapshots = format!("/v1/sessions/{}/snapshots", opened["id"].as_str().expect("an id"));
    let job = queue(&server, &check()).await;
    let held = lease(&server, "w").await.expect("a lease");
    upload(&server, &held, "a", b"{}").await.ok();
    for unseen in UNSEEN {
        let name = format!("a{unseen}b");
        assert_eq!(refused_for(&server, "/v1/keys", &json!({"name": name, "scopes": ["sessions"]})).await, "name");
        assert_eq!(refused_for(&server, &snapshots, &json!({"name": name})).await, "name");
        let wanted = json!({"worker": name, "kinds": ["check"], "device": "cpu", "memory_bytes": 1, "wait_ms": 0});
        assert_eq!(refused_for(&server, "/v1/worker/lease", &wanted).await, "worker");
        for (field, architecture, environment) in
            [("architecture", name.as_str(), "a/b"), ("environments", "mlp", &*format!("a/{name}"))]
        {
            let policy = json!({"fence": held["fence"], "id": "pol_0197a3c2f2a87c53b0a1d5e6f7089abc", "metrics": {},
                "architecture": architecture, "environments": [environment], "artifacts": ["a"]});
            let answer = tell(&server, &job, "policies", &policy).await;
            assert_eq!((answer.code(), &answer.body["errors"][0]["field"]), ("invalid", &json!(field)));
        }
        let path = format!("/v1/worker/jobs/{job}/artifacts/{}?fence={}", encoded(&name), held["fence"]);
        assert_eq!(read(server.request(Method::PUT, &path).body("x")).await.code(), "invalid", "{unseen:?}");
        for family in ["dataset", "terminal", "code", "repository"] {
            let fault = publish(&server, &format!("name={}", encoded(&format!("{family}/{name}"))), "{}").await;
            assert_eq!(fault["field"], "name", "{family}: {fault}");
            assert!(!fault["detail"].as_str().expect("words").contains(unseen), "{fault}");
        }
        let row = json!({"prompt": "a", "answer": "b"}).to_string();
        let fault = publish(&server, &format!("name=dataset/a&tags={}", encoded(&name)), &row).await;
        assert_eq!(fault["field"], "tags", "{fault}");
        let row = json!({"prompt": "a", "answer": "b", "split": name}).to_string();
        assert_eq!(publish(&server, "name=dataset/a", &row).await["field"], "split");
        let task = json!({"name": name, "instruction": "x", "artefacts": ["a"], "checks": [{"name": "c", "file": "a", "contains": "x"}]});
        assert_eq!(publish(&server, "name=terminal/a", &task.to_string()).await["field"], "name");
    }
    // What is not of the family's form is refused before anything of it is looked at.
    for name in ["terminal/A", "terminal/a@2", "terminal/-a", "terminal/a/b", "code/a b", "repository/ä", "dataset/"] {
        assert_eq!(publish(&server, &format!("name={}", encoded(name)), "{}").await["field"], "name", "{name}");
    }
    for name in ["Zoë's key (2)", "東京", "a/b"] {
        assert_eq!(server.post("/v1/keys", &json!({"name": name, "scopes": ["sessions"]})).await.ok()["name"], name);
    }
    server.stop().await;
}

#[tokio::test]
async fn names_of_older_versions_are_still_shown() {
    let odd = "a\u{1b}[2J \u{202e}b ";
    let server = TestServer::start().await;
    let key = server.post("/v1/keys", &json!({"name": "a", "scopes": ["sessions"]})).await.ok();
    let data = server.stop().await;
    let database = rusqlite::Connection::open(data.path().join("palestra.db")).expect("the file opens");
    database.execute("UPDATE keys SET name = ?1", [odd]).expect("the statement runs");
    drop(database);
    let server = TestServer::start_in(data, |_| {}).await;
    assert_eq!(server.get("/v1/keys").await.ok()["data"][0]["name"], odd);
    let url = format!("{}/v1/sessions", server.url());
    let bearer = key["secret"].as_str().expect("a secret");
    assert_eq!(server.http.get(url).bearer_auth(bearer).send().await.expect("an answer").status(), 200);
    server.stop().await;
}
