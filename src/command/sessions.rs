//! `palestra sessions list|show|close`: sessions of a server.

use std::io::Write;

use clap::{Args, Subcommand};
use palestra_client::SessionQuery;
use palestra_protocol::id::{RunId, SessionId};
use palestra_protocol::session::{Session, SessionState};

use super::choice::{choice, whole};
use super::failure::Failure;
use super::jobs::write_json;
use super::listed::write_page;
use super::target::{Keep, Target, TargetArguments};
use crate::table::{Table, facts};
use crate::terminal::visible;

/// Most rows of a list.
const ROWS_MAX: u32 = 1_000;

/// Does things with sessions.
#[derive(Debug, Args)]
pub struct SessionsArguments {
    #[command(subcommand)]
    pub action: SessionsAction,
    /// Writes JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Actions on sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsAction {
    /// Lists sessions, newest first.
    List {
        /// Sessions of this environment alone, as family/name or family/name@version.
        #[arg(long)]
        environment: Option<String>,
        /// Sessions at this task alone.
        #[arg(long)]
        task: Option<String>,
        /// Sessions of this run alone.
        #[arg(long)]
        run: Option<RunId>,
        /// Sessions in this state alone.
        #[arg(long, value_parser = choice([("open", SessionState::Open), ("closed", SessionState::Closed)]))]
        state: Option<SessionState>,
        /// Most rows, up to 1,000.
        #[arg(long, default_value_t = 50, value_parser = whole(1..=ROWS_MAX))]
        limit: u32,
    },
    /// Shows a session.
    Show {
        /// The session, as ses_...
        id: SessionId,
    },
    /// Closes a session. Its episodes stay.
    Close {
        /// The session, as ses_...
        id: SessionId,
    },
}

/// Does one thing with sessions.
///
/// # Errors
/// When the server refuses or cannot be reached.
pub async fn sessions(arguments: &SessionsArguments, output: &mut impl Write) -> Result<(), Failure> {
    let target = arguments.target.open(Keep::DefaultFolder).await?;
    let acted = Box::pin(act(&target, arguments, output)).await;
    target.close().await;
    acted
}

async fn act(target: &Target, arguments: &SessionsArguments, output: &mut impl Write) -> Result<(), Failure> {
    let client = &target.client;
    match &arguments.action {
        SessionsAction::List { environment, task, run, state, limit } => {
            let query = SessionQuery {
                environment: environment.clone(),
                task: task.clone(),
                run: *run,
                state: *state,
                limit: Some(*limit),
                ..SessionQuery::default()
            };
            write_page(&client.sessions(&query).await?, table, arguments.json, output)
        }
        SessionsAction::Show { id } => {
            let session = client.session(*id).await?;
            if arguments.json {
                write_json(output, &session)
            } else {
                Ok(output.write_all(describe(&session).as_bytes())?)
            }
        }
        SessionsAction::Close { id } => {
            client.close(*id).await?;
            Ok(writeln!(output, "{id} is closed")?)
        }
    }
}

const fn state(session: &Session) -> &'static str {
    match session.state {
        SessionState::Open => "open",
        SessionState::Closed => "closed",
    }
}

fn table(sessions: &[Session]) -> Table {
    let mut table = Table::new(["session", "environment", "state", "task", "episodes", "created"]);
    for session in sessions {
        table.add_row([
            session.id.to_string(),
            session.environment.clone(),
            state(session).to_owned(),
            session.task.clone(),
            session.episodes.to_string(),
            session.created_at.to_string(),
        ]);
    }
    table
}

/// A session for people: a line per fact that there is.
fn describe(session: &Session) -> String {
    let mut lines = vec![
        ("session", session.id.to_string()),
        ("environment", visible(&session.environment)),
        ("state", state(session).to_owned()),
        ("task", visible(&session.task)),
        ("seed", session.seed.to_string()),
        ("episode", session.episode.to_string()),
        ("episodes", session.episodes.to_string()),
        ("created", session.created_at.to_string()),
        ("expires", session.expires_at.to_string()),
    ];
    let mut add = |name, value: Option<String>| lines.extend(value.map(|value| (name, value)));
    add("steps", session.seq.map(|seq| seq.to_string()));
    add("run", session.run.map(|run| run.to_string()));
    add("group", session.group.map(|group| group.to_string()));
    add("parent", session.parent.map(|parent| parent.to_string()));
    add("closed", session.closed_at.map(|at| at.to_string()));
    facts(lines)
}
