//! Output of a command, as text: bounded, with its head and its tail, without what steers a terminal.

/// Bytes of the beginning that are shown.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Bytes of the end that are shown.
const TAIL_BYTES_MAX: usize = 16 * 1024;

/// Keeps the beginning and the end of a stream.
#[derive(Debug, Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: Vec<u8>,
    omitted_bytes: u64,
}

impl Capture {
    /// Adds what was printed.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        let workspace = HEAD_BYTES_MAX - self.head.len();
        if workspace > 0 {
            let (first, rest) = bytes.split_at(workspace.min(bytes.len()));
            self.head.extend_from_slice(first);
            bytes = rest;
        }
        if bytes.len() >= TAIL_BYTES_MAX {
            self.omitted_bytes += (self.tail.len() + bytes.len() - TAIL_BYTES_MAX) as u64;
            self.tail = bytes[bytes.len() - TAIL_BYTES_MAX..].to_vec();
            return;
        }
        self.tail.extend_from_slice(bytes);
        // Cut in large steps: moving the tail for each byte would cost its square.
        if self.tail.len() > 2 * TAIL_BYTES_MAX {
            self.cut();
        }
    }

    /// The text so far, and how many bytes are left out of it; what follows begins anew.
    pub(super) fn take(&mut self) -> (String, u64) {
        if self.tail.len() > TAIL_BYTES_MAX {
            self.cut();
        }
        let Self { head, tail, omitted_bytes } = std::mem::take(self);
        if omitted_bytes == 0 {
            let whole = [head, tail].concat();
            return (plain(&whole), 0);
        }
        let text = format!("{}\n[... {omitted_bytes} bytes left out ...]\n{}", plain(&head), plain(&tail));
        (text, omitted_bytes)
    }

    fn cut(&mut self) {
        let over = self.tail.len() - TAIL_BYTES_MAX;
        self.omitted_bytes += over as u64;
        self.tail.drain(..over);
    }
}

/// The text that a terminal's stream carries: escape sequences and control characters are dropped, lines end in `\n` alone, what a
/// carriage return goes back over is dropped too, as are characters before a backspace, and what is not UTF-8 becomes U+FFFD.
pub(super) fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::with_capacity(text.len());
    let mut line = 0;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\x1b' => skip(&mut letters),
            '\u{9b}' => skip_control(&mut letters),
            '\r' => {
                while letters.peek() == Some(&'\r') {
                    letters.next();
                }
                // A progress bar draws its line again and again: the last one is what is seen.
                if letters.peek().is_some_and(|next| *next != '\n') {
                    plain.truncate(line);
                }
            }
            '\n' => {
                plain.push('\n');
                line = plain.len();
            }
            '\x08' => {
                if plain.len() > line {
                    plain.pop();
                }
            }
            '\t' => plain.push('\t'),
            letter if letter.is_control() => {}
            letter => plain.push(letter),
        }
    }
    plain
}

/// Skips what follows an escape character.
fn skip(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match letters.peek() {
        Some('[') => {
            letters.next();
            skip_control(letters);
        }
        // Strings: to the bell or ESC \, but never over the end of a line, so that one left open swallows no output.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            letters.next();
            while let Some(next) = letters.peek() {
                match next {
                    '\n' => break,
                    '\x07' => {
                        letters.next();
                        break;
                    }
                    '\x1b' => {
                        letters.next();
                        letters.next_if_eq(&'\\');
                        break;
                    }
                    _ => {
                        letters.next();
                    }
                }
            }
        }
        Some(_) => {
            while letters.next_if(|next| (' '..='/').contains(next)).is_some() {}
            letters.next_if(|next| ('0'..='~').contains(next));
        }
        None => {}
    }
}

fn skip_control(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while letters.next_if(|next| (' '..='?').contains(next)).is_some() {}
    letters.next_if(|next| ('@'..='~').contains(next));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_sequences_are_dropped() {
        for (raw, expected) in [
            (&b"a\r\nb\r\n"[..], "a\nb\n"),
            (b"\x1b[31mred\x1b[0m \x1b]0;title\x07x\x1b(B", "red x"),
            (b"10%\r20%\r100%\r\r\n", "100%\n"),
            (b"ab\x08c", "ac"),
            (b"\x1b]0;left open\r\nnext", "\nnext"),
            (b"\xff\xfe\x00\x07ok", "\u{fffd}\u{fffd}ok"),
            (b"\x1b", ""),
            (b"tab\there", "tab\there"),
        ] {
            assert_eq!(plain(raw), expected, "{raw:?}");
        }
    }

    #[test]
    fn floods_keep_their_head_and_tail() {
        let mut capture = Capture::default();
        let mut pushed = 0_u64;
        for number in 0..100_000 {
            let line = format!("{number}\n");
            pushed += line.len() as u64;
            capture.push(line.as_bytes());
        }
        capture.push(&vec![b'x'; 1_000_000]);
        let (text, omitted) = capture.take();
        assert!(text.starts_with("0\n1\n2\n") && text.ends_with("xxx"));
        assert_eq!(omitted, pushed + 1_000_000 - (HEAD_BYTES_MAX + TAIL_BYTES_MAX) as u64);
        assert!(text.contains(&format!("[... {omitted} bytes left out ...]")));
        assert_eq!(capture.take(), (String::new(), 0));
    }

    proptest! {
        #[test]
        fn plain_text_has_no_control_characters(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(plain(&bytes).chars().all(|letter| letter == '\n' || letter == '\t' || !letter.is_control()));
        }

        #[test]
        fn nothing_is_lost_count_of(sizes in proptest::collection::vec(0..40_000_usize, 0..8)) {
            let mut capture = Capture::default();
            for size in &sizes {
                capture.push(&vec![b'a'; *size]);
            }
            let (text, omitted) = capture.take();
            let letters = text.bytes().filter(|byte| *byte == b'a').count();
            prop_assert!(letters as u64 + omitted >= sizes.iter().sum::<usize>() as u64);
        }
    }
}
