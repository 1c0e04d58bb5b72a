//! The result, as a table for people and as JSON for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::rows::{Described, ROWS};
use super::subject::Subject;
use super::{Arguments, Measured};
use crate::figures::{Holds, Series};

/// A table of all apps with one line above that says how it came about.
pub(super) fn markdown(apps: &[Measured], arguments: &Arguments) -> String {
    let Arguments { rounds, cpu_ms, tasks, live, .. } = arguments;
    let names = apps.iter().map(|app| {
        let Subject { name, rows, state_bytes, .. } = &app.subject;
        format!("`{name}`: {rows} rows, {} KB of JSON", state_bytes / 1_000)
    });
    let names: Vec<String> = names.collect();
    let mut text = format!(
        "{rounds} rounds of {cpu_ms} ms of CPU per row on {tasks} tasks of each app, and {live} live episodes: median (least..most of \
         the rounds).\n\n| row | unit | {} | target | holds |\n| --- | --- |{} --- | --- |\n",
        names.join(" | "),
        " --- |".repeat(apps.len())
    );
    for row in ROWS {
        let values: Vec<String> =
            apps.iter().map(|app| app.values.get(&row.row).map(Series::spread).unwrap_or_default()).collect();
        let target = row.most.map(|most| format!("<= {most}")).unwrap_or_default();
        let holds = holds(row, apps).map_or("", Holds::word);
        let _ = writeln!(text, "| {} | {} | {} | {target} | {holds} |", row.title, row.unit, values.join(" | "));
    }
    text
}

/// True if the target of a row holds of every app; `None` where it has none.
fn holds(row: &Described, apps: &[Measured]) -> Option<Holds> {
    let most = row.most?;
    Holds::all(apps.iter().map(|app| Holds::at_most(app.values.get(&row.row).and_then(Series::median), most)))
}

/// Everything, value by value.
pub(super) fn as_json(apps: &[Measured], arguments: &Arguments) -> Value {
    let of = |app: &Measured| {
        let values: serde_json::Map<String, Value> =
            ROWS.iter().filter_map(|row| Some((row.id.to_owned(), json!(app.values.get(&row.row)?)))).collect();
        let Subject { name, rows, state_bytes, .. } = &app.subject;
        json!({"app": name, "rows": rows, "state_bytes": state_bytes, "values": values})
    };
    json!({
        "rounds": arguments.rounds, "cpu_ms": arguments.cpu_ms, "tasks": arguments.tasks, "live": arguments.live,
        "apps": apps.iter().map(of).collect::<Vec<_>>(),
    })
}
