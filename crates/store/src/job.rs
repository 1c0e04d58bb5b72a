//! Jobs as rows.

use palestra_protocol::id::JobId;
use palestra_protocol::job::{Device, JobKind, JobState, Resources};
use palestra_protocol::time::Timestamp;

use super::StoreError;
use super::cell::{
    Cell, Kind, bound, flag, id, json, number, optional_id, optional_json, optional_text, optional_time, optional_word,
    text, time, word,
};
use super::engine::{Bulk, BulkRow, Select, Statement, Table};
use super::field::{Fields, broken};
use super::row::PageRequest;
use super::row::job::{Candidate, JobFilter, JobRow, JobSpecRow, Needed, StoredJob, Wanted};

/// Queued jobs of one tenant that are looked at for one lease. All of them fit, so that the first would do; more are of use
/// where a worker leaves some to others.
const CANDIDATES_PER_TENANT: u32 = 8;
/// Queued jobs that are looked at for one lease: those of the tenants that were served longest ago.
const CANDIDATES_MAX: u32 = 4_096;

pub(super) const JOBS: Table = Table {
    name: "jobs",
    columns: &[
        ("id", Kind::Text),
        ("tenant", Kind::Text),
        ("kind", Kind::Text),
        ("state", Kind::Text),
        ("priority", Kind::Integer),
        ("device", Kind::Text),
        ("memory_bytes", Kind::Integer),
        ("blocked", Kind::Integer),
        ("attempts", Kind::Integer),
        ("attempts_max", Kind::Integer),
        ("fence", Kind::Integer),
        ("events", Kind::Integer),
        ("reports", Kind::Integer),
        ("not_before", Kind::Integer),
        ("lease_expires_at", Kind::Integer),
        ("cancel_requested_at", Kind::Integer),
        ("run", Kind::Text),
        ("worker", Kind::Text),
        ("progress", Kind::Text),
        ("result", Kind::Text),
        ("error", Kind::Text),
        ("dead_letter", Kind::Boolean),
        ("outcome", Kind::Text),
        ("created_at", Kind::Integer),
        ("started_at", Kind::Integer),
        ("ended_at", Kind::Integer),
    ],
};

pub(super) const SPECS: Table = Table {
    name: "job_specs",
    columns: &[
        ("job", Kind::Text),
        ("request", Kind::Text),
        ("spec", Kind::Text),
        ("follows", Kind::Text),
        ("metadata", Kind::Text),
    ],
};

const JOINED: &str = "jobs JOIN job_specs ON job_specs.job = jobs.id";

const NEEDS: Table = Table { name: "job_needs", columns: &[("job", Kind::Text), ("needs", Kind::Text)] };

pub(super) const INSERT_NEEDS: Bulk = NEEDS.insert("", "need");

pub(super) fn encode(row: &JobRow) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![
        id(row.id),
        text(&row.tenant),
        word(row.kind.as_str()),
        word(row.state.as_str()),
        Cell::Integer(Some(i64::from(row.priority))),
        word(row.resources.device.as_str()),
        number(row.resources.memory_bytes)?,
        number(row.blocked)?,
        number(u64::from(row.attempts))?,
        number(u64::from(row.attempts_max))?,
        number(row.fence)?,
        number(row.events)?,
        number(row.reports)?,
        optional_time(row.not_before),
        optional_time(row.lease_expires_at),
        optional_time(row.cancel_requested_at),
        optional_id(row.run),
        optional_text(row.worker.as_deref()),
        optional_json(row.progress.as_ref())?,
        optional_json(row.result.as_ref())?,
        optional_json(row.error.as_ref())?,
        flag(row.dead_letter),
        optional_text(row.outcome.as_deref()),
        time(row.created_at),
        optional_time(row.started_at),
        optional_time(row.ended_at),
    ])
}

pub(super) fn encode_spec(row: &JobSpecRow) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![id(row.job), text(&row.request), json(&row.spec)?, json(&row.follows)?, json(&row.metadata)?])
}

