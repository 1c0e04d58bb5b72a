//! Tests of the surface of definitions: what is accepted, what is refused, and that faults stand where they should.

mod files;
mod read;
mod yaml;

use crate::fault::Faults;

/// Faults as an author sees them.
fn messages(faults: &Faults) -> Vec<String> {
    faults.iter().map(ToString::to_string).collect()
}
