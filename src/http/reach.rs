//! Which jobs and policies a caller reaches: a key all of its tenant, the token of a lease what its job needs.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::problem::Code;

use super::caller::JobRunner;
use super::extract::Id;
use super::problem::Failure;
use crate::app::App;
use palestra_auth::{Grant, Principal};

/// The token of a lease asked for something that its job has no need of.
pub(super) fn beyond() -> Failure {
    let words = "the token of a lease reaches its own job, and the jobs and policies that this one names: use an API key for others";
    Failure::new(Code::Forbidden, words)
}

/// Refuses the token of a lease whose job neither is this one nor names it, and did not queue it.
pub(super) async fn require_sight(app: &App, principal: &Principal, job: JobId) -> Result<(), Failure> {
    if let Grant::Job { job: own, .. } = principal.grant
        && !app.jobs().reaches_job(&principal.tenant, own, job).await?
    {
        return Err(beyond());
    }
    Ok(())
}

/// A caller who queues, lists and changes jobs: a key, and no token of a lease.
pub(super) struct JobOwner(pub(super) Arc<Principal>);

impl FromRequestParts<App> for JobOwner {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let JobRunner(principal) = JobRunner::from_request_parts(parts, app).await?;
        if matches!(principal.grant, Grant::Job { .. }) {
            return Err(beyond());
        }
        Ok(Self(principal))
    }
}

/// A caller who reads the job in the path: a key, or the token of a lease whose job has need of it.
pub(super) struct JobReader {
    pub(super) principal: Arc<Principal>,
    pub(super) job: JobId,
}

impl FromRequestParts<App> for JobReader {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let JobRunner(principal) = JobRunner::from_request_parts(parts, app).await?;
        let Id(job) = Id::<JobId>::from_request_parts(parts, app).await?;
        require_sight(app, &principal, job).await?;
        Ok(Self { principal, job })
    }
}

/// A caller who reads the policy in the path and has it act: a key, or the token of a lease whose job has need of it.
pub(super) struct PolicyUser {
    pub(super) principal: Arc<Principal>,
    pub(super) policy: PolicyId,
}

impl FromRequestParts<App> for PolicyUser {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let JobRunner(principal) = JobRunner::from_request_parts(parts, app).await?;
        let Id(policy) = Id::<PolicyId>::from_request_parts(parts, app).await?;
        if let Grant::Job { job: own, .. } = principal.grant
            && !app.jobs().reaches_policy(&principal.tenant, own, policy).await?
        {
            return Err(beyond());
        }
        Ok(Self { principal, policy })
    }
}
