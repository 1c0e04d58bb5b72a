//! Natives: pure functions in Rust that a definition may name where data alone does not reach. All of them stand here.

mod arithmetic;

use serde_json::{Map, Value};

/// A pure function from arguments to an answer.
#[derive(Debug)]
pub struct Native {
    /// Name in definitions.
    pub name: &'static str,
    /// The errors that it raises; a definition that names it declares them.
    pub codes: &'static [&'static str],
    /// Computes the answer, which is the whole answer of the action.
    pub run: fn(&Map<String, Value>) -> Result<Value, Failure>,
}

/// Fault of the arguments of a native.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One of [`Native::codes`].
    pub code: &'static str,
    /// For whoever called.
    pub text: String,
}

/// Every native.
const NATIVES: [&Native; 1] = [&arithmetic::ARITHMETIC];

/// The native of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Native> {
    NATIVES.into_iter().find(|native| native.name == name)
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    NATIVES.into_iter().map(|native| native.name)
}
