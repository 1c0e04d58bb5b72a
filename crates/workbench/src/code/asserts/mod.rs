//! Assert statements of Python, judged so that a submission can do nothing but answer. Each assert is split, where no submission
//! ever ran, into the calls that the submission has to answer and a comparison; the submission's process is told the calls alone and
//! gives back values as data; the comparison, with what is expected, is made where it cannot reach. An assert that cannot be split
//! runs whole beside the submission, and the verdict says so.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use std::sync::Arc;

use palestra_sandbox::{SandboxError, SandboxSpec, Sandboxes};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::language::{Language, Placeholders};
use super::outcome::{Outcome, Status};
use super::row::Problem;
use super::runner::{End, FOLDER, Limits, ProgramRunner, Run, Trial};
use crate::work::JudgeError;

const DRIVER: &str = include_str!("driver.py");
const TRUSTED: &str = include_str!("trusted.py");
/// Limits of splitting and comparing.
const TRUSTED_LIMITS: Limits = Limits { time_ms: 60_000, memory_bytes: 512 << 20, output_bytes: 32 << 20 };
/// Plans that are remembered: a training run comes back to its problems again and again.
const PLANS_MAX: usize = 10_000;
/// Bytes of one answer, written out.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

/// Expressions that each assert compares: the calls of the submission, or `None` where it has to run whole.
pub(super) type Plan = Vec<Option<Vec<String>>>;

/// Plans that were made already, by digest of what they follow from.
#[derive(Debug, Default)]
pub(super) struct Plans(Mutex<HashMap<[u8; 32], Arc<Plan>>>);

/// Splits and compares, in a sandbox where no submission ever runs.
pub(super) struct AssertComparer<'a> {
    runner: ProgramRunner,
    python: &'static Language,
    problem: &'a Problem,
}

#[derive(Serialize)]
struct ComparisonOrder<'a> {
    setup: &'a str,
    entry: Option<&'a str>,
    solution: &'a str,
    asserts: Vec<&'a str>,
    answers: Option<&'a [Option<String>]>,
    /// True if only faults of the asserts are asked for.
    faults: bool,
}

#[derive(Serialize)]
struct Questions<'a> {
    nonce: &'a str,
    source: &'a str,
    setup: &'a str,
    questions: Vec<Question<'a>>,
}

#[derive(Serialize)]
struct Question<'a> {
    calls: &'a [String],
    whole: Option<&'a str>,
}

/// Answer of the submission to an assert.
#[derive(Debug, Clone)]
pub(super) enum AssertAnswer {
    /// Values as JSON, not read here, and what the run used.
    Values(String, Outcome),
    /// An outcome already.
    Known(Outcome),
    /// Nothing: the run ended before. With what that makes of it, if it was asked alone.
    Nothing(Outcome),
}

impl<'a> AssertComparer<'a> {
    pub(super) async fn open(
        sandboxes: &Sandboxes,
        want: SandboxSpec,
        problem: &'a Problem,
    ) -> Result<Self, JudgeError> {
        let python = Language::named("python").map_err(JudgeError::Verifier)?;
        let mut runner = ProgramRunner::open(sandboxes, want).await.map_err(infra)?;
        match runner.put("trusted.py", TRUSTED.as_bytes()).await {
            Ok(()) => Ok(Self { runner, python, problem }),
            Err(error) => {
                runner.close().await;
                Err(infra(error))
            }
        }
    }

    pub(super) async fn close(self) {
        self.runner.close().await;
    }

    /// Splits every assert.
    pub(super) async fn plan(&mut self, plans: &Plans) -> Result<Arc<Plan>, JudgeError> {
        let Problem { setup, entry, asserts, .. } = self.problem;
        let asserts: Vec<&str> = asserts.iter().map(|assert| assert.assert.as_str()).collect();
        let key = serde_json::to_vec(&(setup, entry, asserts, self.problem.solutions().first().map(|one| &one.source)));
        let key: [u8; 32] = Sha256::digest(key.map_err(|error| JudgeError::Verifier(error.to_string()))?).into();
        let known = plans.0.lock().get(&key).cloned();
        if let Some(plan) = known {
            return Ok(plan);
        }
        let plan: Arc<Plan> = Arc::new(self.ask(None, false).await?);
        let mut plans = plans.0.lock();
        if plans.len() >= PLANS_MAX {
            plans.clear();
        }
        plans.insert(key, Arc::clone(&plan));
        Ok(plan)
    }

    /// Compares the answers: `accepted`, or why not; `None` where the assert ran whole.
    pub(super) async fn compare(&mut self, answers: &[Option<String>]) -> Result<Vec<Option<String>>, JudgeError> {
        self.ask(Some(answers), false).await
    }

    /// Reasons why asserts check nothing, in words that go on after their text; `None` for a sound one.
    pub(super) async fn faults(&mut self) -> Result<Vec<Option<String>>, JudgeError> {
        self.ask(None, true).await
    }

