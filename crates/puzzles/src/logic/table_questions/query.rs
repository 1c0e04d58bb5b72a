//! Tables, and questions about them with their answers.

use std::collections::BTreeMap;
use std::fmt;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::logic::words::listed;
use palestra_environment::draws::{Draws, Refusal, Requirement};

/// Rows that a question is about at least.
const ROWS_MIN: usize = 3;

/// Conditions that are drawn until they leave enough rows and not all.
const DRAWS_MAX: usize = 30;

/// The conditions are on different columns and leave enough rows, but not all.
static SELECTIVE: Requirement =
    Requirement::new("selective", "the conditions are on different columns and leave enough rows, but not all", 0.7);

/// Such conditions are found in as many draws as are made.
static CONDITIONS: Requirement =
    Requirement::new("conditions", "such conditions are found in as many draws as are made", 0.05);

/// Tables in a chain: a row refers to a row of the next table by the column that is called like the first column there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Tables(pub(super) Vec<Table>);

/// A table.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// Value in a table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Cell {
    Number(i64),
    Text(String),
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// A question: something about the rows of the first table that fulfil all conditions.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    pub(super) conditions: Vec<Condition>,
    pub(super) ask: Ask,
}

/// A condition on what a row has, or what it refers to has, in a column.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Condition {
    pub(super) column: String,
    pub(super) test: Test,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Test {
    Is(String),
    IsNot(String),
    Above(i64),
    Below(i64),
}

/// Question about the rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum Ask {
    /// Number of the rows.
    Count,
    /// The sum of a column.
    Total { column: String },
    /// The name of the row with the largest or smallest number.
    Row { column: String, largest: bool },
    /// Of the groups of rows with the same text in `by`, the one with the largest or smallest sum, and the sum.
    Group { by: String, column: String, largest: bool },
    /// Difference of the sums of two such groups.
    Difference { by: String, groups: [String; 2], column: String },
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Number(i64),
    Name(String),
    Both(String, i64),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
            Self::Both(name, number) => write!(f, "{name}, {number}"),
        }
    }
}

impl Ask {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Total { .. } => "total",
            Self::Row { largest: true, .. } => "row_largest",
            Self::Row { .. } => "row_smallest",
            Self::Group { largest: true, .. } => "group_largest",
            Self::Group { .. } => "group_smallest",
            Self::Difference { .. } => "difference",
        }
    }
}

impl Test {
    /// Name in reports.
    const fn kind(&self) -> &'static str {
        match self {
            Self::Is(_) => "is",
            Self::IsNot(_) => "is_not",
            Self::Above(_) => "above",
            Self::Below(_) => "below",
        }
    }

    fn passes(&self, cell: &Cell) -> bool {
        match (self, cell) {
            (Self::Is(text), Cell::Text(other)) => text == other,
            (Self::IsNot(text), Cell::Text(other)) => text != other,
            (Self::Above(bound), Cell::Number(number)) => number > bound,
            (Self::Below(bound), Cell::Number(number)) => number < bound,
            _ => false,
        }
    }
}

impl Tables {
    /// As they stand in a prompt.
    pub(super) fn write(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let table = |table: &Table| {
            let rows = table.rows.iter().map(|row| line(row.iter().map(Cell::to_string).collect()));
            let head = format!("Table {}:\n{}", table.name, line(table.columns.clone()));
            [head].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
        };
        self.0.iter().map(table).collect::<Vec<_>>().join("\n\n")
    }

    /// Value of a column in a row of the first table, or in the row of another table that it refers to. Cells that are
    /// read on the way are added to `read`.
    pub(super) fn cell<'a>(&'a self, row: &'a [Cell], column: &str, read: &mut u32) -> &'a Cell {
        let mut row = row;
        for (table, next) in self.0.iter().zip(self.0.iter().skip(1).map(Some).chain([None])) {
            *read += 1;
            if let Some(at) = table.columns.iter().position(|other| other == column) {
                return &row[at];
            }
            let Some(next) = next else { break };
            let link = table.columns.iter().position(|other| *other == next.columns[0]).unwrap_or(0);
            for referred in &next.rows {
                *read += 1;
                if referred[0] == row[link] {
                    row = referred;
                    break;
                }
            }
        }
        &row[0]
    }

    /// The answer, `None` where none or more than one is right; and how many cells were read for it.
    pub(super) fn answer(&self, query: &Query) -> (Option<Answer>, u32) {
        let mut read = 0;
        let result = self.answer_of(&self.chosen(&query.conditions, &mut read), &query.ask, &mut read);
        (result, read)
    }

    fn chosen(&self, conditions: &[Condition], read: &mut u32) -> Vec<&[Cell]> {
        let mut rows: Vec<&[Cell]> = self.0[0].rows.iter().map(Vec::as_slice).collect();
        for Condition { column, test } in conditions {
            rows.retain(|row| test.passes(self.cell(row, column, read)));
        }
        rows
    }

