//! What the solution of a task could know. A column of the data is changed throughout, and the same calls are made again: where
//! the text and everything that they answer stay the same, whoever reads them acts the same, and the goal has to hold as before.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::strict;
use crate::app::App;
use crate::data::Data;
use crate::kinds::{ColumnId, TableId, Type};
use crate::task::Draw;
use crate::task::draw::{Instance, Order, Ticket};
use crate::task::episode::Episode;
use crate::task::parameter::Drawing;
use crate::task::solve::Call;
use crate::tool::role_text;
use crate::value::{RowKey, Value};

/// Seconds of a day, by which instants are moved.
const DAY: i64 = 86_400;

/// Bases in which one column is changed, made once: by variant, table and column.
#[derive(Default)]
pub(super) struct Knowledge(BTreeMap<(usize, TableId, ColumnId), Option<Data>>);

impl Knowledge {
    /// A column, as `table.column`, that the goal of a task follows from and that neither text nor calls have shown.
    pub(super) fn unseen(&mut self, ticket: Ticket<'_>, instance: &Arc<Instance>) -> Option<String> {
        instance.template().solution.as_ref()?;
        let seen = heard(instance, instance.solution())?;
        let app = ticket.app;
        for (table, described) in app.schema.ids() {
            for (place, column) in described.columns.iter().enumerate() {
                let column_id = ColumnId(u16::try_from(place).ok()?);
                if moved(&Value::Int(0), &column.kind).is_none() && moved(&Value::text(""), &column.kind).is_none() {
                    continue;
                }
                if self.shows(ticket, instance, &seen, (table, column_id)) {
                    return Some(format!("{}.{}", described.name, column.name));
                }
            }
        }
        None
    }

    fn shows(
        &mut self,
        ticket: Ticket<'_>,
        instance: &Arc<Instance>,
        seen: &(Vec<Json>, bool),
        (table, column): (TableId, ColumnId),
    ) -> bool {
        let variant = ticket.variant();
        let base = self.0.entry((variant, table, column)).or_insert_with(|| {
            let base = ticket.app.variants.get(ticket.app, variant).ok()?;
            changed(ticket.app, base, table, column)
        });
        let Some(base) = base else { return false };
        let Some(values) = followed(ticket, instance, base) else { return false };
        let Ok(other) = ticket.prepare_from(base, values, Order::Created) else { return false };
        if other.text != instance.text || role(&other) != role(instance) {
            return false;
        }
        let Some((answers, reached)) = heard(&Arc::new(other), instance.solution()) else { return false };
        answers == seen.0 && seen.1 && !reached
    }
}

fn role(instance: &Instance) -> Option<String> {
    instance.app.role.as_ref().map(|role| role_text(&instance.app, role, &instance.data))
}

/// What some calls answer in a task, and whether its goal holds then.
fn heard(instance: &Arc<Instance>, calls: &[Call]) -> Option<(Vec<Json>, bool)> {
    let mut episode = Episode::begin(instance, 0).ok()?;
    let answers = calls.iter().map(|call| Some(episode.call(&call.name, &call.arguments).ok()?.data));
    let answers = answers.collect::<Option<Vec<_>>>()?;
    Some((answers, strict(&episode.judge().ok()?)))
}

/// The data with one column changed in every row.
fn changed(app: &App, base: &Data, table: TableId, column: ColumnId) -> Option<Data> {
    let kind = &app.schema.table(table).describe(column).kind;
    let cells: Vec<(RowKey, Value)> =
        base.scan(table).filter_map(|(row, _)| Some((row, moved(base.cell(row, column)?, kind)?))).collect();
    let mut data = base.clone();
    for (row, value) in cells {
        data.update(row, &[(column, value)]).ok()?;
    }
    Some(data)
}

/// Another value of the same type.
fn moved(value: &Value, kind: &Type) -> Option<Value> {
    match (kind.present(), value) {
        (Type::Int | Type::Money(_) | Type::Decimal(_) | Type::Date, Value::Int(number)) => {
            number.checked_add(1).map(Value::Int)
        }
        (Type::Instant, Value::Int(time)) => time.checked_add(DAY).map(Value::Int),
        (Type::Text, Value::Text(text)) => Some(Value::text(&format!("{text} zq"))),
        _ => None,
    }
}

/// The parameters of a task on other data: what follows from the data follows anew, all else stays.
fn followed(ticket: Ticket<'_>, instance: &Instance, data: &Data) -> Option<Vec<Value>> {
    let mut values: Vec<Value> = Vec::new();
    for (param, has) in ticket.template().params.iter().zip(&instance.values) {
        let follows = match &param.draw {
            Draw::Let(value) => value.asks().is_empty(),
            Draw::First { .. } => true,
            _ => false,
        };
        let mut draws = ticket.draws(&format!("param {}", param.name));
        let drawing = Drawing { app: ticket.app, data, values: &values, draws: &mut draws };
        let value = if follows { drawing.value(param).ok()? } else { has.clone() };
        values.push(value);
    }
    Some(values)
}
