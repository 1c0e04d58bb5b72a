//! The tasks of somebody else's domain, with its own data and ids, as fixed tasks of the app.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_apps::app::App;
use palestra_apps::check::{Effort, check};
use palestra_apps::task::episode::Episode;
use palestra_apps::task::verdict::{score, strict};
use serde_json::{Map, Value, json};

use crate::calls::{ours, outcome};
use crate::import::{self, TABLES};
use crate::office::{files, load};
use crate::reference::{Reference, list, object, text};

/// The app with the reference's rows, and a fixed task for each of its tasks that changes something.
fn shop(reference: &Reference) -> Arc<App> {
    let start = import::document(reference, &reference.data);
    let tasks: Vec<String> = reference
        .tasks
        .iter()
        .filter(|task| !list(task, "state_patch").is_empty())
        .map(|task| {
            let scenario =
                reference.scenarios.iter().find(|scenario| scenario["id"] == task["task"]).expect("its words");
            // Those whom nothing touches have no part in the difference.
            let touched = reference.touched(&task["state_patch"]);
            let before = import::document(reference, &reference.of_users(&touched));
            let end = import::document(reference, &reference.patched(&touched, &task["state_patch"]));
            let calls = list(task, "calls").iter().map(|call| {
                let (name, arguments, _) = outcome(call);
                let ours = ours(name, arguments);
                json!({"tool": ours.name, "arguments": ours.arguments})
            });
            // The reference does not keep which new item of an exchange goes with which old one.
            let free = ["handover", "order_item.options", "exchange_line.new"];
            json!({
                "id": task["task"], "split": "retail", "text": scenario["user_scenario"]["instructions"].to_string(),
                "goal": {"end": patch(&before, &end), "free": free}, "solution": calls.collect::<Value>(),
            })
            .to_string()
        })
        .collect();
    let mut files: BTreeMap<String, String> = files();
    files.retain(|name, _| name != "seed.yaml" && name != "tasks.yaml");
    // The rules of our own tasks, which other people's solutions need not follow.
    let app = files.get_mut("app.yaml").expect("the app");
    let (rules, world) = (app.find("\nrules:").expect("rules"), app.find("\nworld:").expect("what goes on"));
    app.replace_range(rules..world, "");
    files.insert("data.json".to_owned(), start.to_string());
    files.insert("tasks.jsonl".to_owned(), tasks.join("\n"));
    load(&files)
}

/// The rows that differ, with the columns that do.
fn patch(start: &Value, end: &Value) -> Value {
    let mut patch = Map::new();
    for table in TABLES {
        let (old, new) = (object(&start[table]), object(&end[table]));
        let mut rows: Map<String, Value> =
            old.keys().filter(|id| !new.contains_key(*id)).map(|id| (id.clone(), Value::Null)).collect();
        for (id, row) in new.iter().filter(|(id, row)| old.get(*id) != Some(row)) {
            let columns =
                object(row).iter().filter(|(name, value)| old.get(id).is_none_or(|old| old[*name] != **value));
            rows.insert(id.clone(), columns.map(|(name, value)| (name.clone(), value.clone())).collect());
        }
        if !rows.is_empty() {
            patch.insert(table.to_owned(), Value::Object(rows));
        }
    }
    Value::Object(patch)
}

#[test]
fn the_tasks_of_the_reference_load_as_fixed_tasks_and_are_proven() {
    for reference in Reference::all() {
        let app = shop(&reference);
        let report = check(&app, Effort { seeds: 1, calls: 50, draws: 1 });
        assert_eq!(report.failures, [""; 0], "{:#?}", report.notes);
        let figures = report.fixed.expect("figures");
        assert_eq!(figures.tasks, app.fixed.len() as u64);
        if reference.tasks.len() > 100 {
            assert!(figures.tasks >= 100, "{} of {} tasks change something", figures.tasks, reference.tasks.len());
        } else {
            assert!(figures.tasks >= 3, "{} tasks of our own", figures.tasks);
        }
        assert!(figures.mutants > figures.tasks && figures.null < 0.05, "{figures:?}");
    }
}

#[test]
fn an_end_that_differs_from_the_reference_is_no_solution() {
    for reference in Reference::all() {
        let app = shop(&reference);
        let instances: Vec<_> = app.fixed.iter().map(|task| task.instance(&app).expect("a task")).collect();
        let pairs = app.fixed.iter().zip(&instances).zip(app.fixed.iter().zip(&instances).skip(1));
        for ((task, instance), (_, other)) in pairs.filter(|((task, _), (other, _))| task.end != other.end) {
            let mut episode = Episode::begin(instance, 0).expect("an episode");
            for call in other.solution() {
                episode.call(&call.name, &call.arguments).expect("no crash");
            }
            let checks = episode.judge().expect("a verdict");
            assert!(!strict(&checks) && score(&checks) < 1.0, "{}: {checks:#?}", task.id);
            assert_eq!(instance.judge(&episode.document()).expect("the same verdict"), checks);
        }
        let named = |id: &str| reference.tasks.iter().any(|task| text(task, "task") == id);
        assert!(app.fixed.iter().all(|task| named(&task.id)), "tasks keep the ids of their author");
    }
}
