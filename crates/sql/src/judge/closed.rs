//! Two schemas compared in a closed world: what is not free is as the reference leaves it, and nothing is there besides.
//!
//! Names of indexes and constraints are not compared, and neither are comments, statistics, owners and how far sequences have counted.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{bare, indexes_of, refuses_null, same, sorted, unique};
use crate::compare::{Grid, Reading, difference_by_column};
use crate::dataset::Affinity;
use crate::engine::{ColumnInfo, ForeignKeyInfo, Schema, SchemaDetail, SchemaDetailKind, StatementResult, TableInfo};
use crate::script::{Sort, Token, lex, plain};
use crate::task::{Columns, Compare, Free};
use crate::value::Dialect;

/// Rows are the same in any order, by the names of their columns.
const ROWS: Compare =
    Compare { ordered: false, columns: Columns::Name, tolerance: 0.0, strict_types: true, distinct: false };

/// Everything that there is beside rows.
#[derive(Debug, Clone)]
pub(super) struct Inventory {
    pub(super) schema: Schema,
    pub(super) schema_details: BTreeSet<SchemaDetail>,
}

impl Inventory {
    fn table(&self, name: &str) -> Option<&TableInfo> {
        self.schema.tables.iter().find(|table| same(&table.name, name))
    }

    fn of<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a SchemaDetail> {
        let owner = |detail: &&SchemaDetail| {
            let of = detail.of.as_str();
            same(of, table) || of.rsplit_once('.').is_some_and(|(owner, _)| same(owner, table))
        };
        self.schema_details.iter().filter(owner)
    }
}

/// Comparison of the initial database, the reference's outcome and the acting side's outcome.
pub(super) struct Differences<'a> {
    pub(super) before: &'a Inventory,
    pub(super) after: &'a Inventory,
    pub(super) left: &'a Inventory,
    pub(super) free: &'a Free,
    pub(super) dialect: Dialect,
}

