//! Changes of sound apps that are no faults.

use super::Base;
use super::Base::{Board, Parcels, Toolshed};
use super::table::{SPRINT, SPRINTS, TOLD};

type Changes = &'static [(&'static str, &'static str)];

/// Changes that are no fault.
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
    // Text of the same words about unlike beginnings, as twins have it.
    (
        Parcels,
        &[(
            "asks for a parcel. Hand it out if that is still possible; otherwise say why not.",
            "is here for a parcel and pays what is due. Hand it out, and say in the slot until until when it would have been kept.",
        )],
    ),
    // Near misses that differ with a value on which the goal depends as well.
    (
        Board,
        &[(
            TOLD,
            r#"plant: [{insert: {into: project, set: {name: "tpl('Things of priority ${priority}')"}}}]
    text: ["Give \"${issue.title}\" to ${who.name} and set its priority to ${priority}."]"#,
        )],
    ),
    // What follows from others may be required to be something.
    (
        Parcels,
        &[(
            "      shelf:  {pick: \"find(shelf, s, s != parcel.shelf)\", refer: [name]}",
            "      shelf:  {pick: \"find(shelf, s, s != parcel.shelf)\", refer: [name]}\n      cheap: {let: parcel.due < 9.00}\n    require: [cheap]",
        )],
    ),
];
