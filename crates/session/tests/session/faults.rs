//! Faults: refused commits, panics, crashes, and sessions that cannot be read back.

use std::sync::Arc;

use palestra_protocol::id::SessionId;
use palestra_protocol::session::{CreateSession, Created, Fork, RecordMode, Reset, TaskChoice, Verify};
use palestra_protocol::step::{Finish, FinishReason, Step, StopReason};
use palestra_protocol::verdict::Status;
use palestra_session::{Answer, Command, SessionError};
use serde_json::json;

use super::world::{World, count, counter, create, send, step, step_of};

#[tokio::test]
async fn a_refused_commit_is_reported_and_the_session_goes_on_from_the_record() {
    let world = World::open(None).await;
    let id = create(&world, counter(&json!({}))).await.id;
    step(&world, id, 1, "5").await.expect("a step");
    world.sql("CREATE TRIGGER full BEFORE INSERT ON steps BEGIN SELECT RAISE(ABORT, 'disk full'); END").await;
    assert!(matches!(step(&world, id, 2, "7").await, Err(SessionError::NotRecorded)));
    assert!(matches!(step(&world, id, 2, "7").await, Err(SessionError::NotRecorded)));
    assert_eq!(count(&world, id).await, json!(5));
    world.sql("DROP TRIGGER full").await;
    step(&world, id, 2, "7").await.expect("a step");
    assert_eq!(count(&world, id).await, json!(12));
}

#[tokio::test]
async fn a_session_whose_record_was_refused_leaves_memory_with_the_next_sweep() {
    let world = World::open(None).await;
    let id = create(&world, counter(&json!({}))).await.id;
    let other = create(&world, counter(&json!({}))).await.id;
    world.sessions.sweep().await.expect("a sweep");
    world.sql("CREATE TRIGGER full BEFORE INSERT ON steps BEGIN SELECT RAISE(ABORT, 'disk full'); END").await;
    assert!(matches!(step(&world, id, 1, "1").await, Err(SessionError::NotRecorded)));
    world.sql("DROP TRIGGER full").await;
    assert_eq!(world.sessions.live(), 2);
    world.sessions.sweep().await.expect("a sweep");
    assert_eq!(world.sessions.live(), 1);
    for session in [id, other] {
        step(&world, session, 1, "1").await.expect("a step");
    }
}

#[tokio::test]
async fn a_refused_creation_can_be_sent_again() {
    let world = World::open(None).await;
    let request = || CreateSession { id: Some(SessionId::new()), ..counter(&json!({})) };
    let refused = request();
    let again = || Command::Create { request: Box::new(refused.clone()), key: Some("k".to_owned()) };
    world.sql("CREATE TRIGGER full BEFORE INSERT ON sessions BEGIN SELECT RAISE(ABORT, 'disk full'); END").await;
    assert!(matches!(send(&world, again()).await, Err(SessionError::NotRecorded)));
    world.sql("DROP TRIGGER full").await;
    let created = send(&world, again()).await;
    assert!(matches!(created, Ok(Answer::Created(Created::One(_)))), "{created:?}");
    step(&world, refused.id.expect("an id"), 1, "1").await.expect("it steps");
}

#[tokio::test]
async fn a_fork_of_steps_that_were_refused_is_refused() {
    let world = World::open(None).await;
    let id = create(&world, counter(&json!({}))).await.id;
    world.sql("CREATE TRIGGER full BEFORE INSERT ON steps BEGIN SELECT RAISE(ABORT, 'disk full'); END").await;
    let fork = Command::Fork { session: id, request: Fork::default(), key: None };
    let (stepped, forked) = tokio::join!(step(&world, id, 1, "1"), send(&world, fork));
    assert!(matches!(stepped, Err(SessionError::NotRecorded)), "{stepped:?}");
    assert!(matches!(forked, Err(SessionError::NotRecorded)), "{forked:?}");
}

#[tokio::test]
async fn a_panic_ends_its_session_alone_and_is_no_sample() {
    let world = World::open(None).await;
    let doomed = create(&world, counter(&json!({"panic_at": 3}))).await.id;
    let other = create(&world, counter(&json!({}))).await.id;
    step(&world, doomed, 1, "2").await.expect("a step");
    let last = step(&world, doomed, 2, "1").await.expect("an answer");
    assert_eq!((last.truncated, last.terminated, last.stop_reason), (true, false, Some(StopReason::InfraError)));
    let verdict = last.verdict.expect("a verdict");
    assert_eq!((verdict.status, verdict.score, verdict.trainable), (Status::InfraError, None, false));
    assert!(matches!(step(&world, doomed, 3, "1").await, Err(SessionError::EpisodeOver)));
    step(&world, other, 1, "1").await.expect("the other session goes on");
    let reset = send(&world, Command::Reset { session: doomed, request: Reset::default(), key: None }).await;
    assert!(matches!(reset, Ok(Answer::Opened(_))), "{reset:?}");
    step(&world, doomed, 1, "1").await.expect("a new episode is healthy");
}

