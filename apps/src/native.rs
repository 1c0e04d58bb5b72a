//! Natives: pure functions in Rust that a definition may name where data alone does not reach. All of them stand here.

mod arithmetic;

use serde_json::{Map, Value};

/// Computes an answer from arguments, or says what is wrong with them.
pub type Native = fn(&Map<String, Value>) -> Result<Value, String>;

/// Every native by its name.
const NATIVES: [(&str, Native); 1] = [("arithmetic", arithmetic::evaluate)];

/// The native of a name.
#[must_use]
pub fn find(name: &str) -> Option<Native> {
    NATIVES.iter().find(|(known, _)| *known == name).map(|(_, native)| *native)
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    NATIVES.iter().map(|(name, _)| *name)
}
