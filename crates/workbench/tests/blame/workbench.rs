//! Workbenches on every back end that is there, with small sandboxes, and how an episode is played on them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use palestra_sandbox::blob::Blobs;
use palestra_sandbox::docker::Options;
use palestra_sandbox::image::Images;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::{Backend, Docker, Local, Profile, Sandboxes, shipped};
use palestra_state::secrets::Secrets;
use palestra_workbench::blame;
use palestra_workbench::terminal::Terminal;
use palestra_workbench::work::{
    Input, JudgeError, Judgement, Observation, Opening, Upload, UploadedFile, Work, Workbench, Workspace,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

/// Episodes that are played at the same time.
const AT_ONCE: usize = 3;

/// A workbench and the folder that it lives in.
pub(crate) struct TestWorkbench {
    pub(crate) workbench: Workbench,
    pub(crate) folder: TempDir,
}

/// The local back end.
pub(crate) fn local() -> TestWorkbench {
    let folder = tempfile::tempdir().expect("a folder");
    let local = Local::new(&folder.path().join("sandbox")).expect("a back end");
    with(Arc::new(local), images(&folder), folder)
}

/// Containers of the engine at `host`.
pub(crate) async fn docker(host: &str, server: &str) -> TestWorkbench {
    let folder = tempfile::tempdir().expect("a folder");
    let server = format!("blame-{server}-{}", std::process::id());
    let options = Options { host: host.to_owned(), server, folder: folder.path().join("sandbox"), runtime: None };
    let docker = Docker::connect(options).await.expect("an engine");
    with(Arc::new(docker), images(&folder), folder)
}

/// Every back end that is there with these images; says which are not.
pub(crate) async fn all(wanted: &[&str], test: &str) -> Vec<TestWorkbench> {
    let mut all = Vec::new();
    let Some(folder) = std::env::var_os("PALESTRA_IMAGES") else {
        palestra_test_support::not_tried("images (PALESTRA_IMAGES)");
        return all;
    };
    let images = Images::new(PathBuf::from(folder));
    if let Some(missing) = wanted.iter().find(|name| images.resolve(name).is_err()) {
        palestra_test_support::not_tried(format_args!("the image {missing} (PALESTRA_IMAGES)"));
        return all;
    }
    all.push(local());
    match std::env::var("PALESTRA_TEST_DOCKER") {
        Ok(host) => all.push(docker(&host, test).await),
        Err(_) => palestra_test_support::not_tried("Docker (PALESTRA_TEST_DOCKER)"),
    }
    all
}

fn images(folder: &TempDir) -> Images {
    Images::new(std::env::var_os("PALESTRA_IMAGES").map_or_else(|| folder.path().join("images"), PathBuf::from))
}

pub(crate) fn with(backend: Arc<dyn Backend>, images: Images, folder: TempDir) -> TestWorkbench {
    let bounds = Bounds { sandboxes_max: 24, warm_min: 0 };
    let sandboxes = Sandboxes::new(vec![backend], images, small(), bounds);
    let workbench = Workbench { sandboxes, blobs: Blobs::new(folder.path().join("blobs")) };
    TestWorkbench { workbench, folder }
}

/// The shipped profiles with less of everything, so that it is soon taken.
pub(crate) fn small() -> BTreeMap<String, Arc<Profile>> {
    let mut profiles = shipped::profiles().expect("profiles");
    for profile in profiles.values_mut() {
        let profile = Arc::make_mut(profile);
        profile.memory_bytes.value = profile.memory_bytes.value.min(384 << 20);
        profile.disk_bytes.value = profile.disk_bytes.value.min(160 << 20);
        profile.disk_inodes.value = profile.disk_inodes.value.min(20_000);
        profile.processes.value = profile.processes.value.min(96);
        profile.wait_ms.value = 60_000;
    }
    profiles
}

/// An episode: calls, and what is expected of it.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) calls: Vec<(&'static str, Value)>,
    /// Its score.
    pub(crate) score: f64,
    /// Words of the evidence, in any check; empty where any will do.
    pub(crate) reason: &'static str,
}

/// Milliseconds that a command has to end: what fills a place takes its time.
const COMMAND_MS: u64 = 25_000;
/// Milliseconds for commands that never end.
const ENDLESS_MS: u64 = 2_000;

/// Commands, after which the score is 0.
pub(crate) fn way(name: &'static str, commands: &[&str]) -> Way {
    let exec = |command: &&str| ("exec", json!({"command": command, "timeout_ms": COMMAND_MS}));
    Way { name, calls: commands.iter().map(exec).collect(), score: 0.0, reason: "" }
}

impl Way {
    /// Words that the evidence holds.
    pub(crate) fn reason(self, reason: &'static str) -> Self {
        Self { reason, ..self }
    }

    /// Commands that never end, and are waited for no longer than it takes to see that.
    pub(crate) fn endless(mut self) -> Self {
        for (_, arguments) in &mut self.calls {
            arguments["timeout_ms"] = json!(ENDLESS_MS);
        }
        self
    }

    /// Another score, where the work is still right.
    pub(crate) fn scores(self, score: f64) -> Self {
        Self { score, ..self }
    }
}

pub(crate) fn opening(name: &str) -> Opening {
    Opening { name: name.to_owned(), secrets: Secrets::Seed(7), config: Map::new(), resumed: false, from: None }
}

pub(crate) async fn open(work: &Arc<dyn Work>, row: &Value, workbench: &Workbench, name: &str) -> Box<dyn Workspace> {
    blame::open(Arc::clone(work), Arc::new(row.clone()), &opening(name), workbench).await.expect("a workspace")
}

