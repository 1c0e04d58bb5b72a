//! Leases and attempts: who holds a job, and what happens after an attempt.

use std::collections::HashSet;
use std::time::Duration;

use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::{JobEventKind, Progress};
use palestra_protocol::key::Scope;
use palestra_protocol::worker::{Exchange, Heartbeat, RegisterPolicy, Report, ReportedEvent};

use super::super::JobFilter;
use super::super::change::Change;
use super::queue::PAGE;
use super::*;

#[tokio::test]
async fn a_waiting_worker_is_woken() {
    let fixture = Fixture::sqlite(settings()).await;
    let waits = LeaseRequest { wait_ms: 30_000, ..worker("w") };
    let began = std::time::Instant::now();
    let (lease, id) = tokio::join!(fixture.jobs.lease(&EVERYBODY, waits), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        fixture.create("acme", check()).await.id
    });
    assert_eq!(lease.unwrap().unwrap().job.id, id);
    assert!(began.elapsed() < Duration::from_secs(20));
    fixture.end().await;
}

#[tokio::test]
async fn attempts_end_in_the_dead_letters_and_can_be_retried() {
    let fixture = Fixture::sqlite(settings()).await;
    let id = fixture.create("acme", CreateJob { attempts_max: Some(2), ..check() }).await.id;
    let first = fixture.next().await;
    let job = fixture.finish(&first, failed(true)).await.unwrap();
    assert_eq!((job.state, job.not_before), (JobState::Queued, Some(fixture.clock.now().plus_ms(5_000))));
    assert!(job.waiting.unwrap().starts_with("next attempt at "));
    assert!(fixture.lease().await.is_none());
    fixture.clock.advance_ms(5_000);
    let second = fixture.next().await;
    assert_eq!((second.fence, second.job.attempts), (2, 2));
    assert_ne!(second.run, first.run);
    fixture.sweep_after(60_000).await;
    let job = fixture.job("acme", id).await;
    assert_eq!((job.state, job.error.unwrap().code.as_str()), (JobState::Failed, "lease_lost"));
    let dead = JobFilter { dead_letter: true, ..JobFilter::default() };
    assert_eq!(fixture.jobs.jobs(&tenant("acme"), &dead, &PAGE).await.unwrap().len(), 1);
    let job = fixture.jobs.retry(&tenant("acme"), id).await.unwrap();
    assert_eq!((job.state, job.attempts, job.error), (JobState::Queued, 0, None));
    assert_eq!(fixture.jobs.jobs(&tenant("acme"), &dead, &PAGE).await.unwrap(), []);
    assert!(matches!(fixture.jobs.retry(&tenant("acme"), id).await, Err(JobsError::NotRetryable(_))));
    let third = fixture.next().await;
    assert_eq!((third.fence, third.job.attempts), (3, 1));
    let job = fixture.finish(&third, failed(false)).await.unwrap();
    assert_eq!(job.state, JobState::Failed);
    assert_eq!(fixture.jobs.jobs(&tenant("acme"), &dead, &PAGE).await.unwrap(), []);
    fixture.end().await;
}

/// A training.
fn training() -> CreateJob {
    let spec = json!({
        "policy": {"from": "builtin:tiny-transformer"},
        "environments": [{"name": "puzzle/countdown"}],
        "algorithm": {"name": "grpo"},
        "steps": 100,
    });
    job(JobKind::Train, spec)
}

impl Fixture {
    /// Leaves a checkpoint after this step.
    async fn checkpoint(&self, lease: &Lease, step: u64) {
        let name = format!("checkpoints/{step}");
        self.upload(lease, &name, b"weights").await.unwrap();
        let event = ReportedEvent { kind: JobEventKind::Checkpoint, data: json!({"step": step, "artifacts": [name]}) };
        let report = Report { fence: lease.fence, number: None, events: vec![event] };
        self.jobs.report(&EVERYBODY, lease.job.id, report).await.unwrap();
    }
}

