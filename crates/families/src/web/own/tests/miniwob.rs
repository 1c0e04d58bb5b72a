//! Pages in the layout of MiniWoB++: own pages over an own core.

use palestra_environment::Tasks;
use serde_json::{Value, json};

use super::*;

const CORE: &str = include_str!("core.js");
/// Three buttons, of which the page names one.
const BUTTONS: &str = "var names = ['one', 'two', 'three'];
    function genProblem() {
      var right = names[Math.floor(Math.random() * 3)];
      document.getElementById('query').textContent = 'Click ' + right + '.';
      names.forEach(function (name) {
        var button = document.createElement('button');
        button.textContent = name;
        button.onclick = function () { core.endEpisode(name === right ? 0.5 : -1, true); };
        document.getElementById('area').appendChild(button);
      });
    }";
/// Whatever is entered becomes part of the page.
const ECHO: &str = "function genProblem() {
      document.getElementById('query').textContent = 'Enter the word ' + Math.floor(Math.random() * 1e6) + '.';
      document.getElementById('area').innerHTML = '<input id=word aria-label=Word><div id=shown></div>';
      document.getElementById('word').oninput = function (event) {
        document.getElementById('shown').innerHTML = event.target.value;
      };
    }";

fn page(script: &str) -> String {
    format!(
        "<!DOCTYPE html>\r\n<html><head><title>A page</title><script src=\"../core/core.js\"></script>\
         <script>\r\n{script}\r\nwindow.onload = function () {{ core.startEpisode(); }}\r\n</script></head>\
         <body><div id=\"query\"></div><div id=\"area\"></div></body></html>"
    )
}

fn pages() -> Folder {
    let endless = "core.EPISODE_MAX_TIME = 3000;\n".to_owned() + BUTTONS;
    folder(&[
        ("html/core/core.js", CORE),
        ("html/miniwob/buttons.html", &page(BUTTONS)),
        ("html/miniwob/echo.html", &page(ECHO)),
        ("html/miniwob/broken.html", &page("function genProblem() { nothing.there(); }")),
        (
            "html/miniwob/given-away.html",
            &page(&format!("{BUTTONS}\nsetTimeout(function () {{ core.endEpisode(1); }}, 100);")),
        ),
        ("html/miniwob/lost.html", &page(&format!("{BUTTONS}\ndocument.write('<img src=none.png>');"))),
        ("html/miniwob/quick.html", &page(&endless)),
        ("html/miniwob/silent.html", &page("function genProblem() {}")),
        ("html/flight/one/wrapper.html", ""),
        ("environment.py", ""),
    ])
}

/// The task of a page and a number of its draws.
fn task(kind: &dyn EnvironmentKind, name: &str, number: u64) -> Arc<Task> {
    let Tasks::Generated(generator) = kind.tasks() else { panic!("tasks are generated") };
    let count = kind.spec().templates;
    let first = (0..count).find(|seed| generator.generate("train", *seed, None).unwrap().public.template == name);
    Arc::new(generator.generate("train", first.expect("a page") + number * count, None).unwrap())
}

async fn utterance(kind: &dyn EnvironmentKind, task: &Arc<Task>) -> String {
    let played = played(kind, task, &[]).await;
    let utterance = played.state.to_value()["utterance"].as_str().unwrap().to_owned();
    assert!(played.seen[0].text.starts_with(&format!("{utterance}\n\n")), "{}", played.seen[0].text);
    assert!(!played.seen[0].text.contains("START"), "{}", played.seen[0].text);
    utterance
}

