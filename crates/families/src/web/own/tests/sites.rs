//! Folders and recordings with tasks on them.

use serde_json::{Value, json};

use super::*;

const HOME: &str = "<!doctype html><title>Lamps</title><link rel=stylesheet href=/style.css><h1>Lamps</h1>\
    <p>A lamp costs 12.50.</p><a href=\"order\">Order</a> <a href=\"https://news.test/today?b=2&a=1\">News</a>";
const ORDER: &str = "<!doctype html><title>Order</title><form method=post action=\"/order/done.html\">\
    <label>How many <input name=count></label><button>Send</button></form>";
const MANIFEST: &str = r#"
description: A shop of lamps.
sites: {lamps.test: pages}
recordings: [news.har]
tasks:
  - id: price
    instruction: What does a lamp cost?
    answer: {is: 12.5, by: number}
    solution: ["send_msg_to_user('12.50')"]
  - id: order
    instruction: Order two lamps.
    split: test
    requests: [{method: POST, address: "http://lamps.test/order/done.html", form: {count: 2}}]
    solution:
      - click('role=link[name="Order"]')
      - fill('role=textbox[name="How many"]', '2')
      - click('role=button[name="Send"]')
  - id: news
    instruction: Who won, according to today's news?
    answer: Ada
    requests: [{address: "https://news.test/today"}]
    solution: ["click('role=link[name=\"News\"]')", "send_msg_to_user('Ada')"]
  - id: chairs
    instruction: Order a chair.
    infeasible: true
    solution: ["report_infeasible('there are no chairs')"]
"#;

fn news() -> String {
    let entry = json!({
        "request": {"method": "GET", "url": "https://news.test/today?a=1&b=2"},
        "response": {"status": 200, "headers": [{"name": "content-type", "value": "text/html"}],
                     "content": {"text": "<title>News</title><p>Ada won.</p><img src=\"https://pictures.test/a.png\">"}},
    });
    json!({"log": {"entries": [entry]}}).to_string()
}

