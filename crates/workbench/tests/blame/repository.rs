//! Repositories whose acting side breaks the project, its git and its place.

use std::sync::Arc;

use palestra_workbench::repository::Repository;
use palestra_workbench::work::{Upload, UploadedFile, Work};
use serde_json::Value;

use crate::workbench::{SEGMENTS, Way, try_everywhere, way};

fn work() -> Arc<dyn Work> {
    Arc::new(Repository::new())
}

/// The shipped instance `ledger-1`.
fn row() -> Value {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../environments/repository");
    let mut files = std::collections::BTreeMap::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&root).expect("below").to_str().expect("UTF-8").to_owned();
            files.insert(name, UploadedFile { mode: 0o644, bytes: std::fs::read(&path).expect("a file") });
        }
    }
    let rows = Repository::new().rows(&Upload::Files(files)).unwrap_or_else(|faults| panic!("{faults:#?}"));
    rows.into_iter().map(|(_, row)| row).find(|row| row["instance_id"] == "ledger-1").expect("ledger-1")
}

fn ways() -> Vec<Way> {
    let project = "/home/agent/ledger";
    let named = |name, command: String| Way { ..way(name, &[&command]) };
    vec![
        named("the project removed", format!("cd /; rm -rf {project}")),
        named("the project a file", format!("cd /; rm -rf {project}; echo x > {project}")),
        named("the project a link", format!("cd /; rm -rf {project}; ln -s / {project}")),
        named("the project closed", format!("cd /; chmod 000 {project}")),
        way("its git removed", &["rm -rf .git"]),
        way("its git broken", &["rm -rf .git/objects; echo x > .git/HEAD; echo x > .git/index"]),
        way(
            "modules that end the tests",
            &["for f in $(find . -name '*.py'); do echo 'import os; os._exit(3)' > $f; done"],
        ),
        way("modules that never end", &["for f in $(find . -name '*.py'); do echo 'while True: pass' > $f; done"]),
        way("pipes for modules", &["for f in $(find . -name '*.py'); do rm $f; mkfifo $f; done"]),
        way(
            "a project without end",
            &["for i in $(seq 400); do mkdir ddddddddddddddddddddddddd; cd ddddddddddddddddddddddddd; done", "exit"],
        ),
        way("too much of it", &["head -c 300M /dev/urandom > big; seq 30000 | xargs touch"]),
        way("everything killed", &["kill -9 -1; kill -9 1", "true"]),
        way("memory for good", &[SEGMENTS, SEGMENTS, SEGMENTS, "true", "true"]),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_is_broken_by_who_works_on_it() {
    try_everywhere(work, &row(), "python", "repository", ways).await;
}