#[tokio::test]
async fn a_training_that_is_preempted_ten_times_and_moves_on_each_time_ends_well() {
    let fixture = Fixture::sqlite(settings()).await;
    let id = fixture.create("acme", training()).await.id;
    for preempted in 1..=10 {
        let lease = fixture.next().await;
        fixture.checkpoint(&lease, u64::from(preempted) * 5).await;
        fixture.sweep_after(60_000).await;
        let job = fixture.job("acme", id).await;
        assert_eq!((job.state, job.attempts, job.attempts_without_progress), (JobState::Queued, preempted, 0));
        fixture.clock.advance_ms(5_000);
    }
    let last = fixture.next().await;
    assert_eq!(last.checkpoint.as_ref().map(|checkpoint| checkpoint.step), Some(50));
    assert_eq!(fixture.finish(&last, succeeded()).await.unwrap().state, JobState::Succeeded);
    fixture.end().await;
}

#[tokio::test]
async fn a_training_that_comes_no_further_fails_after_its_attempts() {
    let fixture = Fixture::sqlite(settings()).await;
    let id = fixture.create("acme", training()).await.id;
    // The third attempt moves on, and those behind it only come as far as it did.
    for (attempt, step) in [10, 10, 20, 20, 10].into_iter().enumerate() {
        let lease = fixture.next().await;
        assert_eq!(lease.job.attempts as usize, attempt + 1);
        fixture.checkpoint(&lease, step).await;
        fixture.finish(&lease, failed(true)).await.unwrap();
        assert_eq!(fixture.state("acme", id).await, JobState::Queued);
        fixture.clock.advance_ms(60_000);
    }
    let job = fixture.finish(&fixture.next().await, failed(true)).await.unwrap();
    assert_eq!((job.state, job.attempts, job.attempts_without_progress), (JobState::Failed, 6, 3));
    fixture.end().await;
}

#[tokio::test]
async fn episodes_that_later_attempts_keep_are_progress_and_those_of_other_jobs_are_not() {
    let fixture = Fixture::sqlite(settings()).await;
    let environments = json!([{"name": "bench/counter"}]);
    let spec = json!({"policy": {"from": "builtin:null"}, "environments": environments, "episodes": 9});
    for (order, expected) in [(job(JobKind::Evaluate, spec), 0), (check(), 1)] {
        let id = fixture.create("acme", order).await.id;
        let lease = fixture.next().await;
        let progress = Progress { done: 4, total: 9, unit: "episodes".to_owned(), message: None, remaining_ms: None };
        let beat = Heartbeat { fence: lease.fence, progress: Some(progress) };
        fixture.jobs.heartbeat(&EVERYBODY, id, beat).await.unwrap();
        let job = fixture.job("acme", id).await;
        assert_eq!((job.attempts, job.attempts_without_progress), (1, expected));
        fixture.finish(&lease, failed(false)).await.unwrap();
    }
    fixture.end().await;
}

