//! The place where a problem is worked on: programs may be tried a few times, and one is submitted. A sandbox is taken only while a
//! program is tried.

use async_trait::async_trait;
use palestra_sandbox::{Ending, SandboxError, SandboxSpec, Sandboxes};
use serde_json::{Map, Value, json};

use super::compare;
use super::judge::trial;
use super::language::Language;
use super::program::Program;
use super::row::Problem;
use super::runner::{End, ProgramRunner, Run};
use super::submission;
use crate::work::{Input, Observation, Workspace};

/// Most runs of a session.
pub const RUNS_MAX: u32 = 20;
/// Longest own input of `run`.
const INPUT_BYTES_MAX: usize = 1 << 20;
/// Visible examples that one `run` goes through.
const EXAMPLES_MAX: usize = 10;
/// Characters of output that are shown, of each stream.
const SHOWN_CHARS_MAX: usize = 4_000;

/// A session's place.
pub(super) struct CodeWorkspace {
    problem: Problem,
    instruction: String,
    sandboxes: Sandboxes,
    want: SandboxSpec,
    runs: u32,
    submitted: Option<Program>,
    /// Isolation in force in the last run.
    isolation: Value,
}

impl CodeWorkspace {
    pub(super) fn new(problem: Problem, instruction: String, sandboxes: Sandboxes, want: SandboxSpec) -> Self {
        Self { problem, instruction, sandboxes, want, runs: 0, submitted: None, isolation: Value::Null }
    }

    /// The workspace as a snapshot tells of it.
    pub(super) fn going_on(mut self, snapshot: Option<&Value>) -> Result<Self, String> {
        if let Some(snapshot) = snapshot {
            let runs = snapshot["runs"].as_u64().and_then(|runs| u32::try_from(runs).ok());
            self.runs = runs.ok_or("a snapshot of another form")?;
            self.submitted = submission::of_evidence(&snapshot["submitted"])?;
        }
        Ok(self)
    }

    fn submit(&mut self, program: Result<Program, String>) -> Observation {
        match program {
            Err(why) => Observation { data: json!({"error": why}), ..Observation::text(why) },
            Ok(program) => {
                let data = json!({"submitted": program.language});
                self.submitted = Some(program);
                Observation { data, terminated: true, ..Observation::text("Submitted.") }
            }
        }
    }

    async fn run(&mut self, arguments: &Map<String, Value>) -> Result<Observation, SandboxError> {
        let refuse = |why: String| Ok(Observation { data: json!({"error": why}), ..Observation::text(why) });
        let program = match submission::of_call(&self.problem, arguments) {
            Ok(program) => program,
            Err(why) => return refuse(why),
        };
        let input = arguments.get("input").and_then(Value::as_str);
        if input.is_some_and(|input| input.len() > INPUT_BYTES_MAX) {
            return refuse(format!("an input has at most {INPUT_BYTES_MAX} bytes"));
        }
        if self.runs >= RUNS_MAX {
            return refuse(format!("all {RUNS_MAX} runs are used: submit"));
        }
        let language = match Language::named(&program.language) {
            Ok(language) => language,
            Err(why) => return refuse(why),
        };
        let mut runner = match ProgramRunner::open(&self.sandboxes, self.want.clone()).await {
            Err(full @ SandboxError::Exhausted { .. }) => return refuse(full.to_string()),
            runner => runner?,
        };
        self.isolation = serde_json::to_value(runner.isolation()).unwrap_or_default();
        let tried = self.attempt(&mut runner, language, &program, input).await;
        let ending = if matches!(tried, Err(SandboxError::Lost(_))) { Some(runner.ending().await) } else { None };
        runner.close().await;
        let (text, mut data) = match tried {
            Err(lost @ SandboxError::Lost(_)) => self.taken_down(lost, ending).await?,
            // The program left its own sandbox so that nothing more can be done in it.
            Err(SandboxError::Refused { detail, .. }) => {
                (format!("It could not be run to its end: {detail}"), json!({"status": "refused", "detail": detail}))
            }
            tried => tried?,
        };
        self.runs += 1;
        let left = RUNS_MAX - self.runs;
        data["runs_left"] = json!(left);
        Ok(Observation { data, ..Observation::text(format!("{text}\n\n{left} runs left.")) })
    }

