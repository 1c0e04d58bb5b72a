//! Runs, keys, answers, definitions and nodes: rows that the recorder does not write.

use std::collections::BTreeMap;

use palestra_protocol::id::{KeyId, RunId, SessionId};
use palestra_protocol::key::Scope;
use palestra_protocol::run::{RunPlan, RunState};
use serde_json::{Value, json};

use super::super::row::{DefinitionRow, KeyRow, NodeRow, PageRequest, Record, RunRow};
use super::super::{Durability, StoreError};
use super::Fixture;
use super::sample::{NODE, TENANT, answer, at, opened, opening};

pub(super) fn run(tenant: &str, id: RunId) -> RunRow {
    RunRow {
        id,
        tenant: tenant.to_owned(),
        state: RunState::Active,
        lease_ms: 5_000,
        lease_expires_at: at(5_000),
        created_at: at(0),
        plan: None,
    }
}

pub(super) async fn a_run_lives_until_it_ends(fixture: &mut Fixture) {
    let store = &fixture.store;
    let (first, second) = (RunId::new(), RunId::new());
    store.create_run(&run(TENANT, first)).await.expect("it is new");
    store.create_run(&run(TENANT, second)).await.expect("it is new");
    assert_eq!(store.runs_active().await.expect("runs").len(), 2);
    let plan =
        RunPlan { policy: "builtin:null".to_owned(), split: Some("test".to_owned()), seed: Some(7), episodes: 9 };
    assert!(!store.plan_run("tenant-2", first, &plan).await.expect("an answer"));
    assert!(store.plan_run(TENANT, first, &plan).await.expect("an answer"));
    assert!(!store.renew_run("tenant-2", first, at(9_000)).await.expect("an answer"));
    assert!(store.renew_run(TENANT, first, at(9_000)).await.expect("an answer"));
    // The reaper saw the old lease; the renewal came before its end.
    assert!(!store.end_run(TENANT, first, RunState::Expired, Some(at(9_000))).await.expect("an answer"));
    assert!(store.end_run(TENANT, first, RunState::Expired, Some(at(9_001))).await.expect("an answer"));
    assert!(!store.end_run(TENANT, first, RunState::Deleted, None).await.expect("an answer"));
    assert!(!store.renew_run(TENANT, first, at(99_000)).await.expect("an answer"));
    let stored = store.run(TENANT, first).await.expect("a query").expect("it is there");
    assert!(!store.plan_run(TENANT, first, &plan).await.expect("an answer"));
    let plan = Some(plan);
    assert_eq!(stored, RunRow { state: RunState::Expired, lease_expires_at: at(9_000), plan, ..run(TENANT, first) });
    assert_eq!(store.run("tenant-2", first).await.expect("a query"), None);
    assert!(!store.end_run("tenant-2", second, RunState::Deleted, None).await.expect("an answer"));
    assert!(store.end_run(TENANT, second, RunState::Deleted, None).await.expect("an answer"));
    assert_eq!(store.runs_active().await.expect("runs"), []);
}

pub(super) async fn a_run_that_exists_is_answered(fixture: &mut Fixture) {
    let store = &fixture.store;
    let row = run(TENANT, RunId::new());
    assert_eq!(store.create_run(&row).await.expect("it is new"), row);
    let other_lease = RunRow { lease_ms: 1, ..row.clone() };
    assert_eq!(store.create_run(&other_lease).await.expect("it is there"), row);
    // Ids are the callers' own, so another tenant may use the same.
    let foreign = run("tenant-2", row.id);
    assert_eq!(store.create_run(&foreign).await.expect("it is new"), foreign);
}

pub(super) async fn keys_are_listed_and_revoked_once(fixture: &mut Fixture) {
    let store = &fixture.store;
    let key = |name: &str| KeyRow {
        id: KeyId::new(),
        tenant: TENANT.to_owned(),
        name: name.to_owned(),
        scopes: vec![Scope::Sessions, Scope::StateRead],
        mac: vec![0, 255, 7],
        created_at: at(0),
        expires_at: Some(at(100)),
        revoked_at: None,
    };
    let keys = [key("first"), key("second"), KeyRow { expires_at: None, ..key("third") }];
    for row in &keys {
        store.create_key(row).await.expect("it is new");
    }
    assert!(matches!(store.create_key(&keys[0]).await, Err(StoreError::Exists("key"))));
    assert_eq!(store.key(keys[1].id).await.expect("a key").as_ref(), Some(&keys[1]));
    let page = PageRequest { before: Some(keys[2].id.to_string()), limit: 9 };
    let found = store.keys(TENANT, &page).await.expect("keys");
    assert_eq!(found, [keys[1].clone(), keys[0].clone()]);
    assert!(!store.revoke_key("tenant-2", keys[0].id, at(1)).await.expect("an answer"));
    assert!(store.revoke_key(TENANT, keys[0].id, at(2)).await.expect("an answer"));
    assert!(store.revoke_key(TENANT, keys[0].id, at(3)).await.expect("an answer"));
    let revoked = store.key(keys[0].id).await.expect("a key").expect("it is there");
    assert_eq!(revoked.revoked_at, Some(at(2)));
}

