//! Bad definitions: one mistake each in a good app, and every one is refused with its place and its reason.

mod files;
mod form;
mod names;
mod reach;
mod running;
mod schema;
mod tables;
mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_apps::app::App;
use palestra_apps::check::{Effort, check};
use palestra_apps::fault::Faults;

/// The text of the good app that is replaced, what stands there instead, and the fault that is told.
type Mistake = (&'static str, &'static str, &'static str);

const GOOD: &str = include_str!("../apps/toolshed/app.yaml");
const EFFORT: Effort = Effort { seeds: 2, calls: 200, draws: 60 };

fn load(text: &str) -> Result<Arc<App>, Faults> {
    App::load(&BTreeMap::from([("app.yaml".to_owned(), text.to_owned())]))
}

fn with((good, bad, _): &Mistake) -> String {
    assert_eq!(GOOD.matches(good).count(), 1, "the place of the mistake is not clear: {good}");
    GOOD.replacen(good, bad, 1)
}

fn refuse(mistakes: &[Mistake]) {
    for mistake in mistakes {
        let text = with(mistake);
        let faults = load(&text).err().unwrap_or_default();
        let messages: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert!(messages.iter().any(|fault| fault == mistake.2), "{}\n{messages:#?}", mistake.1);
        for fault in &faults {
            let line = text.lines().nth(fault.position.line as usize - 1).expect("the line is in the file");
            assert!(fault.position.column as usize <= line.chars().count() + 1, "{fault}");
        }
    }
}

#[test]
fn the_app_without_a_mistake_passes() {
    let app = load(GOOD).expect("no fault");
    let report = check(&app, EFFORT);
    assert_eq!(report.failures, [""; 0]);
    assert_eq!(report.templates.len(), 2);
}

#[test]
fn mistakes_of_form_are_told() {
    refuse(form::MISTAKES);
}

#[test]
fn mistakes_in_tables_and_seeds_are_told() {
    refuse(tables::MISTAKES);
}

#[test]
fn wrong_and_ambiguous_names_are_told() {
    refuse(names::MISTAKES);
}

#[test]
fn wrong_types_and_nulls_are_told() {
    refuse(types::MISTAKES);
}

#[test]
fn unreachable_endless_and_unsolvable_parts_are_told() {
    refuse(reach::MISTAKES);
}

#[test]
fn faults_that_show_when_the_app_runs_are_told_with_their_place() {
    for mistake in running::MISTAKES {
        let app = load(&with(mistake)).unwrap_or_else(|faults| panic!("{}\n{faults:#?}", mistake.1));
        let failures = check(&app, EFFORT).failures;
        // What a draw shows is followed by the draw.
        assert!(failures.iter().any(|failure| failure.starts_with(mistake.2)), "{}\n{failures:#?}", mistake.1);
    }
}
