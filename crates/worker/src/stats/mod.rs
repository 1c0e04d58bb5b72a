//! Statistics over episodes: pure functions, each with its source. `known.py` works out the numbers that their tests hold them to.

pub mod clustered;
pub mod outcome;
pub mod paired;
pub mod pass_at;
pub mod student;
pub mod summary;
pub mod wilson;
