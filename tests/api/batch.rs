//! `/v1/sessions:create`, `:step` and `:verify`.

use serde_json::json;

use crate::support::server::TestServer;

#[tokio::test]
async fn items_have_outcomes_of_their_own_in_order() {
    let server = TestServer::start().await;
    let good = json!({"environment": "bench/counter", "key": "a"});
    let bad = json!({"environment": "no/such"});
    let created = server.post("/v1/sessions:create", &json!({"items": [good, bad, good]})).await.ok();
    let data = created["data"].as_array().unwrap();
    assert_eq!(data[1]["error"]["code"], "unknown_environment");
    // The same key made one session.
    assert_eq!(data[0]["ok"]["id"], data[2]["ok"]["id"]);
    let id = &data[0]["ok"]["id"];
    let step = |seq: u64| json!({"session": id, "seq": seq, "action": {"text": "1"}});
    let stepped = server.post("/v1/sessions:step", &json!({"items": [step(1), step(2), step(9), step(3)]})).await.ok();
    let outcomes: Vec<_> = stepped["data"].as_array().unwrap().iter().map(|item| item["ok"]["seq"].as_u64()).collect();
    assert_eq!(outcomes, [Some(1), Some(2), None, Some(3)]);
    assert_eq!(stepped["data"][2]["error"]["code"], "step_ahead");
    let verified = server.post("/v1/sessions:verify", &json!({"items": [{"session": id}, {}]})).await.ok();
    assert_eq!(verified["data"][0]["ok"]["status"], "scored");
    assert_eq!(verified["data"][1]["error"]["code"], "invalid");
    server.stop().await;
}

#[tokio::test]
async fn a_batch_has_a_bound() {
    let server = TestServer::start().await;
    let item = json!({"environment": "bench/counter"});
    let items = vec![item; 1_025];
    assert_eq!(server.post("/v1/sessions:create", &json!({"items": items})).await.code(), "invalid");
    assert_eq!(server.app.sessions().live(), 0);
    assert_eq!(server.post("/v1/sessions:create", &json!({"items": []})).await.ok(), json!({"data": []}));
    server.stop().await;
}