pub(crate) async fn exec(
    workspace: &mut dyn Workspace,
    command: &str,
) -> Result<Observation, palestra_sandbox::SandboxError> {
    let arguments = json!({"command": command, "timeout_ms": COMMAND_MS});
    let arguments = arguments.as_object().cloned().expect("arguments");
    workspace.act(Input::Call { tool: "exec", arguments: &arguments }).await
}

/// Plays calls and judges.
pub(crate) async fn play(
    work: &Arc<dyn Work>,
    row: &Value,
    workbench: &Workbench,
    name: &str,
    calls: &[(&str, Value)],
) -> Result<Judgement, JudgeError> {
    let mut workspace = open(work, row, workbench, name).await;
    let evidence = async {
        for (tool, arguments) in calls {
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            if workspace.act(Input::Call { tool, arguments: &arguments }).await?.terminated {
                break;
            }
        }
        workspace.evidence().await
    };
    let evidence = evidence.await;
    workspace.close().await;
    let evidence = evidence.map_err(JudgeError::from)?;
    blame::judge(&**work, row, Secrets::Seed(7), &evidence, workbench).await
}

/// Tries all ways on every back end that is there with this image, on all of them at the same time.
pub(crate) async fn try_everywhere(
    work: fn() -> Arc<dyn Work>,
    row: &Value,
    image: &str,
    test: &str,
    ways: fn() -> Vec<Way>,
) {
    let places = all(&[image], test).await;
    let mut trying = JoinSet::new();
    for place in &places {
        let (row, workbench) = (row.clone(), place.workbench.clone());
        trying.spawn(async move { try_all(work(), &row, &workbench, ways()).await });
    }
    trying.join_all().await;
    for place in places {
        assert_eq!(place.workbench.sandboxes.open(), 0);
    }
}

/// Plays every way, a few at the same time, and holds each against what is expected of it. In containers every third, unless
/// `PALESTRA_TASKS` asks for all.
async fn try_all(work: Arc<dyn Work>, row: &Value, workbench: &Workbench, ways: Vec<Way>) {
    let backend = workbench.sandboxes.backends()[0].name();
    let all = backend == "local" || std::env::var("PALESTRA_TASKS").is_ok_and(|tasks| tasks == "all");
    let (mut running, mut faults) = (JoinSet::new(), Vec::new());
    let mut ways = ways.into_iter().enumerate().step_by(if all { 1 } else { 3 });
    loop {
        while running.len() < AT_ONCE
            && let Some((index, way)) = ways.next()
        {
            let (work, row, workbench) = (Arc::clone(&work), row.clone(), workbench.clone());
            running.spawn(async move {
                let found = play(&work, &row, &workbench, &format!("way-{index}"), &way.calls).await;
                (way, found)
            });
        }
        let Some(played) = running.join_next().await else { break };
        let (way, found) = played.expect("no panic");
        faults.extend(differs(backend, &way, &found));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn differs(backend: &str, way: &Way, found: &Result<Judgement, JudgeError>) -> Option<String> {
    let name = way.name;
    let judgement = match found {
        Ok(judgement) => judgement,
        Err(error) => return Some(format!("{backend}, {name}: no score: {}: {error}", error.kind())),
    };
    let evidence: Vec<String> =
        judgement.checks.iter().map(|check| format!("{}: {}", check.name, check.evidence)).collect();
    let evidence = evidence.join("; ");
    let score = judgement.score();
    let short: String = evidence.replace('\n', " | ").chars().take(300).collect();
    println!("{backend}, {name}: {score}, {:?}, trainable {}: {short}", judgement.from, judgement.trainable);
    let wrong = (score - way.score).abs() > 1e-9 || evidence.len() < 10 || !evidence.contains(way.reason);
    wrong.then(|| format!("{backend}, {name}: {score}, not {} with {:?}: {evidence}", way.score, way.reason))
}

/// The family of terminals.
pub(crate) fn terminal() -> Arc<dyn Work> {
    Arc::new(Terminal::new())
}

/// A row of a folder in the public layout, whose tests compare `/app/out.txt`; `changed` replaces files of it.
pub(crate) fn folder_row(changed: &[(&str, &str)]) -> Value {
    const DOCKERFILE: &str = "FROM ubuntu:24.04\nWORKDIR /app\nCOPY names.txt .\n";
    const TEST: &str = "#!/bin/bash\nset -e\nfound=$(cat /app/out.txt 2>/dev/null || true)\n\
        if [ \"$found\" = \"ANN BOB\" ]; then reward=1; else reward=0; fi\n\
        echo \"{\\\"reward\\\": $reward}\" > /logs/verifier/reward.json\n";
    let mut files = BTreeMap::new();
    for (path, text) in [
        ("x/task.toml", "[environment]\nnetwork_mode = \"no-network\"\n[verifier]\ntimeout_sec = 5.0\n"),
        ("x/instruction.md", "Shout."),
        ("x/environment/Dockerfile", DOCKERFILE),
        ("x/environment/names.txt", "ann bob\n"),
        ("x/tests/test.sh", TEST),
        ("x/solution/solve.sh", "#!/bin/bash\ntr a-z A-Z < names.txt > out.txt\n"),
    ]
    .iter()
    .chain(changed)
    {
        files.insert((*path).to_owned(), UploadedFile { mode: 0o644, bytes: text.as_bytes().to_vec() });
    }
    let rows = Terminal::new().rows(&Upload::Files(files)).unwrap_or_else(|faults| panic!("{faults:#?}"));
    rows.into_iter().next().expect("a row").1
}

/// Program that fills the memory of a sandbox for good: segments of shared memory, which outlive the process that made them.
pub(crate) const SEGMENTS: &str = "perl -e 'for (1..200) { my $id = shmget(0, 4 << 20, 0600 | 01000); last unless defined $id; \
    shmwrite($id, \"x\" x (4 << 20), 0, 4 << 20) }' ; true";
