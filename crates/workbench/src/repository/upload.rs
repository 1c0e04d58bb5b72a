//! Reads what somebody wants to publish: JSON Lines, or an archive with a folder per instance.

use std::collections::{BTreeMap, BTreeSet};

use palestra_state::json;
use serde_json::{Map, Value};

use super::archive;
use super::instance::Instance;
use crate::work::{Fault, Upload, UploadedFile};

/// Rows with their splits.
///
/// # Errors
/// Every fault that was found.
pub(super) fn rows(upload: &Upload) -> Result<Vec<(String, Value)>, Vec<Fault>> {
    let records = match upload {
        Upload::Text(text) => lines(text),
        Upload::Files(files) => folders(files),
    };
    let mut faults = Vec::new();
    let (mut rows, mut names) = (Vec::new(), BTreeSet::new());
    for (place, record) in records {
        let wrong = |detail: String| Fault { place: place.clone(), detail };
        let mut instance = match record.and_then(|record| Instance::of(&record)) {
            Ok(instance) => instance,
            Err(detail) => {
                faults.push(wrong(detail));
                continue;
            }
        };
        let known = faults.len();
        let mut found = instance.check();
        found.extend(archive_fault(&instance).map(|detail| ("archive", detail)));
        if !names.insert(instance.instance_id.clone()) {
            found.push(("instance_id", "is that of another instance".to_owned()));
        }
        faults.extend(found.into_iter().map(|(field, detail)| Fault { place: format!("{place}: {field}"), detail }));
        if faults.len() == known {
            match serde_json::to_value(&instance) {
                Ok(row) => rows.push((instance.split, row)),
                Err(error) => faults.push(wrong(error.to_string())),
            }
        }
    }
    if rows.is_empty() && faults.is_empty() {
        faults.push(Fault { place: "upload".to_owned(), detail: "must hold an instance".to_owned() });
    }
    if faults.is_empty() { Ok(rows) } else { Err(faults) }
}

fn archive_fault(instance: &Instance) -> Option<String> {
    // A digest would be an answer to whether somebody else has published certain bytes.
    let bytes = match archive::decode(&instance.archive) {
        Ok(bytes) => bytes,
        Err(detail) => return Some(detail),
    };
    match archive::kind(&bytes) {
        Ok(archive::Kind::Bundle) if instance.base_commit.is_none() => {
            Some("is a bundle, so base_commit has to say which commit the issue is about".to_owned())
        }
        Ok(_) => None,
        Err(detail) => Some(detail),
    }
}

type Records = Vec<(String, Result<Value, String>)>;

fn lines(text: &str) -> Records {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            let record = json::read(line).map_err(|error| format!("the line must be JSON: {error}"));
            (format!("line {}", index + 1), record)
        })
        .collect()
}

/// Each folder that holds `instance.json` or `instance.yaml` is an instance; beside it stand `repository.bundle`, `repository.tar`,
/// `repository.tar.gz` or the folder `tree/`, and instead of the fields `patch` and `test_patch` the files `solution.patch` and
/// `test.patch`.
fn folders(files: &BTreeMap<String, UploadedFile>) -> Records {
    let mut records = Records::new();
    for (path, file) in files {
        let (folder, name) = path.rsplit_once('/').map_or(("", path.as_str()), |(folder, name)| (folder, name));
        if !matches!(name, "instance.json" | "instance.yaml") || in_tree(folder, files) {
            continue;
        }
        records.push((path.clone(), folder_record(folder, name, file, files)));
    }
    records
}

/// True if a folder is part of a project rather than an instance's own.
fn in_tree(folder: &str, files: &BTreeMap<String, UploadedFile>) -> bool {
    let owners = folder.match_indices("tree").filter(|(at, _)| *at == 0 || folder.as_bytes()[at - 1] == b'/');
    owners.map(|(at, _)| &folder[..at]).any(|owner| {
        ["instance.json", "instance.yaml"].iter().any(|name| files.contains_key(&format!("{owner}{name}")))
    })
}

fn folder_record(
    folder: &str,
    name: &str,
    file: &UploadedFile,
    files: &BTreeMap<String, UploadedFile>,
) -> Result<Value, String> {
    let text = std::str::from_utf8(&file.bytes).map_err(|_| "the file must be UTF-8 text".to_owned())?;
    let mut record: Map<String, Value> = if name.ends_with(".json") {
        json::from_str(text).map_err(|error| format!("the record must be a JSON object: {error}"))?
    } else {
        palestra_yaml::read(text).map_err(|error| format!("the record must be a YAML mapping: {error}"))?
    };
    let beside = |name: &str| {
        if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
    };
    for (field, name) in [("patch", "solution.patch"), ("test_patch", "test.patch")] {
        if let Some(file) = files.get(&beside(name)) {
            let text = String::from_utf8(file.bytes.clone()).map_err(|_| format!("{name} must be UTF-8 text"))?;
            put(&mut record, field, Value::String(text), name)?;
        }
    }
    for name in ["repository.bundle", "repository.tar", "repository.tar.gz"] {
        if let Some(file) = files.get(&beside(name)) {
            put(&mut record, "archive", Value::String(archive::encode(&file.bytes)), name)?;
        }
    }
    let below = beside("tree/");
    let tree: BTreeMap<String, &UploadedFile> = files
        .range(below.clone()..)
        .map_while(|(path, file)| Some((path.strip_prefix(below.as_str())?.to_owned(), file)))
        .collect();
    if !tree.is_empty() {
        put(&mut record, "archive", Value::String(archive::encode(&archive::pack(&tree)?)), "tree/")?;
    }
    Ok(Value::Object(record))
}

