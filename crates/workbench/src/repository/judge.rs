//! The verdict: a patch on a clean tree, the tests laid over it, and what they report. Where there is no report, the same tests run
//! over the reference solution: what those can tell and this run could not is the patch's doing, and scores 0; what those cannot tell
//! either is a broken judge, and no score.

use serde_json::Value;

use super::git::Trouble;
use super::instance::Instance;
use super::log::{Results, Status};
use super::prepare::{Layers, read};
use super::trial::{Outcome, Trial, trial};
use crate::work::{Check, From, JudgeError, Judgement, Workbench};
use palestra_state::secrets::Secrets;

/// Tests that are named as not passing.
const NAMED_MAX: usize = 10;

/// Judges the evidence of a session: `{"patch": digest}`, or `{"refused": why}` where its change could not be taken.
///
/// # Errors
/// What kept it from a score.
pub(super) async fn judge(
    instance: &Instance,
    secrets: Secrets,
    evidence: &Value,
    layers: &Layers,
    workbench: &Workbench,
) -> Result<Judgement, JudgeError> {
    if let Some(why) = evidence.get("refused").and_then(Value::as_str) {
        return Ok(judgement(instance, &Tallies::none(instance), &[format!("the change was refused: {why}")]));
    }
    let digest = evidence.get("patch").and_then(Value::as_str);
    let digest =
        digest.ok_or_else(|| JudgeError::Verifier("the evidence names no patch: play the episode again".to_owned()))?;
    let judged = async {
        let candidate = read(workbench, digest).await?;
        let prepared = layers.get(instance, workbench).await?;
        let found = trial(&candidate, instance, &prepared, secrets, workbench).await?;
        if let Outcome::Obstructed(why) | Outcome::Unreported(why) = &found.outcome {
            let control = trial(instance.patch.as_bytes(), instance, &prepared, secrets, workbench).await?;
            let tallies = Tallies::of(instance, &control);
            if !tallies.whole() {
                let words = format!(
                    "the tests are broken, correct them: {why}; over the reference solution {}",
                    tallies.words()
                );
                return Err(Trouble::Instance(words));
            }
        }
        Ok(found)
    };
    let found = judged.await.map_err(Trouble::into_judge)?;
    let mut notes = Vec::new();
    match &found.outcome {
        Outcome::Unapplied(why) => notes.push(format!("the patch does not apply: {why}")),
        Outcome::Obstructed(why) => notes.push(why.clone()),
        Outcome::Unreported(why) => notes.push(format!("{why}; over the reference solution the tests do report")),
        Outcome::Reported(results) => notes.extend(results.doubts().iter().take(NAMED_MAX).cloned()),
    }
    if !found.restored.is_empty() {
        notes.push(format!("left as they were: {}", found.restored.join(", ")));
    }
    Ok(judgement(instance, &Tallies::of(instance, &found), &notes))
}

/// Results of the two lists of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tallies {
    /// Those that have to go from failing to passing.
    pub fail_to_pass: Tally,
    /// Those that have to stay passing.
    pub pass_to_pass: Tally,
}

/// Results of a list of tests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Number of tests.
    pub count: usize,
    /// Those that passed.
    pub passed: Vec<String>,
    /// Those that did not, each with how it ended.
    pub missed: Vec<(String, Option<Status>)>,
}

impl Tallies {
    /// Results of an instance's tests in a run; of a run without a report, that none passed.
    #[must_use]
    pub(super) fn of(instance: &Instance, trial: &Trial) -> Self {
        match &trial.outcome {
            Outcome::Reported(results) => Self::from_results(instance, results),
            Outcome::Unapplied(_) | Outcome::Obstructed(_) | Outcome::Unreported(_) => Self::none(instance),
        }
    }

    fn none(instance: &Instance) -> Self {
        Self::from_results(instance, &Results::default())
    }

    fn from_results(instance: &Instance, results: &Results) -> Self {
        let tally = |names: &[String]| {
            let mut tally = Tally { count: names.len(), ..Tally::default() };
            for name in names {
                match results.status(instance.log_parser, name) {
                    Some(Status::Passed) => tally.passed.push(name.clone()),
                    other => tally.missed.push((name.clone(), other)),
                }
            }
            tally
        };
        Self { fail_to_pass: tally(&instance.fail_to_pass), pass_to_pass: tally(&instance.pass_to_pass) }
    }

    /// True if every test passed.
    #[must_use]
    pub(super) fn whole(&self) -> bool {
        self.fail_to_pass.missed.is_empty() && self.pass_to_pass.missed.is_empty()
    }

    fn words(&self) -> String {
        let Self { fail_to_pass, pass_to_pass } = self;
        format!("FAIL_TO_PASS {}; PASS_TO_PASS {}", fail_to_pass.words(), pass_to_pass.words())
    }
}

impl Tally {
    fn share(&self) -> f64 {
        if self.count == 0 { 1.0 } else { self.passed.len() as f64 / self.count as f64 }
    }

    fn words(&self) -> String {
        let mut words = format!("{} of {} passed", self.passed.len(), self.count);
        for (index, (name, status)) in self.missed.iter().take(NAMED_MAX).enumerate() {
            words.push_str(if index == 0 { "; not: " } else { ", " });
            words.push_str(name);
            words.push_str(match status {
                Some(Status::Skipped) => " (skipped)",
                None => " (not reported)",
                Some(_) => "",
            });
        }
        words
    }
}

/// The score is that of `resolved` alone; the other two checks say where it comes from.
fn judgement(instance: &Instance, tallies: &Tallies, notes: &[String]) -> Judgement {
    let Tallies { fail_to_pass, pass_to_pass } = tallies;
    let share = fail_to_pass.share();
    let kept = if pass_to_pass.missed.is_empty() { 1.0 } else { 0.0 };
    let resolved = match (tallies.whole(), instance.partial) {
        (true, _) => 1.0,
        (false, true) => share * kept,
        (false, false) => 0.0,
    };
    let check = |name: &str, weight, score, evidence: String| Check { name: name.to_owned(), weight, score, evidence };
    let checks = vec![
        check("resolved", 1.0, resolved, notes.join("; ")),
        check("fail_to_pass", 0.0, share, fail_to_pass.words()),
        check("pass_to_pass", 0.0, kept, pass_to_pass.words()),
    ];
    // The tests import what is judged into their own process, so nothing that they report is out of its reach.
    Judgement { checks, trainable: false, from: From::InPlace }
}
