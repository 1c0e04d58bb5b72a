//! Operations of a session on its database: repeatable on another one when the first is lost, and with a result for
//! being cut off.

use async_trait::async_trait;

use super::log::LoggedStep;
use crate::engine::{Database, EngineError, Plan, Schema, SqlError, Step, StepResult};
use crate::value::{Dialect, Value};

/// A repeatable operation on a database.
#[async_trait]
pub(super) trait Operation: Sync {
    type Done: Send;

    async fn run(&self, database: &mut dyn Database) -> Result<Self::Done, EngineError>;

    /// Result of an operation that was cut off without any effect.
    fn cut_off(&self, error: SqlError) -> Self::Done;
}

pub(super) struct Query<'a>(pub(super) Step<'a>);
/// Replay of a logged step.
pub(super) struct Replay<'a>(pub(super) &'a LoggedStep, pub(super) Dialect);
pub(super) struct ReadSchema;
pub(super) struct Explain<'a>(pub(super) &'a str, pub(super) &'a [Value]);
pub(super) struct Rewind(pub(super) u64);

#[async_trait]
impl Operation for Query<'_> {
    type Done = StepResult;

    async fn run(&self, database: &mut dyn Database) -> Result<StepResult, EngineError> {
        database.run(&self.0).await
    }

    fn cut_off(&self, error: SqlError) -> StepResult {
        StepResult { error: Some(error), pure: true, ..StepResult::default() }
    }
}

#[async_trait]
impl Operation for Replay<'_> {
    type Done = StepResult;

    async fn run(&self, database: &mut dyn Database) -> Result<StepResult, EngineError> {
        self.0.replay(database, self.1).await
    }

    fn cut_off(&self, error: SqlError) -> StepResult {
        StepResult { error: Some(error), pure: true, ..StepResult::default() }
    }
}

#[async_trait]
impl Operation for ReadSchema {
    type Done = Result<Schema, SqlError>;

    async fn run(&self, database: &mut dyn Database) -> Result<Self::Done, EngineError> {
        database.schema().await.map(Ok)
    }

    fn cut_off(&self, error: SqlError) -> Self::Done {
        Err(error)
    }
}

#[async_trait]
impl Operation for Explain<'_> {
    type Done = Result<Plan, SqlError>;

    async fn run(&self, database: &mut dyn Database) -> Result<Self::Done, EngineError> {
        database.explain(self.0, self.1).await
    }

    fn cut_off(&self, error: SqlError) -> Self::Done {
        Err(error)
    }
}

#[async_trait]
impl Operation for Rewind {
    type Done = bool;

    async fn run(&self, database: &mut dyn Database) -> Result<bool, EngineError> {
        database.rewind(self.0).await
    }

    fn cut_off(&self, _: SqlError) -> bool {
        false
    }
}
