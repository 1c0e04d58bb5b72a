//! JUnit XML, as pytest, Maven, CTest and many others write it. Only elements `testcase` and what stands directly in them count:
//! text is never read, so what tests printed is never a result.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::{Results, Status};

pub(super) fn read(text: &str) -> Result<Results, String> {
    let mut reader = Reader::from_str(text);
    let mut results = Results::default();
    let mut depth = 0_usize;
    let mut case: Option<Case> = None;
    let broken = |error: &dyn std::fmt::Display| format!("the report is no JUnit XML: {error}");
    let mut suites = false;
    loop {
        let event = reader.read_event().map_err(|error| broken(&error))?;
        let (element, empty) = match event {
            Event::Eof => break,
            Event::Start(element) => (element, false),
            Event::Empty(element) => (element, true),
            Event::End(element) => {
                depth = depth.saturating_sub(1);
                if element.name().as_ref() == "testcase" {
                    finish(case.take(), &mut results);
                }
                continue;
            }
            _ => continue,
        };
        let name = element.name();
        suites |= matches!(name.as_ref(), "testsuite" | "testsuites");
        match (name.as_ref(), &mut case) {
            ("testcase", _) => {
                case = Some(Case::of(&element)?);
                if empty {
                    finish(case.take(), &mut results);
                }
            }
            ("failure" | "error", Some(case)) => case.status = Status::Failed,
            ("skipped", Some(case)) => {
                // A failure that the test itself announced is what it promised.
                let expected = attribute(&element, "type")?.as_deref() == Some("pytest.xfail");
                case.status = case.status.max(if expected { Status::Passed } else { Status::Skipped });
            }
            _ => {}
        }
        if !empty {
            depth += 1;
        }
    }
    if depth > 0 || !suites {
        return Err("the report is no JUnit XML: it is cut, or there is no test suite in it".to_owned());
    }
    Ok(results)
}

struct Case {
    class: String,
    name: String,
    status: Status,
}

impl Case {
    fn of(element: &BytesStart<'_>) -> Result<Self, String> {
        let class = attribute(element, "classname")?.unwrap_or_default();
        let name = attribute(element, "name")?.ok_or("a testcase has no name")?;
        Ok(Self { class, name, status: Status::Passed })
    }
}

fn finish(case: Option<Case>, results: &mut Results) {
    let Some(Case { class, name, status }) = case else { return };
    results.add(format!("{class}::{name}"), status);
    results.add(format!("{class}.{name}"), status);
    // Where several classes have a test of this name, the worst of them counts for the name alone.
    results.add(name, status);
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    let found = element.try_get_attribute(name).map_err(|error| format!("the report is no JUnit XML: {error}"))?;
    let Some(found) = found else { return Ok(None) };
    let value = found.normalized_value(XmlVersion::Implicit1_0);
    value.map(|value| Some(value.into_owned())).map_err(|error| format!("the report is no JUnit XML: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::{LogParser, Results, Status};

    fn read(report: &str) -> Result<Results, String> {
        LogParser::Junit.read(report.as_bytes())
    }

    #[test]
    fn a_real_report_of_pytest_is_read_by_node_id() {
        let results = LogParser::Pytest.read(include_bytes!("../../../tests/logs/pytest.xml")).expect("a report");
        let status = |id: &str| results.status(LogParser::Pytest, id);
        for passed in [
            "test_ok",
            "test_par[a b]",
            "test_par[\\xe9/\\xfc]",
            "test_par[[z]]",
            "TestC::test_m",
            "TestU::test_u",
            "test_xfail",
        ] {
            assert_eq!(status(&format!("tests/test_a.py::{passed}")), Some(Status::Passed), "{passed}");
        }
        for failed in ["test_bad", "test_par[c::d]", "test_err", "test_teardown", "test_forge"] {
            assert_eq!(status(&format!("tests/test_a.py::{failed}")), Some(Status::Failed), "{failed}");
        }
        assert_eq!(status("tests/test_a.py::test_skip"), Some(Status::Skipped));
        assert_eq!(status("tests/test_a.py::test_missing"), None);
    }

    #[test]
    fn a_file_that_could_not_be_collected_passes_nothing() {
        let results =
            LogParser::Pytest.read(include_bytes!("../../../tests/logs/pytest_collection.xml")).expect("read");
        assert_eq!(results.status(LogParser::Pytest, "tests/test_broken.py::test_x"), None);
    }

    #[test]
    fn names_come_in_three_forms() {
        let report = r#"<testsuite tests="3"><testcase classname="a.B" name="works"/><testcase classname="a.C" name="works">
            <failure message="no"/></testcase><testcase name="alone"></testcase></testsuite>"#;
        let results = read(report).expect("a report");
        let status = |id: &str| results.status(LogParser::Junit, id);
        assert_eq!(status("a.B::works"), Some(Status::Passed));
        assert_eq!(status("a.B.works"), Some(Status::Passed));
        assert_eq!(status("works"), Some(Status::Failed), "the worst of two");
        assert_eq!(status("alone"), Some(Status::Passed));
    }

    #[test]
    fn printed_text_is_no_result() {
        let report = r#"<testsuites><testsuite><testcase classname="a" name="b"><failure/>
            <system-out>&lt;testcase classname="a" name="c"/&gt;<![CDATA[<testcase classname="a" name="d"/>]]></system-out>
            </testcase><!-- <testcase classname="a" name="e"/> --></testsuite></testsuites>"#;
        let results = read(report).expect("a report");
        for forged in ["a::c", "a::d", "a::e"] {
            assert_eq!(results.status(LogParser::Junit, forged), None, "{forged}");
        }
        assert_eq!(results.status(LogParser::Junit, "a::b"), Some(Status::Failed));
    }

    #[test]
    fn truncated_and_self_expanding_xml_is_no_report() {
        for report in [
            "",
            "<html></html>",
            r#"<testsuite><testcase classname="a" name="b"/>"#,
            r#"<testsuite><testcase classname="a"/></testsuite>"#,
            r#"<!DOCTYPE x [<!ENTITY a "aaaa">]><testsuite><testcase classname="&a;" name="b"/></testsuite>"#,
        ] {
            assert!(read(report).is_err(), "{report}");
        }
    }
}
