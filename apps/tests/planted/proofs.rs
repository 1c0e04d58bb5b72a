//! Faults that a proof by one episode, one answer or one draw does not show.

use super::Base::{Board, Parcels};
use super::Planted;

const UNTIL_WANTED: &str = "slots: {until: t.parcel.until}";
const UNTIL_GIVEN: &str = "answers: {until: t.parcel.until}";
const LATE: &str = "find(parcel, p, p.until < today())";
const LATE_WANTED: &str = "code: too_late}";
const LATE_GIVEN: &str = "code: \"'too_late'\"";
const HAND_OUT: &str = "cash: t.parcel.due}}\n";
const TOLD: &str = r#"    text: ["Give \"${issue.title}\" to ${who.name} and set its priority to ${priority}."]"#;
const UNTOLD: &str = r#"    text: ["Give \"${issue.title}\" to ${who.name} and set its priority."]"#;
const TRIAGE: &str = r#"    solution:
      - {do: issues, args: {search: t.issue.title}, as: found}
      - {do: people, args: {search: t.who.name}, as: p}
      - {do: assign, args: {issue: "one(found.items, i, i.title == t.issue.title)", person: "p.items[0]"}}
      - {do: set_priority, args: {issue: "one(found.items, i, i.title == t.issue.title)", priority: t.priority}}
      - {submit: {status: ok}}
"#;

/// By sort of fault.
pub(super) const FAULTS: &[(&str, &[Planted])] = &[
    (
        "luck of an episode",
        &[Planted {
            base: Parcels,
            template: "collect",
            changes: &[
                (
                    "actions:\n",
                    "world:\n  - {name: storm0, every: 1m, chance: [1, 2], run: storm, args: {}}\nactions:\n",
                ),
                (
                    "tasks:\n  collect:",
                    "  storm:\n    who: [system]\n    effects: [{update: {in: parcel, as: p, where: \"p.state == 'handed_out'\", set: {due: 1.00}}}]\ntasks:\n  collect:",
                ),
                (HAND_OUT, "cash: t.parcel.due}}\n      - {wait: 1m}\n"),
            ],
            kinds: &["solution_misses"],
        }],
    ),
    (
        "refusal without a reason",
        &[
            // The parcel is there in time.
            Planted {
                base: Parcels,
                template: "collect_too_late",
                changes: &[(LATE, "find(parcel, p, p.until >= today())")],
                kinds: &["unfounded"],
            },
            // Another reason than the one that is given.
            Planted {
                base: Parcels,
                template: "collect_too_late",
                changes: &[(LATE_WANTED, "code: handed_out}"), (LATE_GIVEN, "code: \"'handed_out'\"")],
                kinds: &["unfounded"],
            },
            // The same where no twin is named.
            Planted {
                base: Parcels,
                template: "collect_too_late",
                changes: &[
                    ("    twin_of: collect\n", ""),
                    (LATE_WANTED, "code: shelf_full}"),
                    (LATE_GIVEN, "code: \"'shelf_full'\""),
                ],
                kinds: &["unfounded"],
            },
        ],
    ),
    (
        "fault behind a missing solution",
        &[Planted { base: Board, template: "triage", changes: &[(TRIAGE, ""), (TOLD, UNTOLD)], kinds: &["ambiguous"] }],
    ),
    (
        "goal that is wrong where `require` throws away",
        &[
            Planted {
                base: Board,
                template: "triage",
                changes: &[
                    (
                        "fields: {assignee: t.who, priority: t.priority}",
                        "fields: {assignee: t.who, priority: \"t.priority == 'urgent' && t.issue.project.name == 'Web site' ? 'low' : t.priority\"}",
                    ),
                    (
                        TOLD,
                        "    require: [\"!(priority == 'urgent' && issue.project.name == 'Web site')\"]\n    text: [\"Give \\\"${issue.title}\\\" to ${who.name} and set its priority to ${priority}.\"]",
                    ),
                ],
                kinds: &["require_hides"],
            },
            // One of six rows.
            Planted {
                base: Board,
                template: "count_open",
                changes: &[
                    (
                        "{name: \"'Public API'\"}]}",
                        "{name: \"'Public API'\"}, {name: \"'Wiki'\"}, {name: \"'Shop'\"}, {name: \"'Back office'\"}]}",
                    ),
                    (
                        "    text: [\"How many open",
                        "    require: [\"project.name != 'Wiki'\"]\n    text: [\"How many open",
                    ),
                ],
                kinds: &["never_survives"],
            },
        ],
    ),
    (
        "answer behind the set-up",
        &[
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    (UNTIL_WANTED, "slots: {until: t.parcel.code}"),
                    (UNTIL_GIVEN, "answers: {until: t.parcel.code}"),
                    (
                        "    text: [\"${parcel.to} is here",
                        "    setup: [{update: {row: parcel, set: {code: \"int(1000, 9999)\"}}}]\n    text: [\"${parcel.to} is here",
                    ),
                ],
                kinds: &["unseen"],
            },
            // No view shows the table.
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    ("  shelf:  {id:", "  note: {id: \"N{4}\", cols: {words: text}}\n  shelf:  {id:"),
                    ("seed:\n", "seed:\n  note: {n: \"int(3, 30)\", words: person_name()}\n"),
                    (UNTIL_WANTED, "slots: {until: count(note)}"),
                    (UNTIL_GIVEN, "answers: {until: count(note)}"),
                ],
                kinds: &["unseen"],
            },
            // The agent may not see the rows.
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    (
                        "views:\n",
                        "permissions: [{table: parcel, as: r, roles: [agent], rows: \"r.until >= today()\"}]\nviews:\n",
                    ),
                    (UNTIL_WANTED, "slots: {until: \"count(parcel, p, p.until < today())\"}"),
                    (UNTIL_GIVEN, "answers: {until: \"count(parcel, p, p.until < today())\"}"),
                ],
                kinds: &["unseen"],
            },
        ],
    ),
];
