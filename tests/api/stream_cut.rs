//! A socket that is cut at every frame boundary, and requests that are repeated while the first is running: every episode
//! ends as if nothing had happened, and nothing is made twice.

use futures::future::join_all;
use palestra_client::stream::{Options, Stream};
use palestra_client::{Client, EpisodeQuery, SessionQuery};
use palestra_protocol::action::Action;
use palestra_protocol::id::{RunId, SessionId};
use palestra_protocol::run::CreateRun;
use palestra_protocol::session::{CreateSession, Created, Fork, Reset, TaskChoice};
use palestra_protocol::step::{Step, Stepped};
use serde_json::{Value, json};

use crate::support::cutting_proxy::{Cut, CuttingProxy, Direction, Passed};
use crate::support::server::TestServer;

const ENVIRONMENT: &str = "puzzle/mastermind";
const LEASE_MS: u64 = 3_600_000;
const PIPELINED_STEPS: u64 = 4;
const COPIES: u64 = 2;

fn creation(run: RunId) -> CreateSession {
    serde_json::from_value(json!({
        "environment": ENVIRONMENT,
        "task": {"split": "train", "index": 3},
        "seed": 5,
        "run": run,
    }))
    .unwrap()
}

fn step(seq: u64, text: &str) -> Step {
    Step { seq: Some(seq), action: Action::Text(text.to_owned()), episode: None, observe: None, meta: None }
}

/// Sends steps without waiting in between, as a client with a deep pipeline does.
async fn pipeline(stream: &Stream, session: SessionId, from_seq: u64, text: &str) {
    let mut pending = Vec::new();
    for seq in from_seq..from_seq + PIPELINED_STEPS {
        pending.push(stream.submit::<Stepped>("step", Some(session), None, &step(seq, text)).await.unwrap());
    }
    for (seq, sent) in (from_seq..).zip(pending) {
        assert_eq!(sent.answer().await.unwrap().seq, seq);
    }
}

/// One session's whole life over a stream: every creating operation, and steps between them.
async fn scenario(stream: &Stream, run: RunId) {
    let Created::One(opened) = stream.create(&creation(run)).await.unwrap() else { panic!("one session") };
    let session = opened.id;
    pipeline(stream, session, 1, "1 1 2 2").await;
    let fork = Fork { count: Some(COPIES), ..Fork::default() };
    for copy in stream.fork(session, &fork).await.unwrap() {
        stream.step(copy.id, &step(PIPELINED_STEPS + 1, "3 3 4 4")).await.unwrap();
    }
    stream.verify(session).await.unwrap();
    let task = TaskChoice { split: Some("train".to_owned()), index: Some(4), ..TaskChoice::default() };
    stream.reset(session, &Reset { task: Some(task), seed: None }).await.unwrap();
    pipeline(stream, session, 1, "1 2 3 4").await;
    stream.verify(session).await.unwrap();
    stream.close(session).await.unwrap();
}

/// Everything that the server kept of a run, without what differs between any two runs: ids, times and timings.
async fn record(client: &Client, run: RunId) -> Value {
    let sessions = client.sessions(&SessionQuery { run: Some(run), ..SessionQuery::default() }).await.unwrap().data;
    let mut episodes = client.episodes(&EpisodeQuery { run: Some(run), ..EpisodeQuery::default() }).await.unwrap().data;
    episodes.reverse();
    let mut trajectories = Vec::new();
    for episode in &episodes {
        let trajectory = client.trajectory(episode.id).await.unwrap();
        let steps: Vec<Value> = trajectory
            .steps
            .iter()
            .map(|step| {
                json!([
                    step.seq,
                    step.action,
                    step.answer.observation,
                    step.answer.messages,
                    step.answer.reward,
                    step.answer.terminated,
                    step.answer.truncated,
                    step.answer.stop_reason
                ])
            })
            .collect();
        let verdict = episode.verdict.as_ref().map(|verdict| json!([verdict.status, verdict.score, verdict.state]));
        trajectories.push(json!({
            "task": episode.task, "attempt": episode.attempt, "seed": episode.seed, "seq": episode.seq,
            "from": episode.origin.map(|origin| origin.seq), "verdict": verdict, "steps": steps,
        }));
    }
    let states: Vec<_> = sessions.iter().map(|session| (session.state, session.episodes)).collect();
    json!({"sessions": states, "episodes": trajectories})
}

