//! Values as Python writes them, which is how BrowserGym's text form has them.

use std::fmt::Write as _;

use serde_json::Value;

/// `repr` of a text: in single quotes unless only these occur in it, with what cannot be printed escaped.
pub(super) fn text(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut written = String::with_capacity(text.len() + 2);
    written.push(quote);
    for letter in text.chars() {
        match letter {
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            letter if letter == quote => {
                written.push('\\');
                written.push(letter);
            }
            letter if is_printable(letter) => written.push(letter),
            letter => {
                let number = u32::from(letter);
                // Writing to a string does not fail.
                let _ = match number {
                    0..=0xff => write!(written, "\\x{number:02x}"),
                    0x100..=0xffff => write!(written, "\\u{number:04x}"),
                    _ => write!(written, "\\U{number:08x}"),
                };
            }
        }
    }
    written.push(quote);
    written
}

/// True for letters that Python prints: no control or format characters, no private use, no spaces but the common one.
fn is_printable(letter: char) -> bool {
    let hidden = matches!(
        u32::from(letter),
        0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f
            | 0xd800..=0xf8ff | 0xfeff | 0xfff0..=0xfffb | 0xe0000..=0x10_ffff
    );
    letter == ' ' || !(letter.is_control() || letter.is_whitespace() || hidden)
}

/// `repr` of a value.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::String(value) => text(value),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Null => "None".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_written_as_python_writes_them() {
        for (plain, written) in [
            ("Hi", "'Hi'"),
            ("it's", "\"it's\""),
            ("it's \"so\"", "'it\\'s \"so\"'"),
            ("a\\b\nc\td", "'a\\\\b\\nc\\td'"),
            ("é €\u{a0}\u{200b}\u{7}", "'é €\\xa0\\u200b\\x07'"),
        ] {
            assert_eq!(text(plain), written);
        }
    }
}