    /// Observation of a run that took its sandbox down.
    ///
    /// # Errors
    /// The loss, where the machine brought it about, or another sandbox cannot be had.
    async fn taken_down(&self, lost: SandboxError, ending: Option<Ending>) -> Result<(String, Value), SandboxError> {
        let known = match ending {
            Some(Ending::OwnLimit(limit, fact)) => format!("its own limit of {} ended it: {fact}", limit.as_str()),
            Some(Ending::Unknown(known)) => known,
            Some(Ending::Host(_)) | None => return Err(lost),
        };
        ProgramRunner::open(&self.sandboxes, self.want.clone()).await?.close().await;
        if let Some(fault) = self.sandboxes.backend(self.want.backend.as_deref())?.fault().await {
            return Err(SandboxError::Unavailable(fault));
        }
        let detail = format!("{lost}: {known}");
        Ok((format!("It took its sandbox down: {detail}"), json!({"status": "lost", "detail": detail})))
    }

    /// Builds a program and runs it on an input, or on the visible examples.
    async fn attempt(
        &self,
        runner: &mut ProgramRunner,
        language: &Language,
        program: &Program,
        input: Option<&str>,
    ) -> Result<(String, Value), SandboxError> {
        let problem = &self.problem;
        let mut source = program.source.clone();
        if input.is_none() && !problem.asserts.is_empty() {
            source = with_visible_asserts(problem, &source);
        }
        if let Err(said) = runner.build(language, &source).await? {
            let text = format!("It could not be built:\n{}", shown(said.as_bytes()));
            return Ok((text, json!({"status": "build", "output": said})));
        }
        let examples = problem.visible();
        if input.is_some() || examples.is_empty() {
            let run = runner.run(language, &trial(problem, language, input.unwrap_or_default(), &[])).await?;
            return Ok((report(&run), seen(&run)));
        }
        let (mut texts, mut results) = (Vec::new(), Vec::new());
        for (number, example) in (1..).zip(examples.into_iter().take(EXAMPLES_MAX)) {
            let run = runner.run(language, &trial(problem, language, example.input, example.args)).await?;
            let right = run.end == End::Returned
                && compare::difference(&problem.comparison, example.output.as_bytes(), &run.output.stdout).is_none();
            let word = if right { "as shown" } else { "not as shown" };
            texts.push(format!("Example {number}: {word}\n{}", report(&run)));
            let mut result = seen(&run);
            result["as_shown"] = json!(right);
            results.push(result);
        }
        Ok((texts.join("\n\n"), json!({"examples": results})))
    }
}

#[async_trait]
impl Workspace for CodeWorkspace {
    async fn observe(&mut self) -> Result<Observation, SandboxError> {
        Ok(Observation::text(self.instruction.clone()))
    }

    async fn act(&mut self, input: Input<'_>) -> Result<Observation, SandboxError> {
        if self.submitted.is_some() {
            return Ok(Observation { terminated: true, ..Observation::text("It was submitted already.") });
        }
        match input {
            Input::Text(text) => Ok(self.submit(submission::of_text(&self.problem, text))),
            Input::Call { tool: "submit", arguments } => Ok(self.submit(submission::of_call(&self.problem, arguments))),
            Input::Call { tool: "run", arguments } => self.run(arguments).await,
            Input::Call { tool, .. } => {
                let why = format!("there is no tool {tool:?}: there are `run` and `submit`");
                Ok(Observation { data: json!({"error": why}), ..Observation::text(why) })
            }
        }
    }

    async fn evidence(&mut self) -> Result<Value, SandboxError> {
        Ok(submission::evidence(self.submitted.as_ref()))
    }

