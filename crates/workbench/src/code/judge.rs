//! Judging a submission: built once in a fresh sandbox, run on every test there. What is expected stays here.

use std::sync::atomic::{AtomicBool, Ordering};

use palestra_sandbox::{SandboxSpec, Sandboxes};

use super::asserts::{self, AssertAnswer, Plans, infra};
use super::checker::Checker;
use super::compare::{self, Comparison};
use super::language::{Language, Placeholders};
use super::outcome::{Outcome, Status, judgement, nothing};
use super::program::Program;
use super::row::{Problem, Test};
use super::runner::{End, FOLDER, Limits, ProgramRunner, Run, Trial};
use crate::work::{JudgeError, Judgement};

/// From so many tests on, two sandboxes share them: what a start costs is little then.
const TWO_LANES_MIN: usize = 64;
/// Last lines of a failed program's standard error that are told.
const LINES_TOLD: usize = 5;

/// Judges submissions to one problem.
pub(super) struct Judge<'a> {
    pub(super) problem: &'a Problem,
    pub(super) sandboxes: &'a Sandboxes,
    /// Where submissions run.
    pub(super) want: &'a SandboxSpec,
    /// Where checkers and comparisons run, and never a submission.
    pub(super) trusted: &'a SandboxSpec,
    /// Plans of the asserts.
    pub(super) plans: &'a Plans,
}

impl Judge<'_> {
    /// Judges a submission.
    pub(super) async fn judge(&self, submission: Option<&Program>) -> Result<Judgement, JudgeError> {
        let problem = self.problem;
        let Some(submission) = submission else { return Ok(nothing(problem, Status::Wrong, "nothing was submitted")) };
        let Ok(language) = Language::named(&submission.language) else {
            return Ok(nothing(problem, Status::Build, "it is in no language that is here"));
        };
        if !problem.languages().contains(&submission.language.as_str()) {
            return Ok(nothing(problem, Status::Build, "it is in a language that will not do"));
        }
        let mut runner = ProgramRunner::open(self.sandboxes, self.want.clone()).await.map_err(infra)?;
        let judged = async {
            if !problem.asserts.is_empty() {
                asserts::prepare(&mut runner, &submission.source).await?;
                return self.asserts(&mut runner).await;
            }
            match runner.build(language, &submission.source).await.map_err(infra)? {
                Ok(()) => self.tests(language, &mut runner).await,
                Err(output) => Ok(nothing(problem, Status::Build, &output)),
            }
        };
        let judged = judged.await;
        runner.close().await;
        judged
    }

    async fn tests(&self, language: &Language, runner: &mut ProgramRunner) -> Result<Judgement, JudgeError> {
        let problem = self.problem;
        let mut checker = match &problem.comparison {
            Comparison::Checker(program) => Some(Checker::open(self.sandboxes, self.trusted, program, problem).await?),
            _ => None,
        };
        let judged = async {
            let (all, over) = (&problem.tests, AtomicBool::new(false));
            // A second sandbox works while the first one waits. A checker takes one output at a time.
            let outcomes = if all.len() < TWO_LANES_MIN || checker.is_some() {
                lane(problem, language, runner, all, &over, checker.as_mut()).await?
            } else {
                let mut twin = runner.twin().await.map_err(infra)?;
                let (left, right) = all.split_at(all.len() / 2);
                let both = tokio::join!(
                    lane(problem, language, runner, left, &over, None),
                    lane(problem, language, &mut twin, right, &over, None)
                );
                twin.close().await;
                let (mut outcomes, right) = (both.0?, both.1?);
                outcomes.extend(right);
                outcomes
            };
            Ok(judgement(problem, &outcomes, false))
        };
        let judged = judged.await;
        if let Some(checker) = checker {
            checker.close().await;
        }
        judged
    }

    pub(super) async fn comparer(&self) -> Result<asserts::AssertComparer<'_>, JudgeError> {
        asserts::AssertComparer::open(self.sandboxes, self.trusted.clone(), self.problem).await
    }

    async fn asserts(&self, runner: &mut ProgramRunner) -> Result<Judgement, JudgeError> {
        let mut comparer = self.comparer().await?;
        let judged = self.answers(runner, &mut comparer).await;
        comparer.close().await;
        judged
    }

    async fn answers(
        &self,
        runner: &mut ProgramRunner,
        comparer: &mut asserts::AssertComparer<'_>,
    ) -> Result<Judgement, JudgeError> {
        let problem = self.problem;
        let plan = comparer.plan(self.plans).await?;
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(plan.len());
        let mut answers = vec![None; plan.len()];
        let returned = all_answers(problem, runner, &plan).await?;
        for (one, answer) in returned.into_iter().zip(&mut answers) {
            match one {
                AssertAnswer::Known(outcome) | AssertAnswer::Nothing(outcome) => outcomes.push(outcome),
                AssertAnswer::Values(values, used) => {
                    *answer = Some(values);
                    outcomes.push(used);
                }
            }
        }
        // The comparison is asked only where there is something to compare.
        if answers.iter().any(Option::is_some) {
            let verdicts: Vec<Option<String>> = comparer.compare(&answers).await?;
            for ((outcome, answer), verdict) in outcomes.iter_mut().zip(&answers).zip(verdicts) {
                if answer.is_some() {
                    let verdict = verdict.unwrap_or_else(|| "it was not compared".to_owned());
                    let accepted = verdict == "accepted";
                    outcome.status = if accepted { Status::Accepted } else { Status::Wrong };
                    outcome.detail = if accepted { String::new() } else { verdict };
                }
            }
        }
        Ok(judgement(problem, &outcomes, plan.iter().any(Option::is_none)))
    }
}

