//! The environment and task of a session: the environment in the version that it was opened with, and the task that it is at.

use std::sync::Arc;

use palestra_protocol::id::SessionId;
use palestra_protocol::session::Session;
use palestra_protocol::shared::Shared;
use serde_json::{Map, Value};

use super::super::problem::Failure;
use crate::app::App;
use palestra_catalog::{CatalogError, Entry};
use palestra_environment::task::Task;
use palestra_store::Tenant;

/// The environment of a session.
///
/// # Errors
/// When this server has it no more.
pub(super) async fn environment(app: &App, tenant: &Tenant, session: &Session) -> Result<Arc<Entry>, Failure> {
    app.catalog().resolve(tenant, &session.environment).await.map_err(Failure::from)
}

/// The tools that a session is offered.
///
/// # Errors
/// As [`environment`].
pub(super) async fn tools(app: &App, tenant: &Tenant, session: &Session) -> Result<Shared<Vec<Value>>, Failure> {
    let environment = environment(app, tenant, session).await?;
    let config = config(app, tenant, &environment, session.id).await?;
    Ok(environment.offer(&config).tools.clone())
}

/// The settings of a session, where its tools depend on them; nothing where they do not.
///
/// # Errors
/// When there is no such session.
pub(super) async fn config(
    app: &App,
    tenant: &Tenant,
    environment: &Entry,
    session: SessionId,
) -> Result<Arc<Map<String, Value>>, Failure> {
    if environment.kind.surfaces().len() == 1 {
        Ok(Arc::default())
    } else {
        Ok(app.sessions().config(tenant, session).await?)
    }
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
