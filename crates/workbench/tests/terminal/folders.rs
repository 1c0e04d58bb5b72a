//! Folders in the public layout, played and judged. They need the image `shell`: where the variable `PALESTRA_IMAGES` names no
//! folder of images, they are not tried.

use std::collections::BTreeMap;

use palestra_sandbox::NetworkAllowance;
use palestra_state::secrets::Secrets;
use palestra_workbench::terminal::check::{check_task, score};
use palestra_workbench::work::{From, JudgeError, Judgement, Upload, UploadedFile, Work as _};
use serde_json::Value;

use crate::workbench::{TestWorkbench, exec};

const DOCKERFILE: &str = r#"
FROM ubuntu:24.04
ENV GREETING="good day"
WORKDIR /app
RUN apt-get update && apt-get install -y git && git init -q /app/repo
COPY names.txt .
"#;

const TEST: &str = r#"#!/bin/bash
if [ "$(cat /app/out.txt)" = "$GREETING ann bob" ]; then echo '{"reward": 1.0}'; else echo '{"reward": 0}'; fi > /logs/verifier/reward.json
"#;

/// A folder; `changed` replaces files of it.
fn row(test: &TestWorkbench, changed: &[(&str, &str)]) -> Value {
    let mut files = BTreeMap::new();
    for (path, text) in [
        ("x/task.toml", "[environment]\nnetwork_mode = \"no-network\"\n[verifier]\ntimeout_sec = 20.0\n"),
        ("x/instruction.md", "Greet everybody."),
        ("x/environment/Dockerfile", DOCKERFILE),
        ("x/environment/names.txt", "ann bob\n"),
        ("x/tests/test.sh", TEST),
        ("x/solution/solve.sh", "#!/bin/bash\ntest -d repo/.git && echo \"$GREETING $(cat names.txt)\" > out.txt\n"),
    ]
    .iter()
    .chain(changed)
    {
        files.insert((*path).to_owned(), UploadedFile { mode: 0o644, bytes: text.as_bytes().to_vec() });
    }
    let rows = test.terminal.rows(&Upload::Files(files)).unwrap_or_else(|faults| panic!("{faults:#?}"));
    rows.into_iter().next().expect("a row").1
}

fn no_images() -> bool {
    let none = std::env::var_os("PALESTRA_IMAGES").is_none();
    if none {
        palestra_test_support::not_tried("images (PALESTRA_IMAGES)");
    }
    none
}

async fn attempt(test: &TestWorkbench, row: &Value, command: &str) -> Result<Judgement, JudgeError> {
    let mut workspace = test.open(row, "attempt").await;
    exec(&mut *workspace, command).await;
    let evidence = workspace.evidence().await.expect("evidence");
    workspace.close().await;
    test.terminal.judge(row, Secrets::Seed(7), &evidence, &test.workbench).await
}

#[tokio::test]
async fn a_folder_is_built_solved_and_judged() {
    if no_images() {
        return;
    }
    let test = TestWorkbench::new();
    for mode in ["", "environment_mode = \"in_place\"\n", "environment_mode = \"separate\"\n"] {
        let toml = format!("artifacts = [\"out.txt\"]\n[verifier]\n{mode}");
        let report = check_task(&test.terminal, &row(&test, &[("x/task.toml", &toml)]), &test.workbench, None).await;
        assert_eq!(report.faults, Vec::<String>::new(), "{mode}");
        assert_eq!((report.solution, report.null), (Some(1.0), Some(0.0)), "{mode}");
    }
    assert_eq!(test.workbench.sandboxes.open(), 0);
}

