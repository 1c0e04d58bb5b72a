//! Lines for people and scripts: results on standard output, everything else on standard error.

use std::io::{self, Write};

/// Prints a line of the result.
///
/// # Errors
/// When nobody reads any more.
pub(crate) fn print(line: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{line}")
}

/// Says what is going on.
pub(crate) fn tell(line: &str) {
    // Nothing is left to tell when standard error is closed.
    let _ = writeln!(io::stderr().lock(), "{line}");
}