#[tokio::test]
async fn an_unrecorded_session_is_lost_with_the_server_and_says_so() {
    let mut world = World::open(None).await;
    let id = create(&world, CreateSession { record: Some(RecordMode::None), ..counter(&json!({})) }).await.id;
    let first = step(&world, id, 1, "1").await.expect("a step");
    assert_eq!(step(&world, id, 1, "1").await.expect("the same"), first);
    assert_eq!(first.durable_seq, 0);
    let fork = Fork { at_seq: Some(0), ..Fork::default() };
    send(&world, Command::Fork { session: id, request: fork, key: None }).await.expect("a fork from memory");
    world.crash().await;
    assert!(matches!(step(&world, id, 2, "1").await, Err(SessionError::Lost)));
    assert!(matches!(step(&world, id, 2, "1").await, Err(SessionError::Lost)));
}

#[tokio::test]
async fn no_step_of_an_unrecorded_session_is_called_durable_also_once_it_is_closed() {
    let world = World::open(None).await;
    let id = create(&world, CreateSession { record: Some(RecordMode::None), ..counter(&json!({})) }).await.id;
    step(&world, id, 1, "1").await.expect("a step");
    let open = world.sessions.get(&world.tenant, id).await.expect("a session");
    send(&world, Command::Close { session: id }).await.expect("it closes");
    let closed = world.sessions.get(&world.tenant, id).await.expect("a session");
    for session in [open, closed] {
        assert_eq!((session.seq, session.durable_seq), (Some(1), Some(0)), "{session:?}");
    }
}

#[tokio::test]
async fn the_episode_of_a_lost_session_is_over() {
    let mut world = World::open(None).await;
    let opened = create(&world, CreateSession { record: Some(RecordMode::None), ..counter(&json!({})) }).await;
    world.crash().await;
    assert!(matches!(step(&world, opened.id, 1, "1").await, Err(SessionError::Lost)));
    let episode = world.sessions.episode(&world.tenant, opened.episode).await.expect("an episode");
    assert_eq!((episode.truncated, episode.stop_reason), (true, Some(StopReason::InfraError)));
}

#[tokio::test]
async fn a_step_with_an_outside_effect_is_never_run_twice() {
    let mut world = World::open(None).await;
    let request: CreateSession = serde_json::from_value(json!({"environment": "bench/effect"})).expect("a creation");
    let opened = create(&world, request).await;
    step(&world, opened.id, 1, "a").await.expect("a step");
    // The intent of a step whose result was never recorded.
    let log = world.data.path().join("effects").join(format!("{}.log", opened.episode));
    world.sql("CREATE TRIGGER full BEFORE INSERT ON steps BEGIN SELECT RAISE(ABORT, 'disk full'); END").await;
    assert!(matches!(step(&world, opened.id, 2, "b").await, Err(SessionError::NotRecorded)));
    world.sql("DROP TRIGGER full").await;
    world.crash().await;
    let again = step(&world, opened.id, 2, "b").await.expect("an answer");
    assert!(again.info.interrupted);
    let lines = || std::fs::read_to_string(&log).expect("the log").lines().count();
    assert_eq!(lines(), 2);
    step(&world, opened.id, 3, "c").await.expect("the session goes on");
    assert_eq!(lines(), 3);
}

#[tokio::test]
async fn an_ended_episode_is_judged_by_its_files_after_a_restart() {
    let mut world = World::open(None).await;
    let mut request: CreateSession = serde_json::from_value(json!({
        "environment": "bench/effect", "verify": "manual", "limits": {"calls": 5}
    }))
    .expect("a creation");
    request.task = Some(TaskChoice { index: Some(0), ..TaskChoice::default() });
    let id = create(&world, request).await.id;
    let action = serde_json::from_value(json!({"tool": "write", "arguments": {"line": "a"}})).expect("an action");
    let call = Step { seq: Some(1), action, episode: None, observe: None, meta: None };
    send(&world, Command::Step { session: id, step: Box::new(call) }).await.expect("a step");
    world.crash().await;
    step(&world, id, 2, "b").await.expect("a step");
    let session = world.sessions.get(&world.tenant, id).await.expect("a session");
    assert_eq!(session.limits_left.and_then(|left| left.calls), Some(4));
    let request = Finish { reason: FinishReason::GaveUp, detail: None, episode: None };
    send(&world, Command::Finish { session: id, request }).await.expect("finished");
    world.crash().await;
    let Ok(Answer::Verdict(verdict)) = send(&world, Command::Verify { session: id, request: Verify::default() }).await
    else {
        panic!("a verdict")
    };
    assert_eq!((verdict.status, verdict.usage.calls), (Status::Scored, 1));
}

#[tokio::test]
async fn a_drained_engine_refuses_new_commands() {
    let world = World::open(None).await;
    let id = create(&world, counter(&json!({}))).await.id;
    world.sessions.drain().await;
    assert!(matches!(step(&world, id, 1, "1").await, Err(SessionError::Draining)));
}

#[tokio::test]
async fn another_tenant_finds_nothing() {
    let world = World::open(None).await;
    let id = create(&world, counter(&json!({}))).await.id;
    let stranger: palestra_store::Tenant = Arc::from("stranger");
    for command in [
        step_of(id, Some(1), "1"),
        Command::Verify { session: id, request: Verify::default() },
        Command::Fork { session: id, request: Fork::default(), key: None },
        Command::Close { session: id },
    ] {
        let refused = world.sessions.run(&stranger, command).await;
        assert!(matches!(refused, Err(SessionError::NotFound(_))), "{refused:?}");
    }
    assert!(world.sessions.get(&stranger, id).await.is_err());
    assert!(world.sessions.state(&stranger, id, "").await.is_err());
    step(&world, id, 1, "1").await.expect("its owner goes on");
}
