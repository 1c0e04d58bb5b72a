//! Creation, reset and fork: callers that leave in between, and what sessions that are opened together share.

use futures::FutureExt;
use palestra_protocol::id::{RunId, SessionId};
use palestra_protocol::run::CreateRun;
use palestra_protocol::session::{CreateSession, Created, Fork, Opened, Randomness, Reset, SessionState};
use palestra_session::{Answer, Command, SessionError};
use palestra_store::row::{PageRequest, SessionFilter};
use serde_json::{Value, json};

use super::world::{World, send, step_of};

fn creation(fields: &Value) -> CreateSession {
    let mut request = json!({"environment": "bench/counter", "task": {"split": "train", "index": 0}});
    for (name, value) in fields.as_object().expect("fields") {
        request[name] = value.clone();
    }
    serde_json::from_value(request).expect("a creation")
}

async fn create(world: &World, fields: &Value) -> Vec<Opened> {
    match send(world, Command::Create { request: Box::new(creation(fields)), key: None }).await {
        Ok(Answer::Created(Created::One(opened))) => vec![*opened],
        Ok(Answer::Created(Created::Many(list))) => list.data,
        other => panic!("creation failed: {other:?}"),
    }
}

async fn fork(world: &World, session: SessionId, request: Fork) -> Vec<Opened> {
    match send(world, Command::Fork { session, request, key: None }).await {
        Ok(Answer::Forked(list)) => list.data,
        other => panic!("no forks: {other:?}"),
    }
}

async fn step(world: &World, session: SessionId, text: &str) -> Value {
    match send(world, step_of(session, None, text)).await {
        Ok(Answer::Stepped(stepped)) => stepped.observation.data.clone(),
        other => panic!("no step: {other:?}"),
    }
}

/// An answer without what is a session's own.
fn shared_part(opened: &Opened) -> Value {
    let mut json = serde_json::to_value(opened).expect("JSON");
    for own in ["id", "episode"] {
        assert!(json.as_object_mut().expect("an object").remove(own).is_some());
    }
    json
}

#[tokio::test]
async fn an_id_that_another_tenant_has_is_refused_and_its_session_stays_where_it_is() {
    let world = World::open(None).await;
    let id = SessionId::new();
    create(&world, &json!({"id": id})).await;
    step(&world, id, "3").await;
    for parked in [false, true] {
        if parked {
            world.park().await;
        }
        let request = Box::new(creation(&json!({"id": id})));
        let refused = world.sessions.run(&"stranger".into(), Command::Create { request, key: None }).await;
        assert!(matches!(refused, Err(SessionError::Conflict(_))), "parked: {parked}: {refused:?}");
    }
    assert_eq!(step(&world, id, "4").await["count"], json!(7));
}

#[tokio::test]
async fn a_creation_whose_caller_left_made_whole_sessions() {
    let mut world = World::open(None).await;
    {
        let request = Box::new(creation(&json!({"count": 3})));
        let mut left = Box::pin(send(&world, Command::Create { request, key: None }));
        // Acts at once, and waits for its commit.
        assert!(left.as_mut().now_or_never().is_none());
    }
    // Commits happen in order: what was left is committed with this one or before it.
    create(&world, &json!({})).await;
    world.crash().await;
    let all = PageRequest { before: None, limit: 10 };
    let sessions = world.sessions.list(&world.tenant, &SessionFilter::default(), &all).await.expect("a list");
    assert_eq!(sessions.len(), 4);
    for session in sessions {
        assert_eq!(step(&world, session.id, "2").await["count"], 2);
    }
}

#[tokio::test]
async fn a_run_that_ends_while_a_session_enters_it_leaves_none_open() {
    let world = World::open(None).await;
    for round in 0..40 {
        let run = RunId::new();
        world.sessions.create_run(&world.tenant, CreateRun { id: Some(run), lease_ms: 10_000 }).await.expect("a run");
        let request = Box::new(creation(&json!({"run": run})));
        let mut entering = Box::pin(send(&world, Command::Create { request, key: None }));
        let begun = entering.as_mut().now_or_never();
        world.sessions.delete_run(&world.tenant, run).await.expect("ended");
        let created = match begun {
            Some(created) => created,
            None => entering.await,
        };
        let filter = SessionFilter { run: Some(run), state: Some(SessionState::Open), ..SessionFilter::default() };
        let all = PageRequest { before: None, limit: 10 };
        let open = world.sessions.list(&world.tenant, &filter, &all).await.expect("a list");
        assert!(open.is_empty(), "round {round}: {created:?} is open in a run that has ended");
    }
}

#[tokio::test]
async fn a_reset_whose_caller_left_began_a_whole_episode() {
    let mut world = World::open(None).await;
    let id = create(&world, &json!({})).await[0].id;
    step(&world, id, "5").await;
    {
        let mut left = Box::pin(send(&world, Command::Reset { session: id, request: Reset::default(), key: None }));
        assert!(left.as_mut().now_or_never().is_none());
    }
    assert_eq!(step(&world, id, "2").await["count"], 2);
    world.crash().await;
    let session = world.sessions.get(&world.tenant, id).await.expect("a session");
    assert_eq!((session.episodes, session.seq), (2, Some(1)));
    assert_eq!(step(&world, id, "2").await["count"], 4);
}

#[tokio::test]
async fn sessions_that_are_opened_together_answer_alike_and_go_their_own_ways() {
    let world = World::open(None).await;
    let members = create(&world, &json!({"count": 3, "config": {"draws": true}})).await;
    let same = fork(&world, members[0].id, Fork { count: Some(3), ..Fork::default() }).await;
    step(&world, members[0].id, "5").await;
    let split = Fork { count: Some(3), randomness: Some(Randomness::Split), ..Fork::default() };
    let later = fork(&world, members[0].id, split).await;
    for opened in [&members, &same, &later] {
        assert_eq!(opened.len(), 3);
        assert!(opened.iter().all(|one| shared_part(one) == shared_part(&opened[0])));
        assert!(opened[0].observation.data["count"].is_u64() && !opened[0].messages.is_empty());
    }
    assert_eq!(same[0].observation, members[0].observation);
    assert_eq!((later[0].observation.data["count"].clone(), later[0].seq), (json!(5), 1));
    for (amount, copy) in (1..).zip(&later) {
        assert_eq!(step(&world, copy.id, &amount.to_string()).await["count"], 5 + amount);
    }
}
