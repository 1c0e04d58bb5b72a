//! One episode of a policy, from its creation to its verdict.

use std::sync::Arc;
use std::time::Duration;

use palestra_client::ClientError;
use palestra_client::stream::Stream;
use palestra_protocol::environment::Limits;
use palestra_protocol::id::{EpisodeId, GroupId, RunId};
use palestra_protocol::problem::Code;
use palestra_protocol::session::{CreateSession, Created, Opened, TaskChoice};
use palestra_protocol::step::{FinishReason, Step};
use palestra_protocol::verdict::Verdict;
use serde_json::Value;

use super::PlayError;
use super::conversation::Conversation;
use super::player::Player;
use super::turn::{PolicyOutput, Tokens};
use palestra_environment::task::TaskId;

/// Number of tries to open a session while the server has no room.
const CREATE_TRIES_MAX: u32 = 8;
/// Wait before the second try, in milliseconds; doubled by each further one.
const CREATE_WAIT_MS: u64 = 250;
/// Longest such wait, in milliseconds.
const CREATE_WAIT_MS_MAX: u64 = 10_000;

/// Settings of all episodes of a policy in an environment. Cheap to clone.
#[derive(Clone)]
pub struct Episodes {
    /// The stream to the server.
    pub stream: Stream,
    /// The policy.
    pub player: Arc<Player>,
    /// The environment, with its version.
    pub environment: Arc<str>,
    /// The run that owns the sessions: they end with it, whatever happens to this program.
    pub run: RunId,
    /// The group of the episodes, which those of other runs may share.
    pub group: Option<GroupId>,
    /// Most turns of one episode.
    pub steps_max: u64,
    /// True where conversations are wanted.
    pub conversations: bool,
    /// Is told each turn.
    pub on_turn: Arc<dyn Fn() + Send + Sync>,
}

/// An episode to play.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// Its number among those of the policy.
    pub number: u64,
    /// Randomness of the environment.
    pub seed: u64,
    /// The problem.
    pub task: TaskChoice,
}

/// An episode that was played, or not.
#[derive(Debug)]
pub struct Played {
    /// The assignment.
    pub assignment: Assignment,
    /// The task's id, as far as it is known.
    pub task: String,
    /// The episode, once it began.
    pub episode: Option<EpisodeId>,
    /// Turns that were taken.
    pub steps: u64,
    /// Tokens that the policy read and wrote.
    pub tokens: Tokens,
    /// The conversation, where it is wanted.
    pub conversation: Option<Conversation>,
    /// The verdict, or why there is none.
    pub verdict: Result<Verdict, PlayError>,
}

impl Episodes {
    /// Plays one episode to its verdict and closes the session.
    pub async fn play(&self, assignment: Assignment) -> Played {
        let mut played = Played {
            task: task_name(&assignment.task),
            assignment,
            episode: None,
            steps: 0,
            tokens: Tokens::default(),
            conversation: None,
            verdict: Err(PlayError::Client(ClientError::Closed)),
        };
        let opened = match self.open(&played.assignment).await {
            Ok(opened) => opened,
            Err(error) => return Played { verdict: Err(error.into()), ..played },
        };
        played.task.clone_from(&opened.task.id);
        played.episode = Some(opened.episode);
        let verdict = self.act(&opened, &mut played).await;
        if let Err(error @ (PlayError::Turn(_) | PlayError::Policy(_) | PlayError::Unavailable(_))) = &verdict {
            // The policy did not come to its end, so what it leaves is no sample.
            let _ = self.stream.abort(opened.id, error.to_string()).await;
        }
        // The verdict counts even when closing fails: the session then ends with its run.
        let _ = self.stream.close(opened.id).await;
        Played { verdict, ..played }
    }

