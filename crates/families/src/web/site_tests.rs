//! Sites without a browser: documents are asked for as a browser does.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use palestra_browser::{Answer, Request, Site as _, action};
use palestra_environment::task::Task;
use palestra_environment::verifier::{Case, Judgement};
use palestra_environment::{EnvironmentKind, Tasks};
use palestra_protocol::action::Action;
use palestra_sites::{Draw, Level};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::site_pages::{HOST, SitePages};
use crate::backends::Backends;
use crate::browsed::Pages as _;

/// Difficulties, one of each level.
const DIFFICULTIES: [f64; 4] = [0.1, 0.4, 0.6, 0.9];

fn kind() -> Arc<dyn EnvironmentKind> {
    let all = super::all(&Backends::none(Path::new(".")).browsers);
    all.into_iter().find(|kind| kind.spec().name == "web/sites").expect("the sites")
}

fn task(kind: &dyn EnvironmentKind, seed: u64, difficulty: f64) -> Task {
    let Tasks::Generated(generator) = kind.tasks() else { panic!("tasks are generated") };
    generator.generate("train", seed, Some(difficulty)).expect("a task")
}

/// The drawn task behind a task of the environment.
fn drawn(task: &Task) -> palestra_sites::Task {
    let level = Level::ALL[usize::try_from(task.secret["level"].as_u64().expect("a level")).expect("small")];
    let seed = task.secret["seed"].as_u64().expect("a seed");
    let template = palestra_sites::all().into_iter().find(|template| template.name == task.public.template);
    template.expect("a template").draw(&mut Draw::new(level, seed)).expect("a task")
}

fn pages(task: &Task) -> SitePages {
    let drawn = drawn(task);
    let site = drawn.site();
    SitePages::new(drawn.question.text, site)
}

fn request(method: &str, url: &str, is_document: bool) -> Request {
    Request {
        method: method.to_owned(),
        url: url.parse().expect("an address"),
        headers: Vec::new(),
        body: Vec::new(),
        is_document,
    }
}

async fn read(pages: &SitePages, path: &str) -> Answer {
    pages.answer(request("GET", &format!("http://{HOST}{path}"), true)).await
}

fn judge(kind: &dyn EnvironmentKind, task: &Task, pages: &SitePages) -> Judgement {
    let case = Case { task, state: &pages.document(), trajectory: &[] };
    kind.verifier().pure().expect("a pure verifier").verify(&case).expect("a judgement")
}

fn score(kind: &dyn EnvironmentKind, task: &Task, pages: &SitePages) -> f64 {
    judge(kind, task, pages).score().expect("a score")
}

/// Takes the last action of the solution; true if it ended the task.
fn tell(pages: &SitePages, action: &str) -> bool {
    match action::parse(action).expect("an action") {
        action::Action::SendMsgToUser { text } => pages.told(&text),
        action::Action::ReportInfeasible { .. } => pages.give_up(),
        other => panic!("{other:?} tells nothing"),
    }
}

fn told(kind: &dyn EnvironmentKind, task: &Task) -> String {
    match kind.oracle(task).expect("a solution").pop() {
        Some(Action::Text(action)) => action,
        other => panic!("{other:?} tells nothing"),
    }
}

#[tokio::test]
async fn the_right_answer_counts_with_the_pages_that_prove_it_and_not_without() {
    let kind = kind();
    let mut templates = BTreeSet::new();
    let every = palestra_sites::all().len() as u64;
    for difficulty in DIFFICULTIES {
        for seed in 0..every {
            let task = task(&*kind, seed, difficulty);
            if !templates.insert(task.public.template.clone()) {
                continue;
            }
            let (drawn, last) = (drawn(&task), told(&*kind, &task));
            let (blind, looked) = (pages(&task), pages(&task));
            read(&blind, "/").await;
            assert!(tell(&blind, &last) && blind.outcome().expect("no fault"));
            assert_eq!(score(&*kind, &task, &blind), 0.0, "{}: nothing was read", task.public.id);
            for address in drawn.site().tour(&drawn.question).expect("a tour") {
                read(&looked, &address).await;
            }
            assert_eq!(score(&*kind, &task, &looked), 0.0, "{}: nothing was told", task.public.id);
            tell(&looked, &last);
            let judged = judge(&*kind, &task, &looked);
            assert_eq!(judged.score(), Ok(1.0), "{}: {:?}", task.public.id, judged.checks);
            assert!(judged.checks[2].evidence.contains("entry "), "{:?}", judged.checks);
        }
    }
    assert_eq!(templates.len() as u64, every, "every template has its turn");
}

#[tokio::test]
async fn silence_and_giving_up_at_once_score_nothing() {
    let kind = kind();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for difficulty in DIFFICULTIES {
        for seed in 0..20 {
            let task = task(&*kind, seed, difficulty);
            let silent = pages(&task);
            read(&silent, "/").await;
            assert_eq!(score(&*kind, &task, &silent), 0.0, "{}", task.public.id);
            assert!(silent.give_up());
            assert_eq!(score(&*kind, &task, &silent), 0.0, "{}", task.public.id);
            let Action::Text(action) = kind.random_action(&task, &mut random) else { panic!("clicks are strings") };
            assert!(action.starts_with("mouse_click("), "{action} tells nothing");
        }
    }
}

