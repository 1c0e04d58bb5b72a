//! Valid data sets, and every way in which one can be broken.

use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

fn submission() -> Submission {
    Submission { name: Some("dataset/x".to_owned()), ..Submission::default() }
}

fn faults(body: impl AsRef<[u8]>) -> Vec<Fault> {
    parse(&submission(), body.as_ref()).expect_err("faults")
}

#[test]
fn a_question_with_two_answers_is_refused_and_one_said_twice_is_not() {
    let row = |answer: &str| format!("{{\"prompt\":\"2+2?\",\"answer\":{answer}}}");
    let found = faults(format!("{}\n{}", row("4"), row("5")));
    assert_eq!((found[0].line, found[0].field.as_deref(), found.len()), (Some(2), Some("answer"), 1));
    assert!(found[0].detail.contains("stands on line 1 with the answer"), "{}", found[0].detail);
    assert!(parse(&submission(), format!("{}\n{}", row("4"), row("4.0")).as_bytes()).is_ok());
}

#[test]
fn a_header_with_a_key_twice_is_refused() {
    let found =
        faults("{\"environment\":\"dataset/x\",\"system\":\"a\",\"system\":\"b\"}\n{\"prompt\":\"a\",\"answer\":1}");
    assert_eq!(found[0].line, Some(1));
    assert!(found[0].detail.contains("two members \"system\""), "{}", found[0].detail);
}

