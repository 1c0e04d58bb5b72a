//! `palestra apps`: what helps those who write apps.

use std::io::Write;

use clap::{Args, Subcommand};
use palestra_apps::words;
use serde_json::json;

use super::explore::{ExploreArguments, explore};
use super::failure::Failure;
use crate::table::Table;

/// The action.
#[derive(Debug, Args)]
pub struct AppsArguments {
    #[command(subcommand)]
    command: AppsCommand,
}

#[derive(Debug, Subcommand)]
enum AppsCommand {
    /// Lists the generators of believable text.
    Words {
        /// Writes JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Explores the states of an app: dead guards, actions that never succeed, goals without a way, broken invariants.
    Explore(ExploreArguments),
}

/// Runs one of the commands.
///
/// # Errors
/// When the output cannot be written, or what was to be done fails.
pub fn apps(arguments: &AppsArguments, output: &mut impl Write) -> Result<(), Failure> {
    match &arguments.command {
        AppsCommand::Words { json: true } => {
            for generator in words::all() {
                let described = |names: &[&str]| -> Vec<_> {
                    names.iter().map(|name| json!({"name": name, "choices": generator.choices(name)})).collect()
                };
                let (parameters, further) = (described(generator.parameters), described(generator.further));
                let line = json!({"name": generator.name, "parameters": parameters, "further": further, "about": generator.about, "size": generator.size});
                writeln!(output, "{line}")?;
            }
            Ok(())
        }
        AppsCommand::Words { json: false } => Ok(writeln!(output, "{}", table())?),
        AppsCommand::Explore(arguments) => explore(arguments, output),
    }
}

fn table() -> Table {
    let mut table = Table::new(["generator", "different texts", "yields"]);
    for generator in words::all() {
        let further: String = match (generator.parameters, generator.further) {
            (_, []) => String::new(),
            ([], further) => format!("[{}]", further.join(", ")),
            (_, further) => format!("[, {}]", further.join(", ")),
        };
        let call = format!("{}({}{further})", generator.name, generator.parameters.join(", "));
        table.add_row([call, format!("at least {}", generator.size), generator.about.to_owned()]);
    }
    table
}
