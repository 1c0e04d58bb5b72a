//! Model calls of sessions: whoever acts in a session calls models at the server instead of at their provider, in the provider's own
//! protocol. A call is forwarded to an upstream of the tenant, bounded, and recorded with its tokens when it is over.
//!
//! A request goes forward only: `dialect` reads it, `target` says who answers, `meter` whether it may begin, `call` forwards it and
//! reads the answer as it passes, and the recorder of sessions writes the row. An answer that is complete for its caller is in the store.

mod call;
mod dialect;
mod meter;
mod policy;
mod sse;
mod target;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use dashmap::DashMap;
use http::{HeaderMap, StatusCode};
use palestra_auth::Seals;
use palestra_jobs::{Jobs, JobsError};
use palestra_protocol::id::{CallId, SessionId};
use palestra_protocol::model_call::CallKind;
use palestra_protocol::upstream::{Dialect, Spent};
use palestra_session::{SessionError, Sessions, Standing};
use palestra_store::clock::Clock;
use palestra_store::{Store, StoreError, Tenant};
use reqwest::Client;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use dialect::{refusal_body, refusal_event};
use meter::{Meter, Most, Running};
use target::{NoTarget, Targets};
pub use target::{SILENCE_MS_DEFAULT, allowed, purpose};

/// Time limit of connecting to an upstream, in milliseconds.
const CONNECT_MS_MAX: u64 = 10_000;
/// Sessions whose calls are counted in memory before those without a running call are forgotten.
const METERS_KEPT: usize = 65_536;

/// A request of whoever acts in a session.
pub struct CallRequest {
    /// The owner of the session.
    pub tenant: Tenant,
    /// The session.
    pub session: SessionId,
    /// The operation.
    pub kind: CallKind,
    /// Model, and whether the answer is to come in parts, where the path says so.
    pub path: Option<(String, bool)>,
    /// The headers of the request. Those that version a dialect are passed on, and no others.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// An answer on its way.
pub struct Reply {
    /// The call.
    pub id: CallId,
    /// The status.
    pub status: StatusCode,
    /// Headers of the upstream that the caller needs: the media type, and when to try again.
    pub headers: HeaderMap,
    /// The body.
    pub body: ReplyBody,
}

/// The body of an answer.
pub enum ReplyBody {
    /// There already, and recorded.
    Whole(Bytes),
    /// In parts; the last comes once the call is recorded. An error says that the answer broke off, after an event that says so too.
    Parts(mpsc::Receiver<Result<Bytes, BrokenOff>>),
}

/// The answer of the upstream broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer broke off: send the request again")]
pub struct BrokenOff;

/// Why a call was refused or failed. Its form is that of the dialect.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The request does not fit.
    #[error("{0}")]
    Malformed(String),
    /// No upstream answers for the model.
    #[error("{0}")]
    UnknownModel(String),
    /// A limit of the session or of the tenant is reached.
    #[error("{0}")]
    Limit(String),
    /// The upstream cannot be reached, or does not answer as it should.
    #[error("{0}")]
    Upstream(String),
    /// The upstream did not answer in time.
    #[error("{0}")]
    Late(String),
    /// A policy of this server cannot answer.
    #[error(transparent)]
    Policy(#[from] JobsError),
    /// The session refused.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl From<NoTarget> for CallError {
    fn from(error: NoTarget) -> Self {
        match error {
            NoTarget::Store(error) => Self::Session(error.into()),
            other => Self::UnknownModel(other.to_string()),
        }
    }
}

/// The dependencies of model calls.
pub struct Parts {
    /// Holds upstreams, and what was spent.
    pub store: Arc<Store>,
    /// The sessions that call.
    pub sessions: Sessions,
    /// The policies that this server serves.
    pub jobs: Jobs,
    /// Opens the keys of upstreams.
    pub seals: Arc<Seals>,
    /// Hosts that upstreams of tenants besides the operator's may lead to, as `host` or `host:port`.
    pub hosts: Vec<String>,
    /// Ends calls that run, as failed.
    pub stop: CancellationToken,
    /// Tells the time.
    pub clock: Clock,
}

/// The model calls of all sessions of this node. Cheap to clone.
#[derive(Clone)]
pub struct ModelCalls(Arc<Inner>);

struct Inner {
    store: Arc<Store>,
    sessions: Sessions,
    jobs: Jobs,
    targets: Targets,
    clock: Clock,
    tracker: TaskTracker,
    /// Ends calls that run.
    stop: CancellationToken,
    /// Made for the first call: most servers forward none.
    http: OnceLock<Client>,
    meters: DashMap<SessionId, Arc<Meter>>,
}

impl ModelCalls {
    /// Forwarding of calls.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let Parts { store, sessions, jobs, seals, hosts, stop, clock } = parts;
        let targets = Targets::new(Arc::clone(&store), seals, hosts);
        let (tracker, http, meters) = (TaskTracker::new(), OnceLock::new(), DashMap::new());
        Self(Arc::new(Inner { store, sessions, jobs, targets, clock, tracker, stop, http, meters }))
    }

