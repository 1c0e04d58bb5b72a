//! Explorations of small apps with known mistakes, and of the worked example.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::*;
use crate::draw::draw;
use crate::task::call::Call;
use crate::task::draw_key::propose;
use crate::task::episode::Episode;
use crate::task::verdict::strict;

/// A depot with one mistake of every sort.
const DEPOT: &str = include_str!("../../tests/apps/depot/app.yaml");
const TOOLSHED: &str = include_str!("../../tests/apps/toolshed/app.yaml");

const SMALL: Options =
    Options { states_max: 1_000, depth_max: 12, created_max: 1, calls_max: 40_000, arguments_max: 64, survey: 150 };

fn load(text: &str) -> Arc<App> {
    App::load(&BTreeMap::from([("app.yaml".to_owned(), text.to_owned())])).expect("a definition without faults")
}

fn names(calls: &[Call]) -> Vec<&str> {
    calls.iter().map(|call| &*call.name).collect()
}

fn template(app: &App, name: &str) -> usize {
    app.templates.iter().position(|template| *template.name == *name).expect("a template")
}

#[test]
fn every_mistake_of_the_depot_is_found_and_nothing_else() {
    let found = explore(&load(DEPOT), SMALL).expect("an exploration");
    assert!(found.complete, "{:?}", found.cut);
    let dead: Vec<(&str, usize, &str)> =
        found.guards_never_failing.iter().map(|(action, number, code)| (&**action, *number, &**code)).collect();
    assert_eq!(dead, [("expire", 1, "over"), ("seal", 2, "not_open")]);
    assert_eq!(found.actions_never_succeeding, [Arc::from("burn")]);
    assert_eq!(found.codes_never_raised, [Arc::from("not_open"), Arc::from("over")]);
    let breaches: Vec<(&str, Vec<&str>)> =
        found.breaches.iter().map(|breach| (&*breach.invariant, names(&breach.calls))).collect();
    assert_eq!(breaches, [("all(crate, c, c.weight <= 10)", vec!["load", "load"])]);
    assert!(found.crashes.is_empty(), "{:?}", found.crashes);
    assert!(found.actions["expire"].succeeded > 0, "what is due happens: {:?}", found.actions["expire"]);
}

#[test]
fn a_goal_that_cannot_be_reached_is_told_from_those_that_can() {
    let found = explore(&load(DEPOT), SMALL).expect("an exploration");
    assert!(found.goals["melt"].way.is_none() && found.goals["melt"].refused.is_none());
    let way = found.goals["seal_one"].way.as_ref().expect("a way");
    assert_eq!(names(way), ["crates", "seal", "submit"]);
    let way = found.goals["expired"].way.as_ref().expect("a way that needs time to pass");
    assert_eq!(names(way).last(), Some(&"submit"));
    assert!(names(way).contains(&"wait"), "{way:?}");
}

#[test]
fn states_from_which_the_goal_is_lost_are_told_with_the_call_that_lost_it() {
    let app = load(DEPOT);
    let found = explore_task(&app, template(&app, "load_one"), 0, SMALL).expect("an exploration");
    let goal = &found.goals["load_one"];
    assert!(goal.traps.is_some_and(|traps| traps > 0) && goal.way.is_some());
    let lost: Vec<Vec<&str>> = goal.into_traps.iter().map(|trap| names(&trap.calls)).collect();
    assert!(lost.contains(&vec!["seal"]), "a crate that is sealed is never loaded again: {lost:?}");
    let instance = propose(&app, template(&app, "load_one"), SPLIT, 0).expect("a task");
    for trap in goal.into_traps.iter().filter(|trap| names(&trap.calls) == ["seal"]) {
        let mut calls = trap.calls.clone();
        calls.extend(goal.way.clone().expect("a way"));
        assert!(!reaches(&instance, &calls), "a trap was none: {calls:?}");
    }
}

fn reaches(instance: &Arc<crate::task::instance::Instance>, calls: &[Call]) -> bool {
    let mut episode = Episode::begin(instance, 0).expect("a beginning");
    for call in calls {
        episode.call(&call.name, &call.arguments).expect("a sound definition");
    }
    strict(&episode.judge().expect("a verdict"))
}

#[test]
fn ways_that_were_found_reach_their_goals_when_they_are_played() {
    for text in [DEPOT, TOOLSHED] {
        let app = load(text);
        for (place, template) in app.templates.iter().enumerate().filter(|(_, template)| &*template.name != "melt") {
            for seed in 0..3 {
                let instance = propose(&app, place, "train", seed).expect("a task");
                let way = solve(&instance, Options::SOLVE).expect("a way");
                assert!(reaches(&instance, &way), "{} {seed}: {way:?}", template.name);
            }
        }
    }
}

