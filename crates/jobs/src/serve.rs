//! Requests to policies, and the workers that answer them: workers come and fetch, so that none has to be reachable.
//!
//! All of it lives in memory: a request waits no longer than its caller, and a worker that lost its lease answers nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::JobError;
use palestra_protocol::problem::Fault;
use palestra_protocol::worker::{ActAnswer, ActRequest, Exchange, Exchanged, Heartbeat, ServedAnswer, ServedRequest};
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::change::LEASE_LOST;
use super::create::served_policy;
use super::error::fault;
use super::report::held;
use super::{Jobs, JobsError, WorkerScope};
use palestra_store::Tenant;

/// Requests that wait for one policy.
const QUEUE_REQUESTS_MAX: usize = 256;
/// Requests of one policy that workers took and have not answered.
const TAKEN_REQUESTS_MAX: usize = 4_096;
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
/// A waiting exchange looks after its lease so often in the time of one.
const LOOKS_PER_LEASE: u64 = 4;

type Reply = oneshot::Sender<Result<ActAnswer, JobsError>>;

/// What waits for policies, and who answers for them.
#[derive(Default)]
pub(super) struct Hub(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// Of the last request.
    number: u64,
    desks: HashMap<PolicyId, Desk>,
}

#[derive(Default)]
struct Desk {
    queue: VecDeque<Waiting>,
    taken: HashMap<u64, Taken>,
    servers: HashMap<JobId, Server>,
    /// Wakes workers that wait for requests.
    news: Arc<Notify>,
}

struct Waiting {
    number: u64,
    request: ActRequest,
    reply: Reply,
}

struct Taken {
    job: JobId,
    reply: Reply,
}

/// A worker that answers for a policy.
struct Server {
    fence: u64,
    /// It is believed to live until then.
    until: Instant,
}

/// A worker that exchanges, and for which policy.
#[derive(Clone, Copy)]
struct At {
    policy: PolicyId,
    job: JobId,
    fence: u64,
}

impl Desk {
    /// Drops servers for which `gone` holds, and fails what they took. Without any left, nobody waits any more.
    fn drop_servers(&mut self, gone: impl Fn(JobId, &Server) -> bool) {
        self.servers.retain(|job, server| !gone(*job, server));
        let lost: Vec<u64> = self
            .taken
            .iter()
            .filter(|(_, taken)| !self.servers.contains_key(&taken.job))
            .map(|(number, _)| *number)
            .collect();
        for number in lost {
            if let Some(taken) = self.taken.remove(&number) {
                let detail = "the worker that answers for the policy lost its lease: ask again".to_owned();
                let _gone =
                    taken.reply.send(Err(JobsError::ServeFailed(JobError { code: LEASE_LOST.to_owned(), detail })));
            }
        }
        if self.servers.is_empty() {
            for waiting in self.queue.drain(..) {
                let _gone = waiting.reply.send(Err(JobsError::PolicyCold));
            }
        }
    }
}

impl Hub {
    /// Queues a request, if somebody answers for the policy.
    fn ask(&self, policy: PolicyId, request: ActRequest, reply: Reply) -> Result<(), JobsError> {
        let mut inner = self.0.lock();
        inner.number += 1;
        let number = inner.number;
        let now = Instant::now();
        let desk = inner.desks.get_mut(&policy).ok_or(JobsError::PolicyCold)?;
        if !desk.servers.values().any(|server| server.until > now) {
            return Err(JobsError::PolicyCold);
        }
        if desk.queue.len() >= QUEUE_REQUESTS_MAX {
            desk.queue.retain(|waiting| !waiting.reply.is_closed());
        }
        if desk.queue.len() >= QUEUE_REQUESTS_MAX {
            return Err(JobsError::Busy(QUEUE_REQUESTS_MAX));
        }
        desk.queue.push_back(Waiting { number, request, reply });
        desk.news.notify_waiters();
        Ok(())
    }

    /// Takes note that a worker lives; answers what wakes it. A worker of an earlier lease of the job is forgotten.
    fn live(&self, at: At, lease: Duration) -> Arc<Notify> {
        let mut inner = self.0.lock();
        let desk = inner.desks.entry(at.policy).or_default();
        if desk.servers.get(&at.job).is_some_and(|server| server.fence != at.fence) {
            desk.drop_servers(|job, _| job == at.job);
        }
        desk.servers.insert(at.job, Server { fence: at.fence, until: Instant::now() + lease });
        Arc::clone(&desk.news)
    }

    /// Hands answers to those who asked. What nobody waits for any more, or another worker took, is left.
    fn answer(&self, at: At, answers: Vec<ServedAnswer>) {
        let mut inner = self.0.lock();
        let Some(desk) = inner.desks.get_mut(&at.policy) else { return };
        for ServedAnswer { number, answer, error } in answers {
            if desk.taken.get(&number).is_none_or(|taken| taken.job != at.job) {
                continue;
            }
            let Some(taken) = desk.taken.remove(&number) else { continue };
            let silent = || JobError { code: "internal".to_owned(), detail: "the worker gave no answer".to_owned() };
            let done = answer.ok_or_else(|| JobsError::ServeFailed(error.unwrap_or_else(silent)));
            let _gone = taken.reply.send(done);
        }
    }

