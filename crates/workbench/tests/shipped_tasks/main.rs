//! Every task that is shipped, and every folder in the public layout that the tests keep: its solution scores 1, doing nothing
//! scores 0, cheats do not score or are labelled, equal seeds give equal places; on every back end that is there (a few of each area,
//! and with `PALESTRA_TASKS=all` every one).
//! `PALESTRA_IMAGES` names a folder with the images `shell`, `python` and `build`, `PALESTRA_TEST_DOCKER` a Docker engine;
//! without them the tests say so and return.

#![expect(clippy::print_stdout, reason = "the tests say what they tried")]

mod drivers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::stream::{self, StreamExt as _};
use palestra_sandbox::blob::Blobs;
use palestra_sandbox::docker::Options;
use palestra_sandbox::image::Images;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::{Backend, Docker, Local, Sandboxes, shipped};
use palestra_state::secrets::Secrets;
use palestra_workbench::terminal::Terminal;
use palestra_workbench::terminal::check::{check_keys, check_task};
use palestra_workbench::work::{Input, Opening, Upload, UploadedFile, Work as _, Workbench};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Tasks of an area that the short form proves, here and in containers: judges and checks are the same on every back end.
const LOCAL_TASKS_SHORT: usize = 3;
const DOCKER_TASKS_SHORT: usize = 1;
/// Tasks of a test that are tried at the same time: most of the time is spent in waiting for what they start.
const AT_ONCE: usize = 4;
const AREAS: [&str; 7] = ["files", "processes", "git", "build", "network", "data", "security"];

/// A digest of everything in the task's folder. Git notes times of files in its index, which are those of the session.
const DIGEST: &str = "find . ! -type d ! -path '*/.git/index' | LC_ALL=C sort | while IFS= read -r path; do \
    echo \"$path\"; [ -h \"$path\" ] && readlink \"$path\" || cat \"$path\"; done | sha256sum";

macro_rules! areas {
    ($($area:ident),*) => {
        mod local {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $area() { super::area("local", stringify!($area)).await; })*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn folders() { super::folders("local").await; }
        }
        mod docker {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $area() { super::area("docker", stringify!($area)).await; })*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn folders() { super::folders("docker").await; }
        }
    };
}

areas!(files, processes, git, build, network, data, security);

#[test]
fn there_are_tasks_in_every_area_split_and_difficulty() {
    let mut cheats = 0;
    let mut contents = BTreeSet::new();
    for area in AREAS {
        let tasks = shipped_tasks(area);
        assert!(tasks.len() >= 5, "{area} has {} tasks", tasks.len());
        assert!(tasks.iter().any(|(split, _)| split == "train"), "{area} has nothing to train on");
        for (_, row) in &tasks {
            assert_eq!(row["area"], *area);
            assert!(row["difficulty"].as_f64().is_some(), "{}: no difficulty", row["name"]);
            assert!(
                !row["solution"].is_null() && !row["cheats"].is_null(),
                "{}: no solution or no cheats",
                row["name"]
            );
            cheats += row["cheats"].as_object().map_or(0, serde_json::Map::len);
            assert!(contents.insert(row["instruction"].to_string()), "{} is there twice", row["name"]);
        }
        let hardest = tasks.iter().filter_map(|(_, row)| row["difficulty"].as_f64()).fold(0.0, f64::max);
        let easiest = tasks.iter().filter_map(|(_, row)| row["difficulty"].as_f64()).fold(1.0, f64::min);
        assert!(easiest <= 0.4 && hardest >= 0.5, "{area} is from {easiest} to {hardest}");
    }
    let splits: BTreeSet<String> = AREAS.iter().flat_map(|area| shipped_tasks(area)).map(|(split, _)| split).collect();
    assert_eq!(splits.len(), 3, "{splits:?}");
    assert!(contents.len() >= 35 && cheats >= 40, "{} tasks, {cheats} cheats", contents.len());
}

/// Number of proven tasks of an area: a few, unless `PALESTRA_TASKS` asks for all.
fn tried(backend: &str) -> usize {
    match backend {
        _ if std::env::var("PALESTRA_TASKS").is_ok_and(|tasks| tasks == "all") => usize::MAX,
        "local" => LOCAL_TASKS_SHORT,
        _ => DOCKER_TASKS_SHORT,
    }
}

/// Proves the tasks of an area.
async fn area(backend: &str, area: &str) {
    let Some(fixture) = Fixture::find(backend).await else { return };
    let one = async |(_, row): (String, Value)| {
        let report = check_task(&fixture.terminal, &row, &fixture.workbench, Some(backend)).await;
        assert_eq!(report.faults, Vec::<String>::new(), "{}", report.task);
        for (cheat, (score, trainable)) in &report.cheats {
            assert!(*score == 0.0 || !trainable, "{}: {cheat:?} scores {score} without a label", report.task);
        }
        for (cheat, (score, _)) in &report.cheats {
            assert!(*score == 0.0, "{}: {cheat:?} scores {score}", report.task);
        }
        let first = fixture.digest(&row, backend, 5, "first").await;
        assert_eq!(first, fixture.digest(&row, backend, 5, "again").await, "{}: equal seeds differ", report.task);
        if !row["scene"]["secrets"].is_null() {
            assert_ne!(first, fixture.digest(&row, backend, 6, "other").await, "{}: secrets stay", report.task);
        }
    };
    stream::iter(shipped_tasks(area).into_iter().take(tried(backend))).for_each_concurrent(AT_ONCE, one).await;
    assert_eq!(fixture.workbench.sandboxes.open(), 0);
}

