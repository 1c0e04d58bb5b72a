//! Descriptions of tables, compiled: typed columns, ids, uniqueness, and what refers to what.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::calendar::Calendar;
use crate::ids::IdPattern;
use crate::kinds::{ColumnId, TableId, Type};
use crate::limits;
use crate::value::Value;

/// Most columns of a table.
pub const COLUMNS_MAX: usize = 256;
/// Most tables.
pub const TABLES_MAX: usize = 1024;

/// The tables of an app, and the calendar by which their points in time are read and written.
#[derive(Debug, Clone)]
pub struct Schema {
    /// In the order of the definition.
    pub tables: Vec<Table>,
    /// The app's time zone.
    pub calendar: Calendar,
    by_name: BTreeMap<Arc<str>, TableId>,
    referrers: Vec<Vec<(TableId, ColumnId)>>,
}

/// One table.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its name, unique.
    pub name: Arc<str>,
    /// Form of its ids.
    pub id: IdPattern,
    /// In the order of the definition.
    pub columns: Vec<Column>,
    /// True if it has exactly one row, whose id is the table's name.
    pub single: bool,
    /// True if goals leave it out.
    pub untracked: bool,
    /// The column that refers to the row that owns a row.
    pub owner: Option<ColumnId>,
}

/// One column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name, unique in its table.
    pub name: Arc<str>,
    /// Its type; optional ones are nullable.
    pub kind: Type,
    /// True if no two rows have the same value; any number of them may have null.
    pub unique: bool,
    /// True if rows are found by its value without a scan. References and unique columns always are.
    pub indexed: bool,
    /// True if goals leave it out.
    pub volatile: bool,
    /// True if it is hidden unless a view shows it.
    pub secret: bool,
    /// Action on a row when the row that this column refers to is deleted.
    pub on_delete: OnDelete,
    /// The value of rows that don't say.
    pub default: Option<Value>,
}

/// Action on a row when the one that it refers to is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDelete {
    /// It stands in the way, unless it is deleted along.
    #[default]
    Restrict,
    /// It is deleted too.
    Cascade,
    /// The reference becomes null.
    Null,
}

/// Something that makes no sense in a description of tables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("table {table}{}: {message}", .column.as_ref().map(|column| format!(", column {column}")).unwrap_or_default())]
pub struct SchemaFault {
    /// The table's name.
    pub table: Arc<str>,
    /// The column's name, where it is about one.
    pub column: Option<Arc<str>>,
    /// Description of the fault and of the expected form.
    pub message: String,
}

impl Schema {
    /// Checks the tables and finds out which columns refer to which tables.
    ///
    /// # Errors
    /// Every fault, in the order of the definition.
    pub fn new(mut tables: Vec<Table>, calendar: Calendar) -> Result<Self, Vec<SchemaFault>> {
        let mut faults = Vec::new();
        let mut by_name = BTreeMap::new();
        let mut referrers = vec![Vec::new(); tables.len()];
        for (number, table) in (0_u16..).zip(&mut tables) {
            let fault = |message: &str| SchemaFault {
                table: Arc::clone(&table.name),
                column: None,
                message: message.to_owned(),
            };
            if usize::from(number) >= TABLES_MAX {
                faults.push(fault(&format!("there are too many tables: keep at most {TABLES_MAX}")));
                break;
            }
            if by_name.insert(Arc::clone(&table.name), TableId(number)).is_some() {
                faults.push(fault("there is another table of this name: choose another one"));
            }
            if table.columns.len() > COLUMNS_MAX {
                faults.push(fault(&format!("the table has too many columns: keep at most {COLUMNS_MAX}")));
                break;
            }
            faults.extend(table.faults());
            for (column, description) in (0_u16..).zip(&mut table.columns) {
                description.indexed |= description.unique;
                if let Type::Row(target) = description.kind.present() {
                    description.indexed = true;
                    if let Some(referrers) = referrers.get_mut(usize::from(target.0)) {
                        referrers.push((TableId(number), ColumnId(column)));
                    } else {
                        faults.push(SchemaFault {
                            table: Arc::clone(&table.name),
                            column: Some(Arc::clone(&description.name)),
                            message: "the column refers to a table that doesn't exist: name one that does".to_owned(),
                        });
                    }
                }
            }
        }
        if faults.is_empty() { Ok(Self { tables, calendar, by_name, referrers }) } else { Err(faults) }
    }

