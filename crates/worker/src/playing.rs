//! Episodes of a policy in the environments of a job, as they end.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use palestra_client::stream::Options;
use palestra_client::{Client, ClientError};
use palestra_protocol::environment::Environment;
use palestra_protocol::id::GroupId;
use palestra_protocol::problem::Code;
use palestra_protocol::session::TaskChoice;
use palestra_protocol::spec::play::{EnvironmentMix, PlayLimits, PolicyFrom};
use palestra_protocol::verdict::{Status, Verdict};

use super::context::Context;
use super::earlier::{EarlierEpisodes, Needs};
use super::failure::WorkError;
use super::lines::EpisodeLine;
use crate::play::PlayError;
use crate::play::episode::{Assignment, Episodes, Played};
use crate::play::player::{Player, number_of};
use crate::play::policy::ReadyPolicy;
use crate::play::tasks::{self, Wanted};

/// Most turns of an episode where neither job nor environment says less.
const STEPS_DEFAULT_MAX: u64 = 1_000;

/// Episodes of earlier attempts that count.
#[derive(Clone, Copy)]
pub(super) struct Resumed<'a> {
    /// Their episodes.
    pub(super) earlier: &'a EarlierEpisodes,
    /// The group of the episodes of this policy.
    pub(super) group: GroupId,
}

/// Episodes to play in the environments of a job, one environment after the other.
pub(super) struct Plan<'a> {
    /// Episodes of earlier attempts.
    pub(super) resumed: Resumed<'a>,
    /// The policy, as the job names it.
    pub(super) from: &'a PolicyFrom,
    /// The policy, ready to play.
    pub(super) policy: &'a ReadyPolicy,
    /// The environments, with which tasks of each.
    pub(super) environments: &'a [(EnvironmentMix, Environment)],
    /// Number of tasks of each environment.
    pub(super) tasks: Vec<u64>,
    /// Number of episodes of each task.
    pub(super) samples: u32,
    /// Chooses tasks and randomness.
    pub(super) seed: u64,
    /// Concurrency and length of episodes.
    pub(super) limits: &'a PlayLimits,
    /// True where conversations are wanted.
    pub(super) conversations: bool,
}

/// Episodes to play in one environment.
pub(super) struct EnvironmentPlan<'a> {
    /// Episodes of earlier attempts, where they count.
    pub(super) resumed: Option<Resumed<'a>>,
    /// The policy, ready to play.
    pub(super) policy: &'a ReadyPolicy,
    /// The environment.
    pub(super) environment: &'a Environment,
    /// The tasks that are drawn.
    pub(super) mix: &'a EnvironmentMix,
    /// Number of tasks.
    pub(super) tasks: u64,
    /// Number of episodes of each task.
    pub(super) samples: u32,
    /// Chooses tasks and randomness.
    pub(super) seed: u64,
    /// Concurrency and length of episodes.
    pub(super) limits: &'a PlayLimits,
    /// True where conversations are wanted.
    pub(super) conversations: bool,
}

/// An episode that was played.
pub(super) struct FinishedEpisode {
    /// Number of the episode among those of its task, from 0.
    pub(super) sample: u32,
    /// The episode.
    pub(super) played: Played,
}

/// `family/name@version`.
pub(super) fn versioned(environment: &Environment) -> String {
    format!("{}@{}", environment.name, environment.version)
}

/// The split of all environments; `None` where they differ.
pub(super) fn split(environments: &[(EnvironmentMix, Environment)]) -> Option<String> {
    let (first, others) = environments.split_first()?;
    others.iter().all(|(mix, _)| mix.split == first.0.split).then(|| first.0.split.clone())
}

/// The environments of a job with what they are now, or were when earlier attempts played them.
///
/// # Errors
/// When there is no such environment or split, or two names mean the same.
pub(super) async fn find_all(
    client: &Client,
    mixes: &[EnvironmentMix],
    earlier: &EarlierEpisodes,
) -> Result<Vec<(EnvironmentMix, Environment)>, WorkError> {
    let mut found: Vec<(EnvironmentMix, Environment)> = Vec::with_capacity(mixes.len());
    for mix in mixes {
        let name = earlier.version_of(&mix.name).unwrap_or(&mix.name);
        let environment = find(client, name, &mix.split).await?;
        // From here on this version is meant, whatever is published meanwhile.
        let mix = EnvironmentMix { name: versioned(&environment), ..mix.clone() };
        if found.iter().any(|(other, _)| other.is_same(&mix)) {
            let detail = format!(
                "{} is named twice with split {:?}, so that its episodes would count twice: name it once",
                mix.name, mix.split
            );
            return Err(WorkError::bad_spec(detail));
        }
        found.push((mix, environment));
    }
    Ok(found)
}

