//! A player: the caller behind a socket or a call, and what it asks of the engine.

use std::sync::Arc;

use axum::extract::{Extension, FromRequestParts};
use axum::http::request::Parts;
use palestra_protocol::episode::EpisodeState;
use palestra_protocol::id::{EpisodeId, SessionId};
use palestra_protocol::problem::Code;
use palestra_protocol::session::{Session, SessionState, Verify};
use palestra_protocol::step::{Step, Stepped};
use palestra_protocol::verdict::{Status, Verdict};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::super::super::caller::Runner;
use super::super::super::extract::EnvironmentName;
use super::super::super::perform::{ToolForm, perform};
use super::super::super::problem::{Failure, internal};
use super::super::played;
use super::action::{Called, Turn};
use super::observation::{Ending, Misfit, Shown, call_seen, seen, tools_seen};
use super::refusal::{Occupancy, Refusal, Unscored};
use super::seats::{Holder, Seats};
use crate::app::App;
use palestra_auth::Principal;
use palestra_catalog::Entry;
use palestra_session::{Answer, Command};

/// A player and its session.
#[derive(Clone)]
pub(super) struct Player {
    pub(super) app: App,
    pub(super) seats: Seats,
    pub(super) principal: Arc<Principal>,
    /// As it stands in the address: `family/name`, optionally `@version`.
    pub(super) environment: String,
    pub(super) me: Holder,
}

/// An episode that is being played.
#[derive(Debug, Clone)]
pub(super) struct Playing {
    pub(super) session: SessionId,
    /// The session's current episode, as far as this player knows.
    pub(super) episode: EpisodeId,
    /// The client's name of the episode.
    pub(super) label: String,
    /// Cancelled when another connection takes the session over.
    pub(super) over: CancellationToken,
}

impl FromRequestParts<App> for Player {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Failure> {
        let seats = Extension::<Seats>::from_request_parts(parts, app).await;
        let Extension(seats) = seats.map_err(|error| internal(&error))?;
        let Runner(principal) = Runner::from_request_parts(parts, app).await?;
        let EnvironmentName(environment) = EnvironmentName::from_request_parts(parts, app).await?;
        let me = seats.holder();
        Ok(Self { app: app.clone(), seats, principal, environment, me })
    }
}

impl Player {
    /// Runs a command of the engine.
    pub(super) async fn run(&self, command: Command) -> Result<Answer, Refusal> {
        perform(&self.app, &self.principal, command, ToolForm::default()).await.map_err(|failure| self.refusal(failure))
    }

    /// A failure of the engine as OpenEnv tells of it.
    pub(super) fn refusal(&self, failure: Failure) -> Refusal {
        if failure.code() == Code::Capacity {
            let (active, most) = (self.app.sessions().live(), self.app.config().sessions_max);
            return Refusal::Full(Occupancy { active_sessions: active.min(most), max_sessions: most });
        }
        Refusal::Failed(failure)
    }

    /// The environment of the address.
    pub(super) async fn entry(&self) -> Result<Arc<Entry>, Refusal> {
        let entry = self.app.catalog().resolve(&self.principal.tenant, &self.environment).await;
        entry.map_err(|error| Refusal::Failed(error.into()))
    }

    /// `family/name` without a version.
    pub(super) fn plain_name(&self) -> &str {
        self.environment.split('@').next().unwrap_or_default()
    }

    /// A session of the environment of the address, also one that is over.
    pub(super) async fn session(&self, id: SessionId) -> Result<Session, Refusal> {
        let session = self.app.sessions().get(&self.principal.tenant, id).await;
        let session = session.map_err(|error| self.refusal(error.into()))?;
        // Under another environment's address there is no such session.
        let here = session.environment.split('@').next() == Some(self.plain_name());
        if here { Ok(session) } else { Err(Failure::not_found("session").into()) }
    }

    /// Takes a turn. A turn that ends the episode tells its score as the reward, or that there is none as a refusal.
    pub(super) async fn step(&self, playing: &Playing, turn: Turn, seq: Option<u64>) -> Result<Shown, Refusal> {
        let Turn { action, called, meta } = turn;
        let misfit = match &called {
            Some(called) => self.misfit(called, playing.session).await?,
            None => None,
        };
        let step = Step { seq, action, episode: Some(playing.episode), observe: None, meta };
        let command = Command::Step { session: playing.session, step: Box::new(step) };
        let stepped = match self.run(command).await? {
            Answer::Stepped(step) => step.into_stepped(),
            other => return Err(unexpected(&other)),
        };
        self.show_step(playing, stepped, called.as_ref().map(|called| (called, misfit))).await
    }

    /// A step that was taken, as an observation.
    pub(super) async fn show_step(
        &self,
        playing: &Playing,
        stepped: Stepped,
        call: Option<(&Called, Option<Misfit>)>,
    ) -> Result<Shown, Refusal> {
        let fields = seen(stepped.observation, &stepped.messages);
        let observation = match call {
            Some((called, misfit)) => call_seen(fields, called, misfit.as_ref()),
            None => fields,
        };
        let mut shown = Shown::going_on(observation, self.metadata(playing, stepped.seq));
        shown.reward = stepped.reward;
        if stepped.terminated || stepped.truncated {
            let verdict = self.verdict(playing, stepped.verdict).await?;
            let (terminated, truncated, stop_reason) = (stepped.terminated, stepped.truncated, stepped.stop_reason);
            // Where steps have rewards of their own, the last one has too, and their sum stays what it is.
            shown.reward = shown.reward.or(verdict.score);
            shown.end(&Ending { terminated, truncated, stop_reason, verdict });
        }
        Ok(shown)
    }