pub(super) async fn old_answers_are_forgotten(fixture: &mut Fixture) {
    let answers = [answer("old", 0), answer("new", 10)].map(|row| Record::Answer(Box::new(row)));
    fixture.commit(&answers).await.expect("they are new");
    let store = &fixture.store;
    assert_eq!(store.delete_answers(at(10)).await.expect("a number"), 1);
    assert_eq!(store.answer(TENANT, "create", "old").await.expect("a query"), None);
    assert!(store.answer(TENANT, "create", "new").await.expect("a query").is_some());
    assert_eq!(store.answer(TENANT, "fork", "new").await.expect("a query"), None);
    assert_eq!(store.answer("tenant-2", "create", "new").await.expect("a query"), None);
}

fn definition(name: &str, digest: &str) -> DefinitionRow {
    DefinitionRow {
        tenant: TENANT.to_owned(),
        name: name.to_owned(),
        version: 0,
        digest: digest.to_owned(),
        definition: json!({"verifier": "exact", "nul": "\u{0}"}),
        splits: BTreeMap::from([("test".to_owned(), 1), ("train".to_owned(), 2)]),
        created_at: at(0),
    }
}

fn rows() -> Vec<(String, Vec<Value>)> {
    vec![("train".to_owned(), vec![json!({"a": 1}), json!("\u{0}")]), ("test".to_owned(), vec![json!([null])])]
}

pub(super) async fn a_definition_gets_versions(fixture: &mut Fixture) {
    let store = &fixture.store;
    let first = definition("dataset/a", "sha256:1");
    let (stored, new) = store.publish(&first, &rows()).await.expect("it is new");
    assert_eq!((stored.clone(), new), (DefinitionRow { version: 1, ..first.clone() }, true));
    assert_eq!(store.publish(&first, &rows()).await.expect("it is there"), (stored.clone(), false));
    let (second, new) = store.publish(&definition("dataset/a", "sha256:2"), &rows()).await.expect("it is new");
    assert_eq!((second.version, new), (2, true));
    // Going back to earlier content is a version too: versions only rise.
    let (third, new) = store.publish(&first, &rows()).await.expect("it is new");
    assert_eq!((third.version, new), (3, true));
    let (other, _) = store.publish(&definition("dataset/B", "sha256:1"), &[]).await.expect("it is new");
    let foreign = DefinitionRow { tenant: "tenant-2".to_owned(), ..first };
    assert_eq!(store.publish(&foreign, &rows()).await.expect("it is new").0.version, 1);

    assert_eq!(store.definition(TENANT, "dataset/a", Some(1)).await.expect("a query"), Some(stored));
    assert_eq!(store.definition(TENANT, "dataset/a", None).await.expect("a query"), Some(third.clone()));
    assert_eq!(store.definition(TENANT, "dataset/a", Some(u32::MAX)).await.expect("a query"), None);
    assert_eq!(store.definition(TENANT, "dataset/c", None).await.expect("a query"), None);
    assert_eq!(store.definitions(TENANT).await.expect("a query"), [other, third]);
    assert_eq!(store.task_row("sha256:1", "train", 1).await.expect("a query"), Some(json!("\u{0}")));
    assert_eq!(store.task_row("sha256:1", "train", 2).await.expect("a query"), None);
    assert_eq!(store.task_row("sha256:1", "train", u64::MAX).await.expect("a query"), None);
    assert_eq!(store.task_row("sha256:9", "train", 0).await.expect("a query"), None);
}

pub(super) async fn a_withdrawn_version_is_found_by_its_number_alone(fixture: &mut Fixture) {
    let store = &fixture.store;
    let (first, _) = store.publish(&definition("dataset/a", "sha256:1"), &rows()).await.expect("it is new");
    let (second, _) = store.publish(&definition("dataset/a", "sha256:2"), &rows()).await.expect("it is new");
    for _ in 0..2 {
        assert!(store.withdraw(TENANT, "dataset/a", 2, at(5)).await.expect("an update"));
    }
    assert!(!store.withdraw(TENANT, "dataset/a", 3, at(5)).await.expect("an update"));
    assert!(!store.withdraw("tenant-2", "dataset/a", 1, at(5)).await.expect("an update"));
    assert_eq!(store.definition(TENANT, "dataset/a", None).await.expect("a query"), Some(first.clone()));
    assert_eq!(store.definition(TENANT, "dataset/a", Some(2)).await.expect("a query"), Some(second.clone()));
    assert_eq!(store.definitions(TENANT).await.expect("a query"), std::slice::from_ref(&first));
    assert_eq!(store.publish(&first, &rows()).await.expect("it is there"), (first, false));

    assert!(store.withdraw(TENANT, "dataset/a", 1, at(6)).await.expect("an update"));
    assert_eq!(store.definition(TENANT, "dataset/a", None).await.expect("a query"), None);
    assert_eq!(store.definitions(TENANT).await.expect("a query"), []);
    assert_eq!(store.last_version(TENANT, "dataset/a").await.expect("a query"), Some(2));
    assert_eq!(store.last_version(TENANT, "dataset/c").await.expect("a query"), None);
    // Numbers are never given twice, also for content that was withdrawn.
    let (third, new) = store.publish(&second, &rows()).await.expect("it is new");
    assert_eq!((third.version, new), (3, true));
}

