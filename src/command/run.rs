//! `palestra run ENVIRONMENT`: plays episodes with a policy and says how well it did.

use std::io::Write;
use std::sync::Arc;

use clap::Args;
use futures::StreamExt;
use futures::stream::BoxStream;
use palestra_client::stream::Options;
use palestra_client::{Client, TaskQuery};
use palestra_protocol::environment::Environment;
use palestra_protocol::id::RunId;
use palestra_protocol::session::TaskChoice;

use super::episode::Episodes;
use super::failure::Failure;
use super::ownership;
use super::player::Player;
use super::progress::Progress;
use super::signal::asked_to_stop;
use super::tally::{Tally, table};
use super::target::{Keep, TargetArguments};
use crate::environment::policy::Builtin;
use crate::environment::task::SEED_MAX;

/// Most episodes of one run.
const EPISODES_MAX: u64 = 10_000_000;
/// Most episodes at once.
const CONCURRENCY_MAX: u64 = 1_024;
/// Most turns of one episode that can be asked for.
const STEPS_MAX: u64 = 10_000_000;
/// Most turns of one episode where none are asked for: some environments end by nothing but their limit, and that is far away.
const STEPS_DEFAULT_MAX: u64 = 1_000;
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
    /// Which split the tasks are from [default: test, or train where there is no test].
    #[arg(long)]
    pub split: Option<String>,
    /// Difficulties from 0 to 1, taken in turn; for environments whose tasks have one [default: as the tasks come].
    #[arg(long, value_delimiter = ',', value_parser = difficulty)]
    pub difficulty: Vec<f64>,
    /// Chooses tasks and randomness: the same seed plays the same episodes.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..1 << 53))]
    pub seed: u64,
    /// Most turns of one episode; then it is judged as it stands [default: the environment's own limit, but at most 1000].
    #[arg(long, value_name = "STEPS", value_parser = clap::value_parser!(u64).range(1..=STEPS_MAX))]
    pub max_steps: Option<u64>,
    /// Ends with one line of JSON instead of a table, and shows no progress.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub target: TargetArguments,
}

/// Plays and reports. The sessions belong to a run that ends with this command, also when it is interrupted or killed.
///
/// # Errors
/// When the policy cannot play the environment, the server refuses, no episode was scored, or the command was interrupted.
pub async fn run(arguments: &RunArguments, output: &mut impl Write) -> Result<(), Failure> {
    let target = arguments.target.open(Keep::Nothing).await?;
    let played = Box::pin(play_owned(arguments, &target.client)).await;
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

/// Plays under a run that is renewed meanwhile, and ends it however the playing ends.
async fn play_owned(arguments: &RunArguments, client: &Client) -> Result<(String, Tally, f64), Failure> {
    let environment = client.environment(&arguments.environment).await?;
    let player = Player::new(arguments.policy, client, &environment, arguments.seed).await?;
    let run = ownership::begin(client).await?;
    let progress = Arc::new(Progress::begin(arguments.episodes, arguments.json));
    let played = tokio::select! {
        played = play_all(arguments, client, &environment, player, run, &progress) => played,
        lost = ownership::keep(client, run) => Err(lost.into()),
        () = progress.keep_writing() => Err(Failure::Other("the progress ended before the run".to_owned())),
        asked = asked_to_stop() => Err(interrupted(asked)),
    };
    progress.end();
    // Where this fails, the sessions end when the lease does.
    let _ = client.delete_run(run).await;
    played.map(|(name, tally)| (name, tally, progress.seconds()))
}

fn interrupted(asked: std::io::Result<&'static str>) -> Failure {
    match asked {
        Ok(signal) => Failure::Other(format!("interrupted by {signal}; the sessions are closed")),
        Err(error) => error.into(),
    }
}

async fn play_all(
    arguments: &RunArguments,
    client: &Client,
    environment: &Environment,
    player: Player,
    run: RunId,
    progress: &Arc<Progress>,
) -> Result<(String, Tally), Failure> {
    let name = format!("{}@{}", environment.name, environment.version);
    let split = choose_split(arguments.split.as_deref(), environment)?;
    let episodes = Episodes {
        stream: client.stream(Options::default()).await?,
        player: Arc::new(player),
        environment: name.as_str().into(),
        run,
        steps_max: steps_max(arguments, environment),
        progress: Arc::clone(progress),
    };
    let tasks = tasks(client, &name, &split, arguments, environment.splits.get(&split).copied());
    let concurrency = usize::try_from(arguments.concurrency).unwrap_or(1);
    let outcomes = tasks
        .map(|found| {
            let episodes = episodes.clone();
            async move {
                let (number, task) = found?;
                Ok::<_, Failure>(episodes.play(number, task).await)
            }
        })
        .buffer_unordered(concurrency);
    let mut outcomes = std::pin::pin!(outcomes);
    let mut tally = Tally::default();
    while let Some(outcome) = outcomes.next().await {
        tally.add(&outcome?);
        progress.count_episode();
    }
    Ok((name.clone(), tally))
}

fn difficulty(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err("a difficulty is a number from 0 to 1".to_owned()) }
}

/// Most turns of one episode.
fn steps_max(arguments: &RunArguments, environment: &Environment) -> u64 {
    let own = environment.limits.steps.unwrap_or(STEPS_DEFAULT_MAX);
    arguments.max_steps.unwrap_or(own.min(STEPS_DEFAULT_MAX))
}

fn choose_split(asked: Option<&str>, environment: &Environment) -> Result<String, Failure> {
    let has = |split: &str| environment.splits.get(split).is_some_and(|tasks| *tasks > 0);
    let split = asked.map_or_else(|| ["test", "train"].into_iter().find(|split| has(split)), Some);
    split.filter(|split| has(split)).map(str::to_owned).ok_or_else(|| {
        let splits: Vec<&str> = environment.splits.keys().map(String::as_str).collect();
        Failure::Other(format!("choose a split of {} with --split: {}", environment.name, splits.join(", ")))
    })
}

/// Numbered tasks of the split.
fn tasks<'a>(
    client: &'a Client,
    name: &'a str,
    split: &'a str,
    arguments: &'a RunArguments,
    length: Option<u64>,
) -> BoxStream<'a, Result<(u64, TaskChoice), Failure>> {
    if arguments.difficulty.is_empty() {
        Box::pin(listed_tasks(client, name, split, arguments, length))
    } else {
        Box::pin(futures::stream::iter(chosen_tasks(split, arguments).map(Ok)))
    }
}

/// Tasks of the difficulties in turn, from the seed on.
fn chosen_tasks<'a>(split: &'a str, arguments: &'a RunArguments) -> impl Iterator<Item = (u64, TaskChoice)> + 'a {
    (0..arguments.episodes).zip(arguments.difficulty.iter().cycle()).map(move |(number, difficulty)| {
        // Seeds end at 2^53; the choice goes on at 0.
        let seed = arguments.seed.wrapping_add(number) & SEED_MAX;
        (
            number,
            TaskChoice {
                split: Some(split.to_owned()),
                seed: Some(seed),
                difficulty: Some(*difficulty),
                ..TaskChoice::default()
            },
        )
    })
}

/// Tasks in the order of a fixed permutation of the split, from the beginning again where there are too few.
fn listed_tasks<'a>(
    client: &'a Client,
    name: &'a str,
    split: &'a str,
    arguments: &'a RunArguments,
    length: Option<u64>,
) -> impl futures::Stream<Item = Result<(u64, TaskChoice), Failure>> + 'a {
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
                yield (number, TaskChoice { id: Some(task.id), ..TaskChoice::default() });
                number += 1;
            }
        }
    }
}
