//! A program that decides whether an output is right. It runs in a sandbox of its own, where no submission ever runs: what the
//! submission printed comes to it as a file.

use palestra_sandbox::{SandboxSpec, Sandboxes};

use super::asserts::infra;
use super::language::{Language, Placeholders};
use super::program::Program;
use super::row::{Problem, Test};
use super::runner::{End, FOLDER, Limits, ProgramRunner, Trial};
use crate::work::JudgeError;

/// Limits of a checker, or the problem's limits where those are larger.
const LIMITS: Limits = Limits { time_ms: 5_000, memory_bytes: 512 << 20, output_bytes: 64 << 10 };

/// A built checker.
pub(super) struct Checker {
    runner: ProgramRunner,
    language: &'static Language,
    argv: Vec<String>,
    env: Vec<(String, String)>,
    limits: Limits,
}

impl Checker {
    /// Builds one.
    pub(super) async fn open(
        sandboxes: &Sandboxes,
        want: &SandboxSpec,
        program: &Program,
        problem: &Problem,
    ) -> Result<Self, JudgeError> {
        let language = Language::named(&program.language).map_err(JudgeError::Verifier)?;
        let mut runner = ProgramRunner::open(sandboxes, want.clone()).await.map_err(infra)?;
        let built = runner.build(language, &program.source).await;
        let fault = match built {
            Ok(Ok(())) => None,
            Ok(Err(said)) => Some(JudgeError::Verifier(format!("the checker cannot be built, correct it: {said}"))),
            Err(error) => Some(infra(error)),
        };
        if let Some(fault) = fault {
            runner.close().await;
            return Err(fault);
        }
        let limits = Limits {
            time_ms: LIMITS.time_ms.max(problem.time_ms),
            memory_bytes: LIMITS.memory_bytes.max(problem.memory_bytes),
            ..LIMITS
        };
        let placeholders = Placeholders { folder: FOLDER, memory_bytes: limits.memory_bytes };
        let (mut argv, env) = language.fill(&language.run, placeholders);
        argv.extend(["input", "expected", "actual"].map(str::to_owned));
        Ok(Self { runner, language, argv, env, limits })
    }

    /// Frees its sandbox.
    pub(super) async fn close(self) {
        self.runner.close().await;
    }

    /// Difference of an output from the expected one; `None` where it is right.
    pub(super) async fn difference(&mut self, test: &Test, actual: &[u8]) -> Result<Option<String>, JudgeError> {
        let files = vec![("input", test.input.as_bytes()), ("expected", test.output.as_bytes()), ("actual", actual)];
        let Self { runner, language, argv, env, limits } = self;
        let trial = Trial { argv: argv.clone(), env: env.clone(), input: &[], files, limits: *limits };
        let run = runner.run(language, &trial).await.map_err(infra)?;
        let said = String::from_utf8_lossy(&run.output.stdout);
        let said: String = said.lines().next().unwrap_or_default().chars().take(300).collect();
        match run.end {
            End::Returned => Ok(None),
            End::Failed(_) if run.output.exited.code == Some(1) => Ok(Some(said)),
            End::Time => Err(JudgeError::Timeout("the checker took too long: make it faster".to_owned())),
            other => {
                let stderr = String::from_utf8_lossy(&run.output.stderr);
                let last = stderr.lines().last().unwrap_or_default();
                Err(JudgeError::Verifier(format!("the checker must answer by 0 or 1, and: {other:?}; {last}")))
            }
        }
    }
}