    /// Forwards a call. It goes on on a task of its own and ends when the caller drops its answer.
    ///
    /// # Errors
    /// When it is refused before it begins, or has failed before any of its answer was there; in the latter case it is recorded.
    pub async fn call(&self, request: CallRequest) -> Result<Reply, CallError> {
        call::forward(self, request).await
    }

    /// Waits until calls that run are recorded: they end, as failed, when the server stops.
    pub async fn drain(&self) {
        self.0.tracker.close();
        self.0.tracker.wait().await;
    }

    /// The models of a dialect that a session may call, in order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn models(&self, tenant: &Tenant, dialect: Dialect) -> Result<Vec<String>, StoreError> {
        self.0.targets.models(tenant, dialect).await
    }

    /// Sees at once that upstreams of a tenant changed.
    pub fn upstreams_changed(&self, tenant: &Tenant) {
        self.0.targets.forget(tenant);
    }

    /// Spent on an upstream since it was put.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn spent(&self, tenant: &Tenant, upstream: &str) -> Result<Spent, StoreError> {
        self.0.targets.spent(tenant, upstream).await
    }

    fn http(&self) -> Result<&Client, CallError> {
        if let Some(http) = self.0.http.get() {
            return Ok(http);
        }
        // Whoever was first has installed the same one.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        // Nobody is followed elsewhere: the key would go along.
        let http = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_millis(CONNECT_MS_MAX))
            .no_proxy()
            .tcp_nodelay(true)
            .build()
            .map_err(|error| {
                CallError::Upstream(format!(
                    "no upstream can be called ({error}): check the certificates of this machine"
                ))
            })?;
        Ok(self.0.http.get_or_init(|| http))
    }

    /// Begins a call within the limits of its session.
    async fn begin_in_session(&self, session: SessionId, standing: &Standing) -> Result<Running, CallError> {
        let limits = &standing.limits;
        if let Some(wall_ms) = limits.wall_ms {
            let elapsed = self.0.clock.now().milliseconds() - standing.started_at.milliseconds();
            if u64::try_from(elapsed).unwrap_or(0) >= wall_ms {
                return Err(CallError::Limit(format!("the episode has used up its {wall_ms} ms: reset the session")));
            }
        }
        let meter = self.meter(session).await?;
        let most = Most { calls: limits.model_calls, tokens: limits.model_tokens, cost: limits.model_cost };
        meter.begin(&most).map_err(|reached| {
            CallError::Limit(format!(
                "the session has reached its limit of {reached}: open another, or raise the limit"
            ))
        })
    }

    async fn meter(&self, session: SessionId) -> Result<Arc<Meter>, CallError> {
        let meters = &self.0.meters;
        if let Some(meter) = meters.get(&session) {
            return Ok(Arc::clone(&meter));
        }
        if meters.len() >= METERS_KEPT {
            // Whoever holds one is about to begin a call.
            meters.retain(|_, meter| meter.is_running() || Arc::strong_count(meter) > 1);
        }
        let spent = self.0.store.spent_in_session(session).await.map_err(SessionError::from)?;
        let meter = meters.entry(session).or_insert_with(|| Meter::new(spent));
        Ok(Arc::clone(&meter))
    }
}
