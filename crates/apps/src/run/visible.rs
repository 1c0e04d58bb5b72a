//! Rows and columns that a role can see.

use super::raised::stop;
use super::{CallError, World};
use crate::app::Role;
use crate::expression::{DEFAULT_BUDGET, NoHost};
use crate::kinds::{ColumnId, TableId};
use crate::value::{RowKey, Value};

impl World {
    /// True if a role can see a row that exists.
    ///
    /// # Errors
    /// When the permission's expression fails.
    pub fn sees(&self, role: Role, row: RowKey) -> Result<bool, CallError> {
        for permission in &self.app().permissions {
            if permission.table != row.table || !permission.roles.contains(&role) {
                continue;
            }
            let Some(rows) = &permission.rows else { continue };
            let (mut host, mut budget) = (NoHost, DEFAULT_BUDGET);
            let locals = [Value::Row(row)];
            let seen = rows.holds(&mut self.frame(&locals, &mut host, &mut budget));
            if !seen.map_err(|error| stop(self.app(), error))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True if a role can see a column.
    #[must_use]
    pub fn sees_column(&self, role: Role, table: TableId, column: ColumnId) -> bool {
        !self.app().permissions.iter().any(|permission| {
            permission.table == table && permission.roles.contains(&role) && permission.hide.contains(&column)
        })
    }

    /// The row of an id, if the role can see it.
    ///
    /// # Errors
    /// When a permission's expression fails.
    pub fn find(&self, role: Role, table: TableId, id: &str) -> Result<Option<RowKey>, CallError> {
        match self.data().by_id(table, id) {
            Some(row) if self.sees(role, row)? => Ok(Some(row)),
            _ => Ok(None),
        }
    }
}
