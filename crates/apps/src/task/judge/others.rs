//! Changes that a goal does not list: whatever else changed, at the end or on the way.

use super::{DIFFERENCES_SHOWN, End, Explained, check};
use crate::app::goal::Free;
use crate::data::{Change as Written, ChangeKind};
use crate::task::verdict::Check;
use crate::value::{RowKey, Value};

/// Name of the check of the closed world.
pub(super) const NOTHING_ELSE: &str = "nothing else";
/// Name of the check of the way.
pub(super) const HISTORY: &str = "history";

impl End<'_> {
    pub(super) fn nothing_else(&self, differences: &[Written], explained: &Explained) -> Check {
        let mut others = Vec::new();
        for written in differences {
            match &written.kind {
                ChangeKind::Created if !explained.rows.contains(&written.row) => {
                    others.push(format!("{} was created", self.name(written.row)));
                }
                ChangeKind::Deleted if !self.gone_along(written.row, explained) => {
                    others.push(format!(
                        "{}/{} was deleted",
                        self.app.schema.table(written.row.table).name,
                        written.id
                    ));
                }
                ChangeKind::Updated { columns } => {
                    let listed = explained.cells.get(&written.row);
                    let table = self.app.schema.table(written.row.table);
                    for (column, before, after) in columns {
                        if listed.is_none_or(|listed| !listed.contains(column)) {
                            let described = table.describe(*column);
                            let (before, after) =
                                (self.show(before, &described.kind), self.show(after, &described.kind));
                            let row = self.name(written.row);
                            others.push(format!("{row}.{} was {before}, is {after}", described.name));
                        }
                    }
                }
                _ => {}
            }
        }
        let evidence = match others.len() {
            0 => "nothing else changed".to_owned(),
            count => {
                others.truncate(DIFFERENCES_SHOWN);
                format!("{count} other changes: {}", others.join("; "))
            }
        };
        check(NOTHING_ELSE.to_owned(), others.is_empty(), &evidence)
    }

    /// True if a row was to be deleted, or is owned by one that was.
    fn gone_along(&self, row: RowKey, explained: &Explained) -> bool {
        let mut row = row;
        loop {
            if explained.rows.contains(&row) {
                return true;
            }
            let Some(owner) = self.app.schema.table(row.table).owner else { return false };
            match self.baseline.cell(row, owner) {
                Some(Value::Row(next)) => row = *next,
                _ => return false,
            }
        }
    }

    pub(super) fn history(&self, explained: &Explained) -> Check {
        let free = &self.template.goal.free;
        let other = self.touched.iter().find(|(row, column)| {
            let table = self.app.schema.table(row.table);
            let exempt = table.untracked
                || free.contains(&Free::Table(row.table))
                || column.is_some_and(|column| {
                    table.describe(column).volatile || free.contains(&Free::Column(row.table, column))
                })
                || (column.is_none() && free.contains(&Free::Created(row.table)));
            let listed = explained.rows.contains(row)
                || column.is_some_and(|column| explained.cells.get(row).is_some_and(|cells| cells.contains(&column)));
            !exempt && !listed
        });
        let evidence = match other {
            None => "nothing else was ever changed".to_owned(),
            Some((row, _)) => format!("{} was changed on the way", self.name(*row)),
        };
        check(HISTORY.to_owned(), other.is_none(), &evidence)
    }
}
