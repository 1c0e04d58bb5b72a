//! `palestra run ENVIRONMENT`: plays episodes with a policy and says how well it did.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use futures::StreamExt;
use futures::stream::BoxStream;
use palestra_client::stream::Options;
use palestra_client::{Client, ClientError};
use palestra_protocol::environment::Environment;
use palestra_protocol::id::RunId;
use palestra_protocol::run::RunPlan;
use palestra_protocol::session::TaskChoice;
use palestra_protocol::spec::play::{PolicyFrom, Sampling};

use super::choice::{share, whole};
use super::failure::Failure;
use super::progress::Progress;
use super::signal::asked_to_stop;
use super::tally::{Line, Tally};
use super::target::{Keep, TargetArguments};
use palestra_worker::play::PlayError;
use palestra_worker::play::endpoint::{ANSWER_S_DEFAULT, ANSWER_S_MAX, Hosts};
use palestra_worker::play::episode::{Assignment, Episodes};
use palestra_worker::play::ownership::{self, LEASE_MS};
use palestra_worker::play::player::Player;
use palestra_worker::play::policy::{PolicyContext, ReadyPolicy};
use palestra_worker::play::tasks::{self, Wanted};

/// Most episodes of one run.
const EPISODES_MAX: u64 = 10_000_000;
/// Most episodes at once.
const CONCURRENCY_MAX: u64 = 1_024;
/// Most turns of one episode that can be asked for.
const STEPS_MAX: u64 = 10_000_000;
/// Most tokens of one answer.
const TOKENS_MAX: u32 = 131_072;
/// Most turns of one episode where none are asked for: some environments end by nothing but their limit, and that is far away.
const STEPS_DEFAULT_MAX: u64 = 1_000;
/// Largest seed: every JSON implementation carries it exactly.
const SEED_MAX: u64 = (1 << 53) - 1;
/// Arguments of `palestra run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// The environment, as family/name or family/name@version.
    pub environment: String,
    /// The policy: builtin:oracle (solves every task), builtin:random, builtin:null (does nothing), one of the server (`pol_..`, or
    /// `job_..` for what that job left), or `url:http://host/v1#model` for whoever answers OpenAI's chat completions there.
    #[arg(long, default_value = "builtin:oracle")]
    pub policy: PolicyFrom,
    /// Randomness of a policy that is a language model; 0 takes the most probable token each time.
    #[arg(long, default_value_t = 0.0, value_parser = temperature)]
    pub temperature: f64,
    /// Most tokens of one answer of such a policy.
    #[arg(long, default_value_t = 512, value_parser = whole(1..=TOKENS_MAX))]
    pub max_tokens: u32,
    /// Credential for a policy at `url:..`.
    #[arg(long, env = "PALESTRA_POLICY_KEY", hide_env_values = true)]
    pub policy_key: Option<String>,
    /// Seconds that such a policy may take for one answer.
    #[arg(long, env = "PALESTRA_ANSWER_TIMEOUT", value_name = "SECONDS", default_value_t = ANSWER_S_DEFAULT, value_parser = whole(1..=ANSWER_S_MAX))]
    pub answer_timeout: u64,
    /// Number of episodes.
    #[arg(long, default_value_t = 100, value_parser = whole(1..=EPISODES_MAX))]
    pub episodes: u64,
    /// Episodes at once.
    #[arg(long, default_value_t = 16, value_parser = whole(1..=CONCURRENCY_MAX))]
    pub concurrency: u64,
    /// The split of the tasks [default: test, or train where there is no test; jobs play train where their spec names none].
    #[arg(long)]
    pub split: Option<String>,
    /// Difficulties from 0 to 1, taken in turn; for environments whose tasks have one [default: as the tasks come].
    #[arg(long, value_delimiter = ',', value_parser = share)]
    pub difficulty: Vec<f64>,
    /// Chooses tasks and randomness: the same seed plays the same episodes.
    #[arg(long, default_value_t = 0, value_parser = whole(0..=SEED_MAX))]
    pub seed: u64,
    /// Most turns of one episode; then it is judged as it stands [default: the environment's own limit, but at most 1000].
    #[arg(long, value_name = "STEPS", value_parser = whole(1..=STEPS_MAX))]
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
    let (run, environment, tally, seconds) = played?;
    let line = tally.line(run, &environment, &arguments.policy, arguments.episodes, seconds);
    if arguments.json {
        let text = serde_json::to_string(&line).map_err(|error| Failure::Other(error.to_string()))?;
        writeln!(output, "{text}")?;
    } else {
        output.write_all(line.describe(arguments.target.is_kept()).as_bytes())?;
    }
    match line.first_cause() {
        Some(cause) if line.scored == 0 => {
            Err(Failure::Other(format!("no episode was scored, remove the cause and run it again: {cause}")))
        }
        _ => Ok(()),
    }
}

