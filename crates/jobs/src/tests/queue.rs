//! Order, dependencies, events, cancelling and deleting.

use futures::StreamExt as _;
use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{JobEventKind, Progress};
use palestra_protocol::worker::{Heartbeat, Report, ReportedEvent};

use super::super::JobFilter;
use super::super::change::EVENTS_PER_JOB_MAX;
use super::*;
use palestra_store::Durability;
use palestra_store::row::PageRequest;

pub(super) const PAGE: PageRequest = PageRequest { before: None, limit: 500 };

#[tokio::test]
async fn a_job_is_queued_leased_and_done() {
    let fixture = Fixture::sqlite(settings()).await;
    let queued = fixture.create("acme", check()).await;
    assert_eq!((queued.state, queued.place, queued.attempts, queued.attempts_max), (JobState::Queued, Some(0), 0, 3));
    assert!(queued.waiting.unwrap().contains("no worker for jobs of kind check"));
    let lease = fixture.next().await;
    assert_eq!((lease.job.id, lease.job.state, lease.fence, lease.job.attempts), (queued.id, JobState::Running, 1, 1));
    assert_eq!(lease.expires_at, fixture.clock.now().plus_ms(60_000));
    assert!(fixture.lease().await.is_none());
    let done = fixture.finish(&lease, succeeded()).await.unwrap();
    assert_eq!((done.state, done.result, done.place), (JobState::Succeeded, Some(json!({"done": true})), None));
    // Said again it is the same as once.
    assert_eq!(fixture.finish(&lease, succeeded()).await.unwrap().state, JobState::Succeeded);
    assert!(matches!(fixture.finish(&lease, failed(true)).await, Err(JobsError::LeaseLost)));
    let states: Vec<Value> =
        fixture.events("acme", queued.id).await.iter().map(|event| event.data["state"].clone()).collect();
    assert_eq!(states, ["queued", "running", "succeeded"]);
    fixture.end().await;
}

#[tokio::test]
async fn another_tenants_jobs_are_not_found() {
    let fixture = Fixture::sqlite(settings()).await;
    let (owner, other) = (tenant("acme"), tenant("other"));
    let id = fixture.create("acme", check()).await.id;
    assert!(matches!(fixture.jobs.job(&other, id).await, Err(JobsError::NotFound("job"))));
    assert!(matches!(fixture.jobs.cancel(&other, id).await, Err(JobsError::NotFound("job"))));
    assert!(matches!(fixture.jobs.events(&other, id, 0).await, Err(JobsError::NotFound("job"))));
    assert_eq!(fixture.jobs.jobs(&other, &JobFilter::default(), &PAGE).await.unwrap(), []);
    assert_eq!(fixture.jobs.jobs(&owner, &JobFilter::default(), &PAGE).await.unwrap().len(), 1);
    let foreign = WorkerScope::of(&other);
    assert!(fixture.jobs.lease(&foreign, worker("w")).await.unwrap().is_none());
    let lease = fixture.next().await;
    let beat = Heartbeat { fence: lease.fence, progress: None };
    assert!(matches!(fixture.jobs.heartbeat(&foreign, id, beat).await, Err(JobsError::NotFound("job"))));
    assert_eq!(WorkerScope::of(&tenant("default")), EVERYBODY);
    fixture.end().await;
}

#[tokio::test]
async fn the_same_id_or_key_makes_one_job() {
    let fixture = Fixture::sqlite(settings()).await;
    let owner = tenant("acme");
    let request = CreateJob { id: Some(JobId::new()), ..check() };
    let first = fixture.create("acme", request.clone()).await;
    assert_eq!(fixture.create("acme", request.clone()).await.id, first.id);
    let other = CreateJob { priority: 1, ..request.clone() };
    assert!(matches!(fixture.jobs.create(&owner, other, None).await, Err(JobsError::Conflict(_))));
    assert!(matches!(fixture.jobs.create(&tenant("other"), request, None).await, Err(JobsError::Conflict(_))));
    let key = || Some("once".to_owned());
    let (one, two) =
        tokio::join!(fixture.jobs.create(&owner, check(), key()), fixture.jobs.create(&owner, check(), key()));
    assert_eq!(one.unwrap().id, two.unwrap().id);
    let other = CreateJob { priority: 1, ..check() };
    assert!(matches!(fixture.jobs.create(&owner, other, key()).await, Err(JobsError::KeyReused)));
    assert_eq!(fixture.jobs.jobs(&owner, &JobFilter::default(), &PAGE).await.unwrap().len(), 2);
    fixture.end().await;
}

