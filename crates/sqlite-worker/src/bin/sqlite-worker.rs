//! The worker as a program of its own; the server carries the same in itself.

use std::process::ExitCode;

fn main() -> ExitCode {
    palestra_sqlite_worker::serve::run()
}
