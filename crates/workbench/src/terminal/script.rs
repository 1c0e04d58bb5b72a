//! Judges that are scripts of the task: `/tests/test.sh` writes a reward below `/logs/verifier`. The reward is read out of band, by
//! the sandbox's agent, once every process is killed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use palestra_sandbox::profile::Network;
use palestra_sandbox::sandbox::Bounds;
use palestra_sandbox::watch::Record;
use palestra_sandbox::wire::{ChangeKind, Entry, EntryKind, User};
use palestra_sandbox::{Command, Sandbox, SandboxSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::difference::{self, Compared};
use super::evidence::{backend, gather};
use super::removed;
use super::rewards::{self, Failure};
use super::row::{Judge, On, Row, Scene, Step, StoredFile};
use super::scene::{DELTA, Layers, begin, excerpt, kept, make_folder, spec, user_of};
use super::trust::{self, TrustFacts};
use crate::checks::Artefacts;
use crate::work::{Check, From, JudgeError, Judgement, Workbench};
use palestra_state::secrets::Secrets;

/// Bytes of what the script prints that are kept.
const OUTPUT_BYTES_MAX: u64 = 64 * 1024;

/// Result of a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ScriptResult {
    /// Rewards by name, each in [0, 1].
    rewards: BTreeMap<String, f64>,
    /// The end of what it printed.
    printed: String,
    /// True if it left processes that could have written after it.
    lingered: bool,
    /// True if it left two files with rewards, of which the lower counts.
    #[serde(default)]
    twice: bool,
    /// Its record.
    #[serde(skip)]
    record: Record,
}

/// Way to run the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tracing {
    /// With a record of the files that it loads.
    On,
    /// Without a record.
    Off,
}

/// Lays out the tests and runs them where everything else is in place.
pub(super) async fn run(row: &Row, sandbox: &Sandbox, tracing: Tracing) -> Result<ScriptResult, Failure> {
    let Judge::Script { on, files, user, env, timeout_ms, provision, .. } = &row.judge else {
        return Err(Failure::Script("the task has no script that judges: add one".to_owned()));
    };
    let scene = match on {
        On::Artefacts { scene, .. } => scene,
        On::Delta | On::Place => &row.scene,
    };
    let owner = sandbox.profile().user.value;
    // Tests that are in the judge's own image stay there.
    if !files.is_empty() {
        clear(sandbox, scene, "/tests").await?;
        make_folder(sandbox, "/tests", owner).await?;
    }
    clear(sandbox, scene, "/logs/verifier").await?;
    make_folder(sandbox, "/logs/verifier", owner).await?;
    for file in files {
        sandbox.write(&file.path, file.mode() | executable(file), owner, &content(file)?).await?;
    }
    let user = user_of(sandbox, user.as_deref().or(scene.user.as_deref())).await?;
    let mut command = Command::new(["bash", "-c", "/tests/test.sh"]).folder(&scene.folder).user(user);
    let offline = sandbox.profile().network.value == Network::None;
    command.env = environment(scene, env, tracing, offline && !provision.is_empty());
    command.wall = Some(Duration::from_millis(*timeout_ms));
    command.output_bytes_max = Some(OUTPUT_BYTES_MAX);
    command.merge = true;
    command.watch = tracing == Tracing::On;
    let output = sandbox.exec(&command).await?;
    sandbox.freeze().await?;
    let lingered = match output.record.closing.as_ref().filter(|closing| closing.blind.is_none()) {
        // A watcher ends with its command, and takes what is left along.
        Some(closing) => closing.left > 0,
        None => sandbox.stats().await?.processes > 0,
    };
    sandbox.kill().await?;
    let printed = excerpt(&output.stdout);
    if output.exited.timed_out {
        return Err(Failure::Timeout(format!("the tests took more than {timeout_ms} ms: {printed}")));
    }
    let (rewards, twice) = rewards::read(sandbox).await?.map_err(|why| {
        let ended = output.exited.code.map_or_else(|| "were killed".to_owned(), |code| format!("returned {code}"));
        Failure::Script(format!("{why}; the tests {ended}: {printed}"))
    })?;
    Ok(ScriptResult { rewards, printed, lingered, twice, record: output.record })
}