    /// The table of a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<TableId> {
        self.by_name.get(name).copied()
    }

    /// A table of this schema.
    ///
    /// # Panics
    /// With the id of another schema's table.
    #[must_use]
    pub fn table(&self, table: TableId) -> &Table {
        &self.tables[usize::from(table.0)]
    }

    /// The tables with their ids, in the order of the definition.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = (TableId, &Table)> {
        self.tables.iter().enumerate().map(|(number, table)| (TableId(number as u16), table))
    }

    /// The columns that refer to a table, in the order of the definition.
    #[must_use]
    pub fn referrers(&self, table: TableId) -> &[(TableId, ColumnId)] {
        &self.referrers[usize::from(table.0)]
    }
}

impl Table {
    /// The column of a name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<ColumnId> {
        self.columns().find(|(_, column)| &*column.name == name).map(|(id, _)| id)
    }

    /// The description of a column.
    ///
    /// # Panics
    /// With the id of another table's column.
    #[must_use]
    pub fn describe(&self, column: ColumnId) -> &Column {
        &self.columns[usize::from(column.0)]
    }

    /// The columns with their ids, in the order of the definition.
    pub fn columns(&self) -> impl DoubleEndedIterator<Item = (ColumnId, &Column)> {
        self.columns.iter().enumerate().map(|(number, column)| (ColumnId(number as u16), column))
    }

    fn faults(&self) -> Vec<SchemaFault> {
        let mut faults = Vec::new();
        let mut fault = |column: Option<&Column>, message: &str| {
            faults.push(SchemaFault {
                table: Arc::clone(&self.name),
                column: column.map(|column| Arc::clone(&column.name)),
                message: message.to_owned(),
            });
        };
        if self.single != self.id.is_fixed() {
            fault(None, "a table has a pattern of ids with digits, such as \"W{7}\", unless it has a single row");
        }
        if self.single && self.id.show(0, 0).is_none_or(|id| id != self.name) {
            fault(None, "the id of a single row is the table's name");
        }
        let owner = self.owner.and_then(|owner| self.columns.get(usize::from(owner.0)));
        if self.owner.is_some()
            && !owner.is_some_and(|owner| matches!(owner.kind, Type::Row(_)) && owner.on_delete == OnDelete::Cascade)
        {
            fault(owner, "the owner is a reference that is never null and deletes in cascade");
        }
        let mut names = BTreeSet::new();
        for column in &self.columns {
            if !names.insert(&column.name) {
                fault(Some(column), "there is another column of this name");
            }
            if let Some(message) = column.fault(self.single) {
                fault(Some(column), message);
            }
        }
        faults
    }
}

impl Column {
    /// A column that is nothing but its name and type.
    #[must_use]
    pub fn new(name: &str, kind: Type) -> Self {
        Self {
            name: name.into(),
            kind,
            unique: false,
            indexed: false,
            volatile: false,
            secret: false,
            on_delete: OnDelete::Restrict,
            default: None,
        }
    }

    fn fault(&self, single: bool) -> Option<&'static str> {
        let reference = matches!(self.kind.present(), Type::Row(_));
        let nested = match self.kind.present() {
            Type::Null | Type::Opt(_) => return Some("its type has no values but null"),
            Type::List(element) => has_rows(element),
            Type::Record(fields) => fields.iter().any(|(_, kind)| has_rows(kind)),
            _ => false,
        };
        if nested {
            return Some("a list or a record holds no references: give them a table of their own");
        }
        match self.on_delete {
            OnDelete::Restrict => {}
            _ if !reference => return Some("only a reference says what happens on deletion"),
            OnDelete::Null if !self.kind.may_be_null() => {
                return Some("a reference that becomes null must be optional");
            }
            OnDelete::Cascade if single => return Some("a single row is never deleted"),
            OnDelete::Null | OnDelete::Cascade => {}
        }
        let default = self.default.as_ref()?;
        if reference && !default.is_null() {
            return Some("a reference has no default but null");
        }
        limits::check(default, &self.kind).err().map(|_| "the default doesn't fit the type")
    }
}

