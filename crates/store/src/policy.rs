//! Policies and their files as rows.

use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{Artifact, Policy};

use super::StoreError;
use super::cell::{Kind, id, json, number, optional_id, text, time};
use super::engine::{BulkRow, Select, Statement, Table};
use super::field::Fields;
use super::row::PageRequest;
use super::row::job::PolicyRow;

pub(super) const POLICIES: Table = Table {
    name: "policies",
    columns: &[
        ("id", Kind::Text),
        ("tenant", Kind::Text),
        ("job", Kind::Text),
        ("parent", Kind::Text),
        ("architecture", Kind::Text),
        ("environments", Kind::Text),
        ("metrics", Kind::Text),
        ("created_at", Kind::Integer),
    ],
};

pub(super) const FILES: Table = Table {
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

pub(super) fn encode(row: &PolicyRow) -> Result<BulkRow<'_>, StoreError> {
    let policy = &row.policy;
    Ok(vec![
        id(policy.id),
        text(&row.tenant),
        id(policy.job),
        optional_id(policy.parent),
        text(&policy.architecture),
        json(&policy.environments)?,
        json(&policy.metrics)?,
        time(policy.created_at),
    ])
}

pub(super) fn encode_files(row: &PolicyRow) -> Result<Vec<BulkRow<'_>>, StoreError> {
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

/// A policy, still without its files.
pub(super) fn decode<F: Fields>(row: &F) -> Result<PolicyRow, StoreError> {
    let policy = Policy {
        id: row.id("id")?,
        job: row.id("job")?,
        parent: row.id_or_none("parent")?,
        architecture: row.text("architecture")?,
        environments: row.json("environments")?,
        metrics: row.json("metrics")?,
        files: Vec::new(),
        created_at: row.time("created_at")?,
    };
    Ok(PolicyRow { tenant: row.text("tenant")?, policy })
}

pub(super) fn one(policy: PolicyId) -> Statement<'static> {
    Select::from(&POLICIES).only("id =", id(policy)).build()
}

pub(super) fn page<'a>(tenant: &'a str, job: Option<JobId>, page: &'a PageRequest) -> Statement<'a> {
    Select::from(&POLICIES)
        .only("tenant =", text(tenant))
        .only_if("job =", job.map(id))
        .only_if("id <", page.before.as_deref().map(text))
        .then("ORDER BY id DESC")
        .limit(page.limit)
}

pub(super) fn files(policy: PolicyId) -> Statement<'static> {
    Select::from(&FILES).only("policy =", id(policy)).then("ORDER BY name").build()
}
