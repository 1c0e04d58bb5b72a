//! The structure that docs/ARCHITECTURE.md promises, checked against the sources.

#![cfg(test)]

mod circles;
mod errors;
mod formats;
mod packages;
mod planted;
mod profiles;

use std::fs;
use std::path::{Path, PathBuf};

/// Lines beyond which a file is mentioned; a long table is better than shredded code, so it does not fail.
const FILE_LINES: usize = 400;
/// First words of SQL statements, as they stand in a string.
const SQL: &[&str] =
    &["SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ", "CREATE TABLE ", "BEGIN IMMEDIATE", "PRAGMA "];
/// Words by which a file says nothing of what it holds, alone or at the beginning.
const EMPTY_NAMES: &[&str] = &["utils", "util", "helpers", "helper", "common", "manager", "misc"];
/// A word that says nothing alone: what follows it may (`base_conversion`).
const EMPTY_ALONE: &str = "base";
/// Words with which a doc comment asks instead of stating.
const QUESTION_WORDS: &[&str] = &["What", "How", "Whether", "Who", "Whom", "Whose"];

struct Source {
    /// Below the root, with forward slashes.
    path: String,
    text: String,
}

/// The folder of the workspace.
fn root() -> &'static Path {
    palestra_test_support::workspace()
}

fn collect(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    if folder.is_file() {
        found.push(folder.to_owned());
        return;
    }
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

/// The sources of every package but this one, whose rules hold the words that they look for, below each of `folders`. Programs that
/// tests run in sandboxes are data.
fn sources_of_all(folders: &[&str]) -> Vec<Source> {
    let mut packages = packages::workspace().packages;
    packages.remove("tidy");
    let folders: Vec<String> = packages
        .values()
        .flat_map(|package| folders.iter().map(|folder| package.folder.join(folder)))
        .map(|folder| folder.strip_prefix(root()).unwrap().to_string_lossy().into_owned())
        .collect();
    let mut sources = sources(&folders.iter().map(String::as_str).collect::<Vec<_>>());
    sources.retain(|source| !source.path.starts_with("crates/workbench/tests/programs/"));
    assert!(sources.len() > packages.len(), "there are sources");
    sources
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
fn every_package_is_known_and_knows_only_what_it_may() {
    assert_none(&packages::strays(&packages::workspace()), "packages and what they depend on are those of the list");
}

#[test]
fn environments_reach_neither_store_nor_configuration_nor_http() {
    assert_none(
        &packages::reaches(&packages::workspace()),
        "environments and verifiers get what they need as arguments",
    );
}

#[test]
fn modules_of_a_package_do_not_know_each_other_in_circles() {
    let packages = packages::workspace().packages;
    let found: Vec<String> = packages
        .iter()
        .flat_map(|(name, package)| {
            circles::circles(&package.folder.join("src"))
                .into_iter()
                .map(move |circle| format!("palestra-{name}: {circle}"))
        })
        .collect();
    assert_none(&found, "imports of modules make no circle");
}

#[test]
fn every_package_is_in_the_table_of_the_architecture() {
    let page = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    let missing: Vec<String> = packages::workspace()
        .packages
        .into_values()
        .map(|package| package.folder.strip_prefix(root()).unwrap().to_string_lossy().into_owned())
        .filter(|folder| !folder.is_empty() && !page.contains(&format!("| `{folder}/` |")))
        .collect();
    assert_none(&missing, "docs/ARCHITECTURE.md has a row for each package");
}

#[test]
fn only_the_http_folder_knows_the_web_framework() {
    let sources = sources_of_all(&["src"]);
    // The application is served through the function that src/http offers. The scripted model is a server of its own, and load tests
    // serve peers to compare with.
    let allowed = ["src/http/", "crates/scripted-model/src/", "load-tests/src/"];
    assert_none(&offenders(&sources, &allowed, &["axum", "tower_http"]), "only src/http/ names axum");
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
    let sources = sources_of_all(&["src"]);
    let quoted: Vec<String> = SQL.iter().map(|word| format!("\"{word}")).collect();
    let mut words: Vec<&str> = quoted.iter().map(String::as_str).collect();
    words.push("sqlx::");
    // Databases to act in are about SQL, and so is what measures them.
    let allowed =
        ["crates/store/src/", "crates/sql/", "crates/sqlite-worker/", "crates/test-support/", "load-tests/src/"];
    assert_none(&offenders(&sources, &allowed, &words), "only crates/store/ contains SQL");
}

#[test]
fn back_ends_alone_name_their_clients_and_what_is_unsafe_is_in_few_files() {
    let sources = sources_of_all(&["src"]);
    assert_none(
        &offenders(&sources, &["crates/sandbox/src/docker/"], &["bollard::"]),
        "only crates/sandbox/src/docker/ names bollard",
    );
    assert_none(
        &offenders(&sources, &["crates/sql/src/engine/postgres/"], &["tokio_postgres"]),
        "only crates/sql/src/engine/postgres/ names tokio-postgres",
    );
    let interfaces = [
        "crates/sandbox-agent/src/",
        "crates/sqlite-worker/src/heap.rs",
        "crates/sqlite-worker/src/pages.rs",
        "crates/sqlite-worker/src/raw.rs",
    ];
    assert_none(
        &offenders(&sources, &interfaces, &["unsafe {", "unsafe fn"]),
        "only the agent, and the worker's interfaces to SQLite, are unsafe",
    );
}

#[test]
fn only_one_file_writes_to_the_terminal() {
    let sources = sources(&["src"]);
    // The macros that print are refused by the compiler's lints.
    let rules: [(&str, &[&str], &str); 2] = [
        ("src/terminal.rs", &["stdout()", "stderr()"], "only src/terminal.rs, which escapes, writes to the terminal"),
        ("src/table.rs", &["comfy_table::"], "only src/table.rs, which escapes cells, makes tables"),
    ];
    for (file, words, rule) in rules {
        assert_none(&offenders(&sources, &[file], words), rule);
    }
}

#[test]
fn the_session_engine_knows_no_http() {
    let sources = sources(&["crates/session/src", "crates/store/src", "crates/worker/src/stats"]);
    let words = ["StatusCode", "palestra_client", "reqwest"];
    assert_none(&offenders(&sources, &[], &words), "below the edge nothing knows of HTTP");
}

#[test]
fn the_protocol_does_no_io() {
    let sources = sources(&["crates/protocol/src"]);
    let words = ["std::fs", "std::net", "std::env", "std::process", "std::thread", "tokio", "async fn", "reqwest"];
    assert_none(&offenders(&sources, &[], &words), "crates/protocol/ is plain data");
    let uses = &packages::workspace().uses["palestra-protocol"];
    for banned in ["tokio", "reqwest", "axum", "sqlx"] {
        assert!(!uses.contains(banned), "crates/protocol/ depends on {banned}");
    }
}

#[test]
fn every_file_says_what_it_is() {
    let all = sources_of_all(&["src", "tests", "benches", "examples", "build.rs"]);
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
fn doc_comments_state_and_do_not_ask() {
    let asks = |line: &str| {
        let line = line.trim_start();
        let text = line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! "));
        text.and_then(|text| text.split([' ', ',', ':']).next()).is_some_and(|word| QUESTION_WORDS.contains(&word))
    };
    let goes_on = |line: &str| ["/// ", "//! "].iter().any(|mark| line.trim_start().starts_with(mark));
    let mut questions = Vec::new();
    for source in sources_of_all(&["src", "tests", "benches", "examples", "build.rs"]) {
        let mut before = "";
        for (index, line) in source.text.lines().enumerate() {
            if asks(line) && !goes_on(before) {
                questions.push(format!("{}:{}: {}", source.path, index + 1, line.trim()));
            }
            before = line;
        }
    }
    assert_none(&questions, "a doc comment begins with a noun or a verb in the third person");
}

#[test]
fn nothing_is_exported_by_glob() {
    let globs: Vec<String> = sources_of_all(&["src"])
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
