//! Definitions on their way in: files that are bounded and named as files, every fault at its place, and the proof that each
//! template makes tasks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use palestra_apps::app::App;
use palestra_apps::app::theme::{FOLDER, LOOKS_FILE, is_file_name as is_theme_file};
use palestra_apps::check::{Effort, check_while};
use palestra_apps::definition::DATA_FILE;
use palestra_apps::definition::fixed::TASKS_FILE;
use palestra_apps::fault::Faults;
use palestra_apps::run::database;
use palestra_protocol::problem::Fault;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{AppKind, name_of, screen};
use crate::definition::{APP, Parsed};
use palestra_environment::TaskGenerator;
use palestra_environment::spec::GENERATED_SPLITS;
use palestra_environment::state::Digest;
use palestra_environment::task::{TaskError, TaskId};

/// The text of a definition's files, by name.
pub type Files = BTreeMap<String, String>;

/// Files of a definition.
pub const FILES_MAX: usize = 64;
/// Bytes of all files of a definition together.
pub const FILE_BYTES_MAX: usize = 4 << 20;
/// Bytes of a file's name.
const NAME_BYTES_MAX: usize = 64;
/// The extension of every file.
const EXTENSION: &str = ".yaml";
/// Rows of all tables together at the beginning of an episode.
const ROWS_MAX: usize = 200_000;
/// Splits of an app.
const SPLITS_MAX: usize = 16;
/// Tasks that are drawn of each split.
const TASKS_TRIED: u64 = 8;
/// Time limit of the proof of a definition, in milliseconds. Each single step of it is bounded by the engine.
const PROOF_MS_MAX: u64 = 120_000;
/// Faults that are told.
const FAULTS_TOLD_MAX: usize = 1_000;

/// Reads a definition that is to be published, and proves that its tasks can be played.
///
/// # Errors
/// With every fault, and where it stands.
pub fn parse(files: &Files) -> Result<Parsed, Vec<Fault>> {
    check_files(files)?;
    let app = App::load(files).map_err(faults_of)?;
    if let Some(name) = app.calls.keys().find(|name| screen::NAMES.contains(&&***name)) {
        let detail = format!("{name} is what an action on screens is called: choose another name");
        return Err(vec![Fault { detail, ..Fault::default() }]);
    }
    let digest = digest_of(files);
    let told = |detail| Fault { detail, ..Fault::default() };
    let notes = prove(&app, &digest)
        .map_err(|failures| failures.into_iter().take(FAULTS_TOLD_MAX).map(told).collect::<Vec<_>>())?;
    Ok(Parsed {
        name: name_of(&app),
        definition: json!({"kind": APP, "files": files}),
        splits: splits(&app),
        rows: Vec::new(),
        digest,
        notes,
        left_out: Vec::new(),
        keep_going: false,
    })
}

/// The files of a stored definition.
///
/// # Errors
/// When it does not have the stored form.
pub fn files_of(definition: &Value) -> Result<Files, String> {
    serde_json::from_value(definition["files"].clone()).map_err(|error| error.to_string())
}

/// The digest of a shipped app. How it looks is no part of its version: tasks, data and verdicts are.
#[must_use]
pub(super) fn digest_of_shipped(files: &Files) -> String {
    let meant = files.iter().filter(|(name, _)| !name.starts_with(FOLDER));
    digest_of(&meant.map(|(name, text)| (name.clone(), text.clone())).collect())
}

