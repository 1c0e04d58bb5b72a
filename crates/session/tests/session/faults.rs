//! What goes wrong around a session: refused commits, callers that leave, crowds, panics, limits, leases.

use std::sync::Arc;

use futures::FutureExt;
use palestra_protocol::action::Action;
use palestra_protocol::environment::Limits;
use palestra_protocol::id::{RunId, SessionId};
use palestra_protocol::run::{CreateRun, RunState};
use palestra_protocol::session::{
    CloseReason, CreateSession, Created, Fork, Opened, RecordMode, Reset, SessionState, TaskChoice, Verify,
};
use palestra_protocol::step::{Finish, FinishReason, Step, Stepped, StopReason};
use palestra_protocol::verdict::Status;
use palestra_session::{Answer, AtOnce, Command, SessionError};
use palestra_store::Tenant;
use serde_json::{Value, json};

use super::world::{IDLE_MS, World};

fn counter(config: &Value) -> CreateSession {
    let mut request: CreateSession =
        serde_json::from_value(json!({"environment": "bench/counter", "config": config})).expect("a creation");
    request.task = Some(TaskChoice { index: Some(0), ..TaskChoice::default() });
    request
}

async fn create(world: &World, request: CreateSession) -> Opened {
    match send(world, Command::Create { request: Box::new(request), key: None }).await {
        Ok(Answer::Created(Created::One(opened))) => *opened,
        other => panic!("creation failed: {other:?}"),
    }
}

async fn send(world: &World, command: Command) -> Result<Answer, SessionError> {
    world.sessions.run(&world.tenant, command).await
}

fn step_of(session: SessionId, seq: Option<u64>, text: &str) -> Command {
    let action = Action::Text(text.to_owned());
    Command::Step { session, step: Box::new(Step { seq, action, episode: None, observe: None, meta: None }) }
}

async fn step(world: &World, session: SessionId, seq: u64, text: &str) -> Result<Stepped, SessionError> {
    match send(world, step_of(session, Some(seq), text)).await? {
        Answer::Stepped(stepped) => Ok(Stepped::clone(&stepped)),
        other => panic!("a step answered {other:?}"),
    }
}

async fn count(world: &World, session: SessionId) -> Value {
    world.sessions.state(&world.tenant, session, "/count").await.expect("a state").state
}

async fn sql(world: &World, sql: &'static str) {
    world.sql(sql).await;
}

