//! Files that are hostile as a whole: bombs, floods, and sections that stand in two of them.

use std::collections::BTreeMap;

use palestra_apps::app::App;
use palestra_apps::syntax::MAX_FAULTS;

use super::GOOD;

/// Messages about some files.
fn messages(files: &[(&str, &str)]) -> Vec<String> {
    let files: BTreeMap<String, String> =
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let faults = App::load(&files).expect_err("faults");
    assert!((1..=MAX_FAULTS).contains(&faults.len()), "{} faults", faults.len());
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn a_bomb_of_aliases_is_not_expanded() {
    let mut text = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
    for letter in 'b'..='z' {
        let before = char::from(letter as u8 - 1);
        text.push_str(&format!("{letter}: &{letter} [*{before}, *{before}, *{before}, *{before}, *{before}]\n"));
    }
    let messages = messages(&[("app.yaml", &text)]);
    assert_eq!(messages[0], "app.yaml:1:4: a: anchors are not supported: write the value out where it is used");
}

#[test]
fn nesting_and_size_are_bounded() {
    let deep = format!("tables: {}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(messages(&[("app.yaml", &deep)])[0].starts_with("app.yaml:1:"));
    let wide = format!("tags: [{}]", "x, ".repeat(400_000));
    assert!(messages(&[("app.yaml", &wide)])[0].starts_with("app.yaml:1:1: "));
    let long = format!("about: {}", "x".repeat(5 << 20));
    assert!(messages(&[("app.yaml", &long)])[0].starts_with("app.yaml:1:1: "));
    let mut many = GOOD.replacen("tables:\n", "TABLES", 1);
    let tables: String = (0..2_000).map(|number| format!("  t{number}: {{cols: {{a: int}}}}\n")).collect();
    many = many.replacen("TABLES", &format!("tables:\n{tables}"), 1);
    assert_eq!(messages(&[("app.yaml", &many)])[0], "app.yaml:6:3: tables: a section has at most 1000 entries");
}

#[test]
fn macros_that_call_each_other_many_times_are_not_expanded_without_end() {
    let mut macros = String::from("macros:\n");
    for level in 0..8 {
        let call = format!("{{call: {{macro: m{}}}}}, ", level + 1).repeat(50);
        macros.push_str(&format!("  m{level}: {{effects: [{call}]}}\n"));
    }
    macros.push_str("  m8: {effects: [{delete: {in: notice, as: x}}]}\n");
    let text = GOOD.replacen("errors:\n", &format!("{macros}errors:\n"), 1).replacen(
        "- cancel: {key: loan.id}",
        "- call: {macro: m0}",
        1,
    );
    let messages = messages(&[("app.yaml", &text)]);
    assert!(messages[0].ends_with("the macros of this definition make more than 10000 statements"), "{messages:#?}");
}

#[test]
fn a_definition_is_whole_and_says_everything_once() {
    assert_eq!(messages(&[("tasks.yaml", GOOD)]), ["app.yaml:1:1: the file `app.yaml` is missing: add it"]);
    assert_eq!(
        messages(&[("app.yaml", GOOD), ("more.yaml", "views:\n  tools: {from: tool}\n")]),
        ["more.yaml:2:3: views.tools: `tools` stands at app.yaml:20:3 too: leave one out"]
    );
    assert_eq!(
        messages(&[("app.yaml", GOOD), ("more.yaml", "version: 2\n")]),
        [
            "more.yaml:1:1: version: the section `version` stands at app.yaml:2:1 too: leave one out (only a map may be spread over files)"
        ]
    );
}

#[test]
fn a_flood_of_mistakes_is_told_in_part() {
    let invariants: String = (0..500).map(|number| format!("  - unknown_{number} > 0\n")).collect();
    let at = GOOD.find("invariants: [").expect("invariants");
    let end = GOOD[at..].find('\n').expect("a line") + at;
    let text = format!("{}invariants:\n{invariants}{}", &GOOD[..at], &GOOD[end + 1..]);
    assert_eq!(messages(&[("app.yaml", &text)]).len(), MAX_FAULTS);
}
