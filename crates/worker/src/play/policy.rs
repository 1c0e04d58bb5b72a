//! A policy by its name, made ready to play.

use std::sync::Arc;
use std::time::Duration;

use palestra_client::{Client, PolicyQuery};
use palestra_protocol::id::{JobId, PolicyId};
use palestra_protocol::job::JobState;
use palestra_protocol::spec::play::{PolicyFrom, Sampling};
use palestra_protocol::spec::train::ToolFormat;
use uuid::Uuid;

use super::PlayError;
use super::endpoint::{Endpoint, Hosts};
use super::model::Model;
use super::served::ServedPolicy;
use palestra_environment::policy::Builtin;

/// The player that policies are made ready for, and its permissions.
#[derive(Clone)]
pub struct PolicyContext {
    /// Asks the server.
    pub client: Client,
    /// The run that plays.
    pub owner: Uuid,
    /// Sampling of answers.
    pub sampling: Sampling,
    /// Hosts at which policies behind URLs may be asked.
    pub hosts: Hosts,
    /// Their credential.
    pub key: Option<String>,
    /// Time limit of an answer of theirs.
    pub answer_timeout: Duration,
}

/// Policies of a job among which the one that it left is looked for.
const POLICIES_MAX: u32 = 1_000;

/// A policy that can play.
#[derive(Clone)]
pub enum ReadyPolicy {
    /// Needs no model.
    Builtin(Builtin),
    /// Is asked for each turn.
    Model(Arc<Model>),
}

impl ReadyPolicy {
    /// Makes the policy ready that `from` names.
    ///
    /// # Errors
    /// When there is no such policy, it cannot be played, or its address is not allowed.
    pub async fn new(from: &PolicyFrom, context: &PolicyContext) -> Result<Self, PlayError> {
        let policy = match from {
            PolicyFrom::Oracle => return Ok(Self::Builtin(Builtin::Oracle)),
            PolicyFrom::Random => return Ok(Self::Builtin(Builtin::Random)),
            PolicyFrom::Null => return Ok(Self::Builtin(Builtin::Null)),
            PolicyFrom::Url(url) => {
                let endpoint = Endpoint::new(
                    url,
                    &context.hosts,
                    context.key.as_deref(),
                    &context.sampling,
                    context.answer_timeout,
                )?;
                return Ok(Self::Model(Arc::new(Model::Endpoint(endpoint))));
            }
            PolicyFrom::Mlp | PolicyFrom::TinyTransformer | PolicyFrom::File(_) => {
                let detail =
                    format!("{from} is where training begins, and not a policy: name one that a job registered");
                return Err(PlayError::Policy(detail));
            }
            PolicyFrom::Registered(policy) => *policy,
            PolicyFrom::Job(job) => last_policy(&context.client, *job).await?,
        };
        let served = ServedPolicy::new(&context.client, policy, context.owner, &context.sampling).await?;
        Ok(Self::Model(Arc::new(Model::Served(served))))
    }

    /// True if both are the same policy of the server, which one job serves.
    #[must_use]
    pub fn is_served_as(&self, other: &Self) -> bool {
        matches!((self.served(), other.served()), (Some(one), Some(other)) if one.policy() == other.policy())
    }

    /// The form of actions in its text; none where it is no policy of the server, or no language model.
    #[must_use]
    pub fn tool_format(&self) -> Option<ToolFormat> {
        self.served().and_then(ServedPolicy::tool_format)
    }

    /// Cause for which it cannot answer yet.
    #[must_use]
    pub fn waiting(&self) -> Option<String> {
        self.served().and_then(ServedPolicy::waiting)
    }

    fn served(&self) -> Option<&ServedPolicy> {
        match self {
            Self::Model(model) => match &**model {
                Model::Served(served) => Some(served),
                Model::Endpoint(_) => None,
            },
            Self::Builtin(_) => None,
        }
    }

    /// Ends what was begun for it.
    pub async fn end(&self) {
        if let Some(served) = self.served() {
            served.end().await;
        }
    }
}

/// The policy that a job registered last.
async fn last_policy(client: &Client, job: JobId) -> Result<PolicyId, PlayError> {
    let done = client.job(job).await?;
    if done.state != JobState::Succeeded {
        return Err(PlayError::Policy(format!(
            "{job} is {}, so it has not left its policy: wait until it succeeded",
            done.state.as_str()
        )));
    }
    let left = done.result.as_ref().and_then(|result| result.get("policy")?.as_str()?.parse().ok());
    if let Some(policy) = left {
        return Ok(policy);
    }
    let query = PolicyQuery { job: Some(job), limit: Some(POLICIES_MAX), cursor: None };
    // Those of checkpoints are not what it left.
    let newest = client.policies(&query).await?.data.into_iter().find(|policy| policy.step.is_none());
    newest
        .map(|policy| policy.id)
        .ok_or_else(|| PlayError::Policy(format!("{job} registered no policy: name a training that did")))
}