async fn published(fixture: &Fixture) -> (Parsed, Arc<dyn EnvironmentKind>) {
    let parsed = fixture.publish(submission(pages())).await.expect("pages");
    let kind = fixture.kind(&parsed);
    (parsed, kind)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_cannot_be_played_are_named_and_the_others_follow_from_their_seed() {
    let Some(fixture) = fixture().await else { return };
    let (parsed, kind) = published(&fixture).await;
    let named: Vec<&str> = parsed.left_out.iter().map(String::as_str).collect();
    for (name, why) in [
        ("broken", "its console says"),
        ("given-away", "doing nothing is right"),
        ("lost", "it asks in vain for"),
        ("silent", "it does not say what it asks for"),
    ] {
        let beginning = format!("left out: the page {name}: ");
        assert!(named.iter().any(|note| note.starts_with(&beginning) && note.contains(why)), "{name}: {named:?}");
    }
    assert_eq!(named.len(), 4, "{named:?}");
    assert!(parsed.notes.contains(&"3 pages are played, 4 are left out".to_owned()), "{:?}", parsed.notes);
    assert!(
        parsed.notes.iter().any(|note| note.starts_with("1 pages of flight/ are not played")),
        "{:?}",
        parsed.notes
    );
    let mut asked = std::collections::BTreeSet::new();
    for number in 0..6 {
        let task = task(&*kind, "buttons", number);
        let [one, same] = [utterance(&*kind, &task).await, utterance(&*kind, &task).await];
        assert_eq!(one, same, "draw {number}");
        asked.insert(one);
    }
    assert!(asked.len() > 1, "{asked:?}");
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_end_of_the_page_counts_and_its_clock_runs_out() {
    let Some(fixture) = fixture().await else { return };
    let (_, kind) = published(&fixture).await;
    let buttons = task(&*kind, "buttons", 0);
    let asked = utterance(&*kind, &buttons).await;
    let right = asked.trim_start_matches("Click ").trim_end_matches('.').to_owned();
    let wrong = ["one", "two"].into_iter().find(|name| *name != right).unwrap();
    let click = |name: &str| format!("click('role=button[name=\"{name}\"]')");
    let solved = played(&*kind, &buttons, &[&click(&right)]).await;
    assert_eq!((solved.score, solved.terminated), (1.0, true), "{}", solved.state.to_value());
    assert_eq!(solved.state.to_value()["ended"]["reward"], json!(0.5), "the reward without the share of time");
    let lost = played(&*kind, &buttons, &[&click(wrong)]).await;
    assert_eq!((lost.score, lost.terminated), (0.0, true), "{}", lost.state.to_value());
    // Half a second with each action: three seconds are six actions, of which loading the page is one.
    let quick = task(&*kind, "quick", 0);
    let waited = played(&*kind, &quick, &["noop(500)"; 8]).await;
    let state = waited.state.to_value();
    assert_eq!((waited.score, waited.terminated), (0.0, true), "{state}");
    assert_eq!((&state["ended"]["reason"], waited.seen.len()), (&json!("timed out"), 6), "{state}");
    let gave_up = played(&*kind, &buttons, &["report_infeasible('no')"]).await;
    assert_eq!((gave_up.score, gave_up.terminated), (0.0, true));
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_addresses_nor_what_is_put_into_a_page_make_an_end() {
    let Some(fixture) = fixture().await else { return };
    let (_, kind) = published(&fixture).await;
    let echo = task(&*kind, "echo", 0);
    let fill = |html: &str| format!("fill('role=textbox[name=\"Word\"]', '{html}')");
    let actions = [
        fill("<img src=x onerror=\"core.endEpisode(1)\">"),
        fill("<a href=\"javascript:core.endEpisode(1)\">go</a>"),
        "click('role=link[name=\"go\"]')".to_owned(),
        fill("<iframe srcdoc=\"<script>parent.core.endEpisode(1)</script>\"></iframe>"),
        fill("<iframe src=\"/core/core.js\"></iframe><object data=\"/core/core.js\"></object>"),
        fill(
            "<form method=post action=\"/-/report\" enctype=\"text/plain\"><button name=\"{&quot;event&quot;:\">send</button></form>",
        ),
        "click('role=button[name=\"send\"]')".to_owned(),
    ];
    let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
    let forged = played(&*kind, &echo, &actions).await;
    let ended = (forged.terminated, forged.state.to_value()["ended"].take());
    assert_eq!(ended, (false, Value::Null), "{:?}", last_error(&forged));
    assert_eq!(forged.seen.len(), actions.len() + 1);
    let told: String = forged.seen.iter().map(|seen| format!("{}\n{}", seen.text, seen.data)).collect();
    assert!(!told.contains("x-report"), "{told}");
    assert!(told.contains("Content Security Policy"), "the page was tried in vain: {told}");
    let elsewhere = [
        "goto('javascript:core.endEpisode(1)')",
        "goto('view-source:http://miniwob.test/core/core.js')",
        "goto('http://miniwob.test/core/core.js')",
        "goto('http://miniwob.test/-/report')",
        "goto('http://miniwob.test/miniwob/buttons.html')",
        "goto('http://miniwob.test/miniwob/echo.html?record=1')",
    ];
    let elsewhere = played(&*kind, &echo, &elsewhere).await;
    assert_eq!((elsewhere.terminated, &elsewhere.state.to_value()["ended"]), (false, &Value::Null));
    let told: String = elsewhere.seen.iter().skip(1).map(|seen| seen.text.clone()).collect();
    assert!(!told.contains("x-report") && !told.contains("Click "), "{told}");
    fixture.end().await;
}
