//! Answers, and what counts as the same answer. The whole message is compared: a message that holds more than one candidate is none.

use jiff::civil::Date;
use palestra_widgets::{MONTHS, WEEKDAYS};

/// Numbers that may be written as words.
const NUMBER_WORDS: [&str; 13] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
/// Units of a length, in small letters.
pub(crate) const KILOMETRES: &[&str] = &["km", "kilometres", "kilometers"];
/// Units of a sum of money, in small letters.
pub(crate) const EUROS: &[&str] = &["€", "euros", "euro", "eur"];
/// Longest message that is read, in bytes.
const MESSAGE_BYTES_MAX: usize = 400;

/// The right answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A name or a value, in whatever case, with or without an article in front, quotes around it and a full stop.
    Text(String),
    /// A whole number, with or without separators of thousands and one of these units; up to twelve also as a word.
    Number {
        /// The number.
        value: i64,
        /// Units, in small letters.
        units: &'static [&'static str],
    },
    /// A day: `9 May 2031`, `May 9, 2031`, `2031-05-09`, `09.05.2031`, with or without the weekday.
    Date(Date),
    /// Minutes of a day: `17:30`, `5:30 pm`.
    Time(i64),
    /// The site does not state it: the right action is to report that.
    NotStated,
}

impl Answer {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) const fn number(value: i64, units: &'static [&'static str]) -> Self {
        Self::Number { value, units }
    }

    /// A count.
    pub(crate) fn count(count: usize) -> Self {
        Self::Number { value: i64::try_from(count).unwrap_or(i64::MAX), units: &[] }
    }

    /// True if the message is this answer and nothing else.
    #[must_use]
    pub fn accepts(&self, message: &str) -> bool {
        if message.len() > MESSAGE_BYTES_MAX {
            return false;
        }
        let said = plain(message);
        match self {
            Self::Text(text) => !said.is_empty() && without_article(&said) == without_article(&plain(text)),
            Self::Number { value, units } => number(&said, units) == Some(*value),
            Self::Date(date) => day(&said) == Some(*date),
            Self::Time(minutes) => time(&said) == Some(*minutes),
            Self::NotStated => false,
        }
    }

    /// The answer in words, as a solution gives it; none where it is not stated.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Number { value, .. } => Some(value.to_string()),
            Self::Date(date) => Some(palestra_widgets::long(*date)),
            Self::Time(minutes) => Some(palestra_widgets::clock(*minutes)),
            Self::NotStated => None,
        }
    }
}

/// Small letters, single spaces, no quotes around it and no full stop at the end.
fn plain(text: &str) -> String {
    let marks =
        |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '*');
    let bare = text.trim_matches(marks);
    // `5 p.m.` keeps its last point.
    let bare = if bare.to_lowercase().ends_with(".m.") { bare } else { bare.trim_end_matches('.').trim_matches(marks) };
    bare.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn without_article(text: &str) -> &str {
    ["the ", "a ", "an "].iter().find_map(|article| text.strip_prefix(article)).unwrap_or(text)
}

/// A whole number without its unit.
fn number(said: &str, units: &[&str]) -> Option<i64> {
    if let Some(value) = digits(said) {
        return Some(value);
    }
    let prefix = said.strip_prefix('€').filter(|_| units.contains(&"€"));
    let bare = units.iter().find_map(|unit| said.strip_suffix(unit));
    digits(prefix.or(bare)?.trim())
}

/// Digits, in groups of three or not, with or without decimals of zero; or a small number as a word.
fn digits(said: &str) -> Option<i64> {
    if let Some(value) = NUMBER_WORDS.iter().position(|word| *word == said) {
        return i64::try_from(value).ok();
    }
    let whole = match said.rsplit_once('.') {
        Some((whole, "0" | "00")) => whole,
        Some(_) => return None,
        None => said,
    };
    let separator = whole.chars().find(|letter| !letter.is_ascii_digit());
    let Some(separator) = separator else { return whole.parse().ok() };
    if !matches!(separator, ',' | ' ' | '\'' | '’' | '_') {
        return None;
    }
    let groups: Vec<&str> = whole.split(separator).collect();
    let (first, rest) = groups.split_first()?;
    let grouped = (1..=3).contains(&first.len()) && rest.iter().all(|group| group.len() == 3);
    let all: String = groups.concat();
    (grouped && all.bytes().all(|byte| byte.is_ascii_digit())).then(|| all.parse().ok()).flatten()
}

/// A day in one of several notations; a weekday in front has to be the right one.
fn day(said: &str) -> Option<Date> {
    let mut words: Vec<&str> =
        said.split([' ', ',']).filter(|word| !matches!(*word, "" | "of" | "the" | "on")).collect();
    let weekday = words.first().and_then(|word| WEEKDAYS.iter().position(|name| name.to_lowercase() == *word));
    if weekday.is_some() {
        words.remove(0);
    }
    let found = match words.as_slice() {
        [one] => numeric_day(one),
        [day, month, year] if day.starts_with(|letter: char| letter.is_ascii_digit()) => civil(year, month, day),
        [month, day, year] => civil(year, month, day),
        _ => None,
    }?;
    let fits =
        weekday.is_none_or(|weekday| found.weekday().to_monday_zero_offset() == i8::try_from(weekday).unwrap_or(-1));
    fits.then_some(found)
}