#[tokio::test]
async fn leases_of_workers_that_are_gone_are_taken_back_at_once_and_no_others() {
    let mut fixture = Fixture::sqlite(settings()).await;
    for _ in 0..3 {
        fixture.create("acme", check()).await;
    }
    let mut leases = Vec::new();
    for name in ["local worker of a", "local worker of b", "far away"] {
        leases.push(fixture.jobs.lease(&EVERYBODY, worker(name)).await.unwrap().unwrap());
    }
    fixture.restart().await;
    let gone = ["local worker of a".to_owned(), "local trainer of a".to_owned()];
    assert_eq!(fixture.jobs.take_back(&gone).await.unwrap(), 1);
    assert_eq!(fixture.jobs.take_back(&gone).await.unwrap(), 0);
    let again = fixture.next().await;
    assert_eq!((again.job.id, again.job.attempts, again.fence), (leases[0].job.id, 1, 2));
    assert!(fixture.lease().await.is_none());
    for lease in &leases[1..] {
        assert_eq!(fixture.finish(lease, succeeded()).await.unwrap().state, JobState::Succeeded);
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_released_attempt_does_not_count() {
    let fixture = Fixture::sqlite(settings()).await;
    fixture.create("acme", CreateJob { attempts_max: Some(1), ..check() }).await;
    for fence in 1..=3 {
        let lease = fixture.next().await;
        assert_eq!((lease.fence, lease.job.attempts), (fence, 1));
        assert_eq!(fixture.finish(&lease, Outcome::Released).await.unwrap().attempts, 0);
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_job_that_could_not_be_handed_out_lets_others_go_first_and_keeps_its_attempts() {
    let fixture = Fixture::sqlite(settings()).await;
    let id = fixture.create("acme", CreateJob { attempts_max: Some(1), ..check() }).await.id;
    let lease = fixture.next().await;
    fixture.jobs.give_back(id, lease.fence, Change::postpone).await.unwrap();
    let again = fixture.jobs.give_back(id, lease.fence, Change::postpone).await;
    assert!(matches!(again, Err(JobsError::LeaseLost)));
    let job = fixture.job("acme", id).await;
    let next = fixture.clock.now().plus_ms(5_000);
    assert_eq!((job.state, job.attempts, job.not_before), (JobState::Queued, 0, Some(next)));
    let other = fixture.create("acme", check()).await.id;
    assert_eq!(fixture.next().await.job.id, other);
    assert!(fixture.lease().await.is_none());
    fixture.clock.advance_ms(5_000);
    let lease = fixture.next().await;
    assert_eq!((lease.job.id, lease.fence, lease.job.attempts), (id, 2, 1));
    fixture.end().await;
}

#[tokio::test]
async fn a_worker_that_lost_its_lease_writes_nothing() {
    let fixture = Fixture::sqlite(settings()).await;
    let id = fixture.create("acme", check()).await.id;
    let old = fixture.next().await;
    fixture.upload(&old, "a", b"1").await.unwrap();
    fixture.sweep_after(60_000).await;
    assert_eq!(fixture.state("acme", id).await, JobState::Queued);
    for leased_again in [false, true] {
        if leased_again {
            fixture.clock.advance_ms(5_000);
            assert_eq!(fixture.next().await.fence, 2);
        }
        let before = fixture.events("acme", id).await.len();
        let (jobs, fence) = (&fixture.jobs, old.fence);
        let beat = jobs.heartbeat(&EVERYBODY, id, Heartbeat { fence, progress: None }).await;
        assert!(matches!(beat, Err(JobsError::LeaseLost)));
        let event = ReportedEvent { kind: JobEventKind::Log, data: json!({"level": "info", "message": "late"}) };
        let report = jobs.report(&EVERYBODY, id, Report { fence, number: None, events: vec![event] }).await;
        assert!(matches!(report, Err(JobsError::LeaseLost)));
        assert!(matches!(fixture.upload(&old, "b", b"2").await, Err(JobsError::LeaseLost)));
        assert!(matches!(jobs.delete_artifact(&EVERYBODY, id, "a", fence).await, Err(JobsError::LeaseLost)));
        let policy = RegisterPolicy {
            fence,
            id: PolicyId::new(),
            parent: None,
            architecture: "mlp".to_owned(),
            environments: Vec::new(),
            metrics: Map::new(),
            artifacts: vec!["a".to_owned()],
        };
        assert!(matches!(jobs.register_policy(&EVERYBODY, id, policy).await, Err(JobsError::LeaseLost)));
        let exchange = Exchange { fence, answers: Vec::new(), take: 1, wait_ms: 0 };
        assert!(matches!(jobs.exchange(&EVERYBODY, id, exchange).await, Err(JobsError::LeaseLost)));
        for outcome in [succeeded(), failed(true), Outcome::Released, Outcome::Cancelled] {
            assert!(matches!(fixture.finish(&old, outcome).await, Err(JobsError::LeaseLost)));
        }
        assert_eq!(fixture.events("acme", id).await.len(), before);
        assert_eq!(jobs.artifacts(&tenant("acme"), id).await.unwrap().len(), 1);
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_lease_goes_on_over_a_restart() {
    let mut fixture = Fixture::sqlite(settings()).await;
    let id = fixture.create("acme", check()).await.id;
    let lease = fixture.next().await;
    fixture.restart().await;
    assert!(fixture.lease().await.is_none());
    fixture.clock.advance_ms(59_000);
    let held = fixture.jobs.heartbeat(&EVERYBODY, id, Heartbeat { fence: 1, progress: None }).await.unwrap();
    assert_eq!(held.expires_at, fixture.clock.now().plus_ms(60_000));
    fixture.sweep_after(59_000).await;
    assert_eq!(fixture.finish(&lease, succeeded()).await.unwrap().state, JobState::Succeeded);
    fixture.end().await;
}

#[tokio::test]
async fn a_leases_token_works_while_the_lease_is_held() {
    let fixture = Fixture::sqlite(settings()).await;
    fixture.create("acme", check()).await;
    let lease = fixture.next().await;
    let principal = fixture.auth.authenticate(&lease.token).await.unwrap();
    assert_eq!(&*principal.tenant, "acme");
    assert!([Scope::Sessions, Scope::StateRead, Scope::Jobs].iter().all(|scope| principal.require(*scope).is_ok()));
    assert!(
        [Scope::Admin, Scope::Worker, Scope::EnvironmentsWrite].iter().all(|scope| principal.require(*scope).is_err())
    );
    fixture.finish(&lease, Outcome::Released).await.unwrap();
    assert!(fixture.auth.authenticate(&lease.token).await.is_err());
    assert!(!fixture.auth.is_still_valid(&principal).await.unwrap());
    let again = fixture.next().await;
    assert!(fixture.auth.authenticate(&lease.token).await.is_err());
    assert!(fixture.auth.authenticate(&again.token).await.is_ok());
    fixture.end().await;
}

/// Eight workers at two queues on one store, as with two nodes.
async fn leased_once(fixture: Fixture) {
    const JOBS: usize = 200;
    for number in 0..JOBS {
        fixture.create(["a", "b", "c"][number % 3], check()).await;
    }
    let (store, clock, settings) = (&fixture.store, &fixture.clock, &fixture.settings);
    let other = start(store, &fixture.auth, clock, settings, &fixture.cancel, fixture.folder.path()).await;
    let workers = (0..8).map(|number| {
        let jobs = if number % 2 == 0 { &fixture.jobs } else { &other };
        async move {
            let mut leased = Vec::new();
            while let Some(lease) = jobs.lease(&EVERYBODY, worker(&format!("w{number}"))).await.unwrap() {
                leased.push(lease.job.id);
            }
            leased
        }
    });
    let leased: Vec<JobId> = futures::future::join_all(workers).await.into_iter().flatten().collect();
    assert_eq!(leased.len(), JOBS);
    assert_eq!(leased.iter().collect::<HashSet<_>>().len(), JOBS);
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_workers_lease_each_job_once() {
    leased_once(Fixture::sqlite(settings()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_workers_lease_each_job_once_on_postgres() {
    if let Some(fixture) = Fixture::postgres(settings()).await {
        leased_once(fixture).await;
    }
}

#[tokio::test]
async fn a_new_attempt_gets_the_runs_and_the_progress_of_earlier_ones() {
    continued(Fixture::sqlite(settings()).await).await;
}

#[tokio::test]
async fn a_new_attempt_gets_the_runs_and_the_progress_of_earlier_ones_on_postgres() {
    if let Some(fixture) = Fixture::postgres(settings()).await {
        continued(fixture).await;
    }
}

async fn continued(mut fixture: Fixture) {
    let environments = json!([{"name": "bench/counter"}]);
    let spec = json!({"policy": {"from": "builtin:null"}, "environments": environments, "episodes": 9});
    let id = fixture.create("acme", job(JobKind::Evaluate, spec)).await.id;
    let first = fixture.next().await;
    assert_eq!(first.former_runs, []);
    let done = Progress { done: 4, total: 9, unit: "episodes".to_owned(), message: None, remaining_ms: Some(7) };
    let beat = Heartbeat { fence: first.fence, progress: Some(done.clone()) };
    fixture.jobs.heartbeat(&EVERYBODY, id, beat).await.unwrap();
    fixture.finish(&first, Outcome::Released).await.unwrap();
    let second = fixture.next().await;
    assert_eq!(second.former_runs, [first.run]);
    assert_eq!(second.job.progress, Some(Progress { remaining_ms: None, ..done }));
    fixture.restart().await;
    fixture.sweep_after(120_000).await;
    fixture.clock.advance_ms(600_000);
    let third = fixture.next().await;
    assert_eq!(third.former_runs, [first.run, second.run]);
    // After a manual retry the episodes still count, and the progress starts over.
    fixture.finish(&third, failed(false)).await.unwrap();
    fixture.jobs.retry(&tenant("acme"), id).await.unwrap();
    let fourth = fixture.next().await;
    assert_eq!((fourth.former_runs, fourth.job.progress), (vec![first.run, second.run, third.run], None));
    // A job of another kind starts over, without earlier runs.
    let checked = fixture.create("acme", check()).await.id;
    let first = fixture.next().await;
    fixture.finish(&first, Outcome::Released).await.unwrap();
    let second = fixture.next().await;
    assert_eq!((second.job.id, second.former_runs), (checked, vec![]));
    fixture.end().await;
}
