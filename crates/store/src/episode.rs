//! Episodes as rows.

use std::borrow::Cow;
use std::sync::Arc;

use palestra_protocol::episode::{EpisodeState, Origin};
use palestra_protocol::id::{EpisodeId, RunId, SessionId};
use palestra_state::secrets::Secrets;

use super::cell::{
    Cell, Kind, bits, bound, flag, id, json, number, optional_id, optional_json, optional_number, optional_time,
    optional_word, real, text, time, word,
};
use super::engine::Reader;
use super::field::{Fields, broken};
use super::row::{EpisodeFilter, EpisodeRow, PageRequest, RunTotals};
use super::statement::{BulkRow, Select, Table};
use super::{StoreError, filter};

pub(super) const EPISODES: Table = Table {
    name: "episodes",
    columns: &[
        ("id", Kind::Text),
        ("session", Kind::Text),
        ("tenant", Kind::Text),
        ("ordinal", Kind::Integer),
        ("attempt", Kind::Integer),
        ("environment", Kind::Text),
        ("version", Kind::Integer),
        ("digest", Kind::Text),
        ("task", Kind::Text),
        ("seed", Kind::Integer),
        ("secret_key", Kind::Text),
        ("config", Kind::Text),
        ("origin_episode", Kind::Text),
        ("origin_seq", Kind::Integer),
        ("salt", Kind::Integer),
        ("run", Kind::Text),
        ("group_id", Kind::Text),
        ("state", Kind::Text),
        ("seq", Kind::Integer),
        ("terminated", Kind::Boolean),
        ("truncated", Kind::Boolean),
        ("stop_reason", Kind::Text),
        ("status", Kind::Text),
        ("score", Kind::Real),
        ("verdict", Kind::Text),
        ("started_at", Kind::Integer),
        ("ended_at", Kind::Integer),
    ],
};

const fn state_word(state: EpisodeState) -> &'static str {
    match state {
        EpisodeState::Running => "running",
        EpisodeState::Ended => "ended",
    }
}

pub(super) fn encode(row: &EpisodeRow) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![
        id(row.id),
        id(row.session),
        text(&row.tenant),
        number(row.ordinal)?,
        number(row.attempt)?,
        text(&row.environment),
        number(u64::from(row.version))?,
        text(&row.digest),
        text(&row.task),
        number(row.seed)?,
        key(row.secrets),
        json(&*row.config)?,
        optional_id(row.origin.map(|origin| origin.episode)),
        optional_number(row.origin.map(|origin| origin.seq))?,
        bits(row.salt),
        optional_id(row.run),
        optional_id(row.group),
        word(state_word(row.state)),
        optional_number(row.seq)?,
        flag(row.terminated),
        flag(row.truncated),
        optional_word(row.stop_reason.map(|reason| reason.as_str())),
        optional_word(row.status.map(|status| status.as_str())),
        real(row.score),
        optional_json(row.verdict.as_ref())?,
        time(row.started_at),
        optional_time(row.ended_at),
    ])
}

fn decode(row: &dyn Fields) -> Result<EpisodeRow, StoreError> {
    Ok(EpisodeRow {
        id: row.id("id")?,
        session: row.id("session")?,
        tenant: row.text("tenant")?.into(),
        ordinal: row.number("ordinal")?,
        attempt: row.number("attempt")?,
        environment: row.text("environment")?.into(),
        version: row.version("version")?,
        digest: row.text("digest")?.into(),
        task: row.text("task")?.into(),
        seed: row.number("seed")?,
        secrets: secrets(row)?,
        config: Arc::new(row.json("config")?),
        origin: origin(row)?,
        salt: row.integer_or_none("salt")?.map(i64::cast_unsigned),
        run: row.id_or_none("run")?,
        group: row.id_or_none("group_id")?,
        state: row.word("state")?,
        seq: row.number_or_none("seq")?,
        terminated: row.flag("terminated")?,
        truncated: row.flag("truncated")?,
        stop_reason: row.word_or_none("stop_reason")?,
        status: row.word_or_none("status")?,
        score: row.real_or_none("score")?,
        verdict: row.json_or_none("verdict")?,
        started_at: row.time("started_at")?,
        ended_at: row.time_or_none("ended_at")?,
    })
}

