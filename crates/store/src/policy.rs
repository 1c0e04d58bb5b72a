//! Policies and their files as rows.

use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{Artifact, Policy};

use super::artifact::decode as decode_file;
use super::cell::{Kind, id, json, number, optional_id, optional_number, text, time};
use super::engine::Reader;
use super::field::Fields;
use super::row::PageRequest;
use super::row::job::PolicyRow;
use super::statement::{Bulk, BulkRow, Select, Statement, Table};
use super::{StoreError, Transaction};

const POLICIES: Table = Table {
    name: "policies",
    columns: &[
        ("id", Kind::Text),
        ("tenant", Kind::Text),
        ("job", Kind::Text),
        ("step", Kind::Integer),
        ("parent", Kind::Text),
        ("architecture", Kind::Text),
        ("environments", Kind::Text),
        ("metrics", Kind::Text),
        ("created_at", Kind::Integer),
    ],
};

const FILES: Table = Table {
    name: "policy_files",
    columns: &[
        ("policy", Kind::Text),
        ("name", Kind::Text),
        ("tenant", Kind::Text),
        ("digest", Kind::Text),
        ("size_bytes", Kind::Integer),
        ("created_at", Kind::Integer),
    ],
};

const INSERT_POLICY: Bulk = POLICIES.insert("", "policy");
const INSERT_FILES: Bulk = FILES.insert("", "file of a policy");

fn encode(row: &PolicyRow) -> Result<BulkRow<'_>, StoreError> {
    let policy = &row.policy;
    Ok(vec![
        id(policy.id),
        text(&row.tenant),
        id(policy.job),
        optional_number(policy.step)?,
        optional_id(policy.parent),
        text(&policy.architecture),
        json(&policy.environments)?,
        json(&policy.metrics)?,
        time(policy.created_at),
    ])
}

fn encode_files(row: &PolicyRow) -> Result<Vec<BulkRow<'_>>, StoreError> {
    let encode = |file: &'_ Artifact| -> Result<BulkRow<'static>, StoreError> {
        Ok(vec![
            id(row.policy.id),
            text(&file.name).into_owned(),
            text(&row.tenant).into_owned(),
            text(&file.digest).into_owned(),
            number(file.size_bytes)?,
            time(file.created_at),
        ])
    };
    row.policy.files.iter().map(encode).collect()
}

/// A policy without its files.
fn decode(row: &dyn Fields) -> Result<PolicyRow, StoreError> {
    let policy = Policy {
        id: row.id("id")?,
        job: row.id("job")?,
        step: row.number_or_none("step")?,
        parent: row.id_or_none("parent")?,
        architecture: row.text("architecture")?,
        environments: row.json("environments")?,
        metrics: row.json("metrics")?,
        files: Vec::new(),
        created_at: row.time("created_at")?,
    };
    Ok(PolicyRow { tenant: row.text("tenant")?, policy })
}

impl dyn Reader {
    /// A policy of a tenant with its files.
    pub async fn policy(&self, tenant: &str, policy: PolicyId) -> Result<Option<PolicyRow>, StoreError> {
        Ok(self.policy_of_any_tenant(policy).await?.filter(|row| row.tenant == tenant))
    }

    /// A policy of any tenant with its files.
    pub async fn policy_of_any_tenant(&self, policy: PolicyId) -> Result<Option<PolicyRow>, StoreError> {
        let mut found = self.one(Select::from(&POLICIES).filter("id =", id(policy)).build(), decode).await?;
        if let Some(row) = &mut found {
            row.policy.files = self.policy_files(policy).await?;
        }
        Ok(found)
    }

    /// The policy that was registered from the checkpoint of a job after so many updates, with its files.
    pub async fn policy_of_checkpoint(&self, job: JobId, step: u64) -> Result<Option<PolicyRow>, StoreError> {
        let query = Select::from(&POLICIES).filter("job =", id(job)).filter("step =", number(step)?).build();
        let mut found = self.one(query, decode).await?;
        if let Some(row) = &mut found {
            row.policy.files = self.policy_files(row.policy.id).await?;
        }
        Ok(found)
    }

    /// The policy that a job registered last by itself, not from a checkpoint; with its files.
    pub async fn last_policy_of(&self, job: JobId) -> Result<Option<PolicyRow>, StoreError> {
        let query = Select::from(&POLICIES).filter("job =", id(job)).then("AND step IS NULL ORDER BY id DESC").limit(1);
        let mut found = self.one(query, decode).await?;
        if let Some(row) = &mut found {
            row.policy.files = self.policy_files(row.policy.id).await?;
        }
        Ok(found)
    }

    /// Policies of a tenant by descending id, with their files; those of one job where one is named.
    pub async fn policies(
        &self,
        tenant: &str,
        job: Option<JobId>,
        page: &PageRequest,
    ) -> Result<Vec<PolicyRow>, StoreError> {
        let query = Select::from(&POLICIES)
            .filter("tenant =", text(tenant))
            .filter_if("job =", job.map(id))
            .filter_if("id <", page.before.as_deref().map(text))
            .then("ORDER BY id DESC")
            .limit(page.limit);
        let mut rows = self.all(query, decode).await?;
        for row in &mut rows {
            row.policy.files = self.policy_files(row.policy.id).await?;
        }
        Ok(rows)
    }

    async fn policy_files(&self, policy: PolicyId) -> Result<Vec<Artifact>, StoreError> {
        self.all(Select::from(&FILES).filter("policy =", id(policy)).then("ORDER BY name").build(), decode_file).await
    }
}

impl Transaction<'_> {
    /// Inserts a policy with its files; fails with [`StoreError::Exists`] when the id is taken.
    pub async fn insert_policy(&mut self, row: &PolicyRow) -> Result<(), StoreError> {
        self.bulk(&INSERT_POLICY, &[encode(row)?]).await?;
        self.bulk(&INSERT_FILES, &encode_files(row)?).await
    }

    /// Deletes a policy and the rows of its files; false when there is none.
    pub async fn delete_policy(&mut self, policy: PolicyId) -> Result<bool, StoreError> {
        let by_id = |sql| Statement::new(sql, vec![id(policy)]);
        self.execute(by_id("DELETE FROM policy_files WHERE policy = $1")).await?;
        Ok(self.execute(by_id("DELETE FROM policies WHERE id = $1")).await? > 0)
    }
}
