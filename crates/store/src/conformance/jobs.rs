//! Jobs, their events and files, and policies.

use palestra_protocol::id::{JobId, PolicyId, RunId};
use palestra_protocol::job::{
    Artifact, Device, JobError, JobEvent, JobEventKind, JobKind, JobState, Policy, Progress, Resources,
};
use serde_json::{Map, json};

use super::super::row::PageRequest;
use super::super::row::job::{
    ArtifactRow, CandidateFilter, ContentRow, JobEventRow, JobFilter, JobRow, JobSpecRow, PolicyRow, StoredJob,
};
use super::super::{Durability, StoreError};
use super::Fixture;
use super::sample::{TENANT, at};

fn job(tenant: &str) -> StoredJob {
    let id = JobId::new();
    let row = JobRow {
        id,
        tenant: tenant.to_owned(),
        kind: JobKind::Train,
        state: JobState::Queued,
        priority: -7,
        resources: Resources { device: Device::Gpu, memory_bytes: (1 << 53) - 1 },
        blocked: 0,
        attempts: 0,
        attempts_max: 3,
        attempts_without_progress: 0,
        furthest: 0,
        fence: 0,
        events: 0,
        reports: 0,
        not_before: None,
        lease_expires_at: None,
        cancel_requested_at: None,
        run: None,
        worker: None,
        progress: None,
        result: None,
        error: None,
        dead_letter: false,
        outcome: None,
        created_at: at(0),
        started_at: None,
        ended_at: None,
    };
    let spec = JobSpecRow {
        job: id,
        request: "sha256:1".to_owned(),
        spec: json!({"nul": "\u{0}", "deep": [1.5, null]}),
        follows: vec![JobId::new()],
        metadata: json!({"any": "thing"}).as_object().cloned().unwrap_or_default(),
    };
    StoredJob { row, spec }
}

async fn insert(fixture: &Fixture, job: &StoredJob, needs: &[JobId]) {
    let mut transaction = fixture.store.lock_jobs(Durability::Disk).await.expect("a transaction");
    transaction.insert_job(&job.row, &job.spec, needs).await.expect("it is new");
    transaction.commit().await.expect("it is committed");
}

/// A queued job.
pub(super) async fn insert_job(fixture: &Fixture) -> StoredJob {
    let stored = job(TENANT);
    insert(fixture, &stored, &[]).await;
    stored
}

/// The same job after its end.
pub(super) fn job_over(row: &JobRow) -> JobRow {
    over(row, 9)
}

async fn update(fixture: &Fixture, row: &JobRow) {
    let mut transaction = fixture.store.lock_jobs(Durability::Process).await.expect("a transaction");
    transaction.update_job(row).await.expect("it is there");
    transaction.commit().await.expect("it is committed");
}

fn running(row: &JobRow) -> JobRow {
    JobRow { state: JobState::Running, fence: 1, attempts: 1, lease_expires_at: Some(at(1_000)), ..row.clone() }
}

fn over(row: &JobRow, milliseconds: i64) -> JobRow {
    let ended_at = Some(at(milliseconds));
    JobRow { state: JobState::Failed, dead_letter: true, ended_at, lease_expires_at: None, ..row.clone() }
}

fn wanted(device: Device) -> CandidateFilter {
    CandidateFilter { tenant: None, kinds: vec![JobKind::Train], device, memory_bytes: 1 << 53, now: at(10) }
}

