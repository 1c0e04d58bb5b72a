//! The commands of the program, one file each, and what they share.

pub mod apps;
pub mod check;
pub mod doctor;
mod download;
pub mod environments;
pub mod explore;
pub mod failure;
pub mod files;
mod folder;
pub mod images;
pub mod jobs;
pub mod keys;
mod local_workers;
pub mod openapi;
pub mod policies;
mod progress;
pub mod publish;
pub mod run;
pub mod serve;
mod signal;
mod tally;
pub mod target;
mod watch;
pub mod work;
