//! Fixed tasks as they are played: the beginning and the end that their rows describe.

use std::sync::Arc;

use serde_json::Value as Json;

use super::call::Call;
use super::draw_key::begin;
use super::episode::Episode;
use super::instance::Instance;
use super::outcome::{Flaw, Unfit};
use crate::app::goal::{Change, Field, Free, Goal, What};
use crate::app::{App, FixedTask, Template};
use crate::data::{ChangeKind, Data, changes, told};
use crate::definition::goal::Status;
use crate::expression::Checked;
use crate::fault::Fault;
use crate::kinds::{ColumnId, TableId, Type};
use crate::run::{Agenda, broken_invariants, database};
use crate::value::Value;

/// The initial database from which fixed tasks begin.
const VARIANT: usize = 0;

impl FixedTask {
    /// The task, of which nothing is proven but that its goal does not hold already.
    ///
    /// # Errors
    /// When its rows do not fit the tables, or its goal holds at the beginning.
    pub fn instance(&self, app: &Arc<App>) -> Result<Arc<Instance>, Fault> {
        let data = self.beginning(app).map_err(|message| self.fault(message))?;
        let goal = self.whole_goal(&data).map_err(|message| self.fault(message))?;
        let template = Template {
            name: Arc::clone(&self.id),
            infeasible: goal.answer.as_ref().is_some_and(|answer| answer.status != Status::Ok),
            twin_of: None,
            params: Vec::new(),
            setup: Vec::new(),
            plant: Vec::new(),
            require: Vec::new(),
            text: Vec::new(),
            goal,
            watches: Arc::from([]),
            events: Vec::new(),
            solution: None,
        };
        let solution: Vec<Call> = self
            .solution
            .iter()
            .map(|(name, arguments)| Call { name: Arc::clone(name), arguments: arguments.clone() })
            .collect();
        let instance = Instance {
            app: Arc::clone(app),
            template: usize::MAX,
            fixed: Some(Arc::new(template)),
            values: Vec::new(),
            data,
            agenda: Agenda::default(),
            wording: 0,
            text: self.text.to_string(),
            attempt: 0,
            held: Vec::new(),
            solution: Vec::new(),
        };
        let (shared, held) = begin(Arc::new(instance)).map_err(|unfit| self.fault(reason(unfit)))?;
        let instance = Arc::try_unwrap(shared)
            .map_err(|_| self.fault("an episode outlived its task: report this bug of the server".to_owned()))?;
        Ok(Arc::new(instance.proven(held, solution)))
    }

    /// Plays the solution, which must reach the goal. Answers the calls of it that were refused: a reference may hold some.
    ///
    /// # Errors
    /// When it misses the goal, or the definition is at fault.
    pub fn prove(&self, instance: &Arc<Instance>) -> Result<Vec<String>, Fault> {
        let mut episode = Episode::begin(instance, 0).map_err(|stop| self.fault(stop.to_string()))?;
        let mut refused = Vec::new();
        for (call, number) in instance.solution().iter().zip(1..) {
            let answer = episode.call(&call.name, &call.arguments).map_err(|crash| self.fault(crash))?;
            if let Some(raised) = answer.raised {
                refused.push(format!("call {number}, {}: {raised}", call.name));
            }
        }
        let checks = episode.judge().map_err(|crash| self.fault(crash))?;
        let failed = checks.iter().filter(|check| !check.passed);
        let failed: Vec<String> = failed.map(|check| format!("{}: {}", check.name, check.evidence)).collect();
        if failed.is_empty() {
            return Ok(refused);
        }
        let refused = if refused.is_empty() { String::new() } else { format!(" (refused: {})", refused.join("; ")) };
        Err(self.fault(format!(
            "the solution does not reach the goal, correct one of them: {}{refused}",
            failed.join("; ")
        )))
    }

    /// A fault of this task, at its line.
    #[must_use]
    pub fn fault(&self, message: String) -> Fault {
        Fault { position: self.position.clone(), path: self.id.to_string(), message }
    }

