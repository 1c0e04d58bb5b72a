//! Folders of web pages over HTTP: published with a proof in a browser, played, judged; a folder with faults leaves nothing behind.

use std::collections::BTreeMap;

use palestra_protocol::environment::ProveTask;
use serde_json::{Value, json};

use super::browser::with_browsers;
use super::sql::publish;
use crate::support::server::TestServer;

const MANIFEST: &str = r#"
description: A shop of lamps.
sites: {lamps.test: pages}
tasks:
  - id: price
    instruction: What does a lamp cost?
    answer: {is: 12.5, by: number}
    solution: ["send_msg_to_user('12.50')"]
  - id: order
    instruction: Order two lamps.
    requests: [{method: POST, address: "http://lamps.test/done.html", form: {count: 2}}]
    solution: ["fill('css=input', '2')", "click('role=button[name=\"Send\"]')"]
"#;
const HOME: &str = "<!doctype html><title>Lamps</title><p>A lamp costs 12.50.\
    <form method=post action=/done.html><input name=count aria-label=Count><button>Send</button></form>";

fn lamps(manifest: &str) -> BTreeMap<&'static str, String> {
    let done = "<!doctype html><title>Done</title><p>Thank you.";
    BTreeMap::from([
        ("web.yaml", manifest.to_owned()),
        ("pages/index.html", HOME.to_owned()),
        ("pages/done.html", done.to_owned()),
    ])
}

/// The last step of an episode on a task, played by these actions.
async fn played(server: &TestServer, index: u64, actions: &[&str]) -> Value {
    let body = json!({"environment": "web/lamps", "task": {"split": "train", "index": index}});
    let session = server.post("/v1/sessions", &body).await.ok();
    let path = format!("/v1/sessions/{}", session["id"].as_str().expect("an id"));
    let mut last = Value::Null;
    for action in actions {
        last = server.post(&format!("{path}/step"), &json!({"action": {"text": action}})).await.ok();
    }
    server.delete(&path).await.ok();
    last
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_of_pages_is_proven_published_and_played() {
    let Some(server) = with_browsers().await else { return };
    let wrong = MANIFEST.replace("'12.50'", "'13'").replace("css=input", "css=select");
    let (status, refused) = publish(&server, "web/lamps", &lamps(&wrong)).await;
    let fields: Vec<&Value> =
        refused["errors"].as_array().expect("faults").iter().map(|fault| &fault["field"]).collect();
    assert_eq!((status, fields), (422, vec![&json!("tasks[0]"), &json!("tasks[1]")]), "{refused}");
    assert_eq!(server.get("/v1/environments/web/lamps").await.status.as_u16(), 404, "nothing was stored");
    for (name, field) in [("web/widgets", Value::Null), ("web/Lamps", json!("name"))] {
        let (status, refused) = publish(&server, name, &lamps(MANIFEST)).await;
        assert_eq!((status, &refused["errors"][0]["field"]), (422, &field), "{refused}");
    }
    let (status, published) = publish(&server, "web/lamps", &lamps(MANIFEST)).await;
    assert_eq!((status, &published["environment"]["splits"]), (201, &json!({"train": 2})), "{published}");
    let (status, again) = publish(&server, "web/lamps", &lamps(MANIFEST)).await;
    assert_eq!((status, &again["environment"]["digest"]), (200, &published["environment"]["digest"]));
    let order = ["fill('css=input', '2')", "click('role=button[name=\"Send\"]')"];
    for (index, actions, score) in [
        (0, &["send_msg_to_user('it is 12.5')"][..], 0.0),
        (0, &["send_msg_to_user('$12.50')"], 1.0),
        (1, &order, 1.0),
        (1, &["report_infeasible('sold out')"], 0.0),
    ] {
        let last = played(&server, index, actions).await;
        assert_eq!((&last["terminated"], &last["verdict"]["score"]), (&json!(true), &json!(score)), "{last}");
    }
    let unsent = played(&server, 1, &["goto('http://lamps.test/done.html?count=2')"]).await;
    assert_eq!(unsent["terminated"], json!(false), "{unsent}");
    let prove = serde_json::to_value(ProveTask { split: "train".to_owned(), number: 1 }).expect("JSON");
    let proven = server.post("/v1/environments/web/lamps/proof", &prove).await.ok();
    assert_eq!(proven["faults"], json!([]), "{proven}");
    server.stop().await;
}
