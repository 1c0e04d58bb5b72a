//! Lists: filters, pages, ranges, orders, and whose rows they show.

use palestra_protocol::episode::{EpisodeState, Origin};
use palestra_protocol::id::{EpisodeId, KeyId, RunId, SessionId};
use palestra_protocol::run::RunState;
use palestra_protocol::session::{CloseReason, SessionState};
use palestra_protocol::verdict::Status;

use super::super::row::{EpisodeFilter, EpisodeRow, PageRequest, Record, RunTotals, SessionFilter, SessionRow};
use super::Fixture;
use super::others::run;
use super::sample::{
    NODE, TENANT, at, closed, end, episode, judged, opened, opening, recorded, session, snapshot, step, verdict,
};

const ALL: PageRequest = PageRequest { before: None, limit: 1_000 };

/// Opens `count` sessions and answers them, oldest first.
async fn open_many(fixture: &Fixture, count: usize, change: impl Fn(usize, &mut SessionRow)) -> Vec<SessionRow> {
    let mut sessions = Vec::new();
    let mut records = Vec::new();
    for place in 0..count {
        let mut row = session();
        change(place, &mut row);
        records.extend(opening(&row, &episode(&row, 1)));
        sessions.push(row);
    }
    fixture.commit(&records).await.expect("they are new");
    sessions
}

fn ids(sessions: &[SessionRow]) -> Vec<SessionId> {
    sessions.iter().map(|session| session.id).collect()
}

pub(super) async fn a_tenant_finds_nothing_of_another(fixture: &mut Fixture) {
    let (session, episode) = opened();
    let named = snapshot(&session, None);
    let mut records = opening(&session, &episode).to_vec();
    records.push(Record::Snapshot(Box::new(named.clone())));
    fixture.commit(&records).await.expect("they are new");
    let store = &fixture.store;
    let other = "tenant-2";
    assert_eq!(store.session(other, session.id).await.expect("a query"), None);
    // An id is taken for all of them.
    assert!(store.is_session_taken(session.id).await.expect("a query"));
    assert!(!store.is_session_taken(SessionId::new()).await.expect("a query"));
    assert_eq!(store.episode(other, episode.id).await.expect("a query"), None);
    assert_eq!(store.snapshot(other, named.id).await.expect("a query"), None);
    assert_eq!(store.sessions(other, &SessionFilter::default(), &ALL).await.expect("a query"), []);
    assert_eq!(store.episodes(other, &EpisodeFilter::default(), &ALL).await.expect("a query"), []);
    let filter = SessionFilter { run: session.run, ..SessionFilter::default() };
    assert_eq!(store.sessions(other, &filter, &ALL).await.expect("a query"), []);
    let run = session.run.expect("a run");
    assert_eq!(store.sessions_of_run(other, run, None, 9).await.expect("a query"), []);
    assert_eq!(store.keys(other, &ALL).await.expect("a query"), []);
    assert_eq!(store.key(KeyId::new()).await.expect("a query"), None);
}

pub(super) async fn pages_are_stable_while_rows_come(fixture: &mut Fixture) {
    let mut expected = ids(&open_many(fixture, 25, |_, _| {}).await);
    expected.reverse();
    let mut found = Vec::new();
    let mut page = PageRequest { before: None, limit: 10 };
    loop {
        let rows = fixture.store.sessions(TENANT, &SessionFilter::default(), &page).await.expect("a page");
        // Rows that are inserted after the first page are newer and do not move the others.
        open_many(fixture, 3, |_, _| {}).await;
        let Some(last) = rows.last() else { break };
        page.before = Some(last.id.to_string());
        found.extend(ids(&rows));
    }
    assert_eq!(found, expected);
    let garbage = PageRequest { before: Some("'; DROP TABLE sessions; --\0".to_owned()), limit: 10 };
    assert_eq!(fixture.store.sessions(TENANT, &SessionFilter::default(), &garbage).await.expect("a page"), []);
}

