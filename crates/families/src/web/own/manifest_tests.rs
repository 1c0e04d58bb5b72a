//! Manifests that are read, and those that are refused: each fault names its field and what to do.

use super::*;

const WHOLE: &str = r#"
description: A small shop.
tags: [shop]
now: 2030-01-02T03:04:05Z
sites:
  shop.test: shop
tasks:
  - id: price
    instruction: What does the lamp cost?
    answer: {is: [12.5, "12,50"], by: {name: number, tolerance: 0.01}}
    solution: ["send_msg_to_user('12.5')"]
  - instruction: Order two lamps.
    split: test
    start: http://shop.test/lamps.html
    requests:
      - {method: post, address: "http://shop.test/order*", form: {count: 2, gift: ["on", "yes"]}}
  - instruction: Find the chairs.
    infeasible: true
"#;

fn tasks(manifest: Manifest) -> Vec<PlacedTask> {
    let Pages::Sites { tasks, .. } = manifest.pages else { panic!("no sites") };
    tasks
}

fn faults(manifest: &str) -> Vec<(String, String)> {
    let found = read(manifest.as_bytes(), None).expect_err(manifest);
    found.into_iter().map(|fault| (fault.field.unwrap_or_default(), fault.detail)).collect()
}

#[test]
fn a_whole_manifest_is_read() {
    let more = br#"{"instruction": "Who wrote it?", "answer": "Ada", "split": "test"}"#;
    let manifest = read(WHOLE.replace("[12.5, \"12,50\"]", "12.5").as_bytes(), Some(more)).unwrap();
    assert_eq!(manifest.now_ms, 1_893_553_445_000);
    let tasks = tasks(manifest);
    let splits: Vec<&str> = tasks.iter().map(|task| task.split.as_str()).collect();
    assert_eq!(splits, ["train", "test", "train", "test"]);
    let starts: Vec<&str> = tasks.iter().map(|task| task.task.start.as_str()).collect();
    assert_eq!(starts, ["http://shop.test/", "http://shop.test/lamps.html", "http://shop.test/", "http://shop.test/"]);
    let order = &tasks[1].task.requests[0];
    assert_eq!((order.method.as_str(), &order.form["count"]), ("POST", &vec!["2".to_owned()]));
    let trainable: Vec<bool> = tasks.iter().map(|task| task.task.trainable).collect();
    assert_eq!(trainable, [true, false, false, false], "only what has a solution is proven");
    assert_eq!(tasks[3].task.answer.as_ref().map(|answer| &answer.by), Some(&"text".into()));
}

#[test]
fn an_expected_answer_has_to_fit_its_rule() {
    assert_eq!(faults(WHOLE)[0].0, "tasks[0].answer.is", "12,50 is no number");
}

