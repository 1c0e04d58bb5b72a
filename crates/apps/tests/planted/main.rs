//! Faults that are planted in sound apps, each of which the audit of the draws has to find, with the draw that shows it. A fault
//! is a few texts of a definition and what stands there instead.

mod proofs;
mod sound;
mod table;
mod texts;

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_apps::app::App;
use palestra_apps::check::{Effort, Report, check};

/// A definition.
#[derive(Debug, Clone, Copy)]
enum Base {
    Toolshed,
    Board,
    Parcels,
}

/// A fault that is planted.
struct Planted {
    base: Base,
    /// The template that it spoils.
    template: &'static str,
    /// Texts of the definition, and what stands there instead.
    changes: &'static [(&'static str, &'static str)],
    /// Kinds by which the audit may report it.
    kinds: &'static [&'static str],
}

const PLANTED_LEAST: usize = 30;

impl Base {
    const ALL: [Self; 3] = [Self::Toolshed, Self::Board, Self::Parcels];

    const fn text(self) -> &'static str {
        match self {
            Self::Toolshed => include_str!("../apps/toolshed/app.yaml"),
            Self::Board => include_str!("board.yaml"),
            Self::Parcels => include_str!("parcels.yaml"),
        }
    }

    /// More draws where more of them are thrown away, so that what is missing is no bad luck.
    const fn effort(self) -> Effort {
        let draws = if matches!(self, Self::Toolshed) { 600 } else { 200 };
        Effort { seeds: 3, calls: 50, draws }
    }

    fn with(self, changes: &[(&str, &str)]) -> String {
        changes.iter().fold(self.text().to_owned(), |text, (good, bad)| {
            assert_eq!(text.matches(good).count(), 1, "the place of the change is not clear: {good}");
            text.replacen(good, bad, 1)
        })
    }
}

