//! Pages on real hosts: a small server of the test stands for them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use palestra_protocol::environment::{Capabilities, ForkKind, Recovery};
use serde_json::{Value, json};

use super::*;

/// A request that arrived: its first line, its `Host`, its cookies, and its body.
#[derive(Debug, PartialEq, Eq)]
struct Arrived {
    line: String,
    host: String,
    cookie: String,
    body: String,
}

/// A server on a port of its own, and what arrives there.
fn shop() -> (u16, Receiver<Arrived>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (arrives, arrived) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let arrives = arrives.clone();
            std::thread::spawn(move || serve(&stream, port, |one| drop(arrives.send(one))));
        }
    });
    (port, arrived)
}

fn serve(stream: &TcpStream, port: u16, arrives: impl Fn(Arrived)) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line.trim().is_empty() {
                break;
            }
            lines.push(line.trim().to_owned());
        }
        let header = |name: &str| {
            let found = lines.iter().skip(1).filter_map(|line| line.split_once(": "));
            let mut found = found.filter(|(known, _)| known.eq_ignore_ascii_case(name));
            found.next().map(|(_, value)| value.to_owned()).unwrap_or_default()
        };
        let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let body = String::from_utf8_lossy(&body).into_owned();
        let line = lines[0].trim_end_matches(" HTTP/1.1").to_owned();
        let answer = answer(&line, &header("cookie"), port);
        arrives(Arrived { line, host: header("host"), cookie: header("cookie"), body });
        let mut stream = stream;
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn answer(line: &str, cookie: &str, port: u16) -> String {
    let page = |body: &str| {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nset-cookie: visit=1\r\nstrict-transport-security: max-age=9\r\n\r\n{body}",
            body.len()
        )
    };
    let to = |address: &str| format!("HTTP/1.1 302 Found\r\nlocation: {address}\r\ncontent-length: 0\r\n\r\n");
    match line {
        "GET /" => page(
            "<!doctype html><title>Shop</title><a href=/item>Item</a> <a href=/home>Home</a>\
             <form method=post action=/order><input name=count aria-label=Count><button>Send</button></form>",
        ),
        "GET /item" => page(&format!("<!doctype html><title>Item</title><p>It costs 42. Cookies: {cookie}.")),
        "POST /order" => page("<!doctype html><title>Done</title><p>Thank you."),
        "GET /home" => to(&format!("http://shop.test:{port}/")),
        "GET /away" => to(&format!("http://127.0.0.1:{port}/item")),
        "GET /neighbour" => to(&format!("http://localhost:{port}/item")),
        "GET /packed" => "HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 1\r\n\r\nx".to_owned(),
        _ => "HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnone".to_owned(),
    }
}

