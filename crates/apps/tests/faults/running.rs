//! Faults that only show when the app runs: the check before publication tells them, with their place.

use super::Mistake;

pub(super) const MISTAKES: &[Mistake] = &[
    (
        "invariants: [",
        r#"invariants: ["all(member, m, m.balance > 20.00)", "#,
        "app.yaml:53:14: invariants[0]: the initial database 0 breaks this invariant",
    ),
    (
        "invariants: [",
        r#"invariants: ["count(loan) == 0", "#,
        r#"app.yaml:53:14: invariants[0]: lend {"days":4,"member":"M2504","tool":"T3191"} breaks this invariant"#,
    ),
    (
        r#"n: 60, kind: uniform, name: "distinct tool_name(kind)""#,
        r#"n: 2000, kind: uniform, name: "join(map(find(member), m, join(map(find(member), x, 'more and more and more words'), ' ')), ' ')""#,
        "app.yaml:12:36: seed.tool.name: the texts at the beginning have more than 16777216 bytes together",
    ),
    ("n: 60, kind", "n: 200000, kind", "app.yaml:12:3: seed.tool: a table begins with 0 to 100000 rows"),
    (
        "name: distinct person_name()",
        r#"name: "distinct 'Anna'""#,
        "app.yaml:11:19: seed.member.name: 200 draws gave no new value: more are asked for than there are",
    ),
    (
        r#""weights('in', 8, 'repair', 1)""#,
        r#""weights('in', 0)""#,
        "app.yaml:12:98: seed.tool.state: a weight is out of range.",
    ),
    (
        r#""int(100, 900, 50)""#,
        r#""int(900, 100)""#,
        "app.yaml:12:68: seed.tool.day_fee: a random number is out of range.",
    ),
    (
        r#""int(100, 900, 50)""#,
        r#""size(join(map(find(member), a, join(map(find(member), b, join(map(find(member), c, 'one word after the other and then some more of them'), ' ')), ' ')), ' ')) % 7""#,
        "app.yaml:12:68: seed.tool.day_fee: making the rows takes more than 5000000 steps: ask for fewer, or search less",
    ),
    (
        r#""distinct tool_name(kind)""#,
        r#""pick(find(loan)).id""#,
        "app.yaml:12:34: seed.tool.name: there is nothing to pick from",
    ),
    (r#"id: "M{4}""#, r#"id: "M{1}""#, "app.yaml:11:3: seed.member: There is no room for another member."),
    (
        r#"text: ["Lend the cheapest"#,
        r#"require: ["count(loan) > 0"]
    text: ["Lend the cheapest"#,
        "app.yaml:59:3: tasks.lend_cheapest: 60 of 60 draws are thrown away, most of them because `count(loan) > 0` does not hold",
    ),
    (
        "x.kind == kind && x.state == 'in'",
        "x.kind == kind && x.state == 'out'",
        "app.yaml:59:3: tasks.lend_cheapest: 60 of 60 draws are thrown away, most of them because tool has nothing to draw from",
    ),
    (
        "gap: 50",
        "gap: 5000",
        "app.yaml:59:3: tasks.lend_cheapest: 60 of 60 draws are thrown away, most of them because tool: the first two are too close",
    ),
    (
        "m.blocked && m.balance >= 27.00",
        "m.blocked && m.balance >= 2700.00",
        "app.yaml:79:3: tasks.lend_blocked: 60 of 60 draws are thrown away, most of them because who has nothing to draw from",
    ),
    (
        r#"        - {updated: t.tool, fields: {state: "'out'"}}
"#,
        "",
        "app.yaml:59:3: tasks.lend_cheapest: the solution does not reach the goal: nothing else: 1 other changes: tool/T9993.state was in, is out",
    ),
    (
        r#"state: "'out'"}}
    milestones"#,
        r#"state: "'repair'"}}
    milestones"#,
        "app.yaml:59:3: tasks.lend_cheapest: the solution does not reach the goal: updated t.tool: tool/T9993.state: was in, is out, expected repair",
    ),
    (
        r#"      - {do: members, args: {search: t.who.name}, as: m}
      - {do: lend, args: {tool: "r.items[0]", member: "m.items[0]""#,
        r#"      - {do: lend, args: {tool: "r.items[0]", member: t.who"#,
        r#"app.yaml:59:3: tasks.lend_cheapest: the solution uses what it cannot know: call 2, lend.member: "M4751""#,
    ),
    (
        r#"      changes:
        - {created: loan, count: 1, fields: {tool: t.tool, member: t.who, due: "add_days(init.today, t.days)", fee: "t.tool.day_fee * t.days"}}
        - {updated: t.who, fields: {balance: "init(t.who).balance - t.tool.day_fee * t.days"}}
        - {updated: t.tool, fields: {state: "'out'"}}
"#,
        r#"      changes: []
      also: ["count(tool) > 0"]
"#,
        "app.yaml:59:3: tasks.lend_cheapest: the goal holds at the beginning",
    ),
    (
        r#"      - update: {row: loan.tool, set: {state: "'in'"}}"#,
        r#"      - update: {row: loan.tool, set: {state: "'repair'"}}
      - delete: {row: loan}"#,
        r#"app.yaml:39:3: actions.give_back: {"loan":"L55491"}: the definition is at fault: a row that no longer exists was read"#,
    ),
    (
        r#"      - update: {row: tool, set: {state: "'out'"}}
"#,
        "",
        r#"app.yaml:52:14: invariants[0]: lend {"days":4,"member":"M2504","tool":"T3191"} breaks this invariant"#,
    ),
    (
        r#"let: {need: "tool.day_fee * days"}"#,
        r#"let: {need: "tool.day_fee * days", first: "one(loan, l, l.tool == tool).due"}"#,
        r#"app.yaml:24:3: actions.lend: {"days":18,"member":"M1075","tool":"T2466"}: the definition is at fault: exactly one row was expected"#,
    ),
    (
        r#"      - if: "loan.back == null""#,
        r#"      - {if: "loan.back == null", then: [{at: {time: "loan.due > today() ? now : now", run: overdue, args: {loan: loan}}}]}
      - if: "loan.back == null""#,
        "app.yaml:1:1: world: the definition is at fault: overdue schedules itself at the same time again and again",
    ),
    (
        r#"      changes:
        - {created: loan, count: 1, fields: {tool: t.tool, member: t.who, due: "add_days(init.today, t.days)", fee: "t.tool.day_fee * t.days"}}
        - {updated: t.who, fields: {balance: "init(t.who).balance - t.tool.day_fee * t.days"}}
        - {updated: t.tool, fields: {state: "'out'"}}
"#,
        r#"      changes: []
      free: [loan, member, tool]
      also: ["count(loan) > 0"]
"#,
        r#"app.yaml:68:7: tasks.lend_cheapest.goal: a wrong solution passes: lend {"days":7,"member":"M8005","tool":"T0228"}"#,
    ),
    (
        "refer: [name]}",
        "refer: [kind]}",
        "app.yaml:79:3: tasks.lend_blocked: 60 of 60 draws are thrown away, most of them because `refer` of tool does not name exactly one row that the agent sees",
    ),
    (
        "code: blocked}}",
        r#"code: blocked, slots: {n: "size('abc')"}}}"#,
        "app.yaml:79:3: tasks.lend_blocked: the solution does not reach the goal: answer.n: expected 3, submitted nothing",
    ),
];
