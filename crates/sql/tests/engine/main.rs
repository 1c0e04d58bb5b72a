//! What every engine does alike, and what SQLite's workers do beside that.

#[path = "../shared/form.rs"]
mod form;
mod many;
mod postgres;
mod sqlite;
mod suite;
mod workers;
