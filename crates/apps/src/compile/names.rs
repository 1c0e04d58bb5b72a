//! Names in scope for expressions of a definition at one place, and the positions of their faults in the file.

use std::sync::Arc;

use crate::definition::Name;
use crate::expression::{self, Checked, Function, Roots, Scope, Template, Wrong};
use crate::fault::{Fault, Faults};
use crate::kinds::{TableId, Type};
use crate::limits;
use crate::schema::Schema;
use crate::syntax::nearest;
use crate::syntax::source::Source;
use crate::value::Value;

/// State that all expressions of a definition share.
#[derive(Debug)]
pub(crate) struct SharedScope {
    /// The tables, and the time zone.
    pub(crate) schema: Schema,
}

/// The names that are known at one place. A local's place is its place among the values at run time.
#[derive(Clone)]
pub(crate) struct Names<'g> {
    pub(crate) shared: &'g SharedScope,
    pub(crate) locals: Vec<(Arc<str>, Type)>,
    pub(crate) functions: &'g [Function],
    pub(crate) roots: Roots,
    /// Conditions that hold here.
    pub(crate) proven: Vec<Checked>,
    /// True if random numbers may become amounts and random words those of an enum, to be checked when they are drawn.
    pub(crate) lenient: bool,
}

impl<'g> Names<'g> {
    /// No locals yet.
    pub(crate) const fn new(shared: &'g SharedScope, functions: &'g [Function], roots: Roots) -> Self {
        Self { shared, locals: Vec::new(), functions, roots, proven: Vec::new(), lenient: false }
    }

    /// Adds a local and answers its place.
    pub(crate) fn push(&mut self, name: &Arc<str>, kind: Type) -> usize {
        self.locals.push((Arc::clone(name), kind));
        self.locals.len() - 1
    }

    /// Adds a local under a name that an author chose, which must not mean something else here already.
    pub(crate) fn introduce(&mut self, name: &Name, kind: Type, faults: &mut Faults) {
        if self.locals.iter().any(|(known, _)| *known == name.text) {
            faults.push(name.fault(format!("`{}` means something here already: choose another name", name.text)));
        }
        self.push(&name.text, kind);
    }

    pub(crate) fn scope(&self) -> Scope<'_> {
        Scope {
            tables: &self.shared.schema,
            calendar: &self.shared.schema.calendar,
            locals: self.locals.clone(),
            functions: self.functions,
            roots: self.roots,
            now: true,
            assume: self.proven.iter().collect(),
        }
    }

    /// Checks an expression.
    pub(crate) fn check(&self, source: &Source, expected: Option<&Type>, faults: &mut Faults) -> Option<Checked> {
        let checked = expression::check(&source.text, &self.scope(), expected);
        collect(checked, source, 0, faults)
    }

    /// Checks what stands behind the first `skip` characters of a source.
    pub(crate) fn check_behind(
        &self,
        source: &Source,
        skip: usize,
        expected: Option<&Type>,
    ) -> Result<Checked, Faults> {
        let text: String = source.text.chars().skip(skip).collect();
        expression::check(&text, &self.scope(), expected).map_err(|wrongs| {
            wrongs.into_iter().map(|wrong| source.fault(skip + wrong.offset, wrong.message)).collect()
        })
    }

    /// Checks an expression for a place of a type.
    pub(crate) fn assigned(&self, source: &Source, kind: &Type, faults: &mut Faults) -> Option<Checked> {
        self.assigned_behind(source, 0, kind, faults)
    }

    /// Checks what stands behind the first `skip` characters of a source for a place of a type.
    pub(crate) fn assigned_behind(
        &self,
        source: &Source,
        skip: usize,
        kind: &Type,
        faults: &mut Faults,
    ) -> Option<Checked> {
        let wrong = match self.check_behind(source, skip, Some(kind)) {
            Ok(checked) => return Some(checked),
            Err(wrong) => wrong,
        };
        if self.lenient
            && let Ok(checked) = self.check_behind(source, skip, None)
            && drawn_as(checked.kind(), kind)
            && checked.constant().is_none_or(|written| limits::check(written, kind).is_ok())
        {
            return Some(checked);
        }
        faults.extend(wrong);
        None
    }

    /// Checks an expression without a place of its own, such as one that was put together.
    pub(crate) fn check_text(&self, text: &str, expected: Option<&Type>) -> Result<Checked, Vec<Wrong>> {
        expression::check(text, &self.scope(), expected)
    }

    /// Checks a condition, which is one only if it may hold and may not.
    pub(crate) fn condition(&self, source: &Source, faults: &mut Faults) -> Option<Checked> {
        let checked = self.check(source, Some(&Type::Bool), faults)?;
        if let Some(Value::Bool(always)) = checked.constant() {
            faults.push(source.fault(0, format!("this is always {always}: leave it out, or what depends on it")));
        }
        Some(checked)
    }

    /// Checks a template.
    pub(crate) fn template(&self, source: &Source, faults: &mut Faults) -> Option<Template> {
        collect(expression::compile_template(&source.text, &self.scope()), source, 0, faults)
    }

    /// Checks an expression for a list, and answers the type of its elements with it.
    pub(crate) fn list(&self, source: &Source, faults: &mut Faults) -> Option<(Checked, Type)> {
        let checked = self.check(source, None, faults)?;
        match checked.kind().clone() {
            Type::List(element) => Some((checked, *element)),
            other => {
                faults.push(source.fault(0, format!("a list is expected, this is {}", self.spell(&other))));
                None
            }
        }
    }

    /// Checks an expression for a row, and answers its table.
    pub(crate) fn row(&self, source: &Source, faults: &mut Faults) -> Option<(Checked, TableId)> {
        let checked = self.check(source, None, faults)?;
        match *checked.kind() {
            Type::Row(table) => Some((checked, table)),
            ref other => {
                faults.push(source.fault(0, format!("a row is expected, this is {}", self.spell(other))));
                None
            }
        }
    }

    /// The rows of a table that meet a condition, as one expression that uses an index where there is one.
    pub(crate) fn rows_where(
        &self,
        table: TableId,
        variable: &str,
        condition: Option<&Source>,
        faults: &mut Faults,
    ) -> Option<Checked> {
        let Some(condition) = condition else {
            let name = &self.shared.schema.table(table).name;
            return self.check_text(&format!("find({name})"), None).ok();
        };
        collect(expression::check_filter(&condition.text, table, variable, &self.scope()), condition, 0, faults)
    }

    /// A type as the definition spells it.
    pub(crate) fn spell(&self, kind: &Type) -> String {
        spell(kind, &self.shared.schema)
    }
}

