//! The structure that docs/ARCHITECTURE.md promises, checked against the sources.

#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};

/// Lines beyond which a file is mentioned; a long table is better than shredded code, so it does not fail.
const FILE_LINES: usize = 400;
/// What a statement of SQL begins with, as it stands in a string.
const SQL: &[&str] =
    &["SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ", "CREATE TABLE ", "BEGIN IMMEDIATE", "PRAGMA "];
/// Words by which a file says nothing of what it holds, alone or at the beginning.
const EMPTY_NAMES: &[&str] = &["utils", "util", "helpers", "helper", "common", "manager", "misc"];
/// A word that says nothing alone: what follows it may (`base_conversion`).
const EMPTY_ALONE: &str = "base";

struct Source {
    /// Below the root, with forward slashes.
    path: String,
    text: String,
}

fn root() -> &'static Path {
    palestra_test_support::workspace()
}

fn collect(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, extension, found);
        } else if path.extension().is_some_and(|other| other == extension) {
            found.push(path);
        }
    }
}

fn sources(folders: &[&str]) -> Vec<Source> {
    let mut paths = Vec::new();
    folders.iter().for_each(|folder| collect(&root().join(folder), "rs", &mut paths));
    paths.sort();
    paths
        .into_iter()
        .map(|path| Source {
            text: fs::read_to_string(&path).unwrap(),
            path: path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/"),
        })
        .collect()
}

/// Lines of code with their numbers: without comments.
fn code(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source.text.lines().enumerate().map(|(index, line)| (index + 1, line)).filter(|(_, line)| {
        let line = line.trim_start();
        !line.starts_with("//")
    })
}

/// Every line outside `allowed` that holds one of `words`.
fn offenders(sources: &[Source], allowed: &[&str], words: &[&str]) -> Vec<String> {
    sources
        .iter()
        .filter(|source| !allowed.iter().any(|allowed| source.path.starts_with(allowed)))
        .flat_map(|source| {
            code(source)
                .filter(|(_, line)| words.iter().any(|word| line.contains(word)))
                .map(|(number, line)| format!("{}:{number}: {}", source.path, line.trim()))
        })
        .collect()
}

fn assert_none(offenders: &[String], rule: &str) {
    assert!(offenders.is_empty(), "{rule}:\n{}", offenders.join("\n"));
}

#[test]
fn only_the_http_folder_knows_the_web_framework() {
    let sources = sources(&["src", "protocol/src", "client/src"]);
    // The application is served through the function that src/http offers, so nothing else has a reason to name it.
    assert_none(&offenders(&sources, &["src/http/"], &["axum", "tower_http"]), "only src/http/ names axum");
}

#[test]
fn what_is_sent_is_read_by_the_strict_reader_alone() {
    let mut sources = sources(&["src/http"]);
    sources.retain(|source| !source.path.ends_with("tests.rs"));
    for source in &mut sources {
        // Unit tests read answers as they please.
        let end = source.text.find("#[cfg(test)]").unwrap_or(source.text.len());
        source.text.truncate(end);
    }
    // The second looks at one member of a body that the strict reader reads afterwards.
    let allowed = ["src/http/strict.rs", "src/http/publishing.rs"];
    let words = ["serde_json::from_slice", "serde_json::from_str"];
    assert_none(&offenders(&sources, &allowed, &words), "src/http/ reads by strict::from_slice");
}

#[test]
fn only_the_store_contains_sql() {
    let sources = sources(&["src", "protocol/src", "client/src"]);
    let quoted: Vec<String> = SQL.iter().map(|word| format!("\"{word}")).collect();
    let mut words: Vec<&str> = quoted.iter().map(String::as_str).collect();
    words.push("sqlx::");
    assert_none(&offenders(&sources, &["src/store/"], &words), "only src/store/ contains SQL");
}

#[test]
fn back_ends_alone_name_their_clients_and_what_is_unsafe_is_in_few_files() {
    let folders = [
        "src",
        "protocol/src",
        "client/src",
        "sandbox/src",
        "sandbox-agent/src",
        "workbench/src",
        "sql/src",
        "sqlite-worker/src",
    ];
    let sources = sources(&folders);
    assert_none(
        &offenders(&sources, &["sandbox/src/docker/"], &["bollard::"]),
        "only sandbox/src/docker/ names bollard",
    );
    assert_none(
        &offenders(&sources, &["sql/src/engine/postgres/"], &["tokio_postgres"]),
        "only sql/src/engine/postgres/ names tokio-postgres",
    );
    let interfaces =
        ["sandbox-agent/src/", "sqlite-worker/src/heap.rs", "sqlite-worker/src/pages.rs", "sqlite-worker/src/raw.rs"];
    assert_none(
        &offenders(&sources, &interfaces, &["unsafe {", "unsafe fn"]),
        "only the agent, and the worker's interfaces to SQLite, are unsafe",
    );
    let words = ["axum::", "palestra_protocol", "palestra::"];
    let sandboxes: Vec<Source> = sources.into_iter().filter(|source| !source.path.starts_with("src/")).collect();
    let allowed = ["protocol/src/", "client/src/"];
    assert_none(&offenders(&sandboxes, &allowed, &words), "sandboxes, work and databases know nothing of the server");
}

