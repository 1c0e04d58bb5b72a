//! A place whose room is opened at the first look, since making a template takes time.

use std::sync::Arc;

use async_trait::async_trait;
use palestra_protocol::id::EpisodeId;
use palestra_protocol::observation::Observation;
use palestra_sql::engine::{EngineError, Limits};
use palestra_sql::library::Library;
use palestra_sql::observe::same_outcome;
use palestra_sql::prove;
use palestra_sql::session::{DatabaseSession, Input as SessionInput, Observation as Seen, SessionOpening};
use palestra_sql::task::Task as SqlTask;
use palestra_sql::value::Dialect;
use serde_json::{Value, json};

use crate::databases::Databases;
use palestra_environment::state::State;
use palestra_environment::{Cause, ConfigError, Context, InfraError, Input, LiveEnvironment, Opening, Reaction};

/// The setting that chooses the engine.
const ENGINE: &str = "engine";

/// A room on a database of its own.
pub(super) struct SqlPlace {
    databases: Databases,
    library: Arc<dyn Library>,
    task: Arc<SqlTask>,
    dialect: Dialect,
    seed: u64,
    room: Option<DatabaseSession>,
}

impl SqlPlace {
    pub(super) fn new(
        databases: Databases,
        library: Arc<dyn Library>,
        opening: &Opening<'_>,
    ) -> Result<Self, ConfigError> {
        let wrong = |field: &str, detail: String| ConfigError { field: Some(field.to_owned()), detail };
        if let Some(field) = opening.config.keys().find(|field| *field != ENGINE) {
            let detail = format!("there is no setting {field:?}: set `{ENGINE}` to sqlite or postgres");
            return Err(wrong(field, detail));
        }
        let chosen = opening.config.get(ENGINE).filter(|chosen| !chosen.is_null());
        let dialect = chosen.map_or(Ok(Dialect::Sqlite), dialect_of).map_err(|detail| wrong(ENGINE, detail))?;
        databases.offers(dialect).map_err(|detail| wrong(ENGINE, detail))?;
        let task = super::read(&opening.task.secret).map_err(|detail| ConfigError { field: None, detail })?;
        if prove::solution(&task, dialect).is_none() {
            return Err(wrong(
                ENGINE,
                format!(
                    "task {} cannot be played on {}: choose the other engine",
                    opening.task.public.id,
                    dialect.name()
                ),
            ));
        }
        Ok(Self { databases, library, task: Arc::new(task), dialect, seed: opening.seed, room: None })
    }

    async fn take(&mut self, input: Input<'_>, seen: Option<&Value>) -> Result<Reaction, InfraError> {
        let room = self.room().await?;
        let arguments;
        let input = match input {
            Input::Text(text) => SessionInput::Text(text),
            Input::Call { tool, arguments: given } => {
                arguments = Value::Object(given.clone());
                SessionInput::Call { tool, arguments: &arguments }
            }
        };
        Ok(reaction(match seen {
            Some(seen) => room.replay(input, seen).await.map_err(failure)?,
            None => room.act(input).await.map_err(failure)?,
        }))
    }

    async fn room(&mut self) -> Result<&mut DatabaseSession, InfraError> {
        let room = match self.room.take() {
            Some(room) => room,
            None => {
                let engine = self.databases.engine(self.dialect).await.map_err(failure)?;
                let opening = SessionOpening { seed: self.seed, limits: Limits::default(), from: None };
                DatabaseSession::open(engine, Arc::clone(&self.library), Arc::clone(&self.task), opening)
                    .await
                    .map_err(failure)?
            }
        };
        Ok(self.room.insert(room))
    }
}

#[async_trait]
impl LiveEnvironment for SqlPlace {
    async fn observe(&mut self) -> Result<Observation, InfraError> {
        Ok(reaction(self.room().await?.observe()).observation)
    }

    async fn act(&mut self, input: Input<'_>, _context: &mut Context) -> Result<Reaction, InfraError> {
        self.take(input, None).await
    }

    async fn act_again(
        &mut self,
        input: Input<'_>,
        seen: &Value,
        _context: &mut Context,
    ) -> Result<Reaction, InfraError> {
        self.take(input, Some(seen)).await
    }

    /// On PostgreSQL outcomes alone are compared: data may hold values of one database alone, such as transaction ids. It is judged by
    /// its steps in databases of the judge's, so that it neither loses nor wins by that.
    fn agrees(&self, seen: &Observation, again: &Observation) -> bool {
        let same = match (self.dialect, &seen.data, &again.data) {
            (Dialect::Sqlite, seen, again) => seen == again,
            // A turn of several calls.
            (Dialect::Postgres, Value::Array(seen), Value::Array(again)) => {
                seen.len() == again.len() && seen.iter().zip(again).all(|(seen, again)| same_outcome(seen, again))
            }
            (Dialect::Postgres, seen, again) => same_outcome(seen, again),
        };
        if !same {
            tracing::warn!(
                engine = self.dialect.name(),
                "a database that was built again shows something else than before"
            );
        }
        true
    }

    async fn state(&mut self) -> Result<State, InfraError> {
        let engine = self.dialect.name();
        let evidence = self.room().await?.evidence();
        Ok(State::from(json!({"engine": engine, "evidence": evidence})))
    }

    async fn fork(&mut self, _episode: EpisodeId) -> Result<Option<Box<dyn LiveEnvironment>>, InfraError> {
        let room = self.room().await?.fork().await.map_err(failure)?;
        Ok(Some(Box::new(Self {
            databases: self.databases.clone(),
            library: Arc::clone(&self.library),
            task: Arc::clone(&self.task),
            dialect: self.dialect,
            seed: self.seed,
            room: Some(room),
        })))
    }

    async fn close(&mut self) {
        if let Some(room) = self.room.take() {
            room.close().await;
        }
    }
}

/// The dialect that a setting or evidence names.
pub(super) fn dialect_of(name: &Value) -> Result<Dialect, String> {
    Dialect::ALL
        .into_iter()
        .find(|dialect| name == dialect.name())
        .ok_or_else(|| format!("there is no engine {name}: say \"sqlite\" or \"postgres\""))
}

fn reaction(seen: Seen) -> Reaction {
    let Seen { text, data, terminated } = seen;
    let observation = Observation { data, ..Observation::text(text) };
    Reaction { observation, terminated, ..Reaction::default() }
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
fn failure(error: EngineError) -> InfraError {
    let detail = error.to_string();
    let cause = match error {
        EngineError::Busy { retry_after_ms } => Cause::Busy(retry_after_ms),
        EngineError::Missing(_) => Cause::Missing,
        EngineError::Source(_) | EngineError::Lost(_) | EngineError::Midway(_) | EngineError::Cut(_) => Cause::Broken,
    };
    InfraError { detail, cause }
}
