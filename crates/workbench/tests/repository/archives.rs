//! Archives of a project, and the part of it that a session can find.

use base64::Engine as _;
use palestra_sandbox::{Command, SandboxSpec};
use palestra_workbench::repository::archive;
use palestra_workbench::work::Upload;
use serde_json::{Value, json};

use crate::fixture::{self, Fixture};

/// A project of four commits and a tag; the second is the base, the third repairs it, and the fourth is on a branch of its own.
const MAKE: &str = r#"set -eu
export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.org GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@example.org
mkdir -p project/tests && cd project && git init -q -b main
printf '[pytest]\npythonpath = .\n' > pytest.ini
echo 'def test_kept(): pass' > tests/test_kept.py
git add -A && git commit -q -m first
printf 'def double(x):\n    return x + x + 1\n' > lib.py
git add -A && git commit -q -m base
git rev-parse HEAD > ../base
printf 'def double(x):\n    return x + x  # the secret of the repair\n' > lib.py
git diff > ../solution.patch
git commit -q -a -m 'the repair' && git tag -m repaired repaired
git checkout -q -b later && echo later > later.txt && git add -A && git commit -q -m later
printf 'from lib import double\n\n\ndef test_double():\n    assert double(2) == 4\n' > tests/test_lib.py
git add -N tests/test_lib.py && git diff > ../test.patch && git reset -q && rm tests/test_lib.py
git checkout -q main && git stash list
git bundle create -q ../all.bundle --all
cd .. && git clone -q --depth 2 "file://$PWD/project" shallow && rm -rf shallow/.git/hooks && tar -cf shallow.tar shallow
tar -cf with_git.tar project && tar -czf without_git.tar.gz --exclude=.git -C project .
"#;

pub(crate) struct Project {
    base: String,
    row: Value,
    pub(crate) bundle: Vec<u8>,
    pub(crate) with_git: Vec<u8>,
    shallow: Vec<u8>,
    without_git: Vec<u8>,
}

pub(crate) async fn project(fixture: &Fixture) -> Project {
    let want = SandboxSpec::new(None, "python", "terminal");
    let sandbox = fixture.workbench.sandboxes.take(&want).await.expect("a sandbox");
    let made = sandbox.exec(&Command::shell(MAKE).folder("/home/agent")).await.expect("made");
    assert!(made.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let read = async |name: &str| sandbox.read(&format!("/home/agent/{name}"), 1 << 20).await.expect("a file");
    let text = async |name: &str| String::from_utf8(read(name).await).expect("UTF-8");
    let base = text("base").await.trim().to_owned();
    let row = json!({
        "instance_id": "project-1", "repo": "somebody/project", "base_commit": base,
        "problem_statement": "double(2) is 5", "patch": text("solution.patch").await, "test_patch": text("test.patch").await,
        "FAIL_TO_PASS": ["tests/test_lib.py::test_double"], "PASS_TO_PASS": ["tests/test_kept.py::test_kept"],
        "log_parser": "pytest", "image": "python", "timeout_s": 30, "archive": "",
    });
    let (bundle, with_git) = (read("all.bundle").await, read("with_git.tar").await);
    let (shallow, without_git) = (read("shallow.tar").await, read("without_git.tar.gz").await);
    let project = Project { base, row, bundle, with_git, shallow, without_git };
    sandbox.destroy(true).await;
    project
}

/// The row as it is stored, with this archive.
pub(crate) fn stored(project: &Project, bytes: &[u8]) -> Value {
    let mut row = project.row.clone();
    row["archive"] = base64::engine::general_purpose::STANDARD.encode(bytes).into();
    let rows = fixture::rows(&Upload::Text(row.to_string())).expect("a row");
    rows.into_iter().next().expect("a row").1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_an_archive_with_history_and_one_by_digest_are_admitted() {
    let Some(fixture) = fixture::open("python") else { return };
    let project = project(&fixture).await;
    let mut kept = stored(&project, &project.bundle);
    archive::keep(&mut kept, &fixture.workbench.blobs).expect("kept");
    assert!(kept["archive"].as_str().is_some_and(|digest| digest.starts_with("sha256:")));
    let mut short = stored(&project, &project.bundle);
    short["base_commit"] = project.base[..8].into();
    for row in [kept, short, stored(&project, &project.with_git), stored(&project, &project.shallow)] {
        let report = fixture.repository.examine(&row, &fixture.workbench).await.expect("it could be tried");
        assert!(report.admitted(), "{report}");
    }
    // The plain tree is that of the last commit on main, which is repaired already.
    let report =
        fixture.repository.examine(&stored(&project, &project.without_git), &fixture.workbench).await.expect("tried");
    assert!(!report.admitted());
    let mut unknown = stored(&project, &project.bundle);
    unknown["base_commit"] = "0123456789".into();
    let refused = fixture.repository.examine(&unknown, &fixture.workbench).await.expect_err("there is no such commit");
    assert!(refused.contains("holds no commit 0123456789"), "{refused}");
    let broken = stored(&project, b"# v2 git bundle\nnonsense\n");
    assert!(fixture.repository.examine(&broken, &fixture.workbench).await.is_err());
}