#[test]
fn only_one_file_writes_to_the_terminal() {
    let sources = sources(&["src"]);
    // The macros that print are refused by the compiler's lints.
    let words = ["stdout()", "stderr()", "comfy_table::"];
    assert_none(
        &offenders(&sources, &["src/terminal.rs"], &words),
        "only src/terminal.rs, which escapes, writes to the terminal",
    );
}

#[test]
fn environments_and_verifiers_are_leaves() {
    let sources = sources(&["src/environment", "src/verifier"]);
    let words = [
        "crate::store",
        "crate::http",
        "crate::session",
        "crate::app",
        "crate::auth",
        "crate::catalog",
        "super::super::store",
    ];
    // A kind of the dataset family is made from what was published; it takes the definition as plain data.
    assert_none(&offenders(&sources, &[], &words), "environments and verifiers get what they need as arguments");
}

#[test]
fn the_session_engine_knows_no_http() {
    let sources = sources(&["src/session", "src/store", "src/stats"]);
    let words = ["crate::http", "StatusCode", "palestra_client"];
    assert_none(&offenders(&sources, &[], &words), "below the edge nothing knows of HTTP");
}

#[test]
fn the_protocol_does_no_io() {
    let sources = sources(&["protocol/src"]);
    let words = ["std::fs", "std::net", "std::env", "std::process", "std::thread", "tokio", "async fn", "reqwest"];
    assert_none(&offenders(&sources, &[], &words), "protocol/ is plain data");
    let manifest = fs::read_to_string(root().join("protocol/Cargo.toml")).unwrap();
    for banned in ["tokio", "reqwest", "axum", "sqlx"] {
        assert!(!manifest.contains(banned), "protocol/ depends on {banned}");
    }
}

#[test]
fn every_file_says_what_it_is() {
    let all = sources(&["src", "protocol/src", "client/src", "load-tests/src", "tests"]);
    let silent: Vec<String> =
        all.iter().filter(|source| !source.text.starts_with("//!")).map(|source| source.path.clone()).collect();
    assert_none(&silent, "a `//!` line opens every file");
    let empty: Vec<String> = all
        .iter()
        .filter(|source| {
            let stem = Path::new(&source.path).file_stem().unwrap().to_string_lossy();
            stem == EMPTY_ALONE || EMPTY_NAMES.iter().any(|name| stem == *name || stem.starts_with(&format!("{name}_")))
        })
        .map(|source| source.path.clone())
        .collect();
    assert_none(&empty, "a file's name says what it holds");
    for source in &all {
        let lines = source.text.split("#[cfg(test)]").next().unwrap_or_default().lines().count();
        if lines > FILE_LINES {
            eprintln!("warning: {} has {lines} lines without its tests", source.path);
        }
    }
}

#[test]
fn nothing_is_exported_by_glob() {
    let sources = sources(&["src", "protocol/src", "client/src", "load-tests/src"]);
    let globs: Vec<String> = sources
        .iter()
        .flat_map(|source| {
            code(source)
                .filter(|(_, line)| line.trim_start().starts_with("pub use") && line.contains("::*"))
                .map(|(number, _)| format!("{}:{number}", source.path))
        })
        .collect();
    assert_none(&globs, "names are exported one by one");
}

#[test]
fn every_migration_opens_with_why_and_exists_for_both_stores() {
    let mut names = Vec::new();
    for engine in ["sqlite", "postgres"] {
        let mut paths = Vec::new();
        collect(&root().join("migrations").join(engine), "sql", &mut paths);
        paths.sort();
        for path in &paths {
            let text = fs::read_to_string(path).unwrap();
            assert!(text.starts_with("--"), "{} opens with why", path.display());
        }
        names.push(paths.iter().map(|path| path.file_name().unwrap().to_owned()).collect::<Vec<_>>());
    }
    assert!(!names[0].is_empty(), "there are migrations");
    assert_eq!(names[0], names[1], "both stores migrate in the same steps");
}

#[test]
fn the_documents_name_only_what_exists() {
    let mut documents = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    collect(&root().join("docs"), "md", &mut documents);
    let mut missing = Vec::new();
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for (index, line) in text.lines().enumerate() {
            for link in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let target = link.split('#').next().unwrap_or_default();
                if target.is_empty() || target.contains("://") {
                    continue;
                }
                if !document.parent().unwrap().join(target).exists() {
                    missing.push(format!("{}:{}: {target}", document.display(), index + 1));
                }
            }
        }
    }
    assert_none(&missing, "links lead somewhere");
}

#[test]
fn the_compose_file_keeps_its_promises() {
    let compose = fs::read_to_string(root().join("docker-compose.yml")).unwrap();
    assert!(!compose.contains('\t'), "YAML has no tabs");
    for needed in ["healthcheck:", "service_healthy", "PALESTRA_DATABASE_URL", "PALESTRA_SECRET: ${PALESTRA_SECRET:?"] {
        assert!(compose.contains(needed), "docker-compose.yml lacks {needed}");
    }
    let dockerfile = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let user = dockerfile.lines().rev().find_map(|line| line.strip_prefix("USER "));
    assert!(user.is_some_and(|user| user != "root" && user != "0"), "the image runs as an unprivileged user");
}
