//! Migrations, tuning and incidents as they are shipped: played in rooms and judged, on every engine that is here.

#![expect(
    clippy::print_stdout,
    reason = "a test that lacks an engine says so, and a verdict is read when a test fails"
)]

mod ground;
mod incident;
mod migration;
mod tuning;
