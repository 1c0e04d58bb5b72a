//! Databases that are shipped with the program: the folders of `environments/sql/`.

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_sql::template::Suite;
use serde_json::json;

use super::{Heading, SqlKind};
use crate::databases::Databases;
use crate::embedded::{self, Version};
use palestra_environment::EnvironmentKind;
use palestra_environment::state::Digest;

/// The folder in `environments/`, and the first part of names.
const FAMILY: &str = "sql";
/// Virtual length of a split of templates.
pub(super) const SPLIT_LENGTH: u64 = 100_000;

/// A shipped environment.
#[derive(Debug, Clone, Copy)]
pub struct Shipped(Version);

/// Every shipped environment, by name.
#[must_use]
pub fn all() -> Vec<Shipped> {
    embedded::newest(FAMILY).map(Shipped).collect()
}

/// Earlier versions of shipped environments: what began as one goes on as one.
#[must_use]
pub fn former() -> Vec<Shipped> {
    embedded::former(FAMILY).map(Shipped).collect()
}

impl Shipped {
    /// `sql/name`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{FAMILY}/{}", self.0.name)
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
        let files = self.files();
        let hexed: Vec<(&String, String)> = files.iter().map(|(path, bytes)| (path, hex::encode(bytes))).collect();
        let (name, version) = (self.name(), self.0.number);
        let digest = Digest::of_json(&json!([name, version, hexed])).to_string();
        Ok(Arc::new(of_suite(&name, version, self.suite()?, digest, databases)))
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.0.files().into_iter().map(|(path, file)| (path, file.bytes)).collect()
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
        let names: BTreeSet<String> = earlier.iter().map(Shipped::name).collect();
        assert_eq!(
            names,
            BTreeSet::from(["sql/migration", "sql/policy", "sql/repair", "sql/tuning"].map(str::to_owned))
        );
        for former in earlier {
            let newest = newest.iter().find(|newest| newest.name() == former.name()).expect("it is still shipped");
            assert_eq!((former.0.number, newest.0.number), (1, 2), "{}", former.name());
            assert_ne!(former.files(), newest.files(), "{}", former.name());
            let known = former.suite().unwrap_or_else(|faults| panic!("{}: {faults}", former.name()));
            assert_eq!(known.templates().count(), newest.suite().expect("the newest").templates().count());
        }
    }

    /// A session that began in a smaller world goes on in that one.
    #[test]
    fn a_task_of_an_earlier_version_has_the_rows_that_it_had() {
        let policy = |shipped: Vec<Shipped>| {
            let policy = shipped.into_iter().find(|shipped| shipped.name() == "sql/policy").expect("it is there");
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
