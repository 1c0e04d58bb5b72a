//! Mock applications as data: the definition language, its checker, and the engine that runs what it describes.
//!
//! Pure: no IO, no wall clock, no async. The same definition, seed and calls always give the same state.

pub mod calendar;
pub mod expression;
pub mod fault;
pub mod kinds;
pub mod value;
