//! Policies that act, and the workers behind them.

use std::time::Duration;

use palestra_protocol::id::PolicyId;
use palestra_protocol::worker::{ActAnswer, ActRequest, Exchange, RegisterPolicy, ServedAnswer};

use super::*;

/// A registered policy, and the lease of a job that serves it.
async fn serving(fixture: &Fixture) -> (PolicyId, Lease) {
    fixture.create("acme", check()).await;
    let lease = fixture.next().await;
    fixture.upload(&lease, "policy/model.safetensors", b"weights").await.unwrap();
    let id = PolicyId::new();
    let register = RegisterPolicy {
        fence: lease.fence,
        id,
        parent: None,
        architecture: "mlp".to_owned(),
        environments: vec!["control/cartpole@1".to_owned()],
        metrics: Map::new(),
        artifacts: vec!["policy/model.safetensors".to_owned()],
    };
    fixture.jobs.register_policy(&EVERYBODY, lease.job.id, register).await.unwrap();
    fixture.finish(&lease, succeeded()).await.unwrap();
    fixture.create("acme", job(JobKind::Serve, json!({"policy": id}))).await;
    (id, fixture.next().await)
}

fn request() -> ActRequest {
    serde_json::from_value(json!({"observation": [1.0, 2.0]})).unwrap()
}

fn answer(number: u64) -> ServedAnswer {
    let answer = ActAnswer {
        action: json!({"text": "left"}),
        token_ids: Vec::new(),
        logprobs: vec![-0.5],
        prompt_tokens: 0,
        prompt_token_ids: Vec::new(),
        finish_reason: "stop".to_owned(),
    };
    ServedAnswer { number, answer: Some(answer), error: None }
}

fn exchange(lease: &Lease, answers: Vec<ServedAnswer>, take: u32, wait_ms: u64) -> Exchange {
    Exchange { fence: lease.fence, answers, take, wait_ms }
}

#[tokio::test]
async fn a_worker_fetches_requests_and_answers_them() {
    let fixture = Fixture::sqlite(settings()).await;
    let (policy, lease) = serving(&fixture).await;
    let owner = tenant("acme");
    assert!(matches!(fixture.jobs.act(&owner, policy, request()).await, Err(JobsError::PolicyCold)));
    assert!(matches!(fixture.jobs.act(&tenant("other"), policy, request()).await, Err(JobsError::NotFound(_))));
    let serve = async {
        let mut answers = Vec::new();
        let mut served = 0;
        while served < 20 {
            let exchanged =
                fixture.jobs.exchange(&EVERYBODY, lease.job.id, exchange(&lease, answers, 8, 5_000)).await.unwrap();
            assert!(exchanged.requests.len() <= 8 && !exchanged.cancel);
            served += exchanged.requests.len();
            answers = exchanged.requests.iter().map(|request| answer(request.number)).collect();
        }
        fixture.jobs.exchange(&EVERYBODY, lease.job.id, exchange(&lease, answers, 0, 0)).await.unwrap();
    };
    // The worker is registered before the first request.
    fixture.jobs.exchange(&EVERYBODY, lease.job.id, exchange(&lease, Vec::new(), 0, 0)).await.unwrap();
    let asks = futures::future::join_all((0..20).map(|_| fixture.jobs.act(&owner, policy, request())));
    let (answers, ()) = tokio::join!(asks, serve);
    assert!(answers.into_iter().all(|answer| answer.unwrap().action == json!({"text": "left"})));
    let empty = serde_json::from_value(json!({})).unwrap();
    assert!(matches!(fixture.jobs.act(&owner, policy, empty).await, Err(JobsError::Invalid(_))));
    fixture.end().await;
}

#[tokio::test]
async fn a_worker_that_serves_hears_when_another_job_waits_for_it() {
    let fixture = Fixture::sqlite(settings()).await;
    let (policy, lease) = serving(&fixture).await;
    let looks = async || {
        let exchanged = fixture.jobs.exchange(&EVERYBODY, lease.job.id, exchange(&lease, Vec::new(), 8, 0)).await;
        exchanged.unwrap().wanted
    };
    assert!(!looks().await, "nothing waits");
    let second = fixture.create("acme", job(JobKind::Serve, json!({"policy": policy}))).await.id;
    assert!(looks().await);
    fixture.jobs.cancel(&tenant("acme"), second).await.unwrap();
    assert!(!looks().await, "it waits no more");
    fixture.end().await;
}

