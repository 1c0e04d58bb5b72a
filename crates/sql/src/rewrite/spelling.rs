//! Other names, letters and parentheses: the plan stays what it is.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, Query, Select, SelectItem, TableAlias, TableFactor, Visitor, VisitorMut};

use super::Kind;
use crate::dataset::Dataset;
use crate::names::last;
use crate::script::{Sort, lex};
use crate::value::Dialect;
use crate::visit;

/// The query with another name for every table; `None` where names are used in ways that are not followed.
pub(super) fn aliases(query: &Query, dataset: &Dataset) -> Option<Query> {
    let mut seen = Seen::default();
    let _ = visit::tree(query, &mut seen);
    let names: BTreeSet<&String> = seen.aliases.union(&seen.tables).collect();
    let ambiguous =
        seen.aliases.intersection(&seen.tables).next().is_some() || seen.words.iter().any(|word| names.contains(word));
    if ambiguous || seen.lost || names.is_empty() {
        return None;
    }
    let known: BTreeSet<String> = dataset
        .tables
        .iter()
        .flat_map(|table| std::iter::once(&table.name).chain(table.columns.iter().map(|column| &column.name)))
        .map(|name| name.to_lowercase())
        .chain(seen.words.iter().cloned())
        .chain(names.iter().map(|name| (*name).clone()))
        .collect();
    let mut free = (1..).map(|number| format!("r{number}")).filter(|name| !known.contains(name));
    let renamed: BTreeMap<String, String> = names.into_iter().cloned().zip(&mut free).collect();
    let mut copy = query.clone();
    let _ = visit::tree_mut(&mut copy, &mut Rename(renamed));
    Some(copy)
}

/// Names of tables in a query, in lower case.
#[derive(Default)]
struct Seen {
    aliases: BTreeSet<String>,
    /// Tables without an alias.
    tables: BTreeSet<String>,
    /// Names without a qualifier.
    words: BTreeSet<String>,
    lost: bool,
}

impl Visitor for Seen {
    type Break = ();
    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
                self.aliases.insert(alias.name.value.to_lowercase());
            }
            TableFactor::Table { name, alias: None, .. } => self.tables.extend(last(name).map(str::to_lowercase)),
            TableFactor::Derived { .. } => {}
            _ => self.lost = true,
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.lost |= select.projection.iter().any(|item| matches!(item, SelectItem::QualifiedWildcard(..)));
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.words.insert(alias.value.to_lowercase());
            }
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.lost |= query.with.is_some();
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(ident) => {
                self.words.insert(ident.value.to_lowercase());
            }
            Expr::CompoundIdentifier(parts) => self.lost |= parts.len() != 2,
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

struct Rename(BTreeMap<String, String>);

impl VisitorMut for Rename {
    type Break = ();
    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias, .. } = factor
            && alias.is_none()
            && let Some(other) = last(name).and_then(|name| self.0.get(&name.to_lowercase()))
        {
            *alias = Some(TableAlias { explicit: true, name: Ident::new(other), columns: Vec::new(), at: None });
        } else if let TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } =
            factor
            && let Some(other) = self.0.get(&alias.name.value.to_lowercase())
        {
            alias.name = Ident::new(other);
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let Some(other) = self.0.get(&parts[0].value.to_lowercase())
        {
            parts[0] = Ident::new(other);
        }
        ControlFlow::Continue(())
    }
}

/// The text with every unquoted word in small letters, or in capitals where it was in small ones.
pub(super) fn letters(sql: &str, dialect: Dialect) -> String {
    let mut copy = sql.trim().to_string();
    for token in lex(sql.trim(), dialect) {
        if token.sort == Sort::Word {
            let word = &mut copy[token.start..token.end];
            if word.bytes().any(|byte| byte.is_ascii_uppercase()) {
                word.make_ascii_lowercase();
            } else {
                word.make_ascii_uppercase();
            }
        }
    }
    copy
}

/// The select with its conditions in parentheses.
pub(super) fn parentheses(select: &Select) -> Option<(Kind, Select)> {
    let nested = |expr: &Expr| Expr::Nested(Box::new(expr.clone()));
    if select.selection.is_none() && select.having.is_none() {
        return None;
    }
    let (selection, having) = (select.selection.as_ref().map(nested), select.having.as_ref().map(nested));
    Some((Kind::Parentheses, Select { selection, having, ..select.clone() }))
}
