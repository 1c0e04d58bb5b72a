//! Model calls, and the upstreams that they go to.

use palestra_protocol::id::{CallId, SessionId};
use palestra_protocol::model_call::{CallKind, CallOutcome};
use palestra_protocol::upstream::{Budget, Dialect, Price, PutUpstream, Spent};

use super::super::row::{ModelCallRow, Record, SessionRow, UpstreamRow};
use super::Fixture;
use super::sample::{TENANT, at, opened, opening};

fn model_call(session: &SessionRow, seq: u64, cost: f64) -> ModelCallRow {
    ModelCallRow {
        id: CallId::new(),
        tenant: session.tenant.clone(),
        session: session.id,
        episode: session.episode,
        seq,
        kind: CallKind::Messages,
        upstream: "local".to_owned(),
        model: "policy".to_owned(),
        policy_version: Some("step-7".to_owned()),
        outcome: CallOutcome::Completed,
        status: 200,
        error: Some("none \u{fffd}".to_owned()),
        finish_reason: Some("end_turn".to_owned()),
        streamed: true,
        begun_at: at(i64::try_from(seq).expect("small")),
        first_us: Some(7),
        duration_us: 9,
        input_tokens: 3,
        output_tokens: 2,
        cost,
        request: r#"{"model":"m"}"#.to_owned(),
        response: Some(r#"{"a":"\u0000"}"#.to_owned()),
        prompt_token_ids: Some("[1,2,3]".to_owned()),
        completion_token_ids: Some("[4,5]".to_owned()),
        logprobs: Some("[-0.5,-0.25]".to_owned()),
    }
}

pub(super) async fn model_calls_are_read_in_order_and_summed(fixture: &mut Fixture) {
    let (session, episode) = opened();
    let first = model_call(&session, 1, 0.5);
    let bare = ModelCallRow {
        policy_version: None,
        error: None,
        finish_reason: None,
        first_us: None,
        response: None,
        prompt_token_ids: None,
        completion_token_ids: None,
        logprobs: None,
        streamed: false,
        ..model_call(&session, 2, 0.25)
    };
    let calls = [first, bare, model_call(&session, 3, 0.0)];
    let mut records = opening(&session, &episode).to_vec();
    records.extend(calls.iter().rev().map(|row| Record::ModelCall(Box::new(row.clone()))));
    fixture.commit(&records).await.expect("they are new");
    let store = &fixture.store;
    let read = async |before, after, limit| store.model_calls(episode.id, before, after, limit).await.expect("calls");
    assert_eq!(read(None, None, 9).await, calls);
    assert_eq!(read(Some(3), None, 9).await, calls[..2]);
    assert_eq!(read(None, Some(calls[0].id), 1).await, calls[1..2]);
    let spent = store.spent_in_session(session.id).await.expect("sums");
    assert_eq!(spent, Spent { calls: 3, tokens: 15, cost: 0.75 });
    assert_eq!(store.spent_in_session(SessionId::new()).await.expect("sums"), Spent::default());
    let since = async |tenant, upstream, at| store.spent_on_upstream(tenant, upstream, at).await.expect("sums");
    assert_eq!(since(TENANT, "local", at(2)).await, Spent { calls: 2, tokens: 10, cost: 0.25 });
    assert_eq!(since(TENANT, "other", at(2)).await, Spent::default());
    assert_eq!(since("tenant-2", "local", at(2)).await, Spent::default());
}

pub(super) async fn an_upstream_is_replaced_and_deleted(fixture: &mut Fixture) {
    let row = UpstreamRow {
        tenant: TENANT.to_owned(),
        name: "local".to_owned(),
        definition: PutUpstream {
            dialect: Dialect::Openai,
            url: "http://127.0.0.1:8000/v1".to_owned(),
            key: None,
            models: [("policy".to_owned(), "m".to_owned())].into(),
            extra: serde_json::Map::new(),
            price: Some(Price { input_per_million: 0.5, output_per_million: 1.5 }),
            budget: Some(Budget { calls: Some(7), ..Budget::default() }),
            calls_at_once: Some(3),
            silence_max_ms: Some(1_000),
        },
        sealed_key: vec![0, 255, 7],
        updated_at: at(1),
    };
    let other = UpstreamRow { tenant: "tenant-2".to_owned(), sealed_key: Vec::new(), ..row.clone() };
    let store = &fixture.store;
    for row in [&row, &other] {
        store.put_upstream(row).await.expect("a row");
    }
    assert_eq!(store.upstreams(TENANT).await.expect("rows"), std::slice::from_ref(&row));
    let replaced = UpstreamRow { sealed_key: vec![1], updated_at: at(2), ..row };
    store.put_upstream(&replaced).await.expect("a row");
    assert_eq!(store.upstream(TENANT, "local").await.expect("a query"), Some(replaced));
    assert!(store.delete_upstream(TENANT, "local").await.expect("an answer"));
    assert!(!store.delete_upstream(TENANT, "local").await.expect("an answer"));
    assert_eq!(store.upstreams("tenant-2").await.expect("rows"), [other]);
}
