//! `palestra run ENVIRONMENT`: plays episodes with a policy and says how well it did.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use comfy_table::{Table, presets};
use futures::StreamExt;
use indicatif::{ProgressBar, ProgressStyle};
use palestra_client::stream::{Options, Stream};
use palestra_client::{Client, ClientError, TaskQuery};
use palestra_protocol::environment::{Environment, Limits, Task as PublicTask};
use palestra_protocol::id::{RunId, SessionId};
use palestra_protocol::run::CreateRun;
use palestra_protocol::session::{CreateSession, Created, TaskChoice};
use palestra_protocol::step::{FinishReason, Step};
use palestra_protocol::verdict::{Status, Verdict};
use serde::Serialize;
use serde_json::Value;

use super::failure::Failure;
use super::player::Player;
use super::target::{Keep, TargetArguments};
use crate::environment::policy::Builtin;
use crate::stats::wilson;

/// Most episodes of one run.
const EPISODES_MAX: u64 = 10_000_000;
/// Most episodes at once.
const CONCURRENCY_MAX: u64 = 1_024;
/// Most turns of one episode where the environment names no smaller limit: a policy that never stops in an environment that
/// never ends has to.
const STEPS_DEFAULT: u64 = 1_000;
/// How long the sessions of a command that died stay, in milliseconds.
const LEASE_MS: u64 = 60_000;
/// Time between two renewals of the lease, in milliseconds.
const HEARTBEAT_MS: u64 = 15_000;
/// Tasks asked for in one request.
const TASKS_PER_PAGE: u64 = 100;

/// What to play, and how often.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// The environment, as family/name or family/name@version.
    pub environment: String,
    /// Who plays: builtin:oracle (solves every task), builtin:random or builtin:null (does nothing).
    #[arg(long, default_value = "builtin:oracle")]
    pub policy: Builtin,
    /// How many episodes.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=EPISODES_MAX))]
    pub episodes: u64,
    /// Episodes at once.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=CONCURRENCY_MAX))]
    pub concurrency: u64,
    /// Most turns of one episode [default: the environment's limit, at most 1000].
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub max_steps: Option<u64>,
    /// Which split the tasks are from [default: test, or train where there is no test].
    #[arg(long)]
    pub split: Option<String>,
    /// Chooses tasks and randomness: the same seed plays the same episodes.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..1 << 53))]
    pub seed: u64,
    /// Ends with one line of JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// What came of all episodes.
#[derive(Debug, Default, Clone, PartialEq)]
struct Tally {
    scored: u64,
    strict: u64,
    score_sum: f64,
    /// Episodes without a score, by reason: no samples, and never zeros.
    unscored: BTreeMap<String, u64>,
}

impl Tally {
    fn add(&mut self, outcome: &Result<Verdict, ClientError>) {
        match outcome {
            Ok(Verdict { status: Status::Scored, score: Some(score), strict, .. }) => {
                self.scored += 1;
                self.score_sum += score;
                self.strict += u64::from(strict.unwrap_or(0));
            }
            Ok(verdict) => *self.unscored.entry(verdict.status.as_str().to_owned()).or_default() += 1,
            Err(error) => {
                let reason = error.code().map_or("unreachable", |code| code.as_str());
                *self.unscored.entry(reason.to_owned()).or_default() += 1;
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "at most EPISODES_MAX")]
    fn share(&self, sum: f64) -> Option<f64> {
        (self.scored > 0).then(|| sum / self.scored as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "at most EPISODES_MAX")]
    fn line(&self, environment: &str, policy: Builtin, episodes: u64, seconds: f64) -> Line {
        Line {
            environment: environment.to_owned(),
            policy: policy.to_string(),
            episodes,
            scored: self.scored,
            mean: self.share(self.score_sum),
            strict: self.share(self.strict as f64),
            interval: wilson::interval_95(self.strict, self.scored),
            seconds: (seconds * 1e3).round() / 1e3,
        }
    }
}

/// The line that ends a run with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Line {
    environment: String,
    policy: String,
    episodes: u64,
    scored: u64,
    /// Of the scores; null without any.
    mean: Option<f64>,
    /// Share of scored episodes that passed every check.
    strict: Option<f64>,
    /// 95% Wilson interval of `strict`.
    interval: Option<[f64; 2]>,
    seconds: f64,
}

/// Plays and reports.
///
/// # Errors
/// When the policy cannot play the environment, the server refuses, or no episode was scored.
pub async fn run(arguments: &RunArguments, output: &mut impl Write) -> Result<(), Failure> {
    let target = arguments.target.open(Keep::Nothing).await?;
    let played = play_all(arguments, &target.client).await;
    target.close().await;
    let (environment, tally, seconds) = played?;
    let line = tally.line(&environment, arguments.policy, arguments.episodes, seconds);
    if arguments.json {
        let text = serde_json::to_string(&line).map_err(|error| Failure::Other(error.to_string()))?;
        writeln!(output, "{text}")?;
    } else {
        writeln!(output, "{}", table(&line, &tally))?;
    }
    if tally.scored == 0 {
        return Err(Failure::Other(format!("no episode was scored: {:?}", tally.unscored)));
    }
    Ok(())
}

