//! Jobs as rows.

use palestra_protocol::id::JobId;
use palestra_protocol::job::{Device, JobKind, JobState, Resources};
use palestra_protocol::time::Timestamp;

use super::cell::{
    Cell, Kind, bound, flag, id, json, number, optional_id, optional_json, optional_text, optional_time, optional_word,
    text, time, word,
};
use super::engine::Reader;
use super::field::{Fields, broken};
use super::row::PageRequest;
use super::row::job::{Candidate, CandidateFilter, JobFilter, JobRow, JobSpecRow, Needed, StoredJob};
use super::statement::{Bulk, BulkRow, Select, Statement, Table};
use super::{Durability, Store, StoreError, Transaction};

/// The lock that every change of a job holds, so that it decides on what is really there.
const LOCK: &str = "jobs";

/// Queued jobs of one tenant that are candidates for one lease. All of them fit, so that the first would do; more are of use where
/// a worker with a GPU leaves some to others.
const CANDIDATES_PER_TENANT: u32 = 8;
/// Queued jobs that are candidates for one lease: those of the tenants that were served longest ago.
const CANDIDATES_MAX: u32 = 4_096;

const JOBS: Table = Table {
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
        ("attempts_without_progress", Kind::Integer),
        ("furthest", Kind::Integer),
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

const SPECS: Table = Table {
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

const INSERT_JOB: Bulk = JOBS.insert("", "job");
const INSERT_SPEC: Bulk = SPECS.insert("", "job");
const INSERT_NEEDS: Bulk = NEEDS.insert("", "need");

/// Writes all columns of a job that change.
const UPDATE_JOB: Bulk = Bulk::change(
    "UPDATE jobs SET state = r.state, blocked = r.blocked, attempts = r.attempts, \
         attempts_without_progress = r.attempts_without_progress, furthest = r.furthest, fence = r.fence, events = r.events, \
         reports = r.reports, not_before = r.not_before, lease_expires_at = r.lease_expires_at, \
         cancel_requested_at = r.cancel_requested_at, run = r.run, worker = r.worker, progress = r.progress, \
         result = r.result, error = r.error, dead_letter = r.dead_letter, outcome = r.outcome, started_at = r.started_at, ended_at = r.ended_at FROM ",
    JOBS.columns,
    " WHERE jobs.id = r.id",
);

fn encode(row: &JobRow) -> Result<BulkRow<'_>, StoreError> {
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
        number(u64::from(row.attempts_without_progress))?,
        number(row.furthest)?,
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

fn encode_spec(row: &JobSpecRow) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![id(row.job), text(&row.request), json(&row.spec)?, json(&row.follows)?, json(&row.metadata)?])
}

fn small(row: &dyn Fields, name: &str) -> Result<i32, StoreError> {
    let number = row.integer_or_none(name)?.ok_or_else(|| broken(name, "it is missing"))?;
    i32::try_from(number).map_err(|_| broken(name, "it is too large"))
}

fn decode(row: &dyn Fields) -> Result<JobRow, StoreError> {
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
        attempts_without_progress: row.version("attempts_without_progress")?,
        furthest: row.number("furthest")?,
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

fn decode_stored(row: &dyn Fields) -> Result<StoredJob, StoreError> {
    let spec = JobSpecRow {
        job: row.id("id")?,
        request: row.text("request")?,
        spec: row.json("spec")?,
        follows: row.json("follows")?,
        metadata: row.json("metadata")?,
    };
    Ok(StoredJob { row: decode(row)?, spec })
}

/// A select of both tables, one row for each job.
fn joined() -> Select<'static> {
    let columns = JOBS.columns.iter().chain(&SPECS.columns[1..]);
    let names = columns.map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    Select::named(&names, JOINED)
}

fn decode_candidate(row: &dyn Fields) -> Result<Candidate, StoreError> {
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

fn decode_id(row: &dyn Fields) -> Result<JobId, StoreError> {
    row.id("id")
}

fn limited(sql: &'static str, mut cells: Vec<Cell<'static>>, limit: u32) -> Statement<'static> {
    cells.push(Cell::Integer(Some(i64::from(limit))));
    Statement::new(sql, cells)
}

impl dyn Reader {
    /// The state of a job of any tenant.
    pub async fn job(&self, job: JobId) -> Result<Option<JobRow>, StoreError> {
        self.one(Select::from(&JOBS).filter("id =", id(job)).build(), decode).await
    }

    /// A job of any tenant with its spec.
    pub async fn stored_job(&self, job: JobId) -> Result<Option<StoredJob>, StoreError> {
        self.one(joined().filter("id =", id(job)).build(), decode_stored).await
    }

    /// Jobs of a tenant by descending id.
    pub async fn jobs(
        &self,
        tenant: &str,
        filter: &JobFilter,
        page: &PageRequest,
    ) -> Result<Vec<StoredJob>, StoreError> {
        let query = joined()
            .filter("tenant =", text(tenant))
            .filter_if("state =", filter.state.map(|state| word(state.as_str())))
            .filter_if("kind =", filter.kind.map(|kind| word(kind.as_str())))
            .filter_if("id <", page.before.as_deref().map(text))
            .filter_if("dead_letter =", filter.dead_letter.then(|| flag(true)))
            .then("ORDER BY id DESC")
            .limit(page.limit);
        self.all(query, decode_stored).await
    }

