//! The shipped problems: every reference solution is accepted, in every language that is there, and empty programs are not.
//! The usual form tries an empty program on every third problem, `PALESTRA_TASKS=all` on all of them.

use std::collections::BTreeSet;

use palestra_workbench::code::language::Language;
use palestra_workbench::code::problems;
use serde_json::json;

use crate::fixture::{fixture, score, thorough};
use crate::problem;

/// Of so many problems one is answered by an empty program where not everything is tried.
const EMPTY_EVERY: usize = 3;

const BASICS: &str = include_str!("../../../../environments/code/basics.jsonl");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_shipped_problem_accepts_its_solutions_and_nothing_empty() {
    let Some(fixture) = fixture().await else { return };
    let problems = problems(BASICS).expect("problems");
    assert!(problems.len() >= 30, "{} problems", problems.len());
    let mut unspoken = BTreeSet::new();
    for (number, (id, problem)) in problems.iter().enumerate() {
        let solutions = problem.solutions();
        assert!(!solutions.is_empty(), "{id} has no solution");
        for solution in solutions {
            if !fixture.speaks(Language::named(&solution.language).expect("a language")).await {
                unspoken.insert(solution.language.clone());
                continue;
            }
            let judgement = fixture.judge(problem, &solution.language, &solution.source).await.expect("a judgement");
            assert!((score(&judgement) - 1.0).abs() < 1e-9, "{id} in {}: {judgement:#?}", solution.language);
            assert!(judgement.trainable);
        }
        if !thorough() && !number.is_multiple_of(EMPTY_EVERY) {
            continue;
        }
        let nothing = fixture.judge(problem, "python", "pass").await.expect("a judgement");
        assert!(score(&nothing) <= 0.5, "{id} pays for nothing: {nothing:#?}");
    }
    if !unspoken.is_empty() {
        palestra_test_support::not_tried(format_args!("{unspoken:?} in the image {}", fixture.image));
        assert_ne!(fixture.image, "languages", "the image lacks {unspoken:?}");
    }
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_problem_whose_solution_or_checker_is_wrong_is_not_admitted() {
    use palestra_workbench::work::Work as _;
    let Some(fixture) = fixture().await else { return };
    let admit = async |row| {
        let row = serde_json::to_value(problem(row)).expect("a row");
        fixture.code.admit(&row, &fixture.workbench).await
    };
    let right = json!({"prompt": "p", "languages": ["python"], "tests": [{"output": "3"}], "solution": "print(3)"});
    assert_eq!(admit(right.clone()).await, Ok(()));
    let mut wrong = right.clone();
    wrong["solution"] = json!("print(4)");
    assert!(admit(wrong).await.expect_err("refused").contains("does not pass"));
    let mut broken = right.clone();
    broken["comparison"] = json!({"checker": {"language": "python", "source": "def ("}});
    assert!(admit(broken).await.expect_err("refused").contains("checker"));
    fixture.close().await;
}
