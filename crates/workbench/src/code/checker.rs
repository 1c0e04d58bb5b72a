//! A program that decides whether an output is right. It runs in a sandbox of its own, where no submission ever runs: what the
//! submission printed comes to it as a file.

use palestra_sandbox::{Sandboxes, Want};

use super::asserts::infra;
use super::bench::{Bench, End, FOLDER, Limits, Trial};
use super::language::{Language, Place};
use super::program::Program;
use super::row::{Problem, Test};
use crate::work::JudgeError;

/// What a checker may use, or the problem's limits where those are larger.
const LIMITS: Limits = Limits { time_ms: 5_000, memory_bytes: 512 << 20, output_bytes: 64 << 10 };

/// A built checker.
pub(super) struct Checker {
    bench: Bench,
    language: &'static Language,
    argv: Vec<String>,
    env: Vec<(String, String)>,
    limits: Limits,
}

impl Checker {
    /// Builds one.
    pub(super) async fn open(
        sandboxes: &Sandboxes,
        want: &Want,
        program: &Program,
        problem: &Problem,
    ) -> Result<Self, JudgeError> {
        let language = Language::named(&program.language).map_err(JudgeError::Verifier)?;
        let mut bench = Bench::open(sandboxes, want.clone()).await.map_err(infra)?;
        let built = bench.build(language, &program.source).await;
        let fault = match built {
            Ok(Ok(())) => None,
            Ok(Err(said)) => Some(JudgeError::Verifier(format!("the checker cannot be built, correct it: {said}"))),
            Err(error) => Some(infra(error)),
        };
        if let Some(fault) = fault {
            bench.close().await;
            return Err(fault);
        }
        let limits = Limits {
            time_ms: LIMITS.time_ms.max(problem.time_ms),
            memory_bytes: LIMITS.memory_bytes.max(problem.memory_bytes),
            ..LIMITS
        };
        let place = Place { folder: FOLDER, memory_bytes: limits.memory_bytes };
        let (mut argv, env) = language.fill(&language.run, place);
        argv.extend(["input", "expected", "actual"].map(str::to_owned));
        Ok(Self { bench, language, argv, env, limits })
    }

    /// Frees its sandbox.
    pub(super) async fn close(self) {
        self.bench.close().await;
    }

    /// What is wrong with an output; `None` where it is right.
    pub(super) async fn difference(&mut self, test: &Test, actual: &[u8]) -> Result<Option<String>, JudgeError> {
        let files = vec![("input", test.input.as_bytes()), ("expected", test.output.as_bytes()), ("actual", actual)];
        let Self { bench, language, argv, env, limits } = self;
        let trial = Trial { argv: argv.clone(), env: env.clone(), input: &[], files, limits: *limits };
        let run = bench.run(language, &trial).await.map_err(infra)?;
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