    fn answer_of(&self, rows: &[&[Cell]], ask: &Ask, read: &mut u32) -> Option<Answer> {
        match ask {
            Ask::Count => i64::try_from(rows.len()).ok().map(Answer::Number),
            Ask::Total { column } => Some(Answer::Number(rows.iter().map(|row| self.number(row, column, read)).sum())),
            Ask::Row { column, largest } => {
                let named = rows.iter().map(|row| (self.number(row, column, read), row[0].to_string()));
                first_of(named.collect(), *largest).map(|(_, name)| Answer::Name(name))
            }
            Ask::Group { by, column, largest } => {
                let totals = self.totals(rows, by, column, read);
                let totals: Vec<_> = totals.into_iter().map(|(name, total)| (total, name)).collect();
                (totals.len() > 1).then(|| first_of(totals, *largest))?.map(|(total, name)| Answer::Both(name, total))
            }
            Ask::Difference { by, groups: [one, other], column } => {
                let totals = self.totals(rows, by, column, read);
                let difference = (totals.get(one)? - totals.get(other)?).abs();
                (difference > 0).then_some(Answer::Number(difference))
            }
        }
    }

    fn number(&self, row: &[Cell], column: &str, read: &mut u32) -> i64 {
        match self.cell(row, column, read) {
            Cell::Number(number) => *number,
            Cell::Text(_) => 0,
        }
    }

    fn totals(&self, rows: &[&[Cell]], by: &str, column: &str, read: &mut u32) -> BTreeMap<String, i64> {
        let mut totals = BTreeMap::new();
        for row in rows {
            *totals.entry(self.cell(row, by, read).to_string()).or_insert(0) += self.number(row, column, read);
        }
        totals
    }

    /// Columns of a table that hold texts or numbers; the first column is left out.
    fn columns(&self, table: usize, texts: bool) -> Vec<&str> {
        let Table { columns, rows, .. } = &self.0[table];
        let holds = |at: &usize| matches!(rows[0][*at], Cell::Text(_)) == texts;
        (1..columns.len()).filter(holds).map(|at| columns[at].as_str()).collect()
    }
}

/// The first in the order of numbers, unless two share its place.
fn first_of(mut numbered: Vec<(i64, String)>, largest: bool) -> Option<(i64, String)> {
    numbered.sort_by_key(|(number, _)| if largest { -number } else { *number });
    match numbered.as_slice() {
        [(first, _), (second, _), ..] if first == second => None,
        [first, ..] => Some(first.clone()),
        [] => None,
    }
}

impl Query {
    /// Draws a question with so many conditions, one of them on the last table.
    pub(super) fn draw(
        rng: &mut ChaCha8Rng,
        tables: &Tables,
        conditions: usize,
        draws: &mut Draws,
    ) -> Result<Self, Refusal> {
        let last = tables.0.len() - 1;
        let conditions = draws.until(&SELECTIVE, DRAWS_MAX, |draws| {
            let mut drawn: Vec<Condition> = Vec::new();
            for at in 0..conditions {
                let table = if at == 0 { last } else { rng.random_range(0..=last) };
                let condition = condition(rng, tables, table)?;
                if drawn.iter().all(|other| other.column != condition.column) {
                    drawn.push(condition);
                }
            }
            let before = tables.0[0].rows.len();
            let left = tables.chosen(&drawn, &mut 0).len();
            let selective = (ROWS_MIN..before).contains(&left) && drawn.len() == conditions;
            drawn.iter().for_each(|condition| draws.note_part("test", condition.test.kind(), selective));
            selective.then_some(drawn)
        });
        let conditions = conditions.ok_or(&CONDITIONS)?;
        let ask = ask(rng, tables).ok_or_else(|| Refusal::fault("the tables have no columns to ask for"))?;
        draws.note("ask", ask.kind());
        Ok(Self { conditions, ask })
    }

    /// The question in words.
    pub(super) fn sentence(&self, tables: &Tables) -> String {
        let rows = &tables.0[0].name;
        let condition = |Condition { column, test }: &Condition| match test {
            Test::Is(text) => format!("the {column} is {text}"),
            Test::IsNot(text) => format!("the {column} is not {text}"),
            Test::Above(bound) => format!("the {column} is above {bound}"),
            Test::Below(bound) => format!("the {column} is below {bound}"),
        };
        let conditions: Vec<String> = self.conditions.iter().map(condition).collect();
        let extreme = |largest: bool| if largest { "largest" } else { "smallest" };
        let asked = match &self.ask {
            Ask::Count => "How many are they?".to_owned(),
            Ask::Total { column } => format!("What is the total of their {column}?"),
            Ask::Row { column, largest } => {
                format!("Which {} among them has the {} {column}?", tables.0[0].columns[0], extreme(*largest))
            }
            Ask::Group { by, column, largest } => format!(
                "Which {by} among theirs has the {} total of their {column}, and what is this total?",
                extreme(*largest)
            ),
            Ask::Difference { by, groups: [one, other], column } => format!(
                "By how much does the total {column} of those whose {by} is {one} differ from that of those whose {by} is \
                 {other}? Give the difference without a sign."
            ),
        };
        format!("Take all {rows} for which {}. {asked}", listed(&conditions, "and"))
    }
}