fn lamps(manifest: &str) -> Folder {
    folder(&[
        ("web.yaml", manifest),
        ("pages/index.html", HOME),
        ("pages/style.css", "h1 { color: green }"),
        ("pages/order/index.html", ORDER),
        ("pages/order/done.html", "<!doctype html><title>Done</title><p>Thank you."),
        ("news.har", &news()),
    ])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_is_published_and_judged_by_answers_requests_and_giving_up() {
    let Some(fixture) = fixture().await else { return };
    let parsed = fixture.publish(submission(lamps(MANIFEST))).await.expect("a sound folder");
    assert_eq!(json!(parsed.splits), json!({"train": 3, "test": 1}));
    let in_a_folder = lamps(MANIFEST).into_iter().map(|(path, bytes)| (format!("lamps/{path}"), bytes)).collect();
    let again = fixture.publish(submission(in_a_folder)).await.expect("the same in one folder");
    assert_eq!(again.digest, parsed.digest);
    let kind = fixture.kind(&parsed);
    let price = task(&*kind, &parsed, "train", 0);
    for (actions, score, terminated) in [
        (&["send_msg_to_user('$12.5')"][..], 1.0, true),
        (&["send_msg_to_user('12')", "send_msg_to_user('12.5')"], 0.0, true),
        (&["report_infeasible('no price')"], 0.0, true),
        (&["goto('http://lamps.test/nowhere')", "goto('http://other.test/')"], 0.0, false),
    ] {
        let played = played(&*kind, &price, actions).await;
        assert_eq!((played.score, played.terminated), (score, terminated), "{actions:?}");
    }
    let closed = played(&*kind, &price, &["goto('http://lamps.test/../web.yaml')", "goto('http://other.test/')"]).await;
    let state = closed.state.to_value();
    assert_eq!((&state["missing_pages"], &state["blocked_requests"]), (&json!(1), &json!(1)), "{state}");
    let order = task(&*kind, &parsed, "test", 0);
    let one = [
        "click('role=link[name=\"Order\"]')",
        "fill('role=textbox[name=\"How many\"]', '1')",
        "click('role=button[name=\"Send\"]')",
        "goto('http://lamps.test/order/done.html?count=2')",
    ];
    let wrong = played(&*kind, &order, &one).await;
    assert_eq!((wrong.score, wrong.terminated), (0.0, false), "{}", wrong.state.to_value());
    let news = task(&*kind, &parsed, "train", 1);
    let guessed = played(&*kind, &news, &["send_msg_to_user('Ada')"]).await;
    assert_eq!((guessed.score, guessed.terminated), (0.0, true), "the page was not read");
    let read = played(&*kind, &news, &["click('role=link[name=\"News\"]')"]).await;
    assert!(read.seen[1].text.contains("Ada won."), "{}", read.seen[1].text);
    let failed = &read.seen[1].data["failed_requests"];
    assert_eq!(
        failed,
        &json!([{"url": "https://pictures.test/a.png", "status": 0}]),
        "what was not recorded is closed"
    );
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_are_refused_whose_solution_fails_or_that_come_for_nothing() {
    let Some(fixture) = fixture().await else { return };
    let start = "requests: [{address: \"http://lamps.test/\"}]";
    for (from, to, field, words) in [
        ("'12.50'", "'13'", "tasks[0]", "the solution is not right"),
        ("name=\"Send\"", "name=\"Buy\"", "tasks[1]", "action 3 of the solution does not fit the page"),
        ("answer: {is: 12.5, by: number}", start, "tasks[0]", "doing nothing is right"),
        (
            "    infeasible: true",
            "    start: http://chairs.test/\n    infeasible: true",
            "tasks[3].start",
            "is no address",
        ),
        ("recordings: [news.har]", "recordings: [old.har]", "recordings[0]", "there is no recording"),
        ("{lamps.test: pages}", "{lamps.test: .}", "sites.lamps.test", "must be a folder beside web.yaml"),
        ("{lamps.test: pages}", "{lamps.test: ../pages}", "sites.lamps.test", "there is no folder"),
    ] {
        let manifest = MANIFEST.replace(from, to);
        assert_ne!(manifest, MANIFEST, "{from}");
        let faults = fixture.publish(submission(lamps(&manifest))).await.expect_err(to);
        let found = faults.iter().any(|fault| fault.field.as_deref() == Some(field) && fault.detail.contains(words));
        assert!(found, "{to}: {faults:?}");
    }
    let manifest = MANIFEST.replace("'12.50'", "'13'");
    let rest =
        fixture.publish(Submission { keep_going: true, ..submission(lamps(&manifest)) }).await.expect("the rest");
    assert_eq!(json!(rest.splits), json!({"train": 2, "test": 1}));
    assert!(rest.left_out[0].starts_with("left out: price: the solution is not right"), "{:?}", rest.left_out);
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_without_a_solution_is_trained_on_where_the_publisher_answers_for_it() {
    let Some(fixture) = fixture().await else { return };
    let manifest =
        "sites: {lamps.test: pages}\ntasks: [{instruction: What does a lamp cost?, answer: {is: 12.5, by: number}}]";
    for (trust_unproven, words) in [(false, "1 tasks have no solution: they are not to be"), (true, "they are to be")] {
        let parsed =
            fixture.publish(Submission { trust_unproven, ..submission(lamps(manifest)) }).await.expect("sound");
        assert!(parsed.notes.iter().any(|note| note.contains(words)), "{:?}", parsed.notes);
        assert_eq!(parsed.rows[0].1[0]["trainable"], Value::Bool(trust_unproven));
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_folder_without_manifest_is_refused_before_a_browser_is_asked_for() {
    let browsers = crate::backends::Backends::none(std::path::Path::new(".")).browsers;
    let (_caller, left) = oneshot::channel();
    let nothing = parse(submission(folder(&[("index.html", HOME)])), &browsers, left).expect_err("no manifest");
    assert!(nothing[0].detail.contains("has no web.yaml"), "{nothing:?}");
}
