//! `palestra runs list|show|compare|end`: owners of sessions, and what their episodes came to.

use std::io::Write;

use clap::{Args, Subcommand};
use palestra_client::RunQuery;
use palestra_protocol::id::RunId;
use palestra_protocol::run::{RunState, RunSummary};

use super::choice::{choice, whole};
use super::failure::Failure;
use super::jobs::write_json;
use super::listed::write_page;
use super::run_report::{RunComparison, RunReport, shown};
use super::target::{Keep, Target, TargetArguments};
use crate::table::{Table, facts};
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
        #[arg(long, default_value_t = 50, value_parser = whole(1..=ROWS_MAX))]
        limit: u32,
    },
    /// Shows a run: its plan, and what its episodes came to.
    Show {
        /// The run, as run_...
        id: RunId,
    },
    /// Compares a run with another one, task by task: the mean difference of episodes of the same task and seed.
    Compare {
        /// The run, as run_...
        id: RunId,
        /// The run that it is compared with.
        baseline: RunId,
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
        RunsAction::Show { id } => {
            let report = RunReport::read(&target.client, *id).await?;
            if arguments.json {
                return write_json(output, &report);
            }
            Ok(output.write_all(facts(report.facts()).as_bytes())?)
        }
        RunsAction::Compare { id, baseline } => {
            let run = RunReport::read(&target.client, *id).await?;
            let compared = RunComparison::of(run, RunReport::read(&target.client, *baseline).await?)?;
            if arguments.json {
                return write_json(output, &compared);
            }
            Ok(output.write_all(facts(compared.facts()).as_bytes())?)
        }
        RunsAction::End { id } => {
            target.client.delete_run(*id).await?;
            Ok(writeln!(output, "{id} has ended")?)
        }
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

/// Episodes that there are, of those that were planned.
fn episodes(run: &RunSummary) -> String {
    match run.plan.as_ref().map(|plan| plan.episodes) {
        Some(planned) if planned != run.episodes => format!("{} of {planned}", run.episodes),
        _ => run.episodes.to_string(),
    }
}

fn table(runs: &[RunSummary]) -> Table {
    let headings = ["run", "mean", "scored", "episodes", "environment", "policy", "split", "seed", "state", "created"];
    let mut table = Table::new(headings);
    let dash = || "-".to_owned();
    for run in runs {
        table.add_row([
            run.id.to_string(),
            run.mean_score.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.4}")),
            run.scored.to_string(),
            episodes(run),
            played(run),
            run.plan.as_ref().map_or_else(dash, |plan| visible(&plan.policy)),
            run.plan.as_ref().and_then(|plan| plan.split.as_deref()).map_or_else(dash, visible),
            run.plan.as_ref().and_then(|plan| plan.seed).map_or_else(dash, |seed| seed.to_string()),
            shown(run.state).to_owned(),
            run.created_at.to_string(),
        ]);
    }
    table
}
