//! Statistics over episodes: pure functions, each with its source.

pub mod wilson;
