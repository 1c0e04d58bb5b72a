//! Typed errors: their codes, where they are raised, and those that nothing raises.

use std::sync::Arc;

use super::Compiler;
use super::names::{Names, SharedScope};
use crate::app::errors::{BUILTIN, ErrorCode, ErrorId, Raise};
use crate::definition::{Definition, ErrorKind, Name};
use crate::fault::Faults;

/// Every error code: those that every app has, those of its tables and rules, and its own.
pub(super) fn codes(definition: &Definition, shared: &SharedScope) -> Vec<ErrorCode> {
    let code = |code: String, kind| ErrorCode { code: code.into(), kind, field: None };
    let mut codes: Vec<ErrorCode> = BUILTIN.iter().map(|(name, kind)| code((*name).to_owned(), *kind)).collect();
    for table in &shared.schema.tables {
        codes.push(code(format!("{}_not_found", table.name), ErrorKind::NotFound));
    }
    for rule in &definition.rules {
        codes.push(code(format!("rule_{}", rule.id.text), ErrorKind::Forbidden));
    }
    for (name, error) in &definition.errors {
        let field = error.field.as_ref().map(|field| Arc::clone(&field.text));
        let code = ErrorCode { code: Arc::clone(&name.text), kind: error.kind, field };
        match codes.iter_mut().find(|known| known.code == name.text) {
            Some(known) => *known = code,
            None => codes.push(code),
        }
    }
    codes
}

/// A place where an error of the app is raised.
pub(super) fn raise(compiler: &Compiler<'_>, code: &Name, names: &Names<'_>, faults: &mut Faults) -> Option<Raise> {
    let definition = compiler.definition;
    let Some((_, error)) = definition.errors.iter().find(|(name, _)| name.text == code.text) else {
        faults.push(code.unknown("error", definition.errors.iter().map(|(name, _)| &*name.text)));
        return None;
    };
    compiler.raised.borrow_mut().insert(Arc::clone(&code.text));
    let text = names.template(&error.text, faults)?;
    Some(Raise { error: compiler.error(&code.text)?, text })
}

impl Compiler<'_> {
    /// The error of a code.
    pub(super) fn error(&self, code: &str) -> Option<ErrorId> {
        let place = self.errors.iter().position(|known| &*known.code == code)?;
        u16::try_from(place).ok().map(ErrorId)
    }

    /// Faults where `errors` lacks a code that a native raises.
    pub(super) fn declared(&self, native: &Name, codes: &[&str], faults: &mut Faults) {
        for code in codes {
            if self.definition.errors.iter().any(|(name, _)| *name.text == **code) {
                self.raised.borrow_mut().insert(Arc::from(*code));
            } else {
                faults.push(native.fault(format!("it raises the error `{code}`, which `errors` does not declare")));
            }
        }
    }

    /// Reports errors that nothing raises.
    pub(super) fn unraised(&self, faults: &mut Faults) {
        let raised = self.raised.borrow();
        for (name, _) in self.definition.errors.iter().filter(|(name, _)| !raised.contains(&name.text)) {
            let builtin =
                self.shared.schema.tables.iter().any(|table| *name.text == *format!("{}_not_found", table.name));
            if !builtin {
                faults.push(name.fault(format!("nothing raises the error `{}`", name.text)));
            }
        }
    }
}
