//! Rows with every field set, so that a forgotten column is noticed.

use std::sync::Arc;

use palestra_protocol::environment::Limits;
use palestra_protocol::episode::{EpisodeState, Origin};
use palestra_protocol::id::{EpisodeId, GroupId, RunId, SessionId, SnapshotId};
use palestra_protocol::observation::{Keep, Observe};
use palestra_protocol::session::{CloseReason, RecordMode, SessionState, VerifyMode};
use palestra_protocol::step::StopReason;
use palestra_protocol::time::Timestamp;
use palestra_protocol::verdict::{Check, Judge, Status, Usage, Verdict, VerifierName};
use palestra_state::secrets::Secrets;
use serde_json::{Map, Value, json};

use super::super::row::{EpisodeRow, IdempotencyRow, Record, SessionRow, SnapshotRow, StepRow, VerdictRow};

pub(super) const TENANT: &str = "tenant-1";
pub(super) const NODE: &str = "node-1";

pub(super) fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_milliseconds(1_790_000_000_000 + milliseconds)
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

pub(super) fn session() -> SessionRow {
    SessionRow {
        id: SessionId::new(),
        tenant: TENANT.into(),
        node: NODE.into(),
        environment: "puzzle/countdown".into(),
        version: 3,
        digest: "sha256:1".into(),
        run: Some(RunId::new()),
        group: Some(GroupId::new()),
        parent: Some(SessionId::new()),
        state: SessionState::Open,
        closed_reason: None,
        record: RecordMode::Sync,
        verify: VerifyMode::Manual,
        limits: Limits {
            steps: Some(u64::MAX),
            wall_ms: Some(1),
            idle_ms: Some(2),
            model_cost: Some(0.5),
            ..Limits::default()
        },
        observe: Arc::new(Observe {
            text_bytes: Some(16_000),
            keep: Some(Keep::Both),
            blocks: Some(vec!["tree".to_owned()]),
            state_hash: Some(true),
        }),
        config: Arc::new(object(&json!({"size": 4, "words": ["a", null]}))),
        metadata: Arc::new(json!({"any": ["thing", 1.5, {"deep": true}]})),
        episode: EpisodeId::new(),
        task: "train-7".into(),
        seed: (1 << 53) - 1,
        episodes: 1,
        created_at: at(0),
        expires_at: at(1_000),
        closed_at: None,
    }
}

pub(super) fn episode(session: &SessionRow, ordinal: u64) -> EpisodeRow {
    EpisodeRow {
        id: if ordinal == 1 { session.episode } else { EpisodeId::new() },
        session: session.id,
        tenant: session.tenant.clone(),
        ordinal,
        attempt: 2,
        environment: session.environment.clone(),
        version: session.version,
        digest: session.digest.clone(),
        task: session.task.clone(),
        seed: session.seed,
        secrets: Secrets::fresh(),
        config: session.config.clone(),
        origin: Some(Origin { episode: EpisodeId::new(), seq: 0 }),
        salt: Some(u64::MAX - 1),
        run: session.run,
        group: session.group,
        state: EpisodeState::Running,
        seq: None,
        terminated: false,
        truncated: false,
        stop_reason: None,
        status: None,
        score: None,
        verdict: None,
        started_at: at(5),
        ended_at: None,
    }
}

/// A session with its first episode, as it is created.
pub(super) fn opened() -> (SessionRow, EpisodeRow) {
    let session = session();
    let episode = episode(&session, 1);
    (session, episode)
}

pub(super) fn opening(session: &SessionRow, episode: &EpisodeRow) -> [Record; 2] {
    [Record::Session(Box::new(session.clone())), Record::Episode(Box::new(episode.clone()))]
}

pub(super) fn step(episode: EpisodeId, seq: u64) -> StepRow {
    StepRow {
        episode,
        seq,
        action: Some(format!(r#"{{"text":"turn {seq}"}}"#)),
        answer: format!(r#"{{"seq":{seq}, "observation":{{"text":"seen"}}}}"#),
        meta: Some(r#"{ "tokens" : [1,2,3] }"#.to_owned()),
        reward: Some(0.25),
        terminated: seq == 3,
        truncated: false,
        interrupted: seq == 2,
        at: at(10),
    }
}

pub(super) fn recorded(step: StepRow) -> Record {
    Record::Step(Box::new(step))
}

pub(super) fn end(episode: EpisodeId, seq: u64) -> Record {
    Record::EpisodeEnd { episode, seq, terminated: true, truncated: false, reason: StopReason::Done, at: at(20) }
}

pub(super) fn verdict(session: &SessionRow, episode: EpisodeId, version: &str, score: Option<f64>) -> VerdictRow {
    let status = if score.is_some() { Status::Scored } else { Status::VerifierError };
    VerdictRow {
        tenant: session.tenant.to_string(),
        session: session.id,
        verdict: Verdict {
            episode,
            status,
            score,
            rescaled: None,
            strict: score.map(|_| 0),
            passed: false,
            trainable: true,
            checks: vec![Check {
                name: "reached".to_owned(),
                weight: 1.0,
                score: 0.5,
                passed: false,
                evidence: "NUL \0 and ünïcode".to_owned(),
            }],
            judge: Judge::State,
            verifier: VerifierName { name: "goals".to_owned(), version: version.to_owned() },
            state: Some("sha256:2".to_owned()),
            seq: 3,
            usage: Usage { steps: 3, calls: 1, env_ms: 2, judge_ms: 1, tokens: 0, cost: 0.0 },
            detail: None,
        },
        at: at(30),
    }
}

pub(super) fn judged(row: VerdictRow) -> Record {
    Record::Verdict(Box::new(row))
}

pub(super) fn snapshot(session: &SessionRow, name: Option<&str>) -> SnapshotRow {
    SnapshotRow {
        id: SnapshotId::new(),
        tenant: session.tenant.to_string(),
        session: session.id,
        name: name.map(str::to_owned),
        episode: session.episode,
        seq: 0,
        at: at(40),
        state: Some("sha256:5a".to_owned()),
    }
}

pub(super) fn answer(key: &str, milliseconds: i64) -> IdempotencyRow {
    IdempotencyRow {
        tenant: TENANT.to_owned(),
        operation: "create".to_owned(),
        key: key.to_owned(),
        request: "sha256:3".to_owned(),
        answer: r#"{"id":"ses_"}"#.to_owned(),
        at: at(milliseconds),
    }
}

pub(super) fn closed(session: SessionId, reason: CloseReason, milliseconds: i64) -> Record {
    Record::SessionClosed { session, reason, at: at(milliseconds) }
}