pub(super) async fn a_job_round_trips(fixture: &mut Fixture) {
    let mut stored = job(TENANT);
    insert(fixture, &stored, &stored.spec.follows).await;
    let id = stored.row.id;
    assert_eq!(fixture.store.stored_job(id).await.expect("a query").as_ref(), Some(&stored));
    let needs: Vec<_> = stored.spec.follows.iter().map(|needed| (*needed, None)).collect();
    assert_eq!(fixture.store.job_needs(id).await.expect("a query"), needs);
    stored.row = JobRow {
        blocked: 2,
        events: u64::try_from(i64::MAX).expect("it fits"),
        reports: 7,
        not_before: Some(at(3)),
        cancel_requested_at: Some(at(4)),
        run: Some(RunId::new()),
        worker: Some("worker\u{fffd}".to_owned()),
        progress: Some(Progress { done: 1, total: 2, unit: "steps".to_owned(), message: None, remaining_ms: Some(3) }),
        result: Some(json!({"nul": "\u{0}"})),
        error: Some(JobError { code: "device".to_owned(), detail: "gone".to_owned() }),
        outcome: Some("sha256:2".to_owned()),
        started_at: Some(at(5)),
        ..over(&running(&stored.row), 9)
    };
    update(fixture, &stored.row).await;
    fixture.reopen().await;
    let store = &fixture.store;
    assert_eq!(store.stored_job(id).await.expect("a query").as_ref(), Some(&stored));
    assert_eq!(store.job(id).await.expect("a query").as_ref(), Some(&stored.row));
    let mut transaction = store.lock_jobs(Durability::Disk).await.expect("a transaction");
    let taken = transaction.insert_job(&stored.row, &stored.spec, &[]).await;
    assert!(matches!(taken, Err(StoreError::Exists("job"))), "{taken:?}");
    transaction.rollback().await;
    let mut transaction = store.lock_jobs(Durability::Disk).await.expect("a transaction");
    transaction.delete_job(id).await.expect("it is there");
    drop(transaction);
    assert!(store.stored_job(id).await.expect("a query").is_some(), "a change without an end is undone");
    let mut transaction = store.lock_jobs(Durability::Disk).await.expect("a transaction");
    transaction.delete_job(id).await.expect("it is there");
    transaction.commit().await.expect("it is committed");
    assert_eq!(store.stored_job(id).await.expect("a query"), None);
}

pub(super) async fn every_enum_value_of_jobs_is_stored(fixture: &mut Fixture) {
    for kind in JobKind::ALL {
        for device in [Device::Any, Device::Cpu, Device::Gpu] {
            let mut stored = job(TENANT);
            (stored.row.kind, stored.row.resources.device) = (kind, device);
            insert(fixture, &stored, &[]).await;
            for state in JobState::ALL {
                let row = match state {
                    JobState::Running => running(&stored.row),
                    state if state.is_over() => JobRow { state, ..over(&stored.row, 1) },
                    state => JobRow { state, ..stored.row.clone() },
                };
                update(fixture, &row).await;
                assert_eq!(fixture.store.job(row.id).await.expect("a query"), Some(row));
            }
        }
    }
}

pub(super) async fn jobs_are_listed_newest_first_and_filtered(fixture: &mut Fixture) {
    let jobs = [job(TENANT), job(TENANT), job(TENANT), job("tenant-2")];
    for stored in &jobs {
        insert(fixture, stored, &[]).await;
    }
    let dead = over(&jobs[1].row, 1);
    update(fixture, &dead).await;
    let store = &fixture.store;
    let list = async |filter: JobFilter, before: Option<JobId>, limit| {
        let page = PageRequest { before: before.map(|id| id.to_string()), limit };
        let rows = store.jobs(TENANT, &filter, &page).await.expect("jobs");
        rows.into_iter().map(|stored| stored.row.id).collect::<Vec<_>>()
    };
    let [first, second, third, _] = jobs.each_ref().map(|stored| stored.row.id);
    assert_eq!(list(JobFilter::default(), None, 2).await, [third, second]);
    assert_eq!(list(JobFilter::default(), Some(second), 2).await, [first]);
    let filter = JobFilter { dead_letter: true, ..JobFilter::default() };
    assert_eq!(list(filter, None, 9).await, [second]);
    let filter = JobFilter { state: Some(JobState::Queued), kind: Some(JobKind::Train), dead_letter: false };
    assert_eq!(list(filter, None, 9).await, [third, first]);
    let filter = JobFilter { kind: Some(JobKind::Serve), ..JobFilter::default() };
    assert_eq!(list(filter, None, 9).await, []);
}

