//! Tests of printed results and errors.

use super::{ROWS_SHOWN_MAX, TEXT_BYTES_MAX, observe, value_data};
use crate::engine::{CutReason, Limits, SqlError, StatementResult, StepResult};
use crate::value::{Column, Dialect, Value};
use serde_json::json;

fn result(names: &[&str], rows: Vec<Vec<Value>>) -> StatementResult {
    let columns = names.iter().map(|name| Column { name: (*name).to_owned(), type_name: "text".to_owned() }).collect();
    StatementResult { command: format!("SELECT {}", rows.len()), columns, rows, ..StatementResult::default() }
}

fn ran(results: Vec<StatementResult>) -> StepResult {
    StepResult { results, pure: true, ..StepResult::default() }
}

fn text(ran: &StepResult) -> String {
    observe(Dialect::Sqlite, "", ran, &Limits::default()).0
}

fn words(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn a_table_is_aligned_with_numbers_to_the_right() {
    let rows = vec![
        vec![words("Ann"), Value::Integer(12), Value::Null],
        vec![words("Bartholomew"), Value::Real(2.5), Value::Boolean(true)],
    ];
    let printed = text(&ran(vec![result(&["name", "total", "ok"], rows)]));
    let expected = "    name     | total |  ok\n\
                    -------------+-------+------\n\
                    \x20Ann         |    12 | NULL\n\
                    \x20Bartholomew |   2.5 | t\n\
                    (2 rows)";
    assert_eq!(printed, expected);
}

#[test]
fn several_results_follow_each_other_with_what_was_done() {
    let insert = StatementResult { command: "INSERT 0 2".to_owned(), affected: Some(2), ..StatementResult::default() };
    let mut returning = result(&["id"], vec![vec![Value::Integer(7)]]);
    returning.command = "DELETE 1".to_owned();
    returning.affected = Some(1);
    let printed = text(&ran(vec![insert, result(&["n"], vec![]), returning]));
    assert_eq!(printed, "INSERT 0 2\n n\n---\n(0 rows)\n id\n----\n  7\n(1 row)\nDELETE 1");
    assert_eq!(text(&ran(vec![])), "(no statement)");
}

#[test]
fn omitted_rows_and_columns_are_counted() {
    let many = (0..1_000).map(|at| vec![Value::Integer(at)]).collect();
    let mut long = result(&["n"], many);
    long.truncated = true;
    let printed = text(&ran(vec![long]));
    assert!(printed.ends_with("(1,000+ rows, first 100 shown)"), "{printed}");
    assert_eq!(printed.lines().count(), ROWS_SHOWN_MAX + 3);

    let cell = text(&ran(vec![result(&["x"], vec![vec![words(&"é".repeat(1_000))]])]));
    assert!(cell.contains("… (+800 characters)"), "{cell}");

    let names: Vec<String> = (0..300).map(|at| format!("column_{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let wide = text(&ran(vec![result(&names, vec![vec![Value::Null; 300]])]));
    assert!(wide.contains("more columns not shown: column_"), "{wide}");
    assert!(wide.lines().all(|line| line.len() < 1_100), "{wide}");
}

#[test]
fn a_text_stays_within_its_bytes_whatever_comes() {
    let big = || result(&["a", "b"], vec![vec![words(&"x".repeat(200)), words(&"y".repeat(200))]; 100]);
    let mut huge = ran((0..400).map(|_| big()).collect());
    huge.error = Some(SqlError { message: "m".repeat(10_000), ..SqlError::default() });
    let printed = text(&huge);
    assert!(printed.len() < TEXT_BYTES_MAX + 4_096, "{}", printed.len());
    assert!(printed.contains("more results not shown"), "{printed}");
    assert!(printed.contains("Error: mmm"), "the error comes last");
}

#[test]
fn control_characters_are_shown_and_not_sent() {
    let printed = text(&ran(vec![result(&["a\nb"], vec![vec![words("\x1b[31mred\u{202e}\nnext")]])]));
    assert!(!printed.contains('\x1b') && !printed.contains('\u{202e}'));
    assert!(printed.contains("\\u{1b}[31mred\\u{202e}\\nnext"), "{printed}");
}

#[test]
fn an_error_is_printed_as_the_engines_client_does() {
    let sql = "SELECT 1;\nSELECT nme FROM people";
    let position = sql.find("nme");
    let error = SqlError {
        code: "42703".to_owned(),
        message: "column \"nme\" does not exist".to_owned(),
        hint: Some("Perhaps you meant to reference the column \"people.name\".".to_owned()),
        statement: 1,
        position,
        ..SqlError::default()
    };
    let failed = StepResult { error: Some(error.clone()), ..StepResult::default() };
    let (postgres, data) = observe(Dialect::Postgres, sql, &failed, &Limits::default());
    let expected = "ERROR:  column \"nme\" does not exist\n\
                    LINE 2: SELECT nme FROM people\n\
                    \x20              ^\n\
                    HINT:  Perhaps you meant to reference the column \"people.name\".";
    assert_eq!(postgres, expected);
    assert_eq!(data["error"]["code"], "42703");
    assert_eq!(data["error"]["position"], json!(position));
    let message = "no such column: nme".to_owned();
    let failed = StepResult { error: Some(SqlError { message, hint: None, ..error }), ..StepResult::default() };
    let (sqlite, _) = observe(Dialect::Sqlite, sql, &failed, &Limits::default());
    assert_eq!(sqlite, "Error: no such column: nme\n  SELECT nme FROM people\n         ^--- error here");
}

#[test]
fn an_error_in_a_long_line_shows_its_surroundings() {
    let sql = format!("SELECT '{}', nme, '{}'", "a".repeat(500), "b".repeat(500));
    let position = sql.find("nme");
    let error = SqlError { message: "no such column: nme".to_owned(), position, ..SqlError::default() };
    let failed = StepResult { error: Some(error), ..StepResult::default() };
    let (printed, _) = observe(Dialect::Sqlite, &sql, &failed, &Limits::default());
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[1].len() < 150 && lines[1].contains("nme"), "{printed}");
    assert_eq!(lines[1].find("nme"), lines[2].find('^'), "{printed}");
}

#[test]
fn a_place_beyond_the_text_or_at_its_end_is_no_trouble() {
    for position in [0, 6, 7, 8, 1_000] {
        let error = SqlError { message: "syntax error".to_owned(), position: Some(position), ..SqlError::default() };
        let failed = StepResult { error: Some(error), ..StepResult::default() };
        for sql in ["", "SELECT\n", "SELÉCT"] {
            let (printed, _) = observe(Dialect::Postgres, sql, &failed, &Limits::default());
            assert!(printed.starts_with("ERROR:  syntax error"), "{printed}");
        }
    }
}

#[test]
fn the_limit_that_cut_a_statement_off_is_named() {
    for (cut, words) in [
        (CutReason::Time, "5,000 ms"),
        (CutReason::Size, "1,048,576 bytes"),
        (CutReason::Memory, "67,108,864 bytes of memory"),
        (CutReason::Growth, "grow by 67,108,864 bytes"),
    ] {
        let error = SqlError { message: "interrupted".to_owned(), cut: Some(cut), ..SqlError::default() };
        let printed = text(&StepResult { error: Some(error), ..StepResult::default() });
        assert!(printed.contains(words), "{printed}");
    }
}

#[test]
fn a_limit_of_the_servers_own_is_told_as_it_is() {
    for (message, note) in [
        (
            "temporary file size exceeds temp_file_limit (262144kB)",
            "\n(the statements here may use 268,435,456 bytes of temporary files)",
        ),
        ("out of memory", ""),
    ] {
        let error = SqlError { message: message.to_owned(), cut: Some(CutReason::Memory), ..SqlError::default() };
        let failed = StepResult { error: Some(error), ..StepResult::default() };
        let (printed, _) = observe(Dialect::Postgres, "", &failed, &Limits::default());
        assert_eq!(printed, format!("ERROR:  {message}{note}"));
    }
}

#[test]
fn values_that_json_cannot_hold_are_strings() {
    for (value, data) in [
        (Value::Integer(1 << 53), json!(9_007_199_254_740_992_i64)),
        (Value::Integer(i64::MIN), json!("-9223372036854775808")),
        (Value::Real(f64::NAN), json!("NaN")),
        (Value::Real(f64::NEG_INFINITY), json!("-Infinity")),
        (Value::Real(0.5), json!(0.5)),
        (Value::Decimal("12.50".to_owned()), json!("12.50")),
        (Value::Blob(vec![0, 255]), json!({"hex": "00ff", "bytes": 2})),
    ] {
        assert_eq!(value_data(&value), data);
    }
}
