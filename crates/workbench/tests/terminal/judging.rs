//! Judges of terminals.

use palestra_state::secrets::Secrets;
use palestra_workbench::terminal::check::{check_task, score};
use palestra_workbench::work::{From, Judgement, Upload, Work as _};
use serde_json::json;

use crate::workbench::{PLAIN, TestWorkbench, call, exec, is_root};

#[tokio::test]
async fn a_sound_task_is_proven() {
    let test = TestWorkbench::new();
    let report = check_task(&test.terminal, &test.row(PLAIN), &test.workbench, None).await;
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!((report.solution, report.null), (Some(1.0), Some(0.0)));
    assert_eq!(report.cheats["touch"], (0.0, is_root()));
    assert_eq!(test.workbench.sandboxes.open(), 0);
}

#[tokio::test]
async fn a_task_that_lies_is_told_so() {
    let test = TestWorkbench::new();
    let row = test.row(&PLAIN.replace("equals: \"a\\nb ${flag}\\n\"", "absent: true"));
    let report = check_task(&test.terminal, &row, &test.workbench, None).await;
    assert!(report.faults.iter().any(|fault| fault.contains("the solution scores 0.75")), "{:?}", report.faults);
    assert!(report.faults.iter().any(|fault| fault.contains("doing nothing scores 0.25")), "{:?}", report.faults);
}

#[tokio::test]
async fn a_set_up_that_fails_is_a_fault_of_the_task() {
    let test = TestWorkbench::new();
    let row = test
        .row(&PLAIN.replace("run: echo \"$FLAG $SEED\" > seen.txt; (sleep 1000 &)", "run: echo no such thing; exit 3"));
    let report = check_task(&test.terminal, &row, &test.workbench, None).await;
    let expected = "the set-up of the task failed, correct it: `echo no such thing; exit 3` printed: no such thing";
    assert_eq!(report.faults[0].trim(), expected);
}

#[tokio::test]
async fn a_declared_floor_holds_what_doing_nothing_scores_and_no_more() {
    let test = TestWorkbench::new();
    // Its first check holds from the beginning, and its solution does not reach the second.
    let lying = PLAIN.replace("equals: \"a\\nb ${flag}\\n\"", "absent: true");
    let faults = async |declared: &str| {
        let row = test.row(&format!("{declared}\n{lying}"));
        check_task(&test.terminal, &row, &test.workbench, None).await.faults
    };
    let low = faults("floor: 0.2\nceiling: 0.75").await;
    assert_eq!(low.len(), 1, "{low:?}");
    assert!(low[0].starts_with("doing nothing scores 0.25, where 0.2 is declared"), "{low:?}");
    let high = faults("floor: 0.25\nceiling: 0.8").await;
    assert_eq!(high.len(), 1, "{high:?}");
    assert!(high[0].starts_with("the solution scores 0.75, where 0.8 is declared"), "{high:?}");
    assert_eq!(faults("floor: 0.25\nceiling: 0.75").await, Vec::<String>::new());
    let row = test.row(&format!("floor: 0.25\n{PLAIN}"));
    let range = test.terminal.describe(&row).expect("a brief").score_range.expect("a range");
    assert_eq!([0.0, 0.25, 0.625, 1.0].map(|score| range.rescaled(score)), [0.0, 0.0, 0.5, 1.0]);
    let mut row = test.row(PLAIN);
    assert!(test.terminal.declare_floor(&mut row, 0.5));
    assert_eq!(row["score_range"], json!({"floor": 0.5, "ceiling": 1.0}));
    assert!(test.terminal.declare_floor(&mut row, 0.7));
    assert_eq!(row["score_range"]["floor"], 0.5, "what a task declares itself stays");
}

#[tokio::test]
async fn hostile_artefacts_score_nothing_and_harm_nobody() {
    let test = TestWorkbench::new();
    let row = test.row(PLAIN);
    for (name, attempt) in [
        ("fifo", "mkfifo out.txt tool.sh"),
        ("link", "ln -s in.txt out.txt; ln -s /judge/in.txt tool.sh"),
        ("folder", "mkdir out.txt tool.sh"),
        ("sparse", "truncate -s 10G out.txt tool.sh || truncate -s 900M out.txt tool.sh"),
        ("forged", "sort in.txt | tac > out.txt; echo 'printf \"1\\n2\\n\"; kill -9 $PPID' > tool.sh"),
        ("endless", "echo 'while :; do :; done' > tool.sh"),
        ("flood", "echo 'yes' > tool.sh"),
        ("kill", "echo 'kill -9 -1; kill -9 $PPID; printf \"1\\n2\\n\"' > tool.sh"),
        ("hidden", "cat /judge/in.txt > out.txt 2>/dev/null; echo 'cat /judge/* /judge/expected' > tool.sh"),
        ("late", "(while :; do echo x > out.txt; done) & "),
    ] {
        let mut workspace = test.open(&row, name).await;
        exec(&mut *workspace, attempt).await;
        let evidence = workspace.evidence().await.expect("evidence");
        let judgement = test.terminal.judge(&row, Secrets::Seed(7), &evidence, &test.workbench).await.expect("judged");
        assert_eq!(score(&judgement), 0.0, "{name}: {judgement:?}");
        assert_eq!(judgement.from, From::Fresh);
        assert_eq!(exec(&mut *workspace, "echo alive").await.text.lines().last(), Some("alive"), "{name}");
        workspace.close().await;
    }
}

