//! Suite that every engine passes, and tests of SQLite's workers.

#[path = "../shared/form.rs"]
mod form;
mod many;
mod postgres;
mod sqlite;
mod suite;
mod workers;
