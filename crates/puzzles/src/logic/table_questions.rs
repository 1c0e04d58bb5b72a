//! `puzzle/table_questions`: questions about tables that have to be filtered, joined and added up. One answer.

mod query;
mod theme;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::query::{Answer, Ask, Cell, Query, Tables};
use super::words::words;
use crate::facts::{Category, Facts};
use crate::question::{Mark, Question};
use crate::scale;
use palestra_environment::draws::{Draws, Refusal, Requirement};
use palestra_environment::verifier::number::Written;

/// Separators between a text and a number in an answer.
const BETWEEN: [char; 10] = [' ', ',', ':', ';', '(', '-', '=', '|', '\n', '"'];

/// One answer alone is right, and a difference is not zero.
static DECIDED: Requirement =
    Requirement::new("decided", "one answer alone is right, and a difference is not zero", 0.4);

/// The puzzle.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableQuestions;

/// A problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Instance {
    tables: Tables,
    query: Query,
}

impl Question for TableQuestions {
    type Instance = Instance;

    fn facts(&self) -> Facts {
        Facts {
            name: "table_questions",
            version: 1,
            category: Category::Logic,
            tags: &["multi-hop", "tables"],
            multi_turn: false,
            description: "Answer a question about two or three tables, for which rows are chosen, looked up in another table, counted, added up and compared.",
            rule: "The name or number has to be the right one, in letters of either case and in any usual way to write a number.",
            scale: "More rows, more conditions, and conditions on tables that are further away.",
            effort: "Goes through the rows and looks up from the top of a table what another row refers to; cells read.",
            floor: 0.06,
            heavy: false,
        }
    }

    fn generate(&self, rng: &mut ChaCha8Rng, difficulty: f64, draws: &mut Draws) -> Result<Instance, Refusal> {
        let rows = usize::try_from(scale(difficulty, 12, 60))?;
        let distance = usize::try_from(scale(difficulty, 1, 2))?;
        let conditions = usize::try_from(scale(difficulty, 1, 3))?;
        let tables = theme::fill(rng, rows, distance + 1);
        draws.note("theme", &tables.0[0].name);
        let query = Query::draw(rng, &tables, conditions, draws)?;
        DECIDED.demand(tables.answer(&query).0.is_some())?;
        Ok(Instance { tables, query })
    }

    fn metadata(&self, Instance { tables, query }: &Instance) -> Value {
        json!({"tables": tables.0, "query": query})
    }

    fn prompt(&self, Instance { tables, query }: &Instance) -> String {
        let form = match &query.ask {
            Ask::Count | Ask::Total { .. } | Ask::Difference { .. } => "a number, such as: 1234",
            Ask::Row { .. } => "that name, such as: Amy",
            Ask::Group { .. } => "the name and the total, such as: Atlantis, 1234",
        };
        format!(
            "{}\n\nThe first column of a table names its rows, and a column of the same name in the table before refers to them.\n\
             {}\n\
             The answer is {form}",
            tables.write(),
            query.sentence(tables)
        )
    }

    fn check(&self, Instance { tables, query }: &Instance, answer: &str) -> Mark {
        let right = match tables.answer(query).0 {
            Some(Answer::Number(number)) => is_number(answer, number),
            Some(Answer::Name(name)) => is_name(answer, &name),
            Some(Answer::Both(name, number)) => {
                // The name has no digits.
                let at = answer.find(|letter: char| letter.is_ascii_digit()).unwrap_or(answer.len());
                let (text, digits) = answer.split_at(at);
                let digits = digits.trim_end_matches([')', ' ', '|', '"', '.', '\n']);
                is_name(text.trim_end_matches(BETWEEN), &name) && is_number(digits, number)
            }
            None => false,
        };
        if right { Mark::right("it is what the tables say") } else { Mark::wrong("the tables say something else") }
    }

    fn solution(&self, Instance { tables, query }: &Instance) -> String {
        tables.answer(query).0.map_or_else(String::new, |result| result.to_string())
    }