#[tokio::test]
async fn every_fault_of_a_request_is_named() {
    let fixture = Fixture::sqlite(settings()).await;
    let request = CreateJob {
        priority: 101,
        attempts_max: Some(0),
        after: vec![JobId::new(); 65],
        ..job(JobKind::Check, json!({"environment": "none", "tasks": 0}))
    };
    let Err(JobsError::Invalid(faults)) = fixture.jobs.create(&tenant("acme"), request, None).await else { panic!() };
    let fields: Vec<_> = faults.iter().filter_map(|fault| fault.field.as_deref()).collect();
    assert_eq!(fields, ["priority", "after", "attempts_max", "spec.environment", "spec.tasks"]);
    let unknown = CreateJob { after: vec![JobId::new()], ..check() };
    assert!(matches!(fixture.jobs.create(&tenant("acme"), unknown, None).await, Err(JobsError::Invalid(_))));
    let foreign = fixture.create("other", check()).await.id;
    let unknown = CreateJob { after: vec![foreign], ..check() };
    assert!(matches!(fixture.jobs.create(&tenant("acme"), unknown, None).await, Err(JobsError::Invalid(_))));
    let cold = job(JobKind::Serve, json!({"policy": PolicyId::new()}));
    assert!(matches!(fixture.jobs.create(&tenant("acme"), cold, None).await, Err(JobsError::Invalid(_))));
    fixture.end().await;
}

#[tokio::test]
async fn a_tenant_queues_no_more_than_it_may() {
    let fixture = Fixture::sqlite(JobSettings { queued_max: 2, ..settings() }).await;
    fixture.create("acme", check()).await;
    fixture.create("acme", check()).await;
    let third = fixture.jobs.create(&tenant("acme"), check(), None).await;
    assert!(matches!(third, Err(JobsError::TooMany { most: 2, .. })));
    fixture.create("other", check()).await;
    fixture.next().await;
    fixture.create("acme", check()).await;
    fixture.end().await;
}

#[tokio::test]
async fn tenants_take_turns_whatever_they_queue() {
    let fixture = Fixture::sqlite(settings()).await;
    for _ in 0..20 {
        fixture.create("many", CreateJob { priority: 100, ..check() }).await;
    }
    for _ in 0..4 {
        fixture.create("few", check()).await;
    }
    let mut owners = Vec::new();
    for _ in 0..8 {
        let lease = fixture.next().await;
        owners.push(fixture.store.job(lease.job.id).await.unwrap().unwrap().tenant);
    }
    assert_eq!(owners.iter().filter(|owner| *owner == "few").count(), 4);
    assert!(owners.chunks(2).all(|pair| pair[0] != pair[1]), "{owners:?}");
    fixture.end().await;
}

#[tokio::test]
async fn priority_goes_before_age_within_a_tenant() {
    let fixture = Fixture::sqlite(settings()).await;
    let low = fixture.create("acme", check()).await.id;
    let high = fixture.create("acme", CreateJob { priority: 5, ..check() }).await.id;
    assert_eq!(fixture.job("acme", low).await.place, Some(1));
    assert_eq!(fixture.next().await.job.id, high);
    assert_eq!(fixture.next().await.job.id, low);
    fixture.end().await;
}

#[tokio::test]
async fn a_job_that_needs_a_gpu_waits_for_a_worker_with_one() {
    let fixture = Fixture::sqlite(settings()).await;
    let resources = Resources { device: Device::Gpu, memory_bytes: 1 << 20 };
    let id = fixture.create("acme", CreateJob { resources, ..check() }).await.id;
    let plain = fixture.create("acme", CreateJob { priority: 9, ..check() }).await.id;
    assert_eq!(fixture.next().await.job.id, plain);
    assert!(fixture.lease().await.is_none());
    let waiting = fixture.job("acme", id).await.waiting.unwrap();
    assert_eq!(waiting, "no worker with a gpu has asked for a job in the last minute");
    let small = LeaseRequest { device: Device::Gpu, memory_bytes: 1, ..worker("small") };
    assert!(fixture.jobs.lease(&EVERYBODY, small).await.unwrap().is_none());
    assert!(fixture.job("acme", id).await.waiting.unwrap().contains("bytes of memory"));
    let gpu = LeaseRequest { device: Device::Gpu, ..worker("gpu") };
    assert_eq!(fixture.jobs.lease(&EVERYBODY, gpu).await.unwrap().unwrap().job.id, id);
    fixture.end().await;
}

