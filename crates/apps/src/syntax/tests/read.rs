//! The strict reader: every fault with its place, in one go.

use std::fmt::Debug;

use super::messages;
use crate::syntax::MAX_FAULTS;
use crate::syntax::read::{At, read};
use crate::syntax::source::Source;
use crate::syntax::yaml::parse;

fn run<T>(text: &str, reader: impl FnOnce(&At<'static>) -> Option<T>) -> Result<T, Vec<String>> {
    let root = Box::leak(Box::new(parse("a.yaml", text).expect("nodes")));
    read(root, reader).map_err(|faults| messages(&faults))
}

/// Asserts that a reader gives nothing and notes one fault.
#[track_caller]
fn refused<T: Debug>(text: &str, reader: impl FnOnce(&At<'static>) -> Option<T>, fault: &str) {
    assert_eq!(run(text, reader).expect_err(text), [fault], "{text}");
}

fn source(text: &str) -> Source {
    run(text, |at| at.list(At::source)).expect("a source").remove(0)
}

#[test]
fn scalars_are_what_they_say() {
    assert_eq!(run("a b", At::text).as_deref(), Ok("a b"));
    assert_eq!(run("false", At::bool), Ok(false));
    assert_eq!(run("-3", At::int), Ok(-3));
    assert_eq!((run("1", |at| at.int_in(1..=3)), run("3", |at| at.int_in(1..=3))), (Ok(1), Ok(3)));
    refused("5", At::text, "a.yaml:1:1: expected text (quote it), found the number 5");
    refused("[]", At::text, "a.yaml:1:1: expected text, found a list");
    refused("'true'", At::bool, "a.yaml:1:1: expected true or false, found the text `true`");
    refused("'3'", At::int, "a.yaml:1:1: expected a whole number, found the text `3`");
    refused("1.5", At::int, "a.yaml:1:1: expected a whole number, found the text `1.5`");
    refused("4", |at| at.int_in(1..=3), "a.yaml:1:1: expected a number from 1 to 3, found 4");
    refused("", At::bool, "a.yaml:1:1: expected true or false, found nothing");
}

#[test]
fn text_has_bounds() {
    assert_eq!(run("äbc", |at| at.text_within(3)).as_deref(), Ok("äbc"));
    refused("abcd", |at| at.text_within(3), "a.yaml:1:1: expected at most 3 characters, found 4");
    refused("''", |at| at.text_within(3), "a.yaml:1:1: expected text, found an empty one");
    refused("'  '", |at| at.text_within(3), "a.yaml:1:1: expected text, found blanks");
}

#[test]
fn words_are_chosen_from_a_table() {
    let words = ["conflict", "forbidden"];
    assert_eq!(run("conflict", |at| at.one_of(&words)), Ok("conflict"));
    assert_eq!(run("b", |at| at.choice(&[("a", 1), ("b", 2)])), Ok(2));
    refused(
        "conflcit",
        |at| at.one_of(&words),
        "a.yaml:1:1: expected one of conflict, forbidden, found the text `conflcit`; did you mean `conflict`?",
    );
    refused("1", |at| at.choice(&[("a", 1)]), "a.yaml:1:1: expected one of a, found the number 1");
}

#[test]
fn identifiers_are_snake_case_and_not_reserved() {
    let identifier = |at: &At<'_>| at.identifier(&["now", "init"]);
    for name in ["a", "lend_2", "a_", &"a".repeat(40)] {
        assert_eq!(run(name, identifier).as_deref(), Ok(name));
    }
    for name in ["A", "_a", "2a", "a-b", "a.b", "é", "a b", "''", "'a\n\n  '"] {
        let faults = run(name, identifier).expect_err(name);
        assert!(faults.len() == 1 && faults[0].contains("is no name: small letters"), "{faults:?}");
    }
    refused("now", identifier, "a.yaml:1:1: `now` is a reserved word: choose another name");
    refused("5", identifier, "a.yaml:1:1: expected a name, found the number 5");
    let long = run(&"a".repeat(41), identifier).expect_err("too long");
    assert!(long[0].ends_with("is longer than the 40 characters of a name: shorten it"), "{long:?}");
}

#[test]
fn unknown_and_missing_fields_are_told_with_the_nearest_name() {
    let faults = run("lend:\n  gaurds: []\n  who: [agent]\n  zzz: 1\n", |at| {
        at.named(&[], |_, at| {
            let mut fields = at.fields()?;
            let who = fields.required("who").and_then(|at| at.list(At::text));
            let params = fields.required("params").and_then(|at| at.entries().map(|entries| entries.len()));
            let guards = fields.optional("guards").and_then(|at| at.elements());
            assert!(guards.is_none());
            fields.finish();
            Some((who?, params?))
        })
    });
    assert_eq!(
        faults.expect_err("faults"),
        [
            "a.yaml:2:3: lend: the field `params` is missing: add it",
            "a.yaml:2:3: lend.gaurds: unknown field `gaurds`; did you mean `guards`? known: who, params, guards",
            "a.yaml:4:3: lend.zzz: unknown field `zzz`; known: who, params, guards",
        ]
    );
}

#[test]
fn every_fault_of_a_list_or_a_map_is_told_in_one_go() {
    let faults = run("a: [1, x, 2, w]\nB: [z]\nnow: [3]\nc: 4\n", |at| {
        at.named(&["now"], |key, at| {
            let numbers = at.list(At::int)?;
            Some((key.text.clone(), numbers))
        })
    });
    assert_eq!(
        faults.expect_err("faults"),
        [
            "a.yaml:1:8: a[1]: expected a whole number, found the text `x`",
            "a.yaml:1:14: a[3]: expected a whole number, found the text `w`",
            "a.yaml:2:1: B: `B` is no name: small letters, digits and underscores, a letter first",
            "a.yaml:2:5: B[0]: expected a whole number, found the text `z`",
            "a.yaml:3:1: now: `now` is a reserved word: choose another name",
            "a.yaml:4:4: c: expected a list, found the number 4",
        ]
    );
    assert_eq!(run("b: [2, 1]\na: []", |at| at.named(&[], |_, at| at.list(At::int))), Ok(vec![vec![2, 1], vec![]]));
}

#[test]
fn a_variant_is_a_map_of_one_known_field() {
    let variant = |at: &At<'_>| at.variant(&["insert", "update"]).map(|(word, at)| (word, at.path().to_string()));
    assert_eq!(run("insert: {into: a}", variant), Ok(("insert", "insert".to_owned())));
    refused("{insert: 1, update: 2}", variant, "a.yaml:1:1: expected one field, found 2: insert, update");
    refused("{}", variant, "a.yaml:1:1: expected one field, found 0: insert, update");
    refused(
        "isnert: 1",
        variant,
        "a.yaml:1:1: isnert: unknown field `isnert`; did you mean `insert`? known: insert, update",
    );
    refused("x", variant, "a.yaml:1:1: expected a map, found the text `x`");
}

#[test]
fn a_reader_never_succeeds_with_a_fault_nor_fails_without_one() {
    refused(
        "1",
        |at| -> Option<i64> {
            at.fault("too plain");
            Some(1)
        },
        "a.yaml:1:1: too plain",
    );
    refused("1", |_| None::<i64>, "a.yaml:1:1: this could not be read");
    let many = run(&"- x\n".repeat(1000), |at| at.list(At::int)).expect_err("faults");
    assert_eq!(many.len(), MAX_FAULTS);
    assert_eq!(many[MAX_FAULTS - 1], "a.yaml:100:3: [99]: expected a whole number, found the text `x`");
}

#[test]
fn expressions_may_be_any_scalar() {
    for (written, text) in
        [("5", "5"), ("-1", "-1"), ("true", "true"), ("null", "null"), ("~", "null"), ("a + 1", "a + 1")]
    {
        assert_eq!(&*source(&format!("- {written}")).text, text);
    }
    refused("[a]", At::source, "a.yaml:1:1: expected an expression, found a list");
}

#[test]
fn faults_of_expressions_point_to_a_character() {
    let messages = |text: &str, offset| source(text).fault(offset, "wrong").to_string();
    assert_eq!(messages("- é + b", 4), "a.yaml:1:7: [0]: wrong");
    assert_eq!(messages("- \"é + b\"  # c", 4), "a.yaml:1:8: [0]: wrong");
    assert_eq!(messages("[ 'é + b' ]", 4), "a.yaml:1:8: [0]: wrong");
    assert_eq!(messages("- '  a'", 2), "a.yaml:1:6: [0]: wrong");
    assert_eq!(messages("- a", 99), "a.yaml:1:4: [0]: wrong", "no further than the end");
    for broken in ["- 'it''s'", "- \"a\\\"b\"", "- a\n  b", "- 'a\n  b'"] {
        assert_eq!(messages(broken, 3), "a.yaml:1:3: [0]: wrong", "{broken}");
    }
    assert_eq!(messages("- |\n  a\n  b", 3), "a.yaml:2:3: [0]: wrong");
    for scalar in ["- ~", "- +5", "- true"] {
        assert_eq!(messages(scalar, 1), "a.yaml:1:3: [0]: wrong", "the text of {scalar} need not be that of the file");
    }
}
