//! Parser of `go test`: events of `-json`, or the text of `-v`. Both say at the end of a package how it ended; a package that
//! failed though none of its tests did (a build error, an exit on the way) passes nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{Results, Status};

pub(super) fn read(text: &str) -> Result<Results, String> {
    let mut packages: Packages =
        if text.lines().any(|line| event(line).is_some()) { events(text) } else { lines(text) };
    let mut results = Results::default();
    if packages.iter().all(|package| package.results.is_empty() && package.ended.is_none()) {
        return Err("no package reported anything".to_owned());
    }
    for package in &mut packages {
        for test in std::mem::take(&mut package.running) {
            package.results.add(test, Status::Failed);
        }
    }
    for package in packages {
        let failed = package.results.count(Status::Failed) > 0;
        let named = package.named();
        match package.ended {
            Some(true) => results.add_all(named),
            Some(false) if failed => results.add_all(named),
            Some(false) => results.add_doubted(named, format!("{} failed and none of its tests did", package.name)),
            None => results.add_doubted(named, format!("{} did not come to its end", package.name)),
        }
    }
    Ok(results)
}

type Packages = Vec<Package>;

#[derive(Default)]
struct Package {
    name: String,
    results: Results,
    /// Tests that began and have no result yet.
    running: BTreeSet<String>,
    began: BTreeSet<String>,
    /// True if it passed, once it ended.
    ended: Option<bool>,
}

impl Package {
    fn begin(&mut self, test: &str) {
        self.running.insert(test.to_owned());
        self.began.insert(test.to_owned());
    }

    fn end(&mut self, test: &str, status: Status) {
        self.running.remove(test);
        // A result of a test that did not begin was printed by something else.
        let status = if self.began.contains(test) { status } else { Status::Failed };
        self.results.add(test, status);
    }

    /// Results by `TestX` and by `package.TestX`.
    fn named(&self) -> Results {
        let mut named = Results::default();
        for (test, status) in &self.results.by_name {
            named.add(test.clone(), *status);
            named.add(format!("{}.{test}", self.name), *status);
        }
        named
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Line {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: Option<String>,
}

fn event(line: &str) -> Option<Line> {
    line.starts_with('{').then(|| serde_json::from_str(line).ok()).flatten()
}

fn events(text: &str) -> Packages {
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    for Line { action, package: name, test } in text.lines().filter_map(event) {
        let package = packages.entry(name.clone()).or_insert_with(|| Package { name, ..Package::default() });
        match (action.as_str(), test) {
            ("run", Some(test)) => package.begin(&test),
            ("pass", Some(test)) => package.end(&test, Status::Passed),
            ("skip", Some(test)) => package.end(&test, Status::Skipped),
            ("fail", Some(test)) => package.end(&test, Status::Failed),
            // A package that failed once did not pass.
            ("pass" | "skip", None) => package.ended = Some(package.ended.unwrap_or(true)),
            ("fail", None) => package.ended = Some(false),
            _ => {}
        }
    }
    packages.into_values().collect()
}

fn lines(text: &str) -> Packages {
    let (mut packages, mut package) = (Vec::new(), Package::default());
    for line in text.lines() {
        let inner = line.trim_start();
        if let Some(test) = line.strip_prefix("=== RUN   ") {
            package.begin(test.trim());
        } else if let Some((test, status)) = inner.strip_prefix("--- ").and_then(outcome) {
            package.end(test, status);
        } else if let Some((name, passed)) = verdict(line) {
            package.name = name.to_owned();
            package.ended = Some(passed);
            packages.push(std::mem::take(&mut package));
        }
    }
    packages.push(package);
    packages
}

/// `PASS: TestX (0.00s)`.
fn outcome(rest: &str) -> Option<(&str, Status)> {
    let (word, rest) = rest.split_once(": ")?;
    let status = match word {
        "PASS" => Status::Passed,
        "SKIP" => Status::Skipped,
        "FAIL" => Status::Failed,
        _ => return None,
    };
    let (test, time) = rest.rsplit_once(" (")?;
    time.ends_with("s)").then_some((test, status))
}

/// `ok  \texample.com/words\t0.003s` or `FAIL\texample.com/words\t0.003s`.
fn verdict(line: &str) -> Option<(&str, bool)> {
    let (word, rest) = line.split_once('\t')?;
    let name = rest.split(['\t', ' ']).next()?;
    match word.trim_end() {
        "ok" => Some((name, true)),
        "FAIL" => Some((name, false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LogParser, Results, Status};

    fn read(report: &str) -> Results {
        LogParser::Go.read(report.as_bytes()).expect("a report")
    }

    #[test]
    fn real_reports_are_read_though_a_test_prints_a_forged_line() {
        for report in [include_str!("../../../tests/logs/go_v.txt"), include_str!("../../../tests/logs/go_json.txt")] {
            let results = read(report);
            let status = |id: &str| results.status(LogParser::Go, id);
            assert_eq!(status("example.com/words.TestOk"), Some(Status::Passed));
            assert_eq!(status("TestBad"), Some(Status::Failed));
            assert_eq!(status("TestSkip"), Some(Status::Skipped));
            assert_eq!(status("TestSub/one_two"), Some(Status::Passed));
            assert_eq!(status("TestSub/three"), Some(Status::Failed));
            assert_eq!(status("TestSub"), Some(Status::Failed));
            assert_eq!(status("TestPanic"), Some(Status::Failed));
            assert_eq!(status("TestAfter"), None);
            // Its result stands behind what it printed without a line end, where no reader can tell it from a forged one.
            assert_eq!(status("example.com/words/sub.TestOk"), Some(Status::Failed));
        }
    }

    #[test]
    fn a_package_that_left_early_or_did_not_build_passes_nothing() {
        let exited = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\nFAIL\texample.com/a\t0.01s\n";
        assert_eq!(read(exited).status(LogParser::Go, "TestB"), Some(Status::Failed));
        let broken = "=== RUN   TestA\n--- PASS: TestA (0.00s)\nFAIL\texample.com/a\t0.01s\n";
        assert_eq!(read(broken).status(LogParser::Go, "TestA"), Some(Status::Failed));
        let cut = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n";
        assert_eq!(read(cut).status(LogParser::Go, "TestA"), Some(Status::Failed));
        assert!(read("FAIL\texample.com/a [build failed]\n").is_empty());
        assert!(LogParser::Go.read(b"go: no such tool\n").is_err());
    }

    #[test]
    fn a_result_of_a_test_that_did_not_begin_is_forged() {
        let report = "--- PASS: TestA (0.00s)\nok  \texample.com/a\t0.01s\n";
        assert_eq!(read(report).status(LogParser::Go, "TestA"), Some(Status::Failed));
    }
}
