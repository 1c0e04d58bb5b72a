//! Lifetimes: leases of runs, idle sessions, and the sweeps that end them.

use futures::FutureExt;
use palestra_protocol::id::RunId;
use palestra_protocol::run::{CreateRun, RunState};
use palestra_protocol::session::{CloseReason, CreateSession, RecordMode, SessionState, Verify};
use palestra_protocol::step::StopReason;
use palestra_protocol::verdict::Status;
use palestra_session::{Command, SessionError};
use serde_json::json;

use super::world::{IDLE_MS, World, count, counter, create, send, step};

#[tokio::test]
async fn an_expired_lease_closes_its_runs_sessions_as_invalid_and_nothing_else() {
    let mut world = World::open(None).await;
    let (run, kept) = (RunId::new(), RunId::new());
    for id in [run, kept] {
        let lease = CreateRun { id: Some(id), lease_ms: 10_000 };
        world.sessions.create_run(&world.tenant, lease).await.expect("a run");
    }
    let of = |run| CreateSession { run, ..counter(&json!({})) };
    let owned = create(&world, of(Some(run))).await;
    let judged = create(&world, of(Some(run))).await;
    let unrecorded = create(&world, CreateSession { record: Some(RecordMode::None), ..of(Some(run)) }).await;
    let others = [create(&world, of(Some(kept))).await.id, create(&world, of(None)).await.id];
    step(&world, owned.id, 1, "1").await.expect("a step");
    send(&world, Command::Verify { session: judged.id, request: Verify::default() }).await.expect("a verdict");
    world.clock.advance_ms(9_000);
    world.sessions.heartbeat(&world.tenant, kept).await.expect("renewed");
    world.clock.advance_ms(2_000);
    world.sessions.sweep().await.expect("a sweep");

    for id in [owned.id, unrecorded.id, judged.id] {
        let session = world.sessions.get(&world.tenant, id).await.expect("a session");
        assert_eq!((session.state, session.closed_reason), (SessionState::Closed, Some(CloseReason::RunEnded)));
        assert!(matches!(step(&world, id, 9, "1").await, Err(SessionError::Over(_))));
    }
    for id in [owned.episode, unrecorded.episode] {
        let episode = world.sessions.episode(&world.tenant, id).await.expect("an episode");
        assert_eq!(episode.stop_reason, Some(StopReason::LeaseExpired));
        assert_eq!(episode.verdict.map(|verdict| verdict.status), Some(Status::Invalid));
    }
    let episode = world.sessions.episode(&world.tenant, judged.episode).await.expect("an episode");
    assert_eq!(episode.verdict.map(|verdict| verdict.status), Some(Status::Scored));
    for id in others {
        step(&world, id, 1, "1").await.expect("the others go on");
    }
    assert_eq!(world.sessions.run_info(&world.tenant, run).await.expect("a run").state, RunState::Expired);
    let refused = send(&world, Command::Create { request: Box::new(of(Some(run))), key: None }).await;
    assert!(matches!(refused, Err(SessionError::RunOver(_))), "{refused:?}");

    // A server that was down does not count its absence against the run.
    world.clock.advance_ms(3_600_000);
    world.crash().await;
    world.sessions.sweep().await.expect("a sweep");
    assert_eq!(world.sessions.run_info(&world.tenant, kept).await.expect("a run").state, RunState::Active);
}

#[tokio::test]
async fn an_idle_session_leaves_memory_and_comes_back() {
    let world = World::open(None).await;
    let id = create(&world, counter(&json!({}))).await.id;
    let unrecorded = create(&world, CreateSession { record: Some(RecordMode::None), ..counter(&json!({})) }).await.id;
    step(&world, id, 1, "4").await.expect("a step");
    assert_eq!(world.sessions.live(), 2);
    world.clock.advance_ms(i64::try_from(IDLE_MS).expect("small") + 1);
    world.sessions.sweep().await.expect("a sweep");
    assert_eq!(world.sessions.live(), 0);
    step(&world, id, 2, "4").await.expect("it comes back");
    assert_eq!(count(&world, id).await, json!(8));
    // What cannot be read back is ended instead.
    assert!(matches!(step(&world, unrecorded, 1, "1").await, Err(SessionError::Over(CloseReason::Idle))));
}

