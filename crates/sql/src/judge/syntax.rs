//! Facts about a query, from its syntax tree: constructs wherever they stand, tables by what names mean where they stand.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, DuplicateTreatment, Expr, Function, FunctionArguments, GroupByExpr, ObjectName, Query, Select,
    SelectItem, SetExpr, Statement, TableAlias, TableFactor, Visitor,
};

use crate::parse::{self, Unreadable};
use crate::task::{Construct, Property};
use crate::value::Dialect;
use crate::visit;

/// Facts about some statements. Names are in lower case.
#[derive(Debug, Default)]
pub(super) struct Facts {
    constructs: Vec<Construct>,
    /// Tables that are read, without their schemas.
    tables: BTreeSet<String>,
    functions: BTreeSet<String>,
    reads_only: bool,
    /// For each other name that a table or subquery has somewhere: the tables that it may mean, none for subqueries.
    pub(super) aliases: BTreeMap<String, BTreeSet<String>>,
}

impl Facts {
    /// Facts about a text.
    ///
    /// # Errors
    /// Where it cannot be read, which does not mean that the engine cannot.
    pub(super) fn of(sql: &str, dialect: Dialect) -> Result<Self, Unreadable> {
        parse::statements(sql, dialect, |statements| Self::new(&statements, dialect))
    }

    fn new(statements: &[Statement], dialect: Dialect) -> Self {
        let reads_only = matches!(statements, [Statement::Query(_)]);
        let mut walk = Walk::new(dialect, Self { reads_only, ..Self::default() });
        for statement in statements {
            let _ = visit::tree(statement, &mut walk);
        }
        walk.finish()
    }

    pub(super) fn hold(&self, property: &Property) -> bool {
        let uses = |construct: &Construct| self.constructs.contains(construct);
        let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_lowercase();
        match property {
            Property::Uses(construct) => uses(construct),
            Property::Avoids(construct) => !uses(construct),
            Property::Reads(table) => self.tables.contains(&last(table)),
            Property::ReadsNot(table) => !self.tables.contains(&last(table)),
            Property::Calls(function) => self.functions.contains(&last(function)),
            Property::CallsNot(function) => !self.functions.contains(&last(function)),
            Property::ReadOnly => self.reads_only,
        }
    }
}

/// The names of one `WITH`, and how many of them can be seen from where the walk is.
struct Frame {
    names: Vec<String>,
    recursive: bool,
    visible: usize,
}

struct Walk {
    facts: Facts,
    dialect: Dialect,
    frames: Vec<Frame>,
    /// Bodies of common tables, by their address in the tree: the frame and the place in it.
    bodies: HashMap<*const Query, (usize, usize)>,
    /// Common tables that refer to themselves and are being walked through.
    in_recursion: Vec<*const Query>,
    queries: usize,
    /// Queries that are only in parentheses, as in `(SELECT 1) UNION (SELECT 2)`.
    parenthesised: usize,
}

impl Walk {
    fn new(dialect: Dialect, facts: Facts) -> Self {
        Self {
            facts,
            dialect,
            frames: Vec::new(),
            bodies: HashMap::new(),
            in_recursion: Vec::new(),
            queries: 0,
            parenthesised: 0,
        }
    }

    fn finish(mut self) -> Facts {
        if self.queries > 1 + self.parenthesised {
            self.add(Construct::Subquery);
        }
        if self.facts.tables.is_empty() {
            self.add(Construct::Literal);
        }
        self.facts
    }

    fn add(&mut self, construct: Construct) {
        if !self.facts.constructs.contains(&construct) {
            self.facts.constructs.push(construct);
        }
    }

    fn add_if(&mut self, is: bool, construct: Construct) {
        if is {
            self.add(construct);
        }
    }

    /// A frame for the names of a query's `WITH`. SQLite takes every `WITH` for a recursive one.
    fn open_frame(&mut self, query: &Query) {
        let mut frame = Frame { names: Vec::new(), recursive: false, visible: 0 };
        if let Some(with) = &query.with {
            self.add(Construct::CommonTable);
            frame.recursive = with.recursive || self.dialect == Dialect::Sqlite;
            for (place, table) in with.cte_tables.iter().enumerate() {
                let name = table.alias.name.value.to_lowercase();
                self.bodies.insert(std::ptr::from_ref(&*table.query), (self.frames.len(), place));
                self.facts.aliases.entry(name.clone()).or_default();
                frame.names.push(name);
            }
            frame.visible = frame.names.len();
        }
        self.frames.push(frame);
    }

