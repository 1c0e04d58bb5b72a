//! The commands of the program, one file each.

pub mod doctor;
pub mod environments;
pub mod keys;
pub mod openapi;
pub mod publish;
pub mod run;
pub mod serve;

mod failure;
mod player;
mod target;
mod terminal;
