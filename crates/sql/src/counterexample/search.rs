//! Search for the databases that tell the most mutants from their references.

use std::collections::BTreeSet;

use async_trait::async_trait;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::drawn;
use super::outcome::{Answer, outcome};
use super::plan::Plan;
use crate::dataset::Dataset;
use crate::mutate::{hard_coded, mutants};
use crate::parse;
use crate::value::Dialect;

/// Something that runs queries in SQLite's dialect.
#[async_trait]
pub trait Oracle: Send + Sync {
    /// The results of queries on a database, in the order of the queries; each may fail, and is cut off when it takes too much.
    ///
    /// # Errors
    /// When the database cannot be made.
    async fn run(&self, dataset: &Dataset, queries: &[String]) -> Result<Vec<Answer>, String>;
}

/// Settings of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    /// Everything follows from it.
    pub seed: u64,
    /// Number of candidate databases.
    pub candidates: usize,
    /// Largest number of mutants of each reference.
    pub mutants: usize,
    /// On how many other databases a reference is judged, at most.
    pub variants: usize,
}

impl Default for Search {
    fn default() -> Self {
        Self { seed: 0, candidates: 12, mutants: 40, variants: 2 }
    }
}

/// Result of the search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counterexamples {
    /// Other databases, each of which is used.
    pub datasets: Vec<Dataset>,
    /// Their use for each reference, in the order of the references.
    pub stats: Vec<ReferenceStats>,
}

/// Use of other databases for a reference.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReferenceStats {
    /// Those on which it is to be judged, as places in [`Counterexamples::datasets`]; none where it fails itself.
    pub others: Vec<usize>,
    /// True if its result on each of them does not depend on the order in which rows are stored.
    pub deterministic: bool,
    /// Of all other databases, those on which it does not.
    pub steady: Vec<usize>,
    /// Number of mutants that were tried, the result written out among them.
    pub mutants: usize,
    /// Number of mutants that give another result on the first database or one of the others.
    pub rejected: usize,
}

/// A reference with its mutants, and which of those the first database tells from it.
struct Trial {
    ordered: bool,
    /// The reference first.
    queries: Vec<String>,
    first: BTreeSet<usize>,
    result: Option<Vec<String>>,
}

/// Use of a candidate for a reference.
#[derive(Default)]
struct Gain {
    /// Mutants that give another result.
    rejected: BTreeSet<usize>,
    deterministic: bool,
    /// True if the result has rows, and other ones than on the first database.
    informative: bool,
}

/// Tries other databases and keeps for each reference the best ones. References are in SQLite's dialect.
///
/// # Errors
/// When the first database cannot be made. A candidate that cannot is passed over.
pub async fn search(
    dataset: &Dataset,
    references: &[&str],
    how: Search,
    oracle: &dyn Oracle,
) -> Result<Counterexamples, String> {
    let trials = trials(dataset, references, how, oracle).await?;
    let plan = Plan::new(dataset, references);
    let mut candidates = Vec::new();
    for number in 0..how.candidates {
        let seed = how.seed.wrapping_mul(1_000).wrapping_add(number as u64);
        let candidate = drawn(dataset, &plan, seed);
        if let Ok(gains) = gains(&candidate, &trials, seed, oracle).await {
            candidates.push((candidate, gains));
        }
    }
    let mut stats = Vec::new();
    for (at, trial) in trials.iter().enumerate() {
        let chosen = choose(at, trial, &candidates, how.variants);
        let mut rejected = trial.first.clone();
        rejected.extend(chosen.iter().flat_map(|place| &candidates[*place].1[at].rejected));
        stats.push(ReferenceStats {
            deterministic: !chosen.is_empty() && chosen.iter().all(|place| candidates[*place].1[at].deterministic),
            mutants: trial.queries.len() - 1,
            rejected: rejected.len(),
            steady: Vec::new(),
            others: chosen,
        });
    }
    let used: BTreeSet<usize> = stats.iter().flat_map(|stats| &stats.others).copied().collect();
    let used: Vec<usize> = used.into_iter().collect();
    for place in stats.iter_mut().flat_map(|stats| &mut stats.others) {
        *place = used.iter().position(|other| other == place).unwrap_or_default();
    }
    for (at, stats) in stats.iter_mut().enumerate() {
        let steady = |place: &usize| candidates[used[*place]].1[at].deterministic;
        stats.steady = (0..used.len()).filter(steady).collect();
    }
    let datasets = candidates
        .into_iter()
        .enumerate()
        .filter(|(place, _)| used.contains(place))
        .map(|(_, (dataset, _))| dataset)
        .collect();
    Ok(Counterexamples { datasets, stats })
}

