//! `number`: the same value, exactly or within a tolerance, however it is written.

use serde::Deserialize;

use super::rational::Rational;
use super::rule::{Expected, Finding, Rule, RuleError, alternatives, any_of, first_alternative};

/// A number that is written with more bytes is none.
const NUMBER_BYTES_MAX: usize = 1024;

/// The largest power of ten that a number is written with.
const EXPONENT_MAX: i64 = 100_000;

/// The largest power of ten that exact fractions are made with; 128 bits hold no more.
const EXACT_EXPONENT_MAX: u32 = 38;

/// Compares values. A list of answers accepts any of them.
///
/// Understood: `42`, `-4.50`, `.5`, `42.`, `1,234.5` (commas between groups of three), `1e3`, `3/4`, `\frac{3}{4}`, `12%`
/// (which is 0.12), a leading currency sign (`$ € £ ¥`, ignored), and the minus sign U+2212. Infinities and NaN are no
/// numbers. Without a tolerance the values must be equal exactly, to any number of digits.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// The largest difference that passes.
    #[serde(default)]
    pub tolerance: f64,
    /// The largest difference that passes, as a share of the expected value's size.
    #[serde(default)]
    pub relative: f64,
}

impl Number {
    /// Refuses tolerances that are no tolerances.
    pub(super) fn checked(self) -> Result<Self, RuleError> {
        for (name, value) in [("tolerance", self.tolerance), ("relative", self.relative)] {
            if !value.is_finite() || value < 0.0 {
                return Err(RuleError(format!("verifier number: {name} must be a number of at least 0")));
            }
        }
        Ok(self)
    }

    fn close(&self, expected: &Written, given: &Written) -> bool {
        if expected == given {
            return true;
        }
        let (expected, given) = (expected.approximate(), given.approximate());
        let allowed = self.tolerance.max(self.relative * expected.abs());
        allowed > 0.0 && (given - expected).abs() <= allowed && given.is_finite() && expected.is_finite()
    }
}

impl Rule for Number {
    fn name(&self) -> &'static str {
        "number"
    }

    fn compare(&self, expected: &Expected<'_>, given: &str) -> Result<Finding, RuleError> {
        let spellings = alternatives("number", expected.answer)?;
        if let Some(other) = spellings.iter().find(|spelling| Written::parse(spelling).is_none()) {
            return Err(RuleError(format!("verifier number must have an answer that is a number, not {other:?}")));
        }
        let Some(value) = Written::parse(given) else {
            return Ok(Finding::wrong(format!("{} is no number", super::rule::quote(given))));
        };
        Ok(any_of(&spellings, given, |spelling| {
            Written::parse(spelling).is_some_and(|expected| self.close(&expected, &value))
        }))
    }

    fn own_answer(&self, expected: &Expected<'_>) -> Result<String, RuleError> {
        first_alternative("number", expected.answer)
    }
}

/// A number as it was written; equal when the values are exactly equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Written {
    /// A value that fits 128-bit fractions.
    Exact(Rational),
    /// A longer decimal: sign, digits without zeros at either end, and the power of ten of the last digit.
    Long {
        /// Below zero.
        negative: bool,
        /// The digits.
        digits: String,
        /// The power of ten that they are multiplied by.
        exponent: i64,
    },
}

impl Written {
    /// Reads a number; `None` when the text is anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || text.len() > NUMBER_BYTES_MAX {
            return None;
        }
        let (sign, text) = split_sign(text);
        let text = text.strip_prefix("\\$").unwrap_or(text);
        let text = text.strip_prefix(['$', '€', '£', '¥']).unwrap_or(text).trim_start();
        let (percent, text) = match text.strip_suffix('%') {
            Some(rest) => (true, rest.trim_end().trim_end_matches('\\')),
            None => (false, text),
        };
        let shift = if percent { -2 } else { 0 };
        let (top, bottom) = split_fraction(text)?;
        // The sign stands before everything, or once inside, as in `$-5` and `\frac{-1}{2}`.
        let (inner_sign, top) = split_sign(top);
        if sign.is_some() && inner_sign.is_some() {
            return None;
        }
        let top = Decimal::parse(top, sign.or(inner_sign).unwrap_or(false))?;
        match bottom {
            None => Some(top.written(shift)),
            Some(bottom) => {
                let bottom = Decimal::parse(bottom, false)?.rational(0)?;
                Some(Self::Exact(top.rational(shift)?.over(bottom)?))
            }
        }
    }

    /// The nearest number of 64 bits.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an approximation is what tolerances compare")]
    pub fn approximate(&self) -> f64 {
        match self {
            Self::Exact(rational) => rational.numerator() as f64 / rational.denominator() as f64,
            Self::Long { negative, digits, exponent } => {
                let sign = if *negative { "-" } else { "" };
                format!("{sign}{digits}e{exponent}").parse().unwrap_or(f64::NAN)
            }
        }
    }
}

/// A sign at the front (true is a minus), and the rest.
fn split_sign(text: &str) -> (Option<bool>, &str) {
    if let Some(rest) = text.strip_prefix(['-', '\u{2212}']) {
        return (Some(true), rest.trim_start());
    }
    text.strip_prefix('+').map_or((None, text), |rest| (Some(false), rest.trim_start()))
}

/// The two parts of `a/b` or `\frac{a}{b}`, or the one part of any other text; `None` when a fraction is cut off.
fn split_fraction(text: &str) -> Option<(&str, Option<&str>)> {
    let latex = ["\\frac{", "\\dfrac{", "\\tfrac{"].iter().find_map(|prefix| text.strip_prefix(prefix));
    if let Some(rest) = latex {
        let (top, bottom) = rest.strip_suffix('}')?.split_once("}{")?;
        return Some((top, Some(bottom)));
    }
    Some(text.split_once('/').map_or((text, None), |(top, bottom)| (top.trim_end(), Some(bottom.trim_start()))))
}

