//! Proves a task by execution: its solution scores 1, doing nothing scores 0, its cheats do not score, and judging the same evidence
//! again gives the same.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use palestra_sandbox::SandboxError;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::row::Row;
use super::{hidden, secrets};
use crate::work::{Call, From, Input, JudgeError, Judgement, Opening, Work, Workbench};
use palestra_state::secrets::Secrets;

/// Source of the hidden values where a task is proven: always the same, so that a proof can be had again.
const SECRETS: Secrets = Secrets::Key(*b"the key of the proofs of a task.");
/// Scores this near to 0 or 1 are 0 or 1.
const NEAR: f64 = 1e-9;

/// The beginning of the fault of a solution that was judged, and not well enough.
pub(super) const SOLUTION_SCORES: &str = "the solution scores ";
/// Milliseconds that a cheat has; one that waits for somebody is judged as it stands then.
const CHEAT_MS: u64 = 60_000;

/// Outcomes of the attempts at a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// The task's name.
    pub task: String,
    /// Score of the solution.
    pub solution: Option<f64>,
    /// Score of doing nothing.
    pub null: Option<f64>,
    /// Score of each cheat, and whether a trainer may learn from it.
    pub cheats: BTreeMap<String, (f64, bool)>,
    /// Notes for its author, as `task: words`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Everything that is wrong; empty for a sound task.
    pub faults: Vec<String>,
}

/// Proves a task on a back end, the server's first where none is named.
pub async fn check_task(work: &dyn Work, row: &Value, workbench: &Workbench, backend: Option<&str>) -> Report {
    let mut report = Report::default();
    let task = match Row::read(row) {
        Ok(task) => task,
        Err(why) => return Report { faults: vec![why], ..report },
    };
    report.task = task.name.clone();
    let range = task.score_range.unwrap_or_default();
    let attempts = Attempts { work, row, workbench, backend, secrets: SECRETS };

    match work.oracle(row, 0) {
        None if task.is_unproven() => {}
        None => report.faults.push("the task has no solution: add one".to_owned()),
        Some(calls) => match attempts.play(&format!("{}-solution", task.name), &calls).await {
            Ok((judgement, evidence, excerpt)) => {
                let score = score(&judgement);
                report.solution = Some(score);
                if score < range.ceiling - NEAR {
                    report.faults.push(format!(
                        "{SOLUTION_SCORES}{score}{}: {}; {excerpt}",
                        declared(range.ceiling),
                        failed(&judgement)
                    ));
                }
                if score > 0.0 && !judgement.trainable {
                    report.notes.push(format!("{}: {}", task.name, untrainable(&judgement)));
                }
                match work.judge(row, SECRETS, &evidence, workbench).await {
                    Ok(again) if scores(&again) == scores(&judgement) => {}
                    Ok(again) => report.faults.push(format!("judged again it scores {:?}", scores(&again))),
                    Err(error) => report.faults.push(format!("judged again: {error}")),
                }
            }
            Err(why) => report.faults.push(format!("the solution: {why}")),
        },
    }
    let before = report.faults.join("; ");
    match attempts.play(&format!("{}-null", task.name), &[]).await {
        Ok((judgement, ..)) => {
            let score = score(&judgement);
            report.null = Some(score);
            if score > range.floor + NEAR {
                let held = judgement.checks.iter().filter(|check| check.score > 0.0).map(|check| check.name.as_str());
                let held = held.collect::<Vec<_>>().join(", ");
                let advice =
                    if score < range.ceiling { "; declare it as `floor` if this cannot be helped" } else { "" };
                report.faults.push(format!("doing nothing scores {score}{}: {held}{advice}", declared(range.floor)));
            }
        }
        // A judge that cannot judge an untouched place gives no score, which is no sample either.
        Err(why) if before == format!("the solution: {why}") => report.faults = vec![why],
        Err(why) => report.faults.push(format!("doing nothing: {why}")),
    }
    for (index, (name, script)) in task.cheats.iter().enumerate() {
        match attempts.play(&format!("{}-cheat-{index}", task.name), &[super::exec(script, CHEAT_MS)]).await {
            Ok((judgement, ..)) => {
                let score = score(&judgement);
                report.cheats.insert(name.clone(), (score, judgement.trainable));
                if score >= range.ceiling - NEAR && judgement.trainable {
                    report.faults.push(format!("the cheat {name:?} scores {score}"));
                }
            }
            Err(why) => report.faults.push(format!("the cheat {name:?}: {why}")),
        }
    }
    report
}

