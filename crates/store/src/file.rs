//! Uploaded files as rows, and which of them jobs name.

use palestra_protocol::id::{FileId, JobId};

use super::StoreError;
use super::cell::{Kind, id, number, optional_id, text, time, word};
use super::engine::{Bulk, BulkRow, Select, Statement, Table};
use super::field::Fields;
use super::row::PageRequest;
use super::row::job::{FileFilter, FileRow};

pub(super) const FILES: Table = Table {
    name: "files",
    columns: &[
        ("id", Kind::Text),
        ("tenant", Kind::Text),
        ("name", Kind::Text),
        ("purpose", Kind::Text),
        ("digest", Kind::Text),
        ("size_bytes", Kind::Integer),
        ("created_at", Kind::Integer),
        ("job", Kind::Text),
    ],
};

const NAMED: Table = Table { name: "job_files", columns: &[("job", Kind::Text), ("file", Kind::Text)] };

pub(super) const INSERT_NAMED: Bulk = NAMED.insert("", "named file");

pub(super) fn encode(row: &FileRow) -> Result<BulkRow<'_>, StoreError> {
    Ok(vec![
        id(row.id),
        text(&row.tenant),
        text(&row.name),
        word(row.purpose.as_str()),
        text(&row.digest),
        number(row.size_bytes)?,
        time(row.created_at),
        optional_id(row.job),
    ])
}

pub(super) fn decode<F: Fields>(row: &F) -> Result<FileRow, StoreError> {
    Ok(FileRow {
        id: row.id("id")?,
        tenant: row.text("tenant")?,
        name: row.text("name")?,
        purpose: row.word("purpose")?,
        digest: row.text("digest")?,
        size_bytes: row.number("size_bytes")?,
        created_at: row.time("created_at")?,
        job: row.id_or_none("job")?,
    })
}

pub(super) fn encode_named(job: JobId, files: &[FileId]) -> Vec<BulkRow<'static>> {
    files.iter().map(|file| vec![id(job), id(file)]).collect()
}

pub(super) fn one(file: FileId) -> Statement<'static> {
    Select::from(&FILES).only("id =", id(file)).build()
}

pub(super) fn page<'a>(tenant: &'a str, filter: FileFilter, page: &'a PageRequest) -> Statement<'a> {
    let (behind, order) = if filter.oldest_first { ("id >", "ORDER BY id") } else { ("id <", "ORDER BY id DESC") };
    Select::from(&FILES)
        .only("tenant =", text(tenant))
        .only_if("purpose =", filter.purpose.map(|purpose| word(purpose.as_str())))
        .only_if(behind, page.before.as_deref().map(text))
        .then(order)
        .limit(page.limit)
}

pub(super) fn of_job(job: JobId) -> Statement<'static> {
    Select::from(&FILES).only("job =", id(job)).then("ORDER BY id").build()
}

/// How many files a tenant uploaded.
pub(super) fn count(tenant: &str) -> Statement<'_> {
    Statement::new("SELECT COUNT(*) AS number FROM files WHERE tenant = $1 AND job IS NULL", vec![text(tenant)])
}

pub(super) fn delete(file: FileId) -> Statement<'static> {
    Statement::new("DELETE FROM files WHERE id = $1", vec![id(file)])
}

/// Jobs that are not over and name a file.
pub(super) fn needed_by(file: FileId) -> Statement<'static> {
    let sql = "SELECT jobs.id AS id FROM job_files JOIN jobs ON jobs.id = job_files.job \
               WHERE job_files.file = $1 AND jobs.state IN ('queued', 'running') ORDER BY jobs.id LIMIT 1";
    Statement::new(sql, vec![id(file)])
}

/// Files that a job names and that are not there any more.
pub(super) fn lost(job: JobId) -> Statement<'static> {
    let sql = "SELECT job_files.file AS file FROM job_files LEFT JOIN files ON files.id = job_files.file \
               WHERE job_files.job = $1 AND files.id IS NULL ORDER BY job_files.file LIMIT 1";
    Statement::new(sql, vec![id(job)])
}

pub(super) fn decode_lost<F: Fields>(row: &F) -> Result<FileId, StoreError> {
    row.id("file")
}

/// Whether a job names a file.
pub(super) fn is_named(job: JobId, file: FileId) -> Statement<'static> {
    Statement::new("SELECT 1 AS named FROM job_files WHERE job = $1 AND file = $2", vec![id(job), id(file)])
}

/// What is known of a job's files: what it names, and what it left.
pub(super) fn delete_of_job(job: JobId) -> [Statement<'static>; 2] {
    [
        Statement::new("DELETE FROM job_files WHERE job = $1", vec![id(job)]),
        Statement::new("DELETE FROM files WHERE job = $1", vec![id(job)]),
    ]
}