#[tokio::test]
async fn verdicts_say_from_where_they_were_judged_and_what_may_be_learnt_from() {
    if no_images() {
        return;
    }
    let test = TestWorkbench::new();
    let plain = row(&test, &[]);
    let solved = "echo good day ann bob > out.txt";
    let judgement = attempt(&test, &plain, solved).await.expect("judged");
    assert_eq!(
        (score(&judgement), judgement.from, judgement.trainable),
        (1.0, From::FreshDelta, true),
        "{judgement:?}"
    );
    for unused in [
        "echo x > /usr/local/bin/tool",
        "echo : >> ~/.bashrc",
        "mkdir -p /usr/local/lib/python3.11/dist-packages; echo x > /usr/local/lib/python3.11/dist-packages/a.pth",
    ] {
        let judgement = attempt(&test, &plain, &format!("{solved}; {unused}")).await.expect("judged");
        assert!(judgement.trainable, "the tests load none of it: {unused}: {judgement:?}");
    }
    for doubtful in [
        "printf '#!/bin/sh\\nexit 0\\n' > /usr/local/bin/cat; chmod +x /usr/local/bin/cat",
        "mkdir -p /tests; echo x > /tests/test.sh",
        "mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt",
        "rm /etc/hostname; ln -sf x /etc/motd",
    ] {
        let judgement = attempt(&test, &plain, &format!("{solved}; {doubtful}")).await.expect("judged");
        // A failure counts, whatever was touched.
        assert_eq!(judgement.trainable, score(&judgement) <= 0.0, "{doubtful}: {judgement:?}");
    }
    let failed = attempt(&test, &plain, "mkdir -p /tests /logs/verifier; echo 1 > /logs/verifier/reward.txt")
        .await
        .expect("judged");
    assert_eq!((score(&failed), failed.trainable), (0.0, true), "{failed:?}");
    let in_place = row(&test, &[("x/task.toml", "[verifier]\nenvironment_mode = \"in_place\"\n")]);
    let judgement = attempt(&test, &in_place, solved).await.expect("judged");
    assert_eq!((score(&judgement), judgement.from, judgement.trainable), (1.0, From::InPlace, false));
    let separate =
        row(&test, &[("x/task.toml", "artifacts = [\"out.txt\"]\n[verifier]\nenvironment_mode = \"separate\"\n")]);
    let judgement = attempt(&test, &separate, &format!("{solved}; echo x > /usr/local/bin/cat")).await.expect("judged");
    assert_eq!((score(&judgement), judgement.from, judgement.trainable), (1.0, From::Fresh, true));
    // What they load of the artefacts costs trust in a place of their own too.
    let toml = "artifacts = [\"/app\"]\n[verifier]\nenvironment_mode = \"separate\"\n";
    let script = "cd /app; python3 -c 'import tool; assert tool.answer() == 42' && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt";
    let loads = row(&test, &[("x/task.toml", toml), ("x/tests/test.sh", script)]);
    let judgement = attempt(&test, &loads, "printf 'import os\\nos._exit(0)\\n' > tool.py").await.expect("judged");
    assert_eq!((score(&judgement), judgement.from, judgement.trainable), (1.0, From::Fresh, false), "{judgement:?}");
    assert!(judgement.checks[0].evidence.contains("/app/tool.py"), "{judgement:?}");
}

#[tokio::test]
async fn forged_rewards_score_nothing() {
    if no_images() {
        return;
    }
    let test = TestWorkbench::new();
    let plain = row(&test, &[]);
    for forged in [
        "mkdir -p /logs/verifier /tests; echo 1 > /logs/verifier/reward.txt; printf 'exit 0' > /tests/test.sh; chmod -R a-w /logs /tests",
        "mkdir -p /logs; ln -s /app /logs/verifier; echo '{\"reward\": 1}' > /app/reward.json",
        "ln -s /app /tests; (while :; do mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.json; done) &",
    ] {
        let judgement = attempt(&test, &plain, forged).await.expect("judged");
        assert_eq!(score(&judgement), 0.0, "{forged}: {judgement:?}");
    }
}

#[tokio::test]
async fn a_judge_that_fails_gives_no_score() {
    if no_images() {
        return;
    }
    let test = TestWorkbench::new();
    let tested = |script: &'static str| row(&test, &[("x/tests/test.sh", script)]);
    for script in [
        "exit 1",
        "kill -9 $$",
        "echo NaN > /logs/verifier/reward.txt",
        "echo 2 > /logs/verifier/reward.txt",
        "echo '{\"reward\": \"1\"}' > /logs/verifier/reward.json",
        "mkfifo /logs/verifier/reward.json",
        "mkdir /logs/verifier/reward.json",
        "ln -s /etc/hostname /logs/verifier/reward.txt",
        "truncate -s 1G /logs/verifier/reward.txt",
        ": > /logs/verifier/reward.txt",
    ] {
        let judged = attempt(&test, &tested(script), "true").await;
        assert!(matches!(judged, Err(JudgeError::Verifier(_))), "{script}: {judged:?}");
    }
    let slow = row(&test, &[("x/tests/test.sh", "sleep 100"), ("x/task.toml", "[verifier]\ntimeout_sec = 1\n")]);
    assert!(matches!(attempt(&test, &slow, "true").await, Err(JudgeError::Timeout(_))));
    let lingering = tested("(sleep 100 &) ; echo 1 > /logs/verifier/reward.txt");
    let judgement = attempt(&test, &lingering, "true").await.expect("judged");
    assert!(!judgement.trainable, "what outlives the tests could have written the reward: {judgement:?}");
}

