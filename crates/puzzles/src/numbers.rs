//! Lists of whole numbers in answers.

/// More digits than any number of an answer has.
const DIGITS_MAX: usize = 9;

/// The whole numbers of a text in order. Between them may stand white space, arrows (`->`, `→`), commas, colons and the
/// marks of JSON; `None` when there is anything else, signs, points and digits beyond ASCII included.
pub(super) fn read_numbers(text: &str) -> Option<Vec<usize>> {
    let text = ["-->", "->", "=>", "→"].into_iter().fold(text.to_owned(), |text, arrow| text.replace(arrow, " "));
    let between = |letter: char| letter.is_whitespace() || ",;:=|()[]{}\"'".contains(letter);
    text.split(between).filter(|word| !word.is_empty()).map(read_number).collect()
}

fn read_number(word: &str) -> Option<usize> {
    let digits = word.len() <= DIGITS_MAX && word.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| word.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_every_usual_notation_and_from_nothing_else() {
        for text in
            ["1 20 3", "1,20,3", "[1, 20, 3]", "1 -> 20 -> 3", "1→20→3", "{\"1\": 20, \"3\"}", "1\n20\r\n3", "01:20|3"]
        {
            assert_eq!(read_numbers(text), Some(vec![1, 20, 3]), "{text}");
        }
        for text in ["-1", "1-2", "1.5", "1e3", "+1", "１", "one", "NaN", "1 > 2", "9999999999", "0x1", "1_0"] {
            assert_eq!(read_numbers(text), None, "{text}");
        }
        assert_eq!(read_numbers(" [[]] "), Some(Vec::new()));
    }
}