    async fn act(&self, opened: &Opened, played: &mut Played) -> Result<Verdict, PlayError> {
        let session = opened.id;
        let mut acting = self.player.begin(&opened.task, played.assignment.number)?;
        let mut conversation = (self.conversations || acting.reads()).then(|| Conversation::new(opened));
        let mut data: Value = opened.observation.data.clone();
        let mut ended = FinishReason::MaxTurns;
        for seq in 1..=self.steps_max {
            if conversation.as_ref().is_some_and(Conversation::is_full) {
                ended = FinishReason::MaxTokens;
                break;
            }
            let Some(PolicyOutput { action, tokens, meta }) =
                acting.next_action(seq, conversation.as_ref(), &data).await?
            else {
                ended = FinishReason::GaveUp;
                break;
            };
            played.tokens.add(tokens);
            if let Some(conversation) = &mut conversation {
                conversation.push_action(seq, &action);
            }
            let step = Step { seq: Some(seq), action, episode: None, observe: None, meta };
            let stepped = self.stream.step(session, &step).await?;
            played.steps = seq;
            (self.on_turn)();
            if let Some(conversation) = &mut conversation {
                conversation.push_messages(&stepped.messages);
            }
            data = stepped.observation.data;
            if stepped.verdict.is_some() || stepped.terminated || stepped.truncated {
                played.conversation = conversation.filter(|_| self.conversations);
                return match stepped.verdict {
                    Some(verdict) => Ok(verdict),
                    None => Ok(self.stream.verify(session).await?),
                };
            }
        }
        played.conversation = conversation.filter(|_| self.conversations);
        match self.stream.finish(session, ended).await?.verdict {
            Some(verdict) => Ok(verdict),
            None => Ok(self.stream.verify(session).await?),
        }
    }

    /// Opens a session; waits a while for room.
    async fn open(&self, assignment: &Assignment) -> Result<Box<Opened>, ClientError> {
        let mut wait = CREATE_WAIT_MS;
        for tried in 1.. {
            match self.stream.create(&self.request(assignment)).await {
                Ok(Created::One(opened)) => return Ok(opened),
                Ok(Created::Many(_)) => break,
                Err(error) if tried < CREATE_TRIES_MAX && is_full(&error) => {}
                Err(error) => return Err(error),
            }
            tokio::time::sleep(Duration::from_millis(wait)).await;
            wait = (wait * 2).min(CREATE_WAIT_MS_MAX);
        }
        Err(ClientError::Unexpected { status: 200, excerpt: "one session was asked for".to_owned() })
    }

    fn request(&self, assignment: &Assignment) -> CreateSession {
        CreateSession {
            environment: self.environment.to_string(),
            from: None,
            task: Some(assignment.task.clone()),
            seed: Some(assignment.seed),
            config: serde_json::Map::new(),
            id: None,
            run: Some(self.run),
            group: self.group,
            count: None,
            limits: Some(Limits { steps: Some(self.steps_max), ..Limits::default() }),
            verify: None,
            observe: None,
            record: None,
            metadata: Value::Null,
        }
    }
}

fn is_full(error: &ClientError) -> bool {
    matches!(error.code(), Some(Code::Capacity | Code::TooManyRequests | Code::StoreUnavailable))
}

/// The id of a chosen task, as an environment that makes its tasks from seeds gives it.
pub(crate) fn task_name(task: &TaskChoice) -> String {
    if let Some(id) = &task.id {
        return id.clone();
    }
    let split = task.split.as_deref().unwrap_or("train");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a difficulty is from 0 to 1")]
    let difficulty_thousandths = task.difficulty.map(|difficulty| (difficulty * 1_000.0).round() as u16);
    TaskId { difficulty_thousandths, ..TaskId::plain(split, task.seed.or(task.index).unwrap_or_default()) }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_was_never_opened_has_the_name_that_it_would_have() {
        let chosen = TaskChoice {
            split: Some("test".to_owned()),
            seed: Some(5),
            difficulty: Some(0.4001),
            ..TaskChoice::default()
        };
        assert_eq!(task_name(&chosen), "test-5-d400");
        assert_eq!(task_name(&TaskChoice { difficulty: None, ..chosen }), "test-5");
        assert_eq!(task_name(&TaskChoice { id: Some("row-1".to_owned()), ..TaskChoice::default() }), "row-1");
    }
}
