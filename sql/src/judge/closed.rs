//! Two schemas compared in a closed world: what is not free is as the reference leaves it, and nothing is there besides.
//!
//! Names of indexes and constraints are not compared, and neither are comments, statistics, owners and how far sequences have counted.

use std::collections::{BTreeMap, BTreeSet};

use super::schema::{bare, indexes_of, refuses_null, same};
use crate::dataset::Affinity;
use crate::engine::{ColumnInfo, ForeignKeyInfo, Particular, ParticularSort, Schema, TableInfo};
use crate::task::Free;
use crate::value::Dialect;

/// Everything that there is beside rows.
#[derive(Debug, Clone)]
pub(super) struct Inventory {
    pub(super) schema: Schema,
    pub(super) particulars: BTreeSet<Particular>,
}

impl Inventory {
    fn table(&self, name: &str) -> Option<&TableInfo> {
        self.schema.tables.iter().find(|table| same(&table.name, name))
    }

    /// Whether a table or view is the same in another one.
    pub(super) fn holds(&self, name: &str, other: &Self, dialect: Dialect) -> bool {
        let words = |inventory: &Self| {
            let table = inventory.table(name)?;
            let columns = table.columns.iter();
            let columns: BTreeSet<String> = columns.map(|column| exact(table, column, dialect).join(", ")).collect();
            Some((table.view, columns))
        };
        words(self).is_some() && words(self) == words(other)
    }

    fn of<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a Particular> {
        let owner = |particular: &&Particular| {
            let of = particular.of.as_str();
            same(of, table) || of.rsplit_once('.').is_some_and(|(owner, _)| same(owner, table))
        };
        self.particulars.iter().filter(owner)
    }
}

