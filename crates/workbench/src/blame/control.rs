//! The control: an untouched beginning of the same task on the same back end, and the same judge over it.

use std::sync::atomic::{AtomicU64, Ordering};

use palestra_sandbox::SandboxError;
use serde_json::Value;

use crate::work::{Input, Judgement, Opening, Work, Workbench, Workspace};

/// Controls of this process: each has a name of its own.
static CONTROLS: AtomicU64 = AtomicU64::new(0);

/// An untouched beginning.
pub(super) struct Beginning<'a> {
    pub(super) work: &'a dyn Work,
    pub(super) row: &'a Value,
    /// Opening of the session.
    pub(super) opening: &'a Opening,
    pub(super) workbench: &'a Workbench,
}

impl Beginning<'_> {
    /// Opens one and looks at it.
    ///
    /// # Errors
    /// In words, when it cannot be had: then the infrastructure fails.
    pub(super) async fn opens(&self) -> Result<String, String> {
        let mut workspace = self.open().await.map_err(|error| error.to_string())?;
        let seen = workspace.observe().await;
        workspace.close().await;
        seen.map_err(|error| error.to_string())?;
        self.sound().await?;
        Ok("an untouched beginning of the task on the same back end opens and answers".to_owned())
    }

    /// Takes the evidence of one.
    ///
    /// # Errors
    /// As [`Beginning::opens`].
    pub(super) async fn evidence(&self) -> Result<Value, String> {
        let mut workspace = self.open().await.map_err(|error| error.to_string())?;
        let taken = async {
            for call in self.work.control(self.row) {
                workspace.act(Input::Call { tool: &call.tool, arguments: &call.arguments }).await?;
            }
            workspace.evidence().await
        };
        let taken: Result<Value, SandboxError> = taken.await;
        workspace.close().await;
        let evidence = taken.map_err(|error| error.to_string())?;
        self.sound().await?;
        Ok(evidence)
    }

    /// Judges one.
    ///
    /// # Errors
    /// As [`Beginning::opens`].
    pub(super) async fn judged(&self) -> Result<Judgement, String> {
        let evidence = self.evidence().await?;
        let judged = self.work.judge(self.row, self.opening.secrets, &evidence, self.workbench).await;
        let judgement = judged.map_err(|error| error.to_string())?;
        self.sound().await?;
        Ok(judgement)
    }

    async fn open(&self) -> Result<Box<dyn Workspace>, SandboxError> {
        let number = CONTROLS.fetch_add(1, Ordering::Relaxed);
        let name = format!("control-{}-{number}", std::process::id());
        let opening = Opening { name, resumed: false, from: None, ..self.opening.clone() };
        self.work.open(self.row, &opening, self.workbench).await
    }

    /// Checks that the ground of all sandboxes is sound: one that worked by chance must not blame anybody.
    async fn sound(&self) -> Result<(), String> {
        let named = self.opening.config.get("backend").and_then(Value::as_str);
        let backend = self.workbench.sandboxes.backend(named).map_err(|error| error.to_string())?;
        match backend.fault().await {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }
}
