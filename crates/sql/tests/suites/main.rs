//! The environments that are shipped: every template, on both engines, solved, left alone and answered wrongly.
//!
//! `PALESTRA_SUITE_SEEDS` says how many tasks are drawn of each template and split; the usual number is small. `PALESTRA_SUITES=all` tries
//! all of them on PostgreSQL too, where usually one task of each template is solved, and every third is answered wrongly once.

#[path = "../shared/form.rs"]
mod form;
mod play;
#[path = "../shared/private.rs"]
mod private;
mod stage;
mod templates;

/// Tests of an environment on an engine.
macro_rules! suites {
    ($($name:ident),*) => {$(
        mod $name {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                crate::templates::check(stringify!($name), crate::stage::sqlite()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                let Some(stage) = crate::stage::postgres().await else { return };
                crate::templates::check(stringify!($name), stage.engine()).await;
                stage.close().await;
            }
        }
    )*};
}

suites!(question, repair, policy);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn references_are_alike_on_both_engines() {
    let Some(stage) = stage::postgres().await else { return };
    for name in ["question", "repair"] {
        templates::check_alike(name, stage::sqlite(), stage.engine()).await;
    }
    stage.close().await;
}
