//! Words of texts: dates and times, sentences, lists, and names in greater number than the first names and the things.

use jiff::civil::Date;

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
/// Places in sentences.
const PLACES: [&str; 10] =
    ["cellar", "garden", "kitchen", "market", "harbour", "library", "station", "tower", "workshop", "yard"];
/// Adjectives in sentences.
const QUALITIES: [&str; 10] =
    ["old", "small", "heavy", "broken", "clean", "wooden", "yellow", "narrow", "quiet", "round"];
/// Verbs in sentences.
const DEEDS: [&str; 8] = ["carries", "keeps", "paints", "sells", "finds", "hides", "mends", "wants"];
/// Names of months.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Names of weekdays.
pub const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

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

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// A text that begins with a capital letter.
pub(crate) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `May`.
pub(crate) fn month(day: Date) -> &'static str {
    MONTHS[usize::try_from(day.month() - 1).unwrap_or_default()]
}

/// `9 May 2031`.
#[must_use]
pub fn long(day: Date) -> String {
    format!("{} {} {}", day.day(), month(day), day.year())
}

/// Place of the weekday, from 0 for Monday.
pub(crate) fn weekday(day: Date) -> i64 {
    i64::from(day.weekday().to_monday_zero_offset())
}

/// Minutes of a day as `09:05`.
#[must_use]
pub fn clock(minutes: i64) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Minutes of a day as `9:05 AM`.
pub(crate) fn half_clock(minutes: i64) -> String {
    let hour = minutes / 60;
    format!("{}:{:02} {}", (hour + 11) % 12 + 1, minutes % 60, if hour < 12 { "AM" } else { "PM" })
}

/// `Rosa keeps the heavy lantern near the old tower`.
pub(crate) fn sentence(draw: &mut Draw) -> String {
    let (name, thing, place) = (draw.names(1)[0], draw.things(1)[0], draw.pick(&PLACES));
    let (deed, qualities) = (draw.pick(&DEEDS), draw.some(2, &QUALITIES));
    format!("{name} {deed} the {} {thing} near the {} {place}", qualities[0], qualities[1])
}
