//! Recognition of database files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::fault::Fault;
use crate::source::Source;

/// Bytes at the beginning of every database file of SQLite.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Databases by name, each with the path of its file. A script beside `bank/bank.sqlite`, as collections ship both,
/// is not read.
pub(super) fn databases(
    files: &BTreeMap<String, Vec<u8>>,
    faults: &mut Vec<Fault>,
) -> BTreeMap<String, (String, Arc<Source>)> {
    let with_files: BTreeSet<&str> = files
        .keys()
        .filter(|path| is_file(path) && stem(folder(path)) == stem(path))
        .map(|path| folder(path))
        .collect();
    let mut found: BTreeMap<String, (String, Arc<Source>)> = BTreeMap::new();
    for (path, content) in files {
        let source = if is_file(path) {
            if !content.starts_with(MAGIC) {
                faults.push(Fault::new(path, "the file is no database of SQLite: leave it out"));
                continue;
            }
            Source::sqlite_file(content.clone())
        } else if path.ends_with(".sql") && !with_files.contains(folder(path)) {
            match std::str::from_utf8(content) {
                Ok(text) => script(text),
                Err(fault) => {
                    faults.push(Fault::new(
                        path,
                        format!("is not UTF-8 after byte {}: save it as UTF-8", fault.valid_up_to()),
                    ));
                    continue;
                }
            }
        } else {
            continue;
        };
        let name = stem(path);
        if name.is_empty() || name.contains('#') {
            faults.push(Fault::new(path, "the name of a database file must not be empty or hold a #"));
        } else if let Some((other, _)) = found.get(name) {
            faults.push(Fault::new(path, format!("{other} is a database of this name already: rename one")));
        } else {
            found.insert(name.to_owned(), (path.clone(), Arc::new(source)));
        }
    }
    if found.is_empty() && faults.is_empty() {
        faults.push(Fault::new("*.sql, *.sqlite, *.db", "there is no database: add one"));
    }
    found
}

/// Dumps fill tables in any order, so references are not minded while they load.
pub(super) fn script(text: &str) -> Source {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Source::script(format!("PRAGMA foreign_keys = OFF;\n{text}"))
}

fn is_file(path: &str) -> bool {
    [".sqlite", ".sqlite3", ".db"].iter().any(|end| path.ends_with(end))
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn stem(path: &str) -> &str {
    let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &[u8])]) -> (Vec<String>, Vec<String>) {
        let files = files.iter().map(|(path, content)| ((*path).to_owned(), content.to_vec())).collect();
        let mut faults = Vec::new();
        let names = databases(&files, &mut faults).into_keys().collect();
        (names, faults.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn scripts_and_files_are_named_by_their_paths() {
        let file = [MAGIC, &[0; 100]].concat();
        let (names, faults) = read(&[
            ("a/shop.sql", b"CREATE TABLE t (a)"),
            ("database/bank/bank.sqlite", &file),
            ("database/bank/schema.sql", b"CREATE TABLE t (a)"),
            ("questions.json", b"[]"),
        ]);
        assert_eq!(names, ["bank", "shop"]);
        assert!(faults.is_empty(), "{faults:?}");
    }

    #[test]
    fn files_that_are_no_database_are_reported() {
        let (names, faults) = read(&[("a.db", b"hello"), ("b.sql", b"\xff"), ("c/x.sql", b""), ("d/x.sql", b"")]);
        assert_eq!(names, ["x"]);
        assert_eq!(
            faults,
            [
                "a.db: the file is no database of SQLite: leave it out",
                "b.sql: is not UTF-8 after byte 0: save it as UTF-8",
                "d/x.sql: c/x.sql is a database of this name already: rename one"
            ]
        );
        let (_, faults) = read(&[]);
        assert_eq!(faults, ["*.sql, *.sqlite, *.db: there is no database: add one"]);
    }
}