pub(super) fn encode_needs(job: JobId, needs: &[JobId]) -> Vec<BulkRow<'static>> {
    needs.iter().map(|needed| vec![id(job), id(needed)]).collect()
}

fn small<F: Fields>(row: &F, name: &str) -> Result<i32, StoreError> {
    let number = row.integer_or_none(name)?.ok_or_else(|| broken(name, "it is missing"))?;
    i32::try_from(number).map_err(|_| broken(name, "it is too large"))
}

pub(super) fn decode<F: Fields>(row: &F) -> Result<JobRow, StoreError> {
    Ok(JobRow {
        id: row.id("id")?,
        tenant: row.text("tenant")?,
        kind: row.word("kind")?,
        state: row.word("state")?,
        priority: small(row, "priority")?,
        resources: Resources { device: row.word("device")?, memory_bytes: row.number("memory_bytes")? },
        blocked: row.number("blocked")?,
        attempts: row.version("attempts")?,
        attempts_max: row.version("attempts_max")?,
        fence: row.number("fence")?,
        events: row.number("events")?,
        reports: row.number("reports")?,
        not_before: row.time_or_none("not_before")?,
        lease_expires_at: row.time_or_none("lease_expires_at")?,
        cancel_requested_at: row.time_or_none("cancel_requested_at")?,
        run: row.id_or_none("run")?,
        worker: row.text_or_none("worker")?,
        progress: row.json_or_none("progress")?,
        result: row.json_or_none("result")?,
        error: row.json_or_none("error")?,
        dead_letter: row.flag("dead_letter")?,
        outcome: row.text_or_none("outcome")?,
        created_at: row.time("created_at")?,
        started_at: row.time_or_none("started_at")?,
        ended_at: row.time_or_none("ended_at")?,
    })
}

pub(super) fn decode_stored<F: Fields>(row: &F) -> Result<StoredJob, StoreError> {
    let spec = JobSpecRow {
        job: row.id("id")?,
        request: row.text("request")?,
        spec: row.json("spec")?,
        follows: row.json("follows")?,
        metadata: row.json("metadata")?,
    };
    Ok(StoredJob { row: decode(row)?, spec })
}

/// Both tables, as one is read with the other.
fn joined() -> Select<'static> {
    let columns = JOBS.columns.iter().chain(&SPECS.columns[1..]);
    let names = columns.map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    Select::named(&names, JOINED)
}

pub(super) fn one(job: JobId) -> Statement<'static> {
    Select::from(&JOBS).only("id =", id(job)).build()
}

pub(super) fn stored(job: JobId) -> Statement<'static> {
    joined().only("id =", id(job)).build()
}

pub(super) fn page<'a>(tenant: &'a str, filter: &JobFilter, page: &'a PageRequest) -> Statement<'a> {
    let mut select = joined()
        .only("tenant =", text(tenant))
        .only_if("state =", filter.state.map(|state| word(state.as_str())))
        .only_if("kind =", filter.kind.map(|kind| word(kind.as_str())))
        .only_if("id <", page.before.as_deref().map(text));
    if filter.dead_letter {
        select = select.only("dead_letter =", flag(true));
    }
    select.then("ORDER BY id DESC").limit(page.limit)
}

/// Writes where a job stands; what it is stays as it was.
pub(super) const UPDATE: Bulk = Bulk::change(
    "UPDATE jobs SET state = r.state, blocked = r.blocked, attempts = r.attempts, fence = r.fence, events = r.events, \
         reports = r.reports, not_before = r.not_before, lease_expires_at = r.lease_expires_at, \
         cancel_requested_at = r.cancel_requested_at, run = r.run, worker = r.worker, progress = r.progress, result = r.result, error = r.error, \
         dead_letter = r.dead_letter, outcome = r.outcome, started_at = r.started_at, ended_at = r.ended_at FROM ",
    JOBS.columns,
    " WHERE jobs.id = r.id",
);

