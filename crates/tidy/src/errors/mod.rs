//! Error texts that users meet: all of them stand in docs/errors.md, and say what is wrong with what, and what to do.

mod collect;
mod form;
mod planted;
mod syntax;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::sync::LazyLock;

use collect::Text;

/// The list. `UPDATE_ERRORS=1` writes it anew.
const LIST: &str = "docs/errors.md";
/// Packages that are no part of the product.
const NO_PRODUCT: &[&str] = &["tidy", "test-support", "load-tests", "trainer-parity"];
/// Texts that no user meets as an error to act on, and why: by path, by path and the beginning of the text, or by type and variant.
const APART: &[(&str, &str)] = &[
    (
        "crates/puzzles/",
        "evidence of verdicts, which stays as it is within a version, and faults of generators, which tests find",
    ),
    ("crates/sandbox-agent/", "goes to the server in frames, which tells of it as a lost sandbox or in an observation"),
    (
        "crates/sqlite-worker/",
        "goes to the server in frames, which tells of it as a lost database or in an observation",
    ),
    ("crates/sandbox/src/link.rs", "ends the text of a lost sandbox, which says what to do"),
    ("crates/sandbox/src/cgroup/", "ends a line of `palestra doctor`, which says what to do"),
    ("SandboxError::Refused", "the agent's own words, in an observation"),
    ("BuildError::Failed", "the last words of a tool that builds images"),
    ("SessionError::Internal", "goes to the log: callers get `internal`"),
    ("JobsError::Internal", "goes to the log: callers get `internal`"),
    ("JobsError::Io", "goes to the log: callers get `internal`"),
    ("CatalogError::Broken", "goes to the log: callers get `internal`"),
    ("crates/session/src/step.rs: a pure environment waited", "goes to the log: callers get `internal`"),
    (
        "VerifierError",
        "a fault of an environment's own code: the verdict is `verifier_error`, and the episode no sample",
    ),
    ("crates/environment/src/tool.rs: Error:", "an observation"),
    ("crates/session/src/turn.rs: Error:", "an observation"),
    (
        "crates/environment/src/verifier/choice.rs: is ",
        "evidence of verdicts, or the end of a text that says what to do",
    ),
    ("crates/environment/src/proof.rs: {other:?}", "built-in policies act by texts and tools alone"),
    ("crates/families/src/bench/", "environments to measure with"),
    ("crates/families/src/app/mod.rs: the task", "tasks are read as they were written"),
    ("crates/families/src/dataset/mod.rs: the task's secret", "tasks are read as they were written"),
    ("crates/families/src/sql/mod.rs: the tasks are in the store", "tasks are asked for where they are"),
    ("crates/families/src/app/shipped.rs", "shipped definitions, which tests read"),
    ("crates/families/src/work/shipped.rs", "shipped definitions, which tests read"),
    ("crates/trainer/src/chat/message.rs", "ends the text about a data set, which says to correct the line"),
    ("crates/trainer/src/chat/date.rs", "ends the text about a chat template, which says to correct it"),
    ("crates/trainer/src/data/jsonl.rs", "ends the text about a data set, which says to correct the line"),
    (
        "crates/trainer/src/model/load/safetensors.rs: ",
        "ends the text about a model's files, which says to correct them",
    ),
    ("crates/workbench/src/checks/", "evidence of verdicts, which stays as it is within a version"),
    ("crates/workbench/src/repository/log/", "evidence of verdicts, which stays as it is within a version"),
    (
        "crates/workbench/src/repository/change.rs: its tree",
        "evidence of verdicts, which stays as it is within a version",
    ),
    (
        "crates/workbench/src/repository/workspace.rs: its files",
        "evidence of verdicts, which stays as it is within a version",
    ),
    ("crates/workbench/src/code/workspace.rs: a snapshot", "snapshots are read as they were written"),
    ("crates/workbench/src/terminal/tools.rs", "an observation"),
    ("crates/sql/src/counterexample/search.rs: no result", "a query of a search that goes on without it"),
    ("crates/sql/src/engine/postgres/rules.rs", "an observation"),
    ("crates/sql/src/session/", "an observation"),
    ("crates/sql/src/judge/", "evidence of verdicts, which stays as it is within a version"),
    ("crates/sql/src/engine/postgres/wire/", "ends the text of a lost database, which says what to do"),
    ("crates/sql/src/translate/", "ends a line about a question that is left out of an import, and says why"),
    ("crates/sql/src/template/", "templates that are shipped, which tests read"),
    ("crates/sql/src/world/", "worlds that are shipped, which tests read"),
    ("crates/sql/src/dataset/", "data that is shipped or was imported and checked"),
    ("crates/apps/src/run/", "an observation, or the definition's fault that ends an episode"),
    ("crates/apps/src/screen/", "an observation"),
    ("crates/apps/src/html/", "an observation"),
    ("crates/apps/src/data/refusal.rs", "an observation"),
    ("crates/apps/src/task/answer.rs", "an observation"),
    (
        "crates/apps/src/task/document.rs",
        "a state that is not as it was stored: the verdict is `verifier_error`, and the episode no sample",
    ),
    ("Misfit::", "ends an observation, or a fault of a setting behind the column that it is about"),
    ("NotExact::", "ends an observation, or a fault of a setting behind the column that it is about"),
    ("crates/apps/src/expression/frame.rs", "ends the text of a faulty definition, which says what to do"),
    ("src/http/problem.rs: line {line}: {}", "goes on with a fault of this list"),
    ("crates/protocol/src/problem.rs: line {line}: ", "goes on with a fault of this list"),
    ("crates/workbench/src/repository/git.rs", "the last words of git, which end another text"),
    ("crates/workbench/src/code/submission.rs", "an observation"),
    ("src/command/doctor.rs: no command", "the commands are in the program"),
    ("src/http/compat/openenv/rest.rs: Input should", "the words of OpenEnv's own servers"),
    ("src/http/compat/openenv/tasks.rs: Invalid task index", "the words of OpenEnv's own servers"),
];