#[tokio::test]
async fn a_refused_commit_is_reported_and_the_session_goes_on_from_the_record() {
    let world = World::open(None).await;
    let id = create(&world, counter(&json!({}))).await.id;
    step(&world, id, 1, "5").await.expect("a step");
    sql(&world, "CREATE TRIGGER full BEFORE INSERT ON steps BEGIN SELECT RAISE(ABORT, 'disk full'); END").await;
    assert!(matches!(step(&world, id, 2, "7").await, Err(SessionError::NotRecorded)));
    assert!(matches!(step(&world, id, 2, "7").await, Err(SessionError::NotRecorded)));
    assert_eq!(count(&world, id).await, json!(5));
    sql(&world, "DROP TRIGGER full").await;
    step(&world, id, 2, "7").await.expect("a step");
    assert_eq!(count(&world, id).await, json!(12));
}

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
async fn only_a_step_that_has_to_wait_for_nothing_is_taken_at_once() {
    let world = World::open(None).await;
    let at_once = |tenant: &Tenant, session, seq| {
        let action = Action::Text("1".to_owned());
        let step = Step { seq: Some(seq), action, episode: None, observe: None, meta: None };
        match world.sessions.step_at_once(tenant, session, Box::new(step)) {
            AtOnce::Taken(taken) => Some(taken),
            AtOnce::Waits(_) => None,
            AtOnce::Refused(error) => panic!("{error}"),
        }
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
        assert!(at_once(tenant, session, seq).is_none(), "{what}");
    }
    let first = at_once(&world.tenant, id, 1).expect("nothing to wait for");
    assert!(at_once(&world.tenant, id, 1).is_none(), "a repetition waits for the record of the first");
    let repeated = step(&world, id, 1, "1").await.expect("a repetition");
    assert_eq!(first.recorded().await.map(|said| said.into_stepped()).expect("a step"), repeated);
    // Whoever came before has its turn first.
    let mut reset = Box::pin(send(&world, Command::Reset { session: id, request: Reset::default(), key: None }));
    assert!(reset.as_mut().now_or_never().is_none());
    assert!(at_once(&world.tenant, id, 2).is_none(), "another command has the turn");
    reset.await.expect("a reset");
    assert!(at_once(&world.tenant, id, 1).is_some(), "the next episode's first step");
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
async fn a_step_with_an_outside_effect_is_never_run_twice() {
    let mut world = World::open(None).await;
    let request: CreateSession = serde_json::from_value(json!({"environment": "bench/effect"})).expect("a creation");
    let opened = create(&world, request).await;
    step(&world, opened.id, 1, "a").await.expect("a step");
    // The intent of a step whose result was never recorded.
    let log = world.data.path().join("effects").join(format!("{}.log", opened.episode));
    sql(&world, "CREATE TRIGGER full BEFORE INSERT ON steps BEGIN SELECT RAISE(ABORT, 'disk full'); END").await;
    assert!(matches!(step(&world, opened.id, 2, "b").await, Err(SessionError::NotRecorded)));
    sql(&world, "DROP TRIGGER full").await;
    world.crash().await;
    let again = step(&world, opened.id, 2, "b").await.expect("an answer");
    assert!(again.info.interrupted);
    let lines = || std::fs::read_to_string(&log).expect("the log").lines().count();
    assert_eq!(lines(), 2);
    step(&world, opened.id, 3, "c").await.expect("the session goes on");
    assert_eq!(lines(), 3);
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
async fn a_session_whose_record_was_refused_leaves_memory_with_the_next_sweep() {
    let world = World::open(None).await;
    let id = create(&world, counter(&json!({}))).await.id;
    let other = create(&world, counter(&json!({}))).await.id;
    world.sessions.sweep().await.expect("a sweep");
    sql(&world, "CREATE TRIGGER full BEFORE INSERT ON steps BEGIN SELECT RAISE(ABORT, 'disk full'); END").await;
    assert!(matches!(step(&world, id, 1, "1").await, Err(SessionError::NotRecorded)));
    sql(&world, "DROP TRIGGER full").await;
    assert_eq!(world.sessions.live(), 2);
    world.sessions.sweep().await.expect("a sweep");
    assert_eq!(world.sessions.live(), 1);
    for session in [id, other] {
        step(&world, session, 1, "1").await.expect("a step");
    }
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
async fn an_aborted_episode_is_invalid() {
    let world = World::open(None).await;
    let opened = create(&world, counter(&json!({}))).await;
    let request = Finish { reason: FinishReason::Aborted, episode: Some(opened.episode) };
    let finish = || Command::Finish { session: opened.id, request: request.clone() };
    let Ok(Answer::Finished(finished)) = send(&world, finish()).await else { panic!("finished") };
    let verdict = finished.verdict.clone().expect("a verdict");
    assert_eq!((verdict.status, verdict.score, verdict.trainable), (Status::Invalid, None, false));
    let Ok(Answer::Finished(again)) = send(&world, finish()).await else { panic!("the same") };
    assert_eq!(again, finished);
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

#[tokio::test]
async fn a_refused_creation_can_be_sent_again() {
    let world = World::open(None).await;
    let request = || CreateSession { id: Some(SessionId::new()), ..counter(&json!({})) };
    let refused = request();
    let again = || Command::Create { request: Box::new(refused.clone()), key: Some("k".to_owned()) };
    sql(&world, "CREATE TRIGGER full BEFORE INSERT ON sessions BEGIN SELECT RAISE(ABORT, 'disk full'); END").await;
    assert!(matches!(send(&world, again()).await, Err(SessionError::NotRecorded)));
    sql(&world, "DROP TRIGGER full").await;
    let created = send(&world, again()).await;
    assert!(matches!(created, Ok(Answer::Created(Created::One(_)))), "{created:?}");
    step(&world, refused.id.expect("an id"), 1, "1").await.expect("it steps");
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
async fn a_fork_of_steps_that_were_refused_is_refused() {
    let world = World::open(None).await;
    let id = create(&world, counter(&json!({}))).await.id;
    sql(&world, "CREATE TRIGGER full BEFORE INSERT ON steps BEGIN SELECT RAISE(ABORT, 'disk full'); END").await;
    let fork = Command::Fork { session: id, request: Fork::default(), key: None };
    let (stepped, forked) = tokio::join!(step(&world, id, 1, "1"), send(&world, fork));
    assert!(matches!(stepped, Err(SessionError::NotRecorded)), "{stepped:?}");
    assert!(matches!(forked, Err(SessionError::NotRecorded)), "{forked:?}");
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
    sql(&world, "CREATE TRIGGER full BEFORE UPDATE ON episodes BEGIN SELECT RAISE(ABORT, 'disk full'); END").await;
    world.sessions.sweep().await.expect("a sweep");
    // The failure kept nothing else from being reaped.
    assert_eq!(world.sessions.live(), 0, "{other} is idle");
    sql(&world, "DROP TRIGGER full").await;
    let refused = world.sessions.heartbeat(&world.tenant, run).await;
    assert!(matches!(refused, Err(SessionError::RunOver(_))), "{refused:?}");
    world.sessions.sweep().await.expect("a sweep");
    assert_eq!(world.sessions.run_info(&world.tenant, run).await.expect("a run").state, RunState::Expired);
    let session = world.sessions.get(&world.tenant, parked).await.expect("a session");
    assert_eq!(session.closed_reason, Some(CloseReason::RunEnded));
}

#[tokio::test]
async fn a_finish_that_is_sent_again_later_gets_its_answer() {
    let world = World::open(None).await;
    let opened = create(&world, counter(&json!({}))).await;
    let request = Finish { reason: FinishReason::MaxTokens, episode: Some(opened.episode) };
    let finish = || Command::Finish { session: opened.id, request: request.clone() };
    let first = send(&world, finish()).await.expect("finished");
    let reset = Command::Reset { session: opened.id, request: Reset::default(), key: None };
    send(&world, reset).await.expect("a new episode");
    assert_eq!(send(&world, finish()).await.expect("the same"), first);
    send(&world, Command::Close { session: opened.id }).await.expect("closed");
    assert_eq!(send(&world, finish()).await.expect("the same"), first);
    let other = Finish { reason: FinishReason::GaveUp, episode: Some(opened.episode) };
    let refused = send(&world, Command::Finish { session: opened.id, request: other }).await;
    assert!(matches!(refused, Err(SessionError::Over(CloseReason::Deleted))), "{refused:?}");
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
async fn what_is_left_of_an_ended_episode_can_be_judged_after_a_restart() {
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
    let request = Finish { reason: FinishReason::GaveUp, episode: None };
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