/// Plays the first tasks of an environment, and shows nothing.
///
/// # Errors
/// When the policy cannot play the environment, or the server refuses.
pub(super) async fn measure(
    client: &Client,
    environment: &str,
    policy: PolicyFrom,
    episodes: u64,
) -> Result<Line, Failure> {
    let arguments = RunArguments {
        environment: environment.to_owned(),
        policy,
        temperature: 0.0,
        max_tokens: Sampling::default().max_tokens,
        policy_key: None,
        answer_timeout: ANSWER_S_DEFAULT,
        episodes,
        concurrency: 16,
        split: None,
        difficulty: Vec::new(),
        seed: 0,
        max_steps: None,
        json: true,
        target: TargetArguments::default(),
    };
    let (run, environment, tally, seconds) = Box::pin(play_owned(&arguments, client)).await?;
    Ok(tally.line(run, &environment, &arguments.policy, episodes, seconds))
}

/// Plays under a run that is renewed meanwhile, and ends it however the playing ends.
async fn play_owned(arguments: &RunArguments, client: &Client) -> Result<(RunId, String, Tally, f64), Failure> {
    let environment = client.environment(&arguments.environment).await?;
    let split = choose_split(arguments.split.as_deref(), &environment)?;
    let run = ownership::begin(client, None, LEASE_MS).await?;
    let (policy, seed) = (arguments.policy.to_string(), Some(arguments.seed));
    let plan = RunPlan { policy, split: Some(split.clone()), seed, episodes: arguments.episodes };
    client.plan_run(run, &plan).await?;
    let progress = Arc::new(Progress::begin(arguments.episodes, arguments.json));
    let ready = ReadyPolicy::new(&arguments.policy, &policy_context(arguments, client, run)).await;
    let played = match &ready {
        Ok(policy) => tokio::select! {
            played = play_all(arguments, client, (&environment, &split), policy, run, &progress) => played,
            lost = ownership::keep(client, run, LEASE_MS) => Err(lost.into()),
            () = progress.keep_writing(|| policy.waiting()) => Err(Failure::Other("the progress ended before the run".to_owned())),
            asked = asked_to_stop() => Err(interrupted(asked)),
        },
        Err(error) => Err(Failure::Other(error.to_string())),
    };
    progress.end();
    if let Ok(policy) = &ready {
        policy.end().await;
    }
    // Where this fails, the sessions end when the lease does.
    let _ = client.delete_run(run).await;
    let kept = |error: Failure| {
        let seen = progress.finished();
        if seen == 0 || !arguments.target.is_kept() {
            return error;
        }
        Failure::Other(format!(
            "{error}; {seen} episodes ended before: see them with `palestra episodes list --run {run}`"
        ))
    };
    played.map(|(name, tally)| (run, name, tally, progress.seconds())).map_err(kept)
}

