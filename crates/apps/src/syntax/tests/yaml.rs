//! Hostile and doubtful YAML, and the exact places of what is accepted.

use std::fmt::Write as _;
use std::time::Instant;

use proptest::prelude::*;

use super::messages;
use crate::fault::Position;
use crate::syntax::MAX_FAULTS;
use crate::syntax::node::{Content, Node};
use crate::syntax::yaml::{MAX_BRACKETS, MAX_DEPTH, MAX_FILE_BYTES, MAX_NODES, MAX_SCALAR_BYTES, parse};

fn accepted(text: &str) -> Node {
    parse("app.yaml", text).unwrap_or_else(|faults| panic!("{text:?} is refused: {:?}", messages(&faults)))
}

fn refused(text: &str) -> Vec<String> {
    let faults = parse("app.yaml", text).expect_err(text);
    assert!(!faults.is_empty() && faults.len() <= MAX_FAULTS);
    messages(&faults)
}

/// Asserts that the only fault begins with this.
#[track_caller]
fn refused_with(text: &str, beginning: &str) {
    let faults = refused(text);
    assert!(faults.len() == 1 && faults[0].starts_with(beginning), "{text:?}: {faults:?} and not {beginning:?}");
}

fn place(position: &Position) -> (u32, u32) {
    (position.line, position.column)
}

fn value(text: &str) -> Content {
    accepted(text).value
}

/// Contents of a text, without its positions.
fn shape(text: &str) -> String {
    fn write(node: &Node) -> String {
        match &node.value {
            Content::List(elements) => format!("[{}]", elements.iter().map(write).collect::<Vec<_>>().join(", ")),
            Content::Map(entries) => {
                let entries: Vec<String> =
                    entries.iter().map(|(key, node)| format!("{:?}: {}", key.text, write(node))).collect();
                format!("{{{}}}", entries.join(", "))
            }
            scalar => format!("{scalar:?}"),
        }
    }
    write(&accepted(text))
}

fn text(text: &str) -> Content {
    Content::Text(text.into())
}

#[test]
fn plain_scalars_follow_a_strict_core_schema() {
    for null in ["", "~", "null", "# nothing", "---", "\u{feff}"] {
        assert_eq!(value(null), Content::Null, "{null:?}");
    }
    for (plain, number) in
        [("0", 0), ("-0", 0), ("+5", 5), ("-9223372036854775808", i64::MIN), ("9223372036854775807", i64::MAX)]
    {
        assert_eq!(value(plain), Content::Int(number));
    }
    assert_eq!((value("true"), value("false")), (Content::Bool(true), Content::Bool(false)));
    for plain in [
        "1.50",
        "-0.5",
        "2031-05-05",
        "e5",
        "1e",
        "0x",
        "0xg",
        "1_a",
        "_1",
        "12:3a",
        "+",
        ".",
        "yesterday",
        "no one",
        "nullable",
        "a != b",
        "1 + 2",
        "ref tool",
        "5 %",
        "x<<y",
        "₂",
    ] {
        assert_eq!(value(plain), text(plain));
    }
    assert!(!accepted("1.50").is_quoted());
    for quoted in ["'1.50'", "\"1.50\"", "|-\n  1.50\n", ">-\n  1.50\n"] {
        let node = accepted(quoted);
        assert_eq!((node.is_quoted(), node.value), (true, text("1.50")), "{quoted}");
    }
    for quoted in ["yes", "null", "5", "0x1F", "", "<<", "007"] {
        assert_eq!(value(&format!("'{quoted}'")), text(quoted));
    }
}

#[test]
fn ambiguous_yaml_is_refused() {
    for word in ["yes", "No", "ON", "off", "y", "n", "N", "True", "FALSE", "Null"] {
        refused_with(&format!("a: {word}"), &format!("app.yaml:1:4: a: `{word}`"));
        if !matches!(word, "y" | "n") {
            refused_with(&format!("{word}: a"), &format!("app.yaml:1:1: {word}: `{word}`"));
        }
    }
    assert_eq!(shape("{n: 40, y: 1}"), "{\"n\": Int(40), \"y\": Int(1)}", "as keys these mean the same to all");
    for number in [
        "0x1F",
        "0o17",
        "0b1",
        "1_000",
        "1_0.5",
        ".inf",
        "-.INF",
        ".nan",
        "1e5",
        "1.5E-3",
        "12:30",
        "1:20:30.5",
        "-0x1",
        "007",
        "-01",
        "9223372036854775808",
        "-9223372036854775809",
    ] {
        refused_with(&format!("- {number}"), &format!("app.yaml:1:3: [0]: `{number}`"));
        refused_with(&format!("{{{number} : 1}}"), &format!("app.yaml:1:2: {number}: `{number}`"));
    }
}

