//! The one way to standard output: what people and scripts read, apart from the log.

use std::io::{self, Write};

/// Writes `text` and a line break, and makes sure that it has left.
///
/// # Errors
/// When standard output is closed.
pub(super) fn print_line(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.write_all(b"\n")?;
    output.flush()
}
