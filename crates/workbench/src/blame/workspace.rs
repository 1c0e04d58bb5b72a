//! A workspace whose acting side answers for its losses: what it did to its own place ends the episode, and scores 0.

use std::sync::Arc;

use async_trait::async_trait;
use palestra_sandbox::{Ending, SandboxError};
use serde_json::{Value, json};

use super::broken::{Broken, fact};
use super::control::Beginning;
use super::judging::RUNS;
use crate::work::{Input, Observation, Opening, Work, Workbench, Workspace};

/// Opens a workspace, as [`Work::open`] does, whose losses are looked into.
///
/// # Errors
/// As [`Work::open`], but where what the acting side left before a restart, a restore or a fork cannot be gone on with.
pub async fn open(
    work: Arc<dyn Work>,
    row: Arc<Value>,
    opening: &Opening,
    workbench: &Workbench,
) -> Result<Box<dyn Workspace>, SandboxError> {
    let opened = work.open(&row, opening, workbench).await;
    let mut held = GuardedWorkspace {
        work,
        row,
        opening: opening.clone(),
        workbench: workbench.clone(),
        workspace: None,
        isolation: Value::Null,
        broken: None,
    };
    match opened {
        Ok(workspace) => held.workspace = Some(workspace),
        Err(error @ SandboxError::Refused { .. }) if opening.resumed || opening.from.is_some() => {
            let control = held.control(&error, false).await?;
            held.broken = Some(Broken { what: error.to_string(), fact: "the sandbox stands".to_owned(), control });
        }
        Err(error) => return Err(error),
    }
    Ok(Box::new(held))
}

struct GuardedWorkspace {
    work: Arc<dyn Work>,
    row: Arc<Value>,
    opening: Opening,
    workbench: Workbench,
    /// `None` once it is broken.
    workspace: Option<Box<dyn Workspace>>,
    /// Isolation in force.
    isolation: Value,
    broken: Option<Broken>,
}

impl GuardedWorkspace {
    fn standing(&mut self) -> Result<&mut Box<dyn Workspace>, SandboxError> {
        self.workspace.as_mut().ok_or_else(|| SandboxError::Lost("the workspace was closed".to_owned()))
    }

    /// Runs the control on the back end that the workspace was on; what came of it.
    ///
    /// # Errors
    /// The error that is looked into, where the control fails too.
    async fn control(&self, error: &SandboxError, evidence: bool) -> Result<String, SandboxError> {
        let Self { work, row, workbench, .. } = self;
        let mut opening = self.opening.clone();
        if let Value::String(backend) = &self.isolation()["backend"] {
            opening.config.insert("backend".to_owned(), json!(backend));
        }
        let beginning = Beginning { work: &**work, row, opening: &opening, workbench };
        let control = if evidence {
            beginning
                .evidence()
                .await
                .map(|_| "the evidence of an untouched beginning of the task can be taken".to_owned())
        } else {
            beginning.opens().await
        };
        control.map_err(|why| {
            tracing::warn!(%error, why, "a place failed, and so does an untouched one");
            match error {
                SandboxError::Lost(lost) => {
                    SandboxError::Lost(format!("{lost}; an untouched beginning fails too: {why}"))
                }
                other => other.clone(),
            }
        })
    }

    /// The workspace as broken by who acted in it.
    ///
    /// # Errors
    /// The loss, where the machine or an engine brought it about, or an untouched beginning cannot be had either.
    async fn lose(&mut self, why: &str, evidence: bool) -> Result<Broken, SandboxError> {
        let ending = self.standing()?.ending().await;
        if let Some(mut workspace) = self.workspace.take() {
            self.isolation = workspace.isolation();
            // Its disk stays until the episode is forgotten.
            workspace.leave().await;
        }
        let lost = SandboxError::Lost(format!("{why}; {}", fact(&ending)));
        if matches!(ending, Ending::Host(_)) {
            return Err(lost);
        }
        let control = self.control(&lost, evidence).await?;
        let broken = Broken { what: format!("the sandbox is lost: {why}"), fact: fact(&ending), control };
        self.broken = Some(broken.clone());
        Ok(broken)
    }

