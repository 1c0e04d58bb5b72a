//! Sessions: what can be found in them, and what of them is judged.

use palestra_state::secrets::Secrets;
use palestra_workbench::repository::Repository;
use palestra_workbench::work::{Call, Input, Observation, Opening, Work, Workspace};
use serde_json::{Map, Value, json};

use crate::archives;
use crate::fixture::{self, Fixture};

async fn open(fixture: &Fixture, row: &Value, name: &str) -> Box<dyn Workspace> {
    let opening =
        Opening { name: name.to_owned(), secrets: Secrets::Seed(3), config: Map::new(), resumed: false, from: None };
    fixture.repository.open(row, &opening, &fixture.workbench).await.expect("a workspace")
}

async fn act(workspace: &mut dyn Workspace, tool: &str, arguments: Value) -> Observation {
    let arguments = arguments.as_object().cloned().expect("arguments");
    workspace.act(Input::Call { tool, arguments: &arguments }).await.expect("seen")
}

async fn run(workspace: &mut dyn Workspace, command: &str) -> String {
    act(workspace, "exec", json!({"command": command})).await.text
}

async fn score(fixture: &Fixture, row: &Value, workspace: &mut dyn Workspace) -> f64 {
    let evidence = workspace.evidence().await.expect("evidence");
    let judgement =
        fixture.repository.judge(row, Secrets::Seed(3), &evidence, &fixture.workbench).await.expect("a verdict");
    println!("{evidence}: {}", judgement.checks[0].evidence);
    judgement.checks[0].score
}

