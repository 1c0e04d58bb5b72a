//! Reading a problem set: JSON Lines in, rows with their splits out, or every fault with its line.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::row::Problem;
use crate::work::{Fault, Upload};

/// Most problems of a set.
const PROBLEMS_MAX: usize = 200_000;
/// Longest line.
const LINE_BYTES_MAX: usize = 16 << 20;
/// As many faults are told at once.
const FAULTS_MAX: usize = 100;

/// The rows of an upload: a text of JSON Lines, or files that end in `.jsonl`.
///
/// # Errors
/// Every fault that was found, the first hundred.
pub(super) fn read(upload: &Upload) -> Result<Vec<(String, Value)>, Vec<Fault>> {
    let mut reader = Reader::default();
    match upload {
        Upload::Text(text) => reader.text("", text),
        Upload::Files(files) => {
            for (path, file) in files.iter().filter(|(path, _)| path.ends_with(".jsonl")) {
                match std::str::from_utf8(&file.bytes) {
                    Ok(text) => reader.text(&format!("{path}: "), text),
                    Err(error) => reader.fault(path.clone(), error.to_string()),
                }
            }
        }
    }
    if reader.rows.is_empty() && reader.faults.is_empty() {
        let detail = "there is no problem in it: send one JSON object a line, in a text or in files that end in .jsonl";
        reader.fault("upload".to_owned(), detail.to_owned());
    }
    if reader.faults.is_empty() { Ok(reader.rows) } else { Err(reader.faults) }
}

#[derive(Default)]
struct Reader {
    rows: Vec<(String, Value)>,
    faults: Vec<Fault>,
    /// Where each id was seen.
    ids: HashMap<String, String>,
    /// Split, place and tests of each prompt where it was first seen. The same in two splits would let training see the test, and
    /// with other tests one of them is wrong.
    prompts: HashMap<String, (String, String, Value)>,
}

impl Reader {
    fn fault(&mut self, place: String, detail: String) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(Fault { place, detail });
        }
    }

    fn text(&mut self, prefix: &str, text: &str) {
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let place = format!("{prefix}line {number}");
            if self.rows.len() >= PROBLEMS_MAX {
                return self.fault(place, format!("a set has at most {PROBLEMS_MAX} problems"));
            }
            if line.len() > LINE_BYTES_MAX {
                self.fault(place, format!("a line has at most {LINE_BYTES_MAX} bytes"));
                continue;
            }
            match palestra_state::json::from_str::<Problem>(line) {
                Ok(problem) => self.problem(&place, problem),
                Err(error) => self.fault(place, words(&error)),
            }
        }
    }

    fn problem(&mut self, place: &str, mut problem: Problem) {
        if problem.trusted {
            self.fault(format!("{place}: trusted"), "is no field of a row: publish with --trust-unproven".to_owned());
        }
        let faults = problem.faults();
        for (field, detail) in &faults {
            self.fault(format!("{place}: {field}"), detail.clone());
        }
        if problem.id.is_empty() {
            problem.id = place.replace("line ", "problem-").replace(": ", "-");
        }
        let split = problem.split.take().unwrap_or_else(|| "train".to_owned());
        let sane = (1..=64).contains(&split.len())
            && split.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if !sane {
            self.fault(format!("{place}: split"), "a split must be 1 to 64 small letters, digits and _".to_owned());
        }
        if let Some(other) = self.ids.insert(problem.id.clone(), place.to_owned()) {
            self.fault(format!("{place}: id"), format!("{:?} is also the id of {other}: choose another", problem.id));
        }
        let shown = serde_json::to_string(&(&problem.prompt, &problem.files, &problem.examples)).unwrap_or_default();
        let tests = json!([problem.tests, problem.asserts, problem.setup, problem.comparison]);
        match self.prompts.get(&shown) {
            Some((other, there, _)) if *other != split => {
                let detail =
                    format!("the same problem is in split {other:?} on {there}, and here in {split:?}: keep one");
                self.fault(format!("{place}: split"), detail);
            }
            Some((_, there, others)) if *others != tests => {
                let detail =
                    format!("the same problem stands on {there} with other tests: keep one, or join their tests");
                self.fault(place.to_owned(), detail);
            }
            Some(_) => {}
            None => {
                self.prompts.insert(shown, (split.clone(), place.to_owned(), tests));
            }
        }
        if faults.is_empty() {
            match serde_json::to_value(&problem) {
                Ok(row) => self.rows.push((split, row)),
                Err(error) => self.fault(place.to_owned(), error.to_string()),
            }
        }
    }
}

/// Every line is one line, so the line that the parser names says nothing.
fn words(error: &serde_json::Error) -> String {
    let detail = error.to_string();
    detail.replace(" at line 1 column ", " at column ")
}

