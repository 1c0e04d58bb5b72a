//! Goals: what is compared, what is not, what it is worth, and that the state alone is enough to judge.

use std::sync::Arc;

use palestra_apps::app::App;
use palestra_apps::draw::draw;
use palestra_apps::task::episode::Episode;
use palestra_apps::task::instance::Instance;
use palestra_apps::task::verdict::Check;
use palestra_apps::task::verdict::{score, strict};
use serde_json::{Value as Json, json};

use super::{episode, id, instance, object, person};

/// Plays calls and judges: from the episode, and from its state, which must agree.
fn judged(episode: &mut Episode, calls: &[(&str, Json)]) -> Vec<Check> {
    for (name, arguments) in calls {
        episode.call(name, &object(arguments)).unwrap_or_else(|crash| panic!("{name}: {crash}"));
    }
    let checks = episode.judge().expect("a verdict");
    assert_eq!(episode.instance().judge(&episode.document()).expect("the same"), checks);
    checks
}

fn solved(episode: &mut Episode) -> Vec<(String, Json)> {
    let calls = episode.instance().solution().iter();
    calls.map(|call| (call.name.to_string(), Json::Object(call.arguments.clone()))).collect()
}

/// The checks after the calls of the solution, some of them changed, with further ones before the end.
fn with(more: &[(&str, Json)]) -> Vec<Check> {
    let mut episode = episode("repay");
    let mut calls = solved(&mut episode);
    let submit = calls.pop().expect("a submission");
    let calls: Vec<(&str, Json)> = calls
        .iter()
        .map(|(name, arguments)| (name.as_str(), arguments.clone()))
        .chain(more.iter().cloned())
        .chain([(submit.0.as_str(), submit.1.clone())])
        .collect();
    judged(&mut episode, &calls)
}

fn failed(checks: &[Check]) -> Vec<&str> {
    checks.iter().filter(|check| !check.passed).map(|check| check.name.as_str()).collect()
}

fn evidence<'c>(checks: &'c [Check], name: &str) -> &'c str {
    &checks.iter().find(|check| check.name == name).expect("the check").evidence
}

#[test]
fn a_solution_passes_with_all_milestones() {
    let checks = with(&[]);
    assert!(strict(&checks), "{checks:#?}");
    assert!((score(&checks) - 1.0).abs() < 1e-9);
    assert_eq!(evidence(&checks, "milestones"), "reached found, paid");
}

#[test]
fn nothing_done_is_worth_nothing() {
    let checks = judged(&mut episode("repay"), &[]);
    assert!(score(&checks).abs() < 1e-9, "{checks:#?}");
    let also = checks.iter().find(|check| check.name.starts_with("also")).expect("the check");
    assert!(also.passed && also.weight == 0.0, "what held at the beginning has no weight");
}

#[test]
fn other_changes_are_found_with_before_and_after() {
    let world = episode("repay");
    let gamma = id(world.world(), "project", "title", "Gamma mile");
    let checks = with(&[("close_all", json!({}))]);
    assert_eq!(failed(&checks), ["nothing else", "history"]);
    assert!(evidence(&checks, "nothing else").contains(".open was yes, is no"), "{checks:#?}");
    assert!((score(&checks) - 0.5).abs() < 1e-9, "side effects halve the score");
    assert!(strict(&with(&[("look", json!({"project": gamma}))])), "volatile columns are not compared");
    assert!(strict(&with(&[("raise", json!({"rises": []}))])), "a call that is refused changes nothing");
}

#[test]
fn changing_back_is_seen_by_a_strict_history() {
    let cem = person(episode("repay").world(), "Cem");
    let checks =
        with(&[("rename", json!({"person": cem, "name": "Max"})), ("rename", json!({"person": cem, "name": "Cem"}))]);
    assert_eq!(failed(&checks), ["history"]);
}