/// The solution as commands that change the files.
fn solve(row: &Value) -> String {
    format!("git apply <<'PATCH'\n{}PATCH\n", row["patch"].as_str().expect("a patch"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_solved_in_its_shell_forked_and_judged_by_what_it_changed() {
    let Some(fixture) = fixture::open("python") else { return };
    let row = fixture::row("ledger-1");
    let mut workspace = open(&fixture, &row, "one").await;
    assert!(workspace.observe().await.expect("seen").text.contains("/home/agent/ledger"));
    let log = run(&mut *workspace, "git log --format=%s; git status --short").await;
    assert_eq!(
        log.lines().map(str::trim).collect::<Vec<_>>()[..3],
        ["Test balances", "Say what is in every account", "Read journals"]
    );
    assert_eq!(score(&fixture, &row, &mut *workspace).await, 0.0);
    let mut copy = workspace.fork("two").await.expect("forked").expect("a copy");
    run(&mut *workspace, &solve(&row)).await;
    assert!(run(&mut *workspace, "python3 -m pytest -q tests").await.contains("14 passed"));
    assert_eq!(score(&fixture, &row, &mut *workspace).await, 1.0);
    // A server that was started anew knows nothing but the row and what is kept.
    let kept = workspace.evidence().await.expect("evidence");
    let later = Repository::new().judge(&row, Secrets::Seed(3), &kept, &fixture.workbench).await.expect("a verdict");
    assert_eq!(later.checks[0].score, 1.0);
    let again = workspace.evidence().await.expect("evidence");
    assert_eq!(again, workspace.evidence().await.expect("evidence"), "the same files make the same patch");
    assert_eq!(score(&fixture, &row, &mut *copy).await, 0.0, "the copy goes its own way");
    // Whether it is committed is the session's own business.
    run(&mut *copy, &format!("{}git add -A && git commit -q -m done", solve(&row))).await;
    assert_eq!(score(&fixture, &row, &mut *copy).await, 1.0);
    workspace.close().await;
    copy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oracle_hands_in_its_patch() {
    let Some(fixture) = fixture::open("python") else { return };
    for (name, row) in fixture::shipped() {
        let mut workspace = open(&fixture, &row, &name).await;
        let calls = fixture.repository.oracle(&row, 3).expect("an oracle");
        let [Call { tool, arguments }] = calls.as_slice() else { panic!("one call") };
        assert!(workspace.act(Input::Call { tool, arguments }).await.expect("seen").terminated);
        assert_eq!(score(&fixture, &row, &mut *workspace).await, 1.0, "{name}");
        workspace.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_later_commits_can_be_found() {
    let Some(fixture) = fixture::open("python") else { return };
    let project = archives::project(&fixture).await;
    for archive in [&project.bundle, &project.with_git] {
        let row = archives::stored(&project, archive);
        let mut workspace = open(&fixture, &row, "searching").await;
        let all = run(&mut *workspace, "git log --all --reflog --format=%s").await;
        assert!(all.contains("base") && all.contains("first"), "{all}");
        for later in ["the repair", "later"] {
            assert!(!all.contains(later), "{all}");
        }
        assert_eq!(
            run(&mut *workspace, "git tag; git stash list; git branch -a --format='%(refname)'").await.trim(),
            "refs/heads/main"
        );
        let counted = run(
            &mut *workspace,
            "git cat-file --batch-all-objects --batch-check | wc -l; git rev-list --objects HEAD | wc -l",
        )
        .await;
        let counts: Vec<&str> = counted.split_whitespace().collect();
        assert_eq!(counts[0], counts[1], "there are objects that the base commit does not reach");
        let found = run(&mut *workspace, "git fsck --unreachable --no-reflogs --no-progress 2>&1; grep -rl 'secret of the repair' /home /etc /opt /srv /var 2>/dev/null; git cat-file --batch-all-objects --batch | grep -c secret; ls /tmp").await;
        assert_eq!(found.trim(), "0", "{found}");
        workspace.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_tree_is_taken_as_data() {
    let Some(fixture) = fixture::open("python") else { return };
    let row = fixture::row("intervals-1");
    let hostile = [
        (
            "hooks, helpers and filters",
            "printf '#!/bin/sh\ntouch /tmp/hooked; exit 1\n' > .git/hooks/pre-commit; chmod +x .git/hooks/*; git config core.fsmonitor 'touch /tmp/hooked'; git config core.hooksPath .git/hooks; git config filter.x.clean 'sh -c \"exit 1\"'; git config filter.x.required true; echo '* filter=x' > .gitattributes; git config diff.external /bin/false",
        ),
        ("no repository any more", "rm -rf .git"),
        ("a repository larger than all files may be", "head -c 280000000 /dev/zero > .git/zeros"),
        ("no process left to run anything with", "sh -c 'while sleep 100 & do :; done' 2>/dev/null; true"),
        ("a file in its place", "rm -rf .git; echo 'gitdir: /etc' > .git"),
        (
            "another repository within",
            "git init -q inner; git -C inner config core.fsmonitor 'touch /tmp/hooked'; echo x > inner/x",
        ),
        (
            "an index that lies",
            "git add -A; git update-index --assume-unchanged $(git ls-files); git update-index --skip-worktree intervals/sets.py",
        ),
        ("everything ignored", "echo '*' >> .git/info/exclude"),
        (
            "odd files",
            "mkfifo pipe; ln -s /etc/passwd link; ln -s / slash; python3 -c 'open(b\"\\xff\\xfe\", \"w\")'; touch \"$(printf 'a\\nb')\"; echo x > hidden; chmod 000 hidden; ln hidden hard",
        ),
        ("a base of its own", "git checkout -q --orphan other; git commit -q -m other; git branch -D main"),
    ];
    for (name, command) in hostile {
        let mut workspace = open(&fixture, &row, "hostile").await;
        run(&mut *workspace, &solve(&row)).await;
        run(&mut *workspace, command).await;
        assert_eq!(score(&fixture, &row, &mut *workspace).await, 1.0, "{name}");
        workspace.close().await;
    }
    for (name, command) in [
        ("no tree", "cd ..; rm -rf intervals; ln -s / intervals"),
        ("a file for a tree", "cd ..; rm -rf intervals; echo > intervals"),
        ("folders without end", "for i in $(seq 400); do mkdir d; cd d; done; cd /home/agent/intervals"),
        ("a tree that is too large", "head -c 300000000 /dev/zero > zeros"),
        ("a change that is too large", "head -c 20000000 /dev/urandom > noise"),
    ] {
        let mut workspace = open(&fixture, &row, "hostile").await;
        run(&mut *workspace, command).await;
        assert_eq!(score(&fixture, &row, &mut *workspace).await, 0.0, "{name}");
        workspace.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_the_set_up_are_no_part_of_a_change() {
    let Some(fixture) = fixture::open("python") else { return };
    let mut row = fixture::row("ledger-1");
    row["setup"] = "mkdir 'build [x]' && echo \"$MADE\" > 'build [x]/made.txt' && echo x > loose.txt".into();
    row["env"] = json!({"MADE": "by set-up"});
    let mut workspace = open(&fixture, &row, "set-up").await;
    assert_eq!(
        run(&mut *workspace, "cat 'build [x]/made.txt'; git status --short; echo $MADE").await.trim(),
        "by set-up\nby set-up"
    );
    let evidence = workspace.evidence().await.expect("evidence");
    let patch = fixture.workbench.blobs.get(evidence["patch"].as_str().expect("a patch")).expect("read").expect("kept");
    assert_eq!(patch, b"", "{}", String::from_utf8_lossy(&patch));
    workspace.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_brief_tells_nothing_of_the_judge() {
    for (name, row) in fixture::shipped() {
        let repository = Repository::new();
        let brief = repository.describe(&row).expect("a brief");
        let reported = format!("{}{}{}", brief.system, brief.instruction, Value::Object(brief.metadata));
        for secret in row["FAIL_TO_PASS"].as_array().expect("a list") {
            let test = secret.as_str().expect("a name").rsplit("::").next().expect("a name");
            assert!(!reported.contains(test), "{name}: {test}");
        }
        assert!(!reported.contains("diff --git"), "{name}");
        assert_ne!(repository.judged_by(&row), Value::Null);
    }
}
