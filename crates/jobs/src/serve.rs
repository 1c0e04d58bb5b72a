//! Requests to policies and the workers that serve them. Workers pull requests, so that none has to be reachable.
//!
//! All state is in memory: a request waits no longer than its caller, and a worker that lost its lease answers nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::JobError;
use palestra_protocol::problem::Fault;
use palestra_protocol::spec::Spec;
use palestra_protocol::worker::{ActAnswer, ActRequest, Exchange, Exchanged, Heartbeat, ServedAnswer, ServedRequest};
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::change::LEASE_LOST;
use super::error::fault;
use super::reach::spec_of;
use super::report::lease_state;
use super::{Jobs, JobsError, WorkerScope};
use palestra_store::Tenant;

/// Requests that wait for one policy.
const QUEUE_REQUESTS_MAX: usize = 256;
/// Requests of one policy that workers fetched and have not answered.
const DISPATCHED_REQUESTS_MAX: usize = 4_096;
/// Requests or answers of one exchange.
const EXCHANGE_MAX: usize = 1_024;
/// Longest that an exchange waits for a request.
const WAIT_MS_MAX: u64 = 30_000;
/// Messages of one request.
const MESSAGES_MAX: usize = 10_000;
/// Tools of one request.
const TOOLS_MAX: usize = 1_000;
/// Numbers of an observation.
const OBSERVATION_NUMBERS_MAX: usize = 1 << 20;
/// Tokens of an answer.
const TOKENS_MAX: u32 = 32_768;
/// Highest temperature.
const TEMPERATURE_MAX: f32 = 10.0;
/// The number of times that a waiting exchange checks its lease within the duration of one.
const LOOKS_PER_LEASE: u64 = 4;

/// The code by which a worker refuses a request for what its caller wrote.
const BAD_REQUEST: &str = "bad_request";

type Reply = oneshot::Sender<Result<ActAnswer, JobsError>>;

/// Requests by policy, and the workers that serve each.
#[derive(Default)]
pub(super) struct PolicyRequests(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The number of the last request.
    number: u64,
    queues: HashMap<PolicyId, PolicyQueue>,
}

#[derive(Default)]
struct PolicyQueue {
    waiting: VecDeque<Waiting>,
    dispatched: HashMap<u64, Dispatched>,
    servers: HashMap<JobId, Server>,
    /// Notifies workers that wait for requests.
    news: Arc<Notify>,
}

struct Waiting {
    number: u64,
    request: ActRequest,
    reply: Reply,
}

struct Dispatched {
    job: JobId,
    reply: Reply,
}

/// A worker that serves a policy.
struct Server {
    fence: u64,
    /// The time until which it counts as alive.
    until: Instant,
}

/// The lease of a worker that serves a policy.
#[derive(Clone, Copy)]
struct ServingLease {
    policy: PolicyId,
    job: JobId,
    fence: u64,
}

impl PolicyQueue {
    /// Removes servers for which `gone` holds, and fails the requests that they fetched. Without servers, all waiting requests fail.
    fn drop_servers(&mut self, gone: impl Fn(JobId, &Server) -> bool) {
        self.servers.retain(|job, server| !gone(*job, server));
        let lost: Vec<u64> = self
            .dispatched
            .iter()
            .filter(|(_, dispatched)| !self.servers.contains_key(&dispatched.job))
            .map(|(number, _)| *number)
            .collect();
        for number in lost {
            if let Some(dispatched) = self.dispatched.remove(&number) {
                let detail = "the worker that serves the policy lost its lease: send the request again".to_owned();
                let _gone = dispatched
                    .reply
                    .send(Err(JobsError::ServeFailed(JobError { code: LEASE_LOST.to_owned(), detail })));
            }
        }
        if self.servers.is_empty() {
            for waiting in self.waiting.drain(..) {
                let _gone = waiting.reply.send(Err(JobsError::PolicyCold));
            }
        }
    }
}

impl PolicyRequests {
    /// Queues a request, if a worker serves the policy.
    fn enqueue(&self, policy: PolicyId, request: ActRequest, reply: Reply) -> Result<(), JobsError> {
        let mut inner = self.0.lock();
        inner.number += 1;
        let number = inner.number;
        let now = Instant::now();
        let queue = inner.queues.get_mut(&policy).ok_or(JobsError::PolicyCold)?;
        if !queue.servers.values().any(|server| server.until > now) {
            return Err(JobsError::PolicyCold);
        }
        if queue.waiting.len() >= QUEUE_REQUESTS_MAX {
            queue.waiting.retain(|waiting| !waiting.reply.is_closed());
        }
        if queue.waiting.len() >= QUEUE_REQUESTS_MAX {
            return Err(JobsError::Busy(QUEUE_REQUESTS_MAX));
        }
        queue.waiting.push_back(Waiting { number, request, reply });
        queue.news.notify_waiters();
        Ok(())
    }