/// The environment of a name, if it has the split.
///
/// # Errors
/// When there is no such environment or split.
async fn find(client: &Client, name: &str, split: &str) -> Result<Environment, WorkError> {
    let environment = client.environment(name).await?;
    if environment.splits.get(split).is_none_or(|tasks| *tasks == 0) {
        let splits: Vec<&str> = environment.splits.keys().map(String::as_str).collect();
        let detail = format!("{name} has no tasks in split {split:?}: choose one of {}", splits.join(", "));
        return Err(WorkError::bad_spec(detail));
    }
    Ok(environment)
}

/// Plays in every environment, and answers each episode with its environment as it ends.
pub(super) fn play_all<'a>(
    context: &'a Context,
    plan: Plan<'a>,
) -> impl Stream<Item = Result<(&'a Environment, FinishedEpisode), WorkError>> + Send + 'a {
    async_stream::try_stream! {
        let Plan { resumed, from, policy, environments, tasks, samples, seed, limits, conversations } = plan;
        let resumed = Some(resumed);
        for ((mix, environment), tasks) in environments.iter().zip(tasks) {
            context.announce(format!("{from} in {}", versioned(environment)));
            let plan = EnvironmentPlan { resumed, policy, environment, mix, tasks, samples, seed, limits, conversations };
            let mut episodes = std::pin::pin!(play(context, plan));
            while let Some(ended) = episodes.next().await {
                let ended = ended?;
                yield (environment, ended);
            }
        }
    }
}

/// Plays, and answers each episode as it ends. What fails in an episode is its outcome; what would fail in every further one ends the
/// stream with an error.
pub(super) fn play<'a>(
    context: &'a Context,
    plan: EnvironmentPlan<'a>,
) -> impl Stream<Item = Result<FinishedEpisode, WorkError>> + Send + 'a {
    async_stream::try_stream! {
        let name = versioned(plan.environment);
        let player = Player::new(plan.policy, &context.client, plan.environment, plan.seed)?;
        let own = plan.environment.limits.steps.unwrap_or(STEPS_DEFAULT_MAX);
        let episodes = Episodes {
            stream: context.client.stream(Options::default()).await?,
            player: Arc::new(player),
            environment: name.as_str().into(),
            run: context.run,
            group: plan.resumed.map(|resumed| resumed.group),
            steps_max: plan.limits.max_turns.map_or(own.min(STEPS_DEFAULT_MAX), u64::from),
            conversations: plan.conversations,
            on_turn: Arc::new(|| {}),
        };
        let concurrency = usize::try_from(plan.limits.concurrent_sessions).unwrap_or(1);
        let samples = u64::from(plan.samples);
        let assignments = choose(&context.client, &plan, &name).flat_map(|found| {
            let copies = match found {
                Ok((number, task)) => (0..plan.samples)
                    .map(|sample| {
                        let number = number * samples + u64::from(sample);
                        let seed = number_of(&[b"session", &plan.seed.to_le_bytes(), &number.to_le_bytes()]);
                        Ok((sample, Assignment { number, seed, task: task.clone() }))
                    })
                    .collect(),
                Err(error) => vec![Err(error)],
            };
            futures::stream::iter(copies)
        });
        let needs = Needs {
            conversation: plan.conversations.then_some(plan.environment),
            tokens: matches!(plan.policy, ReadyPolicy::Model(_)),
        };
        let played = assignments
            .map(|assigned| {
                let (episodes, name) = (episodes.clone(), name.as_str());
                async move {
                    let (sample, assignment) = assigned?;
                    let earlier = plan.resumed.and_then(|Resumed { earlier, group }| earlier.find(group, name, &assignment));
                    let played = match earlier {
                        Some(earlier) => {
                            context.count_earlier();
                            earlier.played(&context.client, assignment, needs).await?
                        }
                        None => episodes.play(assignment).await,
                    };
                    Ok::<_, WorkError>(FinishedEpisode { sample, played })
                }
            })
            .buffer_unordered(concurrency);
        let mut played = std::pin::pin!(played);
        while let Some(ended) = played.next().await {
            let FinishedEpisode { sample, played } = ended?;
            let verdict = match played.verdict {
                Err(error) if ends_all(&error) => Err(WorkError::from(error))?,
                verdict => verdict,
            };
            let ended = FinishedEpisode { sample, played: Played { verdict, ..played } };
            log_outcome(context, &name, &ended);
            yield ended;
        }
    }
}

