//! Answers in words: how they are taken apart, and how lists are written.

/// Separators of words beside white space.
const SEPARATORS: &str = ":,;.=-_>|*\"'`(){}[]?";

/// The words of a text in lower case, with the punctuation between them left out; `None` where something stands in it that
/// is neither a letter or digit of ASCII nor usual punctuation.
pub(super) fn words(text: &str) -> Option<Vec<String>> {
    let understood =
        |letter: char| letter.is_ascii_alphanumeric() || letter.is_ascii_whitespace() || SEPARATORS.contains(letter);
    text.chars().all(understood).then(|| {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_ascii_lowercase).collect()
    })
}

/// `a, b and c`.
pub(super) fn listed<T: AsRef<str>>(items: &[T], last: &str) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.split_last() {
        None => String::new(),
        Some((only, [])) => (*only).to_owned(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
    }
}

/// The text with a capital first letter.
pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_without_what_stands_between_them() {
        for text in
            ["ada: knight, b2 -> knave", "**Ada** | Knight\n|B2|knave|", "{\"Ada\": \"KNIGHT\", \"b2\": \"knave\"}"]
        {
            assert_eq!(words(text).expect("words"), ["ada", "knight", "b2", "knave"], "{text}");
        }
        for text in ["Ada != knight", "~Ada", "Ａda", "Ada\0", "a/b", "a + b"] {
            assert_eq!(words(text), None, "{text}");
        }
        assert_eq!(words(""), Some(Vec::new()));
    }

    #[test]
    fn lists_read_as_one_would_say_them() {
        let items = ["a", "b", "c"];
        assert_eq!([0, 1, 2, 3].map(|count| listed(&items[..count], "and")), ["", "a", "a and b", "a, b and c"]);
        assert_eq!(capitalised("the end"), "The end");
    }
}
