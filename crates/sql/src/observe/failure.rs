//! Errors, as the engine's own client prints them.

use super::cells::line;
use super::table::thousands;
use crate::engine::{CutReason, Limits, SqlError};
use crate::value::Dialect;

/// Characters of the line with the error that are shown on either side of the place.
const AROUND_CHARS: usize = 60;
const MESSAGE_CHARS_MAX: usize = 2_000;

/// Description of an error, its place, and the limit or rule that was met.
pub(super) fn text(dialect: Dialect, sql: &str, error: &SqlError, limits: &Limits) -> String {
    let message = line(&error.message, MESSAGE_CHARS_MAX);
    let place = error.position.and_then(|position| place(sql, position));
    let mut lines = Vec::new();
    match dialect {
        Dialect::Postgres => {
            lines.push(format!("ERROR:  {message}"));
            if let Some(ErrorPosition { number, shown, before }) = place {
                let label = format!("LINE {number}: ");
                lines.push(format!("{label}{shown}"));
                lines.push(format!("{}^", " ".repeat(label.len() + before)));
            }
            lines.extend(error.detail.iter().map(|detail| format!("DETAIL:  {}", line(detail, MESSAGE_CHARS_MAX))));
            lines.extend(error.hint.iter().map(|hint| format!("HINT:  {}", line(hint, MESSAGE_CHARS_MAX))));
        }
        Dialect::Sqlite => {
            lines.push(format!("Error: {message}"));
            if let Some(ErrorPosition { shown, before, .. }) = place {
                lines.push(format!("  {shown}"));
                lines.push(format!("  {}^--- error here", " ".repeat(before)));
            }
            lines.extend(error.detail.iter().map(|detail| line(detail, MESSAGE_CHARS_MAX)));
            lines.extend(error.hint.iter().map(|hint| format!("Hint: {}", line(hint, MESSAGE_CHARS_MAX))));
        }
    }
    lines.extend(error.cut.and_then(|cut| limit(dialect, cut, error, limits)));
    lines.join("\n")
}

fn limit(dialect: Dialect, cut: CutReason, error: &SqlError, limits: &Limits) -> Option<String> {
    let bytes = |bytes: usize| format!("{} bytes", thousands(bytes));
    match cut {
        // The message says it all.
        CutReason::Refused | CutReason::Lost => None,
        CutReason::Time => Some(format!("(a statement here may take {} ms)", thousands(limits.statement_ms as usize))),
        CutReason::Size => Some(format!("(the values of a step here may take {})", bytes(limits.bytes_max))),
        CutReason::Memory => match dialect {
            Dialect::Sqlite => Some(format!("(the statements here may use {} of memory)", bytes(limits.memory_max))),
            // The server's own limits, not the session's: what it has to write to files, or what its processes may take.
            Dialect::Postgres => temporary_files(&error.message)
                .map(|most| format!("(the statements here may use {} of temporary files)", bytes(most))),
        },
        CutReason::Growth => Some(format!("(the database here may grow by {})", bytes(limits.growth_max as usize))),
    }
}

/// Bytes of temporary files that a session may have, where PostgreSQL says that this was the limit: it names the setting and its value.
fn temporary_files(message: &str) -> Option<usize> {
    let (_, value) = message.split_once("temp_file_limit (")?;
    value.split_once("kB")?.0.parse::<usize>().ok()?.checked_mul(1024)
}

struct ErrorPosition {
    /// Of the line, from 1.
    number: usize,
    /// The part of the line that is shown.
    shown: String,
    /// Characters of it before the place.
    before: usize,
}

/// The line in which a character stands. Tabs count as one space, so that the caret stands below its place.
fn place(sql: &str, position: usize) -> Option<ErrorPosition> {
    if position > sql.chars().count() {
        return None;
    }
    let before: String = sql.chars().take(position).collect();
    let number = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count());
    let whole: Vec<char> = sql.lines().nth(number - 1).unwrap_or("").chars().collect();
    let from = column.saturating_sub(AROUND_CHARS);
    let to = whole.len().min(column + AROUND_CHARS);
    let middle: String =
        whole.get(from.min(to)..to)?.iter().map(|sign| if sign.is_control() { ' ' } else { *sign }).collect();
    let (left, right) = (if from > 0 { "..." } else { "" }, if to < whole.len() { "..." } else { "" });
    Some(ErrorPosition { number, shown: format!("{left}{middle}{right}"), before: left.len() + column - from })
}
