//! Tables and lists of facts for people, as wide as the terminal.

use std::fmt;

use comfy_table::{ColumnConstraint, ContentArrangement, Row, presets};
use palestra_protocol::visible::escape_line;

/// Spaces between two columns.
const GAP: u16 = 2;
/// Least width of a column of prose, in characters.
const PROSE_WIDTH_MIN: u16 = 20;

/// A table for people. A cell stays in its place, whatever it holds.
///
/// On a terminal that is too narrow, prose is shortened first. Then columns are left out, the last ones first; a line below says which.
/// Elsewhere nothing is shortened or left out.
#[derive(Debug)]
pub struct Table {
    whole: comfy_table::Table,
    headings: Vec<String>,
    prose: Option<Prose>,
}

/// A column of prose.
#[derive(Debug, Clone, Copy)]
struct Prose {
    column: usize,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Its first line, with an ellipsis where that is not all.
    Cut,
    /// All of it, in lines.
    Wrapped,
}

impl Table {
    /// A table with these headings, the most important ones first.
    #[must_use]
    pub fn new<T: AsRef<str>>(headings: impl IntoIterator<Item = T>) -> Self {
        let headings = cells(headings);
        let mut whole = comfy_table::Table::new();
        whole.load_style(presets::NOTHING).set_truncation_indicator("…").set_header(headings.clone());
        whole.column_iter_mut().for_each(|column| {
            column.set_padding((0, GAP));
        });
        Self { whole, headings, prose: None }
    }

    /// The column with this index is prose of which the beginning is enough.
    #[must_use]
    pub fn cutting(mut self, column: usize) -> Self {
        self.prose = Some(Prose { column, form: Form::Cut });
        self
    }

    /// The column with this index is prose that has to be read.
    #[must_use]
    pub fn wrapping(mut self, column: usize) -> Self {
        self.prose = Some(Prose { column, form: Form::Wrapped });
        self
    }

    /// Adds a row.
    pub fn add_row<T: AsRef<str>>(&mut self, row: impl IntoIterator<Item = T>) {
        let mut row = Row::from(cells(row));
        if self.prose.is_some_and(|prose| prose.form == Form::Cut) {
            row.max_height(1);
        }
        self.whole.add_row(row);
    }

    /// The lines of the table in at most `width` characters, and the headings of the columns that are left out.
    fn fitted(&self, width: u16) -> (String, Vec<&str>) {
        let needed: Vec<u16> = self
            .whole
            .column_max_content_widths()
            .iter()
            .enumerate()
            .map(|(column, natural)| if self.is_prose(column) { PROSE_WIDTH_MIN.min(*natural) } else { *natural })
            .collect();
        let mut shown: Vec<usize> = (0..needed.len()).collect();
        while shown.iter().map(|column| needed.get(*column).copied().unwrap_or(0) + GAP).sum::<u16>() > width + GAP {
            let Some(last) = shown.iter().rposition(|column| *column > 0 && !self.is_prose(*column)) else { break };
            shown.remove(last);
        }
        let mut table = self.whole.clone();
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width + GAP);
        for (column, layout) in table.column_iter_mut().enumerate() {
            if !shown.contains(&column) {
                layout.set_constraint(ColumnConstraint::Hidden);
            } else if !self.is_prose(column) {
                layout.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        let left_out = self.headings.iter().enumerate().filter(|(column, _)| !shown.contains(column));
        (table.trim_fmt(), left_out.map(|(_, heading)| heading.as_str()).collect())
    }

    fn is_prose(&self, column: usize) -> bool {
        self.prose.is_some_and(|prose| prose.column == column)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The width of the terminal; of files and pipes there is none.
        let Some(width) = self.whole.width() else { return formatter.write_str(&self.whole.trim_fmt()) };
        let (text, left_out) = self.fitted(width);
        formatter.write_str(&text)?;
        if !left_out.is_empty() {
            let columns = left_out.join(", ");
            write!(formatter, "\nThe terminal is too narrow for: {columns}. A pipe (`| cat`) shows all.")?;
        }
        Ok(())
    }
}

fn cells<T: AsRef<str>>(row: impl IntoIterator<Item = T>) -> Vec<String> {
    row.into_iter().map(|cell| escape_line(cell.as_ref()).into_owned()).collect()
}

/// A line for each fact: its name, then its value. Values of others must be [`visible`](crate::terminal::visible).
#[must_use]
pub fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let facts: Vec<(&str, String)> = facts.into_iter().collect();
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts.iter().map(|(name, value)| format!("{name:<width$}  {value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESCRIPTION: &str = "Reach a target number with + - * / and parentheses.";

    fn environments() -> Table {
        let mut table = Table::new(["environment", "tasks", "description", "version"]).cutting(2);
        table.add_row(["puzzle/countdown", "1.2M", DESCRIPTION, "1"]);
        table.add_row(["app/shop", "36", "A shop.", "3"]);
        table
    }

    fn widest(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    #[test]
    fn a_cell_stays_in_its_place() {
        let mut table = Table::new(["name", "scopes"]);
        table.add_row(["a\n│ key_1 │ admin", "b\u{1b}[1A"]);
        let text = table.whole.trim_fmt();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains("a\\u000a") && text.contains("\\u001b[1A"), "{text}");
    }

    #[test]
    fn tables_fit_the_terminal() {
        let table = environments();
        for width in [60, 80, 100] {
            let (text, left_out) = table.fitted(width);
            assert!(widest(&text) <= usize::from(width) && left_out.is_empty(), "{width}: {text}");
            assert_eq!(text.lines().count(), 3, "{text}");
            assert_eq!(text.contains('…'), !text.contains(DESCRIPTION), "{text}");
        }
        let (text, left_out) = table.fitted(48);
        assert!(widest(&text) <= 48 && left_out == ["version"], "{text}");
        let (text, left_out) = table.fitted(10);
        assert!(text.contains("puzzle/countdown") && left_out == ["tasks", "version"], "{text}");
    }

    #[test]
    fn prose_that_has_to_be_read_is_whole() {
        let mut table = Table::new(["check", "advice"]).wrapping(1);
        table.add_row(["docker", DESCRIPTION]);
        let (text, _) = table.fitted(40);
        assert!(widest(&text) <= 40 && text.lines().count() == 3, "{text}");
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(DESCRIPTION.split(' ').all(|word| words.contains(&word)), "{text}");
    }

    #[test]
    fn values_of_facts_stand_below_each_other() {
        assert_eq!(facts([("run", "1".to_owned()), ("episodes", "20".to_owned())]), "run       1\nepisodes  20\n");
    }
}
