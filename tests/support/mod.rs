//! What several tests need.

pub mod postgres;
