//! Checks of a submitted answer.

use serde_json::json;

use super::Verdict;
use crate::session::Submitted;

pub(super) fn check(submission: Option<&Submitted>, accept: &[String]) -> Verdict {
    let Some(Submitted::Answer(answer)) = submission else {
        return Err(json!({"error": "no answer was handed in"}));
    };
    let plain = plainly(answer);
    if accept.iter().any(|accepted| plainly(accepted) == plain) {
        Ok(json!({"answer": answer}))
    } else {
        Err(json!({"answer": answer, "accepted": accept}))
    }
}

/// Lower case, single spaces, and numbers in one writing.
fn plainly(words: &str) -> String {
    let lower = words.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    number(&lower).unwrap_or(lower)
}

/// `1,234.50`, `+1234.5` and `1234.500` are `1234.5`; `007` and `1.2.3` are no numbers.
fn number(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let whole = without_separators(whole)?;
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(&whole) || !all_digits(fraction) || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let number = if fraction.is_empty() { whole } else { format!("{whole}.{fraction}") };
    Some(if number == "0" { number } else { format!("{sign}{number}") })
}

/// `1,234,567` as `1234567`; commas anywhere else make it no number.
fn without_separators(whole: &str) -> Option<String> {
    let groups: Vec<&str> = whole.split(',').collect();
    let in_threes =
        groups.len() == 1 || ((1..=3).contains(&groups[0].len()) && groups[1..].iter().all(|group| group.len() == 3));
    in_threes.then(|| groups.concat())
}

#[cfg(test)]
mod tests {
    use super::plainly;

    #[test]
    fn the_writing_of_numbers_and_words_does_not_count() {
        for (a, b) in [
            ("1,234.50", "1234.5"),
            ("+7", "7"),
            ("7.0", "7"),
            ("-0.0", "0"),
            ("  Ann  Lee\n", "ann lee"),
            ("HOST-07", "host-07"),
            ("10.0.0.1", " 10.0.0.1 "),
        ] {
            assert_eq!(plainly(a), plainly(b));
        }
        for (a, b) in [
            ("007", "7"),
            ("1.2.3", "1.23"),
            ("12,34", "1234"),
            ("-5", "5"),
            ("1 2", "12"),
            ("a b", "ab"),
            ("1.5", "15"),
        ] {
            assert_ne!(plainly(a), plainly(b));
        }
    }
}
