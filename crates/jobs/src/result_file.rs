//! Result files of a training: its metrics as a table, and the files of its policy.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use palestra_protocol::file::FilePurpose;
use palestra_protocol::id::{FileId, JobId};
use palestra_protocol::job::{JobEventKind, JobKind};
use palestra_protocol::worker::{Finish, Outcome};
use serde_json::{Map, Value};
use tokio_util::bytes::Bytes;

use super::content::{Received, SizeLimits};
use super::queue_transaction::QueueTransaction;
use super::{ByteStream, Jobs, JobsError, WorkerScope};
use palestra_store::Tenant;
use palestra_store::row::job::{ContentRow, FileRow, JobRow};
use palestra_store::{Store, StoreError};

/// The name of the table of metrics.
const METRICS_FILE: &str = "step_metrics.csv";
/// Columns of that table; further metrics are left out with a warning in the log.
const COLUMNS_MAX: usize = 1_000;
/// Events of one page.
const EVENTS_PER_PAGE: u32 = 1_000;
/// Metric events that are summed for one answer.
const EVENTS_ADDED_UP_MAX: usize = 100_000;
/// The metric with the number of tokens that an update learnt from.
const TOKENS_LEARNT: &str = "tokens_learnt";

/// The files of a result, before their contents are stored.
pub(super) struct Results {
    metrics: Received,
    /// All files: the metrics, and the policy's, whose contents are stored already.
    files: Vec<FileRow>,
}

/// The files of a result with stored contents.
pub(super) struct StoredResults {
    files: Vec<FileRow>,
    content: Option<ContentRow>,
}

impl QueueTransaction<'_> {
    /// Stores the files of a job's result.
    pub(super) async fn insert_results(&mut self, results: &StoredResults) -> Result<(), JobsError> {
        if let Some(content) = &results.content {
            self.transaction.put_content(content).await?;
        }
        Ok(self.transaction.insert_files(&results.files).await?)
    }
}

impl Jobs {
    /// The result files of a training that is about to succeed; `None` for everything else.
    pub(super) async fn results(
        &self,
        scope: &WorkerScope,
        id: JobId,
        finish: &Finish,
    ) -> Result<Option<Results>, JobsError> {
        if !matches!(finish.outcome, Outcome::Succeeded { .. }) {
            return Ok(None);
        }
        let row = self.0.store.job(id).await?;
        let held = |row: &JobRow| scope.covers(&row.tenant) && row.kind == JobKind::Train && row.is_held(finish.fence);
        let Some(row) = row.filter(held) else { return Ok(None) };
        // Files that the server writes itself are no reason to refuse a finished job.
        let limits = SizeLimits { most: u64::MAX, kept: 0, quota: u64::MAX };
        let metrics = metrics_table(Arc::clone(&self.0.store), id).await?;
        let metrics = self.0.contents.receive(metrics, limits).await?;
        let policy = self.0.store.last_policy_of(id).await?;
        let files = policy.map(|found| found.policy.files).unwrap_or_default().into_iter().map(|file| FileRow {
            id: FileId::new(),
            tenant: row.tenant.clone(),
            name: file.name,
            purpose: FilePurpose::FineTuneResults,
            digest: file.digest,
            size_bytes: file.size_bytes,
            created_at: self.0.clock.now(),
            job: Some(id),
        });
        let mut files: Vec<FileRow> = files.collect();
        files.insert(
            0,
            FileRow {
                id: FileId::new(),
                tenant: row.tenant,
                name: METRICS_FILE.to_owned(),
                purpose: FilePurpose::FineTuneResults,
                digest: metrics.digest.clone(),
                size_bytes: metrics.size_bytes,
                created_at: self.0.clock.now(),
                job: Some(id),
            },
        );
        Ok(Some(Results { metrics, files }))
    }

    /// Stores the content of the table. Requires that removal is blocked until the files are stored.
    pub(super) async fn keep_results(&self, results: Option<Results>) -> Result<Option<StoredResults>, JobsError> {
        let Some(Results { metrics, files }) = results else { return Ok(None) };
        let content = self.0.contents.keep(metrics, self.0.clock.now()).await?;
        Ok(Some(StoredResults { files, content }))
    }

    /// The files of a job's result: first its metrics, then its policy.
    ///
    /// # Errors
    /// When there is no such job.
    pub async fn result_files(&self, tenant: &Tenant, id: JobId) -> Result<Vec<FileRow>, JobsError> {
        self.row(tenant, id).await?;
        let mut files = self.0.store.files_of_job(id).await?;
        files.sort_by(|a, b| (a.name != METRICS_FILE, &a.name).cmp(&(b.name != METRICS_FILE, &b.name)));
        Ok(files)
    }

