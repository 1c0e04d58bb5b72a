//! Faults planted in goals, solutions, references and values.

use super::Base::{Board, Parcels, Toolshed};
use super::Planted;

/// The open sprints of a project become several.
pub(super) const SPRINTS: (&str, &str) =
    ("\"n % 3 == 0 ? 'closed' : n % 3 == 1 ? 'active' : 'planned'\"", "\"n % 3 == 0 ? 'closed' : 'planned'\"");
pub(super) const SPRINT: &str = r#"{let: "one(sprint, s, s.project == issue.project && s.state == 'planned')"}"#;
pub(super) const TOLD: &str =
    r#"text: ["Give \"${issue.title}\" to ${who.name} and set its priority to ${priority}."]"#;
pub(super) const TRIAGE_GOAL: &str = "fields: {assignee: t.who, priority: t.priority}";
const SET_PRIORITY: &str = "priority: t.priority}}\n      - {submit";
const OPEN: &str = "i.state == 'open' && i.assignee == null";
pub(super) const LENT: &str = r#"days: t.days}}"#;
const DUE: &str = r#"due: "add_days(init.today, t.days)", fee: "t.tool.day_fee * t.days"}}"#;
pub(super) const COLLECT: &str = r#"text: ["${parcel.to} is here for a parcel"#;
pub(super) const CASH: &str = "cash: t.parcel.due}}";
const SHELVES: &str = "{do: shelves, args: {search: t.shelf.name}, as: s}";
const PUT: &str = r#"shelf: "s.items[0]"}}"#;
const SHELF: &str = "shelf:  {pick: \"find(shelf, s, s != parcel.shelf)\", refer: [name]}";
const PUT_TEXT: &str = "    text:\n      - \"Put the parcel";
const COUNT_DONE: &str = r#"  count_done:
    params:
      priority: {choice: [low, normal, high, urgent], as: "enum low normal high urgent"}
      web: {pick: find(project), refer: [name]}
    text: ["How many open issues of priority ${priority} does the project ${web.name} have (slot count), and how many points are they together (slot points)?"]
    goal:
      changes: []
      answer:
        status: ok
        slots:
          count: "count(issue, i, i.project == t.web && i.priority == t.priority && i.state == 'done')"
          points: "sum(issue, i, i.project == t.web && i.priority == t.priority && i.state == 'done', i.points)"
    solution:
      - {do: projects, args: {search: t.web.name}, as: p}
      - {do: issues, args: {project: "p.items[0]", priority: t.priority, state: "'done'"}, as: r}
      - {submit: {status: ok, answers: {count: r.total, points: "sum(r.items, i, i.points)"}}}
  count_open:
"#;