#[test]
fn each_broken_line_is_reported_by_its_number() {
    let deep = format!(r#"{{"prompt":"a","answer":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    let long = format!(r#"{{"prompt":"{}","answer":1}}"#, "a".repeat(LINE_BYTES_MAX));
    let regex = r#"{"prompt":"a","answer":"b","verifier":{"name":"regex","pattern":"("}}"#;
    for (line, field, part) in [
        ("{", None, "column"),
        ("[]", None, "invalid"),
        ("null", None, "invalid"),
        (r#"{"prompt":"a"}"#, None, "missing field `answer`"),
        (r#"{"prompt":"a","answer":null}"#, Some("answer"), "needs an answer"),
        (r#"{"answer":1}"#, Some("prompt"), "needs a prompt"),
        (r#"{"prompt":" ","answer":1}"#, Some("prompt"), "empty"),
        (r#"{"prompt":"a","messages":[],"answer":1}"#, Some("messages"), "either"),
        (r#"{"messages":[],"answer":1}"#, Some("messages"), "no messages"),
        (r#"{"messages":[{"role":"assistant","content":"a"}],"answer":1}"#, Some("messages"), "the user's"),
        (r#"{"messages":[{"role":"tool","content":"a"}],"answer":1}"#, None, "unknown variant"),
        (r#"{"messages":[{"role":"user","content":"a","name":"b"}],"answer":1}"#, None, "unknown field"),
        (r#"{"prompt":"a","answer":1,"solution":2}"#, None, "unknown field `solution`"),
        (r#"{"prompt":"a","answer":1,"answer":2}"#, None, "column 36: an object has two members \"answer\""),
        (r#"{"prompt":"a","answer":1,"metadata":{"k":1,"k":2}}"#, None, "two members \"k\""),
        (r#"{"prompt":1,"answer":1}"#, None, "invalid type"),
        (r#"{"prompt":"a","answer":""}"#, Some("answer"), "empty answer would pass"),
        (r#"{"prompt":"a","answer":{}}"#, Some("answer"), "must have an answer"),
        (r#"{"prompt":"a","answer":"x","verifier":"number"}"#, Some("answer"), "number"),
        (r#"{"prompt":"a","answer":"x","verifier":"nosuch"}"#, Some("verifier"), "nosuch"),
        (r#"{"prompt":"a","answer":1,"verifier":{"name":"number","tol":1}}"#, Some("verifier"), "tol"),
        (r#"{"prompt":"a","answer":"2","verifier":{"name":"regex","pattern":"1"}}"#, Some("answer"), "own answer"),
        (r#"{"prompt":"a","answer":"a","verifier":{"name":"regex","pattern":"a*"}}"#, Some("answer"), "empty answer"),
        (regex, Some("verifier"), "regex"),
        (r#"{"prompt":"a","answer":"x","choices":["y","z"]}"#, Some("answer"), "none of the choices"),
        (r#"{"prompt":"a","answer":"x","choices":["x"]}"#, Some("choices"), "choices"),
        (r#"{"prompt":"a","answer":"x","choices":["x",null]}"#, None, "a choice is"),
        (r#"{"prompt":"a","answer":1,"split":"my-split"}"#, Some("split"), "small letters"),
        (r#"{"prompt":"a","answer":1,"split":""}"#, Some("split"), "small letters"),
        (r#"{"prompt":"a\u0000b","answer":1}"#, None, "NUL"),
        (r#"{"prompt":"a","answer":1,"metadata":{"k":["\u0000"]}}"#, None, "NUL"),
        ("{\"prompt\":\"a\0\",\"answer\":1}", None, "NUL"),
        (r#"{"prompt":"a\ud800","answer":1}"#, None, "column"),
        (r#"{"prompt":"a","answer":1e999}"#, None, "number out of range"),
        (deep.as_str(), None, "recursion limit"),
        (long.as_str(), None, "at most"),
    ] {
        let body = format!("{{\"prompt\":\"good\",\"answer\":1}}\n\n{line}\r\n{{\"prompt\":\"fine\",\"answer\":2}}");
        let found = faults(body);
        let shown = format!("{line:.80}: {found:?}");
        assert_eq!(found.len(), 1, "{shown}");
        assert_eq!((found[0].line, found[0].field.as_deref()), (Some(3), field), "{shown}");
        assert!(found[0].detail.contains(part), "{shown}");
    }
}

#[test]
fn bytes_that_are_no_utf8_are_a_fault_of_their_line() {
    let found = faults(b"{\"prompt\":\"a\",\"answer\":1}\n{\"prompt\":\"\xff\",\"answer\":1}\n");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].line, Some(2));
    assert_eq!(found[0].detail, "column 12: the line is not UTF-8: save the file as UTF-8");
}

#[test]
fn all_faults_are_listed_up_to_a_limit() {
    let found = faults("x\n".repeat(FAULTS_MAX + 5));
    assert_eq!(found.len(), FAULTS_MAX);
    assert_eq!(found[17].line, Some(18));
    assert_eq!(found[FAULTS_MAX - 1].detail, "6 more faults were found: correct these first");
    assert_eq!(found[FAULTS_MAX - 1].line, None);
}

#[test]
fn faults_of_the_whole_file_stand_beside_those_of_lines() {
    for body in ["", "\n \n", "\u{feff}\n"] {
        assert_eq!(faults(body)[0].detail, "the data set has no rows");
    }
    for name in ["", "foo", "dataset/", "dataset/Foo", "dataset/a/b", "puzzle/foo", "dataset/-a", "dataset/a b"] {
        let submission = Submission { name: Some(name.to_owned()), ..Submission::default() };
        let found = parse(&submission, b"x\n{\"prompt\":\"a\",\"answer\":1}").expect_err("faults");
        assert_eq!(found.len(), 2, "{name}");
        let words = if name.is_empty() { "has no name: give it with --name" } else { "is called dataset/" };
        assert!(found[0].detail.contains(words), "{name}");
    }
    let submission = Submission { verifier: Some(json!("nosuch")), ..submission() };
    let found = parse(&submission, b"{\"prompt\":\"a\",\"answer\":1}").expect_err("faults");
    assert_eq!((found.len(), found[0].line), (1, None));
    assert!(found[0].detail.contains("nosuch"));
    let header = r#"{"environment":"dataset/y","unknown":1}"#;
    assert_eq!(faults(format!("{header}\n{{\"prompt\":\"a\",\"answer\":1}}"))[0].line, Some(1));
}

#[test]
fn a_question_in_two_splits_names_both_lines() {
    let row = |split: &str| format!("{{\"prompt\":\"same\",\"answer\":1,\"split\":\"{split}\"}}\n");
    let found = faults(format!("{}{}{}", row("train"), row("train"), row("test")));
    assert_eq!(found.len(), 1, "twice in one split is fine");
    assert_eq!((found[0].line, found[0].field.as_deref()), (Some(3), Some("split")));
    assert!(found[0].detail.contains("\"train\" on line 1"));
}

#[test]
fn flags_go_before_the_header_and_rows_keep_their_order() {
    let body = r#"{"environment":"dataset/header","verifier":"exact","system":"from header","tags":["a"]}
{"prompt":"1","answer":"x","split":"test"}
{"prompt":"2","answer":"y"}
{"prompt":"3","answer":"z","split":"test"}"#;
    let parsed = parse(&Submission::default(), body.as_bytes()).expect("a data set");
    assert_eq!(parsed.name, "dataset/header");
    assert_eq!(parsed.splits(), BTreeMap::from([("test".to_owned(), 2), ("train".to_owned(), 1)]));
    assert_eq!(parsed.rows[0].1[1], json!({"prompt": "3", "answer": "z"}));
    assert_eq!(parsed.definition["system"], "from header");
    let flags = Submission {
        verifier: Some(json!(r#"{"name":"text"}"#)),
        system: Some("from flag".to_owned()),
        ..submission()
    };
    let overridden = parse(&flags, body.as_bytes()).expect("a data set");
    assert_eq!((overridden.name.as_str(), &overridden.definition["system"]), ("dataset/x", &json!("from flag")));
    assert_eq!(overridden.definition["verifier"], json!({"name": "text"}));
    assert_ne!(overridden.digest, parsed.digest);
}

#[test]
fn the_digest_names_the_content() {
    let digest = |body: &str| parse(&submission(), body.as_bytes()).expect("a data set").digest;
    let plain = digest(r#"{"prompt":"a","answer":1}"#);
    assert_eq!(digest("\n{ \"answer\" : 1, \"prompt\" : \"a\", \"split\" : \"train\" }\n\n"), plain);
    assert_ne!(digest(r#"{"prompt":"a","answer":2}"#), plain);
    assert_ne!(digest(r#"{"prompt":"a","answer":1,"split":"test"}"#), plain);
    assert_ne!(digest(r#"{"prompt":"a","answer":"1"}"#), plain);
}

#[test]
fn a_hundred_thousand_rows_take_seconds() {
    let mut body = String::new();
    for row in 0..100_000 {
        body.push_str(&format!(
            "{{\"prompt\":\"What is {row} + 1?\",\"answer\":{},\"verifier\":\"number\"}}\n",
            row + 1
        ));
    }
    let begun = Instant::now();
    let parsed = parse(&submission(), body.as_bytes()).expect("a data set");
    let elapsed = begun.elapsed();
    assert_eq!(parsed.rows[0].1.len(), 100_000);
    assert!(elapsed < Duration::from_secs(60), "{elapsed:?}");
}
