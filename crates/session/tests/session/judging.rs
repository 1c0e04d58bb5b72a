//! Judging beside later commands, on the blocking pool: one per episode, bounded in time, and never lost.

use futures::FutureExt;
use palestra_environment::verifier::bound::EVIDENCE_BYTES_MAX;
use palestra_protocol::episode::Rescore;
use palestra_protocol::id::RunId;
use palestra_protocol::run::{CreateRun, RunState};
use palestra_protocol::session::{CloseReason, CreateSession, RecordMode, SessionState, VerifyMode};
use palestra_protocol::step::{Finish, FinishReason, StopReason};
use palestra_protocol::verdict::Status;
use palestra_session::{Answer, Command, SessionError, SessionSettings};
use serde_json::json;

use super::heavy::{Stage, say};

#[tokio::test]
async fn evidence_is_cut_to_its_bound() {
    let stage = Stage::open().await;
    let opened = stage.create("test/slow", VerifyMode::Manual).await;
    stage.send(say(opened.id, &"x".repeat(3 * EVIDENCE_BYTES_MAX))).await.expect("a step");
    let verdict = stage.verdict(opened.id).await;
    let evidence = &verdict.checks.first().expect("a check").evidence;
    let told = evidence.strip_prefix(&"x".repeat(EVIDENCE_BYTES_MAX)).expect("what fits is kept");
    assert!(told.starts_with(&format!("\n[{} more bytes were cut", 2 * EVIDENCE_BYTES_MAX)), "{told}");
    assert_eq!((verdict.status, verdict.score), (Status::Scored, Some(1.0)));
}

#[tokio::test]
async fn later_steps_go_on_beside_a_judging_whose_verdict_comes() {
    let stage = Stage::open().await;
    let opened = stage.waiting().await;
    stage.leave_judging(&opened).await;
    // The episode is over, so what goes on is the next one, in the same session.
    let next = stage.reset(opened.id).await;
    stage.send(say(opened.id, "a")).await.expect("a step beside the judging");
    assert_ne!(next.episode, opened.episode);
    let mut events = stage.world.sessions.events(&stage.world.tenant, opened.id, None).await.expect("events");
    stage.watch.judge.open();
    let verdict = loop {
        let event = futures::StreamExt::next(&mut events).await.expect("an event");
        if let palestra_protocol::episode::EventKind::Verdict { verdict } = event.kind {
            break verdict;
        }
    };
    assert_eq!((verdict.episode, verdict.status, verdict.score), (opened.episode, Status::Scored, Some(1.0)));
    let stored = stage.world.sessions.verdicts(&stage.world.tenant, opened.episode).await.expect("verdicts");
    assert_eq!(stored, [*verdict]);
}

#[tokio::test]
async fn one_judging_runs_per_episode() {
    let stage = Stage::open().await;
    let opened = stage.waiting().await;
    stage.leave_judging(&opened).await;
    let open = async { stage.watch.judge.open() };
    let (a, b, rescored, ()) = tokio::join!(
        stage.verdict(opened.id),
        stage.verdict(opened.id),
        stage.world.sessions.rescore(&stage.world.tenant, opened.episode, Rescore::default()),
        open
    );
    assert_eq!(a, b);
    assert_eq!(rescored.expect("a verdict"), a);
    assert_eq!(stage.verdict(opened.id).await, a);
    assert_eq!(stage.watch.judgings(), 1);
}

#[tokio::test]
async fn an_old_judging_does_not_hide_that_of_the_next_episode() {
    let stage = Stage::open().await;
    let first = stage.waiting().await;
    stage.leave_judging(&first).await;
    let second = stage.reset(first.id).await;
    stage.send(say(first.id, "slow")).await.expect("a step");
    let pending = stage.verify(first.id, Some(0)).await.expect("a pending verdict");
    assert_eq!(pending, Answer::Pending { episode: second.episode });
    stage.watch.slow.someone().await;
    stage.watch.judge.open();
    // The first verdict is handed over in a turn of the session, before it can be read.
    let rescored = stage.world.sessions.rescore(&stage.world.tenant, first.episode, Rescore::default()).await;
    assert_eq!(rescored.expect("a verdict").episode, first.episode);
    let open = async { stage.watch.slow.open() };
    let (verdict, ()) = tokio::join!(stage.verdict(first.id), open);
    assert_eq!(verdict.episode, second.episode);
    assert_eq!(stage.watch.judgings(), 2);
}

