//! Events of jobs as rows.

use palestra_protocol::id::JobId;
use palestra_protocol::job::{JobEvent, JobEventKind};

use super::StoreError;
use super::cell::{Kind, bound, id, json, number, time, word};
use super::engine::{BulkRow, Select, Statement, Table};
use super::field::Fields;
use super::row::job::JobEventRow;

pub(super) const EVENTS: Table = Table {
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

pub(super) fn encode(row: &JobEventRow) -> Result<BulkRow<'_>, StoreError> {
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

pub(super) fn decode<F: Fields>(row: &F) -> Result<JobEvent, StoreError> {
    Ok(JobEvent {
        number: row.number("number")?,
        attempt: row.version("attempt")?,
        at: row.time("at")?,
        kind: row.word("kind")?,
        data: row.json("data")?,
    })
}

/// Events after a number, ascending.
pub(super) fn after(job: JobId, kind: Option<JobEventKind>, after: u64, limit: u32) -> Statement<'static> {
    Select::from(&EVENTS)
        .only("job =", id(job))
        .only_if("kind =", kind.map(|kind| word(kind.as_str())))
        .only("number >", bound(after))
        .then("ORDER BY number")
        .limit(limit)
}

/// The last events of a kind, newest first.
pub(super) fn last(job: JobId, kind: JobEventKind, limit: u32) -> Statement<'static> {
    Select::from(&EVENTS)
        .only("job =", id(job))
        .only("kind =", word(kind.as_str()))
        .then("ORDER BY number DESC")
        .limit(limit)
}
