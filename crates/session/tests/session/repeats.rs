//! Repeated commands: each acts once and is answered alike.

use palestra_protocol::id::SessionId;
use palestra_protocol::session::{CloseReason, CreateSession, Created, Fork, RecordMode, Reset};
use palestra_protocol::step::{Finish, FinishReason, Stepped};
use palestra_session::{Answer, Command, SessionError};
use serde_json::json;

use super::world::{World, count, counter, create, send, step};

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_is_sent_again_while_it_runs_acts_once() {
    let world = World::open(None).await;
    let id = create(&world, counter(&json!({}))).await.id;
    let answers = futures::future::join_all((0..40).map(|_| step(&world, id, 1, "3"))).await;
    let answers: Vec<Stepped> = answers.into_iter().map(|answer| answer.expect("a step")).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(count(&world, id).await, json!(3));
}

#[tokio::test]
async fn a_creating_call_with_a_key_is_done_once() {
    let mut world = World::open(None).await;
    let request = || Command::Create { request: Box::new(counter(&json!({}))), key: Some("k".to_owned()) };
    let first = send(&world, request()).await.expect("a session");
    assert_eq!(send(&world, request()).await.expect("the same"), first);
    world.crash().await;
    assert_eq!(send(&world, request()).await.expect("the same"), first);
    let other = Command::Create { request: Box::new(counter(&json!({"target": 1}))), key: Some("k".to_owned()) };
    assert!(matches!(send(&world, other).await, Err(SessionError::KeyReused)));
    let Answer::Created(Created::One(opened)) = first else { panic!("one session") };
    let fork = || Command::Fork { session: opened.id, request: Fork::default(), key: Some("k".to_owned()) };
    let forked = send(&world, fork()).await.expect("a fork");
    assert_eq!(send(&world, fork()).await.expect("the same"), forked);
    send(&world, Command::Close { session: opened.id }).await.expect("closed");
    assert_eq!(send(&world, fork()).await.expect("the same, also after the close"), forked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_that_is_sent_again_while_it_runs_is_done_once() {
    let world = World::open(None).await;
    let id = SessionId::new();
    let request = || CreateSession { id: Some(id), seed: Some(1), ..counter(&json!({})) };
    let both = (0..8).map(|_| send(&world, Command::Create { request: Box::new(request()), key: None }));
    let answers = futures::future::join_all(both).await;
    let first = answers[0].as_ref().expect("a session");
    assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer == first)));
    let other = CreateSession { seed: Some(2), ..request() };
    let refused = send(&world, Command::Create { request: Box::new(other), key: None }).await;
    assert!(matches!(refused, Err(SessionError::KeyReused)), "{refused:?}");
}

#[tokio::test]
async fn a_key_that_reads_like_the_id_waits_for_nobody() {
    let world = World::open(None).await;
    let id = SessionId::new();
    for key in [format!("id:{id}"), id.to_string()] {
        let request = CreateSession { id: Some(id), ..counter(&json!({})) };
        let created = send(&world, Command::Create { request: Box::new(request), key: Some(key) });
        let created = tokio::time::timeout(std::time::Duration::from_secs(10), created).await;
        assert!(matches!(created, Ok(Ok(Answer::Created(_)))), "{created:?}");
    }
}

#[tokio::test]
async fn a_finish_that_is_sent_again_later_gets_its_answer() {
    let world = World::open(None).await;
    let opened = create(&world, counter(&json!({}))).await;
    let request = Finish { reason: FinishReason::MaxTokens, detail: None, episode: Some(opened.episode) };
    let finish = || Command::Finish { session: opened.id, request: request.clone() };
    let first = send(&world, finish()).await.expect("finished");
    let reset = Command::Reset { session: opened.id, request: Reset::default(), key: None };
    send(&world, reset).await.expect("a new episode");
    assert_eq!(send(&world, finish()).await.expect("the same"), first);
    send(&world, Command::Close { session: opened.id }).await.expect("closed");
    assert_eq!(send(&world, finish()).await.expect("the same"), first);
    let other = Finish { reason: FinishReason::GaveUp, detail: None, episode: Some(opened.episode) };
    let refused = send(&world, Command::Finish { session: opened.id, request: other }).await;
    assert!(matches!(refused, Err(SessionError::Over(CloseReason::Deleted))), "{refused:?}");
}

#[tokio::test]
async fn a_fork_answers_the_steps_that_it_inherited() {
    let mut world = World::open(None).await;
    for record in [RecordMode::Group, RecordMode::None] {
        let id = create(&world, CreateSession { record: Some(record), ..counter(&json!({})) }).await.id;
        let mut taken = Vec::new();
        for seq in 1..=3 {
            taken.push(step(&world, id, seq, "2").await.expect("a step"));
        }
        let fork = Fork { at_seq: Some(2), ..Fork::default() };
        let Ok(Answer::Forked(copies)) = send(&world, Command::Fork { session: id, request: fork, key: None }).await
        else {
            panic!("a fork")
        };
        if record == RecordMode::Group {
            world.crash().await;
        }
        let copy = &copies.data[0];
        for seq in [1, 2] {
            let again = step(&world, copy.id, seq, "2").await.expect("the same answer");
            let taken = &taken[usize::try_from(seq).expect("small") - 1];
            assert_eq!(again, Stepped { episode: copy.episode, ..taken.clone() });
        }
        assert!(matches!(step(&world, copy.id, 1, "3").await, Err(SessionError::StepConflict { seq: 1 })));
        step(&world, copy.id, 3, "5").await.expect("its own step");
        assert_eq!(count(&world, copy.id).await, json!(9));
    }
}
