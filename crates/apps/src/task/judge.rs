//! Judging: what changed is laid over what should have changed.

pub(super) mod ending;
mod listed;
mod others;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use super::answer::Submission;
use super::verdict::Check;
use crate::app::goal::Free;
use crate::app::{App, Template};
use crate::data::{Change as Written, ChangeKind, Data, changes};
use crate::expression::{Checked, DEFAULT_BUDGET, EvalError, Frame, Host, Rows};
use crate::functions::id;
use crate::json::Codec;
use crate::kinds::{ColumnId, Type};
use crate::reading::Reversed;
use crate::value::{RowKey, Value};
use others::{HISTORY, NOTHING_ELSE};

/// Factor of the score for changes beyond the goal.
const SIDE_EFFECTS_FACTOR: f64 = 0.5;
/// Differences that one evidence lists.
const DIFFERENCES_SHOWN: usize = 8;

/// The end of an episode.
pub(super) struct End<'a> {
    pub(super) app: &'a App,
    pub(super) template: &'a Template,
    pub(super) task: &'a Value,
    /// The beginning.
    pub(super) initial: &'a Data,
    /// The beginning with what the world changed by itself.
    pub(super) baseline: &'a Data,
    /// The end.
    pub(super) data: &'a Data,
    pub(super) now: i64,
    pub(super) counts: &'a OrdMap<Arc<str>, u32>,
    pub(super) broken: &'a OrdSet<Arc<str>>,
    pub(super) reached: &'a OrdSet<usize>,
    pub(super) touched: &'a OrdSet<(RowKey, Option<ColumnId>)>,
    pub(super) submission: Option<&'a Submission>,
    /// True if the goal reads rows in the opposite order of their creation: what it means must not depend on it.
    pub(super) reversed: bool,
}

/// Answers `calls('name')`.
struct Counts<'a>(&'a OrdMap<Arc<str>, u32>);

impl Host for Counts<'_> {
    fn call(&mut self, function: u16, arguments: &[Value]) -> Result<Value, EvalError> {
        match (function, arguments) {
            (id::CALLS, [Value::Text(name)]) => Ok(Value::Int(self.0.get(name).copied().map_or(0, i64::from))),
            _ => Err(EvalError::Mismatch),
        }
    }
}

/// Differences that remain once those that the goal lists are taken out.
#[derive(Default)]
struct Explained {
    rows: BTreeSet<RowKey>,
    cells: BTreeMap<RowKey, BTreeSet<ColumnId>>,
}

impl End<'_> {
    /// Every check, in the order of the goal. Those that `held` at the beginning have no weight.
    pub(super) fn judge(&self, held: Option<&[bool]>) -> Result<Vec<Check>, EvalError> {
        let mut explained = Explained::default();
        let differences = self.differences();
        let mut checks = self.changes(&differences, &mut explained)?;
        let positive = checks.len();
        checks.push(self.nothing_else(&differences, &explained));
        if self.template.goal.strict_history {
            checks.push(self.history(&explained));
        }
        for (text, also) in &self.template.goal.also {
            let passed = self.holds(also, std::slice::from_ref(self.task))?;
            checks.push(check(format!("also {text}"), passed, if passed { "holds" } else { "does not hold" }));
        }
        let answers = self.answer()?;
        // A refusal is right as a whole or not at all: half of one is a guess.
        let guessed = self.template.infeasible && answers.iter().any(|check| !check.passed);
        checks.extend(answers);
        let (safe, clean) = (self.minefields(), self.rules());
        let aside =
            checks.get(positive).is_none_or(|check| check.passed) && clean.as_ref().is_none_or(|check| check.passed);
        let factor = match (!guessed && safe.as_ref().is_none_or(|check| check.passed), aside) {
            (false, _) => 0.0,
            (true, false) => SIDE_EFFECTS_FACTOR,
            (true, true) => 1.0,
        };
        for (place, check) in checks.iter_mut().enumerate() {
            let weightless = check.name == NOTHING_ELSE
                || check.name == HISTORY
                || held.is_some_and(|held| held.get(place).copied().unwrap_or(false));
            if weightless {
                check.weight = 0.0;
            }
            check.score *= factor;
        }
        checks.extend(safe);
        checks.extend(clean);
        checks.extend(self.milestones());
        Ok(checks)
    }

    /// Differences between the baseline and the end, without those that goals never compare.
    fn differences(&self) -> Vec<Written> {
        let free = &self.template.goal.free;
        changes(self.baseline, self.data)
            .into_iter()
            .filter_map(|mut written| {
                let table = written.row.table;
                let described = self.app.schema.table(table);
                if described.untracked || free.contains(&Free::Table(table)) {
                    return None;
                }
                match &mut written.kind {
                    ChangeKind::Created if free.contains(&Free::Created(table)) => return None,
                    ChangeKind::Updated { columns } => {
                        columns.retain(|(column, ..)| {
                            !described.describe(*column).volatile && !free.contains(&Free::Column(table, *column))
                        });
                        if columns.is_empty() {
                            return None;
                        }
                    }
                    _ => {}
                }
                Some(written)
            })
            .collect()
    }

    fn value(&self, checked: &Checked, locals: &[Value]) -> Result<Value, EvalError> {
        self.evaluate(self.data, checked, locals)
    }

    /// The value of an expression over the beginning: which row is meant does not depend on what became of it.
    fn at_start(&self, checked: &Checked, locals: &[Value]) -> Result<Value, EvalError> {
        self.evaluate(self.initial, checked, locals)
    }

    fn evaluate(&self, data: &Data, checked: &Checked, locals: &[Value]) -> Result<Value, EvalError> {
        let (mut host, mut budget) = (Counts(self.counts), DEFAULT_BUDGET);
        let reversed = (Reversed(data), Reversed(self.initial));
        let (rows, init): (&dyn Rows, &dyn Rows) =
            if self.reversed { (&reversed.0, &reversed.1) } else { (data, self.initial) };
        let frame = self.app.frame(rows, locals, &mut host, &mut budget);
        checked.evaluate(&mut Frame { init: Some(init), now: self.now, ..frame })
    }

    fn holds(&self, checked: &Checked, locals: &[Value]) -> Result<bool, EvalError> {
        match self.value(checked, locals) {
            Ok(value) => Ok(value == Value::Bool(true)),
            Err(error) => open(error).map(|_| false),
        }
    }

    fn name(&self, row: RowKey) -> String {
        let table = &self.app.schema.table(row.table).name;
        match self.data.id(row).or_else(|| self.baseline.id(row)) {
            Some(id) if **id != **table => format!("{table}/{id}"),
            _ => table.to_string(),
        }
    }

    fn show(&self, value: &Value, kind: &Type) -> String {
        let text = Codec::new(&self.app.schema).show(value, kind, self.data);
        let mut shown: String = text.chars().take(80).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        shown
    }
}

fn check(name: String, passed: bool, evidence: &str) -> Check {
    Check { name, weight: 1.0, score: if passed { 1.0 } else { 0.0 }, passed, evidence: evidence.to_owned() }
}

/// Expectation that cannot be worked out, because of later changes of the data: it is not met. Other errors are faults of
/// the definition.
fn open(error: EvalError) -> Result<String, EvalError> {
    match error {
        EvalError::OutOfRange(_) | EvalError::Dangling(_) | EvalError::NotOne | EvalError::Index(_) => {
            Ok(format!("what is expected cannot be worked out: {error}"))
        }
        EvalError::Budget | EvalError::Mismatch | EvalError::Host(_) => Err(error),
    }
}
