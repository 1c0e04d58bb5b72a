//! Identity of a state of an app.
//!
//! Two states are the same if they differ alike from the beginning once rows that were created are called by what is in them
//! instead of by their ids and numbers. Volatile columns and untracked tables are left out, and points in time count by their
//! civil date alone, so that two ways that do the same in another order meet.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use palestra_state::Digest;

use crate::app::{App, Effect, Template};
use crate::data::{Change, ChangeKind, changes};
use crate::expression::Checked;
use crate::functions::id;
use crate::kinds::{TableId, Type};
use crate::run::{Scheduled, World};
use crate::value::{RowKey, Value};

/// Identity of a state beside its data.
#[derive(Debug, Default)]
pub(super) struct Identity {
    /// Calls that guards or goals count.
    pub(super) counted: BTreeSet<Arc<str>>,
    /// True if it matters what was ever changed.
    history: bool,
}

/// From how many calls on their number tells nothing any more.
const COUNTED_MAX: u32 = 3;

/// A state as far as it differs from the beginning.
#[derive(Debug)]
pub(super) struct StateDelta {
    /// The same for states that are the same.
    pub(super) digest: Digest,
    /// Rows that were created or changed and are still there, by table in the order of creation.
    pub(super) fresh: BTreeMap<TableId, Vec<RowKey>>,
    /// Number of rows that were created, by table.
    pub(super) created: BTreeMap<TableId, usize>,
}

impl StateDelta {
    /// True if the row of an id is one that was created or changed.
    pub(super) fn is_fresh(&self, world: &World, table: TableId, id: &str) -> bool {
        let row = world.data().by_id(table, id);
        row.is_some_and(|row| self.fresh.get(&table).is_some_and(|fresh| fresh.contains(&row)))
    }
}

impl Identity {
    /// For an app, and for a task of it.
    pub(super) fn new(app: &App, template: Option<&Template>) -> Self {
        let mut identity = Self::default();
        for action in &app.actions {
            action.guards.iter().for_each(|guard| identity.count(&guard.check));
            action.bindings.iter().for_each(|binding| identity.count(binding));
            conditions(&action.effects, &mut |condition| identity.count(condition));
        }
        if let Some(template) = template {
            template.goal.also.iter().for_each(|(_, also)| identity.count(also));
            identity.history = template.goal.strict_history;
            app.rules.iter().flat_map(|rule| &rule.graded).for_each(|(_, check)| identity.count(check));
        }
        identity
    }

    fn count(&mut self, checked: &Checked) {
        for (function, written) in checked.asks() {
            if let (id::CALLS, [Value::Text(name)]) = (function, written.as_slice()) {
                self.counted.insert(Arc::clone(name));
            }
        }
    }

    /// Looks at a state.
    pub(super) fn see(&self, world: &World) -> StateDelta {
        let written = changes(&world.beginning().data, world.data());
        let names = Names::new(world, &written);
        let mut text = format!("{}\n{}", names.rows(&written), names.schedule());
        let _infallible = write!(text, "\non {}", names.date(world.now()));
        for name in &self.counted {
            let count = world.counts().get(name).copied().unwrap_or(0).min(COUNTED_MAX);
            let _infallible = write!(text, "\n{name} {count}");
        }
        let _infallible = write!(text, "\n{:?} {:?}", world.reached(), world.broken());
        if self.history {
            for (row, column) in world.touched() {
                text.push_str(&names.row(*row));
                let _infallible = write!(text, ".{column:?} ");
            }
        }
        let (mut fresh, mut created) = (BTreeMap::<_, Vec<_>>::new(), BTreeMap::new());
        for change in &written {
            if change.kind == ChangeKind::Created {
                *created.entry(change.row.table).or_insert(0) += 1;
            }
            if change.kind != ChangeKind::Deleted {
                fresh.entry(change.row.table).or_default().push(change.row);
            }
        }
        StateDelta { digest: Digest::of(text.as_bytes()), fresh, created }
    }
}

/// Every condition within statements.
pub(super) fn conditions<'a>(effects: &'a [Effect], see: &mut dyn FnMut(&'a Checked)) {
    for effect in effects {
        match effect {
            Effect::If { condition, then, otherwise } => {
                see(condition);
                conditions(then, see);
                conditions(otherwise, see);
            }
            Effect::Each { body, .. } | Effect::Block(body) => conditions(body, see),
            _ => {}
        }
    }
}