/// What is known of a job in each table.
pub(super) fn delete(job: JobId) -> [Statement<'static>; 5] {
    [
        Statement::new("DELETE FROM job_artifacts WHERE job = $1", vec![id(job)]),
        Statement::new("DELETE FROM job_events WHERE job = $1", vec![id(job)]),
        Statement::new("DELETE FROM job_needs WHERE job = $1", vec![id(job)]),
        Statement::new("DELETE FROM job_specs WHERE job = $1", vec![id(job)]),
        Statement::new("DELETE FROM jobs WHERE id = $1", vec![id(job)]),
    ]
}

/// Jobs that are not over and need this one.
pub(super) fn dependents(job: JobId) -> Statement<'static> {
    let rest = "id IN (SELECT job_needs.job FROM job_needs WHERE job_needs.needs =";
    Select::from(&JOBS).only(rest, id(job)).then(") AND state IN ('queued', 'running') ORDER BY id").build()
}

pub(super) fn needs(job: JobId) -> Statement<'static> {
    let sql = "SELECT job_needs.needs AS needs, jobs.state AS state FROM job_needs \
               LEFT JOIN jobs ON jobs.id = job_needs.needs WHERE job_needs.job = $1 ORDER BY job_needs.needs";
    Statement::new(sql, vec![id(job)])
}

pub(super) fn decode_needs<F: Fields>(row: &F) -> Result<Needed, StoreError> {
    Ok((row.id("needs")?, row.word_or_none("state")?))
}

pub(super) fn queued(tenant: &str) -> Statement<'_> {
    Statement::new("SELECT COUNT(*) AS number FROM jobs WHERE state = 'queued' AND tenant = $1", vec![text(tenant)])
}

/// How many queued jobs of the tenant come before this one.
pub(super) fn place(row: &JobRow) -> Statement<'_> {
    let sql = "SELECT COUNT(*) AS number FROM jobs WHERE state = 'queued' AND tenant = $1 AND (priority > $2 \
               OR (priority = $2 AND (created_at < $3 OR (created_at = $3 AND id < $4))))";
    let priority = Cell::Integer(Some(i64::from(row.priority)));
    Statement::new(sql, vec![text(&row.tenant), priority, time(row.created_at), id(row.id)])
}

/// The heads of the queues of all tenants, of what a worker could do now.
pub(super) fn candidates(wanted: &Wanted) -> Statement<'_> {
    const BEFORE: &str = "SELECT id, tenant, kind, device, memory_bytes, priority, created_at, served FROM \
        (SELECT jobs.id AS id, jobs.tenant AS tenant, jobs.kind AS kind, jobs.device AS device, \
         jobs.memory_bytes AS memory_bytes, jobs.priority AS priority, jobs.created_at AS created_at, \
         COALESCE(job_turns.served, 0) AS served, ROW_NUMBER() OVER (PARTITION BY jobs.tenant \
         ORDER BY CASE jobs.device WHEN 'gpu' THEN 0 ELSE 1 END, jobs.priority DESC, jobs.created_at, jobs.id) AS place \
         FROM jobs LEFT JOIN job_turns ON job_turns.tenant = jobs.tenant WHERE jobs.state = 'queued' AND jobs.blocked = 0 \
         AND (jobs.not_before IS NULL OR jobs.not_before <= $1) AND jobs.memory_bytes <= $2 AND (jobs.device <> 'gpu' OR $3) \
         AND jobs.kind IN (";

    let mut cells = vec![
        time(wanted.now),
        bound(wanted.memory_bytes),
        flag(wanted.device == Device::Gpu),
        Cell::Integer(Some(i64::from(CANDIDATES_PER_TENANT))),
        Cell::Integer(Some(i64::from(CANDIDATES_MAX))),
    ];
    // As many places as there are kinds, so that the text is always the same; those left over ask for the first kind again.
    let first = wanted.kinds.first().copied();
    let mut kinds = wanted.kinds.iter().copied().map(Some).chain(std::iter::repeat(first));
    let places = JobKind::ALL.map(|_| {
        cells.push(optional_word(kinds.next().flatten().map(JobKind::as_str)));
        format!("${}", cells.len())
    });
    let mut sql = format!("{BEFORE}{})", places.join(", "));
    if let Some(tenant) = &wanted.tenant {
        cells.push(text(tenant));
        sql.push_str(&format!(" AND jobs.tenant = ${}", cells.len()));
    }
    sql.push_str(") AS queue WHERE place <= $4 ORDER BY served, tenant, place LIMIT $5");
    Statement::built(sql, cells)
}

