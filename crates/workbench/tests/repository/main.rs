//! Repositories in real sandboxes: what is shipped, what cheats, what is broken.
#![expect(clippy::print_stdout, reason = "a test says what a verdict rests on")]

mod archives;
mod cheats;
mod fixture;
mod languages;
mod patches;
mod sessions;
mod verdicts;
