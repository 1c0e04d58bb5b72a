//! Work that is shipped with the program: the folders and files of `environments/{terminal,code,repository}/`, read when they are
//! first asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_workbench::work::{Upload, UploadedFile, Workbench};
use serde_json::{Value, json};

use super::{Heading, Rows, WorkKind, family, judged_by};
use palestra_environment::EnvironmentKind;
use palestra_environment::state::Digest;

include!(concat!(env!("OUT_DIR"), "/shipped_work.rs"));

/// Raised when a shipped task can be judged otherwise.
const VERSION: u32 = 1;

/// A shipped environment.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    name: &'static str,
    files: &'static [(&'static str, u32, &'static [u8])],
}

/// Every shipped environment, by name.
#[must_use]
pub fn all() -> Vec<Shipped> {
    WORK.to_vec()
}

impl Shipped {
    /// `family/name`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its rows, each with its split.
    ///
    /// # Errors
    /// With every fault.
    pub fn rows(&self) -> Result<Vec<(String, Value)>, String> {
        let work = family(self.name).ok_or_else(|| format!("{} is of no family of work", self.name))?;
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
        let work = family(self.name).ok_or_else(|| format!("{} is of no family of work", self.name))?;
        let rows = self.rows()?;
        let mut by_split: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (split, row) in rows {
            by_split.entry(split).or_default().push(row);
        }
        let splits = by_split.iter().map(|(split, rows)| (split.clone(), rows.len() as u64)).collect();
        let judged_by = judged_by(&*work, by_split.values().flatten());
        let heading = Heading {
            name: self.name,
            version: VERSION,
            description: &format!("{}: shipped with Palestra.", self.name),
            tags: &[],
            splits: &splits,
            digest: &Digest::of_json(&json!([self.name, VERSION, by_split])).to_string(),
            judged_by: &judged_by,
        };
        Ok(Arc::new(WorkKind::new(work, desk.clone(), &heading, Rows::Shipped(by_split))))
    }

    fn upload(&self) -> Result<Upload, String> {
        if let [(path, _, bytes)] = self.files
            && path.ends_with(".jsonl")
        {
            return String::from_utf8(bytes.to_vec()).map(Upload::Text).map_err(|error| error.to_string());
        }
        let file =
            |&(path, mode, bytes): &(&str, u32, &[u8])| (path.to_owned(), UploadedFile { mode, bytes: bytes.to_vec() });
        Ok(Upload::Files(self.files.iter().map(file).collect()))
    }
}
