//! Reader of uploaded task folders: tasks in the inline form (one YAML file each), and folders in the public layout of Harbor
//! and Terminal-Bench (`task.toml`, `instruction.md`, `environment/`, `tests/`, `solution/`; the older ones with `task.yaml`).

mod build;
mod compose;
mod config;
mod dockerfile;
mod legacy;
mod packages;
mod provision;
mod public;
mod words;

use std::collections::BTreeMap;

use palestra_sandbox::Sandboxes;

use crate::terminal::inline;
use crate::terminal::row::{Row, StoredFile};
use crate::work::{Fault, UploadedFile};

pub(super) use public::{TRUSTED, UNPROVEN};

/// Bytes of all files of a task.
const TASK_BYTES_MAX: usize = 32 << 20;
/// The name of a task whose folder is published by itself.
const UNNAMED: &str = "task";

/// The rows of an upload, each with its split, as they are played where `sandboxes` run.
///
/// Faults are of the tasks that are not among them.
pub fn rows(files: &BTreeMap<String, UploadedFile>, sandboxes: &Sandboxes) -> (Vec<(String, Row)>, Vec<Fault>) {
    let mut rows = Vec::new();
    let mut faults = Vec::new();
    let mut add = |read: Result<(String, Row), Vec<Fault>>| match read {
        Ok(row) => rows.push(row),
        Err(more) => faults.extend(more),
    };
    let folders: Vec<(&str, &str)> = files.keys().filter_map(|path| task_folder(path)).collect();
    let folders: Vec<(&str, &str)> = folders
        .iter()
        .filter(|(folder, _)| !folders.iter().any(|(other, _)| other != folder && below(folder, other)))
        .copied()
        .collect();
    for (folder, file) in &folders {
        let folder = Folder::of(folder, files, sandboxes);
        add(if *file == "task.toml" { public::row(&folder) } else { legacy::row(&folder) });
    }
    // A folder that looks like a task and is none would be missed by nobody.
    for (path, _) in files.iter().filter(|(path, _)| !folders.iter().any(|(folder, _)| below(path, folder))) {
        if let Some(folder) =
            path.strip_suffix("instruction.md").filter(|folder| folder.is_empty() || folder.ends_with('/'))
        {
            add(Err(vec![Fault { place: format!("{folder}task.toml"), detail: "is missing: add it".to_owned() }]));
        }
    }
    let inline = files.iter().filter(|(path, _)| path.ends_with(".yaml") || path.ends_with(".yml"));
    for (path, file) in inline.filter(|(path, _)| !folders.iter().any(|(folder, _)| below(path, folder))) {
        add(match std::str::from_utf8(&file.bytes) {
            Ok(text) => inline::yaml(text, path),
            Err(error) => Err(vec![Fault { place: path.clone(), detail: error.to_string() }]),
        });
    }
    if rows.is_empty() && faults.is_empty() {
        let detail = "there is no task: send a YAML file for each, or folders with task.toml".to_owned();
        faults.push(Fault { place: ".".to_owned(), detail });
    }
    (rows, faults)
}

/// The folder of a task that this file begins.
fn task_folder(path: &str) -> Option<(&str, &str)> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    ["task.toml", "task.yaml"].contains(&file).then_some((folder, file))
}

fn below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The files of a task, by path below its folder.
struct Folder<'a> {
    path: &'a str,
    files: BTreeMap<&'a str, &'a UploadedFile>,
    /// The images, and what the operator allows.
    sandboxes: &'a Sandboxes,
}

impl<'a> Folder<'a> {
    fn of(path: &'a str, files: &'a BTreeMap<String, UploadedFile>, sandboxes: &'a Sandboxes) -> Self {
        let own = files.iter().filter_map(|(name, file)| {
            let name = if path.is_empty() { name.as_str() } else { name.strip_prefix(path)?.strip_prefix('/')? };
            Some((name, file))
        });
        Self { path, files: own.collect(), sandboxes }
    }

    /// The folder's own name, and that of the folder above.
    fn names(&self) -> (&'a str, &'a str) {
        let (above, name) = self.path.rsplit_once('/').unwrap_or(("", self.path));
        (name, above.rsplit('/').next().unwrap_or(above))
    }

    /// A place below, as seen from the upload.
    fn place(&self, place: &str) -> String {
        if self.path.is_empty() { place.to_owned() } else { format!("{}/{place}", self.path) }
    }

    /// A fault at a place below.
    fn fault(&self, place: &str, detail: impl Into<String>) -> Fault {
        Fault { place: self.place(place), detail: detail.into() }
    }

    /// A note on a place below.
    fn note(&self, place: &str, words: &str) -> String {
        format!("{}: {words}", self.place(place))
    }

    fn text(&self, name: &str) -> Result<&'a str, Fault> {
        let file = self.files.get(name).ok_or_else(|| self.fault(name, "is missing: add it"))?;
        std::str::from_utf8(&file.bytes).map_err(|error| self.fault(name, format!("must be text in UTF-8: {error}")))
    }

    /// A fault of a script whose first line no kernel finds an interpreter by.
    fn line_end_fault(&self, name: &str) -> Option<Fault> {
        let first = self.text(name).ok()?.lines().next()?.len();
        let ends = self.text(name).ok()?.as_bytes().get(first..first + 2) == Some(b"\r\n");
        ends.then(|| self.fault(name, "its lines end with CRLF, which shells do not read: save it with LF alone"))
    }

    /// Files below one of its folders, put below `target`.
    fn stored(&self, folder: &str, target: &str) -> Vec<StoredFile> {
        let prefix = format!("{folder}/");
        let below = self.files.iter().filter_map(|(name, file)| Some((name.strip_prefix(&prefix)?, file)));
        below.map(|(name, file)| StoredFile::of(format!("{target}/{name}"), file.mode, &file.bytes)).collect()
    }

    fn size_fault(&self) -> Option<Fault> {
        let bytes: usize = self.files.values().map(|file| file.bytes.len()).sum();
        let detail = format!("a task has at most {TASK_BYTES_MAX} bytes of files, not {bytes}");
        (bytes > TASK_BYTES_MAX).then(|| self.fault("task.toml", detail))
    }
}

#[cfg(test)]
mod tests;