/// True where every further episode would end alike.
fn ends_all(error: &PlayError) -> bool {
    match error {
        PlayError::Client(ClientError::GaveUp { .. } | ClientError::Closed | ClientError::Address(_)) => true,
        PlayError::Client(error) => matches!(
            error.code(),
            Some(Code::RunOver | Code::Unauthorized | Code::Forbidden | Code::UnknownEnvironment | Code::Unavailable)
        ),
        other => other.ends_all(),
    }
}

fn log_outcome(context: &Context, environment: &str, ended: &FinishedEpisode) {
    let played = &ended.played;
    context.count(scored(played).and_then(|verdict| verdict.score));
    let why = match &played.verdict {
        Ok(verdict) if verdict.status == Status::Scored => return,
        Ok(verdict) => format!("{}: {}", verdict.status.as_str(), verdict.detail.as_deref().unwrap_or("no detail")),
        Err(error) => format!("{}: {error}", error.reason()),
    };
    let episode = played.episode.map_or_else(|| "no episode".to_owned(), |episode| episode.to_string());
    context.log("warn", format!("{environment} {} ({episode}) was not scored: {why}", played.task));
}

/// Why an episode has no score, or that it has one, in a word that can be counted.
pub(super) fn status(played: &Played) -> &'static str {
    match &played.verdict {
        Ok(verdict) => verdict.status.as_str(),
        Err(error) => error.reason(),
    }
}

/// The verdict of an episode that was scored.
pub(super) fn scored(played: &Played) -> Option<&Verdict> {
    played.verdict.as_ref().ok().filter(|verdict| verdict.status == Status::Scored && verdict.score.is_some())
}

/// An episode as a line of a file.
pub(super) fn line(environment: &str, ended: &FinishedEpisode) -> EpisodeLine {
    let FinishedEpisode { sample, played } = ended;
    let verdict = scored(played);
    EpisodeLine {
        environment: environment.to_owned(),
        task: played.task.clone(),
        sample: *sample,
        seed: played.assignment.seed,
        episode: played.episode,
        status: status(played).to_owned(),
        score: verdict.and_then(|verdict| verdict.score),
        strict: verdict.and_then(|verdict| verdict.strict),
        passed: verdict.is_some_and(|verdict| verdict.passed),
        steps: played.steps,
        prompt_tokens: played.tokens.prompt,
        completion_tokens: played.tokens.completion,
        cut_answers: played.tokens.cut,
    }
}

/// Numbered tasks: of difficulties in the range where one is named, otherwise as they are listed.
fn choose<'a>(
    client: &'a Client,
    plan: &EnvironmentPlan<'a>,
    name: &'a str,
) -> BoxStream<'a, Result<(u64, TaskChoice), ClientError>> {
    let wanted = Wanted {
        environment: name,
        split: &plan.mix.split,
        length: plan.environment.splits.get(&plan.mix.split).copied().unwrap_or(1),
        seed: plan.seed,
        count: plan.tasks,
    };
    let Some([low, high]) = plan.mix.difficulty else { return Box::pin(tasks::listed(client, wanted)) };
    let seed = plan.seed;
    let within = move |number: u64| difficulty(seed, number, low, high);
    Box::pin(futures::stream::iter(wanted.of_difficulty(within).map(Ok)))
}

/// A difficulty between two others that follows from seed and number; in thousandths, as ids of tasks have it.
#[expect(clippy::cast_precision_loss, reason = "numbers below 2^53 are exact")]
fn difficulty(seed: u64, number: u64, low: f64, high: f64) -> f64 {
    let share = number_of(&[b"difficulty", &seed.to_le_bytes(), &number.to_le_bytes()]) as f64 / (1_u64 << 53) as f64;
    let thousandths = ((low + share * (high - low)) * 1_000.0).round() / 1_000.0;
    thousandths.clamp(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difficulties_follow_from_the_seed_and_stay_in_their_range() {
        for number in 0..200 {
            let found = difficulty(3, number, 0.2, 0.45);
            assert!((0.2..=0.45).contains(&found), "{found}");
            assert_eq!(found, difficulty(3, number, 0.2, 0.45));
        }
        assert_ne!(difficulty(3, 0, 0.0, 1.0), difficulty(4, 0, 0.0, 1.0));
        assert_eq!(difficulty(3, 0, 0.5, 0.5), 0.5);
    }
}
