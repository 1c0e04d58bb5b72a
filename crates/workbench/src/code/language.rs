//! Languages: how a program is built and run, as data. One file each in `sandboxes/languages/`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The files of `sandboxes/languages/`, by name.
const FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/languages.rs"));

static LANGUAGES: LazyLock<Result<BTreeMap<String, Language>, String>> = LazyLock::new(|| {
    FILES
        .iter()
        .map(|(file, text)| {
            let language = Language::parse(text)
                .map_err(|error| format!("sandboxes/languages/{file} cannot be read, correct it: {error}"))?;
            Ok((language.name.clone(), language))
        })
        .collect()
});

/// Build and run commands of a language. Arguments may hold `{source}`, `{program}`, `{folder}` (absolute paths) and
/// `{memory_mib}` (the memory that a test allows, in MiB).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Language {
    /// Name in rows and calls.
    pub name: String,
    /// Title for people.
    pub title: String,
    /// Marks of its fenced code blocks.
    pub fences: Vec<String>,
    /// Note for its writers, sent with every task.
    #[serde(default)]
    pub note: Option<String>,
    /// Prints which version is there.
    pub version: Vec<String>,
    /// The name of the file with the source.
    pub source: String,
    /// The name of the file that the build leaves; `source` where it leaves none.
    #[serde(default)]
    pub program: Option<String>,
    /// Builds or, for a language that is not compiled, reads the source without running it.
    pub build: Vec<String>,
    /// Runs it; arguments of a test follow.
    pub run: Vec<String>,
    /// Environment of both.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Milliseconds that the runtime takes before the program begins; added to the time of every test.
    #[serde(default)]
    pub start_ms: u64,
    /// Processes and threads that a test may have.
    #[serde(default = "one_process_and_some_threads")]
    pub processes: u64,
    /// Enforcement of a test's memory limit.
    pub memory: Memory,
}

/// Enforcement of a test's memory limit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Bytes of address space beyond the test's limit; left out where the runtime cannot live under a limit of address space. Then
    /// the runtime's own limit holds (`{memory_mib}`), and that of the sandbox.
    #[serde(default)]
    pub address_bytes: Option<u64>,
    /// Bytes that the runtime itself holds; what a test held is compared with its limit and this.
    pub resident_bytes: u64,
    /// Words on standard error of a runtime that got no memory.
    #[serde(default)]
    pub words: Vec<String>,
}

const fn one_process_and_some_threads() -> u64 {
    16
}

/// Where a program lies in a sandbox.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placeholders<'a> {
    pub(super) folder: &'a str,
    pub(super) memory_bytes: u64,
}

impl Language {
    /// Reads one.
    ///
    /// # Errors
    /// In words, with the place.
    pub fn parse(text: &str) -> Result<Self, String> {
        let language: Self = palestra_yaml::read(text).map_err(|error| error.to_string())?;
        for (field, argv) in [("build", &language.build), ("run", &language.run), ("version", &language.version)] {
            if argv.is_empty() {
                return Err(format!("{field} must name a program"));
            }
        }
        for name in [Some(&language.source), language.program.as_ref()].into_iter().flatten() {
            if name.is_empty() || name.contains('/') || name.starts_with('.') {
                return Err(format!("{name:?} is no name of a file: use letters, digits, ., _ and -"));
            }
        }
        Ok(language)
    }

    /// The language of a name.
    ///
    /// # Errors
    /// Names those that are there.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        let all = Self::all()?;
        all.get(name).ok_or_else(|| {
            let names: Vec<&str> = all.keys().map(String::as_str).collect();
            format!("{name:?} is no language here: use one of {}", names.join(", "))
        })
    }

    /// All that are there, by name.
    ///
    /// # Errors
    /// When a shipped file is wrong; a test sees to it that none is.
    pub fn all() -> Result<&'static BTreeMap<String, Self>, String> {
        LANGUAGES.as_ref().map_err(Clone::clone)
    }

    /// The language that a fenced code block is marked with.
    #[must_use]
    pub fn fenced(mark: &str) -> Option<&'static Self> {
        let mark = mark.to_ascii_lowercase();
        Self::all().ok()?.values().find(|language| language.name == mark || language.fences.contains(&mark))
    }

    /// Arguments and environment with every placeholder replaced.
    pub(super) fn fill(&self, argv: &[String], placeholders: Placeholders<'_>) -> (Vec<String>, Vec<(String, String)>) {
        let Placeholders { folder, memory_bytes } = placeholders;
        let source = format!("{folder}/{}", self.source);
        let program = format!("{folder}/{}", self.program.as_ref().unwrap_or(&self.source));
        let memory_mib = (memory_bytes >> 20).max(1).to_string();
        let fill = |text: &String| {
            text.replace("{source}", &source)
                .replace("{program}", &program)
                .replace("{folder}", folder)
                .replace("{memory_mib}", &memory_mib)
        };
        let env = self.env.iter().map(|(name, value)| (name.clone(), fill(value))).collect();
        (argv.iter().map(fill).collect(), env)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_language_can_be_read_and_stands_in_a_file_of_its_name() {
        let all = Language::all().expect("shipped languages");
        assert!(all.len() >= 14, "{} languages", all.len());
        for (file, text) in FILES {
            let language = Language::parse(text).expect("a language");
            assert_eq!(format!("{}.yaml", language.name), *file);
        }
    }

    #[test]
    fn a_mark_of_a_code_block_stands_for_one_language() {
        let mut marks: Vec<&String> =
            Language::all().expect("languages").values().flat_map(|one| &one.fences).collect();
        let count = marks.len();
        marks.sort();
        marks.dedup();
        assert_eq!(marks.len(), count);
        assert_eq!(Language::fenced("C++").map(|language| language.name.as_str()), Some("cpp"));
        assert_eq!(Language::fenced("klingon"), None);
    }

    #[test]
    fn placeholders_become_paths() {
        let placeholders = Placeholders { folder: "/code/program", memory_bytes: 64 << 20 };
        let c = Language::named("c").expect("C");
        assert_eq!(c.fill(&c.run, placeholders).0, ["/code/program/main"]);
        let java = Language::named("java").expect("Java");
        assert!(java.fill(&java.run, placeholders).0.contains(&"-Xmx64m".to_owned()));
        let go = Language::named("go").expect("Go");
        assert!(
            go.fill(&go.build, placeholders).1.contains(&("GOCACHE".to_owned(), "/code/program/.cache".to_owned()))
        );
    }

    #[test]
    fn a_file_that_leaves_the_folder_or_an_empty_command_is_refused() {
        let text = "{name: x, title: X, fences: [], version: [x], source: ../x, build: [x], run: [x], memory: {resident_bytes: 1}}";
        assert!(Language::parse(text).expect_err("refused").contains("no name of a file"));
        assert!(Language::parse(&text.replace("../x", "x").replace("run: [x]", "run: []")).is_err());
        assert!(Language::parse(&text.replace("title", "titel")).is_err());
    }
}
