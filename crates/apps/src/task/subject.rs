//! Subject of a goal: rows, values, and the answer. It tells a search where to look, and decides nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, json};

use super::call::Call;
use super::instance::Instance;
use super::judge::ending::obstacles;
use crate::app::Role;
use crate::app::goal::{Change, Field, Free, What};
use crate::data::{Change as Written, ChangeKind, changes};
use crate::expression::Checked;
use crate::json::Codec;
use crate::kinds::{ColumnId, TableId, Type};
use crate::run::World;
use crate::value::{RowKey, Value};

/// Subject of a goal, computed at the beginning of its task.
#[derive(Debug, Default)]
pub(crate) struct GoalSubject {
    /// Rows that the task or its goal names, without repetition.
    pub(crate) rows: Vec<RowKey>,
    /// Values of the task and of the fields of its goal, with their types, without repetition.
    pub(crate) values: Vec<(Type, Value)>,
    /// Number of new rows, by table.
    pub(crate) created: BTreeMap<TableId, usize>,
    /// Columns that change, by row.
    updated: BTreeMap<RowKey, BTreeSet<ColumnId>>,
    /// Rows that go.
    deleted: BTreeSet<RowKey>,
}

impl GoalSubject {
    /// Subject of the goal of a task. What cannot be worked out at the beginning is left out.
    pub(crate) fn of(instance: &Instance, world: &World) -> Self {
        let mut subject = Self::default();
        let template = instance.template();
        for (param, value) in template.params.iter().zip(&instance.values) {
            subject.value(&param.kind, value);
        }
        for change in &template.goal.changes {
            subject.change(change, instance, world);
        }
        subject
    }

    fn change(&mut self, change: &Change, instance: &Instance, world: &World) {
        let base = vec![instance.record()];
        let elements = match change.each.as_ref().map(|list| world.value(list, &base)) {
            None => vec![base],
            Some(Ok(Value::List(values))) => {
                values.iter().map(|value| vec![instance.record(), value.clone()]).collect()
            }
            Some(_) => return,
        };
        for locals in elements {
            let row = |checked: &Checked| match world.value(checked, &locals) {
                Ok(Value::Row(row)) => Some(row),
                _ => None,
            };
            match &change.what {
                What::Created(table, count) => {
                    let count = match count.as_ref().map(|count| world.value(count, &locals)) {
                        Some(Ok(Value::Int(count))) => usize::try_from(count).unwrap_or(1),
                        _ => 1,
                    };
                    *self.created.entry(*table).or_default() += count;
                }
                What::Updated(which) => {
                    if let Some(row) = row(which) {
                        self.row(row);
                        self.updated.entry(row).or_default().extend(change.fields.iter().map(|(column, _)| *column));
                    }
                }
                What::Deleted(which) => {
                    if let Some(row) = row(which) {
                        self.row(row);
                        self.deleted.insert(row);
                    }
                }
            }
            for (_, field) in &change.fields {
                if let Field::Equal(expression) | Field::Contains(expression) = field
                    && let Ok(value) = world.value(expression, &locals)
                {
                    self.value(expression.kind(), &value);
                }
            }
        }
    }

    fn row(&mut self, row: RowKey) {
        if !self.rows.contains(&row) {
            self.rows.push(row);
        }
    }

    fn value(&mut self, kind: &Type, value: &Value) {
        match value {
            Value::Null => return,
            Value::Row(row) => return self.row(*row),
            Value::List(values) => {
                for value in values.iter() {
                    if let Type::List(element) = kind.present() {
                        self.value(element, value);
                    }
                }
            }
            _ => {}
        }
        let known = (kind.present().clone(), value.clone());
        if !self.values.contains(&known) {
            self.values.push(known);
        }
    }

    /// True if something differs from the beginning that the goal does not list: such a way may still lead there, but seldom.
    pub(crate) fn strays(&self, instance: &Instance, world: &World) -> bool {
        let free = &instance.template().goal.free;
        let listed = |written: &Written| {
            let table = written.row.table;
            let described = instance.app.schema.table(table);
            if described.untracked || free.contains(&Free::Table(table)) {
                return true;
            }
            match &written.kind {
                ChangeKind::Created => self.created.contains_key(&table) || free.contains(&Free::Created(table)),
                ChangeKind::Deleted => self.deleted.contains(&written.row) || described.owner.is_some(),
                ChangeKind::Updated { columns } => columns.iter().all(|(column, ..)| {
                    described.describe(*column).volatile
                        || free.contains(&Free::Column(table, *column))
                        || self.updated.get(&written.row).is_some_and(|listed| listed.contains(column))
                }),
            }
        };
        !changes(world.baseline(), world.data()).iter().all(listed)
    }
}

/// The submission that a goal asks for in a world; `ok` where it asks for none.
pub(crate) fn submission(instance: &Instance, world: &World) -> Call {
    let template = instance.template();
    let mut arguments = Map::from_iter([("status".to_owned(), json!("ok"))]);
    if let Some(answer) = &template.goal.answer {
        arguments.insert("status".to_owned(), json!(answer.status.word()));
        if let Some(code) = &answer.code {
            arguments.insert("code".to_owned(), json!(&**code));
        }
        let codec = Codec::new(&instance.app.schema);
        let locals = [instance.record()];
        let answers: Map<_, _> = answer
            .slots
            .iter()
            .filter_map(|(slot, expression)| {
                let value = world.value(expression, &locals).ok()?;
                Some((slot.to_string(), codec.to_json(&value, expression.kind(), world.data())))
            })
            .collect();
        if !answers.is_empty() {
            arguments.insert("answers".to_owned(), answers.into());
        }
    }
    let about = obstacles(template, &instance.record(), &instance.data);
    let seen = |id: &&Arc<str>| {
        let tables = instance.app.schema.ids().map(|(table, _)| table);
        tables.filter_map(|table| world.data().by_id(table, id)).any(|row| world.sees(Role::AGENT, row) == Ok(true))
    };
    if let Some(about) = about.iter().find(seen) {
        arguments.insert("about".to_owned(), json!(&**about));
    }
    Call { name: "submit".into(), arguments }
}
