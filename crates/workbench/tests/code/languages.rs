//! The programs of `tests/programs/<language>/`: each kind has one status, whatever the language. The usual form tries a third of the
//! kinds in each language, other ones in the next; `PALESTRA_TASKS=all` all of them in all.

use std::path::Path;

use palestra_workbench::code::Problem;
use palestra_workbench::code::language::Language;
use serde_json::{Value, json};

use crate::fixture::{Fixture, fixture, thorough};
use crate::problem;

/// Where not everything is tried, every language gets each third kind, from another one on than the language before it. Kinds that come
/// together this way hold one that is accepted, and all kinds are met in three languages.
const KINDS_EVERY: usize = 3;

/// A kind of program, the problem that it is judged by, and what comes of it.
fn table(language: &str) -> Vec<(&'static str, Problem, &'static str)> {
    let lines = |numbers: &[i32]| numbers.iter().map(|number| format!("{number}\n")).collect::<String>();
    let numbers: Vec<i32> = (0..200).map(|number| (number * 7_919) % 1_009 - 500).collect();
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    let ten = "0123456789\n".repeat(200_000);
    let one = |output: &str, more: Value| {
        let mut row = json!({"prompt": "p", "languages": [language], "time_ms": 2_000, "comparison": "exact",
            "memory_bytes": 134_217_728, "tests": [{"input": "", "output": output}]});
        for (name, value) in more.as_object().expect("an object") {
            row[name] = value.clone();
        }
        problem(row)
    };
    let sum = json!({"tests": [{"input": "1\n2\n3\n", "output": "6"}, {"input": "-5\n5\n", "output": "0"},
        {"input": lines(&numbers), "output": numbers.iter().sum::<i32>().to_string()}]});
    let sort = json!({"tests": [{"input": format!("200\n{}", lines(&numbers)), "output": lines(&sorted)}]});
    vec![
        ("hello", one("Hello, world!", json!({})), "accepted"),
        ("hello", one("Hello world!", json!({})), "wrong"),
        ("sum", one("", sum), "accepted"),
        ("sort", one("", sort), "accepted"),
        ("output", one(&ten, json!({"output_bytes": 4_194_304})), "accepted"),
        ("output", one(&ten, json!({})), "output"),
        ("loop", one("", json!({"time_ms": 300})), "time"),
        ("memory", one("", json!({"time_ms": 10_000})), "memory"),
        ("broken", one("", json!({})), "build"),
    ]
}

/// Tries programs of the language with this number.
async fn check(fixture: &Fixture, language: &Language, number: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let extension = Path::new(&language.source).extension().expect("an extension").to_string_lossy().into_owned();
    for (place_in_table, (kind, problem, expected)) in table(&language.name).into_iter().enumerate() {
        if !thorough() && !(place_in_table + number).is_multiple_of(KINDS_EVERY) {
            continue;
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(&language.name);
        let source = std::fs::read_to_string(folder.join(format!("{kind}.{extension}"))).expect("a program");
        let judged = fixture.judge(&problem, &language.name, &source).await;
        let found = judged.as_ref().map(crate::fixture::statuses).unwrap_or_default();
        if found.is_empty() || found.iter().any(|status| status != expected) {
            wrong.push(format!("{} {kind}: {expected} expected, found {found:?}: {judged:?}", language.name));
        }
    }
    wrong
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_program_has_its_status_in_every_language() {
    let Some(fixture) = fixture().await else { return };
    let (mut wrong, mut spoken) = (Vec::new(), Vec::new());
    for language in Language::all().expect("languages").values() {
        if fixture.speaks(language).await {
            wrong.extend(check(&fixture, language, spoken.len()).await);
            spoken.push(language.name.as_str());
        } else {
            palestra_test_support::not_tried(format_args!("{} in the image {}", language.title, fixture.image));
            assert_ne!(fixture.image, "languages", "the image lacks {}", language.title);
        }
    }
    println!("judged in {}", spoken.join(", "));
    assert!(spoken.contains(&"python") && spoken.contains(&"shell"), "{spoken:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    fixture.close().await;
}