pub(super) fn decode_candidate<F: Fields>(row: &F) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        id: row.id("id")?,
        tenant: row.text("tenant")?,
        kind: row.word("kind")?,
        resources: Resources { device: row.word("device")?, memory_bytes: row.number("memory_bytes")? },
        priority: small(row, "priority")?,
        created_at: row.time("created_at")?,
        served: row.number("served")?,
    })
}

pub(super) fn running() -> Statement<'static> {
    let sql = "SELECT tenant, COUNT(*) AS number FROM jobs WHERE state = 'running' GROUP BY tenant";
    Statement::new(sql, Vec::new())
}

pub(super) fn decode_running<F: Fields>(row: &F) -> Result<(String, u64), StoreError> {
    Ok((row.text("tenant")?, row.number("number")?))
}

/// The tenant is the one that was served last from now on.
pub(super) fn serve(tenant: &str) -> Statement<'_> {
    let sql = "INSERT INTO job_turns (tenant, served) VALUES ($1, (SELECT COALESCE(MAX(served), 0) + 1 FROM job_turns)) \
               ON CONFLICT (tenant) DO UPDATE SET served = excluded.served";
    Statement::new(sql, vec![text(tenant)])
}

/// Running jobs at which the sweep has to look: leases that are over or end later than they could, and workers that were asked
/// to stop long ago or at a time that is still to come.
pub(super) fn due(now: Timestamp, latest: Timestamp, asked_before: Timestamp, limit: u32) -> Statement<'static> {
    let sql = "SELECT id FROM jobs WHERE state = 'running' AND (lease_expires_at <= $1 OR lease_expires_at > $2 \
               OR cancel_requested_at <= $3 OR cancel_requested_at > $1) ORDER BY id LIMIT $4";
    Statement::new(sql, vec![time(now), time(latest), time(asked_before), Cell::Integer(Some(i64::from(limit)))])
}

/// Queued jobs that wait for longer than any has to, because the clock went back.
pub(super) fn waiting_beyond(latest: Timestamp, limit: u32) -> Statement<'static> {
    let sql = "SELECT id FROM jobs WHERE state = 'queued' AND not_before > $1 ORDER BY id LIMIT $2";
    Statement::new(sql, vec![time(latest), Cell::Integer(Some(i64::from(limit)))])
}

/// Jobs that were over before, and that no job which is not over needs.
pub(super) fn over(before: Timestamp, limit: u32) -> Statement<'static> {
    let sql = "SELECT id FROM jobs WHERE ended_at < $1 AND NOT EXISTS (SELECT 1 FROM job_needs JOIN jobs AS other \
               ON other.id = job_needs.job WHERE job_needs.needs = jobs.id AND other.ended_at IS NULL) \
               ORDER BY ended_at LIMIT $2";
    Statement::new(sql, vec![time(before), Cell::Integer(Some(i64::from(limit)))])
}

pub(super) fn decode_id<F: Fields>(row: &F) -> Result<JobId, StoreError> {
    row.id("id")
}

pub(super) fn counts() -> Statement<'static> {
    let sql = "SELECT state, COUNT(*) AS number FROM jobs WHERE state IN ('queued', 'running') GROUP BY state";
    Statement::new(sql, Vec::new())
}

pub(super) fn decode_count<F: Fields>(row: &F) -> Result<(JobState, u64), StoreError> {
    Ok((row.word("state")?, row.number("number")?))
}