    async fn fork(&mut self, _name: &str) -> Result<Option<Box<dyn Workspace>>, SandboxError> {
        Ok(Some(Box::new(Self {
            problem: self.problem.clone(),
            instruction: self.instruction.clone(),
            sandboxes: self.sandboxes.clone(),
            want: self.want.clone(),
            runs: self.runs,
            submitted: self.submitted.clone(),
            isolation: self.isolation.clone(),
        })))
    }

    async fn snapshot(&mut self) -> Result<Option<Value>, SandboxError> {
        Ok(Some(json!({"runs": self.runs, "submitted": submission::evidence(self.submitted.as_ref())})))
    }

    async fn ending(&mut self) -> Ending {
        Ending::Unknown("a room for programs keeps no sandbox".to_owned())
    }

    fn isolation(&self) -> Value {
        self.isolation.clone()
    }

    async fn close(&mut self) {}
}

/// A visible case.
pub(super) struct Visible<'a> {
    pub(super) input: &'a str,
    pub(super) output: &'a str,
    pub(super) args: &'a [String],
}

impl Problem {
    /// Examples, and tests that are not hidden.
    pub(super) fn visible(&self) -> Vec<Visible<'_>> {
        let examples = self.examples.iter().map(|one| Visible { input: &one.input, output: &one.output, args: &[] });
        let tests = self.tests.iter().filter(|test| !test.hidden);
        examples.chain(tests.map(|one| Visible { input: &one.input, output: &one.output, args: &one.args })).collect()
    }
}

/// Source with the visible asserts, which may run beside the program.
fn with_visible_asserts(problem: &Problem, source: &str) -> String {
    let mut whole = format!("{source}\n\n{}\n", problem.setup);
    for assert in problem.asserts.iter().filter(|assert| !assert.hidden) {
        whole.push_str(&assert.assert);
        whole.push('\n');
    }
    whole
}

fn word(end: &End) -> &str {
    match end {
        End::Returned => "returned",
        End::Time => "time",
        End::Memory => "memory",
        End::Output => "output",
        End::Failed(_) => "runtime",
    }
}

fn report(run: &Run) -> String {
    let end = match &run.end {
        End::Returned => "It returned 0".to_owned(),
        End::Time => "It took too long".to_owned(),
        End::Memory => "It wanted too much memory".to_owned(),
        End::Output => "It printed too much".to_owned(),
        End::Failed(how) => format!("It {how}"),
    };
    let mut text =
        format!("{end} after {} ms of CPU.\nOutput:\n{}", run.output.exited.cpu_us / 1_000, shown(&run.output.stdout));
    if !run.output.stderr.is_empty() {
        text.push_str(&format!("\nErrors:\n{}", shown(&run.output.stderr)));
    }
    text
}

fn seen(run: &Run) -> Value {
    json!({
        "status": word(&run.end),
        "output": shown(&run.output.stdout),
        "errors": shown(&run.output.stderr),
        "exit_code": run.output.exited.code,
        "signal": run.output.exited.signal,
        "cpu_us": run.output.exited.cpu_us,
        "memory_bytes": run.output.exited.memory_bytes,
    })
}

/// The beginning and the end of an output, without control characters but line ends and tabs.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let clean = |letter: char| if letter.is_control() && !"\n\t".contains(letter) { '\u{fffd}' } else { letter };
    let letters: Vec<char> = text.chars().filter(|letter| *letter != '\r').map(clean).collect();
    if letters.len() <= SHOWN_CHARS_MAX {
        return letters.into_iter().collect();
    }
    let half = SHOWN_CHARS_MAX / 2;
    let head: String = letters[..half].iter().collect();
    let tail: String = letters[letters.len() - half..].iter().collect();
    format!("{head}\n... {} characters left out ...\n{tail}", letters.len() - SHOWN_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_outputs_show_both_ends() {
        let text = format!("begin{}end", "x".repeat(100_000));
        let shown = shown(text.as_bytes());
        assert!(shown.starts_with("begin") && shown.ends_with("end") && shown.len() < 5_000);
        assert_eq!(super::shown(b"a\x1b[2J\r\nb"), "a\u{fffd}[2J\nb");
    }
}
