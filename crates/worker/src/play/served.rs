//! Policies of this server, which a trainer serves. Where none does, a `serve` job is queued, and cancelled in the end.

use std::time::{Duration, Instant};

use palestra_client::{Client, ClientError};
use palestra_protocol::action::Action;
use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{CreateJob, Job, JobKind, JobState, Policy, Resources};
use palestra_protocol::problem::Code;
use palestra_protocol::spec::Serve;
use palestra_protocol::spec::play::Sampling;
use palestra_protocol::spec::train::ToolFormat;
use palestra_protocol::worker::{ActAnswer, ActRequest};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use uuid::{Builder, Uuid, Variant, Version};

use super::PlayError;
use super::turn::{CUT, PolicyInput, PolicyOutput, Tokens};

/// A `serve` job that was queued for a player ends after this long without a request, in milliseconds.
const IDLE_MS: u64 = 120_000;
/// Most requests that such a job answers at once.
const SERVED_AT_ONCE_MAX: u32 = 32;
/// Time limit of a policy until its first answer, in milliseconds.
const COLD_MS_MAX: u64 = 10 * 60_000;
/// Time limit of a policy that refuses because it is busy, in milliseconds.
const BUSY_MS_MAX: u64 = 10 * 60_000;
/// Wait between two looks at a policy that cannot answer yet, in milliseconds.
const LOOK_MS: u64 = 250;
/// Longest such wait; each is twice the one before.
const LOOK_MS_MAX: u64 = 2_000;
/// Number of `serve` jobs that may end by themselves before a player gives up.
const SERVE_JOBS_MAX: u32 = 100;
/// The most tokens of an answer that can be asked for.
const TOKENS_MAX: u32 = 32_768;
/// Bytes of an id that say when it was made.
const TIME_BYTES: usize = 6;
/// Bytes of what is recorded beside a step.
const META_BYTES_MAX: usize = 64 << 10;
/// The file of a policy with what it was trained with.
const MANIFEST: &str = "palestra.json";
/// The architecture of a policy over vectors.
const OVER_VECTORS: &str = "mlp";

/// A policy of this server.
pub struct ServedPolicy {
    client: Client,
    policy: PolicyId,
    over_vectors: bool,
    /// The form of actions in the text of a language model.
    tool_format: Option<ToolFormat>,
    sampling: Sampling,
    /// The run that plays: it names the `serve` jobs, so that each is made once.
    owner: Uuid,
    serve_jobs: Mutex<ServeJobs>,
    /// Cause for which the policy cannot answer yet; none while it answers.
    waiting: parking_lot::Mutex<Option<String>>,
}

/// The jobs that were queued so that the policy answers.
#[derive(Default)]
struct ServeJobs {
    /// Number of them.
    jobs: u32,
    /// The last of them.
    last: Option<JobId>,
    /// Since when the policy does not answer.
    cold_since: Option<Instant>,
}

impl ServedPolicy {
    /// The policy for `owner`: who plays, and in which attempt.
    ///
    /// # Errors
    /// When there is no such policy, or it cannot be sampled so.
    pub async fn new(client: &Client, policy: PolicyId, owner: Uuid, sampling: &Sampling) -> Result<Self, PlayError> {
        if sampling.top_p < 1.0 {
            return Err(PlayError::Policy("`sampling.top_p` of a policy that is served must be 1".to_owned()));
        }
        if sampling.max_tokens > TOKENS_MAX {
            let detail = format!("`sampling.max_tokens` of a policy that is served must be at most {TOKENS_MAX}");
            return Err(PlayError::Policy(detail));
        }
        let described = client.policy(policy).await?;
        let over_vectors = described.architecture == OVER_VECTORS;
        let tool_format = match sampling.tool_format {
            _ if over_vectors => None,
            Some(asked) => Some(asked),
            None => Some(kept_format(client, &described).await?),
        };
        let serve_jobs = Mutex::new(ServeJobs::default());
        Ok(Self {
            client: client.clone(),
            policy,
            over_vectors,
            tool_format,
            sampling: sampling.clone(),
            owner,
            serve_jobs,
            waiting: parking_lot::Mutex::default(),
        })
    }