pub(super) async fn candidates_fit_the_worker_and_can_begin(fixture: &mut Fixture) {
    let mut jobs: Vec<StoredJob> = (0..9).map(|_| job(TENANT)).collect();
    jobs[1].row.priority = 5;
    jobs[2].row.blocked = 1;
    jobs[3].row.not_before = Some(at(11));
    jobs[4].row.kind = JobKind::Serve;
    jobs[5].row.resources.memory_bytes = 1;
    (jobs[6].row.resources.device, jobs[6].row.priority) = (Device::Cpu, 9);
    jobs[7].row.tenant = "tenant-2".to_owned();
    jobs[8].row.created_at = at(-1);
    for stored in &jobs {
        insert(fixture, stored, &[]).await;
    }
    let id = |place: usize| jobs[place].row.id;
    let store = &fixture.store;
    let found = async |wanted: CandidateFilter| {
        let rows = store.job_candidates(&wanted).await.expect("candidates");
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    // Jobs that need a GPU come first, then priority decides, then age.
    assert_eq!(found(wanted(Device::Gpu)).await, [id(1), id(8), id(0), id(5), id(6), id(7)]);
    assert_eq!(found(wanted(Device::Cpu)).await, [id(6)]);
    assert_eq!(found(CandidateFilter { memory_bytes: 1, ..wanted(Device::Gpu) }).await, [id(5)]);
    let own = CandidateFilter { tenant: Some("tenant-2".to_owned()), ..wanted(Device::Gpu) };
    assert_eq!(found(own).await, [id(7)]);
    let kinds = vec![JobKind::Serve, JobKind::Check];
    assert_eq!(found(CandidateFilter { kinds, ..wanted(Device::Gpu) }).await, [id(4)]);
    assert_eq!(found(CandidateFilter { now: at(11), ..wanted(Device::Gpu) }).await.len(), 7);
    // The tenant that was served last comes last.
    let mut transaction = store.lock_jobs(Durability::Disk).await.expect("a transaction");
    transaction.mark_served("tenant-2").await.expect("served");
    transaction.mark_served(TENANT).await.expect("served");
    let rows = transaction.job_candidates(&wanted(Device::Gpu)).await.expect("candidates");
    assert_eq!((rows[0].id, rows[0].served, rows[1].served), (id(7), 1, 2));
    transaction.mark_served("tenant-2").await.expect("served");
    assert_eq!(transaction.job_candidates(&wanted(Device::Gpu)).await.expect("candidates")[5].served, 3);
    assert_eq!(transaction.count_queued_jobs(TENANT).await.expect("a number"), 8);
    transaction.update_job(&running(&jobs[7].row)).await.expect("it is there");
    assert_eq!(transaction.running_jobs().await.expect("counts"), [("tenant-2".to_owned(), 1)]);
    transaction.commit().await.expect("it is committed");
    assert_eq!(store.count_jobs_before(&jobs[0].row).await.expect("a number"), 3);
    assert_eq!(store.count_jobs_before(&jobs[6].row).await.expect("a number"), 0);
}

pub(super) async fn due_jobs_are_found(fixture: &mut Fixture) {
    let jobs: Vec<StoredJob> = (0..6).map(|_| job(TENANT)).collect();
    for stored in &jobs {
        insert(fixture, stored, &[]).await;
    }
    let asked = |row: &JobRow, milliseconds| JobRow { cancel_requested_at: Some(at(milliseconds)), ..running(row) };
    update(fixture, &running(&jobs[0].row)).await;
    update(fixture, &asked(&jobs[1].row, 100)).await;
    update(fixture, &asked(&jobs[2].row, 900)).await;
    update(fixture, &JobRow { not_before: Some(at(5_000)), ..jobs[3].row.clone() }).await;
    update(fixture, &over(&jobs[4].row, 50)).await;
    let store = &fixture.store;
    let id = |place: usize| jobs[place].row.id;
    let due = async |now, latest, asked| store.jobs_due(at(now), at(latest), at(asked), 9).await.expect("jobs");
    assert_eq!(due(500, 1_000, 99).await, [id(2)], "asked at a time that is still to come");
    assert_eq!(due(950, 1_000, 100).await, [id(1)]);
    assert_eq!(due(1_000, 9_000, 0).await, [id(0), id(1), id(2)]);
    assert_eq!(due(950, 999, 0).await.len(), 3, "leases that end later than they could");
    assert_eq!(store.jobs_delayed_beyond(at(4_999), 9).await.expect("jobs"), [id(3)]);
    assert!(store.jobs_delayed_beyond(at(5_000), 9).await.expect("jobs").is_empty());
    assert_eq!(store.jobs_ended_before(at(51), 9).await.expect("jobs"), [id(4)]);
    assert!(store.jobs_ended_before(at(50), 9).await.expect("jobs").is_empty());
    let needing = job(TENANT);
    insert(fixture, &needing, &[id(4)]).await;
    assert!(
        fixture.store.jobs_ended_before(at(51), 9).await.expect("jobs").is_empty(),
        "one that is not over needs it"
    );
    let mut counts = fixture.store.job_counts().await.expect("counts");
    counts.sort_by_key(|(_, count)| *count);
    assert_eq!(counts.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [3, 3]);
    let mut transaction = fixture.store.lock_jobs(Durability::Disk).await.expect("a transaction");
    let dependents = transaction.job_dependents(id(4)).await.expect("jobs");
    assert_eq!(dependents.iter().map(|row| row.id).collect::<Vec<_>>(), [needing.row.id]);
    assert_eq!(transaction.job_needs(needing.row.id).await.expect("needs"), [(id(4), Some(JobState::Failed))]);
    transaction.delete_job(id(4)).await.expect("it is there");
    assert_eq!(transaction.job_needs(needing.row.id).await.expect("needs"), [(id(4), None)]);
    transaction.rollback().await;
}

pub(super) async fn events_of_jobs_are_numbered_once(fixture: &mut Fixture) {
    let id = JobId::new();
    let event = |number: u64, kind| {
        let data = json!({"number": number, "nul": "\u{0}"});
        JobEventRow { job: id, event: JobEvent { number, attempt: 1, at: at(1), kind, data } }
    };
    let kinds = [
        JobEventKind::State,
        JobEventKind::Progress,
        JobEventKind::Metric,
        JobEventKind::Log,
        JobEventKind::Artifact,
        JobEventKind::Checkpoint,
        JobEventKind::Policy,
        JobEventKind::Checkpoint,
    ];
    let rows: Vec<JobEventRow> = (1..).zip(kinds).map(|(number, kind)| event(number, kind)).collect();
    let mut transaction = fixture.store.lock_jobs(Durability::Disk).await.expect("a transaction");
    transaction.append_job_events(&rows).await.expect("they are new");
    transaction.commit().await.expect("it is committed");
    let mut transaction = fixture.store.lock_jobs(Durability::Disk).await.expect("a transaction");
    assert!(matches!(transaction.append_job_events(&rows[..1]).await, Err(StoreError::Exists(_))));
    transaction.rollback().await;
    let store = &fixture.store;
    let all: Vec<JobEvent> = rows.into_iter().map(|row| row.event).collect();
    assert_eq!(store.job_events(id, None, 0, 99).await.expect("events"), all);
    assert_eq!(store.job_events(id, None, 3, 2).await.expect("events"), all[3..5]);
    let points = store.job_events(id, Some(JobEventKind::Checkpoint), 6, 9).await.expect("events");
    assert_eq!(points, all[7..]);
    let last = store.last_job_events(id, JobEventKind::Checkpoint, 1).await.expect("events");
    assert_eq!(last, all[7..]);
}

fn file(name: &str, digest: &str, size_bytes: u64) -> Artifact {
    Artifact { name: name.to_owned(), digest: digest.to_owned(), size_bytes, created_at: at(1) }
}

pub(super) async fn equal_contents_count_once_for_a_tenant(fixture: &mut Fixture) {
    let id = JobId::new();
    let put =
        |name, digest, size| ArtifactRow { job: id, tenant: TENANT.to_owned(), artifact: file(name, digest, size) };
    let policy = Policy {
        id: PolicyId::new(),
        job: id,
        step: Some(40),
        parent: Some(PolicyId::new()),
        architecture: "mlp".to_owned(),
        environments: vec!["control/cartpole@1".to_owned()],
        metrics: Map::from_iter([("reward".to_owned(), json!(0.5))]),
        files: vec![file("config.json", "sha256:c", 7), file("model.safetensors", "sha256:a", 10)],
        created_at: at(2),
    };
    let policy = PolicyRow { tenant: TENANT.to_owned(), policy };
    let mut transaction = fixture.store.lock_jobs(Durability::Disk).await.expect("a transaction");
    for row in [put("one", "sha256:a", 10), put("two", "sha256:a", 10), put("one", "sha256:b", 5)] {
        transaction.put_artifact(&row).await.expect("it is put");
    }
    assert_eq!(transaction.count_artifacts(id).await.expect("a number"), 2);
    assert_eq!(transaction.kept_bytes(TENANT).await.expect("a number"), 15);
    transaction.insert_policy(&policy).await.expect("it is new");
    assert_eq!(transaction.policy_of_any_tenant(policy.policy.id).await.expect("a query").as_ref(), Some(&policy));
    assert!(transaction.delete_artifact(id, "two").await.expect("an answer"));
    assert!(!transaction.delete_artifact(id, "two").await.expect("an answer"));
    transaction.commit().await.expect("it is committed");
    let store = &fixture.store;
    assert_eq!(store.kept_bytes(TENANT).await.expect("a number"), 22);
    assert_eq!(store.kept_bytes("tenant-2").await.expect("a number"), 0);
    assert_eq!(store.artifacts(id).await.expect("files"), [file("one", "sha256:b", 5)]);
    assert_eq!(store.artifact(id, "two").await.expect("a query"), None);
    for (digest, referenced) in [("sha256:a", true), ("sha256:b", true), ("sha256:c", true), ("sha256:d", false)] {
        assert_eq!(store.is_referenced(digest).await.expect("an answer"), referenced, "{digest}");
    }
    let page = PageRequest { before: None, limit: 9 };
    assert_eq!(store.policies(TENANT, None, &page).await.expect("policies"), std::slice::from_ref(&policy));
    assert_eq!(store.policies(TENANT, Some(JobId::new()), &page).await.expect("policies"), []);
    assert_eq!(store.policy("tenant-2", policy.policy.id).await.expect("a query"), None);
    assert_eq!(store.policy(TENANT, policy.policy.id).await.expect("a query").as_ref(), Some(&policy));
    assert_eq!(store.policy_of_checkpoint(id, 40).await.expect("a query").as_ref(), Some(&policy));
    assert_eq!(store.policy_of_checkpoint(id, 41).await.expect("a query"), None);
    let mut transaction = store.lock_jobs(Durability::Disk).await.expect("a transaction");
    let mut twin = policy.clone();
    twin.policy.id = PolicyId::new();
    let twice = transaction.insert_policy(&twin).await;
    assert!(matches!(twice, Err(StoreError::Exists(_))), "a checkpoint is registered once: {twice:?}");
    transaction.rollback().await;
    let mut transaction = store.lock_jobs(Durability::Disk).await.expect("a transaction");
    assert!(transaction.delete_policy(policy.policy.id).await.expect("an answer"));
    assert!(!transaction.delete_policy(policy.policy.id).await.expect("an answer"));
    transaction.commit().await.expect("it is committed");
    assert_eq!(store.kept_bytes(TENANT).await.expect("a number"), 5, "the artefact stays");
    assert_eq!(store.policy(TENANT, policy.policy.id).await.expect("a query"), None);
}

pub(super) async fn contents_stay_while_they_are_referenced(fixture: &mut Fixture) {
    let store = &fixture.store;
    for (pieces, at_ms) in [("first", 0), ("second", 0), ("cut", 0), ("new", 50)] {
        for position in 0..2 {
            store.insert_piece(pieces, position, at(at_ms), &[0, 255, 7]).await.expect("it is new");
        }
    }
    for (position, at_ms) in [(0, 0), (1, 50)] {
        store.insert_piece("slow", position, at(at_ms), &[1]).await.expect("it is new");
    }
    let content = |digest: &str, pieces: &str| {
        let (digest, pieces) = (digest.to_owned(), pieces.to_owned());
        ContentRow { digest, pieces, size_bytes: 6, created_at: at(0) }
    };
    let named = ArtifactRow { job: JobId::new(), tenant: TENANT.to_owned(), artifact: file("a", "sha256:a", 6) };
    let mut transaction = store.lock_jobs(Durability::Disk).await.expect("a transaction");
    transaction.put_content(&content("sha256:a", "first")).await.expect("it is new");
    // The later one takes its place.
    transaction.put_content(&content("sha256:a", "second")).await.expect("it is there");
    transaction.put_content(&content("sha256:b", "new")).await.expect("it is new");
    transaction.put_artifact(&named).await.expect("it is put");
    transaction.commit().await.expect("it is committed");
    assert_eq!(store.delete_unreferenced(at(0)).await.expect("a number"), 0);
    // An unreferenced content, and the pieces of `first` and `cut`; those of `new` are too new, and `slow` is still being uploaded.
    assert_eq!(store.delete_unreferenced(at(10)).await.expect("a number"), 5);
    assert_eq!(store.content("sha256:a").await.expect("a query").map(|row| row.pieces).as_deref(), Some("second"));
    assert_eq!(store.content("sha256:b").await.expect("a query"), None);
    assert_eq!(store.piece("second", 1).await.expect("a query"), Some(vec![0, 255, 7]));
    assert_eq!(store.piece("first", 0).await.expect("a query"), None);
    assert_eq!(store.piece("cut", 0).await.expect("a query"), None);
    assert_eq!(store.piece("second", 2).await.expect("a query"), None);
    assert_eq!(store.piece("slow", 0).await.expect("a query"), Some(vec![1]));
    store.delete_pieces("slow").await.expect("they go");
    assert_eq!(store.piece("slow", 0).await.expect("a query"), None);
    assert_eq!(store.piece("slow", 1).await.expect("a query"), None);
    assert_eq!(store.piece("second", 0).await.expect("a query"), Some(vec![0, 255, 7]));
}
