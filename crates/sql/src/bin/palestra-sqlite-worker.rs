//! A SQLite worker as a program of its own, for tests and measurements. The server starts itself as one.

use std::process::ExitCode;

fn main() -> ExitCode {
    palestra_sqlite_worker::serve::run()
}
