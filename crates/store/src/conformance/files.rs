//! Uploaded files, files of a job's result, and the references of jobs to them.

use palestra_protocol::file::FilePurpose;
use palestra_protocol::id::{FileId, JobId};

use super::super::row::PageRequest;
use super::super::row::job::{FileFilter, FileRow};
use super::super::{Durability, StoreError};
use super::Fixture;
use super::jobs::{insert_job, job_over};
use super::sample::{TENANT, at};

fn file(tenant: &str, purpose: FilePurpose, job: Option<JobId>) -> FileRow {
    FileRow {
        id: FileId::new(),
        tenant: tenant.to_owned(),
        name: "übung \u{1f600} (1).jsonl".to_owned(),
        purpose,
        digest: "sha256:f".to_owned(),
        size_bytes: 12,
        created_at: at(3),
        job,
    }
}

async fn put(fixture: &Fixture, rows: &[FileRow]) {
    let mut transaction = fixture.store.lock_jobs(Durability::Disk).await.expect("a transaction");
    transaction.insert_files(rows).await.expect("they are new");
    transaction.commit().await.expect("it is committed");
}

pub(super) async fn files_are_listed_in_both_orders_and_filtered(fixture: &mut Fixture) {
    let job = JobId::new();
    let rows = [
        file(TENANT, FilePurpose::FineTune, None),
        file(TENANT, FilePurpose::UserData, None),
        file(TENANT, FilePurpose::FineTuneResults, Some(job)),
        file("tenant-2", FilePurpose::FineTune, None),
    ];
    put(fixture, &rows).await;
    fixture.reopen().await;
    let store = &fixture.store;
    let list = async |purpose, oldest_first, behind: Option<FileId>, limit| {
        let page = PageRequest { before: behind.map(|id| id.to_string()), limit };
        store.files(TENANT, FileFilter { purpose, oldest_first }, &page).await.expect("files")
    };
    let [first, second, third, foreign] = rows;
    assert_eq!(list(None, false, None, 2).await, [third.clone(), second.clone()]);
    assert_eq!(list(None, false, Some(second.id), 9).await, std::slice::from_ref(&first));
    assert_eq!(list(None, true, None, 9).await, [first.clone(), second.clone(), third.clone()]);
    assert_eq!(list(None, true, Some(second.id), 9).await, std::slice::from_ref(&third));
    assert_eq!(list(Some(FilePurpose::UserData), false, None, 9).await, std::slice::from_ref(&second));
    assert_eq!(store.file(TENANT, first.id).await.expect("a query"), Some(first.clone()));
    assert_eq!(store.file(TENANT, foreign.id).await.expect("a query"), None);
    assert_eq!(store.files_of_job(job).await.expect("files"), [third]);
    let mut transaction = store.lock_jobs(Durability::Disk).await.expect("a transaction");
    assert_eq!(transaction.count_uploaded_files(TENANT).await.expect("a number"), 2, "what jobs left does not count");
    assert!(matches!(transaction.insert_files(&[first]).await, Err(StoreError::Exists("file"))));
    transaction.rollback().await;
}

pub(super) async fn a_file_is_needed_while_a_job_that_names_it_is_not_over(fixture: &mut Fixture) {
    let mut stored = insert_job(fixture).await;
    let id = stored.row.id;
    let named = file(TENANT, FilePurpose::FineTune, None);
    let result = file(TENANT, FilePurpose::FineTuneResults, Some(id));
    put(fixture, &[named.clone(), result.clone()]).await;
    let store = &fixture.store;
    let mut transaction = store.lock_jobs(Durability::Disk).await.expect("a transaction");
    transaction.insert_job_files(id, &[named.id]).await.expect("it is noted");
    assert_eq!(transaction.file_needed_by(named.id).await.expect("a query"), Some(id));
    assert_eq!(transaction.file_needed_by(result.id).await.expect("a query"), None);
    stored.row = job_over(&stored.row);
    transaction.update_job(&stored.row).await.expect("it is there");
    assert_eq!(transaction.file_needed_by(named.id).await.expect("a query"), None);
    assert_eq!(transaction.missing_file_of_job(id).await.expect("a query"), None);
    assert!(transaction.delete_file(named.id).await.expect("an answer"));
    assert!(!transaction.delete_file(named.id).await.expect("an answer"));
    assert_eq!(transaction.missing_file_of_job(id).await.expect("a query"), Some(named.id));
    assert_eq!(transaction.file(TENANT, result.id).await.expect("a query"), Some(result.clone()));
    transaction.commit().await.expect("it is committed");
    assert!(store.job_names_file(id, named.id).await.expect("an answer"));
    assert!(!store.job_names_file(id, result.id).await.expect("an answer"));
    assert_eq!(store.kept_bytes(TENANT).await.expect("a number"), 12);
    assert!(store.is_referenced("sha256:f").await.expect("an answer"));
    let mut transaction = store.lock_jobs(Durability::Disk).await.expect("a transaction");
    transaction.delete_job(id).await.expect("it is there");
    transaction.commit().await.expect("it is committed");
    assert_eq!(store.file(TENANT, result.id).await.expect("a query"), None, "what a job left goes with it");
    assert!(!store.job_names_file(id, named.id).await.expect("an answer"));
    assert!(!store.is_referenced("sha256:f").await.expect("an answer"));
}
