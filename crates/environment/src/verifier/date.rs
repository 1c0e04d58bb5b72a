//! `date`: the same day, however it is written.

use jiff::civil::{Date as Day, Weekday};
use serde::Deserialize;

use super::rule::{Expected, Finding, Rule, RuleError, alternatives, any_of, first_alternative, quote};

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
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Compares days. A list of answers accepts any of them.
///
/// [`read`] says which spellings are understood. `5/6/2031` is no date: it can be read in two ways.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Date {}

impl Rule for Date {
    fn name(&self) -> &'static str {
        "date"
    }

    fn compare(&self, expected: &Expected<'_>, given: &str) -> Result<Finding, RuleError> {
        let spellings = alternatives("date", expected.answer)?;
        if let Some(other) = spellings.iter().find(|spelling| read(spelling).is_err()) {
            return Err(RuleError(format!(
                "verifier date must have an answer that is a date such as 2031-05-05, not {other:?}"
            )));
        }
        Ok(match read(given) {
            Ok(day) => any_of(&spellings, given, |spelling| read(spelling) == Ok(day)),
            Err(why) => Finding::wrong(format!("{} is no date: {why}", quote(given))),
        })
    }

    fn own_answer(&self, expected: &Expected<'_>) -> Result<String, RuleError> {
        first_alternative("date", expected.answer)
    }
}

/// Reads `1987-06-30` and its like (the year first, then the month), or a day, the name of the month and a year of four
/// digits in any order. A weekday may be named as well, and has to be the right one. Names may be short: at least three letters.
///
/// # Errors
/// In words, where that names no day.
pub fn read(text: &str) -> Result<Day, String> {
    if text.len() > DATE_BYTES_MAX || text.starts_with(['-', '+']) {
        return Err("the answer names no day: write one as 2031-05-05".to_owned());
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
            return Err(format!("{word:?} is too much for a day: leave it out"));
        }
    }
    let (year, month, day) = match (month, numbers.as_slice()) {
        (None, [year, month, day]) if is_year(year) => (*year, number(month), number(day)),
        (Some(month), [day, year]) if is_year(year) => (*year, Some(month), number(without_ending(day))),
        (Some(month), [year, day]) if is_year(year) => (*year, Some(month), number(without_ending(day))),
        _ => {
            return Err(
                "a day is a year of four digits, a month and a day of the month: write it as 2031-05-05".to_owned()
            );
        }
    };
    let year = year.parse().ok();
    let date = year.zip(month).zip(day).and_then(|((year, month), day)| Day::new(year, month, day).ok());
    let date = date.ok_or("there is no such day: check its month and its number")?;
    match weekday.and_then(|place| Weekday::from_monday_one_offset(place).ok()) {
        Some(weekday) if weekday != date.weekday() => {
            Err(format!("{date} is a {:?}: leave the weekday out, or name this one", date.weekday()))
        }
        _ => Ok(date),
    }
}

/// The number, from one, of the name that a word is or begins with at least three letters of.
fn named(names: &[&str], word: &str) -> Option<i8> {
    let place = names.iter().position(|name| word.len() >= 3 && name.starts_with(word))?;
    i8::try_from(place + 1).ok()
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn without_ending(word: &str) -> &str {
    ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word)
}

/// A month or a day of the month.
fn number(word: &str) -> Option<i8> {
    let fits = word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|_| fits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_day_is_the_same_however_it_is_written() {
        let passes = |given: &str| Date {}.compare(&Expected::answer(&json!("2031-05-05")), given).unwrap().passed;
        for same in [
            "2031-05-05",
            " 2031/5/5. ",
            "5 May 2031",
            "May 5th, 2031",
            "05-May-2031",
            "Monday, 5 May 2031",
            "Mon. May 5, 2031",
            "2031 May 5",
        ] {
            assert!(passes(same), "{same}");
        }
        for other in [
            "2031-05-06",
            "Friday, 5 May 2031",
            "5/5/2031",
            "5 May",
            "5 May 31",
            "",
            "2031-05",
            "30 February 2031",
            "5 M 2031",
            "2031-05-05 2031-05-05",
        ] {
            assert!(!passes(other), "{other}");
        }
        assert!(!passes(&"5".repeat(DATE_BYTES_MAX + 1)));
    }

    #[test]
    fn an_expected_answer_must_be_a_date_and_several_are_accepted() {
        let list = json!(["5 May 2031", "2031-05-06"]);
        let passes = |given: &str| Date {}.compare(&Expected::answer(&list), given).map(|found| found.passed);
        assert_eq!((passes("2031-05-05"), passes("2031-05-06"), passes("2031-05-07")), (Ok(true), Ok(true), Ok(false)));
        for answer in [json!("soon"), json!(["2031-05-05", "5/6/2031"]), json!(5), json!(null)] {
            assert!(Date {}.compare(&Expected::answer(&answer), "2031-05-05").is_err(), "{answer}");
        }
    }

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
            assert_eq!(read(text), Ok(Day::constant(1987, 6, 30)), "{text}");
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
            assert!(read(text).is_err(), "{text:.40}");
        }
    }
}
