//! The rules, tried on what breaks them.

use std::fs;

use serde_json::{Value, json};

use super::circles::circles;
use super::packages::{self, PACKAGES, Workspace};

/// The circles of a package of these files.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    circles(folder.path())
}

#[test]
fn a_circle_between_two_modules_is_found_however_it_is_written() {
    let lib = ("lib.rs", "mod a;\nmod b;\npub use a::First;\npub struct Root;");
    let second = ("b.rs", "pub struct Second;\npub fn f(_: crate::a::First) {}");
    for first in [
        "use crate::b::Second;\npub struct First(Second);",
        "use crate::{Root, b::{self}};\npub struct First(b::Second, Root);",
        "use super::b;\npub struct First(b::Second);",
        "pub struct First(crate::b::Second);",
        "pub struct First;\nfn g() { let _ = super::b::Second; }",
        "pub use crate::b::Second as Other;\npub struct First;",
    ] {
        let found = circles_of(&[lib, ("a.rs", first), second]);
        assert_eq!(found.len(), 1, "{first}");
        assert!(found[0].contains("a, b know each other"), "{found:?}");
    }
}

#[test]
fn a_circle_through_a_re_export_of_the_root_and_one_of_three_are_found() {
    let lib = ("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::First;");
    let a = ("a.rs", "use crate::b::Second;\npub struct First(Second);");
    let b = ("b.rs", "use crate::c::Third;\npub struct Second(Third);");
    let c = ("c.rs", "use crate::First;\npub struct Third(Box<First>);");
    assert!(circles_of(&[lib, a, b, c])[0].contains("a, b, c know each other"));
}

#[test]
fn a_circle_inside_a_folder_is_found() {
    let files = [
        ("lib.rs", "mod outer;"),
        ("outer/mod.rs", "mod a;\nmod b;"),
        ("outer/a.rs", "pub struct First(super::b::Second);"),
        ("outer/b/mod.rs", "mod inner;\npub struct Second;"),
        ("outer/b/inner.rs", "use super::super::a::First;\nfn f(_: First) {}"),
    ];
    assert!(circles_of(&files)[0].starts_with("outer: a, b know each other"));
}

#[test]
fn parents_and_children_ways_in_one_direction_and_tests_are_no_circles() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\npub struct Root(a::First);\n#[cfg(test)]\nmod tests;"),
        ("a.rs", "use crate::Root;\npub struct First;\nfn f(_: Root) {}"),
        ("b.rs", "use crate::a::First;\npub struct Second(First);\n#[cfg(test)]\nmod tests { use crate::a; }"),
        ("tests.rs", "use crate::{a, b};"),
    ];
    assert_eq!(circles_of(&files), Vec::<String>::new());
    let tested = [
        ("lib.rs", "mod a;\nmod b;"),
        ("a.rs", "pub struct First;\n#[cfg(test)]\nmod tests { use crate::b::Second; }"),
        ("b.rs", "pub struct Second(crate::a::First);"),
    ];
    assert_eq!(circles_of(&tested), Vec::<String>::new());
}

/// Workspace with the packages of the list, each with the packages that it may depend on, and with `more`.
fn planted(more: &[(&str, &str)]) -> Workspace {
    let long = |name: &str| if name.is_empty() { "palestra".to_owned() } else { format!("palestra-{name}") };
    let mut edges: Vec<(String, String)> =
        PACKAGES.iter().flat_map(|(name, may)| may.iter().map(move |used| (long(name), long(used)))).collect();
    edges.extend(more.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())));
    let mut names: Vec<String> = PACKAGES.iter().map(|(name, _)| long(name)).collect();
    names.extend(edges.iter().flat_map(|(from, to)| [from.clone(), to.clone()]));
    names.sort();
    names.dedup();
    let nodes: Vec<Value> = names
        .iter()
        .map(|name| {
            let used = edges.iter().filter(|(from, _)| from == name);
            let used: Vec<Value> = used.map(|(_, to)| json!({"pkg": to, "dep_kinds": [{"kind": null}]})).collect();
            json!({"id": name, "deps": used})
        })
        .collect();
    let described: Vec<Value> = names
        .iter()
        .map(|name| json!({"id": name, "name": name, "manifest_path": format!("/{name}/Cargo.toml")}))
        .collect();
    let members: Vec<&String> = names.iter().filter(|name| name.starts_with("palestra")).collect();
    packages::read(&json!({"packages": described, "workspace_members": members, "resolve": {"nodes": nodes}}))
}

#[test]
fn the_list_as_it_stands_has_no_strays() {
    assert_eq!(packages::strays(&planted(&[])), Vec::<String>::new());
    assert_eq!(packages::reaches(&planted(&[])), Vec::<String>::new());
}

#[test]
fn a_package_that_is_not_in_the_list_and_a_way_that_is_not_allowed_are_refused() {
    let strays = packages::strays(&planted(&[("palestra-news", "serde"), ("palestra-protocol", "palestra-store")]));
    assert_eq!(
        strays,
        ["palestra-news is not in the list of packages", "palestra-protocol may not depend on palestra-store"]
    );
}

#[test]
fn an_environment_that_reaches_store_configuration_or_http_by_any_way_is_refused() {
    for (more, way) in [
        (vec![("palestra-puzzles", "palestra-store")], "palestra-puzzles → palestra-store"),
        (vec![("palestra-families", "figment")], "palestra-families → figment"),
        (vec![("palestra-environment", "axum")], "palestra-environment → axum"),
        (vec![("palestra-sql", "between"), ("between", "sqlx")], "palestra-sql → between → sqlx"),
    ] {
        let found = packages::reaches(&planted(&more));
        assert!(found.iter().any(|found| found == way), "{way}: {found:?}");
    }
}