/// Proves a task that hides secrets with so many other ones: its solution scores 1 and doing nothing 0 whatever they are, and none of
/// them is always the same. Answers what is wrong, by the number of the key.
pub async fn check_keys(
    work: &dyn Work,
    row: &Value,
    workbench: &Workbench,
    backend: Option<&str>,
    keys: u8,
) -> Result<Vec<String>, String> {
    let task = Row::read(row)?;
    let calls = work.oracle(row, 0).ok_or("the task has no solution: add one")?;
    let mut faults = Vec::new();
    let mut draws = Vec::new();
    for key in 0..keys {
        let secrets = Secrets::Key([key; 32]);
        draws.push(secrets::draw(&task.scene.secrets, secrets));
        let attempts = Attempts { work, row, workbench, backend, secrets };
        let range = task.score_range.unwrap_or_default();
        let (solved, idle) = (range.ceiling..=1.0, 0.0..=range.floor);
        for (what, calls, wanted) in [("solution", calls.as_slice(), solved), ("null", &[], idle)] {
            match attempts.play(&format!("{}-{what}-{key}", task.name), calls).await {
                Ok((judgement, ..)) if within(score(&judgement), &wanted) => {}
                Ok((judgement, _, excerpt)) => {
                    let score = score(&judgement);
                    faults.push(format!("key {key}: {what} scores {score}: {}; {excerpt}", failed(&judgement)));
                }
                Err(why) => faults.push(format!("key {key}: {what}: {why}")),
            }
        }
    }
    faults.extend(hidden::constant(&draws));
    Ok(faults)
}

struct Attempts<'a> {
    work: &'a dyn Work,
    row: &'a Value,
    workbench: &'a Workbench,
    backend: Option<&'a str>,
    secrets: Secrets,
}

impl Attempts<'_> {
    /// Secrets that the acting side is shown at the beginning.
    fn leaks(&self, shown: &str) -> Vec<String> {
        let Ok(task) = Row::read(self.row) else { return Vec::new() };
        hidden::leaked(&task, shown, &secrets::draw(&task.scene.secrets, self.secrets))
    }

    /// Plays calls in a workspace of its own and judges: the judgement, the evidence, and what was seen last.
    async fn play(&self, name: &str, calls: &[Call]) -> Result<(Judgement, Value, String), String> {
        let mut config = Map::new();
        if let Some(backend) = self.backend {
            config.insert("backend".to_owned(), json!(backend));
        }
        let name = format!("check-{}", name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-"));
        let opening = Opening { name, secrets: self.secrets, config, resumed: false, from: None };
        let mut workspace =
            self.work.open(self.row, &opening, self.workbench).await.map_err(|error| error.to_string())?;
        let played = async {
            let mut excerpt = workspace.observe().await?.text;
            let leaks = self.leaks(&excerpt);
            for call in calls {
                let seen = workspace.act(Input::Call { tool: &call.tool, arguments: &call.arguments }).await?;
                if !seen.terminated {
                    excerpt = seen.text;
                }
            }
            Ok::<_, SandboxError>((workspace.evidence().await?, excerpt, leaks))
        };
        let played = played.await;
        workspace.close().await;
        let (evidence, excerpt, leaks) = played.map_err(|error| error.to_string())?;
        if let Some(leak) = leaks.into_iter().next() {
            return Err(leak);
        }
        let judged = crate::blame::judge(self.work, self.row, self.secrets, &evidence, self.workbench).await;
        let judgement = judged.map_err(|error| match error {
            JudgeError::Verifier(why) => format!("the judge failed, correct it: {why}"),
            JudgeError::Infra(why) => format!("the sandbox of the judge failed, try again: {why}"),
            JudgeError::Unavailable(why) => {
                format!("the server lacks what judging needs, see `palestra doctor`: {why}")
            }
            JudgeError::Timeout(why) => format!("judging took too long, shorten the tests or raise their timeout (`verifier.timeout_sec` in task.toml): {why}"),
        })?;
        Ok((judgement, evidence, format!("seen last: {}", excerpt.chars().take(500).collect::<String>())))
    }
}

/// Reason why nobody may learn from episodes that end as the solution's does.
fn untrainable(judgement: &Judgement) -> String {
    let why = match judgement.from {
        From::InPlace => "the tests run where the agent worked",
        _ => judgement.checks.first().and_then(|check| check.evidence.lines().last()).unwrap_or_default(),
    };
    format!(
        "the solution passes, and no trainer may learn from such episodes (docs/terminals.md, Rewards to learn from): {why}"
    )
}

/// Declaration of an end other than 0 or 1, in words.
fn declared(end: f64) -> String {
    if end == 0.0 || end == 1.0 { String::new() } else { format!(", where {end} is declared") }
}

fn within(score: f64, wanted: &RangeInclusive<f64>) -> bool {
    (wanted.start() - NEAR..=wanted.end() + NEAR).contains(&score)
}

/// The weighted mean.
#[must_use]
pub fn score(judgement: &Judgement) -> f64 {
    let weights: f64 = judgement.checks.iter().map(|check| check.weight).sum();
    judgement.checks.iter().map(|check| check.weight * check.score).sum::<f64>() / weights
}

fn scores(judgement: &Judgement) -> Vec<(&str, f64)> {
    judgement.checks.iter().map(|check| (check.name.as_str(), check.score)).collect()
}

fn failed(judgement: &Judgement) -> String {
    let failed = judgement.checks.iter().filter(|check| check.score < 1.0);
    failed.map(|check| format!("{}: {}", check.name, check.evidence)).collect::<Vec<_>>().join("; ")
}