pub(super) async fn concurrent_publications_get_distinct_versions(fixture: &mut Fixture) {
    let store = &fixture.store;
    let publications = (0..8).map(|number| async move {
        let row = definition("dataset/a", &format!("sha256:{number}"));
        store.publish(&row, &rows()).await.expect("each is new").0.version
    });
    let mut versions = futures::future::join_all(publications).await;
    versions.sort_unstable();
    assert_eq!(versions, (1..=8).collect::<Vec<_>>());
}

pub(super) async fn a_hundred_thousand_rows_are_published(fixture: &mut Fixture) {
    const ROWS: usize = 100_000;
    let question = "What is the sum of these numbers, given that each is counted twice and then halved? ".repeat(2);
    let rows: Vec<Value> =
        (0..ROWS).map(|index| json!({"prompt": format!("{question}{index}"), "answer": index})).collect();
    let rows = [("train".to_owned(), rows)];
    let row = definition("dataset/large", "sha256:large");
    let (session, episode) = opened();
    let records = opening(&session, &episode);
    let began = std::time::Instant::now();
    // A commit goes through while the publication is under way.
    let (published, committed) = tokio::join!(fixture.store.publish(&row, &rows), async {
        fixture.commit(&records).await.map(|()| began.elapsed())
    });
    let took = began.elapsed();
    let waited = committed.expect("the commit has its turn");
    eprintln!("{ROWS} rows in {took:?}; a concurrent commit after {waited:?}");
    assert!(published.expect("it is new").1);
    assert!(waited < took, "the commit came between the rows");
    for index in [0, 1, 2_047, 2_048, 50_000, ROWS - 1] {
        let stored = fixture.store.task_row("sha256:large", "train", index as u64).await.expect("a query");
        assert_eq!(stored, Some(rows[0].1[index].clone()));
    }
}

pub(super) async fn only_the_last_incarnation_holds_a_node(fixture: &mut Fixture) {
    let (session, episode) = opened();
    let records = opening(&session, &episode);
    let second = NodeRow { id: NODE.to_owned(), incarnation: "second".to_owned() };
    fixture.store.beat(&fixture.node, at(1)).await.expect("the node is ours");
    assert_eq!(fixture.store.node_beat(NODE).await.expect("a query"), Some(at(1)));
    let other = fixture.open_again().await;
    other.claim_node(&second).await.expect("a node can always be taken");
    for durability in [Durability::Process, Durability::Disk] {
        let fenced = fixture.store.commit(&fixture.node, &[records.to_vec()].into(), durability).await;
        assert!(matches!(fenced, Err(StoreError::Fenced)), "{fenced:?}");
    }
    let fenced = fixture.store.beat(&fixture.node, at(2)).await;
    assert!(matches!(fenced, Err(StoreError::Fenced)), "{fenced:?}");
    assert_eq!(other.session(TENANT, session.id).await.expect("a query"), None);
    other.commit(&second, &[records.to_vec()].into(), Durability::Process).await.expect("the node is theirs");
    other.beat(&second, at(3)).await.expect("the node is theirs");
    assert_eq!(fixture.store.node_beat(NODE).await.expect("a query"), Some(at(3)));
    assert_eq!(fixture.store.node_beat("node-9").await.expect("a query"), None);
    let unknown = NodeRow { id: "node-9".to_owned(), incarnation: "first".to_owned() };
    let fenced = fixture.store.commit(&unknown, &[Vec::new()].into(), Durability::Process).await;
    assert!(matches!(fenced, Err(StoreError::Fenced)), "{fenced:?}");
    other.close().await;
}

pub(super) async fn a_session_is_adopted_once(fixture: &mut Fixture) {
    let (session, episode) = opened();
    fixture.commit(&opening(&session, &episode)).await.expect("they are new");
    let store = &fixture.store;
    assert!(store.adopt_session(session.id, NODE, "node-2").await.expect("an answer"));
    assert!(!store.adopt_session(session.id, NODE, "node-3").await.expect("an answer"));
    assert!(!store.adopt_session(SessionId::new(), NODE, "node-3").await.expect("an answer"));
    assert_eq!(store.sessions_open("node-2").await.expect("a number"), 1);
}
