//! Themes of a problem's tables, and their contents.

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::query::{Cell, Table, Tables};
use crate::logic::names;

/// A column of numbers: its name, and the smallest and largest of them.
type Numbers = (&'static str, i64, i64);

/// A column of texts: its name, and what stands in it.
type Texts = (&'static str, [&'static str; 6]);

/// Three tables: rows of the first refer to the second by a column, and those of the second to the third.
#[derive(Clone, Copy)]
struct Theme {
    tables: [&'static str; 3],
    /// The first column of the first table.
    rows: &'static str,
    /// The letter before the numbers that name its rows; without one they are named as people.
    letter: Option<char>,
    /// Targets of the first table's reference, and another column of it.
    first: [Texts; 2],
    first_numbers: [Numbers; 2],
    /// Targets of the second table's reference.
    second: Texts,
    second_number: Numbers,
    third: Texts,
    third_number: Numbers,
}

const THEMES: [Theme; 3] = [
    Theme {
        tables: ["employees", "departments", "buildings"],
        rows: "employee",
        letter: None,
        first: [
            ("department", ["Sales", "Research", "Finance", "Support", "Design", "Logistics"]),
            ("role", ["analyst", "engineer", "assistant", "trainee", "clerk", "consultant"]),
        ],
        first_numbers: [("salary", 1800, 9500), ("age", 19, 66)],
        second: ("building", ["North", "South", "East", "West", "Tower", "Annex"]),
        second_number: ("budget", 100, 990),
        third: ("district", ["Harbor", "Center", "Hill", "Market", "Park", "Mill"]),
        third_number: ("floors", 2, 40),
    },
    Theme {
        tables: ["shipments", "ports", "countries"],
        rows: "shipment",
        letter: Some('S'),
        first: [
            ("port", ["Callao", "Durban", "Gdansk", "Kobe", "Oslo", "Tunis"]),
            ("cargo", ["coffee", "timber", "copper", "paper", "cotton", "machines"]),
        ],
        first_numbers: [("weight", 11, 999), ("fee", 105, 2995)],
        second: ("country", ["Arland", "Borduria", "Corvia", "Delmar", "Elbonia", "Freedonia"]),
        second_number: ("cranes", 3, 60),
        third: ("league", ["Amber", "Cobalt", "Coral", "Ivory", "Jade", "Onyx"]),
        third_number: ("tariff", 5, 95),
    },
    Theme {
        tables: ["loans", "branches", "towns"],
        rows: "loan",
        letter: Some('L'),
        first: [
            ("branch", ["Castle", "Station", "Bridge", "Abbey", "Garden", "Theater"]),
            ("genre", ["history", "poetry", "travel", "science", "crime", "comics"]),
        ],
        first_numbers: [("pages", 60, 1200), ("days", 1, 90)],
        second: ("town", ["Ashford", "Bexley", "Corby", "Dover", "Epsom", "Frome"]),
        second_number: ("shelves", 20, 400),
        third: ("county", ["Avon", "Essex", "Kent", "Rutland", "Surrey", "Devon"]),
        third_number: ("schools", 4, 80),
    },
];

/// Tables of one theme, so many of them (two or three), with so many rows in the first, at most 60.
pub(super) fn fill(rng: &mut ChaCha8Rng, rows: usize, tables: usize) -> Tables {
    let theme = *THEMES.choose(rng).unwrap_or(&THEMES[0]);
    let mut keys = match theme.letter {
        None => names::people(rng, rows),
        Some(letter) => (100..1000).map(|number| format!("{letter}{number}")).collect(),
    };
    keys.shuffle(rng);
    keys.truncate(rows);
    let [link, tag] = theme.first;
    let first = table(rng, theme.tables[0], (theme.rows, &keys), &[link, tag], &theme.first_numbers);
    let second_key = (link.0, &link.1.map(str::to_owned)[..]);
    let second = table(rng, theme.tables[1], second_key, &[theme.second], &[theme.second_number]);
    let third_key = (theme.second.0, &theme.second.1.map(str::to_owned)[..]);
    let third = table(rng, theme.tables[2], third_key, &[theme.third], &[theme.third_number]);
    Tables([first, second, third].into_iter().take(tables).collect())
}

/// A row for each key in a random order, with random texts and numbers.
fn table(
    rng: &mut ChaCha8Rng,
    name: &str,
    (key, keys): (&str, &[String]),
    texts: &[Texts],
    numbers: &[Numbers],
) -> Table {
    let columns =
        [key].into_iter().chain(texts.iter().map(|(name, _)| *name)).chain(numbers.iter().map(|(name, ..)| *name));
    let columns = columns.map(str::to_owned).collect();
    let mut keys = keys.to_vec();
    keys.shuffle(rng);
    let row = |key: String| {
        let mut cells = vec![Cell::Text(key)];
        for (_, values) in texts {
            cells.push(Cell::Text(values.choose(rng).copied().unwrap_or_default().to_owned()));
        }
        cells.extend(numbers.iter().map(|(_, least, most)| Cell::Number(rng.random_range(*least..=*most))));
        cells
    };
    Table { name: name.to_owned(), columns, rows: keys.into_iter().map(row).collect() }
}