    /// The verdict of the current episode, where it is a score.
    pub(super) async fn verdict(&self, playing: &Playing, known: Option<Verdict>) -> Result<Verdict, Refusal> {
        let verdict = match known {
            Some(verdict) => Some(verdict),
            None => {
                let command = Command::Verify { session: playing.session, request: Verify::default() };
                match self.run(command).await? {
                    Answer::Verdict(verdict) => Some(*verdict),
                    Answer::Pending { .. } => None,
                    other => return Err(unexpected(&other)),
                }
            }
        };
        let unscored = |status, detail| {
            let (session_id, episode_id) = (playing.session.to_string(), playing.label.clone());
            Refusal::Unscored(Box::new(Unscored { status, detail, session_id, episode_id }))
        };
        match verdict {
            Some(verdict) if verdict.status == Status::Scored && verdict.score.is_some() => Ok(verdict),
            Some(verdict) => Err(unscored(Some(verdict.status), verdict.detail)),
            None => Err(unscored(None, None)),
        }
    }

    /// Metadata for the trainer, beside every observation.
    pub(super) fn metadata(&self, playing: &Playing, seq: u64) -> Map<String, Value> {
        let mut metadata = Map::new();
        metadata.insert("session_id".to_owned(), json!(playing.session));
        metadata.insert("episode_id".to_owned(), json!(playing.label));
        metadata.insert("episode".to_owned(), json!(playing.episode));
        metadata.insert("step_count".to_owned(), json!(seq));
        metadata.insert("terminated".to_owned(), json!(false));
        metadata.insert("truncated".to_owned(), json!(false));
        metadata
    }

    /// Metadata of the session: which episode, how many steps, and its score once it is over.
    pub(super) async fn state(&self, session: SessionId, label: Option<&str>) -> Result<Map<String, Value>, Refusal> {
        let session = self.session(session).await?;
        let episode = self.app.sessions().episode(&self.principal.tenant, session.episode).await;
        let episode = episode.map_err(|error| self.refusal(error.into()))?;
        let over = episode.state == EpisodeState::Ended;
        let label = label.map_or_else(|| label_of(&session), str::to_owned);
        let mut state = Map::new();
        state.insert("episode_id".to_owned(), json!(label));
        state.insert("step_count".to_owned(), json!(session.seq.unwrap_or_default()));
        state.insert("session_id".to_owned(), json!(session.id));
        state.insert("episode".to_owned(), json!(session.episode));
        state.insert("environment".to_owned(), json!(session.environment));
        state.insert("task".to_owned(), json!(session.task));
        state.insert("open".to_owned(), json!(session.state == SessionState::Open));
        state.insert("done".to_owned(), json!(over));
        state.insert("terminated".to_owned(), json!(episode.terminated));
        state.insert("truncated".to_owned(), json!(episode.truncated));
        state.insert("stop_reason".to_owned(), json!(episode.stop_reason));
        state.insert("status".to_owned(), json!(episode.verdict.as_ref().map(|verdict| verdict.status)));
        state.insert("score".to_owned(), json!(episode.verdict.and_then(|verdict| verdict.score)));
        Ok(state)
    }

    /// The tools: those of the session's task, or the environment's where there is no session.
    pub(super) async fn tools(&self, session: Option<SessionId>) -> Result<Vec<Value>, Refusal> {
        let entry = self.entry().await?;
        let Some(id) = session else { return Ok(entry.spec().tools.to_vec()) };
        let session = self.session(id).await?;
        let tools = played::tools(&self.app, &self.principal.tenant, &session).await.map_err(Refusal::Failed)?;
        Ok(tools.to_vec())
    }

    /// The tools as an observation, which is no turn.
    pub(super) async fn list_tools(&self, playing: Option<&Playing>) -> Result<Shown, Refusal> {
        let observation = tools_seen(&self.tools(playing.map(|playing| playing.session)).await?);
        let Some(playing) = playing else {
            return Ok(Shown::going_on(observation, Map::new()));
        };
        let session = self.session(playing.session).await?;
        let episode = self.app.sessions().episode(&self.principal.tenant, session.episode).await;
        let episode = episode.map_err(|error| self.refusal(error.into()))?;
        let mut metadata = self.metadata(playing, session.seq.unwrap_or_default());
        metadata.insert("terminated".to_owned(), json!(episode.terminated));
        metadata.insert("truncated".to_owned(), json!(episode.truncated));
        let mut shown = Shown::going_on(observation, metadata);
        shown.done = session.limits_left.is_none();
        (shown.terminated, shown.truncated) = (episode.terminated, episode.truncated);
        Ok(shown)
    }

    /// Tells whether a call is one that the environment will answer with an error.
    async fn misfit(&self, called: &Called, session: SessionId) -> Result<Option<Misfit>, Refusal> {
        let entry = self.entry().await?;
        let config =
            played::config(&self.app, &self.principal.tenant, &entry, session).await.map_err(Refusal::Failed)?;
        let offer = entry.offer(&config);
        let known = offer.tools.iter().any(|tool| tool["function"]["name"] == called.tool.as_str());
        let kind = if known { "invalid_args" } else { "tool_not_found" };
        Ok(offer.toolbox.check(&called.tool, &called.arguments).err().map(|words| Misfit { kind, words }))
    }
}

/// The name that the client gave the episode; the episode's own id where it has no such name.
pub(super) fn label_of(session: &Session) -> String {
    let label = session.metadata["openenv"]["episode_id"].as_str().map(str::to_owned);
    label.unwrap_or_else(|| session.episode.to_string())
}

/// The engine answered another command than the one that was sent.
pub(super) fn unexpected(answer: &Answer) -> Refusal {
    tracing::error!(?answer, "the engine answered something else than was asked");
    Refusal::Failed(internal(&std::io::Error::other("another answer than was asked for")))
}
