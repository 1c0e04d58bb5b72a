//! Words of texts, in greater number than the first names and the things.

use crate::Draw;

/// Colours in texts.
const COLOURS: [&str; 8] = ["red", "blue", "green", "yellow", "white", "black", "brown", "grey"];
/// Towns in texts, all made up.
const TOWNS: [&str; 12] = [
    "Alderby",
    "Brennick",
    "Calverton",
    "Dunmere",
    "Eastholm",
    "Farrow",
    "Glenby",
    "Harwell",
    "Islip",
    "Kelmore",
    "Lindale",
    "Marsden",
];
/// Departments of a firm.
const TEAMS: [&str; 8] = ["Sales", "Design", "Support", "Finance", "Legal", "Research", "Logistics", "Marketing"];

impl Draw {
    /// So many different things with a colour: `red anchor`. At most 192.
    pub fn goods(&mut self, count: usize) -> Vec<String> {
        let things = self.things(24);
        let all: Vec<String> =
            things.iter().flat_map(|thing| COLOURS.iter().map(move |colour| format!("{colour} {thing}"))).collect();
        self.some(count, &all)
    }

    /// So many different towns, at most 12.
    pub fn towns(&mut self, count: usize) -> Vec<&'static str> {
        self.some(count, &TOWNS)
    }

    /// So many different departments, at most 8.
    pub fn teams(&mut self, count: usize) -> Vec<&'static str> {
        self.some(count, &TEAMS)
    }

    /// So many different numbers of a range, in any order.
    pub fn numbers(&mut self, count: usize, range: std::ops::RangeInclusive<i64>) -> Vec<i64> {
        let all: Vec<i64> = range.collect();
        self.some(count, &all)
    }
}
