//! SQL databases to act in, on SQLite and PostgreSQL: sessions with rewind, judges, tasks.
//!
//! An [`engine::Engine`] makes databases that are cloned from a [`source::Source`]; a [`session::DatabaseSession`] acts in one of them,
//! and a judge looks at what a session left, in databases that the acting side never saw. What is asked for is a [`task::Task`].

pub mod compare;
mod condition;
pub mod counterexample;
pub mod cut_off;
pub mod dataset;
pub mod engine;
pub mod fault;
mod grouping;
pub mod import;
pub mod judge;
pub mod library;
pub mod mutate;
mod names;
pub mod observe;
mod parse;
pub mod prove;
pub mod rewrite;
pub mod script;
pub mod session;
pub mod source;
#[cfg(test)]
mod stand_in;
pub mod task;
pub mod template;
pub mod translate;
pub mod value;
mod visit;
pub mod world;
