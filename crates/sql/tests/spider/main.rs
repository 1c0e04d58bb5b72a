//! The questions of Spider: imported, their references run on both engines and judged.
//!
//! Two databases in the short form; `PALESTRA_SPIDER=all` takes all twenty.

#![expect(clippy::print_stdout, reason = "a measurement is there to be read")]

mod databases;
mod folder;
#[path = "../shared/private.rs"]
mod private;
mod questions;
