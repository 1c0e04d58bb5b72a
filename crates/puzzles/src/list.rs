//! Answers that are lists, as people write them.

/// The entries of a list: between commas, semicolons, spaces and line breaks, with one pair of brackets around it or none.
pub(super) fn entries(answer: &str) -> impl Iterator<Item = &str> {
    let answer = answer.trim();
    let pairs = [('[', ']'), ('(', ')'), ('{', '}')];
    let inside = pairs.iter().find_map(|(open, close)| answer.strip_prefix(*open)?.strip_suffix(*close));
    let between = |letter: char| letter == ',' || letter == ';' || letter.is_ascii_whitespace();
    inside.unwrap_or(answer).split(between).filter(|entry| !entry.is_empty())
}

/// A list of whole numbers in decimal digits with `-` or no sign; `None` when an entry is anything else or too large.
pub(super) fn numbers(answer: &str) -> Option<Vec<i64>> {
    entries(answer).map(|entry| if entry.starts_with('+') { None } else { entry.parse().ok() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_however_they_are_separated() {
        for text in ["1, -2,3", "[1,-2,3]", "1 -2 3", "(1; -2; 3)", " 1\n-2\n03 ", "1,,-2, 3,"] {
            assert_eq!(numbers(text), Some(vec![1, -2, 3]), "{text}");
        }
        assert_eq!(numbers(""), Some(Vec::new()));
        for text in ["1, 2.0", "x", "+1", "1e3", "NaN", "１", "99999999999999999999", "[[1]]", "1]", "- 1", "0x1"] {
            assert_eq!(numbers(text), None, "{text}");
        }
    }
}
