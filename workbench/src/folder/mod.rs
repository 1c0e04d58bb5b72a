//! What an upload of files holds: tasks in the inline form, and folders in the public layout.

use std::collections::BTreeMap;

use crate::terminal::inline;
use crate::terminal::row::Row;
use crate::work::{Fault, UploadedFile};

/// The rows of an upload, each with its split.
///
/// # Errors
/// Every fault of every task.
pub fn rows(files: &BTreeMap<String, UploadedFile>) -> Result<Vec<(String, Row)>, Vec<Fault>> {
    let mut rows = Vec::new();
    let mut faults = Vec::new();
    for (path, file) in files {
        if path.ends_with(".yaml") || path.ends_with(".yml") {
            let read = match std::str::from_utf8(&file.bytes) {
                Ok(text) => inline::yaml(text, path),
                Err(error) => Err(vec![Fault { place: path.clone(), detail: error.to_string() }]),
            };
            match read {
                Ok(row) => rows.push(row),
                Err(more) => faults.extend(more),
            }
        }
    }
    if faults.is_empty() { Ok(rows) } else { Err(faults) }
}