    /// Queued and running jobs of a tenant, by id.
    pub async fn unfinished_jobs(&self, tenant: &str) -> Result<Vec<StoredJob>, StoreError> {
        let query = joined().filter("tenant =", text(tenant));
        self.all(query.then("AND state IN ('queued', 'running') ORDER BY id").build(), decode_stored).await
    }

    /// Queued and running jobs that need this one.
    pub async fn job_dependents(&self, job: JobId) -> Result<Vec<JobRow>, StoreError> {
        let rest = "id IN (SELECT job_needs.job FROM job_needs WHERE job_needs.needs =";
        let query = Select::from(&JOBS).filter(rest, id(job));
        self.all(query.then(") AND state IN ('queued', 'running') ORDER BY id").build(), decode).await
    }

    /// The jobs that a job needs, by id.
    pub async fn job_needs(&self, job: JobId) -> Result<Vec<Needed>, StoreError> {
        let sql = "SELECT job_needs.needs AS needs, jobs.state AS state FROM job_needs \
                   LEFT JOIN jobs ON jobs.id = job_needs.needs WHERE job_needs.job = $1 ORDER BY job_needs.needs";
        let query = Statement::new(sql, vec![id(job)]);
        self.all(query, |row| Ok((row.id("needs")?, row.word_or_none("state")?))).await
    }

    /// The number of queued jobs of a tenant.
    pub async fn count_queued_jobs(&self, tenant: &str) -> Result<u64, StoreError> {
        let sql = "SELECT COUNT(*) AS number FROM jobs WHERE state = 'queued' AND tenant = $1";
        self.number(Statement::new(sql, vec![text(tenant)])).await
    }

    /// The number of queued jobs of the same tenant that come before a job.
    pub async fn count_jobs_before(&self, row: &JobRow) -> Result<u64, StoreError> {
        let sql = "SELECT COUNT(*) AS number FROM jobs WHERE state = 'queued' AND tenant = $1 AND (priority > $2 \
                   OR (priority = $2 AND (created_at < $3 OR (created_at = $3 AND id < $4))))";
        let priority = Cell::Integer(Some(i64::from(row.priority)));
        let cells = vec![text(&row.tenant), priority, time(row.created_at), id(row.id)];
        self.number(Statement::new(sql, cells)).await
    }

    /// Queued jobs that fit a filter and can begin now: the first ones of every tenant.
    pub async fn job_candidates(&self, filter: &CandidateFilter) -> Result<Vec<Candidate>, StoreError> {
        const BEFORE: &str = "SELECT id, tenant, kind, device, memory_bytes, priority, created_at, served FROM \
            (SELECT jobs.id AS id, jobs.tenant AS tenant, jobs.kind AS kind, jobs.device AS device, \
             jobs.memory_bytes AS memory_bytes, jobs.priority AS priority, jobs.created_at AS created_at, \
             COALESCE(job_turns.served, 0) AS served, ROW_NUMBER() OVER (PARTITION BY jobs.tenant \
             ORDER BY CASE jobs.device WHEN 'gpu' THEN 0 ELSE 1 END, jobs.priority DESC, jobs.created_at, jobs.id) AS place \
             FROM jobs LEFT JOIN job_turns ON job_turns.tenant = jobs.tenant WHERE jobs.state = 'queued' AND jobs.blocked = 0 \
             AND (jobs.not_before IS NULL OR jobs.not_before <= $1) AND jobs.memory_bytes <= $2 AND (jobs.device <> 'gpu' OR $3) \
             AND jobs.kind IN (";

        let mut cells = vec![
            time(filter.now),
            bound(filter.memory_bytes),
            flag(filter.device == Device::Gpu),
            Cell::Integer(Some(i64::from(CANDIDATES_PER_TENANT))),
            Cell::Integer(Some(i64::from(CANDIDATES_MAX))),
        ];
        // As many parameters as there are kinds, so that the text is always the same: the first kind fills the rest.
        let first = filter.kinds.first().copied();
        let mut kinds = filter.kinds.iter().copied().map(Some).chain(std::iter::repeat(first));
        let parameters = JobKind::ALL.map(|_| {
            cells.push(optional_word(kinds.next().flatten().map(JobKind::as_str)));
            format!("${}", cells.len())
        });
        let mut sql = format!("{BEFORE}{})", parameters.join(", "));
        if let Some(tenant) = &filter.tenant {
            cells.push(text(tenant));
            sql.push_str(&format!(" AND jobs.tenant = ${}", cells.len()));
        }
        sql.push_str(") AS queue WHERE place <= $4 ORDER BY served, tenant, place LIMIT $5");
        self.all(Statement::built(sql, cells), decode_candidate).await
    }

