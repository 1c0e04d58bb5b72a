//! Uploaded files as rows, and the references of jobs to them.

use palestra_protocol::id::{FileId, JobId};

use super::cell::{Kind, id, number, optional_id, text, time, word};
use super::engine::Reader;
use super::field::Fields;
use super::row::PageRequest;
use super::row::job::{FileFilter, FileRow};
use super::statement::{Bulk, BulkRow, Select, Statement, Table};
use super::{StoreError, Transaction};

const FILES: Table = Table {
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

/// The files that the spec of a job names.
const JOB_FILES: Table = Table { name: "job_files", columns: &[("job", Kind::Text), ("file", Kind::Text)] };

const INSERT_FILES: Bulk = FILES.insert("", "file");
const INSERT_JOB_FILES: Bulk = JOB_FILES.insert("", "file of a job");

fn encode(row: &FileRow) -> Result<BulkRow<'_>, StoreError> {
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

fn decode(row: &dyn Fields) -> Result<FileRow, StoreError> {
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

impl dyn Reader {
    /// A file of a tenant: uploaded, or of a job's result.
    pub async fn file(&self, tenant: &str, file: FileId) -> Result<Option<FileRow>, StoreError> {
        self.one(Select::from(&FILES).filter("tenant =", text(tenant)).filter("id =", id(file)).build(), decode).await
    }

    /// Files of a tenant after the id that the page names, in the order of the filter.
    pub async fn files(
        &self,
        tenant: &str,
        filter: FileFilter,
        page: &PageRequest,
    ) -> Result<Vec<FileRow>, StoreError> {
        let (after, order) = if filter.oldest_first { ("id >", "ORDER BY id") } else { ("id <", "ORDER BY id DESC") };
        let query = Select::from(&FILES)
            .filter("tenant =", text(tenant))
            .filter_if("purpose =", filter.purpose.map(|purpose| word(purpose.as_str())))
            .filter_if(after, page.before.as_deref().map(text))
            .then(order)
            .limit(page.limit);
        self.all(query, decode).await
    }

    /// Files of a job's result, by id.
    pub async fn files_of_job(&self, job: JobId) -> Result<Vec<FileRow>, StoreError> {
        self.all(Select::from(&FILES).filter("job =", id(job)).then("ORDER BY id").build(), decode).await
    }

    /// The number of files that a tenant uploaded.
    pub async fn count_uploaded_files(&self, tenant: &str) -> Result<u64, StoreError> {
        let sql = "SELECT COUNT(*) AS number FROM files WHERE tenant = $1 AND job IS NULL";
        self.number(Statement::new(sql, vec![text(tenant)])).await
    }

    /// True when the spec of a job names a file.
    pub async fn job_names_file(&self, job: JobId, file: FileId) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM job_files WHERE job = $1 AND file = $2";
        self.exists(Statement::new(sql, vec![id(job), id(file)])).await
    }

    /// A queued or running job that names a file.
    pub async fn file_needed_by(&self, file: FileId) -> Result<Option<JobId>, StoreError> {
        let sql = "SELECT jobs.id AS id FROM job_files JOIN jobs ON jobs.id = job_files.job \
                   WHERE job_files.file = $1 AND jobs.state IN ('queued', 'running') ORDER BY jobs.id LIMIT 1";
        self.one(Statement::new(sql, vec![id(file)]), |row| row.id("id")).await
    }

    /// A file that a job names and that was deleted.
    pub async fn missing_file_of_job(&self, job: JobId) -> Result<Option<FileId>, StoreError> {
        let sql = "SELECT job_files.file AS file FROM job_files LEFT JOIN files ON files.id = job_files.file \
                   WHERE job_files.job = $1 AND files.id IS NULL ORDER BY job_files.file LIMIT 1";
        self.one(Statement::new(sql, vec![id(job)]), |row| row.id("file")).await
    }
}

impl Transaction<'_> {
    /// Inserts files; fails with [`StoreError::Exists`] when an id is taken.
    pub async fn insert_files(&mut self, rows: &[FileRow]) -> Result<(), StoreError> {
        let rows = rows.iter().map(encode).collect::<Result<Vec<_>, _>>()?;
        self.bulk(&INSERT_FILES, &rows).await
    }

    /// Deletes a file; false when there is none.
    pub async fn delete_file(&mut self, file: FileId) -> Result<bool, StoreError> {
        Ok(self.execute(Statement::new("DELETE FROM files WHERE id = $1", vec![id(file)])).await? > 0)
    }

    /// Stores which files a job names.
    pub async fn insert_job_files(&mut self, job: JobId, files: &[FileId]) -> Result<(), StoreError> {
        let rows: Vec<BulkRow<'_>> = files.iter().map(|file| vec![id(job), id(file)]).collect();
        self.bulk(&INSERT_JOB_FILES, &rows).await
    }
}
