//! `palestra apps explore app/mail|DIR`: which states of an app can be reached, and what never happens in any of them.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use palestra_apps::app::App;
use palestra_apps::explore::{Exploration, GoalReport, Options, dot, explore as search, explore_task};
use palestra_apps::task::call::Call;
use serde_json::Value;

use super::check;
use super::failure::Failure;

/// Arguments of `palestra explore`.
#[derive(Debug, Args)]
pub struct ExploreArguments {
    /// A shipped app by name (`app/mail`), or a folder or file of a definition.
    pub app: String,
    /// One task template instead of the app: also finds the states from which its goal is lost.
    #[arg(long, value_name = "TEMPLATE")]
    pub task: Option<String>,
    /// Seed of that task.
    #[arg(long, default_value_t = 0, requires = "task")]
    pub seed: u64,
    /// States that are visited at most.
    #[arg(long, default_value_t = Options::APP.states_max)]
    pub states: usize,
    /// Calls from the beginning to a state, at most.
    #[arg(long, default_value_t = Options::APP.depth_max)]
    pub depth: usize,
    /// Rows of one table that are created on a way, at most.
    #[arg(long, default_value_t = Options::APP.created_max)]
    pub created: usize,
    /// Calls that are tried at most, all together.
    #[arg(long, default_value_t = Options::APP.calls_max)]
    pub calls: u64,
    /// Writes the report as JSON.
    #[arg(long)]
    pub json: bool,
    /// Writes the graph of states to this file, in the language of Graphviz.
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,
}

/// Explores an app and prints what was found.
///
/// # Errors
/// When there is no such app, it has faults, or an invariant does not always hold or a call meets a fault of the definition.
pub fn explore(arguments: &ExploreArguments, output: &mut impl Write) -> Result<(), Failure> {
    let app = load(&arguments.app)?;
    let options = Options {
        states_max: arguments.states,
        depth_max: arguments.depth,
        created_max: arguments.created,
        calls_max: arguments.calls,
        ..Options::APP
    };
    let found = match &arguments.task {
        None => search(&app, options),
        Some(name) => {
            let place = app.templates.iter().position(|template| *template.name == **name);
            let place = place.ok_or_else(|| {
                let known: Vec<&str> = app.templates.iter().map(|template| &*template.name).collect();
                Failure::Other(format!("there is no task {name}: choose one of {}", known.join(", ")))
            })?;
            explore_task(&app, place, arguments.seed, options)
        }
    };
    let found = found.map_err(Failure::Other)?;
    if let Some(path) = &arguments.dot {
        fs::write(path, dot(&found)).map_err(|error| {
            Failure::Other(format!(
                "{} cannot be written, check its folder and the free space: {error}",
                path.display()
            ))
        })?;
    }
    if arguments.json {
        let report = serde_json::to_value(&found).map_err(|error| Failure::Other(error.to_string()))?;
        writeln!(output, "{report}")?;
    } else {
        print(&found, output)?;
    }
    match found.breaches.len() + found.crashes.len() {
        0 => Ok(()),
        count => Err(Failure::Other(format!("{count} invariants or calls fail; see the ways that lead there"))),
    }
}

/// The one app that an argument names.
fn load(asked: &str) -> Result<Arc<App>, Failure> {
    let mut found = check::find(asked)?;
    match (found.pop(), found.is_empty()) {
        (Some((_, Ok(app))), true) => Ok(app),
        (Some((name, Err(faults))), true) => Err(Failure::Other(format!("{name}: {}", faults.join("; ")))),
        _ => Err(Failure::Other(format!("{asked} names more than one app: name one"))),
    }
}

fn print(found: &Exploration, output: &mut impl Write) -> Result<(), Failure> {
    let Exploration { app, states, moves, depth, calls, .. } = found;
    writeln!(output, "{app}: {states} states, {moves} moves, up to {depth} calls deep; {calls} calls were tried")?;
    writeln!(output, "bound: {}", bound(found))?;
    let mut list = |title: &str, lines: Vec<String>| -> std::io::Result<()> {
        writeln!(output, "{title}: {}", if lines.is_empty() { "none" } else { "" })?;
        lines.into_iter().try_for_each(|line| writeln!(output, "  {line}"))
    };
    let dead = found.guards_never_failing.iter();
    list(
        "guards that never failed",
        dead.map(|(action, number, code)| format!("{action}, guard {number}, {code}")).collect(),
    )?;
    list(
        "actions of which no call succeeded",
        found.actions_never_succeeding.iter().map(ToString::to_string).collect(),
    )?;
    list("codes that were never raised", found.codes_never_raised.iter().map(ToString::to_string).collect())?;
    let breaches = found.breaches.iter();
    list(
        "invariants that break",
        breaches.map(|breach| format!("{} after {}", breach.invariant, way(&breach.calls))).collect(),
    )?;
    let crashes = found.crashes.iter();
    list(
        "faults of the definition",
        crashes.map(|crash| format!("{} after {}", crash.message, way(&crash.calls))).collect(),
    )?;
    list("goals", found.goals.iter().flat_map(|(name, report)| goal(name, report)).collect())?;
    Ok(())
}

