//! The shortest way to the goal of a task, and what to read on the way.
//!
//! The search tries what the task speaks of: its rows, those that they refer to or own, and its values. It first keeps to
//! states that differ from the beginning only in what the goal lists, then to none. An answer is what the goal expects.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::Options;
use super::search::Search;
use crate::app::{Role, RowSelection, View};
use crate::kinds::Type;
use crate::run::World;
use crate::task::call::Call;
use crate::task::episode::Episode;
use crate::task::instance::Instance;
use crate::task::outcome::Rule;
use crate::task::solve::replay;
use crate::task::subject::GoalSubject;
use crate::task::trace::{is_told, untraced};
use crate::value::{RowKey, Value};

/// Rows owned by one row that are tried.
const OWNED_MAX: usize = 4;
/// Look-ups that are put in front of the calls of a way.
const LOOKUPS_MAX: usize = 12;
/// Calls of views that are tried for one look-up.
const READS_MAX: usize = 60;

/// The calls that reach the goal of a task, with the reading that tells what they use as far as it was found, and the
/// submission; none if there is no way within the bounds. No way with fewer actions was found among those that the search
/// tries.
#[must_use]
pub fn solve(instance: &Arc<Instance>, options: Options) -> Option<Vec<Call>> {
    let start = World::begin(instance.beginning(0, instance.data.clone())).ok()?;
    [true, false].into_iter().find_map(|straight| {
        let subject = GoalSubject::of(instance, &start);
        let mut search = Search::new(&instance.app, options, Some((instance, GoalSubject::default())));
        search.alphabet.lean = true;
        search.alphabet.add_rows(about(&subject, &start));
        search.alphabet.values.clone_from(&subject.values);
        search.actions.retain(|(action, role)| *role == Role::AGENT && instance.app.actions[*action].writes());
        search.task = Some((instance, subject));
        search.until_goal = true;
        search.straight = straight;
        let found = search.run(start.clone());
        let (state, submission) = found.goal.as_ref()?;
        let mut calls = found.path(*state);
        calls.push(submission.clone());
        Some(with_reading(instance, calls))
    })
}

/// The rows that a task is about, with those that they refer to and that they own.
pub(super) fn about(subject: &GoalSubject, world: &World) -> Vec<RowKey> {
    let data = world.data();
    let mut rows = subject.rows.clone();
    for row in &subject.rows {
        let refers = data.row(*row).into_iter().flat_map(|row| row.cells.iter());
        rows.extend(refers.filter_map(|value| if let Value::Row(other) = value { Some(*other) } else { None }));
        let value = Value::Row(*row);
        for (table, column) in data.schema().referrers(row.table) {
            if data.schema().table(*table).owner == Some(*column) {
                rows.extend(data.matching(*table, *column, &value).take(OWNED_MAX));
            }
        }
    }
    rows
}

/// The same calls with reading in front of those whose arguments nothing has told yet, as far as views tell them.
fn with_reading(instance: &Arc<Instance>, calls: Vec<Call>) -> Vec<Call> {
    let mut calls = calls;
    for _ in 0..LOOKUPS_MAX {
        let Some(played) = Episode::begin(instance, 0).ok().and_then(|start| replay(start, calls.clone()).ok()) else {
            break;
        };
        let Some(missing) = untraced(instance, &played.calls, Rule::Before) else { break };
        let before =
            Episode::begin(instance, 0).ok().and_then(|start| replay(start, calls[..missing.call].to_vec()).ok());
        let Some(read) = before.and_then(|before| lookup(instance, before.episode.world(), &missing.text)) else {
            break;
        };
        calls.insert(missing.call, read);
    }
    calls
}

/// A call of a view that answers a text, with arguments that are known.
fn lookup(instance: &Instance, world: &World, text: &str) -> Option<Call> {
    let app = &instance.app;
    let mut tried = 0;
    // Looking for words first: what a page shows may be one of many.
    let mut calls: Vec<Call> = Vec::new();
    for view in app.views.iter().filter(|view| view.who.contains(&Role::AGENT)) {
        calls.extend(reads(instance, world, view));
    }
    calls.sort_by_key(|call| std::cmp::Reverse(call.arguments.len()));
    calls.into_iter().find(|call| {
        tried += 1;
        let answer = world.clone().call(Role::AGENT, &call.name, &call.arguments);
        tried <= READS_MAX && answer.is_ok_and(|reply| mentions(&reply.json, text))
    })
}

/// Calls of a view with arguments that the task tells.
fn reads(instance: &Instance, world: &World, view: &View) -> Vec<Call> {
    let call = |arguments: Map<String, Json>| Call { name: Arc::clone(&view.name), arguments };
    let data = world.data();
    let told_rows = |kind: &Type| -> Vec<Json> {
        let Type::Row(table) = kind.present() else { return Vec::new() };
        let rows =
            instance.values.iter().filter_map(|value| if let Value::Row(row) = value { Some(*row) } else { None });
        let ids = rows.filter(|row| row.table == *table).filter_map(|row| data.id(row));
        ids.filter(|id| is_told(instance, id)).map(|id| json!(&**id)).collect()
    };
    let mut own: Map<String, Json> = Map::new();
    for parameter in view.parameters.iter().filter(|parameter| parameter.required()) {
        match told_rows(&parameter.kind).into_iter().next() {
            Some(id) => own.insert(parameter.name.to_string(), id),
            None => return Vec::new(),
        };
    }
    if matches!(view.rows, RowSelection::One(_)) {
        return told_rows(&Type::Row(view.table))
            .into_iter()
            .map(|id| call(own.clone().into_iter().chain([("id".to_owned(), id)]).collect()))
            .collect();
    }
    let mut calls = vec![call(own.clone())];
    if !view.search.is_empty() {
        let mut words: BTreeMap<&str, ()> = BTreeMap::new();
        for value in &instance.values {
            let Value::Row(row) = value else { continue };
            let cells = data.row(*row).into_iter().flat_map(|row| row.cells.iter());
            words
                .extend(cells.filter_map(|cell| if let Value::Text(text) = cell { Some((&**text, ())) } else { None }));
        }
        let told = words.into_keys().filter(|text| !text.is_empty() && is_told(instance, text));
        calls.extend(
            told.map(|text| call(own.clone().into_iter().chain([("search".to_owned(), json!(text))]).collect())),
        );
    }
    calls
}

/// True if a text stands in an answer.
fn mentions(answer: &Json, text: &str) -> bool {
    match answer {
        Json::String(found) => found.to_lowercase().contains(&text.to_lowercase()),
        Json::Array(values) => values.iter().any(|value| mentions(value, text)),
        Json::Object(members) => members.values().any(|value| mentions(value, text)),
        _ => false,
    }
}
