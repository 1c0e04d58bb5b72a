//! Definitions of several files.

use std::collections::BTreeMap;

use super::messages;
use crate::fault::Faults;
use crate::syntax::MAX_FAULTS;
use crate::syntax::files::{MAX_FILES, join};
use crate::syntax::node::Node;

fn joined(files: &[(&str, &str)]) -> Result<Node, Faults> {
    join(&files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
}

fn refused(files: &[(&str, &str)]) -> Vec<String> {
    messages(&joined(files).expect_err("faults"))
}

fn names(node: &Node) -> Vec<String> {
    node.as_map().expect("a map").iter().map(|(key, _)| key.text.to_string()).collect()
}

#[test]
fn sections_are_spread_over_files_in_the_order_of_names() {
    let root = joined(&[
        ("actions.yaml", "actions: {give_back: 2}\nviews: {loans: 3}"),
        ("app.yaml", "app: toolshed\nactions: {lend: 1}"),
        ("zz.yaml", "views: {tools: 4}\ntasks: [1]"),
    ])
    .expect("a definition");
    assert_eq!(names(&root), ["app", "actions", "views", "tasks"]);
    assert_eq!(names(root.get("actions").expect("actions")), ["lend", "give_back"]);
    assert_eq!(names(root.get("views").expect("views")), ["loans", "tools"]);
    let entry = root.get("views").and_then(|views| views.get("tools")).expect("tools");
    assert_eq!(entry.position.to_string(), "zz.yaml:1:16");
    assert_eq!(root.position.to_string(), "app.yaml:1:1");
}

#[test]
fn duplicates_name_both_positions() {
    let faults = refused(&[
        ("app.yaml", "app: a\nactions: {lend: 1}\nlist: [1]\nmixed: 1"),
        ("b.yaml", "actions:\n  lend: 2\n  other: 3\nlist: [2]\nmixed: {}\napp: b"),
        ("c.yaml", "actions: {other: 4}"),
    ]);
    assert_eq!(
        faults,
        [
            "b.yaml:2:3: actions.lend: `lend` stands at app.yaml:2:11 too: leave one out",
            "b.yaml:4:1: list: the section `list` stands at app.yaml:3:1 too: leave one out (only a map may be spread over files)",
            "b.yaml:5:1: mixed: the section `mixed` stands at app.yaml:4:1 too: leave one out (only a map may be spread over files)",
            "b.yaml:6:1: app: the section `app` stands at app.yaml:1:1 too: leave one out (only a map may be spread over files)",
            "c.yaml:1:11: actions.other: `other` stands at b.yaml:3:3 too: leave one out",
        ]
    );
}

#[test]
fn every_file_is_a_map_and_tells_its_own_faults() {
    assert_eq!(refused(&[("b.yaml", "a: 1")]), ["app.yaml:1:1: the file `app.yaml` is missing: add it"]);
    assert_eq!(joined(&[]).map_err(|faults| faults.len()), Err(1));
    let faults = refused(&[
        ("a.yaml", "a: yes"),
        ("app.yaml", ""),
        ("b.yaml", "[1]"),
        ("c.yaml", "text"),
        ("d.yaml", "x: 1\nx: 2"),
    ]);
    assert_eq!(
        faults.iter().map(|fault| fault.split(": ").next().unwrap_or_default()).collect::<Vec<_>>(),
        ["app.yaml:1:1", "a.yaml:1:4", "b.yaml:1:1", "c.yaml:1:1", "d.yaml:2:1"]
    );
}

#[test]
fn the_bounds_of_a_definition_hold() {
    let mut files: BTreeMap<String, String> =
        (1..MAX_FILES).map(|number| (format!("f{number}.yaml"), format!("s: {{e{number}: 1}}"))).collect();
    files.insert("app.yaml".to_owned(), "s: {}".to_owned());
    assert_eq!(join(&files).expect("64 files").get("s").and_then(Node::as_map).map(<[_]>::len), Some(MAX_FILES - 1));
    files.insert("one_more.yaml".to_owned(), "t: 1".to_owned());
    assert!(messages(&join(&files).expect_err("65 files"))[0].contains("at most 64 files, and this one 65"));

    let comment = format!("a: 1\n{}", format!("#{}\n", "x".repeat(1 << 10)).repeat(3 << 10));
    let faults = refused(&[("app.yaml", &comment), ("b.yaml", &comment), ("c.yaml", &comment)]);
    assert!(faults[0].contains("at most 8388608 bytes together"), "{faults:?}");

    let many: String = (0..1000).map(|number| format!("  e{number}: 1\n")).collect();
    let many = format!("s:\n{many}");
    assert_eq!(refused(&[("app.yaml", &many), ("b.yaml", &many)]).len(), MAX_FAULTS);
}
