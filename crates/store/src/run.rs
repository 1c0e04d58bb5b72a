//! Runs as rows.

use palestra_protocol::id::RunId;
use palestra_protocol::run::{RunPlan, RunState};
use palestra_protocol::time::Timestamp;

use super::cell::{Kind, id, number, optional_number, optional_text, text, time, word};
use super::engine::Reader;
use super::field::Fields;
use super::row::{PageRequest, RunRow};
use super::statement::{BulkRow, Select, Statement, Table};
use super::{Durability, Store, StoreError};

const RUNS: Table = Table {
    name: "runs",
    columns: &[
        ("tenant", Kind::Text),
        ("id", Kind::Text),
        ("state", Kind::Text),
        ("lease_ms", Kind::Integer),
        ("lease_expires_at", Kind::Integer),
        ("created_at", Kind::Integer),
        ("policy", Kind::Text),
        ("split", Kind::Text),
        ("seed", Kind::Integer),
        ("episodes_planned", Kind::Integer),
    ],
};

fn encode(row: &RunRow) -> Result<BulkRow<'_>, StoreError> {
    let plan = row.plan.as_ref();
    Ok(vec![
        text(&row.tenant),
        id(row.id),
        word(row.state.as_str()),
        number(row.lease_ms)?,
        time(row.lease_expires_at),
        time(row.created_at),
        optional_text(plan.map(|plan| plan.policy.as_str())),
        optional_text(plan.and_then(|plan| plan.split.as_deref())),
        optional_number(plan.and_then(|plan| plan.seed))?,
        optional_number(plan.map(|plan| plan.episodes))?,
    ])
}

fn decode(row: &dyn Fields) -> Result<RunRow, StoreError> {
    Ok(RunRow {
        tenant: row.text("tenant")?,
        id: row.id("id")?,
        state: row.word("state")?,
        lease_ms: row.number("lease_ms")?,
        lease_expires_at: row.time("lease_expires_at")?,
        created_at: row.time("created_at")?,
        plan: plan(row)?,
    })
}

fn plan(row: &dyn Fields) -> Result<Option<RunPlan>, StoreError> {
    let Some(policy) = row.text_or_none("policy")? else { return Ok(None) };
    let (split, seed) = (row.text_or_none("split")?, row.number_or_none("seed")?);
    Ok(Some(RunPlan { policy, split, seed, episodes: row.number_or_none("episodes_planned")?.unwrap_or_default() }))
}

impl dyn Reader {
    /// A run of a tenant.
    pub async fn run(&self, tenant: &str, run: RunId) -> Result<Option<RunRow>, StoreError> {
        let query = Select::from(&RUNS).filter("tenant =", text(tenant)).filter("id =", id(run)).build();
        self.one(query, decode).await
    }

    /// Runs of a tenant by descending id, in one state or in any.
    pub async fn runs(
        &self,
        tenant: &str,
        state: Option<RunState>,
        page: &PageRequest,
    ) -> Result<Vec<RunRow>, StoreError> {
        let query = Select::from(&RUNS)
            .filter("tenant =", text(tenant))
            .filter_if("id <", page.before.as_deref().map(text))
            .filter_if("state =", state.map(|state| word(state.as_str())))
            .then("ORDER BY id DESC")
            .limit(page.limit);
        self.all(query, decode).await
    }

    /// Every active run of any tenant.
    pub async fn runs_active(&self) -> Result<Vec<RunRow>, StoreError> {
        self.all(Select::from(&RUNS).then("WHERE state = 'active' ORDER BY id, tenant").build(), decode).await
    }
}

impl Store {
    /// Inserts a run, or answers the one that exists under this id.
    pub async fn create_run(&self, row: &RunRow) -> Result<RunRow, StoreError> {
        self.bulk(&RUNS.insert("ON CONFLICT DO NOTHING", "run"), &[encode(row)?], Durability::Disk).await?;
        let found = self.run(&row.tenant, row.id).await?;
        found.ok_or_else(|| StoreError::Broken("a run that was just stored is missing".to_owned()))
    }

    /// Records the plan of an active run; false when it is not active.
    pub async fn plan_run(&self, tenant: &str, run: RunId, plan: &RunPlan) -> Result<bool, StoreError> {
        let sql = "UPDATE runs SET policy = $1, split = $2, seed = $3, episodes_planned = $4 \
            WHERE tenant = $5 AND id = $6 AND state = 'active'";
        let cells = vec![
            text(&plan.policy),
            optional_text(plan.split.as_deref()),
            optional_number(plan.seed)?,
            number(plan.episodes)?,
            text(tenant),
            id(run),
        ];
        Ok(self.execute(Statement::new(sql, cells), Durability::Disk).await? > 0)
    }

    /// Extends the lease of an active run; false when it is not active.
    pub async fn renew_run(&self, tenant: &str, run: RunId, expires_at: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE runs SET lease_expires_at = $1 WHERE tenant = $2 AND id = $3 AND state = 'active'";
        let update = Statement::new(sql, vec![time(expires_at), text(tenant), id(run)]);
        Ok(self.execute(update, Durability::Process).await? > 0)
    }

    /// Ends an active run; false when it was not active. With `expired_before`, only if its lease expires before that.
    pub async fn end_run(
        &self,
        tenant: &str,
        run: RunId,
        state: RunState,
        expired_before: Option<Timestamp>,
    ) -> Result<bool, StoreError> {
        let mut cells = vec![word(state.as_str()), text(tenant), id(run)];
        let sql = match expired_before {
            None => "UPDATE runs SET state = $1 WHERE tenant = $2 AND id = $3 AND state = 'active'",
            Some(before) => {
                cells.push(time(before));
                "UPDATE runs SET state = $1 WHERE tenant = $2 AND id = $3 AND state = 'active' AND lease_expires_at < $4"
            }
        };
        Ok(self.execute(Statement::new(sql, cells), Durability::Disk).await? > 0)
    }
}
