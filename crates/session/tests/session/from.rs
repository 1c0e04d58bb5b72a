//! Creation from a stored point: what fails in between, what holds of the new session, and how it comes back.

use std::sync::Arc;

use futures::FutureExt;
use palestra_protocol::action::Action;
use palestra_protocol::environment::Limits;
use palestra_protocol::id::{EpisodeId, SessionId};
use palestra_protocol::run::CreateRun;
use palestra_protocol::session::{
    CloseReason, CreateSession, Created, Fork, Opened, Randomness, RecordMode, StartPoint,
};
use palestra_protocol::step::{Step, Stepped, StopReason};
use palestra_session::{Answer, Command, SessionError};
use palestra_store::row::{PageRequest, SessionFilter};
use serde_json::{Value, json};

use super::world::{World, send};

async fn create(world: &World, request: CreateSession) -> Result<Vec<Opened>, SessionError> {
    created(send(world, Command::Create { request: Box::new(request), key: None }).await)
}

fn created(answer: Result<Answer, SessionError>) -> Result<Vec<Opened>, SessionError> {
    match answer? {
        Answer::Created(Created::One(opened)) => Ok(vec![*opened]),
        Answer::Created(Created::Many(list)) => Ok(list.data),
        other => panic!("a creation answered {other:?}"),
    }
}

/// A counter whose draws show its randomness.
fn counter() -> CreateSession {
    let config = json!({"draws": true}).as_object().expect("an object").clone();
    CreateSession { environment: "bench/counter".to_owned(), seed: Some(5), config, ..CreateSession::default() }
}

fn at(episode: EpisodeId, seq: u64) -> CreateSession {
    CreateSession { from: Some(StartPoint::episode(episode, seq)), ..CreateSession::default() }
}

async fn open(world: &World, request: CreateSession) -> Opened {
    create(world, request).await.expect("a session").remove(0)
}

async fn add(world: &World, session: SessionId, seq: u64, amount: i64) -> Stepped {
    let arguments = json!({"amount": amount}).as_object().expect("an object").clone();
    let action = Action::Tool { tool: "add".to_owned(), arguments };
    let step = Box::new(Step { seq: Some(seq), action, episode: None, observe: None, meta: None });
    match send(world, Command::Step { session, step }).await {
        Ok(Answer::Stepped(stepped)) => Stepped::clone(&stepped),
        other => panic!("a step answered {other:?}"),
    }
}

async fn state(world: &World, session: SessionId) -> Value {
    world.sessions.state(&world.tenant, session, "").await.expect("a state").state
}

async fn how_many(world: &World) -> usize {
    let all = PageRequest { before: None, limit: 100 };
    world.sessions.list(&world.tenant, &SessionFilter::default(), &all).await.expect("a list").len()
}

/// A session with three steps that add 1, 2 and 3.
async fn origin(world: &World) -> Opened {
    let opened = open(world, counter()).await;
    for seq in 1..=3 {
        add(world, opened.id, seq, i64::try_from(seq).expect("small")).await;
    }
    opened
}

#[tokio::test]
async fn a_refused_commit_leaves_nothing_and_the_same_key_opens_later() {
    let mut world = World::open(None).await;
    let origin = origin(&world).await;
    let request = || Box::new(CreateSession { count: Some(2), ..at(origin.episode, 2) });
    let creation = || Command::Create { request: request(), key: Some("k".to_owned()) };
    world.sql("CREATE TRIGGER full BEFORE INSERT ON episodes BEGIN SELECT RAISE(ABORT, 'disk full'); END").await;
    assert!(matches!(send(&world, creation()).await, Err(SessionError::NotRecorded)));
    assert_eq!(how_many(&world).await, 1);
    world.sql("DROP TRIGGER full").await;
    let opened = created(send(&world, creation()).await).expect("sessions");
    assert_eq!((how_many(&world).await, opened.len()), (3, 2));
    world.crash().await;
    assert_eq!(created(send(&world, creation()).await).expect("the same answer")[0].id, opened[0].id);
    assert_eq!((how_many(&world).await, state(&world, opened[1].id).await["count"].clone()), (3, json!(3)));
}

