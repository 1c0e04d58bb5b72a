//! Comparison of the output of a program with the expected one.

use serde::{Deserialize, Serialize};

use super::program::Program;

/// Kinds of comparisons of outputs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Comparison {
    /// Byte by byte, but for one line end at the very end.
    Exact,
    /// Word by word: white space between and around them does not count.
    #[default]
    Tokens,
    /// Word by word, where two numbers are equal if they are close.
    Floats(Tolerance),
    /// A program decides.
    Checker(Program),
}

/// When two numbers are close: when either bound holds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tolerance {
    /// Largest difference.
    pub tolerance_absolute: f64,
    /// Largest difference as a share of the expected number.
    pub tolerance_relative: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { tolerance_absolute: 1e-9, tolerance_relative: 1e-6 }
    }
}

impl Tolerance {
    fn close(self, expected: f64, actual: f64) -> bool {
        if expected.is_nan() || actual.is_nan() || expected.is_infinite() || actual.is_infinite() {
            return expected == actual || (expected.is_nan() && actual.is_nan());
        }
        let difference = (expected - actual).abs();
        difference <= self.tolerance_absolute || difference <= self.tolerance_relative * expected.abs()
    }
}

/// Where an output differs from what was expected, in words for whoever runs the environment; `None` where it does not. A checker
/// is not asked here.
pub(super) fn difference(comparison: &Comparison, expected: &[u8], actual: &[u8]) -> Option<String> {
    match comparison {
        Comparison::Exact => exact(expected, actual),
        Comparison::Tokens | Comparison::Checker(_) => tokens(expected, actual, |expected, actual| expected == actual),
        Comparison::Floats(tolerance) => tokens(expected, actual, |expected, actual| {
            expected == actual
                || matches!((number(expected), number(actual)), (Some(a), Some(b)) if tolerance.close(a, b))
        }),
    }
}

fn exact(expected: &[u8], actual: &[u8]) -> Option<String> {
    let [expected, actual] = [expected, actual].map(|bytes| bytes.strip_suffix(b"\n").unwrap_or(bytes));
    if expected == actual {
        return None;
    }
    let at = expected.iter().zip(actual).position(|(a, b)| a != b).unwrap_or(expected.len().min(actual.len()));
    let line = 1 + expected[..at].iter().filter(|byte| **byte == b'\n').count();
    Some(format!(
        "differs at byte {at} in line {line}: expected {}, found {}",
        quote(&expected[at..]),
        quote(&actual[at..])
    ))
}

fn tokens(expected: &[u8], actual: &[u8], same: impl Fn(&[u8], &[u8]) -> bool) -> Option<String> {
    let words = |bytes| <[u8]>::split(bytes, u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let (mut expected, mut actual) = (words(expected), words(actual));
    for number in 1_usize.. {
        match (expected.next(), actual.next()) {
            (None, None) => break,
            (Some(a), Some(b)) if same(a, b) => {}
            (Some(a), Some(b)) => return Some(format!("word {number}: expected {}, found {}", quote(a), quote(b))),
            (Some(a), None) => return Some(format!("word {number}: expected {}, found the end", quote(a))),
            (None, Some(b)) => return Some(format!("word {number}: expected the end, found {}", quote(b))),
        }
    }
    None
}

fn number(word: &[u8]) -> Option<f64> {
    // Longer words are no numbers that anybody prints; Rust also reads `infinity` and `nan`, as other languages print them.
    std::str::from_utf8(word).ok().filter(|word| word.len() <= 400)?.parse().ok()
}

/// The beginning of something printed by a program, safe to show.
pub(super) fn quote(bytes: &[u8]) -> String {
    const SHOWN_BYTES_MAX: usize = 60;
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES_MAX)]);
    let dots = if bytes.len() > SHOWN_BYTES_MAX { "..." } else { "" };
    format!("{shown:?}{dots}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(comparison: &Comparison, expected: &str, actual: &str) -> bool {
        difference(comparison, expected.as_bytes(), actual.as_bytes()).is_none()
    }

    #[test]
    fn exact_forgives_one_line_end_at_the_end_and_nothing_else() {
        assert!(same(&Comparison::Exact, "a b\n", "a b"));
        assert!(same(&Comparison::Exact, "a b", "a b\n"));
        for other in ["a b\n\n", "a  b", "a b ", "A b", ""] {
            assert!(!same(&Comparison::Exact, "a b\n", other), "{other:?}");
        }
        let found = difference(&Comparison::Exact, b"one\ntwo\n", b"one\ntvo\n").expect("a difference");
        assert!(found.contains("line 2"), "{found}");
    }

    #[test]
    fn tokens_forgive_white_space_and_nothing_else() {
        assert!(same(&Comparison::Tokens, "1 2\n3\n", "1\t2 3"));
        assert!(same(&Comparison::Tokens, "", "\n\n"));
        for other in ["1 2", "1 2 3 4", "12 3", "1 2 3.0"] {
            assert!(!same(&Comparison::Tokens, "1 2 3", other), "{other:?}");
        }
    }

    #[test]
    fn floats_are_compared_within_either_bound() {
        let close = Comparison::Floats(Tolerance { tolerance_absolute: 0.01, tolerance_relative: 0.001 });
        assert!(same(&close, "x = 1.0", "x = 1.009"));
        assert!(same(&close, "1000000", "1000900.0"));
        assert!(same(&close, "inf nan 1e3", "inf NaN 1000"));
        for (expected, actual) in
            [("1.0", "1.02"), ("1000000", "1002000"), ("1.0", "nan"), ("inf", "1e308"), ("x", "y")]
        {
            assert!(!same(&close, expected, actual), "{expected} {actual}");
        }
    }

    #[test]
    fn output_is_quoted_without_control_characters() {
        let shown = quote(b"\x1b[2J\xff");
        assert!(!shown.contains('\u{1b}'), "{shown}");
        assert!(quote(&[b'a'; 1_000]).len() < 80);
    }

    proptest::proptest! {
        #[test]
        fn an_output_is_the_same_as_itself_and_comparing_never_fails(
            expected in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
            actual in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
        ) {
            for comparison in [Comparison::Exact, Comparison::Tokens, Comparison::Floats(Tolerance::default())] {
                proptest::prop_assert!(difference(&comparison, &expected, &expected).is_none());
                let forward = difference(&comparison, &expected, &actual).is_none();
                if comparison != Comparison::Floats(Tolerance::default()) {
                    proptest::prop_assert_eq!(forward, difference(&comparison, &actual, &expected).is_none());
                }
            }
        }
    }
}
