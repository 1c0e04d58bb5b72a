//! Selection of the rows of a list view: the words that are looked for, and the order.

use std::cmp::Ordering;

use crate::data::Row;
use crate::kinds::{ColumnId, Type};
use crate::value::{RowKey, Value};

/// Words that are looked for in columns of text.
pub(super) struct Search<'a> {
    id: &'a str,
    words: Vec<Vec<char>>,
    columns: Vec<ColumnId>,
}

impl<'a> Search<'a> {
    /// The words of a text, for some columns.
    pub(super) fn new(text: &'a str, columns: Vec<ColumnId>) -> Self {
        Self { id: text.trim(), words: words(text).map(|word| folded(word).collect()).collect(), columns }
    }

    /// True if every word begins a word of the columns, or all of them are the row's id.
    pub(super) fn finds(&self, row: &Row) -> bool {
        *row.id == *self.id
            || self.words.iter().all(|subject| self.texts(row).flat_map(words).any(|word| begins(word, subject)))
    }

    fn texts<'r>(&self, row: &'r Row) -> impl Iterator<Item = &'r str> {
        self.columns.iter().filter_map(|column| match row.cells.get(usize::from(column.0)) {
            Some(Value::Text(text)) => Some(&**text),
            _ => None,
        })
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Small letters; sigma is the same letter at the end of a word.
fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase).map(|letter| if letter == 'ς' { 'σ' } else { letter })
}

fn begins(word: &str, subject: &[char]) -> bool {
    let mut letters = folded(word);
    subject.iter().all(|letter| letters.next() == Some(*letter))
}

/// An order by the values of a column.
pub(super) struct Order<'a> {
    pub(super) column: ColumnId,
    pub(super) kind: &'a Type,
    pub(super) descending: bool,
}

impl Order<'_> {
    /// Puts the first rows of the order to the front, so many of them; the others stand behind in any order.
    pub(super) fn put_first(&self, rows: &mut [(RowKey, &Row)], count: usize) {
        let compare = |left: &(RowKey, &Row), right: &(RowKey, &Row)| {
            // What is equal stays in the order of creation.
            self.compare(left.1, right.1).then_with(|| left.0.cmp(&right.0))
        };
        let first = if count < rows.len() { rows.select_nth_unstable_by(count, compare).0 } else { rows };
        first.sort_unstable_by(compare);
    }

    fn compare(&self, left: &Row, right: &Row) -> Ordering {
        let place = usize::from(self.column.0);
        let order = match (&left.cells[place], &right.cells[place]) {
            // What has no value comes last either way.
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => return Ordering::Greater,
            (_, Value::Null) => return Ordering::Less,
            (Value::Text(left), Value::Text(right)) => match self.kind.present() {
                Type::Enum(words) => {
                    let rank = |text: &str| words.iter().position(|word| **word == *text);
                    rank(left).cmp(&rank(right))
                }
                _ => folded(left).cmp(folded(right)).then_with(|| left.cmp(right)),
            },
            (left, right) => left.cmp(right),
        };
        if self.descending { order.reverse() } else { order }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::TableId;

    fn row(id: &str, cell: Value) -> Row {
        Row { id: id.into(), cells: [cell].into() }
    }

    fn finds(text: &str, subject: &str) -> bool {
        Search::new(subject, vec![ColumnId(0)]).finds(&row("M1", Value::text(text)))
    }

    #[test]
    fn words_are_found_by_how_they_begin() {
        for subject in ["", "inv", "INVOICE march", " M1 ", "MÄR", "ΟΔΟΣ", "οδος", "οδοσ"] {
            assert!(finds("Invoice for March: März, Οδος", subject), "{subject}");
        }
        for subject in ["voice", "invoices", "invoice april", "M2", "m1"] {
            assert!(!finds("Invoice for March", subject), "{subject}");
        }
        assert!(!Search::new("inv", Vec::new()).finds(&row("M1", Value::text("Invoice"))));
    }

    #[test]
    fn the_first_rows_are_those_of_the_whole_order() {
        let texts = ["b", "A", "", "a", "B", "c", "a", "Ä"];
        let mut cells: Vec<Value> = texts.iter().map(|text| Value::text(text)).collect();
        cells.insert(3, Value::Null);
        cells.push(Value::Null);
        let rows: Vec<Row> = cells.into_iter().map(|cell| row("x", cell)).collect();
        let shown = |descending: bool, count: usize| -> Vec<u32> {
            let keys = (0..).map(|number| RowKey { table: TableId(0), number });
            let mut rows: Vec<(RowKey, &Row)> = keys.zip(&rows).collect();
            Order { column: ColumnId(0), kind: &Type::Text, descending }.put_first(&mut rows, count);
            rows.iter().take(count).map(|(key, _)| key.number).collect()
        };
        let (up, down) = (shown(false, 10), shown(true, 10));
        assert_eq!(up, [2, 1, 4, 7, 5, 0, 6, 8, 3, 9]);
        assert_eq!(down, [8, 6, 0, 5, 4, 7, 1, 2, 3, 9]);
        for count in 0..=12 {
            assert_eq!(
                (shown(false, count), shown(true, count)),
                (up[..count.min(10)].to_vec(), down[..count.min(10)].to_vec())
            );
        }
    }
}
