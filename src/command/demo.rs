//! `palestra demo`: in one minute, what sessions, steps, forks, rewinds and verdicts are.

use std::io::Write;

use clap::Args;
use palestra_client::{ActionQuery, Client};
use palestra_protocol::id::SessionId;
use palestra_protocol::session::{CreateSession, Fork, Opened, TakeSnapshot, TaskChoice};
use palestra_protocol::spec::play::PolicyFrom;
use palestra_protocol::step::{FinishReason, Step};
use palestra_protocol::verdict::Verdict;
use serde_json::json;

use super::episodes::{line_of, score};
use super::failure::Failure;
use super::replay;
use super::run::measure;
use super::signal::asked_to_stop;
use super::target::{Keep, Target, TargetArguments};
use crate::terminal::{is_attended, visible};

/// The app whose task is played.
const APP: &str = "app/shop";
/// The puzzle that policies are measured in.
const PUZZLE: &str = "puzzle/countdown";
/// Episodes of each policy that is measured.
const EPISODES: u64 = 300;
/// Most actions that are asked for; the task takes fewer.
const ACTIONS_MAX: u64 = 64;
/// Characters of a line that are shown.
const LINE_CHARACTERS: usize = 76;

/// Arguments of `palestra demo`.
#[derive(Debug, Args)]
pub struct DemoArguments {
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Plays one task, forks and rewinds it, measures three policies, and says where to go on. On a terminal, a server inside this command
/// stays until it is interrupted, so that its pages can be opened.
///
/// # Errors
/// When the server refuses or cannot be reached.
pub async fn demo(arguments: &DemoArguments, output: &mut impl Write) -> Result<(), Failure> {
    let target = arguments.target.open(Keep::Nothing).await?;
    // Nobody could stop a server that stays where no terminal is.
    let stays = arguments.target.url.is_none() && is_attended();
    let links = stays || arguments.target.url.is_some();
    let shown = Box::pin(show(&target, links, output)).await;
    if shown.is_ok() && stays {
        writeln!(output, "The server of this demo runs until you press Ctrl-C.")?;
        output.flush()?;
        asked_to_stop().await?;
    }
    target.close().await;
    shown
}

async fn show(target: &Target, links: bool, output: &mut impl Write) -> Result<(), Failure> {
    let client = &target.client;
    let opened = open(client, "tools").await?;
    let actions = client.actions(APP, &oracle(&opened)).await?;
    let ([first @ .., change, last], Some(task)) = (actions.as_slice(), opened.messages.last()) else {
        return Err(Failure::Other(format!("{APP} has a task without a solution: report this")));
    };
    writeln!(output, "One task of {APP}, played by the policy that knows its solution\n")?;
    writeln!(output, "{}\n", task.content)?;

    writeln!(output, "1. Steps: each has a number, so it can be sent again and never acts twice")?;
    for (action, seq) in first.iter().zip(1..) {
        let step = Step { seq: Some(seq), action: action.clone(), episode: None, observe: None, meta: None };
        let stepped = client.step(opened.id, &step).await?;
        writeln!(output, "   {seq}. {}", line(&replay::action(action)))?;
        writeln!(output, "      {}", line(&stepped.observation.text))?;
        if seq == 1 {
            let again = client.step(opened.id, &step).await?;
            let said = if again == stepped { "the same answer" } else { "ANOTHER ANSWER" };
            writeln!(output, "      sent twice: {said}")?;
        }
    }

    writeln!(output, "\n2. Fork: a copy of the episode after step 1 gives up")?;
    let fork = Fork { at_seq: Some(1), ..Fork::default() };
    for copy in client.fork(opened.id, &fork, None).await? {
        let finished = client.finish(copy.id, FinishReason::GaveUp).await?;
        tell(output, finished.verdict.as_ref())?;
    }

    writeln!(output, "\n3. Verdict: the original goes on to its end, and the judge reads the state of the shop")?;
    let snapshot = client.take_snapshot(opened.id, &TakeSnapshot::default(), None).await?;
    let mut verdict = None;
    for action in [change, last] {
        let step = Step { seq: None, action: action.clone(), episode: None, observe: None, meta: None };
        let stepped = client.step(opened.id, &step).await?;
        writeln!(output, "   {}. {}", stepped.seq, line(&replay::action(action)))?;
        verdict = stepped.verdict;
    }
    tell(output, verdict.as_ref())?;

    writeln!(output, "\n4. Rewind: back to before these two steps, and give up there")?;
    client.restore(opened.id, snapshot.id, None).await?;
    tell(output, client.finish(opened.id, FinishReason::GaveUp).await?.verdict.as_ref())?;

    writeln!(output, "\n5. Measure: {EPISODES} episodes of {PUZZLE} for each of three policies")?;
    for policy in [PolicyFrom::Oracle, PolicyFrom::Random, PolicyFrom::Null] {
        let line = measure(client, PUZZLE, policy, EPISODES).await?;
        writeln!(output, "   {}", line.short())?;
    }
    if links { go_on(target, opened.id, output).await } else { Ok(writeln!(output, "\nGo on: palestra serve")?) }
}

async fn open(client: &Client, surface: &str) -> Result<Opened, Failure> {
    let request = CreateSession {
        environment: APP.to_owned(),
        task: Some(TaskChoice { split: Some("train".to_owned()), seed: Some(3), ..TaskChoice::default() }),
        seed: Some(3),
        config: [("surface".to_owned(), json!(surface))].into_iter().collect(),
        ..CreateSession::default()
    };
    Ok(client.create_one(&request).await?)
}

fn oracle(opened: &Opened) -> ActionQuery {
    ActionQuery {
        policy: PolicyFrom::Oracle.to_string(),
        task: opened.task.id.clone(),
        seed: opened.seed,
        offset: 0,
        limit: ACTIONS_MAX,
    }
}

/// The first line, cut.
fn line(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut shown: String = visible(first).chars().take(LINE_CHARACTERS).collect();
    if first.chars().count() > LINE_CHARACTERS {
        shown.push('…');
    }
    shown
}

fn tell(output: &mut impl Write, verdict: Option<&Verdict>) -> Result<(), Failure> {
    writeln!(output, "   score {}", score(verdict))?;
    // Checks without weight only inform.
    for check in verdict.iter().flat_map(|verdict| &verdict.checks).filter(|check| check.weight > 0.0) {
        writeln!(output, "   {}", line(&line_of(check)))?;
    }
    Ok(())
}

/// Where to go on: pages of this server, and the next commands.
async fn go_on(target: &Target, session: SessionId, output: &mut impl Write) -> Result<(), Failure> {
    let screen = open(&target.client, "gui").await?;
    writeln!(output, "\nGo on")?;
    writeln!(output, "   the guides                    {}/docs/guide", target.url)?;
    writeln!(output, "   every operation of the API    {}/docs", target.url)?;
    if let Some(page) = &screen.page {
        writeln!(output, "   the same shop, to click on    {}{page}", target.url)?;
    }
    writeln!(output, "   the session that was played   {session}")?;
    writeln!(output, "   your own server               palestra serve")?;
    writeln!(output, "   every environment             palestra environments")?;
    Ok(())
}
