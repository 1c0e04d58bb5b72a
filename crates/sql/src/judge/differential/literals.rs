//! Values that definitions write out, and what they may mean to a rule.

use jiff::civil::Date;

use crate::script::{Sort, lex};
use crate::value::{Dialect, Value};

/// Values that definitions may write out, so that each is tried.
pub(super) const LITERALS_MAX: usize = 1_000;
/// Characters of a text that is made.
const LENGTH_MAX: usize = 20_000;

/// Literals in definitions: numbers, days and texts.
pub(super) fn literals(words: &[String], dialect: Dialect) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    let mut add = |values: Vec<Value>| {
        for value in values {
            if !found.contains(&value) {
                found.push(value);
            }
        }
    };
    for text in words {
        let tokens = lex(text, dialect);
        for pair in tokens.windows(2).filter(|pair| pair[0].sort == Sort::Number) {
            let (first, second) = (pair[0].text(text), pair[1].text(text));
            add(number(&format!("{first}{second}")).into_iter().collect());
        }
        for token in tokens {
            let value = match token.sort {
                Sort::Number => number(token.text(text)),
                Sort::Text => Some(Value::Text(token.unquoted(text))),
                _ => None,
            };
            // Numbers are written out as texts, too, and below 0 with a sign of their own.
            let opposite = match &value {
                Some(Value::Text(text)) => number(text),
                Some(Value::Integer(number)) if *number != 0 => number.checked_neg().map(Value::Integer),
                Some(Value::Real(number)) => Some(Value::Real(-number)),
                _ => None,
            };
            add(value.into_iter().chain(opposite).collect());
        }
    }
    found
}

/// Parts of a value: numbers, years, days and words of a text, what a pattern fits, and a day of the year that a number may be.
pub(super) fn pieces(value: &Value) -> Vec<Value> {
    let of_year = |year: i64| (1_000..10_000).contains(&year).then(|| Value::Text(format!("{year}-06-15")));
    let text = match value {
        Value::Integer(year) => return of_year(*year).into_iter().collect(),
        Value::Text(text) => text,
        _ => return Vec::new(),
    };
    let numbers = text.split(|letter: char| !letter.is_ascii_digit()).filter_map(|digits| digits.parse::<i64>().ok());
    let mut found: Vec<Value> =
        numbers.flat_map(|number| [Some(Value::Integer(number)), of_year(number)]).flatten().collect();
    let starts = text.char_indices().map(|(at, _)| at);
    let days = starts.filter_map(|at| text.get(at..at + 10)).filter(|day| is_day(day));
    found.extend(days.map(|day| Value::Text(day.to_owned())));
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    found.extend(words.map(|word| Value::Text(word.to_owned())));
    if text.contains(['%', '_', '*', '?']) {
        for (any, one) in [("", "5"), ("5", "5"), ("x", "x")] {
            let fits = text.replace(['%', '*'], any).replace(['_', '?'], one);
            found.extend(number(&fits));
            found.push(Value::Text(fits));
        }
    }
    found.retain(|piece| piece != value);
    found
}

/// True if a text is a day, as `2024-02-29`.
pub(super) fn is_day(text: &str) -> bool {
    text.len() == 10 && text.parse::<Date>().is_ok()
}

/// A number as it is written: whole, or with a fraction.
fn number(text: &str) -> Option<Value> {
    let text = text.replace('_', "");
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let whole = hexadecimal.map_or_else(|| text.parse().ok(), |digits| i64::from_str_radix(digits, 16).ok());
    let whole = whole.map(Value::Integer);
    whole.or_else(|| text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Real))
}

/// Texts as long as numbers say that are written out.
pub(super) fn lengths(literals: &[Value]) -> Vec<Value> {
    let length = |value: &Value| match value {
        Value::Integer(number) => usize::try_from(*number).ok().filter(|length| *length <= LENGTH_MAX),
        _ => None,
    };
    literals.iter().filter_map(length).map(|length| Value::Text("a".repeat(length))).collect()
}