#[tokio::test]
async fn a_job_waits_for_the_trainer_that_is_busy_with_another() {
    let fixture = Fixture::sqlite(settings()).await;
    let ask = async |kind| {
        let request = LeaseRequest { kinds: vec![kind], ..worker("trainer") };
        fixture.jobs.lease(&EVERYBODY, request).await.unwrap()
    };
    let first = fixture.create("acme", check()).await.id;
    let lease = ask(JobKind::Check).await.unwrap();
    assert_eq!(lease.job.id, first);
    let second = fixture.create("acme", check()).await.id;
    let third = fixture.create("acme", check()).await.id;
    let other = fixture.create("umbrella", check()).await.id;
    // The same program asks for work of another kind meanwhile.
    assert!(ask(JobKind::Serve).await.is_none());
    let waiting = async |tenant, id| fixture.job(tenant, id).await.waiting.unwrap();
    assert_eq!(waiting("acme", second).await, format!("trainer is busy with {first}"));
    assert_eq!(waiting("acme", third).await, format!("trainer is busy with {first}; 1 job is before it"));
    assert_eq!(waiting("umbrella", other).await, "trainer is busy with a job of another tenant");
    fixture.finish(&lease, succeeded()).await.unwrap();
    assert_eq!(ask(JobKind::Check).await.unwrap().job.id, other);
    assert_eq!(waiting("acme", second).await, "trainer is busy with a job of another tenant");
    fixture.end().await;
}

#[tokio::test]
async fn a_job_that_was_given_back_does_not_wait_for_itself() {
    let fixture = Fixture::sqlite(settings()).await;
    let id = fixture.create("acme", check()).await.id;
    let lease = fixture.next().await;
    fixture.finish(&lease, Outcome::Released).await.unwrap();
    let waiting = fixture.job("acme", id).await.waiting.unwrap();
    assert!(!waiting.contains("busy"), "{waiting}");
    fixture.end().await;
}

#[tokio::test]
async fn a_queued_job_is_cancelled_at_once_and_a_running_one_asked() {
    let fixture = Fixture::sqlite(settings()).await;
    let owner = tenant("acme");
    let id = fixture.create("acme", check()).await.id;
    assert_eq!(fixture.jobs.cancel(&owner, id).await.unwrap().state, JobState::Cancelled);
    let id = fixture.create("acme", check()).await.id;
    let lease = fixture.next().await;
    assert!(matches!(fixture.finish(&lease, Outcome::Cancelled).await, Err(JobsError::Invalid(_))));
    let job = fixture.jobs.cancel(&owner, id).await.unwrap();
    assert_eq!((job.state, job.cancel_requested), (JobState::Running, true));
    let beat = Heartbeat { fence: lease.fence, progress: None };
    assert!(fixture.jobs.heartbeat(&EVERYBODY, id, beat.clone()).await.unwrap().cancel);
    let job = fixture.finish(&lease, Outcome::Cancelled).await.unwrap();
    assert_eq!(job.state, JobState::Cancelled);
    assert_eq!(fixture.jobs.cancel(&owner, id).await.unwrap().state, JobState::Cancelled);
    // One whose worker does not stop.
    let id = fixture.create("acme", check()).await.id;
    let lease = fixture.next().await;
    fixture.jobs.cancel(&owner, id).await.unwrap();
    fixture.sweep_after(29_999).await;
    assert_eq!(fixture.state("acme", id).await, JobState::Running);
    fixture.sweep_after(1).await;
    assert_eq!(fixture.state("acme", id).await, JobState::Cancelled);
    let beat = Heartbeat { fence: lease.fence, ..beat };
    assert!(matches!(fixture.jobs.heartbeat(&EVERYBODY, id, beat).await, Err(JobsError::LeaseLost)));
    fixture.end().await;
}