/// Problems by id, for tests and gates.
///
/// # Errors
/// As for an upload.
pub fn problems(text: &str) -> Result<BTreeMap<String, Problem>, Vec<Fault>> {
    let rows = read(&Upload::Text(text.to_owned()))?;
    let problem = |row: Value| serde_json::from_value::<Problem>(row).map(|problem| (problem.id.clone(), problem));
    let problems: Result<_, _> = rows.into_iter().map(|(_, row)| problem(row)).collect();
    problems.map_err(|error| vec![Fault { place: "upload".to_owned(), detail: words(&error) }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::UploadedFile;

    fn faults(text: &str) -> Vec<String> {
        let faults = read(&Upload::Text(text.to_owned())).expect_err("refused");
        faults.into_iter().map(|fault| format!("{}: {}", fault.place, fault.detail)).collect()
    }

    #[test]
    fn lines_become_rows_with_their_splits() {
        let text = r#"{"id":"sum","prompt":"Add.","tests":[{"input":"1 2","output":"3"}],"split":"test","comparison":"exact"}

{"prompt":"Double.","asserts":["assert f(1) == 2",{"assert":"assert f(2) == 4","hidden":false}],"entry":"f","solution":"x"}
{"prompt":"Half.","tests":[{"output":"0.5"}],"languages":["c","python"],"comparison":{"floats":{"tolerance_absolute":0.1}}}"#;
        let rows = read(&Upload::Text(text.to_owned())).expect("rows");
        assert_eq!(rows.iter().map(|(split, _)| split.as_str()).collect::<Vec<_>>(), ["test", "train", "train"]);
        let problems = problems(text).expect("problems");
        assert!(problems["sum"].tests[0].hidden);
        let double = &problems["problem-3"];
        assert_eq!(double.asserts.iter().map(|assert| assert.hidden).collect::<Vec<_>>(), [true, false]);
        assert_eq!(double.languages(), ["python"]);
        assert_eq!(problems["problem-4"].languages(), ["c", "python"]);
        assert_eq!(problems["sum"].languages()[0], "python");
        let file = UploadedFile { mode: 0o644, bytes: text.as_bytes().to_vec() };
        let files = [("a.jsonl".to_owned(), file)].into_iter().collect();
        assert_eq!(read(&Upload::Files(files)).expect("rows").len(), 3);
    }

    #[test]
    fn every_fault_is_told_with_its_line() {
        let reported = faults(
            r#"{"prompt":"a"}
not json
{"prompt":"a","tests":[{"output":"1"}],"language":"klingon","time_ms":0}
{"prompt":"a","tests":[{"output":"1"}],"unknown":1}
{"prompt":"b","tests":[{"output":"1"}],"files":{"../x":""},"id":"same"}
{"prompt":"c","tests":[{"output":"1","weight":-1}],"id":"same"}
{"prompt":"d","asserts":["assert f() == 1"],"language":"c"}
{"prompt":"e","tests":[{"output":"1"}],"languages":["c"],"solution":{"lua":"x"}}"#,
        );
        for (place, words) in [
            ("line 1: tests", "either"),
            ("line 2", "expected"),
            ("line 3: language", "klingon"),
            ("line 3: time_ms", "from 1"),
            ("line 4", "unknown field"),
            ("line 5: files", "../x"),
            ("line 6: id", "line 5"),
            ("line 6: tests", "weight"),
            ("line 7: asserts", "Python"),
            ("line 8: solution", "lua"),
        ] {
            assert!(
                reported.iter().any(|fault| fault.starts_with(place) && fault.contains(words)),
                "{place}: {reported:#?}"
            );
        }
    }

    #[test]
    fn the_same_problem_in_two_splits_is_refused() {
        let reported = faults(
            r#"{"prompt":"a","tests":[{"output":"1"}]}
{"prompt":"a","tests":[{"output":"2"}],"split":"test"}"#,
        );
        assert!(
            reported[0].contains("two") || reported[0].contains("also") || reported[0].contains("the same problem"),
            "{reported:?}"
        );
        assert_eq!(faults("").len(), 1);
    }

    #[test]
    fn the_same_problem_with_other_tests_is_refused() {
        let once = r#"{"prompt":"a","tests":[{"output":"1"}]}"#;
        assert_eq!(
            faults(&format!("{once}\n{}", once.replace("\"1\"", "\"2\""))),
            ["line 2: the same problem stands on line 1 with other tests: keep one, or join their tests"]
        );
        assert_eq!(read(&Upload::Text(format!("{once}\n{once}"))).expect("said twice").len(), 2);
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_with_its_line() {
        let reported = faults(r#"{"prompt":"a","tests":[{"output":"1"}],"files":{"x":"1","x":"2"}}"#);
        assert_eq!(reported, ["line 1: an object has two members \"x\" at column 64"]);
    }
}