fn policy_context(arguments: &RunArguments, client: &Client, run: RunId) -> PolicyContext {
    let RunArguments { temperature, max_tokens, .. } = *arguments;
    PolicyContext {
        client: client.clone(),
        owner: run.uuid(),
        sampling: Sampling { temperature, max_tokens, ..Sampling::default() },
        // Whoever types an address may go there.
        hosts: Hosts::Any,
        key: arguments.policy_key.clone(),
        answer_timeout: Duration::from_secs(arguments.answer_timeout),
    }
}

fn interrupted(asked: std::io::Result<&'static str>) -> Failure {
    match asked {
        Ok(signal) => {
            Failure::Other(format!("the run was interrupted by {signal} and its sessions are closed: run it again"))
        }
        Err(error) => error.into(),
    }
}

async fn play_all(
    arguments: &RunArguments,
    client: &Client,
    (environment, split): (&Environment, &str),
    policy: &ReadyPolicy,
    run: RunId,
    progress: &Arc<Progress>,
) -> Result<(String, Tally), Failure> {
    let player = Player::new(policy, client, environment, arguments.seed).map_err(failure)?;
    let name = format!("{}@{}", environment.name, environment.version);
    let turns = Arc::clone(progress);
    let episodes = Episodes {
        stream: client.stream(Options::default()).await?,
        player: Arc::new(player),
        environment: name.as_str().into(),
        run,
        group: None,
        steps_max: steps_max(arguments, environment),
        conversations: false,
        on_turn: Arc::new(move || turns.count_turn()),
    };
    let wanted = Wanted {
        environment: &name,
        split,
        length: environment.splits.get(split).copied().unwrap_or(1),
        seed: arguments.seed,
        count: arguments.episodes,
    };
    let concurrency = usize::try_from(arguments.concurrency).unwrap_or(1);
    let outcomes = chosen_tasks(client, wanted, &arguments.difficulty)
        .map(|found| {
            let episodes = episodes.clone();
            async move {
                let (number, task) = found?;
                Ok::<_, Failure>(episodes.play(Assignment { number, seed: number, task }).await)
            }
        })
        .buffer_unordered(concurrency);
    let mut outcomes = std::pin::pin!(outcomes);
    let mut tally = Tally::default();
    while let Some(outcome) = outcomes.next().await {
        let played = outcome?;
        let verdict = match played.verdict {
            Err(error) if error.ends_all() => return Err(failure(error)),
            other => other,
        };
        tally.add(&verdict);
        tally.add_cut(played.tokens.cut);
        progress.count_episode();
    }
    Ok((name.clone(), tally))
}

fn failure(error: PlayError) -> Failure {
    match error {
        PlayError::Client(error) => error.into(),
        other => Failure::Other(other.to_string()),
    }
}

fn temperature(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "the value must be a number".to_owned())?;
    if (0.0..=10.0).contains(&number) {
        Ok(number)
    } else {
        Err("a temperature must be a number from 0 to 10".to_owned())
    }
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
        let has = asked.map_or_else(|| "several splits".to_owned(), |asked| format!("no tasks in split {asked:?}"));
        Failure::Other(format!("{} has {has}: choose one with --split: {}", environment.name, splits.join(", ")))
    })
}

/// Numbered tasks of the split: of the difficulties in turn where some are named, otherwise as they are listed.
fn chosen_tasks<'a>(
    client: &'a Client,
    wanted: Wanted<'a>,
    difficulties: &'a [f64],
) -> BoxStream<'a, Result<(u64, TaskChoice), ClientError>> {
    if difficulties.is_empty() {
        return Box::pin(tasks::listed(client, wanted));
    }
    let in_turn = |number: u64| {
        let place = number % difficulties.len() as u64;
        usize::try_from(place).ok().and_then(|place| difficulties.get(place)).copied().unwrap_or_default()
    };
    Box::pin(futures::stream::iter(wanted.of_difficulty(in_turn).map(Ok)))
}