    /// Takes requests out of the queue, in the order in which they came.
    fn take(&self, at: At, most: usize) -> Vec<ServedRequest> {
        let mut inner = self.0.lock();
        let Some(desk) = inner.desks.get_mut(&at.policy) else { return Vec::new() };
        desk.taken.retain(|_, taken| !taken.reply.is_closed());
        let most = most.min(TAKEN_REQUESTS_MAX.saturating_sub(desk.taken.len()));
        let mut requests = Vec::new();
        while requests.len() < most {
            let Some(Waiting { number, request, reply }) = desk.queue.pop_front() else { break };
            if !reply.is_closed() {
                desk.taken.insert(number, Taken { job: at.job, reply });
                requests.push(ServedRequest { number, request });
            }
        }
        requests
    }

    /// The lease of a job is held no more.
    pub(super) fn drop_server(&self, job: JobId) {
        let mut inner = self.0.lock();
        for desk in inner.desks.values_mut().filter(|desk| desk.servers.contains_key(&job)) {
            desk.drop_servers(|server, _| server == job);
        }
    }

    /// Forgets workers that went silent, and policies for which nobody answers.
    pub(super) fn tidy(&self) {
        let now = Instant::now();
        let mut inner = self.0.lock();
        inner.desks.retain(|_, desk| {
            desk.drop_servers(|_, server| server.until <= now);
            !desk.servers.is_empty()
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
    /// [`JobsError::PolicyCold`] when no worker answers for it, [`JobsError::Busy`] when too many wait already; when it fails or
    /// does not answer in time.
    pub async fn act(&self, tenant: &Tenant, policy: PolicyId, request: ActRequest) -> Result<ActAnswer, JobsError> {
        check_act(&request)?;
        self.0.store.policy(tenant, policy).await?.ok_or(JobsError::NotFound("policy"))?;
        let (reply, answer) = oneshot::channel();
        self.0.served.ask(policy, request, reply)?;
        let patience = self.0.settings.act_ms_max;
        tokio::select! {
            answered = tokio::time::timeout(Duration::from_millis(patience), answer) => match answered {
                Ok(Ok(done)) => done,
                Ok(Err(_)) => Err(JobsError::PolicyCold),
                Err(_) => Err(JobsError::TimedOut(patience)),
            },
            () = self.0.cancel.cancelled() => Err(JobsError::PolicyCold),
        }
    }

    /// Hands answers in and takes requests out, for the worker of a job of kind `serve`. It keeps the lease.
    ///
    /// # Errors
    /// [`JobsError::LeaseLost`] when the lease is held no more; when the job is of another kind, or too much is asked for.
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
        let at = At { policy: served_policy(&stored)?, job: id, fence };
        self.0.served.answer(at, answers);
        let deadline = Instant::now() + Duration::from_millis(wait_ms);
        let lease = Duration::from_millis(self.0.settings.lease_ms);
        let watch = self.0.watches.listen(id);
        loop {
            let moved = watch.notify().notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            let kept = self.keep(scope, id, fence).await?;
            let desk = self.0.served.live(at, lease);
            let news = desk.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            // Nothing is waited for between this and the answer, so that no request is taken in vain.
            let requests = self.0.served.take(at, take);
            let now = Instant::now();
            if !requests.is_empty() || take == 0 || kept.cancel || now >= deadline || self.0.cancel.is_cancelled() {
                return Ok(Exchanged { requests, expires_at: kept.expires_at, cancel: kept.cancel });
            }
            let look = Duration::from_millis(self.0.settings.lease_ms / LOOKS_PER_LEASE);
            tokio::select! {
                () = &mut news => {}
                () = &mut moved => {}
                () = tokio::time::sleep_until(deadline.min(now + look)) => {}
                () = self.0.cancel.cancelled() => {}
            }
        }
    }

    /// Keeps a lease, which is written down only once a part of it has passed.
    async fn keep(
        &self,
        scope: &WorkerScope,
        id: JobId,
        fence: u64,
    ) -> Result<palestra_protocol::worker::Held, JobsError> {
        let row = self.0.store.job_of_anybody(id).await?.filter(|row| row.is_held(fence));
        let held = held(&row.ok_or(JobsError::LeaseLost)?)?;
        let lease_ms = self.0.settings.lease_ms;
        let fresh = self.0.clock.now().plus_ms(lease_ms - lease_ms / LOOKS_PER_LEASE);
        if held.expires_at > fresh {
            return Ok(held);
        }
        self.heartbeat(scope, id, Heartbeat { fence, progress: None }).await
    }
}
