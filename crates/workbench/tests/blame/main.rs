//! Blame where a sandbox is lost or a judge fails: ways of an acting side to break its own place, each of which scores 0 (or what
//! the work is worth all the same) with evidence, and faults of the machine, none of which is a score.
#![expect(clippy::print_stdout, reason = "a test says what a verdict rests on")]

mod code;
mod faults;
mod folders;
mod repository;
mod terminal;
mod workbench;
