//! Sources of data: the name in a task becomes the source of a database.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::source::Source;
use crate::task::{Data, Spoken};
use crate::value::Dialect;

/// Sources that are kept ready.
const SOURCES_KEPT_MAX: usize = 64;

/// Data by name.
pub trait Library: Send + Sync + 'static {
    /// The source of data with a setup on top. The same question always has the same answer, and is answered from memory when it
    /// was asked lately.
    ///
    /// # Errors
    /// In words, when there is no such data, or none in this dialect.
    fn source(&self, data: &Data, setup: &Spoken, dialect: Dialect) -> Result<Arc<Source>, String>;
}

/// Databases that came with an environment: the scripts that make them, by name.
#[derive(Debug, Default)]
pub struct ScriptLibrary {
    databases: BTreeMap<String, Spoken>,
    /// Recently used sources: scripts are long, and their digests take time.
    kept: Mutex<Vec<(Asked, Arc<Source>)>>,
}

/// A database by name, with a setup, in a dialect.
type Asked = (String, String, Dialect);

impl ScriptLibrary {
    /// A library of databases, each by the scripts that make it.
    #[must_use]
    pub fn new(databases: BTreeMap<String, Spoken>) -> Self {
        Self { databases, kept: Mutex::default() }
    }
}

impl Library for ScriptLibrary {
    fn source(&self, data: &Data, setup: &Spoken, dialect: Dialect) -> Result<Arc<Source>, String> {
        let Data::Stored(name) = data else {
            return Err("the databases of this environment are stored: publish it anew".to_owned());
        };
        let script = self
            .databases
            .get(name)
            .ok_or_else(|| format!("there is no database {name:?}: publish the environment anew"))?;
        let missing = || format!("the database {name:?} or its setup cannot be had on {}", dialect.name());
        let script = script.in_dialect(dialect).ok_or_else(missing)?;
        let setup = setup.in_dialect(dialect).ok_or_else(missing)?;
        let asked = (name.clone(), setup.to_owned(), dialect);
        let mut kept = self.kept.lock();
        if let Some(place) = kept.iter().position(|(key, _)| *key == asked) {
            let found = kept.remove(place);
            let source = Arc::clone(&found.1);
            kept.push(found);
            return Ok(source);
        }
        let source = Arc::new(Source::script(format!("{script}\n{setup}")));
        if kept.len() >= SOURCES_KEPT_MAX {
            kept.remove(0);
        }
        kept.push((asked, Arc::clone(&source)));
        Ok(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_the_script_with_the_setup_and_is_kept() {
        let library = ScriptLibrary::new(BTreeMap::from([
            ("both".to_owned(), Spoken::any("CREATE TABLE t (a INTEGER);")),
            ("one".to_owned(), Spoken::Each(BTreeMap::from([(Dialect::Sqlite, String::new())]))),
        ]));
        let data = |name: &str| Data::Stored(name.to_owned());
        let setup = Spoken::any("CREATE INDEX i ON t (a);");
        let first = library.source(&data("both"), &setup, Dialect::Sqlite).expect("there is one");
        assert_eq!(first.digest, Source::script("CREATE TABLE t (a INTEGER);\nCREATE INDEX i ON t (a);").digest);
        let again = library.source(&data("both"), &setup, Dialect::Sqlite).expect("there is one");
        assert!(Arc::ptr_eq(&first, &again));
        assert_ne!(library.source(&data("both"), &Spoken::Nothing, Dialect::Sqlite).expect("one").digest, first.digest);
        assert!(library.source(&data("one"), &Spoken::Nothing, Dialect::Postgres).is_err());
        assert!(library.source(&data("none"), &Spoken::Nothing, Dialect::Sqlite).is_err());
        let made = Data::World { world: "shop".to_owned(), seed: 1, settings: BTreeMap::new() };
        assert!(library.source(&made, &Spoken::Nothing, Dialect::Sqlite).is_err());
    }
}
