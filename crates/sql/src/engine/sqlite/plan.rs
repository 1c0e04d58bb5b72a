//! Reader of SQLite's query plans: which table is read how.
//!
//! SQLite names the alias under which a table is read. Budgets speak of tables, so aliases are looked up in the query and in the
//! views that it uses. Where that leaves a doubt, a scan counts for every table that may be meant, and a search for none.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use palestra_sqlite_worker::wire::PlanRow;
use sqlparser::ast::{ObjectNamePart, TableFactor, Visitor};

use crate::engine::{Plan, PlanKind, PlanNode, Schema, TableInfo};
use crate::parse;
use crate::value::Dialect;
use crate::visit;

/// The plan of `sql`, from the rows of EXPLAIN QUERY PLAN.
pub(super) fn plan(rows: &[PlanRow], sql: &str, schema: &Schema) -> Plan {
    let names = Names::of(sql, schema);
    let mut depths = HashMap::new();
    let mut plan = Plan::default();
    for row in rows {
        let depth = depths.get(&row.parent).map_or(0, |depth| depth + 1);
        depths.insert(row.id, depth);
        plan.lines.push(format!("{}{}", "  ".repeat(depth), row.detail));
        plan.nodes.extend(nodes(&row.detail, &names));
    }
    plan
}

fn nodes(detail: &str, names: &Names<'_>) -> Vec<PlanNode> {
    let node = |kind, table, index| PlanNode { kind, table, index };
    if let Some(what) = detail.strip_prefix("USE TEMP B-TREE FOR ") {
        let sorts = what.ends_with("ORDER BY") || what.ends_with("GROUP BY");
        return vec![node(if sorts { PlanKind::Sort } else { PlanKind::Other }, None, None)];
    }
    let (rest, searches) = match (detail.strip_prefix("SCAN "), detail.strip_prefix("SEARCH ")) {
        (Some(rest), _) => (rest, false),
        (_, Some(rest)) => (rest, true),
        _ => return vec![node(PlanKind::Other, None, None)],
    };
    let (name, how) = names.split(rest);
    // An index that SQLite makes for the query alone is made by reading the whole table.
    let kind = if searches && !how.starts_with("USING AUTOMATIC ") { PlanKind::Search } else { PlanKind::Scan };
    let index = index_of(how).map(str::to_owned);
    let mut tables = names.tables(name, index.as_deref());
    if tables.len() > 1 && kind == PlanKind::Search {
        tables.clear();
    }
    if tables.is_empty() {
        return vec![node(if rest.contains("CONSTANT ROW") { PlanKind::Other } else { kind }, None, index)];
    }
    tables.into_iter().map(|table| node(kind, Some(table), index.clone())).collect()
}

/// The name in `USING [COVERING] INDEX name (..)`.
fn index_of(how: &str) -> Option<&str> {
    let name = how.strip_prefix("USING INDEX ").or_else(|| how.strip_prefix("USING COVERING INDEX "))?;
    let name = name.split_once(" (").map_or(name, |(name, _)| name);
    Some(name.trim_end_matches(" LEFT-JOIN").trim_end_matches(" EXISTS"))
}

/// Tables and indexes behind the names in a query's plan.
struct Names<'a> {
    schema: &'a Schema,
    /// Tables by the name, in lower case, under which they are read.
    read_as: HashMap<String, BTreeSet<String>>,
    /// Tables that are named anywhere, where the query cannot be parsed.
    mentioned: BTreeSet<String>,
}

impl<'a> Names<'a> {
    fn of(sql: &str, schema: &'a Schema) -> Self {
        let mut names = Self { schema, read_as: HashMap::new(), mentioned: BTreeSet::new() };
        let mut texts = vec![sql.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(text) = texts.pop() {
            let factors = parse::statements(&text, Dialect::Sqlite, |statements| {
                let mut factors = Factors::default();
                let _ = visit::tree(&statements, &mut factors);
                factors.0
            });
            let Ok(factors) = factors else {
                names.mention(&text);
                continue;
            };
            for (name, alias) in factors {
                let Some(table) = names.find(&name) else { continue };
                if table.view && seen.insert(table.name.clone()) {
                    texts.extend(table.sql.clone());
                }
                let table_name = table.name.clone();
                names.read_as.entry(alias.unwrap_or(name).to_ascii_lowercase()).or_default().insert(table_name);
            }
        }
        names
    }

    fn find(&self, name: &str) -> Option<&'a TableInfo> {
        self.schema.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }

    fn mention(&mut self, sql: &str) {
        let sql = sql.to_lowercase();
        let tables = self.schema.tables.iter().filter(|table| !table.view && sql.contains(&table.name.to_lowercase()));
        self.mentioned.extend(tables.map(|table| table.name.clone()));
    }

    /// Parts `name USING INDEX ..` after the name: the longest that the query knows, since an alias may hold anything.
    fn split<'t>(&self, rest: &'t str) -> (&'t str, &'t str) {
        let known = self.read_as.keys().map(String::len).filter(|length| {
            let after = rest.get(*length..);
            after.is_some_and(|after| after.is_empty() || after.starts_with(' '))
                && self.read_as.contains_key(&rest[..*length].to_ascii_lowercase())
        });
        let length = known.max().unwrap_or_else(|| {
            let ends = [" USING ", " VIRTUAL TABLE ", " LEFT-JOIN", " EXISTS"];
            ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len())
        });
        (&rest[..length], rest[length..].trim_start())
    }

    /// The tables that may be meant. None where it is a subquery.
    fn tables(&self, name: &str, index: Option<&str>) -> BTreeSet<String> {
        let of_index = |index| self.schema.indexes.iter().find(|known| known.name.eq_ignore_ascii_case(index));
        if let Some(index) = index.and_then(of_index) {
            return BTreeSet::from([index.table.clone()]);
        }
        let bare = name.strip_prefix("main.").unwrap_or(name);
        let mut tables = self.read_as.get(&name.to_ascii_lowercase()).cloned().unwrap_or_default();
        if tables.is_empty() {
            tables.extend(self.find(bare).map(|table| table.name.clone()));
        }
        if tables.is_empty() && !name.starts_with('(') {
            tables.clone_from(&self.mentioned);
        }
        tables.retain(|table| self.find(table).is_some_and(|table| !table.view));
        tables
    }
}

/// Every table that is read, and its alias.
#[derive(Default)]
struct Factors(Vec<(String, Option<String>)>);

impl Visitor for Factors {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias, .. } = factor {
            let parts: Vec<&str> =
                name.0.iter().filter_map(ObjectNamePart::as_ident).map(|part| part.value.as_str()).collect();
            let parts = if let ["main", rest @ ..] = parts.as_slice() { rest } else { &parts };
            self.0.push((parts.join("."), alias.as_ref().map(|alias| alias.name.value.clone())));
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
