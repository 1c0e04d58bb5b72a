//! Values of the wrong type, or that may be null.

use super::Mistake;

pub(super) const MISTAKES: &[Mistake] = &[
    (
        r#"{check: "days >= 1 && days <= 14""#,
        r#"{check: "days >= 1 && days <= 14.5""#,
        "app.yaml:29:36: actions.lend.guards[0].check: `<=` cannot compare int with dec 1: compare values of one type",
    ),
    (
        r#"{check: "days >= 1 && days <= 14""#,
        r#"{check: "days""#,
        "app.yaml:29:18: actions.lend.guards[0].check: the value is int, and bool is expected here",
    ),
    (
        r#"{check: "tool.state == 'in'""#,
        r#"{check: "tool.state == 'inside'""#,
        "app.yaml:30:32: actions.lend.guards[1].check: 'inside' is none of the words 'in', 'out', 'repair': write one of them",
    ),
    (
        r#"{check: "member.balance >= need""#,
        r#"{check: "member.balance >= days""#,
        "app.yaml:32:33: actions.lend.guards[3].check: `>=` cannot compare money EUR with int: write the amount with its decimals, or cents(n) for a number of minor units",
    ),
    (
        r#"where: "l.back == null""#,
        r#"where: "l.back < today()""#,
        "app.yaml:22:43: views.open_loans.where: `l.back` may be null: test it first (`l.back != null && ...`), give a default (`l.back ?? ...`), or reach its members with `l.back?.`",
    ),
    (
        r#"where: "l.back == null""#,
        r#"where: "true) == find(loan, l, true""#,
        "app.yaml:22:47: views.open_loans.where: an operator or the end is expected, found `)`",
    ),
    (
        "fee: need}}",
        "fee: days}}",
        "app.yaml:34:24: actions.lend.effects[0].insert.into: the column `fee` has no default and must be set",
    ),
    (
        r#"due: "add_days(today(), days)", fee: need"#,
        r#"due: "add_days(today(), days)""#,
        "app.yaml:34:24: actions.lend.effects[0].insert.into: the column `fee` has no default and must be set",
    ),
    (
        r#"set: {back: "today()"}"#,
        "set: {back: now}",
        "app.yaml:44:41: actions.give_back.effects[0].update.set.back: the value is instant, and opt date is expected here",
    ),
    (
        "update: {row: loan.tool,",
        "update: {row: loan.back,",
        "app.yaml:45:23: actions.give_back.effects[1].update.row: a row is expected, this is opt date",
    ),
    (
        "returns: {loan: l.id, due: l.due}",
        "returns: {loan: l.id, due: l.back.day}",
        "app.yaml:38:32: actions.lend.returns.due: `l.back` may be null: test it first (`l.back != null && ...`), give a default (`l.back ?? ...`), or reach its members with `l.back?.`",
    ),
    (
        "key: l.id}",
        "key: l.due}",
        "app.yaml:37:96: actions.lend.effects[3].at.key: the value is date, and text is expected here",
    ),
    (
        r#"time: "instant(add_days(l.due, 1), '08:00')""#,
        r#"time: "add_days(l.due, 1)""#,
        "app.yaml:37:21: actions.lend.effects[3].at.time: the value is date, and instant is expected here",
    ),
    (
        r#"name: "tool_name(kind)"}}}]"#,
        "name: 7}}}]",
        "app.yaml:65:29: tasks.lend_cheapest.plant[0].insert.into: the column `name` has no default and must be set",
    ),
    (
        "by: x.day_fee",
        "by: x.name",
        "app.yaml:63:77: tasks.lend_cheapest.params.tool.by: `by` takes a number, an amount, a date or a time",
    ),
    (
        r#"{pick: "find(member, m, !m.blocked && m.balance >= tool.day_fee * days)"}"#,
        r#"{pick: "count(member)"}"#,
        "app.yaml:64:21: tasks.lend_cheapest.params.who.pick: a list is expected, this is int",
    ),
    (
        "{updated: t.who, fields: {balance:",
        "{updated: t.kind, fields: {balance:",
        "app.yaml:70:21: tasks.lend_cheapest.goal.changes[1].updated: a row is expected, this is enum drill saw ladder",
    ),
    (
        r#"fee: "t.tool.day_fee * t.days"}}"#,
        r#"fee: {contains: "'x'"}}}"#,
        "app.yaml:69:129: tasks.lend_cheapest.goal.changes[0].fields.fee.contains: only text contains text: use `check` for other columns",
    ),
    (
        "search: t.who.name}, as: m}
      - {do: lend",
        "search: t.days}, as: m}
      - {do: lend",
        "app.yaml:76:38: tasks.lend_cheapest.solution[1].args.search: the value is int, and opt text is expected here",
    ),
    (
        "days: int}
    let",
        "days: int 14..1}
    let",
        "app.yaml:26:56: actions.lend.params.days: the lower bound is above the upper one",
    ),
    (
        "days: int}
    let",
        "days: int one..two}
    let",
        "app.yaml:26:56: actions.lend.params.days: `one` is no bound of this type",
    ),
    (
        "days: int}
    let",
        "days: int = soon}
    let",
        "app.yaml:26:56: actions.lend.params.days: the default `soon` does not fit, correct it: there is no `soon` here: define it first, or quote it if it is text",
    ),
    (
        "search: [name], sort: [name], page: 20}
  open",
        "search: [balance], sort: [name], page: 20}
  open",
        "app.yaml:21:39: views.members.search[0]: words are looked for in text, `balance` is none",
    ),
    (
        r#"invariants: [""#,
        r#"invariants: ["count(tool)", ""#,
        "app.yaml:53:15: invariants[0]: the value is int, and bool is expected here",
    ),
];
