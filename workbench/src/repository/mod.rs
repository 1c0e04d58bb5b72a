//! Repositories: a project at a commit, an issue, and tests that have to go from failing to passing.

pub mod admit;
pub mod archive;
mod canary;
mod change;
mod git;
pub mod instance;
mod judge;
pub mod log;
mod patch;
mod prepare;
mod protected;
mod trial;
mod upload;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::work::{Brief, Desk, Fault, JudgeError, Judgement, Upload};
use admit::Report;
use instance::Instance;
use prepare::Layers;

/// The family of repositories.
#[derive(Clone, Default)]
pub struct Repository {
    layers: Arc<Layers>,
}

impl Repository {
    /// Runs the tests of a row on the broken and on the repaired tree.
    ///
    /// # Errors
    /// In words, when they could not be run at all.
    pub async fn examine(&self, row: &Value, desk: &Desk) -> Result<Report, String> {
        let instance = Instance::of(row)?;
        admit::admit(&instance, &self.layers, desk).await.map_err(|error| error.to_string())
    }

    pub async fn judge(&self, row: &Value, seed: u64, evidence: &Value, desk: &Desk) -> Result<Judgement, JudgeError> {
        let instance = Instance::of(row).map_err(JudgeError::Verifier)?;
        judge::judge(&instance, seed, evidence, &self.layers, desk).await
    }

    pub fn rows(&self, upload: &Upload) -> Result<Vec<(String, Value)>, Vec<Fault>> {
        upload::rows(upload)
    }
}
