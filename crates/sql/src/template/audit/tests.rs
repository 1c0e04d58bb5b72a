//! Drawing alone, with planted faults; what takes databases is tried in the suites.

use std::collections::BTreeMap;

use super::*;
use crate::template::Suite;

const ENVIRONMENT: &str = "
name: sql/small
description: Small.
kind: question
splits: {train: 3, test: 2}
";

fn report(template: &str) -> Report {
    let files = BTreeMap::from([
        ("environment.yaml".to_owned(), ENVIRONMENT.as_bytes().to_vec()),
        ("templates/one.yaml".to_owned(), template.as_bytes().to_vec()),
    ]);
    let suite = Suite::load(&files).expect("a suite");
    suite.drawn_often(&suite.templates[0], 200).expect("a report").0
}

fn template(parameters: &str) -> String {
    format!(
        "world: shop\ndifficulty: 0.2\nparameters:\n{parameters}\ninstruction: What ${{p}}?\ngold: SELECT name FROM customers WHERE city = ${{p}}\n"
    )
}

#[test]
fn every_value_is_counted_before_and_after() {
    let report = report(&template("  p: {choice: [a, b, c]}"));
    assert!(report.faults.is_empty(), "{report}");
    assert_eq!((report.draws, report.accepted, report.thrown()), (200, 200, 0.0));
    let spread = &report.parameters["p"];
    assert_eq!(spread.before, spread.after);
    assert_eq!(spread.after.values().sum::<u64>(), 200);
    assert_eq!(spread.after.len(), 3);
    assert!(report.to_string().contains("#0 a: "), "{report}");
}

#[test]
fn rejected_draws_are_counted_by_reason_and_bounded() {
    // Of the worlds of a split, some have a product of that price.
    let report = report(&template(
        "  p: {choice: [a]}\n  it: {row: {table: products, where: {price_cents: {least: 1999, most: 2001}}}}",
    ));
    let again: u64 = report.again.values().sum();
    assert!(again > 0, "{report}");
    assert!(report.again.keys().all(|reason| reason.contains("parameters.it: no row of products")), "{report}");
    assert!(
        report.faults.iter().any(|fault| fault.contains("thrown away") || fault.contains("nothing is drawn")),
        "{report}"
    );
}

#[test]
fn a_value_that_breaks_the_text_is_a_fault_at_once_with_its_draw() {
    let report = report(&template("  p: {choice: [a, b, c, d, e, f, g, h, i, j, k, l, {x: 1}]}"));
    let fault = report.faults.first().expect("a fault");
    assert!(fault.contains("named values") && fault.contains("seed "), "{report}");
    assert_eq!(report.again.len(), 0, "it is not drawn again: {report}");
}

#[test]
fn a_value_that_never_survives_is_a_fault() {
    // The template's own words say nothing of it: it is drawn, and a later parameter has nothing to draw from.
    let mut spread = Spread { can: ["a", "b"].map(str::to_owned).into(), ..Spread::default() };
    spread.before = BTreeMap::from([("a".to_owned(), 40), ("b".to_owned(), 60)]);
    spread.after = BTreeMap::from([("a".to_owned(), 40)]);
    let report =
        Report { accepted: 40, draws: 40, parameters: BTreeMap::from([("p".to_owned(), spread)]), ..Report::default() };
    let faults = shortcomings(&report);
    assert!(faults.iter().any(|fault| fault.contains("the value b never survives")), "{faults:?}");
}

#[test]
fn values_that_another_world_lacks_are_told() {
    let report = report(
        "
world: shop
difficulty: 0.2
others: 2
parameters:
  p: {column: {table: customers, column: city}}
instruction: Who lives in ${p}?
gold: SELECT name FROM customers WHERE city = ${p}
",
    );
    let spread = &report.parameters["p"];
    assert!(spread.offered > spread.common && spread.lost() > 0.0, "{report}");
}
