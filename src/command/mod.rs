//! The commands of the program, one file each.

pub mod openapi;
pub mod serve;

mod terminal;
