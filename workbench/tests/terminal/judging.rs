//! Judges of terminals.

use palestra_workbench::secrets::Secrets;
use palestra_workbench::terminal::check::{check_task, score};
use palestra_workbench::work::{From, Work as _};

use crate::desk::{PLAIN, TestDesk, exec};

#[tokio::test]
async fn a_sound_task_is_proven() {
    let test = TestDesk::new();
    let report = check_task(&test.terminal, &test.row(PLAIN), &test.desk, None).await;
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!((report.solution, report.null), (Some(1.0), Some(0.0)));
    assert_eq!(report.cheats["touch"], (0.0, true));
    assert_eq!(test.desk.sandboxes.open(), 0);
}

#[tokio::test]
async fn a_task_that_lies_is_told_so() {
    let test = TestDesk::new();
    let row = test.row(&PLAIN.replace("equals: \"a\\nb ${flag}\\n\"", "absent: true"));
    let report = check_task(&test.terminal, &row, &test.desk, None).await;
    assert!(report.faults.iter().any(|fault| fault.contains("the solution scores 0.75")), "{:?}", report.faults);
    assert!(report.faults.iter().any(|fault| fault.contains("doing nothing scores 0.25")), "{:?}", report.faults);
}

#[tokio::test]
async fn hostile_artefacts_score_nothing_and_harm_nobody() {
    let test = TestDesk::new();
    let row = test.row(PLAIN);
    for (name, attempt) in [
        ("fifo", "mkfifo out.txt tool.sh"),
        ("link", "ln -s in.txt out.txt; ln -s /judge/in.txt tool.sh"),
        ("folder", "mkdir out.txt tool.sh"),
        ("sparse", "truncate -s 10G out.txt tool.sh || truncate -s 900M out.txt tool.sh"),
        ("forged", "sort in.txt | tac > out.txt; echo 'printf \"1\\n2\\n\"; kill -9 $PPID' > tool.sh"),
        ("endless", "echo 'while :; do :; done' > tool.sh"),
        ("flood", "echo 'yes' > tool.sh"),
        ("kill", "echo 'kill -9 -1; printf \"1\\n2\\n3\\n\"' > tool.sh"),
        ("hidden", "cat /judge/in.txt > out.txt 2>/dev/null; echo 'cat /judge/* /judge/expected' > tool.sh"),
        ("late", "(while :; do echo x > out.txt; done) & "),
    ] {
        let mut room = test.open(&row, name).await;
        exec(&mut *room, attempt).await;
        let evidence = room.evidence().await.expect("evidence");
        let judgement = test.terminal.judge(&row, Secrets::Seed(7), &evidence, &test.desk).await.expect("judged");
        assert_eq!(score(&judgement), 0.0, "{name}: {judgement:?}");
        assert_eq!(judgement.from, From::Fresh);
        assert_eq!(exec(&mut *room, "echo alive").await.text.lines().last(), Some("alive"), "{name}");
        room.close().await;
    }
}
