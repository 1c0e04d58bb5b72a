//! Parameters of actions and views, as a definition gives them.

use std::sync::Arc;

use crate::expression::Checked;
use crate::kinds::Type;

/// Parameter of an action or view.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its name.
    pub name: Arc<str>,
    /// Its type; `Opt` where null is allowed.
    pub kind: Type,
    /// Of the value, or of the length of text and lists; both ends included.
    pub bounds: Bounds,
    /// The same for the fields of a record, or the elements of a list.
    pub inner: Vec<Parameter>,
    /// The value where none is given.
    pub default: Option<Checked>,
}

impl Parameter {
    /// True if it must be given.
    #[must_use]
    pub const fn required(&self) -> bool {
        self.default.is_none() && !self.kind.may_be_null()
    }
}

/// Least and most, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Least.
    pub least: Option<i64>,
    /// Most.
    pub most: Option<i64>,
}

/// An argument that a definition gives.
#[derive(Debug)]
pub enum Argument {
    /// This value.
    Given(Checked),
    /// The parameter's default, or null.
    Default,
}
