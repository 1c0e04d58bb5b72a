//! A session on a repository: the workspace of a terminal over the prepared layer, whose evidence is the change as a patch.

use std::time::Duration;

use async_trait::async_trait;
use palestra_sandbox::{Command, Ending, Sandbox, SandboxError};
use serde_json::{Map, Value, json};

use super::change::{Change, TREE, change};
use super::git::Trouble;
use super::instance::{Instance, PATCH_BYTES_MAX};
use super::prepare::{Layers, Prepared, keep};
use crate::terminal::row::{Judge, Row, Scene};
use crate::terminal::scene;
use crate::terminal::workspace::{TerminalWorkspace, stop};
use crate::work::{Input, Observation, Opening, Workbench, Workspace};

/// The tool that takes a patch instead of the tree.
pub(super) const SUBMIT_PATCH: &str = "submit_patch";

/// Time that the listing of a folder may take.
const LISTING_MAX: Duration = Duration::from_secs(10);

/// The tools of a terminal, and [`SUBMIT_PATCH`].
pub(super) fn tools() -> Vec<Value> {
    let mut tools = crate::terminal::tools::all();
    tools.push(json!({"type": "function", "function": {
        "name": SUBMIT_PATCH,
        "description": "Hand in a patch, as `git diff` writes it against the base commit, instead of what the files hold now. \
            Ends the episode. A call has to fit into one request, which is 1 MiB as JSON on most servers: leave a larger change \
            in the files.",
        "parameters": {
            "type": "object",
            "properties": {"patch": {"type": "string", "maxLength": PATCH_BYTES_MAX}},
            "required": ["patch"],
            "additionalProperties": false,
        },
    }}));
    tools
}

/// A session.
pub(super) struct RepositoryWorkspace {
    terminal: TerminalWorkspace,
    instance: Instance,
    prepared: Prepared,
    workbench: Workbench,
    /// Digest of the patch that was handed in.
    submitted: Option<String>,
}

impl RepositoryWorkspace {
    pub(super) async fn open(
        instance: Instance,
        opening: &Opening,
        layers: &Layers,
        workbench: &Workbench,
    ) -> Result<Self, SandboxError> {
        let prepared = layers.get(&instance, workbench).await.map_err(Trouble::into_sandbox)?;
        let layer = Some(prepared.delta.clone());
        let none = scene::Layers::default();
        let terminal = TerminalWorkspace::over(row(&instance), layer, opening, &none, workbench).await?;
        Ok(Self { terminal, instance, prepared, workbench: workbench.clone(), submitted: None })
    }

    async fn submit(&mut self, arguments: &Map<String, Value>) -> Result<Observation, SandboxError> {
        let patch = arguments.get("patch").and_then(Value::as_str).unwrap_or_default();
        if patch.len() > PATCH_BYTES_MAX {
            return Ok(Observation::text("A patch is at most 8 MiB."));
        }
        let patch = patch.as_bytes().to_vec();
        self.submitted = Some(keep(&self.workbench, patch).await.map_err(Trouble::into_sandbox)?);
        Ok(Observation { terminated: true, ..Observation::text("The patch is handed in.") })
    }

    /// The project's folder as it is, packed while everything stands still.
    async fn tree(&self) -> Result<Result<Vec<u8>, String>, SandboxError> {
        let sandbox = self.terminal.sandbox();
        let sandbox = sandbox.ok_or_else(|| SandboxError::Lost("the workspace was closed".to_owned()))?;
        let entries = entries(sandbox, &self.instance.folder()).await?;
        stop(sandbox).await?;
        let packed = sandbox.pack(&entries, TREE).await;
        sandbox.thaw().await?;
        match packed {
            Ok((tree, _)) => Ok(Ok(tree)),
            // Whatever keeps it from being packed lies in the tree: too much, folders without end, files that cannot be read.
            Err(SandboxError::Refused { detail, .. }) => Ok(Err(format!("its files: {detail}"))),
            Err(error) => Err(error),
        }
    }
}

