//! Keys by the names that pages see (`KeyboardEvent.key` and `code`, UI Events), on a keyboard of the United States.

/// A key, as the protocol wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) key: String,
    pub(super) code: String,
    /// Its number in old scripts (`keyCode`).
    pub(super) number: u32,
    /// Text that it types.
    pub(super) text: Option<String>,
}

/// Keys without a letter: name, code, number, text.
const NAMED: [(&str, &str, u32, Option<&str>); 32] = [
    ("Backspace", "Backspace", 8, None),
    ("Tab", "Tab", 9, None),
    ("Enter", "Enter", 13, Some("\r")),
    ("Shift", "ShiftLeft", 16, None),
    ("Control", "ControlLeft", 17, None),
    ("Alt", "AltLeft", 18, None),
    ("Escape", "Escape", 27, None),
    ("Space", "Space", 32, Some(" ")),
    ("PageUp", "PageUp", 33, None),
    ("PageDown", "PageDown", 34, None),
    ("End", "End", 35, None),
    ("Home", "Home", 36, None),
    ("ArrowLeft", "ArrowLeft", 37, None),
    ("ArrowUp", "ArrowUp", 38, None),
    ("ArrowRight", "ArrowRight", 39, None),
    ("ArrowDown", "ArrowDown", 40, None),
    ("Insert", "Insert", 45, None),
    ("Delete", "Delete", 46, None),
    ("Meta", "MetaLeft", 91, None),
    ("ContextMenu", "ContextMenu", 93, None),
    ("F1", "F1", 112, None),
    ("F2", "F2", 113, None),
    ("F3", "F3", 114, None),
    ("F4", "F4", 115, None),
    ("F5", "F5", 116, None),
    ("F6", "F6", 117, None),
    ("F7", "F7", 118, None),
    ("F8", "F8", 119, None),
    ("F9", "F9", 120, None),
    ("F10", "F10", 121, None),
    ("F11", "F11", 122, None),
    ("F12", "F12", 123, None),
];
/// Keys with a sign: sign, sign with Shift, code, number.
const SIGNS: [(char, char, &str, u32); 21] = [
    ('1', '!', "Digit1", 49),
    ('2', '@', "Digit2", 50),
    ('3', '#', "Digit3", 51),
    ('4', '$', "Digit4", 52),
    ('5', '%', "Digit5", 53),
    ('6', '^', "Digit6", 54),
    ('7', '&', "Digit7", 55),
    ('8', '*', "Digit8", 56),
    ('9', '(', "Digit9", 57),
    ('0', ')', "Digit0", 48),
    ('-', '_', "Minus", 189),
    ('=', '+', "Equal", 187),
    ('[', '{', "BracketLeft", 219),
    (']', '}', "BracketRight", 221),
    ('\\', '|', "Backslash", 220),
    (';', ':', "Semicolon", 186),
    ('\'', '"', "Quote", 222),
    (',', '<', "Comma", 188),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
    ('`', '~', "Backquote", 192),
];

/// Bit of a modifier in the protocol, by the names of keys.
pub(super) fn modifier(name: &str) -> u32 {
    match name {
        "Alt" => 1,
        "Control" | "ControlOrMeta" => 2,
        "Meta" => 4,
        "Shift" => 8,
        _ => 0,
    }
}

/// The key of a name, of a code, or of one letter; `shift` says that Shift is held.
pub(super) fn key(name: &str, shift: bool) -> Option<Key> {
    let name = match name {
        "ControlOrMeta" | "ControlLeft" | "ControlRight" => "Control",
        "ShiftLeft" | "ShiftRight" => "Shift",
        "AltLeft" | "AltRight" => "Alt",
        "MetaLeft" | "MetaRight" => "Meta",
        " " => "Space",
        name => name,
    };
    if let Some((key, code, number, text)) = NAMED.iter().find(|(key, ..)| *key == name) {
        let key = if *key == "Space" { " " } else { key };
        return Some(Key {
            key: key.to_owned(),
            code: (*code).to_owned(),
            number: *number,
            text: text.map(str::to_owned),
        });
    }
    if let Some((plain, shifted, code, number)) = SIGNS.iter().find(|(_, _, code, _)| *code == name) {
        return Some(sign(if shift { *shifted } else { *plain }, code, *number));
    }
    if let Some(letter) = name.strip_prefix("Key").and_then(one).filter(char::is_ascii_uppercase) {
        return Some(self::letter(if shift { letter } else { letter.to_ascii_lowercase() }));
    }
    one(name).map(|typed| typed_by(if shift { shifted(typed) } else { typed }))
}

/// The key that types a letter; one without a place on the keyboard has none in old scripts.
pub(super) fn typed_by(typed: char) -> Key {
    if typed.is_ascii_alphabetic() {
        return letter(typed);
    }
    if typed == ' ' || typed == '\n' {
        return key(if typed == ' ' { "Space" } else { "Enter" }, false).unwrap_or_else(|| sign(typed, "", 0));
    }
    let known = SIGNS.iter().find(|(plain, shifted, ..)| typed == *plain || typed == *shifted);
    known.map_or_else(|| sign(typed, "", 0), |(_, _, code, number)| sign(typed, code, *number))
}

fn shifted(typed: char) -> char {
    let known = SIGNS.iter().find(|(plain, ..)| typed == *plain);
    known.map_or_else(|| typed.to_ascii_uppercase(), |(_, shifted, ..)| *shifted)
}

fn one(name: &str) -> Option<char> {
    let mut letters = name.chars();
    letters.next().filter(|_| letters.next().is_none())
}

fn letter(typed: char) -> Key {
    let capital = typed.to_ascii_uppercase();
    sign(typed, &format!("Key{capital}"), u32::from(capital))
}

fn sign(typed: char, code: &str, number: u32) -> Key {
    Key { key: typed.to_string(), code: code.to_owned(), number, text: Some(typed.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_name_code_and_letter() {
        let told = |name, shift| key(name, shift).map(|key| (key.key, key.code, key.number));
        let expected = |key: &str, code: &str, number| Some((key.to_owned(), code.to_owned(), number));
        assert_eq!(told("Enter", false), expected("Enter", "Enter", 13));
        assert_eq!(told("a", false), expected("a", "KeyA", 65));
        assert_eq!(told("a", true), expected("A", "KeyA", 65));
        assert_eq!(told("KeyT", true), expected("T", "KeyT", 84));
        assert_eq!(told("#", false), expected("#", "Digit3", 51));
        assert_eq!(told("Digit3", true), expected("#", "Digit3", 51));
        assert_eq!(told("Minus", false), expected("-", "Minus", 189));
        assert_eq!(told("é", false), expected("é", "", 0));
        assert_eq!(told("ControlOrMeta", false), expected("Control", "ControlLeft", 17));
        assert_eq!(told("Nonsense", false), None);
    }
}