impl Problem {
    pub(super) fn limits(&self) -> Limits {
        Limits { time_ms: self.time_ms, memory_bytes: self.memory_bytes, output_bytes: self.output_bytes }
    }

    /// The files of every run.
    pub(super) fn laid(&self) -> Vec<(&str, &[u8])> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect()
    }
}

/// Run of a program by a test.
pub(super) fn trial<'a>(problem: &'a Problem, language: &Language, input: &'a str, args: &[String]) -> Trial<'a> {
    let placeholders = Placeholders { folder: FOLDER, memory_bytes: problem.memory_bytes };
    let (mut argv, env) = language.fill(&language.run, placeholders);
    argv.extend_from_slice(args);
    Trial { argv, env, input: input.as_bytes(), files: problem.laid(), limits: problem.limits() }
}

/// Runs tests one after the other on one bench. `over` is set once the score is known: all must pass, and one ran out of time or
/// memory, as the others most likely would.
async fn lane(
    problem: &Problem,
    language: &Language,
    runner: &mut ProgramRunner,
    tests: &[Test],
    over: &AtomicBool,
    mut checker: Option<&mut Checker>,
) -> Result<Vec<Outcome>, JudgeError> {
    runner.expect(tests.len(), &problem.laid()).await.map_err(infra)?;
    let mut outcomes = Vec::with_capacity(tests.len());
    for test in tests {
        if over.load(Ordering::Relaxed) {
            outcomes.push(Outcome::unused(Status::Skipped, ""));
            continue;
        }
        let trial = trial(problem, language, &test.input, &test.args);
        let run = runner.run(language, &trial).await.map_err(infra)?;
        let outcome = outcome(problem, test, &run, checker.as_deref_mut()).await?;
        if !problem.partial && matches!(outcome.status, Status::Time | Status::Memory) {
            over.store(true, Ordering::Relaxed);
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

async fn outcome(
    problem: &Problem,
    test: &Test,
    run: &Run,
    checker: Option<&mut Checker>,
) -> Result<Outcome, JudgeError> {
    let of = |status, detail: &str| Outcome::of(status, detail, &run.output.exited);
    let actual = &run.output.stdout;
    Ok(match &run.end {
        End::Time => of(Status::Time, ""),
        End::Memory => of(Status::Memory, ""),
        End::Output => of(Status::Output, ""),
        End::Failed(how) => {
            let stderr = String::from_utf8_lossy(&run.output.stderr);
            let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
            let last = &lines[lines.len().saturating_sub(LINES_TOLD)..];
            of(Status::Runtime, &format!("{how}; {}", last.join("\n")))
        }
        End::Returned => {
            let difference = match checker {
                Some(checker) => checker.difference(test, actual).await?,
                None => compare::difference(&problem.comparison, test.output.as_bytes(), actual),
            };
            match difference {
                None => of(Status::Accepted, ""),
                Some(difference) => of(Status::Wrong, &difference),
            }
        }
    })
}

/// Answers of the submission to every assert. All are asked in one process first: what stays together within the limits of one
/// test would do so alone. Where that process ends too early, each is asked in a process of its own.
async fn all_answers(
    problem: &Problem,
    runner: &mut ProgramRunner,
    plan: &asserts::Plan,
) -> Result<Vec<AssertAnswer>, JudgeError> {
    let all: Vec<(usize, Option<&[String]>)> = plan.iter().map(Option::as_deref).enumerate().collect();
    // One that runs whole beside the submission keeps to itself.
    if all.len() > 1 && all.iter().all(|(_, calls)| calls.is_some()) {
        let answers = asserts::ask(runner, problem, &all).await?;
        if !answers.iter().any(|answer| matches!(answer, AssertAnswer::Nothing(_))) {
            return Ok(answers);
        }
    }
    runner.expect(all.len(), &problem.laid()).await.map_err(infra)?;
    let mut answers: Vec<AssertAnswer> = Vec::with_capacity(all.len());
    for one in all {
        let over = |answer: &AssertAnswer| {
            matches!(answer, AssertAnswer::Nothing(Outcome { status: Status::Time | Status::Memory, .. }))
        };
        if !problem.partial && answers.iter().any(over) {
            answers.push(AssertAnswer::Known(Outcome::unused(Status::Skipped, "")));
        } else {
            answers.extend(asserts::ask(runner, problem, &[one]).await?);
        }
    }
    Ok(answers)
}
