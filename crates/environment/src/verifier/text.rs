//! `text`: the same words, whatever their case, width, spacing and surrounding punctuation.

use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;

use super::rule::{Expected, Finding, Rule, RuleError, alternatives, any_of, first_alternative};

/// Compares normalised text. A list of answers accepts any of them.
///
/// Normalised means: Unicode NFKC, case folded, every run of white space one space, and without surrounding quotation
/// marks, backticks, asterisks and underscores and without trailing `. , ; :` (after a letter also `!` and `?`). Brackets,
/// signs and everything inside stay: `[1, 2)` is not `(1, 2]`, and `-5` is not `5`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {}

impl Rule for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn compare(&self, expected: &Expected<'_>, given: &str) -> Result<Finding, RuleError> {
        let wanted = normalise(given);
        Ok(any_of(&alternatives("text", expected.answer)?, given, |spelling| normalise(spelling) == wanted))
    }

    fn own_answer(&self, expected: &Expected<'_>) -> Result<String, RuleError> {
        first_alternative("text", expected.answer)
    }
}

/// The form in which texts are compared.
#[must_use]
pub fn normalise(text: &str) -> String {
    // Upper then lower case per character folds what lower case alone keeps apart, such as ß and ss, or ς and σ.
    let folded: String = text.nfkc().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfkc().collect();
    let mut spaced = String::with_capacity(folded.len());
    for word in folded.split_whitespace() {
        if !spaced.is_empty() {
            spaced.push(' ');
        }
        spaced.push_str(word);
    }
    let stripped = strip_punctuation(&spaced);
    // A text of punctuation alone means what it says.
    if stripped.is_empty() { spaced } else { stripped.to_owned() }
}

fn strip_punctuation(text: &str) -> &str {
    const MARKS: [char; 12] = ['"', '\'', '`', '*', '_', '“', '”', '‘', '’', '«', '»', ' '];
    let mut rest = text.trim_start_matches(MARKS);
    loop {
        let shorter = rest.trim_end_matches(MARKS).trim_end_matches(['.', ',', ';', ':']);
        let without = shorter.trim_end_matches(['!', '?']);
        // After a digit an exclamation mark is a factorial.
        let shorter = if without.ends_with(char::is_alphabetic) { without } else { shorter };
        if shorter.len() == rest.len() {
            return rest;
        }
        rest = shorter;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spelling_variants_of_the_same_words_pass() {
        for (expected, given) in [
            ("Paris", " paris."),
            ("New  York", "\"new york\""),
            ("straße", "STRASSE"),
            ("ΟΔΟΣ", "οδος"),
            ("ﬁne", "Fine!"),
            ("1２3", "123"),
            ("Yes", "**Yes**."),
            ("caf\u{e9}", "cafe\u{301}"),
            ("[1, 2)", "[1,  2)."),
            ("?", "?"),
        ] {
            let finding = Text {}.compare(&Expected::answer(&json!(expected)), given).expect("text");
            assert!(finding.passed, "{expected:?} {given:?}: {}", finding.evidence);
        }
    }

    #[test]
    fn other_texts_fail() {
        for (expected, given) in [
            ("5", "-5"),
            ("5", "5!"),
            ("5", ".5"),
            ("[1, 2)", "(1, 2]"),
            ("Paris", "Paris or London"),
            ("Paris", ""),
            ("cafe", "café"),
            ("?", ""),
        ] {
            let finding = Text {}.compare(&Expected::answer(&json!(expected)), given).expect("text");
            assert!(!finding.passed, "{expected:?} {given:?}");
        }
    }

    #[test]
    fn a_megabyte_of_marks_takes_no_longer_than_a_megabyte_of_words() {
        let marks = ".\"".repeat(1 << 19);
        assert_eq!(normalise(&format!("a{marks}")), "a");
        assert_eq!(normalise(&marks).len(), marks.len());
    }
}
