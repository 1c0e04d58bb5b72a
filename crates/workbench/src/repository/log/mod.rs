//! Parsers of test reports into results by name. Reports are hostile: the code under test may have printed into them. So a test
//! that is reported twice has the worse result, and a report that contradicts its own counts says nothing good of any test.

mod cargo;
mod go;
mod junit;
mod pytest;
mod tap;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Results of one report that are kept; what comes after is as if it had not run.
const RESULTS_MAX: usize = 200_000;

/// Parsers of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogParser {
    /// pytest: its JUnit XML with node ids as names, or the text of `-rA` or `-v`.
    Pytest,
    /// `cargo test`, and programs built by `rustc --test`: the text, or a `--logfile`.
    Cargo,
    /// `go test`: the stream of `-json`, or the text of `-v`.
    Go,
    /// JUnit XML; names are `classname::name`, `classname.name` or, where it is the only one, `name`.
    Junit,
    /// The Test Anything Protocol; names are the descriptions.
    Tap,
}

/// Result of a test; later ones are worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It passed, or failed as it was expected to.
    Passed,
    /// It was not run.
    Skipped,
    /// It failed.
    Failed,
}

/// Results by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Results {
    by_name: BTreeMap<String, Status>,
    doubts: Vec<String>,
}

impl LogParser {
    /// Reads a report.
    ///
    /// # Errors
    /// In words, when it is no report: empty, cut, of another form.
    pub fn read(self, report: &[u8]) -> Result<Results, String> {
        let text = String::from_utf8_lossy(report);
        let text = plain(&text);
        match self {
            Self::Pytest if text.trim_start().starts_with('<') => junit::read(&text),
            Self::Pytest => pytest::read(&text),
            Self::Cargo => cargo::read(&text),
            Self::Go => go::read(&text),
            Self::Junit => junit::read(&text),
            Self::Tap => tap::read(&text),
        }
    }

    /// Names under which a test that is called `id` in a list may be reported.
    fn names(self, id: &str) -> Vec<String> {
        match self {
            Self::Pytest => vec![id.to_owned(), pytest::junit_name(id)],
            Self::Cargo => vec![cargo::name(id).to_owned()],
            Self::Go | Self::Junit | Self::Tap => vec![id.to_owned()],
        }
    }

    /// Default command line for a report at a path (`{report}`); else the parser reads what the command prints.
    #[must_use]
    pub fn default_command(self) -> Option<&'static str> {
        match self {
            Self::Pytest => Some(
                "python3 -m pytest -q -p no:cacheprovider --continue-on-collection-errors --junitxml={report} {test_files}",
            ),
            Self::Cargo => Some("cargo test --offline --no-fail-fast"),
            Self::Go => Some("go test -json ./..."),
            Self::Junit | Self::Tap => None,
        }
    }
}

impl Results {
    /// Result of a test; `None` when it is not in the report.
    #[must_use]
    pub fn status(&self, parser: LogParser, id: &str) -> Option<Status> {
        parser.names(id).iter().find_map(|name| self.by_name.get(name)).copied()
    }

    /// Number of tests in the report.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// True if the report names no test.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Where the report contradicts itself.
    #[must_use]
    pub fn doubts(&self) -> &[String] {
        &self.doubts
    }

    /// The same report with no test passing.
    pub(super) fn doubted(self, why: &str) -> Self {
        let mut doubted = Self::default();
        doubted.add_doubted(self, why);
        doubted
    }

    fn add(&mut self, name: impl Into<String>, status: Status) {
        let name = name.into();
        if self.by_name.len() < RESULTS_MAX || self.by_name.contains_key(&name) {
            let known = self.by_name.entry(name).or_insert(status);
            *known = status.max(*known);
        }
    }

    /// Takes over results of a part whose counts do not fit what it lists: none of them is believed.
    fn add_doubted(&mut self, part: Self, why: impl Into<String>) {
        self.doubts.push(why.into());
        for name in part.by_name.into_keys() {
            self.add(name, Status::Failed);
        }
    }

    fn add_all(&mut self, part: Self) {
        for (name, status) in part.by_name {
            self.add(name, status);
        }
        self.doubts.extend(part.doubts);
    }

    fn count(&self, status: Status) -> usize {
        self.by_name.values().filter(|other| **other == status).count()
    }
}

/// Text without escape sequences that set colours.
fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' && letters.peek() == Some(&'[') {
            letters.next();
            let _ = letters.by_ref().find(|letter| ('@'..='~').contains(letter));
        } else {
            kept.push(letter);
        }
    }
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_worse_of_two_results_stays() {
        let mut results = Results::default();
        for status in [Status::Failed, Status::Passed, Status::Skipped] {
            results.add("a", status);
        }
        assert_eq!(results.status(LogParser::Tap, "a"), Some(Status::Failed));
        assert_eq!(results.status(LogParser::Tap, "b"), None);
    }

    #[test]
    fn colours_are_taken_off() {
        assert_eq!(plain("\u{1b}[32mPASSED\u{1b}[0m a"), "PASSED a");
        assert_eq!(plain("cut \u{1b}["), "cut ");
    }

    #[test]
    fn a_flood_of_results_is_bounded() {
        let flood: String = (0..RESULTS_MAX + 10).map(|number| format!("ok t{number}\n")).collect();
        let results = LogParser::Cargo.read(flood.as_bytes()).expect("a log file");
        assert_eq!(results.len(), RESULTS_MAX);
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_fail_otherwise_than_in_words(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for parser in [LogParser::Pytest, LogParser::Cargo, LogParser::Go, LogParser::Junit, LogParser::Tap] {
                let _ = parser.read(&bytes);
            }
        }

        #[test]
        fn no_lines_make_a_reader_fail_otherwise_than_in_words(
            lines in proptest::collection::vec(
                "(ok|not ok|1\\.\\.|test |running |--- PASS: |=== RUN |PASSED |<testcase |test result: |ok  |FAIL\t|\\{\"Action\":)[ -~]{0,30}", 0..12),
        ) {
            let text = lines.join("\n");
            for parser in [LogParser::Pytest, LogParser::Cargo, LogParser::Go, LogParser::Junit, LogParser::Tap] {
                let _ = parser.read(text.as_bytes());
            }
        }
    }
}
