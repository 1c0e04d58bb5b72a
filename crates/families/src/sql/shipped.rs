//! Databases that are shipped with the program: the folders of `environments/sql/`, read when they are first asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_sql::template::Suite;
use serde_json::json;

use super::{Heading, SqlKind};
use crate::databases::Databases;
use palestra_environment::EnvironmentKind;
use palestra_environment::state::Digest;

include!(concat!(env!("OUT_DIR"), "/shipped_sql.rs"));

/// Virtual length of a split of templates.
pub(super) const SPLIT_LENGTH: u64 = 100_000;

/// A shipped environment.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    name: &'static str,
    /// Raised when a shipped task is another one or is judged otherwise.
    version: u32,
    files: &'static [(&'static str, u32, &'static [u8])],
}

/// Every shipped environment, by name.
#[must_use]
pub fn all() -> Vec<Shipped> {
    SQL.to_vec()
}

/// Earlier versions of shipped environments: what began as one goes on as one.
#[must_use]
pub fn former() -> Vec<Shipped> {
    FORMER_SQL.to_vec()
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
        let digest = Digest::of_json(&json!([self.name, self.version, files])).to_string();
        Ok(Arc::new(of_suite(self.name, self.version, self.suite()?, digest, databases)))
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn earlier_versions_can_be_read_and_are_others() {
        let newest = all();
        let earlier = former();
        let names: BTreeSet<&str> = earlier.iter().map(Shipped::name).collect();
        assert_eq!(names, BTreeSet::from(["sql/migration", "sql/policy", "sql/repair", "sql/tuning"]));
        for former in earlier {
            let newest = newest.iter().find(|newest| newest.name == former.name).expect("it is still shipped");
            assert_eq!((former.version, newest.version), (1, 2), "{}", former.name);
            assert_ne!(former.files(), newest.files(), "{}", former.name);
            let known = former.suite().unwrap_or_else(|faults| panic!("{}: {faults}", former.name));
            assert_eq!(known.templates().count(), newest.suite().expect("the newest").templates().count());
        }
    }

    /// A session that began in a smaller world goes on in that one.
    #[test]
    fn a_task_of_an_earlier_version_has_the_rows_that_it_had() {
        let policy = |shipped: Vec<Shipped>| {
            let policy = shipped.into_iter().find(|shipped| shipped.name == "sql/policy").expect("it is there");
            policy.suite().expect("a suite")
        };
        let (newest, earlier) = (policy(all()), policy(former()));
        let settings = |suite: &Suite| {
            let task = suite.drawn("warehouse-move-stock", "train", 3).expect("a task").task;
            serde_json::to_value(task.data).expect("data")["world"]["settings"].clone()
        };
        assert_eq!((settings(&earlier), settings(&newest)), (json!({}), json!({"items": 130})));
    }
}
