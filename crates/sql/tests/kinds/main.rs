//! Migrations, tuning and incidents as they are shipped: played in sessions and judged, on every engine that is here.

#![expect(
    clippy::print_stdout,
    reason = "a test that lacks an engine says so, and a verdict is read when a test fails"
)]

mod audit;
mod broken;
mod closed;
#[path = "../shared/form.rs"]
mod form;
mod ground;
mod incident;
mod migration;
#[path = "../shared/private.rs"]
mod private;
mod tuning;
