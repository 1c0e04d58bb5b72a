//! `palestra runs list|end`: owners of sessions, and what their episodes came to.

use std::io::Write;

use clap::{Args, Subcommand};
use palestra_client::RunQuery;
use palestra_protocol::id::RunId;
use palestra_protocol::run::{RunState, RunSummary};

use super::choice::choice;
use super::failure::Failure;
use super::listed::write_page;
use super::target::{Keep, Target, TargetArguments};
use crate::table::Table;
use crate::terminal::visible;

/// Most rows of a list.
const ROWS_MAX: u32 = 1_000;

/// Does things with runs.
#[derive(Debug, Args)]
pub struct RunsArguments {
    #[command(subcommand)]
    pub action: RunsAction,
    /// Writes JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Actions on runs.
#[derive(Debug, Subcommand)]
pub enum RunsAction {
    /// Lists runs, newest first, with the mean of their scores.
    List {
        /// Runs in this state alone.
        #[arg(long, value_parser = choice(RunState::ALL.map(|state| (state.as_str(), state))))]
        state: Option<RunState>,
        /// Most rows, up to 1,000.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROWS_MAX)))]
        limit: u32,
    },
    /// Ends a run, and closes its sessions as invalid.
    End {
        /// The run, as run_...
        id: RunId,
    },
}

/// Does one thing with runs.
///
/// # Errors
/// When the server refuses or cannot be reached.
pub async fn runs(arguments: &RunsArguments, output: &mut impl Write) -> Result<(), Failure> {
    let target = arguments.target.open(Keep::DefaultFolder).await?;
    let acted = Box::pin(act(&target, arguments, output)).await;
    target.close().await;
    acted
}

async fn act(target: &Target, arguments: &RunsArguments, output: &mut impl Write) -> Result<(), Failure> {
    match &arguments.action {
        RunsAction::List { state, limit } => {
            let query = RunQuery { state: *state, limit: Some(*limit), cursor: None };
            write_page(&target.client.runs(&query).await?, table, arguments.json, output)
        }
        RunsAction::End { id } => {
            target.client.delete_run(*id).await?;
            Ok(writeln!(output, "{id} has ended")?)
        }
    }
}

/// The state in words: a run that was deleted keeps its episodes and scores.
const fn shown(state: RunState) -> &'static str {
    match state {
        RunState::Deleted => "ended",
        other => other.as_str(),
    }
}

/// The environment that was played, and the number of others.
fn played(run: &RunSummary) -> String {
    match (&run.environment, run.environments) {
        (None, _) => "-".to_owned(),
        (Some(one), 0 | 1) => visible(one),
        (Some(first), count) => format!("{} and {} more", visible(first), count - 1),
    }
}

fn table(runs: &[RunSummary]) -> Table {
    let mut table = Table::new(["run", "mean", "scored", "episodes", "environment", "state", "created"]);
    for run in runs {
        table.add_row([
            run.id.to_string(),
            run.mean_score.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.4}")),
            run.scored.to_string(),
            run.episodes.to_string(),
            played(run),
            shown(run.state).to_owned(),
            run.created_at.to_string(),
        ]);
    }
    table
}
