//! Names that nothing has, that two things have, or that may not be used where they stand.

use super::Mistake;

pub(super) const MISTAKES: &[Mistake] = &[
    (
        "else: bad_days}",
        "else: bad_day}",
        "app.yaml:29:50: actions.lend.guards[0].else: there is no error `bad_day`; did you mean `bad_days`?",
    ),
    (
        r#"tool.day_fee * days"}
    guards"#,
        r#"tool.day_fees * days"}
    guards"#,
        "app.yaml:27:23: actions.lend.let.need: no column `day_fees` in tool; did you mean `day_fee`?",
    ),
    (
        "run: overdue, args: {loan: l}",
        "run: overdo, args: {loan: l}",
        "app.yaml:37:65: actions.lend.effects[3].at.run: there is no action `overdo`; did you mean `overdue`?",
    ),
    (
        "run: overdue, args: {loan: l}",
        "run: give_back, args: {loan: l}",
        "app.yaml:37:65: actions.lend.effects[3].at.run: `give_back` cannot run by itself: its `who` does not name system",
    ),
    (
        "run: overdue, args: {loan: l}",
        "run: overdue, args: {lone: l}",
        "app.yaml:37:65: actions.lend.effects[3].at.run: the argument `loan` is missing",
    ),
    (
        "run: overdue, args: {loan: l}",
        "run: overdue",
        "app.yaml:37:65: actions.lend.effects[3].at.run: the argument `loan` is missing",
    ),
    (
        "insert: {into: loan, as: l,",
        "insert: {into: loans, as: l,",
        "app.yaml:34:24: actions.lend.effects[0].insert.into: there is no table `loans`; did you mean `loan`?",
    ),
    (
        "insert: {into: loan, as: l,",
        "insert: {into: loan, as: tool,",
        "app.yaml:34:34: actions.lend.effects[0].insert.as: `tool` means something here already: choose another name",
    ),
    (
        "let: {need:",
        r#"let: {days: "days * 2", need:"#,
        "app.yaml:27:11: actions.lend.let.days: `days` means something here already: choose another name",
    ),
    (
        r#"set: {state: "'out'"}"#,
        r#"set: {stat: "'out'"}"#,
        "app.yaml:36:35: actions.lend.effects[2].update.set.stat: there is no column of tool `stat`; did you mean `state`?",
    ),
    (
        "who: [agent]
    params: {loan: ref loan}",
        "who: [clerk]
    params: {loan: ref loan}",
        "app.yaml:40:11: actions.give_back.who[0]: there is no role `clerk`: use one of agent, user, system",
    ),
    (
        "from: member, search",
        "from: members, search",
        "app.yaml:21:22: views.members.from: there is no table `members`; did you mean `member`?",
    ),
    (
        "filter: [kind, state]",
        "filter: [kind, colour]",
        "app.yaml:20:59: views.tools.filter[1]: there is no column of tool `colour`: use one of name, kind, day_fee, state",
    ),
    (
        "filter: [kind, state]",
        "filter: [kind, kind]",
        "app.yaml:20:59: views.tools.filter[1]: the column `kind` stands here twice",
    ),
    (
        "filter: [kind, state], sort",
        "filter: [kind, state], params: {page: int}, sort",
        "app.yaml:20:76: views.tools.params.page: the view has a parameter `page` already",
    ),
    (
        "  members:    {from: member,",
        "  lend:       {from: member,",
        "app.yaml:21:3: views.lend: an action and a view are both called `lend`",
    ),
    (
        "  members:    {from: member,",
        "  submit:     {from: member,",
        "app.yaml:21:3: views.submit: every app has a call `submit` of its own",
    ),
    (
        "embed: {tool: [name], member: [name]}",
        "embed: {tool: [name], due: [name]}",
        "app.yaml:22:105: views.open_loans.embed.due: `due` refers to no table",
    ),
    (
        "embed: {tool: [name], member: [name]}",
        "embed: {notes: {from: notice, by: member}}",
        "app.yaml:22:117: views.open_loans.embed.notes.by: `member` does not refer to the rows that are shown",
    ),
    (
        "embed: {tool: [name], member: [name]}",
        r#"derive: {due: "l.due"}"#,
        "app.yaml:22:92: views.open_loans.derive.due: `due` is shown already: choose another name",
    ),
    (
        "field: days}",
        r#"field: days}
  never: {kind: conflict, text: "Never."}"#,
        "app.yaml:18:3: errors.never: nothing raises the error `never`",
    ),
    (
        r#"closed_loan: {kind: conflict, text: "Loan ${loan.id}"#,
        r#"closed_loan: {kind: conflict, text: "Loan ${lone.id}"#,
        "app.yaml:18:47: errors.closed_loan.text: there is no `lone` here: define it first, or quote it if it is text",
    ),
    (
        "invariants: [",
        "permissions: [{table: member, roles: [agent], hide: [name]}]
invariants: [",
        "app.yaml:21:39: views.members.search[0]: `name` is hidden from who reads this, so it tells no rows apart",
    ),
    (
        "tool: ref tool, member: ref member, days: int}",
        r#"tool: ref tool, member: ref member, days: int, lines: "list {item: ref items}"}"#,
        "app.yaml:26:68: actions.lend.params.lines: there is no table `items`: use one of member, tool, loan, notice",
    ),
    (
        "    plant: [",
        "    twin_of: lend_dear
    plant: [",
        "app.yaml:65:14: tasks.lend_cheapest.twin_of: there is no task `lend_dear`: use one of lend_cheapest, lend_blocked",
    ),
    (
        "    plant: [",
        "    twin_of: lend_blocked
    plant: [",
        "app.yaml:65:14: tasks.lend_cheapest.twin_of: a twin is infeasible: say `infeasible: true`",
    ),
    (
        "refer: [name]}",
        "refer: [names]}",
        "app.yaml:82:62: tasks.lend_blocked.params.tool.refer[0]: there is no column of tool `names`; did you mean `name`?",
    ),
    (
        "code: blocked}}",
        "code: locked}}",
        "app.yaml:84:57: tasks.lend_blocked.goal.answer.code: there is no error `locked`; did you mean `blocked`?",
    ),
    (
        "call.name == 'lend' && call.ok && arg('member')",
        "call.name == 'lent' && call.ok && arg('member')",
        "app.yaml:73:59: tasks.lend_cheapest.minefields[0].when: 'lent' is none of the words 'give_back', 'lend', 'members', 'open_loans', 'overdue', 'submit', 'tools', 'wait'; did you mean 'lend'?",
    ),
    (
        "arg('member')",
        "arg('person')",
        "app.yaml:73:84: tasks.lend_cheapest.minefields[0].when: 'person' is none of the words 'about', 'answers', 'code', 'days', 'id', 'kind', 'loan', 'member', 'page', 'search', 'seconds', 'sort', 'state', 'status', 'tool': write one of them",
    ),
    (
        "weight: 1}]",
        "weight: 1, after: [start]}]",
        "app.yaml:72:106: tasks.lend_cheapest.milestones[0].after[0]: there is no earlier milestone `start`: declare it, or leave it out",
    ),
    (
        "- {created: loan, count: 1,",
        "- {created: lone, count: 1,",
        "app.yaml:69:21: tasks.lend_cheapest.goal.changes[0].created: there is no table `lone`: use one of member, tool, loan, notice",
    ),
    (
        "${kind} to ${who.name}",
        "${kind} to ${whom.name}",
        "app.yaml:66:54: tasks.lend_cheapest.text[0]: there is no `whom` here; did you mean `who`?",
    ),
    (
        "{do: lend, args",
        "{do: lent, args",
        "app.yaml:77:14: tasks.lend_cheapest.solution[2].do: there is no call `lent`; did you mean `lend`?",
    ),
    (
        "{do: lend, args: {tool:",
        "{do: lend, args: {tol: 1, tool:",
        "app.yaml:77:27: tasks.lend_cheapest.solution[2].args.tol: there is no parameter `tol`; did you mean `tool`?",
    ),
    (
        "as: m}
      - {do: lend",
        "as: r}
      - {do: lend",
        "app.yaml:76:55: tasks.lend_cheapest.solution[1].as: `r` means something here already: choose another name",
    ),
    (
        "invariants: [",
        r#"rules: [{id: once, text: Once., enforce: engine, applies: [lent], check: "true == false"}]
invariants: ["#,
        "app.yaml:53:60: rules[0].applies[0]: there is no action `lent`; did you mean `lend`?",
    ),
    (
        "invariants: [",
        "rules: [{id: once, text: Once., enforce: grade}, {id: once, text: Twice., enforce: grade}]
invariants: [",
        "app.yaml:53:55: rules[1].id: the rule `once` stands here twice",
    ),
    (
        "invariants: [",
        r#"rules: [{id: once, text: Once., enforce: grade, applies: [lend], check: "calls('lent') > 0"}]
invariants: ["#,
        "app.yaml:53:80: rules[0].check: 'lent' is none of the words 'give_back', 'lend', 'members', 'open_loans', 'overdue', 'submit', 'tools', 'wait'; did you mean 'lend'?",
    ),
];