#[tokio::test]
async fn requests_of_a_worker_that_lost_its_lease_fail_clearly() {
    let fixture = Fixture::sqlite(settings()).await;
    let (policy, lease) = serving(&fixture).await;
    let owner = tenant("acme");
    fixture.jobs.exchange(&EVERYBODY, lease.job.id, exchange(&lease, Vec::new(), 0, 0)).await.unwrap();
    let (one, other, ()) =
        tokio::join!(fixture.jobs.act(&owner, policy, request()), fixture.jobs.act(&owner, policy, request()), async {
            let exchanged = fixture.jobs.exchange(&EVERYBODY, lease.job.id, exchange(&lease, Vec::new(), 1, 5_000));
            assert_eq!(exchanged.await.unwrap().requests.len(), 1);
            fixture.sweep_after(60_000).await;
        });
    // Either of them may have been the one that was taken.
    let asked = [one, other];
    let taken = |error: &JobsError| matches!(error, JobsError::ServeFailed(error) if error.code == "lease_lost");
    assert_eq!(asked.iter().filter(|ask| ask.as_ref().is_err_and(taken)).count(), 1, "{asked:?}");
    let cold = |error: &JobsError| matches!(error, JobsError::PolicyCold);
    assert_eq!(asked.iter().filter(|ask| ask.as_ref().is_err_and(cold)).count(), 1, "{asked:?}");
    let late = fixture.jobs.exchange(&EVERYBODY, lease.job.id, exchange(&lease, vec![answer(1)], 1, 0)).await;
    assert!(matches!(late, Err(JobsError::LeaseLost)));
    fixture.end().await;
}

#[tokio::test]
async fn a_full_queue_and_a_slow_policy_are_told_apart() {
    let fixture = Fixture::sqlite(JobSettings { act_ms_max: 3_000, ..settings() }).await;
    let (policy, lease) = serving(&fixture).await;
    let owner = tenant("acme");
    fixture.jobs.exchange(&EVERYBODY, lease.job.id, exchange(&lease, Vec::new(), 0, 0)).await.unwrap();
    let asks = futures::future::join_all((0..300).map(|_| fixture.jobs.act(&owner, policy, request()))).await;
    let count = |wanted: fn(&JobsError) -> bool| asks.iter().filter(|ask| ask.as_ref().is_err_and(wanted)).count();
    assert_eq!(count(|error| matches!(error, JobsError::Busy(_))), 44);
    assert_eq!(count(|error| matches!(error, JobsError::TimedOut(3_000))), 256);
    // The callers of the waiting requests have left, so there is room again.
    let (late, ()) = tokio::join!(fixture.jobs.act(&owner, policy, request()), async {
        let exchanged =
            fixture.jobs.exchange(&EVERYBODY, lease.job.id, exchange(&lease, Vec::new(), 8, 5_000)).await.unwrap();
        assert_eq!(exchanged.requests.len(), 1);
        let answers = vec![answer(exchanged.requests[0].number)];
        fixture.jobs.exchange(&EVERYBODY, lease.job.id, exchange(&lease, answers, 0, 0)).await.unwrap();
    });
    assert!(late.is_ok(), "{late:?}");
    fixture.end().await;
}

#[tokio::test]
async fn a_waiting_exchange_hears_of_the_cancellation() {
    let fixture = Fixture::sqlite(settings()).await;
    let (_, lease) = serving(&fixture).await;
    let began = std::time::Instant::now();
    let waits = fixture.jobs.exchange(&EVERYBODY, lease.job.id, exchange(&lease, Vec::new(), 8, 30_000));
    let (exchanged, cancelled) = tokio::join!(waits, async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        fixture.jobs.cancel(&tenant("acme"), lease.job.id).await
    });
    assert!(cancelled.unwrap().cancel_requested && exchanged.unwrap().cancel);
    assert!(began.elapsed() < Duration::from_secs(10));
    fixture.end().await;
}

#[tokio::test]
async fn only_jobs_that_serve_exchange() {
    let fixture = Fixture::sqlite(settings()).await;
    fixture.create("acme", check()).await;
    let lease = fixture.next().await;
    let refused = fixture.jobs.exchange(&EVERYBODY, lease.job.id, exchange(&lease, Vec::new(), 1, 0)).await;
    assert!(matches!(refused, Err(JobsError::Invalid(_))));
    fixture.end().await;
}
