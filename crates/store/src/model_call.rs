//! Model calls as rows.

use palestra_protocol::id::{CallId, EpisodeId, SessionId};
use palestra_protocol::time::Timestamp;
use palestra_protocol::upstream::Spent;

use super::StoreError;
use super::cell::{Kind, bound, flag, id, number, optional_number, optional_text, real, text, time, word};
use super::engine::Reader;
use super::field::Fields;
use super::row::ModelCallRow;
use super::statement::{BulkRow, Select, Table};

pub(super) const MODEL_CALLS: Table = Table {
    name: "model_calls",
    columns: &[
        ("id", Kind::Text),
        ("tenant", Kind::Text),
        ("session", Kind::Text),
        ("episode", Kind::Text),
        ("seq", Kind::Integer),
        ("kind", Kind::Text),
        ("upstream", Kind::Text),
        ("model", Kind::Text),
        ("policy_version", Kind::Text),
        ("outcome", Kind::Text),
        ("status", Kind::Integer),
        ("error", Kind::Text),
        ("finish_reason", Kind::Text),
        ("streamed", Kind::Boolean),
        ("begun_at", Kind::Integer),
        ("first_us", Kind::Integer),
        ("duration_us", Kind::Integer),
        ("input_tokens", Kind::Integer),
        ("output_tokens", Kind::Integer),
        ("cost", Kind::Real),
        ("request", Kind::Text),
        ("response", Kind::Text),
        ("prompt_token_ids", Kind::Text),
        ("completion_token_ids", Kind::Text),
        ("logprobs", Kind::Text),
    ],
};

pub(super) fn encode(row: &ModelCallRow) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![
        id(row.id),
        text(&row.tenant),
        id(row.session),
        id(row.episode),
        number(row.seq)?,
        word(row.kind.as_str()),
        text(&row.upstream),
        text(&row.model),
        optional_text(row.policy_version.as_deref()),
        word(row.outcome.as_str()),
        number(u64::from(row.status))?,
        optional_text(row.error.as_deref()),
        optional_text(row.finish_reason.as_deref()),
        flag(row.streamed),
        time(row.begun_at),
        optional_number(row.first_us)?,
        number(row.duration_us)?,
        number(row.input_tokens)?,
        number(row.output_tokens)?,
        real(Some(row.cost)),
        text(&row.request),
        optional_text(row.response.as_deref()),
        optional_text(row.prompt_token_ids.as_deref()),
        optional_text(row.completion_token_ids.as_deref()),
        optional_text(row.logprobs.as_deref()),
    ])
}

fn decode(row: &dyn Fields) -> Result<ModelCallRow, StoreError> {
    Ok(ModelCallRow {
        id: row.id("id")?,
        tenant: row.text("tenant")?.into(),
        session: row.id("session")?,
        episode: row.id("episode")?,
        seq: row.number("seq")?,
        kind: row.word("kind")?,
        upstream: row.text("upstream")?,
        model: row.text("model")?,
        policy_version: row.text_or_none("policy_version")?,
        outcome: row.word("outcome")?,
        status: u16::try_from(row.number("status")?).unwrap_or(u16::MAX),
        error: row.text_or_none("error")?,
        finish_reason: row.text_or_none("finish_reason")?,
        streamed: row.flag("streamed")?,
        begun_at: row.time("begun_at")?,
        first_us: row.number_or_none("first_us")?,
        duration_us: row.number("duration_us")?,
        input_tokens: row.number("input_tokens")?,
        output_tokens: row.number("output_tokens")?,
        cost: row.real_or_none("cost")?.unwrap_or_default(),
        request: row.text("request")?,
        response: row.text_or_none("response")?,
        prompt_token_ids: row.text_or_none("prompt_token_ids")?,
        completion_token_ids: row.text_or_none("completion_token_ids")?,
        logprobs: row.text_or_none("logprobs")?,
    })
}

const TOTALS: &str = "count(*) AS calls, CAST(coalesce(sum(input_tokens + output_tokens), 0) AS BIGINT) AS tokens, \
                      coalesce(sum(cost), 0.0) AS cost";

fn totals(row: &dyn Fields) -> Result<Spent, StoreError> {
    let cost = row.real_or_none("cost")?.unwrap_or_default();
    Ok(Spent { calls: row.number("calls")?, tokens: row.number("tokens")?, cost })
}

impl dyn Reader {
    /// Model calls of an episode that began before a step and after a call, in the order in which they began.
    pub async fn model_calls(
        &self,
        episode: EpisodeId,
        before_seq: Option<u64>,
        after: Option<CallId>,
        limit: u32,
    ) -> Result<Vec<ModelCallRow>, StoreError> {
        let query = Select::from(&MODEL_CALLS)
            .filter("episode =", id(episode))
            .filter_if("seq <", before_seq.map(bound))
            .filter_if("id >", after.map(id))
            .then("ORDER BY id")
            .limit(limit);
        self.all(query, decode).await
    }

    /// The sums of the model calls of a session.
    pub async fn spent_in_session(&self, session: SessionId) -> Result<Spent, StoreError> {
        let query = Select::named(TOTALS, "model_calls").filter("session =", id(session)).build();
        Ok(self.one(query, totals).await?.unwrap_or_default())
    }

    /// The sums of the model calls to an upstream since a time.
    pub async fn spent_on_upstream(&self, tenant: &str, upstream: &str, since: Timestamp) -> Result<Spent, StoreError> {
        let query = Select::named(TOTALS, "model_calls")
            .filter("tenant =", text(tenant))
            .filter("upstream =", text(upstream))
            .filter("begun_at >=", time(since))
            .build();
        Ok(self.one(query, totals).await?.unwrap_or_default())
    }
}