fn has_rows(kind: &Type) -> bool {
    match kind.present() {
        Type::Row(_) => true,
        Type::List(element) => has_rows(element),
        Type::Record(fields) => fields.iter().any(|(_, kind)| has_rows(kind)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, id: &str, columns: Vec<Column>) -> Table {
        let id = IdPattern::parse(id).expect("a pattern");
        Table { name: name.into(), single: id.is_fixed(), id, columns, untracked: false, owner: None }
    }

    fn schema(tables: Vec<Table>) -> Result<Schema, Vec<SchemaFault>> {
        Schema::new(tables, Calendar::new("UTC", false).expect("a zone"))
    }

    #[test]
    fn references_and_unique_columns_are_indexed_and_known_to_their_target() {
        let columns = vec![
            Column::new("plain", Type::Int),
            Column { unique: true, ..Column::new("code", Type::Text) },
            Column::new("up", Type::Opt(Box::new(Type::Row(TableId(0))))),
        ];
        let schema = schema(vec![table("a", "A{3}", columns), table("b", "B{3}", vec![])]).expect("a schema");
        let (a, b) = (TableId(0), TableId(1));
        assert_eq!(
            schema.table(a).columns.iter().map(|column| column.indexed).collect::<Vec<_>>(),
            [false, true, true]
        );
        assert_eq!((schema.find("b"), schema.find("c")), (Some(b), None));
        assert_eq!((schema.referrers(a), schema.referrers(b)), ([(a, ColumnId(2))].as_slice(), [].as_slice()));
        assert_eq!(schema.table(a).column("code"), Some(ColumnId(1)));
        assert_eq!(&*schema.table(a).describe(ColumnId(1)).name, "code");
    }

    #[test]
    fn descriptions_that_make_no_sense_are_refused() {
        let row = || Type::Row(TableId(0));
        let optional = |kind| Type::Opt(Box::new(kind));
        for (column, part) in [
            (Column::new("x", Type::Row(TableId(9))), "a table that doesn't exist"),
            (Column::new("x", Type::Null), "no values but null"),
            (Column::new("x", Type::List(Box::new(row()))), "holds no references"),
            (Column::new("x", Type::Record([("r".into(), optional(row()))].into())), "holds no references"),
            (Column { on_delete: OnDelete::Cascade, ..Column::new("x", Type::Int) }, "only a reference"),
            (Column { on_delete: OnDelete::Null, ..Column::new("x", row()) }, "must be optional"),
            (Column { default: Some(Value::Null), ..Column::new("x", Type::Int) }, "the default doesn't fit"),
            (Column { default: Some(Value::Int(1)), ..Column::new("x", optional(row())) }, "no default but null"),
        ] {
            let faults = schema(vec![table("t", "T{3}", vec![column])]).expect_err("it makes no sense");
            let messages = faults.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert!(
                messages.len() == 1 && messages[0].starts_with("table t, column x: ") && messages[0].contains(part),
                "{messages:?}"
            );
        }
        let int = || Column::new("x", Type::Int);
        let cascade = || Column { on_delete: OnDelete::Cascade, ..Column::new("x", row()) };
        for (wrong, part) in [
            (vec![table("t", "T{3}", vec![int(), int()])], "another column of this name"),
            (vec![table("t", "T{3}", vec![]), table("t", "U{3}", vec![])], "another table of this name"),
            (vec![Table { single: true, ..table("t", "T{3}", vec![]) }], "a pattern of ids"),
            (vec![Table { single: false, ..table("t", "t", vec![]) }], "a pattern of ids"),
            (vec![table("t", "u", vec![])], "is the table's name"),
            (vec![table("t", "t", vec![cascade()])], "a single row is never deleted"),
            (vec![Table { owner: Some(ColumnId(0)), ..table("t", "T{3}", vec![int()]) }], "the owner is a reference"),
            (
                vec![Table { owner: Some(ColumnId(7)), ..table("t", "T{3}", vec![cascade()]) }],
                "the owner is a reference",
            ),
            (vec![table("t", "T{3}", vec![int(); COLUMNS_MAX + 1])], "too many columns"),
            (vec![table("t", "T{3}", vec![]); TABLES_MAX + 1], "too many tables"),
        ] {
            let faults = schema(wrong).expect_err("it makes no sense");
            assert!(faults.iter().any(|fault| fault.message.contains(part)), "{faults:?}");
        }
    }
}
