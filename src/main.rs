//! The binary: its allocator, and the program of the library.

use std::process::ExitCode;

// Without huge pages: of each, a small part would be in use, and a server at rest would hold a third more memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    palestra::program::run()
}
