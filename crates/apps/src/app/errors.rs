//! Typed errors: those that every app has, by their ids, and where one is raised.

use std::sync::Arc;

use crate::definition::ErrorKind;
use crate::expression::Template as Text;
use crate::kinds::TableId;

/// Errors that every app has, in the order of their ids; those of the tables follow.
pub(crate) const BUILTIN: [(&str, ErrorKind); 6] = [
    ("invalid_argument", ErrorKind::Invalid),
    ("not_unique", ErrorKind::Conflict),
    ("in_use", ErrorKind::Conflict),
    ("number_out_of_range", ErrorKind::Invalid),
    ("permission_denied", ErrorKind::Forbidden),
    ("full", ErrorKind::Limit),
];
pub(crate) const INVALID_ARGUMENT: ErrorId = ErrorId(0);
pub(crate) const NOT_UNIQUE: ErrorId = ErrorId(1);
pub(crate) const IN_USE: ErrorId = ErrorId(2);
pub(crate) const NUMBER_OUT_OF_RANGE: ErrorId = ErrorId(3);
pub(crate) const PERMISSION_DENIED: ErrorId = ErrorId(4);
pub(crate) const FULL: ErrorId = ErrorId(5);
const TABLES: u16 = 6;

/// The error for an id that names no visible row of a table.
pub(crate) const fn not_found(table: TableId) -> ErrorId {
    ErrorId(TABLES + table.0)
}

/// A typed error, by its place in [`App::errors`](super::App::errors).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorId(pub u16);

/// A typed error.
#[derive(Debug, Clone)]
pub struct ErrorCode {
    /// Name in goals and answers.
    pub code: Arc<str>,
    /// Kind of error.
    pub kind: ErrorKind,
    /// The parameter that it is about.
    pub field: Option<Arc<str>>,
}

/// A place where an error is raised.
#[derive(Debug, Clone)]
pub struct Raise {
    /// The error.
    pub error: ErrorId,
    /// Message.
    pub text: Text,
}
