//! Text of somebody else, made safe to look at: what would command a terminal, or turn the order of letters around, is written out.

use std::borrow::Cow;
use std::fmt::Write as _;

/// True for a character that does something other than stand in its place: control characters with the escape among them, line and
/// paragraph separators, marks that change the direction of writing, and invisible tags.
#[must_use]
pub const fn is_command(character: char) -> bool {
    matches!(character,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text with every such character written as `\u001b`, but for line ends and tabs. JSON stays the same JSON: there they can stand
/// in strings alone.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_where(text, |character| is_command(character) && !matches!(character, '\n' | '\t'))
}

/// The same in one line: line ends and tabs are written out too.
#[must_use]
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape_where(text, is_command)
}

fn escape_where(text: &str, wanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&wanted) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if wanted(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a text never fails.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that terminals and editors are known to act on.
    const HOSTILE: [char; 20] = [
        '\u{0}',
        '\u{7}',
        '\u{8}',
        '\r',
        '\u{1b}',
        '\u{7f}',
        '\u{85}',
        '\u{90}',
        '\u{9b}',
        '\u{9d}',
        '\u{61c}',
        '\u{200e}',
        '\u{200f}',
        '\u{2028}',
        '\u{202a}',
        '\u{202e}',
        '\u{2066}',
        '\u{2069}',
        '\u{e0001}',
        '\u{e007f}',
    ];

    #[test]
    fn terminal_control_characters_are_escaped() {
        for hostile in HOSTILE {
            let text = format!("a{hostile}b");
            for escaped in [escape(&text), escape_line(&text)] {
                assert!(!escaped.contains(hostile) && escaped.starts_with("a\\u"), "{hostile:?}: {escaped}");
                assert!(!escaped.chars().any(is_command), "{hostile:?}");
            }
        }
        assert_eq!(escape("a\u{1b}[2Jb\n\tc"), "a\\u001b[2Jb\n\tc");
        assert_eq!(escape_line("a\n\tb"), "a\\u000a\\u0009b");
        assert!(matches!(escape("Zoë 東京 🙂\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_stays_the_same_json() {
        let value: Vec<String> = HOSTILE.iter().map(|hostile| format!("\\{hostile}\"")).collect();
        let text = serde_json::to_string_pretty(&value).expect("JSON");
        let escaped = escape(&text);
        assert!(!escaped.chars().any(|character| is_command(character) && character != '\n'));
        assert_eq!(serde_json::from_str::<Vec<String>>(&escaped).expect("JSON"), value);
    }
}
