//! What a room wants of its database, so that it can be asked of another one when the first is lost, and answered when it is cut off.

use async_trait::async_trait;

use super::log::Logged;
use crate::engine::{Database, EngineError, Plan, Ran, Schema, SqlError, Step};
use crate::value::{Dialect, Value};

/// Something to do with a database, as often as need be.
#[async_trait]
pub(super) trait Errand: Sync {
    type Done: Send;

    async fn run(&self, database: &mut dyn Database) -> Result<Self::Done, EngineError>;

    /// What comes of it where it was cut off and nothing of it is left.
    fn cut_off(&self, error: SqlError) -> Self::Done;
}

pub(super) struct Query<'a>(pub(super) Step<'a>);
/// A step that was run before.
pub(super) struct Again<'a>(pub(super) &'a Logged, pub(super) Dialect);
pub(super) struct Look;
pub(super) struct Explain<'a>(pub(super) &'a str, pub(super) &'a [Value]);
pub(super) struct Return(pub(super) u64);

#[async_trait]
impl Errand for Query<'_> {
    type Done = Ran;

    async fn run(&self, database: &mut dyn Database) -> Result<Ran, EngineError> {
        database.run(&self.0).await
    }

    fn cut_off(&self, error: SqlError) -> Ran {
        Ran { error: Some(error), pure: true, ..Ran::default() }
    }
}

#[async_trait]
impl Errand for Again<'_> {
    type Done = Ran;

    async fn run(&self, database: &mut dyn Database) -> Result<Ran, EngineError> {
        self.0.replay(database, self.1).await
    }

    fn cut_off(&self, error: SqlError) -> Ran {
        Ran { error: Some(error), pure: true, ..Ran::default() }
    }
}

#[async_trait]
impl Errand for Look {
    type Done = Result<Schema, SqlError>;

    async fn run(&self, database: &mut dyn Database) -> Result<Self::Done, EngineError> {
        database.schema().await.map(Ok)
    }

    fn cut_off(&self, error: SqlError) -> Self::Done {
        Err(error)
    }
}

#[async_trait]
impl Errand for Explain<'_> {
    type Done = Result<Plan, SqlError>;

    async fn run(&self, database: &mut dyn Database) -> Result<Self::Done, EngineError> {
        database.explain(self.0, self.1).await
    }

    fn cut_off(&self, error: SqlError) -> Self::Done {
        Err(error)
    }
}

#[async_trait]
impl Errand for Return {
    type Done = bool;

    async fn run(&self, database: &mut dyn Database) -> Result<bool, EngineError> {
        database.rewind(self.0).await
    }

    fn cut_off(&self, _: SqlError) -> bool {
        false
    }
}
