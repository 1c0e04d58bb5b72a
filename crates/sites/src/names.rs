//! Names, numbers and days of worlds, all made up.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use jiff::civil::Date;
use palestra_widgets::Draw;

const PLACE_HEADS: [&str; 20] = [
    "Alder", "Bren", "Calver", "Dun", "Ember", "Farrow", "Glen", "Hollin", "Ister", "Kel", "Lin", "Mars", "Nether",
    "Ormes", "Pell", "Quarn", "Rush", "Selby", "Thorn", "Wether",
];
const PLACE_TAILS: [&str; 10] = ["mere", "nick", "ton", "holm", "ford", "wick", "dale", "stead", "haven", "croft"];
const RIVERS: [&str; 24] = [
    "Arvel",
    "Brisk",
    "Corle",
    "Dunnet",
    "Evenlo",
    "Fallow",
    "Garrow",
    "Hest",
    "Ilvet",
    "Jarrin",
    "Keld",
    "Lorne Water",
    "Miren",
    "Nadder Brook",
    "Oxmer",
    "Perrin",
    "Quill",
    "Rothen",
    "Sarn",
    "Tavel",
    "Ulmer",
    "Veller",
    "Wend",
    "Yarl",
];
const REGIONS: [&str; 8] =
    ["Northmark", "Easterlea", "Highmoor", "Lowfen", "Saltmarch", "Greywold", "Stonevale", "Windholt"];

/// So many different places, at most 200.
pub(crate) fn places(draw: &mut Draw, count: usize) -> Vec<String> {
    let all: Vec<String> =
        PLACE_HEADS.iter().flat_map(|head| PLACE_TAILS.iter().map(move |tail| format!("{head}{tail}"))).collect();
    draw.some(count, &all)
}

/// So many different rivers, at most 24.
pub(crate) fn rivers(draw: &mut Draw, count: usize) -> Vec<&'static str> {
    draw.some(count, &RIVERS)
}

/// So many different regions, at most 8.
pub(crate) fn regions(draw: &mut Draw, count: usize) -> Vec<&'static str> {
    draw.some(count, &REGIONS)
}

/// So many different numbers of a range that has at least as many, in the order in which they were drawn.
pub(crate) fn numbers(draw: &mut Draw, count: usize, range: RangeInclusive<i64>) -> Vec<i64> {
    let mut seen = BTreeSet::new();
    let drawn = std::iter::from_fn(|| Some(draw.number(range.clone())));
    drawn.filter(|number| seen.insert(*number)).take(count).collect()
}

/// The day so many days after another one.
pub(crate) fn later(date: Date, days: i64) -> Date {
    date.checked_add(jiff::Span::new().days(days)).unwrap_or(date)
}

/// A part of an address.
pub(crate) fn slug(name: &str) -> String {
    let parts = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

/// One of some.
pub(crate) fn one<'a, T>(draw: &mut Draw, from: &'a [T]) -> Option<&'a T> {
    if from.is_empty() { None } else { from.get(draw.place(from.len())) }
}

/// The place of the one with the largest value, if no other has the same.
pub(crate) fn largest<T: Ord>(values: impl Iterator<Item = (usize, T)>) -> Option<usize> {
    let mut all: Vec<(usize, T)> = values.collect();
    all.sort_by(|(_, one), (_, other)| other.cmp(one));
    match all.as_slice() {
        [(_, first), (_, second), ..] if first == second => None,
        [(place, _), ..] => Some(*place),
        [] => None,
    }
}