/// By sort of fault.
pub(super) const FAULTS: &[(&str, &[Planted])] = &[
    (
        "wrong goal",
        &[
            Planted {
                base: Board,
                template: "triage",
                changes: &[(TRIAGE_GOAL, "fields: {assignee: t.who, priority: \"'low'\"}")],
                kinds: &["solution_misses"],
            },
            // The solution is as wrong as the goal.
            Planted {
                base: Board,
                template: "triage",
                changes: &[
                    (TRIAGE_GOAL, "fields: {assignee: t.who, priority: \"'low'\"}"),
                    (SET_PRIORITY, "priority: \"'low'\"}}\n      - {submit"),
                    (OPEN, "i.state == 'open' && i.assignee == null && i.priority == 'normal'"),
                ],
                kinds: &["ignored"],
            },
            // Two of three words are one to the goal.
            Planted {
                base: Board,
                template: "triage",
                changes: &[
                    (TRIAGE_GOAL, "fields: {assignee: t.who, priority: \"t.priority == 'low' ? 'low' : 'high'\"}"),
                    (SET_PRIORITY, "priority: \"t.priority == 'low' ? 'low' : 'high'\"}}\n      - {submit"),
                    (OPEN, "i.state == 'open' && i.assignee == null && i.priority == 'normal'"),
                ],
                kinds: &["ignored"],
            },
            // One value is exchanged for another, by the solution too.
            Planted {
                base: Board,
                template: "triage",
                changes: &[
                    (
                        TRIAGE_GOAL,
                        "fields: {assignee: t.who, priority: \"t.priority == 'urgent' ? 'normal' : t.priority\"}",
                    ),
                    (SET_PRIORITY, "priority: \"t.priority == 'urgent' ? 'normal' : t.priority\"}}\n      - {submit"),
                    (OPEN, "i.state == 'open' && i.assignee == null && i.priority != 'normal'"),
                ],
                kinds: &["contradicted"],
            },
            // The solution is as wrong as the goal, and a near miss differs with the value that both ignore.
            Planted {
                base: Board,
                template: "triage",
                changes: &[
                    (TRIAGE_GOAL, "fields: {assignee: t.who, priority: \"'low'\"}"),
                    (SET_PRIORITY, "priority: \"'low'\"}}\n      - {submit"),
                    (OPEN, "i.state == 'open' && i.assignee == null && i.priority == 'normal'"),
                    (
                        TOLD,
                        r#"plant: [{insert: {into: project, set: {name: "tpl('Things of priority ${priority}')"}}}]
    text: ["Give \"${issue.title}\" to ${who.name} and set its priority to ${priority}."]"#,
                    ),
                ],
                kinds: &["ignored"],
            },
            Planted {
                base: Toolshed,
                template: "lend_cheapest",
                changes: &[(DUE, r#"due: "add_days(init.today, t.days + 1)", fee: "t.tool.day_fee * t.days"}}"#)],
                kinds: &["solution_misses"],
            },
            Planted {
                base: Parcels,
                template: "relocate",
                changes: &[("fields: {shelf: t.shelf}", "fields: {shelf: t.parcel.shelf}")],
                kinds: &["already_done"],
            },
        ],
    ),
    (
        "wrong solution",
        &[
            Planted {
                base: Board,
                template: "triage",
                changes: &[(SET_PRIORITY, "priority: \"'high'\"}}\n      - {submit")],
                kinds: &["solution_misses", "solution_fails"],
            },
            Planted {
                base: Board,
                template: "plan_next",
                changes: &[("points: \"sum(planned.items, i, i.points)\"", "points: t.issue.points")],
                kinds: &["solution_misses"],
            },
            Planted {
                base: Toolshed,
                template: "lend_cheapest",
                changes: &[(LENT, "days: \"t.days - 1\"}}")],
                kinds: &["solution_misses"],
            },
            Planted {
                base: Parcels,
                template: "relocate",
                changes: &[(SHELVES, "{do: shelves, args: {}, as: s}")],
                kinds: &["solution_misses", "solution_fails"],
            },
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[(CASH, "cash: 0.00}}")],
                kinds: &["solution_fails"],
            },
        ],
    ),
    (
        "ambiguous reference",
        &[
            Planted {
                base: Board,
                template: "plan_next",
                changes: &[
                    SPRINTS,
                    (SPRINT, r#"{pick: "find(sprint, s, s.project == issue.project && s.state == 'planned')"}"#),
                ],
                kinds: &["ambiguous"],
            },
            // The first of several that nothing puts in order.
            Planted {
                base: Board,
                template: "plan_next",
                changes: &[
                    SPRINTS,
                    (SPRINT, r#"{let: "find(sprint, s, s.project == issue.project && s.state == 'planned')[0]"}"#),
                ],
                kinds: &["ambiguous"],
            },
            Planted {
                base: Board,
                template: "triage",
                changes: &[
                    (
                        "title: distinct mail_subject('project')",
                        "title: \"pick(['Crash', 'Slow page', 'Typo', 'Dead link'])\"",
                    ),
                    ("i.assignee == null)\", refer: [title]}", "i.assignee == null)\"}"),
                    (
                        "issue: \"one(found.items, i, i.title == t.issue.title)\", person",
                        "issue: \"one(found.items, i, i == t.issue)\", person",
                    ),
                    (
                        "issue: \"one(found.items, i, i.title == t.issue.title)\", priority",
                        "issue: \"one(found.items, i, i == t.issue)\", priority",
                    ),
                ],
                kinds: &["ambiguous", "namesake"],
            },
            Planted {
                base: Board,
                template: "triage",
                changes: &[
                    (
                        TOLD,
                        r#"text: ["Give \"${issue.title}\" to somebody who has not left and set its priority to ${priority}."]"#,
                    ),
                    ("{do: people, args: {search: t.who.name}, as: p}", "{do: people, args: {active: true}, as: p}"),
                    ("person: \"p.items[0]\"", "person: \"one(p.items, x, x == t.who)\""),
                ],
                kinds: &["ambiguous"],
            },
            // Two templates tell the same, and each asks for something else.
            Planted {
                base: Board,
                template: "count_open",
                changes: &[("  count_open:\n", COUNT_DONE)],
                kinds: &["same_text"],
            },
            // Only one of two wordings names the shelf.
            Planted {
                base: Parcels,
                template: "relocate",
                changes: &[
                    ("belongs onto the shelf ${shelf.name}: move it.", "belongs onto another shelf: move it."),
                    (SHELVES, "{do: shelves, args: {}, as: s}"),
                    (PUT, r#"shelf: "one(s.items, x, x == t.shelf)"}}"#),
                ],
                kinds: &["ambiguous"],
            },
        ],
    ),
    (
        "value that never survives",
        &[
            Planted {
                base: Board,
                template: "triage",
                changes: &[(
                    TOLD,
                    r#"require: ["priority != 'urgent'"]
    text: ["Give \"${issue.title}\" to ${who.name} and set its priority to ${priority}."]"#,
                )],
                kinds: &["never_survives"],
            },
            Planted {
                base: Board,
                template: "count_open",
                changes: &[(
                    "priority: {choice: [low, normal, high, urgent], as: \"enum low normal high urgent\"}",
                    "priority: {choice: [low, normal, high, urgent], as: \"enum low normal high urgent\", not: \"'low'\"}",
                )],
                kinds: &["never_drawn"],
            },
            Planted {
                base: Board,
                template: "triage",
                changes: &[
                    (OPEN, "i.assignee == null"),
                    (
                        TOLD,
                        r#"require: ["issue.state == 'open'"]
    text: ["Give \"${issue.title}\" to ${who.name} and set its priority to ${priority}."]"#,
                    ),
                ],
                kinds: &["never_survives"],
            },
            Planted {
                base: Toolshed,
                template: "lend_cheapest",
                changes: &[(
                    r#"text: ["Lend the cheapest"#,
                    r#"require: ["days <= 4"]
    text: ["Lend the cheapest"#,
                )],
                kinds: &["never_survives"],
            },
            Planted {
                base: Parcels,
                template: "relocate",
                changes: &[(
                    "    text:\n      - \"Put the parcel",
                    "    require: [\"shelf.name != 'Cellar'\"]\n    text:\n      - \"Put the parcel",
                )],
                kinds: &["never_survives"],
            },
            // A part of a range: of days, of amounts, of whole numbers, and of what picked rows have.
            Planted {
                base: Parcels,
                template: "relocate",
                changes: &[
                    (
                        SHELF,
                        "shelf:  {pick: \"find(shelf, s, s != parcel.shelf)\", refer: [name]}\n      by: {date: [\"today()\", \"add_days(today(), 60)\"]}",
                    ),
                    (PUT_TEXT, "    require: [\"by < add_days(today(), 40)\"]\n    text:\n      - \"Put the parcel"),
                ],
                kinds: &["never_survives"],
            },
            Planted {
                base: Parcels,
                template: "relocate",
                changes: &[
                    (
                        SHELF,
                        "shelf:  {pick: \"find(shelf, s, s != parcel.shelf)\", refer: [name]}\n      tip: {money: 0.00..99.00, step: 0.50, currency: EUR}",
                    ),
                    (PUT_TEXT, "    require: [\"tip < 60.00 || tip > 69.00\"]\n    text:\n      - \"Put the parcel"),
                ],
                kinds: &["never_survives"],
            },
            Planted {
                base: Parcels,
                template: "relocate",
                changes: &[
                    (
                        SHELF,
                        "shelf:  {pick: \"find(shelf, s, s != parcel.shelf)\", refer: [name]}\n      room: {int: 1..500}",
                    ),
                    (PUT_TEXT, "    require: [\"room <= 455\"]\n    text:\n      - \"Put the parcel"),
                ],
                kinds: &["never_survives"],
            },
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[(
                    COLLECT,
                    "require: [\"parcel.code < 6000\"]\n    text: [\"${parcel.to} is here for a parcel",
                )],
                kinds: &["never_survives"],
            },
        ],
    ),
];
