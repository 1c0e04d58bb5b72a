//! Number of tests judged in a second of CPU time, which a machine that has other things to do gives as well. The best of a few rounds
//! counts.

use palestra_test_support::cpu;

use serde_json::{Value, json};

use crate::fixture::{fixture, score};
use crate::problem;

/// Rounds, of which the best has to be fast enough.
const ROUNDS: usize = 3;

/// Judges a program on `count` tests and prints how many of them a second of CPU time takes, building excepted.
async fn measure(language: &str, source: &str, count: u32, at_least: f64) {
    let Some(fixture) = fixture().await else { return };
    let tests: Vec<Value> =
        (0..count).map(|n| json!({"input": format!("{n}\n1\n"), "output": (n + 1).to_string()})).collect();
    let problem = problem(json!({"prompt": "p", "languages": [language], "tests": tests, "time_ms": 1_000}));
    let mut one = problem.clone();
    one.tests.truncate(1);
    let begun = cpu::of_children();
    fixture.judge(&one, language, source).await.expect("a judgement");
    let built = cpu::of_children().saturating_sub(begun);
    let mut best = 0.0_f64;
    for _ in 0..ROUNDS {
        let begun = cpu::of_children();
        let judged = fixture.judge(&problem, language, source).await.expect("a judgement");
        let taken = cpu::of_children().saturating_sub(begun);
        assert!((score(&judged) - 1.0).abs() < 1e-9, "{judged:#?}");
        best = best.max(f64::from(count) / taken.saturating_sub(built).as_secs_f64());
        if best > at_least {
            break;
        }
    }
    println!("{language}: {best:.0} tests a second of CPU; start, build and one test take {built:?}");
    assert!(best > at_least, "{language}: {best:.1} tests a second of CPU");
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundreds_of_tests_of_a_compiled_program_take_a_second() {
    measure("c", include_str!("../programs/c/sum.c"), 1_000, 200.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tens_of_tests_of_a_python_program_take_a_second() {
    measure("python", include_str!("../programs/python/sum.py"), 200, 20.0).await;
}
