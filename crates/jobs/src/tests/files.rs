//! Artefacts, checkpoints, policies, uploads: bytes that outlive their job, and bytes that nothing names.

use futures::StreamExt as _;
use palestra_protocol::file::FilePurpose;
use palestra_protocol::id::{FileId, PolicyId};
use palestra_protocol::job::JobEventKind;
use palestra_protocol::worker::{RegisterPolicy, Report, ReportedEvent};

use super::super::ArtifactStorage;
use super::super::content::{Contents, SizeLimits};
use super::*;
use palestra_store::Durability;
use palestra_store::row::PageRequest;
use palestra_store::row::job::ContentRow;

const PLACES: [ArtifactStorage; 2] = [ArtifactStorage::Disk, ArtifactStorage::Store];

fn register(lease: &Lease, id: PolicyId, artifacts: &[&str]) -> RegisterPolicy {
    RegisterPolicy {
        fence: lease.fence,
        id,
        parent: None,
        architecture: "transformer".to_owned(),
        environments: vec!["puzzle/countdown@3".to_owned()],
        metrics: Map::new(),
        artifacts: artifacts.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[tokio::test]
async fn a_file_comes_back_as_it_went() {
    for artifacts in PLACES {
        let fixture = Fixture::sqlite(JobSettings { artifacts, ..settings() }).await;
        let id = fixture.create("acme", check()).await.id;
        let lease = fixture.next().await;
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        let chunks = bytes.chunks(77_777).map(<[u8]>::to_vec).collect();
        let (name, fence) = ("checkpoint/step-1/model.safetensors".to_owned(), lease.fence);
        let kept = fixture.jobs.upload(&EVERYBODY, id, name.clone(), fence, None, stream(chunks)).await.unwrap();
        assert_eq!(kept.size_bytes, 3_000_000);
        let (found, content) = fixture.jobs.open_artifact(&tenant("acme"), id, &name).await.unwrap();
        assert_eq!(found, kept);
        assert_eq!(read(content).await, bytes);
        fixture.upload(&lease, "empty", b"").await.unwrap();
        let (_, content) = fixture.jobs.open_artifact(&tenant("acme"), id, "empty").await.unwrap();
        assert!(read(content).await.is_empty());
        let names: Vec<_> =
            fixture.jobs.artifacts(&tenant("acme"), id).await.unwrap().into_iter().map(|file| file.name).collect();
        assert_eq!(names, [name.as_str(), "empty"]);
        let other = fixture.jobs.open_artifact(&tenant("other"), id, &name).await;
        assert!(matches!(other, Err(JobsError::NotFound("job"))));
        fixture.end().await;
    }
}

#[tokio::test]
async fn what_does_not_arrive_whole_is_not_kept() {
    for artifacts in PLACES {
        let limits = JobSettings { artifacts, artifact_bytes_max: 100, quota_bytes: 150, ..settings() };
        let fixture = Fixture::sqlite(limits).await;
        let id = fixture.create("acme", check()).await.id;
        let lease = fixture.next().await;
        let upload = |name: &str, digest: Option<&str>, bytes: ByteStream| {
            let (jobs, fence) = (&fixture.jobs, lease.fence);
            let (name, digest) = (name.to_owned(), digest.map(str::to_owned));
            async move { jobs.upload(&EVERYBODY, id, name, fence, digest, bytes).await }
        };
        let cut = futures::stream::iter([Ok(Bytes::from_static(b"half")), Err(std::io::Error::other("cut"))]);
        assert!(matches!(upload("a", None, Box::pin(cut)).await, Err(JobsError::Io(_))));
        let wrong = upload("a", Some("sha256:00"), stream(vec![b"x".to_vec()])).await;
        assert!(matches!(wrong, Err(JobsError::DigestMismatch { .. })));
        assert!(matches!(upload("a", None, stream(vec![vec![0; 101]])).await, Err(JobsError::TooLarge(100))));
        assert!(matches!(upload("../a", None, stream(Vec::new())).await, Err(JobsError::BadArtifactName)));
        assert_eq!(fixture.jobs.artifacts(&tenant("acme"), id).await.unwrap(), []);
        upload("a", None, stream(vec![vec![1; 90]])).await.unwrap();
        let full = upload("b", None, stream(vec![vec![2; 90]])).await;
        assert!(matches!(full, Err(JobsError::QuotaExceeded { kept_bytes: 90, quota_bytes: 150 })), "{full:?}");
        // What takes the place of another needs room for the moment, and equal contents count once.
        upload("a", None, stream(vec![vec![3; 60]])).await.unwrap();
        upload("b", None, stream(vec![vec![3; 60]])).await.unwrap();
        assert_eq!(fixture.store.kept_bytes("acme").await.unwrap(), 60);
        fixture.end().await;
    }
}

#[tokio::test]
async fn what_nothing_names_is_removed_and_policies_keep_theirs() {
    for artifacts in PLACES {
        let fixture = Fixture::sqlite(JobSettings { artifacts, ..settings() }).await;
        let owner = tenant("acme");
        let id = fixture.create("acme", check()).await.id;
        let lease = fixture.next().await;
        fixture.upload(&lease, "policy/model.safetensors", b"weights").await.unwrap();
        fixture.upload(&lease, "policy/config.json", b"{}").await.unwrap();
        fixture.upload(&lease, "old", b"old").await.unwrap();
        fixture.upload(&lease, "old", b"new").await.unwrap();
        let policy = PolicyId::new();
        let names = ["policy/model.safetensors", "policy/config.json"];
        let registered = fixture.jobs.register_policy(&EVERYBODY, id, register(&lease, policy, &names)).await.unwrap();
        let again = fixture.jobs.register_policy(&EVERYBODY, id, register(&lease, policy, &names)).await.unwrap();
        assert_eq!(again, registered);
        let other = fixture.jobs.register_policy(&EVERYBODY, id, register(&lease, policy, &names[..1])).await;
        assert!(matches!(other, Err(JobsError::Conflict(_))));
        let twice = register(&lease, PolicyId::new(), &[names[0], names[0]]);
        assert!(matches!(fixture.jobs.register_policy(&EVERYBODY, id, twice).await, Err(JobsError::Invalid(_))));
        fixture.finish(&lease, succeeded()).await.unwrap();
        fixture.jobs.delete(&owner, id).await.unwrap();
        fixture.clock.advance_ms(1_000);
        fixture.jobs.remove_old().await.unwrap();
        assert_eq!(fixture.store.kept_bytes("acme").await.unwrap(), 9);
        let (file, content) = fixture.jobs.open_policy_file(&owner, policy, "model.safetensors").await.unwrap();
        assert_eq!((file.size_bytes, read(content).await), (7, b"weights".to_vec()));
        assert_eq!(
            fixture.jobs.policies(&owner, Some(id), &PageRequest { before: None, limit: 9 }).await.unwrap(),
            [registered]
        );
        assert!(matches!(fixture.jobs.policy(&tenant("other"), policy).await, Err(JobsError::NotFound("policy"))));
        if artifacts == ArtifactStorage::Disk {
            let folder = fixture.folder.path().join("artifacts");
            let files = std::fs::read_dir(&folder)
                .unwrap()
                .map(|entry| std::fs::read_dir(entry.unwrap().path()).unwrap().count());
            assert_eq!(files.sum::<usize>(), 2);
        } else {
            assert_eq!(fixture.store.delete_unreferenced(fixture.clock.now()).await.unwrap(), 0);
        }
        fixture.end().await;
    }
}

#[tokio::test]
async fn only_checkpoints_whose_files_are_as_they_were_are_gone_on_from() {
    let fixture = Fixture::sqlite(settings()).await;
    let owner = tenant("acme");
    let id = fixture.create("acme", check()).await.id;
    let lease = fixture.next().await;
    assert_eq!(lease.checkpoint, None);
    for step in 1..=3_u64 {
        let name = format!("checkpoint/{step}");
        fixture.upload(&lease, &name, &[u8::try_from(step).unwrap()]).await.unwrap();
        let data = json!({"step": step, "artifacts": [name]});
        let events = vec![ReportedEvent { kind: JobEventKind::Checkpoint, data }];
        fixture.jobs.report(&EVERYBODY, id, Report { fence: lease.fence, number: None, events }).await.unwrap();
    }
    let steps = async || {
        let points = fixture.jobs.checkpoints(&owner, id).await.unwrap();
        points.iter().map(|point| point.step).collect::<Vec<_>>()
    };
    assert_eq!(steps().await, [1, 2, 3]);
    fixture.jobs.delete_artifact(&EVERYBODY, id, "checkpoint/1", lease.fence).await.unwrap();
    let missing = fixture.jobs.delete_artifact(&EVERYBODY, id, "checkpoint/1", lease.fence).await;
    assert!(matches!(missing, Err(JobsError::NotFound("artefact"))));
    fixture.upload(&lease, "checkpoint/3", b"other").await.unwrap();
    assert_eq!(steps().await, [2]);
    fixture.finish(&lease, Outcome::Released).await.unwrap();
    let point = fixture.next().await.checkpoint.unwrap();
    assert_eq!((point.step, point.attempt, point.artifacts[0].name.as_str()), (2, 1, "checkpoint/2"));
    fixture.end().await;
}

#[tokio::test]
async fn checkpoints_whose_bytes_are_damaged_are_passed_over_and_told_of() {
    let fixture = Fixture::sqlite(settings()).await;
    let owner = tenant("acme");
    let id = fixture.create("acme", check()).await.id;
    let lease = fixture.next().await;
    for step in 1..=3_u8 {
        let name = format!("checkpoint/{step}");
        fixture.upload(&lease, &name, &[step; 4]).await.unwrap();
        let data = json!({"step": step, "artifacts": [name]});
        let events = vec![ReportedEvent { kind: JobEventKind::Checkpoint, data }];
        fixture.jobs.report(&EVERYBODY, id, Report { fence: lease.fence, number: None, events }).await.unwrap();
    }
    let path = |digest: &str| {
        let hex = digest.strip_prefix("sha256:").unwrap();
        fixture.folder.path().join("artifacts").join(&hex[..2]).join(hex)
    };
    let files = fixture.jobs.artifacts(&owner, id).await.unwrap();
    std::fs::remove_file(path(&files[2].digest)).unwrap();
    std::fs::write(path(&files[1].digest), [2; 3]).unwrap();
    let whole = fixture.jobs.checkpoints(&owner, id).await.unwrap();
    assert_eq!(whole.iter().map(|point| point.step).collect::<Vec<_>>(), [1]);
    fixture.finish(&lease, Outcome::Released).await.unwrap();
    let next = fixture.next().await;
    assert_eq!(next.checkpoint.as_ref().unwrap().step, 1);
    let event = fixture.events("acme", id).await.pop().unwrap();
    assert_eq!((event.kind, &event.data["level"]), (JobEventKind::Log, &json!("warn")));
    let message = event.data["message"].as_str().unwrap();
    assert!(message.contains("checkpoint/3, checkpoint/2") && message.contains("after step 1"), "{message}");

    // No folder is there any more, which is another error than that there is no file.
    let folder = path(&files[0].digest).parent().unwrap().to_owned();
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, b"in the way").unwrap();
    assert_eq!(fixture.jobs.checkpoints(&owner, id).await.unwrap(), []);
    fixture.finish(&next, Outcome::Released).await.unwrap();
    assert_eq!(fixture.next().await.checkpoint, None);
    let event = fixture.events("acme", id).await.pop().unwrap();
    assert!(event.data["message"].as_str().unwrap().contains("starts over"), "{event:?}");
    fixture.end().await;
}

#[tokio::test]
async fn what_is_uploaded_again_is_whole_again() {
    let fixture = Fixture::sqlite(JobSettings { artifacts: ArtifactStorage::Store, ..settings() }).await;
    let owner = tenant("acme");
    let id = fixture.create("acme", check()).await.id;
    let lease = fixture.next().await;
    fixture.upload(&lease, "checkpoint/1", b"weights").await.unwrap();
    let (file, _) = fixture.jobs.open_artifact(&owner, id, "checkpoint/1").await.unwrap();
    let damaged = ContentRow {
        digest: file.digest,
        pieces: "lost".to_owned(),
        size_bytes: file.size_bytes,
        created_at: file.created_at,
    };
    let mut transaction = fixture.store.lock_jobs(Durability::Process).await.unwrap();
    transaction.put_content(&damaged).await.unwrap();
    transaction.commit().await.unwrap();
    let (_, mut content) = fixture.jobs.open_artifact(&owner, id, "checkpoint/1").await.unwrap();
    assert!(content.next().await.unwrap().is_err());
    fixture.upload(&lease, "checkpoint/2", b"weights").await.unwrap();
    for name in ["checkpoint/1", "checkpoint/2"] {
        let (_, content) = fixture.jobs.open_artifact(&owner, id, name).await.unwrap();
        assert_eq!(read(content).await, b"weights", "{name}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn who_reads_what_is_uploaded_again_reads_all_of_it() {
    let fixture = Fixture::sqlite(JobSettings { artifacts: ArtifactStorage::Store, ..settings() }).await;
    let owner = tenant("acme");
    let id = fixture.create("acme", check()).await.id;
    let lease = fixture.next().await;
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251).to_le_bytes()[0]).collect();
    fixture.upload(&lease, "model", &bytes).await.unwrap();
    let (_, mut content) = fixture.jobs.open_artifact(&owner, id, "model").await.unwrap();
    let mut found = content.next().await.unwrap().unwrap().to_vec();
    assert!(found.len() < bytes.len());
    fixture.upload(&lease, "model", &bytes).await.unwrap();
    fixture.clock.advance_ms(1_000);
    assert_eq!(fixture.store.delete_unreferenced(fixture.clock.now()).await.unwrap(), 3);
    found.extend(read(content).await);
    assert!(found == bytes);
    fixture.end().await;
}

#[tokio::test]
async fn an_upload_that_takes_long_is_not_swept_away() {
    let limits = JobSettings { artifacts: ArtifactStorage::Store, unreferenced_ms: 1_000, ..settings() };
    let fixture = Fixture::sqlite(limits).await;
    let id = fixture.create("acme", check()).await.id;
    let lease = fixture.next().await;
    let bytes: Vec<u8> = (0..5_242_880_u32).map(|number| (number % 251).to_le_bytes()[0]).collect();
    let chunks: Vec<_> = bytes.chunks(1 << 20).map(|chunk| Bytes::from(chunk.to_vec())).collect();
    let (jobs, clock) = (fixture.jobs.clone(), fixture.clock.clone());
    let slow = futures::stream::iter(chunks).then(move |chunk| {
        let (jobs, clock) = (jobs.clone(), clock.clone());
        async move {
            clock.advance_ms(600);
            jobs.remove_old().await.unwrap();
            Ok::<_, std::io::Error>(chunk)
        }
    });
    let upload = fixture.jobs.upload(&EVERYBODY, id, "model".to_owned(), lease.fence, None, Box::pin(slow));
    upload.await.unwrap();
    let (_, content) = fixture.jobs.open_artifact(&tenant("acme"), id, "model").await.unwrap();
    assert!(read(content).await == bytes);
    fixture.end().await;
}

#[tokio::test]
async fn pieces_of_what_is_not_kept_go_at_once() {
    let limits = JobSettings { artifacts: ArtifactStorage::Store, ..settings() };
    let fixture = Fixture::sqlite(limits.clone()).await;
    let tracker = TaskTracker::new();
    let contents = Contents::open(&limits, &fixture.store, fixture.folder.path(), &fixture.clock, &tracker);
    let contents = contents.await.unwrap();
    let limits = SizeLimits { most: 4 << 20, kept: 0, quota: u64::MAX };
    let piece = || Ok::<_, std::io::Error>(Bytes::from(vec![7_u8; 1 << 20]));
    let cut = futures::stream::iter([piece(), piece(), Err(std::io::Error::other("cut"))]);
    assert!(contents.receive(Box::pin(cut), limits).await.is_err());
    let long = futures::stream::iter((0..5).map(|_| piece()).collect::<Vec<_>>());
    assert!(contents.receive(Box::pin(long), limits).await.is_err());
    // What was received, and then refused.
    drop(contents.receive(Box::pin(futures::stream::iter([piece()])), limits).await.unwrap());
    let kept = contents.receive(Box::pin(futures::stream::iter([piece(), piece()])), limits).await.unwrap();
    let kept = contents.keep(kept, fixture.clock.now()).await.unwrap().unwrap();
    tracker.close();
    tracker.wait().await;
    assert!(fixture.store.piece(&kept.pieces, 1).await.unwrap().is_some());
    fixture.clock.advance_ms(1);
    assert_eq!(fixture.store.delete_unreferenced(fixture.clock.now()).await.unwrap(), 2, "those that were kept alone");
    fixture.end().await;
}

fn training(file: FileId) -> CreateJob {
    let spec = json!({"policy": {"from": "builtin:tiny-transformer"}, "algorithm": {"name": "sft"}, "data": {"file": file}, "steps": 2});
    job(JobKind::Train, spec)
}

async fn keep(fixture: &Fixture, owner: &str, bytes: &[u8], purpose: FilePurpose) -> Result<FileId, JobsError> {
    let owner = tenant(owner);
    let received = fixture.jobs.receive_file(&owner, stream(vec![bytes.to_vec()])).await?;
    Ok(fixture.jobs.keep_file(&owner, received, "data.jsonl".to_owned(), purpose).await?.id)
}

#[tokio::test]
async fn an_uploaded_file_is_read_and_stays_while_a_job_needs_it() {
    for artifacts in PLACES {
        let fixture = Fixture::sqlite(JobSettings { artifacts, ..settings() }).await;
        let owner = tenant("acme");
        let id = keep(&fixture, "acme", b"{}\n", FilePurpose::FineTune).await.unwrap();
        fixture.clock.advance_ms(1_000);
        fixture.jobs.remove_old().await.unwrap();
        let (found, content) = fixture.jobs.open_file(&owner, id).await.unwrap();
        assert_eq!((found.name.as_str(), read(content).await), ("data.jsonl", b"{}\n".to_vec()));
        assert!(matches!(fixture.jobs.open_file(&tenant("other"), id).await, Err(JobsError::NotFound("file"))));
        let queued = fixture.create("acme", training(id)).await.id;
        assert!(fixture.jobs.names_file(queued, id).await.unwrap());
        assert!(matches!(fixture.jobs.delete_file(&owner, id).await, Err(JobsError::NotOver(_))));
        fixture.jobs.cancel(&owner, queued).await.unwrap();
        assert!(matches!(fixture.jobs.delete_file(&tenant("other"), id).await, Err(JobsError::NotFound("file"))));
        fixture.jobs.delete_file(&owner, id).await.unwrap();
        assert!(matches!(fixture.jobs.retry(&owner, queued).await, Err(JobsError::NotRetryable(_))));
        fixture.clock.advance_ms(1_000);
        fixture.jobs.remove_old().await.unwrap();
        assert_eq!(fixture.store.kept_bytes("acme").await.unwrap(), 0);
        fixture.end().await;
    }
}

#[tokio::test]
async fn a_job_names_only_files_that_it_can_learn_from() {
    let fixture = Fixture::sqlite(settings()).await;
    let other = keep(&fixture, "other", b"{}", FilePurpose::FineTune).await.unwrap();
    let kept = keep(&fixture, "acme", b"{}", FilePurpose::UserData).await.unwrap();
    for file in [other, kept, FileId::new()] {
        match fixture.jobs.create(&tenant("acme"), training(file), None).await {
            Err(JobsError::Invalid(faults)) => {
                assert_eq!(faults[0].field.as_deref(), Some("spec.data.file"), "{faults:?}");
            }
            answered => panic!("{file}: {answered:?}"),
        }
    }
    fixture.end().await;
}

#[tokio::test]
async fn what_is_uploaded_counts_in_the_quota_and_needs_a_name() {
    let limits = JobSettings { artifact_bytes_max: 100, quota_bytes: 200, ..settings() };
    let fixture = Fixture::sqlite(limits).await;
    let large = keep(&fixture, "acme", &[0; 101], FilePurpose::FineTune).await;
    assert!(matches!(large, Err(JobsError::TooLarge(100))), "{large:?}");
    keep(&fixture, "acme", &[1; 90], FilePurpose::FineTune).await.unwrap();
    keep(&fixture, "acme", &[1; 90], FilePurpose::FineTune).await.unwrap();
    assert_eq!(fixture.store.kept_bytes("acme").await.unwrap(), 90, "equal contents count once");
    keep(&fixture, "acme", &[2; 90], FilePurpose::FineTune).await.unwrap();
    let full = keep(&fixture, "acme", &[3; 90], FilePurpose::FineTune).await;
    assert!(matches!(full, Err(JobsError::QuotaExceeded { kept_bytes: 180, quota_bytes: 200 })), "{full:?}");
    let result = keep(&fixture, "acme", &[1; 9], FilePurpose::FineTuneResults).await;
    assert!(matches!(result, Err(JobsError::Invalid(_))), "{result:?}");
    let owner = tenant("acme");
    let received = fixture.jobs.receive_file(&owner, stream(vec![vec![1]])).await.unwrap();
    let nowhere = fixture.jobs.keep_file(&owner, received, "../a".to_owned(), FilePurpose::FineTune).await;
    assert!(matches!(nowhere, Err(JobsError::BadFileName)));
    assert_eq!(fixture.store.kept_bytes("acme").await.unwrap(), 180);
    fixture.end().await;
}

#[tokio::test]
async fn a_training_that_succeeds_leaves_its_numbers_and_its_policy_as_files() {
    for artifacts in PLACES {
        let fixture = Fixture::sqlite(JobSettings { artifacts, ..settings() }).await;
        let owner = tenant("acme");
        let data = keep(&fixture, "acme", b"{}\n", FilePurpose::FineTune).await.unwrap();
        let id = fixture.create("acme", training(data)).await.id;
        let lease = fixture.next().await;
        let metric =
            |step, values| ReportedEvent { kind: JobEventKind::Metric, data: json!({"step": step, "values": values}) };
        let events = vec![
            metric(1, json!({"loss": 2.5, "tokens_learnt": 7})),
            metric(2, json!({"kl": null, "tokens_learnt": 5})),
        ];
        fixture.jobs.report(&EVERYBODY, id, Report { fence: lease.fence, number: None, events }).await.unwrap();
        fixture.upload(&lease, "policy/config.json", b"{}").await.unwrap();
        let request = register(&lease, PolicyId::new(), &["policy/config.json"]);
        fixture.jobs.register_policy(&EVERYBODY, id, request).await.unwrap();
        assert!(fixture.jobs.result_files(&owner, id).await.unwrap().is_empty());
        fixture.finish(&lease, succeeded()).await.unwrap();
        fixture.finish(&lease, succeeded()).await.unwrap();
        let files = fixture.jobs.result_files(&owner, id).await.unwrap();
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["step_metrics.csv", "config.json"], "once, also where it is said twice");
        let (_, content) = fixture.jobs.open_file(&owner, files[0].id).await.unwrap();
        let table = String::from_utf8(read(content).await).unwrap();
        assert_eq!(table, "step,attempt,kl,loss,tokens_learnt\n1,1,,2.5,7\n2,1,,,5\n");
        assert_eq!(fixture.jobs.trained_tokens(&owner, id).await.unwrap(), Some(12));
        let refused = fixture.jobs.delete_file(&owner, files[0].id).await;
        assert!(matches!(refused, Err(JobsError::NotOver(_))), "{refused:?}");
        fixture.jobs.delete(&owner, id).await.unwrap();
        assert!(matches!(fixture.jobs.file(&owner, files[0].id).await, Err(JobsError::NotFound("file"))));
        fixture.end().await;
    }
}