    /// The number of running jobs of each tenant that has some.
    pub async fn running_jobs(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let sql = "SELECT tenant, COUNT(*) AS number FROM jobs WHERE state = 'running' GROUP BY tenant";
        self.all(Statement::new(sql, Vec::new()), |row| Ok((row.text("tenant")?, row.number("number")?))).await
    }

    /// The running jobs of a worker, by its name.
    pub async fn running_jobs_of(&self, worker: &str) -> Result<Vec<JobId>, StoreError> {
        let sql = "SELECT id FROM jobs WHERE state = 'running' AND worker = $1 ORDER BY id";
        self.all(Statement::new(sql, vec![text(worker)]), decode_id).await
    }

    /// Running jobs that need the sweep: whose lease ended by `now` or ends after `latest`, or that were asked to stop by
    /// `asked_before` or after `now`.
    pub async fn jobs_due(
        &self,
        now: Timestamp,
        latest: Timestamp,
        asked_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<JobId>, StoreError> {
        let sql = "SELECT id FROM jobs WHERE state = 'running' AND (lease_expires_at <= $1 OR lease_expires_at > $2 \
                   OR cancel_requested_at <= $3 OR cancel_requested_at > $1) ORDER BY id LIMIT $4";
        self.all(limited(sql, vec![time(now), time(latest), time(asked_before)], limit), decode_id).await
    }

    /// Queued jobs that may not begin before `latest`, because the clock was set back.
    pub async fn jobs_delayed_beyond(&self, latest: Timestamp, limit: u32) -> Result<Vec<JobId>, StoreError> {
        let sql = "SELECT id FROM jobs WHERE state = 'queued' AND not_before > $1 ORDER BY id LIMIT $2";
        self.all(limited(sql, vec![time(latest)], limit), decode_id).await
    }

    /// Jobs that ended before a time and that no queued or running job needs.
    pub async fn jobs_ended_before(&self, before: Timestamp, limit: u32) -> Result<Vec<JobId>, StoreError> {
        let sql = "SELECT id FROM jobs WHERE ended_at < $1 AND NOT EXISTS (SELECT 1 FROM job_needs JOIN jobs AS other \
                   ON other.id = job_needs.job WHERE job_needs.needs = jobs.id AND other.ended_at IS NULL) \
                   ORDER BY ended_at LIMIT $2";
        self.all(limited(sql, vec![time(before)], limit), decode_id).await
    }

    /// The numbers of queued and of running jobs of all tenants.
    pub async fn job_counts(&self) -> Result<Vec<(JobState, u64)>, StoreError> {
        let sql = "SELECT state, COUNT(*) AS number FROM jobs WHERE state IN ('queued', 'running') GROUP BY state";
        self.all(Statement::new(sql, Vec::new()), |row| Ok((row.word("state")?, row.number("number")?))).await
    }
}

impl Store {
    /// Begins a transaction that holds the lock of the job queue: it waits for every other such transaction to end.
    pub async fn lock_jobs(&self, durability: Durability) -> Result<Transaction<'_>, StoreError> {
        let mut transaction = self.begin(durability).await?;
        transaction.lock(LOCK).await?;
        Ok(transaction)
    }
}

impl Transaction<'_> {
    /// Inserts a job that needs others; fails with [`StoreError::Exists`] when the id is taken.
    pub async fn insert_job(&mut self, row: &JobRow, spec: &JobSpecRow, needs: &[JobId]) -> Result<(), StoreError> {
        self.bulk(&INSERT_JOB, &[encode(row)?]).await?;
        self.bulk(&INSERT_SPEC, &[encode_spec(spec)?]).await?;
        let needs: Vec<BulkRow<'_>> = needs.iter().map(|needed| vec![id(row.id), id(needed)]).collect();
        self.bulk(&INSERT_NEEDS, &needs).await
    }

    /// Updates the state of a job.
    pub async fn update_job(&mut self, row: &JobRow) -> Result<(), StoreError> {
        self.bulk(&UPDATE_JOB, &[encode(row)?]).await
    }

    /// Deletes a job with its events, its artefacts, its references to files, and the files of its result.
    pub async fn delete_job(&mut self, job: JobId) -> Result<(), StoreError> {
        for sql in [
            "DELETE FROM job_files WHERE job = $1",
            "DELETE FROM files WHERE job = $1",
            "DELETE FROM job_artifacts WHERE job = $1",
            "DELETE FROM job_events WHERE job = $1",
            "DELETE FROM job_needs WHERE job = $1",
            "DELETE FROM job_specs WHERE job = $1",
            "DELETE FROM jobs WHERE id = $1",
        ] {
            self.execute(Statement::new(sql, vec![id(job)])).await?;
        }
        Ok(())
    }

    /// Makes a tenant the one that was served last.
    pub async fn mark_served(&mut self, tenant: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO job_turns (tenant, served) VALUES ($1, (SELECT COALESCE(MAX(served), 0) + 1 FROM job_turns)) \
                   ON CONFLICT (tenant) DO UPDATE SET served = excluded.served";
        self.execute(Statement::new(sql, vec![text(tenant)])).await.map(drop)
    }
}