    /// Evidence that cannot be taken although the sandbox stands: it is tried twice, each time followed by the control.
    async fn take_evidence(&mut self) -> Result<Value, SandboxError> {
        let mut failures: Vec<String> = Vec::new();
        loop {
            let error = match self.standing()?.evidence().await {
                Err(SandboxError::Lost(why)) => return Ok(self.lose(&why, true).await?.evidence()),
                Err(error @ (SandboxError::Refused { .. } | SandboxError::Start(_))) => error,
                other => return other,
            };
            let control = self.control(&error, true).await?;
            failures.push(error.to_string());
            if failures.len() == RUNS {
                let what = format!("what it holds cannot be taken: {}", failures.join("; again: "));
                let broken = Broken { what, fact: "the sandbox stands".to_owned(), control };
                self.broken = Some(broken.clone());
                return Ok(broken.evidence());
            }
        }
    }
}

fn over(broken: &Broken) -> Observation {
    let text = format!("The episode is over: {}; {}.", broken.what, broken.fact);
    Observation { terminated: true, data: json!({}), ..Observation::text(text) }
}

#[async_trait]
impl Workspace for GuardedWorkspace {
    async fn observe(&mut self) -> Result<Observation, SandboxError> {
        match &self.broken {
            Some(broken) => Ok(over(broken)),
            None => self.standing()?.observe().await,
        }
    }

    async fn act(&mut self, input: Input<'_>) -> Result<Observation, SandboxError> {
        if let Some(broken) = &self.broken {
            return Ok(over(broken));
        }
        match self.standing()?.act(input).await {
            Err(SandboxError::Lost(why)) => Ok(over(&self.lose(&why, false).await?)),
            other => other,
        }
    }

    async fn evidence(&mut self) -> Result<Value, SandboxError> {
        match &self.broken {
            Some(broken) => Ok(broken.evidence()),
            None => self.take_evidence().await,
        }
    }

    async fn fork(&mut self, name: &str) -> Result<Option<Box<dyn Workspace>>, SandboxError> {
        if self.broken.is_some() {
            return Ok(None);
        }
        let Some(workspace) = self.standing()?.fork(name).await? else { return Ok(None) };
        Ok(Some(Box::new(Self {
            work: Arc::clone(&self.work),
            row: Arc::clone(&self.row),
            opening: Opening { name: name.to_owned(), ..self.opening.clone() },
            workbench: self.workbench.clone(),
            workspace: Some(workspace),
            isolation: Value::Null,
            broken: None,
        })))
    }

    async fn snapshot(&mut self) -> Result<Option<Value>, SandboxError> {
        if self.broken.is_some() { Ok(None) } else { self.standing()?.snapshot().await }
    }

    async fn changes(&mut self, since: Option<&Value>) -> Result<Option<Value>, SandboxError> {
        if self.broken.is_some() { Ok(None) } else { self.standing()?.changes(since).await }
    }

    async fn ending(&mut self) -> Ending {
        match &mut self.workspace {
            Some(workspace) => workspace.ending().await,
            None => Ending::Host("the workspace was closed".to_owned()),
        }
    }

    fn isolation(&self) -> Value {
        self.workspace.as_ref().map_or_else(|| self.isolation.clone(), |workspace| workspace.isolation())
    }

    async fn close(&mut self) {
        if let Some(mut workspace) = self.workspace.take() {
            workspace.close().await;
        }
        self.workbench.sandboxes.forget_disk(&self.opening.name);
    }

    async fn leave(&mut self) {
        if let Some(mut workspace) = self.workspace.take() {
            workspace.leave().await;
        }
    }
}
