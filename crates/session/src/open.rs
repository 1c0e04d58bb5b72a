//! Opening: creation and reset, which both begin an episode.

use std::sync::Arc;

use palestra_protocol::episode::EpisodeState;
use palestra_protocol::id::{EpisodeId, GroupId, SessionId};
use palestra_protocol::list::List;
use palestra_protocol::observation::Observation;
use palestra_protocol::problem::Fault;
use palestra_protocol::session::{CreateSession, Created, Opened, Reset, SESSIONS_PER_REQUEST_MAX, SessionState};
use palestra_protocol::step::StopReason;
use palestra_protocol::time::Timestamp;
use rand::RngExt;
use serde_json::Value;

use super::cell::{Cell, Live, Scene, Slot};
use super::error::fault;
use super::idempotency::{Admission, Claim};
use super::recorder::{Ledger, Room};
use super::{Answer, LiveTurn, SessionError, Sessions, turn};
use palestra_catalog::{CatalogError, Entry, TaskOrStoreError};
use palestra_environment::task::{SEED_MAX, Task};
use palestra_environment::{Context, Opening, Place, Secrets};
use palestra_store::Durability;
use palestra_store::Tenant;
use palestra_store::row::{EpisodeFilter, EpisodeRow, PageRequest, Record, SessionRow};

/// Size of a session's `metadata` as JSON.
pub(super) const METADATA_BYTES_MAX: usize = 64 * 1024;
/// Size of a session's `config` as JSON, which may hold the state that it begins with.
pub(super) const CONFIG_BYTES_MAX: usize = 8 << 20;

/// A place at the beginning of an episode.
pub(super) struct Beginning {
    pub place: Place,
    pub context: Context,
    pub first: Observation,
}

