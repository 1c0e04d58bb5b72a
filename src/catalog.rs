//! Stand-in until the catalog is merged.

use std::sync::Arc;

use palestra_protocol::environment::{Environment as Spec, Published, Task as PublicTask};
use palestra_protocol::problem::Fault;
use palestra_protocol::time::Timestamp;

use crate::environment::task::TaskError;
use crate::environment::{EnvironmentKind, dataset};
use crate::store::{Store, StoreError};

pub const TASKS_PER_PAGE_MAX: u64 = 1_000;

#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error("there is no environment {0:?}")]
    UnknownEnvironment(String),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error("the definition has {} faults", .0.len())]
    Faults(Vec<Fault>),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a definition is broken: {0}")]
    Broken(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPage {
    pub split: String,
    pub shuffle: Option<u64>,
    pub offset: u64,
    pub limit: u64,
}

#[derive(Clone)]
pub struct Catalog;

impl Catalog {
    pub fn new(_: Arc<dyn Store>, _: Vec<Arc<dyn EnvironmentKind>>) -> Result<Self, CatalogError> {
        Ok(Self)
    }
    pub async fn list(&self, _: &str) -> Result<Vec<Spec>, CatalogError> {
        Ok(vec![])
    }
    pub async fn get(&self, _: &str, name: &str) -> Result<Spec, CatalogError> {
        Err(CatalogError::UnknownEnvironment(name.to_owned()))
    }
    pub async fn tasks(&self, _: &str, name: &str, _: &TaskPage) -> Result<Vec<PublicTask>, CatalogError> {
        Err(CatalogError::UnknownEnvironment(name.to_owned()))
    }
    pub async fn publish(
        &self,
        _: &str,
        _: dataset::Submission,
        _: Vec<u8>,
        _: Timestamp,
    ) -> Result<Published, CatalogError> {
        Err(CatalogError::Faults(vec![]))
    }
}
