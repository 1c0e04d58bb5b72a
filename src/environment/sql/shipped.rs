//! Databases that are shipped with the program: the folders of `environments/sql/`, read when they are first asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_sql::template::Suite;
use serde_json::json;

use super::{Heading, SqlKind};
use crate::databases::Databases;
use crate::environment::EnvironmentKind;
use crate::environment::state::Digest;

include!(concat!(env!("OUT_DIR"), "/shipped_sql.rs"));

/// Raised when a shipped task can be judged otherwise.
const VERSION: u32 = 1;
/// Virtual length of a split of templates.
pub(super) const SPLIT_LENGTH: u64 = 100_000;

/// A shipped environment.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    name: &'static str,
    files: &'static [(&'static str, u32, &'static [u8])],
}

/// Every shipped environment, by name.
#[must_use]
pub fn all() -> Vec<Shipped> {
    SQL.to_vec()
}

impl Shipped {
    /// `sql/name`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its templates.
    ///
    /// # Errors
    /// With every fault.
    pub fn suite(&self) -> Result<Suite, String> {
        Suite::load(&self.files()).map_err(|faults| {
            let faults: Vec<String> =
                faults.into_iter().map(|fault| format!("{}: {}", fault.place, fault.detail)).collect();
            faults.join("\n")
        })
    }

    /// The environment of its templates.
    ///
    /// # Errors
    /// With every fault.
    pub fn kind(&self, databases: &Databases) -> Result<Arc<dyn EnvironmentKind>, String> {
        let files: Vec<(&str, String)> =
            self.files.iter().map(|(path, _, bytes)| (*path, hex::encode(bytes))).collect();
        let digest = Digest::of_json(&json!([self.name, VERSION, files])).to_string();
        Ok(Arc::new(of_suite(self.name, VERSION, self.suite()?, digest, databases)))
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.files.iter().map(|&(path, _, bytes)| (path.to_owned(), bytes.to_vec())).collect()
    }
}

/// The environment of templates.
pub(super) fn of_suite(name: &str, version: u32, suite: Suite, digest: String, databases: &Databases) -> SqlKind {
    let suite = Arc::new(suite);
    let environment = suite.environment();
    let splits: Vec<(String, u64)> = environment.splits.keys().map(|split| (split.clone(), SPLIT_LENGTH)).collect();
    let heading = Heading {
        name,
        version,
        description: &environment.description,
        tags: &[],
        splits: &splits,
        templates: suite.templates().count() as u64,
        digest,
    };
    SqlKind::new(&heading, databases.clone(), Arc::clone(&suite) as _, Some(Arc::clone(&suite)))
}