#[test]
fn each_fault_names_its_field_and_a_remedy() {
    let with = |task: &str| format!("sites: {{a.test: a}}\ntasks:\n  - {task}");
    let task = |fields: &str| with(&format!("{{instruction: x, {fields}}}"));
    for (manifest, field, words) in [
        ("sites: {a.test: a}".to_owned(), "tasks", "there must be 1 to"),
        ("tasks: [{instruction: x, answer: y}]".to_owned(), "sites", "name a host with its folder"),
        ("now: soon\nsites: {a.test: a}\ntasks: [{instruction: x, answer: y}]".to_owned(), "now", "a time such as"),
        ("sites: {A.test: a}\ntasks: [{instruction: x, answer: y}]".to_owned(), "sites", "is no host"),
        ("sites: {\"a.test:80\": a}\ntasks: [{instruction: x, answer: y}]".to_owned(), "sites", "without a port"),
        ("sites: {\"a.test/b\": a}\ntasks: [{instruction: x, answer: y}]".to_owned(), "sites", "is no host"),
        ("sites: {a.test: a, b.test: b}\ntasks: [{instruction: x, answer: y}]".to_owned(), "tasks[0].start", "missing"),
        ("sites: {a.test: a}\nseconds: 4\ntasks: [{instruction: x, answer: y}]".to_owned(), "seconds", "leave it out"),
        (with("{instruction: \" \", answer: y}"), "tasks[0].instruction", "must be a text"),
        (task("id: a"), "tasks[0].answer", "nothing says what is right"),
        (task("answer: y, infeasible: true"), "tasks[0].infeasible", "leave it or those out"),
        (task("answer: {by: text}"), "tasks[0].answer.is", "is missing"),
        (task("answer: {is: y, as: text}"), "tasks[0].answer", "has no field \"as\""),
        (task("answer: {is: y, by: fuzzy}"), "tasks[0].answer.by", "use one of exact"),
        (task("answer: {is: soon, by: date}"), "tasks[0].answer.is", "a date such as"),
        (task("answer: {is: \"\"}"), "tasks[0].answer.is", "an empty answer passes"),
        (task("answer: {is: []}"), "tasks[0].answer.is", "must have an answer"),
        (task("requests: [{address: /order}]"), "tasks[0].requests[0].address", "begins with http://"),
        (task("requests: [{address: \"http://a.test/\", method: TRACE}]"), "tasks[0].requests[0].method", "use one of"),
        (
            task("requests: [{address: \"http://a.test/\", form: {a: 1}}]"),
            "tasks[0].requests[0].form",
            "into the query",
        ),
        (
            task("requests: [{address: \"http://a.test/\", method: POST, form: {a: {}}}]"),
            "tasks[0].requests[0].form",
            "a text or a number",
        ),
        (task("answer: y, solution: []"), "tasks[0].solution", "1 to 200 actions"),
        (task("answer: y, solution: [\"jump('a')\"]"), "tasks[0].solution[0]", "is no action"),
        (task("answer: y, solution: [\"click('a'\"]"), "tasks[0].solution[0]", "is no action"),
        ("miniwob: html\nsites: {a.test: a}".to_owned(), "sites", "does not go with `miniwob`"),
        ("miniwob: html\nseconds: 0".to_owned(), "seconds", "must be 1 to"),
        (format!("miniwob: html\nseconds: {}", SECONDS_MAX + 1), "seconds", "must be 1 to"),
        ("miniwob: html\ntags: [\" \"]".to_owned(), "tags", "does not fit"),
        (task("answer: y, id: \"\""), "tasks[0].id", "does not fit"),
        (task("answer: y, split: Train"), "tasks[0].split", "does not fit"),
        (
            task(&format!("requests: [{}]", "{address: \"http://a.test/\"},".repeat(REQUESTS_MAX + 1))),
            "tasks[0].requests",
            "leave some out",
        ),
        (task(&format!("answer: {}", "y".repeat(TASK_BYTES_MAX))), "tasks[0]", "shorten it"),
        (format!("recordings: [{}]", "a.har,".repeat(RECORDINGS_MAX + 1)), "recordings", "leave some out"),
    ] {
        let found = faults(&manifest);
        assert!(found.iter().any(|(at, why)| at == field && why.contains(words)), "{manifest}\n{found:?}");
    }
}

#[test]
fn what_cannot_be_read_is_told_with_its_line() {
    for (manifest, line) in
        [("sites: [\n", None), ("description: x\nsights: {}\n", Some(2)), ("tasks: [{answer: x}]", Some(1))]
    {
        let found = read(manifest.as_bytes(), None).unwrap_err().remove(0);
        assert_eq!(found.file.as_deref(), Some(MANIFEST));
        assert!(line.is_none() || found.line == line, "{found:?}");
        assert!(found.detail.starts_with("cannot be read, correct it"), "{found:?}");
    }
    assert!(read(b"\xff", None).unwrap_err()[0].detail.contains("UTF-8"));
    let whole = b"sites: {a.test: a}";
    let found =
        read(whole, Some(b"{\"instruction\": \"x\", \"answer\": \"y\"}\n\n{\"instruction\": 1}\n")).unwrap_err();
    assert_eq!((found[0].file.as_deref(), found[0].line), (Some(TASKS), Some(3)));
    let twice = b"{\"id\": \"a\", \"instruction\": \"x\", \"answer\": \"y\"}\n".repeat(2);
    let found = read(whole, Some(&twice)).unwrap_err().remove(0);
    assert_eq!((found.line, found.field.as_deref()), (Some(2), Some("id")));
}

#[test]
fn pages_of_miniwob_bring_their_tasks() {
    let manifest = read(b"description: x\nminiwob: html/\nseconds: 30", None).unwrap();
    let Pages::Miniwob { folder, seconds } = manifest.pages else { panic!("no pages") };
    assert_eq!((folder.as_str(), seconds), ("html", Some(30)));
}
