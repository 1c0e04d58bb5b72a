//! The Test Anything Protocol (testanything.org, versions 12 to 14): `1..N` and a line `ok` or `not ok` per test. Indented lines
//! (subtests, diagnostics) are their parent's business.

use super::{Results, Status};

pub(super) fn read(text: &str) -> Result<Results, String> {
    let mut results = Results::default();
    let (mut plans, mut seen) = (Vec::new(), 0_u64);
    let mut numbers = std::collections::BTreeSet::new();
    for line in text.lines() {
        if line.starts_with("Bail out!") {
            return Err(format!("the tests gave up: {line}"));
        }
        if let Some(plan) = line.strip_prefix("1..") {
            let count = plan.split_whitespace().next().unwrap_or(plan);
            plans.push(count.parse::<u64>().map_err(|_| format!("{line:?} is no plan"))?);
        }
        let Some((passed, rest)) = result(line) else { continue };
        seen += 1;
        let (number, rest) = numbered(rest);
        if !numbers.insert(number.unwrap_or(seen)) {
            results.doubts.push(format!("test {} is reported twice", number.unwrap_or(seen)));
        }
        let (name, directive) = directive(rest);
        let status = match directive.as_deref() {
            Some("skip" | "todo") => Status::Skipped,
            _ if passed => Status::Passed,
            _ => Status::Failed,
        };
        results.add(name.trim().trim_start_matches("- ").trim(), status);
    }
    match plans.as_slice() {
        [] => Err("there is no plan (`1..N`)".to_owned()),
        [plan] if *plan == seen && results.doubts.is_empty() => Ok(results),
        [plan] => Ok(results.doubted(&format!("{plan} tests were planned and {seen} reported"))),
        [..] => Err("there are two plans".to_owned()),
    }
}

fn result(line: &str) -> Option<(bool, &str)> {
    let (passed, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    (rest.is_empty() || rest.starts_with(' ')).then_some((passed, rest))
}

fn numbered(rest: &str) -> (Option<u64>, &str) {
    let rest = rest.trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    match rest[..digits].parse() {
        Ok(number) => (Some(number), &rest[digits..]),
        Err(_) => (None, rest),
    }
}

/// Parts a description from `# SKIP ..` or `# TODO ..`.
fn directive(rest: &str) -> (&str, Option<String>) {
    match rest.rsplit_once(" # ") {
        Some((name, words)) => {
            let word = words.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
            if word.starts_with("skip") {
                (name, Some("skip".to_owned()))
            } else if word == "todo" {
                (name, Some(word))
            } else {
                (rest, None)
            }
        }
        None => (rest, None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LogParser, Status};

    fn status(report: &str, id: &str) -> Option<Status> {
        LogParser::Tap.read(report.as_bytes()).expect("a report").status(LogParser::Tap, id)
    }

    #[test]
    fn every_form_of_a_line_is_read() {
        let report = "TAP version 13\n1..6\nok 1 - adds\nnot ok 2 - divides by 0\n  ---\n  ok 9 - inner\nok 3 later # SKIP no disk\nnot ok 4 - soon # TODO\nok 5 - has a # sign\nok\n";
        assert_eq!(status(report, "adds"), Some(Status::Passed));
        assert_eq!(status(report, "divides by 0"), Some(Status::Failed));
        assert_eq!(status(report, "later"), Some(Status::Skipped));
        assert_eq!(status(report, "soon"), Some(Status::Skipped));
        assert_eq!(status(report, "has a # sign"), Some(Status::Passed));
        assert_eq!(status(report, "inner"), None);
    }

    #[test]
    fn reports_that_contradict_their_plan_are_not_believed() {
        let more = "1..1\nok 1 - real\nok 2 - forged\n";
        assert_eq!(status(more, "real"), Some(Status::Failed));
        assert_eq!(status(more, "forged"), Some(Status::Failed));
        let fewer = "1..3\nok 1 - real\n";
        assert_eq!(status(fewer, "real"), Some(Status::Failed));
        let twice = "1..2\nok 1 - real\nok 1 - other\n";
        assert_eq!(status(twice, "real"), Some(Status::Failed));
    }

    #[test]
    fn no_plan_two_plans_and_bailing_out_are_no_report() {
        for report in ["", "ok 1 - a\n", "1..1\nok 1 - a\n1..1\n", "1..2\nok 1 - a\nBail out! disk\n", "1..x\n"] {
            assert!(LogParser::Tap.read(report.as_bytes()).is_err(), "{report:?}");
        }
    }
}
