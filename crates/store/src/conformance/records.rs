//! Records of sessions, and the rows that a commit makes of them.

use std::sync::Arc;

use palestra_protocol::episode::EpisodeState;
use palestra_protocol::id::EpisodeId;
use palestra_protocol::observation::Observation;
use palestra_protocol::session::{CloseReason, RecordMode, SessionState, VerifyMode};
use palestra_protocol::step::StopReason;
use palestra_protocol::verdict::Status;
use palestra_state::secrets::Secrets;
use serde_json::json;

use super::super::row::{BlobRow, EpisodeRow, Record, SessionRow};
use super::super::{Durability, StoreError};
use super::Fixture;
use super::sample::{
    TENANT, answer, at, closed, end, episode, judged, opened, opening, recorded, session, snapshot, step, verdict,
};

pub(super) async fn every_record_round_trips(fixture: &mut Fixture) {
    let (session, episode) = opened();
    let steps = [1, 2, 3].map(|seq| step(episode.id, seq));
    let scored = verdict(&session, episode.id, "sha256:a", Some(0.5));
    let named = snapshot(&session, Some("before"));
    let state = json!({"board": [1, 2, {"x": "\u{0}"}]});
    let mut records = opening(&session, &episode).to_vec();
    records.extend(steps.iter().cloned().map(recorded));
    let picture = BlobRow {
        episode: episode.id,
        digest: "sha256:9".to_owned(),
        media_type: "image/png".to_owned(),
        bytes: vec![0, 255, 7].into(),
    };
    let first = Observation {
        content: vec![json!({"type": "image", "blob": picture.digest})],
        ..Observation::text("a page with \u{0}")
    };
    records.extend([
        Record::Blob(picture.clone()),
        Record::Blob(picture.clone()),
        Record::Opening { episode: episode.id, observation: Box::new(first.clone()) },
        Record::Opening { episode: episode.id, observation: Box::new(first.clone()) },
        end(episode.id, 3),
        Record::State { digest: "sha256:2".to_owned(), state: state.clone() },
        Record::State { digest: "sha256:2".to_owned(), state: state.clone() },
        judged(scored.clone()),
        Record::Snapshot(Box::new(named.clone())),
        Record::Answer(Box::new(answer("key", 0))),
        closed(session.id, CloseReason::Deleted, 50),
    ]);
    fixture.commit(&records).await.expect("everything fits");

    let store = &fixture.store;
    let stored = store.session(TENANT, session.id).await.expect("a session").expect("it is there");
    let expected = SessionRow {
        state: SessionState::Closed,
        closed_reason: Some(CloseReason::Deleted),
        closed_at: Some(at(50)),
        ..session.clone()
    };
    assert_eq!(stored, expected);
    let stored = store.episode(TENANT, episode.id).await.expect("an episode").expect("it is there");
    let expected = EpisodeRow {
        state: EpisodeState::Ended,
        seq: Some(3),
        terminated: true,
        stop_reason: Some(StopReason::Done),
        status: Some(Status::Scored),
        score: Some(0.5),
        verdict: Some(Box::new(scored.verdict.clone())),
        ended_at: Some(at(20)),
        ..episode.clone()
    };
    assert_eq!(stored, expected);
    assert_eq!(store.steps(episode.id, 0, u64::MAX, 100).await.expect("steps"), steps);
    assert_eq!(store.blob(episode.id, "sha256:9").await.expect("a query"), Some(picture));
    assert_eq!(store.blob(episode.id, "sha256:8").await.expect("a query"), None);
    assert_eq!(store.opening(episode.id).await.expect("a query"), Some(first));
    assert_eq!(store.opening(EpisodeId::new()).await.expect("a query"), None);
    assert_eq!(store.last_step(episode.id).await.expect("a step"), steps.last().cloned());
    assert_eq!(store.verdicts(episode.id).await.expect("verdicts"), [scored]);
    assert_eq!(store.state("sha256:2").await.expect("a state"), Some(state));
    assert_eq!(store.snapshot(TENANT, named.id).await.expect("a snapshot"), Some(named));
    assert_eq!(store.answer(TENANT, "create", "key").await.expect("an answer"), Some(answer("key", 0)));
}

pub(super) async fn episodes_keep_their_key_or_follow_from_their_seed(fixture: &mut Fixture) {
    let (session, keyed) = opened();
    let older = EpisodeRow { secrets: Secrets::Seed(9), seed: 9, ..episode(&session, 2) };
    fixture.commit(&opening(&session, &keyed)).await.expect("it is new");
    fixture.commit(&[Record::Episode(Box::new(older.clone()))]).await.expect("it is new");
    fixture.reopen().await;
    for expected in [&keyed, &older] {
        let stored = fixture.store.episode(TENANT, expected.id).await.expect("an episode").expect("it is there");
        assert_eq!(stored.secrets, expected.secrets);
    }
    assert!(matches!(keyed.secrets, Secrets::Key(_)), "what begins now has a key");
}

