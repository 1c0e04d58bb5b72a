//! Marks that the shell prints between commands: escape sequences no terminal shows, with a number that is new for each command.
//! They are found in the raw stream, so a command that leaves an escape sequence open hides nothing. A command that forges the mark
//! of its own end shortens nothing but what its caller sees of it.

use std::fmt::Write as _;

/// Prefix of every mark.
const PREFIX: &[u8] = b"\x1b]5277;";
/// Longest mark.
const MARK_BYTES_MAX: usize = 5_000;

/// Mark in the output of a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    /// The shell of this process id is about to ask for a command.
    Prompt(String),
    /// A command begins.
    Begin(String),
    /// A command ended.
    End {
        /// Its nonce.
        nonce: String,
        /// Exit code.
        code: i32,
        /// Where the shell is now.
        folder: String,
    },
}

/// A part of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Printed bytes.
    Bytes(Vec<u8>),
    /// A mark between.
    Mark(Mark),
}

/// Splits a stream that arrives in pieces.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    /// The beginning of what may become a mark.
    kept: Vec<u8>,
}

impl Scanner {
    /// Parts that the next piece adds.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Vec<Part> {
        let joined;
        let mut rest: &[u8] = if self.kept.is_empty() {
            piece
        } else {
            self.kept.extend_from_slice(piece);
            joined = std::mem::take(&mut self.kept);
            &joined
        };
        let mut parts = Vec::new();
        let mut plain = Vec::new();
        while let Some(start) = rest.iter().position(|byte| *byte == PREFIX[0]) {
            plain.extend_from_slice(&rest[..start]);
            rest = &rest[start..];
            let whole = rest.starts_with(PREFIX);
            if !whole && !PREFIX.starts_with(rest) {
                plain.push(rest[0]);
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().take(MARK_BYTES_MAX).position(|byte| *byte == b'\x07').filter(|_| whole);
            let Some(end) = end else {
                if rest.len() < MARK_BYTES_MAX {
                    self.kept = rest.to_vec();
                    rest = &[];
                    break;
                }
                plain.push(rest[0]);
                rest = &rest[1..];
                continue;
            };
            if let Some(mark) = read(&rest[PREFIX.len()..end]) {
                if !plain.is_empty() {
                    parts.push(Part::Bytes(std::mem::take(&mut plain)));
                }
                parts.push(Part::Mark(mark));
            }
            rest = &rest[end + 1..];
        }
        plain.extend_from_slice(rest);
        if !plain.is_empty() {
            parts.push(Part::Bytes(plain));
        }
        parts
    }

    /// The held back rest, once nothing follows.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.kept)
    }
}

fn read(body: &[u8]) -> Option<Mark> {
    let text = String::from_utf8_lossy(body);
    let mut fields = text.splitn(4, ';');
    match fields.next()? {
        "p" => Some(Mark::Prompt(fields.next()?.to_owned())),
        "b" => Some(Mark::Begin(fields.next()?.to_owned())),
        "e" => Some(Mark::End {
            nonce: fields.next()?.to_owned(),
            code: fields.next()?.parse().ok()?,
            folder: fields.next()?.to_owned(),
        }),
        _ => None,
    }
}

/// The prompt of a new shell, which marks itself.
pub(super) const PROMPT: &str = r"\[\e]5277;p;$$\a\]\w\$ ";