    /// The number of tokens that a supervised training learnt from; `None` where it does not report them, or reported more events than
    /// are summed.
    ///
    /// # Errors
    /// When there is no such job.
    pub async fn trained_tokens(&self, tenant: &Tenant, id: JobId) -> Result<Option<u64>, JobsError> {
        self.row(tenant, id).await?;
        // An attempt that continued from a checkpoint repeated some steps, which count once.
        let mut by_step = BTreeMap::new();
        let (mut after, mut read) = (0, 0);
        loop {
            let page = self.0.store.job_events(id, Some(JobEventKind::Metric), after, EVENTS_PER_PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.number;
            read += page.len();
            if read > EVENTS_ADDED_UP_MAX {
                return Ok(None);
            }
            for event in &page {
                if let Some(tokens) = event.data["values"][TOKENS_LEARNT].as_f64() {
                    by_step.insert(event.data["step"].as_u64(), tokens);
                }
            }
        }
        Ok((!by_step.is_empty()).then(|| by_step.values().sum::<f64>() as u64))
    }
}

/// The metrics of a job as CSV: a line for each metric event, with its step and attempt, and a column for each name.
async fn metrics_table(store: Arc<Store>, job: JobId) -> Result<ByteStream, StoreError> {
    let (mut names, mut after, mut cut) = (BTreeSet::new(), 0, false);
    loop {
        let page = store.job_events(job, Some(JobEventKind::Metric), after, EVENTS_PER_PAGE).await?;
        let Some(last) = page.last() else { break };
        after = last.number;
        let values = page.iter().filter_map(|event| event.data["values"].as_object());
        cut |= collect_columns(&mut names, values.flat_map(Map::keys));
    }
    if cut {
        tracing::warn!(%job, "the table of metrics was cut to its first {COLUMNS_MAX} columns");
    }
    Ok(Box::pin(async_stream::try_stream! {
        // A metric may have the name of one of the first two columns.
        let columns = names.iter().map(|name| match name.as_str() {
            "step" => "step (metric)",
            "attempt" => "attempt (metric)",
            name => name,
        });
        let head = ["step", "attempt"].into_iter().chain(columns).map(field);
        yield line(head);
        let mut after = 0;
        loop {
            let page = store.job_events(job, Some(JobEventKind::Metric), after, EVENTS_PER_PAGE).await;
            let page = page.map_err(io::Error::other)?;
            let Some(last) = page.last() else { break };
            after = last.number;
            for event in &page {
                let values = names.iter().map(|name| number(&event.data["values"][name.as_str()]));
                let place = [number(&event.data["step"]), event.attempt.to_string()];
                yield line(place.into_iter().chain(values));
            }
        }
    }))
}

/// Adds names of columns and keeps only the first ones in alphabetical order; returns true when one was left out.
fn collect_columns<'a>(names: &mut BTreeSet<String>, more: impl Iterator<Item = &'a String>) -> bool {
    let mut cut = false;
    for name in more {
        names.insert(name.clone());
        if names.len() > COLUMNS_MAX {
            names.pop_last();
            cut = true;
        }
    }
    cut
}

/// A number as a field of CSV; empty for any other value.
fn number(value: &Value) -> String {
    if value.is_number() { value.to_string() } else { String::new() }
}

/// A text as a field of CSV, RFC 4180.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

fn line(fields: impl Iterator<Item = String>) -> Bytes {
    let mut line = fields.collect::<Vec<_>>().join(",");
    line.push('\n');
    line.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_table_keeps_its_first_columns_in_whatever_order_their_names_come() {
        let all: Vec<String> = (0..COLUMNS_MAX + 500).map(|number| format!("{number:04}")).collect();
        let (mut names, whole) = (BTreeSet::new(), &all[..COLUMNS_MAX]);
        assert!(!collect_columns(&mut names, whole[200..].iter()));
        assert!(!collect_columns(&mut names, whole.iter().rev()));
        assert!(collect_columns(&mut names, all[700..].iter().rev()));
        assert!(names.iter().eq(whole));
    }

    #[test]
    fn a_name_that_would_break_the_table_is_quoted() {
        assert_eq!(field("evaluate/score"), "evaluate/score");
        assert_eq!(field("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        let values = [json!(1.5), json!(null), json!(2)];
        assert_eq!(line(values.iter().map(number)), "1.5,,2\n");
    }
}
