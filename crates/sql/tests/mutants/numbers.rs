//! Counts the wrong queries that the first database and at most two others tell from the reference.

use std::collections::BTreeMap;

use async_trait::async_trait;
use palestra_sql::counterexample::{Oracle, Search, search};
use palestra_sql::dataset::Dataset;
use palestra_sql::mutate::{Kind, hard_coded, mutants};
use palestra_sql::value::Dialect;

use crate::databases::{Database, databases};
use crate::lite::{Lite, Rows, same};
use crate::random;

/// Databases that decide whether a mutant means something else.
const WITNESSES: u64 = 40;

pub(crate) struct InProcess;

#[async_trait]
impl Oracle for InProcess {
    async fn run(&self, dataset: &Dataset, queries: &[String]) -> Result<Vec<Result<Rows, String>>, String> {
        let engine = Lite::new(dataset);
        Ok(queries.iter().map(|query| engine.rows(query)).collect())
    }
}

#[derive(Debug, Default)]
struct Tally {
    made: usize,
    semantic: usize,
    rejected: usize,
}

/// A result that was cut off proves nothing.
fn differ(left: &Result<Rows, String>, right: &Result<Rows, String>, ordered: bool) -> bool {
    let cut = |result: &Result<Rows, String>| matches!(result, Err(error) if error == "interrupted" || error == "too many rows");
    !cut(left) && !cut(right) && !same(left, right, ordered)
}

#[tokio::test]
async fn nearly_all_mutants_that_mean_something_else_are_rejected() {
    let mut tallies: BTreeMap<Kind, Tally> = BTreeMap::new();
    let (mut unsteady, mut empty, mut references, mut survivors) = (0, 0, 0, Vec::new());
    for database in &databases() {
        let (mut here, before) = (0, std::time::Instant::now());
        let Database { name, dataset, references: queries } = database;
        let texts: Vec<&str> = queries.iter().map(String::as_str).collect();
        let found = search(dataset, &texts, Search { mutants: 24, ..Search::default() }, &InProcess)
            .await
            .expect("other databases");
        let found_in = before.elapsed();
        let constants = random::constants(queries);
        let witnesses: Vec<Lite> =
            (0..WITNESSES).map(|seed| Lite::new(&random::database(dataset, &constants, seed))).collect();
        let first = Lite::new(dataset);
        let others: Vec<Lite> = found.datasets.iter().map(Lite::new).collect();
        for (reference, reported) in queries.iter().zip(&found.stats) {
            references += 1;
            unsteady += usize::from(!reported.deterministic);
            let ordered = reference.to_lowercase().contains("order by");
            let judges: Vec<&Lite> =
                std::iter::once(&first).chain(reported.others.iter().map(|place| &others[*place])).collect();
            assert!(reported.others.len() <= 2);
            let right: Vec<_> = judges.iter().map(|judge| judge.rows(reference)).collect();
            empty += usize::from(right[1..].iter().all(|rows| rows.as_ref().is_ok_and(Vec::is_empty)));
            let known = right[0].as_ref().expect("the reference's rows");
            let mut wrong = mutants(reference, Dialect::Sqlite, dataset);
            wrong.push(hard_coded(known.first().map_or(1, Vec::len), known));
            let expected: Vec<_> = witnesses.iter().map(|witness| witness.rows(reference)).collect();
            for mutant in wrong {
                let tally = tallies.entry(mutant.kind).or_default();
                tally.made += 1;
                if first.rows(&mutant.sql).is_err_and(|error| error != "interrupted") {
                    continue;
                }
                let semantic = witnesses
                    .iter()
                    .zip(&expected)
                    .any(|(witness, expected)| differ(&witness.rows(&mutant.sql), expected, ordered));
                if !semantic {
                    continue;
                }
                tally.semantic += 1;
                if judges.iter().zip(&right).any(|(judge, right)| differ(&judge.rows(&mutant.sql), right, ordered)) {
                    tally.rejected += 1;
                } else {
                    here += 1;
                    survivors.push(format!("{name}: {:?} {} FROM {reference}", mutant.kind, mutant.sql));
                }
            }
        }
        println!(
            "{name}: {} references, {} others found in {found_in:.1?}, {here} survivors, {:.1?} in all",
            queries.len(),
            found.datasets.len(),
            before.elapsed()
        );
    }
    for (kind, tally) in &tallies {
        println!("{kind:?}: {} made, {} mean something else, {} rejected", tally.made, tally.semantic, tally.rejected);
    }
    let semantic: usize = tallies.values().map(|tally| tally.semantic).sum();
    let rejected: usize = tallies.values().map(|tally| tally.rejected).sum();
    let share = rejected as f64 / semantic as f64;
    println!(
        "{references} references, {unsteady} not steady, {empty} empty on all others; {semantic} mutants, {rejected} rejected: {:.2} %",
        share * 100.0
    );
    survivors.iter().take(60).for_each(|line| println!("survived: {line}"));
    let hard_coded = &tallies[&Kind::HardCoded];
    assert_eq!(hard_coded.rejected, hard_coded.semantic, "a result that was written out passed");
    assert!(semantic >= 6 * references && share >= 0.97, "{rejected} of {semantic}");
}
