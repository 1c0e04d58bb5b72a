//! The expressions of a definition: parsed and checked once when it is loaded, then run as a compact tree.
//!
//! The syntax is that of CEL. The `cel` crate is not used: it binds whole values dynamically and knows no static types, while
//! here a row is read cell by cell out of a shared table, and every mistake of type or of null is found before anything runs.
//! `??` binds closer than comparisons and looser than `+`, and comparisons do not chain.

mod checker;
mod code;
mod frame;
mod functions;
mod lexer;
mod machine;
mod parser;
mod scope;
mod show;
mod syntax;
mod template;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use frame::{DEFAULT_BUDGET, EvalError, Frame, Host, NoHost, Rows};
pub use scope::{Function, Judge, Roots, Scope, Signature, Tables};

use self::checker::{Checker, Typed};
use self::code::{Code, Part};
use self::machine::Machine;
use crate::kinds::{ColumnId, TableId, Type};
use crate::value::Value;

/// Most characters of an expression or a template.
pub const MAX_LENGTH: usize = 4_000;
/// Largest depth of nested expressions.
pub const MAX_DEPTH: usize = 64;

/// One thing that is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Position in the source, in characters from 0.
    pub offset: usize,
    /// Description of the fault and of the expected form.
    pub message: String,
}

/// An expression that will run: all names are resolved and all types are known.
#[derive(Debug, Clone)]
pub struct Checked {
    kind: Type,
    code: Code,
    /// Number of variables alive at once.
    variables: usize,
    /// Paths that are not null if this is true.
    proves: Arc<[Arc<str>]>,
    /// Paths that are not null if this is false.
    refutes: Arc<[Arc<str>]>,
    locals: Arc<[u16]>,
}

impl Checked {
    /// A value that is known already.
    #[must_use]
    pub(crate) fn known(value: Value, kind: Type) -> Self {
        let code = Code::Constant(value);
        Self { kind, code, variables: 0, proves: Arc::from([]), refutes: Arc::from([]), locals: Arc::from([]) }
    }

    /// The type of the values that it gives. It fits the type that was expected, and may be narrower.
    #[must_use]
    pub const fn kind(&self) -> &Type {
        &self.kind
    }

    /// The places in [`Scope::locals`] of the names that it mentions, ascending.
    #[must_use]
    pub fn locals(&self) -> &[u16] {
        &self.locals
    }

    /// The value, if it is written out: a literal, or a list of literals.
    #[must_use]
    pub const fn constant(&self) -> Option<&Value> {
        match &self.code {
            Code::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The values that are written in it, as they stand.
    #[must_use]
    pub fn constants(&self) -> Vec<Value> {
        let mut found = Vec::new();
        self.code.visit(&mut |code| {
            if let Code::Constant(value) | Code::Is(_, value, _) = code {
                found.push(value.clone());
            }
        });
        found
    }

    /// Added functions that it calls, as [`Function::id`] with the values that are written as arguments.
    #[must_use]
    pub fn asks(&self) -> Vec<(u16, Vec<Value>)> {
        let mut found = Vec::new();
        self.code.visit(&mut |code| {
            if let Code::Host(function, arguments) = code {
                let written = |code: &Code| if let Code::Constant(value) = code { Some(value.clone()) } else { None };
                found.push((*function, arguments.iter().filter_map(written).collect()));
            }
        });
        found
    }

    /// Gives the value.
    ///
    /// # Errors
    /// See [`EvalError`].
    pub fn evaluate(&self, frame: &mut Frame<'_>) -> Result<Value, EvalError> {
        Machine::new(frame, self.variables).value(&self.code)
    }

    /// The opposite of a condition, with what it proves: what may be assumed in the other branch.
    #[must_use]
    pub fn negated(&self) -> Self {
        Self {
            code: Code::Not(Box::new(self.code.clone())),
            proves: Arc::clone(&self.refutes),
            refutes: Arc::clone(&self.proves),
            ..self.clone()
        }
    }

    /// Gives the value of a condition.
    ///
    /// # Errors
    /// See [`EvalError`]; [`EvalError::Mismatch`] when this is no condition.
    pub fn holds(&self, frame: &mut Frame<'_>) -> Result<bool, EvalError> {
        Machine::new(frame, self.variables).truth(&self.code)
    }
}

/// A text with holes that expressions fill.
#[derive(Debug, Clone)]
pub struct Template {
    parts: Box<[Part]>,
    variables: usize,
    locals: Arc<[u16]>,
}

impl Template {
    /// The places in [`Scope::locals`] of the names that it mentions, ascending.
    #[must_use]
    pub fn locals(&self) -> &[u16] {
        &self.locals
    }

    /// The columns that it reads of the row of a local, without repetition: of `${issue.title}` the title.
    #[must_use]
    pub fn columns_of(&self, local: u16) -> Vec<ColumnId> {
        let mut columns = Vec::new();
        let mut see = |code: &Code| match code {
            Code::Member(row, code::Member::Column(column), _)
                if matches!(**row, Code::Local(found) if found == local) && !columns.contains(column) =>
            {
                columns.push(*column);
            }
            _ => {}
        };
        for part in &self.parts {
            if let Part::Hole(_, code) = part {
                code.visit(&mut see);
            }
        }
        columns
    }

    /// Fills the holes.
    ///
    /// # Errors
    /// See [`EvalError`].
    pub fn render(&self, frame: &mut Frame<'_>) -> Result<String, EvalError> {
        Machine::new(frame, self.variables).text(&self.parts)
    }
}

/// Checks an expression. An expected type also says what literals mean: words of an enum, decimals, null, the empty list.
///
/// # Errors
/// Everything that is wrong with it; never empty.
pub fn check(source: &str, scope: &Scope<'_>, expected: Option<&Type>) -> Result<Checked, Vec<Wrong>> {
    let expr = parser::parse(source).map_err(|wrong| vec![wrong])?;
    let mut checker = Checker::new(scope);
    let typed = checker.expect(&expr, expected);
    finish(checker, typed)
}

/// Checks a condition on the rows of a table, each of which it calls by the name of the variable. The result gives the list of
/// the rows for which it holds, in the order of creation, by an index where there is one.
///
/// # Errors
/// Everything that is wrong with it; never empty.
pub fn check_filter(condition: &str, table: TableId, variable: &str, scope: &Scope<'_>) -> Result<Checked, Vec<Wrong>> {
    let expr = parser::parse(condition).map_err(|wrong| vec![wrong])?;
    let mut checker = Checker::new(scope);
    let typed = checker.filter(table, variable, &expr);
    finish(checker, typed)
}

fn finish(checker: Checker<'_>, typed: Option<Typed>) -> Result<Checked, Vec<Wrong>> {
    match typed {
        Some(typed) if checker.errors.is_empty() => Ok(Checked {
            kind: typed.kind,
            code: typed.code,
            variables: checker.most_variables,
            proves: typed.yes.into(),
            refutes: typed.no.into(),
            locals: checker.used.into_iter().collect(),
        }),
        _ => Err(checker.errors),
    }
}

/// Checks a template: `Lend ${kind} for ${days} days.`; `$$` is a dollar sign.
///
/// # Errors
/// Everything that is wrong with it; never empty.
pub fn compile_template(source: &str, scope: &Scope<'_>) -> Result<Template, Vec<Wrong>> {
    let mut checker = Checker::new(scope);
    match checker.template(source, &|at| at) {
        Some(parts) if checker.errors.is_empty() => {
            Ok(Template { parts, variables: checker.most_variables, locals: checker.used.into_iter().collect() })
        }
        _ => Err(checker.errors),
    }
}
