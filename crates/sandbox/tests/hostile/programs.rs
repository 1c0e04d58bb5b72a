//! The programs of `tests/hostile/`, built on this machine so that they run in any image.

use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

/// Where the sources are.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/hostile")
}

/// True if this machine has what builds them.
pub(crate) fn can_build() -> bool {
    Command::new("gcc").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The names of all of them.
pub(crate) fn names() -> Vec<String> {
    let entries = std::fs::read_dir(sources()).expect("tests/hostile").map(|entry| entry.expect("an entry").path());
    let programs = entries.filter(|path| path.extension().is_some_and(|extension| extension == "c"));
    let mut names: Vec<String> =
        programs.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The built program of a name: static, and built anew only where its source changed.
pub(crate) fn built(name: &str) -> PathBuf {
    let source = sources().join(format!("{name}.c"));
    let mut digest = Sha256::new();
    for path in [&source, &sources().join("attempt.h")] {
        digest.update(std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join(format!("{name}-{}", &hex::encode(digest.finalize())[..16]));
    if program.is_file() {
        return program;
    }
    // Other tests may build the same at this moment.
    let draft = tempfile::NamedTempFile::new_in(&folder).expect("a file").into_temp_path();
    let flags = ["-static", "-O1", "-s", "-pthread", "-Wall", "-Wextra", "-Werror"];
    let output = Command::new("gcc").args(flags).arg("-o").arg(&draft).arg(&source).output().expect("gcc");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    draft.persist(&program).expect("in place");
    program
}

/// Tries of a program that includes `attempt.h`.
#[derive(Debug)]
pub(crate) struct Tries {
    /// Name of the try and what it met: an errno by name, `SIGNAL n`, or `None` where it got its way.
    pub(crate) met: Vec<(String, Option<String>)>,
    printed: String,
}

impl Tries {
    /// Reads what a program printed.
    pub(crate) fn of(printed: &str) -> Self {
        let mut met = Vec::new();
        let mut told = None;
        for line in printed.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["refused", name, errno] => met.push((name.to_owned(), Some(errno.to_owned()))),
                ["killed", name, signal] => met.push((name.to_owned(), Some(format!("SIGNAL {signal}")))),
                ["escaped", name] => met.push((name.to_owned(), None)),
                ["broken", name] => panic!("{name} could not be tried:\n{printed}"),
                ["tried", count] => told = count.parse().ok(),
                _ => {}
            }
        }
        assert_eq!(told, Some(met.len()), "the program did not get to its end:\n{printed}");
        Self { met, printed: printed.to_owned() }
    }

    /// That there were `count` tries and each met one of `walls`.
    #[track_caller]
    pub(crate) fn all_met(&self, count: usize, walls: &[&str]) {
        assert_eq!(self.met.len(), count, "{}", self.printed);
        let through: Vec<_> =
            self.met.iter().filter(|(_, wall)| !wall.as_deref().is_some_and(|wall| walls.contains(&wall))).collect();
        assert!(through.is_empty(), "not refused as they must be: {through:?}");
    }

    /// The names of the tries that got their way.
    pub(crate) fn escaped(&self) -> Vec<&str> {
        self.met.iter().filter(|(_, wall)| wall.is_none()).map(|(name, _)| name.as_str()).collect()
    }
}
