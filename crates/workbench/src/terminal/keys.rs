//! Keys in writing: text stands for itself, and names stand in angle brackets: `vim notes.txt<Enter>`, `<C-c>`, `<Up><Enter>`,
//! `<lt>` for `<`. What stands in brackets and is no name is typed as it stands.

/// Bytes of keys in one call.
pub(super) const KEYS_BYTES_MAX: usize = 64 * 1024;

/// The bytes that a terminal sends for these keys. `application`: whether the program asked for the other form of arrow keys.
pub(super) fn bytes(keys: &str, application: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(keys.len());
    let mut rest = keys;
    while let Some(start) = rest.find('<') {
        bytes.extend_from_slice(&rest.as_bytes()[..start]);
        rest = &rest[start..];
        let named = rest.find('>').and_then(|end| Some((named(&rest[1..end], application)?, end)));
        match named {
            Some((key, end)) => {
                bytes.extend(key);
                rest = &rest[end + 1..];
            }
            None => {
                bytes.push(b'<');
                rest = &rest[1..];
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

fn named(name: &str, application: bool) -> Option<Vec<u8>> {
    if let Some(letter) = name.strip_prefix("C-").or_else(|| name.strip_prefix("c-")) {
        return control(letter).map(|byte| vec![byte]);
    }
    if let Some(key) = name.strip_prefix("M-").or_else(|| name.strip_prefix("A-")) {
        let mut letters = key.chars();
        let bytes = match (letters.next(), letters.next()) {
            (Some(_), None) => key.as_bytes().to_vec(),
            _ => named(key, application)?,
        };
        return Some([b"\x1b".as_slice(), &bytes].concat());
    }
    let arrow = |letter: u8| vec![0x1b, if application { b'O' } else { b'[' }, letter];
    let bytes = match name.to_ascii_lowercase().as_str() {
        "enter" | "return" | "cr" => b"\r".to_vec(),
        "tab" => b"\t".to_vec(),
        "s-tab" | "backtab" => b"\x1b[Z".to_vec(),
        "esc" | "escape" => b"\x1b".to_vec(),
        "space" => b" ".to_vec(),
        "bs" | "backspace" => b"\x7f".to_vec(),
        "del" | "delete" => b"\x1b[3~".to_vec(),
        "insert" => b"\x1b[2~".to_vec(),
        "up" => arrow(b'A'),
        "down" => arrow(b'B'),
        "right" => arrow(b'C'),
        "left" => arrow(b'D'),
        "home" => arrow(b'H'),
        "end" => arrow(b'F'),
        "pageup" => b"\x1b[5~".to_vec(),
        "pagedown" => b"\x1b[6~".to_vec(),
        "lt" => b"<".to_vec(),
        "gt" => b">".to_vec(),
        function => {
            let sequence = match function.strip_prefix('f')?.parse::<u8>().ok()? {
                1 => "OP",
                2 => "OQ",
                3 => "OR",
                4 => "OS",
                5 => "[15~",
                6 => "[17~",
                7 => "[18~",
                8 => "[19~",
                9 => "[20~",
                10 => "[21~",
                11 => "[23~",
                12 => "[24~",
                _ => return None,
            };
            format!("\x1b{sequence}").into_bytes()
        }
    };
    Some(bytes)
}

/// Byte of a key together with Control.
fn control(letter: &str) -> Option<u8> {
    let mut bytes = letter.bytes();
    let (byte, None) = (bytes.next()?.to_ascii_uppercase(), bytes.next()) else {
        return letter.eq_ignore_ascii_case("space").then_some(0);
    };
    match byte {
        b'@'..=b'_' => Some(byte - b'@'),
        b'?' => Some(0x7f),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_keys_and_all_else_is_typed() {
        for (keys, expected) in [
            ("ls<Enter>", &b"ls\r"[..]),
            ("<C-c><c-D><C-\\><C-Space>", b"\x03\x04\x1c\x00"),
            ("<Up><F1><M-x><A-Left>", b"\x1b[A\x1bOP\x1bx\x1b\x1b[D"),
            ("a <b> c<d", b"a <b> c<d"),
            ("<lt>Enter<gt>", b"<Enter>"),
            ("<F99><C-ab><>", b"<F99><C-ab><>"),
            ("é<Esc>:wq<CR>", "é\x1b:wq\r".as_bytes()),
        ] {
            assert_eq!(bytes(keys, false), expected, "{keys}");
        }
        assert_eq!(bytes("<Up>", true), b"\x1bOA");
    }
}