#[tokio::test]
async fn preparations_that_fail_are_told() {
    if no_images() {
        return;
    }
    let test = TestWorkbench::new();
    for (line, words) in [
        ("RUN apt-get install -y nonsense-package git", "lacks nonsense-package"),
        ("RUN pip install nonsense==1.0", "lacks nonsense==1.0"),
        ("RUN echo why; exit 3", "Dockerfile:2: returned 3"),
    ] {
        let dockerfile = format!("FROM python:3.12\n{line}\n");
        let row = row(&test, &[("x/environment/Dockerfile", &dockerfile)]);
        let opened = test.terminal.open(&row, &crate::workbench::opening("fails"), &test.workbench).await;
        let error = opened.err().expect("refused").to_string();
        assert!(error.contains(words), "{error}");
        assert_eq!(test.workbench.sandboxes.open(), 0);
    }
}

#[tokio::test]
async fn where_builds_have_a_network_steps_become_an_image_that_later_sessions_use() {
    if no_images() || !crate::workbench::is_root() {
        return;
    }
    let test = TestWorkbench::reaching(NetworkAllowance::Build);
    // Rights that set-ups of packages need and sessions lack, and a file that every build draws anew.
    let dockerfile =
        format!("{DOCKERFILE}RUN chown 1000:1000 names.txt && head -c 16 /dev/urandom > /usr/local/drawn\n");
    let seen_drawn = "[ -e /provided ] || exit 3; cmp /usr/local/drawn /app/drawn || GREETING=lost";
    let script = TEST.replacen("#!/bin/bash\n", &format!("#!/bin/bash\n{seen_drawn}\n"), 1);
    let solution = "#!/bin/bash\ncp /usr/local/drawn . && echo \"$GREETING $(cat names.txt)\" > out.txt\n";
    let changed = [
        ("x/environment/Dockerfile", dockerfile.as_str()),
        ("x/tests/test.sh", script.as_str()),
        ("x/solution/solve.sh", solution),
    ];
    let mut row = row(&test, &changed);
    // In place of what an index would give.
    row["judge"]["provision"] = serde_json::json!([{
        "step": "run", "argv": ["touch", "/provided"], "user": "root", "folder": "/", "env": {}, "place": "tests/test.sh:2",
    }]);
    let report = check_task(&test.terminal, &row, &test.workbench, None).await;
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!((report.solution, report.null), (Some(1.0), Some(0.0)));
    let images = test.workbench.sandboxes.images().list().expect("listed");
    let made: Vec<&str> =
        images.iter().map(|image| image.name.as_str()).filter(|name| name.starts_with("task-")).collect();
    assert_eq!(made.len(), 2, "one to act in, one to judge in: {made:?}");

    let mut workspace = test.open(&row, "session").await;
    let seen =
        exec(&mut *workspace, "stat -c %u names.txt; ls /usr/local/drawn /provided; chown 0 names.txt").await.text;
    assert!(seen.contains("1000") && seen.contains("/usr/local/drawn\n"), "{seen}");
    assert!(seen.contains("'/provided'") && seen.contains("not permitted"), "{seen}");
    let evidence = workspace.evidence().await.expect("evidence");
    assert!(evidence["image"].as_str().is_some_and(|image| made.contains(&image)), "{evidence}");
    assert!(evidence["layer"].is_null());
    workspace.close().await;
}

#[tokio::test]
async fn a_task_without_a_solution_is_played_and_not_trained_on() {
    if no_images() {
        return;
    }
    let test = TestWorkbench::new();
    let mut unproven = row(&test, &[]);
    unproven.as_object_mut().expect("a row").remove("solution");
    assert_eq!(test.terminal.admit(&unproven, &test.workbench).await, Ok(Vec::new()));
    let judgement = attempt(&test, &unproven, "echo good day ann bob > out.txt").await.expect("judged");
    assert_eq!((score(&judgement), judgement.trainable), (1.0, false), "{judgement:?}");
    assert!(judgement.checks[0].evidence.contains("nothing proves"), "{judgement:?}");
    test.terminal.trust(&mut unproven);
    let judgement = attempt(&test, &unproven, "echo good day ann bob > out.txt").await.expect("judged");
    assert!(judgement.trainable, "{judgement:?}");
}

