//! Policies of checkpoints, and policies that are deleted.

use palestra_protocol::id::PolicyId;
use palestra_protocol::job::{JobEventKind, Policy};
use palestra_protocol::worker::{Report, ReportedEvent};
use palestra_store::row::PageRequest;

use super::*;

fn training(from: &str) -> CreateJob {
    let spec = json!({
        "policy": {"from": from},
        "environments": [{"name": "puzzle/countdown"}],
        "algorithm": {"name": "grpo"},
        "steps": 100,
    });
    job(JobKind::Train, spec)
}

fn serve(policy: PolicyId) -> CreateJob {
    job(JobKind::Serve, json!({"policy": policy}))
}

/// Leaves a checkpoint, of which a policy is a part.
async fn keep(fixture: &Fixture, lease: &Lease, step: u64, policy: Value) -> Result<(), JobsError> {
    let files = ["model.safetensors", "optimizer.safetensors", "policy/config.json"];
    let names = files.map(|name| format!("checkpoints/{step}/{name}"));
    for name in &names {
        fixture.upload(lease, name, format!("{name} of {step}").as_bytes()).await.unwrap();
    }
    let data = json!({"step": step, "artifacts": names, "policy": policy});
    let event = ReportedEvent { kind: JobEventKind::Checkpoint, data };
    let report = Report { fence: lease.fence, number: None, events: vec![event] };
    fixture.jobs.report(&EVERYBODY, lease.job.id, report).await.map(drop)
}

fn described(step: u64) -> Value {
    json!({
        "parent": null, "architecture": "transformer", "environments": ["puzzle/countdown@3"],
        "metrics": {"solve_rate": 0.5, "step": step},
        "artifacts": [format!("checkpoints/{step}/model.safetensors"), format!("checkpoints/{step}/policy/config.json")],
    })
}

/// A training that kept two checkpoints and runs on.
async fn kept_two(fixture: &Fixture) -> Lease {
    fixture.create("acme", training("builtin:tiny-transformer")).await;
    let lease = fixture.next().await;
    for step in [20, 40] {
        keep(fixture, &lease, step, described(step)).await.unwrap();
    }
    lease
}

async fn register(fixture: &Fixture, owner: &str, id: JobId, step: Option<u64>) -> Result<Policy, JobsError> {
    fixture.jobs.register_checkpoint(&tenant(owner), id, step).await
}

/// The one fault of a refusal.
fn fault(refused: Result<Policy, JobsError>) -> (String, String) {
    let Err(JobsError::Invalid(mut faults)) = refused else { panic!("{refused:?}") };
    assert_eq!(faults.len(), 1, "{faults:?}");
    let fault = faults.remove(0);
    (fault.field.unwrap(), fault.detail)
}

async fn all(fixture: &Fixture) -> Vec<PolicyId> {
    let page = PageRequest { before: None, limit: 9 };
    let found = fixture.jobs.policies(&tenant("acme"), None, &page).await.unwrap();
    found.into_iter().map(|policy| policy.id).collect()
}

#[tokio::test]
async fn a_checkpoint_is_registered_once_with_its_lineage() {
    let fixture = Fixture::sqlite(settings()).await;
    let lease = kept_two(&fixture).await;
    let id = lease.job.id;
    let policy = register(&fixture, "acme", id, Some(20)).await.unwrap();
    assert_eq!((policy.job, policy.step, policy.parent), (id, Some(20), None));
    assert_eq!((policy.architecture.as_str(), policy.environments[0].as_str()), ("transformer", "puzzle/countdown@3"));
    assert_eq!(policy.metrics["step"], 20);
    let names: Vec<&str> = policy.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["config.json", "model.safetensors"]);
    assert_eq!(register(&fixture, "acme", id, Some(20)).await.unwrap(), policy);
    let newest = register(&fixture, "acme", id, None).await.unwrap();
    assert_eq!((newest.step, newest.metrics["step"].as_u64()), (Some(40), Some(40)));
    assert_eq!(register(&fixture, "acme", id, Some(40)).await.unwrap(), newest);
    assert_eq!(all(&fixture).await.len(), 2);
    let told = fixture.events("acme", id).await;
    let told: Vec<_> = told.iter().filter(|event| event.kind == JobEventKind::Policy).collect();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0].data, json!({"policy": policy.id}));
    // The trainer replaces the checkpoint, the policy stays.
    fixture.jobs.delete_artifact(&EVERYBODY, id, "checkpoints/20/model.safetensors", lease.fence).await.unwrap();
    fixture.clock.advance_ms(1_000);
    fixture.jobs.remove_old().await.unwrap();
    let (_, content) = fixture.jobs.open_policy_file(&tenant("acme"), policy.id, "model.safetensors").await.unwrap();
    assert_eq!(read(content).await, b"checkpoints/20/model.safetensors of 20");
    assert_eq!(register(&fixture, "acme", id, Some(20)).await.unwrap(), policy);
    fixture.end().await;
}

