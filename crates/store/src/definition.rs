//! Published definitions and their task rows.

use serde_json::Value;

use super::StoreError;
use super::cell::{Kind, bound, json, number, text, time};
use super::engine::{BulkRow, Select, Statement, Table};
use super::field::Fields;
use super::row::DefinitionRow;

pub(super) const DEFINITIONS: Table = Table {
    name: "definitions",
    columns: &[
        ("tenant", Kind::Text),
        ("name", Kind::Text),
        ("version", Kind::Integer),
        ("digest", Kind::Text),
        ("definition", Kind::Text),
        ("splits", Kind::Text),
        ("created_at", Kind::Integer),
    ],
};

pub(super) const TASK_ROWS: Table = Table {
    name: "task_rows",
    columns: &[("digest", Kind::Text), ("split", Kind::Text), ("position", Kind::Integer), ("content", Kind::Text)],
};

pub(super) fn encode(row: &DefinitionRow) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![
        text(&row.tenant),
        text(&row.name),
        number(u64::from(row.version))?,
        text(&row.digest),
        json(&row.definition)?,
        json(&row.splits)?,
        time(row.created_at),
    ])
}

pub(super) fn decode<F: Fields>(row: &F) -> Result<DefinitionRow, StoreError> {
    Ok(DefinitionRow {
        tenant: row.text("tenant")?,
        name: row.text("name")?,
        version: row.version("version")?,
        digest: row.text("digest")?,
        definition: row.json("definition")?,
        splits: row.json("splits")?,
        created_at: row.time("created_at")?,
    })
}

pub(super) fn decode_task_row<F: Fields>(row: &F) -> Result<Value, StoreError> {
    row.json("content")
}

pub(super) fn one<'a>(tenant: &'a str, name: &'a str, version: Option<u32>) -> Statement<'a> {
    Select::from(&DEFINITIONS)
        .only("tenant =", text(tenant))
        .only("name =", text(name))
        .only_if("version =", version.map(|version| bound(u64::from(version))))
        .then("ORDER BY version DESC")
        .limit(1)
}

pub(super) fn newest(tenant: &str) -> Statement<'_> {
    let newest = "AND version = (SELECT MAX(other.version) FROM definitions AS other \
                  WHERE other.tenant = definitions.tenant AND other.name = definitions.name) ORDER BY name";
    Select::from(&DEFINITIONS).only("tenant =", text(tenant)).then(newest).build()
}

pub(super) fn task_row<'a>(digest: &'a str, split: &'a str, index: u64) -> Statement<'a> {
    Select::from(&TASK_ROWS)
        .only("digest =", text(digest))
        .only("split =", text(split))
        .only("position =", bound(index))
        .build()
}