/// What an episode begins with.
pub(super) enum Start {
    /// The beginning of its task.
    Fresh,
    /// What is left of the same episode.
    Left,
    /// A snapshot of another episode.
    Snapshot(Value),
}

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
        let created = if let Some(from) = request.from.filter(|_| claims.is_empty()) {
            let (sessions, tenant) = (self.clone(), Arc::clone(tenant));
            self.to_end(async move { sessions.create_from(&tenant, from, request, &[]).await }).await
        } else if claims.is_empty() {
            let entry = self.0.catalog.resolve(tenant, &request.environment).await?;
            if entry.opens_at_once() {
                self.with_caller(Box::pin(self.create_all(tenant, &entry, request, &[]))).await
            } else {
                let (sessions, tenant) = (self.clone(), Arc::clone(tenant));
                self.to_end(async move { sessions.create_all(&tenant, &entry, request, &[]).await }).await
            }
        } else {
            // On a task of its own: once begun, it ends whether or not its caller waits.
            let (sessions, tenant) = (self.clone(), Arc::clone(tenant));
            self.to_end(async move { sessions.create_once(&tenant, request, &claims).await }).await
        };
        created.map(Answer::Created)
    }

    async fn create_once(
        &self,
        tenant: &Tenant,
        request: CreateSession,
        claims: &[Claim],
    ) -> Result<Created, SessionError> {
        let mut passages = Vec::new();
        for claim in claims {
            match self.admit(Some(claim)).await? {
                Admission::Answered(answer) => return Ok(answer),
                Admission::Fresh(passage) => passages.push(passage),
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
        let room = self.0.recorder.reserve().await?;
        let mut fresh = Vec::with_capacity(count);
        fresh.push(self.prepare(entry, &task, first.clone()).await?);
        for _ in 1..count {
            let row = SessionRow { id: SessionId::new(), episode: EpisodeId::new(), ..first.clone() };
            fresh.push(self.prepare(entry, &task, row).await?);
        }
        self.enter(fresh, room, claims, many).await
    }

    /// Whether a session of this id is in memory. What a refused creation or an early command left there is taken out.
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
        let beginning = self.begin(entry, task, &episode, Start::Fresh).await?;
        episode.started_at = self.0.clock.now();
        Ok(Live::new(row, Arc::clone(entry), Arc::clone(task), episode, beginning))
    }

    /// Puts new sessions into the table and the store, all of them or none.
    pub(super) async fn enter(
        &self,
        mut fresh: Vec<Live>,
        room: Room,
        claims: &[Claim],
        many: bool,
    ) -> Result<Created, SessionError> {
        let owner = fresh.first().map(|live| (Arc::clone(&live.row.tenant), live.row.run));
        if let Some((tenant, Some(run))) = &owner {
            self.touch_run(tenant, *run).await?;
        }
        let now = self.0.clock.now();
        let opened = opened_together(&mut fresh, now)?;
        let mut records = Vec::with_capacity(fresh.len() * 2 + claims.len());
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
        self.0.recorder.submit_for(&ledgers, room, Durability::Disk, records).committed().await?;
        Ok(answer)
    }

    pub(super) async fn reset(
        &self,
        tenant: &Tenant,
        id: SessionId,
        request: Reset,
        key: Option<String>,
    ) -> Result<Answer, SessionError> {
        let claim = Claim::new(tenant, "reset", key, &(id, &request))?;
        let owner = Arc::clone(tenant);
        let work = |sessions: Self, turn, claim| async move { sessions.reset_in(&owner, turn, request, claim).await };
        self.once_in_turn(tenant, id, claim, work).await.map(Answer::Opened)
    }

    async fn reset_in(
        &self,
        tenant: &Tenant,
        mut turn: LiveTurn,
        request: Reset,
        claim: Option<Claim>,
    ) -> Result<Box<Opened>, SessionError> {
        let live = turn.live()?;
        if request.seed.is_some_and(|seed| seed > SEED_MAX) {
            return Err(fault("seed", "a seed must be at most 2^53 - 1"));
        }
        let task = match &request.task {
            None => Arc::clone(&live.task),
            Some(choice) => self.0.catalog.choose(&live.entry, Some(choice)).await?,
        };
        let seed = request.seed.unwrap_or(live.episode.seed);
        let attempt = self.next_attempt(tenant, live, &task.public.id).await?;
        let room = self.0.recorder.reserve().await?;
        let mut episode = EpisodeRow {
            id: EpisodeId::new(),
            ordinal: live.row.episodes + 1,
            attempt,
            task: task.public.id.as_str().into(),
            seed,
            ..first_episode(&live.row, self.0.clock.now())
        };
        let beginning = self.begin(&live.entry, &task, &episode, Start::Fresh).await?;
        let now = self.0.clock.now();
        episode.started_at = now;
        let mut records = self.leave(live, now);
        live.begin(episode, task, beginning);
        records.push(Record::Episode(Box::new(live.episode.clone())));
        let opened = Box::new(live.opened(live.scene()?, now));
        if let Some(claim) = claim {
            records.push(claim.record(&opened, now)?);
        }
        let ticket = self.0.recorder.submit(&live.ledger, room, Durability::Disk, records);
        drop(turn);
        ticket.committed().await?;
        Ok(opened)
    }

    /// Ends an episode that is being left, and lets go of its place.
    pub(super) fn leave(&self, live: &mut Live, now: Timestamp) -> Vec<Record> {
        if let Some(Place::Live(mut place)) = live.place.take() {
            self.0.tracker.spawn(async move { place.close().await });
        }
        if !live.running() {
            return Vec::new();
        }
        live.end(false, true, StopReason::Left, now);
        vec![super::judge::end_record(live, now)]
    }

    /// Which attempt at a task comes next in this session.
    pub(super) async fn next_attempt(&self, tenant: &str, live: &Live, task: &str) -> Result<u64, SessionError> {
        if *live.episode.task == *task {
            return Ok(live.episode.attempt + 1);
        }
        live.ledger.latest().committed().await?;
        let filter =
            EpisodeFilter { session: Some(live.row.id), task: Some(task.to_owned()), ..EpisodeFilter::default() };
        let newest = self.0.store.episodes(tenant, &filter, &PageRequest { before: None, limit: 1 }).await?;
        Ok(newest.first().map_or(1, |episode| episode.attempt + 1))
    }

    /// Opens the place of an episode and takes the first look.
    pub(super) async fn begin(
        &self,
        entry: &Arc<Entry>,
        task: &Arc<Task>,
        episode: &EpisodeRow,
        start: Start,
    ) -> Result<Beginning, SessionError> {
        let &EpisodeRow { id, seed, secrets, ref config, .. } = episode;
        let make = {
            let (entry, task, config, folder) =
                (Arc::clone(entry), Arc::clone(task), Arc::clone(config), self.0.folder.clone());
            let (resumed, from) = match start {
                Start::Fresh => (false, None),
                Start::Left => (true, None),
                Start::Snapshot(state) => (false, Some(state)),
            };
            move || {
                let opening = Opening {
                    task: &task,
                    seed,
                    secrets,
                    config: &config,
                    episode: id,
                    resumed,
                    folder: Some(&folder),
                    from: from.as_ref(),
                };
                turn::guard("environment", || entry.kind.open(opening))
            }
        };
        let opened = if entry.kind.heavy_to_open(config) {
            self.heavy(make).await.map_err(SessionError::Internal)?
        } else {
            make()
        };
        let mut place = opened?.map_err(|error| {
            let field = error.field.map_or_else(|| "config".to_owned(), |field| format!("config.{field}"));
            fault(&field, &error.detail)
        })?;
        let first = match turn::observe(&mut place).await {
            Ok(first) => first,
            Err(error) => {
                turn::close(place).await;
                return Err(error.into());
            }
        };
        Ok(Beginning { place, context: context_of(entry, task, seed), first })
    }
}

