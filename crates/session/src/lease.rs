//! Runs: owners of sessions, alive as long as somebody names them.

use std::collections::HashMap;

use dashmap::DashMap;
use palestra_protocol::id::RunId;
use palestra_protocol::run::{CreateRun, Run, RunPlan, RunState, RunSummary};
use palestra_protocol::session::CloseReason;
use palestra_protocol::time::Timestamp;

use super::error::fault;
use super::{SessionError, Sessions};
use palestra_store::Tenant;
use palestra_store::row::{PageRequest, RunRow, RunTotals};
use palestra_store::{Store, StoreError};

/// Longest policy or split of a plan, in bytes.
const PLAN_TEXT_BYTES_MAX: usize = 10_000;
/// Largest number of a plan, which every JSON implementation carries exactly.
const PLAN_NUMBER_MAX: u64 = (1 << 53) - 1;
/// Shortest lease.
pub(super) const LEASE_MS_MIN: u64 = 1_000;
/// Longest lease.
pub(super) const LEASE_MS_MAX: u64 = 86_400_000;
/// Sessions of a run that are closed between two looks at the store.
const SESSIONS_PER_PAGE: u32 = 256;
/// A lease is written down again once this share of it has passed: its end in the store lags by no more.
const WRITE_SHARE: u64 = 4;

/// The leases of active runs, by tenant and run.
pub(super) struct Leases(DashMap<(String, RunId), Lease>);

#[derive(Debug, Clone, Copy)]
struct Lease {
    lease_ms: u64,
    expires_at: Timestamp,
    written: Timestamp,
    /// The run is being ended: it takes no more sessions, and nothing renews it.
    ending: bool,
}

impl Leases {
    /// Takes up the runs that were active when the server stopped; each gets a whole lease to be named again.
    pub(super) async fn load(store: &Store, now: Timestamp) -> Result<Self, StoreError> {
        let leases = DashMap::new();
        for row in store.runs_active().await? {
            let expires_at = row.lease_expires_at.max(now.plus_ms(row.lease_ms));
            let lease = Lease { lease_ms: row.lease_ms, expires_at, written: row.lease_expires_at, ending: false };
            leases.insert((row.tenant, row.id), lease);
        }
        Ok(Self(leases))
    }

    /// True while the run is alive.
    pub(super) fn holds(&self, tenant: &str, run: RunId) -> bool {
        self.0.get(&(tenant.to_owned(), run)).is_some_and(|lease| !lease.ending)
    }

    /// Takes up a lease. One that is held already is never set back to what the store knows of it.
    fn put(&self, row: &RunRow) {
        let (expires_at, written) = (row.lease_expires_at, row.lease_expires_at);
        let lease = Lease { lease_ms: row.lease_ms, expires_at, written, ending: false };
        let mut kept = self.0.entry((row.tenant.clone(), row.id)).or_insert(lease);
        kept.expires_at = kept.expires_at.max(expires_at);
    }

    /// True while the run is being ended.
    fn ending(&self, tenant: &str, run: RunId) -> bool {
        self.0.get(&(tenant.to_owned(), run)).is_some_and(|lease| lease.ending)
    }

    /// Begins the end of a run, if `due` says so of the time to which it is leased.
    fn begin_end(&self, row: &RunRow, due: impl Fn(Timestamp) -> bool) -> bool {
        self.put(row);
        self.0.get_mut(&(row.tenant.clone(), row.id)).is_some_and(|mut lease| {
            lease.ending |= due(lease.expires_at);
            lease.ending
        })
    }

    /// Renews a lease; answers its new end when that has to be written down.
    fn renew(&self, tenant: &str, id: RunId, now: Timestamp) -> Option<Timestamp> {
        let mut lease = self.0.get_mut(&(tenant.to_owned(), id))?;
        if lease.ending {
            return None;
        }
        lease.expires_at = now.plus_ms(lease.lease_ms);
        let lag = lease.expires_at.milliseconds() - lease.written.milliseconds();
        let due = lag >= i64::try_from(lease.lease_ms / WRITE_SHARE).unwrap_or(i64::MAX);
        due.then(|| {
            lease.written = lease.expires_at;
            lease.expires_at
        })
    }

    fn expired(&self, now: Timestamp) -> Vec<(String, RunId)> {
        self.0.iter().filter(|lease| lease.ending || lease.expires_at <= now).map(|lease| lease.key().clone()).collect()
    }
}