/// Every shipped task that hides something is solved whatever it is: with two keys, and with twenty where all tasks are asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_are_solved_whatever_they_hide() {
    let Some(fixture) = Fixture::find("local").await else { return };
    let keys = if tried("local") == usize::MAX { 20 } else { 2 };
    let hiding = AREAS.iter().flat_map(|area| shipped_tasks(area)).map(|(_, row)| row);
    let hiding: Vec<Value> = hiding.filter(|row| !row["scene"]["secrets"].is_null()).collect();
    assert!(hiding.len() >= 8, "{} tasks hide something", hiding.len());
    let one = async |row: Value| {
        let faults = check_keys(&fixture.terminal, &row, &fixture.workbench, Some("local"), keys).await;
        assert_eq!(faults, Ok(Vec::new()), "{}", row["name"]);
    };
    stream::iter(hiding).for_each_concurrent(AT_ONCE, one).await;
    assert_eq!(fixture.workbench.sandboxes.open(), 0);
}

/// Proves folders in the public layout.
async fn folders(backend: &str) {
    let Some(fixture) = Fixture::find(backend).await else { return };
    let rows = folder_rows(&fixture.terminal);
    assert!(rows.len() >= 12, "{} folders", rows.len());
    let one = async |row: Value| {
        let report = check_task(&fixture.terminal, &row, &fixture.workbench, Some(backend)).await;
        assert_eq!(report.faults, Vec::<String>::new(), "{}", report.task);
    };
    stream::iter(rows.into_iter().take(tried(backend))).for_each_concurrent(AT_ONCE, one).await;
    assert_eq!(fixture.workbench.sandboxes.open(), 0);
}

/// Rows of the folders, each with the cheats that are kept for it.
fn folder_rows(terminal: &Terminal) -> Vec<Value> {
    let tests = repository().join("tests");
    let read = terminal.rows(&Upload::Files(files(&tests.join("folders"))));
    let mut rows: Vec<Value> =
        read.unwrap_or_else(|faults| panic!("{faults:#?}")).into_iter().map(|(_, row)| row).collect();
    for (path, file) in files(&tests.join("cheats")) {
        let (task, cheat) = path.split_once('/').expect("a folder for each task");
        let row = rows.iter_mut().find(|row| row["name"] == task).unwrap_or_else(|| panic!("no folder {task}"));
        row["cheats"][cheat.trim_end_matches(".sh")] = json!(String::from_utf8(file.bytes).expect("text"));
    }
    rows
}

fn shipped_tasks(area: &str) -> Vec<(String, Value)> {
    let folder = repository().join("environments/terminal").join(area);
    let named = files(&folder).into_iter().map(|(path, file)| (format!("{area}/{path}"), file)).collect();
    Terminal::new().rows(&Upload::Files(named)).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("a workspace").to_owned()
}

/// Every regular file below a folder, by its path in it.
fn files(folder: &Path) -> BTreeMap<String, UploadedFile> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(&next).unwrap_or_else(|error| panic!("{}: {error}", next.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                left.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).expect("below").to_str().expect("UTF-8").to_owned();
            let mode = path.metadata().expect("a file").permissions().mode() & 0o777;
            found.insert(name, UploadedFile { mode, bytes: std::fs::read(&path).expect("read") });
        }
    }
    found
}

/// Where tasks are proven.
struct Fixture {
    workbench: Workbench,
    terminal: Terminal,
    _folder: TempDir,
}

impl Fixture {
    /// A place with one back end; `None` where it or an image is missing.
    async fn find(backend: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let sandboxes = folder.path().join("sandboxes");
        let images = std::env::var("PALESTRA_IMAGES").ok().map(Images::new);
        let all = ["shell", "python", "build"];
        let Some(images) = images.filter(|images| all.iter().all(|name| images.resolve(name).is_ok())) else {
            palestra_test_support::not_tried(format_args!("the images {} (PALESTRA_IMAGES)", all.join(", ")));
            return None;
        };
        let found: Arc<dyn Backend> = if backend == "docker" {
            let Ok(host) = std::env::var("PALESTRA_TEST_DOCKER") else {
                palestra_test_support::not_tried("Docker (PALESTRA_TEST_DOCKER)");
                return None;
            };
            let server = format!("tasks-{}", std::process::id());
            Arc::new(
                Docker::connect(Options { host, server, folder: sandboxes, runtime: None }).await.expect("an engine"),
            )
        } else {
            Arc::new(Local::new(&sandboxes).expect("a back end"))
        };
        Some(Self::with(folder, images, found))
    }

    /// A place with this back end and these images.
    fn with(folder: TempDir, images: Images, backend: Arc<dyn Backend>) -> Self {
        let profiles = shipped::profiles().expect("profiles");
        let sandboxes = Sandboxes::new(vec![backend], images, profiles, Bounds { sandboxes_max: 16, warm_min: 0 });
        let workbench = Workbench { sandboxes, blobs: Blobs::new(folder.path().join("blobs")) };
        Self { workbench, terminal: Terminal::new(), _folder: folder }
    }

    /// Digest of a task's folder at the beginning.
    async fn digest(&self, row: &Value, backend: &str, seed: u64, name: &str) -> String {
        let config = json!({ "backend": backend }).as_object().cloned().unwrap_or_default();
        let name = format!("digest-{}-{name}", row["name"].as_str().expect("a name"));
        let opening = Opening { name, secrets: Secrets::Seed(seed), config, resumed: false, from: None };
        let mut workspace = self.terminal.open(row, &opening, &self.workbench).await.expect("a workspace");
        let arguments = json!({ "command": DIGEST }).as_object().cloned().unwrap_or_default();
        let seen = workspace.act(Input::Call { tool: "exec", arguments: &arguments }).await.expect("it lives");
        workspace.close().await;
        assert_eq!(seen.data["exit_code"], 0, "{}", seen.text);
        seen.text
    }
}
