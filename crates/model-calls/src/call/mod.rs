//! One call, from its request to its row: `send` asks the upstream, `parts` passes on an answer that comes in parts.

mod parts;
mod send;

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use palestra_jobs::JobsError;
use palestra_protocol::id::{CallId, PolicyId};
use palestra_protocol::model_call::CallOutcome;
use palestra_protocol::worker::ActRequest;
use palestra_session::SessionError;
use palestra_store::row::ModelCallRow;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::dialect::{self, Answer, Asked};
use super::meter::Running;
use super::policy;
use super::target::Target;
use super::{CallError, CallRequest, ModelCalls, Reply, ReplyBody};

/// Bytes of an answer.
const ANSWER_BYTES_MAX: usize = 32 << 20;
/// Characters of an answer that an error quotes.
const EXCERPT_CHARACTERS_MAX: usize = 300;
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// A call that has begun.
struct Call {
    calls: ModelCalls,
    target: Arc<Target>,
    row: ModelCallRow,
    begun: Instant,
    hide_usage: bool,
    /// Of the session and of the upstream.
    running: [Running; 2],
    /// One of those that may run at once.
    slot: Option<OwnedSemaphorePermit>,
}

pub(super) async fn forward(calls: &ModelCalls, request: CallRequest) -> Result<Reply, CallError> {
    let CallRequest { tenant, session, kind, path, headers, body } = request;
    let standing = calls.0.sessions.standing(&tenant, session).await?;
    let mut asked = dialect::read_request(kind, path, &body).map_err(CallError::Malformed)?;
    drop(body);
    // A policy of this server needs no upstream.
    let policy = asked.model.parse::<PolicyId>().ok();
    let target = match policy {
        Some(policy) => policy::target(policy, kind)?,
        None => calls.0.targets.find(&tenant, kind.dialect(), &asked.model).await?,
    };
    let model = target.model(&asked.model).unwrap_or(&asked.model).to_owned();
    let way = match policy {
        Some(policy) => Way::Policy(policy, policy::read(&asked.body)?),
        None => Way::Upstream(target.address(kind, &model, asked.streamed).map_err(CallError::Upstream)?, headers),
    };
    let hide_usage = policy.is_none() && dialect::prepare(kind, &mut asked, &model, &target.definition.extra);
    let mut in_session = calls.begin_in_session(session, &standing).await?;
    let mut on_upstream = target.meter.begin(&target.most()).map_err(|reached| {
        CallError::Limit(format!("the upstream {} has reached its budget of {reached}: put it again", target.name))
    })?;
    // Nothing refuses it any more.
    in_session.take_place();
    on_upstream.take_place();
    let Asked { body, model, streamed } = asked;
    let row = ModelCallRow {
        id: CallId::new(),
        tenant,
        session,
        episode: standing.episode,
        seq: standing.seq,
        kind,
        upstream: target.name.clone(),
        model,
        policy_version: None,
        outcome: CallOutcome::Cancelled,
        status: StatusCode::OK.as_u16(),
        error: None,
        finish_reason: None,
        streamed,
        begun_at: calls.0.clock.now(),
        first_us: None,
        duration_us: 0,
        input_tokens: 0,
        output_tokens: 0,
        cost: 0.0,
        request: serde_json::to_string(&body).unwrap_or_default(),
        response: None,
        prompt_token_ids: None,
        completion_token_ids: None,
        logprobs: None,
    };
    let running = [in_session, on_upstream];
    let call = Call { calls: calls.clone(), target, row, begun: Instant::now(), hide_usage, running, slot: None };
    let (told, reply) = oneshot::channel();
    // On a task of its own: a caller who goes away has its call recorded all the same.
    calls.0.tracker.spawn(call.run(way, told));
    reply.await.unwrap_or_else(|_| Err(CallError::Upstream("the call ended without an answer: try again".to_owned())))
}

/// The other side of a call.
enum Way {
    /// An upstream, at this address, with these headers of the caller.
    Upstream(Uri, HeaderMap),
    /// A policy of this server.
    Policy(PolicyId, ActRequest),
}

/// Why a call ended without a whole answer.
enum End {
    /// Its caller is gone.
    Gone,
    /// The upstream failed it.
    Failed(CallError),
    /// The upstream refused it, in its own words.
    Refused { status: StatusCode, headers: HeaderMap, body: Bytes },
}

impl From<CallError> for End {
    fn from(error: CallError) -> Self {
        Self::Failed(error)
    }
}

type Told = oneshot::Sender<Result<Reply, CallError>>;

impl Call {
    async fn run(mut self, way: Way, mut told: Told) {
        let calls = self.calls.clone();
        let sent = match way {
            Way::Upstream(address, headers) => tokio::select! {
                () = told.closed() => Err(End::Gone),
                () = calls.0.stop.cancelled() => Err(stopping()),
                sent = self.send(&address, &headers) => sent,
            },
            Way::Policy(policy, request) => {
                let answered = tokio::select! {
                    () = told.closed() => Err(End::Gone),
                    () = calls.0.stop.cancelled() => Err(stopping()),
                    answered = self.ask(policy, request) => answered,
                };
                return self.end(answered, told).await;
            }
        };
        let answered = match sent {
            Ok(response) if self.row.streamed => return self.pass_parts(response, told).await,
            Ok(response) => tokio::select! {
                () = told.closed() => Err(End::Gone),
                () = calls.0.stop.cancelled() => Err(stopping()),
                answered = self.read_whole(response) => answered,
            },
            Err(end) => Err(end),
        };
        self.end(answered, told).await;
    }

