//! Days and numbers as people write them.

use jiff::civil::Date;

use super::step::{WEEKDAYS, day_of_week, weekday_name};
use palestra_environment::verifier::number::Written;

/// A longer text names no day.
const DATE_BYTES_MAX: usize = 60;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Reads `1987-06-30` and its like (the year first, then the month), or a day, the name of the month and a year of four
/// digits in any order. A weekday may be named as well, and has to be the right one.
///
/// # Errors
/// In words, where that names no day.
pub(super) fn read_date(text: &str) -> Result<Date, String> {
    if text.len() > DATE_BYTES_MAX || text.starts_with(['-', '+']) {
        return Err("the answer names no day".to_owned());
    }
    let lower = text.to_lowercase();
    let words = lower.split(|letter: char| ",-/.".contains(letter) || letter.is_whitespace());
    let (mut month, mut weekday, mut numbers) = (None, None, Vec::new());
    for word in words.filter(|word| !matches!(*word, "" | "of" | "the")) {
        let repeated = if let Some(named) = named(&MONTHS, word) {
            month.replace(named).is_some()
        } else if let Some(named) = named(&WEEKDAYS, word) {
            weekday.replace(named).is_some()
        } else {
            numbers.push(word);
            numbers.len() > 3
        };
        if repeated {
            return Err(format!("{word:?} is too much for a day"));
        }
    }
    let (year, month, day) = match (month, numbers.as_slice()) {
        (None, [year, month, day]) if is_year(year) => (*year, read(month), read(day)),
        (Some(month), [day, year]) if is_year(year) => (*year, Some(month), read(without_ending(day))),
        (Some(month), [year, day]) if is_year(year) => (*year, Some(month), read(without_ending(day))),
        _ => return Err("a day is a year of four digits, a month and a day of the month".to_owned()),
    };
    let year = year.parse().ok();
    let date = year.zip(month).zip(day).and_then(|((year, month), day)| Date::new(year, month, day).ok());
    let date = date.ok_or("there is no such day")?;
    match weekday.and_then(day_of_week) {
        Some(weekday) if weekday != date.weekday() => {
            Err(format!("{date} is a {}", weekday_name(date.weekday().to_monday_one_offset())))
        }
        _ => Ok(date),
    }
}

/// Reads a whole number; `days` may stand behind it.
pub(super) fn read_count(text: &str) -> Option<i64> {
    let number = text.strip_suffix("days").or_else(|| text.strip_suffix("day")).unwrap_or(text);
    let digits = number.bytes().all(|byte| byte.is_ascii_digit() || b"+-,. ".contains(&byte));
    match Written::parse(number) {
        Some(Written::Exact(value)) if digits && value.denominator() == 1 => i64::try_from(value.numerator()).ok(),
        _ => None,
    }
}

/// The number, from one, of the name that a word is or begins with at least three letters of.
fn named(names: &[&str], word: &str) -> Option<i8> {
    let place = names.iter().position(|name| word.len() >= 3 && name.to_ascii_lowercase().starts_with(word))?;
    i8::try_from(place + 1).ok()
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn without_ending(word: &str) -> &str {
    ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word)
}

/// A month or a day of the month.
fn read(word: &str) -> Option<i8> {
    let fits = word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|_| fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_many_spellings() {
        for text in [
            "1987-06-30",
            "1987/6/30",
            "1987.06.30",
            "30 June 1987",
            "30 Jun 1987",
            "30. June 1987",
            "June 30, 1987",
            "JUNE 30th, 1987.",
            "the 30th of June 1987",
            "1987 June 30",
            "30-Jun-1987",
            "Tuesday, 30 June 1987",
            "Tue 1987-06-30",
        ] {
            assert_eq!(read_date(text), Ok(Date::constant(1987, 6, 30)), "{text}");
        }
    }

    #[test]
    fn answers_that_name_no_day_or_two_are_refused() {
        let long = "1987-06-30 ".repeat(100);
        for text in [
            "",
            "June 1987",
            "30 June 87",
            "30/06/1987",
            "06-30-1987",
            "1987-30-06",
            "-1987-06-30",
            "1987-06-30 1987-06-30",
            "1987-06-30T00:00",
            "30 June July 1987",
            "1987-+6-30",
            "Monday, 30 June 1987",
            "Monday Tuesday 30 June 1987",
            "31 June 1987",
            "29 February 1900",
            "1987-06-030",
            "١٩٨٧-06-30",
            "\u{202e}1987-06-30",
            &long,
        ] {
            assert!(read_date(text).is_err(), "{text:.40}");
        }
    }
}