async fn play_all(arguments: &RunArguments, client: &Client) -> Result<(String, Tally, f64), Failure> {
    let environment = client.environment(&arguments.environment).await?;
    let name = format!("{}@{}", environment.name, environment.version);
    let split = choose_split(arguments.split.as_deref(), &environment)?;
    let player = Player::new(arguments.policy, &environment, arguments.seed)?;
    let stream = client.stream(Options::default()).await?;
    let bar = progress(arguments);
    let began = Instant::now();
    let steps = arguments.max_steps.unwrap_or_else(|| environment.limits.steps.unwrap_or(u64::MAX).min(STEPS_DEFAULT));
    // The run owns every session: when this command dies, its lease ends and they are closed.
    let run = client.create_run(&CreateRun { id: None, lease_ms: LEASE_MS }).await?.id;
    let episodes = Episodes { stream, player, name: name.clone(), steps, run };
    let tally = tokio::select! {
        tally = play_episodes(arguments, client, &environment, &split, episodes, &bar) => tally,
        lost = keep(client, run) => Err(lost.into()),
        stopped = tokio::signal::ctrl_c() => Err(stopped.map_or_else(Failure::from, |()| Failure::Other("stopped".to_owned()))),
    };
    bar.finish_and_clear();
    // Were it to fail, the end of the lease would do the same.
    let _ = client.delete_run(run).await;
    Ok((name, tally?, began.elapsed().as_secs_f64()))
}

/// Renews the lease for ever; answers why that is not possible any more.
async fn keep(client: &Client, run: RunId) -> ClientError {
    loop {
        tokio::time::sleep(Duration::from_millis(HEARTBEAT_MS)).await;
        if let Err(error) = client.heartbeat(run).await {
            return error;
        }
    }
}

/// What every episode of a run has in common.
struct Episodes {
    stream: Stream,
    player: Player,
    name: String,
    steps: u64,
    run: RunId,
}

async fn play_episodes(
    arguments: &RunArguments,
    client: &Client,
    environment: &Environment,
    split: &str,
    episodes: Episodes,
    bar: &ProgressBar,
) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    let (episodes, name) = (Arc::new(episodes), format!("{}@{}", environment.name, environment.version));
    let tasks = tasks(client, &name, split, arguments, environment.splits.get(split).copied());
    let concurrency = usize::try_from(arguments.concurrency).unwrap_or(1);
    let outcomes = tasks
        .map(|found| {
            let episodes = Arc::clone(&episodes);
            async move {
                let (number, task) = found?;
                Ok::<_, Failure>(episodes.play(number, &task).await)
            }
        })
        .buffer_unordered(concurrency);
    let mut outcomes = std::pin::pin!(outcomes);
    while let Some(outcome) = outcomes.next().await {
        tally.add(&outcome?);
        bar.inc(1);
    }
    Ok(tally)
}

fn choose_split(asked: Option<&str>, environment: &Environment) -> Result<String, Failure> {
    let has = |split: &str| environment.splits.get(split).is_some_and(|tasks| *tasks > 0);
    let split = asked.map_or_else(|| ["test", "train"].into_iter().find(|split| has(split)), Some);
    split.filter(|split| has(split)).map(str::to_owned).ok_or_else(|| {
        let splits: Vec<&str> = environment.splits.keys().map(String::as_str).collect();
        Failure::Other(format!("choose a split of {} with --split: {}", environment.name, splits.join(", ")))
    })
}

/// Numbered tasks in the order of a fixed permutation of the split, from the beginning again where there are too few.
fn tasks<'a>(
    client: &'a Client,
    name: &'a str,
    split: &'a str,
    arguments: &'a RunArguments,
    length: Option<u64>,
) -> impl futures::Stream<Item = Result<(u64, PublicTask), Failure>> + 'a {
    async_stream::try_stream! {
        let length = length.unwrap_or(1).max(1);
        let mut number = 0;
        while number < arguments.episodes {
            let offset = number % length;
            let limit = TASKS_PER_PAGE.min(length - offset).min(arguments.episodes - number);
            let query = TaskQuery {
                split: Some(split.to_owned()),
                shuffle: Some(arguments.seed),
                offset: Some(offset),
                limit: Some(limit),
            };
            let page = client.tasks(name, &query).await?;
            if page.data.is_empty() {
                Err(Failure::Other(format!("split {split} has fewer tasks than {length}")))?;
            }
            for task in page.data {
                yield (number, task);
                number += 1;
            }
        }
    }
}

