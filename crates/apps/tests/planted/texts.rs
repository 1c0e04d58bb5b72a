//! Faults planted in texts and conditions.

use super::Base::{Board, Parcels, Toolshed};
use super::Planted;
use super::table::{CASH, COLLECT, LENT, SPRINT, SPRINTS, TOLD, TRIAGE_GOAL};

const CODE: &str = "code: int = 0}}";
const CODES: &str = "code: \"int(1000, 9999)\"}";
const SELDOM_WANTED: &str = "slots: {until: t.parcel.until, mark: \"t.parcel.until == add_days(init.today, 9) && t.parcel.shelf.name == 'Door' ? t.parcel.mark : ''\"}";
const SELDOM_GIVEN: &str = "answers: {until: t.parcel.until, mark: \"t.parcel.until == add_days(init.today, 9) && t.parcel.shelf.name == 'Door' ? t.parcel.mark : ''\"}";

/// By sort of fault.
pub(super) const FAULTS: &[(&str, &[Planted])] = &[
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
            // No view shows of what sort it is, whether it is fragile, where it lay first, or when that was.
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    (CODE, "code: int = 0, sort: enum letter box crate = letter}}"),
                    (CODES, "code: \"int(1000, 9999)\", sort: uniform}"),
                    ("slots: {until: t.parcel.until}", "slots: {until: t.parcel.sort}"),
                    ("answers: {until: t.parcel.until}", "answers: {until: t.parcel.sort}"),
                ],
                kinds: &["unseen"],
            },
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    (CODE, "code: int = 0, fragile: bool = false}}"),
                    (CODES, "code: \"int(1000, 9999)\", fragile: \"chance(1, 2)\"}"),
                    ("slots: {until: t.parcel.until}", "slots: {until: t.parcel.fragile}"),
                    ("answers: {until: t.parcel.until}", "answers: {until: t.parcel.fragile}"),
                ],
                kinds: &["unseen"],
            },
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    (CODE, "code: int = 0, first: ref shelf}}"),
                    (CODES, "code: \"int(1000, 9999)\", first: pick(find(shelf))}"),
                    ("slots: {until: t.parcel.until}", "slots: {until: t.parcel.first}"),
                    ("answers: {until: t.parcel.until}", "answers: {until: t.parcel.first}"),
                ],
                kinds: &["unseen"],
            },
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    (CODE, "code: int = 0, handed: opt date}}"),
                    (CODES, "code: \"int(1000, 9999)\", handed: \"chance(1, 2) ? add_days(today(), -3) : null\"}"),
                    ("slots: {until: t.parcel.until}", "slots: {until: \"t.parcel.handed == null\"}"),
                    ("answers: {until: t.parcel.until}", "answers: {until: \"t.parcel.handed == null\"}"),
                ],
                kinds: &["unseen"],
            },
            // What nothing shows is asked for in one task of twenty.
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    (CODE, "code: int = 0, mark: text}}"),
                    (CODES, "code: \"int(1000, 9999)\", mark: iban()}"),
                    ("slots: {until: t.parcel.until}", SELDOM_WANTED),
                    ("answers: {until: t.parcel.until}", SELDOM_GIVEN),
                ],
                kinds: &["unseen"],
            },
            // The same by a branch of the solution.
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    (CODE, "code: int = 0, mark: text}}"),
                    (CODES, "code: \"int(1000, 9999)\", mark: iban()}"),
                    ("slots: {until: t.parcel.until}", SELDOM_WANTED),
                    (
                        "      - {submit: {status: ok, answers: {until: t.parcel.until}}}",
                        "      - if: \"t.parcel.until == add_days(init.today, 9) && t.parcel.shelf.name == 'Door'\"
        then: [{submit: {status: ok, answers: {until: t.parcel.until, mark: t.parcel.mark}}}]
        else: [{submit: {status: ok, answers: {until: t.parcel.until, mark: \"''\"}}}]",
                    ),
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
