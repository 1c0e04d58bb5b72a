//! Parser of libtest's output (`cargo test`, `rustc --test`), and of its `--logfile`. The text is a section per program, from
//! `running N tests` to `test result: ..`; a section whose lines do not fit its result is not believed, and neither is one without
//! a result.

use super::{Results, Status};

pub(super) fn read(text: &str) -> Result<Results, String> {
    let mut results = Results::default();
    let mut section: Option<Section> = None;
    let mut sections = 0_u64;
    for line in text.lines() {
        if let Some(started) = Section::begins(line) {
            sections += 1;
            if let Some(cut) = section.replace(started) {
                results.add_doubted(cut.results, "a test program did not come to its end");
            }
        } else if let Some(ended) = line.strip_prefix("test result: ") {
            match section.take() {
                Some(section) => section.end(ended, &mut results),
                None => results.doubts.push("a result belongs to no test program".to_owned()),
            }
        } else if let Some(section) = &mut section {
            section.line(line);
        }
    }
    if let Some(cut) = section {
        results.add_doubted(cut.results, "a test program did not come to its end");
    }
    if sections > 0 { Ok(results) } else { log_file(text) }
}

/// A test's name without what libtest writes behind it.
pub(super) fn name(id: &str) -> &str {
    let id = id.trim();
    [" - should panic", " - compile fail", " - compile"].iter().find_map(|mark| id.strip_suffix(mark)).unwrap_or(id)
}

struct Section {
    results: Results,
    passed: u64,
    failures: bool,
}

impl Section {
    fn begins(line: &str) -> Option<Self> {
        let count = line.strip_prefix("running ")?;
        let count = count.strip_suffix(" tests").or_else(|| count.strip_suffix(" test"))?;
        count.parse::<u64>().ok()?;
        Some(Self { results: Results::default(), passed: 0, failures: false })
    }

    fn line(&mut self, line: &str) {
        // What failed tests printed comes after this line.
        self.failures |= line == "failures:";
        let Some((id, outcome)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) else { return };
        if self.failures {
            return;
        }
        let outcome = outcome.trim();
        let status = match outcome.split([' ', ',']).next() {
            Some("ok") => Status::Passed,
            Some("FAILED") => Status::Failed,
            Some("ignored") => Status::Skipped,
            _ => return,
        };
        self.passed += u64::from(status == Status::Passed);
        self.results.add(name(id), status);
    }

    fn end(self, result: &str, results: &mut Results) {
        let counted =
            result.split(['.', ';']).find_map(|part| part.trim().strip_suffix(" passed")?.parse::<u64>().ok());
        match counted {
            Some(counted) if self.passed <= counted => results.add_all(self.results),
            Some(counted) => {
                let why = format!("{} tests are listed as passed and {counted} were counted", self.passed);
                results.add_doubted(self.results, why);
            }
            None => results.add_doubted(self.results, format!("{result:?} is no result")),
        }
    }
}

/// `ok a::b`, `failed a::c`, `ignored a::d`: nothing else, so what is cut or mixed with other text is no report.
fn log_file(text: &str) -> Result<Results, String> {
    let mut results = Results::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (word, id) = line.split_once(' ').unwrap_or((line, ""));
        let status = match word {
            "ok" => Status::Passed,
            "failed" => Status::Failed,
            "ignored" => Status::Skipped,
            _ => return Err("no test program reported anything".to_owned()),
        };
        results.add(name(id), status);
    }
    if results.is_empty() { Err("no test program reported anything".to_owned()) } else { Ok(results) }
}

#[cfg(test)]
mod tests {
    use super::super::{LogParser, Results, Status};

    fn read(report: &str) -> Results {
        LogParser::Cargo.read(report.as_bytes()).expect("a report")
    }

    #[test]
    fn a_program_that_printed_a_forged_line_is_not_believed_and_others_are() {
        let results = read(include_str!("../../../tests/logs/cargo.txt"));
        let status = |id: &str| results.status(LogParser::Cargo, id);
        assert_eq!(status("tests::bad"), Some(Status::Failed));
        assert_eq!(status("tests::ok"), Some(Status::Failed), "its program contradicts itself");
        assert_eq!(status("doubles"), Some(Status::Passed));
        assert_eq!(status("src/lib.rs - double (line 3)"), Some(Status::Passed));
        assert_eq!(results.doubts().len(), 1);
    }

    #[test]
    fn a_log_file_is_read() {
        let results = read(include_str!("../../../tests/logs/cargo_logfile.txt"));
        let status = |id: &str| results.status(LogParser::Cargo, id);
        assert_eq!(status("tests::ok"), Some(Status::Passed));
        assert_eq!(status("tests::panics - should panic"), Some(Status::Passed));
        assert_eq!(status("tests::bad"), Some(Status::Failed));
        assert_eq!(status("tests::slow"), Some(Status::Skipped));
    }

    #[test]
    fn a_test_of_the_same_name_in_two_programs_has_the_worse_result() {
        let ok = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
        let bad = "running 1 test\ntest a ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n";
        assert_eq!(read(&format!("{ok}{bad}")).status(LogParser::Cargo, "a"), Some(Status::Failed));
        assert_eq!(read(&format!("{bad}{ok}")).status(LogParser::Cargo, "a"), Some(Status::Failed));
        assert_eq!(read(ok).status(LogParser::Cargo, "a"), Some(Status::Passed));
    }

    #[test]
    fn a_program_that_left_early_passes_nothing() {
        let results = read("running 2 tests\ntest a ... ok\n");
        assert_eq!(results.status(LogParser::Cargo, "a"), Some(Status::Failed));
        assert!(LogParser::Cargo.read(b"error: could not compile `words`\n").is_err());
        assert!(LogParser::Cargo.read(b"").is_err());
    }

    #[test]
    fn output_of_failed_tests_is_no_result() {
        let report = "running 1 test\ntest a ... FAILED\n\nfailures:\n\n---- a stdout ----\ntest b ... ok\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n";
        assert_eq!(read(report).status(LogParser::Cargo, "b"), None);
    }
}
