//! One episode of `palestra run`, from its creation to its verdict.

use std::sync::Arc;

use palestra_client::ClientError;
use palestra_client::stream::Stream;
use palestra_protocol::environment::Limits;
use palestra_protocol::id::RunId;
use palestra_protocol::session::{CreateSession, Created, Opened, TaskChoice};
use palestra_protocol::step::{FinishReason, Step};
use palestra_protocol::verdict::Verdict;
use serde_json::Value;

use super::player::Player;
use super::progress::Progress;

/// What all episodes of a run have in common. Cheap to clone.
#[derive(Clone)]
pub(super) struct Episodes {
    /// Where they are played.
    pub(super) stream: Stream,
    /// Who plays.
    pub(super) player: Arc<Player>,
    /// The environment, with its version.
    pub(super) environment: Arc<str>,
    /// Who owns the sessions: they end with it, whatever happens to this program.
    pub(super) run: RunId,
    /// Most turns of one episode.
    pub(super) steps_max: u64,
    /// Whom to tell.
    pub(super) progress: Arc<Progress>,
}

impl Episodes {
    /// Plays one episode to its verdict and closes the session.
    ///
    /// # Errors
    /// When the server refuses or cannot be reached.
    pub(super) async fn play(&self, number: u64, task: TaskChoice) -> Result<Verdict, ClientError> {
        let Created::One(opened) = self.stream.create(&self.request(number, task)).await? else {
            return Err(ClientError::Unexpected { status: 200, excerpt: "one session was asked for".to_owned() });
        };
        let verdict = self.act(number, &opened).await;
        // The verdict counts even when closing fails: the session then ends with its run.
        let _ = self.stream.close(opened.id).await;
        verdict
    }

    async fn act(&self, number: u64, opened: &Opened) -> Result<Verdict, ClientError> {
        let session = opened.id;
        let mut policy = self.player.begin(&opened.task, number).map_err(ClientError::Unsendable)?;
        for seq in 1..=self.steps_max {
            let Some(action) = policy.next_action() else { break };
            let step = Step { seq: Some(seq), action, episode: None, observe: None, meta: None };
            let stepped = self.stream.step(session, &step).await?;
            self.progress.count_turn();
            if let Some(verdict) = stepped.verdict {
                return Ok(verdict);
            }
            if stepped.terminated || stepped.truncated {
                return self.stream.verify(session).await;
            }
        }
        match self.stream.finish(session, FinishReason::GaveUp).await?.verdict {
            Some(verdict) => Ok(verdict),
            None => self.stream.verify(session).await,
        }
    }

    fn request(&self, number: u64, task: TaskChoice) -> CreateSession {
        CreateSession {
            environment: self.environment.to_string(),
            task: Some(task),
            seed: Some(number),
            config: serde_json::Map::new(),
            id: None,
            run: Some(self.run),
            group: None,
            count: None,
            limits: Some(Limits { steps: Some(self.steps_max), ..Limits::default() }),
            verify: None,
            observe: None,
            record: None,
            metadata: Value::Null,
        }
    }
}