impl Differences<'_> {
    /// The first that is not free, in words.
    pub(super) fn first(&self) -> Option<String> {
        let names = |inventory: &Inventory| -> BTreeSet<String> {
            let tables = inventory.schema.tables.iter();
            let sort = |view: bool| if view { "view" } else { "table" };
            tables.map(|table| format!("the {} {}", sort(table.view), bare(&table.name))).collect()
        };
        let tables = self.after.schema.tables.iter();
        self.unlike_names()
            .or_else(|| unequal("the database", &names(self.after), &names(self.left)))
            .or_else(|| {
                unequal("the database", &self.schema_details(self.after, ""), &self.schema_details(self.left, ""))
            })
            .or_else(|| tables.map(|table| table.name.as_str()).find_map(|table| self.of_table(table)))
    }

    /// A table, view or column that one side has and the other lacks, by the names as the engine tells them apart: what follows compares
    /// names as people write them, without quotes, order and case.
    fn unlike_names(&self) -> Option<String> {
        let key = |name: &str| match self.dialect {
            Dialect::Sqlite => name.to_ascii_lowercase(),
            Dialect::Postgres => name.to_owned(),
        };
        let tables = |inventory: &Inventory| -> BTreeSet<String> {
            inventory.schema.tables.iter().map(|table| key(&table.name)).collect()
        };
        let columns = |table: &TableInfo| -> BTreeSet<String> {
            table.columns.iter().map(|column| format!("the column {:?}", key(&column.name))).collect()
        };
        unequal("the database", &tables(self.after), &tables(self.left)).or_else(|| {
            self.after.schema.tables.iter().find_map(|table| {
                let left = self.left.schema.tables.iter().find(|left| key(&left.name) == key(&table.name))?;
                unequal(&table.name, &columns(table), &columns(left))
            })
        })
    }

    /// Differences between the rows of a table or view in the reference's outcome and the acting side's.
    pub(super) fn of_rows(&self, table: &str, expected: &StatementResult, found: &StatementResult) -> Option<String> {
        let reading = |column: &str| self.reading(table, column);
        difference_by_column(Grid::from(expected), Grid::from(found), &ROWS, &reading).map(|difference| difference.0)
    }

    /// Reading of a column; a kept one has to be equal in every respect. What the task makes may be of another type of the same sort; a
    /// view may show values of any type, so that what they mean counts.
    fn reading(&self, table: &str, column: &str) -> Reading {
        let of = |inventory: &Inventory| {
            let table = inventory.table(table)?;
            let column = table.columns.iter().find(|found| same(&found.name, column))?;
            Some((table.view, column.type_name.to_lowercase()))
        };
        match (of(self.before), of(self.after)) {
            (_, Some((true, _))) => Reading::Meaning,
            (Some(before), Some(after)) if before == after => Reading::Exact,
            _ => Reading::Written,
        }
    }

    fn of_table(&self, name: &str) -> Option<String> {
        let facts = |inventory| {
            let mut facts = self.facts(inventory, name);
            facts.extend(self.schema_details(inventory, name));
            facts
        };
        unequal(name, &facts(self.after), &facts(self.left))
            .or_else(|| self.checks(name))
            .or_else(|| self.triggers(name))
    }

    /// Everything about a table or view but checks and triggers, as facts that are equal where nothing differs that must not.
    fn facts(&self, of: &Inventory, name: &str) -> BTreeSet<String> {
        let Some(table) = of.table(name) else { return BTreeSet::new() };
        let mut facts = BTreeSet::new();
        for column in &table.columns {
            facts.extend(self.column(table, column));
        }
        if table.view {
            // A view that the reference makes or changes may be written in any way: its rows are compared.
            let text = |inventory: &Inventory| {
                inventory.table(name).and_then(|view| view.sql.clone()).map(|sql| plain(&sql, self.dialect))
            };
            facts.extend(text(of).filter(|_| text(self.before).is_some() && text(self.before) == text(self.after)));
            return facts;
        }
        if !table.primary_key.is_empty() && !self.is_free(&self.free.keys, name) {
            facts.insert(format!("the primary key ({})", list(&table.primary_key)));
        }
        if !self.is_free(&self.free.keys, name) {
            facts.extend(unique(&of.schema, table, self.dialect));
        }
        facts.extend(self.indexes(of, table));
        facts.extend(table.foreign_keys.iter().map(reference));
        facts
    }

    /// A column that stays is what it was. One that the reference makes or changes has a type of the same sort, and any constant for a
    /// default.
    fn column(&self, table: &TableInfo, column: &ColumnInfo) -> Vec<String> {
        let name = bare(&column.name);
        let place = format!("{}.{name}", table.name);
        let default = column.default.as_ref().map(|default| format!("the default of {name}: {default}"));
        let mut facts = if table.view {
            vec![format!("the column {name}")]
        } else if self.stays(&table.name, &column.name) {
            let mut facts = vec![format!("the column {name} {}", column.type_name.to_lowercase())];
            facts.extend(default);
            facts
        } else {
            let small = self.refers(&table.name, &column.name) && column.type_name.eq_ignore_ascii_case("smallint");
            let sort = if small { "small integer".to_owned() } else { sort(&column.type_name, self.dialect) };
            let mut facts = vec![format!("the column {name} of the sort {sort}")];
            let may = |default: &str| {
                is_constant(default, self.dialect)
                    || self.is_free(&self.free.values, &place) && default.starts_with("nextval(")
            };
            facts.extend(default.filter(|_| !column.default.as_deref().is_none_or(may)));
            facts
        };
        let may = self.is_free(&self.free.nullable, &place) || self.is_free(&self.free.keys, &table.name);
        // A primary key takes no NULL by the standard; that SQLite's does is no wish of the task.
        let key = table.primary_key.iter().any(|key| same(key, &column.name));
        if !table.view && !may && (key || refuses_null(table, column, self.dialect)) {
            facts.push(format!("{name} is never NULL"));
        }
        facts
    }

    /// True if a column refers to another after the reference, which has room for every row.
    fn refers(&self, table: &str, column: &str) -> bool {
        let keys = self.after.table(table).map(|table| table.foreign_keys.as_slice()).unwrap_or_default();
        keys.iter().flat_map(|key| &key.columns).any(|name| same(&bare(name), &bare(column)))
    }

    /// True if the reference leaves a column the type that it has.
    fn stays(&self, table: &str, column: &str) -> bool {
        let type_name = |inventory: &Inventory| {
            let column = inventory.table(table)?.columns.iter().find(|found| same(&found.name, column))?;
            Some((column.type_name.to_lowercase(), column.default.clone()))
        };
        type_name(self.before).is_some_and(|before| type_name(self.after) == Some(before))
    }

    /// Indexes that are not unique. Further ones of columns alone change nothing but time; expressions and conditions can fail.
    fn indexes(&self, of: &Inventory, table: &TableInfo) -> BTreeSet<String> {
        if self.is_free(&self.free.indexes, &table.name) {
            return BTreeSet::new();
        }
        let words = |inventory: &Inventory| -> BTreeSet<String> {
            let others = indexes_of(&inventory.schema, &table.name).filter(|index| !index.unique);
            let words = others.map(|index| {
                let condition = index.condition.as_ref().map(|condition| format!(" where {condition}"));
                format!("the index ({}){}", list(&index.columns), condition.unwrap_or_default())
            });
            words.collect()
        };
        let plain = |words: &String| {
            let columns = words.strip_prefix("the index (").and_then(|rest| rest.strip_suffix(')'));
            let known = |column: &str| table.columns.iter().any(|found| same(&bare(&found.name), column));
            columns.is_some_and(|columns| columns.split(", ").all(known))
        };
        let wanted = words(self.after);
        words(of).into_iter().filter(|words| wanted.contains(words) || !plain(words)).collect()
    }

    /// Particulars of a table, or of none, that are not free.
    fn schema_details(&self, of: &Inventory, table: &str) -> BTreeSet<String> {
        let counts = |detail: &&SchemaDetail| match detail.sort {
            SchemaDetailKind::Trigger | SchemaDetailKind::Refusal => false,
            SchemaDetailKind::Numbered => {
                let own = |column: &String| column.rsplit_once('.').is_some_and(|(owner, _)| same(owner, table));
                !self
                    .free
                    .values
                    .iter()
                    .any(|column| same(column, &detail.of) || same(&detail.of, table) && own(column))
            }
            SchemaDetailKind::Generated | SchemaDetailKind::Reference | SchemaDetailKind::Other => true,
        };
        let found: Vec<&SchemaDetail> = if table.is_empty() {
            of.schema_details.iter().filter(|detail| detail.of.is_empty()).collect()
        } else {
            of.of(table).collect()
        };
        found.into_iter().filter(counts).map(|detail| format!("{} {}", detail.of, detail.words)).collect()
    }

    /// Checks that stay are there; new ones depend on columns on which the reference's new ones hang, and only on those.
    fn checks(&self, name: &str) -> Option<String> {
        let of = |inventory: &Inventory| -> BTreeSet<String> {
            inventory.table(name).map(|table| checks_of(table, self.dialect)).unwrap_or_default()
        };
        let (before, after, left) = (of(self.before), of(self.after), of(self.left));
        if let Some(lost) = before.intersection(&after).find(|check| !left.contains(*check)) {
            return Some(format!("{name} has lost: the check {lost}"));
        }
        let table = self.left.table(name)?;
        let allowed = self.ruled(name);
        let besides = left.difference(&before).filter(|check| !after.contains(*check)).find(|check| {
            let hangs = columns_in(check, table, self.dialect);
            hangs.is_empty() || !hangs.is_subset(&allowed)
        });
        // A check that the reference takes away is not to stay.
        let kept = before.difference(&after).find(|check| left.contains(*check));
        besides.or(kept).map(|check| format!("{name} has besides: the check {check}"))
    }

    /// Triggers that the reference leaves are there, with the same definition; others only where they may be, and only refuse.
    fn triggers(&self, name: &str) -> Option<String> {
        let of = |inventory: &Inventory| -> BTreeMap<String, SchemaDetailKind> {
            let triggers = inventory.of(name);
            let triggers =
                triggers.filter(|detail| matches!(detail.sort, SchemaDetailKind::Trigger | SchemaDetailKind::Refusal));
            triggers.map(|trigger| (trigger.words.clone(), trigger.sort)).collect()
        };
        let (after, left) = (of(self.after), of(self.left));
        if let Some(lost) = after.keys().find(|trigger| !left.contains_key(*trigger)) {
            return Some(format!("{name} has lost: the trigger {lost}"));
        }
        let may = self.is_free(&self.free.triggers, name);
        let mut besides = left.iter().filter(|(trigger, _)| !after.contains_key(*trigger));
        let besides = besides.find(|(trigger, sort)| {
            let hangs = columns_of_row(trigger, self.dialect);
            !(may && **sort == SchemaDetailKind::Refusal && !hangs.is_empty() && hangs.is_subset(&self.ruled(name)))
        });
        besides.map(|(trigger, _)| format!("{name} has besides: the trigger {trigger}"))
    }

    /// Columns on which the checks hang that the reference adds.
    fn ruled(&self, name: &str) -> BTreeSet<String> {
        let (Some(before), Some(after)) = (self.before.table(name), self.after.table(name)) else {
            let new = self.after.table(name).into_iter();
            let new = new.flat_map(|table| checks_of(table, self.dialect).into_iter().map(move |check| (table, check)));
            return new.flat_map(|(table, check)| columns_in(&check, table, self.dialect)).collect();
        };
        let known = checks_of(before, self.dialect);
        let new = checks_of(after, self.dialect).into_iter().filter(|check| !known.contains(check));
        new.flat_map(|check| columns_in(&check, after, self.dialect)).collect()
    }

    /// Tables that are not made in the reference's very words but for names and indexes that refuse nothing: what they refuse is to be
    /// tried. Those with any keys are only kept.
    pub(super) fn other_tables(&self) -> Vec<&TableInfo> {
        let tables = self.after.schema.tables.iter().filter(|table| !table.view);
        let tables = tables.filter(|table| !self.is_free(&self.free.keys, &table.name));
        tables.filter(|table| self.rules(self.after, &table.name) != self.rules(self.left, &table.name)).collect()
    }

    /// Views in other words than the reference's.
    pub(super) fn other_views(&self) -> Vec<&TableInfo> {
        let words = |of: &Inventory, name: &str| {
            of.table(name).and_then(|view| view.sql.as_ref()).map(|sql| plain(sql, self.dialect))
        };
        let views = self.after.schema.tables.iter().filter(|table| table.view);
        views.filter(|view| words(self.after, &view.name) != words(self.left, &view.name)).collect()
    }

    /// Rules that decide which rows a table takes.
    fn rules(&self, of: &Inventory, name: &str) -> BTreeSet<String> {
        let Some(table) = of.table(name) else { return BTreeSet::new() };
        let mut rules = unique(&of.schema, table, self.dialect);
        rules.insert(format!("the primary key ({})", sorted(&table.primary_key)));
        rules.extend(table.columns.iter().map(|column| exact(table, column, self.dialect).join(", ")));
        rules.extend(table.foreign_keys.iter().map(reference));
        rules.extend(checks_of(table, self.dialect));
        rules.extend(of.of(name).map(|detail| format!("{} {}", detail.of, detail.words)));
        rules
    }

    /// Spellings of a table's rules, or of a view, on both sides, and the columns that differ.
    pub(super) fn words_of(&self, name: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (of, other) in [(self.after, self.left), (self.left, self.after)] {
            let Some(table) = of.table(name) else { continue };
            words.extend(table.checks.iter().chain(table.sql.iter().filter(|_| table.view)).cloned());
            words.extend(of.of(name).map(|detail| detail.words.clone()));
            let words_there = |column: &ColumnInfo| {
                let there = other.table(name)?;
                let found = there.columns.iter().find(|found| same(&found.name, &column.name))?;
                Some(exact(there, found, self.dialect))
            };
            let differing = table
                .columns
                .iter()
                .filter(|column| words_there(column).is_none_or(|there| there != exact(table, column, self.dialect)));
            words.extend(differing.map(|column| column.name.clone()));
        }
        words
    }

    /// Definition of a view in the reference.
    pub(super) fn reference_sql(&self, view: &str) -> Option<&str> {
        self.after.table(view)?.sql.as_deref()
    }

    /// Definition of a view by the acting side.
    pub(super) fn left_sql(&self, view: &str) -> Option<&str> {
        self.left.table(view)?.sql.as_deref()
    }

    /// Checks of a table that are not the reference's, as they were written.
    pub(super) fn other_checks(&self, name: &str) -> Vec<&str> {
        let known = self.after.table(name).map(|table| checks_of(table, self.dialect)).unwrap_or_default();
        let checks = self.left.table(name).map(|table| table.checks.as_slice()).unwrap_or_default();
        checks.iter().map(String::as_str).filter(|check| !known.contains(&plain(check, self.dialect))).collect()
    }

    fn is_free(&self, list: &[String], name: &str) -> bool {
        list.iter().any(|free| same(free, name))
    }
}