#[tokio::test]
async fn a_checkpoint_is_registered_however_its_training_ended() {
    for outcome in [succeeded(), failed(false), Outcome::Cancelled] {
        let fixture = Fixture::sqlite(settings()).await;
        let lease = kept_two(&fixture).await;
        let id = lease.job.id;
        if outcome == Outcome::Cancelled {
            fixture.jobs.cancel(&tenant("acme"), id).await.unwrap();
        }
        let state = fixture.finish(&lease, outcome).await.unwrap().state;
        let last = fixture.events("acme", id).await.pop().unwrap();
        let policy = register(&fixture, "acme", id, None).await.unwrap();
        assert_eq!((policy.step, all(&fixture).await), (Some(40), vec![policy.id]), "{state:?}");
        assert_eq!(fixture.state("acme", id).await, state);
        assert_eq!(fixture.events("acme", id).await.pop(), Some(last), "the end stays the last event");
        fixture.end().await;
    }
}

#[tokio::test]
async fn what_is_no_checkpoint_of_a_training_is_refused_by_name() {
    let fixture = Fixture::sqlite(settings()).await;
    let lease = kept_two(&fixture).await;
    let id = lease.job.id;
    let (field, detail) = fault(register(&fixture, "acme", id, Some(30)).await);
    assert_eq!(field, "step");
    assert!(detail.contains("no checkpoint after step 30") && detail.ends_with("20, 40"), "{detail}");
    for (owner, other) in [("other", id), ("acme", JobId::new())] {
        assert!(matches!(register(&fixture, owner, other, None).await, Err(JobsError::NotFound("job"))));
    }
    let check = fixture.create("acme", check()).await.id;
    let (field, detail) = fault(register(&fixture, "acme", check, None).await);
    assert!(field == "job" && detail.contains("of kind check"), "{field}: {detail}");
    let bare = fixture.create("acme", training("builtin:tiny-transformer")).await.id;
    let (field, detail) = fault(register(&fixture, "acme", bare, None).await);
    assert!(field == "job" && detail.contains("keeps no checkpoint"), "{field}: {detail}");
    // As a former trainer leaves them.
    keep(&fixture, &lease, 60, Value::Null).await.unwrap();
    let (field, detail) = fault(register(&fixture, "acme", id, Some(60)).await);
    assert!(field == "step" && detail.contains("holds no policy"), "{field}: {detail}");
    let damaged = register(&fixture, "acme", id, Some(40)).await;
    assert!(damaged.is_ok());
    let folder = fixture.folder.path().join("artifacts");
    for entry in std::fs::read_dir(&folder).unwrap().flat_map(|entry| std::fs::read_dir(entry.unwrap().path()).unwrap())
    {
        std::fs::write(entry.unwrap().path(), "").unwrap();
    }
    let (field, detail) = fault(register(&fixture, "acme", id, Some(20)).await);
    assert!(field == "step" && detail.contains("damaged"), "{field}: {detail}");
    fixture.end().await;
}