    /// Within the body of a common table only those before it are known, unless they may be recursive.
    fn enter_body(&mut self, query: &Query) {
        let Some((frame, place)) = self.bodies.get(&std::ptr::from_ref(query)).copied() else { return };
        let frame = &mut self.frames[frame];
        if !frame.recursive {
            frame.visible = place;
        } else if mentions(query, &frame.names[place]) {
            self.in_recursion.push(query);
            self.add(Construct::Recursion);
        }
    }

    fn leave_body(&mut self, query: &Query) {
        if let Some((frame, _)) = self.bodies.get(&std::ptr::from_ref(query)).copied() {
            self.frames[frame].visible = self.frames[frame].names.len();
        }
        if self.in_recursion.last().is_some_and(|last| std::ptr::eq(*last, query)) {
            self.in_recursion.pop();
        }
    }

    fn set(&mut self, body: &SetExpr) {
        match body {
            SetExpr::SetOperation { left, right, .. } => {
                self.add(Construct::SetOperation);
                self.set(left);
                self.set(right);
            }
            SetExpr::Query(_) => self.parenthesised += 1,
            SetExpr::Values(_) => self.add_if(self.in_recursion.is_empty(), Construct::Literal),
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                self.facts.reads_only = false;
            }
            SetExpr::Table(table) => {
                if let Some(name) = &table.table_name {
                    self.facts.tables.insert(name.trim_matches('"').to_lowercase());
                }
            }
            SetExpr::Select(_) => {}
        }
    }

    fn table(&mut self, name: &ObjectName, alias: Option<&TableAlias>) {
        let Some(last) = last(name) else { return };
        let known = |frame: &Frame| frame.names[..frame.visible].contains(&last);
        let common = name.0.len() == 1 && self.frames.iter().any(known);
        if let Some(alias) = alias {
            let means = self.facts.aliases.entry(alias.name.value.to_lowercase()).or_default();
            means.extend((!common).then(|| last.clone()));
        }
        if !common {
            self.facts.tables.insert(last);
        }
    }

    fn function(&mut self, function: &Function) {
        self.facts.functions.extend(last(&function.name));
        self.add_if(function.over.is_some(), Construct::Window);
        if let FunctionArguments::List(list) = &function.args {
            self.add_if(list.duplicate_treatment == Some(DuplicateTreatment::Distinct), Construct::Distinct);
        }
    }
}

impl Visitor for Walk {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.queries += 1;
        self.enter_body(query);
        self.open_frame(query);
        self.set(&query.body);
        self.add_if(query.order_by.is_some(), Construct::OrderBy);
        self.add_if(query.limit_clause.is_some() || query.fetch.is_some(), Construct::Limit);
        if !query.locks.is_empty() {
            self.facts.reads_only = false;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.frames.pop();
        self.leave_body(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let joined = |from: &sqlparser::ast::TableWithJoins| !from.joins.is_empty();
        self.add_if(select.from.len() > 1 || select.from.iter().any(joined), Construct::Join);
        let distinct = matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_)));
        self.add_if(distinct, Construct::Distinct);
        let grouped =
            !matches!(&select.group_by, GroupByExpr::Expressions(by, also) if by.is_empty() && also.is_empty());
        self.add_if(grouped, Construct::GroupBy);
        self.add_if(select.having.is_some(), Construct::Having);
        let star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        self.add_if(select.projection.iter().any(star), Construct::Star);
        let written_out = select.from.is_empty() && self.in_recursion.is_empty() && !holds_query(select);
        self.add_if(written_out, Construct::Literal);
        if select.into.is_some() {
            self.facts.reads_only = false;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } => {
                self.facts.functions.extend(last(name));
            }
            TableFactor::Table { name, alias, .. } => self.table(name, alias.as_ref()),
            TableFactor::Derived { alias: Some(alias), .. } => {
                self.facts.aliases.entry(alias.name.value.to_lowercase()).or_default();
            }
            // A join in parentheses within FROM.
            TableFactor::NestedJoin { table_with_joins, .. } => {
                self.add_if(!table_with_joins.joins.is_empty(), Construct::Join);
            }
            TableFactor::UNNEST { .. } => drop(self.facts.functions.insert("unnest".to_owned())),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let name = match expr {
            Expr::Function(function) => {
                self.function(function);
                return ControlFlow::Continue(());
            }
            Expr::Case { .. } => {
                self.add(Construct::Case);
                return ControlFlow::Continue(());
            }
            Expr::Exists { .. } => {
                self.add(Construct::Exists);
                return ControlFlow::Continue(());
            }
            Expr::Cast { .. } => "cast",
            Expr::Extract { .. } => "extract",
            Expr::Ceil { .. } => "ceil",
            Expr::Floor { .. } => "floor",
            Expr::Position { .. } => "position",
            Expr::Substring { .. } => "substring",
            Expr::Trim { .. } => "trim",
            Expr::Overlay { .. } => "overlay",
            _ => return ControlFlow::Continue(()),
        };
        self.facts.functions.insert(name.to_owned());
        ControlFlow::Continue(())
    }
}

