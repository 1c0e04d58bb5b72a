//! Durability of commits, and reads during writes.

use std::sync::Arc;

use futures::FutureExt as _;

use super::super::row::{PageRequest, SessionFilter};
use super::super::{Durability, StoreError};
use super::Fixture;
use super::sample::{TENANT, opened, opening, recorded, step};

pub(super) async fn all_is_there_after_reopening(fixture: &mut Fixture) {
    let (session, episode) = opened();
    fixture.commit(&opening(&session, &episode)).await.expect("they are new");
    fixture.commit(&[recorded(step(episode.id, 1))]).await.expect("it is new");
    fixture.reopen().await;
    assert_eq!(fixture.store.session(TENANT, session.id).await.expect("a query"), Some(session));
    assert_eq!(fixture.store.last_step(episode.id).await.expect("a query"), Some(step(episode.id, 1)));
    fixture.commit(&[recorded(step(episode.id, 2))]).await.expect("the node is still ours");
}

pub(super) async fn readers_go_on_while_one_writes(fixture: &mut Fixture) {
    const COMMITS: u64 = 40;
    let (session, episode) = opened();
    fixture.commit(&opening(&session, &episode)).await.expect("they are new");
    let store = Arc::clone(&fixture.store);
    let page = PageRequest { before: None, limit: 10 };
    let filter = SessionFilter::default();
    let write = async {
        for seq in 1..=COMMITS {
            fixture.commit(&[recorded(step(episode.id, seq))]).await.expect("it is new");
        }
    };
    let read = async {
        let mut seen = 0;
        while seen < COMMITS {
            let (steps, sessions) =
                tokio::join!(store.steps(episode.id, 1, u64::MAX, 1_000), store.sessions(TENANT, &filter, &page));
            let steps = steps.expect("readers never fail");
            assert_eq!(sessions.expect("readers never fail").len(), 1);
            let numbers: Vec<u64> = steps.iter().map(|step| step.seq).collect();
            assert_eq!(numbers, (1..=steps.len() as u64).collect::<Vec<_>>(), "there is never a hole");
            assert!(steps.len() as u64 >= seen, "nothing that was seen goes away");
            seen = steps.len() as u64;
        }
    };
    tokio::join!(write, read, read_again(&fixture.store));
}

async fn read_again(store: &Arc<super::Store>) {
    for _ in 0..50 {
        store.ping().await.expect("readers never fail");
    }
}

pub(super) async fn an_abandoned_commit_leaves_no_half(fixture: &mut Fixture) {
    let (session, episode) = opened();
    let records = opening(&session, &episode);
    // Polled, the commit is under way, if it is not done; dropping it then must leave neither half of it nor a lock.
    for polls in 1..8 {
        let mut commit = Box::pin(fixture.commit(&records));
        for _ in 0..polls {
            if (&mut commit).now_or_never().is_some() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    let again = fixture.commit(&records).await;
    assert!(matches!(again, Ok(()) | Err(StoreError::Exists("session"))), "{again:?}");
    assert!(fixture.store.session(TENANT, session.id).await.expect("a query").is_some());
    assert!(fixture.store.episode(TENANT, episode.id).await.expect("a query").is_some());
}

pub(super) async fn a_flush_works_at_any_time(fixture: &mut Fixture) {
    let store = &fixture.store;
    store.flush().await.expect("nothing to do is fine");
    let (session, episode) = opened();
    let records = opening(&session, &episode);
    let (committed, flushed) = tokio::join!(fixture.commit(&records), store.flush());
    committed.expect("they are new");
    flushed.expect("a flush beside a commit is fine");
    store.flush().await.expect("a flush after a commit is fine");
    let records = [recorded(step(episode.id, 1))];
    store.commit(&fixture.node, &[records.to_vec()].into(), Durability::Disk).await.expect("it is new");
    store.flush().await.expect("a flush after a durable commit is fine");
}

pub(super) async fn a_closed_store_fails(fixture: &mut Fixture) {
    let (session, episode) = opened();
    fixture.store.ping().await.expect("it is open");
    fixture.store.close().await;
    assert!(matches!(fixture.store.ping().await, Err(StoreError::Engine(_))));
    assert!(matches!(fixture.commit(&opening(&session, &episode)).await, Err(StoreError::Engine(_))));
    assert!(matches!(fixture.store.flush().await, Err(StoreError::Engine(_))));
}
