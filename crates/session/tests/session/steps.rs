//! Steps: their order, their queue, their limits, and callers that leave.

use futures::FutureExt;
use palestra_protocol::environment::Limits;
use palestra_protocol::id::SessionId;
use palestra_protocol::session::{CreateSession, Reset};
use palestra_protocol::step::{Finish, FinishReason, Step, StopReason};
use palestra_protocol::verdict::Status;
use palestra_session::{Answer, Begun, Command, SessionError};
use palestra_store::Tenant;
use serde_json::json;

use super::world::{World, count, counter, create, send, step, step_of};

#[tokio::test]
async fn a_command_whose_caller_left_before_its_turn_never_runs() {
    let world = World::open(None).await;
    let id = create(&world, counter(&json!({}))).await.id;
    {
        let mut first = Box::pin(send(&world, step_of(id, None, "1")));
        // Acts at once, and waits for its commit.
        assert!(first.as_mut().now_or_never().is_none());
        let mut second = Box::pin(send(&world, step_of(id, None, "10")));
        let _acted_or_waiting = second.as_mut().now_or_never();
        // Both callers leave now; both have had their turn, so both are recorded.
    }
    assert_eq!(count(&world, id).await, json!(11));
    let session = world.sessions.get(&world.tenant, id).await.expect("a session");
    assert_eq!(session.seq, Some(2));
}

#[tokio::test]
async fn only_steps_that_wait_for_nothing_take_the_fast_path() {
    let world = World::open(None).await;
    let begin = |tenant: &Tenant, session, seq| match world.sessions.begin(tenant, step_of(session, Some(seq), "1")) {
        Begun::Recording(taken) => Some(taken),
        Begun::Running(_) => None,
        Begun::Done(outcome) => panic!("{outcome:?}"),
    };
    let id = create(&world, counter(&json!({}))).await.id;
    let outside: CreateSession = serde_json::from_value(json!({"environment": "bench/effect"})).expect("a creation");
    let outside = create(&world, outside).await.id;
    for (what, tenant, session, seq) in [
        ("another tenant's session", &"other".into(), id, 1),
        ("a session that is not in memory", &world.tenant, SessionId::new(), 1),
        ("a later step", &world.tenant, id, 2),
        ("a step that acts outside", &world.tenant, outside, 1),
    ] {
        assert!(begin(tenant, session, seq).is_none(), "{what}");
    }
    let first = begin(&world.tenant, id, 1).expect("the fast path");
    assert!(begin(&world.tenant, id, 1).is_none(), "a repetition waits for the record of the first");
    let repeated = step(&world, id, 1, "1").await.expect("a repetition");
    assert_eq!(first.recorded().await.map(|answer| answer.into_stepped()).expect("a step"), repeated);
    // Whoever came before has its turn first.
    let mut reset = Box::pin(send(&world, Command::Reset { session: id, request: Reset::default(), key: None }));
    assert!(reset.as_mut().now_or_never().is_none());
    assert!(begin(&world.tenant, id, 2).is_none(), "another command has the turn");
    reset.await.expect("a reset");
    assert!(begin(&world.tenant, id, 1).is_some(), "the next episode's first step");
    assert_eq!(count(&world, id).await, json!(1));
}

#[tokio::test]
async fn the_queue_of_a_session_is_bounded() {
    let world = World::open(None).await;
    let request: CreateSession = serde_json::from_value(json!({"environment": "bench/effect"})).expect("a creation");
    let id = create(&world, request).await.id;
    let mut commands: Vec<_> = (0..200).map(|_| Box::pin(send(&world, step_of(id, None, "1")))).collect();
    // The first acts on a task of its own, which cannot run before this test waits: 64 more find room in the queue.
    commands.retain_mut(|command| !matches!(command.as_mut().now_or_never(), Some(Err(SessionError::Busy(64)))));
    assert_eq!(commands.len(), 65);
    for answer in futures::future::join_all(commands).await {
        answer.expect("whoever found room has its turn");
    }
    assert_eq!(world.sessions.get(&world.tenant, id).await.expect("a session").seq, Some(65));
}

#[tokio::test]
async fn turns_are_taken_in_the_order_of_the_first_poll() {
    let world = World::open(None).await;
    let id = create(&world, counter(&json!({}))).await.id;
    // More than a task may do before the runtime makes it yield.
    let commands = (1..=500).map(|seq| step(&world, id, seq, "1"));
    let answers = futures::future::join_all(commands).await;
    assert!(answers.iter().all(Result::is_ok), "{:?}", answers.iter().find(|answer| answer.is_err()));
}

