//! Events of jobs as rows.

use palestra_protocol::id::JobId;
use palestra_protocol::job::{JobEvent, JobEventKind};

use super::cell::{Kind, bound, id, json, number, time, word};
use super::engine::Reader;
use super::field::Fields;
use super::row::job::JobEventRow;
use super::statement::{Bulk, BulkRow, Select, Table};
use super::{StoreError, Transaction};

const EVENTS: Table = Table {
    name: "job_events",
    columns: &[
        ("job", Kind::Text),
        ("number", Kind::Integer),
        ("attempt", Kind::Integer),
        ("at", Kind::Integer),
        ("kind", Kind::Text),
        ("data", Kind::Text),
    ],
};

const INSERT_EVENTS: Bulk = EVENTS.insert("", "event of a job");

fn encode(row: &JobEventRow) -> Result<BulkRow<'_>, StoreError> {
    let event = &row.event;
    Ok(vec![
        id(row.job),
        number(event.number)?,
        number(u64::from(event.attempt))?,
        time(event.at),
        word(event.kind.as_str()),
        json(&event.data)?,
    ])
}

fn decode(row: &dyn Fields) -> Result<JobEvent, StoreError> {
    Ok(JobEvent {
        number: row.number("number")?,
        attempt: row.version("attempt")?,
        at: row.time("at")?,
        kind: row.word("kind")?,
        data: row.json("data")?,
    })
}

impl dyn Reader {
    /// Events of a job after a number, ascending.
    pub async fn job_events(
        &self,
        job: JobId,
        kind: Option<JobEventKind>,
        after: u64,
        limit: u32,
    ) -> Result<Vec<JobEvent>, StoreError> {
        let query = Select::from(&EVENTS)
            .filter("job =", id(job))
            .filter_if("kind =", kind.map(|kind| word(kind.as_str())))
            .filter("number >", bound(after))
            .then("ORDER BY number")
            .limit(limit);
        self.all(query, decode).await
    }

    /// The last events of a kind, newest first.
    pub async fn last_job_events(
        &self,
        job: JobId,
        kind: JobEventKind,
        limit: u32,
    ) -> Result<Vec<JobEvent>, StoreError> {
        let query = Select::from(&EVENTS)
            .filter("job =", id(job))
            .filter("kind =", word(kind.as_str()))
            .then("ORDER BY number DESC")
            .limit(limit);
        self.all(query, decode).await
    }
}

impl Transaction<'_> {
    /// Adds events whose numbers follow those that exist.
    pub async fn append_job_events(&mut self, events: &[JobEventRow]) -> Result<(), StoreError> {
        let rows = events.iter().map(encode).collect::<Result<Vec<_>, _>>()?;
        self.bulk(&INSERT_EVENTS, &rows).await
    }
}