/// Names of created rows that depend on what is in them.
struct Names<'a> {
    world: &'a World,
    names: BTreeMap<RowKey, usize>,
    /// Ids of created rows, as they may stand in texts.
    ids: Vec<(Arc<str>, RowKey)>,
}

impl<'a> Names<'a> {
    fn new(world: &'a World, written: &[Change]) -> Self {
        let created = || written.iter().filter(|change| change.kind == ChangeKind::Created);
        let ids = created().map(|change| (Arc::clone(&change.id), change.row)).collect();
        let mut names = Self { world, names: created().map(|change| (change.row, 0)).collect(), ids };
        // By their contents, in which the rows that have no name yet look alike; then by number.
        let mut order: Vec<(TableId, String, RowKey)> =
            created().map(|change| (change.row.table, names.contents(change.row), change.row)).collect();
        order.sort();
        names.names = order.into_iter().zip(1..).map(|((_, _, row), place)| (row, place)).collect();
        names
    }

    /// Every change that counts, one a line.
    fn rows(&self, written: &[Change]) -> String {
        let schema = &self.world.app().schema;
        let mut lines: Vec<String> = Vec::new();
        for change in written.iter().filter(|change| !schema.table(change.row.table).untracked) {
            let row = self.row(change.row);
            match &change.kind {
                ChangeKind::Created => lines.push(format!("+{row} {}", self.contents(change.row))),
                ChangeKind::Deleted => lines.push(format!("-{row}")),
                ChangeKind::Updated { columns } => {
                    let table = schema.table(change.row.table);
                    for (column, _, value) in columns {
                        let described = table.describe(*column);
                        if !described.volatile {
                            lines.push(format!("={row}.{} {}", column.0, self.show(value, &described.kind)));
                        }
                    }
                }
            }
        }
        lines.sort();
        lines.join("\n")
    }

    /// Scheduled events by date, one a line.
    fn schedule(&self) -> String {
        let line = |scheduled: Scheduled<'_>| {
            let action = &self.world.app().actions[scheduled.action];
            let arguments = action.parameters.iter().zip(scheduled.arguments);
            let arguments: Vec<String> = arguments.map(|(known, value)| self.show(value, &known.kind)).collect();
            let (date, key) = (self.date(scheduled.time), self.text(scheduled.key));
            format!("@{date} {} {key} {}", action.name, arguments.join(" "))
        };
        let mut lines: Vec<String> = self.world.scheduled().map(line).collect();
        lines.sort();
        lines.join("\n")
    }

    fn contents(&self, row: RowKey) -> String {
        let table = self.world.app().schema.table(row.table);
        let cells = self.world.data().row(row).map(|row| &row.cells[..]).unwrap_or_default();
        let shown = table.columns.iter().zip(cells).filter(|(column, _)| !column.volatile);
        shown.map(|(column, value)| self.show(value, &column.kind)).collect::<Vec<_>>().join(" ")
    }

    fn row(&self, row: RowKey) -> String {
        match self.names.get(&row) {
            Some(name) => format!("{}~{name}", row.table.0),
            None => format!("{}:{}", row.table.0, row.number),
        }
    }

    fn date(&self, instant: i64) -> i64 {
        self.world.app().calendar.date(instant)
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (id, row) in &self.ids {
            if text.contains(&**id) {
                text = text.replace(&**id, &self.row(*row));
            }
        }
        text
    }

    fn show(&self, value: &Value, kind: &Type) -> String {
        match (value, kind.present()) {
            (Value::Row(row), _) => self.row(*row),
            (Value::Int(instant), Type::Instant) => self.date(*instant).to_string(),
            (Value::Text(text), _) => format!("{:?}", self.text(text)),
            (Value::List(values), Type::List(element)) => {
                let shown: Vec<String> = values.iter().map(|value| self.show(value, element)).collect();
                format!("[{}]", shown.join(","))
            }
            (Value::Record(values), Type::Record(fields)) => {
                let shown = fields.iter().zip(values.iter()).map(|((_, kind), value)| self.show(value, kind));
                format!("{{{}}}", shown.collect::<Vec<_>>().join(","))
            }
            (other, _) => format!("{other:?}"),
        }
    }
}
