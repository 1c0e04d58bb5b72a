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
    assert_eq!(admit(right.clone()).await, Ok(Vec::new()));
    let mut wrong = right.clone();
    wrong["solution"] = json!("print(4)");
    let refused = admit(wrong).await.expect_err("refused");
    assert!(refused.contains("in python does not pass test 1 (input \"\"): wrong"), "{refused}");
    let mut raises = right.clone();
    raises["solution"] = json!("print(3)\nraise ValueError('so')");
    let refused = admit(raises).await.expect_err("refused");
    assert!(refused.contains("line 2, in <module>") && refused.contains("ValueError: so"), "{refused}");
    let mut broken = right.clone();
    broken["comparison"] = json!({"checker": {"language": "python", "source": "def ("}});
    assert!(admit(broken).await.expect_err("refused").contains("checker"));
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_problem_that_nothing_can_fail_is_not_admitted() {
    use palestra_workbench::work::Work as _;
    let Some(fixture) = fixture().await else { return };
    let admit = async |row| {
        let row = serde_json::to_value(problem(row)).expect("a row");
        fixture.code.admit(&row, &fixture.workbench).await
    };
    let with = |asserts: &[&str]| json!({"id": "d", "prompt": "p", "entry": "double", "asserts": asserts, "solution": "def double(n):\n    return n * 2"});
    assert_eq!(admit(with(&["assert double(2) == 4", "assert double(0) == 0"])).await, Ok(Vec::new()));
    for (asserts, words) in [
        (vec!["assert double(2) == 4", "double(3) == 6"], "test 2 (double(3) == 6) asserts nothing"),
        (vec!["assert True"], "test 1 (assert True) checks nothing"),
        (vec!["assert (double(2) == 5, 'no')"], "always holds, since it asserts a tuple"),
        (vec!["assert len('ab') == 2"], "does not call the entry `double`"),
        (vec!["assert double(2) == 4", "assert 1 + 1 == 2"], "test 2 (assert 1 + 1 == 2) holds for an empty program"),
        (vec!["assert double(2) != 5"], "a `double` that does nothing and returns None passes every assert"),
        (vec!["assert double(2 == 4"], "is no Python"),
    ] {
        let refused = admit(with(&asserts)).await.expect_err(words);
        assert!(refused.contains(words), "{asserts:?}: {refused}");
    }
    let checked = json!({"id": "d", "prompt": "p", "entry": "double", "asserts": ["check(double)"],
        "setup": "def check(f):\n    assert f(2) == 4", "solution": "def double(n):\n    return n * 2"});
    let notes = admit(checked).await.expect("admitted");
    assert!(notes[0].starts_with("d: 1 of 1 asserts cannot be split"), "{notes:?}");
    for comparison in [json!("tokens"), json!({"checker": {"language": "python", "source": "pass"}})] {
        let silent = json!({"prompt": "p", "languages": ["c"], "tests": [{"output": " \n"}, {"output": ""}],
            "comparison": comparison});
        let refused = admit(silent).await.expect_err("refused");
        assert!(refused.contains("prints nothing passes every test"), "{refused}");
    }
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_problem_without_a_solution_is_noted_and_not_trained_on() {
    use palestra_workbench::work::Work as _;
    let Some(fixture) = fixture().await else { return };
    let unproven = problem(json!({"id": "three", "prompt": "p", "languages": ["python"], "tests": [{"output": "3"}]}));
    let mut row = serde_json::to_value(&unproven).expect("a row");
    assert_eq!(fixture.code.admit(&row, &fixture.workbench).await, Ok(Vec::new()));
    assert!(fixture.code.notes(&row)[0].starts_with("three: there is no `solution`"));
    let right = fixture.judge(&unproven, "python", "print(3)").await.expect("a judgement");
    assert_eq!((score(&right), right.trainable), (1.0, false), "{right:?}");
    let wrong = fixture.judge(&unproven, "python", "print(4)").await.expect("a judgement");
    assert!(wrong.trainable, "{wrong:?}");
    fixture.code.trust(&mut row);
    let trusted = problem(row.clone());
    let right = fixture.judge(&trusted, "python", "print(3)").await.expect("a judgement");
    assert!(right.trainable && fixture.code.notes(&row).is_empty(), "{right:?}");
    fixture.close().await;
}
