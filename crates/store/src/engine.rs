//! The seam between the store and its databases: everything else is written once, on top of these traits.

use async_trait::async_trait;

use super::field::Fields;
use super::row::NodeRow;
use super::statement::{Bulk, BulkRow, Statement};
use super::{Durability, Groups, StoreError};

/// The order of the primary key of steps, which decides how those of one episode are found.
#[derive(Debug, Clone, Copy)]
pub enum StepOrder {
    /// By episode, then by number.
    ByEpisode,
    /// By number, then by episode: episodes that advance together share the pages that a commit changes. The steps of one episode are
    /// found by counting, since their numbers have no gaps.
    BySeq,
}

/// Takes one row of a result.
pub(super) type Visit<'a> = dyn FnMut(&dyn Fields) -> Result<(), StoreError> + Send + 'a;

/// Answers queries: on pooled connections, or inside one transaction.
///
/// Queries are inherent methods of `dyn Reader`, each in the file of its noun. [`Store`](crate::Store) and
/// [`Transaction`](crate::Transaction) dereference to it, so that both answer the same ones.
#[async_trait]
pub trait Reader: Send + Sync {
    /// The order in which steps are stored.
    fn step_order(&self) -> StepOrder;

    /// Runs a query and passes each row to `visit`, in order.
    async fn fetch(&self, query: Statement<'_>, visit: &mut Visit<'_>) -> Result<(), StoreError>;
}

impl dyn Reader {
    /// Every row of a result.
    pub(super) async fn all<T: Send>(
        &self,
        query: Statement<'_>,
        decode: fn(&dyn Fields) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut rows = Vec::new();
        let mut visit = |row: &dyn Fields| decode(row).map(|row| rows.push(row));
        self.fetch(query, &mut visit).await?;
        Ok(rows)
    }

    /// The first row of a result.
    pub(super) async fn one<T: Send>(
        &self,
        query: Statement<'_>,
        decode: fn(&dyn Fields) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.all(query, decode).await?.into_iter().next())
    }

    /// The column `number` of the only row of a result.
    pub(super) async fn number(&self, query: Statement<'_>) -> Result<u64, StoreError> {
        Ok(self.one(query, |row| row.number("number")).await?.unwrap_or_default())
    }

    /// True when a result has a row.
    pub(super) async fn exists(&self, query: Statement<'_>) -> Result<bool, StoreError> {
        Ok(self.one(query, |_| Ok(())).await?.is_some())
    }
}

/// A database.
#[async_trait]
pub(super) trait Engine: Reader {
    /// `sqlite` or `postgres`.
    fn name(&self) -> &'static str;

    /// Begins a write transaction.
    async fn begin(&self, durability: Durability) -> Result<Box<dyn EngineTransaction>, StoreError>;

    /// Commits groups of records, if the node is held by its incarnation.
    async fn commit(&self, node: &NodeRow, groups: &Groups, durability: Durability) -> Result<(), StoreError>;

    /// Closes every connection.
    async fn close(&self);
}

/// A write transaction. Dropped without an end, it is rolled back.
#[async_trait]
pub(super) trait EngineTransaction: Reader {
    /// Runs a statement; answers how many rows it changed.
    async fn execute(&mut self, statement: Statement<'_>) -> Result<u64, StoreError>;

    /// Runs a statement for many rows; fails with [`StoreError::Exists`] when a key is taken.
    async fn bulk(&mut self, bulk: &Bulk, rows: &[BulkRow<'_>]) -> Result<(), StoreError>;

    /// Waits until no other transaction holds the lock of this name, and holds it until the end.
    async fn lock(&mut self, name: &str) -> Result<(), StoreError>;

    /// Commits.
    async fn commit(self: Box<Self>) -> Result<(), StoreError>;

    /// Rolls back.
    async fn rollback(self: Box<Self>);
}

/// Implements [`Fields`] for the rows of one database and defines `bind`, which makes a query of a statement: sqlx has separate types
/// for each database although they behave alike.
macro_rules! implement_driver {
    ($database:ty, $row:ty) => {
        impl $crate::field::Fields for $row {
            fn text_or_none(&self, name: &str) -> Result<Option<String>, StoreError> {
                self.try_get(name).map_err(|error| broken(name, error))
            }

            fn integer_or_none(&self, name: &str) -> Result<Option<i64>, StoreError> {
                self.try_get(name).map_err(|error| broken(name, error))
            }

            fn real_or_none(&self, name: &str) -> Result<Option<f64>, StoreError> {
                self.try_get(name).map_err(|error| broken(name, error))
            }

            fn flag(&self, name: &str) -> Result<bool, StoreError> {
                self.try_get(name).map_err(|error| broken(name, error))
            }

            fn bytes(&self, name: &str) -> Result<Vec<u8>, StoreError> {
                self.try_get(name).map_err(|error| broken(name, error))
            }
        }

        type BoundQuery = sqlx::query::Query<'static, $database, <$database as sqlx::Database>::Arguments>;

        fn bind(statement: Statement<'_>) -> BoundQuery {
            statement.cells.into_iter().fold(sqlx::query(statement.sql), |query, cell| match cell {
                Cell::Text(text) => query.bind(text.map(std::borrow::Cow::into_owned)),
                Cell::Integer(number) => query.bind(number),
                Cell::Real(number) => query.bind(number),
                Cell::Boolean(flag) => query.bind(flag),
                Cell::Bytes(bytes) => query.bind(bytes.into_owned()),
            })
        }
    };
}
pub(super) use implement_driver;
