//! The commands of the program, one file each, and what they share.

pub mod apps;
pub mod check;
pub mod doctor;
pub mod environments;
mod episode;
pub mod explore;
pub mod failure;
mod folder;
pub mod images;
pub mod keys;
pub mod openapi;
mod ownership;
mod player;
mod progress;
pub mod publish;
pub mod run;
pub mod serve;
mod signal;
mod tally;
pub mod target;
mod terminal;
