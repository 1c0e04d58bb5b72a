//! What a session plays: the environment in the version that it was opened with, and the task that it is at.

use std::sync::Arc;

use palestra_protocol::session::Session;

use super::super::problem::Failure;
use crate::app::App;
use crate::catalog::{CatalogError, Entry};
use crate::environment::task::Task;
use crate::session::Tenant;

/// The environment of a session.
///
/// # Errors
/// When this server has it no more.
pub(super) async fn environment(app: &App, tenant: &Tenant, session: &Session) -> Result<Arc<Entry>, Failure> {
    app.catalog().resolve(tenant, &session.environment).await.map_err(Failure::from)
}

/// The task of a session's current episode.
///
/// # Errors
/// As [`environment`].
pub(super) async fn task(app: &App, tenant: &Tenant, session: &Session) -> Result<Arc<Task>, Failure> {
    let environment = environment(app, tenant, session).await?;
    let task = app.catalog().task_of_id(&environment, &session.task).await;
    task.map_err(|error| CatalogError::from(error).into())
}
