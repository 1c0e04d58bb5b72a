//! The light kinds of jobs: one file each, and one line here.

mod check;
mod collect;
mod evaluate;
mod rescore;

use palestra_protocol::spec::Spec;
use serde_json::Value;

use super::context::Context;
use super::failure::WorkError;

/// Does the work of a job, and answers its result.
///
/// # Errors
/// When it fails, or is of a kind that takes a trainer.
pub(super) async fn run(spec: Spec, context: &Context) -> Result<Value, WorkError> {
    match spec {
        Spec::Evaluate(evaluate) => Box::pin(evaluate::run(&evaluate, context)).await,
        Spec::Collect(collect) => Box::pin(collect::run(&collect, context)).await,
        Spec::Rescore(rescore) => Box::pin(rescore::run(&rescore, context)).await,
        Spec::Check(check) => Box::pin(check::run(&check, context)).await,
        Spec::Train(_) | Spec::Serve(_) => {
            Err(WorkError::bad_spec("this worker trains and serves nothing: start one with `palestra-trainer work`"))
        }
    }
}