/// Entries of the project's folder but for its `.git`, which may be larger than all the rest. The acting side may meddle with the
/// listing; it then chooses which of its own files are looked at.
async fn entries(sandbox: &Sandbox, folder: &str) -> Result<Vec<String>, SandboxError> {
    let list = ["find", folder, "-mindepth", "1", "-maxdepth", "1", "!", "-name", ".git", "-print0"];
    match sandbox.exec(&Command::new(list).folder("/").wall(LISTING_MAX)).await {
        Ok(listed) if listed.success() && listed.exited.output_omitted_bytes == 0 => {
            let paths = listed.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
            Ok(paths.filter_map(|path| String::from_utf8(path.to_vec()).ok()).collect())
        }
        // It may have left nothing to run a program with.
        Ok(_) | Err(SandboxError::Refused { .. }) => Ok(vec![folder.to_owned()]),
        Err(error) => Err(error),
    }
}

/// The terminal of an instance. It is judged here, so its own judge has nothing to do.
fn row(instance: &Instance) -> Row {
    let scene = Scene {
        image: instance.image.clone(),
        profile: "terminal".to_owned(),
        folder: instance.folder(),
        env: instance.env.clone(),
        ..Scene::default()
    };
    let judge =
        Judge::Checks { image: instance.image.clone(), files: Vec::new(), artefacts: Vec::new(), checks: Vec::new() };
    Row {
        name: instance.instance_id.clone(),
        area: "repository".to_owned(),
        instruction: instance.problem_statement.clone(),
        difficulty: instance.difficulty,
        score_range: None,
        scene,
        judge,
        solution: None,
        cheats: std::collections::BTreeMap::new(),
        notes: Vec::new(),
        trusted: false,
    }
}

#[async_trait]
impl Workspace for RepositoryWorkspace {
    async fn observe(&mut self) -> Result<Observation, SandboxError> {
        self.terminal.observe().await
    }

    async fn act(&mut self, input: Input<'_>) -> Result<Observation, SandboxError> {
        match input {
            Input::Call { tool: SUBMIT_PATCH, arguments } => self.submit(arguments).await,
            other => self.terminal.act(other).await,
        }
    }

    async fn evidence(&mut self) -> Result<Value, SandboxError> {
        if let Some(digest) = &self.submitted {
            return Ok(json!({"patch": digest}));
        }
        let refused = |why: String| json!({"refused": why});
        let tree = match self.tree().await? {
            Ok(tree) => tree,
            Err(why) => return Ok(refused(why)),
        };
        let changed = change(&tree, &self.instance, &self.prepared, &self.workbench).await;
        match changed.map_err(Trouble::into_sandbox)? {
            Change::Patch(patch) => {
                let digest = keep(&self.workbench, patch).await.map_err(Trouble::into_sandbox)?;
                Ok(json!({"patch": digest}))
            }
            Change::Refused(why) => Ok(refused(why)),
        }
    }

    async fn fork(&mut self, name: &str) -> Result<Option<Box<dyn Workspace>>, SandboxError> {
        let Some(terminal) = self.terminal.copy(name).await? else { return Ok(None) };
        Ok(Some(Box::new(Self {
            terminal,
            instance: self.instance.clone(),
            prepared: self.prepared.clone(),
            workbench: self.workbench.clone(),
            submitted: self.submitted.clone(),
        })))
    }

    async fn snapshot(&mut self) -> Result<Option<Value>, SandboxError> {
        self.terminal.snapshot().await
    }

    async fn changes(&mut self, since: Option<&Value>) -> Result<Option<Value>, SandboxError> {
        self.terminal.changes(since).await
    }

    async fn ending(&mut self) -> Ending {
        self.terminal.ending().await
    }

    fn isolation(&self) -> Value {
        self.terminal.isolation()
    }

    async fn close(&mut self) {
        self.terminal.close().await;
    }

    async fn leave(&mut self) {
        self.terminal.leave().await;
    }
}