/// Judgement of a solved task, with another second check.
async fn judged_with(test: &TestWorkbench, name: &str, check: serde_json::Value, hidden: bool) -> Judgement {
    let mut row = test.row(PLAIN);
    row["judge"]["checks"][1] = check;
    if !hidden {
        row["judge"].as_object_mut().expect("a judge").remove("files");
    }
    let mut workspace = test.open(&row, name).await;
    exec(&mut *workspace, "sort in.txt > out.txt; echo sort > tool.sh").await;
    let evidence = workspace.evidence().await.expect("evidence");
    workspace.close().await;
    test.terminal.judge(&row, Secrets::Seed(7), &evidence, &test.workbench).await.expect("judged")
}

#[tokio::test]
async fn a_task_from_before_there_were_drivers_is_judged_and_nobody_learns_from_it() {
    let test = TestWorkbench::new();
    for (name, line, input, hidden, why) in [
        ("beside", "sh tool.sh < /judge/in.txt", "", true, "hidden files lie beside"),
        ("shell", "cat | sh tool.sh", "3\n1\n2\n", false, "the shell that decides"),
        ("sound", "sh tool.sh", "3\n1\n2\n", false, ""),
    ] {
        let check = json!({"name": "tool", "run": line, "input": input, "stdout": {"equals": "1\n2\n3\n"}});
        let judged = judged_with(&test, name, check, hidden).await;
        assert!((score(&judged) - 1.0).abs() < 1e-9, "{name}: {judged:?}");
        assert_eq!(judged.trainable, why.is_empty(), "{name}: {judged:?}");
        assert!(judged.checks[1].evidence.contains(why), "{name}: {judged:?}");
    }
}

#[tokio::test]
async fn a_driver_that_touches_what_it_tries_by_itself_fails_with_a_hint() {
    let test = TestWorkbench::new();
    for (name, line) in [("runs", "sh /home/agent/work/tool.sh < in.txt"), ("reads", "cat /home/agent/work/tool.sh")] {
        let check = json!({"name": "tool", "driver": line, "stdout": {"equals": "1\n2\n3\n"}});
        let judged = judged_with(&test, name, check, true).await;
        if is_root() {
            assert!(judged.checks[1].evidence.contains("by \"$PROGRAM\""), "{name}: {judged:?}");
            assert!(judged.checks[1].score == 0.0 && judged.trainable, "{name}: {judged:?}");
        } else {
            assert!(!judged.trainable, "{name}: {judged:?}");
        }
    }
}

#[tokio::test]
async fn programs_do_not_find_hidden_files_and_tasks_that_lay_them_beside_are_refused() {
    let test = TestWorkbench::new();
    let program = json!({"name": "tool", "run": ["sh", "-c", "ls /judge; exit 0"], "stdout": {"equals": ""}});
    let mut row = test.row(PLAIN);
    row["judge"]["checks"].as_array_mut().expect("checks").push(program);
    let mut workspace = test.open(&row, "beside").await;
    let evidence = workspace.evidence().await.expect("evidence");
    workspace.close().await;
    let judged = test.terminal.judge(&row, Secrets::Seed(7), &evidence, &test.workbench).await.expect("judged");
    assert_eq!(judged.checks[2].score, 1.0, "{judged:?}");
    for (line, part) in [("sh tool.sh", "are for drivers"), ("sh tool.sh | sort", "write it as `driver`")] {
        let (before, after) = PLAIN.split_once("driver: '").expect("a driver");
        let text = format!("{before}run: '{line}'{}", after.split_once('\'').expect("its end").1);
        let faults = test.terminal.rows(&Upload::Text(text)).expect_err("refused");
        assert!(faults.iter().any(|fault| fault.detail.contains(part)), "{faults:?}");
    }
}

#[tokio::test]
async fn a_submitted_answer_is_judged() {
    let test = TestWorkbench::new();
    let yaml = "name: sum\nimage: host\ninstruction: How much is 40 + 2?\nanswer: \"42\"\n\
                checks: [{name: sum, answer: {equals: \"42\", trim: true}}]\n";
    let row = test.row(yaml);
    let report = check_task(&test.terminal, &row, &test.workbench, None).await;
    assert_eq!(report.faults, Vec::<String>::new());
    for (answer, expected) in [(json!({"answer": "42 \n"}), 1.0), (json!({"answer": "41"}), 0.0), (json!({}), 0.0)] {
        let mut workspace = test.open(&row, "answers").await;
        assert!(call(&mut *workspace, "submit", answer.clone()).await.terminated);
        let evidence = workspace.evidence().await.expect("evidence");
        workspace.close().await;
        let judged = test.terminal.judge(&row, Secrets::Seed(7), &evidence, &test.workbench).await.expect("judged");
        assert_eq!((score(&judged), judged.trainable), (expected, true), "{answer}: {judged:?}");
    }
}