/// Randomness and clock at the beginning of an episode.
pub(super) fn context_of(entry: &Entry, task: &Task, seed: u64) -> Context {
    let spec = entry.spec();
    Context::seeded(&[
        b"episode",
        spec.name.as_bytes(),
        &spec.version.to_le_bytes(),
        task.public.id.as_bytes(),
        &seed.to_le_bytes(),
    ])
}

impl Live {
    pub(super) fn new(
        row: SessionRow,
        entry: Arc<Entry>,
        task: Arc<Task>,
        episode: EpisodeRow,
        beginning: Beginning,
    ) -> Self {
        let ledger = Ledger::new(row.id);
        Self {
            row,
            entry,
            task,
            episode,
            place: Some(beginning.place),
            context: beginning.context,
            seq: 0,
            calls: 0,
            env_us: 0,
            last: None,
            first: Some(Box::new(beginning.first)),
            past: imbl::Vector::new(),
            forgotten: 0,
            salts: Vec::new(),
            verdict: None,
            judging: None,
            notice: None,
            ledger,
        }
    }

    /// Starts another episode in this session.
    pub(super) fn begin(&mut self, episode: EpisodeRow, task: Arc<Task>, beginning: Beginning) {
        self.row.episode = episode.id;
        self.row.task.clone_from(&episode.task);
        self.row.seed = episode.seed;
        self.row.episodes = episode.ordinal;
        let fresh = Self::new(self.row.clone(), Arc::clone(&self.entry), task, episode, beginning);
        let ledger = Arc::clone(&self.ledger);
        *self = Self { ledger, ..fresh };
    }
}

/// The first episode of a session, with secrets of its own.
pub(super) fn first_episode(row: &SessionRow, now: Timestamp) -> EpisodeRow {
    EpisodeRow {
        id: row.episode,
        session: row.id,
        tenant: row.tenant.clone(),
        ordinal: 1,
        attempt: 1,
        environment: row.environment.clone(),
        version: row.version,
        digest: row.digest.clone(),
        task: row.task.clone(),
        seed: row.seed,
        secrets: Secrets::fresh(),
        config: row.config.clone(),
        origin: None,
        salt: None,
        run: row.run,
        group: row.group,
        state: EpisodeState::Running,
        seq: None,
        terminated: false,
        truncated: false,
        stop_reason: None,
        status: None,
        score: None,
        verdict: None,
        started_at: now,
        ended_at: None,
    }
}

/// What several sessions answer that are opened together. They nearly always stand at the same point.
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
    ] {
        // The store keeps signed 64-bit numbers.
        if limit.is_some_and(|limit| limit == 0 || limit > SEED_MAX) {
            wrong(field, "a limit must be 1 to 2^53 - 1".to_owned());
        }
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

impl From<CatalogError> for SessionError {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::UnknownEnvironment(name) => Self::UnknownEnvironment(name),
            CatalogError::Task(error) => Self::UnknownTask(error),
            CatalogError::Faults(faults) => Self::Invalid(faults),
            CatalogError::Store(error) => Self::Store(error),
            CatalogError::Broken(detail) => Self::Internal(detail),
        }
    }
}

impl From<TaskOrStoreError> for SessionError {
    fn from(error: TaskOrStoreError) -> Self {
        CatalogError::from(error).into()
    }
}
