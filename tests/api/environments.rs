//! `/v1/environments`.

use reqwest::Method;
use serde_json::json;

use crate::support::server::{TestServer, read};

#[tokio::test]
async fn environments_are_listed_and_described() {
    let server = TestServer::start().await;
    let all = server.get("/v1/environments").await.ok();
    assert!(all["data"].as_array().unwrap().iter().any(|environment| environment["name"] == "puzzle/countdown"));
    let puzzles = server.get("/v1/environments?family=puzzle").await.ok();
    assert!(puzzles["data"].as_array().unwrap().iter().all(|environment| environment["family"] == "puzzle"));
    for heavy in ["tools", "action_schema", "observation_schema"] {
        assert!(puzzles["data"][0].get(heavy).is_none(), "rows of a list are summaries: {heavy}");
    }
    let counter = server.get("/v1/environments/bench/counter?tools=mcp").await.ok();
    assert_eq!(counter["tools"][0]["name"], "add");
    assert_eq!(server.get("/v1/environments/bench/counter@1").await.ok()["version"], 1);
    for path in ["/v1/environments/no/such", "/v1/environments/bench/counter?version=9", "/v1/environments/a/b%00"] {
        assert_eq!(server.get(path).await.code(), "unknown_environment", "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn disjoint_pages_of_a_shuffled_split_share_no_task() {
    let server = TestServer::start().await;
    let mut seen = std::collections::HashSet::new();
    for offset in [0, 20, 40] {
        let path = format!("/v1/environments/bench/counter/tasks?split=train&shuffle=7&offset={offset}&limit=20");
        for task in server.get(&path).await.ok()["data"].as_array().unwrap() {
            assert!(seen.insert(task["id"].as_str().unwrap().to_owned()));
        }
    }
    assert_eq!(seen.len(), 60);
    assert_eq!(server.get("/v1/environments/bench/counter/tasks?split=none").await.code(), "unknown_task");
    assert_eq!(server.get("/v1/environments/bench/counter/tasks?limit=0").await.code(), "malformed");
    server.stop().await;
}

#[tokio::test]
async fn a_data_set_is_published_and_playable_at_once() {
    let server = TestServer::start().await;
    let publish = |body: &str| {
        let request = server.request(Method::POST, "/v1/environments?name=dataset/sums&verifier=exact");
        read(request.header("content-type", "application/jsonl").body(body.to_owned()))
    };
    let rows = "{\"prompt\":\"2+2?\",\"answer\":\"4\"}\n{\"prompt\":\"3+3?\",\"answer\":\"6\"}\n";
    let published = publish(rows).await;
    assert_eq!(published.status, 201, "{}", published.body);
    assert_eq!(publish(rows).await.status, 200);
    let session = server
        .post("/v1/sessions", &json!({"environment": "dataset/sums", "task": {"split": "train", "index": 1}}))
        .await
        .ok();
    let path = format!("/v1/sessions/{}/step", session["id"].as_str().unwrap());
    let stepped = server.post(&path, &json!({"action": {"text": "6"}})).await.ok();
    assert_eq!(stepped["verdict"]["score"], 1.0);
    server.stop().await;
}

#[tokio::test]
async fn a_dry_run_checks_and_publishes_nothing() {
    let server = TestServer::start().await;
    let publish = async |query: &str, body: &str| {
        let request = server.request(Method::POST, &format!("/v1/environments?name=dataset/dry&verifier=exact{query}"));
        read(request.header("content-type", "application/jsonl").body(body.to_owned())).await
    };
    let (row, other) = ("{\"prompt\":\"2+2?\",\"answer\":\"4\"}\n", "{\"prompt\":\"3+3?\",\"answer\":\"6\"}\n");
    let checked = publish("&dry_run=true", row).await;
    assert_eq!(checked.status, 200, "{}", checked.body);
    assert_eq!(checked.body["created"], true, "{}", checked.body);
    assert_eq!(checked.body["environment"]["version"], 1);
    assert_eq!(server.get("/v1/environments/dataset/dry").await.code(), "unknown_environment");
    assert_eq!(publish("&dry_run=true", "{}").await.status, 422);
    assert_eq!(publish("", row).await.status, 201);
    assert_eq!(publish("&dry_run=true", row).await.body["created"], false);
    assert_eq!(publish("&dry_run=true", other).await.body["environment"]["version"], 2);
    let missing = server.get("/v1/environments/dataset/dry@2").await;
    assert_eq!(missing.code(), "unknown_environment");
    assert!(missing.body["detail"].as_str().unwrap().contains("it has version 1 alone"), "{}", missing.body);
    for flag in ["keep_going=true", "trust_unproven=true", "floor=0.1"] {
        let refused = publish(&format!("&{flag}"), row).await;
        assert_eq!(refused.code(), "invalid", "{flag}: {}", refused.body);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_withdrawn_version_goes_on_where_it_is_named_and_is_chosen_nowhere_else() {
    let server = TestServer::start().await;
    let publish = async |answer: &str| {
        let request = server.request(Method::POST, "/v1/environments?name=dataset/sums&verifier=exact");
        let row = format!("{{\"prompt\":\"2+2?\",\"answer\":\"{answer}\"}}\n");
        read(request.header("content-type", "application/jsonl").body(row)).await.ok()["environment"]["version"].clone()
    };
    let open = async |name: &str| {
        let task = json!({"environment": name, "task": {"split": "train", "index": 0}});
        server.post("/v1/sessions", &task).await
    };
    let withdraw = async |name: &str| read(server.request(Method::DELETE, &format!("/v1/environments/{name}"))).await;
    let listed = async || {
        let listed = server.get("/v1/environments?family=dataset").await.ok();
        listed["data"].as_array().expect("a list").iter().map(|row| row["version"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((publish("4").await, publish("5").await), (json!(1), json!(2)));
    let wrong = open("dataset/sums").await.ok();
    assert_eq!(wrong["environment"], "dataset/sums@2");

    for _ in 0..2 {
        assert_eq!(withdraw("dataset/sums?version=2").await.status, 204);
    }
    assert_eq!(listed().await, [json!(1)]);
    assert_eq!(open("dataset/sums").await.ok()["environment"], "dataset/sums@1");
    // A session of it goes on, and its episode is judged again; whoever names it may still play it.
    let path = format!("/v1/sessions/{}/step", wrong["id"].as_str().expect("an id"));
    let verdict = server.post(&path, &json!({"action": {"text": "5"}})).await.ok()["verdict"].clone();
    assert_eq!(verdict["score"], 1.0);
    let episode = verdict["episode"].as_str().expect("an id");
    assert_eq!(server.post(&format!("/v1/episodes/{episode}/verify"), &json!({})).await.ok()["score"], 1.0);
    assert_eq!(open("dataset/sums@2").await.ok()["environment"], "dataset/sums@2");

    assert_eq!(withdraw("dataset/sums").await.status, 204);
    let gone = open("dataset/sums").await;
    assert_eq!(gone.code(), "unknown_environment");
    let detail = gone.body["detail"].as_str().expect("a detail");
    assert!(detail.contains("the versions 1 to 2, withdrawn: name one"), "{detail}");
    assert!(listed().await.is_empty());
    assert_eq!(publish("4").await, 3);
    for (name, code) in [("bench/counter", "invalid"), ("dataset/none", "unknown_environment")] {
        assert_eq!(withdraw(name).await.code(), code, "{name}");
    }
    server.stop().await;
}

#[tokio::test]
async fn verdicts_of_tasks_that_declare_a_floor_carry_the_rescaled_score() {
    let server = TestServer::start().await;
    let publish = |row: serde_json::Value| {
        let request = server.request(Method::POST, "/v1/environments?name=dataset/halves");
        read(request.header("content-type", "application/jsonl").body(format!("{row}\n")))
    };
    let row = |floor: f64| json!({"prompt": "A or B?", "answer": "B", "choices": ["x", "y"], "floor": floor});
    let refused = publish(row(1.0)).await;
    assert_eq!((refused.code(), &refused.body["errors"][0]["field"]), ("invalid", &json!("floor")), "{}", refused.body);
    assert_eq!(publish(row(0.5)).await.status, 201);
    for (answer, score) in [("B", 1.0), ("A", 0.0)] {
        let task = json!({"environment": "dataset/halves", "task": {"split": "train", "index": 0}});
        let session = server.post("/v1/sessions", &task).await.ok();
        assert_eq!(session["task"]["score_range"], json!({"floor": 0.5, "ceiling": 1.0}));
        let path = format!("/v1/sessions/{}/step", session["id"].as_str().unwrap());
        let verdict = server.post(&path, &json!({"action": {"text": answer}})).await.ok()["verdict"].clone();
        assert_eq!(verdict["rescaled"], json!({"score": score, "floor": 0.5, "ceiling": 1.0}), "{verdict}");
        let stored = server.get(&format!("/v1/episodes/{}", verdict["episode"].as_str().unwrap())).await.ok();
        assert_eq!(stored["verdict"]["rescaled"], verdict["rescaled"], "{stored}");
    }
    let session = server.post("/v1/sessions", &json!({"environment": "bench/counter"})).await.ok();
    assert!(session["task"].get("score_range").is_none());
    server.stop().await;
}

#[tokio::test]
async fn every_broken_line_is_named_and_nothing_is_stored() {
    let server = TestServer::start().await;
    let request = server.request(Method::POST, "/v1/environments?name=dataset/broken&verifier=exact");
    let body = "{\"prompt\":\"a\",\"answer\":\"b\"}\n{\n{\"prompt\":1}\n";
    let answer = read(request.header("content-type", "application/jsonl").body(body)).await;
    assert_eq!(answer.code(), "invalid");
    let lines: Vec<_> =
        answer.body["errors"].as_array().unwrap().iter().filter_map(|fault| fault["line"].as_u64()).collect();
    assert!(lines.contains(&2) && lines.contains(&3), "{}", answer.body);
    assert_eq!(server.get("/v1/environments/dataset/broken").await.code(), "unknown_environment");
    let request = server.request(Method::POST, "/v1/environments?name=dataset/broken");
    let binary = read(request.header("content-type", "application/zip").body("PK")).await;
    assert_eq!(binary.code(), "unsupported_media_type");
    server.stop().await;
}

#[tokio::test]
async fn one_document_publishes_as_well() {
    let server = TestServer::start().await;
    let body = json!({
        "environment": {"name": "dataset/document", "verifier": "exact"},
        "rows": [{"prompt": "2+2?", "answer": "4"}],
    });
    let published = server.post("/v1/environments", &body).await.ok();
    assert_eq!(published["environment"]["splits"]["train"], 1);
    server.stop().await;
}

#[tokio::test]
async fn an_episode_of_an_app_is_judged_by_versions_that_begin_its_task_alike() {
    let server = TestServer::start().await;
    let body = json!({"environment": "app/shop@3", "task": {"split": "train", "seed": 3}});
    let session = server.post("/v1/sessions", &body).await.ok();
    let path = format!("/v1/sessions/{}", session["id"].as_str().expect("an id"));
    let verdict = server.post(&format!("{path}/finish"), &json!({"reason": "gave_up"})).await.ok()["verdict"].clone();
    assert_eq!(verdict["status"], "scored", "{verdict}");
    server.post(&format!("{path}/close"), &json!({})).await;
    let again = format!("/v1/episodes/{}/verify", verdict["episode"].as_str().expect("an id"));
    assert_eq!(server.post(&again, &json!({"version": 3})).await.ok()["score"], verdict["score"]);
    // The texts of the newest version are others, and so are its goals.
    let refused = server.post(&again, &json!({})).await;
    assert_eq!(refused.code(), "not_supported");
    let detail = refused.body["detail"].as_str().expect("a detail");
    assert!(detail.contains("begins this task otherwise than version 3"), "{detail}");
    server.stop().await;
}

/// Plays every version up to the newest of each environment.
pub(super) async fn play_every_version(server: &TestServer, environments: &[(&str, u32)]) {
    for (name, newest) in environments {
        let spec = server.get(&format!("/v1/environments/{name}")).await.ok();
        assert_eq!(spec["version"], *newest, "{name}");
        for version in 1..=*newest {
            let body = json!({"environment": format!("{name}@{version}"), "task": {"split": "train", "seed": 3}});
            let created = server.post("/v1/sessions", &body).await.ok();
            assert_eq!(created["environment"], format!("{name}@{version}"));
            let verdict =
                server.post(&format!("/v1/sessions/{}/verify", created["id"].as_str().unwrap()), &json!({})).await;
            assert_eq!(verdict.ok()["status"], "scored", "{name}@{version}");
        }
        let unknown = json!({"environment": format!("{name}@{}", newest + 1)});
        assert_eq!(server.post("/v1/sessions", &unknown).await.code(), "unknown_environment");
    }
}

#[tokio::test]
async fn earlier_versions_of_built_in_environments_are_still_played() {
    let server = TestServer::start().await;
    let puzzle = ("puzzle/n_queens", 2);
    let apps = [
        ("app/bank", 3),
        ("app/calendar", 3),
        ("app/chat", 3),
        ("app/files", 3),
        ("app/helpdesk", 2),
        ("app/mail", 3),
        ("app/phone", 2),
        ("app/sheet", 3),
        ("app/shop", 4),
        ("app/travel", 2),
        ("app/workspace", 3),
    ];
    play_every_version(&server, &[puzzle]).await;
    play_every_version(&server, &apps).await;
    server.stop().await;
}

#[tokio::test]
async fn a_name_that_is_nearly_right_is_answered_with_the_right_one() {
    let server = TestServer::start().await;
    let asked = async |name: &str| server.post("/v1/sessions", &json!({"environment": name})).await;
    let refused = asked("puzle/countdwn@1").await;
    assert!(
        refused.body["detail"].as_str().unwrap().contains("(did you mean \"puzzle/countdown\"?)"),
        "{}",
        refused.body
    );
    assert_eq!(refused.code(), "unknown_environment");
    let refused = asked("my/own").await;
    assert!(!refused.body["detail"].as_str().unwrap().contains("did you mean"), "{}", refused.body);
    server.stop().await;
}