#[tokio::test]
async fn a_verdict_finds_its_way_past_a_full_queue() {
    let stage = Stage::open().await;
    let opened = stage.waiting().await;
    stage.leave_judging(&opened).await;
    stage.reset(opened.id).await;
    let mut blocked = Box::pin(stage.send(say(opened.id, "block")));
    assert!(blocked.as_mut().now_or_never().is_none());
    stage.watch.step.someone().await;
    let mut queued: Vec<_> = (0..64).map(|_| Box::pin(stage.send(say(opened.id, "a")))).collect();
    assert!(queued.iter_mut().all(|command| command.as_mut().now_or_never().is_none()));
    assert!(matches!(stage.send(say(opened.id, "a")).await, Err(SessionError::Busy(64))));
    stage.watch.judge.open();
    // Waits in the same line as the queued steps, behind them.
    let rescored = stage.world.sessions.rescore(&stage.world.tenant, opened.episode, Rescore::default());
    let open = async { stage.watch.step.open() };
    let (_, verdict, ()) = tokio::join!(futures::future::join_all(queued), rescored, open);
    blocked.await.expect("the step");
    assert_eq!(verdict.expect("a verdict").status, Status::Scored);
    assert_eq!(stage.watch.judgings(), 1);
}

#[tokio::test]
async fn a_verdict_outlives_the_close_of_its_session() {
    let stage = Stage::open().await;
    let opened = stage.waiting().await;
    stage.leave_judging(&opened).await;
    let waiting = stage.verdict(opened.id);
    let close = async {
        // The waiting caller stands in the queue before the close does.
        tokio::task::yield_now().await;
        stage.send(Command::Close { session: opened.id }).await.expect("closed");
        stage.watch.judge.open();
    };
    let (verdict, ()) = tokio::join!(waiting, close);
    assert_eq!(verdict.status, Status::Scored);
    assert_eq!(stage.verdict(opened.id).await, verdict);
    let session = stage.world.sessions.get(&stage.world.tenant, opened.id).await.expect("a session");
    assert_eq!((session.state, session.closed_reason), (SessionState::Closed, Some(CloseReason::Deleted)));
}

#[tokio::test]
async fn a_full_queue_does_not_keep_a_session_from_ending_with_its_run() {
    let stage = Stage::open().await;
    let run = RunId::new();
    let lease = CreateRun { id: Some(run), lease_ms: 1_000 };
    stage.world.sessions.create_run(&stage.world.tenant, lease).await.expect("a run");
    let mut request: CreateSession = serde_json::from_value(json!({"environment": "test/slow"})).expect("a creation");
    request.run = Some(run);
    let opened = stage.create_as(request).await;
    let mut commands: Vec<_> = Vec::new();
    for text in std::iter::once("block").chain(std::iter::repeat_n("a", 64)) {
        let mut command = Box::pin(stage.send(say(opened.id, text)));
        assert!(command.as_mut().now_or_never().is_none());
        commands.push(command);
    }
    stage.world.clock.advance_ms(1_001);
    let open = async {
        stage.watch.step.someone().await;
        stage.watch.step.open();
    };
    let (_, swept, ()) = tokio::join!(futures::future::join_all(commands), stage.world.sessions.sweep(), open);
    swept.expect("a sweep");
    assert_eq!(stage.world.sessions.run_info(&stage.world.tenant, run).await.expect("a run").state, RunState::Expired);
}

