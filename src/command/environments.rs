//! `palestra environments [NAME]`: what can be played.

use std::io::Write;

use clap::Args;
use palestra_protocol::environment::EnvironmentSummary;
use serde::Serialize;

use super::failure::Failure;
use super::target::{Keep, TargetArguments};
use crate::terminal::Table;

/// Arguments of `palestra environments`.
#[derive(Debug, Args)]
pub struct EnvironmentsArguments {
    /// One environment, as family/name; all where left out.
    pub name: Option<String>,
    /// Writes JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Shows all environments as a table, or one as JSON.
///
/// # Errors
/// When the server refuses or cannot be reached.
pub async fn environments(arguments: &EnvironmentsArguments, output: &mut impl Write) -> Result<(), Failure> {
    let target = arguments.target.open(Keep::DefaultFolder).await?;
    match &arguments.name {
        Some(name) => {
            let found = target.client.environment(name).await;
            target.close().await;
            pretty(&found?, output)
        }
        None => {
            let found = target.client.environments().await;
            target.close().await;
            let found = found?;
            if arguments.json {
                return found.iter().try_for_each(|environment| pretty(environment, output));
            }
            Ok(writeln!(output, "{}", table(&found))?)
        }
    }
}

fn pretty(value: &impl Serialize, output: &mut impl Write) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::Other(error.to_string()))?;
    Ok(writeln!(output, "{text}")?)
}

fn table(environments: &[EnvironmentSummary]) -> Table {
    let mut table = Table::new(["environment", "version", "tasks", "description"]);
    for environment in environments {
        let splits: Vec<String> = environment.splits.iter().map(|(split, tasks)| format!("{split} {tasks}")).collect();
        table.add_row([
            environment.name.clone(),
            environment.version.to_string(),
            splits.join(", "),
            environment.description.clone(),
        ]);
    }
    table
}