/// Removes what stands where the judge puts its own.
async fn clear(sandbox: &Sandbox, scene: &Scene, folder: &str) -> Result<(), Failure> {
    if sandbox.stat(folder).await?.is_none() {
        return Ok(());
    }
    let acting = user_of(sandbox, scene.user.as_deref()).await?;
    for user in [sandbox.profile().user.value, acting] {
        sandbox.exec(&Command::new(["rm", "-rf", "--", folder]).folder("/").user(user)).await?;
    }
    if sandbox.stat(folder).await?.is_some() {
        return Err(Failure::Script(format!("{folder} is there and cannot be removed")));
    }
    Ok(())
}

fn executable(file: &StoredFile) -> u32 {
    if file.path.ends_with(".sh") { 0o111 } else { 0 }
}

fn content(file: &StoredFile) -> Result<Vec<u8>, Failure> {
    file.bytes().map_err(|why| Failure::Script(format!("{}: {why}", file.path)))
}

fn environment(
    scene: &Scene,
    env: &BTreeMap<String, String>,
    tracing: Tracing,
    offline: bool,
) -> Vec<(String, String)> {
    let mut merged = scene.env.clone();
    if tracing == Tracing::On {
        // Compiled modules that the tests leave would be loaded after programs of the acting side could have changed them.
        merged.insert("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned());
    }
    if offline {
        // What was fetched beforehand is found without asking an index.
        merged.entry("UV_OFFLINE".to_owned()).or_insert_with(|| "1".to_owned());
    }
    merged.extend(env.clone());
    merged.into_iter().collect()
}

/// Judges evidence in a fresh sandbox.
pub(super) async fn judge(
    row: &Row,
    secrets: Secrets,
    evidence: &Value,
    layers: &Layers,
    workbench: &Workbench,
) -> Result<Judgement, JudgeError> {
    let Judge::Script { on, provision, network, .. } = &row.judge else {
        return Err(JudgeError::Verifier("the task has no script that judges: add one".to_owned()));
    };
    let backend = backend(evidence, workbench);
    match on {
        On::Place => in_place(evidence),
        On::Delta => {
            let Some(delta) = evidence["delta"].as_str() else {
                let why = evidence["too_large"].as_str().unwrap_or("more bytes than allowed");
                let why = format!(
                    "the change of the file system is too large to be taken, see the bounds of the task: {why}"
                );
                let check = Check { name: "reward".to_owned(), weight: 1.0, score: 0.0, evidence: why };
                return Ok(Judgement { checks: vec![check], trainable: true, from: From::FreshDelta });
            };
            let delta = kept(workbench, delta).await.map_err(JudgeError::from)?;
            let layer = match evidence["layer"].as_str() {
                Some(digest) => kept(workbench, digest).await.ok(),
                None => None,
            };
            let delta = Arc::new(delta);
            let compared = Arc::clone(&delta);
            let compared = tokio::task::spawn_blocking(move || difference::compare(layer.as_deref(), &compared)).await;
            let compared =
                compared.map_err(|error| JudgeError::Infra(error.to_string()))?.map_err(JudgeError::Infra)?;
            let placed = evidence["placed"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let want = judging(row, provision, backend, evidence, layers, workbench).await?;
            let judged = on_change(row, &want, &delta, Tracing::On, workbench).await;
            let (mut found, replaced_files) = judged.map_err(judge_error)?;
            let taken = replaced_files.taken(&compared);
            let mut doubts: Vec<String> =
                taken.iter().map(String::as_str).chain(placed).map(|path| format!("{path} was changed")).collect();
            let record = std::mem::take(&mut found.record);
            doubts.extend(trust::doubts(&known(row, compared, replaced_files), &record));
            if is_tracing(&record) {
                (found, _) = on_change(row, &want, &delta, Tracing::Off, workbench).await.map_err(judge_error)?;
            }
            Ok(watched(&found, &doubts, From::FreshDelta, &record))
        }
        On::Artefacts { scene, except, .. } => {
            let mut artefacts = Artefacts::default();
            gather(evidence, workbench, &mut artefacts).await?;
            artefacts.leave_out(except);
            let ground = layers.ground(scene, provision, backend.clone(), workbench).await.map_err(JudgeError::from)?;
            let mut want = SandboxSpec { image: ground.image, ..spec(scene, backend) };
            want.demand.network = network.unwrap_or(want.demand.network);
            let layer = match ground.layer {
                Some(digest) => Some(kept(workbench, &digest).await.map_err(JudgeError::from)?),
                None => None,
            };
            let place = JudgeSandbox { row, scene, want, layer, artefacts, secrets, workbench };
            let (mut found, replaced_files) = place.run(Tracing::On).await.map_err(judge_error)?;
            let known = place.known(replaced_files).map_err(JudgeError::Infra)?;
            let record = std::mem::take(&mut found.record);
            let doubts = trust::doubts(&known, &record);
            if is_tracing(&record) {
                (found, _) = place.run(Tracing::Off).await.map_err(judge_error)?;
            }
            Ok(watched(&found, &doubts, From::Fresh, &record))
        }
    }
}

/// Kind of the sandbox in which a whole change is judged: the image that it was made on, with what the tests install.
async fn judging(
    row: &Row,
    provision: &[Step],
    backend: Option<String>,
    evidence: &Value,
    layers: &Layers,
    workbench: &Workbench,
) -> Result<SandboxSpec, JudgeError> {
    let mut want = spec(&row.scene, backend.clone());
    if let Judge::Script { network: Some(network), .. } = &row.judge {
        want.demand.network = *network;
    }
    let mut scene = row.scene.clone();
    if evidence["layer"].is_string() {
        // The change holds the layer too.
        scene.layer.clear();
    } else if let Some(image) = evidence["image"].as_str() {
        image.clone_into(&mut want.image);
    }
    if !provision.is_empty() {
        want.image = layers.ground(&scene, provision, backend, workbench).await.map_err(JudgeError::from)?.image;
    }
    Ok(want)
}

/// True if the tests trace processes themselves. Nobody can trace what is traced already, and a watcher decides no score.
fn is_tracing(record: &Record) -> bool {
    record.closing.as_ref().is_some_and(|closing| closing.refused > 0)
}

/// The judgement of tests that were watched.
fn watched(found: &ScriptResult, doubts: &[String], from: From, record: &Record) -> Judgement {
    let mut judged = judgement(found, doubts, from);
    if let Some(why) = trust::unseen(record) {
        judged.trainable = false;
        judged.checks[0].evidence.push_str(&format!("\n{why}"));
    }
    judged
}

/// A fresh sandbox in which artefacts are judged.
struct JudgeSandbox<'a> {
    row: &'a Row,
    scene: &'a Scene,
    want: SandboxSpec,
    /// Layer that its set-up made.
    layer: Option<Vec<u8>>,
    artefacts: Artefacts,
    secrets: Secrets,
    workbench: &'a Workbench,
}

impl JudgeSandbox<'_> {
    /// Lays the artefacts out and runs the tests.
    async fn run(&self, tracing: Tracing) -> Result<(ScriptResult, ReplacedFiles), Failure> {
        let sandbox = self.workbench.sandboxes.take(&self.want).await?;
        let found = async {
            begin(&sandbox, self.scene, self.layer.as_deref(), self.secrets).await?;
            let user: User = user_of(&sandbox, self.scene.user.as_deref()).await?;
            let entries_max = self.artefacts.iter().count() as u64 + 64;
            let bounds = Bounds { bytes_max: self.artefacts.bytes() + 1, entries_max };
            sandbox.unpack("/", Some(user), &self.archive().map_err(Failure::Script)?, bounds).await?;
            let replaced_files = ReplacedFiles::of(self.scene, &sandbox).await?;
            Ok((run(self.row, &sandbox, tracing).await?, replaced_files))
        };
        let found = found.await;
        sandbox.destroy(true).await;
        found
    }

    fn archive(&self) -> Result<Vec<u8>, String> {
        self.artefacts.pack().map_err(|error| error.to_string())
    }

    /// Facts known before the tests run: all artefacts are the acting side's.
    fn known(&self, replaced_files: ReplacedFiles) -> Result<TrustFacts, String> {
        let mut compared = difference::compare(self.layer.as_deref(), &self.archive()?)?;
        // What was not taken along is as the set-up made it.
        compared.removed.clear();
        let mut texts = BTreeMap::new();
        if let Some(layer) = &self.layer {
            let laid = difference::paths(layer)?;
            compared.same.extend(laid.into_iter().filter(|path| !compared.changed.contains(path)));
            texts = difference::texts(layer, "/tests")?;
        }
        let mut known = known(self.row, compared, replaced_files);
        texts.append(&mut known.texts);
        known.texts = texts;
        Ok(known)
    }
}

