//! Publications of work: rows that are read, proven by execution, and stored under their digest.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_protocol::environment::ScoreRange;
use palestra_protocol::name::NameKind;
use palestra_protocol::problem::Fault;
use palestra_sandbox::Sandboxes;
use palestra_workbench::work::{Reading, Upload, Work, Workbench};
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
    /// True if tasks with faults are left out of it, rather than refusing all.
    pub keep_going: bool,
    /// True if tasks that nothing proves can be trained on.
    pub trust_unproven: bool,
    /// Most that doing nothing scores in tasks that declare nothing else.
    pub floor: Option<f64>,
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

/// Reads a publication, as it is played in `sandboxes`. Its rows are not proven yet.
///
/// # Errors
/// With every fault.
pub fn parse(submission: &Submission, sandboxes: &Sandboxes) -> Result<Parsed, Vec<Fault>> {
    let told =
        |field: Option<&str>, detail: String| Fault { field: field.map(str::to_owned), detail, ..Fault::default() };
    let name = &submission.name;
    let work = family(name).ok_or_else(|| {
        vec![told(
            Some("name"),
            format!("{name:?} is of no family of work: begin the name by terminal/, code/ or repository/"),
        )]
    })?;
    let Reading { mut rows, faults } = work.read(&submission.upload, sandboxes);
    if !faults.is_empty() && (rows.is_empty() || !submission.keep_going) {
        let fault = |fault: palestra_workbench::work::Fault| Fault {
            file: Some(fault.place),
            detail: fault.detail,
            ..Fault::default()
        };
        return Err(faults.into_iter().take(FAULTS_TOLD_MAX).map(fault).collect());
    }
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
    if submission.trust_unproven && !rows.iter_mut().all(|(_, row)| work.trust(row)) {
        let detail = "does not apply: every task of this family needs a solution, leave it out".to_owned();
        return Err(vec![told(Some("trust_unproven"), detail)]);
    }
    if let Some(floor) = submission.floor {
        ScoreRange::declared(Some(floor), None).map_err(|why| vec![told(Some("floor"), why)])?;
        if !rows.iter_mut().all(|(_, row)| work.declare_floor(row, floor)) {
            let detail = "tasks of this family are scored from 0: leave out `floor`".to_owned();
            return Err(vec![told(Some("floor"), detail)]);
        }
    }
    let left_out = faults.iter().map(|fault| format!("left out: {}: {}", fault.place, fault.detail)).collect();
    let heading = (submission.description.clone(), submission.tags.clone());
    let mut parsed = assemble(&*work, name, heading, rows, left_out).map_err(|why| vec![told(None, why)])?;
    parsed.keep_going = submission.keep_going;
    Ok(parsed)
}

/// A publication as it was proven: with the rows that hold in another form, by split and index, and without those that were refused, each
/// with the reason.
///
/// # Errors
/// In words, when nothing is left or it does not have the stored form.
pub fn proven(
    mut parsed: Parsed,
    otherwise: Vec<(String, usize, Value)>,
    refused: &BTreeMap<(String, usize), String>,
) -> Result<Parsed, String> {
    for (split, index, form) in otherwise {
        let rows = parsed.rows.iter_mut().find(|(name, _)| *name == split);
        if let Some(row) = rows.and_then(|(_, rows)| rows.get_mut(index)) {
            *row = form;
        }
    }
    let work = family(&parsed.name).ok_or_else(|| {
        format!("{} is of no family of work: begin its name by terminal/, code/ or repository/", parsed.name)
    })?;
    let stored: Stored = serde_json::from_value(parsed.definition).map_err(|error| error.to_string())?;
    let mut notes = parsed.left_out;
    let mut rows = Vec::new();
    for (split, of_split) in parsed.rows {
        for (index, row) in of_split.into_iter().enumerate() {
            match refused.get(&(split.clone(), index)) {
                None => rows.push((split.clone(), row)),
                Some(why) => {
                    let name = called(&*work, &row);
                    notes.push(format!("left out: {name}: {why}"));
                }
            }
        }
    }
    assemble(&*work, &parsed.name, (stored.description, stored.tags), rows, notes)
}

/// The name by which the author knows a task: its id, else its template.
#[must_use]
pub fn called(work: &dyn Work, row: &Value) -> String {
    let Ok(brief) = work.describe(row) else { return String::new() };
    let id = ["id", "instance_id"].into_iter().find_map(|field| brief.metadata.get(field)?.as_str());
    id.map_or(brief.template.clone(), str::to_owned)
}

fn assemble(
    work: &dyn Work,
    name: &str,
    (description, tags): (String, Vec<String>),
    rows: Vec<(String, Value)>,
    left_out: Vec<String>,
) -> Result<Parsed, String> {
    let mut by_split: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (split, row) in rows {
        by_split.entry(split).or_default().push(row);
    }
    let judged_by = judged_by(work, by_split.values().flatten());
    let kind = name.split('/').next().unwrap_or_default().to_owned();
    let stored = Stored { kind, description, tags, judged_by };
    let definition = serde_json::to_value(&stored).map_err(|error| error.to_string())?;
    let digest = Digest::of_json(&json!([name, definition, by_split])).to_string();
    let splits = by_split.iter().map(|(split, rows)| (split.clone(), rows.len() as u64)).collect();
    let notes = gathered(by_split.values().flatten().flat_map(|row| work.notes(row)));
    let notes = left_out.iter().cloned().chain(notes).collect();
    let rows = by_split.into_iter().collect();
    Ok(Parsed { name: name.to_owned(), definition, splits, rows, digest, notes, left_out, keep_going: false })
}

/// Adds what the proof of its rows showed to the notes of a publication.
pub fn add_notes(parsed: &mut Parsed, found: Vec<String>) {
    parsed.notes.extend(gathered(found.into_iter()));
}

/// Notes, of which those with the same words about several tasks become one.
fn gathered(notes: impl Iterator<Item = String>) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for note in notes {
        let (place, words) = note.split_once(": ").map_or(("", note.as_str()), |(place, words)| (place, words));
        if !places.contains_key(words) {
            order.push(words.to_owned());
        }
        places.entry(words.to_owned()).or_default().push(place.to_owned());
    }
    let told = |words: String| match places[&words].as_slice() {
        [place] => format!("{place}: {words}"),
        [place, others @ ..] => format!("{place} and {} more: {words}", others.len()),
        [] => words,
    };
    order.into_iter().map(told).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_notes_of_several_tasks_become_one() {
        let notes = ["a/task.toml: x", "b/task.toml: x", "b/task.toml: y"].map(str::to_owned);
        assert_eq!(gathered(notes.into_iter()), ["a/task.toml and 1 more: x", "b/task.toml: y"]);
    }
}