/// A type as a definition spells it.
pub(crate) fn spell(kind: &Type, schema: &Schema) -> String {
    match kind {
        Type::Row(table) => format!("ref {}", schema.table(*table).name),
        Type::List(element) => format!("list {}", spell(element, schema)),
        Type::Opt(inner) => format!("opt {}", spell(inner, schema)),
        other => other.to_string(),
    }
}

/// True if a drawn value of one type may stand for another: they are represented alike, and checked when drawn.
fn drawn_as(from: &Type, to: &Type) -> bool {
    match (from.present(), to.present()) {
        (Type::Int, Type::Money(_) | Type::Decimal(_)) | (Type::Text, Type::Enum(_)) => {
            !from.may_be_null() || to.may_be_null()
        }
        (Type::List(from), Type::List(to)) => drawn_as(from, to) || from == to,
        (from, to) => from == to,
    }
}

fn collect<T>(checked: Result<T, Vec<Wrong>>, source: &Source, offset: usize, faults: &mut Faults) -> Option<T> {
    match checked {
        Ok(checked) => Some(checked),
        Err(wrongs) => {
            faults.extend(
                wrongs.into_iter().map(|wrong| source.fault(wrong.offset.saturating_sub(offset), wrong.message)),
            );
            None
        }
    }
}

impl Name {
    /// A fault at this name.
    pub(crate) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault { position: self.position.clone(), path: self.path.to_string(), message: message.into() }
    }

    /// A fault for a name that nothing has, with the nearest that something has.
    pub(crate) fn unknown<'k>(&self, noun: &str, known: impl IntoIterator<Item = &'k str>) -> Fault {
        let known: Vec<&str> = known.into_iter().collect();
        let message = match nearest(&self.text, known.iter().copied()) {
            Some(near) => format!("there is no {noun} `{}`; did you mean `{near}`?", self.text),
            None if known.is_empty() => format!("there is no {noun} `{}`: declare it, or leave it out", self.text),
            None => format!("there is no {noun} `{}`: use one of {}", self.text, known.join(", ")),
        };
        self.fault(message)
    }
}

impl SharedScope {
    /// The table of a name.
    pub(crate) fn table(&self, name: &Name, faults: &mut Faults) -> Option<TableId> {
        let found = self.schema.find(&name.text);
        if found.is_none() {
            faults.push(name.unknown("table", self.schema.tables.iter().map(|table| &*table.name)));
        }
        found
    }

    /// A column of a table.
    pub(crate) fn column(&self, table: TableId, name: &Name, faults: &mut Faults) -> Option<crate::kinds::ColumnId> {
        let described = self.schema.table(table);
        let found = described.column(&name.text);
        if found.is_none() {
            let known = described.columns.iter().map(|column| &*column.name);
            faults.push(name.unknown(&format!("column of {}", described.name), known));
        }
        found
    }
}

/// `give_back` as `Give back.`
pub(super) fn sentence(name: &str) -> Arc<str> {
    let mut words = name.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words.push('.');
    words.into()
}
