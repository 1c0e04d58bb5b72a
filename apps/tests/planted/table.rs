//! The faults that are planted, and changes that are none.

use super::Base::{Board, Parcels, Toolshed};
use super::{Base, Planted};

type Changes = &'static [(&'static str, &'static str)];

/// The open sprints of a project become several.
const SPRINTS: (&str, &str) =
    ("\"n % 3 == 0 ? 'closed' : n % 3 == 1 ? 'active' : 'planned'\"", "\"n % 3 == 0 ? 'closed' : 'planned'\"");
const SPRINT: &str = r#"{let: "one(sprint, s, s.project == issue.project && s.state == 'planned')"}"#;
const TOLD: &str = r#"text: ["Give \"${issue.title}\" to ${who.name} and set its priority to ${priority}."]"#;
const TRIAGE_GOAL: &str = "fields: {assignee: t.who, priority: t.priority}";
const SET_PRIORITY: &str = "priority: t.priority}}\n      - {submit";
const OPEN: &str = "i.state == 'open' && i.assignee == null";
const LENT: &str = r#"days: t.days}}"#;
const DUE: &str = r#"due: "add_days(init.today, t.days)", fee: "t.tool.day_fee * t.days"}}"#;
const COLLECT: &str = r#"text: ["${parcel.to} is here for a parcel"#;
const CASH: &str = "cash: t.parcel.due}}";
const SHELVES: &str = "{do: shelves, args: {search: t.shelf.name}, as: s}";
const PUT: &str = r#"shelf: "s.items[0]"}}"#;

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
        ],
    ),
    (
        "answer that the text does not hold",
        &[
            Planted {
                base: Board,
                template: "triage",
                changes: &[(TOLD, r#"text: ["Give \"${issue.title}\" to ${who.name} and set its priority."]"#)],
                kinds: &["ambiguous"],
            },
            Planted {
                base: Board,
                template: "count_open",
                changes: &[
                    ("    text: [\"How many open", "      code: {word: iban()}\n    text: [\"How many open"),
                    ("          count: \"count(issue", "          code: t.code\n          count: \"count(issue"),
                    ("answers: {count: r.total", "answers: {code: t.code, count: r.total"),
                ],
                kinds: &["ambiguous"],
            },
            Planted {
                base: Toolshed,
                template: "lend_cheapest",
                changes: &[("for ${days} days.", "for some days.")],
                kinds: &["ambiguous"],
            },
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    (r#"parcel: "one(found.items, x, x.to == t.parcel.to)", cash"#, "parcel: t.parcel, cash"),
                    (
                        "      - {do: parcels, args: {search: t.parcel.to}, as: found}\n      - {do: hand_out",
                        "      - {do: hand_out",
                    ),
                ],
                kinds: &["unknowable"],
            },
            // No view shows the code.
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    ("slots: {until: t.parcel.until}", "slots: {until: t.parcel.code}"),
                    ("answers: {until: t.parcel.until}", "answers: {until: t.parcel.code}"),
                ],
                kinds: &["unseen"],
            },
        ],
    ),
    (
        "`require` that hides a fault",
        &[
            Planted {
                base: Board,
                template: "triage",
                changes: &[
                    (TRIAGE_GOAL, "fields: {assignee: t.who, priority: \"'low'\"}"),
                    (
                        TOLD,
                        r#"require: ["priority == 'low'"]
    text: ["Give \"${issue.title}\" to ${who.name} and set its priority to ${priority}."]"#,
                    ),
                ],
                kinds: &["never_survives"],
            },
            // Where several sprints fit, the first is taken, and no other draw comes through.
            Planted {
                base: Board,
                template: "plan_next",
                changes: &[
                    SPRINTS,
                    (SPRINT, r#"{pick: "find(sprint, s, s.project == issue.project && s.state == 'planned')"}"#),
                    (
                        "    text: [\"Plan",
                        "    require: [\"sprint == find(sprint, s, s.project == issue.project && s.state == 'planned')[0]\"]\n    text: [\"Plan",
                    ),
                ],
                kinds: &["ambiguous"],
            },
            Planted {
                base: Board,
                template: "plan_next",
                changes: &[
                    ("answers: {points: \"sum(planned.items, i, i.points)\"}", "answers: {points: 8}"),
                    (
                        "    text: [\"Plan",
                        "    require: [\"sum(issue, i, i.sprint == sprint, i.points) + issue.points == 8\"]\n    text: [\"Plan",
                    ),
                ],
                kinds: &["thrown_away"],
            },
            Planted {
                base: Toolshed,
                template: "lend_cheapest",
                changes: &[
                    (LENT, "days: 3}}"),
                    (
                        r#"text: ["Lend the cheapest"#,
                        r#"require: ["days == 3"]
    text: ["Lend the cheapest"#,
                    ),
                ],
                kinds: &["never_survives", "thrown_away"],
            },
            // Money is never due where the solution pays none.
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    (CASH, "cash: 0.00}}"),
                    (COLLECT, "require: [\"parcel.due == 0.00\"]\n    text: [\"${parcel.to} is here for a parcel"),
                ],
                kinds: &["never_survives"],
            },
        ],
    ),
];

/// What is no fault.
pub(super) const SOUND: &[(Base, Changes)] = &[
    // A description that fits one row, though the row is picked and has no `refer`.
    (Board, &[(SPRINT, r#"{pick: "find(sprint, s, s.project == issue.project && s.state == 'planned')"}"#)]),
    // Several fit, and the text tells which.
    (
        Board,
        &[
            SPRINTS,
            (
                SPRINT,
                r#"{pick: "find(sprint, s, s.project == issue.project && s.state == 'planned')", refer: [project, name]}"#,
            ),
            ("for the sprint of its project that has not begun yet", "for ${sprint.name} of its project"),
        ],
    ),
    // A condition that chance seldom breaks.
    (
        Board,
        &[(
            "    text: [\"How many open",
            "    require: [\"any(issue, i, i.project == project && i.state == 'open')\"]\n    text: [\"How many open",
        )],
    ),
    // A value that makes no difference to the goal, and is not told.
    (Toolshed, &[("days: {int: 2..7}", "days: {int: 2..7}\n      mood: {choice: [good, bad]}")]),
    // What follows from others may be required to be something.
    (
        Parcels,
        &[(
            "      shelf:  {pick: \"find(shelf, s, s != parcel.shelf)\", refer: [name]}",
            "      shelf:  {pick: \"find(shelf, s, s != parcel.shelf)\", refer: [name]}\n      cheap: {let: parcel.due < 9.00}\n    require: [cheap]",
        )],
    ),
];