/// The lines to type so that the shell carries out `command` between two marks, whatever its prompt, options and traps are. The
/// command runs in the shell itself; a command that cannot be parsed fails alone.
pub(super) fn typed(command: &str, nonce: &str) -> Vec<u8> {
    let begin = format!(r"\builtin printf '\033]5277;b;{nonce}\007' >/dev/tty");
    let end = format!(r#"\builtin printf '\033]5277;e;{nonce};%d;%s\007' "$?" "${{PWD//[[:cntrl:]]/?}}" >/dev/tty"#);
    let quoted = quoted(command);
    let mut lines = Vec::new();
    if quoted.len() <= 1 {
        let text = quoted.first().map_or("", String::as_str);
        lines.push(format!(" {begin};\\builtin eval -- $'{text}';{end}"));
    } else {
        for (index, text) in quoted.iter().enumerate() {
            let operator = if index == 0 { "=" } else { "+=" };
            lines.push(format!(" __command{operator}$'{text}'"));
        }
        lines.push(format!(" {begin};\\builtin eval -- \"$__command\";{end};\\builtin unset __command"));
    }
    // End of line and back to its beginning: what was typed and not sent is dropped.
    let mut bytes = b"\x05\x15".to_vec();
    for line in lines {
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// Longest typed part: a terminal that is not read from keeps 4,095 bytes of a line.
const PART_BYTES_MAX: usize = 2_000;

/// The command as the insides of `$'…'`, in parts that are each whole.
fn quoted(command: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    for letter in command.chars() {
        if part.len() > PART_BYTES_MAX {
            parts.push(std::mem::take(&mut part));
        }
        match letter {
            '\n' => part.push_str(r"\n"),
            '\t' => part.push_str(r"\t"),
            '\'' => part.push_str(r"\'"),
            '\\' => part.push_str(r"\\"),
            ' '..='~' if letter != '!' && letter != '^' => part.push(letter),
            letter => {
                let mut buffer = [0; 4];
                for byte in letter.encode_utf8(&mut buffer).bytes() {
                    let _ = write!(part, r"\x{byte:02x}");
                }
            }
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gathered(pieces: &[&[u8]]) -> (Vec<u8>, Vec<Mark>) {
        let mut scanner = Scanner::default();
        let (mut bytes, mut marks) = (Vec::new(), Vec::new());
        for piece in pieces {
            for part in scanner.feed(piece) {
                match part {
                    Part::Bytes(more) => bytes.extend(more),
                    Part::Mark(mark) => marks.push(mark),
                }
            }
        }
        bytes.extend(scanner.rest());
        (bytes, marks)
    }

    #[test]
    fn marks_are_found_wherever_the_stream_is_cut() {
        let stream = b"a\x1b[31m\x1b]0;t\x1b]5277;b;n1\x07out\xff\x1b]5277;e;n1;-3;/a;b\x07z\x1b";
        let whole = gathered(&[stream]);
        assert_eq!(whole.0, b"a\x1b[31m\x1b]0;tout\xffz\x1b");
        let end = Mark::End { nonce: "n1".to_owned(), code: -3, folder: "/a;b".to_owned() };
        assert_eq!(whole.1, [Mark::Begin("n1".to_owned()), end]);
        for cut in 0..stream.len() {
            assert_eq!(gathered(&[&stream[..cut], &stream[cut..]]), whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_mark_that_never_ends_is_printed_at_last() {
        let mut stream = PREFIX.to_vec();
        stream.extend(vec![b'x'; 2 * MARK_BYTES_MAX]);
        let (bytes, marks) = gathered(&[&stream]);
        assert_eq!((bytes, marks), (stream, Vec::new()));
    }

    #[test]
    fn long_commands_are_typed_in_lines_that_a_terminal_keeps() {
        let lines = typed(&"é'\n".repeat(5_000), "n");
        assert!(lines.split(|byte| *byte == b'\n').all(|line| line.len() < 4_000));
    }

    proptest! {
        #[test]
        fn no_stream_breaks_the_scanner(pieces in proptest::collection::vec(proptest::collection::vec(
            prop_oneof![Just(b'\x1b'), Just(b']'), Just(b'5'), Just(b'2'), Just(b'7'), Just(b';'), Just(b'\x07'), any::<u8>()],
            0..40,
        ), 0..10)) {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let whole: Vec<u8> = pieces.concat();
            prop_assert_eq!(gathered(&pieces), gathered(&[&whole]));
        }
    }
}
