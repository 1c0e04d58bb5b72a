//! Mistakes of form: what the strict reader refuses.

use super::Mistake;

pub(super) const MISTAKES: &[Mistake] = &[
    (
        "version: 1",
        "version: 1
colour: red",
        "app.yaml:3:1: colour: unknown field `colour`; known: app, version, about, tags, tz, week_start, start, role, tables, seed, errors, views, actions, macros, permissions, rules, invariants, world, screens, tasks",
    ),
    (
        "version: 1
",
        "",
        "app.yaml:1:1: the field `version` is missing: add it",
    ),
    ("version: 1", "version: 0", "app.yaml:2:10: version: expected a number from 1 to 1000000, found 0"),
    ("version: 1", "version: one", "app.yaml:2:10: version: expected a whole number, found the text `one`"),
    (
        "version: 1",
        "version: 1
version: 2",
        "app.yaml:3:1: version: the key `version` stands here twice: leave one out (the first is at app.yaml:2:1)",
    ),
    (
        "tz: Europe/Paris",
        "tz: Europe/Pariss",
        r#"app.yaml:3:5: tz: there is no time zone "Europe/Pariss": write one such as Europe/Paris"#,
    ),
    (
        r#"start: "2031-05-05T09:00""#,
        "start: tomorrow",
        "app.yaml:4:8: start: a civil time such as 2031-05-05T09:00 is expected",
    ),
    (
        "version: 1",
        "version: 1
week_start: friday",
        "app.yaml:3:13: week_start: expected one of monday, sunday, found the text `friday`",
    ),
    (
        "app: toolshed",
        "app: Tool shed",
        "app.yaml:1:6: app: `Tool shed` is no name: small letters, digits and underscores, a letter first",
    ),
    (
        "app: toolshed",
        "app: &name toolshed",
        "app.yaml:1:6: app: anchors are not supported: write the value out where it is used",
    ),
    ("app: toolshed", "app: !str toolshed", "app.yaml:1:6: app: tags are not supported: quote what is text"),
    (
        "version: 1",
        "version: 1
about: *text",
        "app.yaml:3:8: about: this is not YAML, correct it: while parsing node, found unknown anchor",
    ),
    (
        "blocked: bool = false}",
        "blocked: yes}",
        "app.yaml:6:79: tables.member.cols.blocked: `yes` is a truth value to some readers of YAML: quote it, or write true or false",
    ),
    (
        "tables:
",
        "tables:
  <<: {}
",
        "app.yaml:6:3: tables.<<: the merge key `<<` is not supported: write the entries out",
    ),
    (
        r#"kind: conflict, text: "${tool.name} is"#,
        r#"kind: konflict, text: "${tool.name} is"#,
        "app.yaml:14:23: errors.tool_busy.kind: expected one of invalid, not_found, forbidden, conflict, insufficient, limit, unavailable, found the text `konflict`; did you mean `conflict`?",
    ),
    (
        r#"guards: [{check: "loan.back == null", else: closed_loan}]"#,
        r#"guards: {check: "loan.back == null", else: closed_loan}"#,
        "app.yaml:42:13: actions.give_back.guards: expected a list, found a map",
    ),
    (
        r#"{check: "!member.blocked", else: blocked}"#,
        r#"{check: "!member.blocked", esle: blocked}"#,
        "app.yaml:31:9: actions.lend.guards[2]: the field `else` is missing: add it",
    ),
    (
        "- cancel: {key: loan.id}",
        "- forget: {key: loan.id}",
        "app.yaml:46:9: actions.give_back.effects[2]: expected one of insert, update, delete, each, if, let, at, cancel, fail, call, found a map",
    ),
    (
        "who: [agent]
    params: {loan: ref loan}",
        "who: agent
    params: {loan: ref loan}",
        "app.yaml:40:10: actions.give_back.who: expected a list, found the text `agent`",
    ),
    (
        "params: {loan: ref loan}
    guards",
        "cost: 30d
    params: {loan: ref loan}
    guards",
        "app.yaml:41:11: actions.give_back.cost: expected a length of time such as 30s, 5m, 2h or 1d, at most 7d, found the text `30d`",
    ),
    (
        "params: {loan: ref loan}
    guards",
        "params: {now: ref loan}
    guards",
        "app.yaml:41:14: actions.give_back.params.now: `now` is a reserved word: choose another name",
    ),
    (
        r#"- update: {row: loan, set: {back: "today()"}}"#,
        r#"- update: {row: loan, in: loan, set: {back: "today()"}}"#,
        "app.yaml:44:17: actions.give_back.effects[0].update: expected either `row`, or `in` and `as` with `where`, found a map",
    ),
    (
        "n: 60, kind: uniform",
        "n: 60, per: member, rows: [], kind: uniform",
        "app.yaml:12:11: seed.tool: expected one of `n`, `rows`, `each`, or `per` with `n`, found a map",
    ),
    (
        "sort: [name, day_fee], page: 20",
        "sort: [name, day_fee], page: 5000",
        "app.yaml:20:96: views.tools.page: expected a number from 1 to 200, found 5000",
    ),
    (
        "page: 20, embed: {tool: [name], member: [name]}",
        "page: 20, embed: {tool: name, member: [name]}",
        "app.yaml:22:97: views.open_loans.embed.tool: expected a map, found the text `name`",
    ),
    (
        "screens:
",
        "screens:
  list: {title: List}
",
        "app.yaml:55:9: screens.list: the field `body` is missing: add it",
    ),
    (
        r#"{pick: "find(member, m, !m.blocked && m.balance >= tool.day_fee * days)"}"#,
        r#"{picks: "find(member)"}"#,
        "app.yaml:64:13: tasks.lend_cheapest.params.who: expected one of choice, int, money, date, pick, first, let, word, found a map",
    ),
    (
        "days: {int: 2..7}",
        "days: {int: 7..2}",
        "app.yaml:62:19: tasks.lend_cheapest.params.days.int: expected a range of whole numbers, the lower one first, found the text `7..2`",
    ),
    (
        "days: {int: 2..7}",
        "days: {int: two}",
        "app.yaml:62:19: tasks.lend_cheapest.params.days.int: expected a range such as 2..7, found the text `two`",
    ),
    (
        "kind: {choice: [drill, saw, ladder]}",
        "kind: {choice: []}",
        "app.yaml:61:22: tasks.lend_cheapest.params.kind.choice: a choice has at least one value",
    ),
    (
        "weight: 1}]",
        "weight: 0}]",
        "app.yaml:72:95: tasks.lend_cheapest.milestones[0].weight: expected a number from 1 to 100, found 0",
    ),
    (
        "goal: {changes: [], answer: {status: refused, code: blocked}}",
        "goal: {changes: [], answer: {status: denied, code: blocked}}",
        "app.yaml:84:42: tasks.lend_blocked.goal.answer.status: expected one of ok, impossible, refused, found the text `denied`",
    ),
    (
        "invariants: [",
        "world: [{name: tick, every: 1s, run: overdue}]
invariants: [",
        "app.yaml:53:9: world[0]: expected either `at`, or `every` (a minute at least) with `chance`, found a map",
    ),
    (
        "invariants: [",
        "world: [{name: tick, every: 1h, chance: [3, 2], run: overdue}]
invariants: [",
        "app.yaml:53:41: world[0].chance: expected a chance such as [1, 4], found a list",
    ),
    (
        "version: 1",
        r#"version: 1
rules: [{id: once, text: "", enforce: engine}]"#,
        "app.yaml:3:26: rules[0].text: expected text, found an empty one",
    ),
];
