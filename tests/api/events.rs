//! `/v1/sessions/{id}/events`.

use futures::{StreamExt, TryStreamExt};
use reqwest::Method;
use serde_json::Value;

use super::sessions::{add, counter};
use crate::support::server::TestServer;

/// The `id` and `data` of events in the text of an event stream.
fn events(text: &str) -> Vec<(String, Value)> {
    text.split("\n\n")
        .filter_map(|event| {
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            Some((field("id:")?.to_owned(), serde_json::from_str(field("data:")?).ok()?))
        })
        .collect()
}

#[tokio::test]
async fn a_session_is_told_from_its_beginning_to_its_end_and_from_any_point_on() {
    let server = TestServer::start().await;
    let path = format!("/v1/sessions/{}", counter(&server).await["id"].as_str().unwrap());
    server.post(&format!("{path}/step"), &add(1, 3)).await.ok();
    server.delete(&path).await.ok();
    let follow = || server.request(Method::GET, &format!("{path}/events"));
    let response = follow().send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let all = events(&response.text().await.unwrap());
    let kinds: Vec<_> = all.iter().map(|(_, event)| event["type"].as_str().unwrap()).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"episode"), Some(&"closed")), "{kinds:?}");
    assert!(kinds.contains(&"step") && kinds.contains(&"verdict"), "{kinds:?}");
    let rest = follow().header("last-event-id", &all[0].0).send().await.unwrap().text().await.unwrap();
    assert_eq!(events(&rest), all[1..]);
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_stops_ends_open_streams() {
    let server = TestServer::start().await;
    let path = format!("/v1/sessions/{}/events", counter(&server).await["id"].as_str().unwrap());
    let mut stream = server.request(Method::GET, &path).send().await.unwrap().bytes_stream();
    assert!(stream.next().await.unwrap().is_ok());
    server.app.shutdown().cancel();
    let rest: Vec<_> = stream.try_collect().await.expect("the stream ends as it should");
    drop(rest);
    server.stop().await;
}
