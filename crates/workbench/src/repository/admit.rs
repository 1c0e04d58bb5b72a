//! Admission by execution: an instance is let in when its tests were seen to tell the broken tree from the repaired one, twice.

use std::fmt;

use super::git::Trouble;
use super::instance::Instance;
use super::judge::Tallies;
use super::prepare::Layers;
use super::trial::{Outcome, trial};
use crate::work::Workbench;
use palestra_state::secrets::Secrets;

/// Number of times that each tree is tried; runs that differ are a fault.
const ROUNDS: u64 = 2;
/// Faults that are told.
const FAULTS_MAX: usize = 200;

/// Results of the runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Faults; nothing is when the instance may be let in.
    pub faults: Vec<String>,
}

impl Report {
    /// True if the instance may be let in.
    #[must_use]
    pub fn admitted(&self) -> bool {
        self.faults.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.faults.is_empty() {
            return formatter.write_str("admitted");
        }
        formatter.write_str(&self.faults[..self.faults.len().min(FAULTS_MAX)].join("\n"))?;
        match self.faults.len().checked_sub(FAULTS_MAX) {
            Some(more) if more > 0 => write!(formatter, "\nand {more} more"),
            _ => Ok(()),
        }
    }
}

/// Runs the tests on the broken and on the repaired tree.
///
/// # Errors
/// When they could not be run at all.
pub(super) async fn admit(instance: &Instance, layers: &Layers, workbench: &Workbench) -> Result<Report, Trouble> {
    let prepared = layers.get(instance, workbench).await?;
    let mut report = Report::default();
    let (mut broken, mut repaired) = (Vec::new(), Vec::new());
    let mut cause = None;
    for round in 0..ROUNDS {
        for (tree, patch, rounds) in [("broken", "", &mut broken), ("repaired", &instance.patch, &mut repaired)] {
            let run = trial(patch.as_bytes(), instance, &prepared, Secrets::Seed(round), workbench).await?;
            match &run.outcome {
                // Where nothing can be built or collected, the tests report nothing: then none of them passes.
                Outcome::Unreported(_) if tree == "broken" && instance.pass_to_pass.is_empty() => {}
                Outcome::Unapplied(why) | Outcome::Obstructed(why) | Outcome::Unreported(why) => {
                    report.faults.push(format!("on the {tree} tree: {why}"));
                }
                Outcome::Reported(_) => {}
            }
            if tree == "repaired" {
                cause = run.import_error.clone();
            }
            if !run.restored.is_empty() {
                let paths = run.restored.join(", ");
                report.faults.push(format!("the reference solution changes what stays as it is: {paths}"));
            }
            rounds.push(Tallies::of(instance, &run));
        }
        if !report.faults.is_empty() {
            report.faults.dedup();
            return Ok(report);
        }
    }
    report.faults = faults(&broken, &repaired);
    if let Some(why) = cause.filter(|_| !report.faults.is_empty()) {
        let image = &instance.image;
        report
            .faults
            .insert(0, format!("on the repaired tree the tests cannot be imported in the image {image}: {why}"));
    }
    Ok(report)
}

/// Every test that does not behave as its list says.
fn faults(broken: &[Tallies], repaired: &[Tallies]) -> Vec<String> {
    let mut faults = Vec::new();
    for (tree, rounds) in [("broken", broken), ("repaired", repaired)] {
        if rounds.windows(2).any(|pair| pair[0] != pair[1]) {
            faults.push(format!("two runs on the {tree} tree differ: {}", differing(rounds).join(", ")));
        }
    }
    let (Some(broken), Some(repaired)) = (broken.first(), repaired.first()) else { return faults };
    let mut say = |names: Vec<&String>, words: &str| faults.extend(names.iter().map(|name| format!("{name}: {words}")));
    let missed = |tally: &'_ super::judge::Tally| tally.missed.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    say(broken.fail_to_pass.passed.iter().collect(), "is in FAIL_TO_PASS and passes on the broken tree");
    say(missed(&repaired.fail_to_pass).iter().collect(), "is in FAIL_TO_PASS and does not pass on the repaired tree");
    say(missed(&broken.pass_to_pass).iter().collect(), "is in PASS_TO_PASS and does not pass on the broken tree");
    say(missed(&repaired.pass_to_pass).iter().collect(), "is in PASS_TO_PASS and does not pass on the repaired tree");
    faults
}

fn differing(rounds: &[Tallies]) -> Vec<String> {
    let passed = |tallies: &Tallies| -> Vec<String> {
        tallies.fail_to_pass.passed.iter().chain(&tallies.pass_to_pass.passed).cloned().collect()
    };
    let mut names: Vec<String> = rounds
        .windows(2)
        .flat_map(|pair| {
            let (first, second) = (passed(&pair[0]), passed(&pair[1]));
            let only = |these: &[String], those: &[String]| -> Vec<String> {
                these.iter().filter(|name| !those.contains(name)).cloned().collect()
            };
            [only(&first, &second), only(&second, &first)].concat()
        })
        .collect();
    names.sort();
    names.dedup();
    names
}