impl Episodes {
    /// Plays one episode to its verdict and closes the session.
    async fn play(&self, number: u64, task: &PublicTask) -> Result<Verdict, ClientError> {
        let request = CreateSession {
            environment: self.name.clone(),
            task: Some(TaskChoice { id: Some(task.id.clone()), ..TaskChoice::default() }),
            seed: Some(number),
            run: Some(self.run),
            limits: Some(Limits { steps: Some(self.steps), ..Limits::default() }),
            ..open_defaults()
        };
        let Created::One(opened) = self.stream.create(&request).await? else {
            return Err(ClientError::Unexpected { status: 200, excerpt: "one session was asked for".to_owned() });
        };
        let verdict = self.act(number, task, opened.id).await;
        // The verdict counts even when closing fails; the session then ends with the run.
        let _ = self.stream.close(opened.id).await;
        verdict
    }

    async fn act(&self, number: u64, task: &PublicTask, session: SessionId) -> Result<Verdict, ClientError> {
        let mut policy = self.player.begin(task, number).map_err(ClientError::Unsendable)?;
        let mut seq = 0;
        while let Some(action) = policy.next_action() {
            seq += 1;
            let step = Step { seq: Some(seq), action, episode: None, observe: None, meta: None };
            let stepped = self.stream.step(session, &step).await?;
            if let Some(verdict) = stepped.verdict {
                return Ok(verdict);
            }
            if stepped.terminated || stepped.truncated {
                return self.stream.verify(session).await;
            }
        }
        match self.stream.finish(session, FinishReason::GaveUp).await?.verdict {
            Some(verdict) => Ok(verdict),
            None => self.stream.verify(session).await,
        }
    }
}

/// A request without any wish.
fn open_defaults() -> CreateSession {
    CreateSession {
        environment: String::new(),
        task: None,
        seed: None,
        config: serde_json::Map::new(),
        id: None,
        run: None,
        group: None,
        count: None,
        limits: None,
        verify: None,
        observe: None,
        record: None,
        metadata: Value::Null,
    }
}

fn progress(arguments: &RunArguments) -> ProgressBar {
    if arguments.json {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(arguments.episodes);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} episodes, {per_sec}, {eta} left") {
        bar.set_style(style);
    }
    bar
}

fn table(line: &Line, tally: &Tally) -> Table {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |number| format!("{number:.4}"));
    let unscored: Vec<String> = tally.unscored.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    let interval = line.interval.map_or_else(|| "-".to_owned(), |[low, high]| format!("{low:.4} to {high:.4}"));
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_header([
        "environment",
        "policy",
        "episodes",
        "scored",
        "not scored",
        "mean",
        "strict",
        "95% of strict",
        "seconds",
    ]);
    table.add_row([
        line.environment.clone(),
        line.policy.clone(),
        line.episodes.to_string(),
        line.scored.to_string(),
        if unscored.is_empty() { "0".to_owned() } else { unscored.join(", ") },
        number(line.mean),
        number(line.strict),
        interval,
        line.seconds.to_string(),
    ]);
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_protocol::problem::{Code, Problem};
    use serde_json::json;

    fn verdict(status: &str, score: Option<f64>) -> Verdict {
        let strict = score.map(|score| u8::from(score >= 1.0));
        serde_json::from_value(json!({
            "episode": "epi_0197a3c2f2a87c53b0a1d5e6f7089abc", "status": status, "score": score, "strict": strict,
            "passed": strict == Some(1), "trainable": true, "checks": {"data": []}, "judge": "state",
            "verifier": {"name": "rules", "version": "sha256:00"}, "state": null, "seq": 1,
            "usage": {"steps": 1, "calls": 0, "env_ms": 0, "judge_ms": 0, "tokens": 0, "cost": 0.0},
        }))
        .unwrap()
    }

    #[test]
    fn episodes_without_a_score_are_counted_apart_and_never_as_zeros() {
        let mut tally = Tally::default();
        tally.add(&Ok(verdict("scored", Some(1.0))));
        tally.add(&Ok(verdict("scored", Some(0.5))));
        tally.add(&Ok(verdict("infra_error", None)));
        tally.add(&Err(Problem::new(Code::Capacity, "full").into()));
        let line = tally.line("puzzle/countdown@1", Builtin::Null, 4, 1.0);
        assert_eq!((line.episodes, line.scored), (4, 2));
        assert_eq!((line.mean, line.strict), (Some(0.75), Some(0.5)));
        assert_eq!(tally.unscored, BTreeMap::from([("capacity".to_owned(), 1), ("infra_error".to_owned(), 1)]));
    }

    #[test]
    fn the_line_without_any_score_has_no_numbers() {
        let line = Tally::default().line("puzzle/countdown@1", Builtin::Null, 1, 0.5);
        assert_eq!(
            serde_json::to_string(&line).unwrap(),
            r#"{"environment":"puzzle/countdown@1","policy":"builtin:null","episodes":1,"scored":0,"mean":null,"strict":null,"interval":null,"seconds":0.5}"#
        );
    }
}