/// Files that replace the image's own.
#[derive(Debug, Default)]
struct ReplacedFiles {
    /// Files of other content or permissions, and folders that are.
    replaced: BTreeMap<String, Option<Entry>>,
    /// Search path of programs.
    search: Vec<String>,
}

impl ReplacedFiles {
    /// Looks at a sandbox in which everything but the tests is in place.
    async fn of(scene: &Scene, sandbox: &Sandbox) -> Result<Self, Failure> {
        let changes = sandbox.changes(DELTA.entries_max).await?;
        let replaced = changes.into_iter().filter(|change| change.change == ChangeKind::Modified);
        let replaced = replaced.map(|change| (change.path, change.entry)).collect();
        let image = sandbox.image().env.iter().filter(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
        let search = removed::search(scene.env.get("PATH").map(String::as_str).into_iter().chain(image));
        Ok(Self { replaced, search })
    }

    /// Paths that the acting side took away from whoever judges.
    fn taken(&self, compared: &Compared) -> Vec<String> {
        let removed = compared.removed.iter().filter(|path| removed::is_due(path, &self.search));
        let shut = self.shut(compared).filter(|path| removed::is_due(path, &self.search));
        let files = self.replaced.iter().filter(|(path, entry)| {
            let taken = entry.as_ref().is_some_and(|entry| match entry.kind {
                EntryKind::File => removed::is_taken(path, Some(0o100_000 | entry.mode), &self.search),
                EntryKind::Folder => false,
                // What it leads to is not seen by its path.
                EntryKind::Link | EntryKind::Other => removed::is_due(path, &self.search),
            });
            compared.changed.contains(*path) && taken
        });
        removed.chain(shut).chain(files.map(|(path, _)| path)).cloned().collect()
    }

    /// Folders whose owner, permissions or kind the acting side changed.
    fn shut<'a>(&'a self, compared: &'a Compared) -> impl Iterator<Item = &'a String> {
        let folders = self.replaced.iter().filter(|(path, entry)| {
            entry.as_ref().is_some_and(|entry| entry.kind == EntryKind::Folder) && compared.changed.contains(*path)
        });
        folders.map(|(path, _)| path).chain(&compared.shut)
    }
}

/// Runs the tests in a fresh sandbox with all that the acting side changed; with what stands in place of the image's own.
async fn on_change(
    row: &Row,
    want: &SandboxSpec,
    delta: &[u8],
    tracing: Tracing,
    workbench: &Workbench,
) -> Result<(ScriptResult, ReplacedFiles), Failure> {
    let sandbox = workbench.sandboxes.take(want).await?;
    let found = async {
        sandbox.apply(delta).await?;
        let replaced_files = ReplacedFiles::of(&row.scene, &sandbox).await?;
        Ok((run(row, &sandbox, tracing).await?, replaced_files))
    };
    let found = found.await;
    sandbox.destroy(true).await;
    found
}

/// Facts known before the tests run.
fn known(row: &Row, compared: Compared, replaced_files: ReplacedFiles) -> TrustFacts {
    let files = match &row.judge {
        Judge::Script { files, .. } => files.as_slice(),
        Judge::Checks { .. } => &[],
    };
    let text = |file: &StoredFile| {
        let bytes = file.bytes().unwrap_or_default();
        (file.path.clone(), String::from_utf8_lossy(&bytes).into_owned())
    };
    TrustFacts {
        shut: replaced_files.shut(&compared).cloned().collect(),
        replaced: replaced_files.replaced.into_keys().filter(|path| compared.changed.contains(path)).collect(),
        search: replaced_files.search,
        removed: compared.removed,
        changed: compared.changed,
        layered: compared.same,
        links: compared.links,
        texts: files.iter().map(text).collect(),
        folder: row.scene.folder.clone(),
    }
}

fn in_place(evidence: &Value) -> Result<Judgement, JudgeError> {
    if let Some(why) = evidence["failed"].as_str() {
        return Err(JudgeError::Verifier(why.to_owned()));
    }
    if let Some(why) = evidence["late"].as_str() {
        return Err(JudgeError::Timeout(why.to_owned()));
    }
    let found = ScriptResult::deserialize(&evidence["in_place"]);
    let found = found.map_err(|error| {
        JudgeError::Unavailable(format!("the evidence cannot be read, check the folder of blobs: {error}"))
    })?;
    Ok(judgement(&found, &[], From::InPlace))
}

/// The reward called `reward` is the score; where there is none, the mean of all. A score above 0 that the acting side may have
/// given itself is not trainable. A score of 0 is: whoever failed must not be able to hide it by what costs trust, a second reward
/// among that.
fn judgement(found: &ScriptResult, doubts: &[String], from: From) -> Judgement {
    let named = |(name, score): (&String, &f64)| {
        let evidence = format!("the tests gave {score}; they printed: {}", found.printed);
        Check { name: name.clone(), weight: 1.0, score: *score, evidence }
    };
    let mut checks: Vec<Check> = match found.rewards.get_key_value("reward") {
        Some(reward) => vec![named(reward)],
        None => found.rewards.iter().map(named).collect(),
    };
    let mut trainable = from != From::InPlace;
    let failed = checks.iter().all(|check| check.score <= 0.0);
    if found.lingered {
        trainable &= failed;
        checks[0].evidence.push_str("\nprocesses outlived the tests and could have written the reward");
    }
    if found.twice {
        trainable &= failed;
        checks[0].evidence.push_str("\nthe tests left two files with rewards, of which the lower counts");
    }
    if !doubts.is_empty() {
        trainable &= failed;
        let shown: Vec<&str> = doubts.iter().take(20).map(String::as_str).collect();
        checks[0].evidence.push_str(&format!("\nwhat judges may have been changed: {}", shown.join("; ")));
    }
    Judgement { checks, trainable, from }
}

fn judge_error(failure: Failure) -> JudgeError {
    match failure {
        Failure::Script(why) => JudgeError::Verifier(why),
        Failure::Timeout(why) => JudgeError::Timeout(why),
        Failure::Sandbox(error) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::rewards::{from_json, lower};
    use super::*;

    #[test]
    fn of_two_rewards_the_lower_counts_which_is_trusted_only_where_it_is_0() {
        let rewards = |text: &str| from_json(text).expect("rewards");
        for (first, second) in [("1", "0"), ("0", "1"), ("{\"a\": 1, \"b\": 1}", "0"), ("{\"a\": 0, \"b\": 0}", "1")] {
            let rewards = lower(rewards(first), Some(rewards(second)));
            let found = ScriptResult {
                rewards,
                printed: String::new(),
                lingered: false,
                twice: true,
                record: Record::default(),
            };
            let judged = judgement(&found, &[], From::FreshDelta);
            assert_eq!((judged.checks[0].score, judged.trainable), (0.0, true), "{first} and {second}");
        }
        for (first, second) in [("1", "1"), ("0.5", "1"), ("{\"a\": 1, \"b\": 0}", "1")] {
            let rewards = lower(rewards(first), Some(rewards(second)));
            let found = ScriptResult {
                rewards,
                printed: String::new(),
                lingered: false,
                twice: true,
                record: Record::default(),
            };
            assert!(!judgement(&found, &[], From::FreshDelta).trainable, "{first} and {second}");
        }
        assert_eq!(lower(rewards("1"), None), rewards("1"));
    }

    #[test]
    fn results_stored_by_an_earlier_build_can_be_read() {
        let stored = serde_json::json!({"rewards": {"reward": 1.0}, "printed": "x", "lingered": false});
        let found = ScriptResult::deserialize(&stored).expect("found");
        assert_eq!(judgement(&found, &[], From::InPlace).checks[0].score, 1.0);
    }

    #[test]
    fn the_score_is_the_reward_of_that_name_or_the_mean() {
        let found = |rewards: &str, lingered| ScriptResult {
            rewards: from_json(rewards).expect("rewards"),
            printed: String::new(),
            lingered,
            twice: false,
            record: Record::default(),
        };
        let one = judgement(&found("{\"reward\": 1, \"speed\": 0.5}", false), &[], From::FreshDelta);
        assert_eq!((one.checks.len(), one.checks[0].score, one.trainable), (1, 1.0, true));
        assert_eq!(judgement(&found("{\"a\": 1, \"b\": 0}", false), &[], From::Fresh).checks.len(), 2);
        assert!(!judgement(&found("1", true), &[], From::FreshDelta).trainable);
        assert!(!judgement(&found("1", false), &["/etc".to_owned()], From::FreshDelta).trainable);
        assert!(!judgement(&found("1", false), &[], From::InPlace).trainable);
        assert!(!judgement(&found("{\"a\": 0.25, \"b\": 0}", false), &["/etc".to_owned()], From::FreshDelta).trainable);
    }

    #[test]
    fn a_failure_is_not_hidden_by_what_costs_trust() {
        let found = ScriptResult {
            rewards: from_json("0").expect("rewards"),
            printed: String::new(),
            lingered: true,
            twice: false,
            record: Record::default(),
        };
        let judged = judgement(&found, &["/tests was changed".to_owned()], From::FreshDelta);
        assert!(judged.trainable && judged.checks[0].evidence.contains("/tests was changed"), "{judged:?}");
        assert!(!judgement(&found, &[], From::InPlace).trainable);
    }
}