async fn trials(
    dataset: &Dataset,
    references: &[&str],
    how: Search,
    oracle: &dyn Oracle,
) -> Result<Vec<Trial>, String> {
    let mut rng = ChaCha8Rng::seed_from_u64(how.seed);
    let mut trials: Vec<Trial> = references
        .iter()
        .map(|reference| {
            let mut queries: Vec<String> =
                mutants(reference, Dialect::Sqlite, dataset).into_iter().map(|mutant| mutant.sql).collect();
            queries.shuffle(&mut rng);
            queries.truncate(how.mutants);
            queries.insert(0, (*reference).to_string());
            let ordered =
                parse::reference(reference, Dialect::Sqlite, |query| query.order_by.is_some()).unwrap_or_default();
            Trial { ordered, queries, first: BTreeSet::new(), result: None }
        })
        .collect();
    let results = run(dataset, &trials, usize::MAX, oracle).await?;
    for (trial, results) in trials.iter_mut().zip(results) {
        trial.result = outcome(&results[0], trial.ordered);
        trial.first = differing(&results, trial.ordered);
        if let Ok(rows) = &results[0]
            && rows.len() <= 500
        {
            let columns = rows.first().map_or(1, Vec::len);
            trial.queries.push(hard_coded(columns, rows).sql);
        }
    }
    Ok(trials)
}

/// The results of the first `most` queries of each trial.
async fn run(
    dataset: &Dataset,
    trials: &[Trial],
    most: usize,
    oracle: &dyn Oracle,
) -> Result<Vec<Vec<Answer>>, String> {
    let counts: Vec<usize> = trials.iter().map(|trial| trial.queries.len().min(most)).collect();
    let queries: Vec<String> = trials.iter().flat_map(|trial| trial.queries.iter().take(most).cloned()).collect();
    let mut results = oracle.run(dataset, &queries).await?.into_iter();
    Ok(counts
        .iter()
        .map(|count| {
            let mut own: Vec<_> = results.by_ref().take(*count).collect();
            own.resize(*count, Err("no result".into()));
            own
        })
        .collect())
}

/// Results that differ from the first one.
fn differing(results: &[Answer], ordered: bool) -> BTreeSet<usize> {
    let right = outcome(&results[0], ordered);
    (1..results.len()).filter(|place| outcome(&results[*place], ordered) != right).collect()
}

async fn gains(candidate: &Dataset, trials: &[Trial], seed: u64, oracle: &dyn Oracle) -> Result<Vec<Gain>, String> {
    let results = run(candidate, trials, usize::MAX, oracle).await?;
    let mut otherwise = candidate.clone();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    otherwise.tables.iter_mut().for_each(|table| table.rows.shuffle(&mut rng));
    let again = run(&otherwise, trials, 1, oracle).await?;
    let mut gains = Vec::new();
    for ((trial, results), again) in trials.iter().zip(results).zip(again) {
        let result = outcome(&results[0], trial.ordered);
        gains.push(match &results[0] {
            Err(_) => Gain::default(),
            Ok(rows) => Gain {
                rejected: differing(&results, trial.ordered),
                deterministic: result == outcome(&again[0], trial.ordered),
                informative: !rows.is_empty() && result != trial.result,
            },
        });
    }
    Ok(gains)
}

/// The candidates that together tell the most, one after the other; those on which the result is steady go before all others.
fn choose(at: usize, trial: &Trial, candidates: &[(Dataset, Vec<Gain>)], variants: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    if trial.result.is_none() {
        return chosen;
    }
    let mut known = trial.first.clone();
    while chosen.len() < variants {
        // The first one shows that the answer is not always the same one.
        let informative = |gain: &Gain| gain.informative && chosen.is_empty();
        let best = (0..candidates.len()).filter(|place| !chosen.contains(place)).max_by_key(|place| {
            let gain = &candidates[*place].1[at];
            (
                gain.deterministic,
                informative(gain),
                gain.rejected.difference(&known).count(),
                gain.informative,
                std::cmp::Reverse(*place),
            )
        });
        let Some(best) = best else { break };
        let deterministic = |place: usize| candidates[place].1[at].deterministic;
        if chosen.first().is_some_and(|first| deterministic(*first) && !deterministic(best)) {
            break;
        }
        known.extend(&candidates[best].1[at].rejected);
        chosen.push(best);
    }
    chosen
}