/// `2031-05-09`, `2031/05/09` or `09.05.2031`. Slashes after the day say nothing: people disagree on what comes first.
fn numeric_day(word: &str) -> Option<Date> {
    let parts = |separator| word.split(separator).collect::<Vec<&str>>();
    let parts = if word.contains('-') {
        parts('-')
    } else if word.contains('/') {
        parts('/')
    } else {
        parts('.')
    };
    let [first, middle, last] = parts.as_slice() else { return None };
    if first.len() == 4 {
        return Date::new(first.parse().ok()?, middle.parse().ok()?, last.parse().ok()?).ok();
    }
    (word.contains('.') && last.len() == 4)
        .then(|| Date::new(last.parse().ok()?, middle.parse().ok()?, first.parse().ok()?).ok())?
}

fn civil(year: &str, month: &str, day: &str) -> Option<Date> {
    let named = |name: &&str| name.to_lowercase() == month || name.to_lowercase().get(..3) == Some(month);
    let month = MONTHS.iter().position(named)? + 1;
    let day = ["st", "nd", "rd", "th"].iter().find_map(|end| day.strip_suffix(end)).unwrap_or(day);
    (year.len() == 4).then(|| Date::new(year.parse().ok()?, i8::try_from(month).ok()?, day.parse().ok()?).ok())?
}

/// Minutes of a day.
fn time(said: &str) -> Option<i64> {
    let said = said.strip_prefix("at ").unwrap_or(said);
    let halves = [("am", 0), ("a.m.", 0), ("pm", 720), ("p.m.", 720)];
    let half = halves.iter().find_map(|(mark, add)| Some((said.strip_suffix(mark)?.trim(), *add)));
    let (clock, half) = half.map_or((said.trim_end_matches(" o'clock"), None), |(clock, add)| (clock, Some(add)));
    let (hour, minute) = match clock.split_once([':', '.']) {
        Some((hour, minute)) if minute.len() == 2 => (hour, minute),
        Some(_) => return None,
        None => (clock, "0"),
    };
    let plain = |digits: &str| digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(hour) || !plain(minute) {
        return None;
    }
    let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        Some(add) if (1..=12).contains(&hour) => hour % 12 * 60 + add,
        Some(_) => return None,
        None => hour * 60,
    };
    (minute < 60 && hour + minute < 1_440).then_some(hour + minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_answer_may_be_written_in_several_ways() {
        let date = Answer::Date(jiff::civil::date(2031, 5, 9));
        let cases: [(Answer, &[&str], &[&str]); 5] = [
            (
                Answer::text("Alderby"),
                &["Alderby", " alderby. ", "“Alderby”", "the Alderby", "**Alderby**"],
                &["", "Alder", "Alderby or Brenmere", "Alderby, Brenmere", "not Alderby", "Alderbys"],
            ),
            (
                Answer::number(12_345, &["km", "kilometres"]),
                &["12345", "12,345", "12 345 km", "12'345kilometres", "12345.0"],
                &["12.345", "1234", "12,34,5", "12345 votes", "12345 or 1", "-12345", "12345 12346", "1 2345"],
            ),
            (Answer::count(3), &["3", "three", "Three."], &["3 4", "3,4", "3 or 4", "thirty", "1, 2, 3", "33"]),
            (
                date,
                &[
                    "9 May 2031",
                    "May 9, 2031",
                    "2031-05-09",
                    "9th of May 2031",
                    "09.05.2031",
                    "Friday, 9 May 2031",
                    "9 may 2031.",
                ],
                &[
                    "9 May",
                    "10 May 2031",
                    "09/05/2031",
                    "Monday, 9 May 2031",
                    "9 May 2031 or 10 May 2031",
                    "9 May 2031 9 May 2031",
                ],
            ),
            (
                Answer::Time(1_050),
                &["17:30", "5:30 pm", "5:30 p.m.", "17.30", "at 17:30"],
                &["5:30", "17:3", "17:30 or 18:00", "17:30-18:00", "25:00", "17:300"],
            ),
        ];
        for (answer, right, wrong) in cases {
            for message in right {
                assert!(answer.accepts(message), "{answer:?} takes {message:?}");
            }
            for message in wrong {
                assert!(!answer.accepts(message), "{answer:?} refuses {message:?}");
            }
            let words = answer.words().expect("words");
            assert!(answer.accepts(&words), "{words}");
        }
        assert!(!Answer::NotStated.accepts("not stated") && Answer::NotStated.words().is_none());
    }

    #[test]
    fn hostile_messages_are_no_answers() {
        let long = "9".repeat(1 << 20);
        for message in
            [long.as_str(), "\u{202e}", "99999999999999999999", "€", "🦀 🦀 2031", "٣", "0-0-0", "....", ", , ,"]
        {
            for answer in
                [Answer::text("x"), Answer::count(3), Answer::Time(0), Answer::Date(jiff::civil::date(2031, 1, 1))]
            {
                assert!(!answer.accepts(message), "{message:.20}");
            }
        }
    }
}
