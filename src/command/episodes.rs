//! `palestra episodes list|show`: recorded episodes and their verdicts.

use std::io::Write;

use clap::{Args, Subcommand};
use palestra_client::EpisodeQuery;
use palestra_protocol::episode::{Episode, EpisodeState};
use palestra_protocol::id::{EpisodeId, RunId, SessionId};
use palestra_protocol::verdict::{Check, Status, Verdict};

use super::choice::{choice, share, whole};
use super::failure::Failure;
use super::jobs::write_json;
use super::listed::write_page;
use super::target::{Keep, Target, TargetArguments};
use crate::table::{Table, facts};
use crate::terminal::visible;

/// Most rows of a list.
const ROWS_MAX: u32 = 1_000;

/// Does things with episodes.
#[derive(Debug, Args)]
pub struct EpisodesArguments {
    #[command(subcommand)]
    pub action: EpisodesAction,
    /// Writes JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Actions on episodes.
#[derive(Debug, Subcommand)]
pub enum EpisodesAction {
    /// Lists episodes, newest first.
    List(EpisodesFilter),
    /// Shows an episode, its verdict and every check.
    Show {
        /// The episode, as epi_...
        id: EpisodeId,
    },
}

/// The episodes that are listed: those for which everything holds.
#[derive(Debug, Args)]
pub struct EpisodesFilter {
    /// Episodes of this environment alone, as family/name or family/name@version.
    #[arg(long)]
    environment: Option<String>,
    /// Attempts at this task alone.
    #[arg(long)]
    task: Option<String>,
    /// Episodes of this run alone.
    #[arg(long)]
    run: Option<RunId>,
    /// Episodes of this session alone.
    #[arg(long)]
    session: Option<SessionId>,
    /// Episodes in this state alone.
    #[arg(long, value_parser = choice([("running", EpisodeState::Running), ("ended", EpisodeState::Ended)]))]
    state: Option<EpisodeState>,
    /// Episodes whose verdict has this status alone.
    #[arg(long, value_parser = choice(Status::ALL.map(|status| (status.as_str(), status))))]
    status: Option<Status>,
    /// Episodes with at least this score alone.
    #[arg(long, value_name = "SCORE", value_parser = share)]
    score_min: Option<f64>,
    /// Episodes with at most this score alone.
    #[arg(long, value_name = "SCORE", value_parser = share)]
    score_max: Option<f64>,
    /// Most rows, up to 1,000.
    #[arg(long, default_value_t = 50, value_parser = whole(1..=ROWS_MAX))]
    limit: u32,
}

/// Does one thing with episodes.
///
/// # Errors
/// When the server refuses or cannot be reached.
pub async fn episodes(arguments: &EpisodesArguments, output: &mut impl Write) -> Result<(), Failure> {
    let target = arguments.target.open(Keep::DefaultFolder).await?;
    let acted = Box::pin(act(&target, arguments, output)).await;
    target.close().await;
    acted
}

async fn act(target: &Target, arguments: &EpisodesArguments, output: &mut impl Write) -> Result<(), Failure> {
    match &arguments.action {
        EpisodesAction::List(filter) => {
            write_page(&target.client.episodes(&filter.query()).await?, table, arguments.json, output)
        }
        EpisodesAction::Show { id } => {
            let episode = target.client.episode(*id).await?;
            if arguments.json {
                write_json(output, &episode)
            } else {
                Ok(output.write_all(describe(&episode).as_bytes())?)
            }
        }
    }
}

impl EpisodesFilter {
    fn query(&self) -> EpisodeQuery {
        EpisodeQuery {
            environment: self.environment.clone(),
            task: self.task.clone(),
            run: self.run,
            session: self.session,
            state: self.state,
            status: self.status,
            score_min: self.score_min,
            score_max: self.score_max,
            limit: Some(self.limit),
            ..EpisodeQuery::default()
        }
    }
}

/// `0.5000`, or why there is no score.
pub(super) fn score(verdict: Option<&Verdict>) -> String {
    match verdict {
        None => "-".to_owned(),
        Some(Verdict { score: Some(score), .. }) => format!("{score:.4}"),
        Some(verdict) => verdict.status.as_str().to_owned(),
    }
}

fn table(episodes: &[Episode]) -> Table {
    let mut table = Table::new(["episode", "score", "steps", "environment", "task", "began"]);
    for episode in episodes {
        let steps = episode.seq.map_or_else(|| "running".to_owned(), |seq| seq.to_string());
        table.add_row([
            episode.id.to_string(),
            score(episode.verdict.as_ref()),
            steps,
            episode.environment.clone(),
            episode.task.clone(),
            episode.started_at.to_string(),
        ]);
    }
    table
}

/// An episode for people: a line per fact that there is, then its checks.
pub(super) fn describe(episode: &Episode) -> String {
    let mut lines = vec![
        ("episode", episode.id.to_string()),
        ("session", episode.session.to_string()),
        ("environment", visible(&episode.environment)),
        ("task", visible(&episode.task)),
        ("seed", episode.seed.to_string()),
        ("began", episode.started_at.to_string()),
    ];
    let mut add = |name, value: Option<String>| lines.extend(value.map(|value| (name, value)));
    add("run", episode.run.map(|run| run.to_string()));
    add("group", episode.group.map(|group| group.to_string()));
    add("goes on", episode.origin.map(|origin| format!("after step {} of {}", origin.seq, origin.episode)));
    add("steps", episode.seq.map(|seq| seq.to_string()));
    add("ended", episode.ended_at.map(|at| at.to_string()));
    add("because", episode.stop_reason.map(|reason| reason.as_str().to_owned()));
    if let Some(verdict) = &episode.verdict {
        add("score", Some(score(Some(verdict))));
        add("why", verdict.detail.as_deref().map(visible));
        add("trainable", Some(if verdict.trainable { "yes" } else { "no" }.to_owned()));
    }
    let mut text = facts(lines);
    for check in episode.verdict.iter().flat_map(|verdict| &verdict.checks) {
        text.push_str(&line_of(check));
    }
    text
}

pub(super) fn line_of(check: &Check) -> String {
    let mark = match (check.weight > 0.0, check.passed) {
        (false, _) => "noted",
        (true, true) => "passed",
        (true, false) => "failed",
    };
    let evidence = if check.evidence.is_empty() { String::new() } else { format!(": {}", visible(&check.evidence)) };
    format!("{mark:<6}  {} ({:.4}){evidence}\n", visible(&check.name), check.score)
}
