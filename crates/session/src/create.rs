//! Creation: new sessions at the beginning of a task, all that a request asks for or none.

use std::sync::Arc;

use palestra_protocol::id::{EpisodeId, GroupId, SessionId};
use palestra_protocol::list::List;
use palestra_protocol::problem::Fault;
use palestra_protocol::session::{CreateSession, Created, Opened, SESSIONS_PER_REQUEST_MAX, SessionState};
use palestra_protocol::time::Timestamp;
use rand::RngExt;

use super::cell::{Cell, Live, Scene, Slot};
use super::idempotency::{Admission, Claim};
use super::open::{Start, first_episode};
use super::recorder::{Ledger, Permit};
use super::{Answer, SessionError, Sessions, blob};
use palestra_catalog::Entry;
use palestra_environment::task::{SEED_MAX, Task};
use palestra_store::row::{Record, SessionRow};
use palestra_store::{Durability, Tenant};

/// Size of a session's `metadata` as JSON.
pub(super) const METADATA_BYTES_MAX: usize = 64 * 1024;
/// Size of a session's `config` as JSON, which may hold the state that it begins with.
pub(super) const CONFIG_BYTES_MAX: usize = 8 << 20;

impl Sessions {
    pub(super) async fn create(
        &self,
        tenant: &Tenant,
        request: CreateSession,
        key: Option<String>,
    ) -> Result<Answer, SessionError> {
        check(&request)?;
        let by_id = request.id.map(|id| id.to_string());
        // An operation of its own: a key that reads like an id must not wait for itself, nor two such for each other.
        let claims: Vec<Claim> =
            [Claim::new(tenant, "create", key, &request)?, Claim::new(tenant, "create_with_id", by_id, &request)?]
                .into_iter()
                .flatten()
                .collect();
        let plain = claims.is_empty() && request.from.is_none();
        if plain {
            let entry = self.0.catalog.resolve(tenant, &request.environment).await?;
            if entry.opens_at_once() {
                let created = self.with_caller(Box::pin(self.create_all(tenant, &entry, request, &claims))).await;
                return created.map(Answer::Created);
            }
        }
        // On a task of its own: once begun, it ends whether or not its caller waits.
        let (sessions, tenant) = (self.clone(), Arc::clone(tenant));
        self.to_end(async move { sessions.create_once(&tenant, request, &claims).await }).await.map(Answer::Created)
    }

    async fn create_once(
        &self,
        tenant: &Tenant,
        request: CreateSession,
        claims: &[Claim],
    ) -> Result<Created, SessionError> {
        let mut guards = Vec::new();
        for claim in claims {
            match self.admit(Some(claim)).await? {
                Admission::Answered(answer) => return Ok(answer),
                Admission::Fresh(guard) => guards.push(guard),
            }
        }
        if let Some(id) = request.id
            && (self.occupied(id).await || self.0.store.is_session_taken(id).await?)
        {
            return Err(SessionError::Conflict(format!(
                "the session {id} exists, made by another request: choose another id"
            )));
        }
        if let Some(from) = request.from {
            return self.create_from(tenant, from, request, claims).await;
        }
        let entry = self.0.catalog.resolve(tenant, &request.environment).await?;
        self.create_all(tenant, &entry, request, claims).await
    }

    /// Makes as many sessions as are asked for. Until they are entered, all at once, nothing is there that has to be taken back.
    async fn create_all(
        &self,
        tenant: &Tenant,
        entry: &Arc<Entry>,
        request: CreateSession,
        claims: &[Claim],
    ) -> Result<Created, SessionError> {
        let task = self.0.catalog.choose(entry, request.task.as_ref()).await?;
        if let Some(run) = request.run {
            self.touch_run(tenant, run).await?;
        }
        let count = usize::try_from(request.count.unwrap_or(1)).unwrap_or(usize::MAX);
        self.check_capacity(count)?;
        let seed = request.seed.unwrap_or_else(|| rand::rng().random_range(0..=SEED_MAX));
        let group = request.group.or_else(|| request.count.map(|_| GroupId::new()));
        let many = request.count.is_some();
        let first = self.row(tenant, entry, &task, CreateSession { seed: Some(seed), group, ..request });
        let permit = self.0.recorder.reserve().await?;
        let mut fresh = Vec::with_capacity(count);
        fresh.push(self.prepare(entry, &task, first.clone()).await?);
        for _ in 1..count {
            let row = SessionRow { id: SessionId::new(), episode: EpisodeId::new(), ..first.clone() };
            fresh.push(self.prepare(entry, &task, row).await?);
        }
        self.enter(fresh, permit, claims, many).await
    }

