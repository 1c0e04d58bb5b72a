//! The commands of the command line, one file each.

pub mod doctor;
pub mod environments;
pub mod failure;
pub mod keys;
mod player;
pub mod publish;
pub mod run;
pub mod target;