fn load(text: String) -> Arc<App> {
    App::load(&BTreeMap::from([("app.yaml".to_owned(), text)])).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

fn audited(base: Base, changes: &[(&str, &str)]) -> Report {
    check(&load(base.with(changes)), base.effort())
}

#[test]
fn apps_without_a_fault_pass() {
    for base in Base::ALL {
        let report = audited(base, &[]);
        assert_eq!(report.failures, [""; 0], "{base:?}");
        for (template, figures) in &report.templates {
            assert_eq!(figures.draws.made, base.effort().draws, "{template}");
            assert!(figures.draws.looked_beside > 0, "{template}");
        }
    }
}

#[test]
fn sound_variants_pass() {
    for (base, changes) in sound::SOUND {
        let report = audited(*base, changes);
        assert_eq!(report.failures, [""; 0], "{changes:#?}");
    }
}

/// Every fault of a sort is found, with the draw that shows it.
fn find(sort: &str) {
    let (_, faults) = table::FAULTS
        .iter()
        .chain(texts::FAULTS)
        .chain(proofs::FAULTS)
        .find(|(known, _)| *known == sort)
        .expect("a sort of fault");
    let mut missed = Vec::new();
    for fault in *faults {
        let report = audited(fault.base, fault.changes);
        let found = report
            .findings
            .iter()
            .find(|finding| *finding.template == *fault.template && fault.kinds.contains(&finding.kind.word()));
        let Some(found) = found else {
            missed.push(format!("{:#?}\n{:#?}", fault.changes, report.failures));
            continue;
        };
        let failures = report.failures.iter().filter(|failure| failure.contains(&found.to_string())).count();
        assert_eq!(failures, 1, "{found}");
        // A value that is never drawn is in no draw.
        if found.kind.word() != "never_drawn" {
            let shown = found.shown.as_ref().unwrap_or_else(|| panic!("no draw shows {found}"));
            assert_eq!(*shown.template, *fault.template);
            assert!(!shown.parameters.is_empty(), "{found}");
        }
    }
    assert_eq!(missed, [""; 0], "{} of {} were missed", missed.len(), faults.len());
}

#[test]
fn thirty_faults_are_planted() {
    let faults = || table::FAULTS.iter().chain(texts::FAULTS);
    assert!(faults().map(|(_, faults)| faults.len()).sum::<usize>() >= PLANTED_LEAST);
    assert_eq!(faults().count(), 6);
}

#[test]
fn wrong_goals_are_found() {
    find("wrong goal");
}

#[test]
fn wrong_solutions_are_found() {
    find("wrong solution");
}

#[test]
fn ambiguous_references_are_found() {
    find("ambiguous reference");
}

#[test]
fn values_that_never_survive_are_found() {
    find("value that never survives");
}

#[test]
fn answers_that_the_text_does_not_hold_are_found() {
    find("answer that the text does not hold");
}

#[test]
fn conditions_that_hide_a_fault_are_found() {
    find("`require` that hides a fault");
}

#[test]
fn solutions_that_an_episode_s_luck_proves_are_found() {
    find("luck of an episode");
}

#[test]
fn refusals_without_a_reason_are_found() {
    find("refusal without a reason");
}

#[test]
fn tasks_that_are_called_impossible_and_can_be_done_are_found() {
    find("task that is called impossible and can be done");
}

#[test]
fn goals_that_hang_on_an_order_that_nothing_tells_are_found() {
    find("order that nothing tells");
}

#[test]
fn values_that_the_set_up_changes_are_found() {
    find("value that the set-up changes");
}

#[test]
fn rows_that_few_of_many_are_taken_for_are_found() {
    find("row among many");
}

#[test]
fn values_of_many_that_never_survive_are_found() {
    find("value of many that never survives");
}

#[test]
fn constants_of_all_solutions_that_no_text_tells_are_found() {
    find("constant that nothing tells");
}

#[test]
fn a_missing_solution_hides_nothing() {
    find("fault behind a missing solution");
}

#[test]
fn goals_that_are_wrong_where_a_condition_throws_away_are_found() {
    find("goal that is wrong where `require` throws away");
}

#[test]
fn answers_behind_the_set_up_are_found() {
    find("answer behind the set-up");
}

/// Goals that take another word, or a number on one side of what is told: mutants of the solution reach them.
#[test]
fn goals_that_take_more_than_is_told_are_found() {
    let takes_more: [(Base, &[(&str, &str)]); 2] = [
        (
            Base::Board,
            &[(
                "fields: {assignee: t.who, priority: t.priority}",
                "fields: {assignee: t.who, priority: {check: \"v == t.priority || v == 'high'\"}}",
            )],
        ),
        (
            Base::Toolshed,
            &[
                (
                    "due: \"add_days(init.today, t.days)\", fee: \"t.tool.day_fee * t.days\"}",
                    "due: {check: \"v <= add_days(init.today, t.days)\"}, fee: {check: \"v <= t.tool.day_fee * t.days\"}}",
                ),
                (
                    "fields: {balance: \"init(t.who).balance - t.tool.day_fee * t.days\"}",
                    "fields: {balance: {check: \"v >= init(t.who).balance - t.tool.day_fee * t.days\"}}",
                ),
            ],
        ),
    ];
    for (base, changes) in takes_more {
        let report = audited(base, changes);
        let passes = |failure: &String| failure.contains("a wrong solution passes");
        assert!(report.failures.iter().any(passes), "{changes:?}: {:#?}", report.failures);
    }
}

/// The draw that shows a fault is one that a session would be given: it is an error there, and never drawn again.
#[test]
fn a_faulty_draw_is_an_error_when_it_is_played() {
    let fault = &table::FAULTS[0].1[0];
    let app = load(fault.base.with(fault.changes));
    let shown =
        check(&app, fault.base.effort()).findings.into_iter().find_map(|finding| finding.shown).expect("a draw");
    let place = app.templates.iter().position(|template| *template.name == *shown.template).expect("its template");
    let drawn = palestra_apps::draw::draw(&app, place, &shown.split, shown.seed, &|_| true);
    let failures = drawn.expect_err("a fault").to_string();
    assert!(
        failures.contains("does not reach the goal") && failures.contains(&format!("seed {}", shown.seed)),
        "{failures}"
    );
    // As it was once: thrown away without a word.
    let before = palestra_apps::draw::draw_as_before(&app, place, &shown.split, shown.seed, &|_| true);
    assert!(before.expect("a later draw").attempt > 0);
}
