//! What every engine does alike, and what SQLite's workers do beside that.

mod many;
mod postgres;
mod sqlite;
mod suite;
mod workers;
