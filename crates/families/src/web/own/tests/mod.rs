//! Folders of pages, published and played in a real Chromium.

mod hosts;
mod miniwob;
mod sites;

use std::collections::BTreeMap;
use std::sync::Arc;

use palestra_browser::{Browsers, Host, PoolSettings, find_program};
use palestra_environment::task::Task;
use palestra_environment::{EnvironmentKind, Tasks};
use palestra_protocol::action::Action;
use palestra_protocol::problem::Fault;
use palestra_sandbox::image::Images;
use palestra_sandbox::pool::Bounds;
use palestra_sandbox::{Backend as _, Local, Sandboxes, shipped};
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::prove::{Played, play};
use super::{Submission, kind, parse};
use crate::definition::{Definition, Parsed};

/// Browsers of a test.
struct Fixture {
    browsers: Browsers,
    _folder: TempDir,
}

/// Browsers; none, said aloud, where this machine has no Chromium or cannot shut it in.
async fn fixture() -> Option<Fixture> {
    fixture_with(Vec::new()).await
}

/// The same, whose pages may reach these hosts.
async fn fixture_with(hosts: Vec<Host>) -> Option<Fixture> {
    if find_program().is_none() {
        palestra_test_support::not_tried("a Chromium: install Debian's package chromium-headless-shell");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let local = Local::new(&folder.path().join("sandbox")).expect("a back end");
    let profiles = shipped::profiles().expect("profiles");
    if let Err(error) = local.examine(&profiles["browser"]).await {
        palestra_test_support::not_tried(format_args!("the local back end: {error}"));
        return None;
    }
    let images = Images::new(folder.path().join("images"));
    let sandboxes = Sandboxes::new(vec![Arc::new(local)], images, profiles, Bounds { sandboxes_max: 4, warm_min: 0 });
    let settings = PoolSettings { processes_max: 1, contexts_max: 8, hosts, ..PoolSettings::default() };
    Some(Fixture { browsers: Browsers::new(sandboxes, settings), _folder: folder })
}

/// Files by path.
type Folder = BTreeMap<String, Vec<u8>>;

fn folder(files: &[(&str, &str)]) -> Folder {
    files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

fn submission(files: Folder) -> Submission {
    Submission {
        name: "web/mine".to_owned(),
        description: String::new(),
        tags: Vec::new(),
        files,
        keep_going: false,
        trust_unproven: false,
    }
}

impl Fixture {
    async fn publish(&self, submission: Submission) -> Result<Parsed, Vec<Fault>> {
        let browsers = self.browsers.clone();
        let (_caller, left) = oneshot::channel();
        tokio::task::spawn_blocking(move || parse(submission, &browsers, left)).await.expect("it ends")
    }

    /// The kind that a publication makes once it is stored.
    fn kind(&self, parsed: &Parsed) -> Arc<dyn EnvironmentKind> {
        let definition = Definition {
            name: &parsed.name,
            version: 1,
            digest: &parsed.digest,
            definition: &parsed.definition,
            splits: &parsed.splits,
        };
        kind(&definition, &self.browsers).expect("the stored form")
    }

    async fn end(self) {
        self.browsers.close().await;
    }
}

/// The stored task of a split and index.
fn task(kind: &dyn EnvironmentKind, parsed: &Parsed, split: &str, index: usize) -> Arc<Task> {
    let Tasks::Stored(rows) = kind.tasks() else { panic!("tasks are stored") };
    let (_, of_split) = parsed.rows.iter().find(|(name, _)| name == split).expect("a split");
    Arc::new(rows.task(split, index as u64, of_split[index].clone()).expect("a task"))
}

async fn played(kind: &dyn EnvironmentKind, task: &Arc<Task>, actions: &[&str]) -> Played {
    let actions: Vec<Action> = actions.iter().map(|text| Action::Text((*text).to_owned())).collect();
    play(kind, task, &actions).await.expect("a browser")
}

/// The error that the last action met.
fn last_error(played: &Played) -> Option<&str> {
    played.seen.last().and_then(|seen| seen.data["error"].as_str())
}