fn last(name: &ObjectName) -> Option<String> {
    Some(name.0.last()?.as_ident()?.value.to_lowercase())
}

/// True if a query reads something of this name.
fn mentions(query: &Query, name: &str) -> bool {
    struct Find<'a>(&'a str);
    impl Visitor for Find<'_> {
        type Break = ();
        fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
            let found = relation.0.len() == 1 && last(relation).as_deref() == Some(self.0);
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    visit::tree(query, &mut Find(name)).is_break()
}

fn holds_query(select: &Select) -> bool {
    struct Find;
    impl Visitor for Find {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    visit::tree(select, &mut Find).is_break()
}

#[cfg(test)]
mod tests {
    use super::Facts;
    use crate::parse::LEVELS_MAX;
    use crate::parse::tests::{deep, is_chain, on_a_small_stack};
    use crate::task::{Construct, Property};
    use crate::value::Dialect;

    fn holds(sql: &str, property: &Property) -> bool {
        let of = |dialect| Facts::of(sql, dialect).expect(sql).hold(property);
        let held = Dialect::ALL.map(of);
        assert_eq!(held[0], held[1], "{sql}");
        held[0]
    }

    #[test]
    fn deep_texts_are_refused_or_walked_through() {
        on_a_small_stack(|| {
            for dialect in Dialect::ALL {
                for (what, sql) in deep(40_000) {
                    assert!(Facts::of(&sql, dialect).is_err(), "{what}");
                }
                for (what, sql) in deep(LEVELS_MAX - 10).into_iter().filter(|(what, _)| is_chain(what)) {
                    assert!(Facts::of(&sql, dialect).expect(what).hold(&Property::ReadOnly), "{what}");
                }
            }
        });
    }

    #[test]
    fn constructs_are_found_wherever_they_stand() {
        for (construct, with, without) in [
            (Construct::Join, "SELECT 1 FROM a, b", "SELECT (SELECT 1 FROM b) FROM a"),
            (Construct::Join, "SELECT 1 FROM (a JOIN b ON a.x = b.x)", "SELECT 1 FROM a"),
            (
                Construct::Subquery,
                "SELECT x FROM a WHERE x IN (SELECT y FROM b)",
                "(SELECT x FROM a) UNION (SELECT y FROM b)",
            ),
            (Construct::Subquery, "WITH t AS (SELECT x FROM a) SELECT x FROM t", "SELECT x FROM a"),
            (
                Construct::CommonTable,
                "SELECT x FROM (WITH t AS (SELECT 1 FROM a) SELECT * FROM t) s",
                "SELECT x FROM a",
            ),
            (
                Construct::Recursion,
                "WITH RECURSIVE t(n) AS (SELECT x FROM a UNION ALL SELECT n + 1 FROM t WHERE n < 9) SELECT n FROM t",
                "WITH RECURSIVE t(n) AS (SELECT x FROM a) SELECT n FROM t",
            ),
            (Construct::Window, "SELECT sum(x) OVER (ORDER BY x) FROM a", "SELECT sum(x) FROM a"),
            (Construct::GroupBy, "SELECT x FROM a GROUP BY x", "SELECT sum(x) FROM a"),
            (Construct::Having, "SELECT x FROM a GROUP BY x HAVING count(*) > 1", "SELECT x FROM a GROUP BY x"),
            (Construct::Distinct, "SELECT count(DISTINCT x) FROM a", "SELECT count(x) FROM a"),
            (Construct::Distinct, "SELECT DISTINCT x FROM a", "SELECT ALL x FROM a"),
            (Construct::SetOperation, "SELECT x FROM a EXCEPT SELECT y FROM b", "SELECT x FROM a"),
            (Construct::Limit, "SELECT x FROM a WHERE x = (SELECT y FROM b LIMIT 1)", "SELECT x FROM a"),
            (Construct::OrderBy, "SELECT x FROM a ORDER BY x", "SELECT sum(x) OVER (ORDER BY x) FROM a"),
            (Construct::Star, "SELECT a.* FROM a", "SELECT count(*) FROM a"),
            (Construct::Case, "SELECT sum(CASE WHEN x > 1 THEN 1 END) FROM a", "SELECT 'CASE' FROM a"),
            (Construct::Exists, "SELECT x FROM a WHERE NOT EXISTS (SELECT 1 FROM b)", "SELECT x FROM a"),
            (Construct::Literal, "SELECT 42", "SELECT (SELECT max(x) FROM a)"),
            (Construct::Literal, "SELECT x FROM a WHERE x < 0 UNION ALL SELECT 42", "SELECT 42 FROM a"),
            (Construct::Literal, "WITH t(x) AS (VALUES (1), (2)) SELECT x FROM t", "SELECT x FROM a"),
            (
                Construct::Literal,
                "WITH t AS (SELECT 1 AS x) SELECT x FROM t",
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i FROM n JOIN a ON x = i",
            ),
        ] {
            assert!(holds(with, &Property::Uses(construct)), "{construct:?} in {with}");
            assert!(holds(without, &Property::Avoids(construct)), "{construct:?} not in {without}");
        }
    }

    #[test]
    fn a_name_is_a_table_unless_a_common_table_in_sight_has_it() {
        let reads = |table: &str| Property::Reads(table.to_owned());
        assert!(holds("SELECT 1 FROM public.Orders o", &reads("orders")));
        assert!(holds("SELECT 1 FROM a WHERE x IN (SELECT y FROM secret)", &reads("secret")));
        assert!(!holds("WITH orders AS (SELECT x FROM a) SELECT x FROM orders", &reads("orders")));
        assert!(holds("WITH t AS (SELECT x FROM a) SELECT 1 FROM t JOIN orders ON true", &reads("orders")));
        // A common table is known in its query alone.
        let elsewhere = "SELECT (WITH orders AS (SELECT 1 AS n FROM a) SELECT n FROM orders) FROM orders";
        assert!(holds(elsewhere, &reads("orders")));
        // Where it is not recursive, PostgreSQL reads the table of the same name in its body.
        let facts = Facts::of("WITH secret AS (SELECT * FROM secret) SELECT * FROM secret", Dialect::Postgres);
        assert!(facts.expect("it is well formed").hold(&reads("secret")));
    }

    #[test]
    fn functions_and_writing_are_seen() {
        let calls = |name: &str| Property::Calls(name.to_owned());
        assert!(holds("SELECT coalesce(sum(x), 0) FROM a", &calls("SUM")));
        assert!(holds("SELECT row_number() OVER () FROM a", &calls("row_number")));
        assert!(holds("SELECT CAST(x AS text) FROM a", &calls("cast")));
        assert!(!holds("SELECT total FROM a", &calls("total")));
        assert!(holds("SELECT x FROM a", &Property::ReadOnly));
        for sql in ["DELETE FROM a", "SELECT 1; SELECT 2", "INSERT INTO a SELECT * FROM b", "DROP TABLE a"] {
            assert!(!holds(sql, &Property::ReadOnly), "{sql}");
        }
        for sql in [
            "WITH d AS (DELETE FROM a RETURNING x) SELECT x FROM d",
            "SELECT x INTO b FROM a",
            "SELECT x FROM a FOR UPDATE",
        ] {
            assert!(!Facts::of(sql, Dialect::Postgres).expect(sql).hold(&Property::ReadOnly), "{sql}");
        }
    }
}
