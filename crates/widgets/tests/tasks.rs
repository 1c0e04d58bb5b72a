//! Every task without a browser: what is drawn is repeatable, differs by level and seed, and keeps what is wanted from the page.

use std::collections::{BTreeMap, BTreeSet};

use palestra_browser::action;
use palestra_widgets::{Draw, Level, Task, Wanted, Widget, all, document};
use serde_json::Value;

/// Seeds of each level that are drawn.
const SEEDS: u64 = 20;
/// Fewest different tasks of these seeds.
const DIFFERENT_MIN: usize = 6;

/// Every draw, with its name.
fn draws() -> impl Iterator<Item = (String, Widget, Level, u64)> {
    all().into_iter().flat_map(|widget| {
        Level::ALL.into_iter().flat_map(move |level| {
            (0..SEEDS).map(move |seed| (format!("{} {level:?} {seed}", widget.name), widget, level, seed))
        })
    })
}

fn task(widget: Widget, level: Level, seed: u64) -> Task {
    (widget.draw)(&mut Draw::new(level, seed))
}

/// All that an agent meets: the instruction, the page, its frames and files.
fn met(task: &Task) -> String {
    format!("{}\n{}\n{:?}\n{:?}", task.instruction, document(task), task.documents, task.files)
}

/// Parts of what is wanted that no page should hold as such: lists and objects of two or more. One name or number has to stand
/// among others.
fn answers(wanted: &Wanted) -> Vec<String> {
    match wanted {
        Wanted::Is(value) => match value {
            Value::Array(items) if items.len() > 1 => vec![value.to_string()],
            Value::Object(fields) if fields.len() > 1 => vec![value.to_string()],
            _ => Vec::new(),
        },
        Wanted::OneOf(values) => values.iter().flat_map(|value| answers(&Wanted::Is(value.clone()))).collect(),
        Wanted::Set(values) => answers(&Wanted::Is(Value::Array(values.clone()))),
        Wanted::Fields(fields) => fields.iter().flat_map(|(_, wanted)| answers(wanted)).collect(),
        Wanted::List(items) => items.iter().flat_map(answers).collect(),
        Wanted::Text(_) | Wanted::Near { .. } | Wanted::Path { .. } => Vec::new(),
    }
}

/// True if nothing that is wanted is null.
fn tells(wanted: &Wanted) -> bool {
    match wanted {
        Wanted::Is(value) => !value.is_null(),
        Wanted::OneOf(values) => !values.is_empty() && values.iter().all(|value| !value.is_null()),
        Wanted::Fields(fields) => !fields.is_empty() && fields.iter().all(|(_, wanted)| tells(wanted)),
        _ => true,
    }
}

#[test]
fn names_are_unique_and_well_formed() {
    let mut seen = BTreeSet::new();
    for widget in all() {
        let well_formed = widget.name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        assert!(well_formed && !widget.name.is_empty(), "{}", widget.name);
        assert!(widget.about.ends_with('.') && widget.about.len() > 10, "{}: {}", widget.name, widget.about);
        assert!(seen.insert(widget.name), "{} comes twice", widget.name);
    }
    assert!(seen.len() >= 100, "{} widgets", seen.len());
    println!("{} widgets", seen.len());
}

#[test]
fn the_same_draw_gives_the_same_task() {
    for (name, widget, level, seed) in draws() {
        let [one, other] = [0; 2].map(|_| format!("{:?}", task(widget, level, seed)));
        assert_eq!(one, other, "{name}");
    }
}

#[test]
fn tasks_say_what_to_do_and_can_be_played() {
    for (name, widget, level, seed) in draws() {
        let task = task(widget, level, seed);
        assert!(task.instruction.len() > 15 && task.instruction.ends_with('.'), "{name}: {}", task.instruction);
        assert!(!task.solution.is_empty(), "{name}");
        for call in &task.solution {
            assert!(action::parse(call).is_ok(), "{name}: {call}");
        }
        assert!(tells(&task.wanted), "{name}: {:?}", task.wanted);
        let checks = task.wanted.judge(None);
        assert!(!checks.is_empty() && checks.iter().all(|check| !check.passed), "{name}: nothing is right");
    }
}

#[test]
fn levels_and_seeds_differ() {
    let mut faults = Vec::new();
    let mut by_level: BTreeMap<(&str, Level), BTreeSet<String>> = BTreeMap::new();
    for (_, widget, level, seed) in draws() {
        by_level.entry((widget.name, level)).or_default().insert(met(&task(widget, level, seed)));
    }
    for widget in all() {
        for (at, level) in Level::ALL.into_iter().enumerate() {
            let tasks = &by_level[&(widget.name, level)];
            if tasks.len() < DIFFERENT_MIN {
                faults.push(format!("{} {level:?}: {} different tasks", widget.name, tasks.len()));
            }
            for lower in &Level::ALL[..at] {
                if !tasks.is_disjoint(&by_level[&(widget.name, *lower)]) {
                    faults.push(format!("{}: {lower:?} and {level:?} have tasks in common", widget.name));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_page_holds_its_answer() {
    let mut faults = Vec::new();
    for (name, widget, level, seed) in draws() {
        let task = task(widget, level, seed);
        let held = format!("{}\n{}\n{:?}", task.data, task.body, task.documents);
        for answer in answers(&task.wanted).into_iter().filter(|answer| held.contains(answer)) {
            faults.push(format!("{name}: {answer}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