#[test]
fn expressions_that_a_comma_cuts_are_refused() {
    refused_with("{a: int(1, 9), b: 2}", "app.yaml:1:5: a: `int(1` ends at the comma");
    refused_with("[pick(find(x) , y1)]", "app.yaml:1:2: [0]: `pick(find(x)` ends at the comma");
    for whole in ["{a: 'int(1, 9)'}", "a: int(1, 9)", "{a: f(g(x)), b: 1}", "a: sad :(, so"] {
        accepted(whole);
    }
}

#[test]
fn the_examples_of_the_language_page_are_read() {
    let page = include_str!("../../../../../docs/app-language.md");
    let examples: Vec<&str> =
        page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert!(examples.len() > 5, "the page has examples");
    for example in examples {
        accepted(example);
    }
}

#[test]
fn keys_are_text() {
    let Content::Map(entries) = value("{1: a, 1.5: b, 'yes': c, \"null\": d, -3: e, '<<': f}") else {
        panic!("no map")
    };
    let names: Vec<&str> = entries.iter().map(|(key, _)| &*key.text).collect();
    assert_eq!(names, ["1", "1.5", "yes", "null", "-3", "<<"]);

    for key in ["true", "null", "~"] {
        refused_with(&format!("{key}: 1"), &format!("app.yaml:1:1: {key}: a key is text"));
    }
    refused_with("a:\n  : 1", "app.yaml:2:3: a.: a key is text");
    refused_with("? [a]\n: b", "app.yaml:1:3: a key must be text, and this is a list or a map");
    refused_with("{{a: b}: c}", "app.yaml:1:2: a key must be text, and this is a list or a map");
    refused_with("[a]: b", "app.yaml:1:1: a key must be text, and this is a list or a map");
    refused_with("a:\n  <<: {b: 1}", "app.yaml:2:3: a.<<: the merge key `<<` is not supported");
}

#[test]
fn a_key_stands_once_at_every_level() {
    refused_with(
        "a: 1\nb: 2\na: 3",
        "app.yaml:3:1: a: the key `a` stands here twice: leave one out (the first is at app.yaml:1:1)",
    );
    refused_with("{a: 1, 'a': 2}", "app.yaml:1:8: a: the key `a`");
    refused_with("1: x\n'1': z", "app.yaml:2:1: 1: the key `1`");
    refused_with("r:\n  - a:\n      - {k: 1, k: 2}\n", "app.yaml:3:16: r[0].a[0].k: the key `k`");
    assert_eq!(refused("a: {b: 1, b: 2}\na: {c: 1, c: 2}").len(), 3, "all are told");
    assert_eq!(shape("[{a: 1}, {a: 1}]"), shape("- a: 1\n- a: 1\n"), "maps of their own");
}

#[test]
fn references_tags_and_further_documents_are_refused() {
    refused_with("a: &x 1", "app.yaml:1:4: a: anchors are not supported");
    refused_with("a: &x {b: 1}", "app.yaml:1:4: a: anchors are not supported");
    refused_with("&x a: 1", "app.yaml:1:1: anchors are not supported");
    assert_eq!(refused("a: &x [1]\nb: *x")[1], "app.yaml:2:4: b: aliases are not supported: write the value out");
    assert_eq!(refused("- &x a\n- {*x : 1, b: 2}").len(), 2);
    refused_with("a: *x", "app.yaml:1:4: a: this is not YAML");
    for tagged in ["a: !!str 5", "a: !mine {b: 1}", "a: ! x", "a: !!binary aGk=", "a: !<tag:example.com,2000:x> [1]"] {
        refused_with(tagged, "app.yaml:1:4: a: tags are not supported");
    }
    refused_with("a: 1\n---\nb: 1", "app.yaml:2:1: a file holds one document");
    refused_with("a: 1\n...\n---\n", "app.yaml:3:1: a file holds one document");
    refused_with("%YAML 1.1\n---\na: 1", "app.yaml:1:1: the only directive");
    refused_with("# first\n\n%TAG ! tag:example.com,2000:\n---\na: 1", "app.yaml:3:1: the only directive");
    refused_with("%OTHER\n---\na: 1", "app.yaml:1:1: the only directive");
    assert_eq!(shape("%YAML 1.2 # this one\n---\na: 1\n...\n"), shape("a: 1"));
    assert_eq!(shape("# only\n%YAML 1.2\n---\na: 1"), shape("a: 1"));
}