fn condition(rng: &mut ChaCha8Rng, tables: &Tables, table: usize) -> Option<Condition> {
    let texts = rng.random_ratio(2, 3);
    let column = (*tables.columns(table, texts).choose(rng)?).to_owned();
    let row = tables.0[0].rows.choose(rng)?;
    let test = match tables.cell(row, &column, &mut 0).clone() {
        Cell::Text(text) if rng.random_ratio(1, 3) => Test::Is(text),
        Cell::Text(text) => Test::IsNot(text),
        Cell::Number(number) if rng.random() => Test::Above(number),
        Cell::Number(number) => Test::Below(number),
    };
    Some(Condition { column, test })
}

fn ask(rng: &mut ChaCha8Rng, tables: &Tables) -> Option<Ask> {
    let column = (*tables.columns(0, false).choose(rng)?).to_owned();
    let by = (*tables.columns(rng.random_range(0..tables.0.len()), true).choose(rng)?).to_owned();
    let largest = rng.random();
    Some(match rng.random_range(0..8_u32) {
        0 => Ask::Count,
        1 | 2 => Ask::Total { column },
        3 => Ask::Row { column, largest },
        4 | 5 => Ask::Group { by, column, largest },
        _ => {
            let mut group = || Some(tables.cell(tables.0[0].rows.choose(rng)?, &by, &mut 0).to_string());
            Ask::Difference { groups: [group()?, group()?], by, column }
        }
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Two shipments of A1 200 and B2 1034 to Peru, and one of C3 to Chile.
    pub(in super::super) fn two_tables() -> Tables {
        let table = |name: &str, columns: [&str; 3], rows: Vec<Vec<Cell>>| Table {
            name: name.to_owned(),
            columns: columns.map(str::to_owned).to_vec(),
            rows,
        };
        let text = |text: &str| Cell::Text(text.to_owned());
        let first = vec![
            vec![text("A1"), text("Callao"), Cell::Number(200)],
            vec![text("B2"), text("Lima"), Cell::Number(1034)],
            vec![text("C3"), text("Arica"), Cell::Number(9)],
        ];
        let second = vec![
            vec![text("Arica"), text("Chile"), Cell::Number(1)],
            vec![text("Lima"), text("Peru"), Cell::Number(7)],
            vec![text("Callao"), text("Peru"), Cell::Number(3)],
        ];
        Tables(vec![
            table("shipments", ["shipment", "port", "weight"], first),
            table("ports", ["port", "country", "cranes"], second),
        ])
    }

    fn answer(test: Test, column: &str, ask: Ask) -> Option<Answer> {
        let conditions = vec![Condition { column: column.to_owned(), test }];
        two_tables().answer(&Query { conditions, ask }).0
    }

    #[test]
    fn rows_are_chosen_by_what_they_refer_to() {
        assert_eq!(answer(Test::Is("Peru".to_owned()), "country", Ask::Count), Some(Answer::Number(2)));
        assert_eq!(answer(Test::IsNot("Peru".to_owned()), "country", Ask::Count), Some(Answer::Number(1)));
        assert_eq!(answer(Test::Above(1), "cranes", Ask::Count), Some(Answer::Number(2)));
        assert_eq!(answer(Test::Below(3), "cranes", Ask::Count), Some(Answer::Number(1)));
        assert_eq!(answer(Test::Above(200), "weight", Ask::Count), Some(Answer::Number(1)));
    }

    #[test]
    fn undecided_questions_have_no_answer() {
        let weight = || "weight".to_owned();
        let all = || Test::Above(0);
        let group = |by: &str| Ask::Group { by: by.to_owned(), column: weight(), largest: false };
        assert_eq!(answer(all(), "weight", group("port")), Some(Answer::Both("Arica".to_owned(), 9)));
        assert_eq!(answer(Test::Is("Chile".to_owned()), "country", group("country")), None, "one group");
        let groups = |one: &str, other: &str| {
            let groups = [one.to_owned(), other.to_owned()];
            Ask::Difference { by: "country".to_owned(), groups, column: weight() }
        };
        assert_eq!(answer(all(), "weight", groups("Chile", "Peru")), Some(Answer::Number(1225)));
        assert_eq!(answer(all(), "weight", groups("Peru", "Peru")), None);
        assert_eq!(answer(all(), "weight", groups("Peru", "Cuba")), None);
        assert_eq!(first_of(vec![(1, "a".to_owned()), (1, "b".to_owned())], true), None);
    }
}