pub(super) async fn a_failing_commit_leaves_nothing(fixture: &mut Fixture) {
    let (first, first_episode) = opened();
    let (second, second_episode) = opened();
    fixture.commit(&opening(&first, &first_episode)).await.expect("it is new");
    fixture.commit(&[recorded(step(first_episode.id, 1))]).await.expect("it is new");
    let fine = opening(&second, &second_episode);
    let taken = [recorded(step(first_episode.id, 2)), recorded(step(first_episode.id, 1))];
    let failed = fixture.store.commit(&fixture.node, &[fine.to_vec(), taken.to_vec()].into(), Durability::Disk).await;
    assert!(matches!(failed, Err(StoreError::Exists("step"))), "{failed:?}");
    assert_eq!(fixture.store.session(TENANT, second.id).await.expect("a query"), None);
    assert_eq!(fixture.store.episode(TENANT, second_episode.id).await.expect("a query"), None);
    assert_eq!(fixture.store.steps(first_episode.id, 1, 9, 9).await.expect("steps").len(), 1);
    // The connection is usable, and what failed can be done without its fault.
    fixture.commit(&fine).await.expect("nothing of it is there");
    fixture.commit(&taken[..1]).await.expect("nothing of it is there");
}

pub(super) async fn taken_identities_are_named(fixture: &mut Fixture) {
    let (session, first) = opened();
    let records = opening(&session, &first);
    fixture.commit(&records).await.expect("they are new");
    let again = fixture.commit(&records[..1]).await;
    assert!(matches!(again, Err(StoreError::Exists("session"))), "{again:?}");
    let again = fixture.commit(&records[1..]).await;
    assert!(matches!(again, Err(StoreError::Exists("episode"))), "{again:?}");
    let same_ordinal = EpisodeRow { id: episode(&session, 2).id, ..first };
    let again = fixture.commit(&[Record::Episode(Box::new(same_ordinal))]).await;
    assert!(matches!(again, Err(StoreError::Exists("episode"))), "{again:?}");
    let named = Record::Snapshot(Box::new(snapshot(&session, None)));
    let again = fixture.commit(&[named.clone(), named]).await;
    assert!(matches!(again, Err(StoreError::Exists("snapshot"))), "{again:?}");
    let answered = Record::Answer(Box::new(answer("key", 0)));
    fixture.commit(std::slice::from_ref(&answered)).await.expect("it is new");
    let again = fixture.commit(&[answered]).await;
    assert!(matches!(again, Err(StoreError::Exists("answer"))), "{again:?}");
}

pub(super) async fn an_episode_moves_its_session(fixture: &mut Fixture) {
    let (session, first) = opened();
    let second = EpisodeRow { task: "train-8".into(), seed: 9, ..episode(&session, 2) };
    let third = EpisodeRow { task: "train-9".into(), seed: 10, ..episode(&session, 3) };
    fixture.commit(&opening(&session, &first)).await.expect("they are new");
    // Two resets in one commit: the later one counts.
    let resets = [second, third.clone()].map(|row| Record::Episode(Box::new(row)));
    fixture.commit(&resets).await.expect("they are new");
    let stored = fixture.store.session(TENANT, session.id).await.expect("a session").expect("it is there");
    let expected = SessionRow { episode: third.id, task: third.task, seed: third.seed, episodes: 3, ..session };
    assert_eq!(stored, expected);
}