/// Plays the scenario through a proxy that cuts, and answers what the server kept and what went through.
async fn play(server: &TestServer, cuts: Vec<Cut>) -> (Value, Passed) {
    let client = server.client();
    let run = client.create_run(&CreateRun { id: None, lease_ms: LEASE_MS }).await.unwrap().id;
    let proxy = CuttingProxy::start(server.address().to_string(), cuts).await;
    let options = Options { backoff_ms: 1, backoff_max_ms: 10, ..Options::default() };
    let stream = Stream::connect(&proxy.url, Some(server.key()), options).await.unwrap();
    scenario(&stream, run).await;
    (record(&client, run).await, proxy.passed())
}

#[tokio::test]
async fn stream_cut_at_every_frame_boundary_changes_nothing() {
    let server = TestServer::start().await;
    let (expected, whole) = play(&server, Vec::new()).await;
    assert_eq!(expected["sessions"].as_array().unwrap().len() as u64, 1 + COPIES);
    assert_eq!(expected["episodes"].as_array().unwrap().len() as u64, 2 + COPIES);
    assert!(whole.to_server > 10 && whole.to_client > 10, "{whole:?}");
    for (direction, frames) in [(Direction::ToServer, whole.to_server), (Direction::ToClient, whole.to_client)] {
        for frames in 0..frames {
            // The second connection is cut as well, in the middle of what is sent again.
            let again = Cut { direction, frames: frames / 2 };
            let (found, passed) = play(&server, vec![Cut { direction, frames }, again]).await;
            assert!(passed.cuts >= 1, "the cut after frame {frames} {direction:?} was never made");
            assert_eq!(found, expected, "cut after frame {frames} {direction:?}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn stream_cut_repeats_sent_while_the_first_is_running_get_its_answer() {
    const REPEATS: usize = 8;
    let server = TestServer::start().await;
    let client = server.client();
    let run = client.create_run(&CreateRun { id: None, lease_ms: LEASE_MS }).await.unwrap().id;
    let clients: Vec<Client> = (0..REPEATS).map(|_| server.client()).collect();

    let request = creation(run);
    let created = join_all(clients.iter().map(|client| client.create(&request, Some("creation")))).await;
    let ids: Vec<SessionId> = created
        .into_iter()
        .map(|created| match created.unwrap() {
            Created::One(opened) => opened.id,
            Created::Many(_) => panic!("one session"),
        })
        .collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let session = ids[0];

    let turn = step(1, "1 1 2 2");
    let answers = join_all(clients.iter().map(|client| client.step(session, &turn))).await;
    let first = answers[0].as_ref().unwrap();
    for answer in &answers {
        let answer = answer.as_ref().unwrap();
        assert_eq!((answer.seq, &answer.observation), (1, &first.observation));
    }
    assert_eq!(client.session(session).await.unwrap().seq, Some(1));

    let fork = Fork { count: Some(COPIES), ..Fork::default() };
    let forks = join_all(clients.iter().map(|client| client.fork(session, &fork, Some("fork")))).await;
    let copies: Vec<Vec<SessionId>> =
        forks.into_iter().map(|copies| copies.unwrap().iter().map(|copy| copy.id).collect()).collect();
    assert!(copies.iter().all(|ids| *ids == copies[0] && ids.len() as u64 == COPIES), "{copies:?}");

    let reset = Reset::default();
    let resets = join_all(clients.iter().map(|client| client.reset(session, &reset, Some("reset")))).await;
    let episodes: Vec<_> = resets.into_iter().map(|opened| opened.unwrap().episode).collect();
    assert!(episodes.iter().all(|episode| *episode == episodes[0]), "{episodes:?}");

    let query = SessionQuery { run: Some(run), ..SessionQuery::default() };
    assert_eq!(client.sessions(&query).await.unwrap().data.len() as u64, 1 + COPIES);
    assert_eq!(client.session(session).await.unwrap().episodes, 2);
    server.stop().await;
}
