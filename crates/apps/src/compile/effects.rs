//! Statements.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Compiler;
use super::errors::raise;
use super::kinds::{kind, known};
use super::names::Names;
use crate::app::{Argument, Effect, Target};
use crate::definition::action::{EffectDefinition, EffectKind, Target as Written};
use crate::definition::{Bindings, Name};
use crate::expression::Checked;
use crate::fault::Faults;
use crate::kinds::{ColumnId, TableId, Type};

/// Largest depth of macros that call macros.
const MACRO_DEPTH_MAX: usize = 8;
/// Statements that the macros of one definition make where they are called.
pub(super) const EXPANDED_MAX: usize = 10_000;

impl Compiler<'_> {
    /// Statements that see `names` and add to them.
    pub(crate) fn effects(
        &self,
        written: &[EffectDefinition],
        names: &mut Names<'_>,
        depth: usize,
        faults: &mut Faults,
    ) -> Vec<Effect> {
        let mut effects = Vec::with_capacity(written.len());
        for statement in written {
            self.effect(statement, names, depth, &mut effects, faults);
        }
        effects
    }

    /// Statements with names of their own.
    fn body(&self, written: &[EffectDefinition], names: &Names<'_>, depth: usize, faults: &mut Faults) -> Vec<Effect> {
        self.effects(written, &mut names.clone(), depth, faults)
    }

    fn effect(
        &self,
        statement: &EffectDefinition,
        names: &mut Names<'_>,
        depth: usize,
        effects: &mut Vec<Effect>,
        faults: &mut Faults,
    ) {
        let added = match &statement.effect {
            EffectKind::Let(bindings) => {
                for (name, source) in bindings {
                    if let Some(checked) = names.check(source, None, faults) {
                        names.introduce(name, checked.kind().clone(), faults);
                        effects.push(Effect::Let(checked));
                    }
                }
                return;
            }
            EffectKind::Insert { into, variable, set } => self.insert(into, variable.as_ref(), set, names, faults),
            EffectKind::Update { target, set } => self.update(target, set, names, faults),
            EffectKind::Delete { target } => {
                self.target(target, names, faults).map(|(target, _, _)| Effect::Delete(target))
            }
            EffectKind::Each { variable, of, body } => names.list(of, faults).map(|(of, element)| {
                let mut inner = names.clone();
                inner.introduce(variable, element, faults);
                Effect::Each { of, body: self.body(body, &inner, depth, faults) }
            }),
            EffectKind::If { condition, then, otherwise } => names.condition(condition, faults).map(|condition| {
                let (mut proven, mut refuted) = (names.clone(), names.clone());
                proven.proven.push(condition.clone());
                refuted.proven.push(condition.negated());
                Effect::If {
                    condition,
                    then: self.body(then, &proven, depth, faults),
                    otherwise: self.body(otherwise, &refuted, depth, faults),
                }
            }),
            EffectKind::At { time, run, args, key } => {
                let time = names.check(time, Some(&Type::Instant), faults);
                let key = key.as_ref().map(|key| names.check(key, Some(&Type::Text), faults));
                let arguments = self.system_call(run, args, names, faults);
                match (time, key, arguments) {
                    (Some(time), None, Some((run, arguments))) => Some(Effect::At { time, run, arguments, key: None }),
                    (Some(time), Some(Some(key)), Some((run, arguments))) => {
                        Some(Effect::At { time, run, arguments, key: Some(key) })
                    }
                    _ => None,
                }
            }
            EffectKind::Cancel { key } => names.check(key, Some(&Type::Text), faults).map(Effect::Cancel),
            EffectKind::Fail(code) => raise(self, code, names, faults).map(Effect::Fail),
            EffectKind::Call { name, args } => self.expanded(name, args, names, depth, faults),
        };
        effects.extend(added);
    }

    fn insert(
        &self,
        into: &Name,
        variable: Option<&Name>,
        set: &Bindings,
        names: &mut Names<'_>,
        faults: &mut Faults,
    ) -> Option<Effect> {
        let table = self.shared.table(into, faults)?;
        let described = self.shared.schema.table(table);
        if described.single {
            faults.push(into.fault(format!("`{}` has exactly one row, which is never inserted", into.text)));
            return None;
        }
        let set = self.set(table, set, names, faults);
        let given: BTreeSet<ColumnId> = set.iter().map(|(column, _)| *column).collect();
        let defaults = self.defaults.get(usize::from(table.0));
        for (column, described) in described.columns() {
            let default = defaults.and_then(|defaults| defaults.get(usize::from(column.0))).and_then(Option::as_ref);
            if !given.contains(&column) && default.is_none() && !described.kind.may_be_null() {
                faults.push(into.fault(format!("the column `{}` has no default and must be set", described.name)));
            }
        }
        if let Some(variable) = variable {
            names.introduce(variable, Type::Row(table), faults);
        }
        Some(Effect::Insert { table, set, bind: variable.is_some() })
    }

    fn update(&self, target: &Written, set: &Bindings, names: &Names<'_>, faults: &mut Faults) -> Option<Effect> {
        let (target, table, inner) = self.target(target, names, faults)?;
        let set = self.set(table, set, &inner, faults);
        Some(Effect::Update { target, set })
    }

    fn target<'g>(
        &self,
        written: &Written,
        names: &Names<'g>,
        faults: &mut Faults,
    ) -> Option<(Target, TableId, Names<'g>)> {
        match written {
            Written::Row(source) => {
                let (row, table) = names.row(source, faults)?;
                Some((Target::Row(row), table, names.clone()))
            }
            Written::Where { table, variable, condition } => {
                let table = self.shared.table(table, faults)?;
                let rows = names.rows_where(table, &variable.text, condition.as_ref(), faults)?;
                let mut inner = names.clone();
                inner.introduce(variable, Type::Row(table), faults);
                Some((Target::Rows(rows), table, inner))
            }
        }
    }

    /// Values by column.
    pub(super) fn set(
        &self,
        table: TableId,
        set: &Bindings,
        names: &Names<'_>,
        faults: &mut Faults,
    ) -> Vec<(ColumnId, Checked)> {
        set.iter()
            .filter_map(|(name, source)| {
                let column = self.shared.column(table, name, faults)?;
                let kind = &self.shared.schema.table(table).describe(column).kind;
                Some((column, names.assigned(source, kind, faults)?))
            })
            .collect()
    }

    /// An action of the system with its arguments, in the order of its parameters.
    pub(super) fn system_call(
        &self,
        run: &Name,
        args: &Bindings,
        names: &Names<'_>,
        faults: &mut Faults,
    ) -> Option<(usize, Vec<Argument>)> {
        let place = self.definition.actions.iter().position(|(name, _)| name.text == run.text);
        let Some(place) = place else {
            faults.push(run.unknown("action", self.definition.actions.iter().map(|(name, _)| &*name.text)));
            return None;
        };
        let (_, action) = &self.definition.actions[place];
        if !action.who.iter().any(|role| &*role.text == "system") {
            faults.push(run.fault(format!("`{}` cannot run by itself: its `who` does not name system", run.text)));
        }
        for (name, _) in args {
            if !action.params.iter().any(|(param, _)| param.text == name.text) {
                faults.push(name.unknown("parameter", action.params.iter().map(|(param, _)| &*param.text)));
            }
        }
        let arguments = action
            .params
            .iter()
            .filter_map(|(param, definition)| match args.iter().find(|(name, _)| name.text == param.text) {
                Some((_, source)) => {
                    let kind = kind(&definition.kind, &known(self.shared), &mut Faults::new())?;
                    names.assigned(source, &kind, faults).map(Argument::Given)
                }
                None => {
                    if definition.default.is_none() && !definition.kind.opt {
                        faults.push(run.fault(format!("the argument `{}` is missing", param.text)));
                    }
                    Some(Argument::Default)
                }
            })
            .collect();
        Some((place, arguments))
    }

    /// The statements of a macro, with its parameters as locals.
    fn expanded(
        &self,
        name: &Name,
        args: &Bindings,
        names: &Names<'_>,
        depth: usize,
        faults: &mut Faults,
    ) -> Option<Effect> {
        let Some((_, called)) = self.definition.macros.iter().find(|(known, _)| known.text == name.text) else {
            faults.push(name.unknown("macro", self.definition.macros.iter().map(|(name, _)| &*name.text)));
            return None;
        };
        if depth >= MACRO_DEPTH_MAX {
            faults.push(name.fault("macros call each other too deeply, or without end"));
            return None;
        }
        let left = self.expandable.get().checked_sub(called.effects.len() + 1);
        self.expandable.set(left.unwrap_or(0));
        if left.is_none() {
            let message = format!("the macros of this definition make more than {EXPANDED_MAX} statements");
            faults.push(name.fault(message));
            return None;
        }
        for (arg, _) in args {
            if !called.params.iter().any(|(param, _)| param.text == arg.text) {
                faults.push(arg.unknown("parameter", called.params.iter().map(|(param, _)| &*param.text)));
            }
        }
        let mut inner = names.clone();
        let mut block = Vec::new();
        for (param, definition) in &called.params {
            let kind = kind(definition, &known(self.shared), faults)?;
            let Some((_, source)) = args.iter().find(|(arg, _)| arg.text == param.text) else {
                faults.push(name.fault(format!("the argument `{}` is missing", param.text)));
                return None;
            };
            // Each argument sees the names at the call and the places that the earlier ones took, under names that no
            // expression can spell.
            let value = hidden(names, &inner).assigned(source, &kind, faults)?;
            inner.push(&param.text, kind);
            block.push(Effect::Let(value));
        }
        block.extend(self.effects(&called.effects, &mut inner, depth + 1, faults));
        Some(Effect::Block(block))
    }
}

/// The names of the caller, with the places that macro parameters have taken so far filled by names nobody can spell.
fn hidden<'g>(caller: &Names<'g>, inner: &Names<'g>) -> Names<'g> {
    let mut names = caller.clone();
    for (_, kind) in inner.locals.iter().skip(caller.locals.len()) {
        names.push(&Arc::from(""), kind.clone());
    }
    names
}
