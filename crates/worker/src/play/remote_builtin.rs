//! Built-in policies in environments that the server alone has: it gives their actions to credentials that may learn solutions.

use std::collections::VecDeque;
use std::sync::Arc;

use palestra_client::{ActionQuery, Client, ClientError};
use palestra_protocol::action::Action;
use palestra_protocol::problem::Code;

use super::PlayError;
use palestra_environment::policy::Builtin;

/// Actions that are asked for at once.
const ACTIONS_PER_PAGE: u64 = 100;
/// Actions of an episode that a server tells.
const ACTIONS_MAX: u64 = 4_096;

/// A built-in policy in one episode.
pub struct RemoteBuiltinPolicy {
    client: Client,
    /// `family/name@version`.
    environment: Arc<str>,
    policy: Builtin,
    task: String,
    seed: u64,
    /// The next actions.
    actions: VecDeque<Action>,
    /// Number of actions that were fetched.
    fetched: u64,
    /// True where the server has no more.
    over: bool,
}

impl RemoteBuiltinPolicy {
    /// A policy at the beginning of a task.
    pub fn new(client: &Client, environment: &Arc<str>, policy: Builtin, task: &str, seed: u64) -> Self {
        Self {
            client: client.clone(),
            environment: Arc::clone(environment),
            policy,
            task: task.to_owned(),
            seed,
            actions: VecDeque::new(),
            fetched: 0,
            over: false,
        }
    }

    /// The next turn; `None` when the policy gives up.
    ///
    /// # Errors
    /// When the server does not tell it, or the episode has more turns than it tells.
    pub async fn next_action(&mut self) -> Result<Option<Action>, PlayError> {
        if self.actions.is_empty() && !self.over {
            let limit = ACTIONS_PER_PAGE.min(ACTIONS_MAX - self.fetched);
            if limit == 0 {
                return Err(PlayError::Turn(format!("the server gives at most {ACTIONS_MAX} actions of an episode")));
            }
            let query = ActionQuery {
                policy: self.policy.to_string(),
                task: self.task.clone(),
                seed: self.seed,
                offset: self.fetched,
                limit,
            };
            self.actions = self.client.actions(&self.environment, &query).await.map_err(refused)?.into();
            let count = self.actions.len() as u64;
            self.fetched += count;
            self.over = count < limit;
        }
        Ok(self.actions.pop_front())
    }
}

/// A credential that may not learn solutions plays no episode; a task without a known solution fails alone.
fn refused(error: ClientError) -> PlayError {
    match error.code() {
        Some(Code::Forbidden) => PlayError::Policy(format!(
            "this credential may not learn the solutions of tasks, use one that may read the definition: {error}"
        )),
        Some(Code::NotSupported) => PlayError::Turn(error.to_string()),
        _ => PlayError::Client(error),
    }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::problem::Problem;

    use super::*;

    #[test]
    fn who_may_not_know_what_solves_tasks_plays_none() {
        let refusal = |code| refused(ClientError::from(Problem::new(code, "..")));
        assert!(refusal(Code::Forbidden).ends_all());
        assert!(matches!(refusal(Code::NotSupported), PlayError::Turn(_)));
        assert!(matches!(refusal(Code::Internal), PlayError::Client(_)));
    }
}
