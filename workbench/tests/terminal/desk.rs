//! A desk with the local back end.

use std::sync::Arc;

use palestra_sandbox::blob::Blobs;
use palestra_sandbox::image::Images;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::{Local, Sandboxes, shipped};
use palestra_workbench::secrets::Secrets;
use palestra_workbench::terminal::Terminal;
use palestra_workbench::work::{Desk, Input, Opening, Room, Seen, Upload, Work as _};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// A desk and the folder that it lives in.
pub(crate) struct TestDesk {
    pub(crate) desk: Desk,
    pub(crate) terminal: Terminal,
    _folder: TempDir,
}

impl TestDesk {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let local = Local::new(&folder.path().join("sandbox")).expect("a back end");
        let images =
            Images::new(std::env::var("PALESTRA_IMAGES").map_or_else(|_| folder.path().join("images"), Into::into));
        let bounds = Bounds { sandboxes_max: 16, warm_min: 0 };
        let profiles = shipped::profiles().expect("profiles");
        let sandboxes = Sandboxes::new(vec![Arc::new(local)], images, profiles, bounds);
        let desk = Desk { sandboxes, blobs: Blobs::new(folder.path().join("blobs")) };
        Self { desk, terminal: Terminal::new(), _folder: folder }
    }

    /// A row from YAML.
    pub(crate) fn row(&self, yaml: &str) -> Value {
        let rows = self.terminal.rows(&Upload::Text(yaml.to_owned())).unwrap_or_else(|faults| panic!("{faults:#?}"));
        rows.into_iter().next().expect("a row").1
    }

    pub(crate) async fn open(&self, row: &Value, name: &str) -> Box<dyn Room> {
        self.terminal.open(row, &opening(name), &self.desk).await.expect("a room")
    }
}

pub(crate) fn opening(name: &str) -> Opening {
    Opening { name: name.to_owned(), secrets: Secrets::Seed(7), config: Map::new(), resumed: false, from: None }
}

pub(crate) async fn call(room: &mut dyn Room, tool: &str, arguments: Value) -> Seen {
    let Value::Object(arguments) = arguments else { panic!("{arguments}") };
    room.act(Input::Call { tool, arguments: &arguments }).await.expect("the sandbox lives")
}

pub(crate) async fn exec(room: &mut dyn Room, command: &str) -> Seen {
    call(room, "exec", json!({"command": command, "timeout_ms": 60_000})).await
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
  - {name: tool, weight: 3, run: "sh tool.sh < /judge/in.txt", timeout_ms: 2000, stdout: {lines: ["1", "2", "3"]}}
solution: |
  sort in.txt > out.txt
  echo sort > tool.sh
cheats:
  touch: touch out.txt tool.sh
"#;