    /// The next turn. Waits while the policy is loaded or busy.
    ///
    /// # Errors
    /// When it fails, or no worker comes to serve it.
    pub async fn answer(&self, asked: &PolicyInput<'_>) -> Result<PolicyOutput, PlayError> {
        let request = self.request(asked)?;
        let (began, mut wait) = (Instant::now(), LOOK_MS);
        loop {
            match self.client.act(self.policy, &request).await {
                Ok(answer) => {
                    self.serve_jobs.lock().await.cold_since = None;
                    *self.waiting.lock() = None;
                    return read(self.policy, answer);
                }
                Err(error) if error.code() == Some(Code::PolicyCold) => self.warm().await?,
                Err(error) if is_busy(&error) && began.elapsed() < Duration::from_millis(BUSY_MS_MAX) => {}
                Err(error) => return Err(refused(error)),
            }
            tokio::time::sleep(Duration::from_millis(wait)).await;
            wait = (wait * 2).min(LOOK_MS_MAX);
        }
    }

    /// The policy that answers.
    pub(super) const fn policy(&self) -> PolicyId {
        self.policy
    }

    /// The form of actions in the text of a language model.
    pub(super) const fn tool_format(&self) -> Option<ToolFormat> {
        self.tool_format
    }

    /// Cause for which it cannot answer yet.
    pub(super) fn waiting(&self) -> Option<String> {
        self.waiting.lock().clone()
    }

    /// Cancels the `serve` job that was made here.
    pub async fn end(&self) {
        if let Some(job) = self.serve_jobs.lock().await.last.take() {
            // Where this fails, the job ends by itself for want of requests.
            let _ = self.client.cancel_job(job).await;
        }
    }

    fn request(&self, asked: &PolicyInput<'_>) -> Result<ActRequest, PlayError> {
        #[expect(clippy::cast_possible_truncation, reason = "the wire carries single precision")]
        let temperature = self.sampling.temperature as f32;
        let request = ActRequest {
            messages: Vec::new(),
            tools: Vec::new(),
            observation: None,
            max_tokens: Some(self.sampling.max_tokens),
            temperature: Some(temperature),
            seed: Some(asked.seed),
            tool_format: self.sampling.tool_format,
        };
        if self.over_vectors {
            let numbers = numbers(asked.data).ok_or_else(|| {
                PlayError::Policy(
                    "the policy acts on vectors, and nothing here is one: choose a language model".to_owned(),
                )
            })?;
            return Ok(ActRequest { observation: Some(numbers), ..request });
        }
        Ok(ActRequest {
            messages: asked.conversation.messages().to_vec(),
            tools: asked.conversation.tools().to_vec(),
            ..request
        })
    }

    /// Sees to it that a worker serves the policy.
    async fn warm(&self) -> Result<(), PlayError> {
        let mut serve_jobs = self.serve_jobs.lock().await;
        let since = *serve_jobs.cold_since.get_or_insert_with(Instant::now);
        let job = match serve_jobs.last {
            Some(job) => self.client.job(job).await?,
            None => self.queue(&mut serve_jobs).await?,
        };
        match job.state {
            JobState::Succeeded => {
                self.queue(&mut serve_jobs).await?;
                Ok(())
            }
            JobState::Failed => {
                let why = job.error.map_or_else(String::new, |error| format!(": {}", error.detail));
                Err(PlayError::Policy(format!(
                    "{} cannot be served (job {}){why}; look at that job",
                    self.policy, job.id
                )))
            }
            JobState::Cancelled => {
                Err(PlayError::Policy(format!("job {}, which served {}, was cancelled: retry it", job.id, self.policy)))
            }
            JobState::Queued | JobState::Running if since.elapsed() > Duration::from_millis(COLD_MS_MAX) => {
                let seconds = COLD_MS_MAX / 1_000;
                let why = job.waiting.map_or_else(String::new, |why| format!(": {why}"));
                Err(PlayError::Unavailable(format!(
                    "no trainer served {} within {seconds} s (job {}){why}; start one with `palestra-trainer work`",
                    self.policy, job.id
                )))
            }
            JobState::Queued | JobState::Running => {
                let what = job.waiting.unwrap_or_else(|| "the trainer loads it".to_owned());
                *self.waiting.lock() = Some(format!("{} waits: {what}", self.policy));
                Ok(())
            }
        }
    }

