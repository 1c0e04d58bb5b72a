//! A place whose room is opened at the first look, since opening a sandbox takes time.

use std::sync::Arc;

use async_trait::async_trait;
use palestra_protocol::id::EpisodeId;
use palestra_protocol::observation::Observation;
use palestra_sandbox::SandboxError;
use palestra_workbench::blame;
use palestra_workbench::work::{
    Input as WorkInput, Observation as Seen, Opening as WorkspaceOpening, Work, Workbench, Workspace,
};
use serde_json::{Value, json};

use palestra_environment::state::State;
use palestra_environment::task::Task;
use palestra_environment::{Cause, ConfigError, Context, InfraError, Input, LiveEnvironment, Opening, Reaction};

/// A room of a family of work.
pub(super) struct WorkPlace {
    work: Arc<dyn Work>,
    desk: Workbench,
    task: Arc<Task>,
    opening: WorkspaceOpening,
    room: Option<Box<dyn Workspace>>,
}

impl WorkPlace {
    pub(super) fn new(work: Arc<dyn Work>, desk: Workbench, opening: &Opening<'_>) -> Result<Self, ConfigError> {
        if let Some(field) = opening.config.keys().find(|field| *field != "backend") {
            let detail = format!("there is no setting {field:?}: set `backend` to choose where the sandbox runs");
            return Err(ConfigError { field: Some(field.clone()), detail });
        }
        let backend = opening.config.get("backend").filter(|backend| !backend.is_null());
        if let Some(backend) = backend
            && backend.as_str().is_none_or(|name| desk.sandboxes.backend(Some(name)).is_err())
        {
            let detail = format!("there is no back end {backend} here: see `palestra doctor`");
            return Err(ConfigError { field: Some("backend".to_owned()), detail });
        }
        let room = WorkspaceOpening {
            name: opening.episode.to_string(),
            secrets: opening.secrets,
            config: opening.config.clone(),
            resumed: opening.resumed,
            from: opening.from.cloned(),
        };
        Ok(Self { work, desk, task: Arc::clone(opening.task), opening: room, room: None })
    }

    async fn room(&mut self) -> Result<&mut Box<dyn Workspace>, InfraError> {
        let room = match self.room.take() {
            Some(room) => room,
            None => {
                let row = Arc::new(self.task.secret.clone());
                blame::open(Arc::clone(&self.work), row, &self.opening, &self.desk).await.map_err(failure)?
            }
        };
        Ok(self.room.insert(room))
    }
}

#[async_trait]
impl LiveEnvironment for WorkPlace {
    async fn observe(&mut self) -> Result<Observation, InfraError> {
        let seen = self.room().await?.observe().await.map_err(failure)?;
        let resumed = self.opening.resumed;
        let Reaction { mut observation, .. } = reaction(seen);
        if !resumed {
            let instruction = self.task.public.messages.last().map(|message| message.content.as_str());
            observation.text = format!("{}\n\n{}", instruction.unwrap_or_default().trim_end(), observation.text);
        }
        Ok(observation)
    }

    async fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Result<Reaction, InfraError> {
        let input = match input {
            Input::Text(text) => WorkInput::Text(text),
            Input::Call { tool, arguments } => WorkInput::Call { tool, arguments },
        };
        self.room().await?.act(input).await.map(reaction).map_err(failure)
    }

    async fn state(&mut self) -> Result<State, InfraError> {
        let evidence = self.room().await?.evidence().await.map_err(failure)?;
        Ok(State::from(evidence))
    }

    async fn snapshot(&mut self) -> Result<Option<Value>, InfraError> {
        self.room().await?.snapshot().await.map_err(failure)
    }

    async fn changed_files(&mut self, since: Option<&Value>) -> Result<Option<Value>, InfraError> {
        self.room().await?.changes(since).await.map_err(failure)
    }

    fn isolation(&self) -> Option<Value> {
        self.room.as_ref().map(|room| room.isolation()).filter(|isolation| !isolation.is_null())
    }

    async fn fork(&mut self, episode: EpisodeId) -> Result<Option<Box<dyn LiveEnvironment>>, InfraError> {
        let name = episode.to_string();
        let Some(room) = self.room().await?.fork(&name).await.map_err(failure)? else { return Ok(None) };
        Ok(Some(Box::new(Self {
            work: Arc::clone(&self.work),
            desk: self.desk.clone(),
            task: Arc::clone(&self.task),
            opening: WorkspaceOpening { name, ..self.opening.clone() },
            room: Some(room),
        })))
    }

    async fn close(&mut self) {
        if let Some(mut room) = self.room.take() {
            room.close().await;
        }
    }

    async fn leave(&mut self) {
        if let Some(mut room) = self.room.take() {
            room.leave().await;
        }
    }
}

fn reaction(seen: Seen) -> Reaction {
    let Seen { text, content, data, terminated } = seen;
    let data = if data.is_null() { json!({}) } else { data };
    let observation = Observation { content, data, ..Observation::text(text) };
    Reaction { observation, terminated, ..Reaction::default() }
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
fn failure(error: SandboxError) -> InfraError {
    let detail = error.to_string();
    let cause = match error {
        SandboxError::Exhausted { retry_after_ms } => Cause::Busy(retry_after_ms),
        SandboxError::Unavailable(_) | SandboxError::Unenforced { .. } => Cause::Missing,
        SandboxError::Refused { .. } => Cause::Refused,
        SandboxError::Start(_) | SandboxError::SetUp(_) | SandboxError::Lost(_) => Cause::Broken,
    };
    InfraError { detail, cause }
}
