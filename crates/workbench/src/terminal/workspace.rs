//! A workspace where a task of a terminal is done.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use palestra_sandbox::sandbox::Bounds;
use palestra_sandbox::wire::FailureCode;
use palestra_sandbox::{Command, Ending, Sandbox, SandboxError, SandboxSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::evidence::ARTEFACTS;
use super::live::{Live, Start, stands};
use super::rewards;
use super::row::{Collect, Judge, On, Row};
use super::scene::{DELTA, Layers, begin, keep, kept, spec, user_of};
use super::script;
use super::tools::Tool;
use crate::work::{Input, Observation, Opening, Workbench, Workspace};

/// Changes that are listed.
const CHANGES_MAX: u64 = 20_000;
/// Folders that belong to the judge: nothing that the acting side left there reaches it.
pub(super) const JUDGES: [&str; 4] = ["/tests", "/logs", "/solution", "/judge"];

/// A workspace.
pub(crate) struct TerminalWorkspace {
    workbench: Workbench,
    layers: Layers,
    row: Row,
    want: SandboxSpec,
    /// Digest of the layer that all sessions share.
    layer: Option<String>,
    /// `None` once it was closed, or judged in place.
    live: Option<Live>,
    /// Result of judging in place; the episode is over then.
    judged: Option<Value>,
    /// Answer that was submitted.
    answer: Option<String>,
    /// Cause of the end of the sandbox in which it was being judged.
    ending: Option<Ending>,
    opened: Instant,
}

/// Snapshot that a workspace can be opened again from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    backend: String,
    /// Digest of the change.
    delta: String,
    folder: String,
    exports: Option<String>,
}

impl TerminalWorkspace {
    /// Opens one: at the beginning of its task, from a snapshot, or on the disk that an earlier server left.
    pub(super) async fn open(
        mut row: Row,
        opening: &Opening,
        layers: &Layers,
        workbench: &Workbench,
    ) -> Result<Self, SandboxError> {
        let backend = wanted(&row, opening)?.backend;
        let ground = layers.ground(&row.scene, &[], backend, workbench).await?;
        row.scene.image = ground.image;
        Self::over(row, ground.layer, opening, layers, workbench).await
    }

    /// Opens one over a layer that somebody else made, in the same ways.
    pub(crate) async fn over(
        row: Row,
        layer: Option<String>,
        opening: &Opening,
        layers: &Layers,
        workbench: &Workbench,
    ) -> Result<Self, SandboxError> {
        let want = wanted(&row, opening)?;
        let snapshot = snapshot_of(opening)?;
        let sandbox = if opening.resumed {
            workbench.sandboxes.on_disk(&want, &opening.name).await?
        } else {
            workbench.sandboxes.take_named(&want, &opening.name).await?
        };
        let goes_on = opening.resumed || snapshot.is_some();
        let prepared = async {
            let mut start = Start {
                folder: row.scene.folder.clone(),
                env: row.scene.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
                user: user_of(&sandbox, None).await?,
                exports: None,
            };
            if opening.resumed {
                // Its disk is as it was left.
            } else if let Some(snapshot) = snapshot {
                sandbox.apply(&kept(workbench, &snapshot.delta).await?).await?;
                start.folder = snapshot.folder;
                start.exports = snapshot.exports;
            } else {
                let layer = match &layer {
                    Some(digest) => Some(kept(workbench, digest).await?),
                    None => None,
                };
                begin(&sandbox, &row.scene, layer.as_deref(), opening.secrets).await?;
            }
            let named = user_of(&sandbox, row.scene.user.as_deref()).await;
            match named {
                // Whoever acted may have removed the list of users.
                Err(SandboxError::Refused { .. } | SandboxError::Start(_)) if goes_on => {}
                named => start.user = named?,
            }
            if !stands(&sandbox, &start.folder).await? {
                start.folder = "/".to_owned();
            }
            Ok(start)
        };
        let start = match prepared.await {
            Ok(start) => start,
            Err(error) => {
                sandbox.destroy(!opening.resumed).await;
                return Err(error);
            }
        };
        let mut live = if goes_on { Live::go_on(sandbox, start).await? } else { Live::start(sandbox, start).await? };
        if opening.resumed {
            live.note("The place was opened anew: files are as they were, processes and variables are gone.");
        }
        let (workbench, layers, opened) = (workbench.clone(), layers.clone(), live.began());
        Ok(Self {
            workbench,
            layers,
            row,
            want,
            layer,
            live: Some(live),
            judged: None,
            answer: None,
            ending: None,
            opened,
        })
    }