#[tokio::test]
async fn a_caller_that_leaves_at_any_moment_leaves_whole_sessions_or_none() {
    for polls in 0..6 {
        let mut world = World::open(None).await;
        let origin = origin(&world).await;
        let request = Box::new(CreateSession { count: Some(3), ..at(origin.episode, 2) });
        {
            let mut left = Box::pin(send(&world, Command::Create { request, key: Some("k".to_owned()) }));
            for _ in 0..polls {
                if left.as_mut().now_or_never().is_some() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        world.crash().await;
        let there = how_many(&world).await;
        assert!(there == 1 || there == 4, "{there} sessions after {polls} polls");
        let request = Box::new(CreateSession { count: Some(3), ..at(origin.episode, 2) });
        let again = send(&world, Command::Create { request, key: Some("k".to_owned()) }).await;
        for opened in created(again).expect("sessions") {
            assert_eq!(state(&world, opened.id).await["count"], json!(3));
        }
        assert_eq!(how_many(&world).await, 4, "{polls} polls");
    }
}

#[tokio::test]
async fn limits_are_those_of_the_origin_or_the_requests_own_and_count_what_is_behind_the_point() {
    let mut world = World::open(None).await;
    let limits = |steps, calls| Some(Limits { steps, calls, ..Limits::default() });
    let origin = open(&world, CreateSession { limits: limits(Some(3), None), ..counter() }).await;
    add(&world, origin.id, 1, 1).await;
    add(&world, origin.id, 2, 2).await;
    assert_eq!(add(&world, origin.id, 3, 3).await.stop_reason, Some(StopReason::MaxSteps));
    let same = open(&world, at(origin.episode, 2)).await;
    assert_eq!(same.limits.steps, Some(1));
    assert_eq!(add(&world, same.id, 3, 3).await.stop_reason, Some(StopReason::MaxSteps));
    let wider = open(&world, CreateSession { limits: limits(Some(5), Some(4)), ..at(origin.episode, 2) }).await;
    assert_eq!((wider.limits.steps, wider.limits.calls), (Some(3), Some(2)));
    add(&world, wider.id, 3, 3).await;
    // Limits of calls that differ from the origin's change nothing of what is replayed.
    world.crash().await;
    assert_eq!(state(&world, wider.id).await["count"], json!(6));
    assert_eq!(add(&world, wider.id, 4, 4).await.stop_reason, Some(StopReason::MaxCalls));
    for (request, field) in [(limits(Some(2), None), "limits.steps"), (limits(None, Some(2)), "limits.calls")] {
        let refused = create(&world, CreateSession { limits: request, ..at(origin.episode, 2) }).await;
        let Err(SessionError::Invalid(faults)) = refused else { panic!("{refused:?}") };
        assert_eq!(faults[0].field.as_deref(), Some(field));
    }
    // A limit that has passed ended the episode with its step; the wall time of a new session begins anew.
    let refused = create(&world, at(origin.episode, 3)).await;
    assert!(matches!(refused, Err(SessionError::Invalid(_))), "{refused:?}");
    let timed = Some(Limits { wall_ms: Some(1_000), ..Limits::default() });
    let slow = open(&world, CreateSession { limits: timed, ..counter() }).await;
    add(&world, slow.id, 1, 1).await;
    world.clock.advance_ms(10_000);
    assert_eq!(add(&world, slow.id, 2, 1).await.stop_reason, Some(StopReason::WallLimit));
    let anew = open(&world, at(slow.episode, 1)).await;
    assert_eq!(add(&world, anew.id, 2, 1).await.stop_reason, None);
}

#[tokio::test]
async fn forks_with_randomness_of_their_own_go_on_with_it() {
    let mut world = World::open(None).await;
    let origin = origin(&world).await;
    let request = Fork { count: Some(2), at_seq: Some(2), randomness: Some(Randomness::Split), allow_inexact: None };
    let Ok(Answer::Forked(forks)) = send(&world, Command::Fork { session: origin.id, request, key: None }).await else {
        panic!("no forks")
    };
    let mut draws = Vec::new();
    for fork in &forks.data {
        let own = add(&world, fork.id, 3, 1).await.observation;
        let next = add(&world, fork.id, 4, 1).await.observation;
        world.crash().await;
        // At the fork's own beginning, after a step of its own, and from a session that itself began so.
        let begun = open(&world, at(fork.episode, 2)).await;
        assert_eq!(add(&world, begun.id, 3, 1).await.observation, own);
        let child = open(&world, at(begun.episode, 3)).await;
        assert_eq!(add(&world, child.id, 4, 1).await.observation, next);
        let later = open(&world, at(fork.episode, 3)).await;
        assert_eq!(add(&world, later.id, 4, 1).await.observation, next);
        // Before its beginning it is its parent.
        let before = open(&world, at(fork.episode, 1)).await;
        assert_eq!((before.parent, state(&world, before.id).await["count"].clone()), (Some(fork.id), json!(1)));
        let second = add(&world, before.id, 2, 2).await.observation;
        assert_eq!(second, (*forks.data[0].observation).clone());
        draws.push(own.data["draw"].clone());
    }
    assert_ne!(draws[0], draws[1]);
}

#[tokio::test]
async fn an_unrecorded_session_remembers_what_it_began_with() {
    let mut world = World::open(None).await;
    let origin = origin(&world).await;
    let unrecorded = CreateSession { record: Some(RecordMode::None), ..at(origin.episode, 2) };
    let opened = open(&world, unrecorded).await;
    assert_eq!((opened.seq, opened.durable_seq), (2, 0));
    let third = add(&world, opened.id, 3, 3).await;
    // Inherited steps answer as they did, and earlier points can be forked.
    assert_eq!(add(&world, opened.id, 2, 2).await.observation, *opened.observation);
    let request = Fork { at_seq: Some(1), ..Fork::default() };
    let Ok(Answer::Forked(forks)) = send(&world, Command::Fork { session: opened.id, request, key: None }).await else {
        panic!("no fork")
    };
    assert_eq!(state(&world, forks.data[0].id).await["count"], json!(1));
    // Recorded steps of an unrecorded episode can be opened, its own cannot.
    assert_eq!(open(&world, at(opened.episode, 2)).await.seq, 2);
    let refused = create(&world, at(opened.episode, 3)).await;
    assert!(matches!(refused, Err(SessionError::NotSupported(_))), "{refused:?}");
    assert_eq!(add(&world, origin.id, 3, 3).await.observation, third.observation);
    world.crash().await;
    assert!(matches!(send(&world, Command::Close { session: opened.id }).await, Ok(Answer::Closed(_))));
    assert_eq!(open(&world, at(opened.episode, 2)).await.seq, 2);
}

#[tokio::test]
async fn a_session_belongs_to_its_own_run_and_ends_with_it() {
    let world = World::open(None).await;
    let origin = origin(&world).await;
    let run =
        world.sessions.create_run(&world.tenant, CreateRun { id: None, lease_ms: 10_000 }).await.expect("a run").id;
    let opened = open(&world, CreateSession { run: Some(run), ..at(origin.episode, 1) }).await;
    assert_eq!((opened.run, origin.run), (Some(run), None));
    world.sessions.delete_run(&world.tenant, run).await.expect("ended");
    let ended = world.sessions.get(&world.tenant, opened.id).await.expect("a session");
    assert_eq!(ended.closed_reason, Some(CloseReason::RunEnded));
    assert!(world.sessions.get(&world.tenant, origin.id).await.expect("a session").closed_reason.is_none());
    let late = create(&world, CreateSession { run: Some(run), ..at(origin.episode, 1) }).await;
    assert!(matches!(late, Err(SessionError::RunOver(_))), "{late:?}");
    assert_eq!(how_many(&world).await, 2);
}

#[tokio::test]
async fn many_open_from_one_point_at_the_same_time() {
    let world = Arc::new(World::open(None).await);
    let origin = origin(&world).await;
    let openings = (0..32).map(|_| create(&world, at(origin.episode, 3)));
    for opened in futures::future::join_all(openings).await {
        let opened = opened.expect("a session").remove(0);
        assert_eq!(state(&world, opened.id).await["count"], json!(6));
    }
    assert_eq!(how_many(&world).await, 33);
}

#[tokio::test]
async fn a_record_that_does_not_lead_to_the_point_again_opens_nothing() {
    let world = World::open(None).await;
    let origin = origin(&world).await;
    world.sql("UPDATE steps SET action = replace(action, '2', '9') WHERE seq = 2").await;
    for seq in [2, 3] {
        let refused = create(&world, at(origin.episode, seq)).await;
        let Err(SessionError::NotSupported(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains(&format!("step {seq}")), "{why}");
    }
    assert_eq!(how_many(&world).await, 1);
    assert_eq!(open(&world, at(origin.episode, 1)).await.seq, 1);
}
