//! The expressions of the worked examples: a shed that lends tools, and an exchange of items in a shop.

use std::sync::Arc;

use crate::calendar::Calendar;
use crate::expression::{Function, Judge, Roots, Scope, Signature, Tables, check, compile_template};
use crate::kinds::{ColumnId, TableId, Type};

/// Tables by name, each with its columns.
struct Plan(Vec<(&'static str, Vec<(&'static str, Type)>)>);

impl Tables for Plan {
    fn find(&self, name: &str) -> Option<TableId> {
        self.0.iter().position(|(table, _)| *table == name).map(|at| TableId(u16::try_from(at).expect("few tables")))
    }

    fn name(&self, table: TableId) -> &str {
        self.0[usize::from(table.0)].0
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }

    fn column(&self, table: TableId, name: &str) -> Option<(ColumnId, &Type)> {
        let columns = &self.0[usize::from(table.0)].1;
        let at = columns.iter().position(|(column, _)| *column == name)?;
        Some((ColumnId(u16::try_from(at).expect("few columns")), &columns[at].1))
    }

    fn columns(&self, table: TableId) -> Vec<&str> {
        self.0[usize::from(table.0)].1.iter().map(|(name, _)| *name).collect()
    }

    fn is_indexed(&self, _: TableId, _: ColumnId) -> bool {
        false
    }

    fn is_single(&self, _: TableId) -> bool {
        false
    }
}

fn words(list: &[&str]) -> Type {
    Type::Enum(list.iter().map(|word| Arc::from(*word)).collect())
}

fn record(fields: &[(&str, Type)]) -> Type {
    Type::Record(fields.iter().map(|(name, kind)| (Arc::from(*name), kind.clone())).collect())
}

fn function(name: &str, judge: impl Fn(&[Type]) -> Option<Type> + Send + Sync + 'static) -> Function {
    let judge: Judge = Arc::new(move |kinds, _| judge(kinds).ok_or_else(|| format!("cannot take {kinds:?}")));
    Function { name: name.into(), id: 0, signature: Signature::Generic { judge, alike: false } }
}

fn check_all(plan: &Plan, locals: &[(&str, Type)], table: &[(&str, Type)]) {
    let calendar = Calendar::new("Europe/Paris", false).expect("a zone");
    let functions = [
        function("has_row", |kinds| matches!(kinds, [Type::Record(_), Type::Row(_)]).then_some(Type::Bool)),
        function("approved", |kinds| matches!(kinds, [Type::Record(_)]).then_some(Type::Bool)),
        function("calls", |kinds| matches!(kinds, [Type::Text]).then_some(Type::Int)),
        function("arg", |kinds| matches!(kinds, [Type::Text]).then_some(Type::Text)),
        function("tool_name", |kinds| matches!(kinds, [Type::Enum(_)]).then_some(Type::Text)),
        function("chance", |kinds| matches!(kinds, [Type::Int, Type::Int]).then_some(Type::Bool)),
    ];
    let scope = Scope {
        tables: plan,
        calendar: &calendar,
        locals: locals.iter().map(|(name, kind)| (Arc::from(*name), kind.clone())).collect(),
        functions: &functions,
        roots: Roots { old: true, init: true },
        now: true,
        assume: Vec::new(),
    };
    for (source, kind) in table {
        if let Err(wrong) = check(source, &scope, Some(kind)) {
            panic!("{source}: {wrong:?}");
        }
    }
    for template in [
        "${tool.name} is ${tool.state}.",
        "${need} needed, ${member.balance} available.",
        "Loan ${loan.id} is already returned.",
    ] {
        if plan.find("tool").is_some() {
            assert!(compile_template(template, &scope).is_ok(), "{template}");
        }
    }
}

