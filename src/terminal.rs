//! The one way to standard output and standard error. Whatever is written there, names, observations and errors of others among it, is
//! escaped on the way: nobody but this program commands the terminal.

use std::io::{self, IsTerminal as _, Stderr, Stdout, Write};

use palestra_protocol::visible::{escape, escape_line};

/// Longest character in UTF-8, in bytes.
const CHARACTER_BYTES_MAX: usize = 4;

/// A writer that passes text on with what would command a terminal written out; what is no UTF-8 becomes U+FFFD.
#[derive(Debug)]
pub struct Plain<W> {
    writer: W,
    /// The beginning of a character whose end has not come yet.
    begun: Vec<u8>,
    /// True if escapes come from this program alone, such as the colours of the log.
    coloured: bool,
}

/// Standard output.
#[must_use]
pub fn output() -> Plain<Stdout> {
    Plain::new(io::stdout())
}

/// Standard error.
#[must_use]
pub fn errors() -> Plain<Stderr> {
    Plain::new(io::stderr())
}

/// Tells whether somebody looks at standard error.
#[must_use]
pub fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Tells whether somebody looks at standard output and can answer.
#[must_use]
pub fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Where the log goes. With colours, whoever writes it has escaped the escapes of others.
pub(crate) fn log(coloured: bool) -> impl Fn() -> Plain<Stderr> + Send + Sync + 'static {
    move || Plain { coloured, ..errors() }
}

/// Writes `text` and a line break, and makes sure that it has left.
///
/// # Errors
/// When standard output is closed.
pub fn print_line(text: &str) -> io::Result<()> {
    let mut output = output();
    writeln!(output, "{text}")?;
    output.flush()
}

impl<W: Write> Plain<W> {
    /// Escapes what goes to `writer`.
    pub const fn new(writer: W) -> Self {
        Self { writer, begun: Vec::new(), coloured: false }
    }

    fn pass(&mut self, text: &str) -> io::Result<()> {
        if !self.coloured {
            return self.writer.write_all(escape(text).as_bytes());
        }
        for (index, part) in text.split('\u{1b}').enumerate() {
            if index > 0 {
                self.writer.write_all(b"\x1b")?;
            }
            self.writer.write_all(escape(part).as_bytes())?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut pending = std::mem::take(&mut self.begun);
        pending.extend_from_slice(bytes);
        let mut rest = pending.as_slice();
        while !rest.is_empty() {
            let (whole, broken) = match std::str::from_utf8(rest) {
                Ok(_) => (rest.len(), 0),
                Err(error) => (error.valid_up_to(), error.error_len().unwrap_or(CHARACTER_BYTES_MAX)),
            };
            let (text, after) = rest.split_at(whole);
            self.pass(&String::from_utf8_lossy(text))?;
            if broken == CHARACTER_BYTES_MAX && after.len() < CHARACTER_BYTES_MAX {
                self.begun = after.to_vec();
                break;
            }
            if broken > 0 {
                self.pass("\u{fffd}")?;
            }
            rest = &after[broken.min(after.len())..];
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Text of somebody else in one line: line ends and tabs are spaces, what else would command a terminal is written out.
#[must_use]
pub fn visible(text: &str) -> String {
    escape_line(&text.replace(['\n', '\t'], " ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pieces: &[&[u8]], coloured: bool) -> String {
        let mut plain = Plain { coloured, ..Plain::new(Vec::new()) };
        for piece in pieces {
            plain.write_all(piece).unwrap();
        }
        String::from_utf8(plain.writer).unwrap()
    }

    #[test]
    fn nothing_that_is_written_commands_the_terminal() {
        assert_eq!(written(&[b"a\x1b]0;title\x07b\r\n"], false), "a\\u001b]0;title\\u0007b\\u000d\n");
        assert_eq!(written(&["x\u{202e}y\u{9b}2J".as_bytes()], false), "x\\u202ey\\u009b2J");
        assert_eq!(
            written(&["\u{1b}[32mINFO\u{1b}[0m a\u{9b}\u{202e}".as_bytes()], true),
            "\u{1b}[32mINFO\u{1b}[0m a\\u009b\\u202e"
        );
    }

    #[test]
    fn characters_that_come_in_pieces_are_whole_and_broken_ones_are_marked() {
        let text = "é\u{9b}🙂".as_bytes();
        for cut in 0..text.len() {
            assert_eq!(written(&[&text[..cut], &text[cut..]], false), "é\\u009b🙂", "{cut}");
        }
        let single: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(written(&single, false), "é\\u009b🙂");
        assert_eq!(written(&[b"a\xffb\xc3(\xf0\x9f(c"], false), "a\u{fffd}b\u{fffd}(\u{fffd}(c");
        // A lone byte is no control of eight bits.
        assert_eq!(written(&[b"\x9b2J"], false), "\u{fffd}2J");
    }
}