#[tokio::test]
async fn a_reward_that_is_open_while_the_solution_runs_is_noted() {
    if no_images() {
        return;
    }
    let test = TestWorkbench::new();
    let with = |script: &str| {
        let script = format!("#!/bin/bash\n{script}\n");
        let solution =
            ("x/solution/solve.sh", "#!/bin/bash\nprintf '#!/bin/sh\\necho hi\\n' > out.txt; chmod +x out.txt\n");
        row(&test, &[("x/tests/test.sh", &script), solution])
    };
    let after = r#"result=$(/app/out.txt); [ "$result" = hi ]; echo $((1 - $?)) > /logs/verifier/reward.txt"#;
    assert_eq!(test.terminal.admit(&with(after), &test.workbench).await, Ok(Vec::new()));
    let around = r#"{ [ "$(/app/out.txt)" = hi ]; echo $((1 - $?)); } > /logs/verifier/reward.txt"#;
    let notes = test.terminal.admit(&with(around), &test.workbench).await.expect("it scores");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("no trainer may learn from such episodes"), "{notes:?}");
    assert!(notes[0].contains("the reward was not seen to be written by the tests alone"), "{notes:?}");
}

#[tokio::test]
async fn what_is_collected_is_judged_and_what_is_left_out_is_not() {
    if no_images() {
        return;
    }
    let test = TestWorkbench::new();
    let toml = "artifacts = [{source = \"/app\", exclude = [\"*.log\"]}]\n[verifier]\nenvironment_mode = \"separate\"\n\
                collect = [{command = \"cp /app/state /app/taken; touch /app/a.log\"}]\n\
                [environment.healthcheck]\ncommand = \"test -e /app/names.txt\"\n";
    let script = "#!/bin/bash\n[ \"$(cat /app/taken)\" = up ] && [ ! -e /app/a.log ]; echo $((1 - $?)) > /logs/verifier/reward.txt\n";
    let changed = [("x/task.toml", toml), ("x/tests/test.sh", script)];
    let judgement = attempt(&test, &row(&test, &changed), "echo up > state").await.expect("judged");
    assert_eq!(score(&judgement), 1.0, "{judgement:?}");
    let sick = toml.replace("test -e /app/names.txt\"", "false\"\nretries = 1\ninterval_sec = 0");
    let changed = [("x/task.toml", sick.as_str()), ("x/tests/test.sh", script)];
    let refused = test.terminal.admit(&row(&test, &changed), &test.workbench).await.expect_err("refused");
    assert!(refused.contains("the healthcheck did not succeed: false"), "{refused}");
}

#[tokio::test]
async fn a_task_that_asks_for_a_network_gets_it_where_the_operator_allows() {
    if no_images() || !crate::workbench::is_root() {
        return;
    }
    let own = std::fs::read_to_string("/etc/resolv.conf").expect("a resolver");
    let dockerfile = ("x/environment/Dockerfile", "FROM ubuntu\nWORKDIR /app\n");
    let asks = ("x/task.toml", "[environment]\nallow_internet = true\n[verifier]\nnetwork_mode = \"no-network\"\n");
    for (allowed, toml, reaches) in [
        (NetworkAllowance::All, asks, true),
        (NetworkAllowance::Build, asks, false),
        (NetworkAllowance::All, ("x/task.toml", ""), false),
    ] {
        let test = TestWorkbench::reaching(allowed);
        let script = "#!/bin/bash\n[ -s /etc/resolv.conf ]; echo $? > /logs/verifier/reward.txt\n";
        let row = row(&test, &[dockerfile, toml, ("x/tests/test.sh", script)]);
        let mut workspace = test.open(&row, "network").await;
        let seen = exec(&mut *workspace, "cat /etc/resolv.conf").await.text;
        assert_eq!(seen.trim() == own.trim() && !seen.trim().is_empty(), reaches, "{allowed:?}: {seen:?}");
        assert_eq!(workspace.isolation()["lines"]["net"]["enforced"], serde_json::json!(!reaches));
        let evidence = workspace.evidence().await.expect("evidence");
        workspace.close().await;
        let judged = test.terminal.judge(&row, Secrets::Seed(7), &evidence, &test.workbench).await.expect("judged");
        assert_eq!(score(&judged), 1.0, "the tests have none: {judged:?}");
    }
}