#[tokio::test]
async fn a_wall_limit_ends_the_episode_without_acting() {
    let world = World::open(None).await;
    let limits = Some(Limits { wall_ms: Some(5_000), ..Limits::default() });
    let id = create(&world, CreateSession { limits, ..counter(&json!({})) }).await.id;
    step(&world, id, 1, "1").await.expect("a step");
    world.clock.advance_ms(5_000);
    let last = step(&world, id, 2, "1").await.expect("an answer");
    assert_eq!((last.truncated, last.stop_reason), (true, Some(StopReason::WallLimit)));
    assert_eq!(last.verdict.expect("a verdict").status, Status::Scored);
    assert_eq!(count(&world, id).await, json!(1));
    assert_eq!(step(&world, id, 2, "1").await.expect("the same answer").stop_reason, Some(StopReason::WallLimit));
}

#[tokio::test]
async fn calls_are_limited_and_every_call_is_answered() {
    let world = World::open(None).await;
    let limits = Some(Limits { calls: Some(2), ..Limits::default() });
    let id = create(&world, CreateSession { limits, ..counter(&json!({})) }).await.id;
    let calls = json!({"calls": [
        {"id": "a", "tool": "add", "arguments": {"amount": 1}},
        {"id": "b", "tool": "nonsense", "arguments": {}},
        {"id": "c", "tool": "add", "arguments": {"amount": 1}},
    ]});
    let action = serde_json::from_value(calls).expect("an action");
    let step = Step { seq: Some(1), action, episode: None, observe: None, meta: None };
    let Ok(Answer::Stepped(answer)) = send(&world, Command::Step { session: id, step: Box::new(step) }).await else {
        panic!("a step")
    };
    let ids: Vec<_> = answer.messages.iter().map(|message| message.tool_call_id.as_deref()).collect();
    assert_eq!(ids, [Some("a"), Some("b"), Some("c")]);
    assert!(answer.messages[1].content.contains("there is no tool"));
    assert!(answer.messages[2].content.contains("limit of calls"));
    assert_eq!(answer.stop_reason, Some(StopReason::MaxCalls));
    assert_eq!(count(&world, id).await, json!(1));
}

#[tokio::test]
async fn an_aborted_episode_is_invalid() {
    let world = World::open(None).await;
    let opened = create(&world, counter(&json!({}))).await;
    let request =
        Finish { reason: FinishReason::Aborted, detail: Some("no model".to_owned()), episode: Some(opened.episode) };
    let finish = || Command::Finish { session: opened.id, request: request.clone() };
    let Ok(Answer::Finished(finished)) = send(&world, finish()).await else { panic!("finished") };
    let verdict = finished.verdict.clone().expect("a verdict");
    assert_eq!((verdict.status, verdict.score, verdict.trainable), (Status::Invalid, None, false));
    assert_eq!(verdict.detail.as_deref(), Some("the caller aborted the episode: no model"));
    let Ok(Answer::Finished(again)) = send(&world, finish()).await else { panic!("the same") };
    assert_eq!(again, finished);
}

#[tokio::test]
async fn a_cause_that_is_too_long_for_a_verdict_says_how_much_was_cut() {
    let world = World::open(None).await;
    let opened = create(&world, counter(&json!({}))).await;
    let detail = Some("x".repeat(100_000));
    let request = Finish { reason: FinishReason::Aborted, detail, episode: Some(opened.episode) };
    let Ok(Answer::Finished(finished)) = send(&world, Command::Finish { session: opened.id, request }).await else {
        panic!("finished")
    };
    let told = finished.verdict.clone().and_then(|verdict| verdict.detail).expect("a cause");
    assert!(told.len() < 70_000 && told.ends_with("more bytes were cut: a verdict holds no more]"), "{}", told.len());
}

#[tokio::test]
async fn a_cut_shortens_messages_too_and_calls_with_one_id_are_told_apart() {
    let world = World::open(None).await;
    let id = create(&world, counter(&json!({}))).await.id;
    let request = json!({"seq": 1, "observe": {"text_bytes": 5}, "action": {"calls": [
        {"id": "a", "tool": "add", "arguments": {"amount": 1}},
        {"id": "a", "tool": "add", "arguments": {"amount": 1}},
    ]}});
    let step = serde_json::from_value(request).expect("a step");
    let Ok(Answer::Stepped(answer)) = send(&world, Command::Step { session: id, step: Box::new(step) }).await else {
        panic!("a step")
    };
    assert!(answer.messages.iter().all(|message| message.content.len() <= 5), "{:?}", answer.messages);
    assert_eq!(answer.observation.text.len(), 5);
    assert_eq!(count(&world, id).await, json!(1));
}