#[tokio::test]
async fn a_run_ends_also_where_its_environment_is_gone() {
    let mut stage = Stage::open().await;
    let run = RunId::new();
    let lease = CreateRun { id: Some(run), lease_ms: 1_000 };
    stage.world.sessions.create_run(&stage.world.tenant, lease).await.expect("a run");
    let mut request: CreateSession = serde_json::from_value(json!({"environment": "test/slow"})).expect("a creation");
    request.run = Some(run);
    let opened = stage.create_as(request).await;
    stage.world.kinds.clear();
    stage.world.crash().await;
    stage.world.clock.advance_ms(1_001);
    stage.world.sessions.sweep().await.expect("a sweep");
    assert_eq!(stage.world.sessions.run_info(&stage.world.tenant, run).await.expect("a run").state, RunState::Expired);
    let episode = stage.world.sessions.episode(&stage.world.tenant, opened.episode).await.expect("an episode");
    assert_eq!(episode.verdict.map(|verdict| verdict.status), Some(Status::Invalid));
}

#[tokio::test]
async fn a_panic_of_the_judge_is_an_error_of_the_verifier() {
    let stage = Stage::open().await;
    let opened = stage.create("test/slow", VerifyMode::OnEnd).await;
    stage.send(say(opened.id, "panic")).await.expect("a step");
    let finish = Finish { reason: FinishReason::GaveUp, detail: None, episode: None };
    let Ok(Answer::Finished(finished)) = stage.send(Command::Finish { session: opened.id, request: finish }).await
    else {
        panic!("finished")
    };
    let verdict = finished.verdict.expect("a verdict");
    assert_eq!((verdict.status, verdict.score, verdict.trainable), (Status::VerifierError, None, false));
    assert!(verdict.detail.as_deref().is_some_and(|detail| detail.contains("the verifier panicked")), "{verdict:?}");
    assert_eq!(stage.verdict(opened.id).await, verdict);
    stage.reset(opened.id).await;
    stage.send(say(opened.id, "a")).await.expect("the session goes on");
}

#[tokio::test]
async fn a_judge_that_takes_too_long_is_a_timeout() {
    let settings = SessionSettings { judge_ms_max: 20, ..SessionSettings::default() };
    let stage = Stage::open_with(settings).await;
    let opened = stage.waiting().await;
    let verdict = stage.verdict(opened.id).await;
    assert_eq!((verdict.status, verdict.score), (Status::Timeout, None));
    stage.watch.judge.open();
}

#[tokio::test]
async fn a_judging_that_the_server_did_not_outlive_is_done_again() {
    let mut stage = Stage::open().await;
    let opened = stage.waiting().await;
    stage.leave_judging(&opened).await;
    stage.world.crash().await;
    stage.watch.judge.open();
    let verdict = stage.verdict(opened.id).await;
    assert_eq!((verdict.status, verdict.seq), (Status::Scored, 1));
    let episode = stage.world.sessions.episode(&stage.world.tenant, opened.episode).await.expect("an episode");
    assert_eq!(episode.stop_reason, Some(StopReason::Verified));
}

#[tokio::test]
async fn a_live_episode_is_judged_once_however_it_is_asked() {
    let stage = Stage::open().await;
    for record in [RecordMode::Group, RecordMode::None] {
        let mut request: CreateSession =
            serde_json::from_value(json!({"environment": "test/slow"})).expect("a creation");
        request.verify = Some(VerifyMode::Manual);
        request.record = Some(record);
        let opened = stage.create_as(request).await;
        stage.send(say(opened.id, "a")).await.expect("a step");
        let finish = Finish { reason: FinishReason::GaveUp, detail: None, episode: None };
        stage.send(Command::Finish { session: opened.id, request: finish }).await.expect("finished");
        let rescore = stage.world.sessions.rescore(&stage.world.tenant, opened.episode, Rescore::default());
        let verdict = rescore.await.expect("a verdict");
        assert_eq!(verdict.status, Status::Scored, "{record:?}");
        assert_eq!(stage.verdict(opened.id).await, verdict);
    }
    assert_eq!(stage.watch.judgings(), 2);
}
