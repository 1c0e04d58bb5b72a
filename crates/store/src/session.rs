//! Sessions as rows.

use std::sync::Arc;

use palestra_protocol::id::{RunId, SessionId};
use palestra_protocol::session::{SessionState, VerifyMode};
use palestra_protocol::time::Timestamp;

use super::cell::{Kind, id, json, number, optional_id, optional_time, optional_word, text, time, word};
use super::engine::Reader;
use super::field::Fields;
use super::row::{PageRequest, SessionFilter, SessionRow};
use super::statement::{BulkRow, Select, Statement, Table};
use super::{Durability, Store, StoreError, filter};

pub(super) const SESSIONS: Table = Table {
    name: "sessions",
    columns: &[
        ("id", Kind::Text),
        ("tenant", Kind::Text),
        ("node", Kind::Text),
        ("environment", Kind::Text),
        ("version", Kind::Integer),
        ("digest", Kind::Text),
        ("run", Kind::Text),
        ("group_id", Kind::Text),
        ("parent", Kind::Text),
        ("state", Kind::Text),
        ("closed_reason", Kind::Text),
        ("record", Kind::Text),
        ("verify", Kind::Text),
        ("limits", Kind::Text),
        ("observe", Kind::Text),
        ("config", Kind::Text),
        ("metadata", Kind::Text),
        ("episode", Kind::Text),
        ("task", Kind::Text),
        ("seed", Kind::Integer),
        ("episodes", Kind::Integer),
        ("created_at", Kind::Integer),
        ("expires_at", Kind::Integer),
        ("closed_at", Kind::Integer),
    ],
};

const fn state_word(state: SessionState) -> &'static str {
    match state {
        SessionState::Open => "open",
        SessionState::Closed => "closed",
    }
}

const fn verify_word(verify: VerifyMode) -> &'static str {
    match verify {
        VerifyMode::OnEnd => "on_end",
        VerifyMode::Manual => "manual",
    }
}

pub(super) fn encode(row: &SessionRow) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![
        id(row.id),
        text(&row.tenant),
        text(&row.node),
        text(&row.environment),
        number(u64::from(row.version))?,
        text(&row.digest),
        optional_id(row.run),
        optional_id(row.group),
        optional_id(row.parent),
        word(state_word(row.state)),
        optional_word(row.closed_reason.map(|reason| reason.as_str())),
        word(row.record.as_str()),
        word(verify_word(row.verify)),
        json(&row.limits)?,
        json(&*row.observe)?,
        json(&*row.config)?,
        json(&*row.metadata)?,
        id(row.episode),
        text(&row.task),
        number(row.seed)?,
        number(row.episodes)?,
        time(row.created_at),
        time(row.expires_at),
        optional_time(row.closed_at),
    ])
}

fn decode(row: &dyn Fields) -> Result<SessionRow, StoreError> {
    Ok(SessionRow {
        id: row.id("id")?,
        tenant: row.text("tenant")?.into(),
        node: row.text("node")?.into(),
        environment: row.text("environment")?.into(),
        version: row.version("version")?,
        digest: row.text("digest")?.into(),
        run: row.id_or_none("run")?,
        group: row.id_or_none("group_id")?,
        parent: row.id_or_none("parent")?,
        state: row.word("state")?,
        closed_reason: row.word_or_none("closed_reason")?,
        record: row.word("record")?,
        verify: row.word("verify")?,
        limits: row.json("limits")?,
        observe: Arc::new(row.json("observe")?),
        config: Arc::new(row.json("config")?),
        metadata: Arc::new(row.json("metadata")?),
        episode: row.id("episode")?,
        task: row.text("task")?.into(),
        seed: row.number("seed")?,
        episodes: row.number("episodes")?,
        created_at: row.time("created_at")?,
        expires_at: row.time("expires_at")?,
        closed_at: row.time_or_none("closed_at")?,
    })
}

impl dyn Reader {
    /// A session of a tenant.
    pub async fn session(&self, tenant: &str, session: SessionId) -> Result<Option<SessionRow>, StoreError> {
        let query = Select::from(&SESSIONS).filter("tenant =", text(tenant)).filter("id =", id(session)).build();
        self.one(query, decode).await
    }

    /// True when a session of any tenant has this id, so that no other can.
    pub async fn is_session_taken(&self, session: SessionId) -> Result<bool, StoreError> {
        self.exists(Select::from(&SESSIONS).filter("id =", id(session)).build()).await
    }

    /// Sessions of a tenant by descending id.
    pub async fn sessions(
        &self,
        tenant: &str,
        filter: &SessionFilter,
        page: &PageRequest,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let (environment, version) = filter::environment(filter.environment.as_deref());
        let query = Select::from(&SESSIONS)
            .filter("tenant =", text(tenant))
            .filter_if("id <", page.before.as_deref().map(text))
            .filter_if("run =", filter.run.map(id))
            .filter_if("group_id =", filter.group.map(id))
            .filter_if("environment =", environment)
            .filter_if("version =", version)
            .filter_if("task =", filter.task.as_deref().map(text))
            .filter_if("state =", filter.state.map(|state| word(state_word(state))))
            .then("ORDER BY id DESC")
            .limit(page.limit);
        self.all(query, decode).await
    }

    /// Open sessions of any tenant on `node` that have expired, oldest first.
    pub async fn sessions_expired(
        &self,
        node: &str,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<SessionRow>, StoreError> {
        // The state is part of the text, so that the index of open sessions is used.
        let query = Select::from(&SESSIONS)
            .filter("node =", text(node))
            .filter("expires_at <=", time(now))
            .then("AND state = 'open' ORDER BY expires_at, id")
            .limit(limit);
        self.all(query, decode).await
    }

    /// Open sessions of a run, by ascending id after `after`.
    pub async fn sessions_of_run(
        &self,
        tenant: &str,
        run: RunId,
        after: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let query = Select::from(&SESSIONS)
            .filter("tenant =", text(tenant))
            .filter("run =", id(run))
            .filter("state =", word(state_word(SessionState::Open)))
            .filter_if("id >", after.map(id))
            .then("ORDER BY id")
            .limit(limit);
        self.all(query, decode).await
    }

    /// The number of sessions that are open on `node`.
    pub async fn sessions_open(&self, node: &str) -> Result<u64, StoreError> {
        let sql = "SELECT COUNT(*) AS number FROM sessions WHERE node = $1 AND state = 'open'";
        self.number(Statement::new(sql, vec![text(node)])).await
    }
}

impl Store {
    /// Moves an open session from a node that is gone to another; false when another node was faster.
    pub async fn adopt_session(&self, session: SessionId, from: &str, to: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE sessions SET node = $1 WHERE id = $2 AND node = $3 AND state = 'open'";
        let update = Statement::new(sql, vec![text(to), id(session), text(from)]);
        Ok(self.execute(update, Durability::Disk).await? > 0)
    }
}
