//! A workbench with one back end.

use std::sync::Arc;

use palestra_sandbox::blob::Blobs;
use palestra_sandbox::docker::Options;
use palestra_sandbox::image::Images;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::{Allowance, Backend, Docker, Local, NetworkAllowance, Sandboxes, shipped};
use palestra_state::secrets::Secrets;
use palestra_workbench::terminal::Terminal;
use palestra_workbench::work::{Input, Observation, Opening, Upload, Work as _, Workbench, Workspace};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// A workbench and the folder that it lives in.
pub(crate) struct TestWorkbench {
    pub(crate) workbench: Workbench,
    pub(crate) terminal: Terminal,
    _folder: TempDir,
}

impl TestWorkbench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let local = Local::new(&folder.path().join("sandbox")).expect("a back end");
        Self::with(Arc::new(local), folder)
    }

    /// One whose builds, or all that ask for it, have a network; with images of its own beside those that are there.
    pub(crate) fn reaching(network: NetworkAllowance) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let local = Local::new(&folder.path().join("sandbox")).expect("a back end");
        let own = folder.path().join("own-images");
        let there = std::path::PathBuf::from(std::env::var("PALESTRA_IMAGES").expect("images"));
        for name in ["shell", "python"] {
            std::fs::create_dir_all(own.join(name)).expect("made");
            let from = there.join(name).join("image.json");
            if from.is_file() {
                std::fs::copy(from, own.join(name).join("image.json")).expect("copied");
            }
        }
        let bounds = Bounds { sandboxes_max: 16, warm_min: 0 };
        let allowance = Allowance { network, ..Allowance::default() };
        let profiles = shipped::profiles().expect("profiles");
        let sandboxes = Sandboxes::allowing(vec![Arc::new(local)], Images::new(own), profiles, bounds, allowance);
        let workbench = Workbench { sandboxes, blobs: Blobs::new(folder.path().join("blobs")) };
        Self { workbench, terminal: Terminal::new(), _folder: folder }
    }

    /// One with a back end of that name alone; `None` where it or an image is missing.
    pub(crate) async fn on(backend: &str, wanted: &[&str]) -> Option<Self> {
        let not_tried = |needs: String| {
            palestra_test_support::not_tried(needs);
            None
        };
        let images = std::env::var("PALESTRA_IMAGES").ok().map(Images::new);
        if !images.is_some_and(|images| wanted.iter().all(|name| images.resolve(name).is_ok())) {
            return not_tried(format!("the images {} (PALESTRA_IMAGES)", wanted.join(", ")));
        }
        if backend == "local" {
            return Some(Self::new());
        }
        let Ok(host) = std::env::var("PALESTRA_TEST_DOCKER") else {
            return not_tried("Docker (PALESTRA_TEST_DOCKER)".to_owned());
        };
        let folder = tempfile::tempdir().expect("a folder");
        let name = folder.path().file_name().expect("a name").to_string_lossy().replace('.', "");
        let options =
            Options { host, server: format!("terminal-{name}"), folder: folder.path().join("docker"), runtime: None };
        Some(Self::with(Arc::new(Docker::connect(options).await.expect("an engine")), folder))
    }

    fn with(backend: Arc<dyn Backend>, folder: TempDir) -> Self {
        let images =
            Images::new(std::env::var("PALESTRA_IMAGES").map_or_else(|_| folder.path().join("images"), Into::into));
        let bounds = Bounds { sandboxes_max: 16, warm_min: 0 };
        let profiles = shipped::profiles().expect("profiles");
        let sandboxes = Sandboxes::new(vec![backend], images, profiles, bounds);
        let workbench = Workbench { sandboxes, blobs: Blobs::new(folder.path().join("blobs")) };
        Self { workbench, terminal: Terminal::new(), _folder: folder }
    }

    /// A row from YAML.
    pub(crate) fn row(&self, yaml: &str) -> Value {
        let rows = self.terminal.rows(&Upload::Text(yaml.to_owned())).unwrap_or_else(|faults| panic!("{faults:#?}"));
        rows.into_iter().next().expect("a row").1
    }

    pub(crate) async fn open(&self, row: &Value, name: &str) -> Box<dyn Workspace> {
        self.terminal.open(row, &opening(name), &self.workbench).await.expect("a workspace")
    }
}

/// True if a driver and what it tries are different users here: a server that is not root has one alone.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

pub(crate) fn opening(name: &str) -> Opening {
    Opening { name: name.to_owned(), secrets: Secrets::Seed(7), config: Map::new(), resumed: false, from: None }
}

pub(crate) async fn call(workspace: &mut dyn Workspace, tool: &str, arguments: Value) -> Observation {
    let Value::Object(arguments) = arguments else { panic!("{arguments}") };
    workspace.act(Input::Call { tool, arguments: &arguments }).await.expect("the sandbox lives")
}

pub(crate) async fn exec(workspace: &mut dyn Workspace, command: &str) -> Observation {
    call(workspace, "exec", json!({"command": command, "timeout_ms": 60_000})).await
}

/// A task that asks for nothing much.
pub(crate) const PLAIN: &str = r#"
name: plain
image: host
instruction: Write it.
secrets: {flag: "flag{%hex16%}"}
setup:
  files: [{path: in.txt, text: "b ${flag}\na\n"}]
  run: echo "$FLAG $SEED" > seen.txt; (sleep 1000 &)
artefacts: [out.txt, tool.sh]
judge:
  files: [{path: /judge/in.txt, text: "3\n1\n2\n"}]
checks:
  - {name: out, file: out.txt, equals: "a\nb ${flag}\n"}
  - {name: tool, weight: 3, driver: '"$PROGRAM" sh tool.sh < in.txt 2> /dev/null | cat', timeout_ms: 2000, stdout: {lines: ["1", "2", "3"]}}
solution: |
  sort in.txt > out.txt
  echo sort > tool.sh
cheats:
  touch: touch out.txt tool.sh
"#;