#[tokio::test]
async fn a_checkpoint_whose_policy_does_not_fit_is_refused() {
    let fixture = Fixture::sqlite(settings()).await;
    let lease = kept_two(&fixture).await;
    let mut foreign = described(60);
    foreign["artifacts"][0] = json!("checkpoints/40/model.safetensors");
    let mut unnamed = described(60);
    unnamed["architecture"] = json!("");
    for (policy, part) in [(foreign, "no file of the checkpoint"), (unnamed, "correct its architecture")] {
        let Err(JobsError::Invalid(faults)) = keep(&fixture, &lease, 60, policy).await else { panic!("it is taken") };
        assert!(faults[0].detail.contains(part), "{faults:?}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_policy_is_deleted_once_no_job_uses_it() {
    let fixture = Fixture::sqlite(settings()).await;
    let owner = tenant("acme");
    let lease = kept_two(&fixture).await;
    let policy = register(&fixture, "acme", lease.job.id, Some(20)).await.unwrap();
    let twin = register(&fixture, "acme", lease.job.id, Some(40)).await.unwrap();
    let serving = fixture.create("acme", serve(policy.id)).await.id;
    for state in ["queued", "running"] {
        let refused = fixture.jobs.delete_policy(&owner, policy.id).await;
        let Err(JobsError::NotOver(detail)) = refused else { panic!("{refused:?}") };
        assert!(detail.contains(&serving.to_string()) && detail.contains(state), "{detail}");
        if state == "queued" {
            assert_eq!(fixture.next().await.job.id, serving);
        }
    }
    assert!(matches!(
        fixture.jobs.delete_policy(&tenant("other"), policy.id).await,
        Err(JobsError::NotFound("policy"))
    ));
    fixture.jobs.cancel(&owner, serving).await.unwrap();
    fixture.sweep_after(600_000).await;
    fixture.jobs.delete_policy(&owner, policy.id).await.unwrap();
    assert!(matches!(fixture.jobs.delete_policy(&owner, policy.id).await, Err(JobsError::NotFound("policy"))));
    assert!(matches!(fixture.jobs.policy(&owner, policy.id).await, Err(JobsError::NotFound("policy"))));
    let again = fixture.jobs.retry(&owner, serving).await;
    let Err(JobsError::NotRetryable(detail)) = again else { panic!("{again:?}") };
    assert!(detail.contains("was deleted"), "{detail}");
    // What others have too stays.
    fixture.jobs.remove_old().await.unwrap();
    let (_, content) =
        fixture.jobs.open_artifact(&owner, lease.job.id, "checkpoints/20/model.safetensors").await.unwrap();
    assert_eq!(read(content).await, b"checkpoints/20/model.safetensors of 20");
    fixture.jobs.delete_policy(&owner, twin.id).await.unwrap();
    let anew = register(&fixture, "acme", lease.job.id, Some(20)).await.unwrap();
    assert_ne!(anew.id, policy.id);
    fixture.end().await;
}

#[tokio::test]
async fn the_policy_of_a_job_is_used_by_those_that_go_on_from_that_job() {
    let fixture = Fixture::sqlite(settings()).await;
    let owner = tenant("acme");
    let lease = kept_two(&fixture).await;
    let made = PolicyId::new();
    let request = palestra_protocol::worker::RegisterPolicy {
        fence: lease.fence,
        id: made,
        parent: None,
        architecture: "transformer".to_owned(),
        environments: Vec::new(),
        metrics: Map::new(),
        artifacts: vec!["checkpoints/40/model.safetensors".to_owned()],
    };
    fixture.jobs.register_policy(&EVERYBODY, lease.job.id, request).await.unwrap();
    let refused = fixture.jobs.delete_policy(&owner, made).await;
    assert!(matches!(refused, Err(JobsError::NotOver(_))), "its own job runs: {refused:?}");
    let after = fixture.create("acme", training(&lease.job.id.to_string())).await.id;
    register(&fixture, "acme", lease.job.id, Some(20)).await.unwrap();
    fixture.finish(&lease, Outcome::Succeeded { result: json!({"policy": made}) }).await.unwrap();
    let files = fixture.jobs.result_files(&owner, lease.job.id).await.unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["step_metrics.csv", "model.safetensors"], "not those of the checkpoint");
    let refused = fixture.jobs.delete_policy(&owner, made).await;
    let Err(JobsError::NotOver(detail)) = refused else { panic!("{refused:?}") };
    assert!(detail.contains(&after.to_string()), "{detail}");
    fixture.jobs.cancel(&owner, after).await.unwrap();
    fixture.jobs.delete_policy(&owner, made).await.unwrap();
    fixture.end().await;
}

#[tokio::test]
async fn a_network_over_vectors_is_trained_by_ppo_alone() {
    let fixture = Fixture::sqlite(settings()).await;
    let lease = kept_two(&fixture).await;
    let mut network = described(60);
    network["architecture"] = json!("mlp");
    keep(&fixture, &lease, 60, network).await.unwrap();
    let network = register(&fixture, "acme", lease.job.id, Some(60)).await.unwrap().id;
    let refused = fixture.jobs.create(&tenant("acme"), training(&network.to_string()), None).await;
    let Err(JobsError::Invalid(faults)) = refused else { panic!("{refused:?}") };
    assert_eq!(faults[0].field.as_deref(), Some("spec.algorithm.name"));
    assert!(faults[0].detail.contains("by ppo alone"), "{faults:?}");
    let mut by_ppo = training(&network.to_string());
    by_ppo.spec["algorithm"]["name"] = json!("ppo");
    fixture.create("acme", by_ppo).await;
    fixture.end().await;
}
