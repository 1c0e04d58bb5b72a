//! `/v1/sessions:create`, `:step` and `:verify`.

use reqwest::Method;
use serde_json::json;

use super::sessions::counter;
use crate::support::server::{TestServer, read};

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
async fn an_item_is_what_the_document_says() {
    let server = TestServer::start().await;
    let null_key = json!({"environment": "bench/counter", "key": null});
    let created = server.post("/v1/sessions:create", &json!({"items": [null_key]})).await.ok();
    assert_eq!(created["data"][0]["error"]["code"], "invalid", "{created}");
    let opened = counter(&server).await;
    let id = opened["id"].as_str().unwrap();
    let twice = format!(
        r#"{{"items":[{{"session":"{id}","seq":1,"action":{{"tool":"add","arguments":{{"amount":1,"amount":2}}}}}},
            {{"session":"{id}","seq":1,"action":{{"tool":"add","arguments":null}}}}]}}"#
    );
    let request = server.request(Method::POST, "/v1/sessions:step").header("content-type", "application/json");
    let stepped = read(request.body(twice)).await.ok();
    for item in stepped["data"].as_array().unwrap() {
        assert_eq!(item["error"]["code"], "invalid", "{stepped}");
    }
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

#[tokio::test]
async fn an_item_that_cannot_be_read_fails_no_other() {
    let server = TestServer::start().await;
    let deep = format!("{}1{}", "[".repeat(1_000), "]".repeat(1_000));
    let post = |path: &str, items: &[String]| {
        let request = server.request(Method::POST, path).header("content-type", "application/json");
        read(request.body(format!("{{\"items\":[{}]}}", items.join(","))))
    };
    let good = json!({"environment": "bench/counter"}).to_string();
    let created = [
        good.clone(),
        "7".to_owned(),
        json!({"environment": 7}).to_string(),
        json!({"environment": "bench/counter", "colour": "red"}).to_string(),
        format!("{{\"environment\":\"bench/counter\",\"metadata\":{deep}}}"),
        json!({"environment": "bench/counter", "session": "ses_0197a3c2f2a87c53b0a1d5e6f7089abc"}).to_string(),
        json!(["bench/counter"]).to_string(),
        good,
    ];
    let created = post("/v1/sessions:create", &created).await.ok();
    let codes: Vec<_> = created["data"].as_array().unwrap().iter().map(|item| item["error"]["code"].as_str()).collect();
    let (no, bad) = (Some("invalid"), Some("malformed"));
    assert_eq!(codes, [None, no, no, no, bad, no, no, None], "{created}");
    assert_eq!(created["data"][2]["error"]["errors"][0]["field"], "environment");
    assert_eq!(server.app.sessions().live(), 2);

    let id = &counter(&server).await["id"];
    let steps = [
        json!({"session": id, "seq": 1, "action": {"text": "1"}}).to_string(),
        json!({"session": id, "seq": -1, "action": {"text": "1"}}).to_string(),
        json!({"session": "ses_1", "action": {"text": "1"}}).to_string(),
        json!({"session": id, "action": {}}).to_string(),
        format!("{{\"session\":{id},\"action\":{{\"text\":\"1\"}},\"meta\":{deep}}}"),
        json!({"session": id, "seq": 2, "action": {"text": "1"}}).to_string(),
    ];
    let stepped = post("/v1/sessions:step", &steps).await.ok();
    let codes: Vec<_> = stepped["data"].as_array().unwrap().iter().map(|item| item["error"]["code"].as_str()).collect();
    assert_eq!(codes, [None, no, no, no, bad, None], "{stepped}");
    assert_eq!(stepped["data"][5]["ok"]["seq"], 2);

    let verified = post("/v1/sessions:verify", &["[]".to_owned(), json!({"session": id}).to_string()]).await.ok();
    assert_eq!(verified["data"][0]["error"]["code"], "invalid");
    assert_eq!(verified["data"][1]["ok"]["status"], "scored");
    assert_eq!(post("/v1/sessions:step", &["{".to_owned()]).await.code(), "malformed");
    server.stop().await;
}