pub(super) async fn an_intent_is_open_until_its_step(fixture: &mut Fixture) {
    let (session, episode) = opened();
    fixture.commit(&opening(&session, &episode)).await.expect("they are new");
    let intent = |seq: u64| Record::Intent {
        episode: episode.id,
        seq,
        action: format!(r#"{{"text":"\u0000{seq}"}}"#),
        at: at(1),
    };
    assert_eq!(fixture.store.open_intent(episode.id).await.expect("a query"), None);
    fixture.commit(&[intent(1)]).await.expect("it is new");
    let open = fixture.store.open_intent(episode.id).await.expect("a query");
    assert_eq!(open, Some((1, r#"{"text":"\u00001"}"#.to_owned())));
    let taken = |seq: u64| [recorded(step(episode.id, seq)), Record::IntentSettled { episode: episode.id, seq }];
    fixture.commit(&[taken(1).as_slice(), &[intent(2)], &taken(2)].concat()).await.expect("new");
    assert_eq!(fixture.store.open_intent(episode.id).await.expect("a query"), None);
    // A step settles its own intent alone.
    fixture.commit(&[&[intent(4)], taken(3).as_slice()].concat()).await.expect("new");
    assert_eq!(fixture.store.open_intent(episode.id).await.expect("a query").map(|open| open.0), Some(4));
}

pub(super) async fn the_first_verdict_is_the_episodes(fixture: &mut Fixture) {
    let (session, episode) = opened();
    fixture.commit(&opening(&session, &episode)).await.expect("they are new");
    let first = verdict(&session, episode.id, "sha256:a", Some(0.25));
    let second = verdict(&session, episode.id, "sha256:b", None);
    let mut repeated = first.clone();
    repeated.verdict.score = Some(1.0);
    let records = [first.clone(), second.clone(), repeated.clone()].map(judged);
    fixture.commit(&records).await.expect("verdicts never collide");
    fixture.commit(&[judged(repeated), judged(second.clone())]).await.expect("verdicts never collide");
    let stored = fixture.store.episode(TENANT, episode.id).await.expect("an episode").expect("it is there");
    assert_eq!((stored.status, stored.score), (Some(Status::Scored), Some(0.25)));
    assert_eq!(stored.verdict.as_deref(), Some(&first.verdict));
    assert_eq!(fixture.store.verdicts(episode.id).await.expect("verdicts"), [first, second]);
}

pub(super) async fn a_session_closes_once(fixture: &mut Fixture) {
    let (session, episode) = opened();
    fixture.commit(&opening(&session, &episode)).await.expect("they are new");
    let closings = [closed(session.id, CloseReason::Idle, 1), closed(session.id, CloseReason::Deleted, 2)];
    fixture.commit(&closings).await.expect("closing twice is no error");
    fixture.commit(&[closed(session.id, CloseReason::Lost, 3)]).await.expect("closing thrice is no error");
    let stored = fixture.store.session(TENANT, session.id).await.expect("a session").expect("it is there");
    assert_eq!((stored.closed_reason, stored.closed_at), (Some(CloseReason::Idle), Some(at(1))));
}

pub(super) async fn unusual_text_round_trips(fixture: &mut Fixture) {
    let strange = "quotes \" ' ; -- \\ \u{1F9EA} \u{202E} \r\n\t $1 ?1 {}";
    let mut session = session();
    session.metadata = Arc::new(json!({"NUL \u{0}": strange, "deep": [[[{"\u{7f}": "\u{0}"}]]]}));
    Arc::make_mut(&mut session.config).insert(strange.to_owned(), json!("\u{0}"));
    session.task = strange.into();
    let episode = episode(&session, 1);
    let mut step = step(episode.id, 1);
    step.action = Some(serde_json::to_string(&json!({"text": format!("\u{0}{strange}")})).expect("JSON"));
    step.answer = serde_json::to_string(&json!({"observation": {"text": strange}})).expect("JSON");
    step.meta = Some(" { \"spaces\" : \"are kept\\u0000\" } ".to_owned());
    let named = snapshot(&session, Some("a\0b"));
    let mut records = opening(&session, &episode).to_vec();
    records.extend([recorded(step.clone()), Record::Snapshot(Box::new(named.clone()))]);
    fixture.commit(&records).await.expect("all text can be stored");
    let store = &fixture.store;
    assert_eq!(store.session(TENANT, session.id).await.expect("a session"), Some(session));
    assert_eq!(store.last_step(episode.id).await.expect("a step"), Some(step));
    // PostgreSQL cannot store a bare NUL; both engines replace it.
    let stored = store.snapshot(TENANT, named.id).await.expect("a snapshot").expect("it is there");
    assert_eq!(stored.name.as_deref(), Some("a\u{fffd}b"));
    assert_eq!(store.session("tenant\0", named.session).await.expect("a query"), None);
}

pub(super) async fn numbers_beyond_a_column_are_refused(fixture: &mut Fixture) {
    let (mut session, episode) = opened();
    session.seed = u64::MAX;
    let refused = fixture.commit(&opening(&session, &episode)).await;
    assert!(matches!(refused, Err(StoreError::Broken(_))), "{refused:?}");
    assert_eq!(fixture.store.session(TENANT, session.id).await.expect("a query"), None);
    let refused = fixture.commit(&[recorded(step(episode.id, 0))]).await;
    assert!(matches!(refused, Err(StoreError::Engine(_))), "a step is numbered from 1: {refused:?}");
}

pub(super) async fn reals_keep_every_bit(fixture: &mut Fixture) {
    let (session, episode) = opened();
    fixture.commit(&opening(&session, &episode)).await.expect("they are new");
    let rewards = [Some(0.1 + 0.2), Some(-2.5), Some(1e-300), Some(f64::MAX), Some(1.0), None, Some(f64::NAN)];
    let steps = (1..).zip(rewards).map(|(seq, reward)| {
        let mut row = step(episode.id, seq);
        row.reward = reward;
        recorded(row)
    });
    fixture.commit(&steps.collect::<Vec<_>>()).await.expect("they are new");
    let stored = fixture.store.steps(episode.id, 1, 99, 99).await.expect("steps");
    let bits = |reward: Option<f64>| reward.filter(|reward| reward.is_finite()).map(f64::to_bits);
    let stored: Vec<_> = stored.iter().map(|step| bits(step.reward)).collect();
    assert_eq!(stored, rewards.map(bits));
    // These lose their last bit in a JSON reader that rounds for speed.
    let scores = [0.1 + 0.2, 0.846_669_435_119_049_6, 0.306_019_757_365_166_9, 1.0 / 3.0];
    for (place, score) in scores.into_iter().enumerate() {
        let mut row = verdict(&session, episode.id, &format!("sha256:{place}"), Some(score));
        row.verdict.usage.cost = score / 7.0;
        fixture.commit(&[judged(row.clone())]).await.expect("it is new");
        assert!(fixture.store.verdicts(episode.id).await.expect("verdicts").contains(&row), "{score}");
    }
}

pub(super) async fn thousands_of_steps_commit_at_once(fixture: &mut Fixture) {
    const EPISODES: usize = 50;
    const STEPS: u64 = 101;
    let opened: Vec<_> = (0..EPISODES).map(|_| opened()).collect();
    let opening: Vec<_> = opened.iter().flat_map(|(session, episode)| opening(session, episode)).collect();
    fixture.commit(&opening).await.expect("they are new");
    let groups =
        opened.iter().map(|(_, episode)| (1..=STEPS).map(|seq| recorded(step(episode.id, seq))).collect()).collect();
    let began = std::time::Instant::now();
    fixture.store.commit(&fixture.node, &groups, Durability::Disk).await.expect("they are new");
    eprintln!("{} steps in {:?}", STEPS * EPISODES as u64, began.elapsed());
    for (_, episode) in &opened {
        let stored = fixture.store.steps(episode.id, 1, u64::MAX, 1_000).await.expect("steps");
        assert_eq!(stored, (1..=STEPS).map(|seq| step(episode.id, seq)).collect::<Vec<_>>());
    }
}

/// A value that a CHECK in a migration forgets would make the commits of all sessions fail.
pub(super) async fn every_enum_value_is_stored(fixture: &mut Fixture) {
    use CloseReason::{Deleted, Expired, Idle, Lost, RunEnded};
    let reasons = [
        StopReason::Done,
        StopReason::MaxSteps,
        StopReason::MaxCalls,
        StopReason::WallLimit,
        StopReason::MaxTokens,
        StopReason::MaxTurns,
        StopReason::GaveUp,
        StopReason::Aborted,
        StopReason::Verified,
        StopReason::Left,
        StopReason::InfraError,
        StopReason::LeaseExpired,
        StopReason::Expired,
    ];
    let statuses = [Status::Timeout, Status::InfraError, Status::VerifierError, Status::Invalid, Status::Scored];
    let closings = [Deleted, Expired, Idle, RunEnded, Lost];
    let records = [RecordMode::Group, RecordMode::Sync, RecordMode::None];
    let verifies = [VerifyMode::OnEnd, VerifyMode::Manual];
    for (place, reason) in reasons.into_iter().enumerate() {
        let mut session = session();
        session.record = records[place % records.len()];
        session.verify = verifies[place % verifies.len()];
        let first = episode(&session, 1);
        let mut row = verdict(&session, first.id, "sha256:a", None);
        row.verdict.status = statuses[place % statuses.len()];
        let mut records = opening(&session, &first).to_vec();
        records.push(judged(row));
        records.push(Record::EpisodeEnd {
            episode: first.id,
            seq: 0,
            terminated: false,
            truncated: true,
            reason,
            at: at(1),
        });
        records.push(closed(session.id, closings[place % closings.len()], 2));
        fixture.commit(&records).await.expect("every value is stored");
        let stored = fixture.store.episode(TENANT, first.id).await.expect("an episode").expect("it is there");
        assert_eq!(stored.stop_reason, Some(reason));
        let stored = fixture.store.session(TENANT, session.id).await.expect("a session").expect("it is there");
        assert_eq!((stored.record, stored.verify), (session.record, session.verify));
    }
}