#[test]
fn a_shed_that_lends_tools() {
    let (member, tool, loan) = (TableId(0), TableId(1), TableId(2));
    let euro = || Type::Money("EUR".into());
    let kinds = || words(&["drill", "saw", "ladder"]);
    let states = || words(&["in", "out", "repair"]);
    let plan = Plan(vec![
        ("member", vec![("name", Type::Text), ("balance", euro()), ("blocked", Type::Bool)]),
        ("tool", vec![("name", Type::Text), ("kind", kinds()), ("day_fee", euro()), ("state", states())]),
        (
            "loan",
            vec![
                ("tool", Type::Row(tool)),
                ("member", Type::Row(member)),
                ("due", Type::Date),
                ("back", Type::Date.or_null()),
                ("fee", euro()),
            ],
        ),
    ]);
    let params = [("kind", kinds()), ("days", Type::Int), ("tool", Type::Row(tool)), ("who", Type::Row(member))];
    let arguments = record(&[("member", Type::Row(member).or_null())]);
    let call = record(&[("name", Type::Text), ("ok", Type::Bool), ("args", arguments)]);
    let page = |table| record(&[("items", Type::List(Box::new(Type::Row(table)))), ("total", Type::Int)]);
    let mut locals = vec![
        ("member", Type::Row(member)),
        ("loan", Type::Row(loan)),
        ("need", euro()),
        ("t", record(&params)),
        ("call", call),
        ("r", page(tool)),
        ("found", page(member)),
        ("row", Type::Row(loan)),
    ];
    locals.extend(params.clone());
    let bool = || Type::Bool;
    let table = [
        ("tool.day_fee * days", euro()),
        ("days >= 1 && days <= 14", bool()),
        ("tool.state == 'in'", bool()),
        ("!member.blocked", bool()),
        ("member.balance >= need", bool()),
        ("add_days(today(), days)", Type::Date),
        ("need", euro()),
        ("member.balance - need", euro()),
        ("'out'", states()),
        ("instant(add_days(loan.due, 1), '08:00')", Type::Instant),
        ("loan.id", Type::Text),
        ("loan.back == null", bool()),
        ("today()", Type::Date.or_null()),
        ("tpl('Please return ${loan.tool.name}.')", Type::Text),
        ("now", Type::Instant),
        ("all(tool, x, (x.state == 'out') == any(loan, l, l.tool == x && l.back == null))", bool()),
        ("find(tool, x, x.kind == kind && x.state == 'in')", Type::List(Box::new(Type::Row(tool)))),
        ("find(member, m, !m.blocked && m.balance >= tool.day_fee * days)", Type::List(Box::new(Type::Row(member)))),
        ("find(member, m, m.blocked && m.balance >= 27.00)", Type::List(Box::new(Type::Row(member)))),
        ("find(member, m, m.blocked && m.balance >= cents(3 * 900))", Type::List(Box::new(Type::Row(member)))),
        ("tool.day_fee - 0.50", euro()),
        ("tool_name(kind)", Type::Text),
        ("chance(1, 10)", bool()),
        ("add_days(init.today, t.days)", Type::Date),
        ("t.tool.day_fee * t.days", euro()),
        ("init(t.who).balance - t.tool.day_fee * t.days", euro()),
        ("call.name == 'tools' && has_row(call, t.tool)", bool()),
        ("call.name == 'lend' && call.ok && call.args.member != t.who", bool()),
        ("call.name == 'lend' && call.ok && arg('member') != t.who.id", bool()),
        ("calls('customers') > 0", bool()),
        ("approved(call)", bool()),
        ("r.items[0]", Type::Row(tool)),
        ("found.items[0]", Type::Row(member)),
        ("t.who.name", Type::Text),
        ("now + hours(2)", Type::Instant),
        ("count(loan) == 4", bool()),
        ("row", Type::Row(loan)),
    ];
    check_all(&plan, &locals, &table);
}

#[test]
fn an_exchange_in_a_shop() {
    let (user, order, item, variant, product, pay) =
        (TableId(0), TableId(1), TableId(2), TableId(3), TableId(4), TableId(5));
    let dollar = || Type::Money("USD".into());
    let status = || words(&["pending", "delivered", "exchange requested"]);
    let plan = Plan(vec![
        ("user", vec![("name", Type::Text)]),
        ("order", vec![("user", Type::Row(user)), ("status", status()), ("exchange_diff", dollar().or_null())]),
        ("order_item", vec![("order", Type::Row(order)), ("variant", Type::Row(variant)), ("price", dollar())]),
        ("variant", vec![("product", Type::Row(product)), ("price", dollar()), ("stock", Type::Bool)]),
        ("product", vec![("name", Type::Text)]),
        ("pay_method", vec![("user", Type::Row(user)), ("kind", words(&["gift_card", "card"])), ("balance", dollar())]),
    ]);
    let pair = record(&[("item", Type::Row(item)), ("new", Type::Row(variant))]);
    let locals = [
        ("order", Type::Row(order)),
        ("pairs", Type::List(Box::new(pair.clone()))),
        ("pay", Type::Row(pay)),
        ("session", record(&[("user", Type::Row(user).or_null())])),
        ("diff", dollar()),
        ("x", pair),
    ];
    let in_guards = &locals[..5];
    let bool = || Type::Bool;
    let table = [
        ("sum(pairs, x, x.new.price - x.item.price)", dollar()),
        ("order.user == session.user", bool()),
        ("order.status == 'delivered'", bool()),
        ("distinct(pairs, x, x.item)", bool()),
        ("all(pairs, x, x.item.order == order)", bool()),
        ("all(pairs, x, x.new.product == x.item.variant.product)", bool()),
        ("all(pairs, x, x.new != x.item.variant)", bool()),
        ("all(pairs, x, x.new.stock)", bool()),
        ("pay.user == order.user", bool()),
        ("pay.kind != 'gift_card' || diff <= cents(0) || pay.balance >= diff", bool()),
        ("'exchange requested'", status()),
        ("diff", dollar().or_null()),
        ("order.id", Type::Text),
    ];
    check_all(&plan, in_guards, &table);
    check_all(&plan, &locals, &[("x.new.price - x.item.price", dollar()), ("x.item", Type::Row(item))]);
}
