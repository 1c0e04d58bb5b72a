//! One call, from its request to its row.

use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use palestra_protocol::id::{CallId, PolicyId};
use palestra_protocol::model_call::{CallKind, CallOutcome};
use palestra_protocol::upstream::Dialect;
use palestra_protocol::worker::ActRequest;
use palestra_session::SessionError;
use palestra_store::row::ModelCallRow;
use reqwest::Response;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::timeout;

use super::dialect::{self, Answer, Asked, Assembly, Part, refusal_event};
use super::meter::Running;
use super::policy;
use super::sse::{Splitter, data};
use super::target::Target;
use super::{BrokenOff, CallError, CallRequest, ModelCalls, Reply, ReplyBody};

/// Bytes of an answer.
const ANSWER_BYTES_MAX: usize = 32 << 20;
/// Bytes of a refusal that are read.
const REFUSAL_BYTES_MAX: usize = 64 << 10;
/// Parts of an answer that wait for their reader.
const PARTS_QUEUED_MAX: usize = 64;
/// Characters of an answer that an error quotes.
const EXCERPT_CHARACTERS_MAX: usize = 300;
/// Stands where the key of an upstream stood.
const HIDDEN: &[u8] = b"***";

/// Headers that version a dialect.
const PASSED_ON: [HeaderName; 4] = [
    HeaderName::from_static("anthropic-version"),
    HeaderName::from_static("anthropic-beta"),
    HeaderName::from_static("openai-beta"),
    HeaderName::from_static("x-goog-api-client"),
];
const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");
const ANTHROPIC_VERSION_DEFAULT: HeaderValue = HeaderValue::from_static("2023-06-01");
const ANTHROPIC_KEY: HeaderName = HeaderName::from_static("x-api-key");
const GEMINI_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
const POLICY_VERSION: HeaderName = HeaderName::from_static("x-policy-version");
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
    let in_session = calls.begin_in_session(session, &standing).await?;
    let on_upstream = target.meter.begin(&target.most()).map_err(|reached| {
        CallError::Limit(format!("the upstream {} has reached its budget of {reached}: put it again", target.name))
    })?;
    let model = target.model(&asked.model).unwrap_or(&asked.model).to_owned();
    let way = match policy {
        Some(policy) => Way::Policy(policy, policy::read(&asked.body)?),
        None => Way::Upstream(target.address(kind, &model, asked.streamed).map_err(CallError::Upstream)?, headers),
    };
    let hide_usage = policy.is_none() && dialect::prepare(kind, &mut asked, &model, &target.definition.extra);
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

    /// Sends the request; answers once the head of a good answer is there.
    async fn send(&mut self, address: &Uri, headers: &HeaderMap) -> Result<Response, End> {
        if let Some(slots) = &self.target.slots {
            self.slot = Arc::clone(slots).acquire_owned().await.ok();
        }
        let target = &self.target;
        let mut request = self.calls.http()?.post(address.to_string()).header(CONTENT_TYPE, JSON);
        for name in &PASSED_ON {
            if let Some(value) = headers.get(name) {
                request = request.header(name, value);
            }
        }
        if self.row.streamed {
            request = request.header(ACCEPT, EVENT_STREAM);
        }
        let dialect = self.row.kind.dialect();
        if dialect == Dialect::Anthropic && !headers.contains_key(&ANTHROPIC_VERSION) {
            request = request.header(ANTHROPIC_VERSION, ANTHROPIC_VERSION_DEFAULT);
        }
        if let Some(key) = &target.key {
            let name = match dialect {
                Dialect::Openai => AUTHORIZATION,
                Dialect::Anthropic => ANTHROPIC_KEY,
                Dialect::Gemini => GEMINI_KEY,
            };
            request = request.header(name, key.clone());
        }
        let sending = request.body(self.row.request.clone()).send();
        let response = timeout(target.silence(), sending).await.map_err(|_| self.late())?;
        let mut response = response.map_err(|error| self.unreachable(error))?;
        let version = response.headers().get(POLICY_VERSION).and_then(|version| version.to_str().ok());
        self.row.policy_version = version.map(str::to_owned);
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refusal(&mut response).await)
    }

    /// A refusal of the upstream, as its client reads it.
    async fn refusal(&self, response: &mut Response) -> End {
        let status = response.status();
        let name = &self.target.name;
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            // The caller's own credential is good.
            return upstream(format!("the upstream {name} refused its key ({status}): put the upstream with another"))
                .into();
        }
        if !status.is_client_error() && !status.is_server_error() {
            return upstream(format!("the upstream {name} answered {status}: give the address that it leads to"))
                .into();
        }
        let mut body = BytesMut::new();
        while let Ok(Ok(Some(chunk))) = timeout(self.target.silence(), response.chunk()).await {
            if body.len() + chunk.len() > REFUSAL_BYTES_MAX {
                return upstream(format!(
                    "the upstream {name} refused the call ({status}) in a great many words: look at its log"
                ))
                .into();
            }
            body.extend_from_slice(&chunk);
        }
        let body = self.without_key(body.freeze());
        if serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&body).is_err() {
            let told: String = String::from_utf8_lossy(&body).chars().take(EXCERPT_CHARACTERS_MAX).collect();
            return upstream(format!("the upstream {name} refused the call ({status}), look at its log: {told}"))
                .into();
        }
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON)]);
        headers.extend(response.headers().get(RETRY_AFTER).map(|after| (RETRY_AFTER, after.clone())));
        End::Refused { status, headers, body }
    }

    async fn read_whole(&mut self, mut response: Response) -> Result<(Answer, Bytes), End> {
        let mut first: Option<Bytes> = None;
        let mut rest = BytesMut::new();
        while let Some(chunk) = self.chunk(&mut response).await? {
            if first.as_ref().map_or(0, Bytes::len) + rest.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(self.too_large().into());
            }
            match &first {
                None => first = Some(chunk),
                Some(_) => rest.extend_from_slice(&chunk),
            }
        }
        let first = first.unwrap_or_default();
        let body = if rest.is_empty() { first } else { Bytes::from([&first[..], &rest[..]].concat()) };
        let body = self.without_key(body);
        let answer = dialect::read_answer(self.row.kind, &body).map_err(|wrong| self.no_answer(&wrong))?;
        Ok((answer, body))
    }

    async fn chunk(&mut self, response: &mut Response) -> Result<Option<Bytes>, CallError> {
        let chunk = timeout(self.target.silence(), response.chunk()).await.map_err(|_| self.late())?;
        let chunk = chunk.map_err(|error| {
            let (name, told) = (&self.target.name, causes(&error.without_url()));
            upstream(format!(
                "the upstream {name} broke off in the middle of its answer ({told}): try again, or look at its log"
            ))
        })?;
        if self.row.first_us.is_none() {
            self.row.first_us = Some(self.elapsed_us());
        }
        Ok(chunk)
    }

    /// Passes an answer on in its parts, and records it before the last.
    async fn pass_parts(mut self, response: Response, told: Told) {
        let (parts, body) = mpsc::channel(PARTS_QUEUED_MAX);
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, EVENT_STREAM)]);
        let reply = Reply { id: self.row.id, status: StatusCode::OK, headers, body: ReplyBody::Parts(body) };
        if told.send(Ok(reply)).is_err() {
            return self.record_lost().await;
        }
        let mut assembly = Assembly::new(self.row.kind, self.hide_usage);
        let calls = self.calls.clone();
        let passed = tokio::select! {
            () = parts.closed() => Err(End::Gone),
            () = calls.0.stop.cancelled() => Err(stopping()),
            passed = self.read_parts(response, &mut assembly, &parts) => passed,
        };
        let (last, complete) = match passed {
            Ok(last) => match assembly.finish() {
                Ok(answer) => {
                    self.completed(answer);
                    (last, true)
                }
                Err(wrong) => (self.broke_off(&self.no_answer(&wrong)), false),
            },
            Err(End::Gone) => {
                // As far as it came.
                if let Ok(answer) = assembly.finish() {
                    self.spend(&answer);
                    self.row.response = serde_json::to_string(&answer.body).ok();
                }
                return self.record_lost().await;
            }
            Err(End::Failed(error)) => (self.broke_off(&error), false),
            Err(End::Refused { .. }) => {
                (self.broke_off(&upstream("the upstream refused the call: look at its log".to_owned())), false)
            }
        };
        let (kind, recorded) = (self.row.kind, self.record().await);
        let (last, complete) = match recorded {
            Ok(()) => (last, complete),
            Err(error) => (refusal_event(kind, "not_recorded", &error.to_string()).into(), false),
        };
        // A caller who is gone meanwhile needs no answer.
        let _gone = parts.send(Ok(last)).await;
        if !complete {
            let _gone = parts.send(Err(BrokenOff)).await;
        }
    }

    /// Passes parts on as they come, but for those that complete the answer.
    async fn read_parts(
        &mut self,
        mut response: Response,
        assembly: &mut Assembly,
        parts: &mpsc::Sender<Result<Bytes, BrokenOff>>,
    ) -> Result<Bytes, End> {
        let (mut splitter, mut held, mut read) = (Splitter::default(), BytesMut::new(), 0);
        loop {
            let chunk = self.chunk(&mut response).await?;
            let ended = chunk.is_none();
            let mut events = Vec::new();
            match chunk {
                Some(chunk) => {
                    read += chunk.len();
                    if read > ANSWER_BYTES_MAX {
                        return Err(self.too_large().into());
                    }
                    splitter.push(&chunk);
                    while let Some(event) = splitter.next().map_err(|error| upstream(error.to_string()))? {
                        events.push(event);
                    }
                }
                None => events.extend(std::mem::take(&mut splitter).rest()),
            }
            let mut passed = BytesMut::new();
            for event in events {
                let part = match data(&event) {
                    Some(data) => assembly.take(&data).map_err(upstream)?,
                    None => Part::Pass,
                };
                match part {
                    Part::Drop => {}
                    Part::Last => held.extend_from_slice(&event),
                    Part::Pass if held.is_empty() => passed.extend_from_slice(&event),
                    Part::Pass => held.extend_from_slice(&event),
                }
            }
            if !passed.is_empty() && parts.send(Ok(self.without_key(passed.freeze()))).await.is_err() {
                return Err(End::Gone);
            }
            if ended || (assembly.is_complete() && self.row.kind != CallKind::GenerateContent) {
                break;
            }
        }
        if assembly.is_complete() {
            Ok(self.without_key(held.freeze()))
        } else {
            Err(upstream(format!(
                "the upstream {} broke off in the middle of its answer: try again, or look at its log",
                self.target.name
            ))
            .into())
        }
    }

    /// Notes that an answer broke off; the event that says so.
    fn broke_off(&mut self, error: &CallError) -> Bytes {
        self.failed(status_of(error), error.to_string());
        refusal_event(self.row.kind, "upstream_failed", &error.to_string()).into()
    }

    /// The same bytes without the key of the upstream, which one that echoes requests would show.
    fn without_key(&self, bytes: Bytes) -> Bytes {
        let Some(secret) = self.target.secret.as_deref().filter(|secret| !secret.is_empty()) else { return bytes };
        let finder = memchr::memmem::Finder::new(secret);
        let Some(mut at) = finder.find(&bytes) else { return bytes };
        let (mut clean, mut from) = (BytesMut::with_capacity(bytes.len()), 0);
        loop {
            clean.extend_from_slice(&bytes[from..at]);
            clean.extend_from_slice(HIDDEN);
            from = at + secret.len();
            match finder.find(&bytes[from..]) {
                Some(next) => at = from + next,
                None => break,
            }
        }
        clean.extend_from_slice(&bytes[from..]);
        clean.freeze()
    }

    fn late(&self) -> CallError {
        let (name, silence) = (&self.target.name, self.target.silence().as_millis());
        CallError::Late(format!(
            "the upstream {name} was silent for {silence} ms: raise its silence_max_ms, or look at it"
        ))
    }

    fn unreachable(&self, error: reqwest::Error) -> CallError {
        let (name, told) = (&self.target.name, causes(&error.without_url()));
        upstream(format!("the upstream {name} cannot be reached ({told}): check its URL"))
    }

    fn too_large(&self) -> CallError {
        upstream(format!(
            "the answer of the upstream {} is larger than {ANSWER_BYTES_MAX} bytes: ask for fewer tokens",
            self.target.name
        ))
    }

    fn no_answer(&self, wrong: &str) -> CallError {
        let name = &self.target.name;
        upstream(format!(
            "the upstream {name} answered otherwise than its dialect does, check its URL and dialect: {wrong}"
        ))
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
        CallError::Session(_) | CallError::Policy(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_GATEWAY,
    }
}

/// An error with its causes, the last of which says what happened.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(&format!(": {cause}"));
        next = cause.source();
    }
    text
}
