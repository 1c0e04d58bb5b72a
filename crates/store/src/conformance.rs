//! The conformance suite of the store, run against both engines.

mod durability;
mod files;
mod jobs;
mod lists;
mod model_calls;
mod others;
mod records;
mod sample;

use std::sync::Arc;

use super::row::{NodeRow, Record};
use super::{Durability, Store, StoreError, Target};
use palestra_test_support::postgres::Database;

/// A store of one test.
struct Fixture {
    store: Arc<Store>,
    node: NodeRow,
    target: Target,
    database: Option<Database>,
    folder: tempfile::TempDir,
}

impl Fixture {
    async fn sqlite() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let target = Target::Sqlite(folder.path().join("palestra.db"));
        Some(Self::open(target, None, folder).await)
    }

    async fn postgres() -> Option<Self> {
        let database = Database::create().await?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let target = Target::Postgres(database.url());
        Some(Self::open(target, Some(database), folder).await)
    }

    async fn open(target: Target, database: Option<Database>, folder: tempfile::TempDir) -> Self {
        let store = super::open(&target).await.expect("a fresh store opens");
        let node = NodeRow { id: "node-1".to_owned(), incarnation: "first".to_owned() };
        store.claim_node(&node).await.expect("the node is free");
        Self { store, node, target, database, folder }
    }

    /// Closes the store and opens it again, as a new process does.
    async fn reopen(&mut self) {
        self.store.close().await;
        self.store = self.open_again().await;
    }

    /// A second store on the same data.
    async fn open_again(&self) -> Arc<Store> {
        super::open(&self.target).await.expect("an existing store opens")
    }

    async fn commit(&self, records: &[Record]) -> Result<(), StoreError> {
        self.store.commit(&self.node, &[records.to_vec()].into(), Durability::Process).await
    }

    async fn end(self) {
        self.store.close().await;
        if let Some(database) = self.database {
            database.remove().await;
        }
        drop(self.folder);
    }
}

/// Defines a test for each engine of each function. Without PostgreSQL, a test reports that it was not tried.
macro_rules! on_both_engines {
    ($($module:ident: $($name:ident),+ $(,)?;)+) => {
        mod on_sqlite {
            $($(
                #[tokio::test]
                async fn $name() {
                    let mut fixture = super::Fixture::sqlite().await.expect("SQLite is always there");
                    super::$module::$name(&mut fixture).await;
                    fixture.end().await;
                }
            )+)+
        }

        mod on_postgres {
            $($(
                #[tokio::test]
                async fn $name() {
                    if let Some(mut fixture) = super::Fixture::postgres().await {
                        super::$module::$name(&mut fixture).await;
                        fixture.end().await;
                    }
                }
            )+)+
        }
    };
}

on_both_engines! {
    records:
        every_record_round_trips,
        episodes_keep_their_key_or_follow_from_their_seed,
        a_failing_commit_leaves_nothing,
        taken_identities_are_named,
        an_episode_moves_its_session,
        an_intent_is_open_until_its_step,
        the_first_verdict_is_the_episodes,
        a_session_closes_once,
        unusual_text_round_trips,
        numbers_beyond_a_column_are_refused,
        reals_keep_every_bit,
        every_enum_value_is_stored,
        thousands_of_steps_commit_at_once;
    lists:
        a_tenant_finds_nothing_of_another,
        pages_are_stable_while_rows_come,
        filters_combine,
        runs_are_listed_with_what_their_episodes_came_to,
        steps_are_read_in_ranges,
        steps_go_on_after_their_origin,
        expired_sessions_come_oldest_first,
        open_sessions_of_a_run_are_paged,
        snapshots_and_episodes_come_in_order;
    model_calls:
        model_calls_are_read_in_order_and_summed,
        an_upstream_is_replaced_and_deleted;
    others:
        a_run_lives_until_it_ends,
        a_run_that_exists_is_answered,
        keys_are_listed_and_revoked_once,
        old_answers_are_forgotten,
        a_definition_gets_versions,
        a_withdrawn_version_is_found_by_its_number_alone,
        concurrent_publications_get_distinct_versions,
        a_hundred_thousand_rows_are_published,
        only_the_last_incarnation_holds_a_node,
        a_session_is_adopted_once;
    durability:
        all_is_there_after_reopening,
        readers_go_on_while_one_writes,
        an_abandoned_commit_leaves_no_half,
        a_flush_works_at_any_time,
        a_closed_store_fails;
    jobs:
        a_job_round_trips,
        every_enum_value_of_jobs_is_stored,
        jobs_are_listed_newest_first_and_filtered,
        candidates_fit_the_worker_and_can_begin,
        due_jobs_are_found,
        events_of_jobs_are_numbered_once,
        equal_contents_count_once_for_a_tenant,
        contents_stay_while_they_are_referenced;
    files:
        files_are_listed_in_both_orders_and_filtered,
        a_file_is_needed_while_a_job_that_names_it_is_not_over;
}
