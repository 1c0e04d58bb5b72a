//! Work that is shipped with the program: the folders and files of `environments/{terminal,code,repository}/`.

use std::collections::BTreeMap;
use std::collections::btree_map::OccupiedEntry;
use std::sync::Arc;

use palestra_workbench::work::{Upload, UploadedFile, Work, Workbench};
use serde_json::{Value, json};

use super::{Heading, Rows, WorkKind, family, judged_by};
use crate::embedded::{self, File, Version};
use palestra_environment::EnvironmentKind;
use palestra_environment::state::Digest;

/// Raised when a shipped task can be judged otherwise.
const VERSION: u32 = 1;

/// A shipped environment.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    family: &'static str,
    version: Version,
}

/// Every shipped environment.
#[must_use]
pub fn all() -> Vec<Shipped> {
    let of = |family| embedded::newest(family).map(move |version| Shipped { family, version });
    ["code", "terminal", "repository"].into_iter().flat_map(of).collect()
}

impl Shipped {
    /// `family/name`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.family, self.version.name)
    }

    /// Its rows, each with its split.
    ///
    /// # Errors
    /// With every fault.
    pub fn rows(&self) -> Result<Vec<(String, Value)>, String> {
        let work = self.work()?;
        work.rows(&self.upload()?).map_err(|faults| {
            let faults: Vec<String> =
                faults.into_iter().map(|fault| format!("{}: {}", fault.place, fault.detail)).collect();
            faults.join("\n")
        })
    }

    /// The environment of its rows.
    ///
    /// # Errors
    /// With every fault.
    pub fn kind(&self, desk: &Workbench) -> Result<Arc<dyn EnvironmentKind>, String> {
        let work = self.work()?;
        let (name, rows) = (self.name(), self.rows()?);
        let mut by_split: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (split, row) in rows {
            by_split.entry(split).or_default().push(row);
        }
        let splits = by_split.iter().map(|(split, rows)| (split.clone(), rows.len() as u64)).collect();
        let judged_by = judged_by(&*work, by_split.values().flatten());
        let heading = Heading {
            name: &name,
            version: VERSION,
            description: &format!("{name}: shipped with Palestra."),
            tags: &[],
            splits: &splits,
            digest: &Digest::of_json(&json!([name, VERSION, by_split])).to_string(),
            judged_by: &judged_by,
        };
        Ok(Arc::new(WorkKind::new(work, desk.clone(), &heading, Rows::Shipped(by_split))))
    }

    fn work(&self) -> Result<Arc<dyn Work>, String> {
        let name = self.name();
        family(&name).ok_or_else(|| format!("{name} is of no family of work"))
    }

    fn upload(&self) -> Result<Upload, String> {
        let mut files = self.version.files();
        let tasks = files.first_entry().filter(|file| file.key().ends_with(".jsonl"));
        if let Some(tasks) = tasks.map(OccupiedEntry::remove) {
            return String::from_utf8(tasks.bytes).map(Upload::Text).map_err(|error| error.to_string());
        }
        let uploaded = |file: File| UploadedFile { mode: file.mode, bytes: file.bytes };
        Ok(Upload::Files(files.into_iter().map(|(path, file)| (path, uploaded(file))).collect()))
    }
}