    fn guess(&self, Instance { tables, query }: &Instance, rng: &mut ChaCha8Rng) -> String {
        let rows = &tables.0[0].rows;
        let any = |rng: &mut ChaCha8Rng, column: &str| {
            rows.choose(rng).map_or_else(String::new, |row| tables.cell(row, column, &mut 0).to_string())
        };
        let total = |rng: &mut ChaCha8Rng| rng.random_range(1..=rows.len() * 1000);
        match &query.ask {
            Ask::Count => rng.random_range(0..=rows.len()).to_string(),
            Ask::Total { .. } | Ask::Difference { .. } => total(rng).to_string(),
            Ask::Row { .. } => any(rng, &tables.0[0].columns[0]),
            Ask::Group { by, .. } => format!("{}, {}", any(rng, by), total(rng)),
        }
    }

    fn mistake(&self, Instance { tables, query }: &Instance, rng: &mut ChaCha8Rng) -> String {
        // One row too many or too few, or another row.
        let off =
            |rng: &mut ChaCha8Rng, number: i64| number + rng.random_range(1..=20) * if rng.random() { 1 } else { -1 };
        match tables.answer(query).0 {
            Some(Answer::Number(number)) => off(rng, number).to_string(),
            Some(Answer::Both(name, number)) => format!("{name}, {}", off(rng, number)),
            Some(Answer::Name(name)) => {
                let others =
                    tables.0[0].rows.iter().map(|row| &row[0]).filter(|other| **other != Cell::Text(name.clone()));
                others.collect::<Vec<_>>().choose(rng).map_or_else(String::new, |other| other.to_string())
            }
            None => String::new(),
        }
    }

    fn effort(&self, Instance { tables, query }: &Instance) -> f64 {
        f64::from(tables.answer(query).1)
    }
}

fn is_number(written: &str, number: i64) -> bool {
    let written = written.strip_suffix('.').unwrap_or(written);
    Written::parse(written).is_some_and(|read| Written::parse(&number.to_string()) == Some(read))
}

fn is_name(written: &str, name: &str) -> bool {
    words(written).is_some_and(|written| words(name) == Some(written))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::table_questions::query::tests::two_tables;
    use crate::logic::table_questions::query::{Condition, Test};

    fn instance(ask: Ask) -> Instance {
        let conditions = vec![Condition { column: "country".to_owned(), test: Test::Is("Peru".to_owned()) }];
        Instance { tables: two_tables(), query: Query { conditions, ask } }
    }

    #[test]
    fn numbers_are_right_however_they_are_written() {
        let total = instance(Ask::Total { column: "weight".to_owned() });
        assert_eq!(TableQuestions.solution(&total), "1234");
        for answer in ["1234", "1,234", "1234.", "1234.0", "+1234"] {
            assert_eq!(TableQuestions.check(&total, answer).score, 1.0, "{answer}");
        }
        for answer in
            ["", "1235", "-1234", "1234 or 1235", "１２３４", "NaN", "inf", "1e999999", "12 34", &"1".repeat(8000)]
        {
            assert_eq!(TableQuestions.check(&total, answer).score, 0.0, "{answer}");
        }
    }

    #[test]
    fn names_are_right_in_either_case_and_alone() {
        let row = instance(Ask::Row { column: "weight".to_owned(), largest: true });
        for answer in ["B2", "b2", "**B2**", "\"B2\"."] {
            assert_eq!(TableQuestions.check(&row, answer).score, 1.0, "{answer}");
        }
        for answer in ["", "A1", "B2, A1", "B", "B 2", "B2 B2", "the B2"] {
            assert_eq!(TableQuestions.check(&row, answer).score, 0.0, "{answer}");
        }
    }

    #[test]
    fn a_name_with_a_total_needs_both() {
        let group = instance(Ask::Group { by: "port".to_owned(), column: "weight".to_owned(), largest: true });
        assert_eq!(TableQuestions.solution(&group), "Lima, 1034");
        for answer in ["Lima, 1034", "lima: 1,034", "LIMA (1034)", "Lima 1034.0", "Lima - 1034."] {
            assert_eq!(TableQuestions.check(&group, answer).score, 1.0, "{answer}");
        }
        for answer in
            ["", "Lima", "1034", "1034 Lima", "Lima, 200", "Callao, 1034", "Lima, Callao, 1034", "Lima, 1034, 200"]
        {
            assert_eq!(TableQuestions.check(&group, answer).score, 0.0, "{answer}");
        }
    }
}