/// `sha256:<hex>` of names and texts.
#[must_use]
pub fn digest_of(files: &Files) -> String {
    let mut hasher = Sha256::new();
    for part in files.iter().flat_map(|(name, text)| [name, text]) {
        hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    Digest::of(&hasher.finalize()).to_string()
}

/// Faults as the API tells them.
#[must_use]
pub fn faults_of(faults: Faults) -> Vec<Fault> {
    let more = faults.len().saturating_sub(FAULTS_TOLD_MAX);
    let told = |fault: palestra_apps::fault::Fault| Fault {
        field: Some(fault.path).filter(|path| !path.is_empty()),
        file: Some(fault.position.file.to_string()),
        line: Some(fault.position.line.into()),
        column: Some(fault.position.column.into()),
        detail: fault.message,
    };
    let mut faults: Vec<Fault> = faults.into_iter().take(FAULTS_TOLD_MAX).map(told).collect();
    if more > 0 {
        faults.push(Fault { detail: format!("and {more} more faults: correct these first"), ..Fault::default() });
    }
    faults
}

fn check_files(files: &Files) -> Result<(), Vec<Fault>> {
    let mut faults = Vec::new();
    let mut wrong = |file: &str, detail: String| {
        let file = Some(file.chars().take(NAME_BYTES_MAX).collect()).filter(|file: &String| !file.is_empty());
        faults.push(Fault { file, detail, ..Fault::default() });
    };
    if files.len() > FILES_MAX {
        wrong("", format!("a definition has at most {FILES_MAX} files"));
    } else {
        for name in files.keys().filter(|name| !is_file_name(name)) {
            wrong(
                name,
                format!(
                    "a file's name must be letters, digits, _ and -, then {EXTENSION}, without folders; or {DATA_FILE} or {TASKS_FILE}; or a file of a theme: {LOOKS_FILE}, {FOLDER}NAME with the ending html, css, js or svg"
                ),
            );
        }
    }
    if files.values().map(String::len).sum::<usize>() > FILE_BYTES_MAX {
        wrong("", format!("a definition has at most {FILE_BYTES_MAX} bytes"));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// True if a name stands for a file of a definition, and for nothing else anywhere.
pub fn is_file_name(name: &str) -> bool {
    if [DATA_FILE, TASKS_FILE].contains(&name) || is_theme_file(name) {
        return true;
    }
    let plain = |stem: &str| stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    name.len() <= NAME_BYTES_MAX && name.strip_suffix(EXTENSION).is_some_and(|stem| !stem.is_empty() && plain(stem))
}

/// Number of tasks by split: those that templates make, and of a split that fixed tasks name exactly these.
pub(super) fn splits(app: &App) -> BTreeMap<String, u64> {
    let mut splits = BTreeMap::new();
    for task in &app.fixed {
        *splits.entry(task.split.to_string()).or_insert(0) += 1;
    }
    if !app.templates.is_empty() || app.fixed.is_empty() {
        for (split, length) in GENERATED_SPLITS {
            splits.entry(split.to_owned()).or_insert(length);
        }
    }
    splits
}

/// The ids of fixed tasks that a task of a template has too.
fn taken_ids(app: &App, splits: &BTreeMap<String, u64>) -> Vec<String> {
    let is_fixed = |split: &str| app.fixed.iter().any(|task| *task.split == *split);
    let taken = |id: &str| id.parse::<TaskId>().is_ok_and(|id| splits.contains_key(&id.split) && !is_fixed(&id.split));
    let taken = app.fixed.iter().filter(|task| taken(&task.id));
    taken
        .map(|task| task.fault("a task of a template has this id: choose another one".to_owned()).to_string())
        .collect()
}

/// Makes every initial database, runs the check of the engine, and draws tasks of every split. Answers notes for the publisher.
fn prove(app: &Arc<App>, digest: &str) -> Result<Vec<String>, Vec<String>> {
    let deadline = Instant::now() + Duration::from_millis(PROOF_MS_MAX);
    let only = |failure: String| vec![failure];
    if app.templates.is_empty() && app.fixed.is_empty() {
        return Err(only("the definition has no tasks, so that there is nothing to play".to_owned()));
    }
    let splits = splits(app);
    if splits.len() > SPLITS_MAX {
        return Err(only(format!("an app has at most {SPLITS_MAX} splits: name fewer in tasks.jsonl")));
    }
    let taken = taken_ids(app, &splits);
    if !taken.is_empty() {
        return Err(taken);
    }
    for variant in 0..app.variants.count() {
        let data = database(app, variant).map_err(only)?;
        let rows: usize = app.schema.ids().map(|(table, _)| data.len(table)).sum();
        if rows > ROWS_MAX {
            return Err(only(format!("variant {variant} begins with {rows} rows; at most {ROWS_MAX} are published")));
        }
    }
    let pages = palestra_apps::html::faulty_pages(app);
    if !pages.is_empty() {
        return Err(pages);
    }
    let report = check_while(app, Effort::PUBLICATION, &|| Instant::now() < deadline);
    if !report.failures.is_empty() {
        return Err(report.failures);
    }
    let kind = AppKind::new(Arc::clone(app), 1, digest.to_owned());
    for split in splits.keys() {
        for seed in 0..TASKS_TRIED {
            kind.generate(split, seed, None).map_err(|error| match error {
                TaskError::Faulty(faulty) => only(faulty.evidence),
                error => only(error.to_string()),
            })?;
        }
    }
    Ok(report.notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_leads_nowhere_else() {
        for name in
            ["app.yaml", "tasks_2.yaml", "a-b.yaml", "data.json", "tasks.jsonl", "theme/theme.yaml", "theme/a.html"]
        {
            assert!(is_file_name(name), "{name}");
        }
        for name in [
            "",
            ".yaml",
            "app.yml",
            "../app.yaml",
            "/app.yaml",
            "a/app.yaml",
            "a\\b.yaml",
            "app.yaml\0",
            "ä.yaml",
            "tasks.json",
            "other.jsonl",
            "theme/other.yaml",
            "theme/../a.html",
            "theme/a/b.css",
            "theme/.css",
            "theme/a.png",
        ] {
            assert!(!is_file_name(name), "{name}");
        }
        assert!(!is_file_name(&format!("{}.yaml", "a".repeat(NAME_BYTES_MAX))));
    }

    #[test]
    fn a_digest_tells_files_apart_however_they_are_cut() {
        let files = |pairs: &[(&str, &str)]| -> Files {
            pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
        };
        let one = digest_of(&files(&[("a.yaml", "bc")]));
        assert_eq!(one, digest_of(&files(&[("a.yaml", "bc")])));
        for other in [&[("a.yamlb", "c")][..], &[("a.yaml", "b"), ("c.yaml", "")], &[("b.yaml", "bc")]] {
            assert_ne!(one, digest_of(&files(other)));
        }
    }

    #[test]
    fn too_many_files_and_too_much_text_are_faults() {
        let many: Files = (0..=FILES_MAX).map(|number| (format!("f{number}.yaml"), String::new())).collect();
        assert!(parse(&many).is_err_and(|faults| faults[0].detail.contains("at most 64 files")));
        let large = Files::from([("app.yaml".to_owned(), " ".repeat(FILE_BYTES_MAX + 1))]);
        assert!(parse(&large).is_err_and(|faults| faults[0].detail.contains("bytes")));
    }
}