#[test]
fn rows_that_were_made_and_dropped_keep_their_numbers_in_the_state() {
    let mut twin = episode("repay");
    let mut first = twin.clone();
    let made = first.call("hire", &object(&json!({"name": "Max"}))).expect("hired").data["person"].clone();
    let calls: Vec<(&str, Json)> = vec![
        ("hire", json!({"name": "Max"})),
        ("hire", json!({"name": "Eve"})),
        ("drop_person", json!({"person": made})),
        ("hire", json!({"name": "Fay"})),
    ];
    let checks = judged(&mut twin, &calls);
    assert!(evidence(&checks, "created person").starts_with("1 of 1 created as wanted; 1 of 1"), "{checks:#?}");
    assert!(failed(&checks).contains(&"history") && failed(&checks).contains(&"minefields"));
    assert!(score(&checks).abs() < 1e-9, "a minefield leaves nothing");
}

#[test]
fn created_rows_are_matched_in_whatever_order_and_one_to_one() {
    let mut episode = episode("repay");
    let checks = judged(&mut episode, &[("hire", json!({"name": "Fay"})), ("hire", json!({"name": "Gus"}))]);
    assert_eq!(
        evidence(&checks, "created person").split("; ").take(2).collect::<Vec<_>>()[0],
        "0 of 1 created as wanted"
    );
    assert!(evidence(&checks, "created person").contains("is Gus, expected Eve"), "{checks:#?}");
    assert!(evidence(&checks, "nothing else").contains("1 other changes"), "{checks:#?}");
}

#[test]
fn the_answer_is_compared_slot_by_slot() {
    let mut right = episode("repay");
    let calls = solved(&mut right);
    let (_, submit) = calls.last().expect("a submission").clone();
    for (answers, passes) in [
        (submit["answers"].clone(), true),
        (json!({"left": "0.01"}), false),
        (json!({"left": null}), false),
        (json!({"other": "1.00"}), false),
        (json!({}), false),
    ] {
        let mut episode = episode("repay");
        let mut calls = calls.clone();
        calls.pop();
        for (name, arguments) in &calls {
            episode.call(name, &object(arguments)).expect("no crash");
        }
        let checks = judged(&mut episode, &[("submit", json!({"status": "ok", "answers": answers}))]);
        assert_eq!(failed(&checks).is_empty(), passes, "{answers}: {checks:#?}");
    }
    let mut refused = episode("repay");
    assert!(failed(&judged(&mut refused, &[("submit", json!({"status": "refused"}))])).contains(&"answer"));
}

#[test]
fn changes_by_events_are_not_counted_and_changes_of_them_are() {
    let mut waited = episode("repay");
    let calls = solved(&mut waited);
    waited.world_mut().wait(14_400).expect("time passes");
    let calls: Vec<(&str, Json)> = calls.iter().map(|(name, arguments)| (name.as_str(), arguments.clone())).collect();
    assert!(strict(&judged(&mut waited, &calls)));
    let by_itself = id(waited.world(), "note", "text", "by itself");
    assert!(by_itself.is_string());
    let mut meddled = episode("repay");
    meddled.world_mut().wait(14_400).expect("time passes");
    let alpha = id(meddled.world(), "project", "title", "Alpha road");
    let checks = judged(&mut meddled, &[("drop_project", json!({"project": alpha}))]);
    assert!(evidence(&checks, "nothing else").contains("note/"), "its notes are gone with it: {checks:#?}");
    assert!(failed(&checks).iter().any(|name| name.starts_with("also")));
}

#[test]
fn a_row_that_the_goal_needs_may_be_gone() {
    let mut episode = episode("repay");
    let (ada, cem) = (person(episode.world(), "Ada"), person(episode.world(), "Cem"));
    let alpha = id(episode.world(), "project", "title", "Alpha road");
    let checks = judged(
        &mut episode,
        &[
            ("pay", json!({"from": ada, "to": cem, "amount": "9.00"})),
            ("drop_project", json!({"project": alpha})),
            ("drop_person", json!({"person": ada})),
            ("submit", json!({"status": "ok", "answers": {"left": "1.00"}})),
        ],
    );
    assert!(failed(&checks).contains(&"updated t.payer") && failed(&checks).contains(&"answer.left"), "{checks:#?}");
    assert!(evidence(&checks, "answer.left").contains("cannot be worked out"));
}

#[test]
fn rows_that_are_owned_go_along_with_what_is_deleted() {
    let mut tidy = episode("tidy");
    let calls = solved(&mut tidy);
    let calls: Vec<(&str, Json)> = calls.iter().map(|(name, arguments)| (name.as_str(), arguments.clone())).collect();
    assert!(strict(&judged(&mut tidy, &calls)));
}