    async fn queue(&self, serve_jobs: &mut ServeJobs) -> Result<Job, PlayError> {
        if serve_jobs.jobs >= SERVE_JOBS_MAX {
            let detail = format!(
                "{SERVE_JOBS_MAX} jobs that served {} ended while it was needed: look at those jobs",
                self.policy
            );
            return Err(PlayError::Unavailable(detail));
        }
        let id = derived_id(self.owner, self.policy, serve_jobs.jobs);
        let spec =
            Serve { policy: self.policy, batch_max: SERVED_AT_ONCE_MAX, idle_ms: Some(IDLE_MS), tool_format: None };
        let request = CreateJob {
            id: Some(id),
            kind: JobKind::Serve,
            spec: serde_json::to_value(spec).map_err(|error| PlayError::Policy(error.to_string()))?,
            priority: 0,
            resources: Resources::default(),
            after: Vec::new(),
            attempts_max: None,
            metadata: Map::from_iter([("for".to_owned(), json!(self.owner.as_simple().to_string()))]),
        };
        let job = self.client.create_job(&request, None).await?;
        serve_jobs.jobs += 1;
        serve_jobs.last = Some(id);
        Ok(job)
    }
}

/// An id that the same player gives again, so that a request that is repeated makes one job. It begins with the owner's time, so that jobs
/// are listed in the order of their times.
fn derived_id(owner: Uuid, policy: PolicyId, number: u32) -> JobId {
    let mut hasher = Sha256::new();
    hasher.update(owner.as_bytes());
    hasher.update(policy.uuid().as_bytes());
    hasher.update(number.to_le_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize()[..16]);
    bytes[..TIME_BYTES].copy_from_slice(&owner.as_bytes()[..TIME_BYTES]);
    JobId::from(Builder::from_bytes(bytes).with_version(Version::SortRand).with_variant(Variant::RFC4122).into_uuid())
}

fn is_busy(error: &ClientError) -> bool {
    matches!(error.code(), Some(Code::PolicyBusy | Code::TooManyRequests))
}

/// The form of actions that a policy keeps; the usual one where it keeps none.
async fn kept_format(client: &Client, policy: &Policy) -> Result<ToolFormat, PlayError> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Manifest {
        tool_format: ToolFormat,
    }
    if !policy.files.iter().any(|file| file.name == MANIFEST) {
        return Ok(ToolFormat::default());
    }
    let mut bytes = Vec::new();
    client.download_policy_file(policy.id, MANIFEST, &mut bytes).await?;
    // Whoever serves the policy refuses one that cannot be read.
    Ok(serde_json::from_slice::<Manifest>(&bytes).unwrap_or_default().tool_format)
}

/// A fault of the policy itself ends everything; a failed answer may go well in the next episode.
fn refused(error: ClientError) -> PlayError {
    match error.code() {
        Some(Code::NotFound | Code::Forbidden | Code::Unauthorized) => PlayError::Client(error),
        Some(_) => PlayError::Turn(error.to_string()),
        None => PlayError::Client(error),
    }
}