#[tokio::test]
async fn a_job_waits_for_those_that_it_needs() {
    let fixture = Fixture::sqlite(settings()).await;
    let first = fixture.create("acme", check()).await.id;
    let second = fixture.create("acme", CreateJob { after: vec![first], priority: 9, ..check() }).await;
    assert_eq!(second.waiting.unwrap(), format!("waits for {first}"));
    let third = fixture.create("acme", CreateJob { after: vec![second.id, first], ..check() }).await.id;
    let lease = fixture.next().await;
    assert_eq!(lease.job.id, first);
    assert!(fixture.lease().await.is_none());
    assert!(matches!(fixture.jobs.delete(&tenant("acme"), first).await, Err(JobsError::NotOver(_))));
    fixture.finish(&lease, succeeded()).await.unwrap();
    assert!(matches!(fixture.jobs.delete(&tenant("acme"), first).await, Err(JobsError::NotOver(_))));
    let lease = fixture.next().await;
    assert_eq!(lease.job.id, second.id);
    fixture.finish(&lease, failed(false)).await.unwrap();
    let job = fixture.job("acme", third).await;
    assert_eq!((job.state, job.error.unwrap().code.as_str()), (JobState::Failed, "dependency"));
    let late = CreateJob { after: vec![second.id], ..check() };
    assert!(matches!(fixture.jobs.create(&tenant("acme"), late, None).await, Err(JobsError::Invalid(_))));
    assert!(matches!(fixture.jobs.retry(&tenant("acme"), third).await, Err(JobsError::NotRetryable(_))));
    fixture.jobs.retry(&tenant("acme"), second.id).await.unwrap();
    let job = fixture.jobs.retry(&tenant("acme"), third).await.unwrap();
    assert_eq!(job.waiting.unwrap(), format!("waits for {}", second.id));
    fixture.jobs.cancel(&tenant("acme"), second.id).await.unwrap();
    assert_eq!(fixture.state("acme", third).await, JobState::Failed);
    fixture.end().await;
}

#[tokio::test]
async fn what_a_spec_names_is_waited_for() {
    let fixture = Fixture::sqlite(settings()).await;
    let first = fixture.create("acme", check()).await.id;
    let second = fixture.create("acme", check()).await.id;
    let spec = json!({
        "policy": {"from": first.to_string()}, "environments": [{"name": "puzzle/countdown"}], "episodes": 1,
        "baseline": {"evaluation": second},
    });
    let id = fixture.create("acme", job(JobKind::Evaluate, spec)).await.id;
    let row = fixture.store.job(id).await.unwrap().unwrap();
    assert_eq!(row.blocked, 2);
    fixture.end().await;
}

#[tokio::test]
async fn events_are_told_from_any_point_until_the_end() {
    let fixture = Fixture::sqlite(settings()).await;
    let owner = tenant("acme");
    let id = fixture.create("acme", check()).await.id;
    let told = fixture.jobs.events(&owner, id, 0).await.unwrap();
    let (told, ()) = tokio::join!(told.collect::<Vec<_>>(), async {
        let lease = fixture.next().await;
        let data = json!({"step": 1, "values": {"loss": 0.5}});
        let events = (0..300).map(|_| ReportedEvent { kind: JobEventKind::Metric, data: data.clone() });
        for events in events.collect::<Vec<_>>().chunks(100) {
            let report = Report { fence: lease.fence, number: None, events: events.to_vec() };
            fixture.jobs.report(&EVERYBODY, id, report).await.unwrap();
        }
        fixture.finish(&lease, succeeded()).await.unwrap();
    });
    let numbers: Vec<u64> = told.iter().map(|event| event.number).collect();
    assert_eq!(numbers, (1..=303).collect::<Vec<_>>());
    let rest: Vec<_> = fixture.jobs.events(&owner, id, 301).await.unwrap().collect().await;
    assert_eq!(rest, told[301..]);
    let metrics = fixture.jobs.events_page(&owner, id, Some(JobEventKind::Metric), 10, 5).await.unwrap();
    assert_eq!(metrics.iter().map(|event| event.number).collect::<Vec<_>>(), [11, 12, 13, 14, 15]);
    assert_eq!(fixture.jobs.0.watches.len(), 0);
    fixture.end().await;
}

#[tokio::test]
async fn events_that_do_not_fit_are_refused_together() {
    let fixture = Fixture::sqlite(settings()).await;
    let id = fixture.create("acme", check()).await.id;
    let fence = fixture.next().await.fence;
    for (kind, data) in [
        (JobEventKind::State, json!({"state": "succeeded"})),
        (JobEventKind::Metric, json!({"step": 1, "values": {"a": "b"}})),
        (JobEventKind::Log, json!({"level": "loud", "message": ""})),
        (JobEventKind::Log, json!({"level": "info", "message": "x".repeat(70_000)})),
        (JobEventKind::Progress, json!({"done": 2, "total": 1, "unit": "steps"})),
        (JobEventKind::Checkpoint, json!({"step": 1, "artifacts": ["missing"]})),
    ] {
        let fine = ReportedEvent { kind: JobEventKind::Log, data: json!({"level": "info", "message": "fine"}) };
        let events = vec![fine, ReportedEvent { kind, data }];
        let refused = fixture.jobs.report(&EVERYBODY, id, Report { fence, number: None, events }).await;
        let Err(JobsError::Invalid(faults)) = refused else { panic!("{refused:?}") };
        assert!(faults[0].field.as_ref().unwrap().starts_with("events[1].data"), "{faults:?}");
    }
    assert_eq!(fixture.events("acme", id).await.len(), 2);
    fixture.end().await;
}