/// Episodes that began before there were keys have none: theirs follow from the seed.
fn key(secrets: Secrets) -> Cell<'static> {
    Cell::Text(secrets.stored().map(Cow::Owned))
}

fn secrets(row: &dyn Fields) -> Result<Secrets, StoreError> {
    let key = row.text_or_none("secret_key")?;
    Secrets::of_stored(key.as_deref(), row.number("seed")?).map_err(|why| broken("secret_key", why))
}

fn origin(row: &dyn Fields) -> Result<Option<Origin>, StoreError> {
    match (row.id_or_none("origin_episode")?, row.number_or_none("origin_seq")?) {
        (Some(episode), Some(seq)) => Ok(Some(Origin { episode, seq })),
        (None, None) => Ok(None),
        _ => Err(broken("origin_episode", "only one of origin_episode and origin_seq is set")),
    }
}

impl dyn Reader {
    /// An episode of a tenant.
    pub async fn episode(&self, tenant: &str, episode: EpisodeId) -> Result<Option<EpisodeRow>, StoreError> {
        let query = Select::from(&EPISODES).filter("tenant =", text(tenant)).filter("id =", id(episode)).build();
        self.one(query, decode).await
    }

    /// An episode of any tenant, for the server's own upkeep.
    pub async fn episode_of_any_tenant(&self, episode: EpisodeId) -> Result<Option<EpisodeRow>, StoreError> {
        self.one(Select::from(&EPISODES).filter("id =", id(episode)).build(), decode).await
    }

    /// Episodes of a tenant by descending id.
    pub async fn episodes(
        &self,
        tenant: &str,
        filter: &EpisodeFilter,
        page: &PageRequest,
    ) -> Result<Vec<EpisodeRow>, StoreError> {
        let (environment, version) = filter::environment(filter.environment.as_deref());
        let query = Select::from(&EPISODES)
            .filter("tenant =", text(tenant))
            .filter_if("id <", page.before.as_deref().map(text))
            .filter_if("session =", filter.session.map(id))
            .filter_if("run =", filter.run.map(id))
            .filter_if("group_id =", filter.group.map(id))
            .filter_if("environment =", environment)
            .filter_if("version =", version)
            .filter_if("task =", filter.task.as_deref().map(text))
            .filter_if("state =", filter.state.map(|state| word(state_word(state))))
            .filter_if("status =", filter.status.map(|status| word(status.as_str())))
            .filter_if("score >=", filter.score_min.map(|score| real(Some(score))))
            .filter_if("score <=", filter.score_max.map(|score| real(Some(score))))
            .then("ORDER BY id DESC")
            .limit(page.limit);
        self.all(query, decode).await
    }

    /// Totals of the episodes of runs from `first` to `last`, for runs that have any.
    pub async fn run_totals(&self, tenant: &str, first: RunId, last: RunId) -> Result<Vec<RunTotals>, StoreError> {
        let columns = "run, COUNT(*) AS episodes, COUNT(score) AS scored, AVG(score) AS mean_score, \
                       MIN(environment) AS environment, COUNT(DISTINCT environment) AS environments";
        let query = Select::named(columns, "episodes")
            .filter("run >=", id(first))
            .filter("run <=", id(last))
            .filter("tenant =", text(tenant))
            .then("GROUP BY run")
            .build();
        let decode = |row: &dyn Fields| {
            Ok(RunTotals {
                run: row.id("run")?,
                episodes: row.number("episodes")?,
                scored: row.number("scored")?,
                mean_score: row.real_or_none("mean_score")?,
                environment: row.text("environment")?,
                environments: row.number("environments")?,
            })
        };
        self.all(query, decode).await
    }

    /// Episodes of a session by ascending ordinal, from `from_ordinal` on.
    pub async fn episodes_of_session(
        &self,
        session: SessionId,
        from_ordinal: u64,
        limit: u32,
    ) -> Result<Vec<EpisodeRow>, StoreError> {
        let query = Select::from(&EPISODES)
            .filter("session =", id(session))
            .filter("ordinal >=", bound(from_ordinal))
            .then("ORDER BY ordinal")
            .limit(limit);
        self.all(query, decode).await
    }
}
