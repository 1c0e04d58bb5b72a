//! Faults of files, and their places.

/// A fault of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{place}: {detail}")]
pub struct Fault {
    /// The file, with a line or a field where it is known.
    pub place: String,
    /// Description of the fault.
    pub detail: String,
}

impl Fault {
    /// A fault at a place.
    pub fn new(place: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { place: place.into(), detail: detail.into() }
    }
}