pub(super) async fn filters_combine(fixture: &mut Fixture) {
    let run = RunId::new();
    let sessions = open_many(fixture, 4, |place, row| {
        row.run = (place < 3).then_some(run);
        row.version = if place == 1 { 4 } else { 3 };
        row.task = format!("train-{place}").into();
    })
    .await;
    let store = &fixture.store;
    fixture.commit(&[closed(sessions[0].id, CloseReason::Deleted, 9)]).await.expect("it is open");
    let find = async |filter: SessionFilter| ids(&store.sessions(TENANT, &filter, &ALL).await.expect("a query"));
    let of_run = SessionFilter { run: Some(run), ..SessionFilter::default() };
    assert_eq!(find(of_run.clone()).await, [sessions[2].id, sessions[1].id, sessions[0].id]);
    let open = SessionFilter { state: Some(SessionState::Open), ..of_run.clone() };
    assert_eq!(find(open.clone()).await, [sessions[2].id, sessions[1].id]);
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(find(SessionFilter { environment: named("puzzle/countdown@4"), ..open }).await, [sessions[1].id]);
    assert_eq!(find(SessionFilter { environment: named("puzzle/countdown@x"), ..of_run.clone() }).await, []);
    assert_eq!(find(SessionFilter { environment: named("puzzle/countdown"), ..of_run.clone() }).await.len(), 3);
    assert_eq!(find(SessionFilter { task: named("train-2"), ..of_run.clone() }).await, [sessions[2].id]);
    assert_eq!(find(SessionFilter { group: sessions[3].group, ..SessionFilter::default() }).await, [sessions[3].id]);

    let judged_one = &sessions[1];
    let verdict = verdict(judged_one, judged_one.episode, "sha256:a", Some(1.0));
    fixture.commit(&[end(judged_one.episode, 0), judged(verdict)]).await.expect("it runs");
    let wanted = EpisodeFilter {
        run: Some(run),
        group: judged_one.group,
        environment: named("puzzle/countdown@4"),
        task: named("train-1"),
        session: Some(judged_one.id),
        state: Some(EpisodeState::Ended),
        status: Some(Status::Scored),
        score_min: Some(1.0),
        score_max: Some(1.0),
    };
    let found = store.episodes(TENANT, &wanted, &ALL).await.expect("a query");
    assert_eq!(found.iter().map(|row| row.id).collect::<Vec<_>>(), [judged_one.episode]);
    let other_status = EpisodeFilter { status: Some(Status::Invalid), ..wanted.clone() };
    let lower = EpisodeFilter { score_min: None, score_max: Some(0.9), ..wanted };
    for unwanted in [other_status, lower] {
        assert_eq!(store.episodes(TENANT, &unwanted, &ALL).await.expect("a query"), []);
    }
}

pub(super) async fn runs_are_listed_with_what_their_episodes_came_to(fixture: &mut Fixture) {
    let store = &fixture.store;
    let (mut empty, mut scored) = (run(TENANT, RunId::new()), run(TENANT, RunId::new()));
    if empty.id < scored.id {
        std::mem::swap(&mut empty, &mut scored);
    }
    for row in [&empty, &scored, &run("tenant-2", RunId::new())] {
        store.create_run(row).await.expect("it is new");
    }
    store.end_run(TENANT, scored.id, RunState::Deleted, None).await.expect("it is active");
    let sessions = open_many(fixture, 3, |_, row| row.run = Some(scored.id)).await;
    for (session, score) in sessions.iter().zip([1.0, 0.5]) {
        let verdict = verdict(session, session.episode, "sha256:a", Some(score));
        fixture.commit(&[end(session.episode, 0), judged(verdict)]).await.expect("it runs");
    }
    let find = async |state, page: &PageRequest| -> Vec<RunId> {
        store.runs(TENANT, state, page).await.expect("a query").iter().map(|run| run.id).collect()
    };
    assert_eq!(find(None, &ALL).await, [empty.id, scored.id]);
    assert_eq!(find(Some(RunState::Deleted), &ALL).await, [scored.id]);
    assert_eq!(find(None, &PageRequest { before: Some(empty.id.to_string()), limit: 1 }).await, [scored.id]);
    let totals = store.run_totals(TENANT, scored.id, empty.id).await.expect("a query");
    let environment = sessions[0].environment.to_string();
    let expected =
        RunTotals { run: scored.id, episodes: 3, scored: 2, mean_score: Some(0.75), environment, environments: 1 };
    assert_eq!(totals, [expected]);
    assert_eq!(store.run_totals("tenant-2", scored.id, empty.id).await.expect("a query"), []);
}