fn put(record: &mut Map<String, Value>, field: &str, value: Value, name: &str) -> Result<(), String> {
    match record.insert(field.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(format!("{field} is given twice, {name} stands beside it: leave one out")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSTANCE: &str = "instance_id: words-1\nrepo: words\nproblem_statement: It breaks.\nFAIL_TO_PASS: ['tests/test_a.py::test_x']\nlog_parser: pytest\n";
    const SOLUTION: &str = "diff --git a/words.py b/words.py\n--- a/words.py\n+++ b/words.py\n@@ -1 +1 @@\n-a\n+b\n";
    const TESTS: &str = "diff --git a/tests/test_a.py b/tests/test_a.py\nnew file mode 100644\n--- /dev/null\n+++ b/tests/test_a.py\n@@ -0,0 +1 @@\n+b\n";

    fn files(list: &[(&str, &str)]) -> Upload {
        let file = |text: &str| UploadedFile { mode: 0o644, bytes: text.as_bytes().to_vec() };
        Upload::Files(list.iter().map(|(path, text)| ((*path).to_owned(), file(text))).collect())
    }

    fn whole() -> Vec<(&'static str, &'static str)> {
        vec![
            ("one/instance.yaml", INSTANCE),
            ("one/tree/words.py", "a\n"),
            ("one/tree/data/instance.json", "{}"),
            ("one/solution.patch", SOLUTION),
            ("one/test.patch", TESTS),
        ]
    }

    #[test]
    fn a_folder_with_a_plain_tree_is_an_instance_and_what_is_in_the_tree_is_not() {
        let rows = rows(&files(&whole())).expect("a row");
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].0, "train");
        let tree = archive::decode(rows[0].1["archive"].as_str().expect("an archive")).expect("base64");
        let mut archive = tar::Archive::new(tree.as_slice());
        let paths: Vec<String> = archive
            .entries()
            .expect("entries")
            .map(|entry| entry.expect("an entry").path().expect("a path").display().to_string())
            .collect();
        assert_eq!(paths, ["tree/data/instance.json", "tree/words.py"]);
    }

    #[test]
    fn json_lines_are_read_and_every_fault_has_its_place() {
        let row = rows(&files(&whole())).expect("a row").remove(0).1;
        let line = row.to_string();
        assert_eq!(rows(&Upload::Text(format!("{line}\n\n"))).expect("a row").len(), 1);
        let mut digest = row;
        digest["archive"] = Value::String(format!("sha256:{}", "0".repeat(64)));
        let faults = rows(&Upload::Text(format!("{line}\n{line}\nnonsense\n{digest}\n"))).expect_err("faults");
        let places: Vec<&str> = faults.iter().map(|fault| fault.place.as_str()).collect();
        assert_eq!(places, ["line 2: instance_id", "line 3", "line 4: archive", "line 4: instance_id"]);
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_with_its_line() {
        let line = r#"{"instance_id": "a", "patch": "", "patch": "x"}"#;
        let faults = rows(&Upload::Text(format!("\n{line}"))).expect_err("refused");
        assert_eq!(faults[0].place, "line 2");
        assert!(faults[0].detail.contains("two members \"patch\""), "{}", faults[0].detail);
        let faults = rows(&files(&[("one/instance.json", line)])).expect_err("refused");
        assert_eq!(faults[0].place, "one/instance.json");
        assert!(faults[0].detail.contains("two members \"patch\" at line 1 column 47"), "{}", faults[0].detail);
    }

    #[test]
    fn duplicate_and_missing_fields_are_faults() {
        let mut twice = whole();
        twice.push(("one/repository.bundle", "# v2 git bundle\n"));
        assert!(rows(&files(&twice)).expect_err("refused")[0].detail.contains("archive is given twice"));
        let missing: Vec<_> = whole().into_iter().filter(|(path, _)| !path.contains("tree/")).collect();
        assert!(rows(&files(&missing)).expect_err("refused")[0].detail.contains("archive"));
        assert_eq!(rows(&files(&[])).expect_err("refused")[0].detail, "must hold an instance");
        let bundle: Vec<_> = missing.into_iter().chain([("one/repository.bundle", "# v2 git bundle\n")]).collect();
        assert!(rows(&files(&bundle)).expect_err("refused")[0].detail.contains("base_commit"));
    }
}