#[test]
fn characters_that_cannot_be_seen_are_refused() {
    refused_with("a: b\0", "app.yaml:1:5: the file holds the control character \\u{0}");
    refused_with("a: b\r\né: \u{1b}[1m", "app.yaml:2:4: the file holds the control character \\u{1b}");
    refused_with("a:\rb: \u{7f}", "app.yaml:2:4: the file holds");
    refused_with("a: \u{85}", "app.yaml:1:4: the file holds");
    refused_with("a: b\u{feff}", "app.yaml:1:5: the file holds");
    refused_with("a: \u{ffff}", "app.yaml:1:4: the file holds");
    refused_with(r#"a: "\0""#, "app.yaml:1:4: a: the text holds a control character");
    refused_with(r#""\e": a"#, "app.yaml:1:1: the text holds a control character");
    assert_eq!(value(r#""\t\n\u00e9""#), text("\t\né"));
}

#[test]
fn a_byte_order_mark_and_ends_of_lines_change_nothing() {
    let unix = "a:\n  - 'b'\n  - |\n    c\n    d\n";
    for same in [format!("\u{feff}{unix}"), unix.replace('\n', "\r\n"), unix.replace('\n', "\r")] {
        assert_eq!(accepted(&same), accepted(unix), "{same:?}");
    }
}

#[test]
fn tabs_do_not_indent() {
    refused_with("a:\n\tb: 1\n", "app.yaml:2:2: a: this is not YAML, correct it: tabs");
    assert_eq!(shape("a: b\t# c"), shape("a: b"));
}

#[test]
fn invalid_yaml_is_reported_with_its_position() {
    refused_with("a: [1, 2", "app.yaml:2:1: a[2]: this is not YAML");
    refused_with("a: b: c", "app.yaml:1:5: ");
    refused_with("a: 'b", "app.yaml:1:4: a: this is not YAML");
    refused_with("a: b\n c: d", "app.yaml:2:3: ");
    refused_with("]", "app.yaml:1:1: ");
    refused_with("a: `b`", "app.yaml:1:4: ");
    refused_with("a: @b", "app.yaml:1:4: ");
    refused_with("a: 1\n...\nb", "app.yaml:3:1: ");
}

#[test]
fn places_are_lines_and_characters_from_one() {
    let root = accepted("é: {ü: \"ä\", 'b': [x,  z]}\n\nlong:\n  # c é\n  - |\n    t\n  -\n  - {}\n");
    assert_eq!(place(&root.position), (1, 1));
    let entries = root.as_map().expect("a map");
    assert_eq!(place(&entries[0].0.position), (1, 1));
    assert_eq!(place(&entries[0].1.position), (1, 4));
    let inner = entries[0].1.as_map().expect("a map");
    let places: Vec<_> = inner.iter().map(|(key, node)| (place(&key.position), place(&node.position))).collect();
    assert_eq!(places, [((1, 5), (1, 8)), ((1, 13), (1, 18))]);
    let list = inner[1].1.as_list().expect("a list");
    assert_eq!(list.iter().map(|node| place(&node.position)).collect::<Vec<_>>(), [(1, 19), (1, 23)]);
    let long = root.get("long").expect("a list").as_list().expect("a list");
    assert_eq!(long.iter().map(|node| place(&node.position)).collect::<Vec<_>>(), [(6, 5), (7, 4), (8, 5)]);
}

#[test]
fn json_is_read_as_it_is() {
    let json = r#"{"a": [1, -2, 1.5, true, null, {}, []], "b\u0020c": {"d": "\"q\" \\ \u00e9"}}"#;
    let Content::Map(entries) = value(json) else { panic!("no map") };
    let list: Vec<_> = entries[0].1.as_list().expect("a list").iter().map(|node| node.value.clone()).collect();
    let (int, null) = (Content::Int, Content::Null);
    let empty = (Content::Map(Vec::new()), Content::List(Vec::new()));
    assert_eq!(list, [int(1), int(-2), text("1.5"), Content::Bool(true), null, empty.0, empty.1]);
    assert_eq!(&*entries[1].0.text, "b c");
    assert_eq!(entries[1].1.get("d").expect("d").value, text("\"q\" \\ é"));
}

#[test]
fn bounds_hold() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse("a", &nested(MAX_DEPTH)).is_ok());
    for depth in [MAX_DEPTH + 1, 254] {
        refused_with(&nested(depth), &format!("app.yaml:1:{}: {}: lists", MAX_DEPTH + 1, "[0]".repeat(MAX_DEPTH)));
    }
    refused_with(&nested(100_000), "app.yaml:1:256: this is not YAML, correct it: recursion limit exceeded");
    let steps = (0..5000).fold(String::new(), |mut text, depth| {
        let _ = writeln!(text, "{}a:", " ".repeat(depth % 700));
        text
    });
    assert!(parse("a", &steps).is_err());
    assert!(refused(&"- ".repeat(100_000))[0].contains("nested more than"));
    assert!(refused(&"? ".repeat(100_000))[0].contains("a key must be text"));
    assert!(refused(&"{a: ".repeat(200))[0].contains("nested more than"));
    assert!(refused(&"{a: ".repeat(100_000))[0].contains("recursion limit exceeded"));

    assert!(parse("a", &format!("[{}]", "1,".repeat(MAX_NODES - 1))).is_ok());
    assert!(refused(&format!("[{}]", "1,".repeat(MAX_NODES)))[0].contains("more than 200000 values"));
    assert!(refused(&format!("[{}]", "1,".repeat(MAX_BRACKETS)))[0].contains("more than 300000 commas"));
    assert!(refused(&"- \n".repeat(MAX_NODES + 1))[0].contains("more than 200000 values"));

    assert!(parse("a", &"x".repeat(MAX_SCALAR_BYTES)).is_ok());
    refused_with(&format!("a: '{}'", "x".repeat(MAX_SCALAR_BYTES + 1)), "app.yaml:1:4: a: the text has more");
    refused_with(&format!("? {}\n: 1", "x".repeat(MAX_SCALAR_BYTES + 1)), "app.yaml:1:3: the text has more");

    assert!(parse("a", &"#".repeat(MAX_FILE_BYTES)).is_ok());
    refused_with(&" ".repeat(5 << 20), "app.yaml:1:1: the file has more than 4194304 bytes");
}

#[test]
fn billions_of_laughs_stay_a_few_faults() {
    let mut text = "a0: &a0 [ha, ha]\n".to_owned();
    for level in 1..40 {
        let _ = writeln!(text, "a{level}: &a{level} [*a{0}, *a{0}, *a{0}]", level - 1);
    }
    assert_eq!(refused(&text).len(), MAX_FAULTS);
}

#[test]
fn messages_and_paths_stay_short() {
    let long = "k".repeat(60_000);
    for text in [format!("? {long}\n: [yes]"), format!("{long}0x: &a 1"), format!("a: {}", "9".repeat(60_000))] {
        assert!(refused(&text).iter().all(|fault| fault.chars().count() < 300), "{text:.20}");
    }
}

#[test]
fn a_mebibyte_is_read_quickly() {
    let row = "  - {check: \"balance >= need && days <= 14\", else: short_funds, days: 14}\n";
    let block = format!("guards:\n{}", row.repeat((1 << 20) / row.len()));
    let flow = format!(
        "{{\"guards\": [{}]}}",
        vec![row.trim_start_matches("  - ").trim_end(); (1 << 20) / row.len()].join(", ")
    );
    for (name, text) in [("block", block), ("flow", flow)] {
        let start = Instant::now();
        let node = accepted(&text);
        let elapsed = start.elapsed();
        println!("{name}: {} bytes in {elapsed:?}", text.len());
        assert_eq!(node.get("guards").and_then(Node::as_list).map(<[_]>::len), Some((1 << 20) / row.len()));
        assert!(elapsed.as_secs() < 30, "{name}: {elapsed:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_panics(text in "\\PC{0,60}") {
        let _ = parse("app.yaml", &text);
    }

    #[test]
    fn no_arrangement_of_indicators_panics(
        parts in prop::collection::vec(prop::sample::select(vec![
            "a", "b", ": ", ":", "- ", "-", "? ", "?", "\n", "\n  ", "\n    ", "\r\n", "\t", " ", "{", "}", "[", "]", ",", "\"", "'", "|",
            ">", "|-\n", ">+2\n", "&x ", "*x", "!", "!!str ", "!<", "%", "%YAML 1.2\n", "---", "...", "#", " #", "\\", "\u{feff}", "é", "1",
            "<<", "~", "@", "`", "\\u", "0x1",
        ]), 0..40),
    ) {
        let text = parts.concat();
        if let Err(faults) = parse("app.yaml", &text) {
            prop_assert!(!faults.is_empty() && faults.len() <= MAX_FAULTS);
            let lines = u32::try_from(text.split(['\n', '\r']).count()).expect("few lines");
            prop_assert!(faults.iter().all(|fault| (1..=lines + 1).contains(&fault.position.line)));
        }
    }

    #[test]
    fn quoted_text_comes_back(original in "[^\\p{Cc}\u{feff}\u{fffe}\u{ffff}]{0,40}") {
        let double = format!("\"{}\"", original.replace('\\', "\\\\").replace('"', "\\\""));
        let single = format!("'{}'", original.replace('\'', "''"));
        for quoted in [double, single] {
            prop_assert_eq!(accepted(&format!("[{quoted}]")).as_list().expect("a list")[0].value.clone(), text(&original));
        }
    }
}