pub(super) async fn steps_are_read_in_ranges(fixture: &mut Fixture) {
    let (session, episode) = opened();
    fixture.commit(&opening(&session, &episode)).await.expect("they are new");
    fixture.commit(&(1..=9).map(|seq| recorded(step(episode.id, seq))).collect::<Vec<_>>()).await.expect("new");
    let read = async |from, to, limit| -> Vec<u64> {
        let steps = fixture.store.steps(episode.id, from, to, limit).await.expect("steps");
        steps.iter().map(|step| step.seq).collect()
    };
    assert_eq!(read(3, 5, 100).await, [3, 4, 5]);
    assert_eq!(read(0, u64::MAX, 2).await, [1, 2]);
    assert!(read(9, 1, 100).await.is_empty());
    assert!(read(u64::MAX, u64::MAX, 100).await.is_empty());
    assert!(read(1, 9, 0).await.is_empty());
    assert_eq!(fixture.store.last_step(EpisodeId::new()).await.expect("a query"), None);
}

pub(super) async fn steps_go_on_after_their_origin(fixture: &mut Fixture) {
    let (parent, first) = opened();
    let (child, second) = opened();
    let second = EpisodeRow { origin: Some(Origin { episode: first.id, seq: 4 }), ..second };
    fixture.commit(&[opening(&parent, &first), opening(&child, &second)].concat()).await.expect("they are new");
    assert_eq!(fixture.store.last_step(second.id).await.expect("a query"), None);
    let steps = (1..=9).map(|seq| step(first.id, seq)).chain((5..=7).map(|seq| step(second.id, seq)));
    fixture.commit(&steps.map(recorded).collect::<Vec<_>>()).await.expect("they are new");
    let read = async |from, to| -> Vec<u64> {
        let steps = fixture.store.steps(second.id, from, to, 100).await.expect("steps");
        steps.iter().map(|step| step.seq).collect()
    };
    assert_eq!(read(1, u64::MAX).await, [5, 6, 7]);
    assert_eq!(read(6, 6).await, [6]);
    assert!(read(1, 4).await.is_empty() && read(8, 9).await.is_empty());
    assert_eq!(fixture.store.last_step(second.id).await.expect("a query"), Some(step(second.id, 7)));
}

pub(super) async fn expired_sessions_come_oldest_first(fixture: &mut Fixture) {
    let sessions = open_many(fixture, 5, |place, row| {
        row.expires_at = at(1_000 - i64::try_from(place).expect("small"));
        row.node = if place == 4 { "node-2".into() } else { NODE.into() };
    })
    .await;
    fixture.commit(&[closed(sessions[3].id, CloseReason::Deleted, 9)]).await.expect("it is open");
    let store = &fixture.store;
    let expired = store.sessions_expired(NODE, at(999), 10).await.expect("a query");
    assert_eq!(ids(&expired), [sessions[2].id, sessions[1].id]);
    assert_eq!(store.sessions_expired(NODE, at(1_000), 1).await.expect("a query").len(), 1);
    assert_eq!(store.sessions_open(NODE).await.expect("a number"), 3);
    assert_eq!(store.sessions_open("node-9").await.expect("a number"), 0);
}

pub(super) async fn open_sessions_of_a_run_are_paged(fixture: &mut Fixture) {
    let run = RunId::new();
    let sessions = open_many(fixture, 5, |_, row| row.run = Some(run)).await;
    fixture.commit(&[closed(sessions[2].id, CloseReason::Deleted, 9)]).await.expect("it is open");
    let store = &fixture.store;
    let first = store.sessions_of_run(TENANT, run, None, 2).await.expect("a query");
    assert_eq!(ids(&first), [sessions[0].id, sessions[1].id]);
    let next = store.sessions_of_run(TENANT, run, Some(sessions[1].id), 9).await.expect("a query");
    assert_eq!(ids(&next), [sessions[3].id, sessions[4].id]);
}

pub(super) async fn snapshots_and_episodes_come_in_order(fixture: &mut Fixture) {
    let (session, first) = opened();
    fixture.commit(&opening(&session, &first)).await.expect("they are new");
    let episodes: Vec<EpisodeRow> = (2..=5).map(|ordinal| episode(&session, ordinal)).collect();
    let records: Vec<Record> = episodes.iter().map(|row| Record::Episode(Box::new(row.clone()))).collect();
    fixture.commit(&records).await.expect("they are new");
    let found = fixture.store.episodes_of_session(session.id, 3, 2).await.expect("a query");
    assert_eq!(found, episodes[1..3]);
    let snapshots = ["b", "a", "c"].map(|name| snapshot(&session, Some(name)));
    for row in &snapshots {
        fixture.commit(&[Record::Snapshot(Box::new(row.clone()))]).await.expect("it is new");
    }
    assert_eq!(fixture.store.snapshots(session.id).await.expect("a query"), snapshots);
}
