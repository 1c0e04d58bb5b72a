//! Judging with a control. A judge that fails over what was done runs twice, each time followed by the control: only a judge that
//! fails both times, between controls that work, was broken by what it judged.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::broken::Broken;
use super::control::Beginning;
use crate::work::{Check, JudgeError, Judgement, Opening, Work, Workbench};
use palestra_state::secrets::Secrets;

/// Runs of a judge that fails, each followed by a control.
pub(super) const RUNS: usize = 2;
/// Longest run of a judge or a control; a session's judging has room for all of them.
const RUN_MAX: Duration = Duration::from_secs(3_600);
/// Characters of a failure that are told.
const TOLD_MAX: usize = 2_000;

/// Judges evidence, as [`Work::judge`] does. Where that fails, a control decides whether what was done is to blame.
///
/// # Errors
/// What kept the judge from a score, where the control fails as well, or the server lacks what judging needs.
pub async fn judge(
    work: &dyn Work,
    row: &Value,
    secrets: Secrets,
    evidence: &Value,
    workbench: &Workbench,
) -> Result<Judgement, JudgeError> {
    if let Some(broken) = Broken::of(evidence)? {
        return Ok(broken.judgement());
    }
    let mut config = Map::new();
    if let Some(backend) = evidence.get("backend").and_then(Value::as_str)
        && workbench.sandboxes.backend(Some(backend)).is_ok()
    {
        config.insert("backend".to_owned(), json!(backend));
    }
    let opening = Opening { name: String::new(), secrets, config, resumed: false, from: None };
    let beginning = Beginning { work, row, opening: &opening, workbench };
    decide(&Episode { beginning, evidence }).await
}

/// Judgings of an attempt and of its control.
#[async_trait]
pub(super) trait Attempts: Sync {
    /// Judges what was done.
    async fn judge(&self) -> Result<Judgement, JudgeError>;
    /// Judges an untouched beginning.
    async fn control(&self) -> Result<Judgement, String>;
}

struct Episode<'a> {
    beginning: Beginning<'a>,
    evidence: &'a Value,
}

#[async_trait]
impl Attempts for Episode<'_> {
    async fn judge(&self) -> Result<Judgement, JudgeError> {
        let Beginning { work, row, opening, workbench } = self.beginning;
        let judging = guarded(work.judge(row, opening.secrets, self.evidence, workbench));
        let late = |_| {
            Err(JudgeError::Timeout(format!(
                "judging took longer than {} s: judge the episode again",
                RUN_MAX.as_secs()
            )))
        };
        tokio::time::timeout(RUN_MAX, judging).await.unwrap_or_else(late)
    }

    async fn control(&self) -> Result<Judgement, String> {
        let judging = guarded(async { self.beginning.judged().await.map_err(JudgeError::Verifier) });
        let judged = tokio::time::timeout(RUN_MAX, judging).await;
        let judged = judged.map_err(|_| {
            format!("judging the untouched place took longer than {} s: judge the episode again", RUN_MAX.as_secs())
        })?;
        judged.map_err(|error| error.to_string())
    }
}

/// A failure of the judge, and what the control made of it.
struct Failure {
    error: JudgeError,
    control: Judgement,
}

/// Runs judge and control until it is known who is to blame.
pub(super) async fn decide(attempts: &dyn Attempts) -> Result<Judgement, JudgeError> {
    let mut failures: Vec<Failure> = Vec::with_capacity(RUNS);
    while failures.len() < RUNS {
        let error = match attempts.judge().await {
            Ok(judgement) => return Ok(differing(judgement, &failures)),
            // Nothing in a sandbox takes from the server what it lacks.
            Err(JudgeError::Unavailable(why)) => return Err(JudgeError::Unavailable(why)),
            Err(error) => error,
        };
        match attempts.control().await {
            Ok(control) => failures.push(Failure { error, control }),
            Err(why) => return Err(error.because(&format!("over the untouched beginning the judge fails too: {why}"))),
        }
    }
    Ok(blamed(&failures))
}

/// 0, as trustworthy as the control's own judgement is.
fn blamed(failures: &[Failure]) -> Judgement {
    let mut words = "what was done keeps the judge from a score".to_owned();
    for (number, Failure { error, control }) in (1..).zip(failures) {
        let kind = error.kind();
        words.push_str(&format!(
            "\nrun {number}: {kind}: {}\ncontrol {number}: over the untouched beginning the judge works, and scores {}",
            excerpt(&error.to_string()),
            control.score()
        ));
    }
    let check = Check { name: "judged".to_owned(), weight: 1.0, score: 0.0, evidence: words };
    let as_control = failures.last().map(|failure| &failure.control);
    Judgement {
        checks: vec![check],
        trainable: as_control.is_some_and(|control| control.trainable),
        from: as_control.map_or(crate::work::From::State, |control| control.from),
    }
}

/// The judgement of a run after one that failed. It says so, and a score that a second run gave is not learnt from.
fn differing(mut judgement: Judgement, failures: &[Failure]) -> Judgement {
    for Failure { error, .. } in failures {
        if let Some(check) = judgement.checks.first_mut() {
            let excerpt = excerpt(&error.to_string());
            check
                .evidence
                .push_str(&format!("\nthe judge ran twice: its first run failed ({}: {excerpt})", error.kind()));
        }
        judgement.trainable &= judgement.score() <= 0.0;
    }
    judgement
}

fn excerpt(words: &str) -> String {
    words.chars().take(TOLD_MAX).collect()
}

/// The same, with a panic turned into a failure of the judge.
async fn guarded<T>(judging: impl Future<Output = Result<T, JudgeError>>) -> Result<T, JudgeError> {
    let mut judging = pin!(judging);
    poll_fn(|context| {
        catch_unwind(AssertUnwindSafe(|| judging.as_mut().poll(context))).unwrap_or_else(|panic| {
            let words = panic_message::panic_message(&panic);
            Poll::Ready(Err(JudgeError::Verifier(format!("the judge panicked, report it: {words}"))))
        })
    })
    .await
}
