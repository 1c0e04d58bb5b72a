//! Arithmetic expressions over whole numbers, evaluated exactly.

use palestra_environment::verifier::rational::Rational;

/// A longer expression is refused.
const EXPRESSION_BYTES_MAX: usize = 1000;

/// Largest depth of nested parentheses.
const NESTING_MAX: usize = 64;

/// The digits of the longest number.
const DIGITS_MAX: usize = 12;

/// Value of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Evaluated {
    /// Its exact value.
    pub(super) value: Rational,
    /// The numbers that it is made of, in order, each as often as it comes.
    pub(super) numbers: Vec<i64>,
}

/// Evaluates `+ - * /` and parentheses over whole numbers; `×`, `·`, `÷` and `−` are understood as well.
///
/// # Errors
/// In words for the one who wrote it: a fault of form, a division by zero, or numbers that grow too large.
pub(super) fn evaluate(text: &str) -> Result<Evaluated, String> {
    if text.len() > EXPRESSION_BYTES_MAX {
        return Err(format!("the expression is longer than {EXPRESSION_BYTES_MAX} bytes"));
    }
    let mut parser = Parser { rest: text, numbers: Vec::new() };
    let value = parser.sum(0)?;
    match parser.peek() {
        None => Ok(Evaluated { value, numbers: parser.numbers }),
        Some(letter) => Err(format!("{letter:?} does not belong there")),
    }
}

/// Takes a result such as `= 24` off the end, as people write it.
///
/// # Errors
/// In words, where the result is another one: then the answer contradicts itself.
pub(super) fn without_result(answer: &str, target: Rational) -> Result<&str, String> {
    match answer.split_once('=') {
        None => Ok(answer),
        Some((expression, result)) if evaluate(result).is_ok_and(|result| result.value == target) => Ok(expression),
        Some(_) => Err(format!("what it says after the equals sign is not {target}")),
    }
}

struct Parser<'a> {
    rest: &'a str,
    numbers: Vec<i64>,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take_any(&mut self, letters: &[char]) -> Option<char> {
        let letter = self.peek().filter(|letter| letters.contains(letter))?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(letter)
    }

    fn sum(&mut self, depth: usize) -> Result<Rational, String> {
        let mut value = self.product(depth)?;
        while let Some(sign) = self.take_any(&['+', '-', '\u{2212}']) {
            let right = self.product(depth)?;
            let result = if sign == '+' { value.plus(right) } else { value.minus(right) };
            value = result.ok_or("a number grew too large")?;
        }
        Ok(value)
    }

    fn product(&mut self, depth: usize) -> Result<Rational, String> {
        let mut value = self.operand(depth)?;
        while let Some(sign) = self.take_any(&['*', '×', '·', '/', '÷']) {
            let right = self.operand(depth)?;
            let divides = matches!(sign, '/' | '÷');
            if divides && right.numerator() == 0 {
                return Err("it divides by zero".to_owned());
            }
            let result = if divides { value.over(right) } else { value.times(right) };
            value = result.ok_or("a number grew too large")?;
        }
        Ok(value)
    }

    fn operand(&mut self, depth: usize) -> Result<Rational, String> {
        if self.take_any(&['(']).is_some() {
            if depth == NESTING_MAX {
                return Err(format!("parentheses are nested more than {NESTING_MAX} deep"));
            }
            let value = self.sum(depth + 1)?;
            return self.take_any(&[')']).map(|_| value).ok_or_else(|| "a closing parenthesis is missing".to_owned());
        }
        let digits = self.peek().map_or(0, |_| self.rest.bytes().take_while(u8::is_ascii_digit).count());
        if digits == 0 || digits > DIGITS_MAX {
            return Err(match self.peek() {
                _ if digits > DIGITS_MAX => format!("a number has more than {DIGITS_MAX} digits"),
                Some(letter) => format!("a number was expected, not {letter:?}"),
                None => "it ends where a number was expected".to_owned(),
            });
        }
        let (number, rest) = self.rest.split_at(digits);
        let number: i64 = number.parse().map_err(|_| "a number is too large")?;
        self.rest = rest;
        self.numbers.push(number);
        Ok(Rational::whole(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_and_exact_division() {
        for (text, value) in [
            ("2+3*4", "14"),
            ("(2+3)*4", "20"),
            ("10-4-3", "3"),
            ("8/4/2", "1"),
            ("1/3+1/6", "1/2"),
            ("((7))", "7"),
            (" 3 × (8 ÷ 2) − 1 ", "11"),
            ("6/(1-3/4)", "24"),
        ] {
            assert_eq!(evaluate(text).map(|result| result.value.to_string()), Ok(value.to_owned()), "{text}");
        }
        assert_eq!(evaluate("2*(3+2)").map(|result| result.numbers), Ok(vec![2, 3, 2]));
    }

    #[test]
    fn invalid_expressions_are_refused() {
        let deep = format!("{}1{}", "(".repeat(100), ")".repeat(100));
        let long = "1+".repeat(1000) + "1";
        let large = "999999999999*".repeat(10) + "1";
        for text in [
            "",
            " ",
            "+",
            "-3",
            "3 4",
            "3+",
            "(3",
            "3)",
            "2**3",
            "2^3",
            "x",
            "1.5",
            "1e3",
            "1/0",
            "1/(2-2)",
            "٣",
            "1,000",
            "1234567890123",
            "__import__('os')",
            &deep,
            &long,
            &large,
        ] {
            assert!(evaluate(text).is_err(), "{text:.40}");
        }
    }
}
