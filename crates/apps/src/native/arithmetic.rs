//! `arithmetic`: works out `+ - * /`, powers as `**`, and parentheses, with the usual precedence, rounded to two digits.

use serde_json::{Map, Value, json};

use super::{Failure, Native};

/// `{"expression": "(2 + 3) * 4"}` gives `"20.0"`.
pub(super) const ARITHMETIC: Native = Native { name: "arithmetic", codes: &[INVALID, DIVISION_BY_ZERO], run: evaluate };

const INVALID: &str = "invalid_expression";
const DIVISION_BY_ZERO: &str = "division_by_zero";

/// Most characters of an expression.
const CHARACTERS_MAX: usize = 1_000;
/// Largest depth of nested parentheses.
const DEPTH_MAX: usize = 64;

fn evaluate(arguments: &Map<String, Value>) -> Result<Value, Failure> {
    let text = arguments.get("expression").and_then(Value::as_str).unwrap_or_default();
    if text.len() > CHARACTERS_MAX {
        return Err(invalid(format!("An expression has at most {CHARACTERS_MAX} characters.")));
    }
    if let Some(other) = text.chars().find(|letter| !letter.is_ascii_digit() && !"+-*/(). ".contains(*letter)) {
        return Err(invalid(format!("`{other}` is not part of arithmetic.")));
    }
    let mut reader = Reader { rest: text, depth: 0 };
    let value = reader.sum()?;
    reader.skip();
    if !reader.rest.is_empty() || !value.is_finite() {
        return Err(invalid("This is no expression that can be worked out."));
    }
    let rounded: f64 = format!("{value:.2}").parse().map_err(|_| invalid("The result is no number."))?;
    Ok(json!(format!("{rounded:?}")))
}

fn invalid(text: impl Into<String>) -> Failure {
    Failure { code: INVALID, text: text.into() }
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

    fn sum(&mut self) -> Result<f64, Failure> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let next = self.product()?;
            value = if sign == '+' { value + next } else { value - next };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, Failure> {
        let mut value = self.signed()?;
        while let Some(sign) = self.take(&['*', '/']) {
            let next = self.signed()?;
            if sign == '/' && next == 0.0 {
                return Err(Failure { code: DIVISION_BY_ZERO, text: "Nothing can be divided by zero.".to_owned() });
            }
            value = if sign == '*' { value * next } else { value / next };
        }
        Ok(value)
    }

    fn signed(&mut self) -> Result<f64, Failure> {
        let mut negative = false;
        while let Some(sign) = self.take(&['+', '-']) {
            negative ^= sign == '-';
        }
        let value = self.power()?;
        Ok(if negative { -value } else { value })
    }

    /// Binds tighter than a sign before it, and to the right: `-2 ** 3 ** 2` is -512.
    fn power(&mut self) -> Result<f64, Failure> {
        let base = self.number()?;
        self.skip();
        let Some(rest) = self.rest.strip_prefix("**") else { return Ok(base) };
        self.rest = rest;
        self.deeper(|reader| Ok(base.powf(reader.signed()?)))
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Result<f64, Failure>) -> Result<f64, Failure> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(invalid("The parts of the expression are nested too deeply."));
        }
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn number(&mut self) -> Result<f64, Failure> {
        if self.take(&['(']).is_some() {
            let value = self.deeper(Self::sum)?;
            return self.take(&[')']).map(|_| value).ok_or_else(|| invalid("A parenthesis is not closed."));
        }
        let end = self.rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        number.parse().map_err(|_| invalid("A number is expected."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work_out(text: &str) -> Result<Value, &'static str> {
        evaluate(&Map::from_iter([("expression".to_owned(), json!(text))])).map_err(|failure| failure.code)
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
            ("2**3", "8.0"),
            ("-2 ** 3 ** 2", "-512.0"),
            ("4 * 2 ** -1", "2.0"),
        ] {
            assert_eq!(work_out(text), Ok(json!(result)), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "2 +", "(2", "2)", "2 * * 3", "2 ** ", "10 ** 400", "0 ** -1", "a", "1..2", "import os", "2 3"]
        {
            assert_eq!(work_out(text), Err(INVALID), "{text}");
        }
        for text in ["(".repeat(500), "2**".repeat(300), "-".repeat(999), "1".repeat(2_000)] {
            assert_eq!(work_out(&text), Err(INVALID), "{text}");
        }
        assert_eq!(work_out("1 / (2 - 2)"), Err(DIVISION_BY_ZERO));
    }
}
