//! Publications of work: rows that are read, proven by execution, and stored under their digest.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_protocol::name::NameKind;
use palestra_protocol::problem::Fault;
use palestra_workbench::work::{Upload, Workbench};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Heading, Rows, WorkKind, family, judged_by};
use crate::definition::{Definition, Parsed};
use palestra_environment::EnvironmentKind;
use palestra_environment::state::Digest;

/// Rows of a publication.
const ROWS_MAX: usize = 100_000;
/// Faults that are told.
const FAULTS_TOLD_MAX: usize = 1_000;

/// A definition to publish.
pub struct Submission {
    /// `family/name`.
    pub name: String,
    /// The subject.
    pub description: String,
    /// Words to filter by.
    pub tags: Vec<String>,
    /// The rows, as they were sent.
    pub upload: Upload,
}

/// The part that is stored beside the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    kind: String,
    description: String,
    tags: Vec<String>,
    /// Digest of what the rows are judged by.
    judged_by: String,
}

/// Reads a publication. Its rows are not proven yet.
///
/// # Errors
/// With every fault.
pub fn parse(submission: &Submission) -> Result<Parsed, Vec<Fault>> {
    let told =
        |field: Option<&str>, detail: String| Fault { field: field.map(str::to_owned), detail, ..Fault::default() };
    let name = &submission.name;
    let work = family(name).ok_or_else(|| {
        vec![told(
            Some("name"),
            format!("{name:?} is of no family of work: begin the name by terminal/, code/ or repository/"),
        )]
    })?;
    let rows = work.rows(&submission.upload).map_err(|faults| {
        let fault = |fault: palestra_workbench::work::Fault| Fault {
            file: Some(fault.place),
            detail: fault.detail,
            ..Fault::default()
        };
        faults.into_iter().take(FAULTS_TOLD_MAX).map(fault).collect::<Vec<_>>()
    })?;
    if rows.is_empty() || rows.len() > ROWS_MAX {
        return Err(vec![told(None, format!("a publication must have 1 to {ROWS_MAX} tasks, not {}", rows.len()))]);
    }
    let misnamed = rows.iter().filter_map(|(_, row)| {
        let template = work.describe(row).ok()?.template;
        let why = NameKind::Label.check(&template).err()?;
        Some(told(Some("name"), format!("the template {template:?} of a task does not fit, correct it: {why}")))
    });
    let misnamed: Vec<Fault> = misnamed.take(FAULTS_TOLD_MAX).collect();
    if !misnamed.is_empty() {
        return Err(misnamed);
    }
    let mut by_split: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (split, row) in rows {
        by_split.entry(split).or_default().push(row);
    }
    let judged_by = judged_by(&*work, by_split.values().flatten());
    let kind = name.split('/').next().unwrap_or_default().to_owned();
    let stored = Stored { kind, description: submission.description.clone(), tags: submission.tags.clone(), judged_by };
    let definition = serde_json::to_value(&stored).map_err(|error| vec![told(None, error.to_string())])?;
    let digest = Digest::of_json(&json!([name, definition, by_split])).to_string();
    let splits = by_split.iter().map(|(split, rows)| (split.clone(), rows.len() as u64)).collect();
    Ok(Parsed {
        name: name.clone(),
        definition,
        splits,
        rows: by_split.into_iter().collect(),
        digest,
        notes: Vec::new(),
    })
}

/// The kind that a stored publication makes.
///
/// # Errors
/// When it does not have the stored form.
pub fn kind(published: &Definition<'_>, desk: &Workbench) -> Result<Arc<dyn EnvironmentKind>, String> {
    let stored: Stored = serde_json::from_value(published.definition.clone()).map_err(|error| error.to_string())?;
    let work = family(published.name).ok_or_else(|| {
        format!("{} is of no family of work: begin its name by terminal/, code/ or repository/", published.name)
    })?;
    let heading = Heading {
        name: published.name,
        version: published.version,
        description: &stored.description,
        tags: &stored.tags,
        splits: published.splits,
        digest: published.digest,
        judged_by: &stored.judged_by,
    };
    Ok(Arc::new(WorkKind::new(work, desk.clone(), &heading, Rows::Stored)))
}