    /// An independent copy called `name`; `None` once the episode was judged in place.
    pub(crate) async fn copy(&mut self, name: &str) -> Result<Option<Self>, SandboxError> {
        if self.judged.is_some() {
            return Ok(None);
        }
        let exports = self.live()?.exports().await?;
        let others = self.live()?.sandbox().stats().await?.processes > 1;
        let (delta, _) = self.delta(&[]).await?;
        let live = self.live()?;
        let want = SandboxSpec { backend: Some(live.sandbox().isolation().backend.clone()), ..self.want.clone() };
        let live = self.live()?;
        let mut start = Start { folder: live.folder(), env: live.env().to_vec(), user: live.user(), exports };
        let sandbox = self.workbench.sandboxes.take_named(&want, name).await?;
        let applied = async {
            sandbox.apply(&delta).await?;
            stands(&sandbox, &start.folder).await
        };
        match applied.await {
            Ok(true) => {}
            Ok(false) => start.folder = "/".to_owned(),
            Err(error) => {
                sandbox.destroy(true).await;
                return Err(error);
            }
        }
        let mut live = Live::go_on(sandbox, start).await?;
        if others {
            live.note("This is a copy: files are as they were, processes that ran are not part of it.");
        }
        Ok(Some(Self {
            workbench: self.workbench.clone(),
            layers: self.layers.clone(),
            row: self.row.clone(),
            want,
            layer: self.layer.clone(),
            live: Some(live),
            judged: None,
            answer: None,
            ending: None,
            opened: self.opened,
        }))
    }

    /// Its sandbox; `None` once it was closed or judged in place.
    pub(crate) fn sandbox(&self) -> Option<&Sandbox> {
        self.live.as_ref().map(Live::sandbox)
    }

    fn live(&mut self) -> Result<&mut Live, SandboxError> {
        self.live.as_mut().ok_or_else(|| SandboxError::Lost("the workspace was closed".to_owned()))
    }

    /// The change of the file system, the acting side standing still meanwhile.
    async fn delta(&mut self, except: &[String]) -> Result<(Vec<u8>, Vec<String>), SandboxError> {
        let sandbox = self.live()?.sandbox();
        stop(sandbox).await?;
        let delta = sandbox.delta(DELTA, except).await;
        sandbox.thaw().await?;
        delta
    }