#[tokio::test]
async fn a_session_that_sweeps_left_alone_is_parked_once_it_is_idle_and_not_before() {
    let world = World::open(None).await;
    let half = i64::try_from(IDLE_MS / 2).expect("small");
    let id = create(&world, counter(&json!({}))).await.id;
    world.sessions.sweep().await.expect("a sweep");
    world.clock.advance_ms(half);
    step(&world, id, 1, "1").await.expect("a step");
    world.clock.advance_ms(half + 1);
    world.sessions.sweep().await.expect("a sweep");
    assert_eq!(world.sessions.live(), 1, "it was touched");
    world.clock.advance_ms(half);
    world.sessions.sweep().await.expect("a sweep");
    assert_eq!(world.sessions.live(), 0);
}

#[tokio::test]
async fn nothing_outlives_its_time() {
    let world = World::open(None).await;
    let parked = create(&world, counter(&json!({}))).await;
    world.park().await;
    let live = create(&world, counter(&json!({}))).await;
    world.clock.advance_ms(86_400_000);
    world.sessions.sweep().await.expect("a sweep");
    assert_eq!(world.sessions.live(), 0);
    for opened in [parked, live] {
        let session = world.sessions.get(&world.tenant, opened.id).await.expect("a session");
        assert_eq!(session.closed_reason, Some(CloseReason::Expired));
    }
}

#[tokio::test]
async fn ending_a_run_does_not_depend_on_its_caller() {
    let world = World::open(None).await;
    for polls in 1..40 {
        let run = RunId::new();
        let lease = CreateRun { id: Some(run), lease_ms: 10_000 };
        world.sessions.create_run(&world.tenant, lease).await.expect("a run");
        let id = create(&world, CreateSession { run: Some(run), ..counter(&json!({})) }).await.id;
        {
            let mut leaving = Box::pin(world.sessions.delete_run(&world.tenant, run));
            for _ in 0..polls {
                let _ended = leaving.as_mut().now_or_never();
                if _ended.is_some() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        world.sessions.delete_run(&world.tenant, run).await.expect("ended");
        let refused = step(&world, id, 1, "1").await;
        assert!(matches!(refused, Err(SessionError::Over(CloseReason::RunEnded))), "after {polls} polls: {refused:?}");
    }
}

#[tokio::test]
async fn a_run_that_could_not_be_ended_is_ended_by_a_later_sweep() {
    let world = World::open(None).await;
    let run = RunId::new();
    let lease = CreateRun { id: Some(run), lease_ms: 10_000 };
    world.sessions.create_run(&world.tenant, lease).await.expect("a run");
    let parked = create(&world, CreateSession { run: Some(run), ..counter(&json!({})) }).await.id;
    let other = create(&world, counter(&json!({}))).await.id;
    world.clock.advance_ms(i64::try_from(IDLE_MS).expect("small") + 1);
    world.sql("CREATE TRIGGER full BEFORE UPDATE ON episodes BEGIN SELECT RAISE(ABORT, 'disk full'); END").await;
    world.sessions.sweep().await.expect("a sweep");
    // The failure kept nothing else from being reaped.
    assert_eq!(world.sessions.live(), 0, "{other} is idle");
    world.sql("DROP TRIGGER full").await;
    let refused = world.sessions.heartbeat(&world.tenant, run).await;
    assert!(matches!(refused, Err(SessionError::RunOver(_))), "{refused:?}");
    world.sessions.sweep().await.expect("a sweep");
    assert_eq!(world.sessions.run_info(&world.tenant, run).await.expect("a run").state, RunState::Expired);
    let session = world.sessions.get(&world.tenant, parked).await.expect("a session");
    assert_eq!(session.closed_reason, Some(CloseReason::RunEnded));
}
