//! Fixed tasks and rows that are given as data: they keep their ids, are proven, and every fault names its line.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_apps::app::App;
use palestra_apps::check::{Effort, Report, check};
use palestra_apps::task::episode::Episode;
use palestra_apps::task::verdict::{Check, score, strict};
use serde_json::{Value as Json, json};

use super::object;

const SHOP: &str = r##"
app: corner
version: 1
tz: Europe/Paris
start: "2031-05-05T09:00"
tables:
  user:  {id: "user_{4}", cols: {name: text, balance: money USD, rate: dec 3}}
  order: {id: "#W{7}", cols: {user: ref user, state: enum pending cancelled sent = pending, total: money USD, note: opt text}}
  fee:   {id: "F{4}", cols: {order: ref order, amount: money USD, at: instant = now}}
errors:
  not_pending: {kind: conflict, text: "Order ${order.id} is ${order.state}.", field: order}
views:
  orders: {from: order, filter: [user, state]}
  users:  {from: user, search: [name]}
actions:
  cancel:
    params: {order: ref order, note: opt text}
    guards: [{check: "order.state == 'pending'", else: not_pending}]
    effects:
      - update: {row: order, set: {state: "'cancelled'", note: note}}
      - insert: {into: fee, set: {order: order, amount: "order.user.rate * order.total"}}
  send:
    params: {order: ref order}
    guards: [{check: "order.state == 'pending'", else: not_pending}]
    effects: [{update: {row: order, set: {state: "'sent'"}}}]
"##;

const DATA: &str = r##"{
  "user": {"mia_li_3668": {"name": "Mia Li", "balance": "10.00", "rate": "0.125"}, "user_123": {"name": "Noah", "balance": 0, "rate": 0.05}},
  "order": {
    "#W2378156": {"user": "user_123", "total": 20.5},
    "#W1": {"user": "mia_li_3668", "total": "4.00", "state": "sent"}
  }
}"##;

fn cancelling() -> Json {
    json!({
        "id": "retail-17", "split": "test", "text": "Noah wants order #W2378156 cancelled.",
        "goal": {"end": {"order": {"#W2378156": {"state": "cancelled"}}, "fee": {"new": {"order": "#W2378156", "amount": "1.03"}}},
                 "free": ["order.note"]},
        "solution": [
            {"tool": "orders", "arguments": {"user": "user_123"}},
            {"tool": "cancel", "arguments": {"order": "#W1"}},
            {"tool": "cancel", "arguments": {"order": "#W2378156"}},
        ],
    })
}