#[test]
fn tasks_follow_from_their_seed() {
    let (one, same, other) = (instance("repay", 3), instance("repay", 3), instance("repay", 4));
    assert_eq!((&one.text, one.data.document()), (&same.text, same.data.document()));
    let texts: std::collections::BTreeSet<String> = (0..20).map(|seed| instance("repay", seed).text.clone()).collect();
    assert!(texts.len() > 1 && !other.text.is_empty(), "{texts:?}");
}

#[test]
fn overrides_are_validated_and_judged_from_the_state() {
    let instance = instance("repay", 1);
    let data = Episode::overridden(&instance, &json!({"person": {"P-new": {"name": "Zoe"}}, "me": {"limit": 9}}))
        .expect("good overrides");
    let mut episode = Episode::begin_with(&instance, 1, data).expect("an episode");
    let document = episode.document().to_value();
    assert_eq!(
        document["data"]["person"]["P-new"],
        json!({"name": "Zoe", "money": "10.00", "salary": "1.00", "pin": "0000"})
    );
    assert_eq!(document["data"]["me"]["limit"], 9);
    let calls = solved(&mut episode);
    let calls: Vec<(&str, Json)> = calls.iter().map(|(name, arguments)| (name.as_str(), arguments.clone())).collect();
    assert!(strict(&judged(&mut episode, &calls)), "rows of the configuration are no difference");
    for (bad, pointer) in [
        (json!({"person": {"P-new": {"name": "Ada"}}}), "/person/P-new/name"),
        (json!({"person": {"P-new": {"name": "Zoe", "money": "-1.00"}}}), ""),
        (json!({"people": {}}), "/people"),
        (json!({"person": {"P-new": {"name": "Zoe", "age": 3}}}), "/person/P-new/age"),
        (json!({"project": {"J-new": {"title": "x", "lead": "P-none"}}}), "/project/J-new/lead"),
        (json!([]), ""),
    ] {
        let faults = Episode::overridden(&instance, &bad).expect_err("bad overrides");
        assert_eq!(faults[0].pointer, pointer, "{bad}");
    }
}

/// A club that lends tools: its second task is to refuse a member who is blocked.
fn blocked() -> Arc<Instance> {
    let files = [("app.yaml".to_owned(), include_str!("../apps/toolshed/app.yaml").to_owned())];
    let app = App::load(&files.into()).expect("a sound app");
    let place = app.templates.iter().position(|template| &*template.name == "lend_blocked").expect("the template");
    draw(&app, place, "test", 1, &|_| true).expect("a task")
}

#[test]
fn a_refusal_counts_as_a_whole_or_not_at_all() {
    let instance = blocked();
    let points = |submission: Json| {
        let mut episode = Episode::begin(&instance, 0).expect("an episode");
        score(&judged(&mut episode, &[("submit", submission)]))
    };
    let about = instance.solution().last().expect("a submission").arguments["about"].clone();
    assert!((points(json!({"status": "refused", "code": "blocked", "about": about})) - 1.0).abs() < f64::EPSILON);
    for guess in [
        json!({"status": "refused", "code": "blocked"}),
        json!({"status": "refused", "code": "tool_busy", "about": about}),
        json!({"status": "ok", "about": about}),
    ] {
        assert!(points(guess.clone()).abs() < f64::EPSILON, "{guess}");
    }
}

#[test]
fn a_task_that_a_configuration_took_the_sense_of_is_known() {
    let instance = blocked();
    let judged_from = |overrides: &Json| {
        let data = Episode::overridden(&instance, overrides).expect("good overrides");
        let episode = Episode::begin_with(&instance, 0, data).expect("an episode");
        instance.is_sound(&episode.document()).expect("a state")
    };
    assert!(judged_from(&json!({})), "nothing was changed");
    let who = instance.solution().last().expect("a submission").arguments["about"].as_str().expect("an id").to_owned();
    assert!(!judged_from(&json!({"member": {&who: null}})), "who the task is about is gone");
    let other = instance.data.document().to_value()["member"]
        .as_object()
        .and_then(|members| members.keys().find(|id| **id != who).cloned())
        .expect("another member");
    assert!(judged_from(&json!({"member": {other: {"balance": "77.00"}}})), "another member changes nothing");
}
