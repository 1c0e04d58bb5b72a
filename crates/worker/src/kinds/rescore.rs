//! `rescore`: judges stored episodes again, and says which verdicts changed. Former verdicts stay.

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use palestra_client::EpisodeQuery;
use palestra_protocol::episode::{Episode, EpisodeState, Rescore as Request};
use palestra_protocol::problem::Code;
use palestra_protocol::spec::Rescore;
use palestra_protocol::verdict::Verdict;
use serde::Serialize;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::WorkError;

/// Episodes that are judged at once.
const JUDGED_AT_ONCE: usize = 8;
/// Episodes of a page.
const EPISODES_PER_PAGE: u32 = 200;
/// Changed verdicts that the result names.
const CHANGES_MAX: usize = 1_000;
/// Part of an episode that another judge does not change.
const NOTE: &str =
    "each episode was judged as it was recorded: its actions, and the task with its answer as the session had them";
/// The file with a line per episode.
const LINES: &str = "rescored.jsonl";
/// Prefix of the version of a rule, rather than of an environment.
const RULE: &str = "sha256:";

/// The part of a verdict that is compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Judged {
    status: &'static str,
    score: Option<f64>,
    strict: Option<u8>,
    verifier: String,
}

impl From<&Verdict> for Judged {
    fn from(verdict: &Verdict) -> Self {
        let Verdict { status, score, strict, verifier, .. } = verdict;
        Self { status: status.as_str(), score: *score, strict: *strict, verifier: verifier.version.clone() }
    }
}

impl Judged {
    fn differs(&self, other: &Self) -> bool {
        (self.status, self.score, self.strict) != (other.status, other.score, other.strict)
    }
}

#[derive(Debug, Default, Serialize)]
struct Counts {
    episodes: u64,
    judged: u64,
    changed: u64,
    /// Had no verdict before.
    first_verdicts: u64,
    /// Could not be judged; their lines say why.
    failed: u64,
}

/// Judges again.
///
/// # Errors
/// When there is no such verifier version, no episode, or none of them can be judged.
pub(super) async fn run(rescore: &Rescore, context: &Context) -> Result<Value, WorkError> {
    let (version, rule) = verifier(rescore.verifier.as_deref())?;
    context.announce("judging again");
    let mut lines = context.lines(LINES).await?;
    let (mut counts, mut changes) = (Counts::default(), Vec::new());
    let mut judged = std::pin::pin!(
        episodes(rescore, context)
            .map(|episode| {
                let (client, request) = (&context.client, Request { version });
                async move {
                    let episode = episode?;
                    let verdict = client.rescore(episode.id, &request).await;
                    Ok::<_, WorkError>((episode, verdict))
                }
            })
            .buffer_unordered(JUDGED_AT_ONCE)
    );
    while let Some(outcome) = judged.next().await {
        let (episode, verdict) = outcome?;
        counts.episodes += 1;
        let (old, id) = (episode.verdict.as_ref().map(Judged::from), episode.id);
        let mut line = json!({"episode": id, "environment": episode.environment, "task": episode.task, "old": old});
        match verdict {
            Ok(verdict) => {
                let new = Judged::from(&verdict);
                if let Some(rule) = rule.filter(|rule| *rule != new.verifier) {
                    let detail = format!(
                        "{} is judged by {} now, and not by {rule}: name that version",
                        episode.environment, new.verifier
                    );
                    return Err(WorkError::bad_spec(detail));
                }
                context.count(new.score);
                let changed = old.as_ref().is_some_and(|old| old.differs(&new));
                counts.judged += 1;
                counts.first_verdicts += u64::from(old.is_none());
                counts.changed += u64::from(changed);
                line["new"] = serde_json::to_value(new)?;
                line["changed"] = json!(changed);
                if changed && changes.len() < CHANGES_MAX {
                    changes.push(line.clone());
                }
            }
            Err(error) => {
                context.count(None);
                counts.failed += 1;
                context.log("warn", format!("{id} could not be judged: {error}"));
                line["error"] = json!(error.to_string());
            }
        }
        lines.add(&line).await?;
    }
    context.keep(lines).await?;
    if counts.episodes == 0 {
        return Err(WorkError::bad_data("no episode of these has ended: finish them first"));
    }
    if counts.judged == 0 {
        return Err(WorkError::environment(format!("no episode of {} could be judged: see {LINES}", counts.episodes)));
    }
    let mut result = serde_json::to_value(&counts)?;
    result["changes"] = Value::Array(changes);
    result["artifact"] = json!(LINES);
    result["note"] = json!(NOTE);
    Ok(result)
}

/// The version of the environment, or else of the rule, that is to judge.
fn verifier(asked: Option<&str>) -> Result<(Option<u32>, Option<&str>), WorkError> {
    match asked {
        None => Ok((None, None)),
        Some(rule) if rule.starts_with(RULE) => Ok((None, Some(rule))),
        Some(version) => match version.trim_start_matches('@').parse() {
            Ok(version) => Ok((Some(version), None)),
            Err(_) => Err(WorkError::bad_spec(format!(
                "{version:?} is no verifier: give a version of the environment, such as 2, or of the rule, as {RULE}.."
            ))),
        },
    }
}

/// The episodes that are meant; those that go on are left out.
fn episodes<'a>(rescore: &'a Rescore, context: &'a Context) -> BoxStream<'a, Result<Episode, WorkError>> {
    if rescore.episodes.is_empty() {
        let query = EpisodeQuery {
            run: rescore.run,
            environment: rescore.environment.clone(),
            state: Some(EpisodeState::Ended),
            limit: Some(EPISODES_PER_PAGE),
            ..EpisodeQuery::default()
        };
        return Box::pin(listed(query, context));
    }
    context.expect(rescore.episodes.len() as u64);
    Box::pin(futures::stream::iter(&rescore.episodes).then(move |id| async move {
        context.client.episode(*id).await.map_err(|error| match error.code() {
            Some(Code::NotFound) => WorkError::bad_data(format!("there is no episode {id}: check its id")),
            _ => error.into(),
        })
    }))
}

fn listed(mut query: EpisodeQuery, context: &Context) -> impl Stream<Item = Result<Episode, WorkError>> + Send {
    async_stream::try_stream! {
        loop {
            let page = context.client.episodes(&query).await?;
            context.expect(page.data.len() as u64);
            for episode in page.data {
                yield episode;
            }
            match page.next_cursor {
                Some(next) if query.cursor.as_ref() != Some(&next) => query.cursor = Some(next),
                _ => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_is_a_version_of_the_environment_or_of_the_rule() {
        assert_eq!(verifier(None).unwrap(), (None, None));
        assert_eq!(verifier(Some("2")).unwrap(), (Some(2), None));
        assert_eq!(verifier(Some("@2")).unwrap(), (Some(2), None));
        assert_eq!(verifier(Some("sha256:ab")).unwrap(), (None, Some("sha256:ab")));
        assert!(verifier(Some("newest")).is_err());
    }

    #[test]
    fn another_score_is_a_change_and_another_rule_alone_is_none() {
        let old = Judged { status: "scored", score: Some(0.5), strict: Some(0), verifier: "a".to_owned() };
        assert!(!old.differs(&Judged { verifier: "b".to_owned(), ..old.clone() }));
        assert!(old.differs(&Judged { score: Some(0.6), ..old.clone() }));
        assert!(old.differs(&Judged { status: "infra_error", score: None, strict: None, ..old.clone() }));
    }
}
