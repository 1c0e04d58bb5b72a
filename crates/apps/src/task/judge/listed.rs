//! Changes listed by a goal, laid over the actual changes.

use super::{DIFFERENCES_SHOWN, End, Explained, check, open};
use crate::app::goal::{Change, Field, What};
use crate::data::{Change as Written, ChangeKind};
use crate::expression::EvalError;
use crate::task::verdict::Check;
use crate::value::{RowKey, Value};

/// A change that a goal lists, for one element of its list.
struct Expected<'a> {
    clause: usize,
    change: &'a Change,
    locals: Vec<Value>,
    row: Option<RowKey>,
    count: usize,
}

impl End<'_> {
    /// The checks of the listed changes; what they explain is taken out of the differences.
    pub(super) fn changes(&self, differences: &[Written], explained: &mut Explained) -> Result<Vec<Check>, EvalError> {
        let expected = self.expected()?;
        let goal = &self.template.goal;
        let mut found: Vec<(bool, Vec<String>)> = goal.changes.iter().map(|_| (true, Vec::new())).collect();
        let mut note = |clause: usize, passed: bool, evidence: String| {
            if let Some((all, evidences)) = found.get_mut(clause) {
                *all &= passed;
                evidences.push(evidence);
            }
        };
        for one in &expected {
            let Some(row) = one.row else { continue };
            match one.change.what {
                What::Deleted(_) => {
                    explained.rows.insert(row);
                    let gone = self.data.row(row).is_none();
                    note(
                        one.clause,
                        gone,
                        format!("{} is {}", self.name(row), if gone { "gone" } else { "still there" }),
                    );
                }
                _ => {
                    let wrong = self.misfits(one, row)?;
                    let columns = explained.cells.entry(row).or_default();
                    columns.extend(one.change.fields.iter().map(|(column, _)| *column));
                    let passed = wrong.is_empty();
                    let evidence = if passed { format!("{} is as wanted", self.name(row)) } else { wrong.join("; ") };
                    note(one.clause, passed, evidence);
                }
            }
        }
        for (clause, passed, evidence) in self.created(&expected, differences, explained)? {
            note(clause, passed, evidence);
        }
        Ok(goal
            .changes
            .iter()
            .zip(found)
            .map(|(change, (passed, evidence))| {
                let evidence =
                    if evidence.is_empty() { "nothing was to be done".to_owned() } else { evidence.join("; ") };
                check(change.name.to_string(), passed, &evidence)
            })
            .collect())
    }

    /// The changes of the goal, one per element of their lists.
    fn expected(&self) -> Result<Vec<Expected<'_>>, EvalError> {
        let mut expected = Vec::new();
        for (clause, change) in self.template.goal.changes.iter().enumerate() {
            let base = vec![self.task.clone()];
            let elements = match &change.each {
                None => vec![base],
                Some(list) => match self.at_start(list, &base)? {
                    Value::List(values) => values.iter().map(|value| vec![self.task.clone(), value.clone()]).collect(),
                    _ => return Err(EvalError::Mismatch),
                },
            };
            for locals in elements {
                let (row, count) = match &change.what {
                    What::Created(_, None) => (None, 1),
                    What::Created(_, Some(count)) => match self.at_start(count, &locals)? {
                        Value::Int(count) => (None, usize::try_from(count).unwrap_or(0)),
                        _ => return Err(EvalError::Mismatch),
                    },
                    What::Updated(row) | What::Deleted(row) => match self.at_start(row, &locals)? {
                        Value::Row(row) => (Some(row), 1),
                        _ => return Err(EvalError::Mismatch),
                    },
                };
                expected.push(Expected { clause, change, locals, row, count });
            }
        }
        Ok(expected)
    }

    /// New rows against what should be new, whatever their order: a greatest matching.
    fn created(
        &self,
        expected: &[Expected<'_>],
        differences: &[Written],
        explained: &mut Explained,
    ) -> Result<Vec<(usize, bool, String)>, EvalError> {
        let new: Vec<RowKey> =
            differences.iter().filter(|change| change.kind == ChangeKind::Created).map(|change| change.row).collect();
        let mut subject: Vec<(&Expected<'_>, Vec<usize>)> = Vec::new();
        for one in expected {
            let What::Created(table, _) = one.change.what else { continue };
            let mut fits = Vec::new();
            for (place, row) in new.iter().enumerate().filter(|(_, row)| row.table == table) {
                if self.misfits(one, *row)?.is_empty() {
                    fits.push(place);
                }
            }
            subject.extend((0..one.count).map(|_| (one, fits.clone())));
        }
        let mut owner: Vec<Option<usize>> = vec![None; new.len()];
        for slot in 0..subject.len() {
            let mut seen = vec![false; new.len()];
            augment(slot, &subject, &mut owner, &mut seen);
        }
        let mut matched: Vec<usize> = vec![0; expected.len()];
        for (place, slot) in owner.iter().enumerate() {
            if let Some(slot) = slot {
                explained.rows.insert(new[place]);
                let which = expected.iter().position(|one| std::ptr::eq(one, subject[*slot].0));
                if let Some(which) = which {
                    matched[which] += 1;
                }
            }
        }
        let mut found = Vec::new();
        for (one, matched) in expected.iter().zip(matched) {
            let What::Created(table, _) = one.change.what else { continue };
            let mut evidence = format!("{matched} of {} created as wanted", one.count);
            if matched < one.count {
                let left = new.iter().enumerate().filter(|(place, row)| owner[*place].is_none() && row.table == table);
                for (_, row) in left.take(DIFFERENCES_SHOWN) {
                    evidence.push_str(&format!("; {}", self.misfits(one, *row)?.join(", ")));
                }
            }
            found.push((one.clause, matched == one.count, evidence));
        }
        Ok(found)
    }

    /// Faults of a row, column by column; with before and after.
    fn misfits(&self, one: &Expected<'_>, row: RowKey) -> Result<Vec<String>, EvalError> {
        let Some(found) = self.data.row(row) else { return Ok(vec![format!("{} is gone", self.name(row))]) };
        let table = self.app.schema.table(row.table);
        let mut wrong = Vec::new();
        for (column, field) in &one.change.fields {
            let value = &found.cells[usize::from(column.0)];
            let described = table.describe(*column);
            let (fits, subject) = match field {
                Field::Any => (true, String::new()),
                Field::Equal(expression) => match self.value(expression, &one.locals) {
                    Ok(subject) => (subject == *value, format!("expected {}", self.show(&subject, &described.kind))),
                    Err(error) => (false, open(error)?),
                },
                Field::Contains(expression) => match (self.value(expression, &one.locals), value) {
                    (Err(error), _) => (false, open(error)?),
                    (Ok(Value::Text(part)), Value::Text(text)) => {
                        (text.to_lowercase().contains(&part.to_lowercase()), format!("expected it to contain {part:?}"))
                    }
                    _ => (false, "expected text".to_owned()),
                },
                Field::Check(condition) => {
                    let mut locals = one.locals.clone();
                    locals.push(value.clone());
                    (self.holds(condition, &locals)?, "a condition on it does not hold".to_owned())
                }
            };
            if !fits {
                let before = match self.baseline.cell(row, *column) {
                    Some(before) => format!("was {}, ", self.show(before, &described.kind)),
                    None => String::new(),
                };
                let after = self.show(value, &described.kind);
                wrong.push(format!("{}.{}: {before}is {after}, {subject}", self.name(row), described.name));
            }
        }
        Ok(wrong)
    }
}

/// Finds a row for a slot, moving others if that helps.
fn augment(
    slot: usize,
    subject: &[(&Expected<'_>, Vec<usize>)],
    owner: &mut [Option<usize>],
    seen: &mut [bool],
) -> bool {
    for place in &subject[slot].1 {
        if std::mem::replace(&mut seen[*place], true) {
            continue;
        }
        let free = match owner[*place] {
            None => true,
            Some(other) => augment(other, subject, owner, seen),
        };
        if free {
            owner[*place] = Some(slot);
            return true;
        }
    }
    false
}