#[tokio::test]
async fn a_full_log_takes_what_is_built_on_and_says_once_that_it_is_full() {
    let fixture = Fixture::sqlite(settings()).await;
    let owner = tenant("acme");
    let id = fixture.create("acme", check()).await.id;
    let lease = fixture.next().await;
    fixture.upload(&lease, "a", b"1").await.unwrap();
    let mut transaction = fixture.store.lock_jobs(Durability::Process).await.unwrap();
    let mut row = transaction.job(id).await.unwrap().unwrap();
    (row.events, row.reports) = (EVENTS_PER_JOB_MAX - 2, 6);
    transaction.update_job(&row).await.unwrap();
    transaction.commit().await.unwrap();
    for number in 7..=9_u64 {
        let events = [
            (JobEventKind::Metric, json!({"step": number, "values": {"loss": 0.5}})),
            (JobEventKind::Log, json!({"level": "info", "message": "another step"})),
            (JobEventKind::Progress, json!({"done": number, "total": 9, "unit": "steps"})),
            (JobEventKind::Checkpoint, json!({"step": number, "artifacts": ["a"]})),
        ];
        let events = events.into_iter().map(|(kind, data)| ReportedEvent { kind, data }).collect();
        let report = Report { fence: lease.fence, number: Some(number), events };
        fixture.jobs.report(&EVERYBODY, id, report).await.unwrap();
        assert_eq!(fixture.job("acme", id).await.progress.unwrap().done, number);
    }
    let progress = Progress { done: 8, ..fixture.job("acme", id).await.progress.unwrap() };
    let heartbeat = Heartbeat { fence: lease.fence, progress: Some(progress.clone()) };
    fixture.jobs.heartbeat(&EVERYBODY, id, heartbeat).await.unwrap();
    assert_eq!(fixture.job("acme", id).await.progress, Some(progress));
    fixture.upload(&lease, "b", b"2").await.unwrap();
    fixture.finish(&lease, succeeded()).await.unwrap();
    let last = fixture.jobs.events_page(&owner, id, None, EVENTS_PER_JOB_MAX - 2, 100).await.unwrap();
    let numbers: Vec<u64> = last.iter().map(|event| event.number).collect();
    assert_eq!(numbers, (EVENTS_PER_JOB_MAX - 1..=EVENTS_PER_JOB_MAX + 5).collect::<Vec<_>>());
    let kinds: Vec<_> = last.iter().map(|event| event.kind).collect();
    let points = [JobEventKind::Checkpoint; 3];
    assert_eq!(kinds[..2], [JobEventKind::Metric, JobEventKind::Log]);
    assert_eq!((&kinds[2..5], &kinds[5..]), (&points[..], &[JobEventKind::Artifact, JobEventKind::State][..]));
    assert_eq!(last[1].data["level"], "warn");
    assert!(last[1].data["message"].as_str().unwrap().contains("full"), "{:?}", last[1]);
    fixture.end().await;
}

#[tokio::test]
async fn old_jobs_are_removed_unless_they_are_needed() {
    let fixture = Fixture::sqlite(JobSettings { retention_ms: 1_000_000, ..settings() }).await;
    let ids = [fixture.create("acme", check()).await.id, fixture.create("acme", check()).await.id];
    for _ in ids {
        let lease = fixture.next().await;
        fixture.finish(&lease, succeeded()).await.unwrap();
    }
    let spec = CreateJob { after: vec![ids[0]], ..check() };
    fixture.create("acme", spec).await;
    fixture.clock.advance_ms(1_000_001);
    fixture.jobs.remove_old().await.unwrap();
    assert_eq!(fixture.state("acme", ids[0]).await, JobState::Succeeded);
    assert!(matches!(fixture.jobs.job(&tenant("acme"), ids[1]).await, Err(JobsError::NotFound("job"))));
    fixture.end().await;
}
