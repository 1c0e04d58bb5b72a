//! The tables of fields in the guides, held to the types that read or write each format.

mod fields;
mod list;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::{assert_none, root};
use list::{SECTIONS, Section, TOLD_OTHERWISE};

/// First cells of the headers of tables of fields. Other tables of a section are about something else.
const HEADERS: &[&str] = &["field", "setting", "metric"];

/// The names in the first cells of the tables of fields between a heading and the next; `None` without such a heading.
fn told(page: &str, heading: &str) -> Option<BTreeSet<String>> {
    let (mut inside, mut found, mut fenced, mut table) = (false, false, false, None);
    let mut names = BTreeSet::new();
    for line in page.lines() {
        fenced ^= line.starts_with("```");
        if line.starts_with('#') && !fenced {
            inside = line.trim_start_matches('#').trim() == heading;
            found |= inside;
        }
        let row = line.strip_prefix('|').filter(|_| inside && !fenced);
        let Some(first) = row.and_then(|row| row.split('|').next()) else {
            table = None;
            continue;
        };
        // The first row of a table says what it is about.
        if *table.get_or_insert(HEADERS.contains(&first.trim())) {
            names.extend(first.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found.then_some(names)
}

/// The fields of the types of a section, each with its type.
fn written(section: &Section) -> BTreeMap<String, String> {
    let of_type = |(prefix, file, name): &(&str, &str, &str)| {
        let found = fields::read(file, name).unwrap_or_else(|| panic!("there is no type {name} in {file}"));
        let owner = format!("{name} in {file}");
        let told = |field: String| match *prefix {
            // A flag of a command.
            "--" => format!("--{}", field.replace('_', "-")),
            prefix => format!("{prefix}{field}"),
        };
        found.fields.into_iter().map(|field| (told(field), owner.clone())).collect::<Vec<_>>()
    };
    section.types.iter().flat_map(of_type).collect()
}

/// Differences between a section of a page and the types that it is about.
fn faults(section: &Section, page: &str) -> Vec<String> {
    let place = format!("{}, {:?}", section.page, section.heading);
    let Some(told) = told(page, section.heading) else { return vec![format!("{place}: there is no such heading")] };
    let written = written(section);
    let missing = written.iter().filter(|(field, _)| !told.contains(*field));
    let missing = missing.map(|(field, owner)| format!("{place}: no row names `{field}`, a field of {owner}"));
    let stale = told.iter().filter(|name| !written.contains_key(*name));
    missing.chain(stale.map(|name| format!("{place}: a row names `{name}`, which is no field"))).collect()
}

fn read(page: &str) -> String {
    fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

#[test]
fn tables_of_formats_name_every_field_and_no_other() {
    let found: Vec<String> = SECTIONS.iter().flat_map(|section| faults(section, &read(section.page))).collect();
    assert_none(&found, "the tables of fields in docs/ are those of the types");
}

#[test]
fn types_inside_the_fields_of_a_format_have_a_table_too() {
    let listed: BTreeSet<(&str, &str)> =
        SECTIONS.iter().flat_map(|section| section.types).map(|(_, file, name)| (*file, *name)).collect();
    let listed_in = |file: &str, name: &str| listed.contains(&(file, name));
    let files: BTreeSet<&str> = listed.iter().map(|(file, _)| *file).filter(|file| file.ends_with(".rs")).collect();
    let package = |file: &str| file.split("/src").next().unwrap_or_default().to_owned();
    let mut found = BTreeSet::new();
    for (file, name) in &listed {
        let uses = fields::read(file, name).unwrap_or_else(|| panic!("there is no type {name} in {file}")).uses;
        for inner in uses.iter().filter(|inner| !TOLD_OTHERWISE.contains(&inner.as_str())) {
            // Its own file comes first, then the others of its package.
            let others = files.iter().filter(|other| package(other) == package(file)).copied();
            let mut homes = [*file].into_iter().filter(|file| file.ends_with(".rs")).chain(others);
            let home = homes.find(|home| fields::read(home, inner).is_some_and(|found| !found.fields.is_empty()));
            if let Some(home) = home.filter(|home| !listed_in(home, inner)) {
                found.insert(format!("{inner} in {home}, in a field of {name}: add its table, and a line to the list"));
            }
        }
    }
    assert_none(&found.into_iter().collect::<Vec<_>>(), "formats are told to the last field");
}

#[test]
fn every_table_of_a_format_is_in_the_index() {
    let index = read("docs/formats.md");
    // As the guide makes them.
    let anchor = |heading: &str| -> String {
        let kept = heading.chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'));
        kept.map(|sign| if sign == ' ' { '-' } else { sign }).flat_map(char::to_lowercase).collect()
    };
    let missing: Vec<String> = SECTIONS
        .iter()
        .map(|section| format!("({}#{})", section.page.trim_start_matches("docs/"), anchor(section.heading)))
        .filter(|link| !index.contains(link))
        .collect();
    assert_none(&missing, "docs/formats.md links every table");
}

/// Where the functions of expressions are named: the file, and what stands before and after a name.
const FUNCTIONS: &[(&str, &str, &str)] = &[
    ("crates/apps/src/expression/functions/dates.rs", "\n        name: \"", "\",\n"),
    ("crates/apps/src/expression/functions/lists.rs", "\n        name: \"", "\",\n"),
    ("crates/apps/src/expression/functions/numbers.rs", "\n        name: \"", "\",\n"),
    ("crates/apps/src/expression/functions/text.rs", "\n        name: \"", "\",\n"),
    ("crates/apps/src/expression/checker/queries.rs", "\n    (\"", "\", QueryKind::"),
    ("crates/apps/src/functions.rs", "fixed(\"", "\", id::"),
    ("crates/apps/src/functions.rs", "generic(\"", "\", id::"),
    ("crates/apps/src/functions.rs", "alike(\"", "\", id::"),
];

#[test]
fn every_function_of_expressions_is_in_their_page() {
    let page = read("docs/app-expressions.md");
    let spans = page.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let told: BTreeSet<&str> =
        spans.flat_map(|span| span.split(|sign: char| !(sign.is_alphanumeric() || sign == '_'))).collect();
    for (file, before, after) in FUNCTIONS {
        let text = read(file);
        let names: Vec<&str> =
            text.split(before).skip(1).filter_map(|rest| rest.split_once(after)).map(|(name, _)| name).collect();
        assert!(!names.is_empty(), "{file} has functions");
        let missing = names.iter().filter(|name| !told.contains(*name));
        let missing: Vec<String> = missing.map(|name| format!("{name} in {file}")).collect();
        assert_none(&missing, "docs/app-expressions.md names every function");
    }
}

#[test]
fn a_row_that_is_taken_out_and_one_of_no_field_are_found() {
    for section in SECTIONS {
        let page = read(section.page);
        for field in written(section).keys().take(3) {
            let cell = format!("`{field}`");
            let other = page.replace(&cell, "`zzz`");
            let found = faults(section, &other).join("\n");
            assert!(found.contains(&format!("no row names {cell}")), "{}: {field}: {found}", section.heading);
            assert!(found.contains("a row names `zzz`"), "{}: {field}: {found}", section.heading);
        }
    }
}
