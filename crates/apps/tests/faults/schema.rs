//! The JSON Schema of definitions says what the reader takes: each of its parts is compared with the fields that the reader
//! lists where it meets one that it does not know.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::{GOOD, load};

type Words = BTreeSet<String>;
/// Text of the good app, and its replacement.
type Edit = (&'static str, &'static str);

/// A part of the schema, and edits of the good app that put the unknown field `zzz` into such a part.
const PARTS: &[(&str, &[Edit])] = &[
    ("table", &[("{id: \"M{4}\",", "{zzz: 1, id: \"M{4}\",")]),
    ("error", &[("tool_busy:   {", "tool_busy:   {zzz: 1, ")]),
    ("view", &[("{from: member, search", "{zzz: 1, from: member, search")]),
    ("children", &[("embed: {tool: [name],", "embed: {x: {zzz: 1, from: notice, by: loan},")]),
    ("guard", &[("{check: \"!member.blocked\"", "{zzz: 1, check: \"!member.blocked\"")]),
    ("action", &[("  overdue:\n", "  overdue:\n    zzz: 1\n")]),
    ("macro", &[("errors:\n", "macros: {m: {zzz: 1, effects: []}}\nerrors:\n")]),
    ("insert", &[("insert: {into: loan,", "insert: {zzz: 1, into: loan,")]),
    ("update", &[("update: {row: loan,", "update: {zzz: 1, row: loan,")]),
    ("delete", &[("cancel: {", "delete: {zzz: 1, row: loan, ")]),
    ("each", &[("- cancel: {key: loan.id}", "- {each: {zzz: 1, var: x, of: z}, do: []}")]),
    ("at", &[("at: {time", "at: {zzz: 1, time")]),
    ("cancel", &[("cancel: {", "cancel: {zzz: 1, ")]),
    ("call", &[("- cancel: {key: loan.id}", "- call: {zzz: 1, macro: m}")]),
    ("permission", &[("invariants:", "permissions: [{zzz: 1, table: tool}]\ninvariants:")]),
    ("rule", &[("invariants:", "rules: [{zzz: 1, id: a, text: b, enforce: both}]\ninvariants:")]),
    ("event", &[("invariants:", "world: [{zzz: 1, name: a, every: 1h, run: b}]\ninvariants:")]),
    (
        "draw",
        &[
            ("days: {int", "days: {zzz: 1, int"),
            ("days: {int: 2..7}", "days: {zzz: 1, choice: [a]}"),
            ("days: {int: 2..7}", "days: {zzz: 1, money: 2..7, currency: EUR}"),
            ("days: {int: 2..7}", "days: {zzz: 1, first: a, by: b}"),
            ("days: {int: 2..7}", "days: {zzz: 1, word: a}"),
        ],
    ),
    ("change", &[("{updated: t.tool,", "{zzz: 1, updated: t.tool,")]),
    ("answer", &[("answer: {status", "answer: {zzz: 1, status")]),
    ("goal", &[("goal: {changes", "goal: {zzz: 1, changes")]),
    ("milestone", &[("[{name: found,", "[{zzz: 1, name: found,")]),
    ("minefield", &[("[{name: wrong_person,", "[{zzz: 1, name: wrong_person,")]),
    ("submit", &[("submit: {status: ok", "submit: {zzz: 1, status: ok")]),
    (
        "task",
        &[("  lend_blocked:", "  other: {zzz: 1, text: [a], goal: {changes: []}, solution: []}\n  lend_blocked:")],
    ),
    ("screen", &[("{title: Tools,", "{zzz: 1, title: Tools,")]),
    ("dialog", &[("{detail: tool}", "{dialog: {zzz: 1, label: a, body: []}}")]),
];

