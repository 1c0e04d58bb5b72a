//! `palestra environments [NAME]`: what can be played.

use std::io::Write;

use clap::Args;
use palestra_protocol::environment::Environment;

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
    let found = match &arguments.name {
        Some(name) => target.client.environment(name).await.map(|environment| vec![environment]),
        None => target.client.environments().await,
    };
    target.close().await;
    let found = found?;
    if arguments.json || arguments.name.is_some() {
        for environment in &found {
            let text = serde_json::to_string_pretty(environment).map_err(|error| Failure::Other(error.to_string()))?;
            writeln!(output, "{text}")?;
        }
        return Ok(());
    }
    Ok(writeln!(output, "{}", table(&found))?)
}

fn table(environments: &[Environment]) -> Table {
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