fn manifest(port: u16, hosts: &Value) -> Folder {
    let tasks = json!([
        {"id": "price", "instruction": "What does it cost?", "answer": {"is": 42, "by": "number"},
         "requests": [{"address": format!("http://shop.test:{port}/item")}],
         "solution": ["click('role=link[name=\"Item\"]')", "send_msg_to_user('42')"]},
        {"id": "order", "instruction": "Order two.",
         "requests": [{"method": "POST", "address": format!("http://shop.test:{port}/order"), "form": {"count": 2}}],
         "solution": ["fill('css=input', '2')", "click('role=button[name=\"Send\"]')"]},
    ]);
    let manifest = json!({"start": format!("http://shop.test:{port}/"), "hosts": hosts, "tasks": tasks});
    folder(&[("web.yaml", &manifest.to_string())])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_a_real_host_are_played_where_the_operator_lets_them() {
    let (port, arrived) = shop();
    let admitted = [format!("shop.test:{port}=127.0.0.1"), format!("localhost:{port}"), "*.wild.test".to_owned()];
    let Some(fixture) = fixture_with(admitted.iter().map(|host| host.parse().expect("a host")).collect()).await else {
        return;
    };
    let hosts = json!([{"host": format!("shop.test:{port}"), "methods": ["GET", "POST"]}]);
    let parsed = fixture.publish(submission(manifest(port, &hosts))).await.expect("it is sound");
    let kind = fixture.kind(&parsed);
    let Capabilities { deterministic, recovery, fork, .. } = kind.spec().capabilities;
    assert_eq!((deterministic, recovery, fork), (false, Recovery::None, ForkKind::None));
    let (price, order) = (task(&*kind, &parsed, "train", 0), task(&*kind, &parsed, "train", 1));
    let solution = ["click('role=link[name=\"Item\"]')", "send_msg_to_user('42')"];
    let right = played(&*kind, &price, &solution).await;
    assert_eq!((right.score, right.terminated), (1.0, true));
    assert!(right.seen[1].text.contains("Cookies: visit=1"), "{}", right.seen[1].text);
    // An answer without a look is no proof.
    assert_eq!(played(&*kind, &price, &["send_msg_to_user('42')"]).await.score, 0.0);
    while arrived.try_recv().is_ok() {}
    let ordered = played(&*kind, &order, &["fill('css=input', '2')", "click('role=button[name=\"Send\"]')"]).await;
    assert_eq!((ordered.score, ordered.terminated), (1.0, true));
    let arrived_now: Vec<Arrived> = arrived.try_iter().collect();
    let sent = arrived_now.last().expect("a form");
    assert_eq!((sent.line.as_str(), sent.body.as_str()), ("POST /order", "count=2"));
    assert_eq!(sent.host, format!("shop.test:{port}"), "the host is the one that the page names");
    // Led home through the browser; a page that is not there was not asked for.
    let home = played(&*kind, &order, &["click('role=link[name=\"Home\"]')"]).await;
    assert!(home.seen[1].text.contains("Shop"), "{}", home.seen[1].text);
    let missing = played(&*kind, &order, &[&format!("goto('http://shop.test:{port}/none')")]).await;
    assert_eq!(missing.state.to_value()["missing_pages"], 1);
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_way_leads_from_a_real_host_to_this_machine_or_to_others() {
    let (port, arrived) = shop();
    let admitted = [
        format!("shop.test:{port}=127.0.0.1"),
        format!("localhost:{port}"),
        "*.wild.test".to_owned(),
        "pinned.wild.test:1=127.0.0.1".to_owned(),
    ];
    let Some(fixture) = fixture_with(admitted.iter().map(|host| host.parse().expect("a host")).collect()).await else {
        return;
    };
    let shop = format!("shop.test:{port}");
    for (host, field, words) in [
        (json!(format!("other.test:{port}")), "hosts[0]", "start it with --browser-hosts"),
        (json!("*.test"), "hosts[0]", "start it with --browser-hosts"),
        (json!(format!("{shop}=127.0.0.1")), "hosts[0]", "cannot be given an address"),
        (json!("http://shop.test"), "hosts[0]", "is no host"),
        (json!({"host": shop, "methods": []}), "hosts[0].methods", "one at least"),
        (json!({"host": shop, "methods": ["TRACE"]}), "hosts[0].methods", "is none that is sent"),
    ] {
        let refused = fixture.publish(submission(manifest(port, &json!([host])))).await.expect_err("it is refused");
        assert!(refused[0].detail.contains(words), "{host}: {refused:?}");
        assert_eq!(refused[0].field.as_deref(), Some(field), "{host}");
    }
    // A name that stands for this machine is reached only by the address that the operator writes for it: DNS decides nothing.
    let mut local = manifest(port, &json!([format!("localhost:{port}")]));
    let text = String::from_utf8(local["web.yaml"].clone()).expect("text").replace("shop.test", "localhost");
    local.insert("web.yaml".to_owned(), text.into_bytes());
    let refused = fixture.publish(submission(local)).await.expect_err("it is refused");
    assert!(refused[0].detail.contains("no address on the public internet"), "{refused:?}");
    assert_eq!(arrived.try_iter().count(), 0, "nothing was sent");

    let hosts = json!([shop, "*.wild.test"]);
    let mut readable = manifest(port, &hosts);
    let text = String::from_utf8(readable["web.yaml"].clone()).expect("text");
    let mut written: Value = serde_json::from_str(&text).expect("JSON");
    written["tasks"].as_array_mut().expect("tasks").pop();
    readable.insert("web.yaml".to_owned(), written.to_string().into_bytes());
    let parsed = fixture.publish(submission(readable)).await.expect("it is sound");
    let kind = fixture.kind(&parsed);
    let price = task(&*kind, &parsed, "train", 0);
    while arrived.try_recv().is_ok() {}
    let at = |path: &str| format!("goto('http://shop.test:{port}/{path}')");
    let others = [
        at("away"),
        at("neighbour"),
        format!("goto('http://127.0.0.1:{port}/item')"),
        format!("goto('http://localhost:{port}/item')"),
        format!("goto('http://shop.test:{}/item')", port.wrapping_add(1)),
        "goto('http://a.wild.test/')".to_owned(),
        format!("goto('https://shop.test:{port}/item')"),
        at("packed"),
        "fill('css=input', '2')".to_owned(),
        "click('role=button[name=\"Send\"]')".to_owned(),
    ];
    for (number, action) in others.iter().enumerate() {
        let mut actions = vec![action.as_str()];
        if number == others.len() - 1 {
            actions.insert(0, &others[number - 1]);
        }
        let seen = played(&*kind, &price, &actions).await;
        let text = &seen.seen.last().expect("a page").text;
        assert!(!text.contains("It costs 42") && !text.contains("Thank you"), "{action}: {text}");
        assert_eq!(seen.score, 0.0);
    }
    let lines: Vec<String> = arrived.try_iter().map(|one| one.line).collect();
    assert!(
        lines.iter().all(|line| ["GET /", "GET /away", "GET /neighbour", "GET /packed"].contains(&line.as_str())),
        "{lines:?}"
    );
    fixture.end().await;
}