    /// Registers a worker as alive; returns its notification. A worker under an earlier lease of the job is removed.
    fn register(&self, serving: ServingLease, lease: Duration) -> Arc<Notify> {
        let mut inner = self.0.lock();
        let queue = inner.queues.entry(serving.policy).or_default();
        if queue.servers.get(&serving.job).is_some_and(|server| server.fence != serving.fence) {
            queue.drop_servers(|job, _| job == serving.job);
        }
        queue.servers.insert(serving.job, Server { fence: serving.fence, until: Instant::now() + lease });
        Arc::clone(&queue.news)
    }

    /// Passes answers to the callers. Answers to requests that nobody waits for, or that another worker fetched, are ignored.
    fn answer(&self, serving: ServingLease, answers: Vec<ServedAnswer>) {
        let mut inner = self.0.lock();
        let Some(queue) = inner.queues.get_mut(&serving.policy) else { return };
        for ServedAnswer { number, answer, error } in answers {
            if queue.dispatched.get(&number).is_none_or(|dispatched| dispatched.job != serving.job) {
                continue;
            }
            let Some(dispatched) = queue.dispatched.remove(&number) else { continue };
            let missing = || JobError {
                code: "internal".to_owned(),
                detail: "the worker sent neither answer nor error".to_owned(),
            };
            let done = answer.ok_or_else(|| match error.unwrap_or_else(missing) {
                error if error.code == BAD_REQUEST => fault("request", error.detail),
                error => JobsError::ServeFailed(error),
            });
            let _gone = dispatched.reply.send(done);
        }
    }

    /// Takes requests from the queue, in order of arrival.
    fn take(&self, serving: ServingLease, most: usize) -> Vec<ServedRequest> {
        let mut inner = self.0.lock();
        let Some(queue) = inner.queues.get_mut(&serving.policy) else { return Vec::new() };
        queue.dispatched.retain(|_, dispatched| !dispatched.reply.is_closed());
        let most = most.min(DISPATCHED_REQUESTS_MAX.saturating_sub(queue.dispatched.len()));
        let mut requests = Vec::new();
        while requests.len() < most {
            let Some(Waiting { number, request, reply }) = queue.waiting.pop_front() else { break };
            if !reply.is_closed() {
                queue.dispatched.insert(number, Dispatched { job: serving.job, reply });
                requests.push(ServedRequest { number, request });
            }
        }
        requests
    }

    /// Removes the worker of a job whose lease ended.
    pub(super) fn drop_server(&self, job: JobId) {
        let mut inner = self.0.lock();
        for queue in inner.queues.values_mut().filter(|queue| queue.servers.contains_key(&job)) {
            queue.drop_servers(|server, _| server == job);
        }
    }

    /// Removes workers that are not alive, and policies that no worker serves.
    pub(super) fn remove_expired(&self) {
        let now = Instant::now();
        let mut inner = self.0.lock();
        inner.queues.retain(|_, queue| {
            queue.drop_servers(|_, server| server.until <= now);
            !queue.servers.is_empty()
        });
    }
}

fn check_act(request: &ActRequest) -> Result<(), JobsError> {
    let mut faults = Vec::new();
    let mut unless = |holds: bool, field: &str, detail: String| {
        if !holds {
            faults.push(Fault { field: Some(field.to_owned()), detail, ..Fault::default() });
        }
    };
    let one = request.messages.is_empty() != request.observation.is_none();
    unless(one, "messages", "give messages, or an observation in their place".to_owned());
    unless(request.messages.len() <= MESSAGES_MAX, "messages", format!("at most {MESSAGES_MAX}"));
    unless(request.tools.len() <= TOOLS_MAX, "tools", format!("at most {TOOLS_MAX}"));
    let numbers = request.observation.as_ref().is_none_or(|numbers| {
        (1..=OBSERVATION_NUMBERS_MAX).contains(&numbers.len()) && numbers.iter().all(|number| number.is_finite())
    });
    unless(numbers, "observation", format!("must be 1 to {OBSERVATION_NUMBERS_MAX} finite numbers"));
    let tokens = request.max_tokens.is_none_or(|tokens| (1..=TOKENS_MAX).contains(&tokens));
    unless(tokens, "max_tokens", format!("must be 1 to {TOKENS_MAX}"));
    let temperature = request.temperature.is_none_or(|value| (0.0..=TEMPERATURE_MAX).contains(&value));
    unless(temperature, "temperature", format!("must be 0 to {TEMPERATURE_MAX}"));
    if faults.is_empty() { Ok(()) } else { Err(JobsError::Invalid(faults)) }
}