/// Parts that are one of several: where such a part stands in the good app, and the values of the fields that tell which.
const CHOICES: &[(&str, &str, &[Edit])] = &[
    (
        "effect",
        "- cancel: {key: loan.id}",
        &[
            ("insert", "{into: a}"),
            ("update", "{row: a, set: {}}"),
            ("delete", "{row: a}"),
            ("each", "{var: x, of: z}, do: []"),
            ("if", "a, then: []"),
            ("let", "{}"),
            ("at", "{time: now, run: a}"),
            ("cancel", "{key: a}"),
            ("fail", "a"),
            ("call", "{macro: a}"),
        ],
    ),
    (
        "step",
        "- {submit: {status: ok}}",
        &[
            ("do", "a"),
            ("wait", "1h"),
            ("submit", "{status: ok}"),
            ("each", "{var: x, of: z}, do: []"),
            ("if", "a, then: []"),
        ],
    ),
    (
        "widget",
        "{detail: tool}",
        &[
            ("list", "a"),
            ("calendar", "a"),
            ("thread", "a"),
            ("grid", "a"),
            ("board", "a"),
            ("tree", "a"),
            ("search", "a"),
            ("filters", "a"),
            ("pager", "a"),
            ("detail", "a"),
            ("summary", "{}"),
            ("form", "a"),
            ("button", "a"),
            ("goto", "a"),
            ("banner", "a"),
            ("tabs", "{}"),
            ("steps", "{}"),
            ("dialog", "{label: a, body: []}"),
        ],
    ),
];

fn schema() -> Json {
    serde_json::from_str(include_str!("../../../../environments/app.schema.json")).expect("JSON")
}

/// The fields that the reader lists at the unknown field of an edited app.
fn read(find: &str, replace: &str) -> Words {
    assert_eq!(GOOD.matches(find).count(), 1, "{find}");
    let faults = load(&GOOD.replacen(find, replace, 1)).expect_err("an unknown field");
    let messages =
        faults.iter().find(|fault| fault.path.ends_with("zzz")).unwrap_or_else(|| panic!("{replace}: {faults:#?}"));
    let (_, known) = messages.message.split_once("known: ").expect("what is known");
    known.split(", ").map(str::to_owned).collect()
}

fn fields(part: &Json) -> Words {
    part["properties"].as_object().expect("properties").keys().cloned().collect()
}

#[test]
fn the_schema_has_the_fields_of_the_reader() {
    let schema = schema();
    assert_eq!(read("version: 1", "version: 1\nzzz: 1"), fields(&schema));
    for (part, edits) in PARTS {
        let known: Words = edits.iter().flat_map(|(find, replace)| read(find, replace)).collect();
        assert_eq!(known, fields(&schema["$defs"][part]), "{part}");
    }
}

#[test]
fn the_schema_has_the_choices_of_the_reader() {
    let schema = schema();
    for (part, find, choices) in CHOICES {
        let entries = schema["$defs"][part]["oneOf"].as_array().expect("choices");
        // The first required field tells which it is.
        let by_word: BTreeMap<&str, &Json> =
            entries.iter().map(|entry| (entry["required"][0].as_str().expect("a word"), entry)).collect();
        let words: Words = choices.iter().map(|(word, _)| (*word).to_owned()).collect();
        assert_eq!(words, by_word.keys().map(|word| (*word).to_owned()).collect(), "{part}");
        for (word, rest) in *choices {
            let dash = if find.starts_with('-') { "- " } else { "" };
            let known = read(find, &format!("{dash}{{zzz: 1, {word}: {rest}}}"));
            // While it looks for the word, the reader asks for those before it.
            let others: Words = known.difference(&words).cloned().collect();
            let written = fields(by_word[word]);
            assert_eq!(others, written.difference(&words).cloned().collect(), "{part} {word}");
            assert!(written.is_subset(&known), "{part} {word}");
        }
    }
}

#[test]
fn every_strict_part_of_the_schema_is_compared() {
    let schema = schema();
    let compared: Words = PARTS.iter().map(|(part, _)| (*part).to_owned()).collect();
    let defined = schema["$defs"].as_object().expect("parts").iter();
    let strict: Words =
        defined.filter(|(_, part)| part["additionalProperties"] == false).map(|(name, _)| name.clone()).collect();
    assert_eq!(compared, strict);
}

#[test]
fn the_schema_takes_as_many_variants_as_the_reader() {
    let most = schema()["properties"]["seed"]["properties"]["variants"]["maximum"].as_u64().expect("a number");
    let variants = |number: u64| load(&GOOD.replacen("seed:\n", &format!("seed:\n  variants: {number}\n"), 1));
    assert!(variants(most).is_ok());
    let faults = variants(most + 1).expect_err("too many");
    assert!(faults[0].message.contains(&format!("from 1 to {most}")), "{faults:#?}");
}
