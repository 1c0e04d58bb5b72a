//! Mutants of a solution: each is wrong in one place, and no goal may be reached by any of them.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use serde_json::{Value as Json, json};

use super::random::RandomCalls;
use crate::app::goal::Free;
use crate::app::{Action, Callable, Parameter};
use crate::data::{ChangeKind, changes};
use crate::kinds::Type;
use crate::task::call::Call;
use crate::task::episode::Episode;
use crate::task::instance::Instance;

/// A solution with one mistake.
#[derive(Debug)]
pub(super) struct Mutant {
    /// The calls.
    pub(super) calls: Vec<Call>,
    /// The mistake, in words.
    pub(super) what: String,
}

/// Every mutant of a task's solution: a write left out or made twice, another row, amount, word or text in a write, another
/// answer, and one write too many.
pub(super) fn mutants(instance: &Arc<Instance>, random: &mut ChaCha8Rng) -> Vec<Mutant> {
    let solution = instance.solution();
    let mut mutants = Vec::new();
    let refused = refused(instance, solution);
    // A refused call does nothing, so that no mistake in it is one.
    for (place, call) in solution.iter().enumerate().filter(|(place, _)| !refused.contains(place)) {
        let Some(action) = action(instance, &call.name) else {
            if &*call.name == "submit" {
                mutants.extend(answers(instance, solution, place));
            }
            continue;
        };
        if !action.writes() {
            continue;
        }
        let mut left_out = solution.to_vec();
        left_out.remove(place);
        mutants.push(Mutant { calls: left_out, what: format!("without {}", show(call)) });
        let mut doubled = solution.to_vec();
        doubled.insert(place, call.clone());
        if changes_twice(instance, solution, place) {
            mutants.push(Mutant { calls: doubled, what: format!("twice {}", show(call)) });
        }
        for parameter in &action.parameters {
            let Some(given) = call.arguments.get(&*parameter.name) else { continue };
            for other in others(instance, parameter, given) {
                let mut calls = solution.to_vec();
                calls[place].arguments.insert(parameter.name.to_string(), other);
                if leads_elsewhere(instance, solution, &calls) {
                    mutants.push(Mutant { what: show(&calls[place]), calls });
                }
            }
        }
    }
    mutants.extend(one_more(instance, random));
    mutants
}

/// The places of the calls that are refused, which only solutions of fixed tasks have.
fn refused(instance: &Arc<Instance>, solution: &[Call]) -> Vec<usize> {
    let Ok(mut episode) = Episode::begin(instance, 0) else { return Vec::new() };
    let mut is_refused =
        |call: &Call| matches!(episode.call(&call.name, &call.arguments), Ok(reaction) if reaction.raised.is_some());
    solution.iter().enumerate().filter(|(_, call)| is_refused(call)).map(|(place, _)| place).collect()
}

fn action<'i>(instance: &'i Instance, name: &str) -> Option<&'i Action> {
    match instance.app.calls.get(name) {
        Some(Callable::Action(place)) => Some(&instance.app.actions[*place]),
        _ => None,
    }
}

fn show(call: &Call) -> String {
    format!("{} {}", call.name, Json::Object(call.arguments.clone()))
}

/// True if the second of two equal calls still changes something: one that fails or does nothing is no mistake.
fn changes_twice(instance: &Arc<Instance>, solution: &[Call], place: usize) -> bool {
    let Ok(mut episode) = Episode::begin(instance, 0) else { return false };
    for call in &solution[..=place] {
        if episode.call(&call.name, &call.arguments).is_err() {
            return false;
        }
    }
    let once = episode.world().data().document();
    let again = episode.call(&solution[place].name, &solution[place].arguments);
    again.is_ok_and(|reaction| reaction.raised.is_none()) && !episode.world().data().document().same(&once)
}

/// True if other calls end in other data: what makes no difference is no mistake.
fn leads_elsewhere(instance: &Arc<Instance>, solution: &[Call], calls: &[Call]) -> bool {
    let end = |calls: &[Call]| {
        let mut episode = Episode::begin(instance, 0).ok()?;
        for call in calls {
            episode.call(&call.name, &call.arguments).ok()?;
        }
        Some(episode.world().data().document())
    };
    match (end(solution), end(calls)) {
        (Some(right), Some(other)) => !right.same(&other),
        _ => false,
    }
}

