//! Definitions on their way in: files that are bounded and named as files, every fault at its place, and the proof that each
//! template makes tasks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use palestra_apps::app::App;
use palestra_apps::check::{Effort, check_while};
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
use palestra_environment::task::TaskError;

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
    prove(&app, &digest)
        .map_err(|failures| failures.into_iter().take(FAULTS_TOLD_MAX).map(told).collect::<Vec<_>>())?;
    Ok(Parsed {
        name: name_of(&app),
        definition: json!({"kind": APP, "files": files}),
        splits: GENERATED_SPLITS.iter().map(|(split, length)| ((*split).to_owned(), *length)).collect(),
        rows: Vec::new(),
        digest,
        notes: Vec::new(),
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
            wrong(name, format!("a file's name must be letters, digits, _ and -, then {EXTENSION}, without folders"));
        }
    }
    if files.values().map(String::len).sum::<usize>() > FILE_BYTES_MAX {
        wrong("", format!("a definition has at most {FILE_BYTES_MAX} bytes"));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// True if a name stands for a file of a definition, and for nothing else anywhere.
pub(super) fn is_file_name(name: &str) -> bool {
    let plain = |stem: &str| stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    name.len() <= NAME_BYTES_MAX && name.strip_suffix(EXTENSION).is_some_and(|stem| !stem.is_empty() && plain(stem))
}

/// Makes every initial database, runs the check of the engine, and draws tasks of every split.
fn prove(app: &Arc<App>, digest: &str) -> Result<(), Vec<String>> {
    let deadline = Instant::now() + Duration::from_millis(PROOF_MS_MAX);
    let only = |failure: String| vec![failure];
    if app.templates.is_empty() {
        return Err(only("the definition has no tasks, so that there is nothing to play".to_owned()));
    }
    for variant in 0..app.variants.count() {
        let data = database(app, variant).map_err(only)?;
        let rows: usize = app.schema.ids().map(|(table, _)| data.len(table)).sum();
        if rows > ROWS_MAX {
            return Err(only(format!("variant {variant} begins with {rows} rows; at most {ROWS_MAX} are published")));
        }
    }
    let report = check_while(app, Effort::PUBLICATION, &|| Instant::now() < deadline);
    if !report.failures.is_empty() {
        return Err(report.failures);
    }
    let kind = AppKind::new(Arc::clone(app), 1, digest.to_owned());
    for (split, _) in GENERATED_SPLITS {
        for seed in 0..TASKS_TRIED {
            kind.generate(split, seed, None).map_err(|error| match error {
                TaskError::Faulty(faulty) => only(faulty.evidence),
                error => only(error.to_string()),
            })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_leads_nowhere_else() {
        for name in ["app.yaml", "tasks_2.yaml", "a-b.yaml"] {
            assert!(is_file_name(name), "{name}");
        }
        for name in
            ["", ".yaml", "app.yml", "../app.yaml", "/app.yaml", "a/app.yaml", "a\\b.yaml", "app.yaml\0", "ä.yaml"]
        {
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