#[test]
fn a_way_is_not_longer_than_the_solution_that_was_written() {
    let app = load(TOOLSHED);
    for seed in 0..3 {
        let instance = draw(&app, template(&app, "lend_cheapest"), "train", seed, &|_| true).expect("a task");
        let writes = |calls: &[Call]| calls.iter().filter(|call| &*call.name == "lend").count();
        let way = solve(&instance, Options::SOLVE).expect("a way");
        assert_eq!(writes(&way), writes(instance.solution()));
        let lend = |calls: &[Call]| calls.iter().find(|call| &*call.name == "lend").cloned();
        assert_eq!(lend(&way), lend(instance.solution()));
    }
}

#[test]
fn a_task_without_a_solution_is_drawn_with_a_way_and_refused_without_one() {
    let app = load(DEPOT);
    let instance = draw(&app, template(&app, "load_one"), "train", 1, &|_| true).expect("a task");
    assert!(reaches(&instance, instance.solution()));
    let refused = draw(&app, template(&app, "melt"), "train", 1, &|_| true).expect_err("there is no way").to_string();
    assert!(refused.contains("no way to the goal was found"), "{refused}");
}

#[test]
fn an_exploration_stays_within_its_bounds_and_says_which_it_met() {
    let app = load(TOOLSHED);
    let found = explore(&app, Options { states_max: 5, ..SMALL }).expect("an exploration");
    assert!(found.states <= 5 && found.cut.states && !found.complete);
    let found = explore(&app, Options { depth_max: 1, ..SMALL }).expect("an exploration");
    assert!(found.depth == 1 && found.cut.depth && !found.complete);
    let found = explore(&app, Options { calls_max: 100, ..SMALL }).expect("an exploration");
    assert!(found.cut.calls && !found.complete);
    let found = explore(&app, Options { created_max: 0, ..SMALL }).expect("an exploration");
    assert!(found.cut.created && found.actions["give_back"].succeeded == 0);
}

#[test]
fn the_worked_example_is_explored_as_a_whole_and_twice_alike() {
    let app = load(TOOLSHED);
    let found = explore(&app, SMALL).expect("an exploration");
    assert!(found.complete, "{:?} after {} states and {} calls", found.cut, found.states, found.calls);
    assert!(found.guards_never_failing.is_empty(), "{:?}", found.guards_never_failing);
    assert!(found.actions_never_succeeding.is_empty() && found.codes_never_raised.is_empty());
    assert!(found.breaches.is_empty() && found.crashes.is_empty());
    assert!(found.goals.values().all(|goal| goal.way.is_some()));
    let again = explore(&load(TOOLSHED), SMALL).expect("an exploration");
    let json = |found: &Exploration| serde_json::to_value(found).expect("JSON");
    assert_eq!(json(&found), json(&again));
    assert_eq!(dot(&found), dot(&again));
}

#[test]
fn states_that_differ_in_the_order_of_two_calls_are_one() {
    let app = load(DEPOT);
    let data = crate::run::database(&app, 0).expect("data").clone();
    let start = World::begin(Arc::new(Beginning::free(Arc::clone(&app), data, 0))).expect("a beginning");
    let identity = identity::Identity::new(&app, None);
    let table = app.schema.find("crate").expect("a table");
    let ids: Vec<String> =
        start.data().rows(table).filter_map(|row| start.data().id(row)).map(ToString::to_string).collect();
    let after = |order: &[&str]| {
        let mut world = start.clone();
        for id in order {
            let arguments = json!({"crate": id});
            let Json::Object(arguments) = arguments else { unreachable!("an object was written") };
            world.call(Role::AGENT, "tag", &arguments).expect("a tag");
        }
        identity.see(&world).digest
    };
    assert_eq!(after(&[&ids[0], &ids[1]]), after(&[&ids[1], &ids[0]]));
    assert_ne!(after(&[&ids[0]]), after(&[&ids[1]]));
    assert_ne!(after(&[&ids[0]]), after(&[&ids[0], &ids[1]]));
}

#[test]
fn the_graph_is_written_for_graphviz() {
    let app = load(DEPOT);
    let found =
        explore_task(&app, template(&app, "seal_one"), 0, Options { depth_max: 1, ..SMALL }).expect("an exploration");
    let text = dot(&found);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines[2]), ("digraph \"depot\" {", "  0 [shape=box];"));
    assert_eq!(lines.last(), Some(&"}"));
    assert!(lines.iter().any(|line| line.contains("shape=doublecircle")), "{text}");
    let moves: Vec<&&str> = lines.iter().filter(|line| line.contains(" -> ")).collect();
    assert_eq!(moves.len(), found.moves);
    assert!(moves.iter().any(|line| line.starts_with("  0 -> 1 [label=\"")), "{text}");
}
