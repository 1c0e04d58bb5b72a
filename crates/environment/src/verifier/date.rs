//! `date`: the same day, however it is written.

use jiff::civil::{Date as Day, Weekday};
use serde::Deserialize;

use super::rule::{Expected, Finding, Rule, RuleError, alternatives, any_of, first_alternative, quote};

/// A date that is written with more bytes is none.
const DATE_BYTES_MAX: usize = 100;
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
const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

/// Compares days. A list of answers accepts any of them.
///
/// Understood: `2031-05-05`, `2031/5/5`, `5 May 2031`, `May 5th, 2031`, with short names of months and with the day of the week,
/// which must be the right one. `5/6/2031` is no date: it can be read in two ways.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Date {}

impl Rule for Date {
    fn name(&self) -> &'static str {
        "date"
    }

    fn compare(&self, expected: &Expected<'_>, given: &str) -> Result<Finding, RuleError> {
        let spellings = alternatives("date", expected.answer)?;
        if let Some(other) = spellings.iter().find(|spelling| parse(spelling).is_none()) {
            return Err(RuleError(format!(
                "verifier date must have an answer that is a date such as 2031-05-05, not {other:?}"
            )));
        }
        let Some(day) = parse(given) else {
            return Ok(Finding::wrong(format!("{} is no date", quote(given))));
        };
        Ok(any_of(&spellings, given, |spelling| parse(spelling) == Some(day)))
    }

    fn own_answer(&self, expected: &Expected<'_>) -> Result<String, RuleError> {
        first_alternative("date", expected.answer)
    }
}

/// The day that a text means.
fn parse(text: &str) -> Option<Day> {
    if text.len() > DATE_BYTES_MAX {
        return None;
    }
    let text = text.trim().trim_end_matches('.').to_lowercase();
    let words = text.split([' ', ',', '-', '/']).filter(|word| !word.is_empty());
    let mut words: Vec<&str> = words.map(|word| word.trim_end_matches('.')).collect();
    let weekday = words.first().and_then(|word| WEEKDAYS.iter().find(|(name, _)| is_short(word, name)));
    if weekday.is_some() {
        words.remove(0);
    }
    let [first, second, third] = words.as_slice() else { return None };
    let (year, month, day) = match (month(first), month(second)) {
        (Some(month), None) => (year(third)?, month, day(second)?),
        (None, Some(month)) if year(first).is_some() => (year(first)?, month, day(third)?),
        (None, Some(month)) => (year(third)?, month, day(first)?),
        _ => (year(first)?, second.parse().ok()?, third.parse().ok()?),
    };
    let date = Day::new(year, month, day).ok()?;
    weekday.is_none_or(|(_, weekday)| *weekday == date.weekday()).then_some(date)
}

/// True for a name, and for its beginning of at least three letters.
fn is_short(word: &str, name: &str) -> bool {
    word.len() >= 3 && name.starts_with(word)
}

fn month(word: &str) -> Option<i8> {
    let place = MONTHS.iter().position(|name| is_short(word, name))?;
    i8::try_from(place + 1).ok()
}

/// A year of four digits.
fn year(word: &str) -> Option<i16> {
    (word.len() == 4).then(|| word.parse().ok()).flatten()
}

/// A day of a month, such as `5` or `5th`.
fn day(word: &str) -> Option<i8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    digits.parse().ok()
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
}
