//! Rules: which answers, with what inserted, and scripts that are refused.

use serde_json::{Value, json};

use super::{dialects, read, script};
use crate::conversation::Request;
use crate::script::{Finish, Script};

fn asked(messages: &Value, tools: &Value) -> Request {
    read(&*dialects()[0].1, &json!({"model": "m", "messages": messages, "tools": tools}))
}

/// Text and calls of the reply.
fn reply(script: &Script, request: &Request) -> (String, Vec<(String, String)>) {
    let (_, reply) = script.answer(request).expect("a rule fits");
    let calls = reply.message.calls.iter().map(|call| (call.tool.clone(), call.arguments.clone()));
    (reply.message.text(), calls.collect())
}

#[test]
fn the_first_rule_that_fits_answers() {
    let script = script(
        "- {turn: 1, text: second turn}\n\
         - {model: other, text: other model}\n\
         - {tool: add, last: ^use, text: with the tool}\n\
         - {any: secret, text: secret}\n\
         - text: otherwise",
    );
    let user = |text: &str| json!([{"role": "user", "content": text}]);
    let add = json!([{"type": "function", "function": {"name": "add"}}]);
    assert_eq!(reply(&script, &asked(&user("use"), &add)).0, "with the tool");
    assert_eq!(reply(&script, &asked(&user("do not use"), &add)).0, "otherwise");
    assert_eq!(reply(&script, &asked(&user("use"), &json!([]))).0, "otherwise");
    let later = json!([{"role": "system", "content": "a secret"}, {"role": "user", "content": "use"}]);
    assert_eq!(reply(&script, &asked(&later, &json!([]))).0, "secret");
    let turns = json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]);
    assert_eq!(reply(&script, &asked(&turns, &json!([]))).0, "second turn");
    let request = Request { model: "other".to_owned(), ..Request::default() };
    assert_eq!(reply(&script, &request).0, "other model");
    assert_eq!(script.models(), ["other"]);
}

#[test]
fn what_conditions_found_is_inserted() {
    let script = script(
        "- last: '(\\d+)\\+(?<second>\\d+)'\n\
         \x20 text: 'of {last}: {1}, {second}, {0}; {{1}} {\"a\": 1}'\n\
         \x20 calls:\n\
         \x20 - {tool: add, arguments: {b: '{second}', a: ['{1}', 2.0], c: null}}\n\
         \x20 - {tool: add, arguments: '{\"b\": {second}, \"a\": {1}}'}\n\
         \x20 - {tool: stop}",
    );
    let request = asked(&json!([{"role": "user", "content": "what is 3+4?"}]), &json!([]));
    let (text, calls) = reply(&script, &request);
    assert_eq!(text, "of what is 3+4?: 3, 4, 3+4; {1} {\"a\": 1}");
    let call = |tool: &str, arguments: &str| (tool.to_owned(), arguments.to_owned());
    let texts = call("add", r#"{"a":["3",2],"b":"4","c":null}"#);
    assert_eq!(calls, [texts, call("add", r#"{"a":3,"b":4}"#), call("stop", "{}")]);
    assert_eq!(script.answer(&request).expect("a reply").1.finish, Finish::ToolCalls);
}

#[test]
fn a_bad_script_is_refused_with_its_rule_and_what_to_do() {
    for (rules, told) in [
        ("- text: a\n- turn: 1\n", "test.yaml, rule 2: the reply is missing: write `text`"),
        ("- {text: a, status: 429}\n", "rule 1: a reply is never sent beside `status`, `bytes` or `hang`: remove"),
        ("- {status: 200}\n", "rule 1: `status` is 200: write one from 400 to 599"),
        ("- {text: a, retry_after: 1}\n", "rule 1: `retry_after` goes with an error: add `status`"),
        ("- {text: a, tokens_per_chunk: 0}\n", "rule 1: `tokens_per_chunk` is 0: write at least 1"),
        ("- {text: a, last: '('}\n", "rule 1: `last` is no regular expression"),
        ("- {text: 'a {1}', last: b}\n", "rule 1: `{1}` is no group of `last` or `any`: add the group, or write {{1}}"),
        ("- calls: [{tool: t, arguments: {a: ['{x}']}}]\n", "rule 1: `{x}` is no group"),
        ("- calls: [{tool: ''}]\n", "rule 1: a call has an empty `tool`: write the name of one"),
        ("- {txt: a}\n", "test.yaml is no script: unknown field `txt`"),
        ("- {text: a, finish: end}\n", "test.yaml is no script: unknown variant `end`"),
        ("  []\n", "test.yaml is no script: it has no rules; write rules"),
    ] {
        let error = Script::read(&format!("rules:\n{rules}"), "test.yaml").expect_err(rules).to_string();
        assert!(error.contains(told), "{rules}: {error}");
    }
    let header = Script::read("{policy_version: \"a\\nb\", rules: [{text: a}]}", "test.yaml")
        .expect_err("a line end")
        .to_string();
    assert!(header.contains("must be of printable ASCII characters"), "{header}");
    let missing = Script::load(std::path::Path::new("/nowhere/a.yaml")).expect_err("missing").to_string();
    assert!(missing.starts_with("the script /nowhere/a.yaml cannot be read"), "{missing}");
}
