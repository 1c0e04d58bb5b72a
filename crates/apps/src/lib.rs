//! Mock applications as data: the definition language, its checker, and the engine that runs what it describes.
//!
//! Pure: no IO, no wall clock, no async. The same definition, seed and calls always give the same state.

pub mod amount;
pub mod app;
pub mod calendar;
pub mod check;
pub mod compile;
pub mod data;
pub mod definition;
pub mod draw;
pub mod explore;
pub mod expression;
pub mod fault;
pub mod functions;
pub mod html;
pub mod ids;
pub mod json;
pub mod kinds;
pub mod limits;
pub mod native;
pub mod positions;
mod reading;
pub mod run;
pub mod schema;
pub mod screen;
pub mod syntax;
pub mod task;
pub mod tool;
pub mod value;
pub mod words;
