//! Support of the tests of every package: the one way to say that a test was not tried, and the place of outside data.

pub mod cpu;
#[cfg(feature = "postgres")]
pub mod postgres;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Requirement of a test that reads files of [`data`], in the words that `scripts/test` knows it by.
pub const DATA: &str = "the data folder (PALESTRA_SHARED_DATA)";

/// Requirement of a test that reads real weights, in the words that `scripts/test` knows it by.
pub const WEIGHTS: &str = "the weights of a real model (PALESTRA_SMOLLM2)";

/// Says that the running test returns without having tried anything, or leaves out a part, since `needs` is not there:
/// `not tried: NAME: needs WHAT`. `scripts/test` counts these lines and fails on each that it does not expect.
#[expect(clippy::print_stdout, reason = "a test that was not tried says so")]
pub fn not_tried(needs: impl Display) {
    println!("{}", line(std::thread::current().name().unwrap_or("a test"), needs));
}

fn line(name: &str, needs: impl Display) -> String {
    let needs = needs.to_string();
    format!("not tried: {name}: needs {}", needs.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The folder of outside data with this name, in the folder that `PALESTRA_SHARED_DATA` names or in `../shared/data` beside the
/// checkout; `None`, said aloud, where it is not there.
pub fn data(name: &str) -> Option<PathBuf> {
    let folder = data_folder().join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    not_tried(DATA);
    None
}

fn data_folder() -> PathBuf {
    let named = std::env::var_os("PALESTRA_SHARED_DATA").map(PathBuf::from);
    named.unwrap_or_else(|| workspace().join("../shared/data"))
}

/// The texts below a folder, such as a definition's, by their paths in it.
pub fn texts(folder: &Path) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder_in) = waiting.pop() {
        let entries = std::fs::read_dir(&folder_in).unwrap_or_else(|error| panic!("{}: {error}", folder_in.display()));
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).expect("a path below").to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            texts.insert(name, text);
        }
    }
    texts
}

/// The root of the checkout: the nearest folder above this package that has a lock file.
pub fn workspace() -> &'static Path {
    static WORKSPACE: LazyLock<PathBuf> = LazyLock::new(|| {
        // That of the run comes first: clones that share a target folder share this package as it was compiled for one of them.
        let ran = std::env::var_os("CARGO_MANIFEST_DIR");
        let package = ran.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        package.ancestors().find(|folder| folder.join("Cargo.lock").is_file()).unwrap_or(&package).to_owned()
    });
    &WORKSPACE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_not_tried_in_one_line_with_its_name() {
        assert_eq!(line("a::b", "gcc,\nor another  compiler"), "not tried: a::b: needs gcc, or another compiler");
        assert_eq!(std::thread::current().name(), Some("tests::a_test_is_not_tried_in_one_line_with_its_name"));
    }

    #[test]
    fn texts_below_a_folder_are_named_by_their_paths() {
        let texts = texts(&workspace().join("crates/test-support"));
        assert!(texts["src/lib.rs"].contains("texts_below_a_folder") && texts.contains_key("Cargo.toml"));
    }

    #[test]
    fn the_root_of_the_checkout_is_found_from_any_depth() {
        assert!(workspace().join("Cargo.toml").is_file() && workspace().join("scripts/test").is_file());
    }
}
