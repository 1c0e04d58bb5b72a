//! Sessions: what can be found in them, and what of them is judged.

use palestra_state::secrets::Secrets;
use palestra_workbench::repository::Repository;
use palestra_workbench::work::{Call, Input, Opening, Room, Seen, Work};
use serde_json::{Map, Value, json};

use crate::archives;
use crate::place::{self, Place};

async fn open(place: &Place, row: &Value, name: &str) -> Box<dyn Room> {
    let opening =
        Opening { name: name.to_owned(), secrets: Secrets::Seed(3), config: Map::new(), resumed: false, from: None };
    place.repository.open(row, &opening, &place.desk).await.expect("a room")
}

async fn act(room: &mut dyn Room, tool: &str, arguments: Value) -> Seen {
    let arguments = arguments.as_object().cloned().expect("arguments");
    room.act(Input::Call { tool, arguments: &arguments }).await.expect("seen")
}

async fn run(room: &mut dyn Room, command: &str) -> String {
    act(room, "exec", json!({"command": command})).await.text
}

async fn score(place: &Place, row: &Value, room: &mut dyn Room) -> f64 {
    let evidence = room.evidence().await.expect("evidence");
    let judgement = place.repository.judge(row, Secrets::Seed(3), &evidence, &place.desk).await.expect("a verdict");
    println!("{evidence}: {}", judgement.checks[0].evidence);
    judgement.checks[0].score
}

/// The solution as commands that change the files.
fn solve(row: &Value) -> String {
    format!("git apply <<'PATCH'\n{}PATCH\n", row["patch"].as_str().expect("a patch"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_solved_in_its_shell_forked_and_judged_by_what_it_changed() {
    let Some(place) = place::open("python") else { return };
    let row = place::row("ledger-1");
    let mut room = open(&place, &row, "one").await;
    assert!(room.observe().await.expect("seen").text.contains("/home/agent/ledger"));
    let log = run(&mut *room, "git log --format=%s; git status --short").await;
    assert_eq!(
        log.lines().map(str::trim).collect::<Vec<_>>()[..3],
        ["Test balances", "Say what is in every account", "Read journals"]
    );
    assert_eq!(score(&place, &row, &mut *room).await, 0.0);
    let mut copy = room.fork("two").await.expect("forked").expect("a copy");
    run(&mut *room, &solve(&row)).await;
    assert!(run(&mut *room, "python3 -m pytest -q tests").await.contains("14 passed"));
    assert_eq!(score(&place, &row, &mut *room).await, 1.0);
    // A server that was started anew knows nothing but the row and what is kept.
    let kept = room.evidence().await.expect("evidence");
    let later = Repository::new().judge(&row, Secrets::Seed(3), &kept, &place.desk).await.expect("a verdict");
    assert_eq!(later.checks[0].score, 1.0);
    let again = room.evidence().await.expect("evidence");
    assert_eq!(again, room.evidence().await.expect("evidence"), "the same files make the same patch");
    assert_eq!(score(&place, &row, &mut *copy).await, 0.0, "the copy goes its own way");
    // Whether it is committed is the session's own business.
    run(&mut *copy, &format!("{}git add -A && git commit -q -m done", solve(&row))).await;
    assert_eq!(score(&place, &row, &mut *copy).await, 1.0);
    room.close().await;
    copy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oracle_hands_in_its_patch() {
    let Some(place) = place::open("python") else { return };
    for (name, row) in place::shipped() {
        let mut room = open(&place, &row, &name).await;
        let calls = place.repository.oracle(&row, 3).expect("an oracle");
        let [Call { tool, arguments }] = calls.as_slice() else { panic!("one call") };
        assert!(room.act(Input::Call { tool, arguments }).await.expect("seen").terminated);
        assert_eq!(score(&place, &row, &mut *room).await, 1.0, "{name}");
        room.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_later_commits_can_be_found() {
    let Some(place) = place::open("python") else { return };
    let project = archives::project(&place).await;
    for archive in [&project.bundle, &project.with_git] {
        let row = archives::stored(&project, archive);
        let mut room = open(&place, &row, "searching").await;
        let all = run(&mut *room, "git log --all --reflog --format=%s").await;
        assert!(all.contains("base") && all.contains("first"), "{all}");
        for later in ["the repair", "later"] {
            assert!(!all.contains(later), "{all}");
        }
        assert_eq!(
            run(&mut *room, "git tag; git stash list; git branch -a --format='%(refname)'").await.trim(),
            "refs/heads/main"
        );
        let counted = run(
            &mut *room,
            "git cat-file --batch-all-objects --batch-check | wc -l; git rev-list --objects HEAD | wc -l",
        )
        .await;
        let counts: Vec<&str> = counted.split_whitespace().collect();
        assert_eq!(counts[0], counts[1], "there are objects that the base commit does not reach");
        let found = run(&mut *room, "git fsck --unreachable --no-reflogs --no-progress 2>&1; grep -rl 'secret of the repair' /home /etc /opt /srv /var 2>/dev/null; git cat-file --batch-all-objects --batch | grep -c secret; ls /tmp").await;
        assert_eq!(found.trim(), "0", "{found}");
        room.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_tree_is_taken_as_data() {
    let Some(place) = place::open("python") else { return };
    let row = place::row("intervals-1");
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
        let mut room = open(&place, &row, "hostile").await;
        run(&mut *room, &solve(&row)).await;
        run(&mut *room, command).await;
        assert_eq!(score(&place, &row, &mut *room).await, 1.0, "{name}");
        room.close().await;
    }
    for (name, command) in [
        ("no tree", "cd ..; rm -rf intervals; ln -s / intervals"),
        ("a file for a tree", "cd ..; rm -rf intervals; echo > intervals"),
        ("folders without end", "for i in $(seq 400); do mkdir d; cd d; done; cd /home/agent/intervals"),
        ("a tree that is too large", "head -c 300000000 /dev/zero > zeros"),
        ("a change that is too large", "head -c 20000000 /dev/urandom > noise"),
    ] {
        let mut room = open(&place, &row, "hostile").await;
        run(&mut *room, command).await;
        assert_eq!(score(&place, &row, &mut *room).await, 0.0, "{name}");
        room.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_set_up_makes_is_no_part_of_a_change() {
    let Some(place) = place::open("python") else { return };
    let mut row = place::row("ledger-1");
    row["setup"] = "mkdir 'build [x]' && echo \"$MADE\" > 'build [x]/made.txt' && echo x > loose.txt".into();
    row["env"] = json!({"MADE": "by set-up"});
    let mut room = open(&place, &row, "set-up").await;
    assert_eq!(
        run(&mut *room, "cat 'build [x]/made.txt'; git status --short; echo $MADE").await.trim(),
        "by set-up\nby set-up"
    );
    let evidence = room.evidence().await.expect("evidence");
    let patch = place.desk.blobs.get(evidence["patch"].as_str().expect("a patch")).expect("read").expect("kept");
    assert_eq!(patch, b"", "{}", String::from_utf8_lossy(&patch));
    room.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_brief_tells_nothing_of_the_judge() {
    for (name, row) in place::shipped() {
        let repository = Repository::new();
        let brief = repository.describe(&row).expect("a brief");
        let told = format!("{}{}{}", brief.system, brief.instruction, Value::Object(brief.metadata));
        for secret in row["FAIL_TO_PASS"].as_array().expect("a list") {
            let test = secret.as_str().expect("a name").rsplit("::").next().expect("a name");
            assert!(!told.contains(test), "{name}: {test}");
        }
        assert!(!told.contains("diff --git"), "{name}");
        assert_ne!(repository.judged_by(&row), Value::Null);
    }
}
