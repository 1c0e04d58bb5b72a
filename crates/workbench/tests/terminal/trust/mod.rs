//! Trust in the tests of public task folders, on every back end that is there: nothing that the acting side made is loaded by the
//! tests' own processes without costing trust, and honest work keeps it. In containers the usual form plays a part of it, and
//! `PALESTRA_TASKS=all` everything. The tables need the image `languages`, the shipped folders
//! `shell`, `python` and `build`.

#![expect(clippy::print_stdout, reason = "tests say what they found")]

/// Tests of the shell that reward what a command returns in the working folder.
macro_rules! checked {
    ($runs:literal) => {
        concat!(
            "cd /app\nif ",
            $runs,
            "; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n"
        )
    };
}

mod around;
mod attacks;
mod beside;
mod honest;
mod shipped;

use std::collections::BTreeMap;

use palestra_state::secrets::Secrets;
use palestra_workbench::work::{Judgement, Upload, UploadedFile, Work as _};
use serde_json::Value;

use crate::workbench::{TestWorkbench, exec};

/// A task, and something that is done in it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The tests: `test.sh`, and files by name.
    pub(crate) script: &'static str,
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// The attack.
    pub(crate) acts: &'static str,
    /// Its score.
    pub(crate) score: f64,
    /// Part of the reason of the doubt; trusted where it is left out. A score of 0 stays trainable.
    pub(crate) doubt: Option<&'static str>,
}

/// Asserts that an attack on tests has its effect, and is doubted.
const fn attack(
    name: &'static str,
    script: &'static str,
    files: &'static [(&'static str, &'static str)],
    acts: &'static str,
    doubt: &'static str,
) -> Case {
    Case { name, script, files, acts, score: 1.0, doubt: Some(doubt) }
}

const DOCKERFILE: &str = "FROM node:20\nWORKDIR /app\nCOPY Makefile .\nRUN git init -q repo && git -C repo config user.email a@b.c && git -C repo config user.name a\n";
const MAKEFILE: &str = "check:\n\t@grep -q 42 answer.txt\n";

fn row(test: &TestWorkbench, case: &Case) -> Value {
    let mut files = BTreeMap::new();
    let mut put = |path: String, text: &str| {
        files.insert(path, UploadedFile { mode: 0o644, bytes: text.as_bytes().to_vec() });
    };
    put("x/task.toml".to_owned(), "[environment]\nnetwork_mode = \"no-network\"\n[verifier]\ntimeout_sec = 60.0\n");
    put("x/instruction.md".to_owned(), "Write 42 into answer.txt.");
    put("x/environment/Dockerfile".to_owned(), DOCKERFILE);
    put("x/environment/Makefile".to_owned(), MAKEFILE);
    put("x/tests/test.sh".to_owned(), case.script);
    put("x/solution/solve.sh".to_owned(), "echo 42 > /app/answer.txt");
    for (name, text) in case.files {
        put(format!("x/tests/{name}"), text);
    }
    let rows = test.terminal.rows(&Upload::Files(files)).unwrap_or_else(|faults| panic!("{faults:#?}"));
    rows.into_iter().next().expect("a row").1
}

/// Opens the task, does what the case does, and judges it.
async fn played(test: &TestWorkbench, case: &Case) -> Judgement {
    let row = row(test, case);
    let mut workspace = test.open(&row, "case").await;
    let seen = exec(&mut *workspace, &format!("set -e; cd /app; {}", case.acts)).await;
    assert_eq!(seen.data["exit_code"], 0, "{}: {}", case.name, seen.text);
    let evidence = workspace.evidence().await.expect("evidence");
    workspace.close().await;
    test.terminal
        .judge(&row, Secrets::Seed(7), &evidence, &test.workbench)
        .await
        .unwrap_or_else(|error| panic!("{}: {error:?}", case.name))
}

/// Of so many cases one is played in containers in the usual form: what is watched and what is made of it does not depend on the place.
const CONTAINED_EVERY: usize = 4;

/// One of how many is tried on a back end: all where `PALESTRA_TASKS` is `all`.
fn every(backend: &str) -> usize {
    let all = backend == "local" || std::env::var("PALESTRA_TASKS").is_ok_and(|tasks| tasks == "all");
    if all { 1 } else { CONTAINED_EVERY }
}

/// Plays cases on one back end; what is not as it should be.
async fn faults(backend: &str, cases: &[Case]) -> Vec<String> {
    let Some(test) = TestWorkbench::on(backend, &["languages"]).await else { return Vec::new() };
    let mut faults = Vec::new();
    for case in cases.iter().step_by(every(backend)) {
        let judgement = played(&test, case).await;
        let check = &judgement.checks[0];
        let reason = check.evidence.rsplit('\n').next().unwrap_or_default();
        println!("{backend}: {}: score {}, trainable {}: {reason}", case.name, check.score, judgement.trainable);
        let doubted = match case.doubt {
            // A failure is not hidden by what costs trust.
            Some(doubt) => judgement.trainable == (check.score == 0.0) && reason.contains(doubt),
            None => judgement.trainable,
        };
        if check.score != case.score || !doubted {
            faults.push(format!(
                "{}: score {}, trainable {}: {}",
                case.name, check.score, judgement.trainable, check.evidence
            ));
        }
    }
    assert_eq!(test.workbench.sandboxes.open(), 0);
    faults
}

#[tokio::test]
async fn nothing_that_the_tests_load_is_trusted_locally() {
    assert_eq!(faults("local", attacks::ALL).await, Vec::<String>::new());
}

#[tokio::test]
async fn nothing_that_the_tests_load_is_trusted_in_containers() {
    assert_eq!(faults("docker", attacks::ALL).await, Vec::<String>::new());
}

#[tokio::test]
async fn nobody_gets_around_what_the_tests_load_locally() {
    assert_eq!(faults("local", around::ALL).await, Vec::<String>::new());
}

#[tokio::test]
async fn nobody_gets_around_what_the_tests_load_in_containers() {
    assert_eq!(faults("docker", around::ALL).await, Vec::<String>::new());
}

#[tokio::test]
async fn nobody_gets_beside_what_the_tests_open_locally() {
    assert_eq!(faults("local", beside::ALL).await, Vec::<String>::new());
}

#[tokio::test]
async fn nobody_gets_beside_what_the_tests_open_in_containers() {
    assert_eq!(faults("docker", beside::ALL).await, Vec::<String>::new());
}

#[tokio::test]
async fn honest_work_is_trusted_locally() {
    assert_eq!(faults("local", honest::ALL).await, Vec::<String>::new());
}

#[tokio::test]
async fn honest_work_is_trusted_in_containers() {
    assert_eq!(faults("docker", honest::ALL).await, Vec::<String>::new());
}