/// Elements of one set that the other lacks.
fn unequal(of: &str, wanted: &BTreeSet<String>, found: &BTreeSet<String>) -> Option<String> {
    let lost = wanted.difference(found).next().map(|fact| format!("{of} has lost: {fact}"));
    lost.or_else(|| found.difference(wanted).next().map(|fact| format!("{of} has besides: {fact}")))
}

fn exact(table: &TableInfo, column: &ColumnInfo, dialect: Dialect) -> Vec<String> {
    let refusing = refuses_null(table, column, dialect);
    vec![bare(&column.name), column.type_name.to_lowercase(), refusing.to_string()]
}

/// The sort of a type: names that stand for the same sort of values are alike.
fn sort(type_name: &str, dialect: Dialect) -> String {
    let name = type_name.to_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    match dialect {
        // A day is text in SQLite, whatever its column is called; a copy of a column keeps its affinity alone.
        Dialect::Sqlite if ["date", "time"].iter().any(|word| name.contains(word)) || name == "num" => {
            "text".to_owned()
        }
        Dialect::Sqlite => format!("{:?}", Affinity::of_declared(&name)).to_lowercase(),
        Dialect::Postgres if begins(&["int", "bigint", "smallint"]) && !begins(&["interval"]) => "integer".to_owned(),
        Dialect::Postgres if begins(&["text", "character varying", "varchar"]) => "text".to_owned(),
        Dialect::Postgres => name,
    }
}

