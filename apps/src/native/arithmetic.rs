//! `arithmetic`: works out `+ - * /` with parentheses, as a pocket calculator does, rounded to two digits.

use serde_json::{Map, Value, json};

/// Most characters of an expression.
const CHARACTERS_MAX: usize = 1_000;
/// How deeply parentheses may be nested.
const DEPTH_MAX: usize = 64;

/// `{"expression": "(2 + 3) * 4"}` gives `"20.0"`.
pub(super) fn evaluate(arguments: &Map<String, Value>) -> Result<Value, String> {
    let text = arguments.get("expression").and_then(Value::as_str).unwrap_or_default();
    if text.len() > CHARACTERS_MAX {
        return Err(format!("an expression has at most {CHARACTERS_MAX} characters"));
    }
    if let Some(other) = text.chars().find(|letter| !letter.is_ascii_digit() && !"+-*/(). ".contains(*letter)) {
        return Err(format!("`{other}` is not part of arithmetic"));
    }
    let mut reader = Reader { rest: text, depth: 0 };
    let value = reader.sum()?;
    reader.skip();
    if !reader.rest.is_empty() || !value.is_finite() {
        return Err("this is no expression that can be worked out".to_owned());
    }
    let rounded: f64 = format!("{value:.2}").parse().map_err(|_| "the result is no number".to_owned())?;
    Ok(json!(format!("{rounded:?}")))
}

struct Reader<'t> {
    rest: &'t str,
    depth: usize,
}

impl Reader<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches(' ');
    }

    fn take(&mut self, signs: &[char]) -> Option<char> {
        self.skip();
        let sign = self.rest.chars().next().filter(|sign| signs.contains(sign))?;
        self.rest = &self.rest[1..];
        Some(sign)
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let next = self.product()?;
            value = if sign == '+' { value + next } else { value - next };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.signed()?;
        while let Some(sign) = self.take(&['*', '/']) {
            let next = self.signed()?;
            if sign == '/' && next == 0.0 {
                return Err("nothing can be divided by zero".to_owned());
            }
            value = if sign == '*' { value * next } else { value / next };
        }
        Ok(value)
    }

    fn signed(&mut self) -> Result<f64, String> {
        let mut negative = false;
        while let Some(sign) = self.take(&['+', '-']) {
            negative ^= sign == '-';
        }
        let value = self.number()?;
        Ok(if negative { -value } else { value })
    }

    fn number(&mut self) -> Result<f64, String> {
        if self.take(&['(']).is_some() {
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                return Err("the parentheses are nested too deeply".to_owned());
            }
            let value = self.sum()?;
            self.depth -= 1;
            return self.take(&[')']).map(|_| value).ok_or_else(|| "a parenthesis is not closed".to_owned());
        }
        let end = self.rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        number.parse().map_err(|_| "a number is expected".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work_out(text: &str) -> Result<Value, String> {
        evaluate(&Map::from_iter([("expression".to_owned(), json!(text))]))
    }

    #[test]
    fn sums_are_worked_out_with_the_usual_precedence() {
        for (text, result) in [
            ("2 + 3 * 4", "14.0"),
            ("(2 + 3) * 4", "20.0"),
            ("10 / 4", "2.5"),
            ("-3 - -2", "-1.0"),
            ("1 / 3", "0.33"),
            ("164.28 + 0.1", "164.38"),
            (" 7 ", "7.0"),
        ] {
            assert_eq!(work_out(text), Ok(json!(result)), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "2 +", "(2", "2)", "1 / 0", "2 ** 3", "a", "1..2", "import os", "2 3"] {
            assert!(work_out(text).is_err(), "{text}");
        }
        assert!(work_out(&"(".repeat(500)).is_err());
        assert!(work_out(&"1".repeat(2_000)).is_err());
    }
}
