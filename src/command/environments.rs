//! `palestra environments [NAME]`: what can be played.

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use palestra_protocol::environment::{Environment, EnvironmentSummary};

use super::failure::Failure;
use super::jobs::write_json;
use super::target::{Keep, TargetArguments};
use crate::table::{Table, facts};
use crate::terminal::visible;

/// Arguments of `palestra environments`.
#[derive(Debug, Args)]
pub struct EnvironmentsArguments {
    /// One environment, as family/name; all where left out.
    pub name: Option<String>,
    /// Environments of this family alone.
    #[arg(long, conflicts_with = "name")]
    pub family: Option<String>,
    /// Writes JSON instead of text; of one environment with its tools and schemas.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Shows all environments as a table, or the facts of one.
///
/// # Errors
/// When the server refuses or cannot be reached.
pub async fn environments(arguments: &EnvironmentsArguments, output: &mut impl Write) -> Result<(), Failure> {
    let target = arguments.target.open(Keep::DefaultFolder).await?;
    if let Some(name) = &arguments.name {
        let found = target.client.environment(name).await;
        target.close().await;
        let found = found?;
        return if arguments.json {
            write_json(output, &found)
        } else {
            Ok(output.write_all(describe(&found).as_bytes())?)
        };
    }
    let found = target.client.environments().await;
    target.close().await;
    let mut found = found?;
    found.retain(|environment| arguments.family.as_ref().is_none_or(|family| *family == environment.family));
    if arguments.json { write_json(output, &found) } else { Ok(writeln!(output, "{}", table(&found))?) }
}

fn table(environments: &[EnvironmentSummary]) -> Table {
    let mut table = Table::new(["environment", "tasks", "description", "version"]).cutting(2);
    for environment in environments {
        let tasks: u64 = environment.splits.values().sum();
        table.add_row([
            environment.name.clone(),
            rounded(tasks),
            environment.description.clone(),
            environment.version.to_string(),
        ]);
    }
    table
}

/// An environment for people: a line per fact, then its tools.
fn describe(environment: &Environment) -> String {
    let splits: Vec<String> = environment.splits.iter().map(|(split, tasks)| format!("{split} {tasks}")).collect();
    let able = serde_json::to_value(environment.capabilities).unwrap_or_default();
    let able: BTreeMap<String, serde_json::Value> = serde_json::from_value(able).unwrap_or_default();
    let words = able.iter().filter(|(_, value)| value.as_bool() == Some(true)).map(|(name, _)| name.as_str());
    let mut lines = vec![
        ("environment", format!("{}@{}", environment.name, environment.version)),
        ("about", visible(&environment.description)),
        ("tags", visible(&environment.tags.join(", "))),
        ("tasks", splits.join(", ")),
        ("floor", environment.floor.to_string()),
        ("able to", words.collect::<Vec<_>>().join(", ")),
    ];
    lines.extend(environment.limits.steps.map(|steps| ("most steps", steps.to_string())));
    for tool in environment.tools.iter() {
        let function = &tool["function"];
        let word = |member: &str| visible(function[member].as_str().unwrap_or_default());
        lines.push(("tool", format!("{}: {}", word("name"), word("description"))));
    }
    facts(lines)
}

/// A number of tasks in at most four characters or in full: `36`, `1.2M`.
fn rounded(number: u64) -> String {
    let (unit, suffix) = match number {
        0..10_000 => return number.to_string(),
        10_000..1_000_000 => (1_000, "k"),
        1_000_000..1_000_000_000 => (1_000_000, "M"),
        _ => (1_000_000_000, "G"),
    };
    let (whole, tenth) = (number / unit, number % unit * 10 / unit);
    if whole < 10 && tenth > 0 { format!("{whole}.{tenth}{suffix}") } else { format!("{whole}{suffix}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_tasks_are_short() {
        let said = [0, 36, 9_999, 10_000, 999_999, 1_000_000, 1_200_000, 45_600_000, 3_000_000_000].map(rounded);
        assert_eq!(said, ["0", "36", "9999", "10k", "999k", "1M", "1.2M", "45M", "3G"]);
    }
}
