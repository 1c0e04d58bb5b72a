//! The expressions of a definition: parsed and checked once when it is loaded, then run as a compact tree.
//!
//! The syntax is that of CEL. The `cel` crate is not used: it binds whole values dynamically and knows no static types, while
//! here a row is read cell by cell out of a shared table, and every mistake of type or of null is found before anything runs.
//! `??` binds closer than comparisons and looser than `+`, and comparisons do not chain.

mod frame;
mod scope;

pub use frame::{DEFAULT_BUDGET, EvalError, Frame, Host, NoHost, Rows};
pub use scope::{Function, Judge, Roots, Scope, Signature, Tables};

use crate::kinds::Type;
use crate::value::Value;

/// Most characters of an expression or a template.
pub const MAX_LENGTH: usize = 4_000;
/// How deeply parts of an expression may be nested.
pub const MAX_DEPTH: usize = 64;

/// One thing that is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Where in the source, in characters from 0.
    pub offset: usize,
    /// What was found, and what is expected.
    pub message: String,
}

/// An expression that will run: all names are resolved and all types are known.
#[derive(Debug, Clone)]
pub struct Checked {
    kind: Type,
}

impl Checked {
    /// The type of the values that it gives.
    #[must_use]
    pub const fn kind(&self) -> &Type {
        &self.kind
    }

    /// Gives the value.
    ///
    /// # Errors
    /// See [`EvalError`].
    pub fn evaluate(&self, _frame: &mut Frame<'_>) -> Result<Value, EvalError> {
        Err(EvalError::Mismatch)
    }

    /// Gives the value of a condition.
    ///
    /// # Errors
    /// See [`EvalError`]; [`EvalError::Mismatch`] when this is no condition.
    pub fn holds(&self, frame: &mut Frame<'_>) -> Result<bool, EvalError> {
        match self.evaluate(frame)? {
            Value::Bool(value) => Ok(value),
            _ => Err(EvalError::Mismatch),
        }
    }
}

/// A text with holes that expressions fill.
#[derive(Debug, Clone)]
pub struct Template {}

impl Template {
    /// Fills the holes.
    ///
    /// # Errors
    /// See [`EvalError`].
    pub fn render(&self, _frame: &mut Frame<'_>) -> Result<String, EvalError> {
        Err(EvalError::Mismatch)
    }
}

/// Checks an expression. An expected type also says what literals mean: words of an enum, decimals, null, the empty list.
///
/// # Errors
/// Everything that is wrong with it; never empty.
pub fn check(source: &str, _scope: &Scope<'_>, _expected: Option<&Type>) -> Result<Checked, Vec<Wrong>> {
    Err(vec![Wrong { offset: 0, message: source.to_owned() }])
}

/// Checks a template: `Lend ${kind} for ${days} days.`; `$$` is a dollar sign.
///
/// # Errors
/// Everything that is wrong with it; never empty.
pub fn compile_template(source: &str, _scope: &Scope<'_>) -> Result<Template, Vec<Wrong>> {
    Err(vec![Wrong { offset: 0, message: source.to_owned() }])
}