impl Sessions {
    /// Starts a run; the same id again is the run that exists.
    ///
    /// # Errors
    /// When the lease is out of range or the store fails.
    pub async fn create_run(&self, tenant: &Tenant, request: CreateRun) -> Result<Run, SessionError> {
        if !(LEASE_MS_MIN..=LEASE_MS_MAX).contains(&request.lease_ms) {
            return Err(fault("lease_ms", &format!("a lease must be {LEASE_MS_MIN} to {LEASE_MS_MAX} ms")));
        }
        let now = self.0.clock.now();
        let row = RunRow {
            id: request.id.unwrap_or_else(RunId::new),
            tenant: tenant.to_string(),
            state: RunState::Active,
            lease_ms: request.lease_ms,
            lease_expires_at: now.plus_ms(request.lease_ms),
            created_at: now,
            plan: None,
        };
        let stored = self.0.store.create_run(&row).await?;
        if stored.tenant != row.tenant || stored.lease_ms != row.lease_ms {
            return Err(SessionError::Conflict(format!(
                "the run {} exists with another lease: choose another id, or the same lease",
                row.id
            )));
        }
        if stored.state == RunState::Active {
            self.0.runs.put(&stored);
            return self.heartbeat(tenant, stored.id).await;
        }
        Ok(view(&stored))
    }

    /// Records the plan of a run, in place of an earlier one, and renews its lease.
    ///
    /// # Errors
    /// When the plan names no policy, there is no such run, or it has ended.
    pub async fn plan_run(&self, tenant: &Tenant, id: RunId, plan: &RunPlan) -> Result<Run, SessionError> {
        for (field, text) in [("policy", Some(&plan.policy)), ("split", plan.split.as_ref())] {
            if text.is_some_and(|text| !(1..=PLAN_TEXT_BYTES_MAX).contains(&text.len())) {
                return Err(fault(field, &format!("must be 1 to {PLAN_TEXT_BYTES_MAX} bytes")));
            }
        }
        for (field, number) in [("seed", plan.seed), ("episodes", Some(plan.episodes))] {
            if number.is_some_and(|number| number > PLAN_NUMBER_MAX) {
                return Err(fault(field, &format!("must be 0 to {PLAN_NUMBER_MAX}")));
            }
        }
        self.touch_run(tenant, id).await?;
        if !self.0.store.plan_run(tenant, id, plan).await? {
            return Err(SessionError::RunOver(id));
        }
        self.run_info(tenant, id).await
    }

    /// Renews a run's lease.
    ///
    /// # Errors
    /// When there is no such run, or it has ended.
    pub async fn heartbeat(&self, tenant: &Tenant, id: RunId) -> Result<Run, SessionError> {
        self.touch_run(tenant, id).await?;
        self.run_info(tenant, id).await
    }

    /// Describes a run. Naming it renews its lease.
    ///
    /// # Errors
    /// When there is no such run.
    pub async fn run_info(&self, tenant: &Tenant, id: RunId) -> Result<Run, SessionError> {
        let row = self.0.store.run(tenant, id).await?.ok_or(SessionError::NotFound("run"))?;
        if row.state == RunState::Active {
            self.touch_run(tenant, id).await?;
        }
        let lease = self.0.runs.0.get(&(tenant.to_string(), id)).map(|lease| lease.expires_at);
        Ok(Run { lease_expires_at: lease.unwrap_or(row.lease_expires_at), ..view(&row) })
    }

