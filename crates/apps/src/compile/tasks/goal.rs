//! Goals of tasks: changes, what may change as it likes, and the answer.

use std::sync::Arc;

use crate::app::goal::{Answer, Change, Field, Free, Goal, What};
use crate::compile::Compiler;
use crate::compile::names::Names;
use crate::definition::Name;
use crate::definition::goal::{AnswerDefinition, ChangeDefinition, ChangeWhat, FieldDefinition, GoalDefinition};
use crate::expression::Checked;
use crate::fault::Faults;
use crate::kinds::Type;
use crate::syntax::source::Source;

/// The goal of a task, in a scope that holds the record `t`. `elsewhere` says whether something else gives changes too.
pub(super) fn goal(
    compiler: &Compiler<'_>,
    written: &GoalDefinition,
    elsewhere: bool,
    names: &Names<'_>,
    faults: &mut Faults,
) -> Option<Goal> {
    let changes: Vec<Change> =
        written.changes.iter().filter_map(|change| one_change(compiler, change, names, faults)).collect();
    let also: Vec<(Arc<str>, Checked)> = written
        .also
        .iter()
        .filter_map(|source| Some((Arc::clone(&source.text), names.condition(source, faults)?)))
        .collect();
    let mut freed: Vec<Free> = written.free.iter().filter_map(|source| free(compiler, source, faults)).collect();
    if written.open {
        freed.extend(compiler.shared.schema.ids().map(|(table, _)| Free::Table(table)));
    }
    let answer = match &written.answer {
        None => None,
        Some(written) => Some(answer(compiler, written, names, faults)?),
    };
    if !elsewhere && changes.is_empty() && also.is_empty() && answer.is_none() {
        faults.push(written.name.fault("this goal asks for nothing: list changes, an answer, or what must also hold"));
    }
    Some(Goal { changes, free: freed, strict_history: written.strict_history, also, answer })
}

fn one_change(
    compiler: &Compiler<'_>,
    written: &ChangeDefinition,
    names: &Names<'_>,
    faults: &mut Faults,
) -> Option<Change> {
    let mut inner = names.clone();
    let each = match &written.each {
        None => None,
        Some((variable, list)) => {
            let (list, element) = names.list(list, faults)?;
            inner.introduce(variable, element, faults);
            Some(list)
        }
    };
    let (what, table, name) = match &written.what {
        ChangeWhat::Created { table: name, count } => {
            let table = compiler.shared.table(name, faults)?;
            let count = match count {
                None => None,
                Some(source) => Some(inner.check(source, Some(&Type::Int), faults)?),
            };
            (What::Created(table, count), table, format!("created {}", name.text))
        }
        ChangeWhat::Updated(source) => {
            let (row, table) = inner.row(source, faults)?;
            (What::Updated(row), table, format!("updated {}", source.text))
        }
        ChangeWhat::Deleted(source) => {
            let (row, table) = inner.row(source, faults)?;
            (What::Deleted(row), table, format!("deleted {}", source.text))
        }
    };
    let fields = written
        .fields
        .iter()
        .filter_map(|(name, field)| {
            let column = compiler.shared.column(table, name, faults)?;
            let kind = &compiler.shared.schema.table(table).describe(column).kind;
            Some((column, one_field(field, kind, &inner, faults)?))
        })
        .collect();
    if matches!(what, What::Updated(_)) && written.fields.is_empty() {
        faults.push(written.name.fault("list the columns that change in `fields`"));
    }
    Some(Change { name: name.into(), each, what, fields })
}

fn one_field(written: &FieldDefinition, kind: &Type, names: &Names<'_>, faults: &mut Faults) -> Option<Field> {
    Some(match written {
        FieldDefinition::Any => Field::Any,
        FieldDefinition::Equal(source) => Field::Equal(names.assigned(source, kind, faults)?),
        FieldDefinition::Contains(source) => {
            if *kind.present() != Type::Text {
                faults.push(source.fault(0, "only text contains text: use `check` for other columns"));
            }
            Field::Contains(names.check(source, Some(&Type::Text), faults)?)
        }
        FieldDefinition::Check(source) => {
            let mut inner = names.clone();
            inner.push(&"v".into(), kind.clone());
            Field::Check(inner.condition(source, faults)?)
        }
    })
}

/// `table`, `table.column` or `created table`.
fn free(compiler: &Compiler<'_>, source: &Source, faults: &mut Faults) -> Option<Free> {
    let name =
        |text: &str| Name { text: text.into(), position: source.position.clone(), path: Arc::clone(&source.path) };
    if let Some(table) = source.text.strip_prefix("created ") {
        return compiler.shared.table(&name(table.trim()), faults).map(Free::Created);
    }
    match source.text.split_once('.') {
        None => compiler.shared.table(&name(&source.text), faults).map(Free::Table),
        Some((table, column)) => {
            let table = compiler.shared.table(&name(table), faults)?;
            compiler.shared.column(table, &name(column), faults).map(|column| Free::Column(table, column))
        }
    }
}

fn answer(
    compiler: &Compiler<'_>,
    written: &AnswerDefinition,
    names: &Names<'_>,
    faults: &mut Faults,
) -> Option<Answer> {
    if let Some(code) = &written.code
        && compiler.error(&code.text).is_none()
    {
        faults.push(code.unknown("error", compiler.errors.iter().map(|error| &*error.code)));
    }
    let slots: Vec<(Arc<str>, Checked)> = written
        .slots
        .iter()
        .filter_map(|(name, source)| Some((Arc::clone(&name.text), names.check(source, None, faults)?)))
        .collect();
    let code = written.code.as_ref().map(|code| Arc::clone(&code.text));
    (slots.len() == written.slots.len()).then_some(Answer { status: written.status, code, slots })
}