fn list(columns: &[String]) -> String {
    columns.iter().map(|column| bare(column)).collect::<Vec<_>>().join(", ")
}

/// A reference. That a row which others refer to cannot go is no matter of when it is refused.
fn reference(key: &ForeignKeyInfo) -> String {
    let action = key.on_delete.to_lowercase().replace("restrict", "no action");
    let pairs = key.columns.iter().zip(&key.references);
    let name = |name: &str| name.to_ascii_lowercase();
    let mut pairs: Vec<String> = pairs.map(|(here, there)| format!("{} to {}", name(here), name(there))).collect();
    pairs.sort_unstable();
    format!("the reference to {} ({}), on deletion {action}", name(&key.table), pairs.join(", "))
}

/// Checks in a form that is the same where nothing differs that matters.
fn checks_of(table: &TableInfo, dialect: Dialect) -> BTreeSet<String> {
    table.checks.iter().map(|check| plain(check, dialect)).collect()
}

/// Columns of a table that an expression names, and what else of a row has a name.
fn columns_in(expression: &str, table: &TableInfo, dialect: Dialect) -> BTreeSet<String> {
    let tokens = lex(expression, dialect);
    let is_name = |(at, token): (usize, &Token)| match token.sort {
        Sort::Word | Sort::Name => true,
        // SQLite takes a string for a name after a point.
        Sort::Text => dialect == Dialect::Sqlite && at > 0 && tokens[at - 1].text(expression) == ".",
        _ => false,
    };
    let names = tokens.iter().enumerate().filter(|named| is_name(*named));
    let names: BTreeSet<String> = names.map(|(_, token)| token.unquoted(expression).to_lowercase()).collect();
    let own = bare(&table.name);
    let (hidden, whole): (&[&str], _) = match dialect {
        Dialect::Sqlite => (&["rowid", "_rowid_", "oid"], None),
        Dialect::Postgres => (&["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"], Some(own)),
    };
    let columns = table.columns.iter().map(|column| bare(&column.name));
    columns
        .chain(hidden.iter().map(|name| (*name).to_owned()))
        .chain(whole)
        .filter(|name| names.contains(name))
        .collect()
}