    /// Records a call whose answer is whole, and hands the answer over.
    async fn end(mut self, answered: Result<(Answer, Bytes), End>, told: Told) {
        let reply = match answered {
            Ok((answer, body)) => {
                self.completed(answer);
                let media_type = if self.row.streamed { EVENT_STREAM } else { JSON };
                self.reply(StatusCode::OK, media_type, body)
            }
            Err(End::Gone) => return self.record_lost().await,
            Err(End::Refused { status, headers, body }) => {
                let told = String::from_utf8_lossy(&body).chars().take(EXCERPT_CHARACTERS_MAX).collect();
                self.failed(status, told);
                Ok(Reply { id: self.row.id, status, headers, body: ReplyBody::Whole(body) })
            }
            Err(End::Failed(error)) => {
                self.failed(status_of(&error), error.to_string());
                Err(error)
            }
        };
        let recorded = self.record().await;
        // A caller who is gone meanwhile needs no answer.
        let _gone = told.send(recorded.map_err(CallError::from).and(reply));
    }

    fn reply(&self, status: StatusCode, media_type: HeaderValue, body: Bytes) -> Result<Reply, CallError> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, media_type)]);
        Ok(Reply { id: self.row.id, status, headers, body: ReplyBody::Whole(body) })
    }

    /// Asks a policy of this server.
    async fn ask(&mut self, policy: PolicyId, request: ActRequest) -> Result<(Answer, Bytes), End> {
        let answered = self.calls.0.jobs.act(&self.row.tenant, policy, request).await.map_err(CallError::from)?;
        self.row.first_us = Some(self.elapsed_us());
        let (answer, body) = policy::completion(policy, answered, self.row.streamed).map_err(upstream)?;
        Ok((answer, body))
    }

    /// The same bytes without the key of the upstream, which one that echoes requests would show.
    fn without_key(&self, bytes: Bytes) -> Bytes {
        let Some(secret) = self.target.secret.as_deref() else { return bytes };
        if memchr::memmem::find(&bytes, secret.as_bytes()).is_none() {
            return bytes;
        }
        // What is no text is refused behind this.
        self.target.without_key(String::from_utf8_lossy(&bytes).into_owned()).into()
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn completed(&mut self, answer: Answer) {
        self.spend(&answer);
        let row = &mut self.row;
        row.outcome = CallOutcome::Completed;
        row.finish_reason = answer.finish_reason;
        row.policy_version = row.policy_version.take().or(answer.policy_version);
        row.response = serde_json::to_string(&answer.body).ok();
        let list = |list: Option<Vec<u32>>| list.and_then(|list| serde_json::to_string(&list).ok());
        row.prompt_token_ids = list(answer.tokens.prompt_token_ids);
        row.completion_token_ids = list(answer.tokens.completion_token_ids);
        row.logprobs = answer.tokens.logprobs.and_then(|list| serde_json::to_string(&list).ok());
    }

    fn spend(&mut self, answer: &Answer) {
        let row = &mut self.row;
        (row.input_tokens, row.output_tokens) = (answer.input_tokens, answer.output_tokens);
        let price = self.target.definition.price;
        row.cost = price.map_or(0.0, |price| price.of(answer.input_tokens, answer.output_tokens));
        for running in &mut self.running {
            running.spend(answer.input_tokens + answer.output_tokens, row.cost);
        }
    }

    fn failed(&mut self, status: StatusCode, told: String) {
        (self.row.outcome, self.row.status, self.row.error) = (CallOutcome::Failed, status.as_u16(), Some(told));
    }

    /// Records a call whose caller is gone.
    async fn record_lost(self) {
        let id = self.row.id;
        if let Err(error) = self.record().await {
            tracing::warn!(call = %id, %error, "a cancelled model call was not recorded");
        }
    }

    async fn record(mut self) -> Result<(), SessionError> {
        self.row.duration_us = self.elapsed_us();
        // Put together, parts may show what none of them did.
        for text in [&mut self.row.response, &mut self.row.error].into_iter().flatten() {
            *text = self.target.without_key(std::mem::take(text));
        }
        let Self { calls, row, running, .. } = self;
        let recorded = calls.0.sessions.record_model_call(row).await;
        // Counted until its row is, so that no call slips past a limit in between.
        drop(running);
        recorded
    }
}

fn stopping() -> End {
    End::Failed(SessionError::Draining.into())
}

fn upstream(told: String) -> CallError {
    CallError::Upstream(told)
}

fn status_of(error: &CallError) -> StatusCode {
    match error {
        CallError::Late(_) => StatusCode::GATEWAY_TIMEOUT,
        CallError::Policy(JobsError::NotFound(_)) => StatusCode::NOT_FOUND,
        CallError::Policy(JobsError::Invalid(_)) => StatusCode::UNPROCESSABLE_ENTITY,
        CallError::Policy(JobsError::Busy(_)) => StatusCode::TOO_MANY_REQUESTS,
        CallError::Policy(JobsError::TimedOut(_)) => StatusCode::GATEWAY_TIMEOUT,
        CallError::Policy(JobsError::ServeFailed(_)) => StatusCode::BAD_GATEWAY,
        CallError::Session(_) | CallError::Policy(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_GATEWAY,
    }
}