    /// Runs the commands that leave something to be judged. One that fails leaves nothing; then the tests say so.
    async fn collect(&mut self, commands: &[Collect]) -> Result<(), SandboxError> {
        let scene = self.row.scene.clone();
        for Collect { command, user, timeout_ms } in commands {
            let sandbox = self.live()?.sandbox();
            let user = user_of(sandbox, user.as_deref().or(scene.user.as_deref())).await?;
            let mut command = Command::new(["bash", "-c", command]).folder(&scene.folder).user(user);
            command.env = scene.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            command.wall = Some(Duration::from_millis(*timeout_ms));
            match sandbox.exec(&command).await {
                Ok(_) | Err(SandboxError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn artefacts(&mut self, paths: &[String]) -> Result<Value, SandboxError> {
        let sandbox = self.live.as_ref().map(Live::sandbox);
        let sandbox = sandbox.ok_or_else(|| SandboxError::Lost("the workspace was closed".to_owned()))?;
        stop(sandbox).await?;
        let packed = pack(sandbox, paths).await;
        sandbox.thaw().await?;
        let (archives, left_out) = packed?;
        let mut digests = Vec::new();
        for archive in archives {
            digests.push(keep(&self.workbench, archive).await?);
        }
        Ok(json!({"backend": sandbox.isolation().backend, "artefacts": digests, "left_out": left_out}))
    }

    async fn whole_change(&mut self) -> Result<Value, SandboxError> {
        let mut placed = Vec::new();
        for folder in ["/tests", "/logs/verifier"] {
            if self.live()?.sandbox().stat(folder).await?.is_some() {
                placed.push(folder);
            }
        }
        let except: Vec<String> = JUDGES.iter().map(|folder| (*folder).to_owned()).collect();
        let backend = self.live()?.sandbox().isolation().backend.clone();
        let (delta, left_out) = match self.delta(&except).await {
            Ok((delta, left_out)) => (keep(&self.workbench, delta).await?, left_out),
            Err(SandboxError::Refused { code: FailureCode::TooLarge, detail }) => {
                return Ok(json!({"backend": backend, "delta": null, "too_large": detail}));
            }
            Err(error) => return Err(error),
        };
        Ok(json!({
            "backend": backend,
            "image": self.row.scene.image,
            "delta": delta,
            "layer": self.layer,
            "left_out": left_out,
            "placed": placed,
        }))
    }

    /// Ends the acting side's shell and judges where it stood; other processes go on, since such a task needs them.
    async fn in_place(&mut self) -> Result<Value, SandboxError> {
        if let Some(judged) = &self.judged {
            return Ok(judged.clone());
        }
        self.live()?.end_shell().await?;
        let live = self.live.take().ok_or_else(|| SandboxError::Lost("the workspace was closed".to_owned()))?;
        let sandbox = live.into_sandbox();
        let judged = script::run(&self.row, &sandbox, script::Tracing::Off).await;
        if let Err(rewards::Failure::Sandbox(SandboxError::Lost(_))) = &judged {
            self.ending = Some(sandbox.ending().await);
        }
        let backend = sandbox.isolation().backend.clone();
        sandbox.destroy(true).await;
        let judged = match judged {
            Ok(judged) => json!({"backend": backend, "in_place": judged}),
            // The tests cannot be laid out or run in what was left of the place.
            Err(rewards::Failure::Sandbox(error @ (SandboxError::Refused { .. } | SandboxError::Start(_)))) => {
                json!({"backend": backend, "failed": error.to_string()})
            }
            Err(rewards::Failure::Sandbox(error)) => return Err(error),
            Err(rewards::Failure::Script(why)) => json!({"backend": backend, "failed": why}),
            Err(rewards::Failure::Timeout(why)) => json!({"backend": backend, "late": why}),
        };
        self.judged = Some(judged.clone());
        Ok(judged)
    }

    /// Time that is left to the acting side; `None` where it has no limit.
    fn left(&self) -> Option<Duration> {
        let limit = Duration::from_millis(self.row.scene.agent_ms?);
        Some(limit.saturating_sub(self.opened.elapsed()))
    }
}

#[async_trait]
impl Workspace for TerminalWorkspace {
    async fn observe(&mut self) -> Result<Observation, SandboxError> {
        Ok(self.live()?.look())
    }

    async fn act(&mut self, input: Input<'_>) -> Result<Observation, SandboxError> {
        if self.judged.is_some() {
            return Ok(Observation {
                terminated: true,
                ..Observation::text("The episode is over: it was judged in place.")
            });
        }
        let left = self.left();
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(Observation { terminated: true, ..Observation::text("The time for this task is over.") });
        }
        let tool = match input {
            Input::Text(text) => Tool::command(text),
            Input::Call { tool, arguments } => Tool::read(tool, arguments),
        };
        match tool {
            Ok(mut tool) => {
                if let Tool::Submit(submit) = &tool {
                    self.answer.clone_from(&submit.answer);
                }
                let live = self.live()?;
                if let (Some(left), Tool::Exec(exec)) = (left, &mut tool) {
                    exec.timeout_ms = exec.timeout_ms.min(left.as_millis() as u64);
                }
                live.call(tool).await
            }
            Err(why) => Ok(Observation { data: json!({}), ..Observation::text(why) }),
        }
    }

    async fn evidence(&mut self) -> Result<Value, SandboxError> {
        match self.row.judge.clone() {
            Judge::Checks { artefacts, .. } => {
                let mut evidence = self.artefacts(&artefacts).await?;
                if let Some(answer) = &self.answer {
                    evidence["answer"] = json!(answer);
                }
                Ok(evidence)
            }
            Judge::Script { on: On::Artefacts { paths, .. }, collect, .. } => {
                self.collect(&collect).await?;
                self.artefacts(&paths).await
            }
            Judge::Script { on: On::Delta, .. } => self.whole_change().await,
            Judge::Script { on: On::Place, .. } => self.in_place().await,
        }
    }

    async fn fork(&mut self, name: &str) -> Result<Option<Box<dyn Workspace>>, SandboxError> {
        Ok(self.copy(name).await?.map(|copy| Box::new(copy) as Box<dyn Workspace>))
    }

    async fn snapshot(&mut self) -> Result<Option<Value>, SandboxError> {
        if self.judged.is_some() {
            return Ok(None);
        }
        let exports = self.live()?.exports().await?;
        let (delta, _) = self.delta(&[]).await?;
        let delta = keep(&self.workbench, delta).await?;
        let live = self.live()?;
        let snapshot =
            Snapshot { backend: live.sandbox().isolation().backend.clone(), delta, folder: live.folder(), exports };
        serde_json::to_value(snapshot).map(Some).map_err(|error| SandboxError::Start(error.to_string()))
    }

    async fn changes(&mut self, since: Option<&Value>) -> Result<Option<Value>, SandboxError> {
        let since = since.map(Snapshot::deserialize).transpose();
        let since = since.map_err(|error| SandboxError::Start(format!("this is no snapshot: {error}")))?;
        let base = match since.map(|snapshot| snapshot.delta).or_else(|| self.layer.clone()) {
            Some(digest) => Some(kept(&self.workbench, &digest).await?),
            None => None,
        };
        let sandbox = self.live()?.sandbox();
        stop(sandbox).await?;
        let taken = async {
            let now = sandbox.changes(CHANGES_MAX).await?;
            let delta = match &base {
                Some(_) => Some(sandbox.delta(DELTA, &[]).await?.0),
                None => None,
            };
            Ok((now, delta))
        };
        let taken: Result<_, SandboxError> = taken.await;
        sandbox.thaw().await?;
        let (now, delta) = taken?;
        let reported = move || super::difference::of(&now, base.as_deref(), delta.as_deref());
        let reported =
            tokio::task::spawn_blocking(reported).await.map_err(|error| SandboxError::Start(error.to_string()))?;
        reported.map(|data| Some(json!({ "data": data }))).map_err(SandboxError::Start)
    }

    async fn ending(&mut self) -> Ending {
        match (&self.live, &self.ending) {
            (Some(live), _) => live.sandbox().ending().await,
            (None, Some(ending)) => ending.clone(),
            (None, None) => Ending::Host("the workspace was closed".to_owned()),
        }
    }

    fn isolation(&self) -> Value {
        self.live.as_ref().map_or(Value::Null, |live| json!(live.sandbox().isolation()))
    }

    async fn close(&mut self) {
        if let Some(live) = self.live.take() {
            live.into_sandbox().destroy(true).await;
        }
    }

    async fn leave(&mut self) {
        if let Some(live) = self.live.take() {
            live.into_sandbox().destroy(false).await;
        }
    }
}

/// Spec of the sandbox: on the back end of the snapshot, or else on the one that was asked for.
fn wanted(row: &Row, opening: &Opening) -> Result<SandboxSpec, SandboxError> {
    let asked = opening.config.get("backend").and_then(Value::as_str).map(str::to_owned);
    let backend = snapshot_of(opening)?.map(|snapshot| snapshot.backend).or(asked);
    Ok(spec(&row.scene, backend))
}

fn snapshot_of(opening: &Opening) -> Result<Option<Snapshot>, SandboxError> {
    let snapshot = opening.from.as_ref().map(Snapshot::deserialize).transpose();
    snapshot.map_err(|error| SandboxError::Start(format!("this is no snapshot: {error}")))
}

/// Stops everything. What cannot be stopped, since it multiplies faster, is killed: nothing may change what is being copied.
pub(crate) async fn stop(sandbox: &Sandbox) -> Result<(), SandboxError> {
    match sandbox.freeze().await {
        Err(SandboxError::Refused { .. }) => sandbox.kill().await,
        stopped => stopped,
    }
}

/// Packs each path for itself, so that one that is too large costs the others nothing.
async fn pack(sandbox: &Sandbox, paths: &[String]) -> Result<(Vec<Vec<u8>>, Vec<String>), SandboxError> {
    let mut archives: Vec<Vec<u8>> = Vec::new();
    let mut left_out = Vec::new();
    for path in paths {
        let used: u64 = archives.iter().map(|archive| archive.len() as u64).sum();
        let bounds = Bounds { bytes_max: ARTEFACTS.bytes_max.saturating_sub(used), ..ARTEFACTS };
        match sandbox.pack(std::slice::from_ref(path), bounds).await {
            Ok((archive, omitted)) => {
                archives.push(archive);
                left_out.extend(omitted);
            }
            Err(error @ SandboxError::Refused { .. }) => left_out.push(format!("{path}: {error}")),
            Err(error) => return Err(error),
        }
    }
    Ok((archives, left_out))
}
