//! A result as a table of text.

use super::ROWS_SHOWN_MAX;
use super::cells::{cell, line};
use crate::engine::StatementResult;

/// Characters of a line, beyond which columns are left out.
const WIDTH_MAX: usize = 1_000;
const NAME_CHARS_MAX: usize = 64;

/// Header, rows and a footer that says how many rows there are and how many are shown, in about `bytes_max` bytes.
pub(super) fn text(result: &StatementResult, bytes_max: usize) -> String {
    let shown = &result.rows[..result.rows.len().min(ROWS_SHOWN_MAX)];
    let names: Vec<String> = result.columns.iter().map(|column| line(&column.name, NAME_CHARS_MAX)).collect();
    let cells: Vec<Vec<(String, bool)>> =
        shown.iter().map(|row| row.iter().take(names.len()).map(cell).collect()).collect();
    let widths: Vec<usize> = (0..names.len())
        .map(|at| {
            cells.iter().filter_map(|row| row.get(at)).map(|cell| width(&cell.0)).chain([width(&names[at])]).max()
        })
        .map(|widest| widest.unwrap_or(0))
        .collect();
    let columns = fitting(&widths);
    let mut out = header(&names[..columns], &widths);
    let mut rows = 0;
    for row in &cells {
        let printed = print(row.iter().take(columns), &widths);
        if out.len() + printed.len() + 200 > bytes_max && rows > 0 {
            break;
        }
        out.push_str(&printed);
        rows += 1;
    }
    out.push_str(&footer(result, rows));
    if columns < names.len() {
        out.push_str(&left_out(&names[columns..]));
    }
    out
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Number of columns that fit; at least one.
fn fitting(widths: &[usize]) -> usize {
    let mut total = 0;
    let room = widths.iter().take_while(|width| {
        total += **width + 3;
        total <= WIDTH_MAX
    });
    room.count().max(1)
}

fn header(names: &[String], widths: &[usize]) -> String {
    let titles: Vec<String> = names
        .iter()
        .zip(widths)
        .map(|(name, wide)| {
            let space = wide - width(name);
            format!(" {}{name}{} ", " ".repeat(space / 2), " ".repeat(space - space / 2))
        })
        .collect();
    let rules: Vec<String> = widths[..names.len()].iter().map(|wide| "-".repeat(wide + 2)).collect();
    format!("{}\n{}\n", titles.join("|").trim_end(), rules.join("+"))
}

fn print<'a>(row: impl Iterator<Item = &'a (String, bool)>, widths: &[usize]) -> String {
    let cells: Vec<String> = row
        .zip(widths)
        .map(|((text, right), wide)| {
            let space = " ".repeat(wide - width(text));
            if *right { format!(" {space}{text} ") } else { format!(" {text}{space} ") }
        })
        .collect();
    format!("{}\n", cells.join("|").trim_end())
}

fn footer(result: &StatementResult, shown: usize) -> String {
    let count = result.rows.len();
    let rows = format!("{}{}", thousands(count), if result.truncated { "+" } else { "" });
    let noun = if count == 1 && !result.truncated { "row" } else { "rows" };
    if shown < count || result.truncated {
        format!("({rows} {noun}, first {shown} shown)")
    } else {
        format!("({rows} {noun})")
    }
}

fn left_out(names: &[String]) -> String {
    let some: Vec<&str> = names.iter().take(20).map(String::as_str).collect();
    let more = if names.len() > some.len() { ", …" } else { "" };
    format!("\n({} more columns not shown: {}{more})", names.len(), some.join(", "))
}

/// `1234567` as `1,234,567`.
pub(super) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}