    /// Runs by descending id, with what their episodes came to. It renews no lease.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn runs(
        &self,
        tenant: &Tenant,
        state: Option<RunState>,
        page: &PageRequest,
    ) -> Result<Vec<RunSummary>, SessionError> {
        let rows = self.0.store.runs(tenant, state, page).await?;
        let (Some(newest), Some(oldest)) = (rows.first(), rows.last()) else { return Ok(Vec::new()) };
        let totals = self.0.store.run_totals(tenant, oldest.id, newest.id).await?;
        let totals: HashMap<RunId, RunTotals> = totals.into_iter().map(|totals| (totals.run, totals)).collect();
        Ok(rows.iter().map(|row| summary(row, totals.get(&row.id))).collect())
    }

    /// Ends a run and closes its sessions; ending it twice is the same as once.
    ///
    /// # Errors
    /// When there is no such run.
    pub async fn delete_run(&self, tenant: &Tenant, id: RunId) -> Result<Run, SessionError> {
        let row = self.0.store.run(tenant, id).await?.ok_or(SessionError::NotFound("run"))?;
        if row.state == RunState::Active {
            self.0.runs.begin_end(&row, |_| true);
            let (sessions, owner) = (self.clone(), tenant.clone());
            // Once begun it ends, whether or not its caller waits.
            self.to_end(async move { sessions.end_run(&owner, id, RunState::Deleted).await }).await?;
        }
        let row = self.0.store.run(tenant, id).await?.ok_or(SessionError::NotFound("run"))?;
        Ok(view(&row))
    }

    /// Renews the lease of a run that a call names.
    pub(super) async fn touch_run(&self, tenant: &str, id: RunId) -> Result<(), SessionError> {
        if !self.0.runs.holds(tenant, id) {
            self.take_up(tenant, id).await?;
        }
        if self.0.runs.ending(tenant, id) {
            return Err(SessionError::RunOver(id));
        }
        if let Some(expires_at) = self.0.runs.renew(tenant, id, self.0.clock.now()) {
            let alive = self.0.store.renew_run(tenant, id, expires_at).await?;
            if !alive {
                self.0.runs.0.remove(&(tenant.to_owned(), id));
                return Err(SessionError::RunOver(id));
            }
        }
        Ok(())
    }

    /// Refuses sessions that would enter a run whose end has begun since it was named.
    ///
    /// # Errors
    /// When the run is being ended, or has ended.
    pub(super) fn check_entry(&self, tenant: &str, run: Option<RunId>) -> Result<(), SessionError> {
        match run {
            Some(run) if !self.0.runs.holds(tenant, run) => Err(SessionError::RunOver(run)),
            _ => Ok(()),
        }
    }

    /// Takes up the lease of an active run that another node started.
    async fn take_up(&self, tenant: &str, id: RunId) -> Result<(), SessionError> {
        let row = self.0.store.run(tenant, id).await?.ok_or(SessionError::NotFound("run"))?;
        if row.state != RunState::Active {
            return Err(SessionError::RunOver(id));
        }
        self.0.runs.put(&row);
        Ok(())
    }

    /// Ends every run whose lease has expired.
    pub(super) async fn expire_runs(&self) {
        let now = self.0.clock.now();
        for (tenant, id) in self.0.runs.expired(now) {
            let ended = self.expire_run(&tenant, id, now).await;
            if let Err(error) = ended {
                tracing::warn!(run = %id, %error, "an expired run could not be ended; the next sweep tries again");
            }
        }
    }

    async fn expire_run(&self, tenant: &str, id: RunId, now: Timestamp) -> Result<(), SessionError> {
        // Another node may have renewed it, and so may a call since it was found.
        let row = self.0.store.run(tenant, id).await?.filter(|row| row.state == RunState::Active);
        let Some(row) = row else {
            self.0.runs.0.remove(&(tenant.to_owned(), id));
            return Ok(());
        };
        if self.0.runs.begin_end(&row, |expires_at| expires_at <= now) {
            self.end_run(tenant, id, RunState::Expired).await?;
        }
        Ok(())
    }

    /// Closes the sessions of a run whose end has begun, then the run: if the server dies in between, the run is still there to be ended again.
    async fn end_run(&self, tenant: &str, id: RunId, state: RunState) -> Result<(), SessionError> {
        // Sessions that entered the run before its end began may still be on their way to the store.
        self.0.recorder.settle().await?;
        let mut after = None;
        let mut failed = None;
        loop {
            let page = self.0.store.sessions_of_run(tenant, id, after, SESSIONS_PER_PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            let closing = page.iter().map(|row| self.shut(tenant, row.id, CloseReason::RunEnded));
            // One that cannot be closed now must not keep the others open.
            failed = futures::future::join_all(closing).await.into_iter().filter_map(Result::err).next().or(failed);
        }
        if let Some(error) = failed {
            return Err(error);
        }
        self.0.store.end_run(tenant, id, state, None).await?;
        self.0.runs.0.remove(&(tenant.to_owned(), id));
        Ok(())
    }
}

fn summary(row: &RunRow, totals: Option<&RunTotals>) -> RunSummary {
    RunSummary {
        id: row.id,
        state: row.state,
        created_at: row.created_at,
        episodes: totals.map_or(0, |totals| totals.episodes),
        scored: totals.map_or(0, |totals| totals.scored),
        mean_score: totals.and_then(|totals| totals.mean_score),
        environment: totals.map(|totals| totals.environment.clone()),
        environments: totals.map_or(0, |totals| totals.environments),
        plan: row.plan.clone(),
    }
}

fn view(row: &RunRow) -> Run {
    Run {
        id: row.id,
        state: row.state,
        lease_ms: row.lease_ms,
        lease_expires_at: row.lease_expires_at,
        created_at: row.created_at,
        plan: row.plan.clone(),
    }
}