/// What was there, what the reference leaves, and what the acting side left.
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
        unequal("the database", &names(self.after), &names(self.left))
            .or_else(|| unequal("the database", &self.particulars(self.after, ""), &self.particulars(self.left, "")))
            .or_else(|| tables.map(|table| table.name.as_str()).find_map(|table| self.of_table(table)))
    }

    fn of_table(&self, name: &str) -> Option<String> {
        let facts = |inventory| {
            let mut facts = self.facts(inventory, name);
            facts.extend(self.particulars(inventory, name));
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
                inventory.table(name).and_then(|view| view.sql.clone()).map(|sql| squeezed(&sql))
            };
            facts.extend(text(of).filter(|_| text(self.before).is_some() && text(self.before) == text(self.after)));
            return facts;
        }
        if !table.primary_key.is_empty() && !self.is_free(&self.free.keys, name) {
            facts.insert(format!("the primary key ({})", list(&table.primary_key)));
        }
        if !self.is_free(&self.free.keys, name) {
            facts.extend(self.unique(of, table));
        }
        facts.extend(self.indexes(of, table));
        facts.extend(table.foreign_keys.iter().flat_map(|key| self.reference(name, key)));
        facts
    }

    /// A column that stays is what it was. One that the reference makes or changes has a type of the same sort, and any default.
    fn column(&self, table: &TableInfo, column: &ColumnInfo) -> Vec<String> {
        let name = bare(&column.name);
        let mut facts = if table.view {
            vec![format!("the column {name}")]
        } else if self.stays(&table.name, &column.name) {
            let mut facts = vec![format!("the column {name} {}", column.type_name.to_lowercase())];
            facts.extend(column.default.as_ref().map(|default| format!("the default of {name}: {default}")));
            facts
        } else {
            vec![format!("the column {name} of the sort {}", sort(&column.type_name, self.dialect))]
        };
        let place = format!("{}.{name}", table.name);
        let may = self.is_free(&self.free.nullable, &place) || self.is_free(&self.free.keys, &table.name);
        // A primary key takes no NULL by the standard; that SQLite's does is no wish of the task.
        let key = table.primary_key.iter().any(|key| same(key, &column.name));
        if !table.view && !may && (key || refuses_null(table, column, self.dialect)) {
            facts.push(format!("{name} is never NULL"));
        }
        facts
    }

    /// Whether the reference leaves a column the type that it has.
    fn stays(&self, table: &str, column: &str) -> bool {
        let type_name = |inventory: &Inventory| {
            let column = inventory.table(table)?.columns.iter().find(|found| same(&found.name, column))?;
            Some((column.type_name.to_lowercase(), column.default.clone()))
        };
        type_name(self.before).is_some_and(|before| type_name(self.after) == Some(before))
    }

    /// Sets of columns that are unique: those that stay as they are, others by the columns that they hang on.
    fn unique(&self, of: &Inventory, table: &TableInfo) -> BTreeSet<String> {
        let plain = |inventory: &Inventory| -> BTreeSet<String> {
            let sets = inventory.table(&table.name).map(|table| table.unique.iter().map(|set| sorted(set)).collect());
            sets.unwrap_or_default()
        };
        let staying: BTreeSet<String> = plain(self.before).intersection(&plain(self.after)).cloned().collect();
        let mut facts = BTreeSet::new();
        for set in plain(of) {
            let words = if staying.contains(&set) { "unique" } else { "unique by" };
            facts.insert(format!("{words} ({set})"));
        }
        for index in indexes_of(&of.schema, &table.name).filter(|index| index.unique) {
            let terms = index.columns.iter().chain(&index.condition).cloned().collect::<Vec<_>>();
            let hangs = mentioned(&terms.join(", "), table);
            if !plain(of).contains(&sorted(&index.columns)) || index.condition.is_some() {
                facts.insert(format!("unique by ({hangs})"));
            }
        }
        facts
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

    /// A reference. What follows when the row there goes counts for one that was there before.
    fn reference(&self, table: &str, key: &ForeignKeyInfo) -> Vec<String> {
        let words = format!("({}) refers to {} ({})", sorted(&key.columns), bare(&key.table), sorted(&key.references));
        let action = format!("({}) on deletion {}", sorted(&key.columns), key.on_delete.to_lowercase());
        if self.refers(table, &sorted(&key.columns)) { vec![words, action] } else { vec![words] }
    }

    fn refers(&self, table: &str, columns: &str) -> bool {
        let keys = self.before.table(table).map(|table| table.foreign_keys.as_slice()).unwrap_or_default();
        keys.iter().any(|key| sorted(&key.columns) == columns)
    }

    /// Particulars of a table, or of none, that are not free.
    fn particulars(&self, of: &Inventory, table: &str) -> BTreeSet<String> {
        let counts = |particular: &&Particular| match particular.sort {
            ParticularSort::Trigger | ParticularSort::Refusal => false,
            ParticularSort::Reference => {
                let columns = particular.words.trim_start_matches('(').split(')').next().unwrap_or_default();
                self.refers(table, columns)
            }
            ParticularSort::Numbered => {
                let own = |column: &String| column.rsplit_once('.').is_some_and(|(owner, _)| same(owner, table));
                !self
                    .free
                    .values
                    .iter()
                    .any(|column| same(column, &particular.of) || same(&particular.of, table) && own(column))
            }
            ParticularSort::Generated | ParticularSort::Other => true,
        };
        let found: Vec<&Particular> = if table.is_empty() {
            of.particulars.iter().filter(|particular| particular.of.is_empty()).collect()
        } else {
            of.of(table).collect()
        };
        found.into_iter().filter(counts).map(|particular| format!("{} {}", particular.of, particular.words)).collect()
    }

    /// Checks that stay are there; new ones hang on columns on which the reference's new ones hang, and only on those.
    fn checks(&self, name: &str) -> Option<String> {
        let of = |inventory: &Inventory| -> BTreeSet<String> {
            let checks = inventory.table(name).map(|table| table.checks.iter().map(|check| squeezed(check)).collect());
            checks.unwrap_or_default()
        };
        let (before, after, left) = (of(self.before), of(self.after), of(self.left));
        if let Some(lost) = before.intersection(&after).find(|check| !left.contains(*check)) {
            return Some(format!("{name} has lost: the check {lost}"));
        }
        let table = self.left.table(name)?;
        let allowed: BTreeSet<String> = after.difference(&before).flat_map(|check| columns_in(check, table)).collect();
        let besides = left.difference(&before).filter(|check| !after.contains(*check)).find(|check| {
            let hangs = columns_in(check, table);
            hangs.is_empty() || !hangs.is_subset(&allowed)
        });
        // A check that the reference takes away is not to stay.
        let kept = before.difference(&after).find(|check| left.contains(*check));
        besides.or(kept).map(|check| format!("{name} has besides: the check {check}"))
    }

    /// Triggers that the reference leaves are there, with the same definition; others only where they may be, and only refuse.
    fn triggers(&self, name: &str) -> Option<String> {
        let of = |inventory: &Inventory| -> BTreeMap<String, ParticularSort> {
            let triggers = inventory.of(name);
            let triggers = triggers
                .filter(|particular| matches!(particular.sort, ParticularSort::Trigger | ParticularSort::Refusal));
            triggers.map(|trigger| (trigger.words.clone(), trigger.sort)).collect()
        };
        let (after, left) = (of(self.after), of(self.left));
        if let Some(lost) = after.keys().find(|trigger| !left.contains_key(*trigger)) {
            return Some(format!("{name} has lost: the trigger {lost}"));
        }
        let may = self.is_free(&self.free.triggers, name);
        let mut besides = left.iter().filter(|(trigger, _)| !after.contains_key(*trigger));
        let besides = besides.find(|(_, sort)| !(may && **sort == ParticularSort::Refusal));
        besides.map(|(trigger, _)| format!("{name} has besides: the trigger {trigger}"))
    }

    fn is_free(&self, list: &[String], name: &str) -> bool {
        list.iter().any(|free| same(free, name))
    }
}

/// What one set has that the other lacks.
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

fn sorted(columns: &[String]) -> String {
    let mut columns: Vec<String> = columns.iter().map(|column| bare(column)).collect();
    columns.sort_unstable();
    columns.join(", ")
}

/// Columns of a table that an expression names, in order.
fn mentioned(expression: &str, table: &TableInfo) -> String {
    columns_in(expression, table).into_iter().collect::<Vec<_>>().join(", ")
}

fn columns_in(expression: &str, table: &TableInfo) -> BTreeSet<String> {
    let outside = expression.split('\'').step_by(2).collect::<Vec<_>>().join(" ").to_lowercase();
    let words: BTreeSet<&str> = outside.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).collect();
    table.columns.iter().map(|column| bare(&column.name)).filter(|column| words.contains(column.as_str())).collect()
}

/// A text without white space that makes no difference.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches(';').to_owned()
}