impl Jobs {
    /// Asks a policy to act.
    ///
    /// # Errors
    /// [`JobsError::PolicyCold`] when no worker serves it, [`JobsError::Busy`] when too many wait already; when it fails or
    /// does not answer in time.
    pub async fn act(&self, tenant: &Tenant, policy: PolicyId, request: ActRequest) -> Result<ActAnswer, JobsError> {
        check_act(&request)?;
        self.0.store.policy(tenant, policy).await?.ok_or(JobsError::NotFound("policy"))?;
        let (reply, answer) = oneshot::channel();
        self.0.policy_requests.enqueue(policy, request, reply)?;
        let timeout_ms = self.0.settings.act_ms_max;
        tokio::select! {
            answered = tokio::time::timeout(Duration::from_millis(timeout_ms), answer) => match answered {
                Ok(Ok(done)) => done,
                Ok(Err(_)) => Err(JobsError::PolicyCold),
                Err(_) => Err(JobsError::TimedOut(timeout_ms)),
            },
            () = self.0.cancel.cancelled() => Err(JobsError::PolicyCold),
        }
    }

    /// Accepts answers and returns requests, for the worker of a job of kind `serve`. Extends the lease.
    ///
    /// # Errors
    /// [`JobsError::LeaseLost`] when the lease is not held any more; when the job is of another kind, or a number is above its limit.
    pub async fn exchange(&self, scope: &WorkerScope, id: JobId, exchange: Exchange) -> Result<Exchanged, JobsError> {
        let Exchange { fence, answers, take, wait_ms } = exchange;
        let take = usize::try_from(take).unwrap_or(usize::MAX);
        if answers.len() > EXCHANGE_MAX || take > EXCHANGE_MAX || wait_ms > WAIT_MS_MAX {
            return Err(fault("take", format!("at most {EXCHANGE_MAX} requests and answers, and {WAIT_MS_MAX} ms")));
        }
        let stored = self.0.store.stored_job(id).await?.filter(|stored| scope.covers(&stored.row.tenant));
        let stored = stored.ok_or(JobsError::NotFound("job"))?;
        if !stored.row.is_held(fence) {
            return Err(JobsError::LeaseLost);
        }
        let Some(Spec::Serve(serve)) = spec_of(&stored) else {
            return Err(fault("fence", "only a job of kind serve serves a policy: leave it out"));
        };
        let serving = ServingLease { policy: serve.policy, job: id, fence };
        self.0.policy_requests.answer(serving, answers);
        let deadline = Instant::now() + Duration::from_millis(wait_ms);
        let lease = Duration::from_millis(self.0.settings.lease_ms);
        let watch = self.0.watches.subscribe(id);
        loop {
            let changed = watch.changed().notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let held = self.extend(scope, id, fence).await?;
            let queue = self.0.policy_requests.register(serving, lease);
            let news = queue.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            // No await between this and the return of requests, so that none is lost.
            let requests = self.0.policy_requests.take(serving, take);
            let now = Instant::now();
            if !requests.is_empty() || take == 0 || held.cancel || now >= deadline || self.0.cancel.is_cancelled() {
                let wanted = requests.is_empty() && self.is_wanted(id).await?;
                return Ok(Exchanged { requests, expires_at: held.expires_at, cancel: held.cancel, wanted });
            }
            let look = Duration::from_millis(self.0.settings.lease_ms / LOOKS_PER_LEASE);
            tokio::select! {
                () = &mut news => {}
                () = &mut changed => {}
                () = tokio::time::sleep_until(deadline.min(now + look)) => {}
                () = self.0.cancel.cancelled() => {}
            }
        }
    }

    /// True if a job waits that the worker of this one could begin.
    async fn is_wanted(&self, id: JobId) -> Result<bool, JobsError> {
        match self.0.workers.alternatives(id, self.0.clock.now()) {
            Some(filter) => Ok(!self.0.store.job_candidates(&filter).await?.is_empty()),
            None => Ok(false),
        }
    }

    /// Extends a lease, but only once a part of it has passed.
    async fn extend(
        &self,
        scope: &WorkerScope,
        id: JobId,
        fence: u64,
    ) -> Result<palestra_protocol::worker::Held, JobsError> {
        let row = self.0.store.job(id).await?.filter(|row| row.is_held(fence));
        let held = lease_state(&row.ok_or(JobsError::LeaseLost)?)?;
        let lease_ms = self.0.settings.lease_ms;
        let fresh = self.0.clock.now().plus_ms(lease_ms - lease_ms / LOOKS_PER_LEASE);
        if held.expires_at > fresh {
            return Ok(held);
        }
        self.heartbeat(scope, id, Heartbeat { fence, progress: None }).await
    }
}