    async fn ask<T: for<'de> Deserialize<'de>>(
        &mut self,
        answers: Option<&[Option<String>]>,
        faults: bool,
    ) -> Result<Vec<T>, JudgeError> {
        let solutions = self.problem.solutions();
        let order = ComparisonOrder {
            setup: &self.problem.setup,
            entry: self.problem.entry.as_deref(),
            solution: solutions.first().map_or("", |solution| solution.source.as_str()),
            asserts: self.problem.asserts.iter().map(|assert| assert.assert.as_str()).collect(),
            answers,
            faults,
        };
        let input = serde_json::to_vec(&order).map_err(|error| JudgeError::Verifier(error.to_string()))?;
        let mut trial = script(self.python, "trusted.py", TRUSTED_LIMITS);
        trial.input = &input;
        let Run { end, output } = self.runner.run(self.python, &trial).await.map_err(infra)?;
        let failed = |why: &str| {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or_default().to_owned();
            format!("comparing the answers: {why} {last}")
        };
        match end {
            End::Returned => {}
            End::Time => return Err(JudgeError::Timeout(failed("it took too long"))),
            other => return Err(JudgeError::Verifier(failed(&format!("{other:?}")))),
        }
        let results: Vec<T> =
            serde_json::from_slice(&output.stdout).map_err(|error| JudgeError::Verifier(failed(&error.to_string())))?;
        if results.len() == self.problem.asserts.len() {
            Ok(results)
        } else {
            Err(JudgeError::Verifier(failed("it left out asserts")))
        }
    }
}

/// Lays a submission on its bench, with what asks it. Whether it can be read at all is among its answers.
pub(super) async fn prepare(runner: &mut ProgramRunner, source: &str) -> Result<(), JudgeError> {
    let python = Language::named("python").map_err(JudgeError::Verifier)?;
    runner.put(&python.source, source.as_bytes()).await.map_err(infra)?;
    runner.put("driver.py", DRIVER.as_bytes()).await.map_err(infra)
}

/// Asks the submission what these asserts need to know, in one process: `(number, calls)` each.
pub(super) async fn ask(
    runner: &mut ProgramRunner,
    problem: &Problem,
    asserts: &[(usize, Option<&[String]>)],
) -> Result<Vec<AssertAnswer>, JudgeError> {
    let limits = problem.limits();
    let python = Language::named("python").map_err(JudgeError::Verifier)?;
    let nonce = nonce();
    let source = format!("{FOLDER}/{}", python.source);
    let mut questions = Vec::with_capacity(asserts.len());
    for &(number, calls) in asserts {
        let whole = problem.asserts.get(number).filter(|_| calls.is_none()).map(|assert| assert.assert.as_str());
        questions.push(Question { calls: calls.unwrap_or_default(), whole });
    }
    let whole: Vec<bool> = questions.iter().map(|question| question.whole.is_some()).collect();
    let questions = Questions { nonce: &nonce, source: &source, setup: &problem.setup, questions };
    let input = serde_json::to_vec(&questions).map_err(|error| JudgeError::Verifier(error.to_string()))?;
    let output_bytes = limits.output_bytes.max(ANSWER_BYTES_MAX);
    let mut trial = script(python, "driver.py", Limits { output_bytes, ..limits });
    trial.input = &input;
    trial.files = problem.laid();
    let run = runner.run(python, &trial).await.map_err(infra)?;
    let text = String::from_utf8_lossy(&run.output.stdout);
    Ok((0..).zip(whole).map(|(number, whole)| read(&run, &text, &format!("{nonce} {number} "), whole)).collect())
}

fn read(run: &Run, text: &str, prefix: &str, whole: bool) -> AssertAnswer {
    let of = |status, detail: &str| Outcome::of(status, detail, &run.output.exited);
    match &run.end {
        End::Returned => {}
        End::Time => return AssertAnswer::Nothing(of(Status::Time, "")),
        End::Memory => return AssertAnswer::Nothing(of(Status::Memory, "")),
        End::Output => return AssertAnswer::Nothing(of(Status::Output, "")),
        End::Failed(how) => return AssertAnswer::Nothing(of(Status::Runtime, how)),
    }
    match text.lines().find_map(|line| line.strip_prefix(prefix)?.split_once(' ')) {
        Some(("values", values)) if !whole => AssertAnswer::Values(values.to_owned(), of(Status::Wrong, "")),
        Some(("passed", _)) if whole => AssertAnswer::Known(of(Status::Accepted, "")),
        Some(("failed", detail)) if whole => AssertAnswer::Known(of(Status::Wrong, detail)),
        Some(("memory", _)) => AssertAnswer::Nothing(of(Status::Memory, "")),
        Some(("build", detail)) => AssertAnswer::Known(of(Status::Build, detail)),
        Some(("raised", detail)) => AssertAnswer::Known(of(Status::Runtime, detail)),
        _ => AssertAnswer::Nothing(of(Status::Runtime, "it ended before it had answered")),
    }
}

/// A word that a submission does not print by chance. What it guards is no secret: a forged answer is an answer.
fn nonce() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

fn script(python: &Language, name: &str, limits: Limits) -> Trial<'static> {
    let placeholders = Placeholders { folder: FOLDER, memory_bytes: limits.memory_bytes };
    let script = format!("{FOLDER}/{name}");
    let argv: Vec<String> = python.run.iter().map(|part| part.replace("{source}", &script)).collect();
    let (argv, env) = python.fill(&argv, placeholders);
    Trial { argv, env, limits, ..Trial::default() }
}

pub(super) fn infra(error: SandboxError) -> JudgeError {
    error.into()
}
