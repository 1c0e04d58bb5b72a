//! Admission and verdicts.

use palestra_state::secrets::Secrets;
use palestra_workbench::work::{From, JudgeError, Work as _};
use serde_json::json;

use crate::fixture;
use crate::patches::{add, prepend};

#[tokio::test(flavor = "multi_thread")]
async fn every_shipped_instance_is_admitted_and_solved_by_its_solution_alone() {
    let Some(fixture) = fixture::open("python") else { return };
    let rows = fixture::shipped();
    assert_eq!(rows.len(), 5);
    for (name, row) in rows {
        let report = fixture.repository.examine(&row, &fixture.workbench).await.expect("it could be tried");
        assert!(report.admitted(), "{name}: {report}");
        let solution = row["patch"].as_str().expect("a patch");
        let solved = fixture.judge(&row, solution).await.expect("a verdict");
        assert!(solved.checks.iter().all(|check| check.score == 1.0), "{name}: {solved:?}");
        assert_eq!((solved.from, solved.trainable), (From::InPlace, false));
        let again = fixture.judge(&row, solution).await.expect("a verdict");
        assert_eq!(solved, again, "{name}");
        let unsolved = fixture.judge(&row, "").await.expect("a verdict");
        assert_eq!(unsolved.checks[0].score, 0.0, "{name}");
        assert_eq!(unsolved.checks[2].score, 1.0, "{name}: what passed before still passes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_solution_scores_only_where_that_was_asked_for() {
    let Some(fixture) = fixture::open("python") else { return };
    let mut row = fixture::row("intervals-1");
    let half = row["patch"]
        .as_str()
        .expect("a patch")
        .replace("+        if joined and start <= joined", "+        if joined and start < joined");
    let strict = fixture.judge(&row, &half).await.expect("a verdict");
    assert_eq!(strict.checks[0].score, 0.0);
    assert!((strict.checks[1].score - 1.0 / 3.0).abs() < 1e-9, "{strict:?}");
    row["partial"] = true.into();
    let partial = fixture.judge(&row, &half).await.expect("a verdict");
    assert!((partial.checks[0].score - 1.0 / 3.0).abs() < 1e-9, "{partial:?}");
    let breaking = prepend("intervals", "intervals/parse.py", "raise RuntimeError\n");
    let broken = fixture.judge(&row, &breaking).await.expect("a verdict");
    assert_eq!(broken.checks[0].score, 0.0);
    assert_eq!(broken.checks[2].score, 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_by_hand_with_wrong_counts_applies() {
    let Some(fixture) = fixture::open("python") else { return };
    let row = fixture::row("ledger-1");
    let solution = row["patch"].as_str().expect("a patch");
    let careless: String = solution
        .lines()
        .filter(|line| !line.starts_with("index "))
        .map(|line| match line.strip_prefix("@@ -") {
            Some(rest) => format!("@@ -{},3 +1,4 @@\n", rest.split([',', ' ']).next().expect("a number")),
            None => format!("{line}\n"),
        })
        .collect();
    assert_ne!(careless, solution);
    let judgement = fixture.judge(&row, &careless).await.expect("a verdict");
    assert_eq!(judgement.checks[0].score, 1.0, "{judgement:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_judges_give_no_score() {
    let Some(fixture) = fixture::open("python") else { return };
    let row = fixture::row("intervals-1");
    let breaks: [(&str, serde_json::Value); 6] = [
        ("test_command", json!("no-such-program {report}")),
        ("test_command", json!("exit 0 # {report}")),
        ("test_command", json!("kill -9 $$ # {report}")),
        ("test_command", json!("mkdir {report}")),
        ("setup", json!("exit 3")),
        ("setup", json!("echo x >> README.md")),
    ];
    for (field, value) in breaks {
        let mut broken = row.clone();
        broken[field] = value.clone();
        let judged = fixture.judge(&broken, &add("intervals/more.py", "x = 1\n")).await;
        assert!(matches!(judged, Err(JudgeError::Verifier(_))), "{value}: {judged:?}");
        let admitted = fixture.repository.examine(&broken, &fixture.workbench).await;
        assert!(admitted.is_err() || admitted.is_ok_and(|report| !report.admitted()), "{value}");
    }
    let evidence = json!({"patch": format!("sha256:{}", "0".repeat(64))});
    let judged = fixture.repository.judge(&row, Secrets::Seed(1), &evidence, &fixture.workbench).await;
    assert!(matches!(judged, Err(JudgeError::Unavailable(_))), "{judged:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_wrong_test_of_a_list_is_named_before_it_is_let_in() {
    let Some(fixture) = fixture::open("python") else { return };
    let mut row = fixture::row("intervals-1");
    row["FAIL_TO_PASS"] = json!([
        "tests/test_sets.py::test_clamp",
        "tests/test_sets.py::test_spans_that_touch_are_one",
        "tests/test_sets.py::test_missing"
    ]);
    row["PASS_TO_PASS"] = json!([
        "tests/test_sets.py::test_several_cuts_in_one_span_are_all_made",
        "tests/test_parse.py::test_nothing_is_the_empty_set"
    ]);
    let report = fixture.repository.examine(&row, &fixture.workbench).await.expect("it could be tried");
    assert_eq!(
        report.faults,
        [
            "tests/test_sets.py::test_clamp: is in FAIL_TO_PASS and passes on the broken tree",
            "tests/test_sets.py::test_missing: is in FAIL_TO_PASS and does not pass on the repaired tree",
            "tests/test_sets.py::test_several_cuts_in_one_span_are_all_made: is in PASS_TO_PASS and does not pass on the broken tree",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flaky_test_is_not_let_in() {
    let Some(fixture) = fixture::open("python") else { return };
    let mut row = fixture::row("intervals-1");
    // The folder of the report has another name in every round, as chance would have it.
    let flaky = "case {report} in /judge/[0-7]*) x=1;; *) x=2;; esac; echo \"def test_chance(): assert $x == 1\" > tests/test_chance.py; python3 -m pytest -q --junitxml={report} tests";
    row["test_command"] = flaky.into();
    row["PASS_TO_PASS"] = json!(["tests/test_chance.py::test_chance"]);
    let report = fixture.repository.examine(&row, &fixture.workbench).await.expect("it could be tried");
    assert!(!report.admitted(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn containers_admit_and_judge_alike() {
    let Some(fixture) = fixture::open_docker("build").await else { return };
    let row = fixture::row("hashmap-1");
    let report = fixture.repository.examine(&row, &fixture.workbench).await.expect("it could be tried");
    assert!(report.admitted(), "{report}");
    let solved = fixture.judge(&row, row["patch"].as_str().expect("a patch")).await.expect("a verdict");
    assert_eq!(solved.checks[0].score, 1.0, "{solved:?}");
    let unsolved = fixture.judge(&row, &add("src/more.c", "int more;\n")).await.expect("a verdict");
    assert_eq!(unsolved.checks[0].score, 0.0, "{unsolved:?}");
    let docker = fixture.workbench.sandboxes.backend(Some("docker")).expect("the back end");
    docker.sweep(&std::collections::BTreeSet::new()).await.expect("nothing is left");
}