    /// True if a session of this id is in memory. Takes out the cell that a refused creation or an early command left there.
    async fn occupied(&self, id: SessionId) -> bool {
        let Some(cell) = self.0.table.get(&id).map(|cell| Arc::clone(&cell)) else { return false };
        let turn = cell.own_turn().await;
        let occupied = matches!(&*turn, Slot::Live(live) if !live.ledger.failed());
        if !occupied {
            self.retire(&cell, turn);
            // What it had outside the server is left before another session takes the id.
            drop(cell.own_turn().await);
        }
        occupied
    }

    /// The row of a session as it is asked for. Other sessions of the same request differ in their ids alone.
    fn row(&self, tenant: &Tenant, entry: &Entry, task: &Task, request: CreateSession) -> SessionRow {
        let now = self.0.clock.now();
        SessionRow {
            id: request.id.unwrap_or_else(SessionId::new),
            tenant: Arc::clone(tenant),
            node: Arc::clone(&self.0.name),
            environment: Arc::clone(&entry.name),
            version: entry.spec().version,
            digest: Arc::clone(&entry.digest),
            run: request.run,
            group: request.group,
            parent: None,
            state: SessionState::Open,
            closed_reason: None,
            record: request.record.unwrap_or_default(),
            verify: request.verify.unwrap_or_default(),
            limits: self.limits(entry, request.limits),
            observe: Arc::new(request.observe.unwrap_or_default()),
            config: Arc::new(request.config),
            metadata: Arc::new(request.metadata),
            episode: EpisodeId::new(),
            task: task.public.id.as_str().into(),
            seed: request.seed.unwrap_or_default(),
            episodes: 1,
            created_at: now,
            expires_at: now.plus_ms(self.0.settings.session_ttl_ms),
            closed_at: None,
        }
    }

    /// A session that nobody knows of yet.
    async fn prepare(&self, entry: &Arc<Entry>, task: &Arc<Task>, row: SessionRow) -> Result<Live, SessionError> {
        let mut episode = first_episode(&row, self.0.clock.now());
        let beginning = self.open_place(entry, task, &episode, Start::Fresh).await?;
        episode.started_at = self.0.clock.now();
        Ok(Live::new(row, Arc::clone(entry), Arc::clone(task), episode, beginning))
    }

    /// Puts new sessions into the table and the store, all of them or none.
    pub(super) async fn enter(
        &self,
        mut fresh: Vec<Live>,
        permit: Permit,
        claims: &[Claim],
        many: bool,
    ) -> Result<Created, SessionError> {
        let owner = fresh.first().map(|live| (Arc::clone(&live.row.tenant), live.row.run));
        if let Some((tenant, Some(run))) = &owner {
            self.touch_run(tenant, *run).await?;
        }
        let now = self.0.clock.now();
        let mut records: Vec<Record> = fresh.iter_mut().flat_map(blob::keep_first).collect();
        let opened = opened_together(&mut fresh, now)?;
        records.reserve(fresh.len() * 2 + claims.len());
        for live in &fresh {
            records.push(Record::Session(Box::new(live.row.clone())));
            records.push(Record::Episode(Box::new(live.episode.clone())));
        }
        let answer = if many {
            Created::Many(List::from(opened))
        } else {
            let only = opened.into_iter().next();
            Created::One(Box::new(only.ok_or_else(|| SessionError::Internal("no session was made".to_owned()))?))
        };
        for claim in claims {
            records.push(claim.record(&answer, now)?);
        }
        // From here to the submission nothing waits: the end of the run either is seen here, or finds the sessions in the store.
        if let Some((tenant, run)) = &owner {
            self.check_entry(tenant, *run)?;
        }
        let ledgers: Vec<Arc<Ledger>> = fresh.iter().map(|live| Arc::clone(&live.ledger)).collect();
        for live in fresh {
            let cell = Cell::new(live.row.id, Slot::Live(Box::new(live)), now);
            self.0.table.insert(cell.id, cell);
        }
        // A refused commit marks the ledgers as failed: the sessions leave the table at the next touch or sweep.
        self.0.recorder.submit_for(&ledgers, permit, Durability::Disk, records).committed().await?;
        Ok(answer)
    }
}