/// The scope of the report.
fn bound(found: &Exploration) -> String {
    let options = &found.options;
    let mut met = Vec::new();
    for (cut, words) in [
        (found.cut.states, format!("{} states", options.states_max)),
        (found.cut.depth, format!("{} calls deep", options.depth_max)),
        (found.cut.calls, format!("{} calls", options.calls_max)),
        (found.cut.wait, "the longest wait".to_owned()),
    ] {
        if cut {
            met.push(words);
        }
    }
    let created = format!("at most {} created rows per table", options.created_max);
    if met.is_empty() {
        format!("every state that the calls lead to which stand for all others, with {created}")
    } else {
        format!("not complete, it ended at {}; {created}", met.join(", "))
    }
}

fn goal(name: &str, report: &GoalReport) -> Vec<String> {
    let mut lines = vec![match (&report.refused, &report.way) {
        (Some(reason), _) => format!("{name}: no task, {reason}"),
        (None, None) => format!("{name}: no way was found"),
        (None, Some(calls)) => format!("{name}: {}", way(calls)),
    }];
    if let Some(traps) = report.traps {
        lines.push(format!("{name}: the goal is lost in {traps} states"));
    }
    lines.extend(report.into_traps.iter().map(|trap| format!("{name}: lost by {}", way(&trap.calls))));
    lines
}

/// Calls as people read them.
fn way(calls: &[Call]) -> String {
    let call = |call: &Call| {
        let arguments = call.arguments.iter().map(|(name, value)| match value {
            Value::String(text) => format!("{name}: {text}"),
            other => format!("{name}: {other}"),
        });
        format!("{}({})", call.name, arguments.collect::<Vec<_>>().join(", "))
    };
    if calls.is_empty() { "nothing".to_owned() } else { calls.iter().map(call).collect::<Vec<_>>().join(" → ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(task: Option<&str>) -> ExploreArguments {
        ExploreArguments {
            app: "crates/apps/tests/apps/depot".to_owned(),
            task: task.map(ToOwned::to_owned),
            seed: 0,
            states: 20,
            depth: 2,
            created: 1,
            calls: 2_000,
            json: false,
            dot: None,
        }
    }

    #[test]
    fn an_invariant_that_breaks_fails_the_command_and_is_told_with_its_way() {
        let mut output = Vec::new();
        let failure = explore(&arguments(None), &mut output).expect_err("an invariant breaks");
        assert!(failure.to_string().starts_with("1 invariants or calls fail"), "{failure}");
        let text = String::from_utf8(output).expect("text");
        assert!(text.contains("all(crate, c, c.weight <= 10) after load("), "{text}");
        assert!(
            text.contains("bound: not complete, it ended at 2 calls deep; at most 1 created rows per table"),
            "{text}"
        );
        assert!(text.contains("  melt: no way was found\n"), "{text}");
    }

    #[test]
    fn a_task_is_explored_by_name_with_its_graph() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("states.dot");
        let mut output = Vec::new();
        let asked = ExploreArguments { json: true, dot: Some(file.clone()), depth: 1, ..arguments(Some("load_one")) };
        explore(&asked, &mut output).expect("nothing breaks after one call");
        let report: Value = serde_json::from_slice(&output).expect("JSON");
        assert!(report["goals"]["load_one"]["way"].is_array() && report["options"]["depth_max"] == 1, "{report}");
        assert!(fs::read_to_string(file).expect("a graph").starts_with("digraph \"depot\" {"));
        let failure = explore(&arguments(Some("lode_one")), &mut Vec::new()).expect_err("there is none");
        assert!(failure.to_string().contains("choose one of seal_one, load_one"), "{failure}");
    }
}