/// Columns of the row that changes which a trigger names.
fn columns_of_row(trigger: &str, dialect: Dialect) -> BTreeSet<String> {
    let tokens = lex(trigger, dialect);
    let of_row = tokens.windows(3).filter(|three| {
        let row = three[0].text(trigger);
        (row.eq_ignore_ascii_case("new") || row.eq_ignore_ascii_case("old")) && three[1].text(trigger) == "."
    });
    of_row.map(|three| three[2].unquoted(trigger).to_lowercase()).collect()
}

/// True if a default is one value that is written out, perhaps with its type.
fn is_constant(default: &str, dialect: Dialect) -> bool {
    let plain = plain(default, dialect);
    let mut tokens = lex(&plain, dialect);
    let (value, of_type) = match tokens.iter().position(|token| token.text(&plain) == ":") {
        Some(at) => {
            let rest = tokens.split_off(at);
            let casts = rest.iter().filter(|token| token.text(&plain) == ":").count();
            (tokens, casts == 2)
        }
        None => (tokens, true),
    };
    let mut values = value.iter().filter(|token| !matches!(token.text(&plain), "(" | ")" | "-" | "+"));
    let first = values.next().is_some_and(|token| match token.sort {
        Sort::Number | Sort::Text | Sort::Name => true,
        Sort::Word => matches!(
            token.text(&plain),
            "true" | "false" | "null" | "current_date" | "current_time" | "current_timestamp"
        ),
        Sort::Parameter | Sort::Symbol => false,
    });
    of_type && first && values.next().is_none()
}
