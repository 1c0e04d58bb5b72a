//! Names and what is reached from them: members of rows and records, elements of lists, and earlier data.

use std::sync::Arc;

use super::naming::near;
use super::{Checker, Typed};
use crate::expression::code::{Code, Member, OnNull};
use crate::expression::functions;
use crate::expression::syntax::{Expr, Node, Root};
use crate::kinds::{TableId, Type};

/// Columns or fields that a message lists.
const NAMES_SHOWN_MAX: usize = 12;

impl Checker<'_> {
    pub(super) fn name(&mut self, expr: &Expr, name: &str) -> Option<Typed> {
        if let Some((code, kind)) = self.lookup(name) {
            if let Code::Local(slot) = code {
                self.used.insert(slot);
            }
            return Some(self.narrow(expr, kind, code));
        }
        let tables = self.scope.tables;
        if name == "now" {
            if !self.scope.now {
                return self.no_time(expr.offset);
            }
            return Some(Typed::new(Type::Instant, Code::Now));
        }
        if tables.find(name).is_some() {
            let message = format!(
                "`{name}` is a table of many rows: it can only be the first argument of a query, such as find({name}, x, ...)"
            );
            return self.wrong(expr.offset, message);
        }
        if self.is_function(name) {
            return self.wrong(expr.offset, format!("`{name}` is a function: call it, `{name}(...)`"));
        }
        let known = self.names();
        let message = match near(name, known.iter().map(String::as_str)) {
            Some(near) => format!("there is no `{name}` here; did you mean `{near}`?"),
            None => format!("there is no `{name}` here: define it first, or quote it if it is text"),
        };
        self.wrong(expr.offset, message)
    }

    pub(super) fn no_time<T>(&mut self, offset: usize) -> Option<T> {
        self.wrong(offset, "there is no time here: write a date or a time out")
    }

    /// Value of a name and its type, before any proof.
    fn lookup(&self, name: &str) -> Option<(Code, Type)> {
        if let Some(at) = self.variables.iter().rposition(|(known, _)| known == name) {
            return Some((Code::Variable(u16::try_from(at).ok()?), self.variables[at].1.clone()));
        }
        if let Some(at) = self.scope.locals.iter().rposition(|(known, _)| **known == *name) {
            return Some((Code::Local(u16::try_from(at).ok()?), self.scope.locals[at].1.clone()));
        }
        let table = self.scope.tables.find(name).filter(|table| self.scope.tables.is_single(*table))?;
        Some((Code::Single(table), Type::Row(table)))
    }

    /// The type of a variable or local.
    pub(super) fn local(&self, name: &str) -> Option<Type> {
        match self.lookup(name)? {
            (Code::Single(_), _) => None,
            (_, kind) => Some(kind),
        }
    }

    /// Everything that a name can stand for here.
    fn names(&self) -> Vec<String> {
        let tables = self.scope.tables;
        let single = |name: &&str| tables.find(name).is_some_and(|table| tables.is_single(table));
        let mut names: Vec<String> = self.variables.iter().map(|(name, _)| name.clone()).collect();
        names.extend(self.scope.locals.iter().map(|(name, _)| name.to_string()));
        names.extend(tables.names().into_iter().filter(single).map(str::to_owned));
        names.extend(self.scope.now.then(|| "now".to_owned()));
        names
    }

    pub(super) fn is_function(&self, name: &str) -> bool {
        super::calls::SPECIAL.contains(&name)
            || super::queries::kind(name).is_some()
            || functions::overloads(name).next().is_some()
            || self.scope.functions.iter().any(|function| *function.name == *name)
    }

    /// Takes null out of a type where a proof allows it.
    fn narrow(&self, expr: &Expr, kind: Type, code: Code) -> Typed {
        let proven = matches!(kind, Type::Opt(_)) && self.key(expr).is_some_and(|key| self.facts.contains(&key));
        if proven {
            Typed { narrowed: true, ..Typed::new(kind.present().clone(), code) }
        } else {
            Typed::new(kind, code)
        }
    }

    /// The path of a name with members by which proofs about it are known.
    pub(super) fn key(&self, expr: &Expr) -> Option<Arc<str>> {
        let (root, expr) = match &expr.node {
            Node::Root(root, inner) => (Some(*root), &**inner),
            _ => (self.root, expr),
        };
        let path = expr.path()?;
        let (name, members) = path.split_once('.').unwrap_or((&path, ""));
        let name = match self.lookup(name)?.0 {
            Code::Variable(at) => format!("variable {at}"),
            Code::Local(at) => format!("local {at}"),
            Code::Single(table) => format!("table {}", table.0),
            _ => return None,
        };
        // A local is the same whatever data is read; what is reached from it is not.
        let data = match root {
            Some(root) if !members.is_empty() => format!("{root:?}"),
            _ => String::new(),
        };
        Some(format!("{data} {name}.{members}").into())
    }

    /// The paths that are not null if an expression is not: its own, and those that lead to it.
    pub(super) fn proofs(&self, expr: &Expr) -> Vec<Arc<str>> {
        let mut proofs: Vec<_> = self.key(expr).into_iter().collect();
        match &expr.node {
            Node::Root(root, inner) => {
                let mut part = &**inner;
                while let Node::Member(base, ..) = &part.node {
                    let wrapped = Expr { offset: 0, depth: 0, node: Node::Root(*root, base.clone()) };
                    proofs.extend(self.key(&wrapped));
                    part = base;
                }
            }
            Node::Member(base, ..) => proofs.extend(self.proofs(base)),
            _ => {}
        }
        proofs
    }

    pub(super) fn member(&mut self, expr: &Expr, base: &Expr, name: &str, optional: bool) -> Option<Typed> {
        if base.as_name() == Some("init") && self.lookup("init").is_none() {
            return self.start(expr, base, name);
        }
        let owner = self.infer(base, None)?;
        let may_be_null = owner.kind.may_be_null();
        if may_be_null && !optional {
            return self.null_refused(base);
        }
        let (kind, member) = match owner.kind.present() {
            Type::Row(table) => self.column(expr, *table, name)?,
            Type::Record(fields) => match fields.iter().position(|(field, _)| **field == *name) {
                Some(at) => (fields[at].1.clone(), Member::Field(u16::try_from(at).ok()?)),
                None => {
                    let names: Vec<&str> = fields.iter().map(|(field, _)| &**field).collect();
                    let what = base.written().map_or_else(|| "this record".to_owned(), |path| format!("`{path}`"));
                    let message = match near(name, names.iter().copied()) {
                        Some(near) => format!("no field `{name}` in {what}; did you mean `{near}`?"),
                        None => format!("no field `{name}` in {what}: name one of {}", listed(&names)),
                    };
                    return self.wrong(expr.offset, message);
                }
            },
            Type::List(_) => {
                let message = format!(
                    "a list has no members: `.{name}` can be asked of one element, as in map(list, x, x.{name})"
                );
                return self.wrong(expr.offset, message);
            }
            other => {
                let other = self.show(other);
                return self.wrong(expr.offset, format!("{other} has no members: leave `.{name}` out"));
            }
        };
        let on_null = if optional { OnNull::Null } else { OnNull::Fail };
        let kind = if may_be_null { kind.or_null() } else { kind };
        Some(self.narrow(expr, kind, Code::Member(Box::new(owner.code), member, on_null)))
    }

    fn column(&mut self, expr: &Expr, table: TableId, name: &str) -> Option<(Type, Member)> {
        let tables = self.scope.tables;
        if let Some((column, kind)) = tables.column(table, name) {
            return Some((kind.clone(), Member::Column(column)));
        }
        if name == "id" {
            return Some((Type::Text, Member::Id));
        }
        let (of, mut names) = (tables.name(table), tables.columns(table));
        names.push("id");
        let message = match near(name, names.iter().copied()) {
            Some(near) => format!("no column `{name}` in {of}; did you mean `{near}`?"),
            None => format!("no column `{name}` in {of}: name one of {}", listed(&names)),
        };
        self.wrong(expr.offset, message)
    }

    /// `init.now` and `init.today`.
    fn start(&mut self, expr: &Expr, base: &Expr, name: &str) -> Option<Typed> {
        let (kind, code) = match name {
            "now" => (Type::Instant, Code::Now),
            "today" => (Type::Date, Code::Today),
            _ => {
                let message = match near(name, ["now", "today"]) {
                    Some(near) => format!("`init` has no `{name}`; did you mean `{near}`?"),
                    None => {
                        format!("`init` has `now` and `today` alone: read data by init(...), as in init(row).{name}")
                    }
                };
                return self.wrong(expr.offset, message);
            }
        };
        self.root_allowed(base.offset, Root::Init)?;
        if !self.scope.now {
            return self.no_time(base.offset);
        }
        Some(Typed::new(kind, Code::Within(Root::Init, Box::new(code))))
    }

    fn root_allowed(&mut self, offset: usize, root: Root) -> Option<()> {
        let (allowed, name, what) = match root {
            Root::Old => (self.scope.roots.old, "old", "start of the action"),
            Root::Init => (self.scope.roots.init, "init", "start of the episode"),
        };
        if !allowed {
            let message = format!("the data at the {what} is not known here: leave `{name}` out");
            return self.wrong(offset, message);
        }
        if self.root.is_some() {
            return self.wrong(offset, "`old` and `init` cannot be within each other: use one of them");
        }
        Some(())
    }

    pub(super) fn earlier(&mut self, expr: &Expr, root: Root, inner: &Expr, hint: Option<&Type>) -> Option<Typed> {
        self.root_allowed(expr.offset, root)?;
        self.root = Some(root);
        let inner = self.infer(inner, hint);
        self.root = None;
        let inner = inner?;
        Some(Typed { code: Code::Within(root, Box::new(inner.code)), ..inner })
    }

    pub(super) fn index(&mut self, list: &Expr, index: &Expr) -> Option<Typed> {
        let (listed, at) = (self.present(list, None), self.present(index, Some(&Type::Int)));
        let (listed, at) = (listed?, at?);
        let Type::List(element) = listed.kind else {
            let kind = self.show(&listed.kind);
            return self.wrong(list.start(), format!("an index takes a list before it, and this is {kind}"));
        };
        if at.kind != Type::Int {
            let kind = self.show(&at.kind);
            return self.wrong(index.start(), format!("the place of an element must be an int, and this is {kind}"));
        }
        Some(Typed::new(*element, Code::Index(Box::new([listed.code, at.code]))))
    }
}

/// Names, or the first of them if they are many.
fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(NAMES_SHOWN_MAX).copied().collect::<Vec<_>>().join(", ");
    if names.len() > NAMES_SHOWN_MAX { format!("{shown}, ...") } else { shown }
}
