//! Audits of templates: every shipped one passes, and planted faults are found with the draw that shows them. The usual form draws 300
//! tasks, works out six pairs for a parameter and plays one task; `PALESTRA_SUITES=all` draws a thousand and plays everything.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use palestra_sql::engine::Engine;
use palestra_sql::engine::sqlite::{Settings, SqliteEngine};
use palestra_sql::template::Suite;
use palestra_sql::template::audit::{Effort, Report};

use crate::form::everything;
use crate::ground::{suite, templates};

fn engine() -> Arc<dyn Engine> {
    let worker = OsString::from(env!("CARGO_BIN_EXE_palestra-sqlite-worker"));
    Arc::new(SqliteEngine::new(Settings { workers: 2, ..Settings::new(vec![worker]) }))
}

async fn passes(name: &str) {
    let effort = if everything() { Effort::FULL } else { Effort { draws: 300, pairs: 6, played: 1 } };
    let (suite, engine) = (suite(name), engine());
    let mut faults = Vec::new();
    for template in templates(&suite) {
        let report = suite.audit(&engine, &template, effort).await.unwrap_or_else(|why| panic!("{template}: {why}"));
        println!("{report}");
        faults.extend(report.faults.iter().map(|fault| format!("{template}: {fault}")));
        if report.faults.is_empty() {
            assert_eq!(report.accepted, effort.draws, "{template}");
        }
    }
    assert!(faults.is_empty(), "{name}: {faults:#?}");
}

macro_rules! shipped {
    ($($name:ident),*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            passes(stringify!($name)).await;
        }
    )*};
}

mod shipped {
    use super::passes;
    shipped!(question, repair, migration, tuning, incident, policy);
}

/// A template with one fault.
async fn report(kind: &str, template: &str) -> Report {
    let environment =
        format!("name: sql/planted\ndescription: Planted.\nkind: {kind}\nsplits: {{train: 3, test: 2}}\n");
    let files = BTreeMap::from([
        ("environment.yaml".to_owned(), environment.into_bytes()),
        ("templates/one.yaml".to_owned(), template.as_bytes().to_vec()),
    ]);
    let suite = Arc::new(Suite::load(&files).unwrap_or_else(|faults| panic!("{faults:?}\n{template}")));
    let report = suite.audit(&engine(), "one", Effort { draws: 300, pairs: 6, played: 12 }).await.expect("a report");
    println!("{report}");
    report
}

const HEAD: &str = "world: shop\ndifficulty: 0.2\nothers: 1\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn planted_faults_are_found() {
    let planted = [
        (
            "the reference ignores a parameter",
            "parameters:\n  year: {choice: ['2023', '2024']}\ninstruction: Who joined in ${year}?\ngold: SELECT id FROM customers WHERE joined_on < '2024-01-01'\n",
            "is told by the text and never changes what is expected",
        ),
        (
            "a condition of the reference makes a parameter count for nothing",
            "parameters:\n  least: {choice: [1, 2, 3]}\ninstruction: Which customers have a number of at least ${least}?\ngold: SELECT id FROM customers WHERE id >= ${least} OR id < 4\n",
            "never changes what is expected",
        ),
        (
            "the text ignores a parameter",
            "parameters:\n  year: {choice: ['2023', '2024']}\ninstruction: Who joined in that year?\ngold: SELECT id FROM customers WHERE joined_on < '${year:raw}-06-01'\n",
            "give the same text and other results",
        ),
        (
            "two values have the same words",
            "parameters:\n  span: {choice: [{words: early, day: '2023-03-01'}, {words: late, day: '2024-09-01'}, {words: early, day: '2023-09-01'}]}\ninstruction: Who joined ${span.words}?\ngold: SELECT id FROM customers WHERE joined_on < ${span.day}\n",
            "give the same text and other results",
        ),
        (
            "a description that fits several rows",
            "parameters:\n  it: {row: {table: customers}}\ninstruction: What is the name of the customer from ${it.city}?\ngold: SELECT name FROM customers WHERE id = ${it.id}\n",
            "give the same text and other results",
        ),
        (
            "a reference that fails for one value of many",
            "parameters:\n  column: {choice: [name, city, country, id, nowhere]}\ninstruction: What is the ${column} of each customer?\ngold: SELECT ${column:raw} FROM customers\n",
            "no such column",
        ),
        (
            "a value that no text can hold",
            "parameters:\n  year: {choice: ['2023', '2024', {a: 1}]}\ninstruction: Who joined in ${year}?\ngold: SELECT id FROM customers WHERE joined_on LIKE '${year:raw}%'\n",
            "has named values",
        ),
        (
            "a condition that throws most draws away",
            "parameters:\n  it: {row: {table: products, where: {price_cents: {least: 1990, most: 2010}}}}\ninstruction: What is the name of product ${it.id}?\ngold: SELECT name FROM products WHERE id = ${it.id}\n",
            "",
        ),
        (
            "a parameter that nothing hangs on",
            "parameters:\n  city: {column: {table: customers, column: city}}\n  spare: {choice: [1, 2]}\ninstruction: Who lives in ${city}?\ngold: SELECT id FROM customers WHERE city = ${city}\n",
            "parameters.spare:  never changes what is expected",
        ),
        (
            "a parameter that is said to be told only, and counts",
            "told_only: [year]\nparameters:\n  year: {choice: ['2023', '2024']}\ninstruction: Who joined before ${year}?\ngold: SELECT id FROM customers WHERE joined_on < '${year:raw}-01-01'\n",
            "told_only",
        ),
    ];
    let mut missed = Vec::new();
    for (name, template, fault) in planted {
        let report = report("question", &format!("{HEAD}{template}")).await;
        let found = report.faults.iter().find(|known| known.contains(fault));
        let shown = found
            .is_some_and(|found| found.contains("seed ") || found.contains("pairs") || found.contains("thrown away"));
        if !shown {
            missed.push(format!("{name}: {:?}", report.faults));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_reference_is_found_in_the_draw_that_shows_it() {
    // Right for one value of the parameter, and not for the other.
    let report = report(
        "policy",
        "world: shop\ndifficulty: 0.2\naccess: write\nsubmission: state\nparameters:\n  city: {choice: [Lumen, Nowhere]}\n  day: {choice: ['2023-01-02', '2023-01-03']}\n\
         instruction: Set joined_on of customer 1 to ${day} and city to ${city}.\n\
         solution: [\"UPDATE customers SET joined_on = '2023-01-02', city = ${city} WHERE id = 1\"]\n\
         checks:\n  - name: state\n    required: true\n    check: {state: {tables: [customers], gold: \"UPDATE customers SET joined_on = ${day}, city = ${city} WHERE id = 1\"}}\n",
    )
    .await;
    let fault = report.faults.first().expect("a fault");
    assert!(fault.contains("the solution does not pass") && fault.contains("seed "), "{fault}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sound_template_passes() {
    let report = report(
        "question",
        &format!("{HEAD}parameters:\n  city: {{column: {{table: customers, column: city}}}}\n  year: {{choice: ['2023', '2024']}}\ninstruction: Who of ${{city}} joined before ${{year}}?\ngold: SELECT id FROM customers WHERE city = ${{city}} AND joined_on < '${{year:raw}}-01-01'\n"),
    )
    .await;
    assert!(report.faults.is_empty(), "{report}");
    assert_eq!((report.draws, report.accepted), (300, 300));
    assert!(report.pairs > 0 && report.filled >= 20);
}
