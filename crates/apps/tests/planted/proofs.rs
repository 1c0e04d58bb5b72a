//! Faults that a proof by one episode, one answer or one draw does not show.

use super::Base::{Board, Parcels};
use super::Planted;

const UNTIL_WANTED: &str = "slots: {until: t.parcel.until}";
const UNTIL_GIVEN: &str = "answers: {until: t.parcel.until}";
const LATE: &str = "find(parcel, p, p.until < today())";
const LATE_WANTED: &str = "code: too_late}";
const LATE_GIVEN: &str = "code: \"'too_late'\"";
const REFUSED: &str = "goal: {changes: [], answer: {status: refused, code: too_late}}";
const REFUSAL: &str = "{submit: {status: refused, code: \"'too_late'\"}}";
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
        "task that is called impossible and can be done",
        &[
            // Without a code, whatever is refused seems to be the reason.
            Planted {
                base: Parcels,
                template: "collect_too_late",
                changes: &[
                    (LATE, "find(parcel, p, p.until >= today())"),
                    (REFUSED, "goal: {changes: [], answer: {status: refused}}"),
                    (REFUSAL, "{submit: {status: refused}}"),
                ],
                kinds: &["unfounded"],
            },
            Planted {
                base: Parcels,
                template: "collect_too_late",
                changes: &[
                    ("    twin_of: collect\n", ""),
                    (REFUSED, "goal: {changes: [], answer: {status: refused}}"),
                    (REFUSAL, "{submit: {status: refused}}"),
                ],
                kinds: &["unfounded"],
            },
            // In most draws nothing stands in the way.
            Planted {
                base: Parcels,
                template: "collect_too_late",
                changes: &[(LATE, "find(parcel)")],
                kinds: &["unfounded"],
            },
            // The same without a twin: other parcels are late, this one is not.
            Planted {
                base: Parcels,
                template: "collect_too_late",
                changes: &[("    twin_of: collect\n", ""), (LATE, "find(parcel)")],
                kinds: &["unfounded"],
            },
            // Onto the shelf where it lies, which nobody asks for.
            Planted {
                base: Parcels,
                template: "collect_too_late",
                changes: &[
                    ("    twin_of: collect\n", ""),
                    (
                        "params: {parcel: {pick: \"find(parcel, p, p.until < today())\", refer: [to]}}",
                        "params: {parcel: {pick: find(parcel), refer: [to]}, shelf: {pick: \"find(shelf, s, s != parcel.shelf)\", refer: [name]}}",
                    ),
                    ("${parcel.to} asks for a parcel.", "Put the parcel of ${parcel.to} onto ${shelf.name}, not"),
                    (LATE_WANTED, "code: same_shelf}"),
                    (LATE_GIVEN, "code: \"'same_shelf'\""),
                ],
                kinds: &["unfounded"],
            },
            // With more cash than anybody speaks of.
            Planted {
                base: Parcels,
                template: "collect_too_late",
                changes: &[
                    ("    twin_of: collect\n", ""),
                    (LATE, "find(parcel, p, p.until >= today())"),
                    (LATE_WANTED, "code: wrong_cash}"),
                    (LATE_GIVEN, "code: \"'wrong_cash'\""),
                ],
                kinds: &["unfounded"],
            },
            // Another action does it.
            Planted {
                base: Parcels,
                template: "collect_too_late",
                changes: &[(
                    "  put:\n",
                    "  hand_out_late:\n    params: {parcel: ref parcel}\n    guards: [{check: \"parcel.state == 'waiting'\", else: handed_out}]\n    effects: [{update: {row: parcel, set: {state: \"'handed_out'\", due: 0.00}}}]\n  put:\n",
                )],
                kinds: &["unfounded"],
            },
        ],
    ),
    (
        "constant that nothing tells",
        &[
            Planted {
                base: Board,
                template: "triage",
                changes: &[
                    (
                        "fields: {assignee: t.who, priority: t.priority}",
                        "fields: {assignee: t.who, priority: \"'urgent'\"}",
                    ),
                    (
                        "one(found.items, i, i.title == t.issue.title)\", priority: t.priority}",
                        "one(found.items, i, i.title == t.issue.title)\", priority: \"'urgent'\"}",
                    ),
                    (
                        "      priority: {choice: [low, high, urgent], as: \"enum low normal high urgent\", not: issue.priority}\n",
                        "",
                    ),
                    (
                        TOLD,
                        "    require: [\"issue.priority != 'urgent'\"]\n    text: [\"Give \\\"${issue.title}\\\" to ${who.name} and set its priority.\"]",
                    ),
                ],
                kinds: &["untold"],
            },
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    (
                        "{check: \"cash == parcel.due\", else: wrong_cash}",
                        "{check: \"cash >= parcel.due\", else: wrong_cash}",
                    ),
                    ("cash: t.parcel.due}}\n", "cash: 20.00}}\n"),
                ],
                kinds: &["untold"],
            },
        ],
    ),
    (
        "order that nothing tells",
        &[
            // Several parcels of a shelf are kept until the same day.
            Planted {
                base: Parcels,
                template: "relocate",
                changes: &[
                    (
                        "goal: {changes: [{updated: t.parcel, fields: {shelf: t.shelf}}]}",
                        "goal: {changes: [{updated: t.parcel, fields: {shelf: t.shelf}}], answer: {status: ok, slots: {next: \"sort(find(parcel, p, p.until > init.today), p, p.until)[0].to\"}}}",
                    ),
                    (
                        "shelf: \"s.items[0]\"}}\n      - {submit: {status: ok}}",
                        "shelf: \"s.items[0]\"}}\n      - {do: parcels, args: {sort: \"'until'\"}, as: all}\n      - {submit: {status: ok, answers: {next: \"sort(find(parcel, p, p.until > init.today), p, p.until)[0].to\"}}}",
                    ),
                ],
                kinds: &["ambiguous"],
            },
            // A list in the order in which its rows were made.
            Planted {
                base: Board,
                template: "count_open",
                changes: &[
                    (
                        "          points: \"sum(issue, i, i.project == t.project && i.priority == t.priority && i.state == 'open', i.points)\"\n",
                        "          points: \"map(issue, i, i.project == t.project && i.priority == t.priority && i.state == 'open', i.title)\"\n",
                    ),
                    ("points: \"sum(r.items, i, i.points)\"", "points: \"map(r.items, i, i.title)\""),
                ],
                kinds: &["ambiguous"],
            },
        ],
    ),
    (
        "value that the set-up changes",
        &[
            // One parcel more than is answered.
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    (
                        "  collect:\n    params: {parcel: {pick: \"find(parcel, p, p.until >= today())\", refer: [to]}}",
                        "  collect:\n    params: {parcel: {pick: \"find(parcel, p, p.until >= today())\", refer: [to]}, left: {let: \"count(parcel, p, p.shelf == parcel.shelf)\"}}\n    setup: [{insert: {into: parcel, set: {to: \"'Nobody'\", shelf: parcel.shelf, due: 0.00, until: today()}}}]",
                    ),
                    (UNTIL_WANTED, "slots: {until: t.left}"),
                    (UNTIL_GIVEN, "answers: {until: t.left}"),
                ],
                kinds: &["stale"],
            },
        ],
    ),
    (
        "row among many",
        &[
            // Whoever has the fewest issues, of whose name there is another.
            Planted {
                base: Board,
                template: "triage",
                changes: &[
                    ("cols: {name: text unique, active", "cols: {name: text, active"),
                    ("{n: 14, name: distinct person_name(),", "{n: 14, name: \"tpl('Kim ${n / 2}')\","),
                    (
                        "who:      {pick: \"find(person, p, p.active)\", refer: [name]}",
                        "who:      {first: \"find(person, p, p.active)\", by: \"count(issue, i, i.assignee == x)\"}",
                    ),
                    (
                        "{do: assign, args: {issue: \"one(found.items, i, i.title == t.issue.title)\", person: \"p.items[0]\"}}",
                        "{do: assign, args: {issue: \"one(found.items, i, i.title == t.issue.title)\", person: \"one(p.items, x, x == t.who)\"}}",
                    ),
                ],
                kinds: &["namesake"],
            },
            // Forty of nine hundred parcels have a due that one other has.
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    ("{n: 40, to: distinct person_name()", "{n: 900, to: \"tpl('Box ${n}')\""),
                    ("due: \"chance(1, 2) ? cents(450) : 0.00\"", "due: \"cents(n < 40 ? n / 2 + 1 : n + 1)\""),
                    ("places: 40", "places: 900"),
                    ("filter: [shelf, state], sort: [until, to]", "filter: [shelf, state, due], sort: [until, to]"),
                    (
                        "refer: [to]}}\n    text: [\"${parcel.to} is here for a parcel and pays what is due.",
                        "}}\n    text: [\"Here is somebody for the parcel for which ${parcel.due} is due and pays it.",
                    ),
                    (
                        "      - {do: parcels, args: {search: t.parcel.to}, as: found}\n      - {do: hand_out,",
                        "      - {do: parcels, args: {due: t.parcel.due}, as: found}\n      - {do: hand_out,",
                    ),
                ],
                kinds: &["ambiguous"],
            },
        ],
    ),
    (
        "value of many that never survives",
        &[Planted {
            base: Board,
            template: "triage",
            changes: &[
                (
                    "{name: \"'Public API'\"}]}",
                    "{name: \"'Public API'\"}, {name: \"'Wiki'\"}, {name: \"'Shop'\"}, {name: \"'Back office'\"}]}",
                ),
                (
                    TOLD,
                    "    require: [\"issue.project.name != 'Wiki'\"]\n    text: [\"Give \\\"${issue.title}\\\" to ${who.name} and set its priority to ${priority}.\"]",
                ),
            ],
            kinds: &["never_survives"],
        }],
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
            // A condition of the draw leaves one value of it.
            Planted {
                base: Parcels,
                template: "collect",
                changes: &[
                    ("code: \"int(1000, 9999)\"", "code: \"int(1000, 1001)\""),
                    (UNTIL_WANTED, "slots: {until: t.parcel.code}"),
                    (UNTIL_GIVEN, "answers: {until: t.parcel.code}"),
                    (
                        "    text: [\"${parcel.to} is here",
                        "    require: [\"parcel.code == 1001\"]\n    text: [\"${parcel.to} is here",
                    ),
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
