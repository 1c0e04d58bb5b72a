//! Faults of reachability, of endless loops, and of tasks whose parts cannot go together.

use super::Mistake;

pub(super) const MISTAKES: &[Mistake] = &[
    (
        "errors:
",
        r#"macros:
  log: {params: {text: text}, effects: [{insert: {into: notice, set: {member: "one(member)", text: text, at: now}}}]}
errors:
"#,
        "app.yaml:14:3: macros.log: nothing calls the macro `log`",
    ),
    (
        "errors:
",
        "macros:
  a: {effects: [{call: {macro: b}}]}
  b: {effects: [{call: {macro: a}}, {call: {macro: a}}]}
errors:
",
        "app.yaml:14:32: macros.a.effects[0].call.macro: the macro `b` leads to itself, without end",
    ),
    (
        "- cancel: {key: loan.id}",
        "- fail: closed_loan
      - cancel: {key: loan.id}",
        "app.yaml:47:9: actions.give_back.effects[3]: nothing gets here: what stands before always fails",
    ),
    (
        "- cancel: {key: loan.id}",
        r#"- {if: "loan.fee > 0", then: [{fail: closed_loan}], else: [{fail: closed_loan}]}
      - cancel: {key: loan.id}"#,
        "app.yaml:47:9: actions.give_back.effects[3]: nothing gets here: what stands before always fails",
    ),
    (
        r#"- {check: "!member.blocked", else: blocked}"#,
        "- {check: true, else: blocked}",
        "app.yaml:31:17: actions.lend.guards[2].check: this is always true: leave it out, or what depends on it",
    ),
    (
        r#"      - if: "loan.back == null""#,
        r#"      - at: {time: now, run: overdue, args: {loan: loan}}
      - if: "loan.back == null""#,
        "app.yaml:51:30: actions.overdue.effects[0].at.run: `overdue` leads to itself at the same time, without end",
    ),
    (
        "actions:
",
        "actions:
  forget: {who: [system], effects: [{delete: {in: notice, as: x}}]}
",
        "app.yaml:24:3: actions.forget: nothing runs `forget`: use it in `at` or in `world`, or name who calls it",
    ),
    (
        "members:    {from: member,",
        "members:    {who: [system], from: member,",
        "app.yaml:21:3: views.members: nobody reads `members`: the system reads no views",
    ),
    (
        "      - {submit: {status: ok}}",
        "      - {submit: {status: ok}}
      - {wait: 1h}",
        "app.yaml:79:9: tasks.lend_cheapest.solution[4]: nothing comes after `submit`",
    ),
    (
        r#"text: ["Lend the cheapest available ${kind} to ${who.name} for ${days} days."]"#,
        "text: []",
        "app.yaml:59:3: tasks.lend_cheapest: a task has at least one wording in `text`",
    ),
    (
        "goal: {changes: [], answer: {status: refused, code: blocked}}",
        "goal: {changes: []}",
        "app.yaml:84:11: tasks.lend_blocked.goal: this goal asks for nothing: list changes, an answer, or what must also hold",
    ),
    (
        "  lend_blocked:            # infeasible twin",
        "  lend_blocked:
    infeasible: true
    twin_of: lend_blocked",
        "app.yaml:81:14: tasks.lend_blocked.twin_of: a task is no twin of itself",
    ),
    (
        "answer: {status: refused, code: blocked}",
        "answer: {status: ok, code: blocked}",
        "app.yaml:84:52: tasks.lend_blocked.goal.answer.code: what is `ok` has no error code",
    ),
    (
        "    plant: [",
        "    infeasible: true
    plant: [",
        "app.yaml:69:7: tasks.lend_cheapest.goal: nothing may change in an infeasible task: `changes: []`",
    ),
    (
        r#"      - {submit: {status: refused, code: "'blocked'"}}"#,
        "      - {wait: 1h}",
        "app.yaml:79:3: tasks.lend_blocked: the goal asks for an answer, and the solution submits none",
    ),
    (
        r#"{updated: t.tool, fields: {state: "'out'"}}"#,
        "{updated: t.tool}",
        "app.yaml:71:11: tasks.lend_cheapest.goal.changes[2]: list the columns that change in `fields`",
    ),
    (
        r#"- {updated: t.tool, fields: {state: "'out'"}}"#,
        r#"- {updated: t.tool, fields: {state: "'out'"}}
      free: [loan]"#,
        "app.yaml:69:21: tasks.lend_cheapest.goal.changes[0].created: `loan` is free, so nothing of it is compared",
    ),
    (
        r#"- {updated: t.tool, fields: {state: "'out'"}}"#,
        r#"- {updated: t.tool, fields: {state: "'out'"}}
      free: [created lone]"#,
        "app.yaml:72:14: tasks.lend_cheapest.goal.free[0]: there is no table `lone`: use one of member, tool, loan, notice",
    ),
    (
        r#"{do: lend, args: {tool: "r.items[0]", member: "m.items[0]", days: t.days}}"#,
        r#"{do: lend, args: {tool: "r.items[0]", days: t.days}}"#,
        "app.yaml:77:14: tasks.lend_cheapest.solution[2].do: the argument `member` is missing",
    ),
    (
        r#"{do: lend, args: {tool: "r.items[0]", member: "m.items[0]", days: t.days}}"#,
        r#"{do: overdue, args: {loan: "'L1'"}}"#,
        "app.yaml:77:14: tasks.lend_cheapest.solution[2].do: the agent may not call `overdue`",
    ),
    (
        "days: {int: 2..7}",
        "days: {int: 2..7, refer: [name]}",
        "app.yaml:62:33: tasks.lend_cheapest.params.days.refer[0]: `refer` names columns of a row, and this is none",
    ),
    (
        "days: {int: 2..7}",
        "days: {money: 2..7, currency: euros}",
        "app.yaml:62:37: tasks.lend_cheapest.params.days.currency: expected at most 3 characters, found 5",
    ),
    (
        "days: {int: 2..7}",
        "days: {money: 2..7, currency: eur}",
        "app.yaml:62:7: tasks.lend_cheapest.params.days: expected amounts such as `money: 5.00..90.00`, the lower one first, and a `currency` such as EUR",
    ),
    (
        "kind: {choice: [drill, saw, ladder]}",
        "kind: {choice: [drill, 7], as: int}",
        "app.yaml:61:23: tasks.lend_cheapest.params.kind.choice[0]: `drill` is no int: write one, or change `as`",
    ),
];