/// A decimal without zeros at either end, in the form that [`Written::Long`] has.
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn parse(text: &str, negative: bool) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let whole = join_groups(whole)?;
        if !part.bytes().all(|byte| byte.is_ascii_digit()) || (whole.is_empty() && part.is_empty()) {
            return None;
        }
        let digits = format!("{whole}{part}");
        let trimmed = digits.trim_end_matches('0');
        let zeros = i64::try_from(digits.len() - trimmed.len()).ok()?;
        let exponent = exponent.checked_sub(i64::try_from(part.len()).ok()?)?.checked_add(zeros)?;
        let digits = trimmed.trim_start_matches('0').to_owned();
        if exponent.abs() > EXPONENT_MAX {
            return None;
        }
        if digits.is_empty() {
            return Some(Self { negative: false, digits: "0".to_owned(), exponent: 0 });
        }
        Some(Self { negative, digits, exponent })
    }

    fn rational(&self, shift: i64) -> Option<Rational> {
        let exponent = self.exponent + shift;
        let power = u32::try_from(exponent.unsigned_abs()).ok().filter(|power| *power <= EXACT_EXPONENT_MAX)?;
        let size: i128 = self.digits.parse().ok()?;
        let size = if self.negative { -size } else { size };
        let power = 10_i128.checked_pow(power)?;
        if exponent < 0 { Rational::new(size, power) } else { Rational::new(size.checked_mul(power)?, 1) }
    }

    /// Exact where it fits; since equal values have equal digits, each value has one form only.
    fn written(self, shift: i64) -> Written {
        match self.rational(shift) {
            Some(rational) => Written::Exact(rational),
            None => Written::Long { negative: self.negative, digits: self.digits, exponent: self.exponent + shift },
        }
    }
}

/// The digits before the point: `1234`, or `1,234` with commas between groups of three.
fn join_groups(whole: &str) -> Option<String> {
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let grouped = whole.len() > first.len();
    let right_size = |group: &str, first: bool| if first { (1..=3).contains(&group.len()) } else { group.len() == 3 };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(first) || (grouped && !right_size(first, true)) {
        return None;
    }
    let mut joined = first.to_owned();
    for group in groups {
        if !digits(group) || !right_size(group, false) {
            return None;
        }
        joined.push_str(group);
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn passes(rule: Number, answer: &Value, given: &str) -> bool {
        rule.compare(&Expected::answer(answer), given).expect("a number is expected").passed
    }

    #[test]
    fn every_spelling_of_a_value_is_that_value() {
        for (expected, given) in [
            ("42", "42"),
            ("42", " +42.0 "),
            ("42", "42."),
            ("0.5", ".5"),
            ("1234.5", "1,234.50"),
            ("1000", "1e3"),
            ("1000", "1E+3"),
            ("3/4", "0.75"),
            ("0.75", "\\frac{3}{4}"),
            ("-3/4", "-\\dfrac{6}{8}"),
            ("0.12", "12%"),
            ("0.12", "12\\%"),
            ("1234", "$1,234"),
            ("-5", "\u{2212}5"),
            ("0", "-0.000"),
            ("1/3", "2/6"),
            ("123456789012345678901234567890123456789012345", "1.23456789012345678901234567890123456789012345e44"),
            ("1e-3000", "0.1e-2999"),
        ] {
            assert!(passes(Number::default(), &json!(expected), given), "{expected} {given}");
        }
        assert!(passes(Number::default(), &json!(1.5), "3/2"));
        assert!(passes(Number::default(), &json!([1, 2]), "2"));
    }

    #[test]
    fn other_values_and_what_is_no_number_fail() {
        let hostile = "9".repeat(1 << 20);
        for given in [
            "",
            "41",
            "42.0000000001",
            "-42",
            "4 2",
            "4,2",
            "42,",
            ",42",
            "0x2a",
            "NaN",
            "inf",
            "-Infinity",
            "1e",
            "e3",
            "42e999999999999999999999",
            "1e99999999999",
            "42/0",
            "0/0",
            "1/2/3",
            "--42",
            "42 km",
            "forty-two",
            "42%",
            ".",
            "-",
            "/",
            "1,2345",
            "12,34",
            "\\frac{42}",
            &hostile,
        ] {
            assert!(!passes(Number::default(), &json!(42), given), "{given:.40}");
        }
        assert!(!passes(Number::default(), &json!("9007199254740993"), "9007199254740992"));
        assert!(!passes(Number::default(), &json!("1/3"), "0.3333333333333333"));
        for answer in [json!("x"), json!(true), json!(null), json!(["1", "x"]), json!("NaN")] {
            assert!(Number::default().compare(&Expected::answer(&answer), "1").is_err(), "{answer}");
        }
    }

    #[test]
    fn tolerances_are_absolute_and_relative() {
        let absolute = Number { tolerance: 0.01, relative: 0.0 };
        assert!(passes(absolute, &json!(3.25), "3.26"));
        assert!(!passes(absolute, &json!(3.25), "3.27"));
        let relative = Number { tolerance: 0.0, relative: 0.01 };
        assert!(passes(relative, &json!(1000), "1009"));
        assert!(!passes(relative, &json!(1000), "1011"));
        assert!(!passes(relative, &json!(0), "0.001"));
        assert!(!passes(absolute, &json!("1e400"), "1e401"), "both are too large to compare by difference");
        for bad in [json!({"tolerance": -1}), json!({"relative": -0.1}), json!({"tolerance": "1"})] {
            let mut named = bad;
            named["name"] = json!("number");
            assert!(super::super::rules::parse(&named).is_err(), "{named}");
        }
    }
}
