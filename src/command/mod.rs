//! The commands of the program, one file each.

pub mod doctor;
pub mod environments;
pub mod failure;
pub mod keys;
pub mod openapi;
mod player;
pub mod publish;
pub mod run;
pub mod serve;
pub mod target;
mod terminal;
