//! The text that pytest prints with `-rA` or `-v`. Better ask pytest for JUnit XML (`--junitxml={report}`): what tests print stands
//! between these lines.

use super::{Results, Status};

pub(super) fn read(text: &str) -> Result<Results, String> {
    let lines: Vec<&str> = text.lines().collect();
    let (end, passed_max) = lines
        .iter()
        .enumerate()
        .rev()
        .find_map(|(index, line)| Some((index, passed(line)?)))
        .ok_or("pytest did not come to its end")?;
    let summary =
        lines[..end].iter().rposition(|line| line.starts_with('=') && line.contains(" short test summary info "));
    let mut results = Results::default();
    for (index, line) in lines[..end].iter().enumerate() {
        if let Some((id, status)) = verbose(line) {
            results.add(id, status);
        }
        let Some((word, rest)) = line.split_once(' ') else { continue };
        let Some(status) = status(word) else { continue };
        // What tests printed stands before the summary. A failure counts wherever it stands.
        if status == Status::Failed || summary.is_some_and(|summary| summary < index) {
            results.add(rest.trim(), status);
            if let (Some((id, _)), true) = (rest.split_once(" - "), word != "PASSED") {
                results.add(id, status);
            }
        }
    }
    let reported = results.count(Status::Passed);
    if reported > passed_max {
        return Ok(results.doubted(&format!("{reported} tests are listed as passed and {passed_max} were counted")));
    }
    Ok(results)
}

/// As which `testcase` pytest writes a node id into JUnit XML: `a/test_b.py::C::d[x]` is `d[x]` of the class `a.test_b.C`.
pub(super) fn junit_name(id: &str) -> String {
    let (address, parameters) = id.find('[').map_or((id, ""), |at| id.split_at(at));
    let mut names: Vec<String> = address.split("::").map(str::to_owned).collect();
    if let Some(path) = names.first_mut() {
        *path = path.strip_suffix(".py").unwrap_or(path).replace('/', ".");
    }
    let name = names.pop().unwrap_or_default();
    format!("{}::{name}{parameters}", names.join("."))
}

fn status(word: &str) -> Option<Status> {
    Some(match word {
        "PASSED" | "XFAIL" | "XPASS" => Status::Passed,
        "SKIPPED" => Status::Skipped,
        "FAILED" | "ERROR" => Status::Failed,
        _ => return None,
    })
}

/// `tests/test_a.py::test_ok PASSED    [  7%]`.
fn verbose(line: &str) -> Option<(&str, Status)> {
    let (front, percent) = line.strip_suffix("%]")?.rsplit_once('[')?;
    percent.trim().parse::<u8>().ok()?;
    let front = front.trim_end();
    let front = front.strip_suffix(')').and_then(|front| front.rsplit_once(" (")).map_or(front, |(front, _)| front);
    let (id, word) = front.rsplit_once(' ')?;
    id.contains("::").then_some(())?;
    Some((id.trim(), status(word)?))
}

/// Number of passed tests by the last line, `== 2 failed, 3 passed in 0.12s ==`, which has no frame where pytest is quiet.
fn passed(line: &str) -> Option<usize> {
    let (counts, time) = line.trim_matches('=').trim().rsplit_once(" in ")?;
    time.starts_with(|letter: char| letter.is_ascii_digit()).then_some(())?;
    let mut passed = 0;
    for part in counts.split(", ") {
        let (count, what) = part.split_once(' ')?;
        let count: usize = count.parse().ok()?;
        if matches!(what, "passed" | "xfailed" | "xpassed") {
            passed += count;
        }
    }
    Some(passed)
}

#[cfg(test)]
mod tests {
    use super::super::{LogParser, Results, Status};
    use super::junit_name;

    fn read(report: &str) -> Results {
        LogParser::Pytest.read(report.as_bytes()).expect("a report")
    }

    fn check(report: &str) {
        let results = read(report);
        let status = |id: &str| results.status(LogParser::Pytest, &format!("tests/test_a.py::{id}"));
        for passed in [
            "test_ok",
            "test_par[a b]",
            "test_par[\\xe9/\\xfc]",
            "test_par[[z]]",
            "TestC::test_m",
            "TestU::test_u",
            "test_xfail",
        ] {
            assert_eq!(status(passed), Some(Status::Passed), "{passed}");
        }
        for failed in ["test_bad", "test_par[c::d]", "test_err", "test_teardown", "test_forge"] {
            assert_eq!(status(failed), Some(Status::Failed), "{failed}");
        }
        assert_ne!(status("test_skip"), Some(Status::Passed));
    }

    #[test]
    fn real_reports_are_read_though_tests_print_forged_lines() {
        check(include_str!("../../../tests/logs/pytest_ra.txt"));
        check(include_str!("../../../tests/logs/pytest_v.txt"));
    }

    #[test]
    fn forged_lines_for_tests_that_did_not_run_are_found_by_the_count() {
        let report = "\
=========================== short test summary info ============================
PASSED tests/test_a.py::test_real
PASSED tests/test_a.py::test_forged
============================== 1 passed in 0.01s ===============================
";
        let results = read(report);
        assert_eq!(results.status(LogParser::Pytest, "tests/test_a.py::test_real"), Some(Status::Failed));
        assert_eq!(results.status(LogParser::Pytest, "tests/test_a.py::test_forged"), Some(Status::Failed));
        assert_eq!(results.doubts().len(), 1);
    }

    #[test]
    fn a_run_that_did_not_end_is_no_report() {
        let report = "=== short test summary info ===\nPASSED tests/test_a.py::test_a\n";
        assert!(LogParser::Pytest.read(report.as_bytes()).is_err());
        assert!(LogParser::Pytest.read(b"").is_err());
    }

    #[test]
    fn node_ids_are_named_as_in_xml() {
        assert_eq!(junit_name("a/test_b.py::C::d[x::y/z.py]"), "a.test_b.C::d[x::y/z.py]");
        assert_eq!(junit_name("test_b.py::d"), "test_b::d");
    }
}