#[tokio::test]
async fn only_documents_of_the_site_that_were_read_before_the_answer_prove_it() {
    let kind = kind();
    let task = task(&*kind, 0, 0.1);
    let (drawn, last) = (drawn(&task), told(&*kind, &task));
    let tour = drawn.site().tour(&drawn.question).expect("a tour");
    let address = |path: &str| format!("http://{HOST}{path}");
    let other = |path: &str| format!("http://other.test{path}");
    for way in ["fetched by a script", "of another host", "by POST", "while a copy goes on", "after the answer"] {
        let pages = pages(&task);
        if way == "after the answer" {
            tell(&pages, &last);
        }
        pages.go_on(way == "while a copy goes on");
        for path in &tour {
            let request = match way {
                "fetched by a script" => request("GET", &address(path), false),
                "of another host" => request("GET", &other(path), true),
                "by POST" => request("POST", &address(path), true),
                _ => request("GET", &address(path), true),
            };
            pages.answer(request).await;
        }
        pages.go_on(false);
        tell(&pages, &last);
        assert_eq!(score(&*kind, &task, &pages), 0.0, "{way}");
    }
}

#[tokio::test]
async fn the_first_answer_counts_and_a_message_after_giving_up_does_not() {
    let kind = kind();
    let task = task(&*kind, 0, 0.1);
    let (drawn, last) = (drawn(&task), told(&*kind, &task));
    let begin = || async {
        let pages = pages(&task);
        for address in drawn.site().tour(&drawn.question).expect("a tour") {
            read(&pages, &address).await;
        }
        pages
    };
    let (changed, late, several) = (begin().await, begin().await, begin().await);
    changed.told("something else");
    tell(&changed, &last);
    late.give_up();
    tell(&late, &last);
    let words = drawn.question.answer.words().expect("a stated answer");
    several.told(&format!("{words} or {words}1"));
    for pages in [changed, late, several] {
        assert_eq!(score(&*kind, &task, &pages), 0.0);
    }
}

#[tokio::test]
async fn a_copy_has_its_own_record_from_there_on() {
    let kind = kind();
    let task = task(&*kind, 2, 0.6);
    let one = pages(&task);
    read(&one, "/").await;
    let copy = one.copy();
    assert_eq!(one.document().digest(), copy.document().digest());
    read(&copy, "/search?q=a").await;
    assert_ne!(one.document().digest(), copy.document().digest());
    let entries = |pages: &SitePages| pages.document().to_value()["har"]["log"]["entries"].as_array().map(Vec::len);
    assert_eq!((entries(&one), entries(&copy)), (Some(1), Some(2)));
}

/// The value at a pointer, which has to be there.
fn at<'v>(value: &'v Value, pointer: &str) -> &'v Value {
    value.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is missing in {value}"))
}

#[tokio::test]
async fn the_record_is_a_log_in_the_form_of_har_and_bounded() {
    let kind = kind();
    let pages = pages(&task(&*kind, 1, 0.1));
    pages.set_time(1_935_738_000_500);
    read(&pages, "/").await;
    pages.set_time(1_935_738_002_000);
    read(&pages, "/search?q=a%20b&x=1").await;
    read(&pages, "/nowhere").await;
    pages.answer(request("GET", "http://127.0.0.1/", true)).await;
    pages.answer(request("POST", &format!("http://{HOST}/"), true)).await;
    let state = pages.document().to_value();
    assert_eq!(state["read"], json!({"/": 0, "/search": 1}));
    let log = at(&state, "/har/log");
    assert_eq!((at(log, "/version"), at(log, "/creator/name")), (&json!("1.2"), &json!("palestra")));
    assert!(at(log, "/creator/version").is_string());
    let entries = at(log, "/entries").as_array().expect("a list");
    for entry in entries {
        for text in
            ["/startedDateTime", "/request/method", "/request/url", "/request/httpVersion", "/response/statusText"]
        {
            assert!(at(entry, text).as_str().is_some_and(|text| !text.is_empty()), "{text} of {entry}");
        }
        for text in ["/response/httpVersion", "/response/redirectURL", "/response/content/mimeType"] {
            assert!(at(entry, text).is_string(), "{text} of {entry}");
        }
        for number in
            ["/time", "/request/headersSize", "/request/bodySize", "/response/status", "/response/headersSize"]
        {
            assert!(at(entry, number).is_i64(), "{number} of {entry}");
        }
        for number in
            ["/response/bodySize", "/response/content/size", "/timings/send", "/timings/wait", "/timings/receive"]
        {
            assert!(at(entry, number).is_i64(), "{number} of {entry}");
        }
        for list in
            ["/request/cookies", "/request/headers", "/request/queryString", "/response/cookies", "/response/headers"]
        {
            assert!(at(entry, list).is_array(), "{list} of {entry}");
        }
        assert!(at(entry, "/cache").is_object());
    }
    let told = |place: usize, pointer: &str| at(&entries[place], pointer).clone();
    assert_eq!(told(0, "/startedDateTime"), json!("2031-05-05T09:00:00.5Z"));
    assert_eq!(told(1, "/startedDateTime"), json!("2031-05-05T09:00:02Z"));
    assert_eq!(told(1, "/request/queryString"), json!([{"name": "q", "value": "a b"}, {"name": "x", "value": "1"}]));
    let statuses: Vec<Value> = (0..5).map(|place| told(place, "/response/status")).collect();
    assert_eq!(statuses, [200, 200, 404, 0, 405].map(Value::from));
    assert!(told(0, "/response/content/size").as_i64().is_some_and(|bytes| bytes > 500));
    for _ in 0..400 {
        read(&pages, &format!("/nowhere?{}", "x".repeat(5_000))).await;
    }
    read(&pages, "/site.css").await;
    let state = pages.document().to_value();
    assert_eq!(at(&state, "/har/log/entries").as_array().map(Vec::len), Some(300));
    assert_eq!(at(&state, "/har/log/comment"), "106 later requests were left out");
    assert_eq!(state["read"]["/site.css"], json!(405), "what was read is known beyond the log");
    assert!(state.to_string().len() < 400_000);
}
