//! Typed errors of calls, and faults of a definition that only show while it runs.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::app::errors;
use crate::app::{App, ErrorId};
use crate::data::Refusal;
use crate::expression::EvalError;
use crate::kinds::TableId;
use crate::native::Failure;
use crate::syntax::nearest;

/// A typed error: the call changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {text}")]
pub struct Raised {
    /// Name in goals and answers.
    pub code: Arc<str>,
    /// Kind of error.
    pub kind: &'static str,
    /// Message.
    pub text: String,
    /// The parameter that it is about.
    pub field: Option<Arc<str>>,
}

/// Reason why a call did not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// For whoever called.
    #[error(transparent)]
    Raised(#[from] Raised),
    /// The definition is at fault: never a failure of who acts.
    #[error("the definition is at fault: {0}")]
    Crashed(EvalError),
}

/// An overflow is an answer to whoever chose the numbers; all else is a fault of the definition.
pub(super) fn stop(app: &App, error: EvalError) -> CallError {
    match error {
        EvalError::OutOfRange(what) => {
            Raised::plain(app, errors::NUMBER_OUT_OF_RANGE, format!("{what} is out of range.")).into()
        }
        other => CallError::Crashed(other),
    }
}

impl Raised {
    /// An error with a text.
    pub(crate) fn plain(app: &App, error: ErrorId, text: impl Into<String>) -> Self {
        let (code, kind, field) = match app.errors.get(usize::from(error.0)) {
            Some(error) => (Arc::clone(&error.code), error.kind.word(), error.field.clone()),
            None => (Arc::from("invalid_argument"), "invalid", None),
        };
        Self { code, kind, text: text.into(), field }
    }

    /// Error of a native.
    pub(super) fn of_native(app: &App, failure: Failure) -> Self {
        let declared = app.errors.iter().zip(0..).find(|(error, _)| *error.code == *failure.code);
        Self::plain(app, declared.map_or(errors::INVALID_ARGUMENT, |(_, place)| ErrorId(place)), failure.text)
    }

    /// The same, about a parameter.
    pub(crate) fn about(mut self, field: &str) -> Self {
        self.field = Some(field.into());
        self
    }

    /// There is no such call.
    pub(super) fn unknown_call(app: &App, name: &str) -> Self {
        let name: String = name.chars().take(60).collect();
        let hint = nearest(&name, app.calls.keys().map(|name| &**name))
            .map_or_else(String::new, |near| format!(" Did you mean {near}?"));
        Self::plain(app, errors::INVALID_ARGUMENT, format!("There is no call named {name:?}.{hint}"))
    }

    /// The caller may not.
    pub(super) fn denied(app: &App, name: &str) -> Self {
        Self::plain(app, errors::PERMISSION_DENIED, format!("{name} may not be called by you."))
    }

    /// No visible row of a table has this id.
    pub(crate) fn no_row(app: &App, table: TableId, id: &str) -> Self {
        let id: String = id.chars().take(60).collect();
        let name = app.schema.table(table).name.replace('_', " ");
        Self::plain(app, errors::not_found(table), format!("There is no {name} {id:?}."))
    }

    /// The data refused.
    pub(super) fn refused(app: &App, refusal: Refusal) -> CallError {
        let table = |table: TableId| app.schema.table(table).name.replace('_', " ");
        let raised = match refusal {
            Refusal::Unique { table: of, column } => {
                let column = &app.schema.table(of).describe(column).name;
                Self::plain(app, errors::NOT_UNIQUE, format!("Another {} has this {column}.", table(of))).about(column)
            }
            Refusal::Restricted { table: of, .. } => {
                Self::plain(app, errors::IN_USE, format!("A {} still refers to it.", table(of)))
            }
            Refusal::Full { table: of } => {
                Self::plain(app, errors::FULL, format!("There is no room for another {}.", table(of)))
            }
            Refusal::TooMany => Self::plain(app, errors::FULL, "Too much would be deleted at once."),
            Refusal::Value { table: of, column, why } => {
                let column = &app.schema.table(of).describe(column).name;
                Self::plain(app, errors::NUMBER_OUT_OF_RANGE, format!("{column}: {why}.")).about(column)
            }
            Refusal::Missing(row) => return CallError::Crashed(EvalError::Dangling(row)),
            Refusal::Width { .. } | Refusal::Id { .. } | Refusal::Single { .. } => {
                return CallError::Crashed(EvalError::Mismatch);
            }
        };
        raised.into()
    }

    /// `{"error": {"code", "kind", "message", "field"}}`
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut error = json!({"code": &*self.code, "kind": self.kind, "message": self.text});
        if let (Some(field), Some(error)) = (&self.field, error.as_object_mut()) {
            error.insert("field".to_owned(), json!(&**field));
        }
        json!({"error": error})
    }
}