/// Other values in place of the one that was given: the neighbours of a number, a time or a row on both sides, every other word of an
/// enum, and a list without its last.
fn others(instance: &Instance, parameter: &Parameter, given: &Json) -> Vec<Json> {
    let (kind, bounds) = (parameter.kind.present(), parameter.bounds);
    let near = |number: Option<i64>, step: i64| -> Vec<i64> {
        let within = |number: &i64| {
            bounds.least.is_none_or(|least| least <= *number) && bounds.most.is_none_or(|most| *number <= most)
        };
        let sides = |number: i64| [number.checked_add(step), number.checked_sub(step)];
        number.into_iter().flat_map(sides).flatten().filter(within).collect()
    };
    let all = |numbers: Vec<i64>, show: &dyn Fn(i64) -> Json| numbers.into_iter().map(show).collect();
    let amounts = |text: &str, digits: u8| {
        let amount = crate::amount::parse(text, digits).ok();
        all(near(amount, 1), &|amount| json!(crate::amount::show(amount, digits)))
    };
    match (kind, given) {
        (Type::Bool, Json::Bool(flag)) => vec![json!(!flag)],
        (Type::Int, Json::Number(number)) => all(near(number.as_i64(), 1), &Json::from),
        (Type::Money(currency), Json::String(text)) => amounts(text, crate::amount::minor_digits(currency)),
        (Type::Decimal(digits), Json::String(text)) => amounts(text, *digits),
        (Type::Enum(words), Json::String(word)) => {
            words.iter().filter(|other| ***other != **word).map(|other| json!(&**other)).collect()
        }
        (Type::Text, Json::String(_)) => vec![json!("zzz qqq")],
        (Type::Date, Json::String(text)) => {
            all(near(crate::calendar::parse_date(text), 1), &|day| json!(crate::calendar::show_date(day)))
        }
        (Type::Instant, Json::String(text)) => {
            let calendar = &instance.app.calendar;
            all(near(calendar.parse_instant(text), 1_800), &|time| json!(calendar.show_instant(time)))
        }
        (Type::Duration, Json::String(text)) => {
            let duration = crate::calendar::parse_duration(text);
            all(near(duration, 900), &|duration| json!(crate::calendar::show_duration(duration)))
        }
        (Type::Row(table), Json::String(id)) => {
            let data = &instance.data;
            let ids: Vec<&Arc<str>> = data.rows(*table).filter_map(|row| data.id(row)).collect();
            let Some(place) = ids.iter().position(|known| ***known == **id) else { return Vec::new() };
            let beside = [place.checked_add(1), place.checked_sub(1)].into_iter().flatten();
            beside.filter_map(|place| ids.get(place)).map(|id| json!(&***id)).collect()
        }
        (Type::List(_), Json::Array(values)) if !values.is_empty() => {
            vec![Json::Array(values[..values.len() - 1].to_vec())]
        }
        _ => Vec::new(),
    }
}

/// Other answers.
fn answers(instance: &Instance, solution: &[Call], place: usize) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    let Some(answer) = &instance.template().goal.answer else { return mutants };
    let mut push = |what: &str, change: &dyn Fn(&mut Call)| {
        let mut calls = solution.to_vec();
        change(&mut calls[place]);
        mutants.push(Mutant { what: format!("{what}: {}", show(&calls[place])), calls });
    };
    let other = if answer.status.word() == "ok" { "impossible" } else { "ok" };
    push("another status", &|call| {
        call.arguments.insert("status".to_owned(), json!(other));
    });
    if answer.code.is_some() {
        push("another code", &|call| {
            call.arguments.insert("code".to_owned(), json!("invalid_argument"));
        });
    }
    if solution[place].arguments.contains_key("about") {
        push("about something else", &|call| {
            call.arguments.insert("about".to_owned(), json!("zzz"));
        });
    }
    for (slot, _) in &answer.slots {
        push("another answer", &|call| {
            if let Some(Json::Object(answers)) = call.arguments.get_mut("answers") {
                answers.insert(slot.to_string(), json!("zzz 987654321"));
            }
        });
    }
    mutants
}

/// One write too many, before the end.
fn one_more(instance: &Arc<Instance>, random: &mut ChaCha8Rng) -> Option<Mutant> {
    /// Number of times that a random write is tried.
    const ATTEMPTS: usize = 60;
    let solution = instance.solution();
    let end = solution.iter().position(|call| &*call.name == "submit").unwrap_or(solution.len());
    let mut episode = Episode::begin(instance, 0).ok()?;
    for call in &solution[..end] {
        episode.call(&call.name, &call.arguments).ok()?;
    }
    let generator = RandomCalls::new(&instance.app);
    for _ in 0..ATTEMPTS {
        let call = generator.call(episode.world(), random)?;
        let mut after = episode.clone();
        if action(instance, &call.name).is_none_or(|action| !action.writes())
            || !matches!(after.call(&call.name, &call.arguments), Ok(reaction) if reaction.raised.is_none())
        {
            continue;
        }
        if matters(instance, &episode, &after) {
            let mut calls = solution.to_vec();
            calls.insert(end, call.clone());
            return Some(Mutant { calls, what: format!("one more: {}", show(&call)) });
        }
    }
    None
}

/// True if a change is one that goals compare at all: not of volatile columns, untracked tables, or what this goal frees.
fn matters(instance: &Instance, before: &Episode, after: &Episode) -> bool {
    let goal = &instance.template().goal;
    changes(before.world().data(), after.world().data()).iter().any(|change| {
        let table = instance.app.schema.table(change.row.table);
        let free = |free: &Free| goal.free.contains(free);
        if table.untracked || free(&Free::Table(change.row.table)) {
            return false;
        }
        match &change.kind {
            ChangeKind::Created => !free(&Free::Created(change.row.table)),
            ChangeKind::Deleted => true,
            ChangeKind::Updated { columns } => columns.iter().any(|(column, ..)| {
                !table.describe(*column).volatile && !free(&Free::Column(change.row.table, *column))
            }),
        }
    })
}
