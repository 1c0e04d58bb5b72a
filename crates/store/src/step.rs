//! Steps, and the intents that come before them, as rows.

use palestra_protocol::id::EpisodeId;
use palestra_protocol::time::Timestamp;

use super::StoreError;
use super::cell::{Kind, bound, flag, id, number, optional_text, real, text, time};
use super::engine::{Reader, StepOrder};
use super::field::Fields;
use super::row::StepRow;
use super::statement::{BulkRow, Select, Statement, Table};

pub(super) const STEPS: Table = Table {
    name: "steps",
    columns: &[
        ("episode", Kind::Text),
        ("seq", Kind::Integer),
        ("action", Kind::Text),
        ("answer", Kind::Text),
        ("meta", Kind::Text),
        ("reward", Kind::Real),
        ("terminated", Kind::Boolean),
        ("truncated", Kind::Boolean),
        ("interrupted", Kind::Boolean),
        ("at", Kind::Integer),
    ],
};

pub(super) const INTENTS: Table = Table {
    name: "intents",
    columns: &[("episode", Kind::Text), ("seq", Kind::Integer), ("action", Kind::Text), ("at", Kind::Integer)],
};

pub(super) fn encode(row: &StepRow) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![
        id(row.episode),
        number(row.seq)?,
        optional_text(row.action.as_deref()),
        text(&row.answer),
        optional_text(row.meta.as_deref()),
        real(row.reward),
        flag(row.terminated),
        flag(row.truncated),
        flag(row.interrupted),
        time(row.at),
    ])
}

fn decode(row: &dyn Fields) -> Result<StepRow, StoreError> {
    Ok(StepRow {
        episode: row.id("episode")?,
        seq: row.number("seq")?,
        action: row.text_or_none("action")?,
        answer: row.text("answer")?,
        meta: row.text_or_none("meta")?,
        reward: row.real_or_none("reward")?,
        terminated: row.flag("terminated")?,
        truncated: row.flag("truncated")?,
        interrupted: row.flag("interrupted")?,
        at: row.time("at")?,
    })
}

pub(super) fn encode_intent(
    episode: EpisodeId,
    seq: u64,
    action: &str,
    at: Timestamp,
) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![id(episode), number(seq)?, text(action), time(at)])
}

/// A recursive query over an episode's steps by ascending number, from `$2` or the first one on.
macro_rules! walk {
    ($rest:literal) => {
        concat!(
            "WITH RECURSIVE walk (episode, seq) AS (",
            "SELECT episode, seq FROM steps WHERE episode = $1 ",
            "AND seq = (SELECT MAX($2, COALESCE(origin_seq, 0) + 1) FROM episodes WHERE id = $1) ",
            "UNION ALL SELECT next.episode, next.seq FROM walk CROSS JOIN steps AS next ",
            "ON next.seq = walk.seq + 1 AND next.episode = walk.episode ",
            $rest
        )
    };
}

pub(super) fn between(
    order: StepOrder,
    episode: EpisodeId,
    from_seq: u64,
    to_seq: u64,
    limit: u32,
) -> Statement<'static> {
    match order {
        StepOrder::ByEpisode => Select::from(&STEPS)
            .filter("episode =", id(episode))
            .filter("seq >=", bound(from_seq))
            .filter("seq <=", bound(to_seq))
            .then("ORDER BY seq")
            .limit(limit),
        StepOrder::BySeq => Statement::new(
            walk!(
                "WHERE walk.seq < $3 LIMIT $4) SELECT steps.* FROM walk CROSS JOIN steps \
                 ON steps.seq = walk.seq AND steps.episode = walk.episode WHERE walk.seq <= $3 ORDER BY walk.seq"
            ),
            vec![id(episode), bound(from_seq), bound(to_seq), bound(u64::from(limit))],
        ),
    }
}

pub(super) fn last(order: StepOrder, episode: EpisodeId) -> Statement<'static> {
    match order {
        StepOrder::ByEpisode => {
            Select::from(&STEPS).filter("episode =", id(episode)).then("ORDER BY seq DESC").limit(1)
        }
        StepOrder::BySeq => Statement::new(
            walk!(") SELECT * FROM steps WHERE episode = $1 AND seq = (SELECT MAX(seq) FROM walk)"),
            vec![id(episode), bound(1)],
        ),
    }
}

impl dyn Reader {
    /// Steps that were recorded in this episode (those before a fork are in its origin) with `from_seq <= seq <= to_seq`, ascending.
    pub async fn steps(
        &self,
        episode: EpisodeId,
        from_seq: u64,
        to_seq: u64,
        limit: u32,
    ) -> Result<Vec<StepRow>, StoreError> {
        self.all(between(self.step_order(), episode, from_seq, to_seq, limit), decode).await
    }

    /// The last step that was recorded in this episode.
    pub async fn last_step(&self, episode: EpisodeId) -> Result<Option<StepRow>, StoreError> {
        self.one(last(self.step_order(), episode), decode).await
    }

    /// The intent of this episode that has no step yet: its seq and the action as JSON.
    pub async fn open_intent(&self, episode: EpisodeId) -> Result<Option<(u64, String)>, StoreError> {
        let query = Select::from(&INTENTS).filter("episode =", id(episode)).then("ORDER BY seq DESC").limit(1);
        self.one(query, |row| Ok((row.number("seq")?, row.text("action")?))).await
    }
}
