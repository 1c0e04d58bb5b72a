//! Speaks frames with the program, as process 1 of a namespace of its own.

mod archives;
mod commands;
mod files;
mod harness;
mod layers;
mod processes;
mod programs;