/// The answers of sessions that are opened together. They nearly always stand at the same point.
fn opened_together(fresh: &mut [Live], now: Timestamp) -> Result<Vec<Opened>, SessionError> {
    let Some((first, others)) = fresh.split_first_mut() else { return Ok(Vec::new()) };
    let shared = first.scene()?;
    let scene = |live: &Live| if live.stands_with(first) { Ok(shared.clone()) } else { live.scene() };
    let scenes = others.iter().map(scene).collect::<Result<Vec<Scene>, _>>()?;
    let mut opened = vec![first.opened(shared, now)];
    opened.extend(others.iter_mut().zip(scenes).map(|(live, scene)| live.opened(scene, now)));
    Ok(opened)
}

/// Checks what the schema alone cannot say; all faults at once.
fn check(request: &CreateSession) -> Result<(), SessionError> {
    let mut faults = Vec::new();
    let mut wrong = |field: &str, detail: String| {
        faults.push(Fault { field: Some(field.to_owned()), detail, ..Fault::default() });
    };
    match &request.from {
        None if request.environment.is_empty() => {
            wrong("environment", "name an environment, or a stored point with `from`".to_owned());
        }
        None => {}
        Some(from) => {
            if let Some((field, detail)) = super::point::malformed(from) {
                wrong(field, detail.to_owned());
            }
        }
    }
    if let Some(count) = request.count {
        if !(1..=SESSIONS_PER_REQUEST_MAX).contains(&count) {
            wrong("count", format!("count must be 1 to {SESSIONS_PER_REQUEST_MAX}"));
        }
        if request.id.is_some() {
            wrong("id", "an id names one session, so it excludes count: leave one of them out".to_owned());
        }
    }
    if request.seed.is_some_and(|seed| seed > SEED_MAX) {
        wrong("seed", "a seed must be at most 2^53 - 1".to_owned());
    }
    let limits = request.limits.unwrap_or_default();
    for (field, limit) in [
        ("limits.steps", limits.steps),
        ("limits.calls", limits.calls),
        ("limits.wall_ms", limits.wall_ms),
        ("limits.idle_ms", limits.idle_ms),
        ("limits.model_calls", limits.model_calls),
        ("limits.model_tokens", limits.model_tokens),
    ] {
        // The store keeps signed 64-bit numbers.
        if limit.is_some_and(|limit| limit == 0 || limit > SEED_MAX) {
            wrong(field, "a limit must be 1 to 2^53 - 1".to_owned());
        }
    }
    if limits.model_cost.is_some_and(|cost| !cost.is_finite() || cost <= 0.0) {
        wrong("limits.model_cost", "a limit of cost must be above 0".to_owned());
    }
    for (field, size, most) in [
        ("metadata", request.metadata.to_string().len(), METADATA_BYTES_MAX),
        ("config", serde_json::to_string(&request.config).map_or(usize::MAX, |text| text.len()), CONFIG_BYTES_MAX),
    ] {
        if size > most {
            wrong(field, format!("{field} must be at most {most} bytes"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(SessionError::Invalid(faults)) }
}
