//! How many tests are judged in a second. Figures are printed; only their order of magnitude is checked, since machines differ.

use std::time::Instant;

use serde_json::{Value, json};

use crate::place::{place, score};
use crate::problem;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tests_of_one_program_are_judged_in_a_second() {
    let Some(place) = place().await else { return };
    let c = include_str!("../programs/c/sum.c");
    let python = include_str!("../programs/python/sum.py");
    for (language, source, count, at_least) in [("c", c, 1_000_u32, 50.0), ("python", python, 200, 5.0)] {
        let tests: Vec<Value> =
            (0..count).map(|n| json!({"input": format!("{n}\n1\n"), "output": (n + 1).to_string()})).collect();
        let problem = problem(json!({"prompt": "p", "languages": [language], "tests": tests, "time_ms": 1_000}));
        let empty = problem_of_one(&problem);
        let begun = Instant::now();
        place.judge(&empty, language, source).await.expect("a judgement");
        let built = begun.elapsed();
        let begun = Instant::now();
        let judged = place.judge(&problem, language, source).await.expect("a judgement");
        let taken = begun.elapsed();
        assert!((score(&judged) - 1.0).abs() < 1e-9, "{judged:#?}");
        let rate = f64::from(count) / (taken.saturating_sub(built)).as_secs_f64();
        println!("{language}: {rate:.0} tests a second; start, build and one test take {built:?}");
        assert!(rate > at_least, "{language}: {rate:.1} tests a second");
    }
    place.close().await;
}

fn problem_of_one(problem: &palestra_workbench::code::Problem) -> palestra_workbench::code::Problem {
    let mut one = problem.clone();
    one.tests.truncate(1);
    one
}