fn load_with(tasks: &str, data: &str) -> Result<Arc<App>, Vec<String>> {
    let files = [("app.yaml", SHOP), ("data.json", data), ("tasks.jsonl", tasks)];
    let files: BTreeMap<String, String> = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    App::load(&files).map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

fn load(tasks: &[Json]) -> Arc<App> {
    let lines: Vec<String> = tasks.iter().map(Json::to_string).collect();
    load_with(&lines.join("\n"), DATA).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

fn proven(tasks: &[Json]) -> Report {
    check(&load(tasks), Effort { seeds: 1, calls: 50, draws: 10 })
}

/// The cancelling task with another member of its goal.
fn with_goal(goal: &Json) -> Json {
    let mut task = cancelling();
    task["goal"] = goal.clone();
    task
}

fn judged(app: &Arc<App>, calls: &[(&str, Json)]) -> Vec<Check> {
    let instance = app.fixed[0].instance(app).unwrap_or_else(|fault| panic!("{fault}"));
    let mut episode = Episode::begin(&instance, 0).expect("an episode");
    for (name, arguments) in calls {
        episode.call(name, &object(arguments)).expect("no crash");
    }
    let checks = episode.judge().expect("a verdict");
    assert_eq!(instance.judge(&episode.document()).expect("the same verdict"), checks);
    checks
}

fn failed(checks: &[Check]) -> Vec<&str> {
    checks.iter().filter(|check| !check.passed).map(|check| check.name.as_str()).collect()
}

#[test]
fn a_fixed_task_is_proven_and_judged_by_its_own_ids() {
    let report = proven(&[cancelling()]);
    assert_eq!(report.failures, [""; 0]);
    let figures = report.fixed.expect("figures");
    assert_eq!((figures.tasks, figures.calls, figures.survivors), (1, 3, 0), "{:?}", report.notes);
    assert!(
        report.notes[0].starts_with("retail-17: the solution has a refused call 2, cancel: "),
        "{:?}",
        report.notes
    );

    let app = load(&[cancelling()]);
    let done = judged(&app, &[("cancel", json!({"order": "#W2378156", "note": "as asked"}))]);
    assert!(strict(&done), "{done:#?}");
    assert_eq!(done[0].name, "updated order/#W2378156");
    let nothing = judged(&app, &[]);
    assert!(score(&nothing).abs() < 1e-9, "{nothing:#?}");
    let other = judged(&app, &[("send", json!({"order": "#W2378156"}))]);
    assert!(score(&other).abs() < 1e-9, "{other:#?}");
}

#[test]
fn a_start_of_its_own_is_laid_over_the_initial_data() {
    let mut task = cancelling();
    task["start"] = json!({"order": {"#W1": {"state": "pending"}}, "user": {"user_123": {"rate": "1.000"}}});
    task["goal"]["end"] = json!({"order": {"#W2378156": {"state": "cancelled"}, "#W1": {"state": "cancelled"}},
                                 "fee": {"a": {"order": "#W2378156", "amount": "20.50"}, "b": {"order": "#W1", "amount": "0.50"}}});
    assert_eq!(proven(&[task]).failures, [""; 0]);
}

#[test]
fn a_goal_may_assert_alone_and_leave_the_rest_open_or_closed() {
    let asserts = json!(["by_id(order, '#W2378156')?.state == 'cancelled'"]);
    let open = with_goal(&json!({"changes": "any", "also": asserts}));
    assert_eq!(proven(std::slice::from_ref(&open)).failures, [""; 0]);
    let app = load(&[open]);
    let more = [("cancel", json!({"order": "#W2378156"})), ("send", json!({"order": "#W1"}))];
    assert!(strict(&judged(&app, &more)));

    let closed = with_goal(&json!({"also": asserts}));
    let report = proven(std::slice::from_ref(&closed));
    assert!(
        report.failures.len() == 1 && report.failures[0].contains("nothing else: 2 other changes"),
        "{:?}",
        report.failures
    );
    let freed = with_goal(&json!({"also": asserts, "free": ["order", "fee"]}));
    assert_eq!(proven(&[freed]).failures, [""; 0]);
}

#[test]
fn an_answer_alone_is_a_goal() {
    let mut task = with_goal(&json!({"answer": {"status": "ok", "slots": {"total": "20.50"}}}));
    task["solution"] = json!([{"tool": "submit", "arguments": {"status": "ok", "answers": {"total": 20.5}}}]);
    assert_eq!(proven(std::slice::from_ref(&task)).failures, [""; 0]);
    let checks = judged(&load(&[task]), &[("submit", json!({"status": "ok", "answers": {"total": 20}}))]);
    assert_eq!(failed(&checks), ["answer.total"]);
}

#[test]
fn what_is_not_proven_is_refused_at_its_line() {
    let mut misses = cancelling();
    misses["id"] = json!("misses");
    misses["solution"].as_array_mut().expect("calls").pop();
    let mut done = with_goal(&json!({"also": ["count(order) == 2"]}));
    done["id"] = json!("done");
    let mut idle = with_goal(&json!({"answer": {"status": "ok"}}));
    idle["id"] = json!("idle");
    idle["solution"] = json!([{"tool": "submit", "arguments": {"status": "ok"}}]);
    let mut nowhere = cancelling();
    (nowhere["id"], nowhere["start"]) = (json!("nowhere"), json!({"order": {"#W1": {"stat": "sent"}}}));
    let mut unchanged = with_goal(&json!({"end": {"order": {"#W1": {"state": "sent"}}}}));
    unchanged["id"] = json!("unchanged");
    let failures = proven(&[misses, done, idle, nowhere, unchanged]).failures;
    let expected = [
        "tasks.jsonl:1:1: misses: the solution does not reach the goal, correct one of them: updated order/#W2378156: order/#W2378156.state: was pending",
        "tasks.jsonl:2:1: done: the goal holds before anything is done: ask for a change, an answer or a call",
        "tasks.jsonl:3:1: idle: saying that it is done, and nothing else, reaches the goal",
        "tasks.jsonl:4:1: nowhere: start: /order/#W1/stat: there is no such column; expected user, state, total, note",
        "tasks.jsonl:5:1: unchanged: goal.end: the rows are so at the beginning already: name what changes",
    ];
    assert_eq!(failures.len(), expected.len(), "{failures:#?}");
    for (failure, expected) in failures.iter().zip(expected) {
        assert!(failure.starts_with(expected), "{failure}");
    }
}

#[test]
fn bad_lines_and_bad_rows_are_told_with_their_places() {
    let line = |change: &dyn Fn(&mut Json)| {
        let mut task = cancelling();
        change(&mut task);
        task.to_string()
    };
    for (text, expected) in [
        ("{\"id\": \"a\",}".to_owned(), "tasks.jsonl:1:12: the line is no JSON, correct it: trailing comma"),
        ("\n[1]".to_owned(), "tasks.jsonl:2:1: the field `id` is missing"),
        (line(&|task| task["id"] = json!(" a")), "tasks.jsonl:1:1: \" a\" is no id"),
        (
            line(&|task| task["txt"] = json!("a")),
            "tasks.jsonl:1:1: retail-17.txt: unknown field `txt`; did you mean `text`?",
        ),
        (line(&|task| task["split"] = json!("My Split")), "tasks.jsonl:1:1: retail-17.split: `My Split` is no name"),
        (line(&|task| task["goal"] = json!({})), "tasks.jsonl:1:1: retail-17.goal: this goal asks for nothing"),
        (
            line(&|task| task["goal"]["answer"] = json!({"status": "impossible", "about": "#W1"})),
            "tasks.jsonl:1:1: retail-17.goal.answer.about: is not written: of an impossible task",
        ),
        (
            line(&|task| task["goal"] = json!({"changes": "all"})),
            "tasks.jsonl:1:1: retail-17.goal.changes: expected one of any",
        ),
        (line(&|task| task["goal"]["also"] = json!(["count(ordr) > 1"])), "tasks.jsonl:1:1: retail-17.goal.also[0]: "),
        (
            line(&|task| task["solution"][1]["tool"] = json!("cancle")),
            "tasks.jsonl:1:1: retail-17.solution[1].tool: there is no tool `cancle`; did you mean `cancel`?",
        ),
        (
            line(&|task| task["solution"][1]["args"] = json!({})),
            "tasks.jsonl:1:1: retail-17.solution[1].args: unknown field `args`",
        ),
        (format!("{0}\n{0}", cancelling()), "tasks.jsonl:2:1: the id `retail-17` stands at tasks.jsonl:1:1 too"),
    ] {
        let faults = load_with(&text, DATA).expect_err("a fault");
        assert!(faults.iter().any(|fault| fault.starts_with(expected)), "{expected}\n{faults:#?}");
    }
    for (data, expected) in [
        ("{", "data.json:1:1: the file is no JSON, correct it: EOF"),
        ("[]", "data.json:1:1: the file must be a JSON object of tables"),
        (
            "{\"order\": {},\n \"order\": {}}",
            "data.json:2:13: the file is no JSON, correct it: an object has two members \"order\" at line 2 column 13",
        ),
    ] {
        let faults = load_with("", data).expect_err("a fault");
        assert!(faults.iter().any(|fault| fault.starts_with(expected)), "{expected}\n{faults:#?}");
    }
    let app = load_with("", r##"{"order": {"#W1": {"user": "nobody", "total": "1.00"}}}"##).expect("an app");
    let failures = check(&app, Effort { seeds: 1, calls: 1, draws: 1 }).failures;
    assert_eq!(
        failures,
        ["data.json:1:28: /order/#W1/user: there is no user with the id \"nobody\": name one that exists"]
    );
}
