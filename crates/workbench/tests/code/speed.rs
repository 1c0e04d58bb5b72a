//! How many tests are judged in a second. Figures are printed; only their order of magnitude is checked, since machines differ and
//! have other things to do.

use std::time::Instant;

use serde_json::{Value, json};

use crate::place::{place, score};
use crate::problem;

/// Judges a program on `count` tests and prints how many of them a second takes, building excepted.
async fn measure(language: &str, source: &str, count: u32, at_least: f64) {
    let Some(place) = place().await else { return };
    let tests: Vec<Value> =
        (0..count).map(|n| json!({"input": format!("{n}\n1\n"), "output": (n + 1).to_string()})).collect();
    let problem = problem(json!({"prompt": "p", "languages": [language], "tests": tests, "time_ms": 1_000}));
    let mut one = problem.clone();
    one.tests.truncate(1);
    let begun = Instant::now();
    place.judge(&one, language, source).await.expect("a judgement");
    let built = begun.elapsed();
    let begun = Instant::now();
    let judged = place.judge(&problem, language, source).await.expect("a judgement");
    let taken = begun.elapsed();
    assert!((score(&judged) - 1.0).abs() < 1e-9, "{judged:#?}");
    let rate = f64::from(count) / taken.saturating_sub(built).as_secs_f64();
    println!("{language}: {rate:.0} tests a second; start, build and one test take {built:?}");
    assert!(rate > at_least, "{language}: {rate:.1} tests a second");
    place.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundreds_of_tests_of_a_compiled_program_take_a_second() {
    measure("c", include_str!("../programs/c/sum.c"), 1_000, 20.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tens_of_tests_of_a_python_program_take_a_second() {
    measure("python", include_str!("../programs/python/sum.py"), 200, 3.0).await;
}