    fn beginning(&self, app: &Arc<App>) -> Result<Data, String> {
        let base = database(app, VARIANT)?;
        // The initial data keeps the invariants.
        let Some(patch) = &self.start else { return Ok(base.clone()) };
        let data = base.overlaid(patch).map_err(|faults| format!("start: {}", told(&faults)))?;
        match broken_invariants(app, &data).first() {
            None => Ok(data),
            Some(broken) => Err(format!("the beginning breaks the invariant `{broken}`: change `start`")),
        }
    }

    /// The goal with the changes of `end`.
    fn whole_goal(&self, start: &Data) -> Result<Goal, String> {
        let mut goal = self.goal.clone();
        if let Some(patch) = &self.end {
            goal.changes.extend(wanted(start, patch, &goal.free)?);
            if goal.changes.is_empty() && goal.also.is_empty() && goal.answer.is_none() {
                return Err("goal.end: the rows are so at the beginning already: name what changes".to_owned());
            }
        }
        Ok(goal)
    }
}

fn reason(unfit: Unfit) -> String {
    match unfit {
        Unfit::Flawed(Flaw::Done) => {
            "the goal holds before anything is done: ask for a change, an answer or a call, as in \
                                      `also: [\"calls('name') > 0\"]`"
                .to_owned()
        }
        Unfit::Flawed(flaw) => flaw.to_string(),
        Unfit::Again(redraw) => redraw.to_string(),
    }
}

/// The changes that a patch makes. Of new rows the columns that it names are wanted, but for references to other new rows. What is free is
/// not.
fn wanted(start: &Data, patch: &Json, free: &[Free]) -> Result<Vec<Change>, String> {
    let end = start.overlaid(patch).map_err(|faults| format!("goal.end: {}", told(&faults)))?;
    let schema = start.schema();
    let listed = changes(start, &end)
        .into_iter()
        .filter(|change| !schema.table(change.row.table).untracked && !free.contains(&Free::Table(change.row.table)));
    let wanted = listed.filter_map(|change| {
        let table = schema.table(change.row.table);
        let row = || Checked::known(Value::Row(change.row), Type::Row(change.row.table));
        let field = |column: ColumnId, value: &Value| {
            let described = table.describe(column);
            let is_free = described.volatile || free.contains(&Free::Column(change.row.table, column));
            let is_new = matches!(value, Value::Row(row) if start.row(*row).is_none());
            let known = || Field::Equal(Checked::known(value.clone(), described.kind.clone()));
            (!is_free).then(|| (column, if is_new { Field::Any } else { known() }))
        };
        let name = |word: &str| match table.single {
            true => format!("{word} {}", table.name).into(),
            false => format!("{word} {}/{}", table.name, change.id).into(),
        };
        let (name, what, fields): (Arc<str>, _, Vec<_>) = match &change.kind {
            ChangeKind::Deleted => (name("deleted"), What::Deleted(row()), Vec::new()),
            ChangeKind::Updated { columns } => {
                let fields: Vec<_> = columns.iter().filter_map(|(column, _, after)| field(*column, after)).collect();
                if fields.is_empty() {
                    return None;
                }
                (name("updated"), What::Updated(row()), fields)
            }
            ChangeKind::Created => {
                let named = named(patch, &table.name, &change.id);
                let cells = end.row(change.row)?.cells.iter();
                let columns = table.columns().zip(cells).filter(|((_, column), _)| named.contains(&&*column.name));
                let fields = columns.filter_map(|((column, _), value)| field(column, value)).collect();
                (name("created"), created(change.row.table), fields)
            }
        };
        Some(Change { name, each: None, what, fields })
    });
    Ok(wanted.collect())
}

const fn created(table: TableId) -> What {
    What::Created(table, None)
}

/// The columns that a patch names in a row.
fn named<'j>(patch: &'j Json, table: &str, id: &str) -> Vec<&'j str> {
    let row = patch.get(table).and_then(|rows| rows.get(id)).and_then(Json::as_object);
    row.into_iter().flat_map(|row| row.keys().map(String::as_str)).collect()
}