/// The texts of every package, by its name.
static TEXTS: LazyLock<BTreeMap<String, BTreeSet<Text>>> = LazyLock::new(|| {
    let mut packages = crate::packages::workspace().packages;
    packages.retain(|name, _| !NO_PRODUCT.contains(&name.as_str()));
    let sources: Vec<_> = packages
        .iter()
        .flat_map(|(name, package)| collect::parse(crate::root(), name, &package.folder.join("src")))
        .collect();
    let mut found: BTreeMap<String, BTreeSet<Text>> = BTreeMap::new();
    for text in collect::texts(&sources) {
        let below = text.file.strip_prefix("crates/").and_then(|rest| rest.split('/').next());
        found.entry(below.unwrap_or_default().to_owned()).or_default().insert(text);
    }
    found
});

/// Why a text is apart, where it is.
fn apart(text: &Text) -> Option<&'static str> {
    let place = format!("{}: {}", text.file, text.text);
    let found = APART.iter().find(|(of, _)| place.starts_with(of) || text.raised_as.starts_with(of));
    found.map(|(of, _)| *of)
}

/// The codes of the API: code, status, what it means, what to do.
fn codes() -> Vec<[String; 4]> {
    let source = fs::read_to_string(crate::root().join("crates/protocol/src/problem.rs")).unwrap();
    let (_, list) = source.rsplit_once("\ncodes! {").expect("the list of codes");
    let codes = list.split("\";\n").filter_map(|code| {
        let texts: Vec<&str> = code.split('"').collect();
        let [_, code, status, title, _, remedy] = texts.as_slice() else { return None };
        Some([*code, status.trim_matches([',', ' ']), *title, *remedy].map(str::to_owned))
    });
    codes.collect()
}

fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// The page as it should be.
fn page() -> String {
    let mut page = "# Errors\n\nEvery error that a user can meet, collected from the sources: change the text there, then run \
        `UPDATE_ERRORS=1 cargo nextest run -p palestra-tidy`. A text says what is wrong, where, and what to do. `{..}` stands for what \
        differs from case to case; the field or line that a fault is about stands beside it in `errors`.\n\n## Codes of the API\n\nAn \
        error is `application/problem+json` (RFC 9457): `code` is stable, `type` is `/problems/<code>`, `title` is what \
        the code means, `detail` one of the texts below.\n\n| code | status | what it means | what to do |\n| --- | --- | --- | --- |\n"
        .to_owned();
    for [code, status, title, remedy] in codes() {
        page += &row(&[&format!("`{code}`"), &status, &title, &remedy]);
    }
    page += "\n## Texts\n";
    for (package, texts) in TEXTS.iter() {
        let listed: BTreeSet<(&str, &str)> = texts
            .iter()
            .filter(|text| apart(text).is_none())
            .map(|text| (text.raised_as.as_str(), text.text.as_str()))
            .collect();
        if listed.is_empty() {
            continue;
        }
        let package = if package.is_empty() { "Server and command line" } else { package };
        let _ = write!(page, "\n### {package}\n\n| raised as | text |\n| --- | --- |\n");
        listed.iter().for_each(|(raised_as, text)| page += &row(&[raised_as, text]));
    }
    page += "\n## Apart\n\nWhat the sources hold besides, and why it is not listed above.\n\n| where | why |\n| --- | --- |\n";
    APART.iter().for_each(|(of, why)| page += &row(&[&format!("`{of}`"), why]));
    page
}

#[test]
fn every_error_that_a_user_can_meet_is_listed() {
    let (path, page) = (crate::root().join(LIST), page());
    if std::env::var_os("UPDATE_ERRORS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let listed = fs::read_to_string(&path).unwrap_or_default();
    let (listed, page): (BTreeSet<&str>, BTreeSet<&str>) = (listed.lines().collect(), page.lines().collect());
    let differ: Vec<String> = page
        .difference(&listed)
        .map(|line| format!("not listed: {line}"))
        .chain(listed.difference(&page).map(|line| format!("gone: {line}")))
        .collect();
    crate::assert_none(&differ, "docs/errors.md is what the sources say: run again with UPDATE_ERRORS=1");
    let used: BTreeSet<&str> = TEXTS.values().flatten().filter_map(apart).collect();
    let idle: Vec<String> =
        APART.iter().map(|(of, _)| *of).filter(|of| !used.contains(of)).map(str::to_owned).collect();
    crate::assert_none(&idle, "what is apart is there");
}

#[test]
fn every_error_names_its_subject_and_what_to_do() {
    let wrong: Vec<String> = TEXTS
        .values()
        .flatten()
        .filter(|text| apart(text).is_none())
        .filter_map(|text| {
            let lacks = form::lacks(&text.text, text.placed, text.remedied);
            (!lacks.is_empty()).then(|| format!("{}: no {}: {:?}", text.file, lacks.join(", no "), text.text))
        })
        .collect();
    crate::assert_none(&wrong, "an error says what is wrong with what, and what to do");
}

#[test]
fn every_code_of_the_api_has_a_meaning_and_a_remedy() {
    let codes = codes();
    let api = fs::read_to_string(crate::root().join("openapi/openapi.json")).unwrap();
    let api: serde_json::Value = serde_json::from_str(&api).unwrap();
    let served = api["components"]["schemas"]["Code"]["enum"].as_array().expect("the codes of the document");
    let ours: Vec<&str> = codes.iter().map(|[code, ..]| code.as_str()).collect();
    assert_eq!(served.iter().filter_map(|code| code.as_str()).collect::<Vec<_>>(), ours);
    let wrong: Vec<String> = codes
        .iter()
        .filter(|[_, _, title, remedy]| !title.ends_with('.') || !form::has_remedy(remedy))
        .map(|[code, ..]| code.clone())
        .collect();
    crate::assert_none(&wrong, "a code says what it means and what to do");
}