fn read(policy: PolicyId, answer: ActAnswer) -> Result<PolicyOutput, PlayError> {
    let cut = u64::from(answer.finish_reason == CUT);
    let tokens = Tokens { prompt: answer.prompt_tokens, completion: answer.token_ids.len() as u64, cut };
    let meta = Some(meta(policy, &answer));
    let action: Action = serde_json::from_value(answer.action)
        .map_err(|error| PlayError::Turn(format!("the policy answered no action: {error}")))?;
    Ok(PolicyOutput { action, tokens, meta })
}

/// The record beside a step: policy, sampled tokens and their log-probabilities. Of an answer that is too long for that,
/// how long it was.
fn meta(policy: PolicyId, answer: &ActAnswer) -> Value {
    let whole = json!({
        "policy": policy, "token_ids": answer.token_ids, "logprobs": answer.logprobs,
        "prompt_tokens": answer.prompt_tokens, "finish_reason": answer.finish_reason,
    });
    if whole.to_string().len() <= META_BYTES_MAX {
        return whole;
    }
    json!({
        "policy": policy, "omitted_tokens": answer.token_ids.len(), "prompt_tokens": answer.prompt_tokens,
        "finish_reason": answer.finish_reason,
    })
}

/// The vector that an observation holds: the whole of `data`, or its field `vector`.
fn numbers(data: &Value) -> Option<Vec<f32>> {
    let listed = data.as_array().or_else(|| data["vector"].as_array())?;
    #[expect(clippy::cast_possible_truncation, reason = "policies compute in single precision")]
    listed.iter().map(|number| number.as_f64().map(|number| number as f32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_player_names_its_jobs_alike_and_others_otherwise() {
        let (owner, policy) = (Uuid::from_u128(7), PolicyId::from(Uuid::from_u128(9)));
        let id = derived_id(owner, policy, 0);
        assert_eq!(id, derived_id(owner, policy, 0));
        assert_ne!(id, derived_id(owner, policy, 1));
        assert_ne!(id, derived_id(Uuid::from_u128(8), policy, 0));
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn a_vector_is_the_data_or_a_field_of_it() {
        assert_eq!(numbers(&json!([1, 0.5])), Some(vec![1.0, 0.5]));
        assert_eq!(numbers(&json!({"vector": [2]})), Some(vec![2.0]));
        assert_eq!(numbers(&json!({"count": 1})), None);
        assert_eq!(numbers(&json!(["a"])), None);
    }

    fn answer(action: Value, tokens: u32) -> ActAnswer {
        ActAnswer {
            action,
            token_ids: (0..tokens).collect(),
            logprobs: vec![-0.5; tokens as usize],
            prompt_tokens: 5,
            prompt_token_ids: Vec::new(),
            finish_reason: "stop".to_owned(),
        }
    }

    #[test]
    fn what_is_no_action_fails_the_turn_alone() {
        let policy = PolicyId::new();
        let answered = read(policy, answer(json!({"text": "4"}), 2)).unwrap();
        assert_eq!(answered.tokens, Tokens { prompt: 5, completion: 2, cut: 0 });
        assert!(matches!(read(policy, answer(json!({"say": "4"}), 2)), Err(PlayError::Turn(_))));
    }

    #[test]
    fn what_was_sampled_is_recorded_as_far_as_it_fits() {
        let policy = PolicyId::new();
        let recorded = meta(policy, &answer(json!({"text": "4"}), 2));
        assert_eq!((&recorded["policy"], &recorded["token_ids"]), (&json!(policy), &json!([0, 1])));
        assert_eq!(recorded["logprobs"], json!([-0.5, -0.5]));
        let long = meta(policy, &answer(json!({"text": "4"}), 32_768));
        assert_eq!((&long["omitted_tokens"], long.get("token_ids")), (&json!(32_768), None));
        assert_eq!(Tokens::recorded(&recorded), Tokens { prompt: 5, completion: 2, cut: 0 });
        assert_eq!(Tokens::recorded(&long), Tokens { prompt: 5, completion: 32_768, cut: 0 });
        assert!(long.to_string().len() <= META_BYTES_MAX);
    }
}
